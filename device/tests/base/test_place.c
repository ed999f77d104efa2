// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * place() copies what memmove() copies, and nothing beside it, in ascending order.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/place.h"

#define SIZE	2048u
#define LEN	600u

static void fill(uint8_t *p, size_t len, uint8_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 7 + (i >> 8);
}

/* From @from to @to of one buffer, which may overlap. */
static void play(size_t to, size_t from, size_t len)
{
	static uint8_t good[SIZE] __attribute__((aligned(64)));
	static uint8_t mine[SIZE] __attribute__((aligned(64)));

	fill(good, SIZE, len);
	memcpy(mine, good, SIZE);
	memmove(good + to, good + from, len);
	place(mine + to, mine + from, len);
	assert_memory_equal(good, mine, SIZE);
}

static void test_lengths_and_alignments(void **state)
{
	size_t len, to, from;

	for (len = 0; len <= LEN; len += len < 80 ? 1 : 37)
		for (to = 0; to < 33; to++)
			for (from = 0; from < 33; from += 3) {
				play(to, 1024 + from, len);
				play(1024 + to, from, len);
			}
}

static void test_overlap(void **state)
{
	size_t len, to;

	for (len = 0; len <= LEN; len += 13)
		for (to = 900; to < 1100; to++)
			play(to, 1000, len);
}

/*
 * A copy crosses from one page to another one, which cannot be written at first.  When
 * the first store there is refused, all bytes of the first page are to be new.
 */
#define PAGE	4096u

static uint8_t *pages;
static uint8_t wanted[PAGE];
static size_t before;
static unsigned int refused, early;

static void on_segv(int sig)
{
	refused++;
	early += !!memcmp(pages + PAGE - before, wanted, before);
	mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void play_crossing(size_t len, size_t at)
{
	before = at;
	memset(pages, 0, PAGE);
	mprotect(pages + PAGE, PAGE, PROT_READ);
	place(pages + PAGE - at, wanted, len);
	assert_memory_equal(pages + PAGE - at, wanted, len);
}

static void test_ascending(void **state)
{
	struct sigaction action = { .sa_handler = on_segv }, old;
	size_t len, at;

	if (!place_is_in_order())
		skip();
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	fill(wanted, PAGE, 1);
	sigaction(SIGSEGV, &action, &old);
	for (len = 2; len < PAGE; len += len < 64 ? 1 : len < 1024 ? 61 : 509)
		for (at = 1; at < len; at += at < 70 ? 1 : 23)
			play_crossing(len, at);
	sigaction(SIGSEGV, &old, NULL);
	munmap(pages, 2 * PAGE);
	assert_true(refused > 1000);
	assert_int_equal(early, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths_and_alignments),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_ascending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
