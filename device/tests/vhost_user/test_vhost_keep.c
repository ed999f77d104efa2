// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: it is kept in memory, and another one goes on from there when the
 * process was killed.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/uds.h"
#include "base/util.h"
#include "tests/lib/keep.h"
#include "tests/lib/qemu.h"

#define QUEUE	130u

static struct vu_keep keep;
static char path[64];

/* All that the front-end knows is kept. */
static void assert_kept(void)
{
	static struct vu_image now;
	const struct vu_image *kept = vu_kept(&keep);
	struct vu_vring *vr;

	vu_image_take(&now, vu);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++) {
		vu_image_take_queue(&now.queue[vr->vq.index], vr);
		/* Guest memory has that of a queue that is started. */
		if (vr->started)
			now.queue[vr->vq.index].base = kept->queue[vr->vq.index].base;
	}
	assert_memory_equal(now.queue, kept->queue, sizeof(now.queue));
	assert_memory_equal(now.region, kept->region, now.regions * sizeof(*now.region));
	assert_int_equal(now.regions, kept->regions);
	assert_int_equal(now.has_mem, kept->has_mem);
	assert_int_equal(now.listen, kept->listen);
	assert_int_equal(now.conn, kept->conn);
	assert_int_equal(now.backend, kept->backend);
	assert_int_equal(now.features, kept->features);
	assert_int_equal(now.negotiated, kept->negotiated);
	assert_int_equal(now.protocol, kept->protocol);
	assert_int_equal(now.cursor, kept->cursor);
	assert_int_equal(now.run, kept->run);
	assert_int_equal(now.moving, kept->moving);
	assert_int_equal(vu->box->msg.got, kept->box.msg.got);
}

static int recover(struct vu_keep *left)
{
	int err;

	vu->keep = NULL;
	vhost_user_free(vu);
	memset(&dev, 0, sizeof(dev));
	qemu_new_front_end();
	err = vhost_user_recover(vu, left, path);
	keep_close(left);
	keep = *left;
	vhost_user_set_keep(vu, &keep);
	return err;
}

static void kill_it(void)
{
	static struct vu_keep left;

	assert_kept();
	keep_copy(&left, &keep);
	assert_int_equal(recover(&left), 0);
	vhost_user_look_again(vu);
	assert_kept();
}

static void test_from_the_used_index(void **state)
{
	qemu_start(QUEUE);
	memcpy(guest.host + 99, "abc", 3);
	gvq.avail->idx = 5;
	gvq.used->idx = 3;
	dev.vq[QUEUE]->last_avail = 5;
	event_count(qemu.call);
	kill_it();
	assert_still_serving();
	assert_non_null(dev.vq[QUEUE]);
	assert_int_equal(dev.features, FEATURES);
	assert_int_equal(dev.vq[QUEUE]->last_avail, 3);
	assert_int_equal(dev.vq[QUEUE]->used_idx, 3);
	assert_memory_equal(guest_mem_ptr(dev.mem, GUEST_BASE + 99, 3), "abc", 3);
	/* The one that was killed may have used buffers, and not said so. */
	assert_int_equal(event_count(qemu.call), 1);

	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[QUEUE], 1);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(qemu_get_base(QUEUE), 3);
	kill_it();
	assert_null(dev.vq[QUEUE]);
}

/* A queue that was paused goes on, or was reset, and the front-end tells which. */
static void test_paused(void **state)
{
	qemu_start(0);
	gvq.avail->idx = 3;
	dev.vq[0]->last_avail = 3;
	assert_int_equal(qemu_get_base(0), 3);
	kill_it();
	qemu_queue(0, 3);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(qemu_get_base(0), 3);
	kill_it();
	qemu_queue(0, 0);
	assert_int_equal(dev.resets, 1);
	assert_kept();
}

static void test_each_request_is_kept(void **state)
{
	const struct vu_mem_reg reg = { .region = qemu_memory().region[0] };

	qemu_start(0);
	assert_kept();
	qemu_start(1);
	assert_kept();
	qemu_enable(1, false);
	assert_kept();
	assert_int_equal(qemu_ask(VU_REM_MEM_REG, &reg, sizeof(reg), NULL, 0), 0);
	assert_kept();
	assert_int_equal(qemu_ask(VU_ADD_MEM_REG, &reg, sizeof(reg), &guest.fd, 1), 0);
	assert_kept();
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, VU_VRING_NOFD, -1), 0);
	assert_kept();
	assert_int_equal(qemu_get_base(0), 0);
	assert_kept();
	assert_int_equal(qemu_ask(VU_RESET_DEVICE, &keep, 0, NULL, 0), 0);
	assert_kept();
	qemu_disconnect();
	assert_kept();
	assert_int_equal(vu_kept(&keep)->conn, -1);
	kill_it();
	assert_false(vhost_user_connected(vu));
	qemu_connect();
	qemu_start(0);
	assert_kept();
}

static void test_message_in_part(void **state)
{
	struct {
		struct vu_header hdr;
		uint64_t value;
	} __attribute__((packed)) msg = {
		.hdr = {
			.request = VU_SET_VRING_CALL,
			.flags = VU_FLAGS_VERSION | VU_FLAGS_NEED_REPLY,
			.size = sizeof(msg.value),
		},
	};
	const uint8_t *bytes = (const uint8_t *)&msg;
	uint64_t result = 1;

	qemu_start(0);
	qemu_send_raw(bytes, 15, &qemu.kick, 1);
	run();
	kill_it();
	qemu_send_raw(bytes + 15, sizeof(msg) - 15, NULL, 0);
	run();
	assert_int_equal(qemu_reply(VU_SET_VRING_CALL, &result, sizeof(result)), 8);
	assert_int_equal(result, 0);
	event_count(qemu.kick);
	dev.vq[0]->call(dev.vq[0]);
	assert_int_equal(event_count(qemu.kick), 1);
	assert_kept();
}

/* As one that is killed in the middle of a request. */
static void begin_message(void)
{
	struct vu_header hdr = { .request = VU_GET_FEATURES, .flags = VU_FLAGS_VERSION };

	qemu_send_raw(&hdr, sizeof(hdr), NULL, 0);
	assert_int_equal(vu_receive(vu->conn.fd, vu->box), 1);
}

static void test_message_without_an_answer(void **state)
{
	uint64_t features = 0;

	qemu_start(0);
	begin_message();
	kill_it();
	assert_int_equal(qemu_reply(VU_GET_FEATURES, &features, sizeof(features)), 8);
	assert_true(features & BIT(32));
	assert_int_equal(vu->box->tries, 0);
	assert_still_serving();
}

/* One that kills the next process as well ends the connection. */
static void test_message_that_kills(void **state)
{
	qemu_start(0);
	begin_message();
	vu->box->tries = 1;
	kill_it();
	assert_false(vhost_user_connected(vu));
	assert_true(uds_is_listening(vu->listen.fd));
	close(qemu.fd);
	qemu_connect();
	qemu_start(0);
}

/* A process that does what a guest wants leaves nonsense. */
static void test_nonsense(void **state)
{
	static struct vu_keep left;
	struct vu_image *image;
	unsigned int i;

	for (i = 0; i < 8; i++) {
		qemu_start(0);
		keep_copy(&left, &keep);
		image = vu_kept(&left);
		switch (i) {
		case 0:
			image->queue[0].num = 3;
			break;
		case 1:
			image->regions = UINT32_MAX;
			break;
		case 2:
			image->box.msg.got = SIZE_MAX;
			break;
		case 3:
			image->box.msg.got = sizeof(image->box.msg.hdr);
			image->box.msg.fd_n = UINT32_MAX;
			break;
		case 4:
			image->cursor = UINT32_MAX;
			break;
		case 5:
			image->protocol = UINT64_MAX;
			break;
		case 6:
			close(image->conn);
			image->conn = image->listen;
			image->listen = fcntl(image->listen, F_DUPFD_CLOEXEC, 0);
			break;
		case 7:
			close(image->region[0].fd);
			image->region[0].fd = 0;
			break;
		}
		recover(&left);
		assert_false(vhost_user_connected(vu));
		close(qemu.fd);
		qemu_connect();
		snprintf(path, sizeof(path), "/tmp/test_keep.%d", getpid());
		if (vu->listen.fd < 0)
			assert_int_equal(vhost_user_listen(vu, path), 0);
		vhost_user_set_keep(vu, &keep);
	}
}

static int setup(void **state)
{
	int err = qemu_setup(state);

	snprintf(path, sizeof(path), "/tmp/test_keep.%d", getpid());
	assert_int_equal(vhost_user_listen(vu, path), 0);
	memset(&keep, 0, sizeof(keep));
	vhost_user_set_keep(vu, &keep);
	return err;
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, qemu_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_from_the_used_index),
		TEST(test_paused),
		TEST(test_each_request_is_kept),
		TEST(test_message_in_part),
		TEST(test_message_without_an_answer),
		TEST(test_message_that_kills),
		TEST(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
