// SPDX-License-Identifier: GPL-2.0
/*
 * The auxiliary device: when it comes and goes, with an interface of the test's
 * and a driver of the test's in place of the RDMA driver.
 */
#include <kunit/static_stub.h>
#include <linux/auxiliary_bus.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/virtio_config.h>

#include "virtio_net_roce_fake.h"

/*
 * Events that the driver has seen.  It holds the interface as the RDMA driver does, so
 * that an interface cannot go before the auxiliary device.
 */
static struct {
	unsigned int probes;
	unsigned int removes;
	unsigned int most;
	bool hold_remove;
	bool slow_probe;
	bool quiesce;
	int quiesced;
	struct completion removing;
	struct completion go_on;
	struct virtio_net_roce_aux *aux;
	struct net_device *netdev;
	bool registered;
} seen;

static int upper_probe(struct auxiliary_device *adev,
		       const struct auxiliary_device_id *id)
{
	struct virtio_net_roce_aux *aux = to_virtio_net_roce_aux(adev);

	seen.probes++;
	seen.most = max(seen.most, seen.probes - seen.removes);
	seen.aux = aux;
	seen.netdev = aux->netdev;
	seen.registered = aux->netdev->reg_state == NETREG_REGISTERED ||
			  aux->netdev->reg_state == NETREG_UNREGISTERING;
	dev_hold(aux->netdev);
	if (seen.slow_probe)
		msleep(50);
	return 0;
}

static void upper_remove(struct auxiliary_device *adev)
{
	complete(&seen.removing);
	if (seen.hold_remove)
		wait_for_completion_timeout(&seen.go_on, 20 * HZ);
	if (seen.quiesce)
		seen.quiesced = seen.aux->ops->quiesce(seen.aux);
	/* Before the reference, which is what netdev_gone() waits for. */
	seen.removes++;
	dev_put(to_virtio_net_roce_aux(adev)->netdev);
}

static const struct auxiliary_device_id upper_ids[] = {
	{ .name = "virtio_net_roce." VIRTIO_NET_ROCE_AUX_NAME },
	{ }
};

static struct auxiliary_driver upper = {
	.name = "fake_rdma",
	.probe = upper_probe,
	.remove = upper_remove,
	.id_table = upper_ids,
};

static void upper_unregister(void *data)
{
	auxiliary_driver_unregister(&upper);
}

static netdev_tx_t netdev_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops netdev_ops = {
	.ndo_start_xmit = netdev_xmit,
};

static struct net_device *netdev_new(struct fake *fake)
{
	struct net_device *netdev = alloc_etherdev(sizeof(fake));

	KUNIT_ASSERT_NOT_NULL(fake->test, netdev);
	netdev->netdev_ops = &netdev_ops;
	netdev->ethtool_ops = &fake_ethtool_ops;
	*(struct fake **)netdev_priv(netdev) = fake;
	eth_hw_addr_random(netdev);
	SET_NETDEV_DEV(netdev, &fake_vdev(fake)->dev);
	return netdev;
}

static void netdev_gone(struct net_device *netdev)
{
	unregister_netdev(netdev);
	free_netdev(netdev);
}

static void settle(struct fake *fake)
{
	flush_work(&fake->dev->stop_work);
	flush_work(&fake->dev->start_work);
	flush_work(&fake->dev->stop_work);
	flush_work(&fake->dev->start_work);
}

static struct fake *rdma_fake(struct kunit *test)
{
	struct fake *fake;

	memset(&seen, 0, sizeof(seen));
	init_completion(&seen.removing);
	init_completion(&seen.go_on);
	KUNIT_ASSERT_EQ(test, 0, auxiliary_driver_register(&upper));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   upper_unregister,
							   NULL));
	fake = fake_running(test, FAKE_NET);
	return fake;
}

/* Both an interface and a running child are needed, in either order. */
static void rdma_needs_both(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);

	vnr_rdma_start(fake->dev);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 0);
	KUNIT_EXPECT_NULL(test, fake->dev->aux);

	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	vnr_rdma_stop(fake->dev);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
	KUNIT_EXPECT_NULL(test, fake->dev->aux);

	vnr_rdma_start(fake->dev);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 2);
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 2);
	KUNIT_EXPECT_EQ(test, seen.removes, 2);
}

/* Repeated starts make one device, which has the right properties. */
static void rdma_once(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	for (i = 0; i < 5; i++) {
		vnr_rdma_start(fake->dev);
		settle(fake);
	}
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	KUNIT_ASSERT_NOT_NULL(test, seen.aux);
	KUNIT_EXPECT_PTR_EQ(test, seen.aux, fake->dev->aux);
	KUNIT_EXPECT_PTR_EQ(test, seen.aux->netdev, netdev);
	KUNIT_EXPECT_PTR_EQ(test, seen.aux->dma_dev, &fake->pdev->dev);
	KUNIT_EXPECT_EQ(test, seen.aux->max_qps, FAKE_QPS);
	KUNIT_EXPECT_EQ(test, seen.aux->max_cqs, FAKE_CQS);
	KUNIT_EXPECT_EQ(test, seen.aux->max_req,
			vnr_ctrl_max_req(fake->dev));
	KUNIT_EXPECT_TRUE(test, seen.registered);
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

/* The interface of another device is ignored. */
static void rdma_other_netdev(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);

	SET_NETDEV_DEV(netdev, &fake->pdev->dev);
	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 0);
	netdev_gone(netdev);
}

/* The interface is removed first: this waits until the auxiliary device is removed. */
static void rdma_netdev_goes(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);

	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_ASSERT_EQ(test, seen.probes, 1);
	netdev_gone(netdev);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
	settle(fake);
	KUNIT_EXPECT_NULL(test, fake->dev->aux);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);

	/* Another interface is registered; the child is still up. */
	netdev = netdev_new(fake);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 2);
	KUNIT_EXPECT_PTR_EQ(test, seen.netdev, netdev);
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

/*
 * The interface moves to another network namespace: it is told as a removal, but nothing
 * is removed.
 */
static void rdma_netdev_moves(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);
	struct netdev_notifier_info info = { .dev = netdev };
	struct notifier_block *nb = &fake->dev->netdev_nb;

	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_ASSERT_EQ(test, seen.probes, 1);
	rtnl_lock();
	nb->notifier_call(nb, NETDEV_UNREGISTER, &info);
	KUNIT_EXPECT_PTR_EQ(test, fake->dev->netdev, netdev);
	nb->notifier_call(nb, NETDEV_REGISTER, &info);
	rtnl_unlock();
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	KUNIT_EXPECT_EQ(test, seen.removes, 0);
	netdev_gone(netdev);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
}

/* A start while it stops: the device is removed, then added again. */
static void rdma_start_while_stopping(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);

	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	KUNIT_ASSERT_EQ(test, seen.probes, 1);

	/* As the notifier does for an interface that goes. */
	seen.hold_remove = true;
	queue_work(system_unbound_wq, &fake->dev->stop_work);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&seen.removing,
							    20 * HZ));
	vnr_rdma_start(fake->dev);
	msleep(20);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	seen.hold_remove = false;
	complete(&seen.go_on);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 2);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
	KUNIT_EXPECT_EQ(test, seen.most, 1);
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

/* A stop while it starts: no device exists when the stop returns, nor later. */
static void rdma_stop_while_starting(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	seen.slow_probe = true;
	for (i = 0; i < 4; i++) {
		vnr_rdma_start(fake->dev);
		msleep(10 * i);
		vnr_rdma_stop(fake->dev);
		KUNIT_EXPECT_NULL(test, fake->dev->aux);
		KUNIT_EXPECT_EQ(test, seen.probes, seen.removes);
		settle(fake);
		KUNIT_EXPECT_NULL(test, fake->dev->aux);
	}
	netdev_gone(netdev);
}

/* DRIVER_OK starts it, if RoCE was negotiated, and a reset stops it. */
static void rdma_follows_child(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);
	struct virtio_device *vdev = fake_vdev(fake);

	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	vdev->config->set_status(vdev, VIRTIO_CONFIG_S_DRIVER);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 0);
	fake->dev->roce = false;
	vdev->config->set_status(vdev, VIRTIO_CONFIG_S_DRIVER_OK);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 0);
	fake->dev->roce = true;
	vdev->config->set_status(vdev, VIRTIO_CONFIG_S_DRIVER_OK);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	fake_reset(fake);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
	settle(fake);
	KUNIT_EXPECT_EQ(test, seen.probes, 1);
	netdev_gone(netdev);
}

/* ----- a device that has lost its objects ----- */

static bool lost;

/* A refusal is the last thing that the device says; and it has said that. */
static bool last_words, said;

static int serve_question(struct fake *fake, struct fake_cmd *cmd)
{
	u8 ack = READ_ONCE(lost) ? VIRTIO_NET_ERR : VIRTIO_NET_OK;

	if (said)
		return -1;
	said = last_words && ack == VIRTIO_NET_ERR;
	fake_scatter(cmd->in, cmd->nin, &ack, sizeof(ack));
	return fake_len(cmd->in, cmd->nin);
}

static struct fake *rdma_asked(struct kunit *test, struct net_device **netdev)
{
	struct fake *fake = rdma_fake(test);

	*netdev = netdev_new(fake);
	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(*netdev));
	settle(fake);
	KUNIT_ASSERT_EQ(test, seen.probes, 1);
	lost = false;
	last_words = false;
	said = false;
	fake->dev->life.ask_ms = 20 * MSEC_PER_SEC;
	/* It is asked when a test says so. */
	fake->dev->life.first_ms = 10 * 60 * MSEC_PER_SEC;
	fake->dev->life.watch_ms = 10 * 60 * MSEC_PER_SEC;
	fake_start(fake, serve_question);
	return fake;
}

/* A change of the configuration has it asked at once; if it refuses the answer it is reset. */
static void rdma_lost(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_asked(test, &netdev);
	struct vnr_dev *dev = fake->dev;

	vnr_recover_look(dev);
	KUNIT_EXPECT_EQ(test, fake->served, 0);
	dev->life.stopped = false;
	vnr_recover_watch(dev);
	vnr_recover_look(dev);
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(fake->served) == 1));
	KUNIT_ASSERT_TRUE(test, fake_wait(!READ_ONCE(dev->life.question)));
	KUNIT_EXPECT_TRUE(test, vnr_life_lives(dev));
	KUNIT_EXPECT_EQ(test, seen.removes, 0);

	WRITE_ONCE(lost, true);
	vnr_recover_look(dev);
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(seen.removes) == 1));
	/* Once more before it is reset. */
	KUNIT_EXPECT_EQ(test, fake->served, 3);
	vnr_recover_stop(dev);
	/* It was quiesced, and is maybe started again. */
	KUNIT_EXPECT_NE(test, vnr_life_state(dev), VNR_DEAD);
	KUNIT_EXPECT_FALSE(test, dev->life.silent);
	fake_stop(fake);
	netdev_gone(netdev);
}

/*
 * A function that has just been restarted, has lost its objects again, and waits for @ms.  If it
 * @ends, it answers nothing any more.
 */
static struct fake *rdma_lost_again(struct kunit *test, unsigned int ms, bool ends,
				    struct net_device **netdev)
{
	struct fake *fake = rdma_asked(test, netdev);
	struct vnr_life *life = &fake->dev->life;

	KUNIT_EXPECT_EQ(test, life->lost_ms, 1000);
	life->lost_ms = ms;
	life->backoff_ms = ms;
	life->restarted = jiffies;
	life->stopped = false;
	KUNIT_EXPECT_TRUE(test, vnr_recover_answers(fake->dev));
	vnr_recover_watch(fake->dev);
	last_words = ends;
	WRITE_ONCE(lost, true);
	vnr_recover_look(fake->dev);
	/* On a busy machine, its time may have passed before this looks. */
	KUNIT_ASSERT_TRUE(test, fake_wait(vnr_life_state(fake->dev) == VNR_LOST ||
					  READ_ONCE(seen.removes)));
	return fake;
}

/* Ethernet goes on until its time has come; the device is asked whether it is still there. */
static void rdma_lost_waits(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_lost_again(test, 2000, false, &netdev);
	struct vnr_dev *dev = fake->dev;
	/* Before it was lost. */
	unsigned long start = dev->life.restarted;
	enum vnr_state state;
	unsigned int removes, served;
	bool mute;

	msleep(500);
	state = vnr_life_state(dev);
	mute = READ_ONCE(dev->life.mute);
	removes = READ_ONCE(seen.removes);
	served = READ_ONCE(fake->served);
	/* Other work on the machine may have made the test late. */
	if (time_before(jiffies, start + 2 * HZ)) {
		KUNIT_EXPECT_EQ(test, state, VNR_LOST);
		KUNIT_EXPECT_FALSE(test, mute);
		KUNIT_EXPECT_EQ(test, removes, 0);
		KUNIT_EXPECT_EQ(test, served, 2);
	} else {
		kunit_info(test, "too busy a machine: not seen while it waits\n");
	}
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(seen.removes) == 1));
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, start + 2 * HZ));
	KUNIT_EXPECT_EQ(test, READ_ONCE(fake->served), 3);
	KUNIT_EXPECT_EQ(test, dev->life.backoff_ms, 2000);
	vnr_recover_stop(dev);
	KUNIT_EXPECT_FALSE(test, dev->life.silent);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* A function is not started whose process has ended while it waited. */
static void rdma_lost_then_silent(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_lost_again(test, 500, true, &netdev);
	struct vnr_dev *dev = fake->dev;

	dev->life.ask_ms = 20;
	dev->life.grace_ms = 20;
	fake_stop(fake);
	KUNIT_ASSERT_TRUE(test, fake_wait(vnr_life_state(dev) == VNR_QUIESCED));
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(seen.removes) == 1));
	flush_delayed_work(&dev->life.recover);
	KUNIT_EXPECT_TRUE(test, dev->life.silent);
	KUNIT_EXPECT_FALSE(test, dev->life.pending);
	KUNIT_EXPECT_EQ(test, fake->resized, 0);
	vnr_recover_stop(dev);
	netdev_gone(netdev);
}

/* The delay ends when the function is taken down. */
static void rdma_lost_stopped(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_lost_again(test, 60 * MSEC_PER_SEC, false, &netdev);
	unsigned long start = jiffies;

	vnr_recover_stop(fake->dev);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + 20 * HZ));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_LOST);
	KUNIT_EXPECT_FALSE(test, vnr_recover_answers(fake->dev));
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	vnr_rdma_stop(fake->dev);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* The RDMA driver was refused something: not the end of Ethernet if the device is lost. */
static void rdma_lost_refuses(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_asked(test, &netdev);

	KUNIT_EXPECT_TRUE(test, vnr_recover_answers(fake->dev));
	WRITE_ONCE(lost, true);
	vnr_recover_refused(fake->dev);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_LOST);
	vnr_recover_refused(fake->dev);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_LOST);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	vnr_rdma_stop(fake->dev);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* One that has never answered is left as it is. */
static void rdma_refuses(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_asked(test, &netdev);

	WRITE_ONCE(lost, true);
	KUNIT_EXPECT_TRUE(test, vnr_recover_answers(fake->dev));
	KUNIT_EXPECT_TRUE(test, vnr_life_lives(fake->dev));
	fake_stop(fake);
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

/* One that has answered, and does not even once after its next start, has lost its objects. */
static void rdma_lost_at_start(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_asked(test, &netdev);
	struct vnr_dev *dev = fake->dev;

	KUNIT_EXPECT_TRUE(test, vnr_recover_answers(dev));
	WRITE_ONCE(lost, true);
	vnr_recover_take_down(dev);
	seen.slow_probe = true;
	vnr_recover_go_on(dev, true);
	/* Before it has the RDMA device it is not asked. */
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(dev->aux)));
	KUNIT_EXPECT_EQ(test, seen.probes, 2);
	KUNIT_EXPECT_FALSE(test, dev->life.answered);
	vnr_recover_look(dev);
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(seen.removes) == 2));
	vnr_recover_stop(dev);
	vnr_recover_take_down(dev);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* A lost device that is about to be removed: nothing waits for its commands. */
static void rdma_lost_at_the_end(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_asked(test, &netdev);

	KUNIT_EXPECT_TRUE(test, vnr_recover_answers(fake->dev));
	WRITE_ONCE(lost, true);
	KUNIT_EXPECT_FALSE(test, vnr_recover_answers(fake->dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	vnr_rdma_stop(fake->dev);
	KUNIT_EXPECT_EQ(test, seen.removes, 1);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* Each queue has its own virtqueue and doorbell. */
static void rdma_queues(struct kunit *test)
{
	struct fake *fake = rdma_fake(test);
	struct net_device *netdev = netdev_new(fake);
	const struct virtio_net_roce_ops *ops;
	struct virtio_net_roce_aux *aux;
	u32 i;

	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(netdev));
	settle(fake);
	aux = seen.aux;
	KUNIT_ASSERT_NOT_NULL(test, aux);
	ops = aux->ops;
	KUNIT_EXPECT_GT(test, aux->num_vectors, 0);
	for (i = 0; i < FAKE_CQS; i++) {
		KUNIT_EXPECT_EQ(test, ops->cq_vq(aux, i)->index, FAKE_ETH + i);
		KUNIT_EXPECT_EQ(test, vnr_cq_vector(fake->dev, i),
				vnr_cq_vector(fake->dev, i % aux->num_vectors));
	}
	for (i = 0; i < FAKE_QPS; i++) {
		KUNIT_EXPECT_EQ(test, ops->sq_vq(aux, i)->index,
				FAKE_ETH + FAKE_CQS + 2 * i);
		KUNIT_EXPECT_EQ(test, ops->rq_vq(aux, i)->index,
				FAKE_ETH + FAKE_CQS + 2 * i + 1);
		fake_rung(fake);
		ops->kick(aux, ops->rq_vq(aux, i));
		KUNIT_EXPECT_EQ(test, fake_rung(fake),
				FAKE_ETH + FAKE_CQS + 2 * i + 1);
	}
	KUNIT_EXPECT_NULL(test, ops->cq_vq(aux, FAKE_CQS));
	KUNIT_EXPECT_NULL(test, ops->sq_vq(aux, FAKE_QPS));
	KUNIT_EXPECT_NULL(test, ops->rq_vq(aux, FAKE_QPS));
	KUNIT_EXPECT_NULL(test, ops->cq_vq(aux, U32_MAX));
	KUNIT_EXPECT_NULL(test, ops->rq_vq(aux, U32_MAX));
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

/* An RDMA driver with a device that it does not trust: an interface, and the driver. */
static struct fake *rdma_distrusted(struct kunit *test, struct net_device **netdev)
{
	struct fake *fake = rdma_fake(test);

	*netdev = netdev_new(fake);
	vnr_rdma_start(fake->dev);
	KUNIT_ASSERT_EQ(test, 0, register_netdev(*netdev));
	settle(fake);
	KUNIT_ASSERT_NOT_NULL(test, seen.aux);
	return fake;
}

/*
 * The RDMA driver is removed, and wants to free memory: the device is reset, and then it
 * may.  The function is restarted.
 */
static void rdma_quiesce(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake;

	fake = rdma_distrusted(test, &netdev);
	fake->dev->life.ask_ms = 20 * MSEC_PER_SEC;
	lost = false;
	fake_start(fake, serve_question);
	vnr_recover_go_on(fake->dev, false);
	seen.quiesce = true;
	seen.quiesced = -EINVAL;
	queue_work(system_unbound_wq, &fake->dev->stop_work);
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(seen.removes)));
	KUNIT_EXPECT_EQ(test, 0, seen.quiesced);
	KUNIT_EXPECT_TRUE(test, fake_wait(vnr_life_state(fake->dev) == VNR_RUNNING));
	KUNIT_EXPECT_EQ(test, fake->resized, FAKE_RESIZES);
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(seen.probes) == 2));
	seen.quiesce = false;
	vnr_recover_stop(fake->dev);
	vnr_rdma_stop(fake->dev);
	fake_stop(fake);
	netdev_gone(netdev);
}

/* The same while the function is taken down, so that there is no recovery. */
static void rdma_quiesce_leaving(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_distrusted(test, &netdev);

	vnr_recover_stop(fake->dev);
	KUNIT_EXPECT_EQ(test, 0, seen.aux->ops->quiesce(seen.aux));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	KUNIT_EXPECT_EQ(test, fake->common->device_status, 0);
	/* Once more, which costs nothing. */
	KUNIT_EXPECT_EQ(test, 0, seen.aux->ops->quiesce(seen.aux));
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

static u8 rdma_status_never(struct vnr_dev *dev)
{
	return VIRTIO_CONFIG_S_DRIVER_OK;
}

/* No reset, and the device stays on the bus: the driver is told that it may not. */
static void rdma_quiesce_never(struct kunit *test)
{
	struct net_device *netdev;
	struct fake *fake = rdma_distrusted(test, &netdev);

	fake->dev->life.reset_ms = 20;
	fake->master = true;
	vnr_recover_stop(fake->dev);
	kunit_activate_static_stub(test, vnr_status, rdma_status_never);
	KUNIT_EXPECT_EQ(test, -EBUSY, seen.aux->ops->quiesce(seen.aux));
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	fake->master = false;
	vnr_rdma_stop(fake->dev);
	netdev_gone(netdev);
}

static struct kunit_case rdma_cases[] = {
	KUNIT_CASE(rdma_needs_both),
	KUNIT_CASE(rdma_once),
	KUNIT_CASE(rdma_other_netdev),
	KUNIT_CASE(rdma_netdev_goes),
	KUNIT_CASE(rdma_netdev_moves),
	KUNIT_CASE(rdma_start_while_stopping),
	KUNIT_CASE(rdma_stop_while_starting),
	KUNIT_CASE(rdma_follows_child),
	KUNIT_CASE(rdma_lost),
	KUNIT_CASE(rdma_lost_waits),
	KUNIT_CASE(rdma_lost_then_silent),
	KUNIT_CASE(rdma_lost_stopped),
	KUNIT_CASE(rdma_lost_refuses),
	KUNIT_CASE(rdma_lost_at_start),
	KUNIT_CASE(rdma_refuses),
	KUNIT_CASE(rdma_lost_at_the_end),
	KUNIT_CASE(rdma_queues),
	KUNIT_CASE(rdma_quiesce),
	KUNIT_CASE(rdma_quiesce_leaving),
	KUNIT_CASE(rdma_quiesce_never),
	{}
};

static struct kunit_suite rdma_suite = {
	.name = "virtio_net_roce_rdma",
	.test_cases = rdma_cases,
};

kunit_test_suite(rdma_suite);
