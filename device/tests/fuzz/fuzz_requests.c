// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: work requests of a hostile guest.
 *
 * A NIC has QPs of each type in RTS.  The input fills slots of their queues, the
 * rings and the memory that requests name, and lets the NIC work.  All of it exists
 * twice: once the peer is reached in memory, once by packets.
 *
 *	input:	where, then operations
 *	operation: what, which QP, ...; see operation()
 *
 * Between two guests beside them, one on the same NIC, messages get through as if
 * nothing had happened, there are no more completions than requests, and memory
 * outside of memory regions stays as it is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/need.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where: bits of the first byte. */
#define BY_WIRE		1	/* packets, else memory */
#define LOSSY		2	/* packets do not arrive */

/* From here on, one QP registers memory by work requests. */
#define OF_KERNEL	250

/* What: the low bits of an operation's first byte. */
enum {
	OP_SEND,	/* a good request, patched, is posted */
	OP_RECV,	/* the same of a receive request */
	OP_RING,	/* bytes of an available ring */
	OP_SLOT,	/* bytes of a slot, wherever the device is with it */
	OP_DATA,	/* bytes of a memory region, where page lists are */
	OP_RUN,		/* the NICs work */
	OP_TIME,	/* time passes */
	OP_POLL,	/* the guest takes completions and gives slots back */
	OP_GAP,		/* a page of the memory region goes away, or all are back */
	OPS,
};

/* Of an operation's first byte: the device is not told, nor does it work. */
#define QUIET		64

#define CQ_FUZZED	0
#define CQ_BESIDE	1

/* Where good requests have their data; pieces of it are memory regions. */
#define REGION		(64u << 10)
#define PAGES_AT	(48u << 10)
/* The last bytes of a region, so that the next address is one too far. */
#define LEN		512u
#define LAST		(REGION - LEN)
#define CANARY		0xa5
#define RECVS		4
#define ROUNDS		64

/* With those of receive requests that are there anyway, a CQ holds so many. */
#define POSTS_MAX	(EG_QUEUE - TYPES * RECVS)

/*
 * FAST_REG is the QP that may register memory by work request.  Such a request gives
 * access to any memory of the guest, its rings too: nothing is said about it
 * afterwards.
 */
enum { RC, UC, UD, FAST_REG, GSI, TYPES };

static const uint8_t types[TYPES] = {
	[RC] = VIRTIO_IB_QPT_RC,
	[UC] = VIRTIO_IB_QPT_UC,
	[UD] = VIRTIO_IB_QPT_UD,
	[FAST_REG] = VIRTIO_IB_QPT_RC,
	[GSI] = VIRTIO_IB_QPT_GSI,
};

/**
 * struct side - what one of the two guests has
 * @guest:	itself
 * @pdn:	protection domain
 * @lkey:	memory region
 * @fast_key:	memory region of ALLOC_MR
 * @window_key: rkey of a memory window of type 2
 * @ah:		address handle of the other side
 * @end:	QPs that are fuzzed
 */
struct side {
	struct eg_guest *guest;
	uint32_t pdn;
	uint32_t lkey;
	uint32_t fast_key;
	uint32_t window_key;
	uint32_t ah;
	struct eg_end end[TYPES];
};

/**
 * struct target - what is fuzzed
 * @engine:	engine; guest 0 is the hostile one
 * @side:	of the two guests
 * @beside:	a connection that has nothing to do with the input
 * @made:	QPs that there are
 * @stale:	QPs that the input has dealt with
 * @cq_stale:	it has dealt with the CQ
 * @gaps:	memory map of the hostile guest when a page is gone
 * @posted:	by QPN, requests that the hostile guest may see completed
 * @posts:	requests since completions were taken
 */
static struct target {
	struct engine *engine;
	struct side side[EG_GUESTS];
	struct eg_pair beside;
	bool made[TYPES];
	bool stale[TYPES];
	bool cq_stale;
	struct guest_mem gaps;
	uint32_t posted[EG_QPS];
	unsigned int posts;
} targets[2];

/* The content of memory beside the regions. */
static uint8_t canary[EG_PAGE];

/* ------------------------------------------------------------------------- */
/* Setting up                                                                */
/* ------------------------------------------------------------------------- */

static uint8_t command(const struct eg_guest *guest, uint8_t number, const void *req,
		       size_t req_len, void *rsp, size_t rsp_len)
{
	return eg_command((struct eg_guest *)guest, number, req, req_len, rsp, rsp_len);
}

static void side_init(struct side *s, struct eg_guest *guest, struct eg_guest *to)
{
	struct virtio_rdma_cmd_alloc_mw window = { .type = htole32(VIRTIO_IB_MW_TYPE_2) };
	struct virtio_rdma_cmd_alloc_mr req = { .max_pages = htole32(8) };
	struct virtio_rdma_ack_mr ack;

	s->guest = guest;
	s->pdn = eg_create_pd(guest);
	s->lkey = eg_reg(guest, s->pdn, EG_ACCESS_ALL | VIRTIO_IB_ACCESS_MW_BIND, EG_VA,
			 REGION, EG_DATA);
	s->ah = eg_create_ah(guest, s->pdn, to);
	req.pdn = htole32(s->pdn);
	need(!command(guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MR, &req, sizeof(req), &ack,
		      sizeof(ack)));
	s->fast_key = le32toh(ack.lkey);
	window.pdn = htole32(s->pdn);
	need(!command(guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MW, &window, sizeof(window), &ack,
		      sizeof(ack)));
	s->window_key = le32toh(ack.rkey);
	memset(eg_ptr(guest, EG_DATA + REGION), CANARY, EG_PAGE);
}

/* The objects of an engine that has none yet. */
static void target_fill(struct target *t)
{
	void *state = t->engine;

	side_init(&t->side[0], &t->engine->guest[0], &t->engine->guest[1]);
	side_init(&t->side[1], &t->engine->guest[1], &t->engine->guest[0]);
	/* CQ_FUZZED is taken so that the pair gets the other one. */
	need(eg_create_cq(t->side[0].guest) == CQ_FUZZED);
	need(eg_create_cq(t->side[1].guest) == CQ_FUZZED);
	t->beside = eg_pair_up(&state, VIRTIO_IB_QPT_RC);
	need(t->beside.a.cqn == CQ_BESIDE);
	eg_expect_works(&t->beside);
}

static void target_init(struct target *t, bool wire)
{
	void *state;

	eg_setup(&state);
	t->engine = state;
	if (wire)
		eg_ports(t->engine);
	target_fill(t);
}

static void end_create(struct side *s, unsigned int which, uint8_t flags)
{
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(types[which], s->pdn, CQ_FUZZED);
	struct virtio_rdma_ack_create_qp ack;

	req.flags = flags;
	need(!command(s->guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req, sizeof(req), &ack,
		      sizeof(ack)));
	s->end[which] = (struct eg_end) {
		.guest = s->guest,
		.pdn = s->pdn,
		.cqn = CQ_FUZZED,
		.qpn = le32toh(ack.qpn),
		.lkey = s->lkey,
	};
}

static void end_connect(struct side *s, unsigned int which, const struct side *to)
{
	struct eg_end *end = &s->end[which];
	struct virtio_rdma_cmd_modify_qp req;
	unsigned int i;
	uint8_t state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req = eg_modify_req(end->qpn, types[which], state, to->guest,
				    to->end[which].qpn);
		if (types[which] == VIRTIO_IB_QPT_GSI)
			req.qkey = htole32(0x80010000);
		need(!eg_modify(s->guest, &req));
	}
	for (i = 0; i < RECVS; i++)
		eg_recv(end, i, 32768 + i * 1024, 1024);
}

/* QPs that are not in use are made, and connected with each other. */
static void target_up(struct target *t, uint8_t where)
{
	unsigned int which, i;

	for (which = 0; which < TYPES; which++) {
		if (t->made[which])
			continue;
		for (i = 0; i < EG_GUESTS; i++)
			end_create(&t->side[i], which,
				   where >= OF_KERNEL && which == FAST_REG ?
				   VIRTIO_IB_QP_FAST_REG : 0);
		for (i = 0; i < EG_GUESTS; i++)
			end_connect(&t->side[i], which, &t->side[!i]);
		t->made[which] = true;
		t->posted[t->side[0].end[which].qpn] = RECVS;
	}
	memset(t->stale, 0, sizeof(t->stale));
	for (i = 0; i < EG_GUESTS; i++)
		eg_port[i].lose = where & LOSSY;
}

static void cq_renew(struct side *s)
{
	struct virtio_rdma_cmd_destroy_cq req = { .cqn = htole32(CQ_FUZZED) };

	need(!command(s->guest, VIRTIO_NET_CTRL_ROCE_DESTROY_CQ, &req, sizeof(req),
		      NULL, 0));
	eg_ring_reset(&s->guest->cq[CQ_FUZZED]);
	need(eg_create_cq(s->guest) == CQ_FUZZED);
}

/* The connection beside the fuzzed ones must not be affected. */
static void target_check(struct target *t)
{
	unsigned int i;

	eg_expect_works(&t->beside);
	for (i = 0; i < EG_GUESTS; i++)
		assert_memory_equal(eg_ptr(t->side[i].guest, EG_DATA + REGION), canary,
				    sizeof(canary));
}

/* All is as after the set-up again, in the same memory, whatever is in it. */
static void target_renew(struct target *t)
{
	struct eg_guest *guest = t->engine->guest;
	unsigned int i;

	for (i = 0; i < EG_GUESTS; i++) {
		eg_port[i].lose = false;
		eg_reset(&guest[i]);
		rnic_mem_changed(guest[i].rnic, &guest[i].map);
	}
	for (i = 0; i < EG_GUESTS; i++)
		eg_guest_start(&guest[i], guest[i].cq[0].vq.event_idx);
	*t = (struct target){ .engine = t->engine };
	target_fill(t);
}

/* Has a work request registered memory?  The region keeps the length that it had. */
static bool target_registered(const struct target *t)
{
	const struct side *s = &t->side[0];
	const struct mr *mr = obj_at(&s->guest->rnic->mrs.objs, obj_index(s->fast_key));

	return mr->length;
}

static void target_map_all(struct target *t)
{
	struct eg_guest *guest = t->side[0].guest;

	rnic_mem_changed(guest->rnic, &guest->map);
}

/* Without page number @page of the region. */
static void target_map_gap(struct target *t, unsigned int page)
{
	struct eg_guest *guest = t->side[0].guest;
	const uint64_t at = EG_DATA + page * EG_PAGE;

	t->gaps.n = 2;
	t->gaps.region[0] = (struct guest_region) {
		.addr = EG_BASE,
		.size = at - EG_BASE,
		.host = guest->mem,
	};
	t->gaps.region[1] = (struct guest_region) {
		.addr = at + EG_PAGE,
		.size = EG_BASE + EG_SIZE - at - EG_PAGE,
		.host = eg_ptr(guest, at + EG_PAGE),
	};
	rnic_mem_changed(guest->rnic, &t->gaps);
}

/* page; behind the last one, all of them are there */
static void op_gap(struct target *t, struct fuzz_input *in)
{
	unsigned int page = fuzz_u8(in) % (REGION / EG_PAGE + 1);

	if (page < REGION / EG_PAGE)
		target_map_gap(t, page);
	else
		target_map_all(t);
}

/* Destroy the objects that the input has dealt with. */
static void target_down(struct target *t)
{
	unsigned int which, i;

	for (which = 0; which < TYPES; which++) {
		if (!t->made[which] || !(t->stale[which] || t->cq_stale))
			continue;
		for (i = 0; i < EG_GUESTS; i++)
			eg_destroy_qp(t->side[i].guest, t->side[i].end[which].qpn);
		t->made[which] = false;
	}
	for (i = 0; i < EG_GUESTS; i++)
		eg_port[i].lose = false;
	for (i = 0; i < EG_GUESTS && t->cq_stale; i++)
		cq_renew(&t->side[i]);
	target_map_all(t);
	t->cq_stale = false;
	t->posts = 0;
}

/* ------------------------------------------------------------------------- */
/* Operations                                                                */
/* ------------------------------------------------------------------------- */

/* The slots of completions may be taken: what is in them was not changed. */
static void take_completions(struct target *t)
{
	struct eg_wc wc;

	while (eg_poll(&t->side[0].end[0], &wc)) {
		need(wc.qp_num < EG_QPS && t->posted[wc.qp_num]);
		t->posted[wc.qp_num]--;
	}
	while (eg_poll(&t->side[1].end[0], &wc))
		;
	t->posts = 0;
}

static void run(struct target *t)
{
	unsigned int i;
	bool work = true;

	for (i = 0; i < ROUNDS && work; i++) {
		work = rnic_poll(t->side[0].guest->rnic);
		work |= rnic_poll(t->side[1].guest->rnic);
	}
}

static void good_send(struct target *t, unsigned int which,
		      struct virtio_rdma_sq_req *req)
{
	const struct side *s = &t->side[0], *to = &t->side[1];

	*req = (struct virtio_rdma_sq_req) {
		.opcode = VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_SIGNALED,
		.num_sge = htole32(1),
	};
	if (types[which] == VIRTIO_IB_QPT_UD || types[which] == VIRTIO_IB_QPT_GSI) {
		req->ud.remote_qpn = htole32(to->end[which].qpn);
		req->ud.remote_qkey = htole32(types[which] == VIRTIO_IB_QPT_GSI ?
					      0x80010000 : 0x1234);
		req->ud.ah = htole32(s->ah);
	} else {
		req->rdma.remote_addr = htole64(EG_VA + LAST);
		req->rdma.rkey = htole32(to->lkey);
	}
	req->sg_list[0].addr = htole64(EG_VA + LAST);
	req->sg_list[0].length = htole32(LEN);
	req->sg_list[0].lkey = htole32(s->lkey);
}

/*
 * Opcode and what goes with it: fields of the union overlap, so that a good request
 * of another kind is many flipped bits away.
 */
static void change_opcode(struct target *t, uint8_t opcode,
			  struct virtio_rdma_sq_req *req)
{
	req->opcode = opcode;
	switch (opcode) {
	case VIRTIO_IB_WR_FLUSH:
		req->flush.type = VIRTIO_IB_FLUSH_GLOBAL;
		req->flush.length = htole32(64);
		req->num_sge = 0;
		break;
	case VIRTIO_IB_WR_CMP_SWAP:
	case VIRTIO_IB_WR_FETCH_ADD:
		req->atomic_rkey = req->rdma.rkey;
		req->atomic.remote_addr = htole64(EG_VA + LAST / 8 * 8);
		break;
	case VIRTIO_IB_WR_ATOMIC_WRITE:
		req->rdma.remote_addr = htole64(EG_VA + LAST / 8 * 8);
		req->sg_list[0].length = htole32(8);
		break;
	case VIRTIO_IB_WR_LOCAL_INV:
	case VIRTIO_IB_WR_SEND_WITH_INV:
		req->invalidate_rkey = htole32(t->side[0].fast_key);
		break;
	case VIRTIO_IB_WR_REG_MR:
		req->reg.iova = htole64(EG_VA);
		req->reg.length = htole32(2 * EG_PAGE);
		req->reg.key = htole32(t->side[0].fast_key);
		req->reg.access = htole32(EG_ACCESS_ALL);
		req->reg.pages = htole64(EG_DATA + PAGES_AT);
		req->reg.npages = htole32(2);
		req->num_sge = 0;
		break;
	case VIRTIO_IB_WR_BIND_MW:
		req->bind.addr = htole64(EG_VA);
		req->bind.length = htole64(EG_PAGE);
		req->bind.mr_key = htole32(t->side[0].lkey);
		req->bind.key = htole32(t->side[0].window_key);
		req->bind.access = htole32(VIRTIO_IB_ACCESS_REMOTE_WRITE);
		req->num_sge = 0;
		break;
	}
}

static void patch_at(struct fuzz_input *in, void *to, size_t size)
{
	size_t at = fuzz_u16(in) % size;

	fuzz_patch(in, (uint8_t *)to + at, size - at);
}

/* opcode, patch of its beginning, where (two bytes), patch there */
static void op_send(struct target *t, unsigned int which, struct fuzz_input *in)
{
	struct eg_end *end = &t->side[0].end[which];
	struct eg_ring *ring = &end->guest->sq[end->qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(ring);
	unsigned int i;

	memset(slot, 0, ring->slot_size);
	good_send(t, which, slot);
	change_opcode(t, fuzz_u8(in) % 16, slot);
	for (i = 1; i < EG_SGE; i++)
		slot->sg_list[i] = slot->sg_list[0];
	fuzz_patch(in, slot, ring->slot_size);
	patch_at(in, slot, ring->slot_size);
	eg_post_slot(ring);
	t->posted[end->qpn]++;
	t->cq_stale |= ++t->posts > POSTS_MAX;
}

static void op_recv(struct target *t, unsigned int which, struct fuzz_input *in)
{
	struct eg_end *end = &t->side[0].end[which];
	struct eg_ring *ring = &end->guest->rq[end->qpn];
	struct virtio_rdma_rq_req *slot = eg_slot(ring);
	unsigned int i;

	memset(slot, 0, ring->slot_size);
	slot->num_sge = htole32(1);
	for (i = 0; i < EG_SGE; i++) {
		slot->sg_list[i].addr = htole64(EG_VA + LAST);
		slot->sg_list[i].length = htole32(LEN);
		slot->sg_list[i].lkey = htole32(end->lkey);
	}
	fuzz_patch(in, slot, ring->slot_size);
	eg_post_slot(ring);
	t->posted[end->qpn]++;
	t->cq_stale |= ++t->posts > POSTS_MAX;
}

/* queue, where, patch; what a device takes from such a ring nobody can count */
static void op_ring(struct target *t, unsigned int which, struct fuzz_input *in)
{
	struct eg_end *end = &t->side[0].end[which];
	struct eg_guest *guest = end->guest;
	struct eg_ring *rings[] = {
		&guest->sq[end->qpn], &guest->rq[end->qpn], &guest->cq[CQ_FUZZED],
	};
	struct eg_ring *ring = rings[fuzz_u8(in) % ARRAY_SIZE(rings)];
	size_t size = 6 + 2 * EG_QUEUE, at = fuzz_u8(in) % size;

	fuzz_patch(in, (uint8_t *)ring->vq.avail + at, size - at);
	memset(t->posted, 0x7f, sizeof(t->posted));
	t->cq_stale = true;
}

/* queue, which slot, where (two bytes), patch */
static void op_slot(struct target *t, unsigned int which, struct fuzz_input *in)
{
	struct eg_end *end = &t->side[0].end[which];
	struct eg_ring *ring = fuzz_u8(in) & 1 ? &end->guest->rq[end->qpn] :
						 &end->guest->sq[end->qpn];
	uint8_t slot = fuzz_u8(in) % EG_QUEUE;

	patch_at(in, eg_ptr(end->guest, ring->slots + slot * ring->slot_size),
		 ring->slot_size);
}

/* where (two bytes), patch; a list of pages first, so that some are good */
static void op_data(struct target *t, struct fuzz_input *in)
{
	uint8_t *data = eg_ptr(t->side[0].guest, EG_DATA);
	uint64_t page[8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = htole64(EG_DATA + i * EG_PAGE);
	memcpy(data + PAGES_AT, page, sizeof(page));
	patch_at(in, data, REGION);
}

static void operation(struct target *t, struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	unsigned int which = fuzz_u8(in) % TYPES;
	struct rnic *rnic = t->side[0].guest->rnic;
	uint32_t qpn = t->side[0].end[which].qpn;

	t->stale[which] = true;
	/* A datagram reaches any of those that take some. */
	if (types[which] == VIRTIO_IB_QPT_UD)
		t->stale[GSI] = true;
	if (types[which] == VIRTIO_IB_QPT_GSI)
		t->stale[UD] = true;
	switch (what % OPS) {
	case OP_SEND:
		op_send(t, which, in);
		break;
	case OP_RECV:
		op_recv(t, which, in);
		break;
	case OP_RING:
		op_ring(t, which, in);
		break;
	case OP_SLOT:
		op_slot(t, which, in);
		break;
	case OP_DATA:
		op_data(t, in);
		break;
	case OP_TIME:
		engine_loop_advance(t->engine->loop, 5000000);
		break;
	case OP_POLL:
		take_completions(t);
		break;
	case OP_GAP:
		op_gap(t, in);
		break;
	}
	if (what & QUIET)
		return;
	rnic_queue_kick(rnic, RNIC_SQ, qpn);
	rnic_queue_kick(rnic, RNIC_RQ, qpn);
	run(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct target *t;
	uint8_t where;

	if (!targets[0].engine) {
		memset(canary, CANARY, sizeof(canary));
		target_init(&targets[0], false);
		target_init(&targets[1], true);
	}
	where = fuzz_u8(&in);
	t = &targets[where & BY_WIRE];
	t->stale[FAST_REG] = where >= OF_KERNEL;
	target_down(t);
	target_up(t, where);
	while (in.size)
		operation(t, &in);
	take_completions(t);
	if (where >= OF_KERNEL && target_registered(t)) {
		target_renew(t);
		return 0;
	}
	t->stale[FAST_REG] |= where >= OF_KERNEL;
	target_down(t);
	target_check(t);
	return 0;
}
