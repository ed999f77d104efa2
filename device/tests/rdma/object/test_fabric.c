// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fabric: how QPs learn that a route has changed.
 */
#include "tests/lib/engine_guest.h"

/* The structure is private: the test includes the source. */
#include "rdma/object/fabric.c"

#define RC	VIRTIO_IB_QPT_RC

/* Adds a GID and removes it: two changes of the fabric. */
static void change_gids(struct eg_guest *guest)
{
	struct virtio_rdma_cmd_add_gid add = {
		.gid = { 0xfe, 0x80, [15] = 77 },
		.index = htole16(5),
	};
	struct virtio_rdma_cmd_del_gid del = { .index = htole16(5) };

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_ADD_GID, &add,
				    sizeof(add), NULL, 0), VIRTIO_NET_OK);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_DEL_GID, &del,
				    sizeof(del), NULL, 0), VIRTIO_NET_OK);
}

/*
 * GIDs are added and removed 2^32 times, which a guest can do in minutes.  A QP that
 * never looked up its route must not take itself to have one.
 */
static void test_counter_of_32_bits(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };

	engine->fabric->epoch = UINT32_MAX - 1;
	change_gids(&engine->guest[1]);
	eg_pair(engine, RC, &p.a, &p.b);
	eg_expect_works(&p);
}

/* A QP that looked it up at that moment must not keep it for ever. */
static void test_same_count_again(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct fabric *fabric = p.engine->fabric;
	uint64_t seen;

	eg_expect_works(&p);
	seen = fabric->epoch;
	fabric->epoch = UINT32_MAX;
	change_gids(p.a.guest);
	assert_true(fabric_epoch(fabric) != seen);
	assert_true(fabric_epoch(fabric) > UINT32_MAX);
	eg_expect_works(&p);
}

/* Entries of a bucket, of as many as a guest may have: chance puts 5 together at most. */
#define BUCKET_MOST	10u

/* A guest has one GID in many VLANs, and others look up theirs in the same table. */
static void test_one_gid_in_many_vlans(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_add_gid add = { .gid = { 0xfe, 0x80, [15] = 77 } };
	unsigned int i, n, most = 0;
	struct gid *gid;

	for (i = 1; i < RNIC_GIDS; i++) {
		add.index = htole16(i);
		add.vlan = htole16(VIRTIO_RDMA_GID_TAGGED | i);
		assert_int_equal(eg_command(&engine->guest[1], VIRTIO_NET_CTRL_ROCE_ADD_GID,
					    &add, sizeof(add), NULL, 0), VIRTIO_NET_OK);
	}
	for (i = 0; i < FABRIC_BUCKETS; i++) {
		n = 0;
		TAILQ_FOREACH(gid, &engine->fabric->bucket[i], link)
			n++;
		if (n > most)
			most = n;
	}
	assert_in_range(most, 1, BUCKET_MOST);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, eg_setup, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_counter_of_32_bits),
		TEST(test_same_count_again),
		TEST(test_one_gid_in_many_vlans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
