// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/loop.h"
#include "base/util.h"

#define US	1000ULL
#define MS	1000000ULL

static struct loop *loop;

/*
 * The tests have a clock of their own.  It advances by a microsecond whenever the
 * loop reads it, and by the time that the loop would sleep.
 */
static uint64_t now = 1000000000;

/* By so much the next sleep is too long. */
static uint64_t oversleep;

/* How often the loop looked for events. */
static unsigned int looks;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	now += US;
	ts->tv_sec = now / 1000000000ULL;
	ts->tv_nsec = now % 1000000000ULL;
	return 0;
}

int epoll_pwait2(int epfd, struct epoll_event *events, int max,
		 const struct timespec *timeout, const sigset_t *set)
{
	int n = epoll_pwait(epfd, events, max, 0, set);

	looks++;
	/* No test waits for ever. */
	if (!timeout)
		abort();
	if (!n)
		now += timeout->tv_sec * 1000000000ULL + timeout->tv_nsec;
	if (!n && (timeout->tv_sec || timeout->tv_nsec)) {
		now += oversleep;
		oversleep = 0;
	}
	return n;
}

static void stop(void *arg)
{
	loop_stop(loop);
}

/* A loop that cannot hang: it is stopped after a minute at the latest. */
static struct loop_timer watchdog = { .fn = stop };

static int setup_us(unsigned int poll_us)
{
	loop = loop_new(poll_us);
	if (!loop)
		return -1;
	watchdog.due = 0;
	loop_timer_set(loop, &watchdog, 60000 * MS);
	return 0;
}

static int setup(void **state)
{
	return setup_us(100);
}

static int teardown(void **state)
{
	loop_free(loop);
	return 0;
}

/* ------------------------------------------------------------------------- */

static char trace[64];

static void note(void *arg)
{
	strcat(trace, arg);
}

static void test_timers_in_order(void **state)
{
	struct loop_timer t[] = {
		{ .fn = note, .arg = (void *)"c" },
		{ .fn = note, .arg = (void *)"a" },
		{ .fn = stop },
		{ .fn = note, .arg = (void *)"b" },
		{ .fn = note, .arg = (void *)"x" },
		{ .fn = note, .arg = (void *)"y" },
	};
	uint64_t start = now;

	trace[0] = 0;
	loop_timer_set(loop, &t[0], 3 * MS);
	loop_timer_set(loop, &t[1], 1 * MS);
	loop_timer_set(loop, &t[2], 4 * MS);
	loop_timer_set(loop, &t[3], 2 * MS);
	loop_timer_set(loop, &t[4], 500 * US);
	loop_timer_set(loop, &t[5], 600 * MS);
	loop_timer_cancel(loop, &t[4]);
	loop_timer_cancel(loop, &t[4]);
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(trace, "abc");
	assert_in_range(now - start, 4 * MS, 5 * MS);
	assert_int_equal(t[1].due, 0);
	assert_int_not_equal(t[5].due, 0);
}

/* Many timers are set, set again and cancelled; a plain model says what is due. */
#define MANY	500
static uint64_t last_due;
static unsigned int fired;
static struct loop_timer many[MANY];
static uint64_t many_due[MANY];

static void many_fire(void *arg)
{
	unsigned int i = (struct loop_timer *)arg - many;

	assert_true(many_due[i] >= last_due);
	last_due = many_due[i];
	fired++;
}

static void test_many_timers(void **state)
{
	struct loop_timer end = { .fn = stop };
	unsigned int i, expected = 0;

	srand(1);
	fired = 0;
	last_due = 0;
	for (i = 0; i < MANY; i++) {
		many[i] = (struct loop_timer){
			.fn = many_fire,
			.arg = &many[i],
		};
		loop_timer_set(loop, &many[i], 1 + rand() % (5 * MS));
	}
	for (i = 0; i < MANY; i += 3)
		loop_timer_set(loop, &many[i], 1 + rand() % (5 * MS));
	for (i = 0; i < MANY; i += 7)
		loop_timer_cancel(loop, &many[i]);
	for (i = 0; i < MANY; i++) {
		many_due[i] = many[i].due;
		expected += many[i].due != 0;
	}
	loop_timer_set(loop, &end, 10 * MS);
	loop_run(loop);
	assert_int_equal(fired, expected);
	assert_int_equal(expected, MANY - (MANY + 6) / 7);
}

static void test_timer_cancels_other(void **state)
{
	struct loop_timer t[] = {
		{ .fn = stop },
		{ .fn = note, .arg = (void *)"never" },
	};

	trace[0] = 0;
	loop_timer_set(loop, &t[0], MS);
	loop_timer_set(loop, &t[1], MS);
	loop_timer_cancel(loop, &t[0]);
	loop_timer_cancel(loop, &t[1]);
	loop_timer_set(loop, &t[0], 2 * MS);
	loop_run(loop);
	assert_string_equal(trace, "");
}

/* ------------------------------------------------------------------------- */

static struct loop_fd ev[2];
static unsigned int ev_calls[2];

static void ev_fn(void *arg, uint32_t events)
{
	unsigned int i = (struct loop_fd *)arg - ev;
	uint64_t count;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(ev[i].fd, &count, sizeof(count)), sizeof(count));
	ev_calls[i]++;
}

static void ev_open(void (*fn)(void *, uint32_t))
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ev_calls[i] = 0;
		ev[i].fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		ev[i].fn = fn;
		ev[i].arg = &ev[i];
		assert_int_equal(loop_fd_add(loop, &ev[i], EPOLLIN), 0);
	}
}

static void ev_close(void)
{
	close(ev[0].fd);
	close(ev[1].fd);
}

static void ev_ring(unsigned int i)
{
	assert_int_equal(eventfd_write(ev[i].fd, 1), 0);
}

static void test_fd(void **state)
{
	struct loop_timer end = { .fn = stop };

	ev_open(ev_fn);
	ev_ring(1);
	loop_timer_set(loop, &end, 2 * MS);
	loop_run(loop);
	assert_int_equal(ev_calls[0], 0);
	assert_int_equal(ev_calls[1], 1);
	ev_close();
}

static void ev_del_other(void *arg, uint32_t events)
{
	unsigned int i = (struct loop_fd *)arg - ev;

	ev_fn(arg, events);
	loop_fd_del(loop, &ev[!i]);
	loop_stop(loop);
}

/* Both are ready in the same round; the one that is called first removes the other. */
static void test_fd_del_while_pending(void **state)
{
	ev_open(ev_del_other);
	ev_ring(0);
	ev_ring(1);
	loop_run(loop);
	assert_int_equal(ev_calls[0] + ev_calls[1], 1);
	ev_close();
}

static void test_fd_bad(void **state)
{
	struct loop_fd file = { .fd = open("/proc/self/exe", O_RDONLY) };
	struct loop_fd none = { .fd = -1 };

	assert_int_equal(loop_fd_add(loop, &none, EPOLLIN), -EBADF);
	assert_int_equal(loop_fd_add(loop, &file, EPOLLIN), -EPERM);
	close(file.fd);
}

/* ------------------------------------------------------------------------- */

/**
 * struct worker - a poller of the test's
 * @poller:	poller
 * @work:	rounds of work that it still has
 * @late:	rounds of work that turn up when it asks for doorbells
 * @polls:	calls of poll
 * @sleeps:	calls of sleep
 * @wakes:	calls of wake
 * @awake:	what was called last
 * @stall:	how long it loses the CPU when it is polled next, ns
 * @cost:	what each poll takes, ns
 * @rings:	it rings its own event when polled
 * @cancels:	timer that it cancels with its last work
 * @leaver:	workers that it removes when polled, or NULL
 * @caller:	a worker that it wakes when polled, to which it gives @gives, or NULL
 * @gives:	see @caller
 */
struct worker {
	struct loop_poller poller;
	unsigned int work;
	unsigned int late;
	unsigned int polls;
	unsigned int sleeps;
	unsigned int wakes;
	bool awake;
	uint64_t stall;
	uint64_t cost;
	bool rings;
	struct loop_timer *cancels;
	struct worker *leaver[2];
	struct worker *caller;
	unsigned int gives;
};

static bool worker_poll(void *arg)
{
	struct worker *worker = arg;
	unsigned int i;

	now += worker->stall + worker->cost;
	worker->stall = 0;
	if (worker->rings)
		ev_ring(0);
	worker->rings = false;
	assert_true(worker->awake);
	worker->polls++;
	for (i = 0; i < 2; i++) {
		if (worker->leaver[i])
			loop_poller_del(loop, &worker->leaver[i]->poller);
		worker->leaver[i] = NULL;
	}
	if (worker->caller) {
		worker->caller->work = worker->gives;
		loop_poller_wake(loop, &worker->caller->poller);
		worker->caller = NULL;
	}
	if (!worker->work)
		return false;
	if (!--worker->work && worker->cancels)
		loop_timer_cancel(loop, worker->cancels);
	return true;
}

static bool worker_sleep(void *arg)
{
	struct worker *worker = arg;

	worker->sleeps++;
	worker->awake = false;
	if (!worker->late)
		return false;
	worker->work = worker->late;
	worker->late = 0;
	return true;
}

static void worker_wake(void *arg)
{
	struct worker *worker = arg;

	worker->wakes++;
	worker->awake = true;
}

static void worker_add_as(struct worker *worker, bool (*may_sleep)(void *arg))
{
	worker->poller = (struct loop_poller){
		.poll = worker_poll,
		.sleep = worker_sleep,
		.wake = worker_wake,
		.may_sleep = may_sleep,
		.arg = worker,
	};
	loop_poller_add(loop, &worker->poller);
}

static void worker_add(struct worker *worker)
{
	worker_add_as(worker, NULL);
}

/* Runs the loop for @ns with one event at the beginning. */
static void run_after_event(uint64_t ns)
{
	struct loop_timer end = { .fn = stop };

	ev_open(ev_fn);
	ev_ring(0);
	loop_timer_set(loop, &end, ns);
	loop_run(loop);
	ev_close();
}

static void test_poller_without_event(void **state)
{
	struct worker worker = { .work = 3 };
	struct loop_timer end = { .fn = stop };

	worker_add(&worker);
	loop_timer_set(loop, &end, 2 * MS);
	loop_run(loop);
	/* Only the timer at the end woke it. */
	assert_in_range(worker.wakes, 0, 1);
	assert_in_range(worker.polls, 0, 1);
}

/* Work is found for which no event comes, and the poller asks for doorbells again. */
static void test_poller_is_roused(void **state)
{
	struct worker worker = { .work = 3 };
	struct loop_timer end = { .fn = stop };

	worker_add(&worker);
	loop_rouse(loop);
	assert_int_equal(worker.wakes, 1);
	loop_rouse(loop);
	assert_int_equal(worker.wakes, 1);
	loop_timer_set(loop, &end, 2 * MS);
	loop_run(loop);
	assert_int_equal(worker.work, 0);
	assert_int_not_equal(worker.sleeps, 0);
	loop_poller_del(loop, &worker.poller);
}

static void test_poller_works_then_sleeps(void **state)
{
	struct worker worker = { .work = 100 };

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_int_equal(worker.work, 0);
	assert_true(worker.polls > 101);
	/* The second sleep is after the timer that ends the run. */
	assert_int_equal(worker.sleeps, 2);
	assert_int_equal(ev_calls[0], 1);
}

static void test_poller_late_work(void **state)
{
	struct worker worker = { .work = 1, .late = 4 };

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_int_equal(worker.work, 0);
	assert_int_equal(worker.late, 0);
	assert_int_equal(worker.sleeps, 3);
}

static int setup_no_window(void **state)
{
	return setup_us(0);
}

static void test_poll_window_of_zero(void **state)
{
	struct worker worker = { .work = 5 };

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_int_equal(worker.work, 0);
	/*
	 * The event, five rounds of work and two without; one for the timer that
	 * ends the run.
	 */
	assert_in_range(worker.polls, 6, 9);
	assert_int_equal(worker.sleeps, 2);
}

static int setup_long_window(void **state)
{
	return setup_us(200000);
}

static void test_poll_window_is_kept(void **state)
{
	struct worker worker = { .work = 1 };

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_int_equal(worker.sleeps, 0);
	assert_true(worker.polls > 10);
	loop_poller_del(loop, &worker.poller);
}

/* An event a @gap after the last one; returns the polls that followed it. */
static unsigned int polls_after(struct worker *worker, uint64_t gap)
{
	struct loop_timer end = { .fn = stop };
	unsigned int polls;

	loop_timer_set(loop, &end, gap);
	loop_run(loop);
	polls = worker->polls;
	run_after_event(20 * MS);
	return worker->polls - polls;
}

/* The loop keeps polling for work that comes often, not for work that is rare. */
static void test_poll_window_adapts(void **state)
{
	struct worker worker = { 0 };

	worker_add(&worker);
	assert_true(polls_after(&worker, 0) > 10);
	/* That was within 200 ms. */
	assert_true(polls_after(&worker, 0) > 10);
	assert_in_range(polls_after(&worker, 300 * MS), 1, 4);
	/* Now it grows again. */
	assert_true(polls_after(&worker, 0) > 10);
	loop_poller_del(loop, &worker.poller);
}

/* The loop does not poll for work while other programs need the CPU. */
static void test_poll_window_closes_if_preempted(void **state)
{
	struct worker worker = { .stall = 2 * MS };
	unsigned int i;

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_in_range(worker.polls, 1, 5);
	for (i = 0; i < 5; i++)
		assert_in_range(polls_after(&worker, MS), 1, 4);
	/* After a while the loop tries again. */
	polls_after(&worker, 10000 * MS);
	polls_after(&worker, 50 * MS);
	assert_true(polls_after(&worker, 50 * MS) > 10);
	loop_poller_del(loop, &worker.poller);
}

static void test_poller_leaves(void **state)
{
	struct worker a = { .work = 3 }, b = { 0 }, c = { .work = 3 };

	b.leaver[0] = &b;
	worker_add(&a);
	worker_add(&b);
	worker_add(&c);
	run_after_event(20 * MS);
	assert_int_equal(b.polls, 1);
	assert_int_equal(b.sleeps, 0);
	assert_int_equal(a.work, 0);
	assert_int_equal(c.work, 0);
}

/* One neighbour was polled before it is removed, the other was to be next. */
static void test_poller_removes_neighbours(void **state)
{
	struct worker a = { 0 }, b = { 0 }, c = { 0 };

	worker_add(&a);
	worker_add(&b);
	worker_add(&c);
	b.leaver[0] = &a;
	b.leaver[1] = &c;
	run_after_event(2 * MS);
	assert_int_equal(a.polls + c.polls, 1);
	assert_true(b.polls > 1);
}

static struct loop_timer again;
static unsigned int agains;

static void again_fn(void *arg)
{
	if (++agains == 5)
		loop_stop(loop);
	else
		loop_timer_set(loop, &again, 0);
}

/* Such a timer runs once a round: pollers get their turn between. */
static void test_timer_sets_itself(void **state)
{
	struct worker worker = { 0 };

	worker_add(&worker);
	agains = 0;
	again = (struct loop_timer){ .fn = again_fn };
	loop_timer_set(loop, &again, 0);
	loop_run(loop);
	assert_int_equal(agains, 5);
	assert_true(worker.polls >= 5);
}

/* Events are seen although a poller always has work. */
static void test_busy_poller_starves_nobody(void **state)
{
	struct worker worker = { .work = UINT32_MAX };

	worker_add(&worker);
	run_after_event(20 * MS);
	assert_int_equal(ev_calls[0], 1);
	assert_true(worker.polls > 100);
}

static void ev_stop(void *arg, uint32_t events)
{
	ev_fn(arg, events);
	if ((struct loop_fd *)arg == &ev[0] && ev_calls[0] == 2)
		loop_stop(loop);
}

/* However long a round takes, events do not wait for many of them. */
static void test_slow_poller_starves_nobody(void **state)
{
	struct worker slow = { .work = UINT32_MAX, .cost = MS };
	struct worker ringer = { .work = UINT32_MAX, .rings = true };

	worker_add(&slow);
	worker_add(&ringer);
	ev_open(ev_stop);
	ev_ring(0);
	/* The second time it rings itself, in the middle of the first round. */
	loop_run(loop);
	ev_close();
	assert_in_range(slow.polls, 1, 2);
	loop_poller_del(loop, &slow.poller);
	loop_poller_del(loop, &ringer.poller);
}

static struct worker *ev_watched;
static unsigned int ev_polls;

static void ev_between(void *arg, uint32_t events)
{
	ev_stop(arg, events);
	ev_polls = ev_watched->polls;
}

/* They do not wait for the end of a round either, if a poller takes its time. */
static void test_events_between_pollers(void **state)
{
	struct worker last = { .work = UINT32_MAX };
	struct worker first = { .work = UINT32_MAX, .cost = MS, .rings = true };

	worker_add(&last);
	worker_add(&first);
	ev_watched = &last;
	ev_open(ev_between);
	ev_ring(0);
	/* The second event is the one that the first poller rings. */
	loop_run(loop);
	ev_close();
	assert_int_equal(first.polls, 1);
	assert_int_equal(ev_polls, 0);
	loop_poller_del(loop, &first.poller);
	loop_poller_del(loop, &last.poller);
}

static uint64_t rung, waited;

static void ring_now(void *arg)
{
	rung = now;
	ev_ring(0);
}

static void ev_waited(void *arg, uint32_t events)
{
	ev_fn(arg, events);
	waited = now - rung;
	loop_stop(loop);
}

/* How long an event waits that comes @ns after the one before. */
static uint64_t wait_of_event(uint64_t ns)
{
	struct loop_timer ring = { .fn = ring_now };

	waited = UINT64_MAX;
	loop_timer_set(loop, &ring, ns);
	loop_run(loop);
	return waited;
}

/*
 * While there is work the loop looks for events often if there are any, and seldom if there
 * are none.
 */
static void test_looks_become_rare(void **state)
{
	struct worker busy = { .work = UINT32_MAX, .cost = 5 * US };
	unsigned int i;

	worker_add(&busy);
	ev_open(ev_waited);
	for (i = 0; i < 20; i++)
		assert_in_range(wait_of_event(40 * US), 0, 30 * US);
	assert_in_range(wait_of_event(MS), 0, MS / 4 + 20 * US);
	assert_in_range(wait_of_event(40 * US), 0, 30 * US);
	looks = 0;
	assert_in_range(wait_of_event(100 * MS), 0, 340 * US);
	assert_in_range(looks, 1, 100000 / 256 + 20);
	for (i = 0; i < 20; i++)
		assert_in_range(wait_of_event(40 * US), 0, 30 * US);
	ev_close();
	loop_poller_del(loop, &busy.poller);
}

static uint64_t wait_from, wait_to;

static void wait_end(void *arg)
{
	wait_to = now;
	loop_stop(loop);
}

static struct loop_timer wait_short = { .fn = wait_end };

static void wait_begin(void *arg)
{
	now += MS / 2;
	wait_from = now;
	loop_timer_at_least(loop, &wait_short, 100 * US);
}

/* A short wait is not over because the round in which it began was long. */
static void test_waits_are_not_short(void **state)
{
	struct loop_timer begin = { .fn = wait_begin };
	struct worker busy = { .work = UINT32_MAX };

	worker_add(&busy);
	loop_timer_set(loop, &begin, MS);
	loop_run(loop);
	loop_poller_del(loop, &busy.poller);
	assert_in_range(wait_to - wait_from, 100 * US, 200 * US);
}

static bool sleep_slowly(void *arg)
{
	now += MS;
	return false;
}

static bool poll_nothing(void *arg)
{
	return false;
}

static void wake_nothing(void *arg)
{
}

static void begin_sleepy(void *arg)
{
	wait_from = loop_now(loop);
	loop_timer_set(loop, &wait_short, 3 * MS);
}

/* A timer does not end late because the loop took its time before it slept. */
static void test_waits_are_not_long(void **state)
{
	struct loop_timer begin = { .fn = begin_sleepy };
	struct loop_poller sleepy = {
		.poll = poll_nothing, .sleep = sleep_slowly, .wake = wake_nothing,
	};

	loop_poller_add(loop, &sleepy);
	loop_timer_set(loop, &begin, MS);
	loop_run(loop);
	loop_poller_del(loop, &sleepy);
	assert_in_range(wait_to - wait_from, 3 * MS, 3 * MS + 100 * US);
}

static void never(void *arg)
{
	fail();
}

/* An answer that is there in time counts, although it is read late. */
static void test_work_before_timers(void **state)
{
	struct loop_timer late = { .fn = never };
	struct worker worker = { .work = 2, .cost = 5 * MS, .cancels = &late };

	worker_add(&worker);
	loop_timer_set(loop, &late, 3 * MS);
	/* It is due when the first round has taken its time. */
	run_after_event(20 * MS);
	assert_int_equal(worker.work, 0);
}

/* After a pause all that waits is read before anybody gives up. */
static void test_pause(void **state)
{
	struct loop_timer late = { .fn = never };
	struct worker worker = { .work = 100, .stall = 40000 * MS, .cancels = &late };
	uint64_t before = loop_now(loop);

	worker_add(&worker);
	loop_timer_set(loop, &late, 5 * MS);
	run_after_event(30 * MS);
	assert_int_equal(worker.work, 0);
	/* The pause is not in the loop's time, and the clock goes on. */
	assert_in_range(loop_now(loop) - before, 30 * MS, 100 * MS);
}

/* But not for ever: a guest that always has work does not stop time. */
static void test_pause_ends(void **state)
{
	struct worker worker = { .work = UINT32_MAX, .stall = 40000 * MS };
	struct loop_timer end = { .fn = stop };
	uint64_t before = now;

	worker_add(&worker);
	ev_open(ev_fn);
	ev_ring(0);
	loop_timer_set(loop, &end, 5 * MS);
	loop_run(loop);
	ev_close();
	assert_in_range(now - before, 40000 * MS, 40030 * MS);
	loop_poller_del(loop, &worker.poller);
}

/*
 * Timers of a process that takes the place of another one have the time left that they had
 * there, though to load the others took long; and they do not wait for those that have work.
 */
static void test_resume(void **state)
{
	struct worker worker = { .work = UINT32_MAX, .cost = MS };
	struct loop_timer end = { .fn = stop };
	const uint64_t before = loop_now(loop);
	uint64_t began;

	worker_add(&worker);
	loop_timer_set(loop, &end, 5 * MS);
	now += 40000 * MS;
	loop_resume(loop);
	began = now;
	loop_rouse(loop);
	loop_run(loop);
	assert_in_range(now - began, 5 * MS, 8 * MS);
	assert_in_range(loop_now(loop) - before, 5 * MS, 8 * MS);
	loop_poller_del(loop, &worker.poller);
}

/* The same while the loop sleeps: its timer should have ended that long ago. */
static void test_pause_asleep(void **state)
{
	struct loop_timer late = { .fn = never }, end = { .fn = stop };
	struct worker worker = { .work = 3, .cancels = &late };

	worker_add(&worker);
	loop_timer_set(loop, &late, 5 * MS);
	loop_timer_set(loop, &end, 30 * MS);
	oversleep = 40000 * MS;
	loop_run(loop);
	assert_int_equal(worker.work, 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static unsigned int due_together;

static void on_together(void *arg)
{
	due_together++;
}

/* Timers that are due at once take turns with all else. */
static bool poll_together(void *arg)
{
	unsigned int *most = arg, n = due_together;

	due_together = 0;
	if (n > *most)
		*most = n;
	return false;
}

static bool sleep_nothing(void *arg)
{
	return false;
}

static void test_many_timers_at_once(void **state)
{
	static struct loop_timer due[1000];
	unsigned int i, most = 0;
	struct loop_poller poller = {
		.poll = poll_together, .sleep = sleep_nothing, .wake = wake_nothing,
		.arg = &most,
	};
	struct loop_timer end = { .fn = stop };

	loop_poller_add(loop, &poller);
	for (i = 0; i < ARRAY_SIZE(due); i++) {
		due[i].fn = on_together;
		loop_timer_set(loop, &due[i], MS);
	}
	/* They run in order, so that this is the last one. */
	loop_timer_set(loop, &end, MS + 1);
	loop_run(loop);
	assert_in_range(most, 100, 128);
	for (i = 0; i < ARRAY_SIZE(due); i++)
		assert_int_equal(due[i].due, 0);
	loop_poller_del(loop, &poller);
}

/* ------------------------------------------------------------------------- */
/* Pollers that sleep alone                                                  */
/* ------------------------------------------------------------------------- */

static bool yes(void *arg)
{
	return true;
}

static void sleeper_add(struct worker *worker)
{
	worker_add_as(worker, yes);
}

/* Lets a poller fall asleep beside one that is busy for 5 ms. */
static void lull(struct worker *worker)
{
	struct worker busy = { .work = UINT32_MAX, .cost = 10 * US };

	worker_add(&busy);
	sleeper_add(worker);
	run_after_event(5 * MS);
	loop_poller_del(loop, &busy.poller);
	assert_true(worker->poller.asleep);
	assert_false(worker->awake);
}

static void test_quiet_poller_sleeps_alone(void **state)
{
	struct worker busy = { .work = UINT32_MAX, .cost = 10 * US };
	struct worker quiet = {}, restless = {};

	sleeper_add(&busy);
	sleeper_add(&quiet);
	worker_add(&restless);
	run_after_event(5 * MS);
	assert_int_equal(busy.sleeps, 0);
	assert_int_equal(restless.sleeps, 0);
	assert_true(restless.polls > 200);
	assert_int_equal(quiet.sleeps, 1);
	assert_in_range(quiet.polls, 20, 110);
	assert_false(quiet.awake);
	/* The third one cannot sleep, and does not count. */
	assert_int_equal(loop_awake(loop), 1);
	/* It is called again for as long. */
	loop_poller_wake(loop, &quiet.poller);
	assert_int_equal(loop_awake(loop), 2);
	assert_true(quiet.awake);
	quiet.polls = 0;
	run_after_event(5 * MS);
	assert_int_equal(quiet.sleeps, 2);
	assert_in_range(quiet.polls, 20, 110);
	loop_poller_del(loop, &quiet.poller);
	loop_poller_del(loop, &restless.poller);
	loop_poller_del(loop, &busy.poller);
}

/* A guest queued something before it knew that a doorbell is wanted: it is found. */
static void test_quiet_poller_has_late_work(void **state)
{
	struct worker busy = { .work = UINT32_MAX, .cost = 10 * US };
	struct worker quiet = { .late = 3 };

	worker_add(&busy);
	sleeper_add(&quiet);
	run_after_event(10 * MS);
	assert_int_equal(quiet.late, 0);
	assert_int_equal(quiet.work, 0);
	assert_int_equal(quiet.sleeps, 2);
	assert_false(quiet.awake);
	loop_poller_del(loop, &quiet.poller);
	loop_poller_del(loop, &busy.poller);
}

/* One that has work now and then does not fall asleep. */
static void test_poller_with_work_does_not_sleep_alone(void **state)
{
	struct worker busy = { .work = UINT32_MAX, .cost = 10 * US };
	struct worker other = {};
	unsigned int i;

	worker_add(&busy);
	sleeper_add(&other);
	for (i = 0; i < 20; i++) {
		other.work = 1;
		run_after_event(MS / 2);
	}
	assert_int_equal(other.sleeps, 0);
	loop_poller_del(loop, &other.poller);
	loop_poller_del(loop, &busy.poller);
}

/* The loop sleeps and is woken: who had work lately is called, who slept alone is not. */
static void test_sleeper_sleeps_on(void **state)
{
	struct worker quiet = {}, other = { .work = 10 };

	lull(&quiet);
	sleeper_add(&other);
	run_after_event(20 * MS);
	assert_int_equal(other.work, 0);
	assert_int_not_equal(other.sleeps, 0);
	assert_int_equal(quiet.wakes, 1);
	assert_int_equal(quiet.sleeps, 1);
	/* Its last work was long ago when it slept last, so that it slept alone. */
	assert_true(other.poller.asleep);
	other.wakes = 0;
	run_after_event(20 * MS);
	assert_int_equal(other.wakes, 0);
	loop_poller_del(loop, &other.poller);
	loop_poller_del(loop, &quiet.poller);
}

static void nothing_more(void *arg)
{
}

static bool worker_sleeps_idle(void *arg)
{
	struct worker *worker = arg;

	assert_int_equal(worker->work, 0);
	return worker_sleep(arg);
}

/* A timer makes one round, after which the loop sleeps if none has work. */
static void run_after_timer(void)
{
	struct loop_timer begin = { .fn = nothing_more }, end = { .fn = stop };

	loop_timer_set(loop, &begin, MS);
	loop_timer_set(loop, &end, 20 * MS);
	loop_run(loop);
}

/* Work from one that has none itself, so that no round may follow: called in this one. */
static void test_sleeper_is_woken_by_another(void **state)
{
	struct worker quiet = {}, before = {}, behind = {};

	worker_add(&behind);
	lull(&quiet);
	worker_add(&before);
	quiet.poller.sleep = worker_sleeps_idle;
	before.caller = &quiet;
	before.gives = 3;
	run_after_timer();
	assert_int_equal(quiet.work, 0);
	assert_true(quiet.wakes > 1);
	loop_poller_del(loop, &before.poller);

	/* The round has passed its place. */
	loop_poller_del(loop, &quiet.poller);
	lull(&quiet);
	quiet.poller.sleep = worker_sleeps_idle;
	behind.caller = &quiet;
	behind.gives = 3;
	run_after_timer();
	assert_int_equal(quiet.work, 0);
	loop_poller_del(loop, &behind.poller);
	loop_poller_del(loop, &quiet.poller);
}

static struct worker *order[3];
static unsigned int orders;

static bool worker_notes(void *arg)
{
	struct worker *worker = arg;

	if (orders < ARRAY_SIZE(order))
		order[orders++] = worker;
	return worker_poll(arg);
}

/* One that slept is called at its old place again. */
static void test_sleeper_has_its_place(void **state)
{
	struct worker first = {}, quiet = {}, last = {};

	worker_add(&last);
	lull(&quiet);
	worker_add(&first);
	first.poller.poll = worker_notes;
	quiet.poller.poll = worker_notes;
	last.poller.poll = worker_notes;
	loop_poller_wake(loop, &quiet.poller);
	orders = 0;
	run_after_event(5 * MS);
	assert_ptr_equal(order[0], &first);
	assert_ptr_equal(order[1], &quiet);
	assert_ptr_equal(order[2], &last);
	loop_poller_del(loop, &last.poller);
	loop_poller_del(loop, &first.poller);
	loop_poller_del(loop, &quiet.poller);
}

static void give_work(void *arg)
{
	struct worker *worker = arg;

	worker->work = 3;
	loop_poller_wake(loop, &worker->poller);
}

/* The loop itself sleeps until then. */
static void test_sleeper_is_woken_by_timer(void **state)
{
	struct worker quiet = {};
	struct loop_timer give = { .fn = give_work, .arg = &quiet };
	struct loop_timer end = { .fn = stop };

	lull(&quiet);
	loop_timer_set(loop, &give, 20 * MS);
	loop_timer_set(loop, &end, 40 * MS);
	loop_run(loop);
	assert_int_equal(quiet.work, 0);
	assert_true(quiet.wakes > 1);
	loop_poller_del(loop, &quiet.poller);
}

static void test_sleeper_is_roused(void **state)
{
	struct loop_timer end = { .fn = stop };
	struct worker quiet = {};

	lull(&quiet);
	quiet.work = 3;
	loop_rouse(loop);
	loop_timer_set(loop, &end, 20 * MS);
	loop_run(loop);
	assert_int_equal(quiet.work, 0);
	loop_poller_del(loop, &quiet.poller);
}

static void test_sleeper_leaves(void **state)
{
	struct worker quiet = {};

	lull(&quiet);
	loop_poller_del(loop, &quiet.poller);
	loop_poller_wake(loop, &quiet.poller);
	run_after_event(5 * MS);
	assert_int_equal(quiet.wakes, 1);
	/* It may come back. */
	quiet.work = 3;
	loop_poller_add(loop, &quiet.poller);
	run_after_event(5 * MS);
	assert_int_equal(quiet.work, 0);
	loop_poller_del(loop, &quiet.poller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_timers_in_order),
		TEST(test_many_timers),
		TEST(test_timer_sets_itself),
		TEST(test_timer_cancels_other),
		TEST(test_fd),
		TEST(test_fd_del_while_pending),
		TEST(test_fd_bad),
		TEST(test_poller_without_event),
		TEST(test_poller_is_roused),
		TEST(test_poller_works_then_sleeps),
		TEST(test_poller_late_work),
		cmocka_unit_test_setup_teardown(test_poll_window_of_zero,
						setup_no_window, teardown),
		cmocka_unit_test_setup_teardown(test_poll_window_is_kept,
						setup_long_window, teardown),
		cmocka_unit_test_setup_teardown(test_poll_window_adapts,
						setup_long_window, teardown),
		cmocka_unit_test_setup_teardown(test_poll_window_closes_if_preempted,
						setup_long_window, teardown),
		TEST(test_poller_leaves),
		TEST(test_poller_removes_neighbours),
		TEST(test_busy_poller_starves_nobody),
		TEST(test_looks_become_rare),
		TEST(test_slow_poller_starves_nobody),
		TEST(test_events_between_pollers),
		TEST(test_work_before_timers),
		TEST(test_waits_are_not_short),
		TEST(test_waits_are_not_long),
		TEST(test_pause),
		TEST(test_pause_ends),
		TEST(test_resume),
		TEST(test_pause_asleep),
		TEST(test_many_timers_at_once),
		TEST(test_quiet_poller_sleeps_alone),
		TEST(test_quiet_poller_has_late_work),
		TEST(test_poller_with_work_does_not_sleep_alone),
		TEST(test_sleeper_sleeps_on),
		cmocka_unit_test_setup_teardown(test_sleeper_is_woken_by_another,
						setup_no_window, teardown),
		TEST(test_sleeper_has_its_place),
		TEST(test_sleeper_is_woken_by_timer),
		TEST(test_sleeper_is_roused),
		TEST(test_sleeper_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
