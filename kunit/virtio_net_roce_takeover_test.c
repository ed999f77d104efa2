// SPDX-License-Identifier: GPL-2.0
/*
 * Take-over: which functions of virtio_pci are examined, and which are taken.
 */
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_pci.h>

#include "virtio_net_roce_fake.h"

#define ROCE	(FAKE_NET | BIT_ULL(VIRTIO_NET_F_ROCE))

/* An unused device type, so that no driver binds to the virtio device. */
#define NOBODY	0x3ff0

#define CAP1	0x60
#define CAP2	0x80

static void takeover_candidate(struct kunit *test)
{
	static const struct {
		u16 vendor;
		u16 device;
		bool candidate;
	} cases[] = {
		{ PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1041, true },
		/* Transitional, block, and another vendor's. */
		{ PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1000, false },
		{ PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1042, false },
		{ PCI_VENDOR_ID_REDHAT, 0x1041, false },
	};
	struct fake *fake;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fake = fake_pci(test, cases[i].vendor, cases[i].device);
		KUNIT_EXPECT_EQ(test, vnr_is_candidate(fake->pdev),
				cases[i].candidate);
		KUNIT_EXPECT_FALSE(test, vnr_failed_before(fake->pdev));
	}
}

/* A function is silent or not as it was when it was released last. */
static void takeover_silent(struct kunit *test)
{
	struct fake *fake = fake_pci(test, PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1041);

	KUNIT_EXPECT_FALSE(test, vnr_was_silent(fake->pdev));
	vnr_takeover_silent(fake->pdev, true);
	KUNIT_EXPECT_TRUE(test, vnr_was_silent(fake->pdev));
	vnr_takeover_silent(fake->pdev, false);
	KUNIT_EXPECT_FALSE(test, vnr_was_silent(fake->pdev));
}

/**
 * struct owned - the virtio device of a function bound to virtio_pci
 * @vdev: the device
 * @features: what it offers
 * @asked: it was asked for them
 * @unlocked: it was asked while virtio_pci could have let go of the function
 */
struct owned {
	struct virtio_device vdev;
	u64 features;
	bool asked;
	bool unlocked;
};

static u64 owned_get_features(struct virtio_device *vdev)
{
	struct owned *owned = container_of(vdev, struct owned, vdev);

	owned->asked = true;
	owned->unlocked |= !mutex_is_locked(&vdev->dev.parent->mutex);
	owned->unlocked |= !mutex_is_locked(&vdev->dev.mutex);
	return owned->features;
}

static u8 owned_get_status(struct virtio_device *vdev)
{
	return 0;
}

static void owned_set_status(struct virtio_device *vdev, u8 status)
{
}

static void owned_reset(struct virtio_device *vdev)
{
}

static const struct virtio_config_ops owned_ops = {
	.get_features = owned_get_features,
	.get_status = owned_get_status,
	.set_status = owned_set_status,
	.reset = owned_reset,
};

static void owned_release(struct device *d)
{
	kfree(container_of(dev_to_virtio(d), struct owned, vdev));
}

struct want_case {
	const char *name;
	u64 features;
	u32 common_len;
	u32 config_len;
	u8 bar;
	u32 offset;
	u32 qps;
	u16 num_queues;
	bool wanted;
};

static const struct want_case want_cases[] = {
	{ "RoCE", ROCE, 56, 32, 0, 0, 2, FAKE_QUEUES, true },
	{ "longer structures", ROCE, 64, 64, 0, 0, 2, FAKE_QUEUES, true },
	{ "bit 55 not offered", FAKE_NET, 56, 32, 0, 0, 2, FAKE_QUEUES },
	{ "no limits in the configuration", ROCE, 56, 24, 0, 0, 2, FAKE_QUEUES },
	{ "too few virtqueues", ROCE, 56, 32, 0, 0, 2, FAKE_QUEUES - 1 },
	{ "no QPs", ROCE, 56, 32, 0, 0, 0, FAKE_QUEUES },
	{ "short common structure", ROCE, 48, 32, 0, 0, 2, FAKE_QUEUES },
	{ "no common structure", ROCE, 0, 32, 0, 0, 2, FAKE_QUEUES },
	{ "no configuration", ROCE, 56, 0, 0, 0, 2, FAKE_QUEUES },
	{ "in a BAR that is not there", ROCE, 56, 32, 2, 0, 2, FAKE_QUEUES },
	{ "in no BAR", ROCE, 56, 32, 7, 0, 2, FAKE_QUEUES },
	{ "behind the end of the BAR", ROCE, 56, 32, 0, FAKE_BAR - 16, 2,
	  FAKE_QUEUES },
	{ "offset wraps", ROCE, 56, 32, 0, 0xfffffff0, 2, FAKE_QUEUES },
};

KUNIT_ARRAY_PARAM_DESC(want, want_cases, name);

static void takeover_wants(struct kunit *test)
{
	const struct want_case *c = test->param_value;
	struct fake *fake = fake_pci(test, PCI_VENDOR_ID_REDHAT, 0x7ffe);
	struct owned *owned;

	fake->common->num_queues = cpu_to_le16(c->num_queues);
	*(__le32 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_OFFSET) =
		cpu_to_le32(c->qps);
	*(__le32 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_OFFSET + 4) =
		cpu_to_le32(FAKE_CQS);
	if (c->common_len)
		fake_cap(fake, CAP1, VIRTIO_PCI_CAP_COMMON_CFG, c->bar,
			 FAKE_COMMON + c->offset, c->common_len);
	if (c->config_len)
		fake_cap(fake, CAP2, VIRTIO_PCI_CAP_DEVICE_CFG, c->bar,
			 FAKE_CONFIG, c->config_len);

	/* No driver has it. */
	KUNIT_EXPECT_FALSE(test, vnr_wants_takeover(fake->pdev));

	owned = kzalloc(sizeof(*owned), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, owned);
	owned->features = c->features;
	owned->vdev.config = &owned_ops;
	owned->vdev.id.device = NOBODY;
	owned->vdev.dev.parent = &fake->pdev->dev;
	owned->vdev.dev.release = owned_release;
	KUNIT_ASSERT_EQ(test, 0, register_virtio_device(&owned->vdev));
	owned->asked = false;
	owned->unlocked = false;
	KUNIT_EXPECT_EQ(test, vnr_wants_takeover(fake->pdev), c->wanted);
	KUNIT_EXPECT_TRUE(test, owned->asked);
	KUNIT_EXPECT_FALSE(test, owned->unlocked);
	unregister_virtio_device(&owned->vdev);
	KUNIT_EXPECT_FALSE(test, vnr_wants_takeover(fake->pdev));
}

static struct kunit_case takeover_cases[] = {
	KUNIT_CASE(takeover_candidate),
	KUNIT_CASE(takeover_silent),
	KUNIT_CASE_PARAM(takeover_wants, want_gen_params),
	{}
};

static struct kunit_suite takeover_suite = {
	.name = "virtio_net_roce_takeover",
	.test_cases = takeover_cases,
};

kunit_test_suite(takeover_suite);
