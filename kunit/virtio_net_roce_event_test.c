// SPDX-License-Identifier: GPL-2.0
/*
 * Event and doorbell virtqueues of virtio_net_roce; the test plays the device.
 */
#include <linux/virtio_ring.h>

#include "virtio_net_roce_fake.h"

#define EVENTS		2
#define DOORBELLS	1
#define FIRST		(FAKE_ETH + FAKE_CQS + 2 * FAKE_QPS)

static struct {
	unsigned int calls;
	u16 type;
	u32 number;
	struct virtio_net_roce_aux *aux;
} seen;

static void seen_event(struct virtio_net_roce_aux *aux, u16 type, u32 number)
{
	seen.calls++;
	seen.type = type;
	seen.number = number;
	seen.aux = aux;
}

static struct virtio_net_roce_aux an_aux;

static struct fake *event_fake(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct vnr_dev *dev = fake->dev;

	memset(&seen, 0, sizeof(seen));
	fake->common->num_queues = cpu_to_le16(FIRST + EVENTS + DOORBELLS);
	dev->mdev.device_len = VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET + 4;
	*(__le16 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET) =
		cpu_to_le16(EVENTS);
	*(__le16 *)(fake->config + VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET + 2) =
		cpu_to_le16(DOORBELLS);
	vnr_offer_read(&dev->mdev, &dev->offer);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	dev->notify_aux = &an_aux;
	dev->notify = seen_event;
	return fake;
}

static const struct vring *event_vring(struct fake *fake, unsigned int e)
{
	return virtqueue_get_vring(fake->dev->events[e].vq);
}

static unsigned int event_avail(struct fake *fake, unsigned int e)
{
	return (__force u16)READ_ONCE(event_vring(fake, e)->avail->idx);
}

/* The device writes @len bytes of an event into the buffer at @pos. */
static void event_put(struct fake *fake, unsigned int e, u16 pos,
		      const struct virtio_rdma_event *event, u32 len)
{
	const struct vring *vring = event_vring(fake, e);
	u16 id = (__force u16)vring->avail->ring[pos % vring->num];
	void *buf;

	KUNIT_ASSERT_LT(fake->test, id, vring->num);
	buf = phys_to_virt((__force u64)vring->desc[id].addr);
	memcpy(buf, event, len);
	vring->used->ring[pos % vring->num].id = (__force __virtio32)(u32)id;
	vring->used->ring[pos % vring->num].len = (__force __virtio32)len;
	/* Orders the event before the index. */
	smp_store_release((__force u16 *)&vring->used->idx, pos + 1);
}

/* The same, and interrupts. */
static void event_write(struct fake *fake, unsigned int e, u16 pos,
			const struct virtio_rdma_event *event, u32 len)
{
	unsigned long flags;

	event_put(fake, e, pos, event, len);
	local_irq_save(flags);
	vring_interrupt(0, fake->dev->events[e].vq);
	local_irq_restore(flags);
}

/* They stand behind those of the RFC, and have all their buffers from the start. */
static void event_queues(struct kunit *test)
{
	struct fake *fake = event_fake(test);
	struct vnr_dev *dev = fake->dev;
	unsigned int e;

	KUNIT_ASSERT_EQ(test, dev->nevents, EVENTS);
	for (e = 0; e < EVENTS; e++) {
		KUNIT_EXPECT_EQ(test, dev->events[e].vq->index, FIRST + e);
		KUNIT_EXPECT_EQ(test, event_avail(fake, e), FAKE_NUM);
	}
	KUNIT_EXPECT_EQ(test, dev->nqueues,
			FAKE_CQS + 2 * FAKE_QPS + DOORBELLS);
	KUNIT_EXPECT_EQ(test, dev->queues[dev->nqueues - 1].pub.index,
			FIRST + EVENTS);
}

/* An event is passed on by number, once, and its buffer is given back. */
static void event_passed_on(struct kunit *test)
{
	struct virtio_rdma_event event = {
		.type = cpu_to_le16(VIRTIO_RDMA_EVENT_CQ_ERROR),
	};
	struct fake *fake = event_fake(test);
	unsigned int i;

	for (i = 0; i < 3 * FAKE_NUM; i++) {
		event.number = cpu_to_le32(0x10000 + i);
		event_write(fake, 1, i, &event, sizeof(event));
		KUNIT_ASSERT_EQ(test, seen.calls, i + 1);
		KUNIT_ASSERT_EQ(test, seen.type, VIRTIO_RDMA_EVENT_CQ_ERROR);
		KUNIT_ASSERT_EQ(test, seen.number, 0x10000 + i);
		KUNIT_ASSERT_PTR_EQ(test, seen.aux, &an_aux);
		KUNIT_ASSERT_EQ(test, event_avail(fake, 1),
				(u16)(FAKE_NUM + i + 1));
	}
	KUNIT_EXPECT_EQ(test, event_avail(fake, 0), FAKE_NUM);
}

/* Without a listener, or with half an event, only the buffer is given back. */
static void event_dropped(struct kunit *test)
{
	struct virtio_rdma_event event = {};
	struct fake *fake = event_fake(test);

	event_write(fake, 0, 0, &event, 8);
	fake->dev->notify = NULL;
	event_write(fake, 0, 1, &event, sizeof(event));
	KUNIT_EXPECT_EQ(test, seen.calls, 0);
	KUNIT_EXPECT_EQ(test, event_avail(fake, 0), FAKE_NUM + 2);
}

#define FLOOD	(5 * FAKE_NUM)

static struct {
	struct fake *fake;
	struct task_struct *interrupted;
	unsigned int in_interrupt;
	unsigned int calls;
} flood;

/* The device writes the next event as soon as one is read, some of the time. */
static void flood_event(struct virtio_net_roce_aux *aux, u16 type, u32 number)
{
	static const struct virtio_rdma_event event;

	if (current == flood.interrupted)
		flood.in_interrupt++;
	if (++flood.calls < FLOOD)
		event_put(flood.fake, 1, flood.calls, &event, sizeof(event));
}

/* An interrupt ends, whatever the device does, and no event is lost. */
static void event_flood(struct kunit *test)
{
	struct virtio_rdma_event event = {};
	struct fake *fake = event_fake(test);
	unsigned int i;

	memset(&flood, 0, sizeof(flood));
	flood.fake = fake;
	flood.interrupted = current;
	fake->dev->notify = flood_event;
	event_write(fake, 1, 0, &event, sizeof(event));
	KUNIT_EXPECT_EQ(test, flood.in_interrupt, FAKE_NUM);
	for (i = 0; i < FLOOD / FAKE_NUM; i++)
		vnr_events_synchronize(fake->dev);
	KUNIT_EXPECT_EQ(test, flood.calls, FLOOD);
	KUNIT_EXPECT_EQ(test, event_avail(fake, 1), (u16)(FAKE_NUM + FLOOD));
	/* It has the interrupt on again. */
	KUNIT_EXPECT_EQ(test, 0, (__force u16)event_vring(fake, 1)->avail->flags);
}

/* A device whose configuration ends at byte 32 has none, whatever is behind. */
static void event_none(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct vnr_dev *dev = fake->dev;

	memset(fake->config + VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET, 1, 4);
	fake->common->num_queues = cpu_to_le16(0xffff);
	vnr_offer_read(&dev->mdev, &dev->offer);
	KUNIT_EXPECT_EQ(test, dev->offer.event_vqs, 0);
	KUNIT_EXPECT_EQ(test, dev->offer.doorbell_vqs, 0);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	KUNIT_EXPECT_NULL(test, dev->events);
	KUNIT_EXPECT_EQ(test, dev->nqueues, FAKE_CQS + 2 * FAKE_QPS);
}

/* Virtqueues and buffers go and come back with the child's. */
static void event_again(struct kunit *test)
{
	struct virtio_rdma_event event = { .number = cpu_to_le32(5) };
	struct fake *fake = event_fake(test);

	fake_reset(fake);
	fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
	KUNIT_EXPECT_NULL(test, fake->dev->events);
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	event_write(fake, 0, 0, &event, sizeof(event));
	KUNIT_EXPECT_EQ(test, seen.number, 5);
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(event_queues),
	KUNIT_CASE(event_passed_on),
	KUNIT_CASE(event_dropped),
	KUNIT_CASE(event_flood),
	KUNIT_CASE(event_none),
	KUNIT_CASE(event_again),
	{ }
};

static struct kunit_suite event_suite = {
	.name = "virtio_net_roce_event",
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);
