// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function: control commands, receive filters, what reaches the RDMA side.
 */

#include <endian.h>
#include <string.h>

#include "function/eth.h"
#include "function/function_priv.h"
#include "tests/lib/idle.h"
#include "tests/lib/station.h"
#include "tests/lib/work.h"

/* ------------------------------------------------------------------------- */
/* Control commands                                                          */
/* ------------------------------------------------------------------------- */

/**
 * struct answer - answer to a control command
 * @ack:	ack, 0xee if none was written
 * @len:	bytes that the device says it wrote
 * @rsp:	what follows the ack
 */
struct answer {
	uint8_t ack;
	uint32_t len;
	const uint8_t *rsp;
};

/* Sends class, command and request as one piece, with room for the answer. */
static struct answer ctrl_raw(struct station *s, const void *req,
			      uint32_t req_len, uint32_t room)
{
	struct guest_buf buf[] = {
		{ .addr = guest_alloc(&s->guest, req_len + 1, 1),
		  .len = req_len },
		{ .addr = guest_alloc(&s->guest, room + 1, 1), .len = room,
		  .write = true },
	};
	uint8_t *in = guest_ptr(&s->guest, buf[1].addr);
	struct answer answer = { .rsp = in + 1 };
	uint32_t head;

	memcpy(guest_ptr(&s->guest, buf[0].addr), req, req_len);
	memset(in, 0xee, room + 1);
	guest_vq_add(&s->gvq[CTRL], &buf[!req_len], !!req_len + !!room);
	run();
	assert_true(guest_vq_get(&s->gvq[CTRL], &head, &answer.len));
	answer.ack = in[0];
	return answer;
}

static uint8_t ctrl(struct station *s, uint8_t class, uint8_t cmd,
		    const void *req, uint32_t len)
{
	uint8_t buf[1024] = { class, cmd };

	assert_true(len <= sizeof(buf) - 2);
	if (len)
		memcpy(buf + 2, req, len);
	return ctrl_raw(s, buf, 2 + len, 1).ack;
}

static uint8_t rx_mode(struct station *s, uint8_t mode, uint8_t on)
{
	return ctrl(s, VIRTIO_NET_CTRL_RX, mode, &on, 1);
}

/* Does station 1 receive a frame of station 0's to @dst? */
static bool passes(uint64_t dst)
{
	uint64_t before = rx_count(1);

	rx_buffer(&st[1], 200);
	tx_frame(&st[0], dst, 60, false);
	run();
	return rx_count(1) > before;
}

static void filter_start(void)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL);
}

static void test_filter_modes(void **state)
{
	struct station *s = &st[1];

	filter_start();
	/* Promiscuous until the driver says otherwise. */
	assert_true(passes(MAC(9)));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0), 0);
	assert_false(passes(MAC(9)));
	assert_false(passes(MULTICAST));
	assert_true(passes(MAC(2)));
	assert_true(passes(BROADCAST));
	assert_int_equal(function_stats(s->fn)->rx_filtered, 2);

	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_ALLMULTI, 1), 0);
	assert_true(passes(MULTICAST));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_NOMULTI, 1), 0);
	assert_false(passes(MULTICAST));
	assert_true(passes(BROADCAST));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_NOBCAST, 1), 0);
	assert_false(passes(BROADCAST));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_ALLUNI, 1), 0);
	assert_true(passes(MAC(9)));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_NOUNI, 1), 0);
	assert_false(passes(MAC(2)));
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 1), 0);
	assert_true(passes(MAC(2)));
}

static void put_macs(uint8_t **p, uint32_t n, uint64_t first)
{
	uint32_t i, j;

	memcpy(*p, &(uint32_t){ htole32(n) }, 4);
	*p += 4;
	for (i = 0; i < n; i++)
		for (j = 0; j < 6; j++)
			*(*p)++ = (first + i) >> (40 - 8 * j);
}

static uint8_t mac_table(struct station *s, uint32_t uni, uint32_t multi,
			 int extra)
{
	static uint8_t req[1022];
	uint8_t *p = req;

	put_macs(&p, uni, MAC(100));
	put_macs(&p, multi, MULTICAST);
	return ctrl(s, VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_TABLE_SET, req,
		    p - req + extra);
}

/* Does the RDMA side take what comes to a further address? */
static bool hears(const struct station *s, uint64_t mac)
{
	uint8_t req[4 + ETH_ALEN], *p = req;

	put_macs(&p, 1, mac);
	return eth_rnic_ops.hears(s->fn, p - ETH_ALEN);
}

static void test_mac_table(void **state)
{
	struct station *s = &st[1];

	filter_start();
	rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	assert_int_equal(mac_table(s, 2, 2, 0), VIRTIO_NET_OK);
	assert_true(passes(MAC(100)));
	assert_true(passes(MAC(101)));
	assert_false(passes(MAC(102)));
	assert_true(passes(MULTICAST + 1));
	assert_false(passes(MULTICAST + 2));
	assert_true(hears(s, MAC(101)));
	assert_false(hears(s, MAC(102)));

	/* Too many addresses to keep: all of that kind pass. */
	assert_int_equal(mac_table(s, 65, 1, 0), VIRTIO_NET_OK);
	assert_true(passes(MAC(999)));
	assert_false(hears(s, MAC(100)));
	assert_false(passes(MULTICAST + 1));
	assert_int_equal(mac_table(s, 0, 65, 0), VIRTIO_NET_OK);
	assert_false(passes(MAC(100)));
	assert_true(passes(MULTICAST + 99));
	assert_int_equal(mac_table(s, 0, 0, 0), VIRTIO_NET_OK);
	assert_false(passes(MULTICAST));
}

static void test_mac_table_malformed(void **state)
{
	static const uint32_t huge[] = { 0xffffffff, 0 };
	static const uint32_t wraps[] = { 0x2aaaaaab, 0, 0, 0 };
	struct station *s = &st[1];
	uint8_t class = VIRTIO_NET_CTRL_MAC;
	uint8_t cmd = VIRTIO_NET_CTRL_MAC_TABLE_SET;

	filter_start();
	rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	assert_int_equal(mac_table(s, 1, 1, 0), VIRTIO_NET_OK);

	assert_int_equal(mac_table(s, 3, 0, 1), VIRTIO_NET_ERR);
	assert_int_equal(mac_table(s, 3, 0, -1), VIRTIO_NET_ERR);
	assert_int_equal(mac_table(s, 3, 0, -4), VIRTIO_NET_ERR);
	assert_int_equal(mac_table(s, 3, 3, -6), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, huge, 8), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, wraps, 16), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, huge, 3), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, NULL, 0), VIRTIO_NET_ERR);

	/* The table has not changed. */
	assert_true(passes(MAC(100)));
	assert_false(passes(MAC(101)));
	assert_true(passes(MULTICAST));
}

static void test_mac_addr(void **state)
{
	static const uint8_t own[] = { 2, 0, 0, 0, 0, 2 };
	static const uint8_t mac[] = { 2, 0, 0, 0, 0, 0x77 };
	static const uint8_t group[] = { 3, 0, 0, 0, 0, 0x77 };
	struct station *s = &st[1];
	uint8_t class = VIRTIO_NET_CTRL_MAC;
	uint8_t cmd = VIRTIO_NET_CTRL_MAC_ADDR_SET;
	uint8_t got[6];

	filter_start();
	rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	assert_int_equal(ctrl(s, class, cmd, group, 6), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, mac, 5), VIRTIO_NET_ERR);
	assert_true(passes(MAC(2)));
	assert_int_equal(ctrl(s, class, cmd, mac, 6), VIRTIO_NET_OK);
	assert_true(passes(MAC(0x77)));
	assert_false(passes(MAC(2)));
	function_device_ops.config_read(s->fn, 0, got, 6);
	assert_memory_equal(got, mac, 6);

	/* An address that the operator has pinned stays. */
	s->fn->config.pin = (struct pin){ .has_mac = true };
	memcpy(s->fn->config.pin.mac, own, sizeof(own));
	assert_int_equal(ctrl(s, class, cmd, mac, 6), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, class, cmd, own, 6), VIRTIO_NET_OK);
	s->fn->config.pin.has_mac = false;

	station_stop(s);
	function_device_ops.reset(s->fn);
	function_device_ops.config_read(s->fn, 0, got, 6);
	assert_memory_equal(got, own, 6);
}

static bool vlan_passes(uint16_t vid)
{
	uint64_t before = rx_count(1);
	uint8_t *frame;

	rx_buffer(&st[1], 200);
	frame = tx_frame(&st[0], BROADCAST, 64, false);
	frame[12] = 0x81;
	frame[13] = 0;
	frame[14] = 0xe0 | vid >> 8;
	frame[15] = vid;
	run();
	return rx_count(1) > before;
}

static void test_vlan(void **state)
{
	struct station *s = &st[1];
	uint16_t vid = htole16(0xabc), bad = htole16(4096);

	filter_start();
	rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	assert_true(passes(BROADCAST));
	assert_false(vlan_passes(0xabc));
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_VLAN,
			      VIRTIO_NET_CTRL_VLAN_ADD, &vid, 2), 0);
	assert_true(vlan_passes(0xabc));
	assert_false(vlan_passes(0xabd));
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_VLAN,
			      VIRTIO_NET_CTRL_VLAN_DEL, &vid, 2), 0);
	assert_false(vlan_passes(0xabc));
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_VLAN,
			      VIRTIO_NET_CTRL_VLAN_ADD, &bad, 2),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_VLAN,
			      VIRTIO_NET_CTRL_VLAN_ADD, &vid, 1),
			 VIRTIO_NET_ERR);
}

static void test_vlan_not_negotiated(void **state)
{
	station_start(&st[0], FEATURES_ALL);
	station_start(&st[1], FEATURES_ALL & ~BIT(VIRTIO_NET_F_CTRL_VLAN));
	rx_mode(&st[1], VIRTIO_NET_CTRL_RX_PROMISC, 0);
	assert_true(vlan_passes(0xabc));
}

static void test_ctrl_unknown(void **state)
{
	struct station *s = &st[0];
	uint8_t on = 1;

	station_start(s, FEATURES_ALL);
	assert_int_equal(ctrl(s, 0x55, 0, &on, 1), VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_RX, 6, &on, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_MAC, 2, &on, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_MQ, 0, &on, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_RX, 0, NULL, 0),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_RX, 0, "\0\0", 2),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_RX, 0, &on, 1),
			 VIRTIO_NET_OK);
}

static void test_ctrl_without_feature(void **state)
{
	struct station *s = &st[0];
	uint8_t zero[8] = { 0 };

	station_start(s, FEATURES_MIN);
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_ALLUNI, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_MAC,
			      VIRTIO_NET_CTRL_MAC_TABLE_SET, zero, 8),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_MAC,
			      VIRTIO_NET_CTRL_MAC_ADDR_SET, zero, 6),
			 VIRTIO_NET_ERR);
	assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_VLAN,
			      VIRTIO_NET_CTRL_VLAN_ADD, zero, 2),
			 VIRTIO_NET_ERR);
}

static void test_ctrl_malformed(void **state)
{
	struct station *s = &st[0];
	struct answer answer;

	station_start(s, FEATURES_ALL);
	/* No command in the class. */
	answer = ctrl_raw(s, "\0", 1, 1);
	assert_int_equal(answer.ack, VIRTIO_NET_ERR);
	assert_int_equal(answer.len, 1);
	/* Nothing to read at all. */
	answer = ctrl_raw(s, "", 0, 4);
	assert_int_equal(answer.ack, VIRTIO_NET_ERR);
	assert_int_equal(answer.len, 1);
	assert_int_equal(answer.rsp[0], 0xee);
	/* There is no room for the ack: the request is given back all the same. */
	answer = ctrl_raw(s, "\0\0\1", 3, 0);
	assert_int_equal(answer.ack, 0xee);
	assert_int_equal(answer.len, 0);

	assert_int_equal(rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0),
			 VIRTIO_NET_OK);
	assert_int_equal(s->errors, 0);
}

/* ------------------------------------------------------------------------- */
/* RoCE                                                                      */
/* ------------------------------------------------------------------------- */

static void test_roce_command(void **state)
{
	static const uint8_t req[] = { VIRTIO_NET_CTRL_ROCE, 0x11, 1, 2, 3 };
	struct station *s = &st[1];
	struct answer answer;

	station_start(s, FEATURES_ALL);
	rnic_mock.ack = VIRTIO_NET_OK;
	rnic_mock.read = true;
	rnic_mock.rsp_len = 10;
	memset(rnic_mock.rsp, 0x5a, 10);

	answer = ctrl_raw(s, req, 5, 1 + 12);
	assert_int_equal(rnic_mock.command, 0x11);
	assert_int_equal(rnic_mock.req_len, 3);
	assert_int_equal(rnic_mock.req_sum, 6);
	assert_int_equal(rnic_mock.rsp_size, 12);
	assert_int_equal(answer.ack, VIRTIO_NET_OK);
	assert_int_equal(answer.len, 1 + 10);
	assert_memory_equal(answer.rsp, rnic_mock.rsp, 10);
	assert_int_equal(answer.rsp[10], 0xee);

	/* Room for more than any response. */
	answer = ctrl_raw(s, req, 5, 5000);
	assert_int_equal(rnic_mock.rsp_size, RNIC_RSP_MAX);
	assert_int_equal(answer.len, 1 + 10);

	/* Exactly enough, and one too few. */
	answer = ctrl_raw(s, req, 5, 1 + 10);
	assert_int_equal(answer.ack, VIRTIO_NET_OK);
	answer = ctrl_raw(s, req, 5, 1 + 9);
	assert_int_equal(answer.ack, VIRTIO_NET_ERR);
	assert_int_equal(answer.len, 1);
	assert_int_equal(answer.rsp[0], 0xee);
}

static void test_roce_command_fails(void **state)
{
	static const uint8_t req[] = { VIRTIO_NET_CTRL_ROCE, 0xff };
	struct answer answer;

	station_start(&st[1], FEATURES_ALL);
	answer = ctrl_raw(&st[1], req, 2, 100);
	assert_int_equal(rnic_mock.commands, 1);
	assert_int_equal(rnic_mock.command, 0xff);
	assert_int_equal(rnic_mock.req_len, 0);
	assert_int_equal(answer.ack, VIRTIO_NET_ERR);
	assert_int_equal(answer.len, 1);
}

/* As REG_USER_MR of 1 GiB sends it: 2 MiB, in pieces of a page. */
static void test_roce_large_command(void **state)
{
	enum { PAGES = 512 };
	struct station *s = &st[1];
	uint64_t data = guest_alloc(&s->guest, PAGES * 4096 + 2, 1);
	uint64_t table = guest_alloc(&s->guest, (PAGES + 2) * 16, 16);
	struct vring_desc *desc = guest_ptr(&s->guest, table);
	uint64_t ack = guest_alloc(&s->guest, 1, 1);
	uint8_t *p = guest_ptr(&s->guest, data);
	struct guest_buf buf = { .addr = table, .len = (PAGES + 2) * 16 };
	unsigned int i;
	uint16_t head;

	station_start(s, FEATURES_ALL);
	rnic_mock.ack = VIRTIO_NET_OK;
	rnic_mock.read = true;
	p[0] = VIRTIO_NET_CTRL_ROCE;
	p[1] = VIRTIO_NET_CTRL_ROCE_REG_USER_MR;
	memset(p + 2, 1, PAGES * 4096);
	for (i = 0; i < PAGES + 2; i++)
		desc[i] = (struct vring_desc){
			.addr = i ? data + 2 + (i - 1) * 4096 : data,
			.len = i ? 4096 : 2,
			.flags = VRING_DESC_F_NEXT,
			.next = i + 1,
		};
	desc[PAGES + 1] = (struct vring_desc){
		.addr = ack,
		.len = 1,
		.flags = VRING_DESC_F_WRITE,
	};
	head = guest_vq_add(&s->gvq[CTRL], &buf, 1);
	s->gvq[CTRL].desc[head].flags = VRING_DESC_F_INDIRECT;
	run();
	assert_int_equal(rnic_mock.req_len, PAGES * 4096);
	assert_int_equal(rnic_mock.req_sum, PAGES * 4096);
	assert_int_equal(*(uint8_t *)guest_ptr(&s->guest, ack), VIRTIO_NET_OK);
}

/*
 * Sends 60 MiB, the same two again and again, as one command.  Returns what the
 * device made of it.
 */
static uint8_t excessive(struct station *s, uint8_t class, uint8_t cmd)
{
	enum { PIECES = 30 };
	struct guest_buf buf[PIECES + 1];
	uint64_t data = guest_alloc(&s->guest, 2 << 20, 1);
	uint8_t *p = guest_ptr(&s->guest, data);
	uint64_t ack = guest_alloc(&s->guest, 1, 1);
	unsigned int i;

	p[0] = class;
	p[1] = cmd;
	for (i = 0; i < PIECES; i++)
		buf[i] = (struct guest_buf){ .addr = data, .len = 2 << 20 };
	buf[PIECES] = (struct guest_buf){
		.addr = ack,
		.len = 1,
		.write = true,
	};
	guest_vq_add(&s->gvq[CTRL], buf, PIECES + 1);
	work.copied = 0;
	run();
	return *(uint8_t *)guest_ptr(&s->guest, ack);
}

/* Of a command that is too long, or that nobody knows, class and number are read. */
static void test_excessive_unknown(void **state)
{
	station_start(&st[1], FEATURES_ALL);
	assert_int_equal(excessive(&st[1], 99, 0), VIRTIO_NET_ERR);
	assert_int_equal(work.copied, 2);
}

static void test_excessive_mac_table(void **state)
{
	station_start(&st[1], FEATURES_ALL);
	assert_int_equal(excessive(&st[1], VIRTIO_NET_CTRL_MAC,
				   VIRTIO_NET_CTRL_MAC_TABLE_SET), VIRTIO_NET_ERR);
	assert_int_equal(work.copied, 2);
}

/* The RDMA side decides about the length of a command of RoCE. */
static void test_excessive_roce(void **state)
{
	station_start(&st[1], FEATURES_ALL);
	excessive(&st[1], VIRTIO_NET_CTRL_ROCE, VIRTIO_NET_CTRL_ROCE_ADD_GID);
	assert_int_equal(rnic_mock.commands, 1);
	assert_int_equal(rnic_mock.req_len, (60 << 20) - 2);
	assert_int_equal(work.copied, 2);
}

/* The RDMA side goes on with a command later, and others are served meanwhile. */
static void test_roce_command_goes_on(void **state)
{
	static const uint8_t req[] = { VIRTIO_NET_CTRL_ROCE, 7 };
	unsigned int polls;
	struct answer answer;

	station_start(&st[1], FEATURES_ALL);
	run();
	polls = rnic_mock.polls;
	rnic_mock.ack = VIRTIO_NET_OK;
	rnic_mock.rsp_len = 3;
	rnic_mock.more = 50;
	answer = ctrl_raw(&st[1], req, 2, 10);
	assert_int_equal(answer.ack, VIRTIO_NET_OK);
	assert_int_equal(answer.len, 1 + 3);
	assert_int_equal(rnic_mock.commands, 1);
	assert_int_equal(rnic_mock.more, 0);
	/* That of station 0 is in the mock, too, but is not running. */
	assert_true(rnic_mock.polls - polls >= 50);
}

static bool has_begun(void *arg)
{
	return rnic_mock.commands == *(unsigned int *)arg;
}

/* Its pieces are not what they were once the memory is another one. */
static void test_roce_command_begins_anew(void **state)
{
	static const uint8_t req[] = { VIRTIO_NET_CTRL_ROCE, 7 };
	struct station *s = &st[1];
	struct guest_buf buf[] = {
		{ .addr = guest_alloc(&s->guest, 2, 1), .len = 2 },
		{ .addr = guest_alloc(&s->guest, 1, 1), .len = 1, .write = true },
	};
	uint32_t head, len;

	memcpy(guest_ptr(&s->guest, buf[0].addr), req, 2);
	station_start(s, FEATURES_ALL);
	rnic_mock.ack = VIRTIO_NET_OK;
	rnic_mock.more = UINT32_MAX;
	guest_vq_add(&s->gvq[CTRL], buf, 2);
	assert_true(run_until(loop, has_begun, &(unsigned int) { 1 }));
	assert_false(guest_vq_get(&s->gvq[CTRL], &head, &len));
	assert_int_equal(rnic_mock.commands, 1);
	assert_int_equal(s->vq[CTRL].last_avail, 1);

	function_device_ops.mem_changed(s->fn, &s->guest.mem);
	assert_int_equal(rnic_mock.aborts, 1);
	assert_true(run_until(loop, has_begun, &(unsigned int) { 2 }));
	assert_false(guest_vq_get(&s->gvq[CTRL], &head, &len));
	assert_int_equal(rnic_mock.commands, 2);

	/* A queue that is stopped has it again: whoever goes on finds it there. */
	function_device_ops.queue_stop(s->fn, &s->vq[CTRL]);
	assert_int_equal(rnic_mock.aborts, 2);
	assert_int_equal(s->vq[CTRL].last_avail, 0);
	function_device_ops.queue_start(s->fn, &s->vq[CTRL]);
	rnic_mock.more = 0;
	run();
	assert_int_equal(rnic_mock.commands, 3);
	assert_true(guest_vq_get(&s->gvq[CTRL], &head, &len));
	assert_int_equal(*(uint8_t *)guest_ptr(&s->guest, buf[1].addr),
			 VIRTIO_NET_OK);
	function_device_ops.mem_changed(s->fn, &s->guest.mem);
	assert_int_equal(rnic_mock.aborts, 2);
}

static void test_roce_not_negotiated(void **state)
{
	static const uint8_t req[] = { VIRTIO_NET_CTRL_ROCE, 0 };
	struct station *s = &st[1];
	struct virtq cq = { .index = 3 }, sq = { .index = 3 + CQS };

	station_start(s, FEATURES_ALL & ~BIT(VIRTIO_NET_F_ROCE));
	rnic_mock.ack = VIRTIO_NET_OK;
	assert_int_equal(ctrl_raw(s, req, 2, 1).ack, VIRTIO_NET_ERR);
	assert_int_equal(rnic_mock.commands, 0);

	function_device_ops.queue_start(s->fn, &cq);
	function_device_ops.queue_start(s->fn, &sq);
	function_device_ops.kick(s->fn, &sq);
	assert_null(rnic_mock.queue[RNIC_CQ][0]);
	assert_null(rnic_mock.queue[RNIC_SQ][0]);
	assert_int_equal(rnic_mock.kicks[RNIC_SQ][0], 0);
	function_device_ops.queue_stop(s->fn, &sq);
	function_device_ops.queue_stop(s->fn, &cq);
}

static void test_roce_queues(void **state)
{
	enum { END = 3 + CQS + 2 * QPS };
	struct station *s = &st[1];
	struct virtq vq[END + 2];
	unsigned int i;

	station_start(s, FEATURES_ALL);
	for (i = 3; i < END + 2; i++) {
		vq[i] = (struct virtq){ .index = i };
		function_device_ops.queue_start(s->fn, &vq[i]);
	}
	for (i = 0; i < CQS; i++)
		assert_ptr_equal(rnic_mock.queue[RNIC_CQ][i], &vq[3 + i]);
	assert_null(rnic_mock.queue[RNIC_CQ][CQS]);
	for (i = 0; i < QPS; i++) {
		assert_ptr_equal(rnic_mock.queue[RNIC_SQ][i],
				 &vq[3 + CQS + 2 * i]);
		assert_ptr_equal(rnic_mock.queue[RNIC_RQ][i],
				 &vq[3 + CQS + 2 * i + 1]);
	}
	/* Queues beyond the last one belong to nothing. */
	assert_null(rnic_mock.queue[RNIC_SQ][QPS]);
	assert_null(rnic_mock.queue[RNIC_RQ][QPS]);

	function_device_ops.kick(s->fn, &vq[3]);
	function_device_ops.kick(s->fn, &vq[3 + CQS + 4]);
	function_device_ops.kick(s->fn, &vq[3 + CQS + 3]);
	function_device_ops.kick(s->fn, &vq[END]);
	assert_int_equal(rnic_mock.kicks[RNIC_SQ][2], 1);
	assert_int_equal(rnic_mock.kicks[RNIC_RQ][1], 1);
	assert_int_equal(rnic_mock.kicks[RNIC_SQ][0] +
			 rnic_mock.kicks[RNIC_SQ][1] +
			 rnic_mock.kicks[RNIC_RQ][0] +
			 rnic_mock.kicks[RNIC_RQ][2], 0);

	for (i = 3; i < END + 2; i++)
		function_device_ops.queue_stop(s->fn, &vq[i]);
	for (i = 0; i < RNIC_MOCK_QUEUES; i++) {
		assert_null(rnic_mock.queue[RNIC_CQ][i]);
		assert_null(rnic_mock.queue[RNIC_SQ][i]);
		assert_null(rnic_mock.queue[RNIC_RQ][i]);
	}
}

/* RDMA has the guest's memory only while the guest has a control queue. */
static void test_roce_memory(void **state)
{
	static const struct guest_mem other = { .n = 1 };
	struct station *s = &st[1];
	unsigned int polls;

	assert_int_equal(rnic_mock.mem->n, 0);
	function_device_ops.mem_changed(s->fn, &s->guest.mem);
	assert_int_equal(rnic_mock.mem->n, 0);
	station_start(s, FEATURES_ALL);
	assert_ptr_equal(rnic_mock.mem, &s->guest.mem);
	run();
	polls = rnic_mock.polls;
	assert_true(polls > 0);
	function_device_ops.mem_changed(s->fn, &other);
	assert_ptr_equal(rnic_mock.mem, &other);
	function_device_ops.queue_stop(s->fn, &s->vq[CTRL]);
	assert_int_equal(rnic_mock.mem->n, 0);
	function_device_ops.mem_changed(s->fn, &s->guest.mem);
	assert_int_equal(rnic_mock.mem->n, 0);
	run();
	assert_int_equal(rnic_mock.polls, polls);
	function_device_ops.queue_start(s->fn, &s->vq[CTRL]);
	assert_ptr_equal(rnic_mock.mem, &s->guest.mem);
	run();
	assert_true(rnic_mock.polls > polls);
}

static void test_reset(void **state)
{
	struct station *s = &st[1];

	filter_start();
	rx_mode(s, VIRTIO_NET_CTRL_RX_PROMISC, 0);
	station_stop(s);
	function_device_ops.reset(s->fn);
	assert_int_equal(rnic_mock.resets, 1);
	station_start(s, FEATURES_MIN);
	assert_true(passes(MAC(9)));
}

/*
 * Queues that another process has served: the driver hears that RDMA has lost all, until it
 * resets the function.  Ethernet goes on.
 */
static void test_inherited(void **state)
{
	static const unsigned int queue[] = { RX, TX, CTRL };
	struct station *s = &st[1];
	unsigned int i;

	station_start(&st[0], FEATURES_ALL);
	rnic_mock.ack = VIRTIO_NET_OK;
	for (i = 0; i < ARRAY_SIZE(queue); i++) {
		s->vq[queue[i]].inherited = true;
		station_start(s, FEATURES_ALL);
		assert_int_equal(config_changes, i + 1);
		assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_ROCE, 1, NULL, 0), VIRTIO_NET_ERR);
		assert_int_equal(rnic_mock.commands, i);
		assert_true(passes(BROADCAST));
		s->vq[queue[i]].inherited = false;
		/* A pause changes nothing. */
		station_stop(s);
		station_start(s, FEATURES_ALL);
		assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_ROCE, 1, NULL, 0), VIRTIO_NET_ERR);
		station_stop(s);
		function_device_ops.reset(s->fn);
		station_start(s, FEATURES_ALL);
		assert_int_equal(ctrl(s, VIRTIO_NET_CTRL_ROCE, 1, NULL, 0), VIRTIO_NET_OK);
		assert_int_equal(rnic_mock.commands, i + 1);
		station_stop(s);
		function_device_ops.reset(s->fn);
	}
	/* Without RoCE there is nothing to lose. */
	s->vq[CTRL].inherited = true;
	station_start(s, FEATURES_ALL & ~BIT(VIRTIO_NET_F_ROCE));
	assert_int_equal(config_changes, i);
	assert_false(s->fn->lost);
}

#define TEST(fn) \
	cmocka_unit_test_setup_teardown(fn, station_setup, station_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_filter_modes),
		TEST(test_mac_table),
		TEST(test_mac_table_malformed),
		TEST(test_mac_addr),
		TEST(test_vlan),
		TEST(test_vlan_not_negotiated),
		TEST(test_ctrl_unknown),
		TEST(test_ctrl_without_feature),
		TEST(test_ctrl_malformed),
		TEST(test_roce_command),
		TEST(test_roce_command_fails),
		TEST(test_roce_large_command),
		TEST(test_excessive_unknown),
		TEST(test_excessive_mac_table),
		TEST(test_excessive_roce),
		TEST(test_roce_command_goes_on),
		TEST(test_roce_command_begins_anew),
		TEST(test_roce_not_negotiated),
		TEST(test_roce_queues),
		TEST(test_roce_memory),
		TEST(test_reset),
		TEST(test_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
