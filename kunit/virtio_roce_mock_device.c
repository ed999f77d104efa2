// SPDX-License-Identifier: GPL-2.0
/*
 * How a function without hardware is made, published and started; see virtio_roce_mock.h.
 */
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/mm_types.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce-abi.h"
#include "virtio_roce_mock.h"

static struct mock *mock_new(struct kunit *test)
{
	struct mock *mock = kunit_kzalloc(test, sizeof(*mock), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mock);
	mock->test = test;
	spin_lock_init(&mock->lock);
	init_completion(&mock->held);
	init_completion(&mock->release);
	mock->aux.ops = &mock_ops;
	mock->aux.adev.dev.init_name = "mock";
	mock->aux.max_qps = MOCK_QPS;
	mock->aux.max_cqs = MOCK_CQS;
	mock->aux.num_vectors = 1;
	mock->aux.max_req = U32_MAX;
	mock->next_cqn = -1;
	mock->next_qpn = -1;
	memset(mock->pd_refs, 0xff, sizeof(mock->pd_refs));
	memset(mock->xrcd_refs, 0xff, sizeof(mock->xrcd_refs));
	memset(mock->ah_pdn, 0xff, sizeof(mock->ah_pdn));
	return mock;
}

/**
 * mock_scripted() - a function that answers commands by a script
 * @test: test
 * @script: answers
 * @len: how many
 *
 * It has commands and nothing else.
 *
 * Return: function, never NULL.
 */
struct mock *mock_scripted(struct kunit *test, const struct mock_answer *script,
			   size_t len)
{
	struct mock *mock = mock_new(test);

	mock->script = script;
	mock->script_len = len;
	return mock;
}

struct mock_pages {
	void *addr;
	size_t len;
};

static void mock_free_pages(void *data)
{
	struct mock_pages *pages = data;

	free_pages_exact(pages->addr, pages->len);
}

static void *mock_pages(struct kunit *test, size_t len)
{
	struct mock_pages *pages;

	pages = kunit_kzalloc(test, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	pages->len = len;
	pages->addr = alloc_pages_exact(len, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, pages->addr);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_free_pages,
							   pages));
	return pages->addr;
}

void mock_vq_init(struct mock *mock, struct mock_vq *vq, u16 index)
{
	u32 num = mock->num;
	size_t desc_len = num * sizeof(struct vring_desc);
	struct virtio_net_roce_vq *pub = &vq->pub;

	pub->index = index;
	pub->avail_len = PAGE_ALIGN(struct_size_t(struct vring_avail, ring,
						  num + 1));
	pub->used_len = PAGE_ALIGN(struct_size_t(struct vring_used, ring, num) +
				   sizeof(u16));
	pub->vring.num = num;
	pub->vring.desc = mock_pages(mock->test, PAGE_ALIGN(desc_len));
	pub->vring.avail = mock_pages(mock->test, pub->avail_len);
	pub->vring.used = mock_pages(mock->test, pub->used_len);
	pub->avail_phys = virt_to_phys(pub->vring.avail);
	pub->used_phys = virt_to_phys(pub->vring.used);
	/* Any memory will do: nothing reads it. */
	pub->doorbell_phys = virt_to_phys(mock_pages(mock->test, PAGE_SIZE));
	pub->doorbell_pos = 64;
}

static netdev_tx_t mock_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops mock_netdev_ops = {
	.ndo_start_xmit = mock_xmit,
};

static int mock_get_link(struct net_device *netdev,
			 struct ethtool_link_ksettings *settings)
{
	struct mock **mock = netdev_priv(netdev);

	if (!(*mock)->speed)
		return -EOPNOTSUPP;
	settings->base.speed = (*mock)->speed;
	return 0;
}

static const struct ethtool_ops mock_ethtool_ops = {
	.get_link_ksettings = mock_get_link,
};

static void mock_netdev_del(void *netdev)
{
	unregister_netdev(netdev);
	free_netdev(netdev);
}

static void mock_netdev_init(struct mock *mock)
{
	static const u8 mac[ETH_ALEN] = { 0x52, 0x54, 0x00, 0x12, 0x34, 0x56 };
	struct kunit *test = mock->test;
	struct net_device *netdev = alloc_etherdev(sizeof(mock));

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	*(struct mock **)netdev_priv(netdev) = mock;
	mock->speed = SPEED_10000;
	netdev->netdev_ops = &mock_netdev_ops;
	netdev->ethtool_ops = &mock_ethtool_ops;
	eth_hw_addr_set(netdev, mac);
	netdev->max_mtu = ETH_MAX_MTU;
	if (register_netdev(netdev)) {
		free_netdev(netdev);
		KUNIT_FAIL_AND_ABORT(test, "no network interface");
	}
	mock->aux.netdev = netdev;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_netdev_del,
							   netdev));
}

static void mock_pdev_del(void *pdev)
{
	platform_device_unregister(pdev);
}

/**
 * mock_device() - a function that acts as a device
 * @test: test
 * @num: size of its virtqueues
 *
 * The driver does not see it before mock_publish().
 *
 * Return: function, never NULL.
 */
struct mock *mock_device(struct kunit *test, u32 num)
{
	struct mock *mock = mock_new(test);
	u16 index = 3;
	int i;

	mock->num = num;
	mock->pdev = platform_device_register_simple("virtio_roce_mock",
						     PLATFORM_DEVID_AUTO,
						     NULL, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mock->pdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_pdev_del,
							   mock->pdev));
	KUNIT_ASSERT_EQ(test, 0,
			dma_coerce_mask_and_coherent(&mock->pdev->dev,
						     DMA_BIT_MASK(64)));
	mock->aux.dma_dev = &mock->pdev->dev;
	mock_netdev_init(mock);

	for (i = 0; i < MOCK_CQS; i++)
		mock_vq_init(mock, &mock->cq_vqs[i], index++);
	for (i = 0; i < MOCK_QPS; i++) {
		mock_vq_init(mock, &mock->sq_vqs[i], index++);
		mock_vq_init(mock, &mock->rq_vqs[i], index++);
	}

	mock->query_device = (struct virtio_rdma_ack_query_device) {
		.device_cap_flags = cpu_to_le64(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN),
		.max_mr_size = cpu_to_le64(1ULL << 40),
		.page_size_cap = cpu_to_le64(4096),
		.hw_ver = cpu_to_le32(0x10002),
		.max_qp_wr = cpu_to_le32(num),
		.max_send_sge = cpu_to_le32(4),
		.max_recv_sge = cpu_to_le32(3),
		.max_sge_rd = cpu_to_le32(2),
		.max_cqe = cpu_to_le32(num),
		.max_mr = cpu_to_le32(MOCK_MRS),
		.max_pd = cpu_to_le32(MOCK_PDS),
		.max_qp_rd_atom = cpu_to_le32(16),
		.max_qp_init_rd_atom = cpu_to_le32(8),
		.max_ah = cpu_to_le32(MOCK_AHS),
		.local_ca_ack_delay = 15,
	};
	mock->query_port = (struct virtio_rdma_ack_query_port) {
		.gid_tbl_len = cpu_to_le32(MOCK_GIDS),
		.max_msg_sz = cpu_to_le32(1U << 31),
	};
	return mock;
}

static void mock_aux_release(struct device *dev)
{
	/* It is memory of the test. */
}

static void mock_withdraw_action(void *data)
{
	mock_withdraw(data);
}

/**
 * mock_publish() - let the driver see a function, and wait until it has
 * @mock: function
 */
void mock_publish(struct mock *mock)
{
	static atomic_t ids = ATOMIC_INIT(1000);
	struct auxiliary_device *adev = &mock->aux.adev;
	struct kunit *test = mock->test;

	memset(adev, 0, sizeof(*adev));
	adev->name = VIRTIO_NET_ROCE_AUX_NAME;
	adev->id = atomic_inc_return(&ids);
	adev->dev.parent = &mock->pdev->dev;
	adev->dev.release = mock_aux_release;
	KUNIT_ASSERT_EQ(test, 0, auxiliary_device_init(adev));
	if (__auxiliary_device_add(adev, VIRTIO_NET_ROCE_AUX_MODULE)) {
		auxiliary_device_uninit(adev);
		KUNIT_FAIL_AND_ABORT(test, "no auxiliary device");
	}
	mock->published = true;
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, mock_withdraw_action,
						  mock));
}

/**
 * mock_withdraw() - take a function away from the driver
 * @mock: function
 */
void mock_withdraw(struct mock *mock)
{
	if (!mock->published)
		return;
	mock->published = false;
	auxiliary_device_delete(&mock->aux.adev);
	auxiliary_device_uninit(&mock->aux.adev);
}

/**
 * mock_link() - the Ethernet interface comes up or goes down
 * @mock: function
 * @up: which
 */
void mock_link(struct mock *mock, bool up)
{
	rtnl_lock();
	if (up)
		KUNIT_EXPECT_EQ(mock->test, 0, dev_open(mock->aux.netdev, NULL));
	else
		dev_close(mock->aux.netdev);
	rtnl_unlock();
}

static void mock_put_ibdev(void *ibdev)
{
	ib_device_put(ibdev);
}

/**
 * mock_ibdev() - the RDMA device over a function
 * @mock: function
 *
 * Return: device, to which the caller has a reference, or NULL.
 */
struct ib_device *mock_ibdev(struct mock *mock)
{
	return ib_device_get_by_netdev(mock->aux.netdev,
				       (enum rdma_driver_id)VIRTIO_ROCE_DRIVER_ID);
}

/**
 * mock_start() - publish a function
 * @mock: function
 *
 * The reference to the RDMA device is dropped at the end of the test, before the
 * function is withdrawn.
 *
 * Return: the RDMA device over it, never NULL.
 */
struct ib_device *mock_start(struct mock *mock)
{
	struct kunit *test = mock->test;
	struct ib_device *ibdev;

	mock_publish(mock);
	ibdev = mock_ibdev(mock);
	KUNIT_ASSERT_NOT_NULL(test, ibdev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, mock_put_ibdev,
							   ibdev));
	return ibdev;
}

/**
 * mock_stop() - undo mock_start() before the end of the test
 * @mock: function
 * @ibdev: the RDMA device over it
 */
void mock_stop(struct mock *mock, struct ib_device *ibdev)
{
	kunit_release_action(mock->test, mock_put_ibdev, ibdev);
	mock_withdraw(mock);
}
