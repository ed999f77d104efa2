// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chores: what is to be cleared away, bit by bit.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/chore.h"

/* For so long at a time, and a fifth of the time at most. */
#define CHORE_NS	(50 * 1000ULL)
#define CHORE_WAIT_NS	(200 * 1000ULL)

/* Memory is freed in one go up to this, else so much at a time. */
#define CHORE_PART	(256u << 10)

/**
 * struct chore_block - memory to be freed, at whose beginning this stands
 * @chore:	chore
 * @debt:	counts it
 * @size:	bytes of it
 * @next:	page that is to be given back next
 * @end:	end of the last page
 */
struct chore_block {
	struct chore chore;
	struct chore_debt *debt;
	size_t size;
	uintptr_t next;
	uintptr_t end;
};

static uint64_t chore_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* One step of the oldest chore. */
static void chores_step(struct chores *chores)
{
	struct chore *chore = TAILQ_FIRST(&chores->list);

	TAILQ_REMOVE(&chores->list, chore, entry);
	if (chore->step(chore))
		TAILQ_INSERT_HEAD(&chores->list, chore, entry);
}

static void chores_run(void *arg)
{
	const uint64_t end = chore_clock() + CHORE_NS;
	struct chores *chores = arg;

	do {
		if (TAILQ_EMPTY(&chores->list))
			return;
		chores_step(chores);
	} while (chore_clock() < end);
	loop_timer_set(chores->loop, &chores->timer, CHORE_WAIT_NS);
}

void chores_init(struct chores *chores, struct loop *loop)
{
	*chores = (struct chores) {
		.loop = loop,
		.timer = { .fn = chores_run, .arg = chores },
	};
	TAILQ_INIT(&chores->list);
}

void chores_finish(struct chores *chores)
{
	loop_timer_cancel(chores->loop, &chores->timer);
	while (!TAILQ_EMPTY(&chores->list))
		chores_step(chores);
	/* A step may have added a chore. */
	loop_timer_cancel(chores->loop, &chores->timer);
}

void chore_add(struct loop *loop, struct chore *chore)
{
	struct chores *chores = loop_chores(loop);

	TAILQ_INSERT_TAIL(&chores->list, chore, entry);
	if (!chores->timer.due)
		loop_timer_set(loop, &chores->timer, CHORE_WAIT_NS);
}

void chore_del(struct loop *loop, struct chore *chore)
{
	TAILQ_REMOVE(&loop_chores(loop)->list, chore, entry);
}

void chore_help(struct loop *loop)
{
	struct chores *chores = loop_chores(loop);

	if (!TAILQ_EMPTY(&chores->list))
		chores_step(chores);
}

struct chore_debt *chore_debt_new(void)
{
	struct chore_debt *debt = calloc(1, sizeof(*debt));

	if (debt)
		debt->refs = 1;
	return debt;
}

void chore_debt_put(struct chore_debt *debt)
{
	if (debt && !--debt->refs)
		free(debt);
}

void chore_debt_add(struct chore_debt *debt, uint64_t bytes)
{
	debt->refs++;
	debt->n++;
	debt->bytes += bytes;
}

void chore_debt_end(struct chore_debt *debt, uint64_t bytes)
{
	debt->n--;
	debt->bytes -= bytes;
	chore_debt_put(debt);
}

static bool chore_block_step(struct chore *chore)
{
	struct chore_block *block = (struct chore_block *)chore;
	size_t part = block->end - block->next;

	if (part > CHORE_PART)
		part = CHORE_PART;
	/* If that fails, free() takes longer. */
	madvise((void *)block->next, part, MADV_DONTNEED);
	block->next += part;
	if (block->next < block->end)
		return true;
	chore_debt_end(block->debt, block->size);
	free(block);
	return false;
}

void chore_free(struct loop *loop, struct chore_debt *debt, void *p, size_t size)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE), at = (uintptr_t)p;
	struct chore_block *block = p;

	if (!p || size <= CHORE_PART) {
		free(p);
		return;
	}
	*block = (struct chore_block) {
		.chore.step = chore_block_step,
		.debt = debt,
		.size = size,
		.next = (at + sizeof(*block) + page - 1) & -page,
		.end = (at + size) & -page,
	};
	chore_debt_add(debt, size);
	chore_add(loop, &block->chore);
}
