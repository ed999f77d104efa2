// SPDX-License-Identifier: GPL-2.0
/*
 * Queues: contents of the descriptor table, and which memory may be mapped.
 */
#include <kunit/test.h>
#include <linux/virtio_byteorder.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_mmap.h"
#include "../drivers/infiniband/hw/virtio_roce/vroce_queue.h"
#include "virtio_roce_mock.h"

#define NUM	64

struct desc {
	u64 addr;
	u32 len;
	u16 flags;
	u16 next;
};

static struct desc get_desc(const struct virtio_net_roce_vq *vq, u32 i)
{
	const struct vring_desc *d = &vq->vring.desc[i];

	return (struct desc) {
		.addr = __virtio64_to_cpu(true, d->addr),
		.len = __virtio32_to_cpu(true, d->len),
		.flags = __virtio16_to_cpu(true, d->flags),
		.next = __virtio16_to_cpu(true, d->next),
	};
}

static void free_queue(void *q)
{
	vroce_queue_free(q);
}

static struct vroce_queue *new_queue(struct mock *mock, u32 depth, u32 slot_len,
				     u32 align)
{
	struct kunit *test = mock->test;
	struct vroce_queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_ASSERT_EQ(test, 0, vroce_queue_alloc(q, mock->aux.dma_dev, depth,
						   slot_len, align));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, free_queue, q));
	return q;
}

/* Filled with garbage, as an earlier owner may leave it. */
static void fill(struct virtio_net_roce_vq *vq)
{
	memset(vq->vring.desc, 0xa5, vq->vring.num * sizeof(struct vring_desc));
}

static void queue_cq_table(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->cq_vqs[0].pub;
	struct vroce_queue *q = new_queue(mock, 16, 48, 64);
	struct desc d;
	u32 i;

	fill(vq);
	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_cq(q, vq));
	KUNIT_EXPECT_EQ(test, q->stride, 64);
	for (i = 0; i < 16; i++) {
		d = get_desc(vq, i);
		KUNIT_EXPECT_EQ(test, d.addr, q->dma + i * 64);
		KUNIT_EXPECT_EQ(test, d.len, 48);
		KUNIT_EXPECT_EQ(test, d.flags, VRING_DESC_F_WRITE);
		KUNIT_EXPECT_EQ(test, d.next, 0);
		KUNIT_EXPECT_EQ(test, i, __virtio16_to_cpu(true,
							   vq->vring.avail->ring[i]));
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(&vq->vring.desc[16], 0,
					   (NUM - 16) * sizeof(struct vring_desc)));
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->cq_vqs[0]), 16);
	KUNIT_EXPECT_EQ(test, 0, __virtio16_to_cpu(true, vq->vring.used->idx));
	KUNIT_EXPECT_NULL(test, memchr_inv(q->slots, 0, q->slots_len));
}

/* As many completions as the ring has entries. */
static void queue_cq_full_ring(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->cq_vqs[0].pub;
	struct vroce_queue *q = new_queue(mock, NUM, 48, 64);

	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_cq(q, vq));
	KUNIT_EXPECT_EQ(test, get_desc(vq, NUM - 1).addr,
			q->dma + (NUM - 1) * 64);
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->cq_vqs[0]), NUM);
}

static void queue_wq_table(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->sq_vqs[2].pub;
	struct vroce_queue *q = new_queue(mock, 8, 576 + 3 * 16, 64);
	struct desc d;
	u32 i;

	fill(vq);
	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_wq(q, vq));
	KUNIT_EXPECT_EQ(test, q->stride, 640);
	for (i = 0; i < 8; i++) {
		d = get_desc(vq, i);
		KUNIT_EXPECT_EQ(test, d.addr, q->dma + i * 640);
		KUNIT_EXPECT_EQ(test, d.len, 624);
		KUNIT_EXPECT_EQ(test, d.flags, 0);
		KUNIT_EXPECT_EQ(test, d.next, 0);
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(&vq->vring.desc[8], 0,
					   (NUM - 8) * sizeof(struct vring_desc)));
	KUNIT_EXPECT_EQ(test, mock_avail_idx(&mock->sq_vqs[2]), 0);
	KUNIT_EXPECT_EQ(test, VRING_AVAIL_F_NO_INTERRUPT,
			__virtio16_to_cpu(true, vq->vring.avail->flags));
}

struct slot_case {
	const char *name;
	u32 depth;
	u32 slot_len;
	u32 align;
	u32 stride;
};

static const struct slot_case slot_table[] = {
	{ "one completion", 1, 48, 64, 64 },
	{ "completions", NUM, 48, 64, 64 },
	{ "sends without SGEs", 4, 576, 64, 576 },
	{ "sends with 1 SGE", NUM, 592, 64, 640 },
	{ "sends with 4 SGEs", NUM, 640, 64, 640 },
	{ "sends with 64 SGEs", NUM, 1600, 64, 1600 },
	{ "receives with 1 SGE", 1, 40, 32, 64 },
	{ "receives with 3 SGEs", NUM, 72, 32, 96 },
};

KUNIT_ARRAY_PARAM_DESC(slot, slot_table, name);

/* Each descriptor is one slot of this queue, and slots do not overlap. */
static void queue_describes_own_slots(struct kunit *test)
{
	const struct slot_case *c = test->param_value;
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->rq_vqs[3].pub;
	struct vroce_queue *q = new_queue(mock, c->depth, c->slot_len, c->align);
	u64 end = q->dma;
	struct desc d;
	u32 i;

	fill(vq);
	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_wq(q, vq));
	KUNIT_EXPECT_EQ(test, q->stride, c->stride);
	KUNIT_EXPECT_EQ(test, q->slots_len % PAGE_SIZE, 0);
	KUNIT_EXPECT_GE(test, q->slots_len, c->depth * c->stride);
	for (i = 0; i < NUM; i++) {
		d = get_desc(vq, i);
		if (i >= c->depth) {
			KUNIT_EXPECT_EQ(test, d.addr, 0);
			KUNIT_EXPECT_EQ(test, d.len, 0);
			KUNIT_EXPECT_EQ(test, d.flags, 0);
			continue;
		}
		KUNIT_EXPECT_GE(test, d.addr, end);
		KUNIT_EXPECT_EQ(test, d.len, c->slot_len);
		end = d.addr + d.len;
		KUNIT_EXPECT_LE(test, end, q->dma + q->slots_len);
	}
}

static void queue_refuses_rings(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct vroce_queue *q = new_queue(mock, 2 * NUM, 48, 64);

	KUNIT_EXPECT_EQ(test, -EPROTO, vroce_queue_attach_cq(q, NULL));
	KUNIT_EXPECT_EQ(test, -EPROTO, vroce_queue_attach_wq(q, NULL));
	KUNIT_EXPECT_EQ(test, -EPROTO,
			vroce_queue_attach_cq(q, &mock->cq_vqs[0].pub));
	KUNIT_EXPECT_EQ(test, -EPROTO,
			vroce_queue_attach_wq(q, &mock->sq_vqs[0].pub));
	KUNIT_EXPECT_NULL(test, q->vq);
}

static void queue_detach_leaves_zeros(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->cq_vqs[1].pub;
	struct vroce_queue *q = new_queue(mock, 16, 48, 64);

	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_cq(q, vq));
	memset(vq->vring.avail, 0x5a, vq->avail_len);
	memset(vq->vring.used, 0x5a, vq->used_len);
	vroce_queue_detach(q);
	KUNIT_EXPECT_NULL(test, memchr_inv(vq->vring.desc, 0,
					   NUM * sizeof(struct vring_desc)));
	KUNIT_EXPECT_NULL(test, memchr_inv(vq->vring.avail, 0, vq->avail_len));
	KUNIT_EXPECT_NULL(test, memchr_inv(vq->vring.used, 0, vq->used_len));
	/* Nothing happens the second time. */
	vroce_queue_detach(q);
}

static void expect_apart(struct kunit *test, const struct vroce_range *range,
			 void *p, size_t len)
{
	phys_addr_t phys = virt_to_phys(p);

	bool apart = range->phys + range->len <= phys ||
		     range->phys >= phys + len;

	KUNIT_EXPECT_TRUE(test, apart);
}

static void expect_pages(struct kunit *test, const struct vroce_range *range)
{
	KUNIT_EXPECT_EQ(test, range->phys % PAGE_SIZE, 0);
	KUNIT_EXPECT_EQ(test, range->len % PAGE_SIZE, 0);
	KUNIT_EXPECT_GT(test, range->len, 0);
}

static void queue_ranges_of_wq(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->sq_vqs[2].pub;
	struct vroce_queue *q = new_queue(mock, NUM, 640, 64);
	struct vroce_range r[VROCE_PIECES];
	int i;

	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_wq(q, vq));
	vroce_queue_ranges(q, false, r);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_CONTROL].len, 0);
	for (i = 0; i < VROCE_PIECE_CONTROL; i++) {
		expect_pages(test, &r[i]);
		expect_apart(test, &r[i], vq->vring.desc,
			     PAGE_ALIGN(NUM * sizeof(struct vring_desc)));
	}
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_SLOTS].phys, virt_to_phys(q->slots));
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_SLOTS].len, q->slots_len);
	KUNIT_EXPECT_TRUE(test, r[VROCE_PIECE_SLOTS].writable);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_AVAIL].phys,
			virt_to_phys(vq->vring.avail));
	KUNIT_EXPECT_TRUE(test, r[VROCE_PIECE_AVAIL].writable);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_USED].phys,
			virt_to_phys(vq->vring.used));
	KUNIT_EXPECT_FALSE(test, r[VROCE_PIECE_USED].writable);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_DOORBELL].phys, vq->doorbell_phys);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_DOORBELL].len, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, r[VROCE_PIECE_DOORBELL].io);
	KUNIT_EXPECT_FALSE(test, r[VROCE_PIECE_SLOTS].io);
}

static void queue_ranges_of_cq(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->cq_vqs[0].pub;
	struct vroce_queue *q = new_queue(mock, 1, 48, 64);
	struct vroce_range r[VROCE_PIECES];
	int i;

	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_cq(q, vq));
	vroce_queue_ranges(q, true, r);
	for (i = 0; i < VROCE_PIECE_DOORBELL; i++) {
		expect_pages(test, &r[i]);
		expect_apart(test, &r[i], vq->vring.desc,
			     PAGE_ALIGN(NUM * sizeof(struct vring_desc)));
	}
	KUNIT_EXPECT_FALSE(test, r[VROCE_PIECE_SLOTS].writable);
	KUNIT_EXPECT_TRUE(test, r[VROCE_PIECE_AVAIL].writable);
	KUNIT_EXPECT_FALSE(test, r[VROCE_PIECE_USED].writable);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_DOORBELL].len, 0);
}

static void queue_ranges_without_doorbell(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_net_roce_vq *vq = &mock->rq_vqs[2].pub;
	struct vroce_queue *q = new_queue(mock, 8, 40, 32);
	struct vroce_range r[VROCE_PIECES];

	vq->doorbell_phys = 0;
	KUNIT_ASSERT_EQ(test, 0, vroce_queue_attach_wq(q, vq));
	vroce_queue_ranges(q, false, r);
	KUNIT_EXPECT_EQ(test, r[VROCE_PIECE_DOORBELL].len, 0);
	KUNIT_EXPECT_GT(test, r[VROCE_PIECE_USED].len, 0);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue_cq_table),
	KUNIT_CASE(queue_cq_full_ring),
	KUNIT_CASE(queue_wq_table),
	KUNIT_CASE_PARAM(queue_describes_own_slots, slot_gen_params),
	KUNIT_CASE(queue_refuses_rings),
	KUNIT_CASE(queue_detach_leaves_zeros),
	KUNIT_CASE(queue_ranges_of_wq),
	KUNIT_CASE(queue_ranges_of_cq),
	KUNIT_CASE(queue_ranges_without_doorbell),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "virtio_roce_queue",
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
