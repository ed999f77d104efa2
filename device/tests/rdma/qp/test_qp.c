// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QP states: the modify table, and what the states do.
 */
#include "tests/lib/engine_guest.h"

#include "base/util.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define UD	VIRTIO_IB_QPT_UD
#define GSI	VIRTIO_IB_QPT_GSI

#define OK	VIRTIO_IB_WC_SUCCESS
#define FLUSH	VIRTIO_IB_WC_WR_FLUSH_ERR

#define RESET	VIRTIO_IB_QPS_RESET
#define INIT	VIRTIO_IB_QPS_INIT
#define RTR	VIRTIO_IB_QPS_RTR
#define RTS	VIRTIO_IB_QPS_RTS
#define SQD	VIRTIO_IB_QPS_SQD
#define SQE	VIRTIO_IB_QPS_SQE
#define ERR	VIRTIO_IB_QPS_ERR
#define STATES	7

#define IN	EG_IN
#define RNR_NS	640000ull

/* ------------------------------------------------------------------------- */
/* The table                                                                 */
/* ------------------------------------------------------------------------- */

#define STATE	VIRTIO_IB_QP_STATE
#define CUR	VIRTIO_IB_QP_CUR_STATE
#define ACC	VIRTIO_IB_QP_ACCESS_FLAGS
#define QKEY	VIRTIO_IB_QP_QKEY
#define AV	VIRTIO_IB_QP_AV
#define MTU	VIRTIO_IB_QP_PATH_MTU
#define TMO	VIRTIO_IB_QP_TIMEOUT
#define RETRY	VIRTIO_IB_QP_RETRY_CNT
#define RNR	VIRTIO_IB_QP_RNR_RETRY
#define RQPSN	VIRTIO_IB_QP_RQ_PSN
#define RD	VIRTIO_IB_QP_MAX_QP_RD_ATOMIC
#define MINRNR	VIRTIO_IB_QP_MIN_RNR_TIMER
#define SQPSN	VIRTIO_IB_QP_SQ_PSN
#define DESTRD	VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC
#define DEST	VIRTIO_IB_QP_DEST_QPN
#define RATE	VIRTIO_IB_QP_RATE_LIMIT

struct expectation {
	bool legal;
	uint32_t must[5];	/* by type */
	uint32_t may[5];
};

/*
 * As in drivers/infiniband/core, by old state, new state and type, less the attributes
 * that the device does not have.
 */
static const struct expectation table[STATES][STATES] = {
	[RESET] = {
		[RESET] = { true },
		[INIT] = { true, .must = { [RC] = ACC, [UC] = ACC, [UD] = QKEY,
					   [GSI] = QKEY } },
	},
	[INIT] = {
		[RESET] = { true },
		[ERR] = { true },
		[INIT] = { true, .may = { [RC] = ACC, [UC] = ACC, [UD] = QKEY,
					  [GSI] = QKEY } },
		[RTR] = { true,
			  .must = { [RC] = AV | MTU | DEST | RQPSN | DESTRD |
					   MINRNR,
				    [UC] = AV | MTU | DEST | RQPSN },
			  .may = { [RC] = ACC, [UC] = ACC, [UD] = QKEY,
				   [GSI] = QKEY } },
	},
	[RTR] = {
		[RESET] = { true },
		[ERR] = { true },
		[RTS] = { true,
			  .must = { [RC] = TMO | RETRY | RNR | SQPSN | RD,
				    [UC] = SQPSN, [UD] = SQPSN,
				    [GSI] = SQPSN },
			  .may = { [RC] = CUR | ACC | MINRNR | RATE,
				   [UC] = CUR | ACC | RATE,
				   [UD] = CUR | QKEY | RATE,
				   [GSI] = CUR | QKEY | RATE } },
	},
	[RTS] = {
		[RESET] = { true },
		[ERR] = { true },
		[RTS] = { true,
			  .may = { [RC] = CUR | ACC | MINRNR | RATE,
				   [UC] = CUR | ACC | RATE,
				   [UD] = CUR | QKEY | RATE,
				   [GSI] = CUR | QKEY | RATE } },
		[SQD] = { true },
	},
	[SQD] = {
		[RESET] = { true },
		[ERR] = { true },
		[RTS] = { true,
			  .may = { [RC] = CUR | ACC | MINRNR | RATE,
				   [UC] = CUR | ACC | RATE,
				   [UD] = CUR | QKEY | RATE,
				   [GSI] = CUR | QKEY | RATE } },
		[SQD] = { true,
			  .may = { [RC] = AV | TMO | RETRY | RNR | RD | DESTRD |
					  ACC | MINRNR | RATE,
				   [UC] = AV | ACC | RATE, [UD] = QKEY | RATE,
				   [GSI] = QKEY | RATE } },
	},
	[SQE] = {
		[RESET] = { true },
		[ERR] = { true },
		[RTS] = { true, .may = { [UC] = CUR | ACC, [UD] = CUR | QKEY,
					 [GSI] = CUR | QKEY } },
	},
	[ERR] = {
		[RESET] = { true },
		[ERR] = { true },
	},
};

/* A send request that fails here puts all but RC into SQE. */
static void break_sq(struct engine *engine, struct eg_end *end)
{
	struct eg_wr wr = { .opcode = 99, .flags = VIRTIO_IB_SEND_SIGNALED };

	eg_post_send(end, &wr);
	eg_run(engine);
	eg_expect(end, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

static void bring_to(struct engine *engine, struct eg_end *end, uint8_t type,
		     uint8_t state)
{
	uint8_t via[STATES] = { RESET, RESET, INIT, RTR, RTS, RTS, INIT };

	if (state == RESET)
		return;
	bring_to(engine, end, type, via[state]);
	if (state == SQE)
		break_sq(engine, end);
	else
		eg_to(end, type, state, end);
	assert_int_equal(eg_state(end->guest, end->qpn), state);
}

/* One attempt on a QP of its own; returns the ack. */
static uint8_t attempt(struct engine *engine, struct eg_end *end, uint8_t type,
		       uint8_t from, uint8_t to, uint32_t mask)
{
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t ack;

	end->qpn = eg_create_qp(end->guest, type, end->pdn, end->cqn);
	bring_to(engine, end, type, from);
	req = eg_modify_req(end->qpn, type, to, end->guest, end->qpn);
	req.attr_mask = htole32(mask);
	req.cur_qp_state = from;
	ack = eg_modify(end->guest, &req);
	assert_int_equal(eg_state(end->guest, end->qpn),
			 ack == VIRTIO_NET_OK ? to : from);
	eg_destroy_qp(end->guest, end->qpn);
	return ack;
}

/* Each attribute on its own: required but missing, allowed, or not allowed. */
static void check_masks(struct engine *engine, struct eg_end *end, uint8_t type,
			uint8_t from, uint8_t to)
{
	const struct expectation *e = &table[from][to];
	uint32_t must = e->must[type], may = e->may[type], bit;
	uint8_t want;

	for (bit = CUR; bit; bit <<= 1) {
		want = must & bit ? VIRTIO_NET_ERR :	/* it is missing */
		       may & bit ? VIRTIO_NET_OK : VIRTIO_NET_ERR;
		if (attempt(engine, end, type, from, to,
			    STATE | (must ^ bit)) != want)
			fail_msg("type %u, %u to %u: attribute %#x", type, from,
				 to, bit);
	}
}

static void check_type(struct engine *engine, uint8_t type)
{
	struct eg_guest *guest = &engine->guest[0];
	struct eg_end end = {
		.guest = guest,
		.pdn = eg_create_pd(guest),
		.cqn = eg_create_cq(guest),
	};
	uint8_t from, to, want;

	for (from = 0; from < STATES; from++) {
		if (type == RC && from == SQE)
			continue;
		for (to = 0; to < STATES; to++) {
			want = table[from][to].legal ? VIRTIO_NET_OK :
						       VIRTIO_NET_ERR;
			if (attempt(engine, &end, type, from, to, STATE |
				    table[from][to].must[type]) != want)
				fail_msg("type %u, %u to %u", type, from, to);
			if (want == VIRTIO_NET_OK)
				check_masks(engine, &end, type, from, to);
		}
		/* This state does not exist. */
		assert_int_equal(attempt(engine, &end, type, from, STATES,
					 STATE), VIRTIO_NET_ERR);
	}
}

static void test_table_rc(void **state)
{
	check_type(*state, RC);
}

static void test_table_uc(void **state)
{
	check_type(*state, UC);
}

static void test_table_ud(void **state)
{
	check_type(*state, UD);
}

static void test_table_gsi(void **state)
{
	check_type(*state, GSI);
}

/* Without a state in the mask the QP keeps its state. */
static void test_modify_without_state(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	req = eg_modify_req(a.qpn, RC, RESET, b.guest, b.qpn);
	req.attr_mask = htole32(MINRNR);
	req.min_rnr_timer = 3;
	assert_int_equal(eg_modify(a.guest, &req), VIRTIO_NET_OK);
	assert_int_equal(eg_state(a.guest, a.qpn), RTS);
	assert_int_equal(eg_query(a.guest, a.qpn).min_rnr_timer, 3);
}

static void test_cur_state(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_end a, b;
	uint8_t s;

	eg_pair(engine, RC, &a, &b);
	for (s = 0; s < 8; s++) {
		req = eg_modify_req(a.qpn, RC, RTS, b.guest, b.qpn);
		req.attr_mask = htole32(STATE | CUR);
		req.cur_qp_state = s;
		assert_int_equal(eg_modify(a.guest, &req),
				 s == RTS ? VIRTIO_NET_OK : VIRTIO_NET_ERR);
	}
}

/* Each attribute at its bounds, and just beyond. */
static void test_ranges(void **state)
{
	static const struct {
		uint8_t to;
		size_t offset, size;
		uint32_t good, bad;
	} rows[] = {
#define ROW(state, field, good, bad) {					\
		state, offsetof(struct virtio_rdma_cmd_modify_qp, field),	\
		sizeof(((struct virtio_rdma_cmd_modify_qp *)0)->field), good, bad }
		ROW(INIT, qp_access_flags, 63, 64),
		ROW(RTR, path_mtu, 5, 6),
		ROW(RTR, path_mtu, 1, 0),
		ROW(RTR, rq_psn, 0xffffff, 0x1000000),
		ROW(RTR, dest_qp_num, 0xffffff, 0x1000000),
		ROW(RTR, max_dest_rd_atomic, 128, 129),
		ROW(RTR, min_rnr_timer, 31, 32),
		ROW(RTR, ah_attr.grh.sgid_index, 127, 128),
		ROW(RTR, ah_attr.grh.sgid_index, 0, 126),
		ROW(RTS, timeout, 31, 32),
		ROW(RTS, retry_cnt, 7, 8),
		ROW(RTS, rnr_retry, 7, 8),
		ROW(RTS, sq_psn, 0xffffff, 0x1000000),
		ROW(RTS, max_rd_atomic, 128, 129),
	};
	struct engine *engine = *state;
	struct eg_end end = eg_open(&engine->guest[0], RC);
	struct virtio_rdma_cmd_add_gid gid = { .index = htole16(127) };
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t *field;
	uint32_t i, j;
	__le32 value;

	/* Index 127 holds a GID, index 126 none. */
	gid.gid[0] = 0xfd;
	assert_int_equal(eg_command(end.guest, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				    &gid, sizeof(gid), NULL, 0),
			 VIRTIO_NET_OK);

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		eg_destroy_qp(end.guest, end.qpn);
		end.qpn = eg_create_qp(end.guest, RC, end.pdn, end.cqn);
		bring_to(engine, &end, RC, rows[i].to - 1);
		for (j = 0; j < 2; j++) {
			req = eg_modify_req(end.qpn, RC, rows[i].to, end.guest,
					    end.qpn);
			field = (uint8_t *)&req + rows[i].offset;
			value = htole32(j ? rows[i].good : rows[i].bad);
			memcpy(field, &value, rows[i].size);
			if (eg_modify(end.guest, &req) !=
			    (j ? VIRTIO_NET_OK : VIRTIO_NET_ERR))
				fail_msg("case %u, %s", i, j ? "good" : "bad");
			assert_int_equal(eg_state(end.guest, end.qpn),
					 rows[i].to - !j);
		}
	}
}

/* A request that fails sets no attribute, not even a good one. */
static void test_failed_modify_sets_nothing(void **state)
{
	struct engine *engine = *state;
	struct eg_end end = eg_open(&engine->guest[0], RC);
	struct virtio_rdma_ack_query_qp before, after;
	struct virtio_rdma_cmd_modify_qp req;

	bring_to(engine, &end, RC, INIT);
	before = eg_query(end.guest, end.qpn);
	req = eg_modify_req(end.qpn, RC, RTR, end.guest, end.qpn);
	memset(req.ah_attr.grh.dgid, 0, 16);
	assert_int_equal(eg_modify(end.guest, &req), VIRTIO_NET_ERR);
	req.path_mtu = 6;
	assert_int_equal(eg_modify(end.guest, &req), VIRTIO_NET_ERR);
	after = eg_query(end.guest, end.qpn);
	assert_memory_equal(&before, &after, sizeof(before));
	req.qpn = htole32(end.qpn + 1);
	assert_int_equal(eg_modify(end.guest, &req), VIRTIO_NET_ERR);
	req.qpn = htole32(UINT32_MAX);
	assert_int_equal(eg_modify(end.guest, &req), VIRTIO_NET_ERR);
}

/* ------------------------------------------------------------------------- */
/* What the states do                                                        */
/* ------------------------------------------------------------------------- */

static void post(const struct eg_end *from, const struct eg_end *to,
		 uint64_t wr_id)
{
	struct eg_wr wr = eg_send(from, wr_id, 0, 4);

	eg_post_send(from, &wr);
	if (to)
		eg_recv(to, wr_id, IN, 4);
}

/* Back to RTS, from where no attribute is needed. */
static void to_rts(const struct eg_end *end)
{
	const struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(end->qpn),
		.attr_mask = htole32(STATE),
		.qp_state = RTS,
	};

	assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
}

/* Nothing is sent before RTS; requests posted before are sent then. */
static void test_send_before_rts(void **state)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_end b = eg_open(&engine->guest[1], RC);

	eg_to(&a, RC, INIT, &b);
	eg_to(&b, RC, INIT, &a);
	post(&a, &b, 1);
	eg_run(engine);
	eg_to(&b, RC, RTR, &a);
	eg_to(&a, RC, RTR, &b);
	eg_run(engine);
	assert_false(rnic_sleep(a.guest->rnic));
	eg_expect_none(&a);
	eg_expect_none(&b);
	eg_to(&a, RC, RTS, &b);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&b, 1, OK);
}

static void test_err_flushes_both_queues(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	uint32_t i;

	eg_pair(engine, RC, &a, &b);
	/* Three requests wait for the receiver, three have not been taken yet. */
	for (i = 0; i < 3; i++)
		post(&a, NULL, i);
	eg_run(engine);
	for (i = 3; i < 6; i++)
		post(&a, NULL, i);
	for (i = 10; i < 14; i++)
		eg_recv(&a, i, IN, 4);
	eg_to(&a, RC, ERR, &b);
	eg_expect_none(&a);	/* from the poll, not from the command */
	eg_run(engine);
	for (i = 0; i < 6; i++)
		eg_expect(&a, i, FLUSH);
	for (i = 10; i < 14; i++)
		eg_expect(&a, i, FLUSH);
	eg_expect_none(&a);
	assert_int_equal(engine_loop_timers(engine->loop), 0);

	/* Requests that are posted from now on are flushed, too. */
	post(&a, NULL, 20);
	eg_recv(&a, 21, IN, 4);
	rnic_queue_kick(a.guest->rnic, RNIC_RQ, a.qpn);
	eg_run(engine);
	eg_expect(&a, 20, FLUSH);
	eg_expect(&a, 21, FLUSH);
}

/* Slots come back without completions, and the QP can be used again. */
static void test_reset_drops_silently(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	uint32_t i;

	eg_pair(engine, RC, &a, &b);
	for (i = 0; i < 3; i++)
		post(&a, NULL, i);
	eg_run(engine);
	for (i = 3; i < 6; i++)
		post(&a, NULL, i);
	for (i = 0; i < 4; i++)
		eg_recv(&a, i, IN, 4);
	eg_to(&a, RC, RESET, &b);
	eg_run(engine);
	eg_expect_none(&a);
	assert_int_equal(engine_loop_timers(engine->loop), 0);
	assert_int_equal(eg_used(&a.guest->sq[a.qpn]), 6);
	assert_int_equal(eg_used(&a.guest->rq[a.qpn]), 4);

	eg_to(&b, RC, RESET, &a);
	eg_connect(&a, &b, RC);
	eg_fill(a.guest, 0, 4, 1);
	post(&a, &b, 30);
	post(&b, &a, 31);
	eg_run(engine);
	eg_expect(&a, 30, OK);	/* guest 1 is polled first */
	eg_expect(&a, 31, OK);
	eg_expect(&b, 30, OK);
	eg_expect(&b, 31, OK);
	eg_check(b.guest, IN, 4, 1, 0);
}

static void test_sqd_drains(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;

	eg_pair(engine, RC, &a, &b);
	/* One request is under way and has to wait, one was not begun. */
	wr = eg_send(&a, 1, 0, 600000);
	eg_fill(a.guest, 0, 600000, 1);
	eg_post_send(&a, &wr);
	eg_recv(&b, 1, IN, 600000);
	assert_true(rnic_poll(a.guest->rnic));
	post(&a, &b, 2);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 0);
	eg_to(&a, RC, SQD, &b);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 1);
	eg_run(engine);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 0);
	eg_expect(&a, 1, OK);
	eg_expect(&b, 1, OK);
	eg_check(b.guest, IN, 600000, 1, 0);
	eg_expect_none(&a);
	eg_expect_none(&b);

	/* It still receives. */
	post(&b, &a, 3);
	eg_run(engine);
	eg_expect(&a, 3, OK);
	eg_expect(&b, 3, OK);
	eg_expect_none(&a);

	to_rts(&a);
	eg_run(engine);
	eg_expect(&a, 2, OK);
	eg_expect(&b, 2, OK);
}

/* READs beyond the limit are not begun. */
static void test_sqd_holds_reads_back(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;
	uint32_t i;

	eg_pair(engine, RC, &a, &b);
	wr = eg_send(&a, 0, IN, 100);
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.remote_addr = EG_VA;
	wr.rkey = b.lkey;
	for (i = 0; i < 6; i++) {
		wr.wr_id = i;
		eg_post_send(&a, &wr);
	}
	assert_true(rnic_poll(a.guest->rnic));	/* four go out */
	eg_to(&a, RC, SQD, &b);
	eg_run(engine);
	for (i = 0; i < 4; i++)
		eg_expect(&a, i, OK);
	eg_expect_none(&a);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 0);
	to_rts(&a);
	eg_run(engine);
	eg_expect(&a, 4, OK);
	eg_expect(&a, 5, OK);
}

/* In SQD the peer may get another address: here that of the QP itself. */
static void test_sqd_new_address(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_modify_qp req;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	assert_int_equal(a.qpn, b.qpn);
	post(&a, &b, 1);
	post(&b, &a, 2);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&a, 2, OK);
	eg_to(&a, RC, SQD, &b);
	req = eg_modify_req(a.qpn, RC, SQD, a.guest, a.qpn);
	req.attr_mask = htole32(STATE | AV);
	assert_int_equal(eg_modify(a.guest, &req), VIRTIO_NET_OK);
	to_rts(&a);
	post(&a, &a, 3);
	eg_run(engine);
	eg_expect(&a, 3, OK);
	eg_expect(&a, 3, OK);
	eg_expect_none(&a);
}

/* A bad request does not fail before the QP looks at it. */
static void test_sqd_leaves_slots_alone(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	eg_to(&a, RC, SQD, &b);
	eg_post_send(&a, &(struct eg_wr) { .wr_id = 5, .opcode = 99 });
	eg_run(engine);
	eg_expect_none(&a);
	assert_int_equal(eg_state(a.guest, a.qpn), SQD);
	to_rts(&a);
	eg_run(engine);
	eg_expect(&a, 5, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(eg_state(a.guest, a.qpn), ERR);
}

/* A message that waits for a receive request is under way, too. */
static void test_sqd_waits_for_rnr(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;

	eg_pair(engine, RC, &a, &b);
	post(&a, NULL, 1);
	eg_run(engine);
	eg_to(&a, RC, SQD, &b);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 1);
	eg_recv(&b, 1, IN, 4);
	engine_loop_advance(engine->loop, RNR_NS);
	eg_run(engine);
	assert_int_equal(eg_query(a.guest, a.qpn).sq_draining, 0);
	eg_expect(&a, 1, OK);
	eg_expect(&b, 1, OK);
}

static void test_sqe_uc(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;

	eg_pair(engine, UC, &a, &b);
	wr = eg_send(&a, 2, 0, 4);
	wr.sge[0].lkey = 0;
	post(&a, &b, 1);
	eg_post_send(&a, &wr);
	post(&a, NULL, 3);
	eg_run(engine);
	eg_expect(&a, 1, OK);
	eg_expect(&a, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_expect(&a, 3, FLUSH);
	eg_expect(&b, 1, OK);
	assert_int_equal(eg_state(a.guest, a.qpn), SQE);
	/* It still receives, and sends again after RTS. */
	post(&b, &a, 4);
	eg_run(engine);
	eg_expect(&a, 4, OK);
	eg_expect(&b, 4, OK);
	to_rts(&a);
	post(&a, &b, 5);
	eg_run(engine);
	eg_expect(&a, 5, OK);
	eg_expect(&b, 5, OK);
}

/* ------------------------------------------------------------------------- */
/* Destruction with work under way                                           */
/* ------------------------------------------------------------------------- */

static void test_destroy_while_waiting(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	uint32_t i;

	/* An RNR wait. */
	eg_pair(engine, RC, &a, &b);
	for (i = 0; i < 5; i++)
		post(&a, NULL, i);
	eg_run(engine);
	assert_int_equal(engine_loop_timers(engine->loop), 1);
	eg_destroy_qp(a.guest, a.qpn);
	assert_int_equal(engine_loop_timers(engine->loop), 0);
	engine_loop_advance(engine->loop, 10 * RNR_NS);
	eg_run(engine);
	eg_expect_none(&a);
	eg_destroy_qp(b.guest, b.qpn);

	/* An ACK timeout; the peer has gone. */
	a.qpn = eg_create_qp(a.guest, RC, a.pdn, a.cqn);
	b.qpn = eg_create_qp(b.guest, RC, b.pdn, b.cqn);
	eg_connect(&a, &b, RC);
	eg_destroy_qp(b.guest, b.qpn);
	post(&a, NULL, 7);
	eg_run(engine);
	assert_int_equal(engine_loop_timers(engine->loop), 1);
	eg_destroy_qp(a.guest, a.qpn);
	assert_int_equal(engine_loop_timers(engine->loop), 0);
	eg_expect_none(&a);
}

/* Either end goes in the middle of a long message. */
static void test_destroy_under_way(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	struct eg_wr wr;
	int i;

	a = eg_open(&engine->guest[0], RC);
	b = eg_open(&engine->guest[1], RC);
	for (i = 0; i < 2; i++) {
		eg_connect(&a, &b, RC);
		wr = eg_send(&a, 1, 0, 1 << 20);
		eg_post_send(&a, &wr);
		eg_recv(&b, 2, IN, 1 << 20);
		assert_true(rnic_poll(a.guest->rnic));
		eg_destroy_qp(i ? a.guest : b.guest, i ? a.qpn : b.qpn);
		eg_run(engine);
		if (!i) {
			engine_loop_advance(engine->loop, 1000000000);
			eg_run(engine);
			engine_loop_advance(engine->loop, 1000000000);
			eg_run(engine);
			engine_loop_advance(engine->loop, 1000000000);
			eg_run(engine);
			eg_expect(&a, 1, VIRTIO_IB_WC_RETRY_EXC_ERR);
		}
		eg_expect_none(&a);
		eg_expect_none(&b);
		eg_destroy_qp(i ? b.guest : a.guest, i ? b.qpn : a.qpn);
		a.qpn = eg_create_qp(a.guest, RC, a.pdn, a.cqn);
		b.qpn = eg_create_qp(b.guest, RC, b.pdn, b.cqn);
	}
}

/* A QP that is created again starts with empty rings. */
static void test_recycled_rings(void **state)
{
	struct engine *engine = *state;
	struct eg_end a, b;
	uint32_t i;

	a = eg_open(&engine->guest[0], RC);
	b = eg_open(&engine->guest[1], RC);
	for (i = 0; i < 20; i++) {
		eg_connect(&a, &b, RC);
		post(&a, &b, i);
		post(&a, NULL, 100);
		eg_recv(&a, 101, IN, 4);
		eg_run(engine);
		eg_expect(&a, i, OK);
		eg_expect(&b, i, OK);
		eg_destroy_qp(a.guest, a.qpn);
		eg_destroy_qp(b.guest, b.qpn);
		eg_expect_none(&a);
		a.qpn = eg_create_qp(a.guest, RC, a.pdn, a.cqn);
		b.qpn = eg_create_qp(b.guest, RC, b.pdn, b.cqn);
	}
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_table_rc),
		T(test_table_uc),
		T(test_table_ud),
		T(test_table_gsi),
		T(test_modify_without_state),
		T(test_cur_state),
		T(test_ranges),
		T(test_failed_modify_sets_nothing),
		T(test_send_before_rts),
		T(test_err_flushes_both_queues),
		T(test_reset_drops_silently),
		T(test_sqd_drains),
		T(test_sqd_holds_reads_back),
		T(test_sqd_new_address),
		T(test_sqd_leaves_slots_alone),
		T(test_sqd_waits_for_rnr),
		T(test_sqe_uc),
		T(test_destroy_while_waiting),
		T(test_destroy_under_way),
		T(test_recycled_rings),
	};

	return cmocka_run_group_tests_name("qp", tests, NULL, NULL);
}
