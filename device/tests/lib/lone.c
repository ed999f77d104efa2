// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP whose peer is the test.
 */
#include "tests/lib/lone.h"
#include "base/util.h"

struct pkt lone_sent[LONE_SENT_MAX];
unsigned int lone_sent_n;
unsigned int lone_seen;

static void capture_send(struct fabric_end *from __always_unused,
			 struct fabric_end *to __always_unused,
			 const struct pkt *pkt)
{
	assert_true(lone_sent_n < LONE_SENT_MAX);
	lone_sent[lone_sent_n++] = *pkt;
}

const struct transport lone_capture = {
	.name = "capture",
	.send = capture_send,
};

const struct transport lone_capture_memory = {
	.name = "capture",
	.seg_max = 4096,
	.send = capture_send,
};

struct lone lone_up(void **state, uint8_t type)
{
	struct engine *engine = *state;
	struct lone l = {
		.engine = engine,
		.qp = eg_open(&engine->guest[0], type),
	};
	struct eg_end peer = { .guest = &engine->guest[1], .qpn = PEER };
	unsigned int i;

	fabric_set_local(engine->fabric, &lone_capture);
	lone_sent_n = 0;
	eg_gid(&engine->guest[1], l.sgid);
	eg_gid(&engine->guest[0], l.dgid);
	for (i = 0; i < sizeof(l.data); i++)
		l.data[i] = i * 31 + 7;
	eg_to(&l.qp, type, VIRTIO_IB_QPS_INIT, &peer);
	eg_to(&l.qp, type, VIRTIO_IB_QPS_RTR, &peer);
	eg_to(&l.qp, type, VIRTIO_IB_QPS_RTS, &peer);
	return l;
}

void lone_give(struct lone *l, struct pkt given, uint32_t n)
{
	given.psn = (PSN + n) & PSN_MASK;
	if (!given.npsn)
		given.npsn = 1;
	if (!given.dest_qpn)
		given.dest_qpn = l->qp.qpn;
	if (!given.src_qpn)
		given.src_qpn = PKT_QPN_UNKNOWN;
	if (!given.sgid)
		given.sgid = l->sgid;
	if (!given.dgid)
		given.dgid = l->dgid;
	sg_init_flat(&l->sg, l->data + n * MTU % sizeof(l->data));
	given.payload = given.len ? &l->sg : NULL;
	eg_deliver(l->qp.guest, &given);
}

void lone_request(struct lone *l, uint8_t code, uint32_t n, uint32_t len)
{
	lone_give(l, (struct pkt) { .opcode = code, .len = len, .ack_req = true },
	     n);
}

void lone_answer(struct lone *l, uint8_t syndrome, uint32_t n)
{
	lone_give(l, (struct pkt) { .opcode = PKT_ACK, .syndrome = syndrome }, n);
}

void lone_expect_aeth(uint8_t syndrome, uint32_t n)
{
	assert_true(lone_seen < lone_sent_n);
	assert_int_equal(lone_sent[lone_seen].opcode, PKT_ACK);
	assert_int_equal(lone_sent[lone_seen].syndrome, syndrome);
	assert_int_equal(lone_sent[lone_seen].psn, (PSN + n) & PSN_MASK);
	assert_int_equal(lone_sent[lone_seen].dest_qpn, PEER);
	lone_seen++;
}

void lone_expect(uint8_t code, uint32_t n, uint32_t len)
{
	assert_true(lone_seen < lone_sent_n);
	assert_int_equal(lone_sent[lone_seen].opcode, code);
	assert_int_equal(lone_sent[lone_seen].psn, (PSN + n) & PSN_MASK);
	assert_int_equal(lone_sent[lone_seen].len, len);
	lone_seen++;
}

void lone_expect_quiet(void)
{
	assert_int_equal(lone_seen, lone_sent_n);
}

uint64_t lone_counted(const struct lone *l, enum virtio_rdma_counter counter)
{
	return rnic_counters(l->qp.guest->rnic)[counter];
}

int lone_setup(void **state)
{
	lone_seen = 0;
	return eg_setup(state);
}

uint8_t lone_state(const struct lone *l)
{
	return eg_state(l->qp.guest, l->qp.qpn);
}

void lone_run_for(struct lone *l, uint64_t ns)
{
	uint64_t end = loop_now(l->engine->loop) + ns;

	while (loop_now(l->engine->loop) < end) {
		eg_run(l->engine);
		engine_loop_advance(l->engine->loop, 1000);
	}
}
