// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log of written pages, and the state of the device on its way, as QEMU asks for them.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "tests/lib/qemu.h"

#define LOG_ALL		BIT(26)
#define ALL		(FEATURES | VU_F_PROTOCOL_FEATURES)
#define LOG_SIZE	65536u

static int log_fd;
static uint8_t *bits;

static int setup(void **state)
{
	qemu_setup(state);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	assert_int_equal(ftruncate(log_fd, 2 * LOG_SIZE), 0);
	bits = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, log_fd, LOG_SIZE);
	assert_ptr_not_equal(bits, MAP_FAILED);
	return 0;
}

static int teardown(void **state)
{
	munmap(bits, LOG_SIZE);
	close(log_fd);
	return qemu_teardown(state);
}

/* SET_LOG_BASE has an answer of its own; returns its bytes. */
static int set_log(uint64_t size, uint64_t offset, int fd)
{
	const struct vu_log_base base = { .size = size, .offset = offset };
	uint64_t answer;

	qemu_send(VU_SET_LOG_BASE, 0, &base, sizeof(base), &fd, fd >= 0);
	return qemu_reply(VU_SET_LOG_BASE, &answer, sizeof(answer));
}

/* Is a write of the device to queue 1 in the log? */
static bool is_logged(void)
{
	const uint64_t page = gvq.used_addr / DIRTY_PAGE_SIZE;
	bool set;

	virtq_push(dev.vq[1], 0, 4);
	assert_true(page / 8 < LOG_SIZE);
	set = bits[page / 8] >> page % 8 & 1;
	memset(bits, 0, LOG_SIZE);
	return set;
}

static void test_log(void **state)
{
	struct vu_vring_addr addr;

	qemu_start(1);
	addr = qemu_addr(1);
	addr.flags = VU_VRING_LOG;
	assert_false(is_logged());
	assert_int_equal(set_log(LOG_SIZE, LOG_SIZE, log_fd), 8);
	assert_false(is_logged());
	/* While the queue runs, which goes on as it was. */
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	assert_true(is_logged());
	assert_int_equal(dev.starts, 1);
	assert_int_equal(dev.stops, 0);
	/* Memory that is mapped anew. */
	qemu_set_memory();
	assert_true(is_logged());
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL), 0);
	assert_false(is_logged());
	assert_int_equal(dirty_logs, 0);
}

/* The bit alone, which a guest may have acknowledged, does nothing. */
static void test_bit_of_the_guest(void **state)
{
	qemu_handshake();
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	assert_int_equal(dirty_logs, 0);
	assert_still_serving();
}

/* A running guest's log may have been that of a daemon before this one. */
static void test_bit_without_a_log(void **state)
{
	qemu_start(1);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), EINVAL);
	assert_int_equal(dirty_logs, 0);
	assert_int_equal(set_log(LOG_SIZE, LOG_SIZE, log_fd), 8);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	assert_true(is_logged());
}

/* QEMU is told before it stops the guest, which goes on. */
static void test_cannot_move(void **state)
{
	qemu_start(1);
	assert_int_equal(set_log(LOG_SIZE, LOG_SIZE, log_fd), 8);
	dev.stays = true;
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), EOPNOTSUPP);
	assert_false(is_logged());
	assert_int_equal(dev.stops, 0);
	dev.stays = false;
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	/* While it is on, nobody is asked again. */
	dev.stays = true;
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	assert_true(is_logged());
}

static void test_log_ends_with_the_connection(void **state)
{
	qemu_start(1);
	assert_int_equal(set_log(LOG_SIZE, LOG_SIZE, log_fd), 8);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, ALL | LOG_ALL), 0);
	assert_int_equal(dirty_logs, 1);
	/* A larger one takes its place. */
	assert_int_equal(set_log(2 * LOG_SIZE, 0, log_fd), 8);
	assert_int_equal(dirty_logs, 1);
	qemu_disconnect();
	assert_int_equal(dirty_logs, 0);
	qemu.fd = -1;
}

static void test_bad_logs(void **state)
{
	qemu_handshake();
	assert_int_equal(set_log(LOG_SIZE, 0, -1), 0);
	assert_int_equal(set_log(0, 0, log_fd), 0);
	assert_int_equal(set_log(2 * LOG_SIZE + 1, 0, log_fd), 0);
	assert_int_equal(set_log(LOG_SIZE, LOG_SIZE + 1, log_fd), 0);
	assert_int_equal(set_log(LOG_SIZE, UINT64_MAX - 1, log_fd), 0);
	assert_int_equal(set_log(1ull << 33, 0, log_fd), 0);
	assert_still_serving();
}

/* QEMU's bases, for a queue whose rings were used and that has no object now. */
static void test_base_of_unused_queue(void **state)
{
	qemu_start(1);
	dev.vq[1]->avail->idx = htole16(1000);
	dev.vq[1]->used->idx = htole16(998);
	virtq_restart(dev.vq[1]);
	assert_int_equal(qemu_get_base(1), 1000);
	/* It goes on. */
	qemu_queue(1, 1000);
	qemu_enable(1, true);
	assert_int_equal(dev.resets, 0);
}

/* Answers of SET_DEVICE_STATE_FD and CHECK_DEVICE_STATE. */
static uint64_t set_state(uint32_t direction, uint32_t phase, int fd)
{
	const struct vu_device_state req = { .direction = direction, .phase = phase };
	uint64_t answer;

	qemu_send(VU_SET_DEVICE_STATE_FD, 0, &req, sizeof(req), &fd, fd >= 0);
	assert_int_equal(qemu_reply(VU_SET_DEVICE_STATE_FD, &answer, sizeof(answer)), 8);
	return answer;
}

static uint64_t check_state(void)
{
	return qemu_get_u64(VU_CHECK_DEVICE_STATE);
}

/* More than a pipe holds at once. */
static void test_save(void **state)
{
	static uint8_t got[DEVICE_STATE_SIZE + 1];
	size_t n = 0;
	ssize_t part;
	int fd[2];

	qemu_start(1);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	/* Not while a queue runs. */
	assert_int_equal(set_state(VU_STATE_SAVE, 0, fd[1]), BIT(8) | 1);
	assert_int_equal(qemu_get_base(1), 0);
	assert_int_equal(set_state(VU_STATE_SAVE, 0, fd[1]), BIT(8));
	close(fd[1]);
	/* It has not come through yet. */
	while ((part = read(fd[0], got + n, sizeof(got) - n)) > 0) {
		n += part;
		run();
	}
	assert_int_equal(n, DEVICE_STATE_SIZE);
	assert_int_equal(check_state(), 0);
	/* It was asked about already. */
	assert_int_equal(check_state(), 1);
	close(fd[0]);
	for (n = 0; n < DEVICE_STATE_SIZE; n++)
		assert_int_equal(got[n], (uint8_t)(n * 7));
	/* The guest goes on here all the same. */
	qemu_queue(1, 0);
	assert_int_equal(dev.resets, 0);
}

static void test_save_without_reader(void **state)
{
	int fd[2];

	qemu_handshake();
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(set_state(VU_STATE_SAVE, 0, fd[1]), BIT(8));
	close(fd[1]);
	close(fd[0]);
	run();
	assert_int_equal(check_state(), 1);
	assert_still_serving();
}

static void give(const uint8_t *data, size_t len)
{
	size_t n, part;
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(set_state(VU_STATE_LOAD, 0, fd[0]), BIT(8));
	close(fd[0]);
	for (n = 0; n < len; n += part) {
		part = len - n < 30000 ? len - n : 30000;
		assert_int_equal(write(fd[1], data + n, part), part);
		run();
	}
	close(fd[1]);
}

/* Before features, memory and queues, as QEMU does it. */
static void test_load(void **state)
{
	uint8_t *data = malloc(DEVICE_STATE_SIZE);
	size_t n;

	for (n = 0; n < DEVICE_STATE_SIZE; n++)
		data[n] = n * 7;
	qemu_handshake();
	give(data, DEVICE_STATE_SIZE);
	assert_int_equal(dev.loads, 0);
	assert_int_equal(check_state(), 0);
	assert_int_equal(dev.loads, 1);
	free(data);
	qemu_set_features();
	qemu_set_memory();
	/* Any base will do. */
	qemu_queue(1, 777);
	qemu_enable(1, true);
	assert_int_equal(dev.vq[1]->last_avail, 777);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(dev.features, FEATURES);
}

/* Other features than those of the state: the function was reset. */
static void test_load_and_reset(void **state)
{
	qemu_handshake();
	give((const uint8_t *)"", 1);
	assert_int_equal(check_state(), 0);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, (FEATURES & ~BIT(29)) |
				      VU_F_PROTOCOL_FEATURES), 0);
	assert_int_equal(dev.resets, 1);
}

/* Onto a function that was used: it is reset first. */
static void test_load_again(void **state)
{
	qemu_start(1);
	assert_int_equal(qemu_get_base(1), 0);
	give((const uint8_t *)"", 1);
	assert_int_equal(check_state(), 0);
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.loads, 1);
}

static void test_bad_loads(void **state)
{
	int fd[2];

	qemu_handshake();
	assert_int_equal(check_state(), 1);
	assert_int_equal(set_state(2, 0, log_fd), BIT(8) | 1);
	assert_int_equal(set_state(VU_STATE_LOAD, 1, log_fd), BIT(8) | 1);
	assert_int_equal(set_state(VU_STATE_LOAD, 0, -1), BIT(8) | 1);
	/* A file is none that the loop can wait for. */
	assert_int_equal(set_state(VU_STATE_LOAD, 0, log_fd), BIT(8) | 1);
	/* The device refuses it. */
	give((const uint8_t *)"\xff", 1);
	assert_int_equal(check_state(), 1);
	assert_int_equal(dev.loads, 0);
	/* QEMU asks before it has closed its end. */
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(set_state(VU_STATE_LOAD, 0, fd[0]), BIT(8));
	close(fd[0]);
	assert_int_equal(check_state(), 1);
	close(fd[1]);
	assert_int_equal(dev.loads, 0);
	/* One that is begun and not ended goes with the connection. */
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(set_state(VU_STATE_LOAD, 0, fd[0]), BIT(8));
	close(fd[0]);
	close(fd[1]);
	assert_still_serving();
}

/*
 * The open file is QEMU's, too.  It lets it block again: the call is interrupted, and the
 * transfer has failed.
 */
static void test_pipe_that_blocks(void **state)
{
	int fd[2], flags;

	qemu_handshake();
	assert_int_equal(eventfd_init(), 0);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(set_state(VU_STATE_LOAD, 0, fd[0]), BIT(8));
	flags = fcntl(fd[0], F_GETFL);
	assert_true(flags & O_NONBLOCK);
	assert_int_equal(fcntl(fd[0], F_SETFL, flags & ~O_NONBLOCK), 0);
	assert_int_equal(check_state(), 1);
	close(fd[0]);
	close(fd[1]);
	assert_still_serving();
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_log),
		T(test_bit_of_the_guest),
		T(test_bit_without_a_log),
		T(test_cannot_move),
		T(test_log_ends_with_the_connection),
		T(test_bad_logs),
		T(test_base_of_unused_queue),
		T(test_save),
		T(test_save_without_reader),
		T(test_load),
		T(test_load_and_reset),
		T(test_load_again),
		T(test_bad_loads),
		T(test_pipe_that_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
