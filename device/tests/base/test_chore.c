// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chores: bit by bit, and all of them in the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/chore.h"
#include "tests/lib/idle.h"

#define MIB	(1u << 20)

/**
 * struct job - a chore that counts its steps
 * @chore:	chore
 * @left:	steps that are to come
 * @loop:	for @next
 * @next:	chore that the last step adds, or NULL
 */
struct job {
	struct chore chore;
	unsigned int left;
	struct loop *loop;
	struct chore *next;
};

static bool job_step(struct chore *chore)
{
	struct job *job = (struct job *)chore;

	assert_true(job->left);
	if (--job->left)
		return true;
	if (job->next)
		chore_add(job->loop, job->next);
	return false;
}

static bool job_done(void *arg)
{
	const struct job *job = arg;

	return !job->left;
}

static void test_order(void **state)
{
	struct loop *loop = loop_new(0);
	struct job job[3] = {};
	unsigned int i;

	for (i = 0; i < 3; i++)
		job[i] = (struct job) { .chore.step = job_step, .left = 1000, .loop = loop };
	job[0].next = &job[2].chore;
	chore_add(loop, &job[0].chore);
	chore_add(loop, &job[1].chore);
	/* Nothing is done at once. */
	assert_int_equal(job[0].left, 1000);
	assert_true(run_until(loop, job_done, &job[2]));
	assert_int_equal(job[0].left + job[1].left, 0);
	/* Freeing the loop does it all. */
	job[0] = (struct job) {
		.chore.step = job_step, .left = 1000000, .loop = loop, .next = &job[1].chore,
	};
	job[1].left = 2;
	chore_add(loop, &job[0].chore);
	loop_free(loop);
	assert_int_equal(job[0].left + job[1].left, 0);
}

static bool has_no_debt(void *arg)
{
	const struct chore_debt *debt = arg;

	return !debt->bytes;
}

/* How many pages of the memory behind @p are there? */
static unsigned int pages_of(const uint8_t *p, size_t size)
{
	const uintptr_t begin = (uintptr_t)p & ~4095ul;
	static unsigned char there[64 * MIB / 4096];
	unsigned int i, n = 0;

	if (mincore((void *)begin, size, there))
		return 0;
	for (i = 0; i < size / 4096; i++)
		n += there[i] & 1;
	return n;
}

static void test_memory(void **state)
{
	struct chore_debt *debt = chore_debt_new();
	struct loop *loop = loop_new(0);
	uint8_t *p = malloc(64 * MIB), *beside = malloc(100);

	/* Little memory goes at once. */
	chore_free(loop, debt, malloc(1000), 1000);
	chore_free(loop, debt, NULL, MIB);
	assert_int_equal(debt->n, 0);

	memset(beside, 0x55, 100);
	memset(p, 0xaa, 64 * MIB);
	chore_free(loop, debt, p, 64 * MIB);
	assert_int_equal(debt->n, 1);
	assert_int_equal(debt->bytes, 64 * MIB);
	assert_in_range(pages_of(p, 63 * MIB), 63 * MIB / 4096, 63 * MIB / 4096);
	assert_true(run_until(loop, has_no_debt, debt));
	assert_int_equal(debt->n, 0);
	assert_int_equal(beside[99], 0x55);
	free(beside);

	/* Debts may live longer than the debtor. */
	p = malloc(MIB);
	chore_free(loop, debt, p, MIB);
	chore_debt_put(debt);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
