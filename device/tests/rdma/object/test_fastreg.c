// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions that work requests register and invalidate, own ones and the peer's.
 */
#include <stdlib.h>

#include "tests/lib/engine_guest.h"
#include "tests/lib/engine_wire.h"
#include "base/util.h"
#include "rdma/object/mr.h"
#include "rdma/qp/wqe.h"
#include "rdma/rnic_priv.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define UD	VIRTIO_IB_QPT_UD

#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR
#define BAD	VIRTIO_IB_WC_MEM_MGT_ERR
#define OP_ERR	VIRTIO_IB_WC_LOC_QP_OP_ERR

#define SIGNALED VIRTIO_IB_SEND_SIGNALED
#define FENCE	VIRTIO_IB_SEND_FENCE

#define LOCAL	VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE	VIRTIO_IB_ACCESS_REMOTE_WRITE
#define RREAD	VIRTIO_IB_ACCESS_REMOTE_READ

#define PAGES	16
#define IN	(4u << 20)

/* Offsets of the pages of a region, and of its list, in the data memory. */
#define AREA	(8u << 20)
#define LIST	(12u << 20)

/* Where work requests see the first byte: not at the beginning of a page. */
#define IOVA	0x5000000123ull

struct pair {
	struct engine *engine;
	struct eg_end a;
	struct eg_end b;
};

/* As eg_open(), with a QP of the guest's kernel. */
static struct eg_end open_end(struct eg_guest *guest, uint8_t type,
			      uint8_t flags)
{
	struct virtio_rdma_cmd_create_qp req;
	struct virtio_rdma_ack_create_qp ack;
	struct eg_end end = {
		.guest = guest,
		.pdn = eg_create_pd(guest),
		.cqn = eg_create_cq(guest),
	};

	req = eg_create_qp_req(type, end.pdn, end.cqn);
	req.flags = flags;
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	end.qpn = le32toh(ack.qpn);
	end.lkey = eg_reg(guest, end.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE,
			  EG_DATA);
	end.mrn = end.lkey >> 8;
	return end;
}

static struct pair pair_of(void **state, uint8_t type, uint8_t flags)
{
	struct engine *engine = *state;
	struct pair p = {
		.engine = engine,
		.a = open_end(&engine->guest[0], type, flags),
		.b = open_end(&engine->guest[1], type, flags),
	};

	eg_connect(&p.a, &p.b, type);
	return p;
}

static struct pair pair_up(void **state)
{
	return pair_of(state, RC, VIRTIO_IB_QP_FAST_REG);
}

static uint8_t alloc_mr(struct eg_guest *guest, uint32_t pdn, uint32_t pages,
			uint32_t *key)
{
	struct virtio_rdma_cmd_alloc_mr req = {
		.pdn = htole32(pdn),
		.max_pages = htole32(pages),
	};
	struct virtio_rdma_ack_mr ack = {};
	uint8_t ret = eg_command(guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MR, &req,
				 sizeof(req), &ack, sizeof(ack));

	*key = le32toh(ack.lkey);
	assert_int_equal(le32toh(ack.rkey), *key);
	assert_int_equal(le32toh(ack.mrn), *key >> 8);
	return ret;
}

static uint32_t alloc(const struct eg_end *end)
{
	uint32_t key;

	assert_int_equal(alloc_mr(end->guest, end->pdn, PAGES, &key),
			 VIRTIO_NET_OK);
	return key;
}

static uint8_t dereg(struct eg_guest *guest, uint32_t key)
{
	__le32 req = htole32(key >> 8);

	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR, &req, 4, NULL,
			  0);
}

/**
 * struct reg - a registration, as in the request
 */
struct reg {
	uint64_t pages;
	uint64_t iova;
	uint32_t length;
	uint32_t key;
	uint32_t access;
	uint32_t npages;
};

/* Position of page @i of the region in the data memory: pages are in no order. */
static uint64_t page_off(uint32_t i)
{
	return AREA + (uint64_t)(i * 7 % PAGES) * 2 * EG_PAGE;
}

/* Four pages, less the offset that IOVA has in the first, and their list. */
static struct reg reg_of(const struct eg_guest *guest, uint32_t key)
{
	__le64 *list = eg_ptr(guest, EG_DATA + LIST);
	uint32_t i;

	for (i = 0; i < PAGES; i++)
		list[i] = htole64(EG_DATA + page_off(i));
	return (struct reg) {
		.pages = EG_DATA + LIST,
		.iova = IOVA,
		.length = 4 * EG_PAGE - IOVA % EG_PAGE,
		.key = key,
		.access = EG_ACCESS_ALL,
		.npages = 4,
	};
}

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

/* A request that is not in struct eg_wr: @reg or NULL for LOCAL_INV of @key. */
static void post_local(const struct eg_end *end, uint64_t wr_id, uint8_t flags,
		       const struct reg *reg, uint32_t key)
{
	struct eg_ring *ring = &end->guest->sq[end->qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(ring);

	memset(slot, 0, sizeof(*slot));
	slot->wr_id = htole64(wr_id);
	slot->send_flags = flags;
	if (reg) {
		slot->opcode = VIRTIO_IB_WR_REG_MR;
		slot->reg.pages = htole64(reg->pages);
		slot->reg.iova = htole64(reg->iova);
		slot->reg.length = htole32(reg->length);
		slot->reg.key = htole32(reg->key);
		slot->reg.access = htole32(reg->access);
		slot->reg.npages = htole32(reg->npages);
	} else {
		slot->opcode = VIRTIO_IB_WR_LOCAL_INV;
		slot->invalidate_rkey = htole32(key);
	}
	if (eg_dump)
		eg_dump(end->guest, "send", end->qpn, slot, sizeof(*slot), NULL, 0);
	eg_post_slot(ring);
	rnic_queue_kick(end->guest->rnic, RNIC_SQ, end->qpn);
}

static void post_reg(const struct eg_end *end, uint64_t wr_id,
		     const struct reg *reg)
{
	post_local(end, wr_id, SIGNALED, reg, 0);
}

static void post_inv(const struct eg_end *end, uint64_t wr_id, uint32_t key)
{
	post_local(end, wr_id, SIGNALED, NULL, key);
}

/* The key as a request has it, in the place of immediate data. */
static uint32_t as_imm(uint32_t key)
{
	return be32toh(htole32(key));
}

static struct eg_wr send_inv(const struct eg_end *end, uint64_t wr_id,
			     uint32_t len, uint32_t key)
{
	struct eg_wr wr = eg_send(end, wr_id, 0, len);

	wr.opcode = VIRTIO_IB_WR_SEND_WITH_INV;
	wr.imm = as_imm(key);
	return wr;
}

static void expect_local(const struct eg_end *end, uint64_t wr_id,
			 uint8_t opcode)
{
	struct eg_wc wc = eg_expect(end, wr_id, OK);

	assert_int_equal(wc.opcode, opcode);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.byte_len, 0);
	assert_int_equal(wc.flags, 0);
}

/* Register, and see that it went well. */
static void do_reg(const struct pair *p, const struct eg_end *end,
		   const struct reg *reg)
{
	post_reg(end, 0x7e9, reg);
	eg_run(p->engine);
	expect_local(end, 0x7e9, VIRTIO_IB_WC_REG_MR);
}

static bool valid_at(const struct eg_end *end, uint32_t key, uint64_t addr)
{
	const struct rnic *rnic = end->guest->rnic;

	return mr_get(&rnic->mrs, pd_get(&rnic->pds, end->pdn), key, addr, 1, 0);
}

static bool valid(const struct eg_end *end, uint32_t key)
{
	return valid_at(end, key, IOVA);
}

static void expect_states(const struct pair *p, uint8_t a, uint8_t b)
{
	assert_int_equal(eg_state(p->a.guest, p->a.qpn), a);
	assert_int_equal(eg_state(p->b.guest, p->b.qpn), b);
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void test_alloc(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct eg_end end = open_end(guest, RC, VIRTIO_IB_QP_FAST_REG);
	uint32_t key, i, keys[EG_MRS];

	assert_int_equal(alloc_mr(guest, end.pdn + 1, 1, &key), VIRTIO_NET_ERR);
	assert_int_equal(alloc_mr(guest, end.pdn, 0, &key), VIRTIO_NET_ERR);
	assert_int_equal(alloc_mr(guest, end.pdn, 513, &key), VIRTIO_NET_ERR);
	assert_int_equal(alloc_mr(guest, end.pdn, UINT32_MAX, &key),
			 VIRTIO_NET_ERR);

	/* One is there already. */
	for (i = 1; i < EG_MRS; i++) {
		assert_int_equal(alloc_mr(guest, end.pdn, 512, &keys[i]),
				 VIRTIO_NET_OK);
		assert_false(valid(&end, keys[i]));
		assert_null(mr_get(&guest->rnic->mrs, pd_get(&guest->rnic->pds, end.pdn),
				   keys[i], 0, 0, 0));
	}
	assert_int_equal(alloc_mr(guest, end.pdn, 1, &key), VIRTIO_NET_ERR);
	assert_int_equal(guest->rnic->mrs.extents, 1 + 512 * (EG_MRS - 1));
	for (i = 1; i < EG_MRS; i++)
		assert_int_equal(dereg(guest, keys[i]), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 1);
	assert_int_equal(dereg(guest, keys[1]), VIRTIO_NET_ERR);
}

static void test_unknown_commands(void **state)
{
	struct engine *engine = *state;
	uint8_t req[8] = {}, rsp[RNIC_RSP_MAX];
	unsigned int i;

	for (i = 18; i < 32; i++)
		assert_int_equal(eg_command(&engine->guest[0], i, req,
					    sizeof(req), rsp, sizeof(rsp)),
				 VIRTIO_NET_ERR);
}

static void test_create_flags(void **state)
{
	struct engine *engine = *state;
	struct eg_end end = open_end(&engine->guest[0], RC, 0);
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(RC, end.pdn, end.cqn);
	struct virtio_rdma_ack_create_qp ack;

	req.flags = 2;
	assert_int_equal(eg_command(end.guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
	req.flags = 0;
	req.padding = 0xff;
	assert_int_equal(eg_command(end.guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* REG_MR and LOCAL_INV                                                      */
/* ------------------------------------------------------------------------- */

/* Register, send from the region, invalidate: posted together, many times. */
static void test_local_use(void **state)
{
	struct pair p = pair_up(state);
	uint32_t i, j, key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wr wr = eg_send(&p.a, 2, 0, reg.length);
	uint32_t off = IOVA % EG_PAGE;

	for (i = 0; i < 300; i++) {
		reg.key = next_key(reg.key);
		wr.sge[0].addr = IOVA;
		wr.sge[0].lkey = reg.key;
		for (j = 0; j < 4; j++)
			eg_fill(p.a.guest, page_off(j), EG_PAGE, i + j);
		eg_recv(&p.b, 4, IN, 5 * EG_PAGE);
		post_reg(&p.a, 1, &reg);
		eg_post_send(&p.a, &wr);
		post_inv(&p.a, 3, reg.key);
		eg_run(p.engine);

		expect_local(&p.a, 1, VIRTIO_IB_WC_REG_MR);
		eg_expect(&p.a, 2, OK);
		expect_local(&p.a, 3, VIRTIO_IB_WC_LOCAL_INV);
		assert_int_equal(eg_expect(&p.b, 4, OK).byte_len, reg.length);
		eg_check(p.b.guest, IN, EG_PAGE - off, i, off);
		for (j = 1; j < 4; j++)
			eg_check(p.b.guest, IN + j * EG_PAGE - off, EG_PAGE,
				 i + j, 0);
		assert_false(valid(&p.a, reg.key));
	}
	eg_expect_none(&p.a);
	assert_int_equal(p.a.guest->rnic->mrs.extents, 1 + PAGES);
}

static void test_remote_use(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = next_key(alloc(&p.a));
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wr wr = eg_send(&p.b, 1, 0, reg.length);

	do_reg(&p, &p.a, &reg);
	wr.rkey = key;
	wr.remote_addr = IOVA;
	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	eg_fill(p.b.guest, 0, reg.length, 5);
	eg_post_send(&p.b, &wr);
	eg_run(p.engine);
	eg_expect(&p.b, 1, OK);
	eg_check(p.a.guest, page_off(0) + IOVA % EG_PAGE,
		 EG_PAGE - IOVA % EG_PAGE, 5, 0);
	eg_check(p.a.guest, page_off(3), EG_PAGE, 5,
		 3 * EG_PAGE - IOVA % EG_PAGE);

	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	eg_zero(p.b.guest, 0, reg.length);
	eg_post_send(&p.b, &wr);
	eg_run(p.engine);
	eg_expect(&p.b, 1, OK);
	eg_check(p.b.guest, 0, reg.length, 5, 0);

	post_inv(&p.a, 2, key);
	eg_run(p.engine);
	expect_local(&p.a, 2, VIRTIO_IB_WC_LOCAL_INV);
	eg_post_send(&p.b, &wr);
	eg_run(p.engine);
	eg_expect(&p.b, 1, VIRTIO_IB_WC_REM_ACCESS_ERR);
}

static void test_rights_and_bounds(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	const struct rnic *rnic = p.a.guest->rnic;
	const struct pd *pd = pd_get(&rnic->pds, p.a.pdn);
	uint64_t end;

	/* It has pointers to objects. */
	eg_cycle_off = true;
	reg.access = RREAD;
	reg.length -= 9;
	do_reg(&p, &p.a, &reg);
	end = IOVA + reg.length;
	assert_non_null(mr_get(&rnic->mrs, pd, key, IOVA, reg.length, RREAD));
	assert_non_null(mr_get(&rnic->mrs, pd, key, end - 1, 1, 0));
	assert_null(mr_get(&rnic->mrs, pd, key, end - 1, 2, 0));
	assert_null(mr_get(&rnic->mrs, pd, key, end, 1, 0));
	assert_null(mr_get(&rnic->mrs, pd, key, IOVA - 1, 1, 0));
	assert_null(mr_get(&rnic->mrs, pd, key, IOVA, 1, LOCAL));
	assert_null(mr_get(&rnic->mrs, pd, key, IOVA, 1, RWRITE));
}

/* Only the key of the last registration is valid, whatever its tag. */
static void test_keys(void **state)
{
	struct pair p = pair_up(state);
	uint32_t tag, key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);

	for (tag = 0; tag < 256; tag += 51) {
		reg.key = (key & ~0xffu) | tag;
		do_reg(&p, &p.a, &reg);
		assert_true(valid(&p.a, reg.key));
		assert_false(valid(&p.a, next_key(reg.key)));
		assert_false(valid(&p.a, reg.key ^ 0x80));
		post_inv(&p.a, 2, reg.key);
		eg_run(p.engine);
		expect_local(&p.a, 2, VIRTIO_IB_WC_LOCAL_INV);
	}
	/* A registration ends with its region. */
	do_reg(&p, &p.a, &reg);
	assert_int_equal(dereg(p.a.guest, reg.key), VIRTIO_NET_OK);
	assert_false(valid(&p.a, reg.key));
	/* Entries are taken in turn: the next region has another one. */
	assert_int_not_equal(alloc(&p.a) >> 8, reg.key >> 8);
}

/* A bad registration leaves the region invalid. */
static void test_bad_registrations(void **state)
{
	enum { OTHER_PD = 1, OTHER_KIND, NO_SUCH, VALID, LIST_PAGE, LIST_FAR };
	static const struct {
		int what;
		int32_t pages, npages;
		int64_t length, iova;
		uint32_t access;
		uint64_t list;
	} cases[] = {
		{ .what = OTHER_PD }, { .what = OTHER_KIND },
		{ .what = NO_SUCH }, { .what = VALID },
		{ .npages = -1 }, { .npages = 1 }, { .npages = -4 },
		{ .npages = PAGES + 1 - 4, .length = (PAGES + 1 - 4) * EG_PAGE },
		{ .npages = INT32_MAX }, { .length = 1 },
		{ .length = -(int64_t)EG_PAGE },
		{ .length = -4ll * EG_PAGE + IOVA % EG_PAGE, .npages = -3 },
		{ .length = -4ll * EG_PAGE + IOVA % EG_PAGE, .npages = -4 },
		{ .iova = (int64_t)(UINT64_MAX - IOVA) - EG_PAGE },
		{ .access = 16 }, { .access = 32 }, { .access = RWRITE },
		{ .access = 1u << 31 },
		{ .what = LIST_PAGE, .list = EG_DATA + 1 },
		{ .what = LIST_PAGE, .list = EG_BASE + EG_SIZE },
		{ .what = LIST_PAGE, .list = UINT64_MAX - 4095 },
		{ .what = LIST_FAR, .list = EG_BASE + EG_SIZE - 24 },
		{ .what = LIST_FAR, .list = EG_BASE - 8 },
		{ .what = LIST_FAR, .list = UINT64_MAX - 7 },
	};
	struct pair p = pair_up(state);
	struct eg_guest *guest = p.a.guest;
	uint32_t i, other, key = alloc(&p.a), pdn = eg_create_pd(guest);
	__le64 *list = eg_ptr(guest, EG_DATA + LIST);
	struct eg_wc wc;
	struct reg reg;

	assert_int_equal(alloc_mr(guest, pdn, PAGES, &other), VIRTIO_NET_OK);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		reg = reg_of(guest, key);
		reg.npages += cases[i].npages;
		reg.length += cases[i].length;
		reg.iova += cases[i].iova;
		if (cases[i].access)
			reg.access = cases[i].access;
		switch (cases[i].what) {
		case OTHER_PD:
			reg.key = other;
			break;
		case OTHER_KIND:
			reg.key = p.a.lkey;
			break;
		case NO_SUCH:
			reg.key = 0xfffff00;
			break;
		case VALID:
			do_reg(&p, &p.a, &reg);
			break;
		case LIST_PAGE:
			list[3] = htole64(cases[i].list);
			break;
		case LIST_FAR:
			reg.pages = cases[i].list;
			break;
		}
		post_reg(&p.a, i, &reg);
		post_inv(&p.a, 1000, key);
		eg_run(p.engine);
		wc = eg_expect(&p.a, i, BAD);
		assert_int_equal(wc.vendor_err, VENDOR_ERR_FAST_REG);
		eg_expect(&p.a, 1000, FLUSH);
		assert_int_equal(eg_state(guest, p.a.qpn), VIRTIO_IB_QPS_ERR);
		assert_int_equal(valid(&p.a, key), cases[i].what == VALID);
		assert_false(valid(&p.a, other));

		eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
		eg_to(&p.b, RC, VIRTIO_IB_QPS_RESET, &p.a);
		eg_connect(&p.a, &p.b, RC);
		post_inv(&p.a, 1001, key);
		eg_run(p.engine);
		eg_expect(&p.a, 1001, OK);
	}
	reg = reg_of(guest, key);
	do_reg(&p, &p.a, &reg);
}

static void test_bad_invalidations(void **state)
{
	struct pair p = pair_up(state);
	struct eg_guest *guest = p.a.guest;
	uint32_t i, other, key = alloc(&p.a), pdn = eg_create_pd(guest);
	struct reg reg = reg_of(guest, key);
	uint32_t keys[4];

	assert_int_equal(alloc_mr(guest, pdn, PAGES, &other), VIRTIO_NET_OK);
	keys[0] = other;
	keys[1] = p.a.lkey;
	keys[2] = next_key(key);
	keys[3] = 0xfffff00;
	do_reg(&p, &p.a, &reg);
	for (i = 0; i < 4; i++) {
		post_inv(&p.a, i, keys[i]);
		eg_run(p.engine);
		assert_int_equal(eg_expect(&p.a, i, BAD).vendor_err,
				 VENDOR_ERR_INVALIDATE);
		assert_true(valid(&p.a, key));
		eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
		eg_to(&p.b, RC, VIRTIO_IB_QPS_RESET, &p.a);
		eg_connect(&p.a, &p.b, RC);
	}
	/* Invalidating twice is allowed. */
	for (i = 0; i < 2; i++) {
		post_inv(&p.a, 9, key);
		eg_run(p.engine);
		expect_local(&p.a, 9, VIRTIO_IB_WC_LOCAL_INV);
	}
}

/* QPs of processes may not have such requests. */
static void test_not_for_processes(void **state)
{
	struct pair p = pair_of(state, RC, 0);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wc wc;

	post_reg(&p.a, 1, &reg);
	eg_run(p.engine);
	wc = eg_expect(&p.a, 1, OP_ERR);
	assert_int_equal(wc.vendor_err, VENDOR_ERR_NO_FAST_REG);
	assert_false(valid(&p.a, key));
	expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);

	post_inv(&p.b, 2, alloc(&p.b));
	eg_run(p.engine);
	wc = eg_expect(&p.b, 2, OP_ERR);
	assert_int_equal(wc.vendor_err, VENDOR_ERR_NO_FAST_REG);
}

static void test_malformed(void **state)
{
	static const uint8_t flags[] = {
		VIRTIO_IB_SEND_INLINE, VIRTIO_IB_SEND_SOLICITED, 0x10,
	};
	struct pair p = pair_up(state);
	struct virtio_rdma_sq_req *slot;
	uint32_t i, key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);

	for (i = 0; i < 4; i++) {
		slot = eg_slot(&p.a.guest->sq[p.a.qpn]);
		post_local(&p.a, 1, i < 3 ? flags[i] : SIGNALED, &reg, 0);
		if (i == 3)
			slot->num_sge = htole32(1);
		eg_run(p.engine);
		assert_int_equal(eg_expect(&p.a, 1, OP_ERR).vendor_err,
				 i < 3 ? VENDOR_ERR_FLAGS : VENDOR_ERR_NUM_SGE);
		assert_false(valid(&p.a, key));
		eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
		eg_to(&p.b, RC, VIRTIO_IB_QPS_RESET, &p.a);
		eg_connect(&p.a, &p.b, RC);
	}
}

static void test_other_types(void **state)
{
	struct pair p = pair_of(state, UC, VIRTIO_IB_QP_FAST_REG);
	struct eg_end d = open_end(p.a.guest, UD, VIRTIO_IB_QP_FAST_REG);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wr wr = send_inv(&p.a, 3, 8, key);

	/* UC has all of them but SEND_WITH_INV. */
	do_reg(&p, &p.a, &reg);
	post_inv(&p.a, 2, key);
	eg_run(p.engine);
	expect_local(&p.a, 2, VIRTIO_IB_WC_LOCAL_INV);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_int_equal(eg_expect(&p.a, 3, OP_ERR).vendor_err,
			 VENDOR_ERR_OPCODE);

	eg_to(&d, UD, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&d, UD, VIRTIO_IB_QPS_RTR, &p.b);
	eg_to(&d, UD, VIRTIO_IB_QPS_RTS, &p.b);
	post_reg(&d, 4, &reg);
	eg_run(p.engine);
	assert_int_equal(eg_expect(&d, 4, OP_ERR).vendor_err,
			 VENDOR_ERR_OPCODE);
}

static void test_unsignaled(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);

	post_local(&p.a, 1, 0, &reg, 0);
	post_local(&p.a, 2, 0, NULL, key);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_int_equal(eg_used(&p.a.guest->sq[p.a.qpn]), 2);
}

/* A QP carries out nothing unless it is in RTS. */
static void test_states(void **state)
{
	struct pair p = pair_up(state);
	const struct virtio_rdma_cmd_modify_qp on = {
		.qpn = htole32(p.a.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = VIRTIO_IB_QPS_RTS,
	};
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);

	eg_to(&p.a, RC, VIRTIO_IB_QPS_SQD, &p.b);
	post_reg(&p.a, 1, &reg);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_false(valid(&p.a, key));
	assert_int_equal(eg_modify(p.a.guest, &on), VIRTIO_NET_OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	assert_true(valid(&p.a, key));

	eg_to(&p.a, RC, VIRTIO_IB_QPS_ERR, &p.b);
	post_inv(&p.a, 2, key);
	eg_run(p.engine);
	eg_expect(&p.a, 2, FLUSH);
	assert_true(valid(&p.a, key));
}

/* ------------------------------------------------------------------------- */
/* Order                                                                     */
/* ------------------------------------------------------------------------- */

/*
 * After a SEND that is not acknowledged yet, a registration is carried out but
 * completes in order; an invalidation waits.
 */
static void test_order(void **state)
{
	struct pair p = pair_up(state);
	uint32_t first = alloc(&p.a), second = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, first);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	eg_wire_use(p.engine);
	do_reg(&p, &p.a, &reg);
	reg.key = second;
	eg_recv(&p.b, 9, IN, 100);
	eg_post_send(&p.a, &wr);
	post_reg(&p.a, 2, &reg);
	post_inv(&p.a, 3, first);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	assert_true(valid(&p.a, second));
	assert_true(valid(&p.a, first));

	/* The SEND, and its ACK. */
	while (eg_wire_deliver())
		;
	eg_run(p.engine);
	while (eg_wire_deliver())
		;
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	expect_local(&p.a, 2, VIRTIO_IB_WC_REG_MR);
	expect_local(&p.a, 3, VIRTIO_IB_WC_LOCAL_INV);
	assert_false(valid(&p.a, first));
}

/* With a fence a registration waits for the READs before it. */
static void test_fence(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.rkey = p.b.lkey;
	wr.remote_addr = EG_VA;
	eg_wire_use(p.engine);
	eg_post_send(&p.a, &wr);
	post_local(&p.a, 2, SIGNALED | FENCE, &reg, 0);
	eg_run(p.engine);
	assert_false(valid(&p.a, key));
	eg_wire_run(p.engine, 1000000);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, OK);
	assert_true(valid(&p.a, key));
}

/* An error completes in order, too, and nothing after it is carried out. */
static void test_error_in_order(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key), bad = reg;
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	bad.npages = 0;
	eg_wire_use(p.engine);
	eg_recv(&p.b, 9, IN, 100);
	eg_post_send(&p.a, &wr);
	post_reg(&p.a, 2, &bad);
	post_reg(&p.a, 3, &reg);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	eg_wire_run(p.engine, 1000000);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, BAD);
	eg_expect(&p.a, 3, FLUSH);
	assert_false(valid(&p.a, key));
}

/* Sending again after a loss does not register again. */
static void test_lossy(void **state)
{
	struct pair p = pair_up(state);
	struct virtio_rdma_cmd_modify_qp req;
	uint32_t i, s, key = alloc(&p.a);
	struct reg reg = reg_of(p.a.guest, key);
	struct eg_wr wr = eg_send(&p.a, 2, 0, 3000), in = wr;

	eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
	for (s = VIRTIO_IB_QPS_INIT; s <= VIRTIO_IB_QPS_RTS; s++) {
		req = eg_modify_req(p.a.qpn, RC, s, p.b.guest, p.b.qpn);
		req.retry_cnt = 7;
		assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
	}
	eg_wire_use(p.engine);
	eg_wire = (struct eg_wire_fate) {
		.lose = 100, .repeat = 50, .reorder = 50, .seed = 7,
	};
	for (i = 0; i < 200; i++) {
		reg.key = next_key(reg.key);
		wr.sge[0].addr = IOVA;
		wr.sge[0].lkey = reg.key;
		eg_fill(p.a.guest, page_off(0) + IOVA % EG_PAGE, 3000, i);
		eg_recv(&p.b, 8, IN + 8192, 3000);
		eg_recv(&p.b, 9, IN, 3000);
		eg_post_send(&p.a, &in);
		post_reg(&p.a, 1, &reg);
		eg_post_send(&p.a, &wr);
		post_inv(&p.a, 3, reg.key);
		eg_wire_run(p.engine, 1000000000);
		eg_expect(&p.a, 2, OK);
		expect_local(&p.a, 1, VIRTIO_IB_WC_REG_MR);
		eg_expect(&p.a, 2, OK);
		expect_local(&p.a, 3, VIRTIO_IB_WC_LOCAL_INV);
		eg_expect(&p.b, 8, OK);
		eg_expect(&p.b, 9, OK);
		eg_check(p.b.guest, IN, 3000, i, 0);
	}
	assert_true(eg_wire.lost > 20);
	eg_wire = (struct eg_wire_fate) {};
}

/* ------------------------------------------------------------------------- */
/* SEND_WITH_INV                                                             */
/* ------------------------------------------------------------------------- */

static void test_remote_invalidate(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 1024, 5000, 300000 };
	struct pair p = pair_up(state);
	uint32_t i, key = alloc(&p.b);
	struct reg reg = reg_of(p.b.guest, key);
	struct eg_wr wr;
	struct eg_wc wc;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		reg.key = next_key(reg.key);
		do_reg(&p, &p.b, &reg);
		wr = send_inv(&p.a, 1, sizes[i], reg.key);
		eg_fill(p.a.guest, 0, sizes[i], i);
		eg_recv(&p.b, 2, IN, 300000);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		assert_int_equal(eg_expect(&p.a, 1, OK).opcode,
				 VIRTIO_IB_WC_SEND);
		wc = eg_expect(&p.b, 2, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.flags, VIRTIO_IB_WC_WITH_INVALIDATE);
		assert_int_equal(as_imm(wc.imm), reg.key);
		eg_check(p.b.guest, IN, sizes[i], i, 0);
		assert_false(valid(&p.b, reg.key));
		/* The region is invalid already: LOCAL_INV succeeds all the same. */
		post_inv(&p.b, 3, reg.key);
		eg_run(p.engine);
		expect_local(&p.b, 3, VIRTIO_IB_WC_LOCAL_INV);
	}
}

static void test_remote_invalidate_inline(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.b);
	struct reg reg = reg_of(p.b.guest, key);
	struct eg_wr wr = send_inv(&p.a, 1, 0, key);

	do_reg(&p, &p.b, &reg);
	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = "gone";
	wr.data_len = 4;
	wr.num_sge = 0;
	/* It stays valid until the message has a receive request. */
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	assert_true(valid(&p.b, key));
	eg_recv(&p.b, 2, IN, 4);
	engine_loop_advance(p.engine->loop, 1000000);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 2, OK);
	assert_memory_equal(eg_ptr(p.b.guest, EG_DATA + IN), "gone", 4);
	assert_false(valid(&p.b, key));
}

/* The message is written to the region that it invalidates. */
static void test_remote_invalidate_own_place(void **state)
{
	struct pair p = pair_up(state);
	uint32_t key = alloc(&p.b);
	struct reg reg = reg_of(p.b.guest, key);
	struct eg_wr wr = send_inv(&p.a, 1, 3000, key);
	struct eg_sge sge = { IOVA, 3000, key };

	do_reg(&p, &p.b, &reg);
	eg_fill(p.a.guest, 0, 3000, 4);
	eg_post_recv(&p.b, 2, &sge, 1);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 2, OK);
	eg_check(p.b.guest, page_off(0) + IOVA % EG_PAGE, 3000, 4, 0);
	assert_false(valid(&p.b, key));
}

/* A peer cannot invalidate regions of another PD, nor of another kind. */
static void test_remote_invalidate_refused(void **state)
{
	struct pair p = pair_up(state);
	uint32_t i, other, key = alloc(&p.b);
	uint32_t pdn = eg_create_pd(p.b.guest), keys[4];
	struct reg reg = reg_of(p.b.guest, key);
	struct eg_wr wr;

	assert_int_equal(alloc_mr(p.b.guest, pdn, PAGES, &other),
			 VIRTIO_NET_OK);
	do_reg(&p, &p.b, &reg);
	keys[0] = other;
	keys[1] = p.b.lkey;
	keys[2] = next_key(key);
	keys[3] = UINT32_MAX;
	for (i = 0; i < 4; i++) {
		wr = send_inv(&p.a, 1, 10, keys[i]);
		eg_recv(&p.b, 2, IN, 10);
		eg_recv(&p.b, 3, IN, 10);
		eg_post_send(&p.a, &wr);
		eg_run(p.engine);
		eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_ACCESS_ERR);
		assert_int_equal(eg_expect(&p.b, 2,
					   VIRTIO_IB_WC_REM_INV_REQ_ERR)
				 .vendor_err, VENDOR_ERR_INVALIDATE);
		eg_expect(&p.b, 3, FLUSH);
		expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_ERR);
		assert_true(valid(&p.b, key));
		assert_non_null(mr_get(&p.b.guest->rnic->mrs,
				       pd_get(&p.b.guest->rnic->pds, p.b.pdn),
				       p.b.lkey, EG_VA, 1, 0));
		eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
		eg_to(&p.b, RC, VIRTIO_IB_QPS_RESET, &p.a);
		eg_connect(&p.a, &p.b, RC);
	}
}

/* ------------------------------------------------------------------------- */
/* The memory map changes                                                    */
/* ------------------------------------------------------------------------- */

static void test_memory_map(void **state)
{
	struct pair p = pair_up(state);
	struct eg_guest *guest = p.a.guest;
	uint32_t key = alloc(&p.a), idle = alloc(&p.a);
	struct reg reg = reg_of(guest, key);
	struct guest_mem map = guest->map;

	do_reg(&p, &p.a, &reg);
	/* Cut in two, in the middle of a page run; then without the second. */
	map.n = 2;
	map.region[0].size = EG_DATA + AREA + EG_PAGE - EG_BASE;
	map.region[1] = (struct guest_region) {
		.addr = EG_BASE + map.region[0].size,
		.size = EG_SIZE - map.region[0].size,
		.host = guest->mem + map.region[0].size,
	};
	rnic_mem_changed(guest->rnic, &map);
	assert_true(valid(&p.a, key));
	map.n = 1;
	rnic_mem_changed(guest->rnic, &map);
	assert_true(valid(&p.a, key));
	assert_false(valid_at(&p.a, key, IOVA + EG_PAGE));
	assert_false(valid(&p.a, idle));
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_true(valid(&p.a, key));
	assert_false(valid(&p.a, idle));

	/* A region that lost its memory works again after a registration. */
	rnic_mem_changed(guest->rnic, &map);
	post_inv(&p.a, 1, key);
	rnic_mem_changed(guest->rnic, &guest->map);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	reg.npages = PAGES;
	reg.length = PAGES * EG_PAGE - IOVA % EG_PAGE;
	do_reg(&p, &p.a, &reg);
	assert_true(valid(&p.a, key));
	assert_int_equal(guest->rnic->mrs.extents, 1 + 2 * PAGES);
}

/* The page list may lie across two pieces of memory. */
static void test_split_list(void **state)
{
	struct pair p = pair_up(state);
	struct eg_guest *guest = p.a.guest;
	uint32_t key = alloc(&p.a);
	struct reg reg = reg_of(guest, key);
	struct guest_mem map = guest->map;

	map.n = 2;
	map.region[0].size = EG_DATA + LIST + 12 - EG_BASE;
	map.region[1] = (struct guest_region) {
		.addr = EG_BASE + map.region[0].size,
		.size = EG_SIZE - map.region[0].size,
		.host = guest->mem + map.region[0].size,
	};
	rnic_mem_changed(guest->rnic, &map);
	do_reg(&p, &p.a, &reg);
	assert_true(valid(&p.a, key));
	rnic_mem_changed(guest->rnic, &guest->map);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_alloc),
		T(test_unknown_commands),
		T(test_create_flags),
		T(test_local_use),
		T(test_remote_use),
		T(test_rights_and_bounds),
		T(test_keys),
		T(test_bad_registrations),
		T(test_bad_invalidations),
		T(test_not_for_processes),
		T(test_malformed),
		T(test_other_types),
		T(test_unsignaled),
		T(test_states),
		T(test_order),
		T(test_fence),
		T(test_error_in_order),
		T(test_lossy),
		T(test_remote_invalidate),
		T(test_remote_invalidate_inline),
		T(test_remote_invalidate_own_place),
		T(test_remote_invalidate_refused),
		T(test_memory_map),
		T(test_split_list),
	};

	return cmocka_run_group_tests_name("fastreg", tests, NULL, NULL);
}
