// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Operations of MPI programs whose results are known: a ring, an exchange of all with
 * all, a sum, and puts into each other's memory.
 *
 * mpi [--wrong] [--one-sided | --accumulate] SIZE...
 *
 * SIZEs are lengths of messages in bytes.  With --one-sided the program uses puts and
 * gets, with --accumulate it multiplies and counts a few numbers for each SIZE, else it
 * uses messages.  The first rank's last line is "good" if every rank got the right data; a
 * rank that did not says what was wrong and aborts all.  With --wrong the last rank sends
 * one wrong byte, which has to end so.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, wrong;

/* The byte that rank "from" sends to rank "to" in a round, at an offset. */
static unsigned char content(int from, int to, int round, size_t offset)
{
	return 31 * from + 17 * to + 7 * round + offset + (offset >> 8);
}

static void fill(unsigned char *data, size_t size, int from, int to, int round)
{
	size_t i;

	for (i = 0; i < size; i++)
		data[i] = content(from, to, round, i);
	if (wrong && rank == ranks - 1)
		data[size / 2] ^= 1;
}

static void compare(const char *what, const unsigned char *data, size_t size, int from,
		    int to, int round)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (data[i] == content(from, to, round, i))
			continue;
		printf("rank %d: %s: size %zu, from %d: byte %zu is wrong\n", rank, what,
		       size, from, i);
		fflush(stdout);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return memory;
}

/* A message that each rank passes on goes all the way round. */
static void ring(size_t size)
{
	int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks, round;
	unsigned char *out = allocate(size), *in = allocate(size);

	fill(out, size, rank, 0, 0);
	for (round = 1; round <= ranks; round++) {
		MPI_Sendrecv(out, size, MPI_BYTE, next, round, in, size, MPI_BYTE, previous,
			     round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		compare("ring", in, size, (rank + ranks - round) % ranks, 0, 0);
		memcpy(out, in, size);
	}
	free(out);
	free(in);
}

static void all_to_all(size_t size)
{
	unsigned char *out = allocate(size * ranks), *in = allocate(size * ranks);
	int round, peer;

	for (round = 0; round < 3; round++) {
		for (peer = 0; peer < ranks; peer++)
			fill(out + peer * size, size, rank, peer, round);
		memset(in, 0, size * ranks);
		MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, MPI_COMM_WORLD);
		for (peer = 0; peer < ranks; peer++)
			compare("alltoall", in + peer * size, size, peer, rank, round);
	}
	free(out);
	free(in);
}

static void sum(void)
{
	long mine = rank + 1, total = 0;

	MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (total != (long)ranks * (ranks + 1) / 2) {
		printf("rank %d: sum: %ld is wrong\n", rank, total);
		fflush(stdout);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* Each rank puts a part into the memory of every rank, and gets it back from there. */
static void one_sided(size_t size)
{
	unsigned char *out = allocate(size), *in = allocate(size), *window;
	MPI_Win win;
	int peer;

	MPI_Win_allocate(size * ranks, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (peer = 0; peer < ranks; peer++) {
		fill(out, size, rank, peer, 1);
		MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
		MPI_Put(out, size, MPI_BYTE, peer, rank * size, size, MPI_BYTE, win);
		MPI_Win_flush(peer, win);
		MPI_Get(in, size, MPI_BYTE, peer, rank * size, size, MPI_BYTE, win);
		MPI_Win_unlock(peer, win);
		compare("get", in, size, rank, peer, 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	for (peer = 0; peer < ranks; peer++)
		compare("put", window + peer * size, size, peer, rank, 1);
	MPI_Win_unlock(rank, win);
	MPI_Win_free(&win);
	free(out);
	free(in);
}

#define NUMBERS 5

/* Each rank multiplies numbers of every rank, which takes a lock, a get, a put and fences. */
static void accumulate(size_t size)
{
	double two[NUMBERS], *numbers;
	MPI_Win win;
	int peer, i;

	(void)size;
	MPI_Win_allocate(sizeof(two), sizeof(*numbers), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &numbers, &win);
	for (i = 0; i < NUMBERS; i++) {
		two[i] = 2;
		numbers[i] = i;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (peer = 0; peer < ranks; peer++) {
		MPI_Accumulate(two, NUMBERS, MPI_DOUBLE, peer, 0, NUMBERS, MPI_DOUBLE, MPI_PROD,
			       win);
		MPI_Win_flush(peer, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	for (i = 0; i < NUMBERS; i++) {
		if (numbers[i] != (double)i * (1 << ranks)) {
			printf("rank %d: number %d is %g\n", rank, i, numbers[i]);
			fflush(stdout);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	MPI_Win_unlock(rank, win);
	MPI_Win_free(&win);
}

static void check_number(const char *what, long found, long expected)
{
	if (found == expected)
		return;
	printf("rank %d: %s: %ld, and not %ld\n", rank, what, found, expected);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/*
 * Each rank counts in the memory of every rank, by an atomic operation that returns the old
 * number, and then puts its own number into the memory of the next one, between two fences.
 */
static void count(size_t size)
{
	long one = 1, mine = rank, old, *number;
	MPI_Win win;
	int peer;

	(void)size;
	MPI_Win_allocate(sizeof(*number), sizeof(*number), MPI_INFO_NULL, MPI_COMM_WORLD, &number,
			 &win);
	*number = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (peer = 0; peer < ranks; peer++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, peer, 0, MPI_SUM, win);
		MPI_Win_flush(peer, win);
		if (old < 0 || old >= ranks)
			check_number("number before", old, 0);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_fence(0, win);
	check_number("ranks that counted", *number, ranks);
	MPI_Win_fence(0, win);
	MPI_Put(&mine, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, win);
	MPI_Win_fence(0, win);
	check_number("number put", *number, (rank + ranks - 1) % ranks);
	MPI_Win_free(&win);
}

static void accumulate_and_count(size_t size)
{
	accumulate(size);
	count(size);
}

int main(int argc, char **argv)
{
	void (*one_sided_test)(size_t size) = NULL;
	char host[MPI_MAX_PROCESSOR_NAME];
	int length, i = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Get_processor_name(host, &length);
	printf("rank %d of %d on %s\n", rank, ranks, host);
	fflush(stdout);

	if (i < argc && !strcmp(argv[i], "--wrong"))
		wrong = i++;
	if (i < argc && !strcmp(argv[i], "--one-sided"))
		one_sided_test = one_sided;
	if (i < argc && !strcmp(argv[i], "--accumulate"))
		one_sided_test = accumulate_and_count;
	for (i += !!one_sided_test; i < argc; i++) {
		size_t size = strtoul(argv[i], NULL, 0);

		if (one_sided_test) {
			one_sided_test(size);
			continue;
		}
		ring(size);
		all_to_all(size);
	}
	sum();
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("good\n");
	MPI_Finalize();
	return 0;
}
