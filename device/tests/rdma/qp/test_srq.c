// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: one ring of receive requests for several QPs.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "base/util.h"
#include "rdma/rnic_priv.h"
#include "rdma/qp/wqe.h"
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_wire.h"

#define RC		VIRTIO_IB_QPT_RC
#define UD		VIRTIO_IB_QPT_UD
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define PAIRS		3u
#define DEPTH		16u
/* Cookies, which the device does not look at. */
#define COOKIE		0xc0de0000u
#define LIMIT		VIRTIO_RDMA_EVENT_SRQ_LIMIT
#define SRQ_ERROR	VIRTIO_RDMA_EVENT_SRQ_ERROR
#define LAST_WQE	VIRTIO_RDMA_EVENT_QP_LAST_WQE

/**
 * struct bed - QPs of guest 1, each connected with one of guest 2
 * @engine:	engine
 * @type:	of the QPs
 * @srq:	what those of guest 2 take their requests from
 * @from:	QPs of guest 1
 * @to:		QPs of guest 2, which complete to the CQ of the first one
 * @ah:		UD: address handle of guest 2
 */
struct bed {
	struct engine *engine;
	uint8_t type;
	struct er_srq srq;
	struct er_end from[PAIRS];
	struct er_end to[PAIRS];
	uint32_t ah[PAIRS];
};

static struct eg_guest *receiver(const struct bed *bed)
{
	return bed->to[0].end.guest;
}

/* All QPs of guest 2 have a PD, which is not that of the SRQ if @other_pd. */
static struct bed *bed_up(void **state, uint8_t type, bool other_pd)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	struct er_shape shape = { .send_depth = 64, .cqe = 256 };
	struct eg_guest *guest;
	unsigned int i;
	uint32_t pdn;

	assert_non_null(bed);
	bed->engine = *state;
	bed->type = type;
	guest = &bed->engine->guest[1];
	for (i = 0; i < PAIRS; i++)
		er_open(&bed->from[i], &bed->engine->guest[0], type, &shape);
	pdn = eg_create_pd(guest);
	er_srq_init(&bed->srq, guest, pdn, DEPTH);
	assert_int_equal(er_create_srq(&bed->srq), VIRTIO_NET_OK);
	shape.srq = &bed->srq;
	for (i = 0; i < PAIRS; i++) {
		struct er_end *to = &bed->to[i];

		*to = (struct er_end) { .end = { .guest = guest, .pdn = pdn } };
		if (other_pd && !i)
			to->end.pdn = eg_create_pd(guest);
		er_page_init(&to->page, guest, 0);
		if (!i) {
			er_cq_init(&to->cq, guest, 256, 5, 0);
			assert_int_equal(er_create_cq(&to->cq), VIRTIO_NET_OK);
		}
		er_qp_init(&to->qp, &to->page, &bed->to[0].cq, 5, type, to->end.pdn,
			   &shape);
		assert_int_equal(er_create_qp(&to->qp), VIRTIO_NET_OK);
		to->end.qpn = to->qp.qpn;
		to->end.lkey = i ? bed->to[0].end.lkey :
			       eg_reg(guest, pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE,
				      EG_DATA);
		eg_connect(&bed->from[i].end, &to->end, type);
		if (type == UD)
			bed->ah[i] = eg_create_ah(bed->from[i].end.guest,
						  bed->from[i].end.pdn, guest);
	}
	er_give_events(guest, 0, 16);
	return bed;
}

static void post_at(struct bed *bed, uint32_t cookie, uint64_t off, uint32_t len)
{
	struct eg_sge sge = { EG_VA + off, len, bed->to[0].end.lkey };

	er_post_srq(&bed->srq, &sge, 1, COOKIE + cookie);
}

static void post(struct bed *bed, uint32_t cookie)
{
	post_at(bed, cookie, IN + 4096 * cookie, 4096);
}

static void send_len(struct bed *bed, unsigned int i, uint32_t len)
{
	struct er_end *from = &bed->from[i];
	struct eg_wr wr = eg_send(&from->end, 0, 0, len);

	if (bed->type == UD) {
		wr.remote_qpn = bed->to[i].qp.qpn;
		wr.remote_qkey = 0x1234;
		wr.ah = bed->ah[i];
	}
	er_post_send(&from->qp, &wr);
}

static void send(struct bed *bed, unsigned int i)
{
	send_len(bed, i, 100);
	eg_run(bed->engine);
}

/* The next completion of guest 2 is that of the request with @cookie, at QP @i. */
static struct virtio_rdma_cqe expect(struct bed *bed, unsigned int i, uint32_t cookie,
				     uint8_t status)
{
	struct virtio_rdma_cqe cqe;

	if (!er_poll(&bed->to[0].cq, &cqe))
		fail_msg("no completion, wanted that of request %u", cookie);
	assert_int_equal(cqe.status, status);
	assert_int_equal(le32toh(cqe.qp_num), bed->to[i].qp.qpn);
	assert_int_equal(le32toh(cqe.wqe), COOKIE + cookie);
	assert_true(cqe.opcode & VIRTIO_RDMA_CQE_RECV);
	return cqe;
}

static void expect_none(struct bed *bed)
{
	er_expect_none(&bed->to[0]);
}

static void to_err(struct bed *bed, unsigned int i)
{
	eg_to(&bed->to[i].end, bed->type, VIRTIO_IB_QPS_ERR, &bed->from[i].end);
	eg_run(bed->engine);
}

/* Posted in one order, taken in this order by whoever needs one. */
static void shared(void **state, uint8_t type)
{
	struct bed *bed = bed_up(state, type, false);
	unsigned int i, round;

	for (round = 0; round < 5 * DEPTH; round++) {
		for (i = 0; i < PAIRS; i++)
			post(bed, (7 * round + i) % 64);
		eg_fill(bed->from[0].end.guest, 0, 100, round);
		for (i = 0; i < PAIRS; i++)
			send(bed, PAIRS - 1 - i);
		for (i = 0; i < PAIRS; i++) {
			struct virtio_rdma_cqe cqe = expect(bed, PAIRS - 1 - i,
							    (7 * round + i) % 64, 0);
			uint32_t grh = type == UD ? 40 : 0;

			assert_int_equal(le32toh(cqe.byte_len), 100 + grh);
			eg_check(receiver(bed), IN + 4096 * ((7 * round + i) % 64) + grh,
				 100, round, 0);
		}
		for (i = 0; i < PAIRS; i++)
			er_expect(&bed->from[i], false, round, 0);
	}
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

static void test_rc(void **state)
{
	shared(state, RC);
}

static void test_ud(void **state)
{
	shared(state, UD);
}

/* A message of one QP waits for its end, those of others pass it. */
static void test_out_of_order(void **state)
{
	struct bed *bed;
	unsigned int i;

	eg_wire_use(*state);
	bed = bed_up(state, RC, false);
	post_at(bed, 0, IN, 1 << 20);
	for (i = 1; i < DEPTH; i++)
		post_at(bed, i, 0, 4096);
	send_len(bed, 0, 1 << 20);
	rnic_poll(bed->engine->guest[0].rnic);
	assert_true(eg_wire_deliver());
	send_len(bed, 1, 10);
	eg_wire_run(bed->engine, MS);
	/* The short one has come first, though its request is the second. */
	assert_int_equal(bed->to[0].cq.consumer, 0);
	expect(bed, 1, 1, 0);
	expect(bed, 0, 0, 0);
	expect_none(bed);
	free(bed);
}

static void test_rnr(void **state)
{
	struct bed *bed = bed_up(state, RC, false);

	send(bed, 1);
	expect_none(bed);
	post(bed, 3);
	engine_loop_advance(bed->engine->loop, MS);
	eg_run(bed->engine);
	expect(bed, 1, 3, 0);
	er_expect(&bed->from[1], false, 0, 0);
	free(bed);
}

/*
 * A peer in memory is woken by the request and not by its timer.  One request wakes one sender, and
 * waits that are cut short are not counted as retries.
 */
static void test_rnr_ends_by_request(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct eg_guest *sender = bed->from[0].end.guest;
	uint32_t round, i, rnr = 0;

	/* There are fewer retries than rounds. */
	for (round = 0; round < 5; round++) {
		for (i = 0; i < PAIRS; i++)
			send(bed, i);
		expect_none(bed);
		rnr += PAIRS;
		assert_int_equal(eg_count(sender, VIRTIO_RDMA_CNT_RCVD_RNR), rnr);
		for (i = 0; i < PAIRS; i++) {
			post(bed, i);
			eg_run(bed->engine);
			assert_int_equal(bed->to[0].cq.consumer, round * PAIRS + i);
			expect(bed, i, i, 0);
			expect_none(bed);
		}
		assert_int_equal(eg_count(sender, VIRTIO_RDMA_CNT_RCVD_RNR), rnr);
		for (i = 0; i < PAIRS; i++)
			er_expect(&bed->from[i], false, round, 0);
		assert_int_equal(engine_loop_timers(bed->engine->loop), 0);
	}
	free(bed);
}

/*
 * The request that a sender was woken for is taken by another one, more often than it may try
 * again.
 */
static void test_rnr_request_stolen(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct eg_guest *sender = bed->from[0].end.guest;
	uint32_t round;

	/* The thief is looked at first. */
	post(bed, 0);
	send(bed, 0);
	expect(bed, 0, 0, 0);
	send(bed, 1);
	for (round = 0; round < 10; round++) {
		post(bed, 0);
		rnic_poll(receiver(bed)->rnic);
		send(bed, 0);
		expect(bed, 0, 0, 0);
		expect_none(bed);
	}
	assert_int_equal(eg_count(sender, VIRTIO_RDMA_CNT_RCVD_RNR), 11);
	post(bed, 1);
	eg_run(bed->engine);
	expect(bed, 1, 1, 0);
	er_expect(&bed->from[1], false, 0, 0);
	free(bed);
}

/* Without a request a datagram is lost, as with a ring. */
static void test_ud_empty(void **state)
{
	struct bed *bed = bed_up(state, UD, false);

	send(bed, 0);
	post(bed, 1);
	eg_run(bed->engine);
	expect_none(bed);
	send(bed, 0);
	expect(bed, 0, 1, 0);
	free(bed);
}

/* Keys of requests are those of the SRQ's protection domain, not the QP's. */
static void pds(void **state, uint8_t type)
{
	struct bed *bed = bed_up(state, type, true);

	post(bed, 0);
	post(bed, 1);
	send(bed, 0);
	send(bed, 1);
	expect(bed, 0, 0, 0);
	expect(bed, 1, 1, 0);
	free(bed);
}

static void test_pd_rc(void **state)
{
	pds(state, RC);
}

static void test_pd_ud(void **state)
{
	pds(state, UD);
}

/* A QP in ERR leaves the requests to others, and says when it has none. */
static void test_err(void **state)
{
	struct bed *bed = bed_up(state, RC, false);

	post(bed, 0);
	post(bed, 1);
	to_err(bed, 0);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	expect_none(bed);
	to_err(bed, 0);
	er_expect_no_event(receiver(bed), 0);
	send(bed, 1);
	expect(bed, 1, 0, 0);
	send(bed, 2);
	expect(bed, 2, 1, 0);
	/* Once more after RESET. */
	eg_to(&bed->to[0].end, RC, VIRTIO_IB_QPS_RESET, &bed->from[0].end);
	eg_to(&bed->to[0].end, RC, VIRTIO_IB_QPS_INIT, &bed->from[0].end);
	to_err(bed, 0);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	free(bed);
}

/* Half a message has come to QP 0: it has a request at hand. */
static struct bed *half_way(void **state)
{
	struct bed *bed;

	eg_wire_use(*state);
	bed = bed_up(state, RC, false);
	post_at(bed, 0, IN, 1 << 20);
	post_at(bed, 1, 0, 4096);
	send_len(bed, 0, 1 << 20);
	rnic_poll(bed->engine->guest[0].rnic);
	assert_true(eg_wire_deliver());
	eg_wire_drop();
	/* Its sender is not heard of again. */
	assert_int_equal(er_destroy_qp(&bed->from[0].qp), VIRTIO_NET_OK);
	return bed;
}

/* A driver may post again for each completion, whichever it is. */
static void test_slot_of_one_under_way(void **state)
{
	struct bed *bed = half_way(state);
	unsigned int i;

	for (i = 2; i < DEPTH; i++)
		post_at(bed, i, 0, 4096);
	/* Request 0 was taken; its slot is used again, its cookie is not. */
	for (i = 0; i < 3 * DEPTH; i++) {
		send_len(bed, 1, 10);
		eg_wire_run(bed->engine, MS);
		expect(bed, 1, 1 + i % (DEPTH - 1), 0);
		post_at(bed, 1 + i % (DEPTH - 1), 0, 4096);
		er_expect(&bed->from[1], false, i, 0);
	}
	to_err(bed, 0);
	expect(bed, 0, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

static void test_err_half_way(void **state)
{
	struct bed *bed = half_way(state);

	er_expect_no_event(receiver(bed), 0);
	to_err(bed, 0);
	expect(bed, 0, 0, VIRTIO_IB_WC_WR_FLUSH_ERR);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	expect_none(bed);
	free(bed);
}

/* A request that was not completed goes back, in front of the others. */
static void test_reset_half_way(void **state)
{
	struct bed *bed = half_way(state);

	eg_to(&bed->to[0].end, RC, VIRTIO_IB_QPS_RESET, &bed->from[0].end);
	expect_none(bed);
	send_len(bed, 1, 100);
	eg_wire_run(bed->engine, MS);
	expect(bed, 1, 0, 0);
	send_len(bed, 2, 100);
	eg_wire_run(bed->engine, MS);
	expect(bed, 2, 1, 0);
	free(bed);
}

static void test_destroy_half_way(void **state)
{
	struct bed *bed = half_way(state);

	assert_int_equal(er_destroy_qp(&bed->to[0].qp), VIRTIO_NET_OK);
	expect_none(bed);
	send_len(bed, 1, 100);
	eg_wire_run(bed->engine, MS);
	expect(bed, 1, 0, 0);
	free(bed);
}

/* It is freed with the SRQ if nobody takes it. */
static void test_all_destroyed_half_way(void **state)
{
	struct bed *bed = half_way(state);
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		assert_int_equal(er_destroy_srq(&bed->srq), VIRTIO_NET_ERR);
		assert_int_equal(er_destroy_qp(&bed->to[i].qp), VIRTIO_NET_OK);
	}
	assert_int_equal(er_destroy_srq(&bed->srq), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_srq(&bed->srq), VIRTIO_NET_ERR);
	free(bed);
}

/* Reported once when fewer are there, and not again before it is armed. */
static void test_limit(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct virtio_rdma_ack_query_srq ack;
	unsigned int i, round;

	for (i = 0; i < 8; i++)
		post(bed, i);
	for (round = 0; round < 3; round++) {
		assert_int_equal(er_modify_srq(&bed->srq, 4), VIRTIO_NET_OK);
		for (i = 0; i < 8; i++) {
			assert_int_equal(er_query_srq(&bed->srq, &ack), VIRTIO_NET_OK);
			assert_int_equal(le32toh(ack.limit), i < 5 ? 4 : 0);
			send(bed, i % PAIRS);
			expect(bed, i % PAIRS, i, 0);
			if (i == 4)
				er_expect_event(receiver(bed), 0, LIMIT, bed->srq.handle);
			else
				er_expect_no_event(receiver(bed), 0);
		}
		for (i = 0; i < 8; i++)
			post(bed, i);
		/* A guest without buffers for events loses none. */
		er_give_events(receiver(bed), 0, 1);
	}
	assert_int_equal(le32toh(ack.depth), DEPTH);
	assert_int_equal(le32toh(ack.max_sge), 3);
	assert_int_equal(er_modify_srq(&bed->srq, DEPTH + 1), VIRTIO_NET_ERR);
	free(bed);
}

/* It is below the limit when that is armed: none is lost. */
static void test_limit_at_once(void **state)
{
	struct bed *bed = bed_up(state, RC, false);

	post(bed, 0);
	assert_int_equal(er_modify_srq(&bed->srq, 1), VIRTIO_NET_OK);
	er_expect_no_event(receiver(bed), 0);
	assert_int_equal(er_modify_srq(&bed->srq, 0), VIRTIO_NET_OK);
	send(bed, 0);
	er_expect_no_event(receiver(bed), 0);
	assert_int_equal(er_modify_srq(&bed->srq, 1), VIRTIO_NET_OK);
	er_expect_event(receiver(bed), 0, LIMIT, bed->srq.handle);
	free(bed);
}

/* One that is malformed is that QP's misfortune. */
static void test_bad_request(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct virtio_rdma_cqe cqe;
	struct eg_sge sge[32] = {};

	er_post_srq(&bed->srq, sge, 4, COOKIE + 9);
	post(bed, 1);
	send(bed, 0);
	cqe = expect(bed, 0, 9, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(le32toh(cqe.vendor_err), VENDOR_ERR_NUM_SGE);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	send(bed, 1);
	expect(bed, 1, 1, 0);
	free(bed);
}

/* QPs that need a request of an SRQ in error go to ERR, others stay. */
static void expect_error(struct bed *bed)
{
	send(bed, 0);
	er_expect_event(receiver(bed), 0, SRQ_ERROR, bed->srq.handle);
	er_expect_event(receiver(bed), 0, VIRTIO_RDMA_EVENT_QP_FATAL,
			bed->to[0].qp.qpn);
	er_expect_event(receiver(bed), 0, LAST_WQE, bed->to[0].qp.qpn);
	er_expect_no_event(receiver(bed), 0);
	assert_int_equal(eg_state(receiver(bed), bed->to[0].qp.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(eg_state(receiver(bed), bed->to[1].qp.qpn), VIRTIO_IB_QPS_RTS);
	expect_none(bed);
}

static void test_producer_too_far(void **state)
{
	struct bed *bed = bed_up(state, RC, false);

	bed->srq.control->producer = htole32(DEPTH + 1);
	expect_error(bed);
	assert_int_not_equal(bed->srq.control->device, 0);
	/* For good. */
	bed->srq.control->producer = htole32(1);
	send(bed, 1);
	assert_int_equal(eg_state(receiver(bed), bed->to[1].qp.qpn), VIRTIO_IB_QPS_ERR);
	free(bed);
}

static void test_producer_backwards(void **state)
{
	struct bed *bed = bed_up(state, RC, false);

	post(bed, 0);
	send(bed, 1);
	expect(bed, 1, 0, 0);
	bed->srq.control->producer = 0;
	expect_error(bed);
	free(bed);
}

static void lose(void **state, bool ring)
{
	struct bed *bed = bed_up(state, RC, false);

	post(bed, 0);
	er_lose_page(receiver(bed), ring ? bed->srq.pages[0] :
					   le64toh(bed->srq.req.control));
	expect_error(bed);
	rnic_mem_changed(receiver(bed)->rnic, &receiver(bed)->map);
	free(bed);
}

static void test_ring_lost(void **state)
{
	lose(state, true);
}

static void test_control_lost(void **state)
{
	lose(state, false);
}

static void expect_refused(struct er_srq *srq)
{
	assert_int_equal(er_create_srq(srq), VIRTIO_NET_ERR);
}

static void expect_qp_refused(struct er_qp *qp)
{
	assert_int_equal(er_create_qp(qp), VIRTIO_NET_ERR);
}

static void test_bad_commands(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct eg_guest *guest = receiver(bed);
	const uint32_t before = guest->rnic->ctx.ring_pages;
	struct er_shape shape = { .srq = &bed->srq };
	struct virtio_rdma_ack_query_srq ack;
	struct er_srq good, srq;
	struct er_qp good_qp, qp;

	er_srq_init(&good, guest, bed->to[0].end.pdn, 128);
#define BAD(change) do { srq = good; change; expect_refused(&srq); } while (0)
	BAD(srq.req.pdn = htole32(12345));
	BAD(srq.req.depth = htole32(127));
	BAD(srq.req.depth = 0; srq.req.npages = 0);
	BAD(srq.req.depth = htole32(1 << 16); srq.req.npages = htole32(250));
	BAD(srq.req.shift = 5);
	BAD(srq.req.shift = 11);
	BAD(srq.req.npages = htole32(3));
	BAD(srq.req.max_sge = htole32(33));
	BAD(srq.req.control = htole64(le64toh(good.req.control) + 4));
	BAD(srq.req.control = htole64(EG_BASE - 64));
	BAD(srq.pages[1] += 8);
	BAD(srq.pages[0] = 0);
#undef BAD
	assert_int_equal(guest->rnic->ctx.ring_pages, before);
	srq = good;
	srq.handle = bed->srq.handle ^ 1;
	assert_int_equal(er_modify_srq(&srq, 1), VIRTIO_NET_ERR);
	assert_int_equal(er_query_srq(&srq, &ack), VIRTIO_NET_ERR);
	assert_int_equal(er_destroy_srq(&srq), VIRTIO_NET_ERR);

	er_qp_init(&good_qp, &bed->to[0].page, &bed->to[0].cq, 9, RC,
		   bed->to[0].end.pdn, &shape);
#define BAD_QP(change) do { qp = good_qp; change; expect_qp_refused(&qp); } while (0)
	BAD_QP(qp.direct.flags = 2);
	BAD_QP(qp.direct.srq = htole32(bed->srq.handle ^ 1));
	BAD_QP(qp.direct.recv_depth = htole32(64); qp.direct.recv_pages = htole32(1));
	/* Its PD is in use. */
	assert_int_equal(er_create_srq(&good), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_srq(&good), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->ctx.ring_pages, before);
	free(bed);
}

/* The function is reset with all of it in use. */
static void test_function_reset(void **state)
{
	struct bed *bed = half_way(state);
	struct eg_guest *guest = receiver(bed);

	eg_reset(guest);
	assert_int_equal(guest->rnic->ctx.ring_pages, 0);
	assert_int_equal(er_destroy_srq(&bed->srq), VIRTIO_NET_ERR);
	free(bed);
}

/* Requests keep their order, and those to come have room. */
static void test_resize(void **state)
{
	static const uint32_t depths[] = { 64, 32, 128, 2, 16 };
	struct bed *bed = bed_up(state, RC, false);
	uint32_t posted = 0, taken = 0;
	unsigned int i;

	for (; posted < DEPTH; posted++)
		post(bed, posted % 64);
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		/* So many are left as fit into this ring, and into the one before. */
		for (; posted - taken > depths[i]; taken++) {
			send(bed, taken % PAIRS);
			expect(bed, taken % PAIRS, taken % 64, 0);
		}
		assert_int_equal(er_resize_srq(&bed->srq, depths[i]), VIRTIO_NET_OK);
		for (; posted - taken < depths[i] && posted - taken < 60; posted++)
			post(bed, posted % 64);
		send(bed, taken % PAIRS);
		expect(bed, taken % PAIRS, taken % 64, 0);
		taken++;
	}
	for (; taken < posted; taken++) {
		send(bed, taken % PAIRS);
		expect(bed, taken % PAIRS, taken % 64, 0);
	}
	expect_none(bed);
	er_expect_no_event(receiver(bed), 0);
	free(bed);
}

/* A request that was taken from the old ring is not in the new one once more. */
static void test_resize_while_taken(void **state)
{
	struct bed *bed;

	eg_wire_use(*state);
	bed = bed_up(state, RC, false);
	post_at(bed, 0, IN, 1 << 20);
	post_at(bed, 1, 0, 4096);
	send_len(bed, 0, 1 << 20);
	rnic_poll(bed->engine->guest[0].rnic);
	assert_true(eg_wire_deliver());
	assert_int_equal(er_resize_srq(&bed->srq, 4 * DEPTH), VIRTIO_NET_OK);
	eg_wire_run(bed->engine, MS);
	expect(bed, 0, 0, 0);
	send_len(bed, 1, 100);
	eg_wire_run(bed->engine, MS);
	expect(bed, 1, 1, 0);
	expect_none(bed);
	free(bed);
}

/* RESIZE_SRQ with one page. */
static uint8_t resize_by(struct bed *bed, const struct virtio_rdma_cmd_resize_srq *cmd)
{
	struct {
		struct virtio_rdma_cmd_resize_srq cmd;
		__le64 page;
	} req = { *cmd, htole64(bed->srq.pages[0]) };

	return eg_command(receiver(bed), VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ, &req, sizeof(req),
			  NULL, 0);
}

/* The SRQ is as before: its ring, its requests, its limit. */
static void test_resize_refused(void **state)
{
	struct bed *bed = bed_up(state, RC, false);
	struct er_srq *srq = &bed->srq;
	const uint32_t handle = srq->handle;
	struct virtio_rdma_ack_query_srq rsp;
	struct virtio_rdma_cmd_resize_srq req = {
		.srq = htole32(handle),
		.depth = htole32(64),
		.npages = htole32(1),
		.control = srq->req.control,
	}, bad[6];
	unsigned int i;

	for (i = 0; i < 9; i++)
		post(bed, i);
	assert_int_equal(er_modify_srq(srq, 9), VIRTIO_NET_OK);
	/* Fewer than are posted; then fewer than the limit. */
	assert_int_equal(er_resize_srq(srq, 8), VIRTIO_NET_ERR);
	srq->handle ^= 1 << 20;
	assert_int_equal(er_resize_srq(srq, 64), VIRTIO_NET_ERR);
	srq->handle = handle;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = req;
	bad[0].depth = 0;
	bad[1].depth = htole32(63);
	bad[2].depth = htole32(128);
	bad[3].control |= htole64(8);
	bad[4].control = htole64(1ull << 50);
	bad[5].npages = htole32(2);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(resize_by(bed, &bad[i]), VIRTIO_NET_ERR);
	assert_int_equal(er_query_srq(srq, &rsp), VIRTIO_NET_OK);
	assert_int_equal(le32toh(rsp.depth), DEPTH);
	assert_int_equal(le32toh(rsp.limit), 9);
	for (i = 0; i < 9; i++) {
		send(bed, 0);
		expect(bed, 0, i, 0);
	}
	expect_none(bed);
	/* In error there is no way out. */
	srq->control->producer = htole32(1000);
	send(bed, 0);
	srq->posted = 9;
	assert_int_equal(er_resize_srq(srq, 64), VIRTIO_NET_ERR);
	free(bed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
#define WIRE(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, \
						   eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_rc),
		TEST(test_ud),
		WIRE(test_out_of_order),
		WIRE(test_slot_of_one_under_way),
		TEST(test_rnr),
		TEST(test_rnr_ends_by_request),
		TEST(test_rnr_request_stolen),
		TEST(test_ud_empty),
		TEST(test_pd_rc),
		TEST(test_pd_ud),
		TEST(test_err),
		WIRE(test_err_half_way),
		WIRE(test_reset_half_way),
		WIRE(test_destroy_half_way),
		WIRE(test_all_destroyed_half_way),
		TEST(test_limit),
		TEST(test_limit_at_once),
		TEST(test_bad_request),
		TEST(test_producer_too_far),
		TEST(test_producer_backwards),
		TEST(test_ring_lost),
		TEST(test_control_lost),
		TEST(test_bad_commands),
		TEST(test_resize),
		WIRE(test_resize_while_taken),
		TEST(test_resize_refused),
		WIRE(test_function_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
