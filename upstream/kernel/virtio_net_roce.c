// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The RoCE part of a virtio-net device: an auxiliary device for the RDMA driver.
 *
 * virtio_net owns the device and its virtqueues, and has them made with its own.  This
 * file knows commands, events and virtqueues, but no verbs.  The RDMA driver
 * (drivers/infiniband/hw/virtio_roce) knows verbs, but no virtio device.
 *
 * RoCE commands go to the control virtqueue of virtio_net.  A command is a heap object
 * that owns every byte that the device may touch.  It has one reference for the waiter
 * and one for the virtqueue.  If it is not answered in time, the RoCE part is dead: the
 * device is cut off from memory, and Ethernet ends with it, because the RDMA driver must
 * tell its users that they may free what they have posted.  The buffers in the virtqueues
 * are freed when the device was reset.
 *
 * The auxiliary device is removed before tasks are frozen for a system sleep, and not when
 * virtio_net is: the RDMA driver's users have to let go of it.
 *
 * Queues of processes are direct rings, which are ordinary memory.  The RoCE virtqueues
 * of QP 1 and its CQ are for the kernel alone, so their rings need no pages of their own.
 */
#include <linux/auxiliary_bus.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/virtio_net.h>
#include <linux/virtio_net_roce.h>
#include <linux/virtio_net_roce_aux.h>
#include <linux/virtio_ring.h>
#include <linux/workqueue.h>

#include "virtio_net_roce.h"

/* Descriptors of the control virtqueue that are left to Ethernet. */
#define VIRTNET_ROCE_RESERVE	8

/* Descriptors of a RoCE command: header, request, ack, response. */
#define VIRTNET_ROCE_PARTS	4

/* A longer request is in several pieces: a larger one may not be there to be had. */
#define VIRTNET_ROCE_PIECE	(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)
#define VIRTNET_ROCE_PIECES	16

/* The time that the device may take for a command. */
#define VIRTNET_ROCE_TIMEOUT	(30 * HZ)
#define VIRTNET_ROCE_ATOMIC_US	(2 * USEC_PER_SEC)

/* A value that the device does not write. */
#define VIRTNET_ROCE_NO_ACK	0xff

/* Where the RoCE part of the configuration is. */
struct virtnet_roce_config {
	u8 ethernet[VIRTIO_NET_ROCE_CONFIG_OFFSET];
	struct virtio_net_roce_config rfc;
	struct virtio_net_roce_config_rings rings;
};

static_assert(offsetof(struct virtnet_roce_config, rings) ==
	      VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET);

/**
 * struct virtnet_roce_vq - a RoCE virtqueue
 * @pub: what the RDMA driver sees
 * @vq: the virtqueue
 */
struct virtnet_roce_vq {
	struct virtio_net_roce_vq pub;
	struct virtqueue *vq;
};

/**
 * struct virtnet_roce_events - an event virtqueue
 * @lock: serialises the use of @vq
 * @vq: the virtqueue
 * @bufs: its buffers, one for each descriptor
 */
struct virtnet_roce_events {
	spinlock_t lock; /* vq */
	struct virtqueue *vq;
	struct virtio_rdma_event *bufs;
};

/**
 * struct virtnet_roce - the RoCE part of a virtio-net device
 * @vdev: the device
 * @cvq: control virtqueue
 * @max_qps: number of QPs that have virtqueues
 * @max_cqs: number of CQs that have one
 * @num_events: number of event virtqueues
 * @num_doorbells: number of doorbell virtqueues
 * @nvqs: length of @vqs
 * @vqs: CQs, then send and receive queue of each QP, then doorbell virtqueues
 * @events: event virtqueues, NULL while there are none
 * @events_work: reads events that were too many for the interrupt handler
 * @notify: what the RDMA driver has called for each event, or NULL
 * @room: how many times VIRTNET_ROCE_PARTS descriptors are left
 * @long_lock: held by a command that waits for more than one of these
 * @dead: a command was not answered, or the RDMA driver has given up the device
 * @listen_lock: guards @listen and @state
 * @listen: what the RDMA driver has called when the state changes, or NULL
 * @state: the state
 * @dead_work: cuts off the device, and calls @listen
 * @aux_lock: guards @aux, @netdev and @asleep
 * @aux: the auxiliary device, NULL if there is none
 * @netdev: interface while the device runs, else NULL
 * @asleep: the system goes to sleep or wakes up
 * @pm: tells of that
 */
struct virtnet_roce {
	struct virtio_device *vdev;
	struct virtnet_cvq *cvq;
	u32 max_qps;
	u32 max_cqs;
	u16 num_events;
	u16 num_doorbells;

	unsigned int nvqs;
	struct virtnet_roce_vq *vqs;
	struct virtnet_roce_events *events;
	struct work_struct events_work;
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);

	struct semaphore room;
	struct mutex long_lock; /* who waits for room */
	bool dead;
	struct mutex listen_lock; /* listen, state */
	void (*listen)(struct virtio_net_roce_aux *aux,
		       enum virtio_net_roce_event event);
	enum virtio_net_roce_event state;
	struct work_struct dead_work;

	struct mutex aux_lock; /* aux, netdev, asleep */
	struct virtnet_roce_aux *aux;
	struct net_device *netdev;
	bool asleep;
	struct notifier_block pm;
};

/**
 * struct virtnet_roce_aux - the auxiliary device
 * @pub: what the RDMA driver sees
 * @roce: valid until the auxiliary device is deleted
 */
struct virtnet_roce_aux {
	struct virtio_net_roce_aux pub;
	struct virtnet_roce *roce;
};

static DEFINE_IDA(virtnet_roce_ida);

static struct virtnet_roce *virtnet_roce_from(struct virtio_net_roce_aux *aux)
{
	return container_of(aux, struct virtnet_roce_aux, pub)->roce;
}

/* ----- commands ----- */

/*
 * A RoCE command:
 * @base: the token
 * @ref: references: waiter, virtqueue
 * @room: where @units are given back when it was answered
 * @units: of VIRTNET_ROCE_PARTS descriptors
 * @done: completed then
 * @npieces: number of pieces of its request, 0 if there is none
 * @req: these, each in memory of its own
 * @rsp: its response, NULL if there is none
 * @hdr: its header
 * @ack: written by the device
 */
struct virtnet_roce_cmd {
	struct virtnet_cvq_cmd base;
	struct kref ref;
	struct semaphore *room;
	unsigned int units;
	struct completion done;
	unsigned int npieces;
	struct scatterlist req[VIRTNET_ROCE_PIECES];
	void *rsp;
	struct virtio_net_ctrl_hdr hdr;
	__dma_from_device_group_begin();
	u8 ack;
	__dma_from_device_group_end();
};

static void virtnet_roce_cmd_release(struct kref *ref)
{
	struct virtnet_roce_cmd *c =
		container_of(ref, struct virtnet_roce_cmd, ref);
	unsigned int i;

	for (i = 0; i < c->npieces; i++)
		kfree(sg_virt(&c->req[i]));
	kfree(c->rsp);
	kfree(c);
}

static void virtnet_roce_cmd_put(struct virtnet_roce_cmd *c)
{
	kref_put(&c->ref, virtnet_roce_cmd_release);
}

static void virtnet_roce_cmd_give_room(struct virtnet_roce_cmd *c,
				       unsigned int units)
{
	while (units--)
		up(c->room);
}

static void virtnet_roce_cmd_done(struct virtnet_cvq_cmd *base)
{
	struct virtnet_roce_cmd *c =
		container_of(base, struct virtnet_roce_cmd, base);

	virtnet_roce_cmd_give_room(c, c->units);
	complete(&c->done);
	virtnet_roce_cmd_put(c);
}

/* Copy the request, whose two parts are one to the device, into pieces. */
static int virtnet_roce_cmd_fill(struct virtnet_roce_cmd *c,
				 const struct virtio_net_roce_cmd *cmd,
				 size_t len, gfp_t gfp)
{
	struct iov_iter from;
	size_t n;
	void *p;

	sg_init_table(c->req, VIRTNET_ROCE_PIECES);
	iov_iter_kvec(&from, ITER_SOURCE, cmd->req, ARRAY_SIZE(cmd->req), len);
	while ((n = min(iov_iter_count(&from), VIRTNET_ROCE_PIECE))) {
		p = kmalloc(n, gfp);
		if (!p)
			return -ENOMEM;
		sg_set_buf(&c->req[c->npieces++], p, n);
		if (copy_from_iter(p, n, &from) != n)
			return -EFAULT;
	}
	if (c->npieces)
		sg_mark_end(&c->req[c->npieces - 1]);
	return 0;
}

static struct virtnet_roce_cmd *
virtnet_roce_cmd_alloc(struct virtnet_roce *roce,
		       const struct virtio_net_roce_cmd *cmd, size_t len)
{
	/*
	 * A long one is as long as a process likes: it is charged to it.  One that
	 * takes something away must not fail for lack of memory.
	 */
	const gfp_t gfp = cmd->atomic ? GFP_ATOMIC :
			  len > PAGE_SIZE ? GFP_KERNEL_ACCOUNT | __GFP_NOWARN :
			  cmd->settle ? GFP_KERNEL | __GFP_NOFAIL : GFP_KERNEL;
	struct virtnet_roce_cmd *c;

	c = kzalloc_obj(*c, gfp);
	if (!c)
		return NULL;
	kref_init(&c->ref);
	init_completion(&c->done);
	c->base.done = virtnet_roce_cmd_done;
	c->room = &roce->room;
	c->hdr.class = VIRTIO_NET_CTRL_ROCE;
	c->hdr.cmd = cmd->command;
	c->ack = VIRTNET_ROCE_NO_ACK;
	if (virtnet_roce_cmd_fill(c, cmd, len, gfp))
		goto err_put;
	/* Beside the pieces there are header, ack and response. */
	c->units = DIV_ROUND_UP(c->npieces + 3, VIRTNET_ROCE_PARTS);
	if (cmd->rsp_len) {
		c->rsp = kzalloc(cmd->rsp_len, gfp);
		if (!c->rsp)
			goto err_put;
	}
	return c;

err_put:
	virtnet_roce_cmd_put(c);
	return NULL;
}

static int virtnet_roce_cmd_send(struct virtnet_roce *roce,
				 struct virtnet_roce_cmd *c, size_t rsp_len)
{
	struct scatterlist hdr, ack, rsp, *sgs[VIRTNET_ROCE_PARTS];
	unsigned int out = 0, in = 0;
	int err;

	sg_init_one(&hdr, &c->hdr, sizeof(c->hdr));
	sgs[out++] = &hdr;
	if (c->npieces)
		sgs[out++] = c->req;
	sg_init_one(&ack, &c->ack, sizeof(c->ack));
	sgs[out + in++] = &ack;
	if (rsp_len) {
		sg_init_one(&rsp, c->rsp, rsp_len);
		sgs[out + in++] = &rsp;
	}
	kref_get(&c->ref);
	err = virtnet_cvq_send(roce->cvq, sgs, out, in, &c->base);
	if (err)
		virtnet_roce_cmd_put(c);
	return err;
}

static bool virtnet_roce_is_gone(struct virtnet_roce *roce)
{
	struct device *parent = roce->vdev->dev.parent;

	return dev_is_pci(parent) && !pci_device_is_present(to_pci_dev(parent));
}

static void virtnet_roce_die(struct virtnet_roce *roce)
{
	if (xchg(&roce->dead, true))
		return;
	dev_err(&roce->vdev->dev,
		"the device does not answer, and is given up until it is bound again\n");
	schedule_work(&roce->dead_work);
}

/* Returns true if the command was answered. */
static bool virtnet_roce_cmd_poll(struct virtnet_roce *roce,
				  struct virtnet_roce_cmd *c)
{
	unsigned int us;

	for (us = 0; us < VIRTNET_ROCE_ATOMIC_US; us++) {
		virtnet_cvq_reap(roce->cvq);
		if (completion_done(&c->done))
			return true;
		if (virtqueue_is_broken(roce->cvq->vq))
			return false;
		udelay(1);
	}
	return false;
}

static bool virtnet_roce_cmd_wait(struct virtnet_roce *roce,
				  struct virtnet_roce_cmd *c)
{
	unsigned long end = jiffies + VIRTNET_ROCE_TIMEOUT;

	do {
		if (wait_for_completion_timeout(&c->done, HZ))
			return true;
		/* The answer may have come and only its interrupt been lost. */
		virtnet_cvq_reap(roce->cvq);
		if (completion_done(&c->done))
			return true;
	} while (time_before(jiffies, end) &&
		 !virtqueue_is_broken(roce->cvq->vq));
	return false;
}

static int virtnet_roce_cmd_run(struct virtnet_roce *roce,
				struct virtnet_roce_cmd *c,
				const struct virtio_net_roce_cmd *cmd)
{
	bool answered;
	int err;

	err = virtnet_roce_cmd_send(roce, c, cmd->rsp_len);
	if (err) {
		virtnet_roce_cmd_give_room(c, c->units);
		return err == -ENOSPC ? -EAGAIN : err;
	}
	answered = cmd->atomic ? virtnet_roce_cmd_poll(roce, c) :
				 virtnet_roce_cmd_wait(roce, c);
	if (!answered) {
		virtnet_roce_die(roce);
		return -ETIMEDOUT;
	}
	if (c->ack == VIRTNET_ROCE_NO_ACK)
		return -EPROTO;
	if (c->ack != VIRTIO_NET_OK)
		return -EREMOTEIO;
	if (cmd->rsp_len)
		memcpy(cmd->rsp, c->rsp, cmd->rsp_len);
	return 0;
}

static int virtnet_roce_wait_room(struct virtnet_roce *roce,
				  struct virtnet_roce_cmd *c)
{
	unsigned int have;

	for (have = 0; have < c->units; have++) {
		if (down_timeout(&roce->room, VIRTNET_ROCE_TIMEOUT)) {
			virtnet_roce_cmd_give_room(c, have);
			return -EBUSY;
		}
	}
	return 0;
}

static int virtnet_roce_take_room(struct virtnet_roce *roce,
				  struct virtnet_roce_cmd *c, bool atomic)
{
	int err;

	if (atomic)
		return c->units > 1 || down_trylock(&roce->room) ? -EAGAIN : 0;
	if (c->units == 1)
		return virtnet_roce_wait_room(roce, c);
	/* Two of these could wait for each other. */
	mutex_lock(&roce->long_lock);
	err = virtnet_roce_wait_room(roce, c);
	mutex_unlock(&roce->long_lock);
	return err;
}

/*
 * The caller frees memory that the device knows, so it waits until the device is cut off.
 * A device that was, or was unplugged, has no objects and touches no memory.
 */
static int virtnet_roce_failed(struct virtnet_roce *roce,
			       const struct virtio_net_roce_cmd *cmd, int err)
{
	if (cmd->settle && READ_ONCE(roce->dead))
		flush_work(&roce->dead_work);
	if (READ_ONCE(roce->state) == VIRTIO_NET_ROCE_QUIESCED ||
	    virtnet_roce_is_gone(roce))
		return -ENODEV;
	return err;
}

static int virtnet_roce_exec(struct virtio_net_roce_aux *aux,
			     struct virtio_net_roce_cmd *cmd)
{
	size_t len = cmd->req[0].iov_len + cmd->req[1].iov_len;
	struct virtnet_roce *roce = virtnet_roce_from(aux);
	struct virtnet_roce_cmd *c;
	int err = -EIO;

	if (len > aux->max_req)
		return -E2BIG;
	if (READ_ONCE(roce->dead))
		goto out;
	c = virtnet_roce_cmd_alloc(roce, cmd, len);
	if (!c)
		return -ENOMEM;
	err = virtnet_roce_take_room(roce, c, cmd->atomic);
	if (!err)
		err = virtnet_roce_cmd_run(roce, c, cmd);
	virtnet_roce_cmd_put(c);
out:
	return err && err != -EREMOTEIO ? virtnet_roce_failed(roce, cmd, err) : err;
}

/* ----- virtqueues ----- */

static struct virtio_net_roce_vq *
virtnet_roce_cq_vq(struct virtio_net_roce_aux *aux, u32 cqn)
{
	if (cqn >= aux->max_cqs)
		return NULL;
	return &virtnet_roce_from(aux)->vqs[cqn].pub;
}

static struct virtio_net_roce_vq *
virtnet_roce_sq_vq(struct virtio_net_roce_aux *aux, u32 qpn)
{
	if (qpn >= aux->max_qps)
		return NULL;
	return &virtnet_roce_from(aux)->vqs[aux->max_cqs + 2 * qpn].pub;
}

static struct virtio_net_roce_vq *
virtnet_roce_rq_vq(struct virtio_net_roce_aux *aux, u32 qpn)
{
	if (qpn >= aux->max_qps)
		return NULL;
	return &virtnet_roce_from(aux)->vqs[aux->max_cqs + 2 * qpn + 1].pub;
}

static struct virtio_net_roce_vq *
virtnet_roce_doorbell_vq(struct virtio_net_roce_aux *aux, u32 d)
{
	if (d >= aux->num_doorbells)
		return NULL;
	return &virtnet_roce_from(aux)->vqs[aux->max_cqs + 2 * aux->max_qps + d].pub;
}

static void virtnet_roce_kick(struct virtio_net_roce_aux *aux,
			      struct virtio_net_roce_vq *vq)
{
	virtqueue_notify(container_of(vq, struct virtnet_roce_vq, pub)->vq);
}

/*
 * CQs without a control block are notified by the interrupt of their virtqueue.  There
 * are none, because the device has event virtqueues.
 */
static int virtnet_roce_cq_enable(struct virtio_net_roce_aux *aux, u32 cqn,
				  bool kernel, void (*notify)(void *data),
				  void *data)
{
	return -EOPNOTSUPP;
}

static void virtnet_roce_cq_arm(struct virtio_net_roce_aux *aux, u32 cqn)
{
}

static int virtnet_roce_cq_request(struct virtio_net_roce_aux *aux, u32 cqn,
				   bool solicited_only)
{
	return -EIO;
}

static void virtnet_roce_cq_disable(struct virtio_net_roce_aux *aux, u32 cqn)
{
}

/* ----- events ----- */

static int virtnet_roce_event_post(struct virtqueue *vq,
				   struct virtio_rdma_event *buf)
{
	struct scatterlist sg;

	sg_init_one(&sg, buf, sizeof(*buf));
	return virtqueue_add_inbuf(vq, &sg, 1, buf, GFP_ATOMIC);
}

static void virtnet_roce_event_pass_on(struct virtnet_roce *roce,
				       const struct virtio_rdma_event *buf,
				       unsigned int len)
{
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);

	/* Pairs with virtnet_roce_set_events(). */
	notify = smp_load_acquire(&roce->notify);
	if (notify && len >= sizeof(*buf))
		notify(&roce->aux->pub, le16_to_cpu(buf->type),
		       le32_to_cpu(buf->number));
}

/*
 * Pass on events, at most one for each buffer, because the device can use buffers as
 * fast as they are given back.  Returns true if there may be more, and no interrupt will
 * tell.
 */
static bool virtnet_roce_events_some(struct virtnet_roce *roce,
				     struct virtnet_roce_events *q)
{
	unsigned int left = virtqueue_get_vring_size(q->vq), len;
	struct virtio_rdma_event *buf;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	do {
		virtqueue_disable_cb(q->vq);
		while (left && (buf = virtqueue_get_buf(q->vq, &len))) {
			left--;
			virtnet_roce_event_pass_on(roce, buf, len);
			/* There is room for it, or memory for bounces is short. */
			if (virtnet_roce_event_post(q->vq, buf))
				dev_warn_ratelimited(&roce->vdev->dev,
						     "cannot give the device a buffer for events again\n");
		}
	} while (left && !virtqueue_enable_cb(q->vq));
	/* The device may have events that wait for a buffer. */
	virtqueue_kick(q->vq);
	spin_unlock_irqrestore(&q->lock, flags);
	return !left;
}

/**
 * virtnet_roce_interrupt() - an event virtqueue has events
 * @roce: RoCE part
 * @vq: the virtqueue
 *
 * Context: interrupt.
 */
void virtnet_roce_interrupt(struct virtnet_roce *roce, struct virtqueue *vq)
{
	/* NULL before they are set up.  Pairs with virtnet_roce_events_setup(). */
	struct virtnet_roce_events *events = smp_load_acquire(&roce->events);

	if (events &&
	    virtnet_roce_events_some(roce, &events[vq->index - events[0].vq->index]))
		schedule_work(&roce->events_work);
}
EXPORT_SYMBOL_GPL(virtnet_roce_interrupt);

static void virtnet_roce_events_work(struct work_struct *work)
{
	struct virtnet_roce *roce =
		container_of(work, struct virtnet_roce, events_work);
	bool more = false;
	unsigned int e;

	for (e = 0; e < roce->num_events; e++)
		if (virtnet_roce_events_some(roce, &roce->events[e]))
			more = true;
	/* The rest is done later, so that other work gets its turn first. */
	if (more)
		schedule_work(work);
}

static void virtnet_roce_synchronize(struct virtio_net_roce_aux *aux)
{
	struct virtnet_roce *roce = virtnet_roce_from(aux);

	virtio_synchronize_cbs(roce->vdev);
	flush_work(&roce->events_work);
}

static void virtnet_roce_set_events(struct virtio_net_roce_aux *aux,
				    void (*notify)(struct virtio_net_roce_aux *aux,
						   u16 type, u32 number))
{
	/* An interrupt handler that sees the function must also see the device. */
	smp_store_release(&virtnet_roce_from(aux)->notify, notify);
	virtnet_roce_synchronize(aux);
}

static void virtnet_roce_events_free(struct virtnet_roce *roce,
				     struct virtnet_roce_events *events)
{
	unsigned int e;

	for (e = 0; e < roce->num_events; e++) {
		if (events[e].vq)
			while (virtqueue_detach_unused_buf(events[e].vq))
				;
		kfree(events[e].bufs);
	}
	kfree(events);
}

static int virtnet_roce_events_init(struct virtnet_roce_events *q,
				    struct virtqueue *vq)
{
	unsigned int num = virtqueue_get_vring_size(vq), i;
	int err;

	spin_lock_init(&q->lock);
	q->vq = vq;
	q->bufs = kzalloc_objs(*q->bufs, num);
	if (!q->bufs)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		err = virtnet_roce_event_post(vq, &q->bufs[i]);
		if (err)
			return err;
	}
	return 0;
}

static int virtnet_roce_events_setup(struct virtnet_roce *roce,
				     struct virtqueue **vqs)
{
	struct virtnet_roce_events *events;
	unsigned int e;
	int err;

	events = kzalloc_objs(*events, roce->num_events);
	if (!events)
		return -ENOMEM;
	for (e = 0; e < roce->num_events; e++) {
		err = virtnet_roce_events_init(&events[e], vqs[e]);
		if (err) {
			virtnet_roce_events_free(roce, events);
			return err;
		}
	}
	/* An interrupt handler that sees the array must also see the virtqueues. */
	smp_store_release(&roce->events, events);
	return 0;
}

/* ----- death of the device ----- */

/* Context: listen_lock held. */
static void virtnet_roce_tell(struct virtnet_roce *roce)
{
	if (roce->listen)
		roce->listen(&roce->aux->pub, roce->state);
}

static void virtnet_roce_enter(struct virtnet_roce *roce,
			       enum virtio_net_roce_event state)
{
	mutex_lock(&roce->listen_lock);
	WRITE_ONCE(roce->state, state);
	virtnet_roce_tell(roce);
	mutex_unlock(&roce->listen_lock);
}

/*
 * The device may still have every buffer that was posted.  A reset would wait for it,
 * maybe without end.  A PCI function without bus mastering touches no memory, whatever it
 * does.  Ethernet needs that, too, so it ends until the driver is bound again.
 */
static void virtnet_roce_cut_off(struct virtnet_roce *roce)
{
	struct device *parent = roce->vdev->dev.parent;

	netif_carrier_off(roce->netdev);
	virtio_break_device(roce->vdev);
	if (!dev_is_pci(parent)) {
		virtio_reset_device(roce->vdev);
		return;
	}
	pci_clear_master(to_pci_dev(parent));
	if (!pci_wait_for_pending_transaction(to_pci_dev(parent)))
		dev_err(&roce->vdev->dev, "transactions do not end\n");
}

static void virtnet_roce_dead_work(struct work_struct *work)
{
	struct virtnet_roce *roce =
		container_of(work, struct virtnet_roce, dead_work);

	virtnet_roce_enter(roce, VIRTIO_NET_ROCE_DEAD);
	virtnet_roce_cut_off(roce);
	virtnet_roce_enter(roce, VIRTIO_NET_ROCE_QUIESCED);
}

static void virtnet_roce_listen(struct virtio_net_roce_aux *aux,
				void (*event)(struct virtio_net_roce_aux *aux,
					      enum virtio_net_roce_event event))
{
	struct virtnet_roce *roce = virtnet_roce_from(aux);

	mutex_lock(&roce->listen_lock);
	roce->listen = event;
	if (roce->state != VIRTIO_NET_ROCE_RUNS)
		virtnet_roce_tell(roce);
	mutex_unlock(&roce->listen_lock);
}

static void virtnet_roce_give_up(struct virtio_net_roce_aux *aux)
{
	virtnet_roce_die(virtnet_roce_from(aux));
}

static int virtnet_roce_quiesce(struct virtio_net_roce_aux *aux)
{
	struct virtnet_roce *roce = virtnet_roce_from(aux);

	virtnet_roce_die(roce);
	flush_work(&roce->dead_work);
	return 0;
}

static const struct virtio_net_roce_ops virtnet_roce_ops = {
	.exec = virtnet_roce_exec,
	.cq_vq = virtnet_roce_cq_vq,
	.sq_vq = virtnet_roce_sq_vq,
	.rq_vq = virtnet_roce_rq_vq,
	.doorbell_vq = virtnet_roce_doorbell_vq,
	.events = virtnet_roce_set_events,
	.synchronize = virtnet_roce_synchronize,
	.kick = virtnet_roce_kick,
	.cq_enable = virtnet_roce_cq_enable,
	.cq_arm = virtnet_roce_cq_arm,
	.cq_request = virtnet_roce_cq_request,
	.cq_disable = virtnet_roce_cq_disable,
	.listen = virtnet_roce_listen,
	.give_up = virtnet_roce_give_up,
	.quiesce = virtnet_roce_quiesce,
};

/* ----- what virtio_net calls ----- */

static int virtnet_roce_pm(struct notifier_block *nb, unsigned long action,
			   void *unused);

/*
 * The RDMA driver maps memory by the DMA API and keeps it mapped.  So the device must
 * understand addresses of the DMA API, and must not be given copies.
 */
static bool virtnet_roce_dma_works(struct virtio_device *vdev)
{
	struct device *dma_dev = vdev->dev.parent;
	bool same, direct = false;
	unsigned long *word;
	struct page *page;
	dma_addr_t dma;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return false;
	word = page_address(page);
	dma = dma_map_page(dma_dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dma_dev, dma))
		goto out_free;
	/* If the page is copied, the copy, which has no 1, is written back. */
	WRITE_ONCE(*word, 1);
	dma_unmap_page(dma_dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	direct = READ_ONCE(*word) == 1 && !dma_addressing_limited(dma_dev);
	same = dma == page_to_phys(page);
	if (!same && !virtio_has_feature(vdev, VIRTIO_F_ACCESS_PLATFORM))
		direct = false;
out_free:
	__free_page(page);
	return direct;
}

static const char *virtnet_roce_refused(struct virtio_device *vdev)
{
	u32 max_qps, max_cqs;
	u16 events, doorbells;

	if (!virtio_has_feature(vdev, VIRTIO_F_VERSION_1) ||
	    !virtio_has_feature(vdev, VIRTIO_NET_F_CTRL_VQ))
		return "no VIRTIO_F_VERSION_1 or VIRTIO_NET_F_CTRL_VQ";
	/* RoCE virtqueues are split rings with an entry for each slot. */
	if (virtio_has_feature(vdev, VIRTIO_F_RING_PACKED) ||
	    virtio_has_feature(vdev, VIRTIO_F_IN_ORDER))
		return "VIRTIO_F_RING_PACKED or VIRTIO_F_IN_ORDER";
	virtio_cread_le(vdev, struct virtnet_roce_config, rfc.max_rdma_qps,
			&max_qps);
	virtio_cread_le(vdev, struct virtnet_roce_config, rfc.max_rdma_cqs,
			&max_cqs);
	virtio_cread_le(vdev, struct virtnet_roce_config, rings.event_vqs,
			&events);
	virtio_cread_le(vdev, struct virtnet_roce_config, rings.doorbell_vqs,
			&doorbells);
	if (!max_qps || max_qps > VIRTIO_NET_ROCE_MAX_OBJECTS ||
	    !max_cqs || max_cqs > VIRTIO_NET_ROCE_MAX_OBJECTS)
		return "max_rdma_qps or max_rdma_cqs out of range";
	if (!events || !doorbells)
		return "no direct rings";
	if (!virtnet_roce_dma_works(vdev))
		return "the device cannot reach memory as the DMA API maps it";
	return NULL;
}

/**
 * virtnet_roce_validate() - is the RoCE part of a device of use?
 * @vdev: device, before features are acknowledged
 *
 * If not, RoCE is not acknowledged.
 */
void virtnet_roce_validate(struct virtio_device *vdev)
{
	const char *why;

	if (!virtio_has_feature(vdev, VIRTIO_NET_F_ROCE))
		return;
	why = virtnet_roce_refused(vdev);
	if (!why)
		return;
	dev_warn(&vdev->dev, "no RoCE: %s\n", why);
	__virtio_clear_bit(vdev, VIRTIO_NET_F_ROCE);
}
EXPORT_SYMBOL_GPL(virtnet_roce_validate);

/**
 * virtnet_roce_create() - prepare the RoCE part of a device
 * @vdev: device
 * @cvq: its control virtqueue, which does not exist yet
 *
 * Return: the RoCE part, NULL if the device has none or there is no memory for it.
 */
struct virtnet_roce *virtnet_roce_create(struct virtio_device *vdev,
					 struct virtnet_cvq *cvq)
{
	struct virtnet_roce *roce;

	if (!virtio_has_feature(vdev, VIRTIO_NET_F_ROCE))
		return NULL;
	roce = kzalloc_obj(*roce);
	if (!roce)
		return NULL;
	roce->vdev = vdev;
	roce->cvq = cvq;
	virtio_cread_le(vdev, struct virtnet_roce_config, rfc.max_rdma_qps,
			&roce->max_qps);
	virtio_cread_le(vdev, struct virtnet_roce_config, rfc.max_rdma_cqs,
			&roce->max_cqs);
	virtio_cread_le(vdev, struct virtnet_roce_config, rings.event_vqs,
			&roce->num_events);
	virtio_cread_le(vdev, struct virtnet_roce_config, rings.doorbell_vqs,
			&roce->num_doorbells);
	mutex_init(&roce->long_lock);
	mutex_init(&roce->listen_lock);
	mutex_init(&roce->aux_lock);
	INIT_WORK(&roce->events_work, virtnet_roce_events_work);
	INIT_WORK(&roce->dead_work, virtnet_roce_dead_work);
	roce->pm.notifier_call = virtnet_roce_pm;
	if (register_pm_notifier(&roce->pm)) {
		kfree(roce);
		return NULL;
	}
	return roce;
}
EXPORT_SYMBOL_GPL(virtnet_roce_create);

/**
 * virtnet_roce_destroy() - undo virtnet_roce_create()
 * @roce: RoCE part, or NULL
 */
void virtnet_roce_destroy(struct virtnet_roce *roce)
{
	if (!roce)
		return;
	unregister_pm_notifier(&roce->pm);
	kfree(roce);
}
EXPORT_SYMBOL_GPL(virtnet_roce_destroy);

/**
 * virtnet_roce_num_vqs() - number of virtqueues behind the control virtqueue
 * @roce: RoCE part, or NULL
 *
 * Return: number.
 */
unsigned int virtnet_roce_num_vqs(const struct virtnet_roce *roce)
{
	if (!roce)
		return 0;
	return roce->max_cqs + 2 * roce->max_qps + roce->num_events +
	       roce->num_doorbells;
}
EXPORT_SYMBOL_GPL(virtnet_roce_num_vqs);

/**
 * virtnet_roce_vqs_info() - describe these virtqueues
 * @roce: RoCE part, or NULL
 * @info: to be filled in
 * @event: callback of event virtqueues, which calls virtnet_roce_interrupt()
 */
void virtnet_roce_vqs_info(struct virtnet_roce *roce,
			   struct virtqueue_info *info, vq_callback_t *event)
{
	unsigned int i;

	if (!roce)
		return;
	for (i = 0; i < roce->max_cqs; i++, info++)
		info->name = "rdma-cq";
	for (i = 0; i < 2 * roce->max_qps; i++, info++)
		info->name = "rdma-qp";
	for (i = 0; i < roce->num_events; i++, info++) {
		info->name = "rdma-events";
		info->callback = event;
	}
	for (i = 0; i < roce->num_doorbells; i++, info++)
		info->name = "rdma-doorbell";
}
EXPORT_SYMBOL_GPL(virtnet_roce_vqs_info);

static void virtnet_roce_vq_init(struct virtnet_roce_vq *q, struct virtqueue *vq)
{
	const struct vring *vring = virtqueue_get_vring(vq);

	q->vq = vq;
	q->pub = (struct virtio_net_roce_vq) {
		.index = vq->index,
		.vring = *vring,
		.avail_len = struct_size(vring->avail, ring, vring->num) +
			     sizeof(__virtio16),
		.used_len = struct_size(vring->used, ring, vring->num) +
			    sizeof(__virtio16),
	};
}

static int virtnet_roce_vqs_setup(struct virtnet_roce *roce,
				  struct virtqueue **vqs)
{
	unsigned int num = virtqueue_get_vring_size(roce->cvq->vq);
	unsigned int fixed = roce->max_cqs + 2 * roce->max_qps;
	unsigned int i;
	int err;

	if (num < VIRTNET_ROCE_RESERVE + VIRTNET_ROCE_PARTS)
		return -ENOSPC;
	sema_init(&roce->room, (num - VIRTNET_ROCE_RESERVE) / VIRTNET_ROCE_PARTS);
	roce->nvqs = fixed + roce->num_doorbells;
	roce->vqs = kvzalloc_objs(*roce->vqs, roce->nvqs);
	if (!roce->vqs)
		return -ENOMEM;
	for (i = 0; i < fixed; i++)
		virtnet_roce_vq_init(&roce->vqs[i], vqs[i]);
	for (; i < roce->nvqs; i++)
		virtnet_roce_vq_init(&roce->vqs[i], vqs[roce->num_events + i]);
	err = virtnet_roce_events_setup(roce, vqs + fixed);
	if (err) {
		kvfree(roce->vqs);
		roce->vqs = NULL;
	}
	return err;
}

/**
 * virtnet_roce_vqs_found() - use these virtqueues
 * @roce: RoCE part, or NULL
 * @vqs: the virtqueues
 *
 * Ethernet works without RoCE, so a failure is reported here only.
 *
 * Context: may sleep.  The device does not run yet.
 */
void virtnet_roce_vqs_found(struct virtnet_roce *roce, struct virtqueue **vqs)
{
	int err;

	if (!roce)
		return;
	roce->dead = false;
	roce->state = VIRTIO_NET_ROCE_RUNS;
	err = virtnet_roce_vqs_setup(roce, vqs);
	if (err)
		dev_err(&roce->vdev->dev, "no RoCE: virtqueues: %d\n", err);
}
EXPORT_SYMBOL_GPL(virtnet_roce_vqs_found);

/**
 * virtnet_roce_vqs_gone() - undo virtnet_roce_vqs_found()
 * @roce: RoCE part, or NULL
 *
 * This frees what commands without an answer have.
 *
 * Context: may sleep.  The device was reset, and the virtqueues still exist.
 */
void virtnet_roce_vqs_gone(struct virtnet_roce *roce)
{
	struct virtnet_cvq_cmd *cmd;

	if (!roce || !roce->vqs)
		return;
	cancel_work_sync(&roce->events_work);
	cancel_work_sync(&roce->dead_work);
	if (roce->dead && dev_is_pci(roce->vdev->dev.parent))
		pci_set_master(to_pci_dev(roce->vdev->dev.parent));
	while ((cmd = virtqueue_detach_unused_buf(roce->cvq->vq)))
		cmd->done(cmd);
	virtnet_roce_events_free(roce, roce->events);
	roce->events = NULL;
	kvfree(roce->vqs);
	roce->vqs = NULL;
}
EXPORT_SYMBOL_GPL(virtnet_roce_vqs_gone);

static void virtnet_roce_aux_release(struct device *d)
{
	struct virtio_net_roce_aux *aux =
		to_virtio_net_roce_aux(to_auxiliary_dev(d));

	ida_free(&virtnet_roce_ida, aux->adev.id);
	kfree(container_of(aux, struct virtnet_roce_aux, pub));
}

static size_t virtnet_roce_max_req(struct virtnet_roce *roce)
{
	unsigned int num = virtqueue_get_vring_size(roce->cvq->vq);
	unsigned int units = (num - VIRTNET_ROCE_RESERVE) / VIRTNET_ROCE_PARTS;
	unsigned int pieces = units * VIRTNET_ROCE_PARTS - 3;

	return min(pieces, VIRTNET_ROCE_PIECES) * VIRTNET_ROCE_PIECE;
}

static int virtnet_roce_aux_add(struct virtnet_roce *roce)
{
	struct virtnet_roce_aux *aux;
	int err;

	aux = kzalloc_obj(*aux);
	if (!aux)
		return -ENOMEM;
	aux->roce = roce;
	aux->pub.dma_dev = roce->vdev->dev.parent;
	aux->pub.netdev = roce->netdev;
	aux->pub.max_qps = roce->max_qps;
	aux->pub.max_cqs = roce->max_cqs;
	aux->pub.num_vectors = roce->num_events;
	aux->pub.num_events = roce->num_events;
	aux->pub.num_doorbells = roce->num_doorbells;
	aux->pub.max_req = virtnet_roce_max_req(roce);
	aux->pub.event_idx = virtio_has_feature(roce->vdev,
						VIRTIO_RING_F_EVENT_IDX);
	aux->pub.ops = &virtnet_roce_ops;

	err = ida_alloc(&virtnet_roce_ida, GFP_KERNEL);
	if (err < 0)
		goto err_free;
	aux->pub.adev.id = err;
	aux->pub.adev.name = VIRTIO_NET_ROCE_AUX_NAME;
	aux->pub.adev.dev.parent = roce->vdev->dev.parent;
	aux->pub.adev.dev.release = virtnet_roce_aux_release;
	err = auxiliary_device_init(&aux->pub.adev);
	if (err) {
		ida_free(&virtnet_roce_ida, aux->pub.adev.id);
		goto err_free;
	}
	/* The RDMA driver may ask for events at once. */
	roce->aux = aux;
	err = auxiliary_device_add(&aux->pub.adev);
	if (err) {
		roce->aux = NULL;
		/* Drops the last reference, which frees it. */
		auxiliary_device_uninit(&aux->pub.adev);
	}
	return err;

err_free:
	kfree(aux);
	return err;
}

/* Context: aux_lock held. */
static void virtnet_roce_publish(struct virtnet_roce *roce)
{
	int err;

	if (roce->aux || !roce->vqs || !roce->netdev || roce->asleep)
		return;
	err = virtnet_roce_aux_add(roce);
	if (err)
		dev_err(&roce->vdev->dev, "no RoCE: auxiliary device: %d\n", err);
}

/* Context: aux_lock held. */
static void virtnet_roce_withdraw(struct virtnet_roce *roce)
{
	struct virtnet_roce_aux *aux = roce->aux;

	if (!aux)
		return;
	auxiliary_device_delete(&aux->pub.adev);
	/* From here on nobody gives up the device. */
	flush_work(&roce->dead_work);
	roce->aux = NULL;
	auxiliary_device_uninit(&aux->pub.adev);
}

/*
 * Removing the RDMA device waits for those that use it.  So this is done while they run,
 * before tasks are frozen, and undone when they run again.
 */
static int virtnet_roce_pm(struct notifier_block *nb, unsigned long action,
			   void *unused)
{
	struct virtnet_roce *roce = container_of(nb, struct virtnet_roce, pm);

	mutex_lock(&roce->aux_lock);
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		roce->asleep = true;
		virtnet_roce_withdraw(roce);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		roce->asleep = false;
		virtnet_roce_publish(roce);
		break;
	}
	mutex_unlock(&roce->aux_lock);
	return NOTIFY_DONE;
}

/**
 * virtnet_roce_start() - publish the auxiliary device
 * @roce: RoCE part, or NULL
 * @netdev: registered interface of the device, which runs
 *
 * Ethernet works without it, so a failure is reported here only.  While the system wakes
 * up, the auxiliary device is published later.
 *
 * Context: may sleep; the RTNL lock must not be held.
 */
void virtnet_roce_start(struct virtnet_roce *roce, struct net_device *netdev)
{
	if (!roce)
		return;
	mutex_lock(&roce->aux_lock);
	roce->netdev = netdev;
	virtnet_roce_publish(roce);
	mutex_unlock(&roce->aux_lock);
}
EXPORT_SYMBOL_GPL(virtnet_roce_start);

/**
 * virtnet_roce_stop() - remove the auxiliary device
 * @roce: RoCE part, or NULL; its control virtqueue still works
 *
 * Context: may sleep; the RTNL lock must not be held.
 */
void virtnet_roce_stop(struct virtnet_roce *roce)
{
	if (!roce)
		return;
	mutex_lock(&roce->aux_lock);
	virtnet_roce_withdraw(roce);
	roce->netdev = NULL;
	mutex_unlock(&roce->aux_lock);
}
EXPORT_SYMBOL_GPL(virtnet_roce_stop);

MODULE_DESCRIPTION("RoCE part of virtio network devices");
MODULE_LICENSE("GPL");
