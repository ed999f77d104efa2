// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: a connection that another front-end goes on with.
 */

#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/uds.h"
#include "base/util.h"
#include "tests/lib/qemu.h"

#define QUEUE	130u

/* Into another front-end, which works. */
static void hand_over(void)
{
	struct state_fds fds;
	struct state st;

	qemu_save(&st, &fds);
	assert_string_equal(qemu_load(&st, &fds), "");
	assert_true(uds_is_listening(vu->listen.fd));
	state_free(&st);
}

static void test_queue_goes_on(void **state)
{
	qemu_start(QUEUE);
	memcpy(guest.host + 99, "abc", 3);
	gvq.avail->idx = 2;
	dev.vq[QUEUE]->last_avail = 2;
	hand_over();
	assert_still_serving();
	assert_non_null(dev.vq[QUEUE]);
	assert_int_equal(dev.features, FEATURES);
	assert_int_equal(dev.vq[QUEUE]->last_avail, 2);
	assert_true(dev.vq[QUEUE]->event_idx);
	assert_memory_equal(guest_mem_ptr(dev.mem, GUEST_BASE + 99, 3), "abc", 3);

	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[QUEUE], 1);
	dev.vq[QUEUE]->call(dev.vq[QUEUE]);
	assert_int_equal(event_count(qemu.call), 1);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(qemu_get_base(QUEUE), 2);
}

/* The doorbell that the old one did not see is seen. */
static void test_doorbell_is_kept(void **state)
{
	qemu_start(0);
	eventfd_write(qemu.kick, 1);
	hand_over();
	run();
	assert_int_equal(dev.kicks[0], 1);
}

/* A machine that was paused goes on, or was reset, and the front-end tells which. */
static void test_paused(void **state)
{
	qemu_start(0);
	gvq.avail->idx = 3;
	dev.vq[0]->last_avail = 3;
	assert_int_equal(qemu_get_base(0), 3);
	hand_over();
	assert_null(dev.vq[0]);
	qemu_queue(0, 3);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.resets, 0);
	assert_int_equal(qemu_get_base(0), 3);
	hand_over();
	qemu_queue(0, 0);
	assert_int_equal(dev.resets, 1);
}

/* Half of a message and its descriptor have come. */
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
	unsigned int done = 5;
	uint64_t result = 1;

	qemu_start(0);
	qemu_send_raw(bytes, done, &qemu.kick, 1);
	run();
	hand_over();
	qemu_send_raw(bytes + done, 10, NULL, 0);
	run();
	hand_over();
	qemu_send_raw(bytes + done + 10, sizeof(msg) - done - 10, NULL, 0);
	run();
	assert_int_equal(qemu_reply(VU_SET_VRING_CALL, &result, sizeof(result)), 8);
	assert_int_equal(result, 0);
	dev.vq[0]->call(dev.vq[0]);
	assert_int_equal(event_count(qemu.kick), 1);
}

/* Its numbers of queues go on being understood. */
static void test_run_of_queues(void **state)
{
	qemu_handshake();
	qemu_set_features();
	assert_int_equal(qemu_ask_state(VU_SET_VRING_NUM, 129, NUM), 0);
	hand_over();
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, 129, qemu.call), 0);
	assert_true(vu->vring[129].call >= 0);
}

/* A queue whose memory went, and comes back afterwards. */
static void test_memory_comes_back(void **state)
{
	const struct vu_mem_reg reg = { .region = qemu_memory().region[0] };

	qemu_start(0);
	assert_int_equal(qemu_ask(VU_REM_MEM_REG, &reg, sizeof(reg), NULL, 0), 0);
	assert_null(dev.vq[0]);
	hand_over();
	assert_null(dev.vq[0]);
	assert_int_equal(qemu_ask(VU_ADD_MEM_REG, &reg, sizeof(reg), &guest.fd, 1), 0);
	assert_non_null(dev.vq[0]);
}

/*
 * A front-end that has connected again, and has not begun, has a device that nobody knows also
 * in the next process.  One that is paused has not.
 */
static void test_unknown_stays_unknown(void **state)
{
	qemu_handshake();
	hand_over();
	qemu_set_features();
	qemu_set_memory();
	qemu_queue(0, 5);
	qemu_enable(0, true);
	assert_true(dev.vq[0]->inherited);

	qemu_enable(0, false);
	assert_int_equal(qemu_get_base(0), 5);
	hand_over();
	qemu_queue(0, 5);
	qemu_enable(0, true);
	assert_false(dev.vq[0]->inherited);
}

/* Memory that is gone refuses the state, or ends the connection only. */
static void test_memory_is_gone(void **state)
{
	struct state_fds fds;
	struct state st;

	qemu_start(0);
	qemu_save(&st, &fds);
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE / 2), 0);
	st.lenient = true;
	assert_string_equal(qemu_load(&st, &fds), "");
	assert_false(vhost_user_connected(vu));
	assert_true(uds_is_listening(vu->listen.fd));
	state_free(&st);
	close(qemu.fd);
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE), 0);
	qemu_connect();

	qemu_start(0);
	qemu_save(&st, &fds);
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE / 2), 0);
	assert_string_equal(qemu_load(&st, &fds),
			    "section front-end, memory: Invalid argument");
	assert_int_equal(ftruncate(guest.fd, MEM_SIZE), 0);
	state_free(&st);
}

static void test_without_connection(void **state)
{
	qemu_disconnect();
	hand_over();
	assert_false(vhost_user_connected(vu));
	qemu_connect();
	qemu_start(0);
}

/* A bit of the transport's that the guest has acknowledged, too. */
static void test_bit_of_the_guest(void **state)
{
	const uint64_t features = FEATURES | VU_F_PROTOCOL_FEATURES | BIT(26);

	qemu_handshake();
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, features), 0);
	hand_over();
	assert_true(vhost_user_connected(vu));
	assert_int_equal(dev.features, FEATURES);
}

/* A guest whose written pages are logged is on its way to another host. */
static void test_moving(void **state)
{
	const struct vu_log_base base = { .size = 4096 };
	const int file = memfd_create("log", MFD_CLOEXEC);
	struct state_fds fds;
	struct state st;
	uint64_t answer;

	assert_int_equal(ftruncate(file, 4096), 0);
	qemu_start(1);
	qemu_send(VU_SET_LOG_BASE, 0, &base, sizeof(base), &file, 1);
	assert_int_equal(qemu_reply(VU_SET_LOG_BASE, &answer, sizeof(answer)), 8);
	close(file);
	assert_int_equal(qemu_ask_u64(VU_SET_FEATURES, FEATURES | VU_F_PROTOCOL_FEATURES |
				      BIT(26)), 0);
	qemu_save(&st, &fds);
	assert_string_equal(qemu_load(&st, &fds),
			    "section front-end, moving: Device or resource busy");
	state_free(&st);
	close(qemu.fd);
	qemu_connect();
}

/* ------------------------------------------------------------------------- */

#define FIELDS	56u
/* Offsets of fields from there on, in a state with one region and one queue. */
#define LISTEN	0u
#define CONN	4u
#define PROTOCOL (CONN + 4 + 4 + 8 + 1)
#define MOVING	(PROTOCOL + 8 + 4 + 1 + 1)
#define GOT	(MOVING + 1)
#define HAS_MEM	(GOT + 4 + 1 + 4)
#define REGION	(HAS_MEM + 1 + 4)
#define QUEUE_AT (REGION + 36 + 4)

/* Changes a byte of the state of a running queue. */
static void expect(size_t at, uint8_t value, const char *why)
{
	struct state_fds fds;
	struct state st;

	qemu_start(1);
	qemu_save(&st, &fds);
	st.data[FIELDS + at] = value;
	assert_string_equal(qemu_load(&st, &fds), why);
	assert_false(vhost_user_connected(vu));
	assert_null(dev.vq[1]);
	state_free(&st);
	close(qemu.fd);
	qemu_connect();
}

static void test_refused(void **state)
{
	/* The list: listening socket, connection, memory, kick, call. */
	expect(LISTEN, 2, "section front-end, listen: not a socket that listens");
	expect(LISTEN, 9, "section front-end, listen: descriptor 9 did not come with the state");
	expect(CONN, 3, "section front-end, connection: not a connected socket");
	expect(PROTOCOL, 0x40, "section front-end, protocol: features that are unknown here");
	expect(MOVING, 1, "section front-end, moving: Device or resource busy");
	expect(MOVING, 2, "section front-end, moving: 2 is more than 1");
	expect(GOT, 14, "section front-end, header: not one of a message");
	expect(HAS_MEM, 0, "section front-end, memory: Invalid argument");
	expect(REGION + 15, 1, "section front-end, memory: Invalid argument");
	expect(REGION + 32, 1, "section front-end, memory: another one has its descriptor");
	expect(QUEUE_AT + 4, 3, "section front-end, num: not a size of a virtqueue");
	expect(QUEUE_AT + 4, 0, "section front-end, addr_set: of a queue without a size");
	expect(QUEUE_AT + 12, 1, "section front-end, queues: Invalid argument");
	expect(QUEUE_AT + 17, 1, "section front-end, queues: Bad address");
	expect(QUEUE_AT + 36, 0, "section front-end, kick: another one has its descriptor");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, qemu_setup, qemu_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_queue_goes_on),
		TEST(test_doorbell_is_kept),
		TEST(test_paused),
		TEST(test_message_in_part),
		TEST(test_run_of_queues),
		TEST(test_memory_comes_back),
		TEST(test_unknown_stays_unknown),
		TEST(test_memory_is_gone),
		TEST(test_without_connection),
		TEST(test_bit_of_the_guest),
		TEST(test_moving),
		TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
