// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of virtio_net_roce: which device is a RoCE device, what the child may see,
 * which vector serves which queue.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "../drivers/net/virtio_net_roce/vnr.h"

#define ROCE	(BIT_ULL(VIRTIO_NET_F_ROCE) | BIT_ULL(VIRTIO_F_VERSION_1) | \
		 BIT_ULL(VIRTIO_NET_F_CTRL_VQ))
#define MQ	BIT_ULL(VIRTIO_NET_F_MQ)
#define RSS	BIT_ULL(VIRTIO_NET_F_RSS)
#define USO4	BIT_ULL(54)

/* QEMU returns this for reads past the end of its device configuration. */
#define NOWHERE	0xffffffff

struct offer_case {
	const char *name;
	struct vnr_offer offer;
	bool roce;
};

static const struct offer_case offer_cases[] = {
	{ "smallest device", { ROCE, 32, 0, 1, 1, 6 }, true },
	{ "usual device", { ROCE, 32, 1, 32, 64, 131 }, true },
	{ "one virtqueue too few", { ROCE, 32, 1, 32, 64, 130 }, false },
	{ "more virtqueues than needed", { ROCE, 32, 1, 32, 64, 1024 }, true },
	{ "longer configuration", { ROCE, 4096, 1, 32, 64, 131 }, true },
	{ "bit 55 not offered",
	  { ROCE & ~BIT_ULL(VIRTIO_NET_F_ROCE), 32, 1, 32, 64, 131 }, false },
	{ "no control queue",
	  { ROCE & ~BIT_ULL(VIRTIO_NET_F_CTRL_VQ), 32, 1, 32, 64, 131 }, false },
	{ "not a modern device",
	  { ROCE & ~BIT_ULL(VIRTIO_F_VERSION_1), 32, 1, 32, 64, 131 }, false },
	{ "no configuration space", { ROCE, 0, 1, 32, 64, 131 }, false },
	{ "configuration without limits", { ROCE, 24, 1, 32, 64, 131 }, false },
	{ "configuration a byte short", { ROCE, 31, 1, 32, 64, 131 }, false },
	{ "no QPs", { ROCE, 32, 1, 0, 64, 131 }, false },
	{ "no CQs", { ROCE, 32, 1, 32, 0, 131 }, false },
	{ "most objects", { ROCE, 32, 1, 16384, 16384, 49155 }, true },
	{ "most objects, a virtqueue short",
	  { ROCE, 32, 1, 16384, 16384, 49154 }, false },
	{ "too many QPs", { ROCE, 32, 1, 16385, 1, 65535 }, false },
	{ "too many CQs", { ROCE, 32, 1, 1, 16385, 65535 }, false },
	{ "sum of limits wraps", { ROCE, 32, 1, 0x80000000, 1, 6 }, false },
	{ "pairs with MQ", { ROCE | MQ, 32, 4, 32, 64, 137 }, true },
	{ "pairs with MQ, a virtqueue short",
	  { ROCE | MQ, 32, 4, 32, 64, 136 }, false },
	{ "pairs with RSS, a virtqueue short",
	  { ROCE | RSS, 32, 4, 32, 64, 136 }, false },
	{ "no pairs with MQ", { ROCE | MQ, 32, 0, 32, 64, 131 }, false },
	{ "pairs without MQ do not count",
	  { ROCE, 32, 0x8000, 32, 64, 131 }, true },
	{ "QEMU with GUEST_USO6",
	  { ROCE | USO4, 32, 1, NOWHERE, NOWHERE, 3 }, false },
	{ "QEMU with GUEST_USO6 and many pairs",
	  { ROCE | USO4 | MQ | RSS, 32, 64, NOWHERE, NOWHERE, 129 }, false },
	{ "QEMU with GUEST_USO6 and tunnel types at offset 24",
	  { ROCE | USO4 | BIT_ULL(51), 32, 1, 0x1ff, NOWHERE, 3 }, false },
};

static void offer_desc(const struct offer_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(offer, offer_cases, offer_desc);

static void test_offer(struct kunit *test)
{
	const struct offer_case *c = test->param_value;
	const char *refused = vnr_offer_refused(&c->offer);

	KUNIT_EXPECT_EQ_MSG(test, !refused, c->roce, "refused: %s",
			    refused ?: "no");
}

struct rings_case {
	const char *name;
	u16 num_queues;
	u16 event_vqs;
	u16 doorbell_vqs;
	bool taken;
};

/* One pair of Ethernet, 64 CQs and 32 QPs: 131 virtqueues of the RFC. */
static const struct rings_case rings_cases[] = {
	{ "neither", 131, 0, 0, true },
	{ "as many as fit", 136, 4, 1, true },
	{ "one virtqueue too few", 135, 4, 1, false },
	{ "events only", 135, 4, 0, true },
	{ "QEMU whose device ends before", 1024, 0xffff, 0xffff, false },
};

KUNIT_ARRAY_PARAM_DESC(rings, rings_cases, name);

static void test_rings(struct kunit *test)
{
	const struct rings_case *c = test->param_value;
	struct vnr_offer offer = { ROCE, 36, 1, 32, 64, c->num_queues };

	vnr_offer_rings(&offer, c->event_vqs, c->doorbell_vqs);
	KUNIT_EXPECT_EQ(test, offer.event_vqs, c->taken ? c->event_vqs : 0);
	KUNIT_EXPECT_EQ(test, offer.doorbell_vqs,
			c->taken ? c->doorbell_vqs : 0);
}

static void test_child_masks(struct kunit *test)
{
	static const u8 masked[] = {
		34, 35, 37, 38, 40, 41, 51, 52, 53, 54, 55
	};
	u64 expect = ~0ULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(masked); i++)
		expect &= ~BIT_ULL(masked[i]);
	KUNIT_EXPECT_EQ(test, vnr_child_features(~0ULL), expect);
	/* The child may read the speed and report it. */
	KUNIT_EXPECT_TRUE(test, vnr_child_features(~0ULL) &
			  BIT_ULL(VIRTIO_NET_F_SPEED_DUPLEX));
	/* A device in hardware may not work without it. */
	KUNIT_EXPECT_TRUE(test, vnr_child_features(~0ULL) &
			  BIT_ULL(VIRTIO_F_ORDER_PLATFORM));
	KUNIT_EXPECT_EQ(test, vnr_child_features(0), 0);
}

struct vector_case {
	const char *name;
	unsigned int given;	/* by the PCI core */
	unsigned int used;
	int vq[3];
	int cq[9];
};

/* Three virtqueues, nine CQs; the first vector always serves the configuration. */
static const struct vector_case vector_cases[] = {
	{ "one for all", 1, 1, { 0, 0, 0 }, { 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ "two", 2, 2, { 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "three", 3, 2, { 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "not quite one for each", 4, 2, { 1, 1, 1 },
	  { 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ "one for each, one for CQs", 5, 5, { 1, 2, 3 },
	  { 4, 4, 4, 4, 4, 4, 4, 4, 4 } },
	{ "two for CQs", 6, 6, { 1, 2, 3 }, { 4, 5, 4, 5, 4, 5, 4, 5, 4 } },
	{ "four for CQs", 8, 8, { 1, 2, 3 }, { 4, 5, 6, 7, 4, 5, 6, 7, 4 } },
	{ "plenty", 12, 12, { 1, 2, 3 }, { 4, 5, 6, 7, 8, 9, 10, 11, 4 } },
};

KUNIT_ARRAY_PARAM_DESC(vector, vector_cases, name);

struct event_vector_case {
	const char *name;
	unsigned int given;
	unsigned int nevents;
	int event[4];
	int cq[3];
};

/* Three virtqueues of Ethernet. */
static const struct event_vector_case event_vector_cases[] = {
	{ "one for all", 1, 4, { 0, 0, 0, 0 }, { 0, 0, 0 } },
	{ "two", 2, 4, { 1, 1, 1, 1 }, { 1, 1, 1 } },
	{ "one left", 5, 4, { 4, 4, 4, 4 }, { 4, 4, 4 } },
	{ "shared by two", 6, 4, { 4, 5, 4, 5 }, { 5, 5, 5 } },
	{ "one for each, the last for CQs, too", 8, 4, { 4, 5, 6, 7 },
	  { 7, 7, 7 } },
	{ "one for each and one for CQs", 9, 4, { 4, 5, 6, 7 }, { 8, 8, 8 } },
	{ "no events", 7, 0, { -ENOENT, -ENOENT, -ENOENT, -ENOENT },
	  { 4, 5, 6 } },
};

KUNIT_ARRAY_PARAM_DESC(event_vector, event_vector_cases, name);

static void test_event_vectors(struct kunit *test)
{
	const struct event_vector_case *c = test->param_value;
	struct vnr_dev *dev;
	unsigned int i;

	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->vectors = kunit_kcalloc(test, 12, sizeof(*dev->vectors),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev->vectors);
	dev->nvqs = 3;
	dev->nevents = c->nevents;

	vnr_vectors_plan(dev, c->given);
	for (i = 0; i < ARRAY_SIZE(c->event); i++)
		KUNIT_EXPECT_EQ(test, vnr_event_vector(dev, i), c->event[i]);
	for (i = 0; i < ARRAY_SIZE(c->cq); i++)
		KUNIT_EXPECT_EQ(test, vnr_cq_vector(dev, i), c->cq[i]);
}

static void test_vectors(struct kunit *test)
{
	const struct vector_case *c = test->param_value;
	struct vnr_dev *dev;
	unsigned int i;

	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->vectors = kunit_kcalloc(test, 12, sizeof(*dev->vectors),
				     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev->vectors);
	dev->nvqs = ARRAY_SIZE(c->vq);

	vnr_vectors_plan(dev, c->given);
	KUNIT_EXPECT_EQ(test, dev->nvectors, c->used);
	for (i = 0; i < ARRAY_SIZE(c->vq); i++)
		KUNIT_EXPECT_EQ(test, vnr_vq_vector(dev, i), c->vq[i]);
	KUNIT_EXPECT_EQ(test, vnr_vq_vector(dev, dev->nvqs), -ENOENT);
	for (i = 0; i < ARRAY_SIZE(c->cq); i++)
		KUNIT_EXPECT_EQ(test, vnr_cq_vector(dev, i), c->cq[i]);
	for (i = 0; i < dev->nvectors; i++) {
		KUNIT_EXPECT_EQ(test, dev->vectors[i].config, i == 0);
		KUNIT_EXPECT_PTR_EQ(test, dev->vectors[i].dev, dev);
	}
}

static struct kunit_case vnr_cases[] = {
	KUNIT_CASE_PARAM(test_offer, offer_gen_params),
	KUNIT_CASE_PARAM(test_rings, rings_gen_params),
	KUNIT_CASE(test_child_masks),
	KUNIT_CASE_PARAM(test_vectors, vector_gen_params),
	KUNIT_CASE_PARAM(test_event_vectors, event_vector_gen_params),
	{ }
};

static struct kunit_suite vnr_suite = {
	.name = "virtio_net_roce",
	.test_cases = vnr_cases,
};

kunit_test_suite(vnr_suite);

MODULE_DESCRIPTION("KUnit tests of virtio_net_roce");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
