// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that came too early, and answers that were sent: what is kept, for how long, and what
 * it counts for.
 */
#include "tests/lib/engine_guest.h"

#include <stdlib.h>

#include "rdma/qp/early.h"

/* Keep a packet whose payload is one number; false if it was there before. */
static bool keep(struct early **early, struct rnic_ctx *ctx, uint32_t psn, uint64_t number)
{
	struct pkt pkt = { .psn = psn, .npsn = 1, .len = sizeof(number) };
	struct sg sg;

	sg_init_flat(&sg, &number);
	pkt.payload = &sg;
	return early_keep(early, ctx, &pkt);
}

static uint64_t number_of(const struct early *early, uint32_t psn)
{
	struct early_packet *packet = early_find(early, psn);
	uint64_t number = 0;

	if (packet)
		memcpy(&number, packet->payload, sizeof(number));
	return number;
}

static void test_keep_and_take(void **state)
{
	struct rnic_ctx ctx = {};
	struct early *early = NULL;
	struct early_packet *packet;

	(void)state;
	assert_null(early_find(early, 7));
	assert_null(early_take(&early, &ctx, 7));
	assert_true(keep(&early, &ctx, 7, 70));
	assert_false(keep(&early, &ctx, 7, 71));
	assert_int_equal(number_of(early, 7), 70);
	assert_null(early_find(early, 7 + EARLY_MAX));
	assert_int_equal(early_gap(early, 4), 3);
	packet = early_take(&early, &ctx, 7);
	assert_non_null(packet);
	free(packet);
	/* The table goes with the last packet. */
	assert_null(early);
	assert_int_equal(ctx.early, 0);
}

/* Both directions, over the end of the PSNs. */
static void test_drop(void **state)
{
	static const uint32_t psn[] = { 0xfffffe, 0xffffff, 0, 1 };
	struct rnic_ctx ctx = {};
	struct early *early = NULL;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++)
		keep(&early, &ctx, psn[i], 10 + i);
	early_drop(&early, &ctx, 0xffffff);
	early_drop_from(&early, &ctx, 1);
	assert_int_equal(number_of(early, 0xfffffe), 0);
	assert_int_equal(number_of(early, 0xffffff), 11);
	assert_int_equal(number_of(early, 0), 12);
	assert_int_equal(number_of(early, 1), 0);
	early_drop(&early, &ctx, EARLY_ALL);
	assert_null(early);
	assert_int_equal(ctx.early, 0);
	early_drop_from(&early, &ctx, 0);
}

/*
 * A copy makes way for that of any later PSN in its place, and does not wait for the next one: else
 * it would still be there when PSNs have come round, and be sent for another packet.
 */
static void test_make_way(void **state)
{
	struct rnic_ctx ctx = {};
	struct early *early = NULL;

	(void)state;
	early_make_way(&early, &ctx, 7);
	keep(&early, &ctx, 7, 70);
	keep(&early, &ctx, 8, 80);
	early_make_way(&early, &ctx, 7 + 2 * EARLY_MAX);
	assert_true(keep(&early, &ctx, 7 + 2 * EARLY_MAX, 71));
	assert_int_equal(number_of(early, 7), 0);
	assert_int_equal(number_of(early, 7 + 2 * EARLY_MAX), 71);
	assert_int_equal(number_of(early, 8), 80);
	early_drop(&early, &ctx, EARLY_ALL);
	assert_int_equal(ctx.early, 0);
}

/* A packet that does not fit is lost, and takes no memory. */
static void test_no_room(void **state)
{
	struct rnic_ctx ctx = { .early = RNIC_EARLY_MAX };
	struct early *early = NULL;

	(void)state;
	assert_true(keep(&early, &ctx, 7, 70));
	assert_null(early);
	assert_int_equal(ctx.early, RNIC_EARLY_MAX);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_keep_and_take),
		T(test_drop),
		T(test_make_way),
		T(test_no_room),
	};

	return cmocka_run_group_tests_name("early", tests, NULL, NULL);
}
