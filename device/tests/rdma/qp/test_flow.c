// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much QPs send, and when: windows, congestion, rate limits, timeouts.  All in
 * simulated time, over a wire with latency and bandwidth.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_stream.h"

#include "packet/pkt.h"
#include "rdma/rnic_priv.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define UD	VIRTIO_IB_QPT_UD
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define WRITE	VIRTIO_IB_WR_RDMA_WRITE
#define SEND	VIRTIO_IB_WR_SEND
#define READ	VIRTIO_IB_WR_RDMA_READ

#define MSG	(128u * 1024)

/* ------------------------------------------------------------------------- */
/* Window                                                                    */
/* ------------------------------------------------------------------------- */

/* 100 Gb/s, a round trip of 100 µs: neither window nor ACKs are the limit. */
static void long_fat_path(void **state, uint8_t opcode)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = opcode,
		.len = MSG,
	};

	eg_wire.latency = 50 * US;
	eg_wire.mbps = 100000;
	eg_stream_for(&s, 2 * MS);
	assert_in_range(eg_mbps(eg_stream_for(&s, 10 * MS), 10 * MS), 96000, 100000);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RETRY), 0);
}

static void test_full_rate_write(void **state)
{
	long_fat_path(state, WRITE);
}

static void test_full_rate_read(void **state)
{
	long_fat_path(state, READ);
}

/* On a path of any length at most 2 MiB are under way, data of READs included. */
static void window_bound(void **state, uint8_t opcode)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = opcode,
		.len = MSG,
	};

	eg_wire.latency = 5 * MS;
	/* Nothing is known of the path yet. */
	eg_stream_for(&s, 9 * MS);
	assert_in_range(eg_wire.bytes[opcode == READ], 1, 128 * 1024);
	eg_stream_for(&s, 100 * MS);
	assert_in_range(eg_wire.most, 1 << 20, 2 << 20);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RETRY), 0);
}

static void test_window_write(void **state)
{
	window_bound(state, WRITE);
}

static void test_window_read(void **state)
{
	window_bound(state, READ);
}

/* The smallest window is one packet, which asks for an ACK; it grows to two. */
static void test_window_of_one(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = 1 << 20,
	};
	struct pkt cnp = { .opcode = PKT_CNP, .npsn = 1 };
	uint8_t gid_a[GID_SIZE], gid_b[GID_SIZE];
	unsigned int i;

	eg_gid(s.p.a.guest, gid_a);
	eg_gid(s.p.b.guest, gid_b);
	cnp.dest_qpn = s.p.a.qpn;
	cnp.src_qpn = PKT_QPN_UNKNOWN;
	cnp.dgid = gid_a;
	/* From somebody else it is nothing. */
	cnp.sgid = gid_a;
	eg_deliver(s.p.a.guest, &cnp);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RCVD_CNP), 0);
	cnp.sgid = gid_b;
	eg_wire.latency = 200 * US;
	eg_stream_post(&s);
	for (i = 0; i < 60; i++) {
		eg_deliver(s.p.a.guest, &cnp);
		eg_wire_for(s.p.engine, 100 * US);
	}
	eg_wire.most = 0;
	for (i = 0; i < 100; i++) {
		eg_deliver(s.p.a.guest, &cnp);
		eg_wire_for(s.p.engine, 100 * US);
	}
	assert_in_range(eg_wire.most, 1, 2 * 4096);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RCVD_CNP), 160);
	eg_expect_none(&s.p.a);
	/* The window grows again. */
	eg_wire_run(s.p.engine, SECOND);
	eg_expect(&s.p.a, 0, OK);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RETRY), 0);
	assert_in_range(eg_wire.most, 32 * 1024, 2 << 20);
}

/* In memory there is no window. */
static void test_no_window_in_memory(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = eg_send(&p.a, 1, 0, 4 << 20);
	uint64_t now = loop_now(p.engine->loop);

	wr.opcode = WRITE;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p.b.lkey;
	eg_post_send(&p.a, &wr);
	wr.wr_id = 2;
	wr.opcode = READ;
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, OK);
	eg_expect(&p.a, 2, OK);
	assert_int_equal(loop_now(p.engine->loop), now);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* ------------------------------------------------------------------------- */
/* Congestion                                                                */
/* ------------------------------------------------------------------------- */

/*
 * A bottleneck of 10 Gb/s that marks packets: it stays busy, its queue does not
 * overflow.
 */
static void marked_path(void **state, uint8_t opcode)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = opcode,
		.len = MSG,
	};
	const struct eg_end *np = opcode == READ ? &s.p.a : &s.p.b;
	const struct eg_end *rp = opcode == READ ? &s.p.b : &s.p.a;
	uint64_t cnps;

	eg_wire.latency = 20 * US;
	eg_wire.mbps = 10000;
	eg_wire.mark = 100 * 1024;
	eg_wire.queue = 1 << 20;
	eg_stream_for(&s, 5 * MS);
	cnps = eg_count(np->guest, VIRTIO_RDMA_CNT_SENT_CNP);
	assert_in_range(eg_mbps(eg_stream_for(&s, 50 * MS), 50 * MS), 8000, 10000);
	cnps = eg_count(np->guest, VIRTIO_RDMA_CNT_SENT_CNP) - cnps;
	assert_int_equal(eg_wire.lost, 0);
	assert_in_range(cnps, 10, 50 * MS / (50 * US) + 1);
	assert_true(eg_count(np->guest, VIRTIO_RDMA_CNT_RCVD_ECN) > cnps);
	eg_wire_run(s.p.engine, MS);
	assert_int_equal(eg_count(rp->guest, VIRTIO_RDMA_CNT_RCVD_CNP),
			 eg_count(np->guest, VIRTIO_RDMA_CNT_SENT_CNP));
	assert_int_equal(eg_count(rp->guest, VIRTIO_RDMA_CNT_SENT_CNP), 0);
}

static void test_marks_write(void **state)
{
	marked_path(state, WRITE);
}

static void test_marks_read(void **state)
{
	marked_path(state, READ);
}

/* A bottleneck that drops what does not fit: little is sent twice. */
static void dropping_path(void **state, uint8_t opcode)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = opcode,
		.len = MSG,
	};

	eg_wire.latency = 20 * US;
	eg_wire.mbps = 10000;
	eg_wire.queue = 256 * 1024;
	eg_stream_for(&s, 5 * MS);
	eg_wire.lost = 0;
	eg_wire.sent = 0;
	assert_in_range(eg_mbps(eg_stream_for(&s, 50 * MS), 50 * MS), 7000, 10000);
	assert_in_range(eg_wire.lost, 1, eg_wire.sent / 10);
}

static void test_drops_write(void **state)
{
	dropping_path(state, WRITE);
}

static void test_drops_read(void **state)
{
	dropping_path(state, READ);
}

/* ------------------------------------------------------------------------- */
/* Rate limit                                                                */
/* ------------------------------------------------------------------------- */

/* The payload that @kbps carries, in Mbit/s, ± 10 %. */
static void expect_rate(struct eg_stream *s, uint32_t kbps, uint64_t ns)
{
	uint64_t rate, want = (uint64_t)kbps * 4096 / (4096 + 58) / 1000;

	eg_stream_for(s, ns / 10);
	rate = eg_mbps(eg_stream_for(s, ns), ns);
	assert_in_range(rate, want * 9 / 10, want * 11 / 10);
}

static void rate_limit(void **state, uint8_t type, uint8_t opcode,
		       uint32_t kbps)
{
	const struct eg_conn slow = {
		.timeout = 10, .retry_cnt = 1, .rate = kbps,
	};
	struct eg_stream s = {
		.p = eg_stream_pair(state, type, opcode == READ ? eg_patient : slow,
			     opcode == READ ? slow : eg_patient),
		.opcode = opcode,
		.len = 32 * 1024,
	};
	const struct eg_end *end = opcode == READ ? &s.p.b : &s.p.a;

	assert_int_equal(eg_query(end->guest, end->qpn).rate_limit, kbps);
	eg_wire.latency = 10 * US;
	expect_rate(&s, kbps, 4000 * SECOND / kbps * 1000);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 0);
}

static void test_rate_write(void **state)
{
	rate_limit(state, RC, WRITE, 1000000);
}

static void test_rate_read(void **state)
{
	rate_limit(state, RC, READ, 1000000);
}

static void test_rate_uc(void **state)
{
	rate_limit(state, UC, WRITE, 1000000);
}

static void test_rate_high(void **state)
{
	rate_limit(state, RC, WRITE, 40000000);
}

/* A message takes longer than the ACK timer: it is not timed out. */
static void test_rate_low(void **state)
{
	rate_limit(state, RC, WRITE, 10000);
}

static void test_rate_in_memory(void **state)
{
	const struct eg_conn slow = {
		.timeout = 10, .retry_cnt = 1, .rate = 1000000,
	};
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, slow, eg_patient),
		.opcode = WRITE,
		.len = MSG,
	};

	fabric_set_local(s.p.engine->fabric, &transport_local);
	expect_rate(&s, 1000000, 100 * MS);
}

/* A new limit applies at once. */
static void test_rate_changes(void **state)
{
	const struct eg_conn slow = {
		.timeout = 10, .retry_cnt = 1, .rate = 1,
	};
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, slow, eg_patient),
		.opcode = WRITE,
		.len = 32 * 1024,
	};
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(s.p.a.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_RATE_LIMIT),
	};

	eg_wire.latency = 10 * US;
	eg_stream_for(&s, 100 * MS);
	assert_int_equal(s.done, 0);
	req.rate_limit = htole32(1000000);
	assert_int_equal(eg_modify(s.p.a.guest, &req), VIRTIO_NET_OK);
	expect_rate(&s, 1000000, 50 * MS);
	req.rate_limit = 0;
	assert_int_equal(eg_modify(s.p.a.guest, &req), VIRTIO_NET_OK);
	eg_wire.mbps = 10000;
	assert_in_range(eg_mbps(eg_stream_for(&s, 10 * MS), 10 * MS), 9000, 10000);
}

/* Sets the rate limit and the burst; how many packets of 4154 bytes leave at once after a pause. */
static unsigned int after_pause(struct eg_stream *s, uint32_t kbps, uint32_t max_burst)
{
	const struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(s->p.a.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_RATE_LIMIT),
		.rate_limit = htole32(kbps),
		.max_burst = htole32(max_burst),
	};
	const unsigned int n = EG_QUEUE / 2;
	unsigned int i, done = 0;
	struct eg_wc wc;

	assert_int_equal(eg_modify(s->p.a.guest, &req), VIRTIO_NET_OK);
	assert_int_equal(eg_query(s->p.a.guest, s->p.a.qpn).max_burst, htole32(max_burst));
	/* The first packet may always leave; it begins the time that is counted. */
	eg_stream_post(s);
	eg_wire_for(s->p.engine, 100 * MS);
	assert_true(eg_poll(&s->p.a, &wc));
	for (i = 0; i < n; i++)
		eg_stream_post(s);
	eg_wire_for(s->p.engine, 5 * US);
	for (; eg_poll(&s->p.a, &wc); done++)
		assert_int_equal(wc.status, OK);
	/* The others are not lost. */
	eg_wire_for(s->p.engine, SECOND);
	for (i = done; eg_poll(&s->p.a, &wc); i++)
		assert_int_equal(wc.status, OK);
	assert_int_equal(i, n);
	return done;
}

/* 100 Mbit/s: a packet takes 332 µs, so that four leave in a millisecond. */
static void test_rate_bursts(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = 4096,
	};

	fabric_set_local(s.p.engine->fabric, &transport_local);
	assert_int_equal(after_pause(&s, 100000, 0), 4);
	assert_int_equal(after_pause(&s, 100000, 1), 1);
	assert_int_equal(after_pause(&s, 100000, 8192), 2);
	assert_int_equal(after_pause(&s, 100000, 8 * 4154), 9);
	assert_int_equal(after_pause(&s, 100000, UINT32_MAX), EG_QUEUE / 2);
	/* A burst that was set is forgotten. */
	assert_int_equal(after_pause(&s, 100000, 0), 4);
}

static void test_rate_ud(void **state)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], UD);
	struct eg_end b = eg_open(&engine->guest[1], UD);
	struct eg_wr wr = eg_send(&a, 0, 0, 4096);
	struct eg_wc wc;
	unsigned int i;

	eg_stream_connect(&a, &b, UD, (struct eg_conn) { .rate = 100000 });
	wr.ah = eg_create_ah(a.guest, a.pdn, b.guest);
	wr.remote_qpn = b.qpn;
	wr.remote_qkey = 0x1234;
	eg_wire_use(engine);
	for (i = 0; i < 50; i++)
		eg_post_send(&a, &wr);
	/* One in 333 µs, after a burst of 1 ms' worth. */
	eg_wire_for(engine, 10 * MS);
	for (i = 0; eg_poll(&a, &wc); i++)
		assert_int_equal(wc.status, OK);
	assert_in_range(i, 30, 35);
	/* The receiver had no QP in RTR and no receive request. */
	assert_int_equal(eg_count(b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), i);
}

/* ------------------------------------------------------------------------- */
/* Timeouts                                                                  */
/* ------------------------------------------------------------------------- */

/*
 * The link is cut for good while it is busy.  The attributes promise an error
 * after retry_cnt + 1 timeouts, each of T to 4 T.
 */
static void cut_link(void **state, uint8_t opcode, struct eg_conn conn)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, conn, eg_patient),
		.opcode = opcode,
		.len = MSG,
	};
	uint64_t t = 4096ull << conn.timeout, start, end = 0;
	struct eg_wc wc;

	eg_wire.latency = 5 * US;
	eg_wire.mbps = 100000;
	eg_stream_for(&s, MS);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 0);
	eg_wire.cut = 3;
	start = loop_now(s.p.engine->loop);
	while (!eg_poll(&s.p.a, &wc) || wc.status == OK) {
		eg_wire_for(s.p.engine, t / 64);
		end = loop_now(s.p.engine->loop);
		assert_in_range(end - start, 0, (conn.retry_cnt + 1) * 4 * t);
	}
	assert_int_equal(wc.status, VIRTIO_IB_WC_RETRY_EXC_ERR);
	assert_in_range(end - start, (conn.retry_cnt + 1) * t,
			(conn.retry_cnt + 1) * 4 * t);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT),
			 conn.retry_cnt + 1);
	/* It goes back for nothing a few times before the first one. */
	assert_in_range(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RETRY),
			conn.retry_cnt, conn.retry_cnt + 8);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_RETRY_EXCEEDED), 1);
	eg_wire_run(s.p.engine, 4 * t);
	while (eg_poll(&s.p.a, &wc))
		assert_int_equal(wc.status, VIRTIO_IB_WC_WR_FLUSH_ERR);
	assert_int_equal(eg_used(&s.p.a.guest->sq[s.p.a.qpn]),
			 s.posted % 65536);
	assert_int_equal(engine_loop_timers(s.p.engine->loop), 0);
}

static void test_cut_write(void **state)
{
	cut_link(state, WRITE, (struct eg_conn) { .timeout = 10, .retry_cnt = 7 });
}

static void test_cut_read(void **state)
{
	cut_link(state, READ, (struct eg_conn) { .timeout = 10, .retry_cnt = 7 });
}

static void test_cut_no_retry(void **state)
{
	cut_link(state, WRITE, (struct eg_conn) { .timeout = 8, .retry_cnt = 0 });
}

static void test_cut_patient(void **state)
{
	cut_link(state, WRITE, (struct eg_conn) { .timeout = 20, .retry_cnt = 3 });
}

/* A link that was down for less than that: traffic resumes quickly. */
static void test_short_cut(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = MSG,
	};

	eg_wire.latency = 20 * US;
	eg_wire.mbps = 10000;
	eg_stream_for(&s, MS);
	eg_wire.cut = 3;
	eg_stream_for(&s, 200 * MS);
	eg_wire.cut = 0;
	/* Until the timer fires, 67 ms at most. */
	eg_stream_for(&s, 80 * MS);
	assert_in_range(eg_mbps(eg_stream_for(&s, 10 * MS), 10 * MS), 9000, 10000);
}

/* A QP is destroyed with packets under way; its number is used again at once. */
static void test_destroyed_under_way(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = MSG,
	};
	uint32_t i;

	eg_wire.latency = 100 * US;
	eg_zero(s.p.b.guest, IN, MSG);
	for (i = 0; i < 4; i++)
		eg_stream_post(&s);
	eg_wire_for(s.p.engine, 50 * US);
	eg_destroy_qp(s.p.b.guest, s.p.b.qpn);
	eg_destroy_qp(s.p.a.guest, s.p.a.qpn);
	eg_wire_run(s.p.engine, SECOND);
	assert_in_range(eg_count(s.p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 1, 600);
	eg_check_zero(s.p.b.guest, IN, MSG);
	eg_expect_none(&s.p.a);
	assert_int_equal(engine_loop_timers(s.p.engine->loop), 0);
}

/* A receiver that is rarely ready, on a lossy path: all arrives, once. */
static void test_rnr_and_loss(void **state)
{
	const struct eg_conn hasty = { .timeout = 8, .retry_cnt = 7 };
	struct eg_pair p = eg_stream_pair(state, RC, hasty, hasty);
	uint32_t sent = 0, ready = 0, got = 0, i;
	struct eg_wr wr;
	struct eg_wc wc;

	eg_wire.latency = 10 * US;
	eg_wire.lose = 20;
	while (got < 300) {
		for (; sent < got + 8; sent++) {
			eg_fill(p.a.guest, sent % 8 * 16384, 9000, sent);
			wr = eg_send(&p.a, sent, sent % 8 * 16384, 9000);
			wr.opcode = sent % 3 ? SEND :
				    VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM;
			wr.remote_addr = EG_VA + IN + sent % 8 * 16384;
			wr.rkey = p.b.lkey;
			eg_post_send(&p.a, &wr);
		}
		/* A receive request for every message is posted only in every other round. */
		for (i = sent % 2; i < 2 && ready < sent; i++, ready++)
			eg_recv(&p.b, ready, IN + ready % 8 * 16384, 9000);
		eg_wire_for(p.engine, 500 * US);
		while (eg_poll(&p.b, &wc)) {
			assert_int_equal(wc.status, OK);
			assert_int_equal(wc.wr_id, got);
			assert_int_equal(wc.byte_len, 9000);
			eg_check(p.b.guest, IN + got % 8 * 16384, 9000, got, 0);
			got++;
		}
		while (eg_poll(&p.a, &wc))
			assert_int_equal(wc.status, OK);
	}
	assert_in_range(eg_count(p.b.guest, VIRTIO_RDMA_CNT_SENT_RNR), 50, 10000);
	assert_in_range(eg_count(p.a.guest, VIRTIO_RDMA_CNT_RCVD_RNR), 50, 10000);
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_RNR_EXCEEDED), 0);
}

/* SQD: requests that were begun are finished, and no more are begun. */
static void test_drain(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = 1 << 20,
	};
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(s.p.a.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = VIRTIO_IB_QPS_SQD,
	};

	eg_wire.latency = 100 * US;
	eg_wire.lose = 10;
	eg_stream_post(&s);
	eg_stream_post(&s);
	eg_wire_for(s.p.engine, 50 * US);
	assert_int_equal(eg_modify(s.p.a.guest, &req), VIRTIO_NET_OK);
	assert_int_equal(eg_query(s.p.a.guest, s.p.a.qpn).sq_draining, 1);
	eg_wire_run(s.p.engine, SECOND);
	eg_expect(&s.p.a, 0, OK);
	eg_expect_none(&s.p.a);
	assert_int_equal(eg_query(s.p.a.guest, s.p.a.qpn).sq_draining, 0);
	req.qp_state = VIRTIO_IB_QPS_RTS;
	assert_int_equal(eg_modify(s.p.a.guest, &req), VIRTIO_NET_OK);
	eg_wire_run(s.p.engine, SECOND);
	eg_expect(&s.p.a, 1, OK);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, \
						eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		T(test_full_rate_write),
		T(test_full_rate_read),
		T(test_window_write),
		T(test_window_read),
		T(test_window_of_one),
		T(test_no_window_in_memory),
		T(test_marks_write),
		T(test_marks_read),
		T(test_drops_write),
		T(test_drops_read),
		T(test_rate_write),
		T(test_rate_read),
		T(test_rate_uc),
		T(test_rate_high),
		T(test_rate_low),
		T(test_rate_in_memory),
		T(test_rate_changes),
		T(test_rate_bursts),
		T(test_rate_ud),
		T(test_cut_write),
		T(test_cut_read),
		T(test_cut_no_retry),
		T(test_cut_patient),
		T(test_short_cut),
		T(test_destroyed_under_way),
		T(test_rnr_and_loss),
		T(test_drain),
	};

	return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
