// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCE packets that are written as one message, and what comes out where Linux cuts
 * the message up.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include <cmocka.h>

#include "base/util.h"
#include "packet/gid.h"
#include "packet/roce.h"
#include "tests/lib/idle.h"
#include "uplink/vnet.h"
#include "virtio/mem.h"

#define FRAMES_MAX	300
#define IP_ID		(ETH_HLEN + 4)
#define IPV4_UDP	(ETH_HLEN + 20)

/**
 * struct made - a frame that was made
 * @len:	its bytes
 * @data:	its bytes
 */
struct made {
	size_t len;
	uint8_t data[ROCE_FRAME_MAX];
};

static struct made made[FRAMES_MAX];
static struct batch batch;

static const uint8_t gid[2][2][GID_SIZE] = {
	{ { 0x20, 1, 0xd, 0xb8, [15] = 1 }, { 0x20, 1, 0xd, 0xb8, [15] = 2 } },
	{ { [10] = 0xff, 0xff, 10, 9, 8, 1 }, { [10] = 0xff, 0xff, 10, 9, 8, 2 } },
};

/* A SEND Middle of a connection, number @psn, with @len bytes that depend on it. */
static void make(struct made *m, bool ipv4, uint16_t vlan, uint32_t psn, uint32_t len)
{
	static const uint8_t smac[] = { 2, 0, 0, 0, 0, 1 };
	static const struct pkt_av av = { .dmac = { 2, 0, 0, 0, 0, 2 } };
	const struct pkt pkt = {
		.opcode = PKT_OPCODE(PKT_RC, 1),
		.psn = psn & 0xffffff,
		.npsn = 1,
		.dest_qpn = 17,
		.src_qpn = 18,
		.sgid = gid[ipv4][0],
		.dgid = gid[ipv4][1],
		.vlan = vlan,
		.av = &av,
		.len = len,
	};
	struct roce_path path;
	uint8_t *payload;
	uint32_t i;

	roce_path_init(&path, &pkt, smac);
	payload = roce_build(m->data, &path, &pkt);
	assert_non_null(payload);
	for (i = 0; i < len; i++)
		payload[i] = psn * 3 + i;
	m->len = roce_finish(m->data, payload, &pkt);
}

static void frame_of(struct frame *frame, struct iovec *iov, struct made *m)
{
	*iov = (struct iovec){ m->data, m->len };
	assert_int_equal(frame_init(frame, iov, 1, 0, m->len), 0);
}

static bool add(struct made *m)
{
	struct iovec iov;
	struct frame frame;

	frame_of(&frame, &iov, m);
	return batch_add(&batch, &frame);
}

static void clear(void)
{
	memset(&batch, 0, sizeof(batch));
}

/* All frames come out of the batch as they went in. */
static void expect_all(unsigned int n)
{
	static uint8_t out[BATCH_HDR_LEN + OFFLOAD_FRAME_MAX];
	static const uint8_t zero[BATCH_HDR_LEN];
	const struct batch_msg *msg;
	unsigned int i, k, done = 0;

	batch_close(&batch);
	for (i = 0; i < batch.n; i++) {
		msg = &batch.msg[i];
		assert_int_equal(msg->off % 8, 0);
		if (msg->segments == 1) {
			assert_int_equal(msg->len - BATCH_HDR_LEN, made[done].len);
			assert_memory_equal(batch.data + msg->off + BATCH_HDR_LEN,
					    made[done].data, made[done].len);
			done++;
			continue;
		}
		for (k = 0; k < msg->segments; k++, done++) {
			assert_int_equal(batch_segment(&batch, msg, k, out) - BATCH_HDR_LEN,
					 made[done].len);
			assert_memory_equal(out, zero, sizeof(zero));
			assert_memory_equal(out + BATCH_HDR_LEN, made[done].data,
					    made[done].len);
		}
	}
	assert_int_equal(done, n);
}

static void test_segments(void **state)
{
	unsigned int ipv4, i;

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		clear();
		/* The identification of IPv4 goes round in the middle. */
		for (i = 0; i < 40; i++) {
			make(&made[i], ipv4, 0, 0x12fff0 + i, i < 39 ? 64 : 12);
			assert_true(add(&made[i]));
		}
		assert_int_equal(batch.n, 1);
		assert_int_equal(batch.msg[0].segments, 40);
		assert_false(batch.msg[0].open);
		expect_all(40);
	}
}

/* A message ends by its length, by a shorter packet, a longer one, or another kind. */
static void test_ends(void **state)
{
	unsigned int i, n = 0;

	clear();
	for (i = 0; i < BATCH_SEGMENTS + 1; i++) {
		make(&made[n], true, 0, i, 64);
		assert_true(add(&made[n++]));
	}
	assert_int_equal(batch.n, 2);
	assert_int_equal(batch.msg[0].segments, BATCH_SEGMENTS);
	make(&made[n], true, 0, i++, 32);
	assert_true(add(&made[n++]));
	assert_int_equal(batch.n, 2);
	make(&made[n], true, 0, i++, 32);
	assert_true(add(&made[n++]));
	assert_int_equal(batch.n, 3);
	make(&made[n], true, 0, i++, 36);
	assert_true(add(&made[n++]));
	assert_int_equal(batch.n, 4);
	make(&made[n], false, 0, i++, 36);
	assert_true(add(&made[n++]));
	assert_int_equal(batch.n, 5);
	expect_all(n);

	clear();
	for (i = 0; i < 20; i++) {
		make(&made[i], true, 0, i, 4096);
		assert_true(add(&made[i]));
	}
	assert_int_equal(batch.n, 2);
	assert_int_equal(batch.msg[0].segments, 15);
	expect_all(20);
}

/* Changes byte @off of the second of two packets, which is one of a message then or not. */
static void expect_joined(bool ipv4, unsigned int off, bool joined)
{
	clear();
	make(&made[0], ipv4, 0, 5, 64);
	make(&made[1], ipv4, 0, 6, 64);
	made[1].data[off] ^= 1;
	assert_true(add(&made[0]));
	assert_true(add(&made[1]));
	assert_int_equal(batch.n, joined ? 1 : 2);
	if (!joined)
		expect_all(2);
}

/* No bit of the headers gets lost, also not one that was wrong. */
static void test_each_header(void **state)
{
	const unsigned int size[] = { ETH_HLEN + 40 + 8, ETH_HLEN + 20 + 8 };
	unsigned int ipv4, off;

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		for (off = 0; off < size[ipv4]; off++)
			expect_joined(ipv4, off, false);
		for (; off < size[ipv4] + 80; off += 3)
			expect_joined(ipv4, off, true);
	}
}

static void test_left_alone(void **state)
{
	struct iovec iov;
	struct frame frame;
	unsigned int i;

	/* A tag. */
	clear();
	for (i = 0; i < 2; i++) {
		make(&made[i], true, PKT_VLAN_TAGGED | 7, i, 64);
		assert_true(add(&made[i]));
	}
	assert_int_equal(batch.n, 2);
	expect_all(2);

	/* Identifications that do not follow each other. */
	clear();
	for (i = 0; i < 3; i++) {
		make(&made[i], true, 0, 2 * i, 64);
		assert_true(add(&made[i]));
	}
	assert_int_equal(batch.n, 3);
	expect_all(3);

	/* Something that is left to be done to the second one. */
	clear();
	for (i = 0; i < 2; i++)
		make(&made[i], true, 0, i, 64);
	assert_true(add(&made[0]));
	frame_of(&frame, &iov, &made[1]);
	frame.hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	frame.hdr.csum_start = htole16(IPV4_UDP);
	assert_true(batch_add(&batch, &frame));
	assert_int_equal(batch.n, 2);
	expect_all(2);
	assert_memory_equal(batch.data + batch.msg[1].off, &frame.hdr, BATCH_HDR_LEN);

	/* A kernel that does not cut up UDP. */
	clear();
	batch.plain = true;
	for (i = 0; i < 2; i++) {
		make(&made[i], true, 0, i, 64);
		assert_true(add(&made[i]));
	}
	assert_int_equal(batch.n, 2);

	/* Frames of any length, cut off anywhere. */
	for (i = ETH_HLEN; i < 120; i++) {
		clear();
		make(&made[0], true, 0, 1, 64);
		make(&made[1], true, 0, 2, 64);
		assert_true(add(&made[0]));
		made[1].len = i < made[1].len ? i : made[1].len - 1;
		assert_true(add(&made[1]));
		assert_int_equal(batch.n, 2);
		expect_all(2);
	}
}

static void test_full(void **state)
{
	static uint8_t data[OFFLOAD_FRAME_MAX];
	const struct iovec iov = { data, sizeof(data) };
	struct frame frame;
	unsigned int n;

	clear();
	assert_int_equal(frame_init(&frame, &iov, 1, 0, sizeof(data)), 0);
	for (n = 0; batch_add(&batch, &frame); n++)
		assert_true(n < BATCH_MSGS);
	assert_int_equal(n, BATCH_SIZE / (sizeof(data) + BATCH_HDR_LEN));

	clear();
	assert_int_equal(frame_init(&frame, &iov, 1, 0, 60), 0);
	for (n = 0; batch_add(&batch, &frame); n++)
		assert_true(n < BATCH_MSGS);
	assert_int_equal(n, BATCH_MSGS);
}

/* ------------------------------------------------------------------------- */
/* By the kernel                                                             */
/* ------------------------------------------------------------------------- */

static struct loop *loop;
static struct l2_switch *sw;
static struct switch_port here;
static unsigned int came;

/* Frames that the uplink has read. */
static void here_deliver(void *arg, const struct frame *frame)
{
	static uint8_t data[ROCE_FRAME_MAX];

	if (frame->len != made[came].len)
		return;
	iov_to_buf(frame->iov, frame->iov_n, frame->off, data, frame->len);
	assert_memory_equal(data, made[came].data, frame->len);
	came++;
}

static void here_flush(void *arg)
{
}

static void here_begin(void)
{
	loop = loop_new(0);
	sw = switch_new(loop);
	assert_non_null(sw);
	here = (struct switch_port){
		.deliver = here_deliver,
		.flush = here_flush,
	};
	switch_port_add(sw, &here);
	came = 0;
}

static void here_end(void)
{
	switch_port_del(sw, &here);
	switch_free(sw);
	loop_free(loop);
}

/* Messages of several lengths, a gap in the numbers, and both kinds of addresses. */
static void make_many(void)
{
	static const uint32_t len[] = { 64, 64, 64, 20, 1024, 1024, 256 };
	unsigned int i;

	for (i = 0; i < FRAMES_MAX; i++)
		make(&made[i], i / 100 != 1, 0, i < 50 ? i : i + 3, len[i / 3 % ARRAY_SIZE(len)]);
}

static void send_all(unsigned int burst)
{
	struct iovec iov;
	struct frame frame;
	unsigned int i;

	for (i = 0; i < FRAMES_MAX; i++) {
		frame_of(&frame, &iov, &made[i]);
		switch_send(&here, &frame);
		if (i % burst == burst - 1)
			switch_flush(sw);
	}
	switch_flush(sw);
}

/* A tap of the test's own: frames that an interface sends, and that it receives. */
static int tap_open(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(ifr.ifr_name, name);
	assert_int_equal(ioctl(fd, TUNSETIFF, &ifr), 0);
	ifr.ifr_qlen = 2 * FRAMES_MAX;
	assert_int_equal(ioctl(s, SIOCSIFTXQLEN, &ifr), 0);
	ifr.ifr_mtu = 4500;
	assert_int_equal(ioctl(s, SIOCSIFMTU, &ifr), 0);
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(s, SIOCSIFFLAGS, &ifr), 0);
	close(s);
	return fd;
}

/* Does @data hold frame @m, but for a checksum of UDP that the kernel added? */
static void expect_cut(const uint8_t *data, size_t len, const struct made *m)
{
	static uint8_t copy[ROCE_FRAME_MAX];
	size_t udp = m->data[ETH_HLEN] >> 4 == 4 ? IPV4_UDP : ETH_HLEN + 40;
	struct roce_rx rx;

	assert_int_equal(len, m->len);
	memcpy(copy, data, len);
	assert_null(roce_parse(&rx, copy, len));
	assert_true(roce_icrc_ok(&rx, copy));
	memset(copy + udp + 6, 0, 2);
	assert_memory_equal(copy, m->data, len);
}

/* A packet socket sends by an interface that cannot cut messages up: the kernel does. */
static void test_packet_uplink(void **state)
{
	static uint8_t data[65536];
	const struct uplink_env env = { .loop = NULL };
	struct uplink_env with = env;
	struct uplink *uplink;
	struct vnet *vnet;
	unsigned int n = 0;
	ssize_t len;
	int fd;

	if (geteuid() || access("/dev/net/tun", R_OK) || unshare(CLONE_NEWNET))
		skip();
	here_begin();
	with.loop = loop;
	with.sw = sw;
	fd = tap_open("cut0");
	uplink = uplink_open(&with, "packet:cut0");
	assert_non_null(uplink);
	make_many();
	send_all(128);
	vnet = (struct vnet *)uplink;
	assert_false(vnet->tx.plain);
	while ((len = read(fd, data, sizeof(data))) > 0) {
		/* The host's own IPv6 has something to say, too. */
		if (memcmp(data + ETH_ALEN, made[0].data + ETH_ALEN, ETH_ALEN))
			continue;
		assert_true(n < FRAMES_MAX);
		expect_cut(data, len, &made[n++]);
	}
	assert_int_equal(n, FRAMES_MAX);
	assert_int_equal(uplink->stats.tx_dropped, 0);

	/* And back: what comes in there, in batches. */
	for (n = 0; n < FRAMES_MAX; n++) {
		assert_int_equal(write(fd, made[n].data, made[n].len), made[n].len);
		if (n % 100 == 99)
			run_idle(loop);
	}
	run_idle(loop);
	assert_int_equal(came, FRAMES_MAX);
	uplink_free(uplink);
	here_end();
	close(fd);
}

/* A tap hands messages to the host's network, where a socket gets packets one by one. */
static void test_tap_uplink(void **state)
{
	const int size = 8 << 20;
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htobe32(0x0a090802),
		.sin_port = htobe16(ROCE_UDP_PORT),
	};
	static uint8_t data[65536];
	struct ifreq ifr = {};
	struct uplink_env env = {};
	struct uplink *uplink;
	unsigned int n = 0;
	ssize_t len;
	int fd;

	if (geteuid() || access("/dev/net/tun", R_OK) || unshare(CLONE_NEWNET))
		skip();
	here_begin();
	env.loop = loop;
	env.sw = sw;
	uplink = uplink_open(&env, "tap:cut1");
	assert_non_null(uplink);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	strcpy(ifr.ifr_name, "cut1");
	memcpy(&ifr.ifr_addr, &addr, sizeof(addr));
	assert_int_equal(ioctl(fd, SIOCSIFADDR, &ifr), 0);
	addr.sin_addr.s_addr = htobe32(0xffffff00);
	memcpy(&ifr.ifr_netmask, &addr, sizeof(addr));
	assert_int_equal(ioctl(fd, SIOCSIFNETMASK, &ifr), 0);
	memset(&ifr.ifr_hwaddr, 0, sizeof(ifr.ifr_hwaddr));
	ifr.ifr_hwaddr.sa_family = 1;
	ifr.ifr_hwaddr.sa_data[0] = 2;
	ifr.ifr_hwaddr.sa_data[5] = 2;
	assert_int_equal(ioctl(fd, SIOCSIFHWADDR, &ifr), 0);
	ifr.ifr_flags = IFF_UP;
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &ifr), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)), 0);
	addr.sin_addr.s_addr = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	for (n = 0; n < FRAMES_MAX; n++)
		make(&made[n], true, 0, n, n % 20 == 19 ? 20 : 512);
	send_all(FRAMES_MAX);
	for (n = 0; n < FRAMES_MAX && (len = recv(fd, data, sizeof(data), 0)) > 0; n++) {
		assert_int_equal(len, made[n].len - IPV4_UDP - 8);
		assert_memory_equal(data, made[n].data + IPV4_UDP + 8, len);
	}
	assert_int_equal(n, FRAMES_MAX);
	assert_int_equal(uplink->stats.tx_dropped, 0);
	uplink_free(uplink);
	here_end();
	close(fd);
}

/* An older kernel refuses the messages. */
static int old_send(struct vnet *vnet, unsigned int first)
{
	const struct batch_msg *msg = &vnet->tx.msg[first];
	int err;

	if (msg->segments > 1)
		return -EINVAL;
	err = vnet_write(vnet, vnet->tx.data + msg->off, msg->len);
	return err ? err : 1;
}

static int old_recv(struct vnet *vnet)
{
	return -EAGAIN;
}

static const struct uplink_ops old_uplink_ops = { .free = vnet_free };

static void test_old_kernel(void **state)
{
	static const struct vnet_ops ops = { .recv = old_recv, .send = old_send };
	const int size = 8 << 20;
	static uint8_t data[65536];
	struct uplink_env env = {};
	struct vnet *vnet;
	unsigned int n;
	ssize_t len;
	int fd[2];

	here_begin();
	env.loop = loop;
	env.sw = sw;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fd), 0);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	vnet = vnet_new(&env, "old", fd[0]);
	vnet->ops = &ops;
	vnet->uplink.ops = &old_uplink_ops;
	assert_non_null(vnet_start(vnet));
	make_many();
	send_all(100);
	assert_true(vnet->tx.plain);
	for (n = 0; (len = recv(fd[1], data, sizeof(data), 0)) > 0; n++) {
		assert_int_equal(len - VNET_HDR_LEN, made[n].len);
		assert_memory_equal(data + VNET_HDR_LEN, made[n].data, made[n].len);
	}
	assert_int_equal(n + vnet->uplink.stats.tx_dropped, FRAMES_MAX);
	assert_true(n > 100);
	uplink_free(&vnet->uplink);
	here_end();
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_each_header),
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_packet_uplink),
		cmocka_unit_test(test_tap_uplink),
		cmocka_unit_test(test_old_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
