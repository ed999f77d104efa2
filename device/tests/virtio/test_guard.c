// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that is taken away while it is used.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "virtio/guard.h"

#define PAGE	4096
#define LEN	(8 * PAGE)

/**
 * struct piece - a guarded mapping
 * @guard:	its guard
 * @fd:		its file
 * @lost:	calls of the guard
 */
struct piece {
	struct mem_guard guard;
	int fd;
	int lost;
};

static void piece_lost(void *arg)
{
	struct piece *piece = arg;

	piece->lost++;
}

/* The compiler leaves neither out. */
static uint8_t peek(const uint8_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void poke(uint8_t *p, uint8_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELAXED);
}

static uint8_t *piece_init(struct piece *piece)
{
	memset(piece, 0, sizeof(*piece));
	piece->fd = memfd_create("piece", MFD_CLOEXEC);
	assert_int_equal(ftruncate(piece->fd, LEN), 0);
	piece->guard = (struct mem_guard){
		.map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED,
			    piece->fd, 0),
		.len = LEN,
		.lost = piece_lost,
		.arg = piece,
	};
	assert_true(piece->guard.map != MAP_FAILED);
	mem_guard_add(&piece->guard);
	return piece->guard.map;
}

static void piece_fini(struct piece *piece)
{
	mem_guard_del(&piece->guard);
	munmap(piece->guard.map, LEN);
	close(piece->fd);
}

/* The truncated mapping is replaced as a whole; the others do not change. */
static void test_truncated(void **state)
{
	uint8_t *p[3];
	struct piece piece[3];
	unsigned int i;

	assert_int_equal(mem_guard_init(), 0);
	for (i = 0; i < 3; i++) {
		p[i] = piece_init(&piece[i]);
		poke(&p[i][0], 10 + i);
		poke(&p[i][LEN - 1], 20 + i);
	}
	assert_int_equal(ftruncate(piece[1].fd, PAGE), 0);
	assert_int_equal(peek(&p[1][0]), 11);
	assert_int_equal(piece[1].lost, 0);
	assert_int_equal(peek(&p[1][LEN - 1]), 0);
	assert_int_equal(piece[1].lost, 1);
	assert_int_equal(peek(&p[1][0]), 0);
	poke(&p[1][PAGE], 1);
	assert_int_equal(peek(&p[1][PAGE]), 1);
	assert_int_equal(piece[1].lost, 1);
	for (i = 0; i < 3; i += 2) {
		assert_int_equal(peek(&p[i][0]), 10 + i);
		assert_int_equal(peek(&p[i][LEN - 1]), 20 + i);
		assert_int_equal(piece[i].lost, 0);
	}
	/* A write faults, too. */
	assert_int_equal(ftruncate(piece[2].fd, 0), 0);
	poke(&p[2][5], 7);
	assert_int_equal(peek(&p[2][5]), 7);
	assert_int_equal(piece[2].lost, 1);
	for (i = 0; i < 3; i++)
		piece_fini(&piece[i]);
}

/* Of a large mapping a part is replaced, and others when they are touched. */
static void test_parts(void **state)
{
	struct piece piece;
	uint8_t *p = piece_init(&piece);

	assert_int_equal(mem_guard_init(), 0);
	piece.guard.part = PAGE;
	poke(&p[0], 1);
	poke(&p[LEN - 1], 2);
	assert_int_equal(ftruncate(piece.fd, 0), 0);
	assert_int_equal(peek(&p[LEN - 1]), 0);
	assert_int_equal(piece.lost, 1);
	poke(&p[LEN - 1], 3);
	/* The file is there again, so that the beginning, which was not replaced, is. */
	assert_int_equal(ftruncate(piece.fd, LEN), 0);
	poke(&p[0], 4);
	assert_int_equal(pread(piece.fd, &p[1], 1, 0), 1);
	assert_int_equal(peek(&p[1]), 4);
	assert_int_equal(peek(&p[LEN - 1]), 3);
	assert_int_equal(piece.lost, 1);
	piece_fini(&piece);
}

/* Runs @fn in a child; returns the signal that ended it. */
static int ended_by(void (*fn)(uint8_t *p), uint8_t *p)
{
	const struct rlimit none = { 0 };
	int status;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		alarm(10);
		if (!mem_guard_init())
			fn(p);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_last(uint8_t *p)
{
	poke(&p[LEN - 1], 1);
}

static void send_bus(uint8_t *p)
{
	raise(SIGBUS);
}

/* A fault outside guarded memory ends the process. */
static void test_elsewhere(void **state)
{
	uint8_t *p;
	struct piece piece;

	p = piece_init(&piece);
	assert_int_equal(ended_by(send_bus, p), SIGBUS);
	assert_int_equal(ended_by(touch_last, p), 0);
	assert_int_equal(ftruncate(piece.fd, 0), 0);
	assert_int_equal(ended_by(touch_last, p), 0);
	mem_guard_del(&piece.guard);
	assert_int_equal(ended_by(touch_last, p), SIGBUS);
	mem_guard_add(&piece.guard);
	piece_fini(&piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
