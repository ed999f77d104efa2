// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH: what it does, the rights that it needs, and when it completes.
 */
#include "tests/lib/engine_guest.h"
#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC		VIRTIO_IB_QPT_RC
#define OK		VIRTIO_IB_WC_SUCCESS
#define ACCESS_ERR	VIRTIO_IB_WC_REM_ACCESS_ERR
#define IN		EG_IN

#define LOCAL		VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE		VIRTIO_IB_ACCESS_REMOTE_WRITE
#define MAY_GLOBAL	VIRTIO_IB_ACCESS_FLUSH_GLOBAL
#define MAY_PERSIST	VIRTIO_IB_ACCESS_FLUSH_PERSISTENT

#define GLOBAL		VIRTIO_IB_FLUSH_GLOBAL
#define PERSISTENT	VIRTIO_IB_FLUSH_PERSISTENT
#define RANGE		VIRTIO_IB_FLUSH_RANGE
#define WHOLE		VIRTIO_IB_FLUSH_MR

static struct eg_wr flush(const struct eg_pair *p, uint8_t type, uint8_t level,
			  uint64_t addr, uint32_t len)
{
	return (struct eg_wr) {
		.wr_id = 40,
		.opcode = VIRTIO_IB_WR_FLUSH,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.remote_addr = addr,
		.rkey = p->b.lkey,
		.flush_len = len,
		.flush_type = type,
		.flush_level = level,
	};
}

static struct eg_wc run_one(const struct eg_pair *p, const struct eg_wr *wr,
			    uint8_t status)
{
	eg_post_send(&p->a, wr);
	eg_run(p->engine);
	return eg_expect(&p->a, wr->wr_id, status);
}

/* Rights that the peer's QP gives. */
static void qp_access(const struct eg_pair *p, uint32_t access)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(p->b.qpn, RC, VIRTIO_IB_QPS_RTS, p->a.guest,
			      p->a.qpn);

	req.attr_mask = htole32(VIRTIO_IB_QP_STATE | VIRTIO_IB_QP_ACCESS_FLAGS);
	req.qp_access_flags = htole32(access);
	assert_int_equal(eg_modify(p->b.guest, &req), VIRTIO_NET_OK);
}

/* Any length takes one PSN, and data written before is there. */
static void test_range(void **state)
{
	static const uint32_t lens[] = { 0, 1, 4096, 100000, EG_MR_SIZE };
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr, write;
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		eg_fill(p.a.guest, 0, 3000, i);
		eg_zero(p.b.guest, IN, 3000);
		write = eg_send(&p.a, i, 0, 3000);
		write.opcode = VIRTIO_IB_WR_RDMA_WRITE;
		write.flags = 0;
		write.remote_addr = EG_VA + IN;
		write.rkey = p.b.lkey;
		eg_post_send(&p.a, &write);
		wr = flush(&p, GLOBAL, RANGE, EG_VA, lens[i]);
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_FLUSH);
		assert_int_equal(wc.byte_len, 0);
		eg_expect_none(&p.a);
		eg_check(p.b.guest, IN, 3000, i, 0);
		assert_int_equal(le32toh(eg_query(p.b.guest, p.b.qpn).rq_psn),
				 (0xfffffe + 4 * (i + 1)) & 0xffffff);
	}
	eg_expect_none(&p.b);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* The region as a whole: no address is looked at. */
static void test_whole(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, GLOBAL, WHOLE, 0, UINT32_MAX);

	run_one(&p, &wr, OK);
	wr.remote_addr = UINT64_MAX;
	run_one(&p, &wr, OK);
}

/* Of all memory: kernel consumers have such regions. */
static void test_dma(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_cmd_get_dma_mr cmd = {
		.pdn = htole32(p.b.pdn),
		.access_flags = htole32(LOCAL | MAY_GLOBAL),
	};
	struct virtio_rdma_ack_mr ack;
	struct eg_wr wr = flush(&p, GLOBAL, WHOLE, 0, 0);

	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &cmd, sizeof(cmd), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	wr.rkey = le32toh(ack.rkey);
	run_one(&p, &wr, OK);
	wr = flush(&p, GLOBAL, RANGE, EG_DATA, 4096);
	wr.rkey = le32toh(ack.rkey);
	run_one(&p, &wr, OK);
	wr.remote_addr = UINT64_MAX - 4095;
	run_one(&p, &wr, ACCESS_ERR);
}

/* Several, and READs; no more at a time than max_rd_atomic allows. */
static void test_many(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < 40; i++) {
		wr = flush(&p, GLOBAL, i & 1, EG_VA, 5000);
		if (i % 3 == 0) {
			wr = eg_send(&p.a, 0, IN, 5000);
			wr.opcode = VIRTIO_IB_WR_RDMA_READ;
			wr.remote_addr = EG_VA;
			wr.rkey = p.b.lkey;
		}
		wr.wr_id = i;
		eg_post_send(&p.a, &wr);
	}
	eg_run(p.engine);
	for (i = 0; i < 40; i++)
		eg_expect(&p.a, i, OK);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* A fenced request waits for the answer, as it does after a READ. */
static void test_fence(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, GLOBAL, WHOLE, 0, 0);

	eg_recv(&p.b, 3, IN, 10);
	eg_post_send(&p.a, &wr);
	wr = eg_send(&p.a, 2, 0, 10);
	wr.flags |= VIRTIO_IB_SEND_FENCE;
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	eg_expect_none(&p.a);
	eg_expect_none(&p.b);
	eg_run(p.engine);
	eg_expect(&p.a, 40, OK);
	eg_expect(&p.a, 2, OK);
	eg_expect(&p.b, 3, OK);
}

/* ------------------------------------------------------------------------- */
/* Errors                                                                    */
/* ------------------------------------------------------------------------- */

static uint32_t region(const struct eg_pair *p, uint32_t access)
{
	return eg_reg(p->b.guest, p->b.pdn, access, EG_VA, 4096, EG_DATA);
}

/* Regions that a FLUSH may not name. */
static void bad_region(void **state, uint8_t level, unsigned int which)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, GLOBAL, level, EG_VA, 4096);

	switch (which) {
	case 0:
		wr.rkey = 0;
		break;
	case 1:
		wr.rkey ^= 0x80;
		break;
	case 2:
		wr.rkey = eg_reg(p.b.guest, eg_create_pd(p.b.guest),
				 EG_ACCESS_ALL, EG_VA, 4096, EG_DATA);
		break;
	case 3:
		wr.rkey = region(&p, EG_ACCESS_ALL & ~MAY_GLOBAL);
		break;
	case 4:
		/* Unlike with a READ, the key matters also without a byte. */
		wr.rkey = 0;
		wr.flush_len = 0;
		break;
	}
	run_one(&p, &wr, ACCESS_ERR);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

#define BAD_REGION(n)							\
static void test_range_bad_region_ ## n(void **state)			\
{									\
	bad_region(state, RANGE, n);					\
}									\
									\
static void test_whole_bad_region_ ## n(void **state)			\
{									\
	bad_region(state, WHOLE, n);					\
}

BAD_REGION(0)
BAD_REGION(1)
BAD_REGION(2)
BAD_REGION(3)
BAD_REGION(4)

static void bad_range(void **state, uint64_t addr, uint32_t len)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, GLOBAL, RANGE, addr, len);

	run_one(&p, &wr, ACCESS_ERR);
}

static void test_range_before(void **state)
{
	bad_range(state, EG_VA - 1, 4096);
}

static void test_range_behind(void **state)
{
	bad_range(state, EG_VA + EG_MR_SIZE - 4095, 4096);
}

static void test_range_around(void **state)
{
	bad_range(state, UINT64_MAX - 100, 4096);
}

static void test_range_too_long(void **state)
{
	bad_range(state, EG_VA, UINT32_MAX);
}

/* The QP gives this right, but no region here is persistent. */
static void test_persistent(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, PERSISTENT, RANGE, EG_VA, 4096);

	qp_access(&p, EG_ACCESS_ALL | MAY_PERSIST);
	assert_int_equal(le32toh(eg_query(p.b.guest, p.b.qpn).qp_access_flags),
			 EG_ACCESS_ALL | MAY_PERSIST);
	run_one(&p, &wr, ACCESS_ERR);
}

static void test_both(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, GLOBAL | PERSISTENT, WHOLE, 0, 0);

	qp_access(&p, EG_ACCESS_ALL | MAY_PERSIST);
	run_one(&p, &wr, ACCESS_ERR);
}

static void test_persistent_region(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_cmd_get_dma_mr cmd = {
		.pdn = htole32(p.b.pdn),
		.access_flags = htole32(LOCAL | MAY_PERSIST),
	};
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &cmd, sizeof(cmd), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
}

static void without_qp_access(void **state, uint8_t type, uint32_t access)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = flush(&p, type, WHOLE, 0, 0);

	qp_access(&p, access);
	run_one(&p, &wr, VIRTIO_IB_WC_REM_INV_REQ_ERR);
}

static void test_global_without_qp_access(void **state)
{
	without_qp_access(state, GLOBAL, LOCAL | RWRITE | MAY_PERSIST);
}

static void test_persistent_without_qp_access(void **state)
{
	without_qp_access(state, PERSISTENT, EG_ACCESS_ALL);
}

/* A bad request fails at the sender; the peer sees nothing of it. */
static void local_error(void **state, const struct eg_wr *bad, uint8_t flags,
			uint32_t num_sge, uint32_t vendor_err)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = *bad;
	struct eg_wc wc;

	wr.wr_id = 40;
	wr.opcode = VIRTIO_IB_WR_FLUSH;
	wr.rkey = p.b.lkey;
	wr.flags |= flags;
	wr.num_sge = num_sge;
	wr.sge[0] = (struct eg_sge) { EG_VA, 4, p.a.lkey };
	wc = run_one(&p, &wr, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(wc.vendor_err, vendor_err);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
}

static void test_no_type(void **state)
{
	local_error(state, &(struct eg_wr) { .flush_level = WHOLE }, 0, 0,
		    VENDOR_ERR_FLUSH);
}

static void test_bad_type(void **state)
{
	local_error(state, &(struct eg_wr) { .flush_type = GLOBAL | 4 }, 0, 0,
		    VENDOR_ERR_FLUSH);
}

static void test_bad_level(void **state)
{
	local_error(state, &(struct eg_wr) { .flush_type = GLOBAL,
					     .flush_level = 2 }, 0, 0,
		    VENDOR_ERR_FLUSH);
}

static void test_payload(void **state)
{
	local_error(state, &(struct eg_wr) { .flush_type = GLOBAL }, 0, 1,
		    VENDOR_ERR_NUM_SGE);
}

static void test_inline(void **state)
{
	local_error(state, &(struct eg_wr) { .flush_type = GLOBAL },
		    VIRTIO_IB_SEND_INLINE, 0, VENDOR_ERR_FLAGS);
}

static void test_not_for_uc(void **state)
{
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_UC);
	struct eg_wr wr = flush(&p, GLOBAL, WHOLE, 0, 0);

	run_one(&p, &wr, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_range),
		T(test_whole),
		T(test_dma),
		T(test_many),
		T(test_fence),
		T(test_range_bad_region_0),
		T(test_range_bad_region_1),
		T(test_range_bad_region_2),
		T(test_range_bad_region_3),
		T(test_range_bad_region_4),
		T(test_whole_bad_region_0),
		T(test_whole_bad_region_1),
		T(test_whole_bad_region_2),
		T(test_whole_bad_region_3),
		T(test_whole_bad_region_4),
		T(test_range_before),
		T(test_range_behind),
		T(test_range_around),
		T(test_range_too_long),
		T(test_persistent),
		T(test_both),
		T(test_persistent_region),
		T(test_global_without_qp_access),
		T(test_persistent_without_qp_access),
		T(test_no_type),
		T(test_bad_type),
		T(test_bad_level),
		T(test_payload),
		T(test_inline),
		T(test_not_for_uc),
	};

	return cmocka_run_group_tests_name("flush", tests, NULL, NULL);
}
