// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: requests, messages, connections.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/uds.h"
#include "base/util.h"
#include "tests/lib/idle.h"
#include "tests/lib/qemu.h"

/* ------------------------------------------------------------------------- */
/* The way it should be                                                      */
/* ------------------------------------------------------------------------- */

static void test_handshake_to_running_queue(void **state)
{
	const struct virtq *vq;

	qemu_handshake();
	assert_int_equal(qemu_get_u64(VU_GET_QUEUE_NUM), QUEUES);
	qemu_set_features();
	assert_int_equal(dev.features, FEATURES);
	qemu_set_memory();
	assert_int_equal(dev.mem->n, 1);
	assert_int_equal(dev.mem->region[0].addr, GUEST_BASE);
	assert_int_equal(dev.mem->region[0].size, MEM_SIZE);

	qemu_queue(1, 0x1234);
	assert_null(dev.vq[1]);
	qemu_enable(1, true);
	vq = dev.vq[1];
	assert_non_null(vq);
	assert_int_equal(vq->index, 1);
	assert_int_equal(vq->num, NUM);
	assert_int_equal(vq->last_avail, 0x1234);
	assert_int_equal(dev.resets, 0);
	assert_true(vq->event_idx);
	assert_true(vq->indirect);
	/* It is the same memory, mapped elsewhere. */
	assert_ptr_not_equal(vq->desc, gvq.desc);
	gvq.desc[3].addr = 0x1122334455;
	assert_int_equal(vq->desc[3].addr, 0x1122334455);
	vq->used->ring[5].id = 77;
	assert_int_equal(gvq.used->ring[5].id, 77);
}

static void test_kick_and_call(void **state)
{
	qemu_start(2);
	assert_int_equal(dev.kicks[2], 0);
	eventfd_write(qemu.kick, 1);
	run();
	eventfd_write(qemu.kick, 5);
	run();
	run();
	assert_int_equal(dev.kicks[2], 2);
	assert_int_equal(event_count(qemu.call), 0);
	dev.vq[2]->call(dev.vq[2]);
	dev.vq[2]->call(dev.vq[2]);
	assert_int_equal(event_count(qemu.call), 2);
}

static void test_without_call(void **state)
{
	qemu_start(0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, VU_VRING_NOFD, -1), 0);
	dev.vq[0]->call(dev.vq[0]);
	assert_int_equal(event_count(qemu.call), 0);
}

static void test_enable(void **state)
{
	qemu_start(0);
	qemu_enable(0, false);
	assert_null(dev.vq[0]);
	/* A kick of a disabled queue has no effect. */
	eventfd_write(qemu.kick, 1);
	run();
	assert_int_equal(dev.kicks[0], 0);
	qemu_enable(0, true);
	assert_non_null(dev.vq[0]);
	qemu_enable(0, true);
	assert_int_equal(dev.starts, 2);
	/* Queues that were never set up get enabled, too. */
	qemu_enable(500, true);
	assert_int_equal(dev.starts, 2);
	assert_int_not_equal(qemu_ask_state(VU_SET_VRING_ENABLE, 0, 2), 0);
}

static void test_without_protocol_features(void **state)
{
	struct vu_vring_addr addr = qemu_addr(0);
	struct vu_vring_state num = { .num = NUM };
	struct vu_memory memory = qemu_memory();

	qemu_send(VU_SET_FEATURES, 0, &(uint64_t){ FEATURES }, 8, NULL, 0);
	qemu_send(VU_SET_MEM_TABLE, 0, &memory,
		  offsetof(struct vu_memory, region[1]), &guest.fd, 1);
	qemu_send(VU_SET_VRING_NUM, 0, &num, sizeof(num), NULL, 0);
	qemu_send(VU_SET_VRING_ADDR, 0, &addr, sizeof(addr), NULL, 0);
	assert_null(dev.vq[0]);
	qemu_send(VU_SET_VRING_KICK, 0, &(uint64_t){ 0 }, 8, &qemu.kick, 1);
	assert_non_null(dev.vq[0]);
}

/* A front-end that did not negotiate REPLY_ACK gets no answers. */
static void test_no_answer_without_reply_ack(void **state)
{
	uint64_t value;

	qemu_send(VU_SET_OWNER, VU_FLAGS_NEED_REPLY, "", 0, NULL, 0);
	qemu_send(99, VU_FLAGS_NEED_REPLY, "", 0, NULL, 0);
	assert_int_equal(qemu_reply(VU_SET_OWNER, &value, 8), -1);
	assert_still_serving();
}

static void test_config(void **state)
{
	struct vu_config config = { .size = 32 };
	uint32_t head = offsetof(struct vu_config, data);

	qemu_handshake();
	qemu_send(VU_GET_CONFIG, 0, &config, head + 32, NULL, 0);
	assert_int_equal(qemu_reply(VU_GET_CONFIG, &config, sizeof(config)),
			 head + 32);
	assert_int_equal(config.size, 32);
	assert_int_equal(config.data[0], 0x40);
	assert_int_equal(config.data[31], 0x5f);
	config.offset = 24;
	config.size = 8;
	qemu_send(VU_GET_CONFIG, 0, &config, head + 8, NULL, 0);
	assert_int_equal(qemu_reply(VU_GET_CONFIG, &config, sizeof(config)),
			 head + 8);
	assert_int_equal(config.data[0], 0x40 + 24);

	config.offset = 0;
	config.size = 6;
	assert_int_equal(qemu_ask(VU_SET_CONFIG, &config, head + 6, NULL, 0),
			 0);
	assert_int_equal(dev.written, 6);
	config.offset = 1;
	assert_int_not_equal(qemu_ask(VU_SET_CONFIG, &config, head + 6, NULL,
				      0), 0);
}

static void test_config_bad(void **state)
{
	uint32_t head = offsetof(struct vu_config, data);
	const struct {
		struct vu_config config;
		uint32_t len;
	} bad[] = {
		{ { .size = 33 }, head + 33 },
		{ { .offset = 30, .size = 8 }, head + 8 },
		{ { .offset = UINT32_MAX, .size = 2 }, head + 2 },
		{ { .size = 32 }, head + 31 },
		{ { .size = 32 }, head + 33 },
		{ { .size = UINT32_MAX }, head + 8 },
		{ { .size = 0 }, head - 4 },
	};
	struct vu_config config;
	unsigned int i;

	qemu_handshake();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		qemu_send(VU_GET_CONFIG, 0, &bad[i].config, bad[i].len, NULL,
			  0);
		/* An empty reply is how this request says that it failed. */
		assert_int_equal(qemu_reply(VU_GET_CONFIG, &config,
					    sizeof(config)), 0);
	}
	assert_still_serving();
}

/* Is QEMU told of a change? */
static bool told(int channel)
{
	struct vu_header hdr;

	vhost_user_fe_ops.config_changed(vu);
	if (recv(channel, &hdr, sizeof(hdr), MSG_DONTWAIT) != sizeof(hdr))
		return false;
	assert_int_equal(hdr.request, 2);
	assert_int_equal(hdr.flags, VU_FLAGS_VERSION);
	assert_int_equal(hdr.size, 0);
	return true;
}

static void test_config_changed(void **state)
{
	int sv[2];

	/* Without the channel nothing happens. */
	vhost_user_fe_ops.config_changed(vu);
	qemu_start(1);
	vhost_user_fe_ops.config_changed(vu);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	assert_int_equal(qemu_ask(VU_SET_BACKEND_REQ_FD, "", 0, &sv[1], 1), 0);
	close(sv[1]);
	/* QEMU's device begins and ends with the first queue. */
	assert_false(told(sv[0]));
	qemu_queue(0, 0);
	assert_false(told(sv[0]));
	qemu_enable(0, true);
	assert_true(told(sv[0]));
	assert_int_equal(qemu_get_base(0), 0);
	assert_false(told(sv[0]));
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_true(told(sv[0]));
	assert_true(vhost_user_fe_ops.connected(vu));
	/* QEMU closed its end. */
	close(sv[0]);
	vhost_user_fe_ops.config_changed(vu);
	assert_still_serving();
}

/* ------------------------------------------------------------------------- */
/* Messages                                                                  */
/* ------------------------------------------------------------------------- */

static void test_message_in_pieces(void **state)
{
	struct wire_msg msg = {
		.hdr = {
			.request = VU_SET_VRING_CALL,
			.flags = VU_FLAGS_VERSION | VU_FLAGS_NEED_REPLY,
			.size = 8,
		},
		.payload = { 3 },
	};
	size_t len = sizeof(msg.hdr) + 8, i;
	uint64_t result;

	qemu_handshake();
	for (i = 0; i < len; i++) {
		assert_int_equal(qemu_reply(VU_SET_VRING_CALL, &result, 8),
				 -1);
		qemu_send_raw((uint8_t *)&msg + i, 1, &qemu.call, i == 5);
		run();
	}
	assert_int_equal(qemu_reply(VU_SET_VRING_CALL, &result, 8), 8);
	assert_int_equal(result, 0);
	assert_true(vu->vring[3].call >= 0);
}

static void test_messages_in_one(void **state)
{
	struct vu_header hdr[100];
	uint64_t features;
	unsigned int i;

	for (i = 0; i < 100; i++)
		hdr[i] = (struct vu_header){
			.request = VU_GET_FEATURES,
			.flags = VU_FLAGS_VERSION,
		};
	qemu_send_raw(hdr, sizeof(hdr), NULL, 0);
	/* Each run of the loop handles one event, which takes up to 32 messages. */
	for (i = 0; i < 4; i++)
		run();
	for (i = 0; i < 100; i++)
		assert_int_equal(qemu_reply(VU_GET_FEATURES, &features, 8), 8);
	assert_int_equal(qemu_reply(VU_GET_FEATURES, &features, 8), -1);
}

static void test_unknown_request(void **state)
{
	static const uint32_t unknown[] = {
		0, 7, 19, 20, 22, 23, 26, 35, 37, 41, 44, 1000, UINT32_MAX,
	};
	unsigned int i;

	qemu_handshake();
	for (i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_not_equal(qemu_ask(unknown[i], "12345678", 8,
					      &qemu.kick, 1), 0);
	assert_still_serving();
}

static void test_wrong_lengths(void **state)
{
	static const uint8_t zero[600];
	static const uint32_t with_reply[] = {
		VU_GET_FEATURES, VU_GET_PROTOCOL_FEATURES, VU_GET_QUEUE_NUM,
		VU_GET_VRING_BASE,
	};
	static const struct {
		uint32_t request;
		uint32_t len;
	} wrong[] = {
		{ VU_SET_FEATURES, 7 },
		{ VU_SET_FEATURES, 9 },
		{ VU_SET_FEATURES, 0 },
		{ VU_SET_OWNER, 1 },
		{ VU_RESET_OWNER, 8 },
		{ VU_SET_MEM_TABLE, 0 },
		{ VU_SET_MEM_TABLE, 7 },
		{ VU_SET_MEM_TABLE, 9 },
		{ VU_SET_MEM_TABLE, 8 + 8 * 32 + 1 },
		{ VU_SET_MEM_TABLE, 600 },
		{ VU_SET_VRING_NUM, 7 },
		{ VU_SET_VRING_NUM, 9 },
		{ VU_SET_VRING_ADDR, 39 },
		{ VU_SET_VRING_ADDR, 41 },
		{ VU_SET_VRING_BASE, 4 },
		{ VU_SET_VRING_BASE, 12 },
		{ VU_SET_VRING_KICK, 4 },
		{ VU_SET_VRING_KICK, 16 },
		{ VU_SET_VRING_CALL, 7 },
		{ VU_SET_VRING_ERR, 9 },
		{ VU_SET_PROTOCOL_FEATURES, 4 },
		{ VU_SET_VRING_ENABLE, 4 },
		{ VU_SET_VRING_ENABLE, 9 },
		{ VU_SET_BACKEND_REQ_FD, 8 },
		{ VU_SET_CONFIG, 11 },
		{ VU_SET_CONFIG, 12 + 257 },
		{ VU_RESET_DEVICE, 1 },
	};
	uint64_t value;
	unsigned int i;

	qemu_handshake();
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_not_equal(qemu_ask(wrong[i].request, zero,
					      wrong[i].len, NULL, 0), 0);
	for (i = 0; i < ARRAY_SIZE(with_reply); i++) {
		qemu_send(with_reply[i], 0, zero, 5, NULL, 0);
		assert_int_equal(qemu_reply(with_reply[i], &value, 8), 0);
	}
	assert_int_equal(dev.mem_changes, 0);
	assert_int_equal(dev.resets, 0);
	assert_still_serving();
}

static void test_wrong_number_of_fds(void **state)
{
	int fd[] = { qemu.kick, qemu.call, qemu.kick };
	struct vu_memory memory = qemu_memory();
	uint64_t zero = 0, nofd = VU_VRING_NOFD;
	unsigned int before;

	qemu_handshake();
	before = guest_fds();
	assert_int_not_equal(qemu_ask(VU_SET_OWNER, "", 0, fd, 1), 0);
	assert_int_not_equal(qemu_ask(VU_SET_FEATURES, &zero, 8, fd, 1), 0);
	assert_int_not_equal(qemu_ask(VU_SET_BACKEND_REQ_FD, "", 0, fd, 0), 0);
	assert_int_not_equal(qemu_ask(VU_SET_BACKEND_REQ_FD, "", 0, fd, 2), 0);
	assert_int_not_equal(qemu_ask(VU_SET_VRING_CALL, &zero, 8, fd, 0), 0);
	assert_int_not_equal(qemu_ask(VU_SET_VRING_CALL, &zero, 8, fd, 2), 0);
	assert_int_not_equal(qemu_ask(VU_SET_VRING_CALL, &nofd, 8, fd, 1), 0);
	assert_int_not_equal(qemu_ask(VU_SET_VRING_ERR, &nofd, 8, fd, 1), 0);
	assert_int_not_equal(qemu_ask_memory(&memory, NULL, 0), 0);
	fd[0] = guest.fd;
	fd[1] = guest.fd;
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 2), 0);
	assert_int_equal(guest_fds(), before);
	assert_still_serving();
}

static void test_too_many_fds(void **state)
{
	struct vu_memory memory = { .n = 8 };
	unsigned int before, i;
	int fd[20];

	qemu_handshake();
	for (i = 0; i < 20; i++)
		fd[i] = qemu.kick;
	before = guest_fds();
	for (i = 8; i <= 20; i++)
		assert_int_not_equal(qemu_ask(VU_SET_OWNER, "", 0, fd, i), 0);

	/* Nine descriptors, where a request may have eight. */
	for (i = 0; i < 9; i++) {
		fd[i] = guest.fd;
		memory.region[i % 8] = qemu_memory().region[0];
		memory.region[i % 8].guest_addr += (i % 8) * MEM_SIZE;
		memory.region[i % 8].user_addr += (i % 8) * MEM_SIZE;
	}
	assert_int_not_equal(qemu_ask_memory(&memory, fd, 9), 0);
	assert_int_equal(qemu_ask_memory(&memory, fd, 8), 0);
	assert_int_equal(dev.mem->n, 8);
	/* A copy of each file is kept. */
	assert_int_equal(guest_fds(), before + 8);
	assert_still_serving();
}

/*
 * Without room for a descriptor a queue would lack its doorbell or interrupt, which
 * nobody would notice.  So QEMU is told, and can come back.
 */
static void test_no_room_for_fds(void **state)
{
	struct vu_memory memory = qemu_memory();
	struct rlimit limit, low;
	unsigned int before;
	int next;

	qemu_handshake();
	before = guest_fds();
	next = dup(qemu.fd);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = (struct rlimit){ .rlim_cur = next, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	qemu_send(VU_SET_MEM_TABLE, VU_FLAGS_NEED_REPLY, &memory,
		  offsetof(struct vu_memory, region[1]), &guest.fd, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(vhost_user_connected(vu));
	assert_int_equal(guest_fds(), before - 1);

	close(qemu.fd);
	qemu_connect();
	qemu_start(0);
	assert_still_serving();
}

/* Eight with the header, eight with the payload. */
static void test_too_many_fds_in_pieces(void **state)
{
	struct wire_msg msg = {
		.hdr = {
			.request = VU_SET_VRING_CALL,
			.flags = VU_FLAGS_VERSION | VU_FLAGS_NEED_REPLY,
			.size = 8,
		},
	};
	unsigned int before, i;
	uint64_t result;
	int fd[8];

	qemu_handshake();
	for (i = 0; i < 8; i++)
		fd[i] = qemu.kick;
	before = guest_fds();
	qemu_send_raw(&msg, sizeof(msg.hdr), fd, 8);
	run();
	qemu_send_raw(msg.payload, 8, fd, 8);
	run();
	assert_int_equal(qemu_reply(VU_SET_VRING_CALL, &result, 8), 8);
	assert_int_not_equal(result, 0);
	assert_int_equal(guest_fds(), before);
	assert_still_serving();
}

static void test_reply_as_request(void **state)
{
	uint64_t value;

	qemu_handshake();
	qemu_send(VU_SET_OWNER, VU_FLAGS_REPLY | VU_FLAGS_NEED_REPLY, "", 0,
		  NULL, 0);
	assert_int_equal(qemu_reply(VU_SET_OWNER, &value, 8), 8);
	assert_int_not_equal(value, 0);
	assert_still_serving();
}

/* Requests of protocol features that were not acknowledged. */
static void test_protocol_feature_missing(void **state)
{
	struct vu_config config = { .size = 32 };
	uint64_t value;

	qemu_send(VU_GET_QUEUE_NUM, 0, "", 0, NULL, 0);
	assert_int_equal(qemu_reply(VU_GET_QUEUE_NUM, &value, 8), 0);
	qemu_send(VU_GET_CONFIG, 0, &config,
		  offsetof(struct vu_config, data) + 32, NULL, 0);
	assert_int_equal(qemu_reply(VU_GET_CONFIG, &config, sizeof(config)),
			 0);
	qemu_send(VU_SET_BACKEND_REQ_FD, 0, "", 0, &qemu.kick, 1);
	assert_int_equal(vu->backend, -1);
	qemu_handshake();
	assert_int_not_equal(qemu_ask_u64(VU_SET_PROTOCOL_FEATURES, BIT(2)),
			     0);
	assert_still_serving();
}

/* After this, message boundaries are unknown: the connection ends. */
static void bad_header(const struct vu_header *hdr)
{
	char c;

	qemu_start(0);
	qemu_send_raw(hdr, sizeof(*hdr), &qemu.kick, 1);
	run();
	assert_false(vhost_user_connected(vu));
	assert_int_equal(recv(qemu.fd, &c, 1, MSG_DONTWAIT), 0);
	assert_null(dev.vq[0]);
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.mem->n, 0);

	close(qemu.fd);
	qemu_connect();
	qemu_start(0);
}

static void test_bad_version(void **state)
{
	const struct vu_header hdr = {
		.request = VU_SET_OWNER,
		.flags = 2,
	};

	bad_header(&hdr);
}

static void test_bad_size(void **state)
{
	const struct vu_header hdr = {
		.request = VU_SET_OWNER,
		.flags = VU_FLAGS_VERSION,
		.size = UINT32_MAX,
	};

	bad_header(&hdr);
}

static void test_disconnect(void **state)
{
	unsigned int before = guest_fds();

	qemu_start(0);
	assert_int_equal(qemu_ask_fd(VU_SET_VRING_ERR, 0, qemu.call), 0);
	assert_int_equal(qemu_ask(VU_SET_BACKEND_REQ_FD, "", 0, &qemu.fd, 1),
			 0);
	assert_true(guest_fds() > before);
	/* The channel that we passed is the connection: hang up for good. */
	shutdown(qemu.fd, SHUT_RDWR);
	qemu_disconnect();
	assert_int_equal(dev.resets, 1);
	assert_int_equal(dev.stops, 1);
	assert_int_equal(dev.mem->n, 0);
	assert_int_equal(guest_fds(), before - 2);

	/* The descriptors of an incomplete message are closed with the connection. */
	qemu_connect();
	qemu_send_raw("\1\0\0", 3, &qemu.kick, 1);
	run();
	qemu_disconnect();
	assert_int_equal(guest_fds(), before - 2);
	qemu.fd = -1;
}

/* Descriptors of this process when the device is reset. */
static unsigned int fds_at_reset;

static void count_at_reset(void)
{
	fds_at_reset = guest_fds();
}

/* A guest of 256 queues with two descriptors each. */
static void use_many_queues(void)
{
	unsigned int before = guest_fds(), i;

	qemu_handshake();
	for (i = 0; i < 256; i++) {
		assert_int_equal(qemu_ask_fd(VU_SET_VRING_CALL, i, qemu.call), 0);
		assert_int_equal(qemu_ask_fd(VU_SET_VRING_ERR, i, qemu.call), 0);
	}
	assert_int_equal(guest_fds(), before + 512);
}

static bool all_closed(void *arg)
{
	return !vu->ending;
}

/*
 * The descriptors of many queues are closed bit by bit: few of them while the connection
 * ends, and all of them in the end.
 */
static void test_disconnect_bit_by_bit(void **state)
{
	unsigned int before = guest_fds();

	use_many_queues();
	dev.at_reset = count_at_reset;
	qemu_disconnect();
	/* QEMU's end of the connection is closed by then. */
	assert_in_range(fds_at_reset, before + 512 - 1 - 100, before + 512 - 1);
	assert_true(run_until(loop, all_closed, NULL));
	assert_int_equal(guest_fds(), before - 2);
	qemu.fd = -1;
}

static void ring_at_reset(void)
{
	struct vu_vring *vr = &vu->ending->vring[255];

	vr->kick.fd = eventfd(1, EFD_CLOEXEC);
	assert_int_equal(loop_fd_add(loop, &vr->kick, EPOLLIN), 0);
	vr->kick.fn(vr->kick.arg, EPOLLIN);
	assert_int_equal(vr->kick.fd, -1);
	assert_true(vr->call >= 0);
	fds_at_reset = guest_fds();
}

/* A doorbell that is rung after its connection has ended is closed, and no other one. */
static void test_disconnect_and_kick(void **state)
{
	fds_at_reset = 0;
	use_many_queues();
	dev.at_reset = ring_at_reset;
	qemu_disconnect();
	assert_int_not_equal(fds_at_reset, 0);
	qemu.fd = -1;
	/* The front-end ends before they are closed. */
}

/* The daemon does not wait for a QEMU that does not read replies. */
static void test_replies_not_read(void **state)
{
	struct vu_header hdr = {
		.request = VU_GET_FEATURES,
		.flags = VU_FLAGS_VERSION,
	};
	unsigned int i;

	fcntl(qemu.fd, F_SETFL, O_NONBLOCK);
	for (i = 0; i < 100000 && vhost_user_connected(vu); i++) {
		if (send(qemu.fd, &hdr, sizeof(hdr), MSG_NOSIGNAL) < 0)
			run();
	}
	run();
	assert_false(vhost_user_connected(vu));
}

/* ------------------------------------------------------------------------- */
/* Sockets                                                                   */
/* ------------------------------------------------------------------------- */

static char dir[] = "/tmp/test_vhost_user.XXXXXX";
static char path[64];

static int client(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, name);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int setup_listen(void **state)
{
	qemu_setup(state);
	qemu_disconnect();
	qemu.fd = -1;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	return 0;
}

static int teardown_listen(void **state)
{
	qemu_teardown(state);
	/* The directory is empty again, so this succeeds. */
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static void test_listen(void **state)
{
	int other;
	char c;

	assert_int_equal(vhost_user_listen(vu, path), 0);
	qemu.fd = client(path);
	run();
	qemu_start(0);
	/* One guest per socket. */
	other = client(path);
	run();
	assert_int_equal(recv(other, &c, 1, MSG_DONTWAIT), 0);
	close(other);
	assert_still_serving();

	/* The next client connects before the daemon has seen the last one go. */
	other = client(path);
	close(qemu.fd);
	qemu.fd = other;
	run();
	assert_int_equal(dev.resets, 2);
	qemu_start(0);
}

static void test_listen_stale(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	/* Another process listens on it: the socket must not be taken. */
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(vhost_user_listen(vu, path), -EADDRINUSE);
	close(fd);
	/* That process has ended without removing its socket. */
	assert_int_equal(vhost_user_listen(vu, path), 0);
	fd = client(path);
	assert_true(fd >= 0);
	close(fd);
	run();
}

static void test_listen_bad(void **state)
{
	char text[200];
	struct stat st;
	int fd;

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(vhost_user_listen(vu, path), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	unlink(path);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(vhost_user_listen(vu, text), -ENAMETOOLONG);
	assert_int_equal(vhost_user_listen(vu, ""), -EINVAL);
	assert_int_equal(vhost_user_listen(vu, "/nonexistent/socket"),
			 -ENOENT);
}

/* A socket that another process made and handed over. */
static void test_take(void **state)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(vhost_user_take(vu, path, fd[0]), -EINVAL);
	close(fd[0]);
	close(fd[1]);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(vhost_user_take(vu, path, fd[0]), -EINVAL);
	close(fd[0]);
	assert_int_equal(vhost_user_take(vu, path, -1), -EINVAL);

	fd[0] = uds_listen(path, 1);
	assert_true(fd[0] >= 0);
	assert_int_equal(fcntl(fd[0], F_SETFL, 0), 0);
	assert_int_equal(vhost_user_take(vu, path, fd[0]), 0);
	assert_true(fcntl(fd[0], F_GETFL) & O_NONBLOCK);
	qemu.fd = client(path);
	run();
	qemu_start(0);
	assert_still_serving();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, qemu_setup, qemu_teardown)
#define TEST_LISTEN(fn) \
	cmocka_unit_test_setup_teardown(fn, setup_listen, teardown_listen)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_handshake_to_running_queue),
		TEST(test_kick_and_call),
		TEST(test_without_call),
		TEST(test_enable),
		TEST(test_without_protocol_features),
		TEST(test_no_answer_without_reply_ack),
		TEST(test_config),
		TEST(test_config_bad),
		TEST(test_config_changed),
		TEST(test_message_in_pieces),
		TEST(test_messages_in_one),
		TEST(test_unknown_request),
		TEST(test_wrong_lengths),
		TEST(test_wrong_number_of_fds),
		TEST(test_too_many_fds),
		TEST(test_no_room_for_fds),
		TEST(test_too_many_fds_in_pieces),
		TEST(test_reply_as_request),
		TEST(test_protocol_feature_missing),
		TEST(test_bad_version),
		TEST(test_bad_size),
		TEST(test_disconnect),
		TEST(test_disconnect_bit_by_bit),
		TEST(test_disconnect_and_kick),
		TEST(test_replies_not_read),
		TEST_LISTEN(test_listen),
		TEST_LISTEN(test_listen_stale),
		TEST_LISTEN(test_listen_bad),
		TEST_LISTEN(test_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
