// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pcap.h"
#include "switch.h"
#include "mem.h"

#define PORTS	3

/**
 * struct tap - a port of the test's
 * @port:	port
 * @frames:	frames delivered
 * @flushes:	calls of flush
 * @last:	last byte of the last frame
 */
struct tap {
	struct switch_port port;
	unsigned int frames;
	unsigned int flushes;
	uint8_t last;
};

static struct l2_switch *sw;
static struct tap tap[PORTS];
static uint64_t now = 1000000000;

/* The switch takes the time from here. */
uint64_t loop_now(const struct loop *loop)
{
	(void)loop;
	return now;
}

static void tap_deliver(void *arg, const struct frame *frame)
{
	struct tap *t = arg;

	t->frames++;
	assert_int_equal(iov_to_buf(frame->iov, frame->iov_n,
				    frame->off + frame->len - 1, &t->last, 1),
			 1);
}

static void tap_flush(void *arg)
{
	struct tap *t = arg;

	t->flushes++;
}

static int setup(void **state)
{
	unsigned int i;

	(void)state;
	sw = switch_new(NULL);
	memset(tap, 0, sizeof(tap));
	for (i = 0; i < PORTS; i++) {
		tap[i].port.deliver = tap_deliver;
		tap[i].port.flush = tap_flush;
		tap[i].port.arg = &tap[i];
		switch_port_add(sw, &tap[i].port);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	switch_free(sw);
	return 0;
}

/* Sends a frame of 60 bytes between two stations; addresses are 02:00:…:n. */
static void send_mac(unsigned int port, uint64_t src, uint64_t dst)
{
	uint8_t data[60] = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct frame frame;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		data[i] = dst >> (40 - 8 * i);
		data[6 + i] = src >> (40 - 8 * i);
	}
	data[59] = src;
	assert_int_equal(frame_init(&frame, &iov, 1, 0, sizeof(data)), 0);
	switch_send(sw, &tap[port].port, &frame);
}

#define STATION(n)	(0x020000000000ULL + (n))
#define BROADCAST	0xffffffffffffULL
#define MULTICAST	0x01005e000001ULL

static void assert_frames(unsigned int a, unsigned int b, unsigned int c)
{
	assert_int_equal(tap[0].frames, a);
	assert_int_equal(tap[1].frames, b);
	assert_int_equal(tap[2].frames, c);
}

static void test_unknown_is_flooded(void **state)
{
	(void)state;
	send_mac(0, STATION(1), STATION(2));
	assert_frames(0, 1, 1);
	assert_int_equal(tap[1].last, 1);
}

static void test_known_is_not(void **state)
{
	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	assert_frames(1, 0, 1);
	send_mac(0, STATION(1), STATION(2));
	assert_frames(1, 1, 1);
	send_mac(1, STATION(2), STATION(1));
	assert_frames(2, 1, 1);
}

static void test_broadcast_and_multicast(void **state)
{
	(void)state;
	send_mac(0, STATION(1), BROADCAST);
	send_mac(0, STATION(1), MULTICAST);
	assert_frames(0, 2, 2);
	send_mac(2, MULTICAST, BROADCAST);
	send_mac(0, STATION(1), MULTICAST);
	assert_frames(1, 4, 3);
}

static void test_own_port(void **state)
{
	(void)state;
	send_mac(0, STATION(1), BROADCAST);
	send_mac(0, STATION(2), STATION(1));
	assert_frames(0, 1, 1);
}

static void test_station_moves(void **state)
{
	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	send_mac(2, STATION(2), BROADCAST);
	send_mac(0, STATION(1), STATION(2));
	assert_frames(2, 1, 2);
}

static void test_ageing(void **state)
{
	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	now += 299 * 1000000000ULL;
	send_mac(0, STATION(1), STATION(2));
	assert_frames(1, 1, 1);
	now += 2 * 1000000000ULL;
	send_mac(0, STATION(1), STATION(2));
	assert_frames(1, 2, 2);
}

static void test_port_removed(void **state)
{
	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	switch_port_del(sw, &tap[1].port);
	send_mac(0, STATION(1), STATION(2));
	send_mac(0, STATION(1), BROADCAST);
	assert_frames(1, 0, 3);
}

/* More stations than the table holds: those heard last are known all the same. */
static void test_table_full(void **state)
{
	unsigned int i, flooded;

	(void)state;
	for (i = 0; i < 20000; i++) {
		now++;
		send_mac(1, STATION(1000 + i), STATION(1000));
	}
	flooded = tap[2].frames;
	for (i = 19000; i < 20000; i++)
		send_mac(0, STATION(1), STATION(1000 + i));
	flooded = tap[2].frames - flooded;
	assert_in_range(flooded, 0, 50);
	assert_true(tap[1].frames >= 1000);
}

static void test_group_addresses_are_not_learned(void **state)
{
	unsigned int i, flooded;

	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	for (i = 0; i < 20000; i++) {
		now++;
		send_mac(1, MULTICAST + i, STATION(2));
	}
	flooded = tap[2].frames;
	send_mac(0, STATION(1), STATION(2));
	assert_int_equal(tap[2].frames, flooded);
}

static void test_flush(void **state)
{
	(void)state;
	send_mac(1, STATION(2), BROADCAST);
	switch_flush(sw);
	send_mac(0, STATION(1), STATION(2));
	send_mac(0, STATION(1), STATION(2));
	switch_flush(sw);
	switch_flush(sw);
	assert_int_equal(tap[0].flushes, 1);
	assert_int_equal(tap[1].flushes, 1);
	assert_int_equal(tap[2].flushes, 1);
}

static void test_frame_init(void **state)
{
	static const uint8_t head[18] = {
		[12] = 0x81, [13] = 0x00, [14] = 0xe1, [15] = 0x23,
	};
	uint8_t data[100] = { 0 };
	struct iovec iov[] = {
		{ .iov_base = data, .iov_len = 20 },
		{ .iov_base = data + 20, .iov_len = 80 },
	};
	struct frame frame;

	(void)state;
	assert_int_equal(frame_init(&frame, iov, 2, 12, 13), -EINVAL);
	assert_int_equal(frame_init(&frame, iov, 2, 90, 14), -EINVAL);
	assert_int_equal(frame_init(&frame, iov, 2, 12, 14), 0);
	assert_int_equal(frame.vlan, -1);

	memcpy(data + 12, head, sizeof(head));
	assert_int_equal(frame_init(&frame, iov, 2, 12, 88), 0);
	assert_int_equal(frame.vlan, 0x123);
	/* The tag is cut off. */
	assert_int_equal(frame_init(&frame, iov, 2, 12, 15), 0);
	assert_int_equal(frame.vlan, -1);
}

static void test_capture(void **state)
{
	char path[] = "/tmp/test_switch.XXXXXX";
	uint32_t word[6], record[4];
	uint8_t data[60];
	struct pcap *pcap;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	pcap = pcap_open(path);
	assert_non_null(pcap);
	switch_capture(sw, pcap);
	send_mac(0, STATION(7), BROADCAST);
	send_mac(1, STATION(8), STATION(7));

	assert_int_equal(read(fd, word, sizeof(word)), sizeof(word));
	assert_int_equal(word[0], 0xa1b23c4d);
	assert_int_equal(word[5], 1);
	assert_int_equal(read(fd, record, sizeof(record)), sizeof(record));
	assert_int_equal(record[2], 60);
	assert_int_equal(record[3], 60);
	assert_int_equal(read(fd, data, sizeof(data)), sizeof(data));
	assert_int_equal(data[0], 0xff);
	assert_int_equal(data[59], 7);
	assert_int_equal(read(fd, record, sizeof(record)), sizeof(record));
	assert_int_equal(read(fd, data, sizeof(data)), sizeof(data));
	assert_int_equal(data[59], 8);
	assert_int_equal(read(fd, data, sizeof(data)), 0);

	switch_capture(sw, NULL);
	pcap_close(pcap);
	close(fd);
	unlink(path);
	assert_null(pcap_open("/nonexistent/file"));
	assert_int_equal(errno, ENOENT);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_unknown_is_flooded),
		TEST(test_known_is_not),
		TEST(test_broadcast_and_multicast),
		TEST(test_own_port),
		TEST(test_station_moves),
		TEST(test_ageing),
		TEST(test_port_removed),
		TEST(test_table_full),
		TEST(test_group_addresses_are_not_learned),
		TEST(test_flush),
		TEST(test_frame_init),
		TEST(test_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
