// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: XRC_INI and XRC_TGT QPs, XRC SRQs and domains.
 */
#include "rdma/rnic_image.h"
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "rdma/qp/wqe.h"
#include "tests/lib/engine_wire.h"

#define INI		VIRTIO_IB_QPT_XRC_INI
#define TGT		VIRTIO_IB_QPT_XRC_TGT
#define RC		VIRTIO_IB_QPT_RC
#define OK		VIRTIO_IB_WC_SUCCESS
#define INV_REQ		VIRTIO_IB_WC_REM_INV_REQ_ERR
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define PSN		0xfffffeu	/* of eg_modify_req() */
#define PAIRS		2u
#define SRQS		2u
#define DEPTH		16u
#define COOKIE		0xc0de0000u
#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define FATAL		VIRTIO_RDMA_EVENT_QP_FATAL
#define REQ_ERR		VIRTIO_RDMA_EVENT_QP_REQ_ERR
#define ACCESS_ERR	VIRTIO_RDMA_EVENT_QP_ACCESS_ERR
#define LAST_WQE	VIRTIO_RDMA_EVENT_QP_LAST_WQE
#define SRQ_ERROR	VIRTIO_RDMA_EVENT_SRQ_ERROR

/**
 * struct inbox - what a process that receives has
 * @pdn:	protection domain
 * @key:	of a region of it, as that of &struct eg_end
 * @cq:		CQ of @srq
 * @srq:	XRC SRQ
 */
struct inbox {
	uint32_t pdn;
	uint32_t key;
	struct er_cq cq;
	struct er_srq srq;
};

/**
 * struct bed - XRC_INI QPs of guest 1, each connected with an XRC_TGT QP of guest 2
 * @engine:	engine
 * @xrcd:	XRC domain of guest 2
 * @from:	XRC_INI QPs
 * @to:		XRC_TGT QPs
 * @in:		XRC SRQs of guest 2, all in @xrcd
 */
struct bed {
	struct engine *engine;
	uint32_t xrcd;
	struct er_end from[PAIRS];
	struct er_end to[PAIRS];
	struct inbox in[SRQS];
};

static struct eg_guest *receiver(const struct bed *bed)
{
	return &bed->engine->guest[1];
}

static void inbox_up(struct inbox *in, struct eg_guest *guest, uint32_t xrcd)
{
	in->pdn = eg_create_pd(guest);
	in->key = eg_reg(guest, in->pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, EG_DATA);
	er_cq_init(&in->cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&in->cq), VIRTIO_NET_OK);
	er_srq_init(&in->srq, guest, in->pdn, DEPTH);
	in->srq.xrc = true;
	in->srq.xrcd = xrcd;
	in->srq.cqn = in->cq.cqn;
	assert_int_equal(er_create_srq(&in->srq), VIRTIO_NET_OK);
}

static struct bed *bed_up(void **state)
{
	const struct er_shape shape = { .no_recv = true, .send_depth = 32 };
	struct bed *bed = calloc(1, sizeof(*bed));
	struct eg_guest *guest;
	unsigned int i;

	assert_non_null(bed);
	bed->engine = *state;
	guest = receiver(bed);
	bed->xrcd = er_create_xrcd(guest);
	for (i = 0; i < PAIRS; i++) {
		struct er_end *to = &bed->to[i];

		er_open(&bed->from[i], &bed->engine->guest[0], INI, &shape);
		er_tgt_init(&to->qp, guest, bed->xrcd);
		assert_int_equal(er_create_qp(&to->qp), VIRTIO_NET_OK);
		to->end = (struct eg_end) { .guest = guest, .qpn = to->qp.qpn };
		eg_connect_xrc(&bed->from[i].end, &to->end);
	}
	for (i = 0; i < SRQS; i++)
		inbox_up(&bed->in[i], guest, bed->xrcd);
	er_give_events(guest, 0, 16);
	return bed;
}

static struct bed *bed_up_wire(void **state)
{
	eg_wire_use(*state);
	return bed_up(state);
}

static void post(struct bed *bed, unsigned int in, uint32_t cookie, uint32_t len)
{
	struct eg_sge sge = { EG_VA + IN + 4096 * cookie, len, bed->in[in].key };

	er_post_srq(&bed->in[in].srq, &sge, 1, COOKIE + cookie);
}

/* A SEND of @len bytes from pair @i for SRQ @in. */
static struct eg_wr send_to(const struct bed *bed, unsigned int i, unsigned int in,
			    uint32_t len)
{
	struct eg_wr wr = eg_send(&bed->from[i].end, 0, 0, len);

	wr.srqn = bed->in[in].srq.handle;
	return wr;
}

/* A request of another opcode, which goes to the region of SRQ @in. */
static struct eg_wr rdma_to(const struct bed *bed, unsigned int i, unsigned int in,
			    uint8_t opcode, uint64_t off, uint32_t len)
{
	struct eg_wr wr = send_to(bed, i, in, len);

	wr.opcode = opcode;
	wr.remote_addr = EG_VA + IN + off;
	wr.rkey = bed->in[in].key;
	return wr;
}

static void run_post(struct bed *bed, unsigned int i, const struct eg_wr *wr)
{
	er_post_send(&bed->from[i].qp, wr);
	eg_run(bed->engine);
}

/* The next completion of SRQ @in is that of the request with @cookie, at pair @i. */
static struct virtio_rdma_cqe expect(struct bed *bed, unsigned int in, unsigned int i,
				     uint32_t cookie, uint8_t status)
{
	struct virtio_rdma_cqe cqe;

	if (!er_poll(&bed->in[in].cq, &cqe))
		fail_msg("no completion, wanted that of request %u", cookie);
	assert_int_equal(cqe.status, status);
	assert_int_equal(le32toh(cqe.qp_num), bed->to[i].qp.qpn);
	assert_int_equal(le32toh(cqe.wqe), COOKIE + cookie);
	assert_int_equal(cqe.opcode & ~VIRTIO_RDMA_CQE_OPCODE,
			 VIRTIO_RDMA_CQE_RECV | VIRTIO_RDMA_CQE_XRC);
	assert_int_equal(le32toh(cqe.srqn), bed->in[in].srq.handle);
	return cqe;
}

static void expect_none(struct bed *bed)
{
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	for (i = 0; i < SRQS; i++)
		if (er_poll(&bed->in[i].cq, &cqe))
			fail_msg("unexpected completion of SRQ %u, status %u", i,
				 cqe.status);
}

static void expect_sent(struct bed *bed, unsigned int i, uint32_t wqe, uint8_t status)
{
	er_expect(&bed->from[i], false, wqe, status);
}

static void expect_event(struct bed *bed, uint16_t type, uint32_t number)
{
	er_expect_event(receiver(bed), 0, type, number);
}

/* An end has failed, the other pair has not. */
static void expect_error(struct bed *bed, uint8_t status, uint16_t type)
{
	const uint32_t qpn = bed->to[0].qp.qpn;

	expect_sent(bed, 0, bed->from[0].qp.posted - 1, status);
	expect_event(bed, type, qpn);
	expect_event(bed, LAST_WQE, qpn);
	er_expect_no_event(receiver(bed), 0);
	assert_int_equal(eg_state(receiver(bed), qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(bed->from[0].end.guest, bed->from[0].qp.qpn),
			 VIRTIO_IB_QPS_ERR);
	expect_none(bed);
}

static void expect_works(struct bed *bed, unsigned int i, unsigned int in)
{
	struct eg_wr wr = send_to(bed, i, in, 77);

	post(bed, in, 9, 4096);
	er_post_send(&bed->from[i].qp, &wr);
	eg_wire_run(bed->engine, MS);
	expect(bed, in, i, 9, OK);
	expect_sent(bed, i, bed->from[i].qp.posted - 1, OK);
}

/* ------------------------------------------------------------------------- */
/* Messages                                                                  */
/* ------------------------------------------------------------------------- */

/* One QP for all SRQs, one SRQ for all QPs. */
static void test_send(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_cqe cqe;
	unsigned int i, in;
	struct eg_wr wr;

	eg_fill(bed->from[0].end.guest, 0, 3000, 1);
	for (i = 0; i < PAIRS; i++) {
		for (in = 0; in < SRQS; in++) {
			eg_zero(receiver(bed), IN + 4096 * i, 4096);
			post(bed, in, i, 4096);
			wr = send_to(bed, i, in, 3000);
			wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
			wr.imm = 0x12345678;
			run_post(bed, i, &wr);
			cqe = expect(bed, in, i, i, OK);
			assert_int_equal(le32toh(cqe.byte_len), 3000);
			assert_int_equal(be32toh(cqe.imm_data), 0x12345678);
			eg_check(receiver(bed), IN + 4096 * i, 3000, 1, 0);
			expect_sent(bed, i, in, OK);
		}
	}
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

static void test_inline(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 1, 0);

	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = "hello, domain!";
	wr.data_len = 14;
	post(bed, 1, 0, 4096);
	run_post(bed, 0, &wr);
	assert_int_equal(le32toh(expect(bed, 1, 0, 0, OK).byte_len), 14);
	assert_memory_equal(eg_ptr(receiver(bed), EG_DATA + IN), wr.data, 14);
	free(bed);
}

static void rdma(struct bed *bed)
{
	struct eg_guest *from = bed->from[0].end.guest, *to = receiver(bed);
	uint64_t *word = eg_ptr(to, EG_DATA + IN + 8192);
	struct eg_wr wr;

	eg_fill(from, 0, 5000, 2);
	wr = rdma_to(bed, 0, 0, VIRTIO_IB_WR_RDMA_WRITE, 0, 5000);
	er_post_send(&bed->from[0].qp, &wr);
	eg_wire_run(bed->engine, MS);
	eg_check(to, IN, 5000, 2, 0);
	expect_sent(bed, 0, 0, OK);

	eg_zero(from, 1 << 20, 5000);
	wr = rdma_to(bed, 0, 1, VIRTIO_IB_WR_RDMA_READ, 0, 5000);
	wr.sge[0].addr = EG_VA + (1 << 20);
	er_post_send(&bed->from[0].qp, &wr);
	eg_wire_run(bed->engine, MS);
	eg_check(from, 1 << 20, 5000, 2, 0);
	expect_sent(bed, 0, 1, OK);

	*word = htole64(40);
	wr = rdma_to(bed, 0, 1, VIRTIO_IB_WR_FETCH_ADD, 8192, 8);
	wr.compare_add = 2;
	er_post_send(&bed->from[0].qp, &wr);
	wr = rdma_to(bed, 0, 0, VIRTIO_IB_WR_CMP_SWAP, 8192, 8);
	wr.compare_add = 42;
	wr.swap = 43;
	er_post_send(&bed->from[0].qp, &wr);
	eg_wire_run(bed->engine, MS);
	assert_int_equal(le64toh(*word), 43);
	expect_sent(bed, 0, 2, OK);
	expect_sent(bed, 0, 3, OK);
	expect_none(bed);

	/* Takes a request, of the SRQ that it names. */
	post(bed, 1, 3, 0);
	wr = rdma_to(bed, 0, 1, VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, 0, 2000);
	er_post_send(&bed->from[0].qp, &wr);
	eg_wire_run(bed->engine, MS);
	assert_int_equal(le32toh(expect(bed, 1, 0, 3, OK).byte_len), 2000);
	expect_sent(bed, 0, 4, OK);
	er_expect_no_event(to, 0);
	free(bed);
}

static void test_rdma(void **state)
{
	rdma(bed_up(state));
}

static void test_rdma_by_wire(void **state)
{
	rdma(bed_up_wire(state));
}

/* Messages of many packets for different SRQs, over a path that loses and repeats. */
static void test_lossy(void **state)
{
	struct bed *bed = bed_up_wire(state);
	const uint32_t len = 300 * 1000;
	struct eg_guest *from = bed->from[0].end.guest;
	unsigned int round, i;
	struct eg_wr wr;

	eg_fill(from, 0, len, 3);
	eg_wire.lose = 20;
	eg_wire.repeat = 50;
	eg_wire.reorder = 20;
	eg_wire.seed = 4711;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < PAIRS; i++) {
			struct eg_sge sge = { EG_VA + IN + (i << 20), len,
					      bed->in[(i + round) % SRQS].key };

			er_post_srq(&bed->in[(i + round) % SRQS].srq, &sge, 1, COOKIE + i);
			wr = send_to(bed, i, (i + round) % SRQS, len);
			er_post_send(&bed->from[i].qp, &wr);
			/* Read back by way of the other SRQ, after it. */
			wr = rdma_to(bed, i, (i + round + 1) % SRQS,
				     VIRTIO_IB_WR_RDMA_READ, i << 20, len);
			wr.sge[0].addr = EG_VA + (2 << 20) + (i << 20);
			er_post_send(&bed->from[i].qp, &wr);
		}
		eg_wire_run(bed->engine, 100 * MS);
		for (i = 0; i < PAIRS; i++) {
			expect(bed, (i + round) % SRQS, i, i, OK);
			expect_sent(bed, i, 2 * round, OK);
			expect_sent(bed, i, 2 * round + 1, OK);
			eg_check(receiver(bed), IN + (i << 20), len, 3, 0);
			eg_check(from, (2 << 20) + (i << 20), len, 3, 0);
			eg_zero(receiver(bed), IN + (i << 20), len);
			eg_zero(from, (2 << 20) + (i << 20), len);
		}
	}
	assert_true(eg_wire.lost > 20);
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* One SRQ is empty: the other one goes on, by another connection. */
static void test_rnr(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 0, 10);

	run_post(bed, 0, &wr);
	expect_none(bed);
	post(bed, 1, 1, 4096);
	wr = send_to(bed, 1, 1, 10);
	run_post(bed, 1, &wr);
	expect(bed, 1, 1, 1, OK);
	post(bed, 0, 3, 4096);
	engine_loop_advance(bed->engine->loop, MS);
	eg_run(bed->engine);
	expect(bed, 0, 0, 3, OK);
	expect_sent(bed, 0, 0, OK);
	free(bed);
}

static void test_limit(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 1, 10);

	post(bed, 1, 0, 4096);
	post(bed, 1, 1, 4096);
	assert_int_equal(er_modify_srq(&bed->in[1].srq, 2), VIRTIO_NET_OK);
	er_expect_no_event(receiver(bed), 0);
	run_post(bed, 0, &wr);
	expect_event(bed, VIRTIO_RDMA_EVENT_SRQ_LIMIT, bed->in[1].srq.handle);
	assert_int_equal(er_resize_srq(&bed->in[1].srq, 64), VIRTIO_NET_OK);
	wr = send_to(bed, 1, 1, 10);
	run_post(bed, 1, &wr);
	expect(bed, 1, 0, 0, OK);
	expect(bed, 1, 1, 1, OK);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* Whose SRQ, whose memory                                                   */
/* ------------------------------------------------------------------------- */

static void bad_srqn(struct bed *bed, uint32_t srqn)
{
	struct eg_wr wr = send_to(bed, 0, 0, 10);

	wr.srqn = srqn;
	post(bed, 0, 0, 4096);
	run_post(bed, 0, &wr);
	expect_error(bed, INV_REQ, REQ_ERR);
	expect_works(bed, 1, 1);
	free(bed);
}

static void test_unknown_srq(void **state)
{
	struct bed *bed = bed_up(state);

	bad_srqn(bed, bed->in[0].srq.handle ^ 1);
}

static void test_srq_of_nobody(void **state)
{
	bad_srqn(bed_up(state), 0xffffff);
}

/* It has the PD and the CQ of one that is good, but is in another domain. */
static void test_srq_of_other_domain(void **state)
{
	struct bed *bed = bed_up(state);
	struct er_srq srq;

	er_srq_init(&srq, receiver(bed), bed->in[0].pdn, DEPTH);
	srq.xrc = true;
	srq.xrcd = er_create_xrcd(receiver(bed));
	srq.cqn = bed->in[0].cq.cqn;
	assert_int_equal(er_create_srq(&srq), VIRTIO_NET_OK);
	bad_srqn(bed, srq.handle);
}

static void test_srq_that_is_not_xrc(void **state)
{
	struct bed *bed = bed_up(state);
	struct er_srq srq;

	er_srq_init(&srq, receiver(bed), bed->in[0].pdn, DEPTH);
	assert_int_equal(er_create_srq(&srq), VIRTIO_NET_OK);
	bad_srqn(bed, srq.handle);
}

/* The number is good in the sender's guest, where nobody asks. */
static void test_srq_of_other_guest(void **state)
{
	struct bed *bed = bed_up(state);
	struct inbox in;

	inbox_up(&in, &bed->engine->guest[0], er_create_xrcd(&bed->engine->guest[0]));
	/* Tags are random: it may be the number of one of the receiver's as well. */
	while (in.srq.handle == bed->in[0].srq.handle || in.srq.handle == bed->in[1].srq.handle)
		assert_int_equal(er_create_srq(&in.srq), VIRTIO_NET_OK);
	bad_srqn(bed, in.srq.handle);
}

/* A number of more than 24 bits never leaves. */
static void test_srqn_too_large(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 0, 10);
	struct virtio_rdma_cqe cqe;

	wr.srqn |= 1 << 24;
	post(bed, 0, 0, 4096);
	run_post(bed, 0, &wr);
	cqe = er_expect(&bed->from[0], false, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(le32toh(cqe.vendor_err), VENDOR_ERR_SRQN);
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* Keys are those of the PD of the SRQ that is named. */
static void wrong_pd(void **state, uint8_t opcode)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = rdma_to(bed, 0, 0, opcode, 0, 8);

	wr.rkey = bed->in[1].key;
	run_post(bed, 0, &wr);
	expect_error(bed, VIRTIO_IB_WC_REM_ACCESS_ERR, ACCESS_ERR);
	expect_works(bed, 1, 0);
	free(bed);
}

static void test_wrong_pd_write(void **state)
{
	wrong_pd(state, VIRTIO_IB_WR_RDMA_WRITE);
}

static void test_wrong_pd_read(void **state)
{
	wrong_pd(state, VIRTIO_IB_WR_RDMA_READ);
}

static void test_wrong_pd_atomic(void **state)
{
	wrong_pd(state, VIRTIO_IB_WR_FETCH_ADD);
}

/* An operation that XRC does not have fails where it is posted. */
static void test_no_such_request(void **state)
{
	static const uint8_t opcodes[] = { VIRTIO_IB_WR_FLUSH, VIRTIO_IB_WR_ATOMIC_WRITE };
	struct bed *bed = bed_up(state);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct eg_wr wr = rdma_to(bed, i, 0, opcodes[i], 0, 8);

		run_post(bed, i, &wr);
		expect_sent(bed, i, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	}
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* Packets by hand                                                           */
/* ------------------------------------------------------------------------- */

/* To an end of pair 0, as from its peer; the PSN is @psn from the first one on. */
static void deliver(struct bed *bed, bool to_ini, uint8_t opcode, uint32_t psn,
		    uint32_t srqn, uint32_t len)
{
	struct er_end *to = to_ini ? &bed->from[0] : &bed->to[0];
	struct er_end *from = to_ini ? &bed->to[0] : &bed->from[0];
	uint8_t sgid[GID_SIZE], dgid[GID_SIZE];
	static uint8_t data[4096];
	struct sg sg;
	struct pkt pkt = {
		.opcode = opcode,
		.ack_req = true,
		.psn = (PSN + psn) & PSN_MASK,
		.npsn = 1,
		.dest_qpn = to->qp.qpn,
		.src_qpn = from->qp.qpn,
		.srqn = srqn,
		.sgid = sgid,
		.dgid = dgid,
		.len = len,
		.payload = len ? &sg : NULL,
	};

	sg_init_flat(&sg, data);
	eg_gid(from->end.guest, sgid);
	eg_gid(to->end.guest, dgid);
	eg_deliver(to->end.guest, &pkt);
	eg_run(bed->engine);
}

/* The message has begun with a request of SRQ 0, which is flushed. */
static void test_srq_changes_in_message(void **state)
{
	struct bed *bed = bed_up(state);

	post(bed, 0, 0, 4096);
	post(bed, 1, 1, 4096);
	deliver(bed, false, 0xa0, 0, bed->in[0].srq.handle, 1024);
	deliver(bed, false, 0xa2, 1, bed->in[1].srq.handle, 1024);
	expect(bed, 0, 0, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	expect_event(bed, REQ_ERR, bed->to[0].qp.qpn);
	expect_event(bed, LAST_WQE, bed->to[0].qp.qpn);
	expect_none(bed);
	expect_works(bed, 1, 0);
	free(bed);
}

/* A READ that comes once more names another SRQ than the message under way. */
static void test_again_in_message(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = rdma_to(bed, 0, 1, VIRTIO_IB_WR_RDMA_READ, 0, 8);

	run_post(bed, 0, &wr);
	expect_sent(bed, 0, 0, OK);
	post(bed, 0, 0, 4096);
	deliver(bed, false, 0xa0, 1, bed->in[0].srq.handle, 1024);
	deliver(bed, false, 0xac, 0, bed->in[1].srq.handle, 0);
	deliver(bed, false, 0xac, 0, 12345, 0);
	deliver(bed, false, 0xa2, 2, bed->in[0].srq.handle, 1024);
	assert_int_equal(le32toh(expect(bed, 0, 0, 0, OK).byte_len), 2048);
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* Each end takes what is for its half, and only that of the service. */
static void test_wrong_direction(void **state)
{
	struct bed *bed = bed_up(state);
	struct rnic_ctx *ini = &bed->engine->guest[0].rnic->ctx;
	struct rnic_ctx *tgt = &bed->engine->guest[1].rnic->ctx;

	deliver(bed, true, 0xa4, 0, bed->in[0].srq.handle, 8);
	deliver(bed, true, 0x11, 0, 0, 0);
	assert_int_equal(ini->counter[VIRTIO_RDMA_CNT_RCVD_DROPPED], 2);
	deliver(bed, false, 0xb1, 0, 0, 0);
	deliver(bed, false, 0xb2, 0, 0, 0);
	deliver(bed, false, 0x04, 0, 0, 8);
	assert_int_equal(tgt->counter[VIRTIO_RDMA_CNT_RCVD_DROPPED], 3);
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	expect_works(bed, 0, 0);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* What goes while it is used                                                */
/* ------------------------------------------------------------------------- */

/* Half a message has come to pair 0: it has a request of SRQ 0 at hand. */
static struct bed *half_way(void **state)
{
	struct bed *bed = bed_up_wire(state);
	struct eg_sge sge = { EG_VA + IN, 1 << 20, bed->in[0].key };
	struct eg_wr wr = send_to(bed, 0, 0, 1 << 20);

	er_post_srq(&bed->in[0].srq, &sge, 1, COOKIE);
	er_post_send(&bed->from[0].qp, &wr);
	rnic_poll(bed->engine->guest[0].rnic);
	assert_true(eg_wire_deliver());
	return bed;
}

static void destroy_inbox(struct bed *bed, struct inbox *in)
{
	const struct virtio_rdma_cmd_dereg_mr mr = { .mrn = htole32(in->key >> 8) };
	const struct virtio_rdma_cmd_destroy_pd pd = { .pdn = htole32(in->pdn) };
	struct eg_guest *guest = receiver(bed);

	assert_int_equal(er_destroy_cq(&in->cq), VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(DEREG_MR), &mr, sizeof(mr), NULL, 0),
			 VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, CMD(DESTROY_PD), &pd, sizeof(pd), NULL, 0),
			 VIRTIO_NET_ERR);
	assert_int_equal(er_destroy_srq(&in->srq), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_srq(&in->srq), VIRTIO_NET_ERR);
	assert_int_equal(er_destroy_cq(&in->cq), VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, CMD(DESTROY_PD), &pd, sizeof(pd), NULL, 0),
			 VIRTIO_NET_OK);
}

/* The request at hand is gone with the SRQ, its CQ and its PD; no other one is taken. */
static void test_srq_goes_half_way(void **state)
{
	struct bed *bed = half_way(state);

	destroy_inbox(bed, &bed->in[0]);
	eg_wire_run(bed->engine, 100 * MS);
	expect_error(bed, INV_REQ, REQ_ERR);
	expect_works(bed, 1, 1);
	free(bed);
}

/* The SRQ goes while the peer waits: its QP has no ring that could be looked at. */
static void test_rnr_and_srq_goes(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 0, 10);

	run_post(bed, 0, &wr);
	expect_none(bed);
	destroy_inbox(bed, &bed->in[0]);
	eg_run(bed->engine);
	rnic_look_at_all(receiver(bed)->rnic);
	eg_run(bed->engine);
	expect_works(bed, 1, 1);
	free(bed);
}

/* Nothing of the message comes any more: the QP has nothing to flush. */
static void test_srq_goes_before_err(void **state)
{
	struct bed *bed = half_way(state);

	eg_wire_drop();
	destroy_inbox(bed, &bed->in[0]);
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_ERR, &bed->from[0].end);
	eg_run(bed->engine);
	expect_event(bed, LAST_WQE, bed->to[0].qp.qpn);
	er_expect_no_event(receiver(bed), 0);
	expect_none(bed);
	free(bed);
}

static void test_srq_goes_in_read(void **state)
{
	struct bed *bed = bed_up_wire(state);
	struct eg_wr wr = rdma_to(bed, 0, 0, VIRTIO_IB_WR_RDMA_READ, 0, 4 << 20);

	er_post_send(&bed->from[0].qp, &wr);
	rnic_poll(bed->engine->guest[0].rnic);
	assert_true(eg_wire_deliver());
	rnic_poll(bed->engine->guest[1].rnic);
	destroy_inbox(bed, &bed->in[0]);
	eg_wire_run(bed->engine, 100 * MS);
	expect_error(bed, VIRTIO_IB_WC_REM_ACCESS_ERR, ACCESS_ERR);
	expect_works(bed, 1, 1);
	free(bed);
}

static void test_err_half_way(void **state)
{
	struct bed *bed = half_way(state);

	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_ERR, &bed->from[0].end);
	eg_run(bed->engine);
	expect(bed, 0, 0, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	expect_event(bed, LAST_WQE, bed->to[0].qp.qpn);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* A request that was not completed goes back, in front of the others. */
static void test_reset_half_way(void **state)
{
	struct bed *bed = half_way(state);
	struct eg_wr wr = send_to(bed, 1, 0, 10);

	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_RESET, &bed->from[0].end);
	expect_none(bed);
	er_post_send(&bed->from[1].qp, &wr);
	eg_wire_run(bed->engine, MS);
	expect(bed, 0, 1, 0, OK);
	free(bed);
}

static void test_destroy_half_way(void **state)
{
	struct bed *bed = half_way(state);
	struct eg_wr wr = send_to(bed, 1, 0, 10);

	assert_int_equal(er_destroy_qp(&bed->to[0].qp), VIRTIO_NET_OK);
	expect_none(bed);
	er_post_send(&bed->from[1].qp, &wr);
	eg_wire_run(bed->engine, MS);
	expect(bed, 0, 1, 0, OK);
	free(bed);
}

/* A connection is used again, for another SRQ. */
static void test_reconnect(void **state)
{
	struct bed *bed = half_way(state);

	eg_wire_drop();
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_RESET, &bed->from[0].end);
	eg_to(&bed->from[0].end, INI, VIRTIO_IB_QPS_RESET, &bed->to[0].end);
	eg_connect_xrc(&bed->from[0].end, &bed->to[0].end);
	bed->from[0].qp.posted = 0;
	bed->from[0].qp.control->send_producer = 0;
	expect_works(bed, 0, 1);
	free(bed);
}

static void test_domain_in_use(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_guest *guest = receiver(bed);
	unsigned int i;

	for (i = 0; i < SRQS; i++) {
		assert_int_equal(er_destroy_xrcd(guest, bed->xrcd), VIRTIO_NET_ERR);
		destroy_inbox(bed, &bed->in[i]);
	}
	for (i = 0; i < PAIRS; i++) {
		assert_int_equal(er_destroy_xrcd(guest, bed->xrcd), VIRTIO_NET_ERR);
		assert_int_equal(er_destroy_qp(&bed->to[i].qp), VIRTIO_NET_OK);
	}
	assert_int_equal(er_destroy_xrcd(guest, bed->xrcd), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_xrcd(guest, bed->xrcd), VIRTIO_NET_ERR);
	free(bed);
}

static void test_function_reset(void **state)
{
	struct bed *bed = half_way(state);
	struct eg_guest *guest = receiver(bed);

	eg_reset(guest);
	assert_int_equal(guest->rnic->ctx.ring_pages, 0);
	assert_int_equal(er_destroy_srq(&bed->in[0].srq), VIRTIO_NET_ERR);
	assert_int_equal(er_destroy_xrcd(guest, bed->xrcd), VIRTIO_NET_ERR);
	free(bed);
}

/* ------------------------------------------------------------------------- */
/* Rules broken                                                              */
/* ------------------------------------------------------------------------- */

/* An SRQ in error takes with it the QPs that need a request of it. */
static void srq_fails(struct bed *bed)
{
	struct eg_wr wr = send_to(bed, 0, 0, 10);

	run_post(bed, 0, &wr);
	expect_event(bed, SRQ_ERROR, bed->in[0].srq.handle);
	expect_error(bed, VIRTIO_IB_WC_REM_OP_ERR, FATAL);
	assert_int_not_equal(bed->in[0].srq.control->device, 0);
	expect_works(bed, 1, 1);
	free(bed);
}

static void test_producer_too_far(void **state)
{
	struct bed *bed = bed_up(state);

	bed->in[0].srq.control->producer = htole32(DEPTH + 1);
	srq_fails(bed);
}

static void test_ring_lost(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_guest *guest = receiver(bed);
	struct eg_wr wr = send_to(bed, 0, 0, 10);

	post(bed, 0, 0, 4096);
	er_lose_page(guest, bed->in[0].srq.pages[0]);
	run_post(bed, 0, &wr);
	expect_event(bed, SRQ_ERROR, bed->in[0].srq.handle);
	expect_error(bed, VIRTIO_IB_WC_REM_OP_ERR, FATAL);
	rnic_mem_changed(guest->rnic, &guest->map);
	free(bed);
}

/* The CQ overflows: the SRQ is in error, and QPs are when they need it. */
static void test_cq_overrun(void **state)
{
	struct bed *bed = bed_up(state);
	unsigned int i;

	for (i = 0; i < 64; i++) {
		struct eg_wr wr = send_to(bed, 0, 0, 10);

		post(bed, 0, 0, 4096);
		run_post(bed, 0, &wr);
		expect_sent(bed, 0, i, OK);
	}
	er_expect_no_event(receiver(bed), 0);
	post(bed, 0, 0, 4096);
	run_post(bed, 0, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .flags = VIRTIO_IB_SEND_SIGNALED,
		.srqn = bed->in[0].srq.handle });
	expect_event(bed, VIRTIO_RDMA_EVENT_CQ_ERROR, bed->in[0].cq.cqn);
	expect_event(bed, SRQ_ERROR, bed->in[0].srq.handle);
	expect_works(bed, 1, 1);
	run_post(bed, 0, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND, .flags = VIRTIO_IB_SEND_SIGNALED,
		.srqn = bed->in[0].srq.handle });
	expect_event(bed, FATAL, bed->to[0].qp.qpn);
	free(bed);
}

/* A malformed receive request is told to who posted it, and ends the connection. */
static void test_bad_request(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_wr wr = send_to(bed, 0, 0, 10);
	struct eg_sge sge[32] = {};

	er_post_srq(&bed->in[0].srq, sge, 4, COOKIE + 5);
	run_post(bed, 0, &wr);
	expect(bed, 0, 0, 5, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	expect_sent(bed, 0, 0, VIRTIO_IB_WC_REM_OP_ERR);
	expect_event(bed, LAST_WQE, bed->to[0].qp.qpn);
	expect_works(bed, 1, 0);
	free(bed);
}

static void test_bad_commands(void **state)
{
	struct bed *bed = bed_up(state);
	struct eg_guest *guest = receiver(bed);
	const uint32_t before = guest->rnic->ctx.ring_pages;
	const struct er_shape shape = { .no_recv = true };
	struct er_srq good, srq;
	struct er_qp good_qp, qp;
	struct er_page page;
	struct er_cq rfc;

	er_srq_init(&good, guest, bed->in[0].pdn, 128);
	good.xrc = true;
	good.xrcd = bed->xrcd;
	good.cqn = bed->in[0].cq.cqn;
	er_cq_init(&rfc, guest, 16, 0, 0);
	assert_int_equal(er_create_cq(&rfc), VIRTIO_NET_OK);
#define BAD(change) do {							\
		srq = good;						\
		change;							\
		assert_int_equal(er_create_srq(&srq), VIRTIO_NET_ERR);	\
	} while (0)
	BAD(srq.xrcd ^= 1);
	BAD(srq.xrcd = 0);
	BAD(srq.cqn = 12345);
	BAD(srq.cqn = rfc.cqn);
	BAD(srq.req.pdn = htole32(12345));
	BAD(srq.req.depth = htole32(127));
	BAD(srq.req.npages = htole32(3));
	BAD(srq.pages[1] += 8);
#undef BAD
#define BAD(change) do {							\
		qp = good_qp;						\
		change;							\
		assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);	\
	} while (0)
	er_tgt_init(&good_qp, guest, bed->xrcd);
	BAD(qp.direct.xrcd ^= htole32(1));
	BAD(qp.direct.form = 0);
	BAD(qp.direct.send_depth = htole32(16));
	BAD(qp.direct.recv_pages = htole32(1));
	BAD(qp.direct.control = htole64(EG_BASE));
	BAD(qp.direct.flags = VIRTIO_RDMA_QP_SRQ);
	er_page_init(&page, guest, 0);
	er_qp_init(&good_qp, &page, &bed->in[0].cq, 1, INI, bed->in[0].pdn, &shape);
	BAD(qp.req.pdn = htole32(12345));
	BAD(qp.req.send_cqn = htole32(12345));
	BAD(qp.req.send_cqn = htole32(rfc.cqn));
	BAD(qp.direct.form = 0);
	BAD(qp.direct.recv_depth = htole32(64); qp.direct.recv_pages = htole32(1));
	BAD(qp.direct.flags = VIRTIO_RDMA_QP_SRQ;
	    qp.direct.srq = htole32(bed->in[0].srq.handle));
	BAD(qp.req.qp_type = 5);
	BAD(qp.req.qp_type = 7);
	BAD(qp.req.qp_type = 11);
	BAD(qp.req.qp_type = 255);
	/* An XRC SRQ is not for other QPs. */
	BAD(qp.req.qp_type = RC; qp.direct.flags = VIRTIO_RDMA_QP_SRQ;
	    qp.direct.srq = htole32(bed->in[0].srq.handle));
#undef BAD
	good_qp.req.recv_cqn = 0;
	assert_int_equal(er_create_qp(&good_qp), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_qp(&good_qp), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->ctx.ring_pages, before);
	free(bed);
}

/* Attributes that a QP does not need. */
static void test_bad_attributes(void **state)
{
	struct bed *bed = bed_up(state);
	struct virtio_rdma_cmd_modify_qp req;

	req = eg_modify_req(bed->to[0].qp.qpn, TGT, VIRTIO_IB_QPS_RTS,
			    bed->from[0].end.guest, bed->from[0].qp.qpn);
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_RESET, &bed->from[0].end);
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_INIT, &bed->from[0].end);
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_RTR, &bed->from[0].end);
	req.attr_mask |= htole32(VIRTIO_IB_QP_RETRY_CNT);
	assert_int_equal(eg_modify(receiver(bed), &req), VIRTIO_NET_ERR);
	req.attr_mask ^= htole32(VIRTIO_IB_QP_RETRY_CNT | VIRTIO_IB_QP_TIMEOUT);
	assert_int_equal(eg_modify(receiver(bed), &req), VIRTIO_NET_ERR);
	req.attr_mask ^= htole32(VIRTIO_IB_QP_TIMEOUT);
	assert_int_equal(eg_modify(receiver(bed), &req), VIRTIO_NET_OK);
	eg_to(&bed->to[0].end, TGT, VIRTIO_IB_QPS_SQD, &bed->from[0].end);
	eg_run(bed->engine);
	expect_event(bed, VIRTIO_RDMA_EVENT_SQ_DRAINED, bed->to[0].qp.qpn);

	req = eg_modify_req(bed->from[0].qp.qpn, INI, VIRTIO_IB_QPS_RTS, receiver(bed),
			    bed->to[0].qp.qpn);
	req.attr_mask = htole32(VIRTIO_IB_QP_STATE | VIRTIO_IB_QP_MIN_RNR_TIMER);
	assert_int_equal(eg_modify(bed->from[0].end.guest, &req), VIRTIO_NET_ERR);
	free(bed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
#define WIRE(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, \
						   eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_send),
		TEST(test_inline),
		TEST(test_rdma),
		WIRE(test_rdma_by_wire),
		WIRE(test_lossy),
		TEST(test_rnr),
		TEST(test_rnr_and_srq_goes),
		TEST(test_limit),
		TEST(test_unknown_srq),
		TEST(test_srq_of_nobody),
		TEST(test_srq_of_other_domain),
		TEST(test_srq_that_is_not_xrc),
		TEST(test_srq_of_other_guest),
		TEST(test_srqn_too_large),
		TEST(test_wrong_pd_write),
		TEST(test_wrong_pd_read),
		TEST(test_wrong_pd_atomic),
		TEST(test_no_such_request),
		TEST(test_srq_changes_in_message),
		TEST(test_again_in_message),
		TEST(test_wrong_direction),
		WIRE(test_srq_goes_half_way),
		WIRE(test_srq_goes_before_err),
		WIRE(test_srq_goes_in_read),
		WIRE(test_err_half_way),
		WIRE(test_reset_half_way),
		WIRE(test_destroy_half_way),
		WIRE(test_reconnect),
		TEST(test_domain_in_use),
		WIRE(test_function_reset),
		TEST(test_producer_too_far),
		TEST(test_ring_lost),
		TEST(test_cq_overrun),
		TEST(test_bad_request),
		TEST(test_bad_commands),
		TEST(test_bad_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
