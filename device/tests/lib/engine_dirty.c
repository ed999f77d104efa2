// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Does the log name each page that the engine writes?
 *
 * With EG_DIRTY in the environment the log of each guest is on, and its memory is read-only
 * while the engine runs: the first write to a page faults, is noted here, and allowed then.
 * When the engine has come to rest, the log must have the page.
 */
#include "tests/lib/engine_dirty.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "virtio/dirty.h"

#define PAGES		(EG_SIZE / EG_PAGE)
#define LOG_SIZE	((EG_BASE + EG_SIZE) / EG_PAGE / 8)

/* A test may have several engines. */
#define WATCHES		(4 * EG_GUESTS)

/* Each of the first looks of a test is made, then one in so many: each takes some 0.1 ms. */
#define LOOK_FIRST	200u
#define LOOK_REST	17u

/**
 * struct watch - the memory of a guest
 * @guest:	guest, or NULL
 * @log:	its log
 * @map:	for @log: all of its memory, whatever the test makes of its map
 * @page:	pages written since the last look
 * @n:		number of them
 */
static struct watch {
	const struct eg_guest *guest;
	struct dirty_log log;
	struct guest_mem map;
	uint32_t page[PAGES];
	volatile uint32_t n;
} watches[WATCHES];

unsigned long eg_dirty_pages;
static unsigned int looks;
static bool looking;

static bool wanted(void)
{
	static int yes = -1;

	if (yes < 0)
		yes = !!getenv("EG_DIRTY");
	return yes;
}

static struct watch *watch_of(const struct eg_guest *guest)
{
	unsigned int i;

	for (i = 0; i < WATCHES; i++)
		if (watches[i].guest == guest)
			return &watches[i];
	return NULL;
}

static void faulted(int sig, siginfo_t *info, void *context)
{
	struct watch *watch;
	uint64_t off;
	unsigned int i;

	for (i = 0; i < WATCHES; i++) {
		watch = &watches[i];
		if (!watch->guest)
			continue;
		off = (uintptr_t)info->si_addr - (uintptr_t)watch->guest->mem;
		if (off >= EG_SIZE || watch->n == PAGES)
			continue;
		watch->page[watch->n++] = off / EG_PAGE;
		if (!mprotect(watch->guest->mem + off / EG_PAGE * EG_PAGE, EG_PAGE,
			      PROT_READ | PROT_WRITE))
			return;
	}
	signal(sig, SIG_DFL);
}

void eg_dirty_up(const struct eg_guest *guest)
{
	struct watch *watch;

	if (!wanted())
		return;
	watch = watch_of(NULL);
	assert_non_null(watch);
	looks = 0;
	watch->guest = guest;
	watch->n = 0;
	watch->map = guest->map;
	watch->log = (struct dirty_log) {
		.mem = &watch->map,
		.bits = calloc(1, LOG_SIZE),
		.size = LOG_SIZE,
	};
	assert_non_null(watch->log.bits);
	dirty_log_start(&watch->log);
}

void eg_dirty_down(const struct eg_guest *guest)
{
	struct watch *watch = watch_of(guest);

	if (!watch)
		return;
	dirty_log_stop(&watch->log);
	free(watch->log.bits);
	watch->guest = NULL;
}

/* Of cmocka, which tells a test that crashes by it. */
static struct sigaction other_action;

void eg_dirty_begin(void)
{
	const struct sigaction action = { .sa_sigaction = faulted, .sa_flags = SA_SIGINFO };
	unsigned int i;

	if (!wanted() || (looks++ > LOOK_FIRST && looks % LOOK_REST))
		return;
	looking = true;
	assert_int_equal(sigaction(SIGSEGV, &action, &other_action), 0);
	for (i = 0; i < WATCHES; i++) {
		if (!watches[i].guest)
			continue;
		memset(watches[i].log.bits + EG_BASE / EG_PAGE / 8, 0, PAGES / 8);
		assert_int_equal(mprotect(watches[i].guest->mem, EG_SIZE, PROT_READ), 0);
	}
}

static void compare(struct watch *watch)
{
	const uint64_t first = EG_BASE / EG_PAGE;
	uint64_t page;
	uint32_t i;

	for (i = 0; i < watch->n; i++) {
		page = first + watch->page[i];
		if (!(watch->log.bits[page / 8] >> page % 8 & 1))
			fail_msg("page %#llx of guest %u was written and is not logged",
				 (unsigned long long)page * EG_PAGE, watch->guest->number);
	}
	eg_dirty_pages += watch->n;
	watch->n = 0;
}

void eg_dirty_end(void)
{
	unsigned int i;

	if (!looking)
		return;
	looking = false;
	assert_int_equal(sigaction(SIGSEGV, &other_action, NULL), 0);
	for (i = 0; i < WATCHES; i++) {
		if (!watches[i].guest)
			continue;
		assert_int_equal(mprotect(watches[i].guest->mem, EG_SIZE,
					  PROT_READ | PROT_WRITE), 0);
		compare(&watches[i]);
	}
}
