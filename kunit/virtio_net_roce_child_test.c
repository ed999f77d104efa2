// SPDX-License-Identifier: GPL-2.0
/*
 * The child device: its configuration space, features, reset and virtqueues.
 */
#include <kunit/static_stub.h>
#include <linux/dma-direct.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/smp.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>

#include "virtio_net_roce_compat.h"
#include "virtio_net_roce_fake.h"

#define ROCE		BIT_ULL(VIRTIO_NET_F_ROCE)
#define PLATFORM	BIT_ULL(VIRTIO_F_ACCESS_PLATFORM)
#define EVENT_IDX	BIT_ULL(VIRTIO_RING_F_EVENT_IDX)

/* ----- configuration space ----- */

static const struct virtio_config_ops *ops(struct fake *fake)
{
	return fake_vdev(fake)->config;
}

struct window_case {
	const char *name;
	unsigned int offset;
	unsigned int len;
	bool inside;
};

static const struct window_case window_cases[] = {
	{ "first byte", 0, 1, true },
	{ "a 16-bit field", 6, 2, true },
	{ "a 32-bit field", 12, 4, true },
	{ "the address", 0, 6, true },
	{ "last byte", 23, 1, true },
	{ "last 32 bits", 20, 4, true },
	{ "everything", 0, 24, true },
	{ "nothing at the end", 24, 0, true },
	{ "the limits of RoCE", 24, 4, false },
	{ "half behind the end", 22, 4, false },
	{ "a byte too long", 0, 25, false },
	{ "far behind", 4096, 1, false },
	{ "sum wraps", UINT_MAX, 4, false },
};

KUNIT_ARRAY_PARAM_DESC(window, window_cases, name);

static void child_window(struct kunit *test)
{
	const struct window_case *c = test->param_value;
	struct fake *fake = fake_create(test);
	u8 before[40], expect[40], buf[40];
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	for (i = 0; i < sizeof(before); i++)
		fake->config[i] = 0x40 + i;
	memcpy(before, fake->config, sizeof(before));

	memset(buf, 0xee, sizeof(buf));
	ops(fake)->get(fake_vdev(fake), c->offset, buf, c->len);
	for (i = 0; i < c->len; i++)
		KUNIT_EXPECT_EQ(test, buf[i],
				c->inside ? 0x40 + c->offset + i : 0);
	KUNIT_EXPECT_EQ(test, buf[c->len], 0xee);

	memset(buf, 0x99, sizeof(buf));
	ops(fake)->set(fake_vdev(fake), c->offset, buf, c->len);
	memcpy(expect, before, sizeof(before));
	if (c->inside)
		memset(expect + c->offset, 0x99, c->len);
	KUNIT_EXPECT_MEMEQ(test, fake->config, expect, sizeof(expect));
}

/* ----- features ----- */

static void child_features(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	fake_offer(fake, ~0ULL);
	KUNIT_EXPECT_EQ(test, ops(fake)->get_features(fake_vdev(fake)),
			vnr_child_features(~0ULL));
	KUNIT_EXPECT_EQ(test, 0, ops(fake)->get_features(fake_vdev(fake)) &
				 ROCE);
}

/* The half that was written last. */
static u64 high_half(struct fake *fake)
{
	return (u64)le32_to_cpu(fake->common->guest_feature) << 32;
}

struct final_case {
	const char *name;
	u64 features;
	bool translated;
	bool roce;
};

static const struct final_case final_cases[] = {
	{ "control queue", FAKE_NET, false, true },
	{ "with a translation offered", FAKE_NET | PLATFORM, false, true },
	{ "no control queue", BIT_ULL(VIRTIO_F_VERSION_1), false, false },
	{ "memory is elsewhere", FAKE_NET, true, false },
	{ "memory is elsewhere, and the device knows", FAKE_NET | PLATFORM,
	  true, true },
	{ "translation, no control queue",
	  BIT_ULL(VIRTIO_F_VERSION_1) | PLATFORM, true, false },
	{ "event index", FAKE_NET | EVENT_IDX, false, true },
	{ "what was not offered to the child", FAKE_NET | ROCE | BIT_ULL(40),
	  false, true },
};

KUNIT_ARRAY_PARAM_DESC(final, final_cases, name);

/* Device addresses are not physical ones, as behind an IOMMU. */
static void translate(struct fake *fake)
{
	struct bus_dma_region *map;

	map = kcalloc(2, sizeof(*map), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(fake->test, map);
	map->dma_start = SZ_1G;
	map->size = SZ_4G;
	/* Freed with the device. */
	fake->pdev->dev.dma_range_map = map;
	KUNIT_ASSERT_EQ(fake->test, 0,
			dma_set_mask_and_coherent(&fake->pdev->dev,
						  DMA_BIT_MASK(64)));
}

static void child_finalize(struct kunit *test)
{
	const struct final_case *c = test->param_value;
	struct fake *fake = fake_create(test);
	u64 written;

	if (c->translated)
		translate(fake);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, c->features));
	KUNIT_EXPECT_EQ(test, fake->dev->roce, c->roce);
	KUNIT_EXPECT_EQ(test, fake->dev->event_idx, !!(c->features & EVENT_IDX));

	KUNIT_ASSERT_EQ(test, 1,
			le32_to_cpu(fake->common->guest_feature_select));
	written = vnr_child_features(c->features) & GENMASK_ULL(63, 32);
	KUNIT_EXPECT_EQ(test, high_half(fake), written | (c->roce ? ROCE : 0));
}

/* The way in which a page was mapped. */
static enum { DIRECT, COPY, NOT_MAPPED, TOO_FAR } mapped;
static unsigned long copy;

static dma_addr_t odd_map(struct vnr_dev *dev, struct page *page)
{
	copy = *(unsigned long *)page_address(page);
	return mapped == NOT_MAPPED ? DMA_MAPPING_ERROR : page_to_phys(page);
}

static void odd_unmap(struct vnr_dev *dev, struct page *page, dma_addr_t dma)
{
	if (mapped == COPY)
		*(unsigned long *)page_address(page) = copy;
}

/*
 * Where the DMA API hands out copies there is no RoCE, also if the device would know
 * what to do with their addresses.  Ethernet goes on.
 */
static void child_bounce(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	u64 mask = dma_get_mask(&fake->pdev->dev);

	kunit_activate_static_stub(test, vnr_dma_map, odd_map);
	kunit_activate_static_stub(test, vnr_dma_unmap, odd_unmap);
	for (mapped = COPY; mapped <= TOO_FAR; mapped++) {
		if (mapped == TOO_FAR)
			*fake->pdev->dev.dma_mask = DMA_BIT_MASK(24);
		KUNIT_EXPECT_EQ(test, 0, fake_negotiate(fake, FAKE_NET | PLATFORM));
		KUNIT_EXPECT_FALSE_MSG(test, fake->dev->roce, "%d", mapped);
		KUNIT_EXPECT_FALSE(test, high_half(fake) & ROCE);
		KUNIT_EXPECT_TRUE(test, high_half(fake) & PLATFORM);
		*fake->pdev->dev.dma_mask = mask;
		KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
		KUNIT_EXPECT_NOT_NULL(test, fake->vqs[0]);
		KUNIT_EXPECT_EQ(test, fake->dev->nqueues, 0);
		fake_reset(fake);
		ops(fake)->del_vqs(fake_vdev(fake));
	}
	mapped = DIRECT;
	KUNIT_EXPECT_EQ(test, 0, fake_negotiate(fake, FAKE_NET | PLATFORM));
	KUNIT_EXPECT_TRUE(test, fake->dev->roce);
	kunit_deactivate_static_stub(test, vnr_dma_unmap);
	kunit_deactivate_static_stub(test, vnr_dma_map);
}

static void child_finalize_legacy(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	fake->common->guest_feature = cpu_to_le32(0x5a5a5a5a);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			fake_negotiate(fake, BIT_ULL(VIRTIO_NET_F_CTRL_VQ)));
	KUNIT_EXPECT_EQ(test, 0x5a5a5a5a,
			le32_to_cpu(fake->common->guest_feature));
}

/* ----- reset ----- */

static unsigned int status_reads;
static unsigned int status_busy;

static u8 slow_status(struct vnr_dev *dev)
{
	return status_reads++ < status_busy ? VIRTIO_CONFIG_S_ACKNOWLEDGE : 0;
}

static void child_reset_slow(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	fake->common->device_status = VIRTIO_CONFIG_S_DRIVER_OK;
	status_reads = 0;
	status_busy = 5;
	kunit_activate_static_stub(test, vnr_status, slow_status);
	fake_reset(fake);
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, status_reads, 6);
	KUNIT_EXPECT_EQ(test, fake->common->device_status, 0);
}

/* The wait for a function that never confirms its reset is bounded. */
static void child_reset_never(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	fake->dev->life.reset_ms = 20;
	status_reads = 0;
	status_busy = UINT_MAX;
	kunit_activate_static_stub(test, vnr_status, slow_status);
	fake_reset(fake);
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, status_reads, 21);
	KUNIT_EXPECT_EQ(test, fake->common->device_status, 0);
	/* It cannot write to what the driver frees now. */
	KUNIT_EXPECT_EQ(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
}

/* The reset of a function that was pulled out does not wait. */
static void child_reset_gone(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	fake->gone = true;
	status_reads = 0;
	status_busy = UINT_MAX;
	kunit_activate_static_stub(test, vnr_status, slow_status);
	fake_reset(fake);
	kunit_deactivate_static_stub(test, vnr_status);
	fake->gone = false;
	KUNIT_EXPECT_EQ(test, status_reads, 0);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
}

/* ----- virtqueues ----- */

static void expect_nothing(struct kunit *test, struct fake *fake)
{
	struct vnr_dev *dev = fake->dev;

	KUNIT_EXPECT_NULL(test, dev->vqs);
	KUNIT_EXPECT_EQ(test, dev->nvqs, 0);
	KUNIT_EXPECT_NULL(test, dev->vectors);
	KUNIT_EXPECT_EQ(test, dev->nvectors, 0);
	KUNIT_EXPECT_NULL(test, dev->queues);
	KUNIT_EXPECT_EQ(test, dev->nqueues, 0);
	KUNIT_EXPECT_NULL(test, dev->cqs);
	KUNIT_EXPECT_NULL(test, dev->armed);
	KUNIT_EXPECT_NULL(test, dev->ctrl.vq);
	KUNIT_EXPECT_NULL(test, dev->ctrl.shadow);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake_vdev(fake)->vqs));
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->ctrl.shadow_vdev.vqs));
	KUNIT_EXPECT_FALSE(test, fake->pdev->msix_enabled);
	KUNIT_EXPECT_EQ(test, 0, le16_to_cpu(fake->common->queue_enable));
}

static void expect_everything(struct kunit *test, struct fake *fake)
{
	struct vnr_dev *dev = fake->dev;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, dev->nvqs, FAKE_ETH);
	KUNIT_ASSERT_NOT_NULL(test, dev->vqs);
	for (i = 0; i < FAKE_CTRL; i++) {
		KUNIT_EXPECT_PTR_EQ(test, fake->vqs[i], dev->vqs[i]);
		KUNIT_EXPECT_EQ(test, dev->vqs[i]->index, i);
	}
	/* The child has the shadow of the control queue. */
	KUNIT_EXPECT_PTR_EQ(test, fake->vqs[FAKE_CTRL], dev->ctrl.shadow);
	KUNIT_EXPECT_PTR_EQ(test, dev->vqs[FAKE_CTRL], dev->ctrl.vq);
	KUNIT_EXPECT_PTR_NE(test, dev->ctrl.vq, dev->ctrl.shadow);
	KUNIT_ASSERT_EQ(test, dev->nqueues, FAKE_CQS + 2 * FAKE_QPS);
	for (i = 0; i < dev->nqueues; i++) {
		KUNIT_EXPECT_EQ(test, dev->queues[i].pub.index, FAKE_ETH + i);
		KUNIT_EXPECT_EQ(test, dev->queues[i].pub.vring.num, FAKE_NUM);
	}
	KUNIT_EXPECT_TRUE(test, fake->pdev->msix_enabled);
	/* The queues are enabled; the register has the last one. */
	KUNIT_EXPECT_EQ(test, 1, le16_to_cpu(fake->common->queue_enable));
	KUNIT_EXPECT_EQ(test, FAKE_QUEUES - 1,
			le16_to_cpu(fake->common->queue_select));
}

static u16 missing_queue;

static u16 size_but_one(struct vnr_dev *dev, u16 index)
{
	return index == missing_queue ? 0 : FAKE_NUM;
}

/* Ethernet alone: all of it, and nothing of RoCE. */
static void expect_ethernet(struct kunit *test, struct fake *fake)
{
	struct vnr_dev *dev = fake->dev;

	KUNIT_EXPECT_FALSE(test, dev->roce);
	KUNIT_EXPECT_EQ(test, dev->nvqs, FAKE_ETH);
	KUNIT_EXPECT_PTR_EQ(test, fake->vqs[0], dev->vqs[0]);
	KUNIT_EXPECT_NOT_NULL(test, dev->ctrl.vq);
	KUNIT_EXPECT_TRUE(test, fake->pdev->msix_enabled);
	KUNIT_EXPECT_NULL(test, dev->queues);
	KUNIT_EXPECT_EQ(test, dev->nqueues, 0);
	KUNIT_EXPECT_NULL(test, dev->cqs);
	KUNIT_EXPECT_NULL(test, dev->armed);
	KUNIT_EXPECT_EQ(test, FAKE_CTRL,
			le16_to_cpu(fake->common->queue_select));
}

/*
 * One virtqueue after the other is not there.  Without one of Ethernet nothing is left
 * behind; without one of RoCE Ethernet goes on.
 */
static void child_find_vqs(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	kunit_activate_static_stub(test, vnr_queue_size, size_but_one);
	for (missing_queue = 0; missing_queue < FAKE_QUEUES; missing_queue++) {
		if (missing_queue < FAKE_ETH) {
			KUNIT_EXPECT_EQ(test, -ENOENT, fake_find(fake, NULL));
		} else {
			KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
			expect_ethernet(test, fake);
			fake_reset(fake);
			ops(fake)->del_vqs(fake_vdev(fake));
		}
		expect_nothing(test, fake);
		KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	}
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	expect_everything(test, fake);
	kunit_deactivate_static_stub(test, vnr_queue_size);

	fake_reset(fake);
	ops(fake)->del_vqs(fake_vdev(fake));
	expect_nothing(test, fake);
}

static void child_find_vqs_no_vectors(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	u8 cap = fake->pdev->msix_cap;

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	fake->pdev->msix_cap = 0;
	KUNIT_EXPECT_LT(test, fake_find(fake, NULL), 0);
	expect_nothing(test, fake);
	fake->pdev->msix_cap = cap;
	/* RoCE was given up before Ethernet was; it is back when features are negotiated. */
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	expect_ethernet(test, fake);
}

static void child_find_vqs_too_many(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	fake->dev->offer.num_queues = FAKE_ETH - 1;
	KUNIT_EXPECT_EQ(test, -ENOENT, fake_find(fake, NULL));
	expect_nothing(test, fake);
}

/* Rings of a size that the RDMA side cannot use. */
static u16 odd_size(struct vnr_dev *dev, u16 index)
{
	return index == missing_queue ? 48 : FAKE_NUM;
}

static void child_find_vqs_odd_size(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	missing_queue = FAKE_QUEUES - 1;
	kunit_activate_static_stub(test, vnr_queue_size, odd_size);
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	kunit_deactivate_static_stub(test, vnr_queue_size);
	expect_ethernet(test, fake);
}

/* ----- interrupts while queues come and go ----- */

static bool armed_early;

static u16 size_and_look(struct vnr_dev *dev, u16 index)
{
	armed_early |= !!READ_ONCE(dev->armed);
	return FAKE_NUM;
}

/* An interrupt handler sees CQs when all of them are there, or none. */
static void child_irq_early(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	armed_early = false;
	kunit_activate_static_stub(test, vnr_queue_size, size_and_look);
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	kunit_deactivate_static_stub(test, vnr_queue_size);
	KUNIT_EXPECT_FALSE(test, armed_early);
	KUNIT_EXPECT_NOT_NULL(test, fake->dev->armed);
}

/* A handler that is busy on another processor when the queues go. */
static struct {
	struct hrtimer timer;
	unsigned int irq;
	bool inside;
	bool left;
} busy;

static void busy_notify(void *data)
{
	WRITE_ONCE(busy.inside, true);
	mdelay(200);
	WRITE_ONCE(busy.left, true);
}

static enum hrtimer_restart busy_irq(struct hrtimer *timer)
{
	generic_handle_irq(busy.irq);
	return HRTIMER_NORESTART;
}

/* An idle processor may call this from its loop, and handlers need the context of an interrupt. */
static void busy_start(void *info)
{
	hrtimer_start(&busy.timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
}

static void child_irq_busy(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct vnr_dev *dev = fake->dev;
	int cpu;

	memset(&busy, 0, sizeof(busy));
	busy.irq = dev->vectors[vnr_cq_vector(dev, 0)].irq;
	dev->cqs[0].notify = busy_notify;
	set_bit(0, dev->armed);
	dev->queues[0].pub.vring.used->idx = cpu_to_virtio16(fake_vdev(fake), 1);
	vnr_hrtimer_setup(&busy.timer, busy_irq);

	migrate_disable();
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	KUNIT_EXPECT_EQ(test, 0, smp_call_function_single(cpu, busy_start, NULL,
							  true));
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(busy.inside)));
	vnr_rdma_queues_teardown(dev);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(busy.left));
	migrate_enable();
	hrtimer_cancel(&busy.timer);
}

/* Without a control queue the last virtqueue is one as any other. */
static void child_find_vqs_no_ctrl(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct vnr_dev *dev = fake->dev;

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake,
						BIT_ULL(VIRTIO_F_VERSION_1)));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	KUNIT_EXPECT_PTR_EQ(test, fake->vqs[FAKE_CTRL], dev->vqs[FAKE_CTRL]);
	KUNIT_EXPECT_NULL(test, dev->ctrl.vq);
	KUNIT_EXPECT_NULL(test, dev->ctrl.shadow);
	KUNIT_EXPECT_NULL(test, dev->queues);
}

/* ----- doorbells ----- */

/* Behind the pages that the BAR has for other things. */
#define BELLS		FAKE_BAR
#define BELL(n)		(BELLS + (n) * PAGE_SIZE)
#define NOTIFY_CAP	0xa0

/**
 * struct bells - what a device says of its doorbells
 * @name: of the case
 * @bar: BAR that the capability names
 * @io: the BAR is one of ports
 * @cut: bytes that the capability is too short for the last page
 * @past: bytes of it behind the end of the BAR
 * @multiplier: notify_off_multiplier
 * @queue: queue whose doorbell is elsewhere
 * @at: where
 * @given: RoCE queues whose doorbell a process may have, by bit
 */
struct bells {
	const char *name;
	u8 bar;
	bool io;
	u32 cut;
	u32 past;
	u32 multiplier;
	unsigned int queue;
	u64 at;
	unsigned int given;
};

#define RDMA(n)		(FAKE_ETH + (n))
#define ALL		GENMASK(FAKE_QUEUES - FAKE_ETH - 1, 0)
#define BUT(n)		(ALL & ~BIT(n))

static const struct bells bells[] = {
	{ "a page for each", .multiplier = PAGE_SIZE, .given = ALL },
	{ "larger pages", .multiplier = 2 * PAGE_SIZE, .given = ALL },
	{ "half a page", .multiplier = PAGE_SIZE / 2 },
	{ "ports", .io = true, .multiplier = PAGE_SIZE },
	{ "no such BAR", .bar = 7, .multiplier = PAGE_SIZE },
	{ "an empty BAR", .bar = 2, .multiplier = PAGE_SIZE },
	{ "behind the BAR", .past = 1, .multiplier = PAGE_SIZE },
	{ "no whole page", .cut = 1, .multiplier = PAGE_SIZE,
	  .given = BUT(FAKE_QUEUES - FAKE_ETH - 1) },
	{ "before the capability", .multiplier = PAGE_SIZE, .queue = RDMA(3),
	  .at = FAKE_CONFIG, .given = BUT(3) },
	{ "behind it", .multiplier = PAGE_SIZE, .queue = RDMA(3),
	  .at = BELL(FAKE_QUEUES), .given = BUT(3) },
	{ "inside of a page", .multiplier = PAGE_SIZE, .queue = RDMA(3),
	  .at = BELL(RDMA(3)) + 2, .given = BUT(3) },
	{ "another's page", .multiplier = PAGE_SIZE, .queue = RDMA(3),
	  .at = BELL(RDMA(5)), .given = BUT(3) & BUT(5) },
	{ "Ethernet in it", .multiplier = PAGE_SIZE, .queue = 1,
	  .at = BELL(RDMA(4)) + 2, .given = BUT(4) },
	{ "the control queue in it", .multiplier = PAGE_SIZE, .queue = FAKE_CTRL,
	  .at = BELL(RDMA(6)) + 4, .given = BUT(6) },
};

KUNIT_ARRAY_PARAM_DESC(bells, bells, name);

static resource_size_t bell_at[FAKE_QUEUES];

static void __iomem *fake_bell(struct vnr_dev *dev, u16 index,
			       resource_size_t *phys)
{
	*phys = bell_at[index];
	return (__force void __iomem *)dev->mdev.common;
}

/* Whatever the device says, a process gets a doorbell's own page, or none. */
static void child_doorbells(struct kunit *test)
{
	const struct bells *c = test->param_value;
	struct fake *fake = fake_create(test);
	struct virtio_pci_modern_device *mdev = &fake->dev->mdev;
	struct resource *res = &fake->pdev->resource[0], old = *res;
	void __iomem *notify_base = mdev->notify_base;
	const struct virtio_net_roce_vq *vq;
	unsigned int i;

	fake_cap(fake, NOTIFY_CAP, VIRTIO_PCI_CAP_NOTIFY_CFG, c->bar, BELLS,
		 FAKE_QUEUES * PAGE_SIZE - c->cut);
	mdev->notify_map_cap = NOTIFY_CAP;
	mdev->notify_offset_multiplier = c->multiplier;
	res->end = res->start + BELL(FAKE_QUEUES) - c->past - 1;
	if (c->io)
		res->flags = (res->flags & ~IORESOURCE_MEM) | IORESOURCE_IO;
	for (i = 0; i < FAKE_QUEUES; i++)
		bell_at[i] = res->start + BELL(i);
	if (c->at)
		bell_at[c->queue] = res->start + c->at;

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	kunit_activate_static_stub(test, vnr_doorbell_io, fake_bell);
	mdev->notify_base = NULL;
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	mdev->notify_base = notify_base;
	kunit_deactivate_static_stub(test, vnr_doorbell_io);
	*res = old;
	for (i = 0; i < fake->dev->nqueues; i++) {
		vq = &fake->dev->queues[i].pub;
		KUNIT_EXPECT_EQ_MSG(test, vq->doorbell_phys,
				    c->given & BIT(i) ? bell_at[RDMA(i)] : 0,
				    "RoCE queue %u", i);
		KUNIT_EXPECT_EQ(test, vq->doorbell_pos, 0);
	}
}

static struct kunit_case child_cases[] = {
	KUNIT_CASE_PARAM(child_window, window_gen_params),
	KUNIT_CASE(child_features),
	KUNIT_CASE_PARAM(child_finalize, final_gen_params),
	KUNIT_CASE(child_bounce),
	KUNIT_CASE(child_finalize_legacy),
	KUNIT_CASE(child_reset_slow),
	KUNIT_CASE(child_reset_never),
	KUNIT_CASE(child_reset_gone),
	KUNIT_CASE(child_find_vqs),
	KUNIT_CASE(child_find_vqs_no_vectors),
	KUNIT_CASE(child_find_vqs_too_many),
	KUNIT_CASE(child_find_vqs_odd_size),
	KUNIT_CASE(child_irq_early),
	KUNIT_CASE(child_irq_busy),
	KUNIT_CASE(child_find_vqs_no_ctrl),
	KUNIT_CASE_PARAM(child_doorbells, bells_gen_params),
	{}
};

static struct kunit_suite child_suite = {
	.name = "virtio_net_roce_child",
	.test_cases = child_cases,
};

kunit_test_suite(child_suite);
