// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "ether/offload.h"
#include "ether/pcap.h"
#include "ether/switch.h"
#include "virtio/mem.h"

#define PORTS	3

/**
 * struct tap - a port of the test's
 * @port:	port
 * @frames:	frames delivered
 * @flushes:	calls of flush
 * @last:	last byte of the last frame
 * @len:	bytes of all frames
 * @hdr:	of the last frame
 * @order:	last bytes of the first frames
 * @bits:	bits of the frames that are not as they were sent
 * @group:	group, for the tests that want one
 */
struct tap {
	struct switch_port port;
	unsigned int frames;
	unsigned int flushes;
	uint8_t last;
	size_t len;
	struct virtio_net_hdr hdr;
	uint8_t order[1000];
	unsigned int bits;
	struct port_group group;
};

static struct l2_switch *sw;
static struct tap tap[PORTS];
static uint64_t now = 1000000000;

/* The switch takes the time from here. */
uint64_t loop_now(const struct loop *loop)
{
	return now;
}

/* And its timers are run from here. */
static struct loop_timer *timer;

void loop_timer_set(struct loop *loop, struct loop_timer *t, uint64_t ns)
{
	assert_true(!timer || timer == t);
	timer = t;
	timer->due = now + ns;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *t)
{
	if (timer == t)
		timer = NULL;
	t->due = 0;
}

static void tap_deliver(void *arg, const struct frame *frame)
{
	struct tap *t = arg;
	uint8_t data[60];
	unsigned int i;

	t->len += frame->len;
	t->hdr = frame->hdr;
	iov_to_buf(frame->iov, frame->iov_n, frame->off, data, sizeof(data));
	t->order[t->frames % sizeof(t->order)] = data[59];
	for (i = ETH_HLEN; i < 59; i++)
		t->bits += __builtin_popcount(data[i]);
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
	unsigned int i;

	for (i = 0; i < PORTS; i++) {
		fault_fini(&tap[i].port.fault_in);
		fault_fini(&tap[i].port.fault_out);
	}
	timer = NULL;
	switch_free(sw);
	return 0;
}

/* The source of the frames of send_mac(). */
static const void *origin;

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
	frame.origin = origin;
	switch_send(&tap[port].port, &frame);
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
	send_mac(0, STATION(1), STATION(2));
	assert_frames(0, 1, 1);
	assert_int_equal(tap[1].last, 1);
}

static void test_known_is_not(void **state)
{
	send_mac(1, STATION(2), BROADCAST);
	assert_frames(1, 0, 1);
	send_mac(0, STATION(1), STATION(2));
	assert_frames(1, 1, 1);
	send_mac(1, STATION(2), STATION(1));
	assert_frames(2, 1, 1);
}

static void test_broadcast_and_multicast(void **state)
{
	send_mac(0, STATION(1), BROADCAST);
	send_mac(0, STATION(1), MULTICAST);
	assert_frames(0, 2, 2);
	send_mac(2, MULTICAST, BROADCAST);
	send_mac(0, STATION(1), MULTICAST);
	assert_frames(1, 4, 3);
}

static void test_own_port(void **state)
{
	send_mac(0, STATION(1), BROADCAST);
	send_mac(0, STATION(2), STATION(1));
	assert_frames(0, 1, 1);
}

static void test_station_moves(void **state)
{
	send_mac(1, STATION(2), BROADCAST);
	send_mac(2, STATION(2), BROADCAST);
	send_mac(0, STATION(1), STATION(2));
	assert_frames(2, 1, 2);
}

static void test_is_behind(void **state)
{
	static const uint8_t mac[] = { 2, 0, 0, 0, 0, 9 };

	assert_false(switch_is_behind(&tap[0].port, mac));
	send_mac(0, 0x020000000009, 0x020000000001);
	assert_true(switch_is_behind(&tap[0].port, mac));
	assert_false(switch_is_behind(&tap[1].port, mac));
	send_mac(1, 0x020000000009, 0x020000000001);
	assert_false(switch_is_behind(&tap[0].port, mac));
	assert_true(switch_is_behind(&tap[1].port, mac));
}

static void test_ageing(void **state)
{
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
	send_mac(1, STATION(2), BROADCAST);
	switch_port_del(sw, &tap[1].port);
	send_mac(0, STATION(1), STATION(2));
	send_mac(0, STATION(1), BROADCAST);
	assert_frames(1, 0, 3);
}

/* With more stations than the table holds, the switch knows those heard last. */
static void test_table_full(void **state)
{
	unsigned int i, flooded;

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

/* How many of @n stations, from @first on, frames from port @from are flooded to. */
static unsigned int unknown(unsigned int from, uint64_t first, unsigned int n)
{
	/* A port that is neither the sender nor where the stations are. */
	const struct tap *other = &tap[2];
	unsigned int i, before = other->frames;

	for (i = 0; i < n; i++)
		send_mac(from, STATION(1), first + i);
	return other->frames - before;
}

/* A port that makes stations up without end has its own forgotten, not others'. */
static void test_quota(void **state)
{
	unsigned int i;

	tap[2].port.quota = 64;
	for (i = 0; i < 100; i++)
		send_mac(1, STATION(1000 + i), BROADCAST);
	/* Five that meet in one bucket: once in 10^4 times. */
	assert_in_range(tap[1].port.stations, 99, 100);
	for (i = 0; i < 100000; i++) {
		now++;
		send_mac(2, STATION(100000 + i), BROADCAST);
	}
	assert_in_range(tap[2].port.stations, 60, 64);
	assert_in_range(tap[1].port.stations, 99, 100);
	assert_in_range(unknown(0, STATION(1000), 100), 0, 1);
	/* They go with their port. */
	switch_port_del(sw, &tap[2].port);
	assert_int_equal(tap[2].port.stations, 0);
	switch_port_add(sw, &tap[2].port);
}

/* A port with a pinned address sends with no other one, and nobody else with it. */
static void test_pinned(void **state)
{
	static const struct pin pin = { .has_mac = true, .mac = { 2, [5] = 7 } };

	tap[1].port.pin = &pin;
	tap[1].port.group = &tap[1].group;
	send_mac(1, STATION(8), BROADCAST);
	assert_frames(0, 0, 0);
	assert_int_equal(tap[1].group.stats.spoofed, 1);
	assert_int_equal(tap[1].group.stats.in, 0);
	/* Before it has ever sent, and after. */
	tap[0].port.group = &tap[0].group;
	send_mac(0, STATION(7), BROADCAST);
	assert_frames(0, 0, 0);
	assert_int_equal(tap[0].group.stats.spoofed, 1);
	send_mac(1, STATION(7), BROADCAST);
	assert_frames(1, 0, 1);
	send_mac(0, STATION(7), BROADCAST);
	assert_frames(1, 0, 1);
	assert_int_equal(tap[0].group.stats.spoofed, 2);
	send_mac(2, STATION(3), STATION(7));
	assert_frames(1, 1, 1);
}

/* A guest on another host: its address is behind a network, and no other guest's. */
static void test_pinned_away(void **state)
{
	static const struct pin pin = { .has_mac = true, .mac = { 2, [5] = 7 } };

	tap[1].port.pin = &pin;
	tap[2].port.network = true;
	send_mac(1, STATION(7), BROADCAST);
	assert_frames(1, 0, 1);
	send_mac(2, STATION(7), BROADCAST);
	assert_frames(1, 0, 1);
	switch_set_away(&tap[1].port, true);
	/* It is not behind its port any more. */
	send_mac(0, STATION(1), STATION(7));
	assert_frames(1, 1, 2);
	send_mac(0, STATION(7), BROADCAST);
	assert_frames(1, 1, 2);
	send_mac(2, STATION(7), BROADCAST);
	assert_frames(2, 2, 2);
	send_mac(0, STATION(1), STATION(7));
	assert_frames(2, 2, 3);
	/* It comes, and is behind its port when it has sent. */
	switch_set_away(&tap[1].port, false);
	send_mac(1, STATION(7), BROADCAST);
	assert_frames(3, 2, 4);
	send_mac(2, STATION(7), BROADCAST);
	assert_frames(3, 2, 4);
	send_mac(0, STATION(1), STATION(7));
	assert_frames(3, 3, 4);
}

/* A pinned port sends the frame that was looked at, and all of it. */
static void pinned_deliver(void *arg, const struct frame *frame)
{
	struct tap *t = arg;
	uint8_t data[400];
	unsigned int i;

	assert_int_equal(iov_to_buf(frame->iov, frame->iov_n, frame->off, data,
				    sizeof(data)), 300);
	assert_int_equal(frame->len, 300);
	for (i = 12; i < 300; i++)
		assert_int_equal(data[i], (uint8_t)(7 * i));
	/* The guest writes now: its sender's address does not change. */
	memset(t->order, 0xee, 300);
	iov_to_buf(frame->iov, frame->iov_n, frame->off, data, 12);
	assert_int_equal(data[11], 7);
	t->frames++;
}

static void test_pinned_copy(void **state)
{
	static const struct pin pin = { .has_mac = true, .mac = { 2, [5] = 7 } };
	uint8_t *data = tap[0].order;
	struct iovec iov[] = {
		{ data, 3 }, { data + 3, 0 }, { data + 3, 150 },
		{ data + 153, 100 }, { data + 253, 47 },
	};
	struct frame frame;
	unsigned int i, off;

	tap[1].port.pin = &pin;
	tap[0].port.deliver = pinned_deliver;
	for (off = 0; off < 3; off += 2) {
		for (i = 12; i < 300; i++)
			data[i] = 7 * i;
		memset(data, 0xff, 6);
		memcpy(data + 6, pin.mac, 6);
		if (off)
			memmove(data + off, data, 300);
		iov[4].iov_len = 47 + off;
		assert_int_equal(frame_init(&frame, iov, 5, off, 300), 0);
		switch_send(&tap[1].port, &frame);
	}
	assert_int_equal(tap[0].frames, 2);
}

/* Silent stations give their places to others. */
static void test_silent_give_way(void **state)
{
	unsigned int i;

	for (i = 0; i < 1024; i++)
		send_mac(0, STATION(10000 + i), BROADCAST);
	now += 301 * 1000000000ULL;
	for (i = 0; i < 1024; i++)
		send_mac(1, STATION(20000 + i), BROADCAST);
	assert_in_range(unknown(0, STATION(20000), 1024), 0, 20);
}

static void test_group_addresses_are_not_learned(void **state)
{
	unsigned int i, flooded;

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

/* ------------------------------------------------------------------------- */
/* Faults, cutting off, capture of one port                                  */
/* ------------------------------------------------------------------------- */

static void use_group(unsigned int i, const struct fault_config *config)
{
	switch_port_del(sw, &tap[i].port);
	tap[i].group.fault = *config;
	tap[i].port.group = &tap[i].group;
	switch_port_add(sw, &tap[i].port);
}

#define FRAMES	1000

static void send_numbered(unsigned int port)
{
	unsigned int i;

	for (i = 0; i < FRAMES; i++)
		send_mac(port, STATION(0x100 + i % 200), BROADCAST);
}

static const struct fault_config one_percent = {
	.loss = FAULT_ALWAYS / 100,
	.dup = FAULT_ALWAYS / 50,
	.reorder = FAULT_ALWAYS / 20,
	.corrupt = FAULT_ALWAYS / 25,
	.seed = 4711,
};

static void test_faults_from_a_port(void **state)
{
	struct fault_stats *stats = &tap[0].group.stats.fault;

	use_group(0, &one_percent);
	send_numbered(0);
	if (timer)
		timer->fn(timer->arg);
	assert_int_equal(tap[0].group.stats.in, FRAMES);
	assert_in_range(stats->lost, 2, 25);
	assert_in_range(stats->duplicated, 5, 40);
	assert_in_range(stats->reordered, 15, 100);
	assert_in_range(stats->corrupted, 15, 80);
	assert_int_equal(tap[1].frames,
			 FRAMES - stats->lost + stats->duplicated);
	/* Everybody gets the same. */
	assert_int_equal(tap[2].frames, tap[1].frames);
	assert_memory_equal(tap[2].order, tap[1].order, sizeof(tap[1].order));
	/* One of the bits of the last byte is not looked at. */
	assert_in_range(tap[1].bits, stats->corrupted / 2, stats->corrupted);
}

static void test_faults_to_a_port(void **state)
{
	struct fault_stats *stats = &tap[1].group.stats.fault;

	use_group(1, &one_percent);
	send_numbered(0);
	if (timer)
		timer->fn(timer->arg);
	assert_int_equal(tap[1].frames,
			 FRAMES - stats->lost + stats->duplicated);
	assert_int_equal(tap[1].group.stats.out, tap[1].frames);
	assert_true(stats->lost);
	/* The other ports do not notice. */
	assert_int_equal(tap[2].frames, FRAMES);
	assert_int_equal(tap[2].bits, 0);
}

/* With one seed the same happens again, with another something else. */
static void test_faults_are_repeatable(void **state)
{
	struct fault_config config = one_percent;
	uint8_t first[sizeof(tap[1].order)];

	use_group(0, &config);
	send_numbered(0);
	memcpy(first, tap[1].order, sizeof(first));
	tap[1].frames = 0;
	use_group(0, &config);
	send_numbered(0);
	assert_memory_equal(first, tap[1].order, sizeof(first));
	tap[1].frames = 0;
	config.seed++;
	use_group(0, &config);
	send_numbered(0);
	assert_memory_not_equal(first, tap[1].order, sizeof(first));
}

static void test_everything_is_lost(void **state)
{
	const struct fault_config config = { .loss = FAULT_ALWAYS };

	use_group(0, &config);
	send_numbered(0);
	send_numbered(1);
	assert_frames(0, 0, FRAMES);
	assert_int_equal(tap[0].group.stats.fault.lost, 2 * FRAMES);
}

/* One frame is held back until three have passed, or some time has. */
static void test_reorder(void **state)
{
	const struct fault_config config = { .reorder = FAULT_ALWAYS };
	static const uint8_t order[] = { 2, 3, 4, 1, 6, 5 };
	unsigned int i;

	use_group(0, &config);
	for (i = 1; i <= 6; i++)
		send_mac(0, STATION(i), BROADCAST);
	assert_int_equal(tap[1].frames, 5);
	assert_non_null(timer);
	timer->fn(timer->arg);
	assert_null(timer);
	assert_int_equal(tap[1].frames, 6);
	assert_int_equal(tap[1].flushes, 1);
	assert_memory_equal(tap[1].order, order, sizeof(order));
	/* A frame that is held back is dropped with its port. */
	send_mac(0, STATION(1), BROADCAST);
	assert_non_null(timer);
	switch_port_del(sw, &tap[0].port);
	assert_null(timer);
}

/* A frame that is held back for another port is dropped with the guest that sent it. */
static void test_reorder_forget(void **state)
{
	const struct fault_config config = { .reorder = FAULT_ALWAYS };
	int here, gone;

	use_group(1, &config);
	origin = &here;
	send_mac(0, STATION(1), BROADCAST);
	origin = NULL;
	assert_non_null(timer);
	switch_forget(sw, &gone);
	assert_non_null(timer);
	switch_forget(sw, &here);
	assert_null(timer);
	assert_int_equal(tap[1].frames, 0);
}

static void test_cut(void **state)
{
	static const struct fault_config none;

	use_group(0, &none);
	tap[0].group.cut = true;
	send_mac(0, STATION(1), BROADCAST);
	send_mac(1, STATION(2), BROADCAST);
	assert_frames(0, 0, 1);
	assert_int_equal(tap[0].group.stats.cut, 2);
	tap[0].group.cut = false;
	send_mac(0, STATION(1), BROADCAST);
	send_mac(1, STATION(2), BROADCAST);
	assert_frames(1, 1, 3);
	assert_int_equal(tap[0].group.stats.cut, 2);
	assert_int_equal(tap[0].group.stats.in_bytes, 60);
	assert_int_equal(tap[0].group.stats.out_bytes, 60);
}

static void test_capture_of_a_port(void **state)
{
	static const struct fault_config none;
	char path[] = "/tmp/test_switch.XXXXXX";
	int fd = mkstemp(path);
	struct stat st;

	assert_true(fd >= 0);
	use_group(0, &none);
	tap[0].group.pcap = pcap_open(path);
	assert_non_null(tap[0].group.pcap);
	send_mac(0, STATION(1), STATION(2));	/* from it */
	send_mac(1, STATION(2), STATION(1));	/* to it */
	send_mac(1, STATION(2), BROADCAST);	/* to it as well */
	send_mac(2, STATION(3), STATION(2));	/* neither */
	pcap_close(tap[0].group.pcap);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 24 + 3 * (16 + 60));
	close(fd);
	unlink(path);
}

/* Sends a TCP packet of 3000 bytes, to be segmented at 1000. */
static void send_tso(unsigned int port)
{
	static uint8_t data[54 + 3000] = {
		255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 0, 0x45,
		[23] = 6,
		[46] = 0x50,
	};
	const struct virtio_net_hdr hdr = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.gso_size = 1000,
		.csum_start = 34,
		.csum_offset = 16,
	};
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct frame frame;

	assert_int_equal(frame_init(&frame, &iov, 1, 0, sizeof(data)), 0);
	assert_int_equal(offload_init(&frame, &hdr), 0);
	switch_send(&tap[port].port, &frame);
}

/* A port that takes offloads gets the packet whole, others get its segments. */
static void test_offloads(void **state)
{
	static const struct fault_config none;

	use_group(2, &none);
	tap[1].port.offloads = OFFLOAD_CSUM | OFFLOAD_TSO4;
	tap[2].port.offloads = OFFLOAD_CSUM | OFFLOAD_TSO6;
	send_tso(0);
	assert_frames(0, 1, 3);
	assert_int_equal(tap[1].len, 54 + 3000);
	assert_int_equal(tap[1].hdr.gso_size, 1000);
	assert_int_equal(tap[2].len, 3 * 54 + 3000);
	assert_int_equal(tap[2].hdr.flags, 0);
	assert_int_equal(tap[2].group.stats.out, 3);
}

/* Faults act on segments, also for a port that would take the packet whole. */
static void test_offloads_with_faults(void **state)
{
	const struct fault_config config = { .dup = FAULT_ALWAYS };
	unsigned int i;

	for (i = 0; i < PORTS; i++)
		tap[i].port.offloads = OFFLOAD_CSUM | OFFLOAD_TSO4;
	use_group(1, &config);
	send_tso(0);
	assert_frames(0, 6, 1);
	send_tso(1);
	assert_frames(6, 6, 7);
	assert_int_equal(tap[0].hdr.gso_type, 0);
}

static void test_probability(void **state)
{
	static const char *const bad[] = {
		"", "x", "-0.1", "1.01", "101%", "1%%", "0.1x", "nan", "inf",
		" 1", "1 %", "0x1",
	};
	uint64_t value;
	unsigned int i;

	assert_int_equal(fault_parse("0.01", &value), 0);
	assert_int_equal(value, FAULT_ALWAYS / 100);
	assert_int_equal(fault_parse("1%", &value), 0);
	assert_int_equal(value, FAULT_ALWAYS / 100);
	assert_int_equal(fault_parse("100%", &value), 0);
	assert_int_equal(value, FAULT_ALWAYS);
	assert_int_equal(fault_parse("1", &value), 0);
	assert_int_equal(value, FAULT_ALWAYS);
	assert_int_equal(fault_parse("0", &value), 0);
	assert_int_equal(value, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(fault_parse(bad[i], &value), -EINVAL);
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
		TEST(test_is_behind),
		TEST(test_ageing),
		TEST(test_port_removed),
		TEST(test_table_full),
		TEST(test_quota),
		TEST(test_pinned),
		TEST(test_pinned_away),
		TEST(test_pinned_copy),
		TEST(test_silent_give_way),
		TEST(test_group_addresses_are_not_learned),
		TEST(test_flush),
		TEST(test_frame_init),
		TEST(test_capture),
		TEST(test_faults_from_a_port),
		TEST(test_faults_to_a_port),
		TEST(test_faults_are_repeatable),
		TEST(test_everything_is_lost),
		TEST(test_reorder),
		TEST(test_reorder_forget),
		TEST(test_cut),
		TEST(test_capture_of_a_port),
		TEST(test_offloads),
		TEST(test_offloads_with_faults),
		TEST(test_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
