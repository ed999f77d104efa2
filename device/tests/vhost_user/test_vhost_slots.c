// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: memory that comes and goes region by region.
 */

#include "base/util.h"
#include "tests/lib/qemu.h"

static uint64_t ask_region(uint32_t request, const struct vu_memory_region *region, int fd)
{
	struct vu_mem_reg reg = { .region = *region };

	return qemu_ask(request, &reg, sizeof(reg), &fd, fd >= 0);
}

/* Page @i of the file, in a place of its own: pages do not touch each other. */
static struct vu_memory_region page_region(unsigned int i)
{
	return (struct vu_memory_region) {
		.guest_addr = 2 * GUEST_BASE + i * 8192ULL,
		.size = 4096,
		.user_addr = 2 * USER_BASE + i * 8192ULL,
		.offset = i % (MEM_SIZE / 4096) * 4096ULL,
	};
}

static void test_slots(void **state)
{
	struct vu_memory_region region;
	unsigned int maps = guest_maps();
	unsigned int i, max;

	qemu_handshake();
	max = qemu_get_u64(VU_GET_MAX_MEM_SLOTS);
	assert_int_equal(max, GUEST_MEM_REGIONS_MAX);
	/* In an order that is none. */
	for (i = 0; i < max; i++) {
		region = page_region(i * 5 % max);
		assert_int_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
		assert_int_equal(dev.mem->n, i + 1);
	}
	region = page_region(max);
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	for (i = 0; i < max; i++) {
		region = page_region(i);
		guest.host[region.offset + 7] = i;
		assert_int_equal(*(uint8_t *)guest_mem_ptr(dev.mem, region.guest_addr + 7,
							   1), i & 0xff);
		assert_null(guest_mem_ptr(dev.mem, region.guest_addr + 4095, 2));
		assert_null(guest_mem_ptr(dev.mem, region.guest_addr - 1, 1));
	}
	assert_int_equal(guest_maps(), maps + max);

	/* QEMU may send the file with it, or not. */
	for (i = 0; i < max; i++) {
		region = page_region(i * 3 % max);
		assert_int_equal(ask_region(VU_REM_MEM_REG, &region,
					    i % 2 ? guest.fd : -1), 0);
		assert_null(guest_mem_ptr(dev.mem, region.guest_addr, 1));
		assert_int_not_equal(ask_region(VU_REM_MEM_REG, &region, -1), 0);
	}
	assert_int_equal(dev.mem->n, 0);
	assert_int_equal(guest_maps(), maps);
}

static void test_slots_bad(void **state)
{
	const struct vu_memory_region good = qemu_memory().region[0];
	struct vu_memory_region region = good;
	unsigned int changes;

	qemu_handshake();
	assert_int_not_equal(ask_region(VU_REM_MEM_REG, &good, -1), 0);
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &good, -1), 0);
	region.size = MEM_SIZE + 1;
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	region.size = 0;
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	assert_int_equal(ask_region(VU_ADD_MEM_REG, &good, guest.fd), 0);
	changes = dev.mem_changes;

	/* It overlaps by one byte, in the guest or in QEMU. */
	region = good;
	region.user_addr += MEM_SIZE;
	region.guest_addr += MEM_SIZE - 1;
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	region = good;
	region.user_addr -= MEM_SIZE - 1;
	region.guest_addr += MEM_SIZE;
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	/* It is another one, if only by its size. */
	region = good;
	region.size--;
	assert_int_not_equal(ask_region(VU_REM_MEM_REG, &region, -1), 0);
	assert_int_equal(dev.mem_changes, changes);
	assert_int_equal(dev.mem->n, 1);
	assert_still_serving();
}

static void test_slots_not_negotiated(void **state)
{
	const struct vu_memory_region region = qemu_memory().region[0];

	qemu_handshake();
	qemu_send(VU_SET_PROTOCOL_FEATURES, 0, &(uint64_t){ VU_PROTOCOL_F_REPLY_ACK }, 8,
		  NULL, 0);
	assert_int_not_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	assert_int_not_equal(ask_region(VU_REM_MEM_REG, &region, -1), 0);
	assert_null(dev.mem);
}

/* Memory that is plugged in concerns no queue. */
static void test_slots_queue_goes_on(void **state)
{
	struct vu_memory_region region = page_region(1);
	const void *desc;

	qemu_start(0);
	desc = dev.vq[0]->desc;
	assert_int_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	assert_int_equal(ask_region(VU_REM_MEM_REG, &region, -1), 0);
	assert_int_equal(dev.stops, 0);
	assert_int_equal(dev.starts, 1);
	assert_ptr_equal(dev.vq[0]->desc, desc);
	assert_ptr_equal(dev.vq[0]->mem, dev.mem);
}

/* QEMU changes a region by taking it away and adding it. */
static void test_slots_queue_comes_back(void **state)
{
	const struct vu_memory_region region = qemu_memory().region[0];

	qemu_start(0);
	gvq.avail->idx = 2;
	dev.vq[0]->last_avail = 2;
	assert_int_equal(ask_region(VU_REM_MEM_REG, &region, -1), 0);
	assert_null(dev.vq[0]);
	assert_int_equal(dev.mem->n, 0);
	assert_int_equal(ask_region(VU_ADD_MEM_REG, &region, guest.fd), 0);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.vq[0]->last_avail, 2);
	assert_int_equal(dev.resets, 0);
	gvq.desc[1].addr = 0x4711;
	assert_int_equal(dev.vq[0]->desc[1].addr, 0x4711);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, qemu_setup, qemu_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_slots),
		TEST(test_slots_bad),
		TEST(test_slots_not_negotiated),
		TEST(test_slots_queue_goes_on),
		TEST(test_slots_queue_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
