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
 * and one for the virtqueue.  If it is not answered in time, the RoCE part is dead:
 * commands fail from then on, and what the device may still write to is freed when the
 * device was reset.
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

/* The time that the device may take for a command. */
#define VIRTNET_ROCE_TIMEOUT	(30 * HZ)
#define VIRTNET_ROCE_ATOMIC_US	(2 * USEC_PER_SEC)

/* What the device does not write. */
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
 * @room: how many commands may be sent
 * @dead: a command was not answered, or the RDMA driver has given up the device
 * @listen_lock: guards @listen
 * @listen: what the RDMA driver has called when the state changes, or NULL
 * @dead_work: calls it
 * @aux: the auxiliary device, NULL if there is none
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
	bool dead;
	struct mutex listen_lock; /* listen */
	void (*listen)(struct virtio_net_roce_aux *aux,
		       enum virtio_net_roce_event event);
	struct work_struct dead_work;
	struct virtnet_roce_aux *aux;
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

/**
 * struct virtnet_roce_cmd - a RoCE command
 * @base: the token
 * @ref: references: waiter, virtqueue
 * @room: to be given back when it was answered
 * @done: completed then
 * @req: its request, NULL if there is none
 * @rsp: its response, NULL if there is none
 * @hdr: its header
 * @ack: written by the device
 */
struct virtnet_roce_cmd {
	struct virtnet_cvq_cmd base;
	struct kref ref;
	struct semaphore *room;
	struct completion done;
	void *req;
	void *rsp;
	/* The device uses these, maybe both at a time. */
	struct virtio_net_ctrl_hdr hdr ____cacheline_aligned;
	u8 ack ____cacheline_aligned;
};

static void virtnet_roce_cmd_release(struct kref *ref)
{
	struct virtnet_roce_cmd *c =
		container_of(ref, struct virtnet_roce_cmd, ref);

	kfree(c->req);
	kfree(c->rsp);
	kfree(c);
}

static void virtnet_roce_cmd_put(struct virtnet_roce_cmd *c)
{
	kref_put(&c->ref, virtnet_roce_cmd_release);
}

static void virtnet_roce_cmd_done(struct virtnet_cvq_cmd *base)
{
	struct virtnet_roce_cmd *c =
		container_of(base, struct virtnet_roce_cmd, base);

	up(c->room);
	complete(&c->done);
	virtnet_roce_cmd_put(c);
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
	if (len) {
		c->req = kmalloc(len, gfp);
		if (!c->req)
			goto err_put;
		memcpy(c->req, cmd->req[0].iov_base, cmd->req[0].iov_len);
		memcpy(c->req + cmd->req[0].iov_len, cmd->req[1].iov_base,
		       cmd->req[1].iov_len);
	}
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
				 struct virtnet_roce_cmd *c, size_t req_len,
				 size_t rsp_len)
{
	struct scatterlist hdr, req, ack, rsp, *sgs[VIRTNET_ROCE_PARTS];
	unsigned int out = 0, in = 0;
	int err;

	sg_init_one(&hdr, &c->hdr, sizeof(c->hdr));
	sgs[out++] = &hdr;
	if (req_len) {
		sg_init_one(&req, c->req, req_len);
		sgs[out++] = &req;
	}
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
	dev_err(&roce->vdev->dev, "RoCE is given up until the device is reset\n");
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
				const struct virtio_net_roce_cmd *cmd,
				size_t len)
{
	bool answered;
	int err;

	err = virtnet_roce_cmd_send(roce, c, len, cmd->rsp_len);
	if (err) {
		up(&roce->room);
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

static int virtnet_roce_take_room(struct virtnet_roce *roce, bool atomic)
{
	if (atomic)
		return down_trylock(&roce->room) ? -EAGAIN : 0;
	return down_timeout(&roce->room, VIRTNET_ROCE_TIMEOUT) ? -EBUSY : 0;
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
	err = virtnet_roce_take_room(roce, cmd->atomic);
	if (!err)
		err = virtnet_roce_cmd_run(roce, c, cmd, len);
	virtnet_roce_cmd_put(c);
out:
	/* A device that was unplugged has no objects and touches no memory. */
	if (err && err != -EREMOTEIO && virtnet_roce_is_gone(roce))
		return -ENODEV;
	return err;
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
	/* Others have their turn before. */
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

static void virtnet_roce_tell(struct virtnet_roce *roce)
{
	if (roce->listen)
		roce->listen(&roce->aux->pub, VIRTIO_NET_ROCE_DEAD);
}

static void virtnet_roce_dead_work(struct work_struct *work)
{
	struct virtnet_roce *roce =
		container_of(work, struct virtnet_roce, dead_work);

	mutex_lock(&roce->listen_lock);
	virtnet_roce_tell(roce);
	mutex_unlock(&roce->listen_lock);
}

static void virtnet_roce_listen(struct virtio_net_roce_aux *aux,
				void (*event)(struct virtio_net_roce_aux *aux,
					      enum virtio_net_roce_event event))
{
	struct virtnet_roce *roce = virtnet_roce_from(aux);

	mutex_lock(&roce->listen_lock);
	roce->listen = event;
	if (READ_ONCE(roce->dead))
		virtnet_roce_tell(roce);
	mutex_unlock(&roce->listen_lock);
}

static void virtnet_roce_give_up(struct virtio_net_roce_aux *aux)
{
	virtnet_roce_die(virtnet_roce_from(aux));
}

/* Ethernet goes on, so the device is not reset for the sake of RoCE. */
static int virtnet_roce_quiesce(struct virtio_net_roce_aux *aux)
{
	struct virtnet_roce *roce = virtnet_roce_from(aux);

	virtnet_roce_die(roce);
	return virtnet_roce_is_gone(roce) ? 0 : -EBUSY;
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
	mutex_init(&roce->listen_lock);
	INIT_WORK(&roce->events_work, virtnet_roce_events_work);
	INIT_WORK(&roce->dead_work, virtnet_roce_dead_work);
	return roce;
}
EXPORT_SYMBOL_GPL(virtnet_roce_create);

/**
 * virtnet_roce_destroy() - undo virtnet_roce_create()
 * @roce: RoCE part, or NULL
 */
void virtnet_roce_destroy(struct virtnet_roce *roce)
{
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

static int virtnet_roce_aux_add(struct virtnet_roce *roce,
				struct net_device *netdev)
{
	struct virtnet_roce_aux *aux;
	int err;

	aux = kzalloc_obj(*aux);
	if (!aux)
		return -ENOMEM;
	aux->roce = roce;
	aux->pub.dma_dev = roce->vdev->dev.parent;
	aux->pub.netdev = netdev;
	aux->pub.max_qps = roce->max_qps;
	aux->pub.max_cqs = roce->max_cqs;
	aux->pub.num_vectors = roce->num_events;
	aux->pub.num_events = roce->num_events;
	aux->pub.num_doorbells = roce->num_doorbells;
	aux->pub.max_req = KMALLOC_MAX_SIZE;
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

/**
 * virtnet_roce_start() - publish the auxiliary device
 * @roce: RoCE part, or NULL
 * @netdev: registered interface of the device, which runs
 *
 * Ethernet works without it, so a failure is reported here only.
 *
 * Context: may sleep; the RTNL lock must not be held.
 */
void virtnet_roce_start(struct virtnet_roce *roce, struct net_device *netdev)
{
	int err;

	if (!roce || !roce->vqs)
		return;
	err = virtnet_roce_aux_add(roce, netdev);
	if (err)
		dev_err(&roce->vdev->dev, "no RoCE: auxiliary device: %d\n", err);
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
	struct virtnet_roce_aux *aux = roce ? roce->aux : NULL;

	if (!aux)
		return;
	auxiliary_device_delete(&aux->pub.adev);
	roce->aux = NULL;
	auxiliary_device_uninit(&aux->pub.adev);
}
EXPORT_SYMBOL_GPL(virtnet_roce_stop);

MODULE_DESCRIPTION("RoCE part of virtio network devices");
MODULE_LICENSE("GPL");
