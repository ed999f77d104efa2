// SPDX-License-Identifier: GPL-2.0
/*
 * The whole driver, bound to a function that acts as a device: what RDMA consumers in
 * the kernel see, and what the device sees.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/if_vlan.h>
#include <linux/kthread.h>
#include <linux/pci_ids.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "../drivers/infiniband/hw/virtio_roce/vroce_users.h"
#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"
#include "virtio_roce_process.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define NUM		64

/* ----- device and port ----- */

static void dev_query(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	const struct ib_device_attr *attr = &ibdev->attrs;

	KUNIT_EXPECT_PTR_EQ(test, ibdev->dev.parent, &mock->pdev->dev);
	KUNIT_EXPECT_PTR_EQ(test, ibdev->dma_device, &mock->pdev->dev);
	KUNIT_EXPECT_EQ(test, ibdev->node_type, RDMA_NODE_IB_CA);
	KUNIT_EXPECT_EQ(test, ibdev->phys_port_cnt, 1);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(ibdev->node_guid),
			0x505400fffe123456);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(attr->sys_image_guid),
			0x505400fffe123456);
	KUNIT_EXPECT_TRUE(test, rdma_protocol_roce_udp_encap(ibdev, 1));
	KUNIT_EXPECT_FALSE(test, rdma_protocol_roce_eth_encap(ibdev, 1));
	KUNIT_EXPECT_EQ(test, attr->vendor_id, PCI_VENDOR_ID_REDHAT_QUMRANET);
	KUNIT_EXPECT_EQ(test, attr->max_qp, MOCK_QPS - 2);
	/* One of each is for ib_mad. */
	KUNIT_EXPECT_EQ(test, attr->max_cq, MOCK_CQS - 1);
	KUNIT_EXPECT_EQ(test, attr->max_qp_wr, NUM);
	KUNIT_EXPECT_EQ(test, attr->max_cqe, NUM);
	KUNIT_EXPECT_EQ(test, attr->max_send_sge, 4);
	KUNIT_EXPECT_EQ(test, attr->max_recv_sge, 3);
	KUNIT_EXPECT_EQ(test, attr->max_sge_rd, 2);
	KUNIT_EXPECT_EQ(test, attr->max_pd, MOCK_PDS - 1);
	KUNIT_EXPECT_EQ(test, attr->max_mr, MOCK_MRS - 1);
	KUNIT_EXPECT_EQ(test, attr->max_ah, MOCK_AHS);
	KUNIT_EXPECT_EQ(test, attr->max_qp_rd_atom, 16);
	KUNIT_EXPECT_EQ(test, attr->max_qp_init_rd_atom, 8);
	KUNIT_EXPECT_EQ(test, attr->max_mr_size, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, attr->page_size_cap, 4096);
	KUNIT_EXPECT_EQ(test, attr->local_ca_ack_delay, 15);
	KUNIT_EXPECT_EQ(test, attr->max_pkeys, 1);
	KUNIT_EXPECT_EQ(test, attr->max_srq, 0);
	KUNIT_EXPECT_EQ(test, attr->max_mcast_grp, 0);
	KUNIT_EXPECT_EQ(test, attr->max_mcast_qp_attach, 0);
	KUNIT_EXPECT_EQ(test, attr->max_total_mcast_qp_attach, 0);
	KUNIT_EXPECT_EQ(test, attr->atomic_cap, IB_ATOMIC_NONE);
	KUNIT_EXPECT_EQ(test, attr->device_cap_flags,
			IB_DEVICE_RC_RNR_NAK_GEN);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* Limits never exceed what the rings and the wire format can carry. */
static void dev_limits(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct virtio_rdma_ack_query_device *q = &mock->query_device;
	const struct ib_device_attr *attr;
	struct ib_port_attr port;
	struct ib_device *ibdev;

	memset(q, 0xff, sizeof(*q));
	q->device_cap_flags = cpu_to_le64(~VIRTIO_IB_DEVICE_CQ_HOLD);
	memset(&mock->query_port, 0xff, sizeof(mock->query_port));
	mock->rq_vqs[5].pub.vring.num = 16;
	mock->cq_vqs[MOCK_CQS - 1].pub.vring.num = 32;
	ibdev = mock_start(mock);
	attr = &ibdev->attrs;

	KUNIT_EXPECT_EQ(test, attr->max_qp_wr, 16);
	KUNIT_EXPECT_EQ(test, attr->max_cqe, 32);
	KUNIT_EXPECT_GT(test, attr->max_send_sge, 0);
	KUNIT_EXPECT_LE(test, attr->max_send_sge, 256);
	KUNIT_EXPECT_LE(test, attr->max_sge_rd, attr->max_send_sge);
	KUNIT_EXPECT_EQ(test, attr->max_mr, INT_MAX - 1);
	KUNIT_EXPECT_EQ(test, attr->max_pd, INT_MAX - 1);
	KUNIT_EXPECT_EQ(test, attr->max_ah, INT_MAX);
	KUNIT_EXPECT_EQ(test, attr->max_qp_rd_atom, 255);
	KUNIT_EXPECT_EQ(test, attr->max_qp_init_rd_atom, 255);
	KUNIT_EXPECT_EQ(test, attr->local_ca_ack_delay, 31);
	KUNIT_EXPECT_EQ(test, attr->max_mcast_grp, INT_MAX);
	KUNIT_EXPECT_EQ(test, attr->max_mcast_qp_attach, INT_MAX);
	KUNIT_EXPECT_EQ(test, attr->max_total_mcast_qp_attach, INT_MAX);
	KUNIT_EXPECT_EQ(test, attr->page_size_cap, 0xfffff000);
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.gid_tbl_len, 256);
	mock_stop(mock, ibdev);
}

/* Depths are powers of two, so limits are rounded down. */
static void dev_limits_power_of_two(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;

	mock->query_device.max_qp_wr = cpu_to_le32(63);
	mock->query_device.max_cqe = cpu_to_le32(33);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_qp_wr, 32);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_cqe, 32);
	mock_stop(mock, ibdev);
}

/* A region's pages, one more if it begins in the middle of one, fit a command. */
static void dev_limits_mr_size(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;

	mock->aux.max_req = sizeof(struct virtio_rdma_cmd_reg_user_mr) +
			    101 * sizeof(u64) + 7;
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mr_size, 100 * 4096);
	mock_stop(mock, ibdev);
	/* REREG_MR_LONG has 8 bytes more in front of the list. */
	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_MR_PAGE_SHIFT);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mr_size, 99 * 4096);
	mock_stop(mock, ibdev);
	/* The request names pages of the list. */
	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_MR_INDIRECT);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mr_size, (100 * 512 - 1) * 4096);
	mock_stop(mock, ibdev);
	mock->query_device.max_mr_size = cpu_to_le64(1000);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mr_size, 1000);
	mock_stop(mock, ibdev);
}

/* Sizes of pages count only with the capability, and what fits the wire. */
static void dev_limits_page_sizes(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;

	mock->query_device.page_size_cap = cpu_to_le64(~0ULL);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.page_size_cap, 0x1000);
	mock_stop(mock, ibdev);
	mock->query_device.device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_MR_PAGE_SHIFT);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.page_size_cap, 0xfffff000);
	mock_stop(mock, ibdev);
	/* The driver needs 4 KiB. */
	mock->query_device.page_size_cap = cpu_to_le64(~0x1000ULL);
	mock_publish(mock);
	KUNIT_EXPECT_NULL(test, mock_ibdev(mock));
	mock_withdraw(mock);
}

/* ----- counters ----- */

/* Raw packets have the offloads that the device has, and none without such QPs. */
static void dev_raw_packets(struct kunit *test)
{
	static const struct {
		u64 caps;
		u32 raw;
		u64 flags;
	} kinds[] = {
		{ 0, 0, 0 },
		{ VIRTIO_IB_DEVICE_RAW_CSUM | VIRTIO_IB_DEVICE_RAW_VLAN, 0, 0 },
		{ VIRTIO_IB_DEVICE_RAW_PACKET, 0, 0 },
		{ VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_RAW_CSUM,
		  IB_RAW_PACKET_CAP_IP_CSUM, IB_DEVICE_RAW_IP_CSUM },
		{ VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_RAW_VLAN,
		  IB_RAW_PACKET_CAP_CVLAN_STRIPPING, 0 },
	};
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev;
	__le64 rest;
	size_t i;

	mock_make_direct(mock);
	rest = mock->query_device.device_cap_flags;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		mock->query_device.device_cap_flags = rest | cpu_to_le64(kinds[i].caps);
		ibdev = mock_start(mock);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.raw_packet_caps, kinds[i].raw);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.device_cap_flags & IB_DEVICE_RAW_IP_CSUM,
				kinds[i].flags);
		mock_stop(mock, ibdev);
	}
	/* Frames are in the memory that a process names, in direct form. */
	mock = mock_device(test, NUM);
	mock->query_device.device_cap_flags |= cpu_to_le64(kinds[3].caps);
	ibdev = mock_start(mock);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.raw_packet_caps, 0);
	mock_stop(mock, ibdev);
}

static void dev_counters(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	const int last = VIRTIO_RDMA_CNT_NUM - 1;
	struct rdma_hw_stats *stats;
	struct ib_device *ibdev;
	int i;

	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_COUNTERS);
	mock->counters.value[0] = cpu_to_le64(0x100000002);
	mock->counters.value[last] = cpu_to_le64(3);
	ibdev = mock_start(mock);
	KUNIT_ASSERT_NOT_NULL(test, ibdev->ops.alloc_hw_port_stats);
	stats = ibdev->ops.alloc_hw_port_stats(ibdev, 1);
	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->num_counters, VIRTIO_RDMA_CNT_NUM + 1);
	for (i = 0; i < stats->num_counters; i++)
		KUNIT_EXPECT_NOT_NULL(test, stats->descs[i].name);

	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, stats, 1, 0),
			VIRTIO_RDMA_CNT_NUM + 1);
	KUNIT_EXPECT_EQ(test, stats->value[0], 0x100000002);
	KUNIT_EXPECT_EQ(test, stats->value[last], 3);
	KUNIT_EXPECT_EQ(test, stats->value[last + 1], 0);
	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, stats, 0, 0),
			-EINVAL);
	mock->fail[CMD(QUERY_COUNTERS)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, stats, 1, 0),
			-EIO);
	rdma_free_hw_stats_struct(stats);
	mock_stop(mock, ibdev);
}

/*
 * A device of the RFC counts nothing, and nothing of it is shown rather than zeroes.
 * The driver's own counters are shown.
 */
static void dev_no_counters(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	struct rdma_hw_stats *stats = ibdev->ops.alloc_hw_port_stats(ibdev, 1);

	KUNIT_ASSERT_NOT_NULL(test, stats);
	KUNIT_EXPECT_EQ(test, stats->num_counters, 1);
	KUNIT_EXPECT_STREQ(test, stats->descs[0].name, "bad_completions");
	stats->value[0] = 1;
	KUNIT_EXPECT_EQ(test, ibdev->ops.get_hw_stats(ibdev, stats, 1, 0), 1);
	KUNIT_EXPECT_EQ(test, stats->value[0], 0);
	rdma_free_hw_stats_struct(stats);
	mock_stop(mock, ibdev);
	KUNIT_EXPECT_EQ(test, mock_count(mock, CMD(QUERY_COUNTERS)), 0);
}

static void expect_refused(struct mock *mock)
{
	struct ib_device *ibdev;

	mock_publish(mock);
	ibdev = mock_ibdev(mock);
	KUNIT_EXPECT_NULL(mock->test, ibdev);
	if (ibdev)
		ib_device_put(ibdev);
	mock_withdraw(mock);
	mock_expect_clean(mock);
}

static void dev_useless_devices(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	const struct virtio_rdma_ack_query_device good = mock->query_device;

	mock->query_device.max_cqe = 0;
	expect_refused(mock);
	mock->query_device = good;
	mock->query_device.max_qp_wr = 0;
	expect_refused(mock);
	mock->query_device = good;
	mock->query_device.page_size_cap = cpu_to_le64(1ULL << 21);
	expect_refused(mock);
	mock->query_device = good;
	mock->aux.max_req = sizeof(struct virtio_rdma_cmd_reg_user_mr) + 8;
	expect_refused(mock);
	mock->aux.max_req = U32_MAX;
	mock->query_device.max_recv_sge = 0;
	expect_refused(mock);
	mock->query_device = good;
	mock->query_port.gid_tbl_len = 0;
	expect_refused(mock);
}

static void dev_no_answer_at_probe(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);

	mock->fail[CMD(QUERY_DEVICE)] = -ETIMEDOUT;
	expect_refused(mock);
	mock->fail[CMD(QUERY_DEVICE)] = 0;
	mock->fail[CMD(QUERY_PORT)] = -EREMOTEIO;
	expect_refused(mock);
}

static void dev_port(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	struct ib_port_attr port;
	u16 pkey;

	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port.phys_state, IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, port.max_mtu, IB_MTU_4096);
	KUNIT_EXPECT_EQ(test, port.active_mtu, IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, port.gid_tbl_len, MOCK_GIDS);
	KUNIT_EXPECT_EQ(test, port.pkey_tbl_len, 1);
	KUNIT_EXPECT_EQ(test, port.max_msg_sz, 1U << 31);
	KUNIT_EXPECT_EQ(test, port.lid, 0);
	KUNIT_EXPECT_GT(test, port.active_speed, 0);

	mock_link(mock, true);
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.state, IB_PORT_ACTIVE);
	KUNIT_EXPECT_EQ(test, port.phys_state, IB_PORT_PHYS_STATE_LINK_UP);

	netif_carrier_off(mock->aux.netdev);
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.state, IB_PORT_DOWN);
	KUNIT_EXPECT_EQ(test, port.phys_state, IB_PORT_PHYS_STATE_POLLING);
	netif_carrier_on(mock->aux.netdev);

	mock->aux.netdev->mtu = 4200;
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.active_mtu, IB_MTU_4096);
	mock->aux.netdev->mtu = 68;
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
	KUNIT_EXPECT_EQ(test, port.active_mtu, IB_MTU_256);

	KUNIT_EXPECT_EQ(test, 0, ibdev->ops.query_pkey(ibdev, 1, 0, &pkey));
	KUNIT_EXPECT_EQ(test, pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, -EINVAL, ibdev->ops.query_pkey(ibdev, 1, 1, &pkey));
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* The speed is that of Ethernet, or the documented one if that is unknown. */
static void dev_speed(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	static const struct {
		u32 ethernet;
		u16 speed;
		u8 width;
	} cases[] = {
		{ SPEED_10000, IB_SPEED_FDR10, IB_WIDTH_1X },
		{ SPEED_25000, IB_SPEED_EDR, IB_WIDTH_1X },
		{ SPEED_100000, IB_SPEED_EDR, IB_WIDTH_4X },
		{ SPEED_200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ (u32)SPEED_UNKNOWN, IB_SPEED_EDR, IB_WIDTH_4X },
		{ 0, IB_SPEED_EDR, IB_WIDTH_4X },
	};
	struct ib_port_attr port;
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mock->speed = cases[i].ethernet;
		KUNIT_EXPECT_EQ(test, 0, ib_query_port(ibdev, 1, &port));
		KUNIT_EXPECT_EQ(test, port.active_speed, cases[i].speed);
		KUNIT_EXPECT_EQ(test, port.active_width, cases[i].width);
	}
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* ----- multicast ----- */

/* A function that reports these multicast limits. */
static struct ib_device *start_mcast(struct mock *mock, u64 caps, u32 groups,
				     u32 qps)
{
	mock->query_device.device_cap_flags = cpu_to_le64(caps);
	mock->query_device.max_mcast_grp = cpu_to_le32(groups);
	mock->query_device.max_mcast_qp_attach = cpu_to_le32(qps);
	return mock_start(mock);
}

static struct ib_qp *create_ud_qp(struct kunit *test, struct ib_pd *pd,
				  struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IB_QPT_UD,
	};
	struct ib_qp *qp = ib_create_qp(pd, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	return qp;
}

static void attach_and_detach(struct mock *mock, struct ib_qp *qp)
{
	union ib_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct kunit *test = mock->test;
	const struct mock_call *call;

	KUNIT_EXPECT_EQ(test, 0, ib_attach_mcast(qp, &gid, 0));
	call = mock_last(mock, CMD(ATTACH_MCAST));
	KUNIT_EXPECT_EQ(test, call->req[0], qp->qp_num);
	KUNIT_EXPECT_MEMEQ(test, call->req + 8, gid.raw, sizeof(gid.raw));
	KUNIT_EXPECT_EQ(test, -EBUSY, ib_destroy_qp(qp));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &gid, 0));
	call = mock_last(mock, CMD(DETACH_MCAST));
	KUNIT_EXPECT_EQ(test, call->req[0], qp->qp_num);
	KUNIT_EXPECT_MEMEQ(test, call->req + 8, gid.raw, sizeof(gid.raw));
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(qp, &gid, 0));

	mock->fail[CMD(ATTACH_MCAST)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, -ENOMEM, ib_attach_mcast(qp, &gid, 0));
	mock->fail[CMD(ATTACH_MCAST)] = 0;
	gid.raw[12] = 10;
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_attach_mcast(qp, &gid, 0));
}

static void dev_mcast(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = start_mcast(mock, VIRTIO_IB_DEVICE_MCAST, 5, 3);
	const struct ib_cq_init_attr cq_attr = { .cqe = 8 };
	struct ib_qp *qp;
	struct ib_pd *pd;
	struct ib_cq *cq;

	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mcast_grp, 5);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mcast_qp_attach, 3);
	KUNIT_EXPECT_EQ(test, ibdev->attrs.max_total_mcast_qp_attach, 15);

	pd = ib_alloc_pd(ibdev, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	cq = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	qp = create_ud_qp(test, pd, cq);
	attach_and_detach(mock, qp);
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	ib_destroy_cq(cq);
	ib_dealloc_pd(pd);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* A device that does not let a QP leave a group does not keep it from being destroyed. */
static void dev_mcast_refused(struct kunit *test)
{
	union ib_gid gid = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = start_mcast(mock, VIRTIO_IB_DEVICE_MCAST, 5, 3);
	const struct ib_cq_init_attr cq_attr = { .cqe = 8 };
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);
	struct ib_cq *cq = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
	struct ib_qp *qp;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pd);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	qp = create_ud_qp(test, pd, cq);
	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &gid, 0));
	mock->fail[CMD(DETACH_MCAST)] = -EREMOTEIO;
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &gid, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(qp, &gid, 0));
	KUNIT_EXPECT_EQ(test, 0, ib_destroy_qp(qp));
	ib_destroy_cq(cq);
	ib_dealloc_pd(pd);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* A device of the RFC, and two that claim multicast without a usable limit. */
static void dev_mcast_without(struct kunit *test)
{
	static const struct {
		u64 caps;
		u32 groups;
		u32 qps;
	} cases[] = {
		{ VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN, 5, 3 },
		{ VIRTIO_IB_DEVICE_MCAST, 0, 3 },
		{ VIRTIO_IB_DEVICE_MCAST, 5, 0 },
	};
	struct ib_device *ibdev;
	struct mock *mock;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		mock = mock_device(test, NUM);
		ibdev = start_mcast(mock, cases[i].caps, cases[i].groups,
				    cases[i].qps);
		KUNIT_EXPECT_NULL(test, ibdev->ops.attach_mcast);
		KUNIT_EXPECT_NULL(test, ibdev->ops.detach_mcast);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.max_mcast_grp, 0);
		KUNIT_EXPECT_EQ(test, ibdev->attrs.max_total_mcast_qp_attach, 0);
		mock_stop(mock, ibdev);
		mock_expect_clean(mock);
	}
}

/* ----- events ----- */

struct event_log {
	struct ib_event_handler handler;
	int active;
	int err;
	struct completion seen;
	struct completion gid_changed;
};

static void log_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct event_log *log = container_of(handler, struct event_log, handler);

	if (event->event == IB_EVENT_GID_CHANGE)
		complete(&log->gid_changed);
	if (event->event == IB_EVENT_PORT_ACTIVE)
		log->active++;
	else if (event->event == IB_EVENT_PORT_ERR)
		log->err++;
	else
		return;
	complete(&log->seen);
}

static void unregister_event_log(void *log)
{
	ib_unregister_event_handler(&((struct event_log *)log)->handler);
}

static struct event_log *open_event_log(struct kunit *test, struct ib_device *ibdev)
{
	struct event_log *log;

	log = kunit_kzalloc(test, sizeof(*log), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, log);
	init_completion(&log->seen);
	init_completion(&log->gid_changed);
	INIT_IB_EVENT_HANDLER(&log->handler, ibdev, log_event);
	ib_register_event_handler(&log->handler);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, unregister_event_log,
						  log));
	return log;
}

static void dev_port_events(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	struct event_log *log = open_event_log(test, ibdev);

	mock_link(mock, true);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&log->seen, MOCK_PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, log->active, 1);
	KUNIT_EXPECT_EQ(test, log->err, 0);

	netif_carrier_off(mock->aux.netdev);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&log->seen, MOCK_PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, log->err, 1);
	/* It is down already. */
	mock_link(mock, false);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&log->seen, HZ / 10), 0);
	KUNIT_EXPECT_EQ(test, log->active, 1);
	KUNIT_EXPECT_EQ(test, log->err, 1);

	kunit_release_action(test, unregister_event_log, log);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/**
 * struct dying - a device that dies on another processor
 * @work: runs there
 * @mock: device
 */
struct dying {
	struct work_struct work;
	struct mock *mock;
};

static void dying_work(struct work_struct *work)
{
	struct mock *mock = container_of(work, struct dying, work)->mock;

	mock->event(&mock->aux, VIRTIO_NET_ROCE_DEAD);
}

/*
 * The device dies after the notifier has seen that the port is up, and before it says so.
 * This test does what the notifier does then.  Had the driver not waited for the lock, it would
 * not have known of the port that is up, and would have said nothing.  Which of both events
 * clients hear last is the core's affair: it has a work for each of them.
 */
static void dev_port_dies(struct kunit *test)
{
	struct ib_event up = {
		.element.port_num = 1,
		.event = IB_EVENT_PORT_ACTIVE,
	};
	struct event_log *log;
	struct vroce_dev *dev;
	struct dying dying;
	unsigned long flags;
	int i, cpu;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two processors");
	dying.mock = mock_device(test, NUM);
	up.device = mock_start(dying.mock);
	log = open_event_log(test, up.device);
	dev = to_vdev(up.device);
	INIT_WORK_ONSTACK(&dying.work, dying_work);

	spin_lock_irqsave(&dev->port_lock, flags);
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	clear_bit(__LINK_STATE_NOCARRIER, &dying.mock->aux.netdev->state);
	queue_work_on(cpu, system_wq, &dying.work);
	for (i = 0; i < 200000 && READ_ONCE(dev->health) == VIRTIO_NET_ROCE_RUNS; i++)
		udelay(5);
	/* It comes to the lock. */
	for (i = 0; i < 40; i++)
		udelay(5);
	dev->port_active = true;
	ib_dispatch_event(&up);
	spin_unlock_irqrestore(&dev->port_lock, flags);

	flush_work(&dying.work);
	destroy_work_on_stack(&dying.work);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&log->seen, MOCK_PATIENCE), 0);
	KUNIT_EXPECT_EQ(test, log->active, 1);
	KUNIT_EXPECT_EQ(test, log->err, 1);
	KUNIT_EXPECT_FALSE(test, dev->port_active);

	kunit_release_action(test, unregister_event_log, log);
	mock_stop(dying.mock, up.device);
	mock_expect_clean(dying.mock);
}

/* The link-local GID of the interface is in the device's table, too. */
static void dev_gid(struct kunit *test)
{
	static const u8 gid[16] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56,
	};
	static const u8 none[16];
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	const struct ib_gid_attr *attr;

	mock_link(mock, true);
	attr = rdma_get_gid_attr(ibdev, 1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, attr);
	KUNIT_EXPECT_EQ(test, attr->gid_type, IB_GID_TYPE_ROCE_UDP_ENCAP);
	KUNIT_EXPECT_MEMEQ(test, attr->gid.raw, gid, sizeof(gid));
	rdma_put_gid_attr(attr);
	KUNIT_EXPECT_MEMEQ(test, mock->gids[0], gid, sizeof(gid));
	mock_stop(mock, ibdev);
	KUNIT_EXPECT_MEMEQ(test, mock->gids[0], none, sizeof(none));
	mock_expect_clean(mock);
}

/* Another address of the interface is another GID, and an event. */
static void dev_gid_event(struct kunit *test)
{
	static const u8 mac[ETH_ALEN] = { 0x52, 0x54, 0, 0x12, 0x34, 0x57 };
	static const u8 gid[16] = {
		0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		0x50, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x57,
	};
	struct mock *mock = mock_device(test, NUM);
	struct ib_device *ibdev = mock_start(mock);
	struct event_log *log = open_event_log(test, ibdev);
	int events = 0;

	mock_link(mock, true);
	rtnl_lock();
	eth_hw_addr_set(mock->aux.netdev, mac);
	call_netdevice_notifiers(NETDEV_CHANGEADDR, mock->aux.netdev);
	rtnl_unlock();
	/* The old one goes, the new one comes. */
	do {
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&log->gid_changed,
								  MOCK_PATIENCE), 0);
	} while (memcmp(mock->gids[0], gid, sizeof(gid)) && ++events < 4);
	KUNIT_EXPECT_MEMEQ(test, mock->gids[0], gid, sizeof(gid));

	kunit_release_action(test, unregister_event_log, log);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* A GID of a VLAN is not for a device that would leave the tag out. */
#if IS_ENABLED(CONFIG_VLAN_8021Q)
static void dev_gid_vlan(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct ib_gid_attr attr = {
		.port_num = 1,
		.index = 9,
		.gid_type = IB_GID_TYPE_ROCE_UDP_ENCAP,
		.gid.raw = { 0x20, 0x01, 0x0d, 0xb8 },
	};
	struct net_device *vlan;
	struct ib_device *ibdev;
	void *context = NULL;
	unsigned int n;

	vlan = alloc_netdev(sizeof(struct vlan_dev_priv), "vlan%d",
			    NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, vlan);
	vlan->priv_flags |= IFF_802_1Q_VLAN;
	vlan_dev_priv(vlan)->vlan_id = 5;
	rcu_assign_pointer(attr.ndev, vlan);

	ibdev = mock_start(mock);
	attr.device = ibdev;
	n = mock_count(mock, CMD(ADD_GID));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, ibdev->ops.add_gid(&attr, &context));
	KUNIT_EXPECT_EQ(test, n, mock_count(mock, CMD(ADD_GID)));
	/* VLAN 0 is none. */
	vlan_dev_priv(vlan)->vlan_id = 0;
	KUNIT_EXPECT_EQ(test, 0, ibdev->ops.add_gid(&attr, &context));
	KUNIT_EXPECT_EQ(test, 0, ibdev->ops.del_gid(&attr, &context));
	mock_stop(mock, ibdev);

	mock->query_device.device_cap_flags |=
		cpu_to_le64(VIRTIO_IB_DEVICE_GID_VLAN);
	vlan_dev_priv(vlan)->vlan_id = 5;
	ibdev = mock_start(mock);
	attr.device = ibdev;
	KUNIT_EXPECT_EQ(test, 0, ibdev->ops.add_gid(&attr, &context));
	KUNIT_EXPECT_EQ(test, mock_last(mock, CMD(ADD_GID))->req[2], 5);
	KUNIT_EXPECT_EQ(test, 0, ibdev->ops.del_gid(&attr, &context));
	mock_stop(mock, ibdev);
	free_netdev(vlan);
}
#else
static void dev_gid_vlan(struct kunit *test)
{
	kunit_skip(test, "no VLANs");
}
#endif

/* ----- what is advertised can be had ----- */

/* With ib_mad on the device, which takes its share. */
static void dev_maxima(struct kunit *test)
{
	struct mock *mock = mock_device(test, 1024);
	struct ib_device *ibdev = mock_start(mock);
	const struct ib_cq_init_attr cq_attr = { .cqe = 4 };
	struct ib_qp_init_attr qp_attr = {
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IB_QPT_RC,
	};
	struct ib_pd *pds[MOCK_PDS];
	struct ib_cq *cqs[MOCK_CQS];
	struct ib_qp *qps[MOCK_QPS];
	int i;

	KUNIT_ASSERT_TRUE(test, mock->qps[1].exists);
	KUNIT_ASSERT_EQ(test, ibdev->attrs.max_pd, MOCK_PDS - 1);
	KUNIT_ASSERT_EQ(test, ibdev->attrs.max_mr, MOCK_MRS - 1);
	KUNIT_ASSERT_EQ(test, ibdev->attrs.max_cq, MOCK_CQS - 1);
	KUNIT_ASSERT_EQ(test, ibdev->attrs.max_qp, MOCK_QPS - 2);
	/* Each of these has a region, too. */
	for (i = 0; i < ibdev->attrs.max_pd; i++) {
		pds[i] = ib_alloc_pd(ibdev, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pds[i]);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_pd(ibdev, 0)), -ENOMEM);
	for (i = 0; i < ibdev->attrs.max_cq; i++) {
		cqs[i] = ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cqs[i]);
	}
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			PTR_ERR(ib_create_cq(ibdev, NULL, NULL, NULL, &cq_attr)));
	qp_attr.send_cq = cqs[0];
	qp_attr.recv_cq = cqs[0];
	for (i = 0; i < ibdev->attrs.max_qp; i++) {
		qps[i] = ib_create_qp(pds[0], &qp_attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qps[i]);
	}
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(ib_create_qp(pds[0], &qp_attr)));

	for (i = 0; i < ibdev->attrs.max_qp; i++)
		ib_destroy_qp(qps[i]);
	for (i = 0; i < ibdev->attrs.max_cq; i++)
		ib_destroy_cq(cqs[i]);
	for (i = 0; i < ibdev->attrs.max_pd; i++)
		ib_dealloc_pd(pds[i]);
	mock_stop(mock, ibdev);
	mock_expect_clean(mock);
}

/* ----- a process with many threads ----- */

#define THREADS	24

/**
 * struct maker - a thread of a process that makes a PD
 * @ibdev: device
 * @attrs: what uverbs hands to a verb
 * @pd: the PD
 * @ret: what became of it
 * @task: the thread
 */
struct maker {
	struct ib_device *ibdev;
	struct uverbs_attr_bundle attrs;
	struct vroce_pd pd;
	int ret;
	struct task_struct *task;
};

static int maker_thread(void *data)
{
	struct maker *m = data;

	m->ret = m->ibdev->ops.alloc_pd(&m->pd.ibpd, &m->attrs.driver_udata);
	return 0;
}

/* Threads of @contexts contexts of one user; returns how many commands went at a time. */
static unsigned int gate_rush(struct kunit *test, int contexts)
{
	struct mock *mock = mock_device(test, NUM);
	struct vroce_ucontext *uctx;
	struct ib_device *ibdev;
	struct maker *m;
	int i;

	mock->query_device.max_pd = cpu_to_le32(THREADS);
	ibdev = mock_start(mock);
	uctx = kunit_kcalloc(test, contexts, sizeof(*uctx), GFP_KERNEL);
	m = kunit_kcalloc(test, THREADS, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, uctx);
	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < contexts; i++) {
		uctx[i].ibucontext.device = ibdev;
		KUNIT_ASSERT_EQ(test, 0, vroce_gate_init(&uctx[i]));
	}

	/* The device refuses, so that nothing is left behind. */
	mock->fail[CMD(CREATE_PD)] = -EREMOTEIO;
	mock->slow = 50;
	mock->most = 0;
	for (i = 0; i < THREADS; i++) {
		m[i].ibdev = ibdev;
		m[i].pd.ibpd.device = ibdev;
		m[i].attrs.context = &uctx[i % contexts].ibucontext;
		m[i].task = kthread_create(maker_thread, &m[i], "maker-%d", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, m[i].task);
		get_task_struct(m[i].task);
	}
	/* To make them takes longer than a command may on a busy machine. */
	for (i = 0; i < THREADS; i++)
		wake_up_process(m[i].task);
	for (i = 0; i < THREADS; i++) {
		/* One that has not run yet would not run at all. */
		while (!READ_ONCE(m[i].ret))
			usleep_range(1000, 2000);
		kthread_stop_put(m[i].task);
		KUNIT_EXPECT_EQ(test, m[i].ret, -ENOMEM);
	}
	KUNIT_EXPECT_GT(test, mock->most, 1);
	mock->slow = 0;
	for (i = 0; i < contexts; i++)
		vroce_gate_exit(&uctx[i]);
	mock_stop(mock, ibdev);
	return mock->most;
}

/* Only some of them have a command on its way, and all come to an end. */
static void dev_gate(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, gate_rush(test, 1), 8);
}

/* More contexts do not help. */
static void dev_gate_user(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, gate_rush(test, THREADS), 16);
}

/**
 * struct asker - somebody who asks about a QP
 * @qp: QP
 * @mm: memory of a process
 * @task: the thread
 * @done: it was told
 * @ret: what
 */
struct asker {
	struct ib_qp *qp;
	struct mm_struct *mm;
	struct task_struct *task;
	struct completion done;
	int ret;
};

static int asker_thread(void *data)
{
	const struct cred *old;
	struct asker *a = data;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	struct cred *cred = prepare_creds();

	cred->uid = KUIDT_INIT(4711);
	old = override_creds(cred);
	kthread_use_mm(a->mm);
	a->ret = ib_query_qp(a->qp, &attr, 0, &init);
	kthread_unuse_mm(a->mm);
	revert_creds(old);
	put_cred(cred);
	complete(&a->done);
	return 0;
}

/* Questions by netlink about the QPs of others do not take their places. */
static void dev_gate_asked(struct kunit *test)
{
	struct mock *mock = mock_device(test, NUM);
	struct program *prog = program_start(mock);
	struct ib_device *ibdev = mock_ibdev(mock);
	struct vroce_hw_qp *hw = xa_load(&to_vdev(ibdev)->qps, prog->qp.qpn);
	struct asker *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	unsigned long left;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, hw);
	KUNIT_ASSERT_NOT_NULL(test, a);
	a->qp = &hw->qp->ibqp;
	a->mm = current->mm;
	init_completion(&a->done);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, down_trylock(&hw->qp->uctx->gate));
	a->task = kthread_run(asker_thread, a, "asker");
	KUNIT_ASSERT_FALSE(test, IS_ERR(a->task));
	left = wait_for_completion_timeout(&a->done, MOCK_PATIENCE);
	KUNIT_EXPECT_GT(test, left, 0);
	while (i--)
		up(&hw->qp->uctx->gate);
	if (!left)
		wait_for_completion_timeout(&a->done, MOCK_PATIENCE);
	KUNIT_EXPECT_EQ(test, a->ret, 0);
	ib_device_put(ibdev);
	program_destroy(prog);
	process_close_file(prog->p);
	mock_expect_clean(mock);
}

static struct kunit_case dev_cases[] = {
	KUNIT_CASE(dev_query),
	KUNIT_CASE(dev_limits),
	KUNIT_CASE(dev_limits_power_of_two),
	KUNIT_CASE(dev_limits_mr_size),
	KUNIT_CASE(dev_limits_page_sizes),
	KUNIT_CASE(dev_raw_packets),
	KUNIT_CASE(dev_counters),
	KUNIT_CASE(dev_no_counters),
	KUNIT_CASE(dev_useless_devices),
	KUNIT_CASE(dev_no_answer_at_probe),
	KUNIT_CASE(dev_port),
	KUNIT_CASE(dev_speed),
	KUNIT_CASE(dev_mcast),
	KUNIT_CASE(dev_mcast_refused),
	KUNIT_CASE(dev_mcast_without),
	KUNIT_CASE(dev_port_events),
	KUNIT_CASE(dev_port_dies),
	KUNIT_CASE(dev_gid),
	KUNIT_CASE(dev_gid_event),
	KUNIT_CASE(dev_gid_vlan),
	KUNIT_CASE(dev_maxima),
	KUNIT_CASE(dev_gate),
	KUNIT_CASE(dev_gate_user),
	KUNIT_CASE(dev_gate_asked),
	{}
};

static struct kunit_suite dev_suite = {
	.name = "virtio_roce_dev",
	.test_cases = dev_cases,
};

kunit_test_suite(dev_suite);
