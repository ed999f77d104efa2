// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function: features, configuration space, Ethernet frames.
 */

#include <errno.h>
#include <string.h>

#include "function/eth.h"
#include "function/function_priv.h"
#include "tests/lib/station.h"

static uint16_t num_buffers(const struct station *s, uint64_t addr)
{
	const struct virtio_net_hdr_v1 *hdr = guest_ptr(&s->guest, addr);
	uint16_t n;

	memcpy(&n, &hdr->num_buffers, sizeof(n));
	return n;
}

/* ------------------------------------------------------------------------- */
/* Features, configuration                                                   */
/* ------------------------------------------------------------------------- */

static void test_features(void **state)
{
	struct function *fn = st[0].fn;
	uint64_t features = function_device_ops.features(fn);

	assert_true(features & BIT(VIRTIO_F_VERSION_1));
	assert_true(features & BIT(VIRTIO_NET_F_ROCE));
	assert_true(features & BIT(VIRTIO_NET_F_CTRL_VQ));
	/* A driver would use these, and the device does not have them. */
	assert_false(features & BIT(VIRTIO_F_RING_RESET));
	assert_false(features & BIT(VIRTIO_F_RING_PACKED));
	assert_false(features & BIT(VIRTIO_F_ACCESS_PLATFORM));
	assert_false(features & BIT(VIRTIO_NET_F_NOTF_COAL));

	assert_int_equal(function_device_ops.negotiated(fn, features), 0);
	assert_int_equal(function_device_ops.negotiated(fn, FEATURES_MIN), 0);
	assert_int_equal(function_device_ops.negotiated(fn, features |
							BIT(VIRTIO_NET_F_MQ)),
			 -EINVAL);
	assert_int_equal(function_device_ops.negotiated(fn,
							BIT(VIRTIO_NET_F_MAC)),
			 -EINVAL);
}

static void test_config_space(void **state)
{
	static const uint8_t expected[32] = {
		2, 0, 0, 0, 0, 1,
		1, 0,			/* link is up */
		1, 0,			/* one pair of queues */
		MTU & 0xff, MTU >> 8,
		SPEED & 0xff, SPEED >> 8, 0, 0,
		1,			/* both ways at a time */
		0, 0, 0, 0, 0, 0, 0,
		QPS, 0, 0, 0,
		CQS, 0, 0, 0,
	};
	struct function *fn = st[0].fn;
	uint8_t buf[33];

	assert_int_equal(function_device_ops.config_read(fn, 0, buf, 32), 0);
	assert_memory_equal(buf, expected, 32);
	assert_int_equal(function_device_ops.config_read(fn, 24, buf, 8), 0);
	assert_memory_equal(buf, expected + 24, 8);
	assert_int_equal(function_device_ops.config_read(fn, 32, buf, 0), 0);
	/* A space that is longer than ours has fields that we do not have. */
	memset(buf, 0xa5, sizeof(buf));
	assert_int_equal(function_device_ops.config_read(fn, 28, buf, 8), 0);
	assert_memory_equal(buf + 4, "\0\0\0\0", 4);
	assert_int_equal(buf[8], 0xa5);
	assert_int_equal(function_device_ops.config_read(fn, 252, buf, 4), 0);
	assert_memory_equal(buf, "\0\0\0\0", 4);
	assert_int_equal(function_device_ops.config_read(fn, 253, buf, 4), -EINVAL);
	assert_int_equal(function_device_ops.config_read(fn, 257, buf, 0), -EINVAL);
	assert_int_equal(function_device_ops.config_read(fn, UINT32_MAX, buf, 8),
			 -EINVAL);
	assert_int_equal(function_device_ops.config_write(fn, 0, buf, 6), -EINVAL);
	assert_int_equal(function_num_queues(1, &(struct rnic_limits){
				.qps = 32, .cqs = 64 }), 131);
}

static const struct function_config ring_config = {
	.name = "c",
	.mtu = FUNCTION_MTU_MAX,
	.limits = {
		.qps = QPS,
		.cqs = CQS,
		.queue_size = NUM,
		.event_vqs = 3,
		.doorbell_vqs = 2,
	},
};

/* A device with event queues has more of a configuration space, and more queues. */
static void test_config_rings(void **state)
{
	static const uint8_t expected[] = { CQS, 0, 0, 0, 3, 0, 2, 0 };
	struct l2_switch *own_switch = switch_new(loop);
	struct fabric *own_fabric = fabric_new();
	struct function *fn = function_new(loop, own_switch, own_fabric, &ring_config);
	uint8_t buf[8];

	assert_int_equal(function_device_ops.config_read(fn, 28, buf, 8), 0);
	assert_memory_equal(buf, expected, 8);
	assert_int_equal(function_num_queues(1, &ring_config.limits),
			 3 + CQS + 2 * QPS + 3 + 2);
	function_free(fn);
	fabric_free(own_fabric);
	switch_free(own_switch);
}

/* Event and doorbell virtqueues stand behind those of the RFC. */
static void test_ring_queues(void **state)
{
	const unsigned int first = 3 + CQS + 2 * QPS;
	struct l2_switch *own_switch = switch_new(loop);
	struct fabric *own_fabric = fabric_new();
	struct function *fn = function_new(loop, own_switch, own_fabric, &ring_config);
	struct virtq vq[6] = {};
	unsigned int i;

	memset(&rnic_mock, 0, sizeof(rnic_mock));
	function_device_ops.negotiated(fn, function_device_ops.features(fn));
	for (i = 0; i < 6; i++) {
		vq[i].index = first + i;
		function_device_ops.queue_start(fn, &vq[i]);
		function_device_ops.kick(fn, &vq[i]);
	}
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(rnic_mock.queue[RNIC_EVENT][i], &vq[i]);
		assert_int_equal(rnic_mock.kicks[RNIC_EVENT][i], 1);
	}
	for (i = 0; i < 2; i++) {
		assert_ptr_equal(rnic_mock.queue[RNIC_DOORBELL][i], &vq[3 + i]);
		assert_int_equal(rnic_mock.kicks[RNIC_DOORBELL][i], 1);
	}
	assert_null(rnic_mock.queue[RNIC_DOORBELL][2]);
	/* The last one is not a queue of RDMA. */
	assert_int_equal(function_stats(fn)->doorbells, 5);
	for (i = 0; i < 6; i++)
		function_device_ops.queue_stop(fn, &vq[i]);
	assert_null(rnic_mock.queue[RNIC_EVENT][0]);
	assert_null(rnic_mock.queue[RNIC_DOORBELL][1]);
	function_free(fn);
	fabric_free(own_fabric);
	switch_free(own_switch);
}

/* A feature that the operator did not ask for is not offered. */
static void test_optional_features(void **state)
{
	static const uint8_t unknown[] = { 0xff, 0xff, 0xff, 0xff, 0xff };
	const uint64_t optional = BIT(VIRTIO_NET_F_MTU) |
				  BIT(VIRTIO_NET_F_SPEED_DUPLEX);
	struct function_config config = {
		.name = "c",
		.mtu = FUNCTION_MTU_MAX,
		.limits = { .qps = QPS, .cqs = CQS, .queue_size = NUM },
	};
	struct l2_switch *own_switch = switch_new(loop);
	struct fabric *own_fabric = fabric_new();
	struct function *fn;
	uint64_t features;
	uint8_t buf[5];

	assert_int_equal(FEATURES_ALL & optional, optional);
	fn = function_new(loop, own_switch, own_fabric, &config);
	features = function_device_ops.features(fn);
	assert_int_equal(features, FEATURES_ALL & ~optional);
	assert_int_equal(function_device_ops.negotiated(fn, features), 0);
	assert_int_equal(function_device_ops.negotiated(fn, features |
					BIT(VIRTIO_NET_F_MTU)), -EINVAL);
	assert_int_equal(function_device_ops.negotiated(fn, features |
					BIT(VIRTIO_NET_F_SPEED_DUPLEX)), -EINVAL);
	assert_int_equal(function_device_ops.config_read(fn, 12, buf, 5), 0);
	assert_memory_equal(buf, unknown, 5);
	function_free(fn);
	fabric_free(own_fabric);
	switch_free(own_switch);
}

static void test_link(void **state)
{
	uint8_t status;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	function_set_link(st[1].fn, true);
	assert_int_equal(config_changes, 0);
	assert_false(rnic_mock.packets);
	function_set_link(st[1].fn, false);
	assert_int_equal(config_changes, 1);
	assert_true(rnic_mock.packets);
	function_device_ops.config_read(st[1].fn, 6, &status, 1);
	assert_int_equal(status, 0);

	rx_buffer(&st[0], 2000);
	rx_buffer(&st[1], 2000);
	tx_frame(&st[0], BROADCAST, 60, false);
	tx_frame(&st[1], BROADCAST, 60, false);
	run();
	assert_int_equal(rx_count(0), 0);
	assert_int_equal(rx_count(1), 0);
	/* The frame was taken, but went nowhere. */
	assert_int_equal(st[1].gvq[TX].used->idx, 1);

	function_set_link(st[1].fn, true);
	assert_int_equal(config_changes, 2);
	assert_false(rnic_mock.packets);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_int_equal(rx_count(1), 1);
}

/* RDMA in memory passes by a capture, faults, and a cut. */
static void test_port_is_not_plain(void **state)
{
	struct port_group groups[] = {
		{ .name = "plain" },
		{ .name = "faults", .fault.loss = 1 },
		{ .name = "capture", .pcap = (struct pcap *)&groups },
		{ .name = "cut", .cut = true },
	};
	struct l2_switch *own_switch = switch_new(loop);
	struct fabric *own_fabric = fabric_new();
	struct function_config config = ring_config;
	struct function *fn;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		config.group = &groups[i];
		fn = function_new(loop, own_switch, own_fabric, &config);
		assert_int_equal(rnic_mock.packets, i > 0);
		groups[i].cut = !i;
		function_port_changed(fn);
		assert_int_equal(rnic_mock.packets, i < 3);
		function_free(fn);
	}
	fabric_free(own_fabric);
	switch_free(own_switch);
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

static void test_frame(void **state)
{
	uint8_t *sent;
	uint64_t addr;
	uint32_t head, len;

	station_start(&st[0], FEATURES_MIN);
	station_start(&st[1], FEATURES_MIN);
	addr = rx_buffer(&st[1], 2000);
	sent = tx_frame(&st[0], MAC(2), 1000, false);
	run();

	assert_true(guest_vq_get(&st[0].gvq[TX], &head, &len));
	assert_int_equal(len, 0);
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(len, HDR + 1000);
	assert_int_equal(num_buffers(&st[1], addr), 1);
	assert_memory_equal((uint8_t *)guest_ptr(&st[1].guest, addr) + HDR,
			    sent, 1000);
	/* Not a byte more. */
	assert_int_equal(*((uint8_t *)guest_ptr(&st[1].guest, addr) + HDR +
			   1000), 0xee);
	assert_int_equal(st[0].calls[TX], 1);
	assert_int_equal(st[1].calls[RX], 1);
	assert_int_equal(function_stats(st[0].fn)->tx, 1);
	assert_int_equal(rx_count(1), 1);
	assert_false(guest_vq_get(&st[0].gvq[RX], &head, &len));
}

/* Frames in many pieces take long: they wait for their turn, not the others. */
static void test_frames_of_many_pieces(void **state)
{
	enum { PIECES = 100, FRAMES = 50, ROUNDS = PIECES * FRAMES / 1100 };
	struct station *s = &st[0];
	uint64_t addr = guest_alloc(&s->guest, PIECES, 1);
	struct guest_buf buf[PIECES];
	unsigned int i, rounds;
	uint16_t head;

	memset(guest_ptr(&s->guest, addr), 0, PIECES);
	for (i = 0; i < PIECES; i++)
		buf[i] = (struct guest_buf){ .addr = addr + i, .len = 1 };
	station_start(s, FEATURES_ALL);
	run();
	head = guest_vq_add(&s->gvq[TX], buf, PIECES);
	for (i = 1; i < FRAMES; i++)
		guest_vq_add_head(&s->gvq[TX], head);
	for (rounds = 0; eth_poll(s->fn); rounds++)
		;
	assert_int_equal(function_stats(s->fn)->tx, FRAMES);
	assert_in_range(rounds, ROUNDS, FRAMES);
	assert_int_equal(s->errors, 0);
}

static void taker_deliver(void *arg, const struct frame *frame)
{
	(*(unsigned int *)arg)++;
}

static void taker_flush(void *arg)
{
}

/* A frame to all costs its sender as many as get it. */
static void test_frames_to_all(void **state)
{
	enum { TAKERS = 30, FRAMES = 60, LEN = 1000, ROUNDS = TAKERS * FRAMES * LEN >> 18 };
	struct switch_port taker[TAKERS] = {};
	unsigned int i, rounds, taken = 0;

	for (i = 0; i < TAKERS; i++) {
		taker[i].deliver = taker_deliver;
		taker[i].flush = taker_flush;
		taker[i].arg = &taken;
		switch_port_add(sw, &taker[i]);
	}
	station_start(&st[0], FEATURES_ALL);
	run();
	for (i = 0; i < FRAMES; i++)
		tx_frame(&st[0], BROADCAST, LEN, false);
	for (rounds = 0; eth_poll(st[0].fn); rounds++)
		;
	assert_int_equal(taken, TAKERS * FRAMES);
	assert_in_range(rounds, ROUNDS, FRAMES);
	for (i = 0; i < TAKERS; i++)
		switch_port_del(sw, &taker[i]);
}

static void test_frame_in_pieces(void **state)
{
	struct guest_buf buf[4];
	uint8_t *sent, got[200] = { 0 };
	uint32_t head, len;
	unsigned int i;

	station_start(&st[0], FEATURES_MIN);
	station_start(&st[1], FEATURES_MIN);
	/* Even the header is in two pieces. */
	for (i = 0; i < 4; i++) {
		buf[i].len = i ? 60 : 5;
		buf[i].addr = guest_alloc(&st[1].guest, buf[i].len + 3, 1);
		buf[i].write = true;
	}
	guest_vq_add(&st[1].gvq[RX], buf, 4);
	sent = tx_frame(&st[0], MAC(2), 170, true);
	run();
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(len, HDR + 170);
	for (i = 0, len = 0; i < 4; i++) {
		memcpy(got + len, guest_ptr(&st[1].guest, buf[i].addr),
		       buf[i].len);
		len += buf[i].len;
	}
	assert_int_equal(got[10], 1);
	assert_memory_equal(got + HDR, sent, 170);
}

static void test_merged(void **state)
{
	uint8_t *sent, got[1500];
	uint64_t addr[4];
	uint32_t head, len;
	unsigned int i, done = 0;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	for (i = 0; i < 4; i++)
		addr[i] = rx_buffer(&st[1], 400);
	sent = tx_frame(&st[0], BROADCAST, 1000, false);
	run();

	for (i = 0; i < 3; i++) {
		assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
		assert_int_equal(head, i);
		assert_int_equal(len, i < 2 ? 400 : HDR + 1000 - 800);
		memcpy(got + done, guest_ptr(&st[1].guest, addr[i]), len);
		done += len;
	}
	assert_false(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(num_buffers(&st[1], addr[0]), 3);
	assert_memory_equal(got + HDR, sent, 1000);

	/* The fourth is still there, for the next one. */
	tx_frame(&st[0], BROADCAST, 100, false);
	run();
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(head, 3);
	assert_int_equal(num_buffers(&st[1], addr[3]), 1);
}

static void test_merged_no_room(void **state)
{
	uint32_t head, len;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	for (i = 0; i < 2; i++)
		rx_buffer(&st[1], 400);
	tx_frame(&st[0], BROADCAST, 1000, false);
	run();
	assert_false(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, 1);
	assert_int_equal(st[1].calls[RX], 0);

	/* With a third buffer the two that were kept are used. */
	rx_buffer(&st[1], 400);
	tx_frame(&st[0], BROADCAST, 1000, false);
	run();
	for (i = 0; i < 3; i++) {
		assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
		assert_int_equal(head, i);
	}
}

/* A frame takes a bounded number of buffers, however small they are. */
static void test_merged_tiny_buffers(void **state)
{
	uint32_t head, len;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	for (i = 0; i < NUM; i++)
		rx_buffer(&st[1], HDR);
	tx_frame(&st[0], BROADCAST, 1500, false);
	tx_frame(&st[0], BROADCAST, HDR * 63, false);
	run();
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, 1);
	assert_int_equal(rx_count(1), 1);
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(head, 0);
	assert_int_equal(st[1].gvq[RX].used->idx, 64);
}

static void test_not_merged_too_small(void **state)
{
	uint32_t head, len;

	station_start(&st[0], FEATURES_MIN);
	station_start(&st[1], FEATURES_MIN);
	rx_buffer(&st[1], 400);
	rx_buffer(&st[1], 400);
	tx_frame(&st[0], BROADCAST, 600, false);
	tx_frame(&st[0], BROADCAST, 400 - HDR, false);
	run();
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, 1);
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(head, 0);
	assert_int_equal(len, 400);
	assert_int_equal(st[1].gvq[RX].used->idx, 1);
	assert_int_equal(st[1].errors, 0);
}

static void test_no_buffers(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_int_equal(function_stats(st[1].fn)->rx_dropped, 1);
	assert_int_equal(function_stats(st[0].fn)->tx, 1);
}

static void test_receiver_not_started(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_int_equal(function_stats(st[0].fn)->tx, 1);
	assert_int_equal(rx_count(1), 0);
}

static void test_bad_receive_buffer(void **state)
{
	struct guest_buf readable = { .addr = GUEST_BASE, .len = 2000 };

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	guest_vq_add(&st[1].gvq[RX], &readable, 1);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_true(st[1].vq[RX].broken);
	assert_int_equal(st[1].errors, 1);
	/* Other stations are not affected. */
	rx_buffer(&st[0], 2000);
	tx_frame(&st[1], BROADCAST, 60, false);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_int_equal(rx_count(0), 1);
	assert_int_equal(st[1].errors, 1);
}

static void test_bad_frames(void **state)
{
	struct guest_buf writable = {
		.addr = GUEST_BASE,
		.len = 100,
		.write = true,
	};
	uint8_t *frame;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	while (st[1].gvq[RX].avail_idx < 8)
		rx_buffer(&st[1], 4000);

	tx_frame(&st[0], BROADCAST, 13, false);			/* too short */
	tx_frame(&st[0], BROADCAST, MTU + 14 + 4 + 1, false);	/* too long */
	guest_vq_add(&st[0].gvq[TX], &writable, 1);		/* none at all */
	frame = tx_frame(&st[0], BROADCAST, 60, false);
	frame[-HDR] = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	frame = tx_frame(&st[0], BROADCAST, 60, false);
	frame[1 - HDR] = VIRTIO_NET_HDR_GSO_TCPV4;
	run();
	assert_int_equal(function_stats(st[0].fn)->tx_dropped, 5);
	assert_int_equal(function_stats(st[0].fn)->tx, 0);
	assert_int_equal(st[0].gvq[TX].used->idx, 5);
	assert_int_equal(rx_count(1), 0);

	tx_frame(&st[0], BROADCAST, 14, false);
	tx_frame(&st[0], BROADCAST, MTU + 14 + 4, true);
	run();
	assert_int_equal(rx_count(1), 2);
	assert_int_equal(st[0].errors, 0);
}

/* A TCP packet of 2000 bytes, to be segmented at 1000; returns its header. */
static struct virtio_net_hdr *tx_tso(struct station *s)
{
	uint8_t *frame = tx_frame(s, BROADCAST, 54 + 2000, false);
	struct virtio_net_hdr *hdr = (struct virtio_net_hdr *)(frame - HDR);

	memset(frame + 12, 0, 42);
	frame[12] = 8;
	frame[14] = 0x45;
	frame[23] = 6;
	frame[46] = 0x50;
	*hdr = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = 0xffff,
		.gso_size = 1000,
		.csum_start = 34,
		.csum_offset = 16,
	};
	return hdr;
}

static void test_segmentation_left_undone(void **state)
{
	const struct virtio_net_hdr *hdr;
	uint64_t addr;
	uint32_t head, len;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	addr = rx_buffer(&st[1], 4000);
	tx_tso(&st[0]);
	run();
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(len, HDR + 54 + 2000);
	hdr = guest_ptr(&st[1].guest, addr);
	assert_int_equal(hdr->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_int_equal(hdr->gso_type, VIRTIO_NET_HDR_GSO_TCPV4);
	assert_int_equal(hdr->gso_size, 1000);
	assert_int_equal(hdr->hdr_len, 54);
	assert_int_equal(hdr->csum_start, 34);
	assert_int_equal(hdr->csum_offset, 16);
}

static void test_segmentation_done(void **state)
{
	const struct virtio_net_hdr *hdr;
	uint64_t addr[2];
	uint32_t head, len;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_MIN);
	for (i = 0; i < 2; i++)
		addr[i] = rx_buffer(&st[1], 4000);
	tx_tso(&st[0]);
	run();
	for (i = 0; i < 2; i++) {
		assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
		assert_int_equal(len, HDR + 54 + 1000);
		hdr = guest_ptr(&st[1].guest, addr[i]);
		assert_int_equal(hdr->flags | hdr->gso_type, 0);
	}
	assert_false(guest_vq_get(&st[1].gvq[RX], &head, &len));
}

static uint8_t guest_offloads(struct station *s, uint64_t offloads)
{
	uint64_t addr = guest_alloc(&s->guest, 16, 8);
	struct guest_buf buf[] = {
		{ .addr = addr, .len = 10 },
		{ .addr = addr + 10, .len = 1, .write = true },
	};
	uint8_t *req = guest_ptr(&s->guest, addr);

	req[0] = VIRTIO_NET_CTRL_GUEST_OFFLOADS;
	req[1] = VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET;
	memcpy(req + 2, &offloads, sizeof(offloads));
	req[10] = 0xee;
	guest_vq_add(&s->gvq[CTRL], buf, 2);
	run();
	return req[10];
}

/* A guest can turn off and on what it has negotiated, and nothing else. */
static void test_guest_offloads(void **state)
{
	const uint64_t all = BIT(VIRTIO_NET_F_GUEST_CSUM) |
			     BIT(VIRTIO_NET_F_GUEST_TSO4);
	uint32_t head, len;
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL & ~BIT(VIRTIO_NET_F_GUEST_TSO6));
	for (i = 0; i < 3; i++)
		rx_buffer(&st[1], 4000);
	assert_int_equal(guest_offloads(&st[1], 0), VIRTIO_NET_OK);
	tx_tso(&st[0]);
	run();
	for (i = 0; i < 2; i++) {
		assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
		assert_int_equal(len, HDR + 54 + 1000);
	}
	assert_int_equal(guest_offloads(&st[1], all), VIRTIO_NET_OK);
	tx_tso(&st[0]);
	run();
	assert_true(guest_vq_get(&st[1].gvq[RX], &head, &len));
	assert_int_equal(len, HDR + 54 + 2000);
	assert_int_equal(guest_offloads(&st[1],
					all | BIT(VIRTIO_NET_F_GUEST_TSO6)),
			 VIRTIO_NET_ERR);
	assert_int_equal(guest_offloads(&st[1], all | BIT(VIRTIO_NET_F_CSUM)),
			 VIRTIO_NET_ERR);
}

/* A frame takes no more than so many pieces of receive buffers, and then none of them. */
static void test_receive_buffers_of_many_pieces(void **state)
{
	enum { PIECES = 60, BUFFERS = 40 };
	struct station *s = &st[1];
	const uint64_t table = guest_alloc(&s->guest, PIECES * sizeof(struct vring_desc), 16);
	struct vring_desc *desc = guest_ptr(&s->guest, table);
	uint32_t head, len;
	unsigned int i;
	uint64_t before;

	station_start(&st[0], FEATURES_ALL);
	station_start(s, FEATURES_ALL);
	for (i = 0; i < PIECES; i++)
		desc[i] = (struct vring_desc) {
			.addr = guest_alloc(&s->guest, 1, 1), .len = 1,
			.flags = VRING_DESC_F_WRITE |
				 (i + 1 < PIECES ? VRING_DESC_F_NEXT : 0),
			.next = i + 1,
		};
	for (i = 0; i < BUFFERS; i++) {
		s->gvq[RX].desc[i] = (struct vring_desc) {
			.addr = table, .len = PIECES * sizeof(*desc),
			.flags = VRING_DESC_F_INDIRECT,
		};
		guest_vq_add_head(&s->gvq[RX], i);
	}
	before = virtq_work();
	tx_frame(&st[0], MAC(2), 1500, false);
	run();
	/* The frame itself is one piece. */
	assert_in_range(virtq_work() - before, 1024, 1024 + PIECES);
	assert_false(guest_vq_get(&s->gvq[RX], &head, &len));
	assert_int_equal(function_stats(s->fn)->rx_dropped, 1);
	/* A shorter one finds all of them. */
	tx_frame(&st[0], MAC(2), 900, false);
	run();
	for (i = 0; i < (HDR + 900 + PIECES - 1) / PIECES; i++)
		assert_true(guest_vq_get(&s->gvq[RX], &head, &len));
	assert_int_equal(function_stats(s->fn)->rx, 1);
}

/* Segments longer than the MTU, or what was not negotiated, are not sent. */
static void test_segmentation_refused(void **state)
{
	struct station *s = &st[0];

	station_start(s, FEATURES_ALL & ~BIT(VIRTIO_NET_F_HOST_ECN));
	tx_tso(s)->gso_size = MTU + 14 + 4 - 54 + 1;
	tx_tso(s)->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	run();
	assert_int_equal(function_stats(s->fn)->tx_dropped, 2);
	tx_tso(s)->gso_size = MTU + 14 + 4 - 54;
	run();
	assert_int_equal(function_stats(s->fn)->tx, 1);

	function_device_ops.negotiated(s->fn, FEATURES_MIN);
	tx_tso(s);
	tx_tso(s)->gso_type = VIRTIO_NET_HDR_GSO_NONE;
	run();
	assert_int_equal(function_stats(s->fn)->tx_dropped, 4);
}

static void test_broken_transmit_queue(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	rx_buffer(&st[1], 2000);
	rx_buffer(&st[0], 2000);
	tx_frame(&st[0], BROADCAST, 60, false);
	guest_vq_add_head(&st[0].gvq[TX], NUM);
	tx_frame(&st[0], BROADCAST, 60, false);
	run();
	assert_int_equal(st[0].errors, 1);
	assert_int_equal(rx_count(1), 1);
	tx_frame(&st[1], BROADCAST, 60, false);
	run();
	assert_int_equal(rx_count(0), 1);
}

/* More than one round of the poller: all arrive, with few interrupts. */
static void test_burst(void **state)
{
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	for (i = 0; i < NUM; i++) {
		rx_buffer(&st[1], 200);
		tx_frame(&st[0], BROADCAST, 60 + i, false);
	}
	run();
	assert_int_equal(rx_count(1), NUM);
	assert_in_range(st[1].calls[RX], 1, 2);
	assert_in_range(st[0].calls[TX], 1, 2);
}

/* Doorbells are off while the loop polls, on while it sleeps, never for receive. */
static void test_doorbells(void **state)
{
	struct station *s = &st[0];

	station_start(s, FEATURES_ALL);
	assert_int_equal(s->gvq[RX].used->flags, VRING_USED_F_NO_NOTIFY);
	run();
	assert_int_equal(s->gvq[RX].used->flags, VRING_USED_F_NO_NOTIFY);
	assert_int_equal(s->gvq[TX].used->flags, 0);
	assert_int_equal(s->gvq[CTRL].used->flags, 0);
}

/* ------------------------------------------------------------------------- */
/* RDMA by the port                                                          */
/* ------------------------------------------------------------------------- */

/* A frame that the RDMA side takes does not reach the guest's Ethernet queue. */
static void test_rdma_takes_frames(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	rx_buffer(&st[1], 2048);
	rnic_mock.take_frames = true;
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	assert_int_equal(rnic_mock.frames, 1);
	assert_int_equal(rnic_mock.frame_len, 100);
	assert_ptr_equal(rnic_mock.frame_from, st[0].fn->rnic);
	assert_int_equal(rx_count(1), 0);
	rnic_mock.take_frames = false;
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	assert_int_equal(rnic_mock.frames, 2);
	assert_int_equal(rx_count(1), 1);
}

/* Frames were given to QPs, and then their driver was told. */
static void expect_given(unsigned int n)
{
	assert_int_equal(rnic_mock.given, n);
	assert_int_equal(rnic_mock.unflushed, 0);
}

/* Flow rules are asked behind RoCE, and get frames as a wire has them. */
static void test_rules_take_frames(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
	rx_buffer(&st[1], 4000);
	rnic_mock.hits = (struct rule_hits) { .taken = true, .n = 1 };
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	assert_int_equal(rnic_mock.steer_what, RULE_FOR_PORT);
	expect_given(1);
	assert_int_equal(rnic_mock.given_len, 100);
	assert_int_equal(rx_count(1), 0);
	/* Two segments. */
	tx_tso(&st[0]);
	run();
	expect_given(3);
	assert_int_equal(rnic_mock.given_len, 100 + 2 * 1054);
	assert_int_equal(rx_count(1), 0);
	/* It is dropped. */
	rnic_mock.hits.n = 0;
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	expect_given(3);
	assert_int_equal(rx_count(1), 0);
	/* A copy: Ethernet gets it undone. */
	rnic_mock.hits = (struct rule_hits) { .n = 1 };
	tx_tso(&st[0]);
	run();
	expect_given(5);
	assert_int_equal(rx_count(1), 1);
	rnic_mock.take_frames = true;
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	assert_int_equal(rnic_mock.steer_what, RULE_FOR_SNIFFERS);
	expect_given(6);
	assert_int_equal(rx_count(1), 1);
}

/* Without RoCE, and without a link, the RDMA side sees no frame. */
static void test_rdma_not_asked(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL & ~BIT(VIRTIO_NET_F_ROCE));
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	station_stop(&st[1]);
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	station_start(&st[1], FEATURES_ALL);
	function_set_link(st[1].fn, false);
	tx_frame(&st[0], MAC(2), 100, false);
	run();
	assert_int_equal(rnic_mock.frames, 0);
	assert_int_equal(rnic_mock.steered, 0);
}

/* The mock has the port of the second function, which was made last. */
static void test_rdma_sends(void **state)
{
	uint8_t frame[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08 };
	const struct rnic_eth *eth = rnic_mock.eth;

	assert_int_equal(eth->mtu(rnic_mock.eth_arg), MTU);
	assert_memory_equal(eth->mac(rnic_mock.eth_arg), frame + 6, 6);
	station_start(&st[0], FEATURES_ALL);
	rx_buffer(&st[0], 2048);
	assert_int_equal(eth->work(rnic_mock.eth_arg), 0);
	assert_true(eth->send(rnic_mock.eth_arg, frame, sizeof(frame)));
	assert_int_equal(eth->work(rnic_mock.eth_arg), 512 + sizeof(frame));
	assert_int_equal(rx_count(0), 1);
	assert_false(eth->send(rnic_mock.eth_arg, frame, 13));
	function_set_link(st[1].fn, false);
	assert_false(eth->send(rnic_mock.eth_arg, frame, sizeof(frame)));
	assert_int_equal(rx_count(0), 1);
}

/* A frame of RDMA, raw packets too, has no addresses but those that the operator named. */
static void test_rdma_is_pinned(void **state)
{
	uint8_t plain[64] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };
	uint8_t arp[64] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 2,
		2, 0, 0, 0, 0, 2, 10, 0, 0, 2, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1,
	};
	uint8_t roce[64] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00,
		0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1,
		0xc0, 0, 0x12, 0xb7, 0, 30, 0, 0,
	};
	struct pin pin = { .has_mac = true, .mac = { 2, 0, 0, 0, 0, 2 }, .gids = 1 };
	static const uint8_t gid[GID_SIZE] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
	struct {
		uint8_t *frame;
		unsigned int at;
	} rows[] = { { plain, 11 }, { arp, 31 }, { roce, 29 }, { roce, 11 } };
	const struct rnic_eth *eth = rnic_mock.eth;
	struct port_group group = { .name = "pinned" };
	struct port_group *nobody = st[1].fn->port.group;
	unsigned int i;

	memcpy(pin.gid[0], gid, sizeof(gid));
	st[1].fn->port.pin = &pin;
	st[1].fn->port.group = &group;
	station_start(&st[0], FEATURES_ALL);
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rx_buffer(&st[0], 2048);
		assert_true(eth->send(rnic_mock.eth_arg, rows[i].frame, sizeof(plain)));
		assert_int_equal(rx_count(0), i + 1);
		assert_int_equal(group.stats.spoofed, i);
		rows[i].frame[rows[i].at]++;
		assert_true(eth->send(rnic_mock.eth_arg, rows[i].frame, sizeof(plain)));
		assert_int_equal(rx_count(0), i + 1);
		assert_int_equal(group.stats.spoofed, i + 1);
		rows[i].frame[rows[i].at]--;
	}
	st[1].fn->port.pin = NULL;
	st[1].fn->port.group = nobody;
}

static bool busy(void *arg)
{
	return true;
}

static bool never_sleeps(void *arg)
{
	fail();
	return false;
}

static void wakes(void *arg)
{
}

static void lull_over(void *arg)
{
	loop_stop(loop);
}

/* Runs the loop for so long, with work elsewhere, that a function without any sleeps. */
static void lull(void)
{
	struct loop_poller poller = { .poll = busy, .sleep = never_sleeps, .wake = wakes };
	struct loop_timer end = { .fn = lull_over };

	loop_poller_add(loop, &poller);
	loop_rouse(loop);
	loop_timer_set(loop, &end, 5000000);
	assert_int_equal(loop_run(loop), 0);
	loop_poller_del(loop, &poller);
}

/* While others work it sleeps alone, until something may be work for it. */
static void test_sleeps_alone(void **state)
{
	struct function *fn = st[0].fn;
	const struct loop_poller *poller = &fn->poller;

	assert_ptr_equal(rnic_mock.poller, &st[1].fn->poller);
	lull();
	assert_true(poller->asleep);
	/* It starts. */
	station_start(&st[0], FEATURES_MIN);
	assert_false(poller->asleep);
	lull();
	assert_true(poller->asleep);
	assert_int_equal(st[0].gvq[FUNCTION_TX].used->flags, 0);
	/* It is rung for. */
	function_device_ops.kick(fn, &st[0].vq[FUNCTION_TX]);
	assert_false(poller->asleep);
	assert_int_equal(st[0].gvq[FUNCTION_TX].used->flags, VRING_USED_F_NO_NOTIFY);
	lull();
	/* Its memory changes. */
	function_device_ops.mem_changed(fn, fn->mem);
	assert_false(poller->asleep);
	/* There is much to be looked at, or what nobody tells of. */
	rnic_mock.restless = true;
	lull();
	assert_false(poller->asleep);
	rnic_mock.restless = false;
	lull();
	assert_true(poller->asleep);
}

#define TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, station_setup, station_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_features),
		TEST(test_config_space),
		TEST(test_config_rings),
		TEST(test_ring_queues),
		TEST(test_optional_features),
		TEST(test_link),
		TEST(test_port_is_not_plain),
		TEST(test_frame),
		TEST(test_frame_in_pieces),
		TEST(test_frames_of_many_pieces),
		TEST(test_frames_to_all),
		TEST(test_merged),
		TEST(test_merged_no_room),
		TEST(test_merged_tiny_buffers),
		TEST(test_not_merged_too_small),
		TEST(test_no_buffers),
		TEST(test_receiver_not_started),
		TEST(test_bad_receive_buffer),
		TEST(test_bad_frames),
		TEST(test_segmentation_left_undone),
		TEST(test_segmentation_done),
		TEST(test_guest_offloads),
		TEST(test_segmentation_refused),
		TEST(test_receive_buffers_of_many_pieces),
		TEST(test_broken_transmit_queue),
		TEST(test_burst),
		TEST(test_doorbells),
		TEST(test_rdma_takes_frames),
		TEST(test_rules_take_frames),
		TEST(test_rdma_not_asked),
		TEST(test_rdma_sends),
		TEST(test_rdma_is_pinned),
		TEST(test_sleeps_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
