// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of virtio_net_roce: the parts of a control command, by a device that looks at
 * each descriptor.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "../drivers/net/virtio_net_roce/vnr.h"
#include "virtio_net_roce_fake.h"

#define CTL_NUM		64
#define CTL_DESCS	16

/**
 * struct ctl_desc - a descriptor as the device found it
 * @buf: its buffer
 * @len: its length
 * @in: device-writable
 */
struct ctl_desc {
	u8 *buf;
	u32 len;
	bool in;
};

/**
 * struct ctl - a function with a control queue and nothing else
 * @dev: the function
 * @child: its child device, not registered
 * @pdev: stands for the PCI function
 * @vq: the real control queue
 * @work: the device
 * @avail: available index up to which it has answered
 * @descs: descriptors of the last command
 * @ndescs: how many
 * @silent: it writes nothing
 * @ack: what it writes into the ack
 * @rsp_len: how many bytes of the response it writes
 * @used: the used length that it reports
 * @request: copy of the second descriptor, freed with the test
 * @whole: where all of a request goes, or NULL
 * @whole_len: its length
 */
struct ctl {
	struct vnr_dev dev;
	struct vnr_child child;
	struct pci_dev pdev;
	struct virtqueue *vq;
	struct work_struct work;
	u16 avail;
	struct ctl_desc descs[CTL_DESCS];
	unsigned int ndescs;
	bool silent;
	u8 ack;
	u32 rsp_len;
	u32 used;
	void *request;
	u8 *whole;
	size_t whole_len;
};

static struct ctl *ctl_of(struct virtqueue *vq)
{
	return container_of(vq->vdev, struct ctl, child.vdev);
}

static bool ctl_notify(struct virtqueue *vq)
{
	schedule_work(&ctl_of(vq)->work);
	return true;
}

static void ctl_read_chain(struct ctl *ctl, const struct vring *vring, u16 head)
{
	struct vring_desc *desc;
	u16 i = head, flags;

	ctl->ndescs = 0;
	do {
		desc = &vring->desc[i];
		flags = le16_to_cpu((__force __le16)desc->flags);
		if (ctl->ndescs < CTL_DESCS)
			ctl->descs[ctl->ndescs] = (struct ctl_desc) {
				phys_to_virt(le64_to_cpu((__force __le64)desc->addr)),
				le32_to_cpu((__force __le32)desc->len),
				flags & VRING_DESC_F_WRITE,
			};
		ctl->ndescs++;
		i = le16_to_cpu((__force __le16)desc->next);
	} while (flags & VRING_DESC_F_NEXT);
}

/* Like a simple device: one pointer for the ack, one for the response. */
static void ctl_write(struct ctl *ctl)
{
	unsigned int i, n = min_t(unsigned int, ctl->ndescs, CTL_DESCS);

	if (n > 1 && !ctl->descs[1].in) {
		kfree(ctl->request);
		ctl->request = kmemdup(ctl->descs[1].buf,
				       min_t(u32, ctl->descs[1].len, 256),
				       GFP_KERNEL);
	}
	ctl->whole_len = 0;
	for (i = 0; i < n && !ctl->descs[i].in; i++) {
		if (!i || !ctl->whole)
			continue;
		memcpy(ctl->whole + ctl->whole_len, ctl->descs[i].buf, ctl->descs[i].len);
		ctl->whole_len += ctl->descs[i].len;
	}
	if (i == n || ctl->silent)
		return;
	ctl->descs[i].buf[0] = ctl->ack;
	if (++i < n)
		memset(ctl->descs[i].buf, 0xa5,
		       min(ctl->rsp_len, ctl->descs[i].len));
}

static void ctl_work(struct work_struct *work)
{
	struct ctl *ctl = container_of(work, struct ctl, work);
	const struct vring *vring = virtqueue_get_vring(ctl->vq);
	struct vring_used_elem *elem;
	__virtio16 idx;
	u16 head;

	for (;;) {
		/* Orders the index before the entries. */
		idx = smp_load_acquire(&vring->avail->idx);
		if (ctl->avail == virtio16_to_cpu(&ctl->child.vdev, idx))
			break;
		head = virtio16_to_cpu(&ctl->child.vdev,
				       vring->avail->ring[ctl->avail % vring->num]);
		ctl_read_chain(ctl, vring, head);
		ctl_write(ctl);
		elem = &vring->used->ring[ctl->avail % vring->num];
		elem->id = cpu_to_virtio32(&ctl->child.vdev, head);
		elem->len = cpu_to_virtio32(&ctl->child.vdev, ctl->used);
		ctl->avail++;
		/* Orders the element before the index. */
		smp_store_release(&vring->used->idx,
				  cpu_to_virtio16(&ctl->child.vdev, ctl->avail));
		vring_interrupt(0, ctl->vq);
	}
}

static void ctl_exit(void *data)
{
	struct ctl *ctl = data;

	cancel_work_sync(&ctl->work);
	vnr_ctrl_detach(&ctl->dev);
	vring_del_virtqueue(ctl->vq);
	kfree(ctl->request);
}

static struct ctl *ctl_init(struct kunit *test)
{
	struct ctl *ctl = kunit_kzalloc(test, sizeof(*ctl), GFP_KERNEL);
	struct virtio_device *vdev;

	KUNIT_ASSERT_NOT_NULL(test, ctl);
	INIT_WORK(&ctl->work, ctl_work);
	ctl->ack = VIRTIO_NET_OK;
	ctl->rsp_len = U32_MAX;
	ctl->pdev.dev.init_name = "ctl";
	ctl->dev.mdev.pci_dev = &ctl->pdev;
	ctl->dev.child = &ctl->child;
	ctl->child.dev = &ctl->dev;
	vdev = &ctl->child.vdev;
	vdev->dev.parent = &ctl->pdev.dev;
	vdev->features = BIT_ULL(VIRTIO_F_VERSION_1);
	INIT_LIST_HEAD(&vdev->vqs);
	spin_lock_init(&vdev->vqs_list_lock);
	vnr_ctrl_init(&ctl->dev);
	ctl->dev.ctrl.stall_ns = FAKE_PATIENCE_US * NSEC_PER_USEC;
	ctl->vq = vring_create_virtqueue(2, CTL_NUM, SMP_CACHE_BYTES, vdev, true,
					 false, false, ctl_notify,
					 vnr_ctrl_interrupt, "control");
	KUNIT_ASSERT_NOT_NULL(test, ctl->vq);
	KUNIT_ASSERT_EQ(test, 0, vnr_ctrl_attach(&ctl->dev, ctl->vq, "control",
						 NULL));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ctl_exit, ctl));
	return ctl;
}

static void ctl_expect(struct kunit *test, const struct ctl *ctl,
		       unsigned int i, bool in, u32 len)
{
	KUNIT_ASSERT_LT(test, i, min_t(unsigned int, ctl->ndescs, CTL_DESCS));
	KUNIT_EXPECT_EQ_MSG(test, ctl->descs[i].in, in, "descriptor %u", i);
	KUNIT_EXPECT_EQ_MSG(test, ctl->descs[i].len, len, "descriptor %u", i);
	KUNIT_EXPECT_TRUE_MSG(test, IS_ALIGNED((uintptr_t)ctl->descs[i].buf, 8),
			      "descriptor %u", i);
}

/* Header, request, ack and response have a descriptor each, empty parts none. */
static void parts_framing(struct kunit *test)
{
	struct ctl *ctl = ctl_init(test);
	u8 req[24], rsp[16];
	struct virtio_net_roce_cmd cmd = { .command = 77 };
	unsigned int i;

	for (i = 0; i < sizeof(req); i++)
		req[i] = i;
	for (i = 0; i < 8; i++) {
		cmd.atomic = i & 4;
		cmd.req[0].iov_base = req;
		cmd.req[0].iov_len = i & 1 ? sizeof(req) : 0;
		cmd.rsp = rsp;
		cmd.rsp_len = i & 2 ? sizeof(rsp) : 0;
		memset(rsp, 0, sizeof(rsp));
		KUNIT_ASSERT_EQ(test, 0, vnr_ctrl_exec(&ctl->dev, &cmd));
		KUNIT_EXPECT_EQ(test, ctl->ndescs, 2 + !!(i & 1) + !!(i & 2));
		ctl_expect(test, ctl, 0, false, 2);
		if (i & 1) {
			ctl_expect(test, ctl, 1, false, sizeof(req));
			KUNIT_EXPECT_MEMEQ(test, ctl->request, req, sizeof(req));
		}
		ctl_expect(test, ctl, 1 + (i & 1), true, 1);
		if (i & 2) {
			ctl_expect(test, ctl, 2 + (i & 1), true, sizeof(rsp));
			KUNIT_EXPECT_EQ(test, rsp[0], 0xa5);
			KUNIT_EXPECT_EQ(test, rsp[15], 0xa5);
		}
	}
}

/* The request of a large memory region is one piece, its list of pages included. */
static void parts_long(struct kunit *test)
{
	const size_t lens[] = { 4096, 4096 - 32 + 8, SZ_256K, SZ_1M };
	struct ctl *ctl = ctl_init(test);
	struct virtio_rdma_cmd_reg_user_mr req = { .npages = cpu_to_le32(7) };
	struct virtio_rdma_ack_mr rsp;
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
		.req[0] = { &req, sizeof(req) },
		.rsp = &rsp,
		.rsp_len = sizeof(rsp),
	};
	unsigned int i;
	u8 *pages;

	pages = kvzalloc(SZ_1M, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	memset(pages, 0x5a, SZ_1M);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		cmd.req[1] = (struct kvec) { pages, lens[i] };
		KUNIT_EXPECT_GE(test, vnr_ctrl_max_req(&ctl->dev), lens[i] + 32);
		KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(&ctl->dev, &cmd));
		KUNIT_EXPECT_EQ(test, ctl->ndescs, 4);
		ctl_expect(test, ctl, 1, false, sizeof(req) + lens[i]);
		KUNIT_EXPECT_MEMEQ(test, ctl->request, &req, sizeof(req));
		KUNIT_EXPECT_MEMEQ(test, (u8 *)ctl->request + sizeof(req), pages,
				   200);
	}
	kvfree(pages);
}

/*
 * Where a part can only be small, a long request has several, in order and without gaps; the
 * other parts have a descriptor each all the same.
 */
static void parts_split(struct kunit *test)
{
	const size_t part = PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER;
	const size_t lens[] = { part - 32, part - 31, 3 * part, 5 * part + 8 };
	struct ctl *ctl = ctl_init(test);
	struct virtio_rdma_cmd_reg_user_mr req = { .npages = cpu_to_le32(7) };
	struct virtio_rdma_ack_mr rsp = {};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
		.req[0] = { &req, sizeof(req) },
		.rsp = &rsp,
		.rsp_len = sizeof(rsp),
	};
	unsigned int i, j, n;
	size_t len, k;
	u8 *pages;

	ctl->dev.ctrl.max_part = part;
	pages = kunit_kzalloc(test, 6 * part, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (k = 0; k < 6 * part; k++)
		pages[k] = k * 7 + k / 251;
	ctl->whole = kunit_kzalloc(test, 6 * part + sizeof(req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ctl->whole);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		len = lens[i] + sizeof(req);
		n = DIV_ROUND_UP(len, part);
		cmd.req[1] = (struct kvec) { pages, lens[i] };
		KUNIT_EXPECT_GE(test, vnr_ctrl_max_req(&ctl->dev), len);
		KUNIT_ASSERT_EQ(test, 0, vnr_ctrl_exec(&ctl->dev, &cmd));
		KUNIT_EXPECT_EQ(test, ctl->ndescs, 3 + n);
		ctl_expect(test, ctl, 0, false, 2);
		for (j = 0; j < n; j++)
			ctl_expect(test, ctl, 1 + j, false, min(part, len - j * part));
		ctl_expect(test, ctl, 1 + n, true, 1);
		ctl_expect(test, ctl, 2 + n, true, sizeof(rsp));
		KUNIT_EXPECT_EQ(test, ctl->whole_len, len);
		KUNIT_EXPECT_EQ(test, 0, memcmp(ctl->whole, &req, sizeof(req)));
		KUNIT_EXPECT_EQ(test, 0, memcmp(ctl->whole + sizeof(req), pages, lens[i]));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rsp.mrn), 0xa5a5a5a5);
	}
}

/* The bytes that the device writes count, not the used length. */
static void parts_used_length(struct kunit *test)
{
	struct ctl *ctl = ctl_init(test);
	struct virtio_rdma_ack_create_qp rsp;
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_CREATE_QP,
		.rsp = &rsp,
		.rsp_len = sizeof(rsp),
	};
	u32 used;

	for (used = 0; used <= 6; used++) {
		ctl->used = used;
		rsp.qpn = 0;
		KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(&ctl->dev, &cmd));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rsp.qpn), 0xa5a5a5a5);
	}
	ctl->rsp_len = 1;
	KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(&ctl->dev, &cmd));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rsp.qpn), 0xa5);

	ctl->ack = VIRTIO_NET_ERR;
	KUNIT_EXPECT_EQ(test, vnr_ctrl_exec(&ctl->dev, &cmd), -EREMOTEIO);
	ctl->silent = true;
	for (used = 0; used <= 6; used++) {
		ctl->used = used;
		KUNIT_EXPECT_EQ(test, vnr_ctrl_exec(&ctl->dev, &cmd), -EPROTO);
	}
}

/* A command of virtio_net reaches the device with the same descriptors. */
static void parts_proxy(struct kunit *test)
{
	static const unsigned int lens[] = { 2, 4, 6, 1, 8 };
	struct scatterlist sg[ARRAY_SIZE(lens)], *sgs[ARRAY_SIZE(lens)];
	struct ctl *ctl = ctl_init(test);
	struct virtqueue *shadow = ctl->dev.ctrl.shadow;
	u8 *buf[ARRAY_SIZE(lens)];
	unsigned int i, turn, len;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		buf[i] = kunit_kzalloc(test, lens[i], GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf[i]);
		sg_init_one(&sg[i], buf[i], lens[i]);
		sgs[i] = &sg[i];
	}
	for (turn = 0; turn < 3; turn++) {
		memset(buf[1], 0x11, lens[1]);
		buf[3][0] = 0xff;
		memset(buf[4], 0x44, lens[4]);
		ctl->silent = turn == 1;
		ctl->rsp_len = 4;
		ctl->used = turn == 2 ? 0 : 9;
		KUNIT_ASSERT_EQ(test, 0, virtqueue_add_sgs(shadow, sgs, 3, 2, ctl,
							   GFP_KERNEL));
		virtqueue_kick(shadow);
		KUNIT_ASSERT_TRUE(test, fake_wait(virtqueue_get_buf(shadow, &len)));
		KUNIT_ASSERT_EQ(test, ctl->ndescs, ARRAY_SIZE(lens));
		for (i = 0; i < ARRAY_SIZE(lens); i++)
			ctl_expect(test, ctl, i, i >= 3, lens[i]);
		KUNIT_EXPECT_MEMEQ(test, ctl->request, buf[1], lens[1]);
		/* Bytes that the device did not write are unchanged. */
		KUNIT_EXPECT_EQ(test, buf[3][0],
				ctl->silent ? 0xff : VIRTIO_NET_OK);
		KUNIT_EXPECT_EQ(test, buf[4][3], ctl->silent ? 0x44 : 0xa5);
		KUNIT_EXPECT_EQ(test, buf[4][4], 0x44);
	}
}

static struct kunit_case parts_cases[] = {
	KUNIT_CASE(parts_framing),
	KUNIT_CASE(parts_long),
	KUNIT_CASE(parts_split),
	KUNIT_CASE(parts_used_length),
	KUNIT_CASE(parts_proxy),
	{ }
};

static struct kunit_suite parts_suite = {
	.name = "virtio_net_roce_parts",
	.test_cases = parts_cases,
};

kunit_test_suite(parts_suite);
