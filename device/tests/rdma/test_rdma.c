// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA WRITE and READ on RC QPs, and UC.
 */
#include "tests/lib/engine_guest.h"
#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR
#define IN	EG_IN

#define WRITE		VIRTIO_IB_WR_RDMA_WRITE
#define WRITE_IMM	VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM
#define READ		VIRTIO_IB_WR_RDMA_READ

#define RNR_NS	640000ull

static const uint32_t sizes[] = {
	0, 1, 1023, 1024, 1025, 4096, 65537, 262144, 262145, 1048576,
};

#define SIZES	ARRAY_SIZE(sizes)

/* An operation between offset @off of @a and offset @roff of its peer. */
static struct eg_wr rdma(const struct eg_pair *p, uint8_t opcode,
			 uint64_t wr_id, uint64_t off, uint64_t roff,
			 uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, off, len);

	wr.opcode = opcode;
	wr.remote_addr = EG_VA + roff;
	wr.rkey = p->b.lkey;
	return wr;
}

static struct eg_wc run_one(const struct eg_pair *p, const struct eg_wr *wr,
			    uint8_t status)
{
	eg_post_send(&p->a, wr);
	eg_run(p->engine);
	return eg_expect(&p->a, wr->wr_id, status);
}

static void test_write(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < SIZES; i++) {
		eg_fill(p.a.guest, 4095, sizes[i], i);
		eg_zero(p.b.guest, IN, sizes[i] + 2000);
		wr = rdma(&p, WRITE, i, 4095, IN + 1001, sizes[i]);
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RDMA_WRITE);
		eg_check_zero(p.b.guest, IN, 1001);
		eg_check(p.b.guest, IN + 1001, sizes[i], i, 0);
		eg_check_zero(p.b.guest, IN + 1001 + sizes[i], 900);
	}
	/* The peer gets no completion. */
	eg_expect_none(&p.b);
	assert_int_equal(eg_used(&p.b.guest->rq[p.b.qpn]), 0);
}

static void test_write_with_immediate(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	struct eg_wc wc;
	uint32_t i;

	for (i = 0; i < SIZES; i++) {
		eg_fill(p.a.guest, 0, sizes[i], i);
		eg_zero(p.b.guest, 0, 100);
		eg_zero(p.b.guest, IN, sizes[i] + 100);
		/* The elements of the receive request are not used, so they may be bad. */
		eg_post_recv(&p.b, 70 + i, &(struct eg_sge) { 0, 9, 0xbad }, 1);
		wr = rdma(&p, WRITE_IMM, i, 0, IN, sizes[i]);
		wr.imm = 0x1000 + i;
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RDMA_WRITE);
		wc = eg_expect(&p.b, 70 + i, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.flags, VIRTIO_IB_WC_WITH_IMM);
		assert_int_equal(wc.imm, 0x1000 + i);
		eg_check(p.b.guest, IN, sizes[i], i, 0);
	}
}

/* While the peer is not ready nothing of the last packet is written. */
static void test_write_with_immediate_rnr(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, WRITE_IMM, 1, 0, IN, 5000);

	eg_fill(p.a.guest, 0, 5000, 1);
	eg_zero(p.b.guest, IN, 5000);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect_none(&p.a);
	eg_check_zero(p.b.guest, IN, 5000);
	eg_post_recv(&p.b, 2, NULL, 0);
	engine_loop_advance(p.engine->loop, RNR_NS);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.b, 2, OK);
	eg_check(p.b.guest, IN, 5000, 1, 0);
}

static void test_write_inline(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, WRITE, 1, 0, IN + 4090, 0);

	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = "twelve bytes";
	wr.data_len = 12;
	eg_zero(p.b.guest, IN, 8192);
	run_one(&p, &wr, OK);
	assert_memory_equal(eg_ptr(p.b.guest, EG_DATA + IN + 4090), wr.data,
			    12);
	eg_check_zero(p.b.guest, IN + 4102, 100);
}

static void test_read(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint32_t i, psn = 0xfffffe;
	struct eg_wr wr;
	struct eg_wc wc;

	for (i = 0; i < SIZES; i++) {
		eg_fill(p.b.guest, 4095, sizes[i], i);
		eg_zero(p.a.guest, IN, sizes[i] + 2000);
		wr = rdma(&p, READ, i, IN + 1001, 4095, sizes[i]);
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_RDMA_READ);
		assert_int_equal(wc.byte_len, sizes[i]);
		eg_check_zero(p.a.guest, IN, 1001);
		eg_check(p.a.guest, IN + 1001, sizes[i], i, 0);
		eg_check_zero(p.a.guest, IN + 1001 + sizes[i], 900);
		/* A READ takes as many PSNs as its answer has packets. */
		psn += sizes[i] ? (sizes[i] + 1023) / 1024 : 1;
		psn &= 0xffffff;
		assert_int_equal(le32toh(eg_query(p.a.guest, p.a.qpn).sq_psn),
				 psn);
		assert_int_equal(le32toh(eg_query(p.b.guest, p.b.qpn).rq_psn),
				 psn);
	}
	eg_expect_none(&p.b);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* A READ is scattered over elements that cut its slices anywhere. */
static void test_read_scattered(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, READ, 1, 0, 77, 0);
	uint32_t i, at = 0;

	eg_fill(p.b.guest, 77, 7 * 100005, 3);
	wr.num_sge = 7;
	for (i = 0; i < 7; i++)
		wr.sge[i] = (struct eg_sge) { EG_VA + IN + i * 200000,
					      99999 + i, p.a.lkey };
	run_one(&p, &wr, OK);
	for (i = 0; i < 7; i++) {
		eg_check(p.a.guest, IN + i * 200000, 99999 + i, 3, at);
		at += 99999 + i;
	}
}

/* More READs than may be outstanding, with SENDs between, all in order. */
static void test_many_reads(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < 30; i++) {
		eg_fill(p.b.guest, i * 5000, 5000, i);
		wr = rdma(&p, READ, 2 * i, IN + i * 5000, i * 5000, 5000);
		eg_post_send(&p.a, &wr);
		wr = eg_send(&p.a, 2 * i + 1, 0, 10);
		eg_recv(&p.b, i, IN, 10);
		eg_post_send(&p.a, &wr);
	}
	eg_run(p.engine);
	for (i = 0; i < 30; i++) {
		eg_expect(&p.a, 2 * i, OK);
		eg_expect(&p.a, 2 * i + 1, OK);
		eg_expect(&p.b, i, OK);
		eg_check(p.a.guest, IN + i * 5000, 5000, i, 0);
	}
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* Without a fence a SEND overtakes the data of a READ; with one it does not. */
static void fence(void **state, uint8_t flag)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, READ, 1, 0, 0, 5000);

	eg_recv(&p.b, 3, IN, 10);
	eg_post_send(&p.a, &wr);
	wr = eg_send(&p.a, 2, 0, 10);
	wr.flags |= flag;
	eg_post_send(&p.a, &wr);
	/* The READ goes out; its answer waits for the peer to be polled. */
	assert_true(rnic_poll(p.a.guest->rnic));
	eg_expect_none(&p.a);
	if (flag)
		eg_expect_none(&p.b);
	else
		eg_expect(&p.b, 3, OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, OK);
	if (flag)
		eg_expect(&p.b, 3, OK);
}

static void test_no_fence(void **state)
{
	fence(state, 0);
}

static void test_fence(void **state)
{
	fence(state, VIRTIO_IB_SEND_FENCE);
}

/* ------------------------------------------------------------------------- */
/* Errors                                                                    */
/* ------------------------------------------------------------------------- */

static void expect_remote_error(const struct eg_pair *p, struct eg_wr wr,
				uint8_t status)
{
	struct eg_wr more = eg_send(&p->a, 50, 0, 4);

	eg_recv(&p->b, 60, IN, 4);
	wr.wr_id = 40;
	eg_post_send(&p->a, &wr);
	eg_post_send(&p->a, &more);
	eg_run(p->engine);
	eg_expect(&p->a, 40, status);
	eg_expect(&p->a, 50, FLUSH);
	eg_expect(&p->b, 60, FLUSH);
	assert_int_equal(eg_state(p->a.guest, p->a.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(p->b.guest, p->b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(p->engine->loop), 0);
}

/* Errors of the remote side of an operation @opcode. */
static void remote_errors(void **state, uint8_t opcode)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	uint32_t other, readonly, writable, i;
	struct eg_wr wr;

	p.a = eg_open(&engine->guest[0], RC);
	p.b = eg_open(&engine->guest[1], RC);
	other = eg_reg(p.b.guest, eg_create_pd(p.b.guest), EG_ACCESS_ALL, EG_VA,
		       4096, EG_DATA);
	readonly = eg_reg(p.b.guest, p.b.pdn, VIRTIO_IB_ACCESS_LOCAL_WRITE |
			  VIRTIO_IB_ACCESS_REMOTE_READ, EG_VA, 4096, EG_DATA);
	writable = eg_reg(p.b.guest, p.b.pdn, VIRTIO_IB_ACCESS_LOCAL_WRITE |
			  VIRTIO_IB_ACCESS_REMOTE_WRITE, EG_VA, 4096, EG_DATA);
	eg_fill(p.b.guest, 0, 8192, 5);
	for (i = 0; i < 7; i++) {
		eg_connect(&p.a, &p.b, RC);
		wr = rdma(&p, opcode, 1, IN, 0, 4096);
		switch (i) {
		case 0:
			wr.rkey = 0;
			break;
		case 1:
			wr.rkey = p.b.lkey ^ 0x80;
			break;
		case 2:
			wr.rkey = other;
			break;
		case 3:
			wr.rkey = opcode == READ ? writable : readonly;
			break;
		case 4:
			wr.remote_addr = EG_VA - 1;
			break;
		case 5:
			wr.remote_addr = EG_VA + EG_MR_SIZE - 4095;
			break;
		case 6:
			wr.remote_addr = UINT64_MAX - 100;
			break;
		}
		eg_zero(p.a.guest, IN, 4096);
		expect_remote_error(&p, wr, VIRTIO_IB_WC_REM_ACCESS_ERR);
		eg_check(p.b.guest, 0, 8192, 5, 0);
		eg_check_zero(p.a.guest, IN, 4096);
		eg_destroy_qp(p.a.guest, p.a.qpn);
		eg_destroy_qp(p.b.guest, p.b.qpn);
		p.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
		p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	}
}

static void test_write_remote_errors(void **state)
{
	remote_errors(state, WRITE);
}

static void test_read_remote_errors(void **state)
{
	remote_errors(state, READ);
}

/* A right that the QP does not give. */
static void qp_access(void **state, uint8_t opcode, uint32_t access)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	struct virtio_rdma_cmd_modify_qp req;

	eg_pair(engine, RC, &p.a, &p.b);
	req = eg_modify_req(p.b.qpn, RC, VIRTIO_IB_QPS_RTS, p.a.guest, p.a.qpn);
	req.attr_mask = htole32(VIRTIO_IB_QP_STATE | VIRTIO_IB_QP_ACCESS_FLAGS);
	req.qp_access_flags = htole32(access);
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	expect_remote_error(&p, rdma(&p, opcode, 1, 0, 0, 4),
			    VIRTIO_IB_WC_REM_INV_REQ_ERR);
}

static void test_write_without_qp_access(void **state)
{
	qp_access(state, WRITE, EG_ACCESS_ALL & ~VIRTIO_IB_ACCESS_REMOTE_WRITE);
}

static void test_read_without_qp_access(void **state)
{
	qp_access(state, READ, EG_ACCESS_ALL & ~VIRTIO_IB_ACCESS_REMOTE_READ);
}

/* Without a byte no key is looked at. */
static void test_zero_length_bad_rkey(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, WRITE, 1, 0, 0, 0);

	wr.rkey = 0xbad;
	wr.remote_addr = UINT64_MAX;
	run_one(&p, &wr, OK);
	wr.opcode = READ;
	run_one(&p, &wr, OK);
}

static void test_read_into_readonly(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, READ, 1, 0, 0, 4);
	struct eg_wc wc;

	wr.sge[0].lkey = eg_reg(p.a.guest, p.a.pdn,
				VIRTIO_IB_ACCESS_REMOTE_READ, EG_VA, 4096,
				EG_DATA);
	wc = run_one(&p, &wr, VIRTIO_IB_WC_LOC_PROT_ERR);
	assert_int_equal(wc.vendor_err, VENDOR_ERR_SGE);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
}

/* The peer's key goes in the middle of a long operation. */
static void dereg_under_way(void **state, uint8_t opcode)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, opcode, 1, IN, IN, 1 << 20);
	__le32 mrn = htole32(p.b.mrn);

	eg_post_send(&p.a, &wr);
	rnic_poll(p.a.guest->rnic);
	rnic_poll(p.b.guest->rnic);
	eg_expect_none(&p.a);
	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &mrn, 4, NULL, 0), VIRTIO_NET_OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_ACCESS_ERR);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
}

static void test_write_dereg_under_way(void **state)
{
	dereg_under_way(state, WRITE);
}

static void test_read_dereg_under_way(void **state)
{
	dereg_under_way(state, READ);
}

/* The requester's own key goes before the data is there. */
static void test_read_local_dereg_under_way(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = rdma(&p, READ, 1, IN, 0, 5000);
	__le32 mrn = htole32(p.a.mrn);

	eg_fill(p.b.guest, 0, 5000, 1);
	eg_zero(p.a.guest, IN, 5000);
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR,
				    &mrn, 4, NULL, 0), VIRTIO_NET_OK);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_check_zero(p.a.guest, IN, 5000);
}

/* Either end is destroyed while READs are being answered. */
static void test_read_destroy_under_way(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };
	struct eg_wr wr;
	uint32_t i;

	p.a = eg_open(&engine->guest[0], RC);
	p.b = eg_open(&engine->guest[1], RC);
	for (i = 0; i < 2; i++) {
		eg_connect(&p.a, &p.b, RC);
		wr = rdma(&p, READ, 1, IN, 0, 1 << 20);
		eg_post_send(&p.a, &wr);
		rnic_poll(p.a.guest->rnic);
		rnic_poll(p.b.guest->rnic);
		eg_destroy_qp(i ? p.a.guest : p.b.guest,
			      i ? p.a.qpn : p.b.qpn);
		eg_run(engine);
		eg_expect_none(&p.a);
		eg_destroy_qp(i ? p.b.guest : p.a.guest,
			      i ? p.b.qpn : p.a.qpn);
		assert_int_equal(engine_loop_timers(engine->loop), 0);
		p.a.qpn = eg_create_qp(p.a.guest, RC, p.a.pdn, p.a.cqn);
		p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	}
}

/* Responder resources: none for the requester, too few at the responder. */
static void read_resources(void **state, uint8_t out, uint8_t in,
			   uint8_t status)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_wr wr;

	eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&p.b, RC, VIRTIO_IB_QPS_INIT, &p.a);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	req = eg_modify_req(p.b.qpn, RC, VIRTIO_IB_QPS_RTR, p.a.guest, p.a.qpn);
	req.max_dest_rd_atomic = in;
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	req = eg_modify_req(p.a.qpn, RC, VIRTIO_IB_QPS_RTS, p.b.guest, p.b.qpn);
	req.max_rd_atomic = out;
	assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
	wr = rdma(&p, READ, 1, 0, 0, 4);
	eg_post_send(&p.a, &wr);
	wr.wr_id = 2;
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	eg_expect(&p.a, 1, status == VIRTIO_IB_WC_LOC_QP_OP_ERR ? status : OK);
	eg_expect(&p.a, 2, status == VIRTIO_IB_WC_LOC_QP_OP_ERR ? FLUSH :
		  status);
}

static void test_read_without_resources(void **state)
{
	read_resources(state, 0, 4, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

static void test_read_one_at_a_time(void **state)
{
	read_resources(state, 1, 1, OK);
}

/* The first READ is answered before the second one is refused. */
static void test_read_too_many(void **state)
{
	read_resources(state, 2, 1, VIRTIO_IB_WC_REM_INV_REQ_ERR);
}

/* ------------------------------------------------------------------------- */
/* UC                                                                        */
/* ------------------------------------------------------------------------- */

static void test_uc_send(void **state)
{
	struct eg_pair p = eg_pair_up(state, UC);
	struct eg_wr wr;
	uint32_t i;

	for (i = 0; i < SIZES; i++) {
		eg_fill(p.a.guest, 0, sizes[i], i);
		eg_recv(&p.b, i, IN, 1 << 20);
		wr = eg_send(&p.a, i, 0, sizes[i]);
		run_one(&p, &wr, OK);
		assert_int_equal(eg_expect(&p.b, i, OK).byte_len, sizes[i]);
		eg_check(p.b.guest, IN, sizes[i], i, 0);
	}
}

/* A message without a receive request is lost; the sender does not notice. */
static void test_uc_not_ready(void **state)
{
	struct eg_pair p = eg_pair_up(state, UC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 1 << 20);

	run_one(&p, &wr, OK);
	eg_expect_none(&p.b);
	eg_recv(&p.b, 2, IN, 4);
	wr = eg_send(&p.a, 3, 0, 4);
	run_one(&p, &wr, OK);
	eg_expect(&p.b, 2, OK);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

static void test_uc_write(void **state)
{
	struct eg_pair p = eg_pair_up(state, UC);
	struct eg_wr wr = rdma(&p, WRITE_IMM, 1, 0, IN, 600000);

	eg_fill(p.a.guest, 0, 600000, 1);
	eg_post_recv(&p.b, 2, NULL, 0);
	run_one(&p, &wr, OK);
	assert_int_equal(eg_expect(&p.b, 2, OK).byte_len, 600000);
	eg_check(p.b.guest, IN, 600000, 1, 0);
	/* A bad key loses the message; the QPs go on. */
	wr.rkey = 0;
	eg_zero(p.b.guest, IN, 100);
	run_one(&p, &wr, OK);
	eg_expect_none(&p.b);
	eg_check_zero(p.b.guest, IN, 100);
	assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_RTS);
	/* There are no READs. */
	wr = rdma(&p, READ, 3, 0, IN, 4);
	run_one(&p, &wr, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_SQE);
}

static void expect_counter(struct eg_guest *guest,
			   enum virtio_rdma_counter counter, uint64_t value)
{
	struct virtio_rdma_ack_query_counters ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_QUERY_COUNTERS,
				    NULL, 0, &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.value[counter]), value);
}

static void expect_qp_counter(struct eg_end *end, enum virtio_rdma_counter counter,
			      uint64_t value)
{
	const struct virtio_rdma_cmd_query_qp_counters req = { .qpn = htole32(end->qpn) };
	struct virtio_rdma_ack_query_counters ack;

	assert_int_equal(eg_command(end->guest, VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.value[counter]), value);
	assert_int_equal(ack.value[VIRTIO_RDMA_CNT_NUM], 0);
}

/* Two pairs of QPs of the same guests count each for itself, and the port counts both. */
static void test_qp_counters(void **state)
{
	struct virtio_rdma_cmd_query_qp_counters req = {};
	struct virtio_rdma_ack_query_counters ack;
	struct eg_pair p = eg_pair_up(state, RC), q = p;
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	eg_pair(p.engine, RC, &q.a, &q.b);
	eg_recv(&p.b, 1, IN, 100);
	run_one(&p, &wr, OK);
	eg_expect(&p.b, 1, OK);
	wr = rdma(&q, WRITE, 2, 0, IN, 50);
	run_one(&q, &wr, OK);
	expect_qp_counter(&p.a, VIRTIO_RDMA_CNT_SENDS, 1);
	expect_qp_counter(&p.a, VIRTIO_RDMA_CNT_WRITES, 0);
	expect_qp_counter(&p.b, VIRTIO_RDMA_CNT_RECVS, 1);
	expect_qp_counter(&p.b, VIRTIO_RDMA_CNT_RCVD_BYTES, 100);
	expect_qp_counter(&q.a, VIRTIO_RDMA_CNT_SENDS, 0);
	expect_qp_counter(&q.a, VIRTIO_RDMA_CNT_WRITES, 1);
	expect_qp_counter(&q.b, VIRTIO_RDMA_CNT_RCVD_BYTES, 50);
	expect_counter(p.b.guest, VIRTIO_RDMA_CNT_RCVD_BYTES, 150);
	/* Of no QP, and of one that is gone. */
	req.qpn = htole32(UINT32_MAX);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS, &req,
				    sizeof(req), &ack, sizeof(ack)), VIRTIO_NET_ERR);
	eg_destroy_qp(p.a.guest, q.a.qpn);
	req.qpn = htole32(q.a.qpn);
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS, &req,
				    sizeof(req), &ack, sizeof(ack)), VIRTIO_NET_ERR);
}

/* Operations are counted where they were posted, unless they were flushed. */
static void test_counters(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 100);

	eg_recv(&p.b, 1, IN, 100);
	run_one(&p, &wr, OK);
	eg_expect(&p.b, 1, OK);
	wr = rdma(&p, WRITE, 2, 0, IN, 100);
	wr.flags = 0;
	eg_post_send(&p.a, &wr);
	eg_post_send(&p.a, &wr);
	wr = rdma(&p, READ, 3, IN, 0, 100);
	run_one(&p, &wr, OK);
	wr = rdma(&p, WRITE, 4, 0, IN, 100);
	wr.rkey = 0;
	eg_post_send(&p.a, &wr);
	run_one(&p, &wr, VIRTIO_IB_WC_REM_ACCESS_ERR);
	eg_expect(&p.a, 4, FLUSH);

	expect_counter(p.a.guest, VIRTIO_RDMA_CNT_SENDS, 1);
	expect_counter(p.a.guest, VIRTIO_RDMA_CNT_WRITES, 2);
	expect_counter(p.a.guest, VIRTIO_RDMA_CNT_READS, 1);
	expect_counter(p.a.guest, VIRTIO_RDMA_CNT_RECVS, 0);
	expect_counter(p.a.guest, VIRTIO_RDMA_CNT_SEND_ERR, 1);
	expect_counter(p.b.guest, VIRTIO_RDMA_CNT_SENDS, 0);
	expect_counter(p.b.guest, VIRTIO_RDMA_CNT_RECVS, 1);
	expect_counter(p.b.guest, VIRTIO_RDMA_CNT_RECV_ERR, 0);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_write),
		T(test_write_with_immediate),
		T(test_write_with_immediate_rnr),
		T(test_write_inline),
		T(test_read),
		T(test_read_scattered),
		T(test_many_reads),
		T(test_no_fence),
		T(test_fence),
		T(test_write_remote_errors),
		T(test_read_remote_errors),
		T(test_write_without_qp_access),
		T(test_read_without_qp_access),
		T(test_zero_length_bad_rkey),
		T(test_read_into_readonly),
		T(test_write_dereg_under_way),
		T(test_read_dereg_under_way),
		T(test_read_local_dereg_under_way),
		T(test_read_destroy_under_way),
		T(test_read_without_resources),
		T(test_read_one_at_a_time),
		T(test_read_too_many),
		T(test_uc_send),
		T(test_uc_not_ready),
		T(test_uc_write),
		T(test_counters),
		T(test_qp_counters),
	};

	return cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
}
