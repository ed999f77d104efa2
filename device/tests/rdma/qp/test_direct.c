// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Direct QPs: requests in rings in memory, announced by a doorbell page.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "packet/roce.h"
#include "rdma/rnic_priv.h"
#include "rdma/qp/wqe.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define UD		VIRTIO_IB_QPT_UD
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define RECV		true
#define SEND		false

static struct rnic_ctx *ctx_of(const struct er_end *end)
{
	return &end->end.guest->rnic->ctx;
}

static uint8_t state_of(const struct er_end *end)
{
	return eg_state(end->end.guest, end->qp.qpn);
}

static void send(struct er_pair *p, uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, len);

	er_post_send(&p->a.qp, &wr);
}

/* ------------------------------------------------------------------------- */
/* What a QP is for                                                          */
/* ------------------------------------------------------------------------- */

static void test_ping_pong(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_cqe cqe;
	struct eg_wr wr;
	unsigned int i;

	assert_int_equal(p->a.qp.qpn, EG_QPS);
	for (i = 0; i < 100; i++) {
		eg_fill(p->a.end.guest, 0, 3000, i);
		eg_zero(p->b.end.guest, IN, 3001);
		er_recv(&p->b, IN, 3001);
		send(p, 3000);
		eg_run(p->engine);
		er_expect(&p->a, SEND, i, 0);
		cqe = er_expect(&p->b, RECV, i, 0);
		assert_int_equal(le32toh(cqe.byte_len), 3000);
		eg_check(p->b.end.guest, IN, 3000, i, 0);
		eg_check_zero(p->b.end.guest, IN + 3000, 1);

		er_recv(&p->a, IN, 3001);
		wr = eg_send(&p->b.end, 0, IN, 10);
		wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
		wr.imm = 0x1000 + i;
		er_post_send(&p->b.qp, &wr);
		eg_run(p->engine);
		er_expect(&p->b, SEND, i, 0);
		cqe = er_expect(&p->a, RECV, i, 0);
		assert_int_equal(be32toh(cqe.imm_data), 0x1000 + i);
		assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_WITH_IMM);
		assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
	}
	er_pair_free(p);
}

static void test_write_read(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 5000);
	struct virtio_rdma_cqe cqe;

	eg_fill(p->a.end.guest, 0, 5000, 1);
	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	cqe = er_expect(&p->a, SEND, 0, 0);
	assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RDMA_WRITE);
	eg_check(p->b.end.guest, IN, 5000, 1, 0);
	er_expect_none(&p->b);

	eg_fill(p->b.end.guest, IN, 5000, 2);
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	cqe = er_expect(&p->a, SEND, 1, 0);
	assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RDMA_READ);
	assert_int_equal(le32toh(cqe.byte_len), 5000);
	eg_check(p->a.end.guest, 0, 5000, 2, 0);

	/* Nobody may: the peer says so. */
	wr.rkey ^= 1;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 2, VIRTIO_IB_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(&p->a), VIRTIO_IB_QPS_ERR);
	er_pair_free(p);
}

static void test_flush(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr wr = {
		.opcode = VIRTIO_IB_WR_FLUSH,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.remote_addr = EG_VA,
		.rkey = p->b.end.lkey,
		.flush_len = 100,
		.flush_type = VIRTIO_IB_FLUSH_GLOBAL,
	};

	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	assert_int_equal(er_expect(&p->a, SEND, 0, 0).opcode, VIRTIO_IB_WC_FLUSH);
	er_pair_free(p);
}

static void test_atomic(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	uint64_t *word = eg_ptr(p->b.end.guest, EG_DATA + IN);
	uint64_t *orig = eg_ptr(p->a.end.guest, EG_DATA);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 8);
	struct virtio_rdma_cqe cqe;
	uint64_t value = 99;

	*word = 40;
	wr.opcode = VIRTIO_IB_WR_FETCH_ADD;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	wr.compare_add = 2;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	cqe = er_expect(&p->a, SEND, 0, 0);
	assert_int_equal(cqe.opcode, VIRTIO_IB_WC_FETCH_ADD);
	assert_int_equal(le32toh(cqe.byte_len), 8);
	assert_int_equal(*orig, 40);
	assert_int_equal(*word, 42);
	wr.opcode = VIRTIO_IB_WR_CMP_SWAP;
	wr.compare_add = 42;
	wr.swap = 7;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	assert_int_equal(er_expect(&p->a, SEND, 1, 0).opcode, VIRTIO_IB_WC_CMP_SWAP);
	assert_int_equal(*orig, 42);
	assert_int_equal(*word, 7);
	wr.opcode = VIRTIO_IB_WR_ATOMIC_WRITE;
	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = &value;
	wr.data_len = sizeof(value);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	assert_int_equal(er_expect(&p->a, SEND, 2, 0).opcode, VIRTIO_IB_WC_ATOMIC_WRITE);
	assert_int_equal(*word, 99);
	er_pair_free(p);
}

static void test_datagrams(void **state)
{
	struct er_pair *p = er_pair_up(state, UD, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 700);
	struct virtio_rdma_cqe cqe;

	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	wr.imm = 77;
	wr.remote_qpn = p->b.qp.qpn;
	wr.remote_qkey = 0x1234;
	wr.ah = eg_create_ah(p->a.end.guest, p->a.end.pdn, p->b.end.guest);
	eg_fill(p->a.end.guest, 0, 700, 3);
	er_recv(&p->b, IN, 1000);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	cqe = er_expect(&p->b, RECV, 0, 0);
	assert_int_equal(le32toh(cqe.byte_len), 740);
	assert_int_equal(le32toh(cqe.src_qp), p->a.qp.qpn);
	assert_int_equal(be32toh(cqe.imm_data), 77);
	assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_GRH | VIRTIO_IB_WC_IPV4 |
			 VIRTIO_IB_WC_WITH_IMM);
	eg_check(p->b.end.guest, IN + 40, 700, 3, 0);
	er_pair_free(p);
}

/* Elements and inline data as the stride has room for them. */
static void test_payload(void **state)
{
	const struct er_shape shape = { .send_shift = 7, .recv_shift = 7 };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 0);
	uint8_t data[97];
	unsigned int i;

	memset(data, 0x5a, sizeof(data));
	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = data;
	for (i = 0; i < 2; i++) {
		wr.data_len = 96 * i;
		er_recv(&p->b, IN, 200);
		er_post_send(&p->a.qp, &wr);
		eg_run(p->engine);
		er_expect(&p->a, SEND, i, 0);
		assert_int_equal(le32toh(er_expect(&p->b, RECV, i, 0).byte_len), 96 * i);
	}
	assert_memory_equal(eg_ptr(p->b.end.guest, EG_DATA + IN), data, 96);

	wr = eg_send(&p->a.end, 0, 0, 0);
	wr.num_sge = 6;
	for (i = 0; i < 6; i++)
		wr.sge[i] = (struct eg_sge) { EG_VA + 100 * i, 100, p->a.end.lkey };
	eg_fill(p->a.end.guest, 0, 600, 9);
	er_post_recv(&p->b.qp, (struct eg_sge[]) {
		{ EG_VA + IN, 1, p->b.end.lkey }, { EG_VA + IN + 1, 2, p->b.end.lkey },
		{ EG_VA + IN + 3, 3, p->b.end.lkey }, { EG_VA + IN + 6, 4, p->b.end.lkey },
		{ EG_VA + IN + 10, 5, p->b.end.lkey }, { EG_VA + IN + 15, 6, p->b.end.lkey },
		{ EG_VA + IN + 21, 1000, p->b.end.lkey } }, 7);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 2, 0);
	er_expect(&p->b, RECV, 2, 0);
	eg_check(p->b.end.guest, IN, 600, 9, 0);
	er_pair_free(p);
}

static void expect_malformed(void **state, const struct eg_wr *wr, uint8_t why)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_cqe cqe;

	er_post_send(&p->a.qp, wr);
	eg_run(p->engine);
	cqe = er_expect(&p->a, SEND, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(le32toh(cqe.vendor_err), why);
	er_pair_free(p);
}

static void test_too_many_elements(void **state)
{
	const struct eg_wr wr = { .opcode = VIRTIO_IB_WR_SEND, .num_sge = 3 };

	expect_malformed(state, &wr, VENDOR_ERR_SLOT_SHORT);
}

static void test_more_elements_than_any(void **state)
{
	const struct eg_wr wr = { .opcode = VIRTIO_IB_WR_SEND, .num_sge = 33 };

	expect_malformed(state, &wr, VENDOR_ERR_NUM_SGE);
}

static void test_too_much_inline(void **state)
{
	const struct eg_wr wr = {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_INLINE,
		.data_len = 33,
	};

	expect_malformed(state, &wr, VENDOR_ERR_INLINE_LEN);
}

static void test_bad_opcode(void **state)
{
	const struct eg_wr wr = { .opcode = 0xff };

	expect_malformed(state, &wr, VENDOR_ERR_OPCODE);
}

static void test_bad_recv(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_sge sge[32] = {};

	er_post_recv(&p->b.qp, sge, 4);
	send(p, 4);
	eg_run(p->engine);
	assert_int_equal(le32toh(er_expect(&p->b, RECV, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR)
				 .vendor_err), VENDOR_ERR_SLOT_SHORT);
	er_pair_free(p);
}

/* Requests that leave no completion are done with by the next one that does. */
static void test_unsignaled(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	unsigned int i;

	for (i = 0; i < 40; i++) {
		er_recv(&p->b, IN, 4);
		wr.flags = i % 10 == 9 ? VIRTIO_IB_SEND_SIGNALED : 0;
		er_post_send(&p->a.qp, &wr);
		eg_run(p->engine);
		er_expect(&p->b, RECV, i, 0);
		if (i % 10 == 9)
			er_expect(&p->a, SEND, i, 0);
		er_expect_none(&p->a);
	}
	er_pair_free(p);
}

/* More requests at a time than the device takes at a time. */
static void test_deep(void **state)
{
	const struct er_shape shape = {
		.send_depth = 4096,
		.recv_depth = 4096,
		.cqe = 16384,
	};
	struct er_pair *p = er_pair_up(state, RC, &shape);
	unsigned int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 4096; i++)
			er_recv(&p->b, IN, 4);
		for (i = 0; i < 4096; i++)
			send(p, 4);
		eg_run(p->engine);
		for (i = 0; i < 4096; i++) {
			er_expect(&p->a, SEND, round * 4096 + i, 0);
			er_expect(&p->b, RECV, round * 4096 + i, 0);
		}
	}
	er_pair_free(p);
}

/* Without a receive request the sender is told to try again. */
static void test_rnr(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i;

	send(p, 4);
	eg_run(p->engine);
	er_expect_none(&p->a);
	for (i = 0; i < 2; i++) {
		engine_loop_advance(p->engine->loop, MS);
		eg_run(p->engine);
		er_expect_none(&p->a);
	}
	er_recv(&p->b, IN, 4);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	er_expect(&p->b, RECV, 0, 0);
	er_pair_free(p);
}

/*
 * A peer in memory is woken by the receive request, not by its timer, awake or asleep, and
 * also if the request was posted just after the NAK.  It was told only once.
 */
static void test_rnr_ends_by_request(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i, rung;

	for (i = 0; i < 4; i++) {
		send(p, 4);
		eg_run(p->engine);
		er_expect_none(&p->a);
		assert_int_equal(p->b.qp.control->recv_wanted, htole32(1));
		if (i & 1) {
			assert_false(rnic_sleep(p->a.end.guest->rnic));
			assert_false(rnic_sleep(p->b.end.guest->rnic));
		}
		rung = p->b.page.rung;
		er_recv(&p->b, IN, 4);
		if (i & 1) {
			assert_int_equal(p->b.page.rung, rung + 1);
			rnic_wake(p->a.end.guest->rnic);
			rnic_wake(p->b.end.guest->rnic);
		}
		eg_run(p->engine);
		er_expect(&p->a, SEND, i, 0);
		er_expect(&p->b, RECV, i, 0);
		assert_int_equal(p->b.qp.control->recv_wanted, 0);
		assert_int_equal(eg_count(p->a.end.guest, VIRTIO_RDMA_CNT_RCVD_RNR), i + 1);
	}
	er_pair_free(p);
}

/* So it is while the receiver waits for the other's receive request itself. */
static void test_rnr_both_ways(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr back = eg_send(&p->b.end, 0, 0, 4);
	uint32_t rung;

	send(p, 4);
	er_post_send(&p->b.qp, &back);
	eg_run(p->engine);
	er_expect_none(&p->a);
	er_expect_none(&p->b);
	assert_false(rnic_sleep(p->a.end.guest->rnic));
	assert_false(rnic_sleep(p->b.end.guest->rnic));
	rung = p->b.page.rung;
	er_recv(&p->b, IN, 4);
	assert_int_equal(p->b.page.rung, rung + 1);
	rnic_wake(p->a.end.guest->rnic);
	rnic_wake(p->b.end.guest->rnic);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	er_expect(&p->b, RECV, 0, 0);
	er_pair_free(p);
}

/* A QP without a receive ring sends, and others write to it. */
static void test_no_recv(void **state)
{
	const struct er_shape shape = { .no_recv = true };
	struct er_pair *p = er_pair_up(state, RC, &shape);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	unsigned int i;

	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	send(p, 4);
	for (i = 0; i < 10; i++) {
		eg_run(p->engine);
		engine_loop_advance(p->engine->loop, 5 * MS);
	}
	er_expect(&p->a, SEND, 1, VIRTIO_IB_WC_RNR_RETRY_EXC_ERR);
	er_pair_free(p);
}

/* ------------------------------------------------------------------------- */
/* ERR and RESET                                                             */
/* ------------------------------------------------------------------------- */

static void sleep_on(struct er_pair *p)
{
	assert_false(rnic_sleep(p->a.end.guest->rnic));
	assert_false(rnic_sleep(p->b.end.guest->rnic));
}

/* In ERR all requests are flushed, also those posted later while the device sleeps. */
static void test_flushed(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i, rung;

	for (i = 0; i < 3; i++)
		er_recv(&p->a, IN, 4);
	eg_to(&p->a.end, RC, VIRTIO_IB_QPS_ERR, &p->b.end);
	send(p, 4);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	for (i = 0; i < 3; i++)
		er_expect(&p->a, RECV, i, VIRTIO_IB_WC_WR_FLUSH_ERR);

	sleep_on(p);
	assert_int_not_equal(p->a.qp.control->recv_wanted, 0);
	rung = p->a.page.rung;
	er_recv(&p->a, IN, 4);
	assert_int_equal(p->a.page.rung, rung + 1);
	rnic_wake(p->a.end.guest->rnic);
	eg_run(p->engine);
	er_expect(&p->a, RECV, 3, VIRTIO_IB_WC_WR_FLUSH_ERR);
	assert_int_equal(p->b.qp.control->recv_wanted, 0);
	er_pair_free(p);
}

/* A request posted while the device goes to sleep is seen by it, or is rung for. */
static void test_posted_before_sleep(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	eg_to(&p->a.end, RC, VIRTIO_IB_QPS_ERR, &p->b.end);
	eg_run(p->engine);
	er_recv(&p->a, IN, 4);
	assert_true(rnic_sleep(p->a.end.guest->rnic));
	eg_run(p->engine);
	er_expect(&p->a, RECV, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	er_pair_free(p);
}

/* After RESET both sides begin at index 0, whatever was under way. */
static void test_reset(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i;

	for (i = 0; i < 5; i++)
		send(p, 4);
	for (i = 0; i < 7; i++)
		er_recv(&p->a, IN, 4);
	eg_run(p->engine);
	eg_to(&p->a.end, RC, VIRTIO_IB_QPS_RESET, &p->b.end);
	eg_to(&p->b.end, RC, VIRTIO_IB_QPS_RESET, &p->a.end);
	eg_run(p->engine);
	er_expect_none(&p->a);
	p->a.qp.control->send_producer = 0;
	p->a.qp.control->recv_producer = 0;
	p->a.qp.posted = 0;
	p->a.qp.posted_recv = 0;
	eg_connect(&p->a.end, &p->b.end, RC);
	er_recv(&p->b, IN, 4);
	send(p, 4);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	er_expect(&p->b, RECV, 0, 0);
	er_pair_free(p);
}

static void expect_fatal(struct er_pair *p)
{
	er_announce(&p->a.qp);
	eg_run(p->engine);
	er_expect_event(p->a.end.guest, 0, VIRTIO_RDMA_EVENT_QP_FATAL, p->a.qp.qpn);
	assert_int_equal(state_of(&p->a), VIRTIO_IB_QPS_ERR);
	er_expect_no_event(p->a.end.guest, 0);
	assert_int_equal(state_of(&p->b), VIRTIO_IB_QPS_RTS);
}

/* A producer index that cannot be. */
static void test_producer_too_far(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	er_give_events(p->a.end.guest, 0, 4);
	p->a.qp.control->send_producer = htole32(17);
	expect_fatal(p);
	er_pair_free(p);
}

static void test_producer_backwards(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	er_give_events(p->a.end.guest, 0, 4);
	er_recv(&p->b, IN, 4);
	send(p, 4);
	eg_run(p->engine);
	p->a.qp.control->send_producer = 0;
	expect_fatal(p);
	er_pair_free(p);
}

static void test_recv_producer_too_far(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	er_give_events(p->b.end.guest, 0, 4);
	p->b.qp.control->recv_producer = htole32(1000);
	send(p, 4);
	eg_run(p->engine);
	er_expect_event(p->b.end.guest, 0, VIRTIO_RDMA_EVENT_QP_FATAL, p->b.qp.qpn);
	assert_int_equal(state_of(&p->b), VIRTIO_IB_QPS_ERR);
	er_pair_free(p);
}

/* An index is read again when all that it covered is taken, and not before. */
static void test_producer_is_kept(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	unsigned int i;

	/* One that was saved and loaded reads it again. */
	eg_cycle_off = true;
	er_give_events(p->b.end.guest, 0, 4);
	for (i = 0; i < 3; i++)
		er_recv(&p->b, IN, 4);
	send(p, 4);
	eg_run(p->engine);
	p->b.qp.control->recv_producer = htole32(1000);
	for (i = 0; i < 2; i++)
		send(p, 4);
	eg_run(p->engine);
	for (i = 0; i < 3; i++)
		er_expect(&p->b, RECV, i, 0);
	er_expect_no_event(p->b.end.guest, 0);
	send(p, 4);
	eg_run(p->engine);
	er_expect_event(p->b.end.guest, 0, VIRTIO_RDMA_EVENT_QP_FATAL, p->b.qp.qpn);
	eg_cycle_off = false;
	er_pair_free(p);
}

/* The guest's memory goes away under a control block, or under a ring. */
static void lose(void **state, bool ring)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_guest *guest = p->a.end.guest;
	const uint64_t at = ring ? p->a.qp.pages[0] : le64toh(p->a.qp.direct.control);

	er_give_events(guest, 0, 4);
	er_lose_page(guest, at);
	send(p, 4);
	expect_fatal(p);
	rnic_mem_changed(guest->rnic, &guest->map);
	er_pair_free(p);
}

static void test_control_lost(void **state)
{
	lose(state, false);
}

static void test_ring_lost(void **state)
{
	lose(state, true);
}

/* ------------------------------------------------------------------------- */
/* CREATE_QP, DESTROY_QP                                                     */
/* ------------------------------------------------------------------------- */

static void expect_refused(struct er_qp *qp)
{
	assert_int_equal(er_create_qp(qp), VIRTIO_NET_ERR);
}

static void test_bad_requests(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_pair *p = er_pair_up(state, RC, NULL);
	const uint32_t before = ctx_of(&p->a)->ring_pages;
	struct er_qp good, qp;
	uint32_t rfc_cq = eg_create_cq(guest);

	er_qp_init(&good, &p->a.page, &p->a.cq, 9, RC, p->a.end.pdn,
		   &(struct er_shape) {});
#define BAD(change) do { qp = good; change; expect_refused(&qp); } while (0)
	BAD(qp.direct.form = 2);
	BAD(qp.direct.send_shift = 5);
	BAD(qp.direct.send_shift = 11);
	BAD(qp.direct.recv_shift = 5);
	BAD(qp.direct.recv_shift = 255);
	BAD(qp.direct.send_depth = htole32(17));
	BAD(qp.direct.send_depth = 0; qp.direct.send_pages = 0);
	BAD(qp.direct.send_depth = htole32(1 << 16); qp.direct.send_pages = htole32(1024));
	BAD(qp.direct.recv_depth = htole32(3));
	BAD(qp.direct.send_pages = htole32(2));
	BAD(qp.direct.recv_pages = 0);
	BAD(qp.direct.send_pages = htole32(UINT32_MAX));
	BAD(qp.direct.doorbell = htole32(p->a.page.handle ^ 1));
	BAD(qp.direct.bit = htole32(16384));
	BAD(qp.direct.bit = htole32(UINT32_MAX));
	BAD(qp.direct.bit = htole32(5));
	BAD(qp.direct.control = htole64(le64toh(good.direct.control) + 4));
	BAD(qp.direct.control = htole64(EG_BASE - 64));
	BAD(qp.pages[1] += 8);
	BAD(qp.pages[0] = 0);
	BAD(qp.req.send_cqn = htole32(rfc_cq));
	BAD(qp.req.recv_cqn = htole32(rfc_cq));
	BAD(qp.req.recv_cqn = htole32(EG_CQS + 1));
	BAD(qp.req.qp_type = VIRTIO_IB_QPT_GSI);
	BAD(qp.req.qp_type = VIRTIO_IB_QPT_SMI);
	BAD(qp.req.cap.max_send_wr = htole32(32769));
	BAD(qp.req.pdn = htole32(12345));
	assert_int_equal(ctx_of(&p->a)->ring_pages, before);
	assert_int_equal(er_create_qp(&good), VIRTIO_NET_OK);
	/* Form 0 is the RFC's. */
	qp = good;
	qp.direct = (struct virtio_rdma_qp_direct) {};
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_OK);
	assert_in_range(qp.qpn, 2, EG_QPS - 1);
	er_pair_free(p);
}

/* As many as the device says; numbers and bits come back. */
static void test_numbers(void **state)
{
	struct engine *engine = *state;
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct er_qp qp;
	unsigned int i;

	er_qp_init(&qp, &p->a.page, &p->a.cq, 0, RC, p->a.end.pdn, &(struct er_shape) {});
	for (i = 1; i < EG_DIRECT_QPS; i++) {
		qp.direct.bit = htole32(100 * i);
		assert_int_equal(er_create_qp(&qp), VIRTIO_NET_OK);
		assert_int_equal(qp.qpn, EG_QPS + i);
	}
	qp.direct.bit = htole32(3);
	expect_refused(&qp);
	assert_int_equal(er_free_doorbell(&p->a.page), VIRTIO_NET_ERR);
	qp.qpn = EG_QPS + 4;
	assert_int_equal(er_destroy_qp(&qp), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_qp(&qp), VIRTIO_NET_ERR);
	qp.direct.bit = htole32(400);
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_OK);
	assert_int_equal(qp.qpn, EG_QPS + 4);
	eg_reset(&engine->guest[0]);
	assert_int_equal(ctx_of(&p->a)->ring_pages, 0);
	er_pair_free(p);
}

/* Destroyed with requests in its rings, half of them under way. */
static void test_destroy_under_load(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct virtio_rdma_cqe cqe;
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 1 << 20);
	unsigned int round, i;

	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.end.lkey;
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 16; i++)
			er_post_send(&p->a.qp, &wr);
		for (i = 0; i < round; i++)
			rnic_poll(p->a.end.guest->rnic);
		/* One end or the other, with the bit set. */
		assert_int_equal(er_destroy_qp(round % 2 ? &p->a.qp : &p->b.qp),
				 VIRTIO_NET_OK);
		eg_run(p->engine);
		while (er_poll(&p->a.cq, &cqe))
			;
		if (!(round % 2))
			assert_int_equal(er_destroy_qp(&p->a.qp), VIRTIO_NET_OK);
		else
			assert_int_equal(er_destroy_qp(&p->b.qp), VIRTIO_NET_OK);
		memset(p->a.qp.control, 0, 64);
		memset(p->b.qp.control, 0, 64);
		p->a.qp.posted = 0;
		p->b.qp.posted_recv = 0;
		assert_int_equal(er_create_qp(&p->a.qp), VIRTIO_NET_OK);
		assert_int_equal(er_create_qp(&p->b.qp), VIRTIO_NET_OK);
		p->a.end.qpn = p->a.qp.qpn;
		p->b.end.qpn = p->b.qp.qpn;
		eg_connect(&p->a.end, &p->b.end, RC);
	}
	er_recv(&p->b, IN, 4);
	send(p, 4);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, 0);
	er_pair_free(p);
}

/* The function is reset with all of it in use, and in a CREATE_QP. */
static void test_function_reset(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);

	send(p, 1000);
	eg_reset(p->a.end.guest);
	eg_run(p->engine);
	assert_int_equal(ctx_of(&p->a)->ring_pages, 0);
	er_pair_free(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_ping_pong),
		TEST(test_write_read),
		TEST(test_flush),
		TEST(test_atomic),
		TEST(test_datagrams),
		TEST(test_payload),
		TEST(test_too_many_elements),
		TEST(test_more_elements_than_any),
		TEST(test_too_much_inline),
		TEST(test_bad_opcode),
		TEST(test_bad_recv),
		TEST(test_unsignaled),
		TEST(test_deep),
		TEST(test_rnr),
		TEST(test_rnr_ends_by_request),
		TEST(test_rnr_both_ways),
		TEST(test_no_recv),
		TEST(test_flushed),
		TEST(test_posted_before_sleep),
		TEST(test_reset),
		TEST(test_producer_too_far),
		TEST(test_producer_backwards),
		TEST(test_recv_producer_too_far),
		TEST(test_producer_is_kept),
		TEST(test_control_lost),
		TEST(test_ring_lost),
		TEST(test_bad_requests),
		TEST(test_numbers),
		TEST(test_destroy_under_load),
		TEST(test_function_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
