// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An event loop whose clock is set by the test.  It replaces loop.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>

#include <cmocka.h>

#include "base/chore.h"
#include "tests/lib/engine_loop.h"

#define TIMERS_MAX	64

struct loop {
	uint64_t now;
	struct loop_timer *timer[TIMERS_MAX];
	unsigned int n;
	struct chores chores;
	TAILQ_HEAD(, loop_poller) pollers;
};

unsigned int engine_loop_awake = ENGINE_LOOP_AWAKE;

struct loop *loop_new(unsigned int poll_us)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	assert_non_null(loop);
	loop->now = 1000000000;
	chores_init(&loop->chores, loop);
	TAILQ_INIT(&loop->pollers);
	return loop;
}

void loop_free(struct loop *loop)
{
	chores_finish(&loop->chores);
	free(loop);
}

struct chores *loop_chores(struct loop *loop)
{
	return &loop->chores;
}

uint64_t loop_now(const struct loop *loop)
{
	return loop->now;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	if (!timer->due)
		return;
	assert_true(timer->slot < loop->n);
	assert_ptr_equal(loop->timer[timer->slot], timer);
	loop->timer[timer->slot] = loop->timer[--loop->n];
	loop->timer[timer->slot]->slot = timer->slot;
	timer->due = 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t ns)
{
	loop_timer_cancel(loop, timer);
	assert_true(loop->n < TIMERS_MAX);
	timer->due = loop->now + (ns ? ns : 1);
	timer->slot = loop->n;
	loop->timer[loop->n++] = timer;
}

void loop_timer_at_least(struct loop *loop, struct loop_timer *timer, uint64_t ns)
{
	loop_timer_set(loop, timer, ns);
}

void loop_poller_add(struct loop *loop, struct loop_poller *poller)
{
	TAILQ_INSERT_HEAD(&loop->pollers, poller, entry);
}

void loop_poller_del(struct loop *loop, struct loop_poller *poller)
{
	TAILQ_REMOVE(&loop->pollers, poller, entry);
}

unsigned int loop_awake(const struct loop *loop)
{
	return engine_loop_awake;
}

/* All are called, always. */
void loop_poller_wake_up(struct loop *loop, struct loop_poller *poller)
{
	fail_msg("a poller is asleep");
}

bool engine_loop_poll(struct loop *loop)
{
	struct loop_poller *poller;
	bool work = false;

	TAILQ_FOREACH(poller, &loop->pollers, entry)
		work |= poller->poll(poller->arg);
	return work;
}

static struct loop_timer *loop_first(const struct loop *loop)
{
	struct loop_timer *first = NULL;
	unsigned int i;

	for (i = 0; i < loop->n; i++)
		if (!first || loop->timer[i]->due < first->due)
			first = loop->timer[i];
	return first;
}

void engine_loop_advance(struct loop *loop, uint64_t ns)
{
	uint64_t end = loop->now + ns;
	struct loop_timer *timer;

	for (;;) {
		timer = loop_first(loop);
		if (!timer || timer->due > end)
			break;
		loop->now = timer->due;
		loop_timer_cancel(loop, timer);
		timer->fn(timer->arg);
	}
	loop->now = end;
}

uint64_t engine_loop_next(const struct loop *loop)
{
	const struct loop_timer *timer = loop_first(loop);

	return timer ? timer->due - loop->now : UINT64_MAX;
}

unsigned int engine_loop_timers(const struct loop *loop)
{
	return loop->n;
}
