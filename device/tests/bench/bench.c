// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bench DAEMON: how fast the daemon is, without a guest's kernel in between.
 *
 * Two front-ends of this process are two guests, whose queues, in both forms, are used by
 * the provider's own code.  Prints JSON.  Time is spent by one thread here and by the
 * daemon's, so that figures mean something only with two processors.
 *
 * Ends with status 1, after the figures, if one of them is worse than it may be.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "tests/bench/bare.h"
#include "tests/bench/remote.h"
#include "tests/bench/user.h"
#include "tests/lib/engine_ring.h"

#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define LEN		64u
#define DEPTH		64u
/* Short runs, of which some are not disturbed by what else the machine does. */
#define MESSAGES	2000u
#define RUNS		150u
#define PINGS		200u
#define EVENTS		3000u
#define MANY		1024u
#define MANY_MESSAGES	4096u
#define MANY_RUNS	40u
#define POLL		16
#define IDLE_ROUNDS	2u
/* Idle QPs may take this part of the rate. */
#define IDLE_COST	0.1
#define IDLE_BYTES	8192
/* Doorbells of 1000 messages of a stream. */
#define BELLS		20

static bool first = true;
static bool bad;

static void require(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench: not so: %s\n", what);
	bad = true;
}

static void print(const char *name, double value)
{
	printf("%s\n  \"%s\": %.3f", first ? "{" : ",", name, value);
	fflush(stdout);
	first = false;
}

/* ------------------------------------------------------------------------- */
/* Two ends                                                                  */
/* ------------------------------------------------------------------------- */

/**
 * struct ends - two QPs that are connected
 * @a:		requester
 * @b:		responder
 */
struct ends {
	struct user_end a;
	struct user_end b;
};

static void post(const struct user_end *from)
{
	user_send(from, from->qp, EG_VA, LEN);
}

static void ready(const struct user_end *end)
{
	user_recv(end, end->qp, EG_VA + IN, LEN);
}

/* Completions of an end, as many as there are. */
static unsigned int take(const struct user_end *end)
{
	struct ibv_wc wc[POLL];
	int n, i;

	n = ibv_poll_cq(end->cq, POLL, wc);
	assert_in_range(n, 0, POLL);
	for (i = 0; i < n; i++)
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	return n;
}

static void wait_for(const struct user_end *end, unsigned int n)
{
	while (n)
		n -= take(end);
}

static double rate_once(const struct ends *e)
{
	unsigned int given = 0, posted = 0, sent = 0, received = 0;
	double begin = bench_now();

	while (received < MESSAGES || sent < MESSAGES) {
		for (; given < MESSAGES && given - received < DEPTH / 2; given++)
			ready(&e->b);
		for (; posted < MESSAGES && posted - received < DEPTH / 2 &&
		     posted - sent < DEPTH / 2; posted++)
			post(&e->a);
		sent += take(&e->a);
		received += take(&e->b);
	}
	return MESSAGES / (bench_now() - begin);
}

/* Half of a round trip in microseconds, in the median of one run; polled. */
static double latency_once(const struct ends *e)
{
	double *one = calloc(PINGS, sizeof(*one)), begin, result;
	unsigned int i;

	assert_non_null(one);
	for (i = 0; i < PINGS; i++) {
		ready(&e->a);
		ready(&e->b);
		begin = bench_now();
		post(&e->a);
		wait_for(&e->b, 1);
		post(&e->b);
		wait_for(&e->b, 1);
		wait_for(&e->a, 2);
		one[i] = (bench_now() - begin) / 2 * 1e6;
	}
	result = bench_percentile(one, PINGS, 0.5);
	free(one);
	return result;
}

/* ------------------------------------------------------------------------- */
/* What is measured                                                          */
/* ------------------------------------------------------------------------- */

static const struct er_shape shape = {
	.send_depth = DEPTH,
	.recv_depth = 2 * DEPTH,
	.cqe = 4096,
};

/*
 * Both forms in turn, so that what else the machine does meets both.  The best run of
 * each counts.
 */
static void bench_forms(const struct ends *rfc, const struct ends *direct)
{
	static const char *const form[] = { "rfc", "direct" };
	const struct ends *const ends[] = { rfc, direct };
	double best[2] = {}, low[2] = {}, bells[2] = {}, one;
	unsigned int i, k, kicks;
	char name[64];

	for (i = 0; i < 2 * RUNS; i++) {
		k = i % 2;
		kicks = ends[k]->a.user->rung + ends[k]->b.user->rung;
		one = rate_once(ends[k]);
		if (one > best[k]) {
			best[k] = one;
			bells[k] = ends[k]->a.user->rung + ends[k]->b.user->rung - kicks;
		}
		one = latency_once(ends[k]);
		if (!low[k] || one < low[k])
			low[k] = one;
	}
	for (k = 0; k < 2; k++) {
		snprintf(name, sizeof(name), "rate_%s", form[k]);
		print(name, best[k]);
		snprintf(name, sizeof(name), "rate_%s_doorbells_per_1000", form[k]);
		print(name, bells[k] * 1e3 / MESSAGES);
		snprintf(name, sizeof(name), "latency_%s_us", form[k]);
		print(name, low[k]);
		require(bells[k] * 1e3 / MESSAGES <= BELLS, "a stream rings seldom");
	}
	require(best[1] > best[0], "direct QPs have the better rate");
	require(low[1] < low[0], "direct QPs have the better latency");
}

/* ------------------------------------------------------------------------- */
/* Beside what the machine can do                                            */
/* ------------------------------------------------------------------------- */

#define SMALL		8u
#define LARGE_BYTES	(256u << 20)
#define SAMPLES		20000u

/* Requests of one kind that are under way, DEPTH / 2 of them; messages in a second. */
static double rdma_once(const struct ends *e, enum ibv_wr_opcode opcode, uint32_t len,
			unsigned int messages)
{
	unsigned int posted = 0, done = 0;
	double begin = bench_now();

	while (done < messages) {
		for (; posted < messages && posted - done < DEPTH / 2; posted++)
			user_rdma(&e->a, opcode, EG_VA, len, EG_VA + IN, e->b.lkey);
		done += take(&e->a);
	}
	return messages / (bench_now() - begin);
}

static double rdma_best(const struct ends *e, enum ibv_wr_opcode opcode, uint32_t len,
			unsigned int messages, unsigned int runs)
{
	double best = 0, one;

	while (runs--) {
		one = rdma_once(e, opcode, len, messages);
		if (one > best)
			best = one;
	}
	return best;
}

/* Copies by the daemon, and by memcpy() between the same places. */
static void bench_copies(const struct er_pair *p, const struct ends *e)
{
	static const uint32_t sizes[] = { 4096, 65536, 1u << 20 };
	void *from = eg_ptr(p->a.end.guest, EG_DATA), *to = eg_ptr(p->b.end.guest, EG_DATA + IN);
	double bare, ours;
	char name[64];
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		bare = bare_copy(to, from, sizes[i]);
		ours = rdma_best(e, IBV_WR_RDMA_WRITE, sizes[i],
				 LARGE_BYTES / sizes[i] / 8, 8) * sizes[i];
		snprintf(name, sizeof(name), "bare_copy_%u_gbytes", sizes[i]);
		print(name, bare / 1e9);
		snprintf(name, sizeof(name), "write_%u_gbytes", sizes[i]);
		print(name, ours / 1e9);
	}
}

static void bench_rates(const struct ends *e)
{
	print("rate_write_8", rdma_best(e, IBV_WR_RDMA_WRITE, SMALL, MESSAGES, RUNS));
	print("rate_read_8", rdma_best(e, IBV_WR_RDMA_READ, SMALL, MESSAGES, RUNS));
}

/* How one-way latencies are spread, polled, by size: half of a round trip. */
static void bench_latency(const struct ends *e)
{
	static const uint32_t sizes[] = { 8, 512, 4096, 65536 };
	static double one[SAMPLES];
	char name[64];
	unsigned int i, k;
	double begin;

	for (k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		for (i = 0; i < SAMPLES; i++) {
			user_recv(&e->a, e->a.qp, EG_VA + IN, sizes[k]);
			user_recv(&e->b, e->b.qp, EG_VA + IN, sizes[k]);
			begin = bench_now();
			user_send(&e->a, e->a.qp, EG_VA, sizes[k]);
			wait_for(&e->b, 1);
			user_send(&e->b, e->b.qp, EG_VA, sizes[k]);
			wait_for(&e->b, 1);
			wait_for(&e->a, 2);
			one[i] = (bench_now() - begin) / 2 * 1e6;
		}
		snprintf(name, sizeof(name), "latency_%u_p50_us", sizes[k]);
		print(name, bench_percentile(one, SAMPLES, 0.5));
		snprintf(name, sizeof(name), "latency_%u_p99_us", sizes[k]);
		print(name, bench_percentile(one, SAMPLES, 0.99));
		snprintf(name, sizeof(name), "latency_%u_p999_us", sizes[k]);
		print(name, bench_percentile(one, SAMPLES, 0.999));
	}
}

/**
 * struct idle - idle QPs of a guest; all have the same memory
 * @page:	doorbell page
 * @qp:		the last one
 * @qpn:	numbers
 */
struct idle {
	struct er_page page;
	struct er_qp qp;
	uint32_t qpn[VIRTIO_NET_ROCE_MAX_OBJECTS];
};

static void idle_init(struct idle *idle, struct er_end *end)
{
	er_page_init(&idle->page, end->end.guest, 1);
	er_qp_init(&idle->qp, &idle->page, &end->cq, 0, RC, end->end.pdn,
		   &(struct er_shape) {});
}

static double idle_create(struct idle *idle, unsigned int from, unsigned int to)
{
	double begin = bench_now();
	unsigned int i;

	for (i = from; i < to; i++) {
		idle->qp.direct.bit = htole32(i);
		assert_int_equal(er_create_qp(&idle->qp), VIRTIO_NET_OK);
		idle->qpn[i] = idle->qp.qpn;
	}
	return bench_now() - begin;
}

static double idle_destroy(struct idle *idle, unsigned int n)
{
	double begin = bench_now();

	while (n--) {
		idle->qp.qpn = idle->qpn[n];
		assert_int_equal(er_destroy_qp(&idle->qp), VIRTIO_NET_OK);
	}
	return bench_now() - begin;
}

static double idle_connect(struct er_pair *p, struct idle *a, struct idle *b,
			   unsigned int from, unsigned int to)
{
	struct eg_end ea = p->a.end, eb = p->b.end;
	double begin = bench_now();
	unsigned int i;

	for (i = from; i < to; i++) {
		ea.qpn = a->qpn[i];
		eb.qpn = b->qpn[i];
		eg_connect(&ea, &eb, RC);
	}
	return bench_now() - begin;
}

/* The rate beside idle QPs that are connected. */
static void bench_idle(struct er_pair *p, const struct ends *e)
{
	/* One is in use; those with virtqueues count, too. */
	static const unsigned int numbers[] = {
		1, 64, 1024, VIRTIO_NET_ROCE_MAX_OBJECTS - EG_QPS - 1,
	};
	static struct idle a, b;
	double best[4] = {}, created = 0, connected = 0, destroyed = 0, one;
	const size_t before = remote_daemon_rss();
	size_t full = 0;
	unsigned int i, k, r, have;
	char name[64];

	idle_init(&a, &p->a);
	idle_init(&b, &p->b);
	for (r = 0; r < IDLE_ROUNDS; r++) {
		for (i = 0, have = 0; i < 4; have = numbers[i++]) {
			created += idle_create(&a, have, numbers[i]);
			created += idle_create(&b, have, numbers[i]);
			connected += idle_connect(p, &a, &b, have, numbers[i]);
			for (k = 0; k < RUNS; k++) {
				one = rate_once(e);
				if (one > best[i])
					best[i] = one;
			}
		}
		if (!full)
			full = remote_daemon_rss();
		destroyed += idle_destroy(&a, have);
		destroyed += idle_destroy(&b, have);
	}
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "rate_beside_%u_idle", numbers[i]);
		print(name, best[i]);
	}
	print("create_us", created / have / 2 / IDLE_ROUNDS * 1e6);
	print("connect_us", connected / have / 2 / IDLE_ROUNDS * 1e6);
	print("destroy_us", destroyed / have / 2 / IDLE_ROUNDS * 1e6);
	print("idle_qp_bytes", (double)(full - before) / have / 2);
	require(best[3] >= best[0] * (1 - IDLE_COST), "idle QPs do not slow a busy one down");
	require((double)(full - before) / have / 2 <= IDLE_BYTES, "idle QPs are small");
}

static double latency_best(const struct ends *e)
{
	double best = latency_once(e), one;
	unsigned int i;

	for (i = 1; i < RUNS; i++) {
		one = latency_once(e);
		if (one < best)
			best = one;
	}
	return best;
}

/* Guests that do nothing cost those with work nothing. */
static void bench_guests(const struct ends *e)
{
	const double rate = rdma_best(e, IBV_WR_RDMA_WRITE, SMALL, MESSAGES, RUNS);
	const double latency = latency_best(e);
	double rate_beside, latency_beside;

	remote_guests();
	rate_beside = rdma_best(e, IBV_WR_RDMA_WRITE, SMALL, MESSAGES, RUNS);
	latency_beside = latency_best(e);
	print("rate_write_8_beside_62_guests", rate_beside);
	print("latency_beside_62_guests_us", latency_beside);
	require(rate_beside >= rate * (1 - IDLE_COST), "idle guests do not slow a busy one down");
	require(latency_beside <= latency * (1 + IDLE_COST),
		"idle guests do not delay others' messages");
}

/* Many QPs of one process busy, each with one message after the other. */
static void bench_many(struct er_pair *p, const struct ends *e)
{
	struct er_qp *a = calloc(MANY, sizeof(*a)), *b = calloc(MANY, sizeof(*b));
	struct ibv_qp **ua = calloc(MANY, sizeof(*ua)), **ub = calloc(MANY, sizeof(*ub));
	unsigned int i, r, sent = 0, received, kicks = e->a.user->rung;
	struct er_end ea = p->a, eb = p->b;
	const struct er_shape small = {};
	struct ibv_wc wc[POLL];
	double begin, one, best = 0;
	int n;

	assert_true(a && b && ua && ub);
	for (i = 0; i < MANY; i++) {
		er_qp_init(&a[i], &p->a.page, &p->a.cq, 100 + i, RC, p->a.end.pdn, &small);
		er_qp_init(&b[i], &p->b.page, &p->b.cq, 100 + i, RC, p->b.end.pdn, &small);
		assert_int_equal(er_create_qp(&a[i]), VIRTIO_NET_OK);
		assert_int_equal(er_create_qp(&b[i]), VIRTIO_NET_OK);
		ea.end.qpn = a[i].qpn;
		eb.end.qpn = b[i].qpn;
		eg_connect(&ea.end, &eb.end, RC);
		ua[i] = user_qp_direct(&e->a, &a[i]);
		ub[i] = user_qp_direct(&e->b, &b[i]);
		user_recv(&e->b, ub[i], EG_VA + IN, LEN);
	}
	for (i = 0; i < MANY; i++)
		user_send(&e->a, ua[i], EG_VA, LEN);
	for (r = 0; r < MANY_RUNS; r++) {
		begin = bench_now();
		for (received = 0; received < MANY_MESSAGES;) {
			n = ibv_poll_cq(e->b.cq, POLL, wc);
			received += n;
			while (n-- > 0) {
				assert_int_equal(wc[n].status, IBV_WC_SUCCESS);
				i = wc[n].qp_num - b[0].qpn;
				user_recv(&e->b, ub[i], EG_VA + IN, LEN);
				user_send(&e->a, ua[i], EG_VA, LEN);
			}
			sent += take(&e->a);
		}
		one = received / (bench_now() - begin);
		if (one > best)
			best = one;
	}
	print("rate_1024_busy", best);
	print("rate_1024_busy_doorbells_per_1000", (e->a.user->rung - kicks) * 1e3 / sent);
	for (i = 0; i < MANY; i++) {
		user_qp_free(ua[i]);
		user_qp_free(ub[i]);
		assert_int_equal(er_destroy_qp(&a[i]), VIRTIO_NET_OK);
		assert_int_equal(er_destroy_qp(&b[i]), VIRTIO_NET_OK);
	}
	while (take(&e->a) || take(&e->b))
		;
	free(a);
	free(b);
	free(ua);
	free(ub);
}

/* Waits for an event of b's CQ, as a program does that sleeps. */
static void sleep_for_event(struct er_end *end)
{
	struct eg_guest *guest = end->end.guest;
	struct pollfd call = {
		.fd = remote_call(guest->rnic, RNIC_EVENT, 0),
		.events = POLLIN,
	};
	struct virtio_rdma_event event;
	eventfd_t value;

	/* The daemon has made the descriptor one that does not block. */
	while (!er_take_event(guest, 0, &event)) {
		assert_int_equal(poll(&call, 1, 10000), 1);
		eventfd_read(call.fd, &value);
	}
	er_give_events(guest, 0, 1);
}

static void bench_events(struct er_pair *p, const struct ends *e)
{
	static double one[EVENTS];
	double begin;
	unsigned int i;

	er_give_events(p->b.end.guest, 0, 32);
	for (i = 0; i < EVENTS; i++) {
		ready(&e->b);
		assert_int_equal(ibv_req_notify_cq(e->b.cq, 0), 0);
		begin = bench_now();
		post(&e->a);
		sleep_for_event(&p->b);
		wait_for(&e->b, 1);
		one[i] = (bench_now() - begin) * 1e6;
		wait_for(&e->a, 1);
	}
	print("event_us", bench_percentile(one, EVENTS, 0.5));
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

#define RAW		VIRTIO_IB_QPT_RAW_PACKET
#define HEADER		14u

/* The frame that an end sends: from address @from to address @to, both of this program. */
static void raw_frame(const struct er_end *end, uint8_t from, uint8_t to)
{
	uint8_t *frame = eg_ptr(end->end.guest, EG_DATA);

	memset(frame, 0, HEADER);
	frame[0] = 2;
	frame[5] = to;
	frame[6] = 2;
	frame[11] = from;
	frame[12] = 0x88;
	frame[13] = 0xb5;
}

/* From now on the QP gets the frames for address @to. */
static void raw_rule(const struct er_end *end, uint8_t to)
{
	struct virtio_rdma_cmd_create_flow req = {
		.qpn = htole32(end->qp.qpn),
		.value.dst_mac = { 2, 0, 0, 0, 0, to },
	};
	struct virtio_rdma_ack_create_flow ack;

	memset(req.mask.dst_mac, 0xff, sizeof(req.mask.dst_mac));
	assert_int_equal(eg_command(end->end.guest, VIRTIO_NET_CTRL_ROCE_CREATE_FLOW, &req,
				    sizeof(req), &ack, sizeof(ack)), VIRTIO_NET_OK);
}

/**
 * struct raw_way - frames of one end to the other
 * @from:	sender
 * @to:		receiver
 * @given:	receive requests
 * @posted:	send requests
 * @left:	of those, the ones that have completed
 * @came:	frames
 */
struct raw_way {
	const struct user_end *from;
	const struct user_end *to;
	unsigned int given;
	unsigned int posted;
	unsigned int left;
	unsigned int came;
};

static void raw_post(struct raw_way *way, uint32_t len)
{
	for (; way->given < MESSAGES && way->given - way->came < DEPTH; way->given++)
		user_recv(way->to, way->to->qp, EG_VA + IN, 2048);
	for (; way->posted < MESSAGES && way->posted - way->came < DEPTH / 2 &&
	     way->posted - way->left < DEPTH / 2; way->posted++)
		user_send(way->from, way->from->qp, EG_VA, len);
}

/* An end has two kinds of completions: of frames that @out has sent, and that came by @in. */
static void raw_take(const struct user_end *end, struct raw_way *out, struct raw_way *in,
		     uint32_t len)
{
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(end->cq, POLL, wc);

	assert_in_range(n, 0, POLL);
	while (n-- > 0) {
		assert_int_equal(wc[n].status, IBV_WC_SUCCESS);
		if (wc[n].opcode & IBV_WC_RECV) {
			assert_int_equal(wc[n].byte_len, len);
			in->came++;
		} else {
			out->left++;
		}
	}
}

/* Frames of both ways at once; those of each in a second. */
static double raw_once(const struct ends *e, uint32_t len)
{
	struct raw_way there = { .from = &e->a, .to = &e->b };
	struct raw_way back = { .from = &e->b, .to = &e->a };
	double begin = bench_now();

	while (there.came < MESSAGES || there.left < MESSAGES || back.came < MESSAGES ||
	       back.left < MESSAGES) {
		raw_post(&there, len);
		raw_post(&back, len);
		raw_take(&e->a, &there, &back, len);
		raw_take(&e->b, &back, &there, len);
	}
	return MESSAGES / (bench_now() - begin);
}

static void bench_raw(void **state)
{
	static const uint32_t sizes[] = { 64, 1500 };
	struct er_pair *p = er_pair_up(state, RAW, &shape);
	struct ends e;
	double best, one;
	unsigned int i, k;
	char name[64];

	user_end_raw(&e.a, &p->a);
	user_end_raw(&e.b, &p->b);
	raw_frame(&p->a, 1, 2);
	raw_frame(&p->b, 2, 1);
	raw_rule(&p->a, 1);
	raw_rule(&p->b, 2);
	for (k = 0; k < 2; k++) {
		for (i = 0, best = 0; i < RUNS; i++) {
			one = raw_once(&e, sizes[k]);
			if (one > best)
				best = one;
		}
		snprintf(name, sizeof(name), "rate_raw_%u", sizes[k]);
		print(name, best);
	}
	er_pair_free(p);
}

int main(int argc, char **argv)
{
	struct ends rfc, direct;
	struct eg_pair virtqueues;
	struct er_pair *rings;
	void *state;

	if (argc != 2) {
		fprintf(stderr, "usage: bench DAEMON\n");
		return 2;
	}
	/* Outside of tests, cmocka tells what failed only if it may end the process. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	remote_daemon(argv[1]);
	eg_setup_direct(&state);

	virtqueues = eg_pair_up(&state, RC);
	user_end_rfc(&rfc.a, &virtqueues.a);
	user_end_rfc(&rfc.b, &virtqueues.b);
	rings = er_pair_up(&state, RC, &shape);
	user_end_direct(&direct.a, &rings->a);
	user_end_direct(&direct.b, &rings->b);

	print("bare_line_us", bare_line_us());
	print("bare_wakes_us", bare_wakes_us());
	bench_forms(&rfc, &direct);
	bench_rates(&direct);
	bench_copies(rings, &direct);
	bench_latency(&direct);
	bench_events(rings, &direct);
	bench_many(rings, &direct);
	bench_idle(rings, &direct);
	bench_raw(&state);
	bench_guests(&direct);
	printf("\n}\n");
	remote_daemon_end();
	er_pair_free(rings);
	return bad ? 1 : 0;
}
