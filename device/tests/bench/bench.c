// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bench DAEMON: how fast the daemon is, without a guest's kernel in between.
 *
 * Two front-ends of this process are two guests, with the driver's side of queues in
 * both forms.  Prints JSON.  What takes time is done by one thread here and the daemon's
 * there, so that two processors are needed for figures that mean something.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>

#include "tests/bench/remote.h"
#include "tests/lib/engine_ring.h"

#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN
#define LEN		64u
#define DEPTH		64u
#define MESSAGES	50000u
#define RUNS		5u
#define PINGS		5000u
#define EVENTS		3000u
#define MANY		1024u
#define MANY_MESSAGES	200000u

static struct engine *engine;
static bool first = true;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void print(const char *name, double value)
{
	printf("%s\n  \"%s\": %.3f", first ? "{" : ",", name, value);
	fflush(stdout);
	first = false;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, unsigned int n)
{
	qsort(value, n, sizeof(*value), by_size);
	return value[n / 2];
}

/* ------------------------------------------------------------------------- */
/* One form of QPs or the other                                              */
/* ------------------------------------------------------------------------- */

/**
 * struct ends - two QPs that are connected
 * @direct:	in direct form; else NULL
 * @rfc:	with virtqueues
 */
struct ends {
	struct er_pair *direct;
	struct eg_pair rfc;
};

static void post(struct ends *e, bool back)
{
	struct er_end *from = back ? &e->direct->b : &e->direct->a;
	const struct eg_end *end = e->direct ? &from->end : back ? &e->rfc.b : &e->rfc.a;
	struct eg_wr wr = eg_send(end, 0, back ? IN : 0, LEN);

	if (e->direct)
		er_post_send(&from->qp, &wr);
	else
		eg_post_send(end, &wr);
}

static void ready(struct ends *e, bool back)
{
	if (e->direct)
		er_recv(back ? &e->direct->a : &e->direct->b, IN, LEN);
	else
		eg_recv(back ? &e->rfc.a : &e->rfc.b, 0, IN, LEN);
}

/* Completions of an end, as many as there are. */
static unsigned int take(struct ends *e, bool of_b)
{
	struct virtio_rdma_cqe cqe;
	struct eg_wc wc;
	unsigned int n = 0;

	if (e->direct) {
		while (er_poll(of_b ? &e->direct->b.cq : &e->direct->a.cq, &cqe)) {
			assert_int_equal(cqe.status, 0);
			n++;
		}
		return n;
	}
	while (eg_poll(of_b ? &e->rfc.b : &e->rfc.a, &wc)) {
		assert_int_equal(wc.status, 0);
		n++;
	}
	return n;
}

static void wait_for(struct ends *e, bool of_b, unsigned int n)
{
	while (n)
		n -= take(e, of_b);
}

static double rate_once(struct ends *e)
{
	unsigned int given = 0, posted = 0, sent = 0, received = 0;
	double begin = now();

	while (received < MESSAGES || sent < MESSAGES) {
		for (; given < MESSAGES && given - received < DEPTH / 2; given++)
			ready(e, false);
		for (; posted < MESSAGES && posted - received < DEPTH / 2 &&
		     posted - sent < DEPTH / 2; posted++)
			post(e, false);
		sent += take(e, false);
		received += take(e, true);
	}
	return MESSAGES / (now() - begin);
}

/*
 * Messages in a second, in one direction, with a window of half the queue.  The best of
 * some runs: what else the machine does only makes it slower.
 */
static double rate(struct ends *e)
{
	double best = 0, one;
	unsigned int i;

	for (i = 0; i < RUNS; i++) {
		one = rate_once(e);
		if (one > best)
			best = one;
	}
	return best;
}

/* Half of a round trip in microseconds, in the median of one run; polled. */
static double latency_once(struct ends *e)
{
	double *one = calloc(PINGS, sizeof(*one)), begin, result;
	unsigned int i;

	assert_non_null(one);
	for (i = 0; i < PINGS; i++) {
		ready(e, true);
		ready(e, false);
		begin = now();
		post(e, false);
		wait_for(e, true, 1);
		post(e, true);
		wait_for(e, true, 1);
		wait_for(e, false, 2);
		one[i] = (now() - begin) / 2 * 1e6;
	}
	result = median(one, PINGS);
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

/* Idle QPs in both guests, @n in each altogether. */
static double idle(struct er_end *end, unsigned int n, unsigned int have)
{
	static struct er_page page[EG_GUESTS];
	static struct er_qp qp[EG_GUESTS];
	unsigned int g = end->end.guest->number - 1;
	double begin = now();

	if (!page[g].guest) {
		er_page_init(&page[g], end->end.guest, 1);
		er_qp_init(&qp[g], &page[g], &end->cq, 0, RC, end->end.pdn,
			   &(struct er_shape) {});
	}
	for (; have < n; have++) {
		qp[g].direct.bit = htole32(have);
		assert_int_equal(er_create_qp(&qp[g]), VIRTIO_NET_OK);
	}
	return now() - begin;
}

/*
 * Both forms in turn, so that what else the machine does meets both.  The best run of
 * each counts.
 */
static void bench_forms(struct ends *rfc, struct ends *direct)
{
	static const char *const form[] = { "rfc", "direct" };
	struct ends *const ends[] = { rfc, direct };
	double best[2] = {}, low[2] = {}, bells[2] = {}, one;
	unsigned int i, k, kicks;
	char name[64];

	for (i = 0; i < 2 * RUNS; i++) {
		k = i % 2;
		kicks = remote_kicks(engine->guest[0].rnic);
		one = rate_once(ends[k]);
		if (one > best[k]) {
			best[k] = one;
			bells[k] = remote_kicks(engine->guest[0].rnic) - kicks;
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
	}
}

static void bench_idle(struct ends *e)
{
	static const unsigned int numbers[] = { 1, 64, 1024, 16000 };
	size_t before = remote_daemon_rss();
	unsigned int i, have = 0;
	char name[64];
	double took = 0;

	for (i = 0; i < 4; i++) {
		took += idle(&e->direct->a, numbers[i], have);
		took += idle(&e->direct->b, numbers[i], have);
		have = numbers[i];
		snprintf(name, sizeof(name), "rate_beside_%u_idle", have);
		print(name, rate(e));
	}
	print("create_us", took / have / 2 * 1e6);
	print("idle_qp_bytes", (double)(remote_daemon_rss() - before) / have / 2);
}

/* Many QPs of one process busy, each with one message after the other. */
static void bench_many(struct er_pair *p)
{
	struct er_qp *a = calloc(MANY, sizeof(*a)), *b = calloc(MANY, sizeof(*b));
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, LEN);
	struct eg_sge sge = { EG_VA + IN, LEN, p->b.end.lkey };
	const struct er_shape small = {};
	unsigned int i, sent = 0, received = 0, kicks;
	struct er_end ea = p->a, eb = p->b;
	struct virtio_rdma_cqe cqe;
	double begin;

	assert_true(a && b);
	for (i = 0; i < MANY; i++) {
		er_qp_init(&a[i], &p->a.page, &p->a.cq, 100 + i, RC, p->a.end.pdn, &small);
		er_qp_init(&b[i], &p->b.page, &p->b.cq, 100 + i, RC, p->b.end.pdn, &small);
		assert_int_equal(er_create_qp(&a[i]), VIRTIO_NET_OK);
		assert_int_equal(er_create_qp(&b[i]), VIRTIO_NET_OK);
		ea.end.qpn = a[i].qpn;
		eb.end.qpn = b[i].qpn;
		eg_connect(&ea.end, &eb.end, RC);
		er_post_recv(&b[i], &sge, 1);
	}
	kicks = p->a.page.rung;
	begin = now();
	for (i = 0; i < MANY; i++)
		er_post_send(&a[i], &wr);
	while (received < MANY_MESSAGES) {
		while (er_poll(&p->b.cq, &cqe)) {
			assert_int_equal(cqe.status, 0);
			received++;
			i = le32toh(cqe.qp_num) - b[0].qpn;
			er_post_recv(&b[i], &sge, 1);
			er_post_send(&a[i], &wr);
		}
		while (er_poll(&p->a.cq, &cqe)) {
			assert_int_equal(cqe.status, 0);
			sent++;
		}
	}
	print("rate_1024_busy", received / (now() - begin));
	print("rate_1024_busy_doorbells_per_1000", (p->a.page.rung - kicks) * 1e3 / sent);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(er_destroy_qp(&a[i]), VIRTIO_NET_OK);
		assert_int_equal(er_destroy_qp(&b[i]), VIRTIO_NET_OK);
	}
	while (er_poll(&p->a.cq, &cqe) || er_poll(&p->b.cq, &cqe))
		;
	free(a);
	free(b);
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

static void bench_events(struct er_pair *p)
{
	struct ends e = { .direct = p };
	static double one[EVENTS];
	double begin;
	unsigned int i;

	er_give_events(p->b.end.guest, 0, 32);
	for (i = 0; i < EVENTS; i++) {
		ready(&e, false);
		er_arm(&p->b.cq, VIRTIO_RDMA_ARM_NEXT);
		begin = now();
		post(&e, false);
		sleep_for_event(&p->b);
		wait_for(&e, true, 1);
		one[i] = (now() - begin) * 1e6;
		wait_for(&e, false, 1);
	}
	print("event_us", median(one, EVENTS));
}

int main(int argc, char **argv)
{
	struct ends rfc = {}, direct = {};
	void *state;

	if (argc != 2) {
		fprintf(stderr, "usage: bench DAEMON\n");
		return 2;
	}
	/* Outside of tests, cmocka tells what failed only if it may end the process. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	remote_daemon(argv[1]);
	eg_setup_direct(&state);
	engine = state;
	rfc.rfc = eg_pair_up(&state, RC);
	direct.direct = er_pair_up(&state, RC, &shape);

	bench_forms(&rfc, &direct);
	bench_events(direct.direct);
	bench_many(direct.direct);
	bench_idle(&direct);
	printf("\n}\n");
	remote_daemon_end();
	er_pair_free(direct.direct);
	return 0;
}
