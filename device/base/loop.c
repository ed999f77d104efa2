// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The event loop of the daemon.
 *
 * Theory of operation
 *
 * The loop is asleep or awake.  Asleep, it blocks in epoll_wait() until an event
 * or a timer; then it wakes the pollers, which tell their guests not to ring.
 * Awake, it goes round: events, each poller once, timers that are due.  This
 * goes on as long as a poller finds work.  When none has found any for the poll
 * window, the pollers ask for doorbells again.  Then they look once more, because
 * a guest that saw that no doorbell was wanted does not ring for what it queued
 * in between.  If they find nothing, the loop sleeps.
 *
 * A daemon has many guests, of which few have work.  To look at the others in each round
 * would cost the few more than their messages do.  So a poller that has had no work for
 * LOOP_QUIET_NS sleeps alone, in the same way, while the loop goes round with the others.
 * When the loop sleeps and is woken, those that slept alone sleep on.  Whatever gives such
 * a poller work calls loop_poller_wake(): its guest's doorbell, another guest's packet, a
 * timer.
 *
 * Looking for events costs a system call, and what the processor forgets in it.  An idle
 * round always looks; while there is work, one looks every LOOP_EVENTS_NS, between two
 * pollers if need be, so that a poller with much work does not keep others' doorbells waiting.
 * While there are none, the looks become rare, up to LOOP_EVENTS_MAX_NS: each that finds nothing
 * makes the time to the next one longer by a quarter.  So a look comes no later than
 * LOOP_EVENTS_NS and a quarter of the time that there was no event.
 *
 * Timers come last, because many of them tell of an answer that did not come: what
 * waits to be read is read first.  If this process stood still for a while, what
 * waits is more than a round takes.  So the loop's time does not count such a
 * pause beyond LOOP_PAUSE_NS, and timers wait until there is no work, or for that
 * long.
 *
 * The poll window adapts itself, up to what the operator allows.  It grows when
 * the next work came a little too late for it, and is closed when work came so
 * late that polling for it was useless.  It also stays closed for a while when
 * this process lost the CPU while it looked for work.  Then somebody else needs
 * the CPU, most likely a guest; and the scheduler soon runs a process that has
 * slept, but lets one that has spun wait for milliseconds.
 *
 * Timers are in a binary heap of pointers, the next one first.  A timer knows its
 * place in the heap.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/chore.h"
#include "base/log.h"
#include "base/loop.h"

#define LOOP_EVENTS		64
#define LOOP_WINDOW_STEPS	8
#define NS_PER_US		1000ULL
#define NS_PER_S		1000000000ULL

/* How long events wait while there is work: if there are any, and at most. */
#define LOOP_EVENTS_NS		(10 * NS_PER_US)
#define LOOP_EVENTS_MAX_NS	(320 * NS_PER_US)

/*
 * Timers that run in a round.  A guest has as many as it has QPs, and may have all of them
 * due at once.
 */
#define LOOP_TIMERS		128

/* A round, or a sleep beyond its end, that takes so long was a pause. */
#define LOOP_PAUSE_NS		(10000 * NS_PER_US)

/* A wait that a long round can shorten by much. */
#define LOOP_SHORT_NS		(1000 * NS_PER_US)

/* A poller without work for so long sleeps alone. */
#define LOOP_QUIET_NS		(1000 * NS_PER_US)

/* A round without work that takes so long was interrupted by others' work. */
#define LOOP_PREEMPTED_NS	(500 * NS_PER_US)
#define LOOP_CONTENDED_NS	(10 * NS_PER_S)

/**
 * struct loop - the event loop
 * @epfd:	epoll instance
 * @stop:	loop_stop() was called
 * @awake:	pollers are called and doorbells unwanted
 * @poll_ns:	poll window, at most
 * @window:	poll window at present
 * @worked:	when there was work last, or 0
 * @idle:	there was a round without work since
 * @contended:	until when the poll window stays closed
 * @now:	time of this round: monotonic, without pauses
 * @paused:	pauses, which @now is behind the clock by
 * @settle:	until when timers wait while there is work, or 0
 * @looked:	when events were looked for last, by the clock
 * @patience:	how long they wait from then on, while there is work
 * @turned:	when others had their turn last, see loop_turn_is_over()
 * @event:	events of this round
 * @event_n:	number of them; those at and behind @event_i are to come
 * @event_i:	see @event_n
 * @pollers:	pollers, but for those that sleep alone
 * @sleepers:	those that do
 * @added:	how many pollers there have been
 * @awake_n:	see loop_awake()
 * @next:	poller that the walk along @pollers comes to next
 * @timer:	heap of timers, [0] the next one due
 * @timer_n:	number of timers set
 * @timer_max:	room in @timer
 * @chores:	what is to be cleared away bit by bit
 */
struct loop {
	int epfd;
	bool stop;
	bool awake;
	uint64_t poll_ns;
	uint64_t window;
	uint64_t worked;
	bool idle;
	uint64_t contended;
	uint64_t now;
	uint64_t paused;
	uint64_t settle;
	uint64_t looked;
	uint64_t patience;
	uint64_t turned;
	struct epoll_event event[LOOP_EVENTS];
	int event_n;
	int event_i;
	TAILQ_HEAD(loop_pollers, loop_poller) pollers;
	struct loop_pollers sleepers;
	uint64_t added;
	unsigned int awake_n;
	struct loop_poller *next;
	struct loop_timer **timer;
	unsigned int timer_n;
	unsigned int timer_max;
	struct chores chores;
};

static uint64_t loop_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

struct loop *loop_new(unsigned int poll_us)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epfd < 0)
		goto err_free;
	loop->poll_ns = poll_us * NS_PER_US;
	loop->window = loop->poll_ns;
	loop->now = loop_clock();
	loop->patience = LOOP_EVENTS_NS;
	TAILQ_INIT(&loop->pollers);
	TAILQ_INIT(&loop->sleepers);
	chores_init(&loop->chores, loop);
	return loop;

err_free:
	free(loop);
	return NULL;
}

void loop_free(struct loop *loop)
{
	chores_finish(&loop->chores);
	close(loop->epfd);
	free(loop->timer);
	free(loop);
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}

struct chores *loop_chores(struct loop *loop)
{
	return &loop->chores;
}

uint64_t loop_now(const struct loop *loop)
{
	return loop->now;
}

/* ------------------------------------------------------------------------- */
/* File descriptors                                                          */
/* ------------------------------------------------------------------------- */

int loop_fd_add(struct loop *loop, struct loop_fd *lfd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = lfd };

	return epoll_ctl(loop->epfd, EPOLL_CTL_ADD, lfd->fd, &event) ?
	       -errno : 0;
}

int loop_fd_set(struct loop *loop, struct loop_fd *lfd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = lfd };

	return epoll_ctl(loop->epfd, EPOLL_CTL_MOD, lfd->fd, &event) ?
	       -errno : 0;
}

static void loop_fd_rested(void *arg)
{
	struct loop_fd *lfd = arg;

	loop_fd_set(lfd->loop, lfd, EPOLLIN);
}

void loop_fd_rest(struct loop *loop, struct loop_fd *lfd, uint64_t ns)
{
	loop_fd_set(loop, lfd, 0);
	lfd->loop = loop;
	lfd->rest.fn = loop_fd_rested;
	lfd->rest.arg = lfd;
	loop_timer_set(loop, &lfd->rest, ns);
}

void loop_fd_del(struct loop *loop, struct loop_fd *lfd)
{
	int i;

	loop_timer_cancel(loop, &lfd->rest);
	epoll_ctl(loop->epfd, EPOLL_CTL_DEL, lfd->fd, NULL);
	for (i = loop->event_i; i < loop->event_n; i++)
		if (loop->event[i].data.ptr == lfd)
			loop->event[i].data.ptr = NULL;
}

/*
 * @event_i is the index after the event being handled.  So loop_fd_del() called by a
 * handler finds exactly the events that are not handled yet.
 */
static void loop_fds_run(struct loop *loop)
{
	struct epoll_event *event;
	struct loop_fd *lfd;

	for (loop->event_i = 0; loop->event_i < loop->event_n;) {
		event = &loop->event[loop->event_i++];
		lfd = event->data.ptr;
		if (lfd)
			lfd->fn(lfd->arg, event->events);
	}
	loop->event_n = 0;
}

/* Waits for events up to @ts, or for ever; returns their number or -errno. */
static int loop_look(struct loop *loop, const struct timespec *ts)
{
	int n = epoll_pwait2(loop->epfd, loop->event, LOOP_EVENTS, ts, NULL);

	loop->looked = loop_clock();
	loop->turned = loop->looked;
	if (n)
		loop->patience = LOOP_EVENTS_NS;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	loop->event_n = n;
	return n;
}

/* Others had better have their turn now, so this looks for events if these have waited enough. */
static int loop_look_busy(struct loop *loop)
{
	const struct timespec none = { 0 };
	int n;

	loop->turned = loop_clock();
	if (loop->turned - loop->looked < loop->patience)
		return 0;
	n = loop_look(loop, &none);
	if (!n && loop->patience + loop->patience / 4 <= LOOP_EVENTS_MAX_NS)
		loop->patience += loop->patience / 4;
	return n;
}

/* ------------------------------------------------------------------------- */
/* Timers                                                                    */
/* ------------------------------------------------------------------------- */

static void timer_place(struct loop *loop, struct loop_timer *timer,
			unsigned int slot)
{
	loop->timer[slot] = timer;
	timer->slot = slot;
}

/* Moves @timer from @slot towards the root until its parent is due earlier. */
static void timer_up(struct loop *loop, struct loop_timer *timer,
		     unsigned int slot)
{
	unsigned int parent;

	while (slot) {
		parent = (slot - 1) / 2;
		if (loop->timer[parent]->due <= timer->due)
			break;
		timer_place(loop, loop->timer[parent], slot);
		slot = parent;
	}
	timer_place(loop, timer, slot);
}

/* Moves @timer from @slot towards the leaves until its children are due later. */
static void timer_down(struct loop *loop, struct loop_timer *timer,
		       unsigned int slot)
{
	unsigned int child;

	while ((child = 2 * slot + 1) < loop->timer_n) {
		if (child + 1 < loop->timer_n &&
		    loop->timer[child + 1]->due < loop->timer[child]->due)
			child++;
		if (timer->due <= loop->timer[child]->due)
			break;
		timer_place(loop, loop->timer[child], slot);
		slot = child;
	}
	timer_place(loop, timer, slot);
}

/*
 * The heap never shrinks.  The operator's configuration bounds the number of timers, so
 * a guest cannot make the heap larger.
 */
static void timer_room(struct loop *loop)
{
	unsigned int max = loop->timer_max ? 2 * loop->timer_max : 64;
	struct loop_timer **timer;

	if (loop->timer_n < loop->timer_max)
		return;
	timer = reallocarray(loop->timer, max, sizeof(*timer));
	if (!timer) {
		log_error("no memory for %u timers", max);
		exit(EXIT_FAILURE);
	}
	loop->timer = timer;
	loop->timer_max = max;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t ns)
{
	loop_timer_cancel(loop, timer);
	timer_room(loop);
	/* Later than now: a timer that sets itself does not run twice a round. */
	timer->due = loop->now + (ns ? ns : 1);
	timer_up(loop, timer, loop->timer_n++);
}

void loop_timer_at_least(struct loop *loop, struct loop_timer *timer, uint64_t ns)
{
	uint64_t late = 0;

	if (ns < LOOP_SHORT_NS)
		late = loop_clock() - loop->paused - loop->now;
	/* The rest was a pause, which is not in the loop's time. */
	if (late > LOOP_PAUSE_NS)
		late = LOOP_PAUSE_NS;
	loop_timer_set(loop, timer, ns + late);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer *last;

	if (!timer->due)
		return;
	last = loop->timer[--loop->timer_n];
	if (last != timer) {
		if (last->due < timer->due)
			timer_up(loop, last, timer->slot);
		else
			timer_down(loop, last, timer->slot);
	}
	timer->due = 0;
}

/* @work: pollers have some. */
static bool loop_timers_run(struct loop *loop, bool work)
{
	struct loop_timer *timer;
	unsigned int n = 0;

	if (work && loop->now < loop->settle)
		return false;
	loop->settle = 0;
	while (n < LOOP_TIMERS && loop->timer_n && loop->timer[0]->due <= loop->now) {
		timer = loop->timer[0];
		loop_timer_cancel(loop, timer);
		timer->fn(timer->arg);
		n++;
	}
	return n;
}

/* ------------------------------------------------------------------------- */
/* Pollers                                                                   */
/* ------------------------------------------------------------------------- */

void loop_poller_add(struct loop *loop, struct loop_poller *poller)
{
	poller->worked = loop->now;
	poller->order = ++loop->added;
	loop->awake_n += !!poller->may_sleep;
	TAILQ_INSERT_HEAD(&loop->pollers, poller, entry);
	if (loop->awake)
		poller->wake(poller->arg);
}

/* Out of the pollers that are called. */
static void loop_poller_out(struct loop *loop, struct loop_poller *poller)
{
	if (loop->next == poller)
		loop->next = TAILQ_NEXT(poller, entry);
	TAILQ_REMOVE(&loop->pollers, poller, entry);
	loop->awake_n -= !!poller->may_sleep;
}

void loop_poller_del(struct loop *loop, struct loop_poller *poller)
{
	if (poller->asleep)
		TAILQ_REMOVE(&loop->sleepers, poller, entry);
	else
		loop_poller_out(loop, poller);
	poller->asleep = false;
}

/* Into its old place: two guests in a ping-pong are as fast as they were before they slept. */
static void loop_poller_in(struct loop *loop, struct loop_poller *poller)
{
	struct loop_poller *other;

	TAILQ_FOREACH(other, &loop->pollers, entry) {
		if (other->order < poller->order) {
			TAILQ_INSERT_BEFORE(other, poller, entry);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&loop->pollers, poller, entry);
}

void loop_poller_wake_up(struct loop *loop, struct loop_poller *poller)
{
	TAILQ_REMOVE(&loop->sleepers, poller, entry);
	loop_poller_in(loop, poller);
	loop->awake_n++;
	poller->asleep = false;
	poller->worked = loop->now;
	/* A walk that has passed its place goes back to it. */
	if (!loop->next || loop->next->order < poller->order)
		loop->next = poller;
	if (loop->awake)
		poller->wake(poller->arg);
}

unsigned int loop_awake(const struct loop *loop)
{
	return loop->awake_n;
}

static bool loop_poller_is_quiet(const struct loop *loop, const struct loop_poller *poller)
{
	return loop->now - poller->worked > LOOP_QUIET_NS && poller->may_sleep &&
	       poller->may_sleep(poller->arg);
}

/* It has asked for its doorbells. */
static void loop_poller_leave(struct loop *loop, struct loop_poller *poller)
{
	loop_poller_out(loop, poller);
	TAILQ_INSERT_TAIL(&loop->sleepers, poller, entry);
	poller->asleep = true;
}

/* Puts a poller to sleep if it has had no work for long, and has none after all. */
static void loop_poller_rest(struct loop *loop, struct loop_poller *poller)
{
	if (!loop_poller_is_quiet(loop, poller))
		return;
	if (!poller->sleep(poller->arg)) {
		loop_poller_leave(loop, poller);
		return;
	}
	poller->wake(poller->arg);
	poller->worked = loop->now;
}

/* The walk goes by @next, which loop_poller_del() keeps valid. */
static void loop_poller_first(struct loop *loop)
{
	loop->next = TAILQ_FIRST(&loop->pollers);
}

static struct loop_poller *loop_poller_next(struct loop *loop)
{
	struct loop_poller *poller = loop->next;

	if (poller)
		loop->next = TAILQ_NEXT(poller, entry);
	return poller;
}

bool loop_turn_is_over(const struct loop *loop)
{
	return loop_clock() - loop->turned >= LOOP_EVENTS_NS;
}

/* Returns 1 if a poller had work, 0, or -errno. */
static int loop_poll(struct loop *loop)
{
	struct loop_poller *poller;
	int n, work = 0;

	loop_poller_first(loop);
	while ((poller = loop_poller_next(loop))) {
		if (!poller->poll(poller->arg)) {
			loop_poller_rest(loop, poller);
			continue;
		}
		poller->worked = loop->now;
		work = 1;
		if (!loop->next || !loop_turn_is_over(loop))
			continue;
		n = loop_look_busy(loop);
		if (n < 0)
			return n;
		loop_fds_run(loop);
	}
	return work;
}

static void loop_wake(struct loop *loop)
{
	struct loop_poller *poller;

	loop->awake = true;
	loop_poller_first(loop);
	while ((poller = loop_poller_next(loop)))
		poller->wake(poller->arg);
}

void loop_rouse(struct loop *loop)
{
	struct loop_poller *poller;

	while ((poller = TAILQ_FIRST(&loop->sleepers)))
		loop_poller_wake_up(loop, poller);
	if (!loop->awake)
		loop_wake(loop);
	loop->worked = loop->now;
}

void loop_resume(struct loop *loop)
{
	loop->paused = loop_clock() - loop->now;
	loop->settle = 0;
}

/* Goes to sleep unless there is work after all. */
static void loop_sleep(struct loop *loop)
{
	struct loop_poller *poller;
	bool work = false;

	loop->awake = false;
	loop_poller_first(loop);
	while ((poller = loop_poller_next(loop)))
		work |= poller->sleep(poller->arg);
	if (work) {
		loop_wake(loop);
		return;
	}
	loop_poller_first(loop);
	while ((poller = loop_poller_next(loop)))
		if (loop_poller_is_quiet(loop, poller))
			loop_poller_leave(loop, poller);
}

/* ------------------------------------------------------------------------- */
/* The loop                                                                  */
/* ------------------------------------------------------------------------- */

/*
 * Waits for events: not at all while awake, else until the next timer is due.  The round
 * has taken time since @now, which counts.
 */
static int loop_wait(struct loop *loop)
{
	struct timespec ts = { 0 };
	uint64_t now, ns = 0;

	if (!loop->awake && loop->timer_n) {
		now = loop_clock() - loop->paused;
		if (loop->timer[0]->due > now)
			ns = loop->timer[0]->due - now;
	}
	ts.tv_sec = ns / NS_PER_S;
	ts.tv_nsec = ns % NS_PER_S;

	return loop_look(loop, loop->awake || loop->timer_n ? &ts : NULL);
}

static uint64_t window_grown(const struct loop *loop)
{
	uint64_t window = loop->window ? 2 * loop->window :
			  loop->poll_ns / LOOP_WINDOW_STEPS;

	return window < loop->poll_ns ? window : loop->poll_ns;
}

/* There is work: adapt the poll window to how long it took to come. */
static void loop_worked(struct loop *loop)
{
	uint64_t gap = loop->now - loop->worked;

	if (loop->idle && loop->worked) {
		if (gap > loop->poll_ns || loop->now < loop->contended)
			loop->window = 0;
		else if (gap > loop->window)
			loop->window = window_grown(loop);
	}
	loop->idle = false;
	loop->worked = loop->now;
}

/*
 * Asleep, time may pass up to the first timer; without one it does not matter how
 * long.  Time beyond that was a pause.
 */
static void loop_pause(struct loop *loop, uint64_t last)
{
	uint64_t due = last;

	if (!loop->awake) {
		if (!loop->timer_n)
			return;
		if (loop->timer[0]->due > last)
			due = loop->timer[0]->due;
	}
	if (loop->now <= due + LOOP_PAUSE_NS)
		return;
	loop->paused += loop->now - (due + LOOP_PAUSE_NS);
	loop->now = due + LOOP_PAUSE_NS;
	/* Pauses that follow each other do not put timers off without end. */
	if (!loop->settle)
		loop->settle = loop->now + LOOP_PAUSE_NS;
}

/* A new round begins. */
static void loop_tick(struct loop *loop)
{
	uint64_t last = loop->now;

	loop->now = loop_clock() - loop->paused;
	if (loop->awake && loop->idle &&
	    loop->now - last > LOOP_PREEMPTED_NS) {
		loop->contended = loop->now + LOOP_CONTENDED_NS;
		loop->window = 0;
	}
	loop_pause(loop, last);
}

int loop_run(struct loop *loop)
{
	bool busy = false;
	int n, work;

	loop->stop = false;
	while (!loop->stop) {
		n = 0;
		if (!busy)
			n = loop_wait(loop);
		else if (loop_turn_is_over(loop))
			n = loop_look_busy(loop);
		if (n < 0)
			return n;
		loop_tick(loop);

		if ((n || loop->settle) && !loop->awake)
			loop_wake(loop);
		if (n)
			loop_worked(loop);
		loop_fds_run(loop);
		work = loop->awake ? loop_poll(loop) : 0;
		if (work < 0)
			return work;
		/* A timer may have made work, so look for it at once. */
		if (loop_timers_run(loop, work)) {
			if (!loop->awake)
				loop_wake(loop);
			work |= loop_poll(loop);
			if (work < 0)
				return work;
		}
		if (!loop->awake)
			continue;

		busy = work;
		if (work) {
			loop_worked(loop);
			continue;
		}
		loop->idle = true;
		if (!n && loop->now - loop->worked >= loop->window)
			loop_sleep(loop);
	}
	return 0;
}
