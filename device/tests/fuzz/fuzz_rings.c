// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: direct rings and event queues of a hostile guest.
 *
 * A NIC has direct QPs in RTS, RC and UD, and RC with an SRQ, whose peers are in another
 * guest.
 * The input fills slots and indices, control blocks and the doorbell page, makes and
 * destroys rings by requests that are somewhat wrong, gives buffers for events, and lets
 * the NIC work.
 *
 *	input:	operations
 *	operation: what, which QP, ...; see operation()
 *
 * Between two QPs beside them, on the same NICs, messages get through as if nothing had
 * happened, and memory outside of memory regions stays as it is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/engine_ring.h"
#include "tests/lib/need.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What: the low bits of an operation's first byte. */
enum {
	OP_SEND,	/* a good request, patched, is posted */
	OP_RECV,	/* the same of a receive request */
	OP_CONTROL,	/* bytes of a QP's control block */
	OP_CQ_CONTROL,	/* bytes of a CQ's control block */
	OP_PAGE,	/* bytes of the doorbell page */
	OP_SLOT,	/* bytes of a ring, wherever the device is with it */
	OP_RUN,		/* the NICs work */
	OP_TIME,	/* time passes */
	OP_POLL,	/* the guest takes completions */
	OP_CREATE_QP,	/* CREATE_QP, patched */
	OP_CREATE_CQ,	/* CREATE_CQ, patched */
	OP_EVENTS,	/* the guest gives buffers for events, and takes events */
	OP_SLEEP,	/* the loop goes to sleep, and wakes */
	OP_MEMORY,	/* the guest is paused, and goes on */
	OP_ARM,		/* a CQ is armed */
	OP_RESET,	/* a QP goes to RESET and comes back */
	OP_SRQ,		/* the SRQ: see op_srq() */
	OPS,
};

/* Of an operation's first byte: nothing is announced, nor does the NIC work. */
#define QUIET		64
#define WHAT(byte)	(((byte) & (QUIET - 1)) % OPS)

enum { RC, UD, SHARED, TYPES };

static const uint8_t types[TYPES] = {
	[RC] = VIRTIO_IB_QPT_RC,
	[UD] = VIRTIO_IB_QPT_UD,
	[SHARED] = VIRTIO_IB_QPT_RC,
};

#define REGION		(64u << 10)
#define LEN		512u
#define LAST		(REGION - LEN)
#define CANARY		0xa5
#define DEPTH		16u
#define ROUNDS		64

/**
 * struct side - what one of the two guests has
 * @guest:	itself
 * @pdn:	protection domain
 * @lkey:	memory region
 * @ah:		address handle of the other side
 * @page:	doorbell page
 * @cq:		CQs
 * @qp:		QPs
 * @srq:	SRQ of the last one
 */
struct side {
	struct eg_guest *guest;
	uint32_t pdn;
	uint32_t lkey;
	uint32_t ah;
	struct er_page page;
	struct er_cq cq[TYPES];
	struct er_qp qp[TYPES];
	struct er_srq srq;
};

/**
 * struct target - what is fuzzed
 * @engine:	engine; guest 0 is the hostile one
 * @side:	of the two guests
 * @beside:	a connection that has nothing to do with the input
 * @works:	messages that got through there
 * @spare:	a QP that is made and destroyed
 */
static struct target {
	struct engine *engine;
	struct side side[EG_GUESTS];
	struct er_pair *beside;
	unsigned int works;
	struct er_qp spare;
} t;

static uint8_t canary[EG_PAGE];

/* ------------------------------------------------------------------------- */
/* Setting up                                                                */
/* ------------------------------------------------------------------------- */

static void side_init(struct side *s, struct eg_guest *guest, const struct eg_guest *to)
{
	struct er_shape shape = { .send_depth = DEPTH, .recv_depth = DEPTH };
	unsigned int i;

	s->guest = guest;
	s->pdn = eg_create_pd(guest);
	s->lkey = eg_reg(guest, s->pdn, EG_ACCESS_ALL, EG_VA, REGION, EG_DATA);
	s->ah = eg_create_ah(guest, s->pdn, to);
	er_page_init(&s->page, guest, 0);
	er_srq_init(&s->srq, guest, s->pdn, DEPTH);
	for (i = 0; i < TYPES; i++) {
		shape.srq = i == SHARED ? &s->srq : NULL;
		er_cq_init(&s->cq[i], guest, 2 * DEPTH, 5, 0);
		er_qp_init(&s->qp[i], &s->page, &s->cq[i], i, types[i], s->pdn, &shape);
	}
	memset(eg_ptr(guest, EG_DATA + REGION), CANARY, EG_PAGE);
}

static void target_init(void)
{
	void *state;

	memset(canary, CANARY, sizeof(canary));
	eg_setup_direct(&state);
	t.engine = state;
	side_init(&t.side[0], &t.engine->guest[0], &t.engine->guest[1]);
	side_init(&t.side[1], &t.engine->guest[1], &t.engine->guest[0]);
	er_qp_init(&t.spare, &t.side[0].page, &t.side[0].cq[0], 100,
		   VIRTIO_IB_QPT_RC, t.side[0].pdn, &(struct er_shape) {});
	t.beside = er_pair_up(&state, VIRTIO_IB_QPT_RC, NULL);
}

static void post_recv(struct side *s, unsigned int which)
{
	struct eg_sge sge = { EG_VA + LAST, LEN, s->lkey };

	if (which == SHARED)
		er_post_srq(&s->srq, &sge, 1, s->srq.posted);
	else
		er_post_recv(&s->qp[which], &sge, 1);
}

static void qp_begin(struct side *s, unsigned int which)
{
	struct er_qp *qp = &s->qp[which];
	unsigned int i;

	memset(qp->control, 0, VIRTIO_RDMA_CONTROL_SIZE);
	qp->posted = 0;
	qp->posted_recv = 0;
	for (i = 0; i < DEPTH / 4; i++)
		post_recv(s, which);
}

static void qp_connect(struct side *s, unsigned int which, const struct side *to)
{
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req = eg_modify_req(s->qp[which].qpn, types[which], state, to->guest,
				    to->qp[which].qpn);
		need(!eg_modify(s->guest, &req));
	}
	qp_begin(s, which);
}

static void target_up(void)
{
	unsigned int which, i;
	struct side *s;

	for (i = 0; i < EG_GUESTS; i++) {
		s = &t.side[i];
		memset(s->page.page, 0, EG_PAGE);
		s->page.page->ring_me = htole32(1);
		memset(s->srq.control, 0, VIRTIO_RDMA_CONTROL_SIZE);
		s->srq.posted = 0;
		need(!er_create_srq(&s->srq));
		s->qp[SHARED].direct.srq = htole32(s->srq.handle);
		for (which = 0; which < TYPES; which++) {
			memset(s->cq[which].control, 0, VIRTIO_RDMA_CONTROL_SIZE);
			memset(s->cq[which].ring, 0, 2 * DEPTH * 32);
			s->cq[which].consumer = 0;
			need(!er_create_cq(&s->cq[which]));
			s->qp[which].req.send_cqn = htole32(s->cq[which].cqn);
			s->qp[which].req.recv_cqn = s->qp[which].req.send_cqn;
			memset(s->qp[which].control, 0, VIRTIO_RDMA_CONTROL_SIZE);
			need(!er_create_qp(&s->qp[which]));
		}
	}
	for (which = 0; which < TYPES; which++)
		for (i = 0; i < EG_GUESTS; i++)
			qp_connect(&t.side[i], which, &t.side[!i]);
	t.spare.req.send_cqn = t.side[0].qp[0].req.send_cqn;
	t.spare.req.recv_cqn = t.side[0].qp[0].req.send_cqn;
}

static void target_down(void)
{
	unsigned int which, i;

	for (i = 0; i < EG_GUESTS; i++) {
		for (which = 0; which < TYPES; which++) {
			need(!er_destroy_qp(&t.side[i].qp[which]));
			need(!er_destroy_cq(&t.side[i].cq[which]));
		}
		need(!er_destroy_srq(&t.side[i].srq));
	}
}

/* The connection beside the fuzzed ones must not be affected. */
static void target_check(void)
{
	struct er_pair *p = t.beside;
	struct eg_wr wr = eg_send(&p->a.end, 0, 1 << 20, 777);
	unsigned int i;

	eg_fill(p->a.end.guest, 1 << 20, 777, t.works);
	er_recv(&p->b, EG_IN, 777);
	er_post_send(&p->a.qp, &wr);
	eg_run(t.engine);
	er_expect(&p->a, false, t.works, VIRTIO_IB_WC_SUCCESS);
	er_expect(&p->b, true, t.works, VIRTIO_IB_WC_SUCCESS);
	eg_check(p->b.end.guest, EG_IN, 777, t.works++, 0);
	for (i = 0; i < EG_GUESTS; i++)
		assert_memory_equal(eg_ptr(t.side[i].guest, EG_DATA + REGION), canary,
				    sizeof(canary));
}

/* ------------------------------------------------------------------------- */
/* Operations                                                                */
/* ------------------------------------------------------------------------- */

static void patch_at(struct fuzz_input *in, void *to, size_t size)
{
	size_t at = fuzz_u16(in) % size;

	fuzz_patch(in, (uint8_t *)to + at, size - at);
}

/* opcode, patch */
static void op_send(unsigned int which, struct fuzz_input *in)
{
	const struct side *to = &t.side[1];
	struct side *s = &t.side[0];
	struct er_qp *qp = &s->qp[which];
	struct eg_wr wr = {
		.opcode = fuzz_u8(in) % 16,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.remote_addr = EG_VA + LAST,
		.rkey = to->lkey,
		.flush_len = 64,
		.flush_type = VIRTIO_IB_FLUSH_GLOBAL,
		.num_sge = 1,
		.sge = { { EG_VA + LAST, LEN, s->lkey } },
	};

	if (types[which] == VIRTIO_IB_QPT_UD) {
		wr.ah = s->ah;
		wr.remote_qpn = to->qp[which].qpn;
		wr.remote_qkey = 0x1234;
	}
	if (wr.opcode == VIRTIO_IB_WR_FLUSH)
		wr.num_sge = 0;
	if (wr.opcode == VIRTIO_IB_WR_CMP_SWAP ||
	    wr.opcode == VIRTIO_IB_WR_FETCH_ADD ||
	    wr.opcode == VIRTIO_IB_WR_ATOMIC_WRITE) {
		wr.remote_addr = EG_VA + LAST / 8 * 8;
		wr.sge[0].length = 8;
	}
	er_write_send(qp, qp->posted, &wr);
	fuzz_patch(in, qp->send + qp->posted % DEPTH * 64, 64);
	qp->control->send_producer = htole32(++qp->posted);
}

static void op_recv(unsigned int which, struct fuzz_input *in)
{
	struct side *s = &t.side[0];
	struct er_qp *qp = &s->qp[which];
	uint8_t *ring = which == SHARED ? s->srq.ring : qp->recv;
	uint32_t index = which == SHARED ? s->srq.posted : qp->posted_recv;

	post_recv(s, which);
	fuzz_patch(in, ring + index % DEPTH * 64, 64);
}

/* what: a message for the SRQ, its control block, its limit, CREATE_SRQ */
static void op_srq(struct fuzz_input *in)
{
	struct eg_wr wr = eg_send(&t.beside->b.end, 0, 0, 100);
	struct side *s = &t.side[0];
	struct er_srq srq;

	switch (fuzz_u8(in) % 4) {
	case 0:
		wr.sge[0] = (struct eg_sge) { EG_VA + LAST, 100, t.side[1].lkey };
		er_post_send(&t.side[1].qp[SHARED], &wr);
		break;
	case 1:
		patch_at(in, s->srq.control, VIRTIO_RDMA_CONTROL_SIZE);
		break;
	case 2:
		er_modify_srq(&s->srq, fuzz_u8(in));
		break;
	default:
		srq = s->srq;
		need(er_destroy_srq(&srq));
		patch_at(in, &srq.req, sizeof(srq.req));
		patch_at(in, srq.pages, 64);
		if (le32toh(srq.req.npages) > ARRAY_SIZE(srq.pages))
			srq.req.npages = htole32(ARRAY_SIZE(srq.pages));
		if (!er_create_srq(&srq))
			need(!er_destroy_srq(&srq));
	}
}

static void op_poll(struct er_cq *cq)
{
	struct virtio_rdma_cqe cqe;

	while (er_poll(cq, &cqe))
		;
}

/*
 * where (two bytes), patch.  The device clears a flag in the control block, so that one
 * that is memory is the right one: this guest's kernel does not aim at itself.
 */
static void op_create_qp(struct fuzz_input *in)
{
	struct er_qp qp = t.spare;

	patch_at(in, &qp.direct, sizeof(qp.direct));
	patch_at(in, &qp.req, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	patch_at(in, qp.pages, 64);
	if (le64toh(qp.direct.control) - EG_BASE < EG_SIZE)
		qp.direct.control = t.spare.direct.control;
	if (!er_create_qp(&qp))
		need(!er_destroy_qp(&qp));
}

static void op_create_cq(unsigned int which, struct fuzz_input *in)
{
	struct er_cq cq = t.side[0].cq[which];

	patch_at(in, &cq.req, sizeof(cq.req));
	patch_at(in, cq.pages, 64);
	if (le32toh(cq.req.npages) > ARRAY_SIZE(cq.pages))
		cq.req.npages = htole32(ARRAY_SIZE(cq.pages));
	if (!er_create_cq(&cq))
		need(!er_destroy_cq(&cq));
}

static void op_events(struct fuzz_input *in)
{
	struct eg_guest *guest = t.side[0].guest;
	const struct eg_ring *ring = &guest->event[0];
	struct virtio_rdma_event event;
	unsigned int n = fuzz_u8(in) % 8;

	while (er_take_event(guest, 0, &event))
		need(le16toh(event.type) < VIRTIO_RDMA_EVENT_NUM);
	/* No more than the virtqueue holds. */
	if ((uint16_t)(ring->avail - ring->seen) + n <= EG_QUEUE)
		er_give_events(guest, 0, n);
}

static void op_memory(void)
{
	struct eg_guest *guest = t.side[0].guest;

	rnic_mem_changed(guest->rnic, &guest_mem_none);
	eg_run(t.engine);
	rnic_mem_changed(guest->rnic, &guest->map);
}

static void op_reset(unsigned int which)
{
	struct side *s = &t.side[0];
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(s->qp[which].qpn, types[which], VIRTIO_IB_QPS_RESET,
			      s->guest, 0);

	need(!eg_modify(s->guest, &req));
	qp_connect(s, which, &t.side[1]);
}

static void run(void)
{
	unsigned int i;
	bool work = true;

	for (i = 0; i < ROUNDS && work; i++) {
		work = rnic_poll(t.side[0].guest->rnic);
		work |= rnic_poll(t.side[1].guest->rnic);
	}
}

/* Bytes of memory; false if it is something else. */
static bool op_bytes(uint8_t what, unsigned int which, struct fuzz_input *in)
{
	struct side *s = &t.side[0];
	uint8_t *recv;

	switch (what) {
	case OP_SEND:
		op_send(which, in);
		return true;
	case OP_RECV:
		op_recv(which, in);
		return true;
	case OP_CONTROL:
		patch_at(in, s->qp[which].control, VIRTIO_RDMA_CONTROL_SIZE);
		return true;
	case OP_CQ_CONTROL:
		patch_at(in, s->cq[which].control, VIRTIO_RDMA_CONTROL_SIZE);
		return true;
	case OP_PAGE:
		patch_at(in, s->page.page, EG_PAGE);
		return true;
	case OP_SLOT:
		recv = which == SHARED ? s->srq.ring : s->qp[which].recv;
		patch_at(in, fuzz_u8(in) & 1 ? recv : s->qp[which].send, DEPTH * 64);
		return true;
	}
	return false;
}

static void op_event(uint8_t what, unsigned int which, struct fuzz_input *in)
{
	struct side *s = &t.side[0];

	switch (what) {
	case OP_TIME:
		engine_loop_advance(t.engine->loop, 5000000);
		break;
	case OP_POLL:
		op_poll(&s->cq[which]);
		op_poll(&t.side[1].cq[which]);
		break;
	case OP_CREATE_QP:
		op_create_qp(in);
		break;
	case OP_CREATE_CQ:
		op_create_cq(which, in);
		break;
	case OP_EVENTS:
		op_events(in);
		break;
	case OP_SLEEP:
		rnic_sleep(s->guest->rnic);
		rnic_wake(s->guest->rnic);
		break;
	case OP_MEMORY:
		op_memory();
		break;
	case OP_ARM:
		er_arm(&s->cq[which], fuzz_u8(in) % 4);
		break;
	case OP_RESET:
		op_reset(which);
		break;
	case OP_SRQ:
		op_srq(in);
		break;
	}
}

static void operation(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	unsigned int which = fuzz_u8(in) % TYPES;

	if (!op_bytes(WHAT(what), which, in))
		op_event(WHAT(what), which, in);
	if (what & QUIET)
		return;
	er_announce(&t.side[0].qp[which]);
	rnic_queue_kick(t.side[0].guest->rnic, RNIC_DOORBELL, 0);
	run();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (!t.engine)
		target_init();
	target_up();
	while (in.size)
		operation(&in);
	target_down();
	target_check();
	return 0;
}
