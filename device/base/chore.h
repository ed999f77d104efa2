/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Chores: what is to be cleared away, bit by bit.
 *
 * A guest that ends leaves memory behind, as much as it liked to have.  To give back all
 * of it in one go would stop all other guests.  So the loop does a little of it now and
 * then, whoever's it was.
 */
#ifndef DEVICE_CHORE_H
#define DEVICE_CHORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"

/**
 * struct chore - something to clear away, embedded in what it is
 * @step:	do a part of it, which takes some 50 µs; false if that was the last one.
 *		By then the chore may have been freed
 * @entry:	of the loop's chores
 */
struct chore {
	bool (*step)(struct chore *chore);
	TAILQ_ENTRY(chore) entry;
};

/**
 * struct chores - the chores of a loop, the oldest one first
 * @loop:	loop
 * @timer:	time for some
 * @list:	them
 */
struct chores {
	struct loop *loop;
	struct loop_timer timer;
	TAILQ_HEAD(, chore) list;
};

/**
 * struct chore_debt - what somebody has left behind and is not cleared away yet
 * @refs:	its owner, and chores
 * @n:		number of chores
 * @bytes:	memory of theirs
 *
 * It may live longer than its owner.  An owner whose debt is high is to wait.
 */
struct chore_debt {
	unsigned int refs;
	unsigned int n;
	uint64_t bytes;
};

/** chore_debt_new() - no debt, with one reference; NULL without memory */
struct chore_debt *chore_debt_new(void);

/** chore_debt_put() - drop a reference; @debt may be NULL */
void chore_debt_put(struct chore_debt *debt);

/** chore_debt_add() - a chore of @bytes begins */
void chore_debt_add(struct chore_debt *debt, uint64_t bytes);

/** chore_debt_end() - such a chore, of which @bytes were left, ends */
void chore_debt_end(struct chore_debt *debt, uint64_t bytes);

/** chores_init() - there are none */
void chores_init(struct chores *chores, struct loop *loop);

/** chores_finish() - do all of them now */
void chores_finish(struct chores *chores);

/** chore_add() - have a chore done, with @step filled in */
void chore_add(struct loop *loop, struct chore *chore);

/** chore_del() - forget a chore that is not done */
void chore_del(struct loop *loop, struct chore *chore);

/** chore_help() - who waits for chores does a part of the oldest one in its own time */
void chore_help(struct loop *loop);

/**
 * chore_free() - free memory that may be much
 * @loop:	loop
 * @debt:	counts it until it is done
 * @p:		of malloc(), may be NULL
 * @size:	bytes of it
 *
 * Its pages are given back bit by bit.
 */
void chore_free(struct loop *loop, struct chore_debt *debt, void *p, size_t size);

#endif /* DEVICE_CHORE_H */
