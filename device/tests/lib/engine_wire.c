// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A transport that loses, repeats, reorders, delays and marks packets.
 *
 * Each packet is copied and waits in a line until it is due and the test delivers
 * it.  So a requester never calls the responder directly, as it does in memory.
 */
#include "tests/lib/engine_dirty.h"
#include "tests/lib/engine_wire.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "packet/pkt.h"
#include "rdma/object/sg.h"
#include "rdma/rnic_priv.h"

#define ETH_PORT_MTU	4096

/* NICs are saved and loaded once in so many rounds, where that is asked for. */
#define WIRE_CYCLE	61

struct frame {
	uint64_t due;
	struct pkt pkt;
	struct pkt_av av;
	uint8_t sgid[GID_SIZE];
	uint8_t dgid[GID_SIZE];
	unsigned int to;
	int from;
	TAILQ_ENTRY(frame) entry;
	uint8_t data[ETH_PORT_MTU];
};

TAILQ_HEAD(frames, frame);

static struct frames wire_line = TAILQ_HEAD_INITIALIZER(wire_line);
static struct engine *wire_engine;

/* When each direction will have sent what waits for it; payload under way. */
static uint64_t wire_free[EG_GUESTS];
static uint64_t wire_load;

struct eg_wire_fate eg_wire;

static bool wire_chance(uint32_t thousandths)
{
	eg_wire.seed = eg_wire.seed * 1664525 + 1013904223;
	return (eg_wire.seed >> 12) % 1000 < thousandths;
}

/* Queue a packet for bandwidth; false if the queue is full. */
static bool wire_wait(struct frame *frame)
{
	uint64_t now = loop_now(wire_engine->loop), bytes;
	uint64_t *free = &wire_free[frame->to];

	if (*free < now)
		*free = now;
	if (eg_wire.mbps) {
		bytes = (*free - now) * eg_wire.mbps / 8000;
		if (eg_wire.queue && bytes > eg_wire.queue)
			return false;
		if (eg_wire.mark && bytes > eg_wire.mark)
			frame->pkt.ecn = true;
		bytes = frame->pkt.len + EG_WIRE_OVERHEAD;
		*free += bytes * 8000 / eg_wire.mbps;
	}
	frame->due = *free + eg_wire.latency;
	return true;
}

static void wire_put(const struct frame *frame)
{
	size_t size = offsetof(struct frame, data) + frame->pkt.len;
	struct frame *copy = malloc(sizeof(*copy)), *last;

	assert_non_null(copy);
	memcpy(copy, frame, size);
	last = TAILQ_LAST(&wire_line, frames);
	wire_load += copy->pkt.len;
	if (wire_load > eg_wire.most)
		eg_wire.most = wire_load;
	if (last && wire_chance(eg_wire.reorder)) {
		copy->due = last->due;
		TAILQ_INSERT_BEFORE(last, copy, entry);
		return;
	}
	/* One direction may be busier: keep the line in the order of time. */
	while (last && last->due > copy->due)
		last = TAILQ_PREV(last, frames, entry);
	if (last)
		TAILQ_INSERT_AFTER(&wire_line, last, copy, entry);
	else
		TAILQ_INSERT_HEAD(&wire_line, copy, entry);
}

/* NICs are named by number: another one may take the place of one meanwhile. */
static struct fabric_end *wire_end(unsigned int number)
{
	return &wire_engine->guest[number].rnic->end;
}

static unsigned int wire_number(const struct fabric_end *end)
{
	return end == wire_end(1);
}

static bool wire_cut(const struct pkt_op *op)
{
	return eg_wire.cut & (op->response ? 2 : 1);
}

static void wire_send(struct fabric_end *from, struct fabric_end *to,
		      const struct pkt *pkt)
{
	const struct pkt_op *op = pkt_op(pkt->opcode);
	static struct frame frame;
	struct sg dst;

	assert_non_null(op);
	assert_true(pkt->len <= ETH_PORT_MTU);
	assert_int_equal(pkt->npsn, 1);
	assert_int_equal(pkt->psn >> 24, 0);
	assert_true(!pkt->solicited || op->last);
	frame.pkt = *pkt;
	frame.pkt.same = pkt->same && !eg_wire.plain;
	frame.av = *pkt->av;
	frame.to = wire_number(to);
	frame.from = pkt->from ? (int)wire_number(pkt->from) : -1;
	memcpy(frame.sgid, pkt->sgid, GID_SIZE);
	memcpy(frame.dgid, pkt->dgid, GID_SIZE);
	if (PKT_SERVICE(pkt->opcode) != PKT_UD)
		frame.pkt.src_qpn = PKT_QPN_UNKNOWN;
	if (pkt->len) {
		sg_init_flat(&dst, frame.data);
		sg_copy(&dst, pkt->payload, pkt->len);
	}
	eg_wire.sent++;
	eg_wire.bytes[op->response] += pkt->len;
	if (wire_cut(op) || wire_chance(eg_wire.lose) || !wire_wait(&frame)) {
		eg_wire.lost++;
		return;
	}
	wire_put(&frame);
	if (wire_chance(eg_wire.repeat))
		wire_put(&frame);
}

static const struct transport wire = {
	.name = "wire",
	.seg_max = 0,
	.send = wire_send,
};

void eg_wire_use(struct engine *engine)
{
	eg_wire = (struct eg_wire_fate) { .seed = 1 };
	memset(wire_free, 0, sizeof(wire_free));
	wire_engine = engine;
	fabric_set_local(engine->fabric, &wire);
}

static void wire_take(struct frame *frame)
{
	TAILQ_REMOVE(&wire_line, frame, entry);
	wire_load -= frame->pkt.len;
}

bool eg_wire_deliver(void)
{
	struct frame *frame = TAILQ_FIRST(&wire_line);
	struct sg src;

	if (!frame || frame->due > loop_now(wire_engine->loop))
		return false;
	wire_take(frame);
	sg_init_flat(&src, frame->data);
	frame->pkt.payload = frame->pkt.len ? &src : NULL;
	frame->pkt.sgid = frame->sgid;
	frame->pkt.dgid = frame->dgid;
	frame->pkt.av = &frame->av;
	frame->pkt.from = frame->from < 0 ? NULL : wire_end(frame->from);
	wire_end(frame->to)->deliver(wire_end(frame->to), &frame->pkt);
	free(frame);
	return true;
}

void eg_wire_drop(void)
{
	struct frame *frame;

	while ((frame = TAILQ_FIRST(&wire_line))) {
		wire_take(frame);
		free(frame);
	}
}

int eg_wire_teardown(void **state)
{
	eg_wire_drop();
	return eg_teardown(state);
}

static void wire_connect_end(struct eg_end *end, const struct eg_end *peer,
			     uint8_t mtu)
{
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t s;

	for (s = VIRTIO_IB_QPS_INIT; s <= VIRTIO_IB_QPS_RTS; s++) {
		req = eg_modify_req(end->qpn, VIRTIO_IB_QPT_RC, s, peer->guest,
				    peer->qpn);
		req.path_mtu = mtu;
		req.retry_cnt = 7;
		req.rnr_retry = 7;
		assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
	}
}

void eg_wire_connect(struct eg_end *a, struct eg_end *b, uint8_t mtu)
{
	wire_connect_end(a, b, mtu);
	wire_connect_end(b, a, mtu);
}

/* Poll and deliver what is due now; false if there was nothing to do. */
static bool wire_round(struct engine *engine)
{
	static unsigned int rounds;
	unsigned int i;
	bool busy = false;

	if (++rounds % WIRE_CYCLE == 0)
		for (i = 0; i < EG_GUESTS; i++)
			eg_cycle(&engine->guest[i]);

	eg_dirty_begin();
	for (i = 0; i < EG_GUESTS; i++)
		busy |= rnic_poll(engine->guest[i].rnic);
	for (i = 0; i < 50 && eg_wire_deliver(); i++)
		busy = true;
	eg_dirty_end();
	return busy;
}

/* ns until something happens, at most @max */
static uint64_t wire_next(const struct engine *engine, uint64_t max)
{
	const struct frame *frame = TAILQ_FIRST(&wire_line);
	uint64_t next = engine_loop_next(engine->loop);

	if (frame && frame->due - loop_now(engine->loop) < next)
		next = frame->due - loop_now(engine->loop);
	return next < max ? next : max;
}

void eg_wire_run(struct engine *engine, uint64_t ns)
{
	uint64_t quiet = 0, next;

	while (quiet < ns) {
		if (wire_round(engine)) {
			quiet = 0;
			continue;
		}
		next = wire_next(engine, ns - quiet);
		engine_loop_advance(engine->loop, next);
		quiet += next;
	}
}

void eg_wire_for(struct engine *engine, uint64_t ns)
{
	uint64_t end = loop_now(engine->loop) + ns;

	while (loop_now(engine->loop) < end)
		if (!wire_round(engine))
			engine_loop_advance(engine->loop, wire_next(engine,
				end - loop_now(engine->loop)));
}
