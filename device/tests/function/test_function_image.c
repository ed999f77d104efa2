// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A function saved, and loaded into another one: features, filter, offloads, link, queues,
 * counters.
 */
#include <string.h>

#include "function/eth.h"
#include "function/function_image.h"
#include "function/function_priv.h"
#include "tests/lib/station.h"

static const uint8_t mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0, 0x77 };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_saved_and_loaded, station_setup,
						station_teardown),
		cmocka_unit_test_setup_teardown(test_refused, station_setup,
						station_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
