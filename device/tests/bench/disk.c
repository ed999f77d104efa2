// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * disk FILE: how fast the daemon's own target is, without a guest's kernel in between.
 *
 * A guest in this process keeps 64 Reads of 4 KiB under way on one I/O queue with direct rings.
 * Prints JSON:
 *   rate_null_read_4096	from a namespace that keeps nothing, in a second of the time that
 *			NICs and target take; the guest's own time is left out
 *   rate_file_read_4096	at random places of FILE, in a second of all time
 *   bare_file_read_4096	the same by io_uring in this process, without guest and target
 *
 * The best of many short runs, which take turns.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "base/util.h"
#include "storage/staging.h"
#include "storage/storage.h"
#include "tests/bench/bare.h"
#include "tests/lib/reader.h"

#define NULL_SIZE	(1ull << 30)
#define READS		8192u
#define RUNS		40u

/* The loop of the tests has pollers only, which is enough for one that never sleeps. */
int loop_fd_add(struct loop *loop, struct loop_fd *lfd, uint32_t events)
{
	return 0;
}

void loop_fd_del(struct loop *loop, struct loop_fd *lfd)
{
}

/* The next place of so many bytes, as far as chance goes. */
static uint64_t next_place(uint64_t size)
{
	static uint32_t x = 1;

	x = x * 1664525 + 1013904223;
	return (uint64_t)(x >> 8) % (size / READER_BYTES) * READER_BYTES;
}

/* Reads in a second, of all time or of @r's alone. */
static double run(struct reader *r, uint64_t size, bool all)
{
	double begin = bench_now(), spent = 0, before;
	unsigned int posted, taken = 0;
	uint16_t slot;

	for (posted = 0; posted < READER_DEPTH; posted++)
		reader_read(r, posted, next_place(size));
	while (taken < READS) {
		before = bench_now();
		reader_poll(r);
		spent += bench_now() - before;
		while (reader_take(r, &slot)) {
			taken++;
			if (posted++ < READS)
				reader_read(r, slot, next_place(size));
		}
	}
	return READS / (all ? bench_now() - begin : spent);
}

static void bare_post(struct io_uring *ring, int fd, unsigned int slot, uint8_t *buf,
		      uint64_t size)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, fd, buf + slot * READER_BYTES, READER_BYTES, next_place(size));
	io_uring_sqe_set_data64(sqe, slot);
}

static double bare_run(struct io_uring *ring, int fd, uint8_t *buf, uint64_t size)
{
	const double begin = bench_now();
	unsigned int posted, taken = 0;
	struct io_uring_cqe *cqe;

	for (posted = 0; posted < READER_DEPTH; posted++)
		bare_post(ring, fd, posted, buf, size);
	while (taken < READS) {
		io_uring_submit_and_wait(ring, 1);
		while (!io_uring_peek_cqe(ring, &cqe)) {
			assert_int_equal(cqe->res, READER_BYTES);
			if (posted++ < READS)
				bare_post(ring, fd, io_uring_cqe_get_data64(cqe), buf, size);
			io_uring_cqe_seen(ring, cqe);
			taken++;
		}
	}
	return READS / (bench_now() - begin);
}

static int bare_open(const char *path, struct io_uring *ring, uint64_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	struct stat st;

	if (fd < 0 && errno == EINVAL)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	*size = st.st_size;
	assert_int_equal(io_uring_queue_init(2 * READER_DEPTH, ring, 0), 0);
	return fd;
}

static double better(double a, double b)
{
	return a > b ? a : b;
}

int main(int argc, char **argv)
{
	struct staging *staging = staging_new(STAGING_DEFAULT);
	struct nvmf_pool pool = {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = staging,
		.size = STAGING_DEFAULT,
	};
	double null_rate = 0, file_rate = 0, bare_rate = 0;
	static struct reader null_reader, file_reader;
	struct storage *storage = storage_new(staging);
	void *null_state = NULL, *file_state = NULL;
	struct io_uring ring;
	char text[4096];
	uint64_t size;
	unsigned int i;
	struct ns ns;
	int fd;

	if (argc != 2)
		return 2;
	snprintf(text, sizeof(text), "disk=file:%s,ro", argv[1]);
	assert_int_equal(storage_add(storage, text), 0);
	assert_int_equal(storage_start(storage, NULL), 0);
	fd = bare_open(argv[1], &ring, &size);
	ns_null(&ns, "null", NULL_SIZE, false);
	assert_int_equal(bed_setup(&null_state), 0);
	reader_open(&null_reader, &null_state, &ns, &pool, staging_base(staging));
	assert_int_equal(bed_setup(&file_state), 0);
	reader_open(&file_reader, &file_state, storage_find(storage, "disk"), &pool,
		    staging_base(staging));
	assert_int_equal(storage_attach(storage, file_reader.bed->engine->loop), 0);
	for (i = 0; i < RUNS; i++) {
		null_rate = better(null_rate, run(&null_reader, NULL_SIZE, false));
		file_rate = better(file_rate, run(&file_reader, size, true));
		bare_rate = better(bare_rate, bare_run(&ring, fd, staging_base(staging), size));
	}
	printf("{\n  \"rate_null_read_4096\": %.3f,\n  \"rate_file_read_4096\": %.3f,\n"
	       "  \"bare_file_read_4096\": %.3f\n}\n", null_rate, file_rate, bare_rate);
	storage_free(storage);
	return 0;
}
