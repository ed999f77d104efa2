// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A transport that loses, repeats and reorders packets.
 *
 * Each packet is copied and waits in a line until the test delivers it, so that
 * requester and responder do not meet in one call here.
 */
#include "engine_wire.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "pkt.h"
#include "sg.h"

#define WIRE_MTU	4096

struct frame {
	struct pkt pkt;
	struct virtio_rdma_ah_attr av;
	uint8_t sgid[GID_SIZE];
	uint8_t dgid[GID_SIZE];
	uint8_t data[WIRE_MTU];
	struct nic *to;
	TAILQ_ENTRY(frame) entry;
};

TAILQ_HEAD(frames, frame);

static struct frames wire_line = TAILQ_HEAD_INITIALIZER(wire_line);

struct eg_wire_fate eg_wire;

static bool wire_chance(uint32_t thousandths)
{
	eg_wire.seed = eg_wire.seed * 1664525 + 1013904223;
	return (eg_wire.seed >> 12) % 1000 < thousandths;
}

static void wire_put(const struct frame *frame)
{
	struct frame *copy = malloc(sizeof(*copy)), *last;

	assert_non_null(copy);
	*copy = *frame;
	last = TAILQ_LAST(&wire_line, frames);
	if (last && wire_chance(eg_wire.reorder))
		TAILQ_INSERT_BEFORE(last, copy, entry);
	else
		TAILQ_INSERT_TAIL(&wire_line, copy, entry);
}

static bool wire_cut(const struct pkt *pkt)
{
	const struct pkt_op *op = pkt_op(pkt->opcode);

	assert_non_null(op);
	return eg_wire.cut == (op->response ? 2 : 1);
}

static void wire_send(struct nic *from, struct nic *to, const struct pkt *pkt)
{
	struct frame frame = { .pkt = *pkt, .av = *pkt->av, .to = to };
	struct sg dst;

	(void)from;
	assert_true(pkt->len <= WIRE_MTU);
	assert_int_equal(pkt->npsn, 1);
	assert_int_equal(pkt->psn >> 24, 0);
	assert_true(!pkt->solicited || pkt_op(pkt->opcode)->last);
	memcpy(frame.sgid, pkt->sgid, GID_SIZE);
	memcpy(frame.dgid, pkt->dgid, GID_SIZE);
	if (PKT_SERVICE(pkt->opcode) != PKT_UD)
		frame.pkt.src_qpn = PKT_QPN_UNKNOWN;
	if (pkt->len) {
		sg_init_flat(&dst, frame.data);
		sg_copy(&dst, pkt->payload, pkt->len);
	}
	eg_wire.sent++;
	if (wire_cut(pkt) || wire_chance(eg_wire.lose)) {
		eg_wire.lost++;
		return;
	}
	wire_put(&frame);
	if (wire_chance(eg_wire.repeat))
		wire_put(&frame);
}

static const struct xport wire = {
	.name = "wire",
	.seg_max = 0,
	.send = wire_send,
};

void eg_wire_use(struct engine *engine)
{
	eg_wire = (struct eg_wire_fate) { .seed = 1 };
	fabric_set_local(engine->fabric, &wire);
}

bool eg_wire_deliver(void)
{
	struct frame *frame = TAILQ_FIRST(&wire_line);
	struct sg src;

	if (!frame)
		return false;
	TAILQ_REMOVE(&wire_line, frame, entry);
	sg_init_flat(&src, frame->data);
	frame->pkt.payload = frame->pkt.len ? &src : NULL;
	frame->pkt.sgid = frame->sgid;
	frame->pkt.dgid = frame->dgid;
	frame->pkt.av = &frame->av;
	nic_deliver(frame->to, &frame->pkt);
	free(frame);
	return true;
}

void eg_wire_drop(void)
{
	struct frame *frame;

	while ((frame = TAILQ_FIRST(&wire_line))) {
		TAILQ_REMOVE(&wire_line, frame, entry);
		free(frame);
	}
}

void eg_wire_run(struct engine *engine, uint64_t ns)
{
	uint64_t quiet = 0, next;
	unsigned int i;
	bool busy;

	while (quiet < ns) {
		busy = false;
		for (i = 0; i < EG_GUESTS; i++)
			busy |= nic_poll(engine->guest[i].nic);
		for (i = 0; i < 50 && eg_wire_deliver(); i++)
			busy = true;
		if (busy) {
			quiet = 0;
			continue;
		}
		next = engine_loop_next(engine->loop);
		if (next > ns - quiet)
			next = ns - quiet;
		engine_loop_advance(engine->loop, next);
		quiet += next;
	}
}
