// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function saved, and loaded into another one: features, filter, offloads, link, queues,
 * counters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "function/eth.h"
#include "function/function_image.h"
#include "function/function_priv.h"
#include "tests/lib/station.h"

static const uint8_t mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0, 0x77 };

/* Frames that another port of the switch has heard. */
static uint8_t heard[8][128];
static unsigned int heard_n;

static void hear(void *arg, const struct frame *frame)
{
	if (heard_n < 8)
		iov_to_buf(frame->iov, frame->iov_n, frame->off, heard[heard_n],
			   frame->len < 128 ? frame->len : 128);
	heard_n++;
}

static void heard_all(void *arg)
{
}

/* The sum over an ICMPv6 message and its pseudo-header: all ones if it is right. */
static uint16_t checksum(const uint8_t *ip)
{
	uint32_t i, sum = (ip[4] << 8 | ip[5]) + ip[6];

	for (i = 8; i < 40u + (ip[4] << 8 | ip[5]); i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

/* A state of the first station, with something in each field. */
static void save(struct state *out)
{
	struct function *fn = st[0].fn;

	station_start(&st[0], FEATURES_ALL);
	memcpy(fn->filter.mac, mac, ETH_ALEN);
	filter_set_mode(&fn->filter, VIRTIO_NET_CTRL_RX_PROMISC, false);
	filter_set_mode(&fn->filter, VIRTIO_NET_CTRL_RX_ALLMULTI, true);
	filter_set_vlan(&fn->filter, 100, true);
	fn->filter.uni.n = 1;
	fn->filter.uni.mac[0][0] = 4;
	assert_int_equal(eth_set_guest_offloads(fn, BIT(VIRTIO_NET_F_GUEST_CSUM)), 0);
	fn->stats.rx = 12345;
	fn->link_up = false;
	st[0].vq[TX].last_avail = 7;
	st[0].vq[CTRL].last_avail = 9;
	fn->ctrlq.busy = true;
	state_write(out);
	assert_true(function_save(fn, out));
	fn->ctrlq.busy = false;
}

static bool load(const struct state *out, struct state *in)
{
	return state_read(in, out->data, out->at) && function_load(st[1].fn, in);
}

static void test_saved_and_loaded(void **state)
{
	struct function *to = st[1].fn;
	struct state out, in;

	save(&out);
	station_start(&st[1], FEATURES_ALL);
	if (!load(&out, &in))
		fail_msg("%s", in.why);
	assert_memory_equal(&to->filter, &st[0].fn->filter, sizeof(to->filter));
	assert_int_equal(to->port.offloads, st[0].fn->port.offloads);
	assert_int_equal(to->stats.rx, 12345);
	assert_false(to->link_up);
	assert_true(rnic_mock.packets);
	assert_int_equal(st[1].vq[TX].last_avail, 7);
	/* The command that goes on is taken once more. */
	assert_int_equal(st[1].vq[CTRL].last_avail, 8);
	state_free(&out);
}

static void expect_refused(const struct state *out, const char *why)
{
	const struct filter before = st[1].fn->filter;
	struct state in;

	assert_false(load(out, &in));
	assert_string_equal(in.why, why);
	assert_memory_equal(&st[1].fn->filter, &before, sizeof(before));
	assert_int_equal(st[1].vq[TX].last_avail, 0);
}

static void test_refused(void **state)
{
	struct function *to = st[1].fn;
	struct state out;

	save(&out);
	station_start(&st[1], FEATURES_MIN);
	expect_refused(&out, "section function, features: others were negotiated here");
	station_stop(&st[1]);
	station_start(&st[1], FEATURES_ALL);
	to->config.pin.has_mac = true;
	expect_refused(&out, "section function, mac: not the address of mac= of its --socket");
	to->config.pin.has_mac = false;
	to->vq[FUNCTION_TX] = NULL;
	expect_refused(&out, "section ethernet, started: otherwise than it is here");
	to->vq[FUNCTION_TX] = &st[1].vq[TX];
	state_free(&out);
}

/* Objects that were lost are not there again in the next process. */
static void test_lost(void **state)
{
	struct state out, in;

	st[0].fn->lost = true;
	save(&out);
	station_start(&st[1], FEATURES_ALL);
	if (!load(&out, &in))
		fail_msg("%s", in.why);
	assert_true(st[1].fn->lost);
	state_free(&out);

	/* Others have a state that older versions know. */
	st[0].fn->lost = false;
	state_write(&out);
	assert_true(function_save(st[0].fn, &out));
	assert_null(memmem(out.data, out.at, "lost", 4));
	if (!load(&out, &in))
		fail_msg("%s", in.why);
	assert_false(st[1].fn->lost);
	state_free(&out);
}

/* A process that was killed may have written anything before: nothing beyond a table is read. */
static void test_recovered(void **state)
{
	struct function *fn = st[1].fn;
	struct function_keep keep = { .link_up = true, .rdma = true, .mq.pairs = 1 };

	station_start(&st[1], FEATURES_ALL);
	keep.filter = fn->filter;
	keep.filter.uni.n = FILTER_MACS_MAX + 1;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	keep.filter.uni.n = UINT32_MAX;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	keep.filter.uni.n = FILTER_MACS_MAX;
	keep.filter.multi.n = 1 << 20;
	assert_int_equal(function_recover(fn, &keep), -EINVAL);
	assert_int_equal(fn->filter.uni.n, 0);
	keep.filter.multi.n = 0;
	assert_int_equal(function_recover(fn, &keep), 0);
	assert_int_equal(fn->filter.uni.n, FILTER_MACS_MAX);
	assert_true(fn->lost);
}

/* Without memory and queues, as a guest that was moved here. */
static void test_moved(void **state)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 7 };
	static const uint8_t ipv6[16] = { 0xfe, 0x80, [15] = 9 };
	struct switch_port port = { .deliver = hear, .flush = heard_all };
	struct function *from = st[0].fn, *to = st[1].fn;
	struct function_keep keep = {};
	uint64_t features = 0;
	uint8_t *data;
	size_t n;

	function_device_ops.negotiated(from, FEATURES_ALL);
	memcpy(from->filter.mac, mac, ETH_ALEN);
	assert_int_equal(function_device_ops.save(from, &data, &n), 0);
	/* A port through which less goes. */
	to->config.mtu = from->config.mtu - 1;
	assert_int_equal(function_device_ops.load(to, data, n, &features), -EINVAL);
	assert_int_equal(to->features, 0);
	to->config.mtu = from->config.mtu;
	/* Other limits. */
	assert_int_equal(function_device_ops.load(to, data, n - 1, &features), -EINVAL);
	/* If this process is killed now, the guest has lost what it has brought. */
	to->keep = &keep;
	assert_int_equal(function_device_ops.load(to, data, n, &features), 0);
	assert_true(keep.rdma);
	to->keep = NULL;
	assert_int_equal(features, FEATURES_ALL);
	assert_int_equal(to->features, FEATURES_ALL);
	assert_true(to->moved);
	assert_memory_equal(to->filter.mac, mac, ETH_ALEN);
	free(data);

	/* It tells others when it has its queues, and may go before all times are over. */
	rnic_mock.gid[0] = ipv4;
	rnic_mock.gid[1] = ipv6;
	rnic_mock.gid_vlan[1] = VIRTIO_RDMA_GID_TAGGED | 100;
	rnic_mock.gids = 2;
	heard_n = 0;
	switch_port_add(sw, &port);
	station_start(&st[1], FEATURES_ALL);
	assert_false(to->moved);
	assert_int_equal(heard_n, 3);
	/* RARP, ARP, and a neighbour advertisement in VLAN 100, whose sum is right. */
	assert_memory_equal(heard[0] + 6, mac, ETH_ALEN);
	assert_memory_equal(heard[0] + 12, "\x80\x35\0\1\x08\0\6\4\0\3", 10);
	assert_memory_equal(heard[1] + 12, "\x08\6\0\1\x08\0\6\4\0\1", 10);
	assert_memory_equal(heard[1] + 28, ipv4 + 12, 4);
	assert_memory_equal(heard[1] + 38, ipv4 + 12, 4);
	assert_memory_equal(heard[2], "\x33\x33\0\0\0\1", 6);
	assert_memory_equal(heard[2] + 12, "\x81\0\0\x64\x86\xdd", 6);
	assert_memory_equal(heard[2] + 18 + 8, ipv6, 16);
	assert_int_equal(heard[2][18 + 40], 136);
	assert_memory_equal(heard[2] + 18 + 48, ipv6, 16);
	assert_memory_equal(heard[2] + 18 + 66, mac, ETH_ALEN);
	assert_int_equal(checksum(heard[2] + 18), 0xffff);
	rnic_mock.gids = 0;
	switch_port_del(sw, &port);
	assert_int_equal(rnic_mock.moves, 1);
	assert_int_equal(rnic_mock.parts, 0);
	/* It leaves: its port announces nothing any more, and its GIDs lead nowhere. */
	assert_false(rnic_mock.away);
	station_stop(&st[1]);
	assert_true(to->announce.due);
	assert_int_equal(function_device_ops.save(to, &data, &n), 0);
	assert_false(to->announce.due);
	assert_true(rnic_mock.away && to->port.away);
	/* And goes on here after all. */
	station_start(&st[1], FEATURES_ALL);
	assert_true(!rnic_mock.away && !to->port.away);

	/* A guest that comes to a place for copies does not go on with the peers. */
	from->config.pin.copy = true;
	assert_int_equal(function_device_ops.load(from, data, n, &features), 0);
	assert_int_equal(rnic_mock.moves, 1);
	assert_int_equal(rnic_mock.parts, 1);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_saved_and_loaded, station_setup,
						station_teardown),
		cmocka_unit_test_setup_teardown(test_refused, station_setup,
						station_teardown),
		cmocka_unit_test_setup_teardown(test_lost, station_setup,
						station_teardown),
		cmocka_unit_test_setup_teardown(test_recovered, station_setup,
						station_teardown),
		cmocka_unit_test_setup_teardown(test_moved, station_setup,
						station_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
