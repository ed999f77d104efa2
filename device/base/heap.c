// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that malloc() has before it is needed.
 */
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/heap.h"

/*
 * Of glibc's heap and not of a mapping of its own: 32 MiB is the most that M_MMAP_THRESHOLD can
 * say.  Not more than 1 GiB is expected.
 */
#define HEAP_PIECE	(16u << 20)
#define HEAP_PIECES	64u

#define HEAP_PAGE	4096u

/* That of glibc if it is not told another one. */
#define HEAP_THRESHOLD	(128 * 1024)

/* Kernels before 5.14 do not know it, nor do old headers. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

static size_t heap_expected;

/* The pages that lie in it.  Large ones, if the kernel has some, take less time. */
static void heap_fill(void *piece)
{
	const uintptr_t start = ((uintptr_t)piece + HEAP_PAGE - 1) & -(uintptr_t)HEAP_PAGE;
	const size_t len = ((uintptr_t)piece + HEAP_PIECE - start) & -(size_t)HEAP_PAGE;

	madvise((void *)start, len, MADV_HUGEPAGE);
	madvise((void *)start, len, MADV_POPULATE_WRITE);
}

void heap_expect(size_t bytes)
{
	void *piece[HEAP_PIECES];
	unsigned int i, n = 0;

	if (bytes < heap_expected + HEAP_PIECE / 4)
		return;
	mallopt(M_MMAP_THRESHOLD, 2 * HEAP_PIECE);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	for (; n < HEAP_PIECES && heap_expected < bytes; heap_expected += HEAP_PIECE) {
		piece[n] = malloc(HEAP_PIECE);
		if (!piece[n])
			break;
		heap_fill(piece[n++]);
	}
	for (i = 0; i < n; i++)
		free(piece[i]);
}

void heap_settle(void)
{
	if (!heap_expected)
		return;
	heap_expected = 0;
	mallopt(M_MMAP_THRESHOLD, HEAP_THRESHOLD);
	mallopt(M_TRIM_THRESHOLD, HEAP_THRESHOLD);
	malloc_trim(HEAP_THRESHOLD);
}

size_t heap_used(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
