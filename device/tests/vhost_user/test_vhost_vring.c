// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: queues, memory, reset.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/util.h"
#include "tests/lib/idle.h"
#include "tests/lib/qemu.h"

/* The round of the loop between events: the device looks at its queue. */
static bool device_poll(void *arg)
{
	static struct virtq_elem elem;

	return dev.vq[0] && virtq_pop(dev.vq[0], &elem) > 0;
}

static bool device_sleep(void *arg)
{
	return dev.vq[0] && virtq_want_kick(dev.vq[0], true);
}

static void device_wake(void *arg)
{
}

/* ------------------------------------------------------------------------- */
/* Queues                                                                    */
/* ------------------------------------------------------------------------- */

static void test_queue_out_of_range(void **state)
{
	static const uint32_t bad[] = { 1024, 0x10000, UINT32_MAX };
	struct vu_vring_addr addr;
	unsigned int i;

	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	for (i = 0; i < 3; i++) {
		addr = qemu_addr(bad[i]);
		assert_int_not_equal(qemu_ask_state(VU_SET_VRING_NUM, bad[i],
						    NUM), 0);
		assert_int_not_equal(qemu_ask_state(VU_SET_VRING_BASE, bad[i],
						    0), 0);
		assert_int_not_equal(qemu_ask_state(VU_SET_VRING_ENABLE, bad[i],
						    1), 0);
		assert_int_not_equal(qemu_ask_addr(&addr), 0);
		assert_int_equal(qemu_get_base(bad[i]), -1);
	}
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_CALL, 0x200, qemu.call),
			     0);
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_CALL, 1ULL << 32,
					 qemu.call), 0);
	assert_still_serving();
}

static void test_out_of_order(void **state)
{
	struct vu_vring_addr addr = qemu_addr(0);

	qemu_handshake();
	/* A kick before the addresses. */
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, qemu.kick), 0);
	/* Addresses before the size. */
	qemu_set_memory();
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, NUM), 0);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	/* Another size: it is not known whether the rings still fit into memory. */
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, 2 * NUM), 0);
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, qemu.kick), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, NUM), 0);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, qemu.kick), 0);
	/* No features yet. */
	qemu_enable(0, true);
	assert_int_equal(dev.starts, 0);
}

static void test_addr_before_memory(void **state)
{
	struct vu_vring_addr addr = qemu_addr(0);

	qemu_handshake();
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, NUM), 0);
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	assert_still_serving();
}

static void test_while_started(void **state)
{
	qemu_start(0);
	assert_int_not_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, 2), 0);
	assert_int_not_equal(qemu_ask_state(VU_SET_VRING_BASE, 0, 5), 0);
	assert_int_not_equal(qemu_ask_u64(VU_SET_FEATURES, BIT(32)), 0);
	/* The same features again change nothing. */
	qemu_set_features();
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.features, FEATURES);
	assert_int_equal(dev.stops, 0);
}

static void test_features_refused(void **state)
{
	qemu_handshake();
	assert_int_not_equal(qemu_ask_u64(VU_SET_FEATURES, BIT(40)), 0);
	qemu_set_memory();
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_int_equal(dev.starts, 0);
}

static void test_num_bad(void **state)
{
	static const uint32_t bad[] = { 0, 3, 1023, 2048, 65536, UINT32_MAX };
	unsigned int i;

	qemu_handshake();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_not_equal(qemu_ask_state(VU_SET_VRING_NUM, 0,
						    bad[i]), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, 1), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, 1024), 0);
	assert_int_not_equal(qemu_ask_state(VU_SET_VRING_BASE, 0, 65536), 0);
	assert_int_equal(qemu_ask_state(VU_SET_VRING_BASE, 0, 65535), 0);
}

static void test_addr_bad(void **state)
{
	const uint64_t end = USER_BASE + MEM_SIZE;
	struct vu_vring_addr addr;

	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 0, NUM), 0);

	/* Each part up to the end of memory, then one step further. */
	addr = qemu_addr(0);
	addr.desc = end - 16 * NUM;
	assert_int_equal(qemu_ask_addr(&addr), 0);
	addr.desc += 16;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	addr = qemu_addr(0);
	addr.avail = end - (6 + 2 * NUM);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	addr.avail += 2;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	addr = qemu_addr(0);
	addr.used = end - (8 + 8 * NUM);
	assert_int_equal(qemu_ask_addr(&addr), 0);
	addr.used += 4;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);

	addr = qemu_addr(0);
	addr.desc = USER_BASE - 16;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	addr.desc = UINT64_MAX - 15;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	/* The guest's own addresses mean nothing here. */
	addr.desc = gvq.desc_addr;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	/* A flag that does not exist. */
	addr = qemu_addr(0);
	addr.flags = 2;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
}

static void test_addr_misaligned(void **state)
{
	struct vu_vring_addr addr = qemu_addr(0);

	qemu_start(0);
	addr.used += 2;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	addr.used -= 2;
	addr.avail += 1;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	addr.avail -= 1;
	addr.desc += 8;
	assert_int_not_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(dev.stops, 0);
	addr.desc -= 8;
	/* The same once more changes nothing. */
	assert_int_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(dev.starts, 1);
}

static void test_new_addr_while_started(void **state)
{
	struct vu_vring_addr addr = qemu_addr(0);

	qemu_start(0);
	dev.vq[0]->last_avail = 9;
	addr.desc = USER_BASE + MEM_SIZE / 2;
	assert_int_equal(qemu_ask_addr(&addr), 0);
	assert_int_equal(dev.starts, 2);
	assert_int_equal(dev.vq[0]->last_avail, 9);
	assert_ptr_equal(dev.vq[0]->desc,
			 dev.mem->region[0].host + MEM_SIZE / 2);
}

static void test_kick_bad(void **state)
{
	int file = open("/proc/self/exe", O_RDONLY);

	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 0);
	/* A file that cannot be waited for. */
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, file), 0);
	/* A queue without a doorbell would have to be polled for ever. */
	assert_int_not_equal(qemu_ask_fd(VU_SET_VRING_KICK, VU_VRING_NOFD, -1),
			     0);
	close(file);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, qemu.kick), 0);
	qemu_enable(0, true);
	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[0], 1);
}

/* A doorbell whose other end is closed must not keep the loop busy. */
/* QEMU makes it block, and takes the kick away that epoll has seen. */
static void test_kick_that_blocks(void **state)
{
	qemu_start(0);
	assert_int_equal(fcntl(qemu.kick, F_SETFL, 0), 0);
	eventfd_write(qemu.kick, 1);
	vu->vring[0].kick.fn(vu->vring[0].kick.arg, EPOLLIN);
	assert_int_equal(dev.kicks[0], 1);
	alarm(10);
	vu->vring[0].kick.fn(vu->vring[0].kick.arg, EPOLLIN);
	alarm(0);
	assert_int_equal(dev.kicks[0], 1);
	/* The doorbell is still one. */
	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[0], 2);
}

/* QEMU makes it block, too, after it has filled it: the only thread does not wait. */
static void test_call_that_blocks(void **state)
{
	struct virtq *vq;
	uint64_t count;

	assert_int_equal(eventfd_init(), 0);
	qemu_start(0);
	vq = dev.vq[0];
	assert_int_equal(eventfd_write(qemu.call, UINT64_MAX - 1), 0);
	assert_int_equal(fcntl(qemu.call, F_SETFL, 0), 0);
	alarm(10);
	vq->call(vq);
	vq->call(vq);
	alarm(0);
	assert_int_equal(vu->vring[0].call, -1);
	assert_int_equal(eventfd_read(qemu.call, &count), 0);
	assert_int_equal(count, UINT64_MAX - 1);
	/* The doorbell still works, and the next eventfd does, too. */
	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[0], 1);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, 0, qemu.call), 0);
	vq->call(vq);
	assert_int_equal(event_count(qemu.call), 1);
}

static void test_kick_hangs_up(void **state)
{
	int pipefd[2];

	assert_int_equal(pipe(pipefd), 0);
	qemu_start(0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_KICK, 0, pipefd[0]), 0);
	assert_int_equal(write(pipefd[1], "12345678", 8), 8);
	run();
	assert_int_equal(dev.kicks[0], 1);
	close(pipefd[1]);
	run();
	assert_null(dev.vq[0]);
	assert_int_equal(vu->vring[0].kick.fd, -1);
	close(pipefd[0]);
	assert_still_serving();
}

static void test_broken_queue_signals_error(void **state)
{
	int err = eventfd(0, EFD_NONBLOCK);
	static struct virtq_elem elem;

	qemu_start(0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_ERR, 0, err), 0);
	gvq.avail->idx = NUM + 1;
	assert_int_equal(virtq_pop(dev.vq[0], &elem), -EPROTO);
	assert_int_equal(event_count(err), 1);
	virtq_pop(dev.vq[0], &elem);
	assert_int_equal(event_count(err), 0);
	close(err);
}

/* ------------------------------------------------------------------------- */
/* Stopping, pausing, reset                                                  */
/* ------------------------------------------------------------------------- */

static void test_get_base(void **state)
{
	qemu_start(0);
	dev.vq[0]->last_avail = 0xfff0;
	assert_int_equal(qemu_get_base(0), 0xfff0);
	assert_null(dev.vq[0]);
	/* It stays stopped until there is a new doorbell. */
	qemu_enable(0, false);
	qemu_enable(0, true);
	assert_null(dev.vq[0]);
	assert_int_equal(qemu_get_base(0), 0xfff0);
	assert_int_equal(qemu_get_base(77), 0);
}

/* As QEMU stops the device: all queues disabled, then each one's base. */
static void qemu_stop(uint32_t index, int base)
{
	qemu_enable(index, false);
	assert_int_equal(qemu_get_base(index), base);
}

static void test_pause_is_no_reset(void **state)
{
	qemu_start(0);
	dev.vq[0]->last_avail = 5;
	qemu_stop(0, 5);
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 5);
	qemu_enable(0, true);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(dev.vq[0]->last_avail, 5);
}

static void test_other_base_is_reset(void **state)
{
	qemu_start(0);
	dev.vq[0]->last_avail = 5;
	qemu_stop(0, 5);
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 0);
	assert_int_equal(dev.resets, 1);
	qemu_enable(0, true);
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.features, FEATURES);
	assert_int_equal(dev.vq[0]->last_avail, 0);
	/* The same once more. */
	qemu_stop(0, 0);
	qemu_set_features();
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_int_equal(dev.resets, 1);
}

/* Two queues start anew, but this counts as one reset. */
static void test_other_bases_are_one_reset(void **state)
{
	qemu_start(0);
	qemu_queue(1, 0);
	qemu_enable(1, true);
	dev.vq[0]->last_avail = 4;
	dev.vq[1]->last_avail = 5;
	qemu_stop(0, 4);
	qemu_stop(1, 5);
	qemu_queue(0, 0);
	qemu_queue(1, 0);
	qemu_enable(0, true);
	qemu_enable(1, true);
	assert_int_equal(dev.resets, 1);
}

/* Only the second queue shows the reset, when the first one already runs again. */
static void test_reset_noticed_late(void **state)
{
	qemu_start(0);
	qemu_queue(1, 0);
	qemu_enable(1, true);
	dev.vq[1]->last_avail = 5;
	qemu_enable(0, false);
	qemu_enable(1, false);
	qemu_get_base(0);
	qemu_get_base(1);
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_int_equal(dev.resets, 0);
	qemu_queue(1, 0);
	assert_int_equal(dev.resets, 1);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.features, FEATURES);
}

static void test_other_features_is_reset(void **state)
{
	qemu_start(0);
	qemu_stop(0, 0);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, BIT(32) |
				      VU_F_PROTOCOL_FEATURES), 0);
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.features, BIT(32));
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_false(dev.vq[0]->event_idx);
}

/*
 * A front-end that connects to another process has queues that are in use.  A lost interrupt is
 * made up for.  A process knows the queues that it has served itself.
 */
static void test_inherited(void **state)
{
	unsigned int i;

	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 5);
	assert_int_equal(event_count(qemu.call), 0);
	qemu_enable(0, true);
	assert_true(dev.vq[0]->inherited);
	assert_int_equal(event_count(qemu.call), 1);
	/* QEMU sets another one when the queue has started. */
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, 0, qemu.call), 0);
	assert_int_equal(event_count(qemu.call), 1);
	qemu_queue(1, 0);
	qemu_enable(1, true);
	assert_false(dev.vq[1]->inherited);
	for (i = 0; i < 2; i++) {
		qemu_stop(0, 5);
		/* The second time after a reset. */
		if (i)
			assert_int_equal(qemu_ask(VU_RESET_DEVICE, "", 0, NULL, 0), 0);
		qemu_set_features();
		qemu_queue(0, 5);
		qemu_enable(0, true);
		assert_false(dev.vq[0]->inherited);
		assert_int_equal(event_count(qemu.call), 0);
	}
	/* The next connection is unknown again. */
	qemu_disconnect();
	qemu_connect();
	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 5);
	qemu_enable(0, true);
	assert_true(dev.vq[0]->inherited);
	assert_int_equal(event_count(qemu.call), 1);
}

static void test_reset_requests(void **state)
{
	qemu_start(0);
	assert_int_equal(qemu_ask(VU_RESET_OWNER, "", 0, NULL, 0), 0);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.resets, 0);

	dev.vq[0]->last_avail = 3;
	assert_int_equal(qemu_ask(VU_RESET_DEVICE, "", 0, NULL, 0), 0);
	assert_null(dev.vq[0]);
	assert_int_equal(dev.resets, 1);
	qemu_set_features();
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.resets, 1);
}

/* ------------------------------------------------------------------------- */
/* Memory                                                                    */
/* ------------------------------------------------------------------------- */

static void test_memory_bad(void **state)
{
	const struct vu_memory_region good = qemu_memory().region[0];
	struct vu_memory memory = { .n = 1 };
	int fd[2] = { guest.fd, guest.fd }, pipefd[2];

	qemu_handshake();
	memory.region[0] = good;
	memory.region[0].size = 0;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);
	memory.region[0].size = MEM_SIZE + 1;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);
	memory.region[0] = good;
	memory.region[0].offset = 4096;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);
	memory.region[0].offset = UINT64_MAX - 4095;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);
	memory.region[0] = good;
	memory.region[0].guest_addr = UINT64_MAX - 4095;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);
	memory.region[0] = good;
	memory.region[0].user_addr = UINT64_MAX - 4095;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 1), 0);

	/* Not a file of memory. */
	memory.region[0] = good;
	assert_int_equal(pipe(pipefd), 0);
	assert_int_not_equal(qemu_ask_memory(&memory, pipefd, 1), 0);
	close(pipefd[0]);
	close(pipefd[1]);

	/* Overlaps in the guest, then in QEMU. */
	memory.n = 2;
	memory.region[1] = good;
	memory.region[1].user_addr += MEM_SIZE;
	memory.region[1].guest_addr += MEM_SIZE - 1;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 2), 0);
	memory.region[1] = good;
	memory.region[1].user_addr -= MEM_SIZE - 1;
	memory.region[1].guest_addr -= MEM_SIZE;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 2), 0);
	assert_int_equal(dev.mem_changes, 0);

	memory.region[1].user_addr -= 1;
	assert_int_equal(qemu_ask_memory(&memory, fd, 2), 0);
	assert_int_equal(dev.mem->n, 2);
	assert_int_equal(dev.mem->region[0].addr, GUEST_BASE - MEM_SIZE);
	assert_int_equal(dev.mem->region[1].addr, GUEST_BASE);
}

static void test_memory_number_bad(void **state)
{
	struct vu_memory memory = qemu_memory();
	int fd[8] = { guest.fd };
	unsigned int i;

	qemu_handshake();
	for (i = 1; i < 8; i++)
		fd[i] = guest.fd;
	memory.n = 9;
	assert_int_not_equal(qemu_ask(VU_SET_MEM_TABLE, &memory,
				      sizeof(memory), fd, 8), 0);
	memory.n = UINT32_MAX;
	assert_int_not_equal(qemu_ask(VU_SET_MEM_TABLE, &memory,
				      sizeof(memory), fd, 8), 0);
	memory.n = 2;
	assert_int_not_equal(qemu_ask(VU_SET_MEM_TABLE, &memory,
				      offsetof(struct vu_memory, region[1]),
				      fd, 2), 0);
	assert_int_not_equal(qemu_ask(VU_SET_MEM_TABLE, &memory,
				      offsetof(struct vu_memory, region[3]),
				      fd, 2), 0);
	assert_int_equal(dev.mem_changes, 0);
	assert_still_serving();
}

/* An offset in the middle of a page: no front-end sends this, but one may. */
static void test_memory_offset(void **state)
{
	struct vu_memory memory = qemu_memory();

	qemu_handshake();
	memory.region[0].offset = 0x12345;
	memory.region[0].size = 0x1000;
	assert_int_equal(qemu_ask_memory(&memory, &guest.fd, 1), 0);
	guest.host[0x12345] = 0x99;
	guest.host[0x12345 + 0xfff] = 0x98;
	assert_int_equal(dev.mem->region[0].host[0], 0x99);
	assert_int_equal(dev.mem->region[0].host[0xfff], 0x98);
}

static bool has_maps(void *arg)
{
	return guest_maps() == *(unsigned int *)arg;
}

/* Memory that is not used any more is unmapped bit by bit. */
static void assert_maps(unsigned int maps)
{
	assert_true(run_until(loop, has_maps, &maps));
}

static void test_memory_replaced(void **state)
{
	unsigned int maps = guest_maps();
	const void *desc;

	qemu_start(0);
	dev.vq[0]->last_avail = 2;
	desc = dev.vq[0]->desc;
	qemu_set_memory();
	assert_int_equal(dev.mem_changes, 2);
	assert_int_equal(dev.stops, 0);
	assert_int_equal(dev.vq[0]->last_avail, 2);
	assert_ptr_equal(dev.vq[0]->mem, dev.mem);
	assert_ptr_not_equal(dev.vq[0]->desc, desc);
	gvq.desc[1].addr = 0x4711;
	assert_int_equal(dev.vq[0]->desc[1].addr, 0x4711);
	gvq.avail->idx = 12;
	assert_int_equal(dev.vq[0]->avail->idx, 12);
	dev.vq[0]->used->idx = 13;
	assert_int_equal(gvq.used->idx, 13);
	assert_maps(maps + 1);
}

static void test_memory_replaced_without_the_rings(void **state)
{
	struct vu_memory memory = qemu_memory();
	int err = eventfd(0, EFD_NONBLOCK);
	unsigned int maps = guest_maps();

	qemu_start(0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_ERR, 0, err), 0);
	memory.region[0].user_addr += MEM_SIZE;
	assert_int_equal(qemu_ask_memory(&memory, &guest.fd, 1), 0);
	assert_null(dev.vq[0]);
	assert_int_equal(event_count(err), 1);
	assert_maps(maps + 1);
	/* Its doorbell has no effect. */
	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[0], 0);

	/* No memory at all. */
	memory.n = 0;
	assert_int_equal(qemu_ask_memory(&memory, NULL, 0), 0);
	assert_int_equal(dev.mem->n, 0);
	assert_maps(maps);
	close(err);
}

/* The rings are in memory, but at an address that is not aligned. */
static void test_memory_replaced_misaligned(void **state)
{
	struct vu_memory memory = qemu_memory();

	qemu_start(0);
	memory.region[0].offset = 1;
	memory.region[0].size = MEM_SIZE - 1;
	assert_int_equal(qemu_ask_memory(&memory, &guest.fd, 1), 0);
	assert_null(dev.vq[0]);
	assert_still_serving();
}

static void test_bad_memory_keeps_the_old(void **state)
{
	struct vu_memory memory = qemu_memory();
	const void *desc;

	qemu_start(0);
	desc = dev.vq[0]->desc;
	memory.region[0].size++;
	assert_int_not_equal(qemu_ask_memory(&memory, &guest.fd, 1), 0);
	assert_ptr_equal(dev.vq[0]->desc, desc);
	assert_int_equal(dev.mem_changes, 1);
	gvq.avail->idx = 1;
	assert_int_equal(dev.vq[0]->avail->idx, 1);
}

/* ------------------------------------------------------------------------- */
/* Many queues                                                               */
/* ------------------------------------------------------------------------- */

/*
 * The messages of QEMU for @n queues, of which every @step-th is set up: CALL and ERR
 * for all of them when it connects; NUM, BASE, ADDR, KICK and CALL when the
 * driver is ready; CALL for all of them once more.
 */
static void numbers(unsigned int n, unsigned int step)
{
	struct vhost_user *v = calloc(1, sizeof(*v));
	static unsigned int call[VHOST_USER_QUEUES_MAX];
	unsigned int i;

	v->cursor = -1;
	v->run = true;
	for (i = 0; i < n; i++) {
		assert_ptr_equal(vu_vring_u8(v, i), &v->vring[i]);
		assert_ptr_equal(vu_vring_u8(v, i), &v->vring[i]);
	}
	for (i = 0; i < n; i += step) {
		assert_ptr_equal(vu_vring_u32(v, i), &v->vring[i]);
		assert_ptr_equal(vu_vring_u8(v, i), &v->vring[i]);
		call[i] = vu_vring_u8(v, i) - v->vring;
	}
	for (i = 0; i < n; i++)
		call[vu_vring_u8(v, i) - v->vring] = i;
	for (i = 0; i < n; i++)
		assert_int_equal(call[i], i);
	free(v);
}

static void test_queue_numbers(void **state)
{
	static const unsigned int n[] = {
		1, 3, 131, 255, 256, 257, 258, 300, 511, 512, 513, 1000, 1023,
		1024,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(n); i++) {
		numbers(n[i], 1);
		numbers(n[i], 3);
		numbers(n[i], 1000);
	}
}

/* The same with descriptors: each doorbell and interrupt belongs to its queue. */
static void test_300_queues(void **state)
{
	enum { N = 300 };
	struct rlimit limit;
	int kick[N], call[N];
	unsigned int i;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);

	close(qemu.kick);
	close(qemu.call);
	qemu_handshake();
	qemu_set_features();
	qemu_set_memory();
	for (i = 0; i < N; i++) {
		kick[i] = eventfd(0, EFD_NONBLOCK);
		call[i] = eventfd(0, EFD_NONBLOCK);
		qemu.kick = kick[i];
		qemu.call = call[i];
		assert_true(call[i] >= 0);
		qemu_queue(i, 0);
	}
	for (i = 0; i < N; i++)
		qemu_enable(i, true);
	for (i = 0; i < N; i++)
		assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, i & 0xff,
					     call[i]), 0);
	for (i = 0; i < N; i++)
		eventfd_write(kick[i], 1);
	for (i = 0; i < 50; i++)
		run();
	for (i = 0; i < N; i++) {
		assert_int_equal(dev.kicks[i], 1);
		dev.vq[i]->call(dev.vq[i]);
		assert_int_equal(event_count(call[i]), 1);
	}
	/* The last pair is closed by teardown. */
	for (i = 0; i < N - 1; i++) {
		close(kick[i]);
		close(call[i]);
	}
}

/*
 * QEMU truncates the file of the guest's memory while the device uses it: the
 * connection ends, and nothing else.
 */
static void test_memory_truncated(void **state)
{
	struct loop_poller poller = {
		.poll = device_poll,
		.sleep = device_sleep,
		.wake = device_wake,
	};
	struct guest_buf buf = { .addr = GUEST_BASE, .len = 16 };
	char c;

	assert_int_equal(mem_guard_init(), 0);
	qemu_start(0);
	loop_poller_add(loop, &poller);
	guest_vq_add(&gvq, &buf, 1);
	assert_int_equal(ftruncate(guest.fd, 0), 0);
	eventfd_write(qemu.kick, 1);
	run();
	assert_false(vhost_user_connected(vu));
	assert_null(dev.vq[0]);
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.mem->n, 0);
	assert_int_equal(recv(qemu.fd, &c, 1, MSG_DONTWAIT), 0);
	close(qemu.fd);

	/* The next front-end is served. */
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE), 0);
	guest_vq_init(&gvq, &guest, NUM);
	qemu_connect();
	qemu_start(0);
	run();
	assert_still_serving();
	loop_poller_del(loop, &poller);
}

/* A message that waits is not carried out with memory that is lost. */
static void test_memory_truncated_in_a_request(void **state)
{
	const struct vu_memory memory = qemu_memory();
	struct wire_msg msg = {
		.hdr = {
			.request = VU_SET_MEM_TABLE,
			.flags = VU_FLAGS_VERSION,
			.size = offsetof(struct vu_memory, region[1]),
		},
	};
	uint8_t byte = 1;
	unsigned int changes;

	assert_int_equal(mem_guard_init(), 0);
	qemu_start(0);
	changes = dev.mem_changes;
	memcpy(msg.payload, &memory, msg.hdr.size);
	qemu_send_raw(&msg, sizeof(msg.hdr) + msg.hdr.size, &guest.fd, 1);
	assert_int_equal(ftruncate(guest.fd, 0), 0);
	guest_mem_read_once(&byte, dev.mem->region[0].host, 1);
	assert_int_equal(byte, 0);
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE), 0);
	run();
	assert_false(vhost_user_connected(vu));
	/* One change: the end of the connection. */
	assert_int_equal(dev.mem_changes, changes + 1);
	close(qemu.fd);
	qemu.fd = -1;
}

static int sealed_fd(unsigned int seals)
{
	int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, MEM_SIZE), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* The operator is told of memory that can shrink, once. */
static void test_memory_unsealed(void **state)
{
	struct vu_memory memory = qemu_memory();
	int sealed = sealed_fd(F_SEAL_SHRINK | F_SEAL_GROW);
	int grows = sealed_fd(F_SEAL_GROW);

	qemu_handshake();
	assert_int_equal(qemu_ask_memory(&memory, &sealed, 1), 0);
	assert_true(vu_mem_sealed(vu->mem));
	assert_false(vu->warned);
	assert_int_equal(qemu_ask_memory(&memory, &grows, 1), 0);
	assert_false(vu_mem_sealed(vu->mem));
	assert_true(vu->warned);
	qemu_disconnect();
	qemu.fd = -1;
	assert_false(vu->warned);
	close(sealed);
	close(grows);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, qemu_setup, qemu_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_queue_out_of_range),
		TEST(test_out_of_order),
		TEST(test_addr_before_memory),
		TEST(test_while_started),
		TEST(test_features_refused),
		TEST(test_num_bad),
		TEST(test_addr_bad),
		TEST(test_addr_misaligned),
		TEST(test_new_addr_while_started),
		TEST(test_kick_bad),
		TEST(test_kick_that_blocks),
		TEST(test_call_that_blocks),
		TEST(test_kick_hangs_up),
		TEST(test_broken_queue_signals_error),
		TEST(test_get_base),
		TEST(test_pause_is_no_reset),
		TEST(test_other_base_is_reset),
		TEST(test_other_bases_are_one_reset),
		TEST(test_reset_noticed_late),
		TEST(test_other_features_is_reset),
		TEST(test_inherited),
		TEST(test_reset_requests),
		TEST(test_memory_bad),
		TEST(test_memory_number_bad),
		TEST(test_memory_offset),
		TEST(test_memory_replaced),
		TEST(test_memory_replaced_without_the_rings),
		TEST(test_memory_replaced_misaligned),
		TEST(test_bad_memory_keeps_the_old),
		TEST(test_memory_truncated),
		TEST(test_memory_truncated_in_a_request),
		TEST(test_memory_unsealed),
		TEST(test_queue_numbers),
		TEST(test_300_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
