// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: saved states that were changed, and the engine that goes on with them.
 *
 * A NIC in the middle of messages is saved once.  An input is a list of changes of that
 * state:
 *
 *	offset	2 bytes
 *	length	1 byte; 255 cuts the state off there
 *	bytes	so many
 *
 * What is refused must leave nothing behind; with what is loaded the engine goes on for a
 * while, and is then reset.
 */
#include <stdlib.h>

#include "base/chore.h"
#include "base/log.h"
#include "rdma/rnic_image.h"
#include "rdma/rnic_priv.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/engine_ring.h"

#define ROUNDS		40u
#define CUT		255u

/**
 * struct target - what is fuzzed
 * @engine:	engine
 * @pair:	connection that was saved in the middle of messages
 * @data:	the state
 * @size:	its bytes
 */
static struct target {
	struct engine *engine;
	struct er_pair *pair;
	uint8_t *data;
	size_t size;
} t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A RAW_PACKET QP with some rules. */
static void rules_init(struct eg_guest *guest)
{
	static const struct er_shape plain;
	static struct er_end end;
	struct virtio_rdma_cmd_create_flow_long req = { .flow.mask.proto = 0xff };
	struct virtio_rdma_ack_create_flow ack;
	unsigned int i;

	er_open(&end, guest, VIRTIO_IB_QPT_RAW_PACKET, &plain);
	req.flow.qpn = htole32(end.qp.qpn);
	for (i = 0; i < 4; i++) {
		req.flow.value.proto = i / 2;
		req.flow.priority = htole16(i % 2);
		req.tag = htole32(i);
		eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW_LONG, &req, sizeof(req), &ack,
			   sizeof(ack));
	}
}

/* Two work queues, and a QP that spreads frames over them. */
static void rss_init(struct eg_guest *guest)
{
	struct {
		struct virtio_rdma_cmd_create_wq_table fixed;
		__le32 wqn[2];
	} table = { .fixed.log_size = 1 };
	struct virtio_rdma_cmd_create_rx_hash_qp req = {
		.function = VIRTIO_RDMA_RX_HASH_XOR,
	};
	static const struct er_shape plain;
	static struct er_end end[2];
	struct virtio_rdma_ack_create_wq_table ack;
	struct virtio_rdma_ack_create_qp qp;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		er_open(&end[i], guest, VIRTIO_IB_QPT_WQ, &plain);
		table.wqn[i] = htole32(end[i].qp.qpn);
	}
	eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_WQ_TABLE, &table, sizeof(table), &ack,
		   sizeof(ack));
	req.table = ack.table;
	eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_RX_HASH_QP, &req, sizeof(req), &qp,
		   sizeof(qp));
}

/* A CQ that is armed, and whose event waits. */
static void moderation_init(struct er_end *end)
{
	const struct virtio_rdma_cmd_modify_cq req = {
		.cqn = htole32(end->cq.cqn),
		.count = htole16(100),
		.period = htole16(1000),
	};

	eg_command(end->end.guest, VIRTIO_NET_CTRL_ROCE_MODIFY_CQ, &req, sizeof(req), NULL, 0);
	er_arm(&end->cq, VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
}

static void burst_init(const struct eg_end *end)
{
	const struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(end->qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_RATE_LIMIT),
		.rate_limit = htole32(1000000),
		.max_burst = htole32(10000),
	};

	eg_modify(end->guest, &req);
}

static void target_init(void)
{
	static const struct er_shape plain;
	static struct er_srq srq;
	void *state = NULL;
	struct state st;
	struct eg_wr wr;
	unsigned int i;

	eg_setup_direct(&state);
	t.engine = state;
	t.pair = er_pair_up(&state, VIRTIO_IB_QPT_RC, &plain);
	er_srq_init(&srq, &t.engine->guest[0], t.pair->a.end.pdn, 16);
	er_create_srq(&srq);
	er_create_xrcd(&t.engine->guest[0]);
	rules_init(&t.engine->guest[0]);
	moderation_init(&t.pair->a);
	burst_init(&t.pair->b.end);
	rss_init(&t.engine->guest[0]);
	eg_create_ah(&t.engine->guest[0], t.pair->a.end.pdn, &t.engine->guest[1]);
	/* The peer has no receive request, so that all of these wait. */
	wr = eg_send(&t.pair->a.end, 1, 0, 3000);
	for (i = 0; i < 5; i++)
		er_post_send(&t.pair->a.qp, &wr);
	eg_run(t.engine);
	state_write(&st);
	if (!rnic_save(t.engine->guest[0].rnic, &st) || !state_written(&st))
		abort();
	t.data = st.data;
	t.size = st.at;
	log_set_level(LOG_LEVEL_ERROR - 1);
}

static size_t change(struct fuzz_input *in, uint8_t *data)
{
	size_t size = t.size, at, n, i;

	while (in->size > 2) {
		at = fuzz_u16(in) % t.size;
		n = fuzz_u8(in);
		if (n == CUT && at >= 24)
			size = at;
		for (i = 0; n < CUT && i < n && in->size && at + i < t.size; i++)
			data[at + i] = fuzz_u8(in);
	}
	return size;
}

static void nothing_is_left(const struct rnic *rnic)
{
	if (rnic->pds.objs.used || rnic->mrs.objs.used || rnic->mrs.extents ||
	    rnic->ctx.ring_pages || rnic->ctx.wqes || rnic->qps.active_n ||
	    rnic->rules.objs.used || rnic->rules.groups || rnic->tables.objs.used)
		abort();
}

static void go_on(void)
{
	unsigned int i, k;

	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < EG_GUESTS; k++)
			rnic_poll(t.engine->guest[k].rnic);
		if (i % 8 == 7)
			engine_loop_advance(t.engine->loop, 1000 * 1000);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rnic *rnic;
	uint64_t length;
	struct state st;
	uint8_t *copy;

	if (!t.engine)
		target_init();
	rnic = t.engine->guest[0].rnic;
	/* In a block of its size, so that reading past it is caught. */
	copy = malloc(t.size);
	memcpy(copy, t.data, t.size);
	size = change(&in, copy);
	length = htole64(size - 24);
	memcpy(copy + 16, &length, sizeof(length));
	copy = realloc(copy, size);
	eg_reset(&t.engine->guest[0]);
	if (state_read(&st, copy, size) && rnic_load(rnic, &st))
		go_on();
	else
		nothing_is_left(rnic);
	eg_reset(&t.engine->guest[0]);
	nothing_is_left(rnic);
	free(copy);
	return 0;
}
