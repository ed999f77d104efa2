// SPDX-License-Identifier: GPL-2.0
/*
 * The auxiliary device, to which the RDMA driver binds.
 *
 * It exists while the child is up and has a registered interface.
 *
 * The child sets DRIVER_OK under the RTNL lock.  Registering an RDMA device takes that
 * lock, so a work item does the start.  The stop has two causes.  The interface may be
 * unregistered, which also happens under the RTNL lock, and waits until the RDMA device
 * has dropped it; so a work item does this stop, too.  Or the child resets the
 * function, which waits for the stop.
 *
 * The start is on a freezable queue, so a resume registers the RDMA device again only
 * after all devices are awake.
 */
#include <linux/auxiliary_bus.h>
#include <linux/bitmap.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

static DEFINE_IDA(vnr_rdma_ida);

/**
 * struct vnr_aux - the auxiliary device with a pointer to its function
 * @pub: what the RDMA driver sees
 * @dev: valid until the auxiliary device is deleted
 */
struct vnr_aux {
	struct virtio_net_roce_aux pub;
	struct vnr_dev *dev;
};

static struct vnr_dev *vnr_from_aux(struct virtio_net_roce_aux *aux)
{
	return container_of(aux, struct vnr_aux, pub)->dev;
}

/* ----- operations of the auxiliary device ----- */

static int vnr_op_exec(struct virtio_net_roce_aux *aux,
		       struct virtio_net_roce_cmd *cmd)
{
	return vnr_life_exec(vnr_from_aux(aux), cmd);
}

static struct virtio_net_roce_vq *
vnr_op_cq_vq(struct virtio_net_roce_aux *aux, u32 cqn)
{
	return cqn < aux->max_cqs ? &vnr_from_aux(aux)->queues[cqn].pub : NULL;
}

static struct virtio_net_roce_vq *
vnr_op_sq_vq(struct virtio_net_roce_aux *aux, u32 qpn)
{
	if (qpn >= aux->max_qps)
		return NULL;
	return &vnr_from_aux(aux)->queues[aux->max_cqs + 2 * qpn].pub;
}

static struct virtio_net_roce_vq *
vnr_op_rq_vq(struct virtio_net_roce_aux *aux, u32 qpn)
{
	if (qpn >= aux->max_qps)
		return NULL;
	return &vnr_from_aux(aux)->queues[aux->max_cqs + 2 * qpn + 1].pub;
}

static struct virtio_net_roce_vq *
vnr_op_doorbell_vq(struct virtio_net_roce_aux *aux, u32 d)
{
	struct vnr_dev *dev = vnr_from_aux(aux);

	if (d >= aux->num_doorbells)
		return NULL;
	return &dev->queues[aux->max_cqs + 2 * aux->max_qps + d].pub;
}

static void vnr_op_events(struct virtio_net_roce_aux *aux,
			  void (*notify)(struct virtio_net_roce_aux *aux,
					 u16 type, u32 number))
{
	struct vnr_dev *dev = vnr_from_aux(aux);

	if (notify)
		dev->notify_aux = aux;
	/* An interrupt handler that sees the function must also see its argument. */
	smp_store_release(&dev->notify, notify);
	vnr_events_synchronize(dev);
}

static void vnr_op_synchronize(struct virtio_net_roce_aux *aux)
{
	vnr_events_synchronize(vnr_from_aux(aux));
}

static void vnr_op_kick(struct virtio_net_roce_aux *aux,
			struct virtio_net_roce_vq *vq)
{
	iowrite16(vq->index,
		  container_of(vq, struct vnr_rdma_queue, pub)->bell.reg);
}

static int vnr_op_cq_enable(struct virtio_net_roce_aux *aux, u32 cqn,
			    bool kernel, void (*notify)(void *data), void *data)
{
	struct vnr_dev *dev = vnr_from_aux(aux);
	struct vnr_cq *cq = &dev->cqs[cqn];

	if (kernel) {
		cq->arm = vnr_arm_create(dev, cqn);
		if (!cq->arm)
			return -ENOMEM;
	}
	cq->notify = notify;
	cq->data = data;
	cq->hold = aux->cq_hold;
	return 0;
}

static void vnr_op_cq_arm(struct virtio_net_roce_aux *aux, u32 cqn)
{
	struct vnr_dev *dev = vnr_from_aux(aux);
	struct vring_used *used = dev->queues[cqn].pub.vring.used;

	/* If it is still armed, keep the older index: that covers more completions. */
	if (test_bit(cqn, dev->armed))
		return;
	WRITE_ONCE(dev->cqs[cqn].arm_idx,
		   le16_to_cpu((__force __le16)READ_ONCE(used->idx)));
	/* An interrupt handler that sees the bit must also see the index. */
	smp_mb__before_atomic();
	set_bit(cqn, dev->armed);
}

static int vnr_op_cq_request(struct virtio_net_roce_aux *aux, u32 cqn,
			     bool solicited_only)
{
	vnr_op_cq_arm(aux, cqn);
	return vnr_arm_request(vnr_from_aux(aux)->cqs[cqn].arm, solicited_only);
}

static void vnr_op_cq_disable(struct virtio_net_roce_aux *aux, u32 cqn)
{
	struct vnr_dev *dev = vnr_from_aux(aux);
	struct vnr_cq *cq = &dev->cqs[cqn];

	clear_bit(cqn, dev->armed);
	vnr_vectors_synchronize(dev);
	vnr_arm_destroy(cq->arm);
	cq->arm = NULL;
	cq->notify = NULL;
}

static void vnr_op_listen(struct virtio_net_roce_aux *aux,
			  void (*event)(struct virtio_net_roce_aux *aux,
					enum virtio_net_roce_event event))
{
	struct vnr_dev *dev = vnr_from_aux(aux);

	mutex_lock(&dev->event_lock);
	dev->event = event;
	dev->event_aux = aux;
	if (event && vnr_life_event(dev) != VIRTIO_NET_ROCE_RUNS)
		event(aux, vnr_life_event(dev));
	mutex_unlock(&dev->event_lock);
}

static void vnr_op_give_up(struct virtio_net_roce_aux *aux)
{
	struct vnr_dev *dev = vnr_from_aux(aux);

	vnr_life_die(dev, false);
	vnr_ctrl_abandon(dev);
}

static int vnr_op_quiesce(struct virtio_net_roce_aux *aux)
{
	struct vnr_dev *dev = vnr_from_aux(aux);

	vnr_recover_refused(dev);
	return vnr_life_wait_quiesced(dev);
}

/**
 * vnr_rdma_tell() - tell the RDMA driver, if there is one, of the function's state
 * @dev: function
 *
 * The state is read under the lock, so what is told last is the newest state, no matter
 * in which order it changed and who tells.
 *
 * Context: may sleep.
 */
void vnr_rdma_tell(struct vnr_dev *dev)
{
	mutex_lock(&dev->event_lock);
	if (dev->event)
		dev->event(dev->event_aux, vnr_life_event(dev));
	mutex_unlock(&dev->event_lock);
}

static const struct virtio_net_roce_ops vnr_aux_ops = {
	.exec = vnr_op_exec,
	.cq_vq = vnr_op_cq_vq,
	.sq_vq = vnr_op_sq_vq,
	.rq_vq = vnr_op_rq_vq,
	.doorbell_vq = vnr_op_doorbell_vq,
	.events = vnr_op_events,
	.synchronize = vnr_op_synchronize,
	.kick = vnr_op_kick,
	.cq_enable = vnr_op_cq_enable,
	.cq_arm = vnr_op_cq_arm,
	.cq_request = vnr_op_cq_request,
	.cq_disable = vnr_op_cq_disable,
	.listen = vnr_op_listen,
	.give_up = vnr_op_give_up,
	.quiesce = vnr_op_quiesce,
};

/* ----- start and stop ----- */

static void vnr_aux_release(struct device *d)
{
	struct virtio_net_roce_aux *aux =
		to_virtio_net_roce_aux(to_auxiliary_dev(d));

	ida_free(&vnr_rdma_ida, aux->adev.id);
	kfree(container_of(aux, struct vnr_aux, pub));
}

static int vnr_aux_add(struct vnr_dev *dev, struct net_device *netdev)
{
	struct vnr_aux *aux;
	int ret;

	aux = kzalloc(sizeof(*aux), GFP_KERNEL);
	if (!aux)
		return -ENOMEM;
	aux->dev = dev;
	aux->pub.owner = THIS_MODULE;
	aux->pub.dma_dev = vnr_device(dev);
	aux->pub.netdev = netdev;
	aux->pub.max_qps = dev->offer.max_qps;
	aux->pub.max_cqs = dev->offer.max_cqs;
	aux->pub.num_vectors = dev->cq_step;
	aux->pub.num_events = dev->nevents;
	aux->pub.num_doorbells = dev->nqueues - dev->offer.max_cqs -
				 2 * dev->offer.max_qps;
	aux->pub.max_req = vnr_ctrl_max_req(dev);
	aux->pub.event_idx = dev->event_idx;
	aux->pub.ops = &vnr_aux_ops;

	ret = ida_alloc(&vnr_rdma_ida, GFP_KERNEL);
	if (ret < 0)
		goto err_free;
	aux->pub.adev.id = ret;
	aux->pub.adev.name = VIRTIO_NET_ROCE_AUX_NAME;
	aux->pub.adev.dev.parent = vnr_device(dev);
	aux->pub.adev.dev.release = vnr_aux_release;
	ret = auxiliary_device_init(&aux->pub.adev);
	if (ret) {
		ida_free(&vnr_rdma_ida, aux->pub.adev.id);
		goto err_free;
	}
	ret = auxiliary_device_add(&aux->pub.adev);
	if (ret) {
		/* Drops the last reference, which frees it. */
		auxiliary_device_uninit(&aux->pub.adev);
		return ret;
	}
	dev->aux = &aux->pub;
	return 0;

err_free:
	kfree(aux);
	return ret;
}

static void vnr_start_work(struct work_struct *work)
{
	struct vnr_dev *dev = container_of(work, struct vnr_dev, start_work);
	struct net_device *netdev = NULL;
	int ret;

	mutex_lock(&dev->aux_lock);
	spin_lock(&dev->netdev_lock);
	if (dev->wanted && !dev->aux && dev->netdev &&
	    vnr_life_state(dev) == VNR_RUNNING) {
		netdev = dev->netdev;
		/* Until the RDMA driver has a reference of its own. */
		dev_hold(netdev);
	}
	spin_unlock(&dev->netdev_lock);
	if (netdev) {
		ret = vnr_aux_add(dev, netdev);
		if (ret)
			dev_err(vnr_device(dev), "cannot add the RDMA device: %pe\n", ERR_PTR(ret));
		dev_put(netdev);
	}
	mutex_unlock(&dev->aux_lock);
}

/**
 * vnr_rdma_drop() - remove the auxiliary device until the function is started again
 * @dev: function
 *
 * Context: may sleep; the RTNL lock must not be held.
 */
void vnr_rdma_drop(struct vnr_dev *dev)
{
	mutex_lock(&dev->aux_lock);
	if (dev->aux) {
		auxiliary_device_delete(&dev->aux->adev);
		auxiliary_device_uninit(&dev->aux->adev);
		dev->aux = NULL;
	}
	mutex_unlock(&dev->aux_lock);
}

/* Try a start: there may be another interface by now. */
static void vnr_stop_work(struct work_struct *work)
{
	struct vnr_dev *dev = container_of(work, struct vnr_dev, stop_work);

	vnr_rdma_drop(dev);
	queue_work(system_freezable_wq, &dev->start_work);
}

static void vnr_set_wanted(struct vnr_dev *dev, bool wanted)
{
	spin_lock(&dev->netdev_lock);
	dev->wanted = wanted;
	spin_unlock(&dev->netdev_lock);
}

/**
 * vnr_rdma_start() - start the RDMA side as soon as possible
 * @dev: function, running
 *
 * Context: process; the RTNL lock may be held.
 */
void vnr_rdma_start(struct vnr_dev *dev)
{
	vnr_set_wanted(dev, true);
	queue_work(system_freezable_wq, &dev->start_work);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_rdma_start);

/**
 * vnr_rdma_stop() - stop the RDMA side
 * @dev: function; its control queue still works
 *
 * Context: may sleep; the RTNL lock must not be held.
 */
void vnr_rdma_stop(struct vnr_dev *dev)
{
	vnr_set_wanted(dev, false);
	cancel_work_sync(&dev->start_work);
	vnr_rdma_drop(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_rdma_stop);

static int vnr_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct vnr_dev *dev = container_of(nb, struct vnr_dev, netdev_nb);
	struct vnr_child *child = READ_ONCE(dev->child);

	if (!child || netdev->dev.parent != &child->vdev.dev)
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_REGISTER:
		spin_lock(&dev->netdev_lock);
		dev->netdev = netdev;
		spin_unlock(&dev->netdev_lock);
		queue_work(system_freezable_wq, &dev->start_work);
		break;
	case NETDEV_UNREGISTER:
		/*
		 * An interface that moves to another network namespace stays registered,
		 * and is the same one there.  Nobody waits for references to it.
		 */
		if (netdev->reg_state == NETREG_REGISTERED)
			break;
		spin_lock(&dev->netdev_lock);
		dev->netdev = NULL;
		spin_unlock(&dev->netdev_lock);
		queue_work(system_unbound_wq, &dev->stop_work);
		break;
	}
	return NOTIFY_DONE;
}

/**
 * vnr_rdma_init() - prepare the RDMA side, before the child is registered
 * @dev: function
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int vnr_rdma_init(struct vnr_dev *dev)
{
	mutex_init(&dev->aux_lock);
	mutex_init(&dev->event_lock);
	spin_lock_init(&dev->netdev_lock);
	INIT_WORK(&dev->start_work, vnr_start_work);
	INIT_WORK(&dev->stop_work, vnr_stop_work);
	dev->netdev_nb.notifier_call = vnr_netdev_event;
	return register_netdevice_notifier(&dev->netdev_nb);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_rdma_init);

/**
 * vnr_rdma_exit() - undo vnr_rdma_init(), after the child is gone
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_rdma_exit(struct vnr_dev *dev)
{
	unregister_netdevice_notifier(&dev->netdev_nb);
	/* In this order, because the stop work queues the start work. */
	cancel_work_sync(&dev->stop_work);
	cancel_work_sync(&dev->start_work);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_rdma_exit);
