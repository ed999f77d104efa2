// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue.
 *
 * The function has one control queue and two who use it.  RoCE commands come
 * from vnr_ctrl_exec() and sleep until the interrupt, or poll if they must not
 * sleep.  Ethernet commands come from stock virtio_net, which believes to have a
 * control queue of its own: the shadow, a virtqueue in plain memory.  When
 * virtio_net rings its doorbell, the proxy copies the command to the real queue,
 * and the answer's interrupt copies it back.  virtio_net spins meanwhile, on old
 * kernels with bottom halves off, so all of the proxy works in any context, and
 * a hard timer answers for a device that does not.
 *
 * A command is a heap object that owns every byte that the device may touch.  It
 * has a reference for whoever waits and one for the queue.  If no answer comes
 * in time, the queue is dead: the object keeps the queue's reference until the
 * function has been reset, and every further command fails.
 *
 * Each part of a command (header, request, ack, response) has a descriptor and a
 * buffer of its own, aligned as kmalloc() aligns, as have the pieces that
 * virtio_net makes.  The standard lets a driver merge and split them as it likes,
 * but a device may take the structures of the RFC one by one, and may have no patience
 * with a long chain.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr.h"

/* A request that is not to be had in one piece has pieces of at least this. */
#define VNR_CTRL_CHUNK		(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

/* Parts of a RoCE command beside its request: header, ack, response. */
#define VNR_CTRL_FIXED		3

/* In place of an ack; VIRTIO_NET_OK is what a device says on purpose. */
#define VNR_CTRL_NO_ACK		0xff

/* Descriptors that RoCE commands leave to the proxy. */
#define VNR_CTRL_RESERVE	8

/* A request longer than this counts as slow, of which few are let in. */
#define VNR_CTRL_BIG		PAGE_SIZE
#define VNR_CTRL_BIG_MAX	2

#define VNR_CTRL_TIMEOUT	(30 * HZ)
#define VNR_CTRL_ATOMIC_US	(2 * USEC_PER_SEC)

/* virtio_net spins for the answer: stay below the soft lockup detector's 20 s. */
#define VNR_CTRL_STALL_SEC	5

#define VNR_SHADOW_NUM		64
#define VNR_SHADOW_SEGS		8
#define VNR_SHADOW_LEN_MAX	SZ_64K

struct vnr_shadow_seg {
	void *addr;
	u32 len;
};

/**
 * struct vnr_ctrl_cmd - a command on the real control queue
 * @ref: one for the waiter, one for the queue
 * @finish: called once with the queue's answer, in any context
 * @done: @finish was called, for commands that are waited for
 * @node: on a list of completed commands, or on &vnr_ctrl.proxied
 * @ctrl: back pointer
 * @used: used length that the device gave
 * @head: descriptor of the shadow ring to be answered
 * @segs: device-writable pieces of the shadow's descriptor chain, one for each
 *	device-writable part
 * @max: parts that there is room for
 * @nout: device-readable parts
 * @nin: device-writable parts, behind them
 * @sg: one element per part
 */
struct vnr_ctrl_cmd {
	struct kref ref;
	void (*finish)(struct vnr_ctrl_cmd *cmd);
	struct completion done;
	struct list_head node;
	struct vnr_ctrl *ctrl;
	u32 used;
	u16 head;
	struct vnr_shadow_seg segs[VNR_SHADOW_SEGS];
	unsigned int max;
	unsigned int nout;
	unsigned int nin;
	struct scatterlist sg[];
};

/*
 * A buffer for one part.  Small ones have cache lines of their own, since several
 * are with the device at a time.
 */
static void *vnr_ctrl_buf_alloc(size_t len, gfp_t gfp)
{
	if (len > PAGE_SIZE)
		return alloc_pages_exact(len, gfp | __GFP_ZERO);
	len = max_t(size_t, len, SMP_CACHE_BYTES);
	return kzalloc(roundup_pow_of_two(len), gfp);
}

static void vnr_ctrl_buf_free(void *buf, size_t len)
{
	if (len > PAGE_SIZE)
		free_pages_exact(buf, len);
	else
		kfree(buf);
}

static void vnr_ctrl_cmd_release(struct kref *ref)
{
	struct vnr_ctrl_cmd *cmd = container_of(ref, struct vnr_ctrl_cmd, ref);
	unsigned int i;

	for (i = 0; i < cmd->nout + cmd->nin; i++)
		vnr_ctrl_buf_free(sg_virt(&cmd->sg[i]), cmd->sg[i].length);
	kfree(cmd);
}

static void vnr_ctrl_cmd_put(struct vnr_ctrl_cmd *cmd)
{
	kref_put(&cmd->ref, vnr_ctrl_cmd_release);
}

/* A command without parts, with room for @max of them. */
static struct vnr_ctrl_cmd *
vnr_ctrl_cmd_alloc(struct vnr_ctrl *ctrl, unsigned int max,
		   void (*finish)(struct vnr_ctrl_cmd *cmd), gfp_t gfp)
{
	struct vnr_ctrl_cmd *cmd = kzalloc(struct_size(cmd, sg, max), gfp);

	if (!cmd)
		return NULL;
	kref_init(&cmd->ref);
	init_completion(&cmd->done);
	INIT_LIST_HEAD(&cmd->node);
	cmd->ctrl = ctrl;
	cmd->finish = finish;
	cmd->max = max;
	sg_init_table(cmd->sg, max);
	return cmd;
}

/*
 * Add a part, zeroed: all that the device reads before what it writes, and none
 * without bytes.  Returns its buffer, or NULL.
 */
static void *vnr_ctrl_cmd_add(struct vnr_ctrl_cmd *cmd, bool in, size_t len,
			      gfp_t gfp)
{
	unsigned int n = cmd->nout + cmd->nin;
	void *buf;

	if (n == cmd->max)
		return NULL;
	buf = vnr_ctrl_buf_alloc(len, gfp);
	if (!buf)
		return NULL;
	sg_set_buf(&cmd->sg[n], buf, len);
	if (in)
		cmd->nin++;
	else
		cmd->nout++;
	return buf;
}

static void *vnr_ctrl_cmd_ack(struct vnr_ctrl_cmd *cmd)
{
	return sg_virt(&cmd->sg[cmd->nout]);
}

/*
 * The request in one piece if that can be had, else in as few as can be.  None
 * that is larger than it has to be is worth an effort of the allocator.
 */
static int vnr_ctrl_cmd_add_request(struct vnr_ctrl_cmd *cmd, size_t len,
				    gfp_t gfp)
{
	const gfp_t easy = __GFP_NOWARN | __GFP_NORETRY;
	size_t part = cmd->ctrl->max_part;

	while (len) {
		part = min(part, len);
		if (vnr_ctrl_cmd_add(cmd, false, part, part > VNR_CTRL_CHUNK ?
				     gfp | easy : gfp)) {
			len -= part;
		} else if (part > VNR_CTRL_CHUNK) {
			part = max_t(size_t, VNR_CTRL_CHUNK,
				     round_down(part / 2, VNR_CTRL_CHUNK));
		} else {
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Put a command on the real queue, which takes a reference.  -ENOSPC if there is
 * no room now, -E2BIG if there never is.
 */
static int vnr_ctrl_submit(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd,
			   unsigned int reserve)
{
	struct scatterlist *sgs[2] = { cmd->sg, &cmd->sg[cmd->nout] };
	unsigned int need = cmd->nout + cmd->nin;
	unsigned long flags;
	bool kick = false;
	int ret;

	sg_mark_end(&cmd->sg[cmd->nout - 1]);
	sg_mark_end(&cmd->sg[need - 1]);
	spin_lock_irqsave(&ctrl->lock, flags);
	if (!ctrl->vq || ctrl->dead) {
		ret = -EIO;
	} else if (need > virtqueue_get_vring_size(ctrl->vq) - reserve) {
		ret = -E2BIG;
	} else if (ctrl->vq->num_free < reserve + (ctrl->indirect ? 1 : need)) {
		ret = -ENOSPC;
	} else {
		kref_get(&cmd->ref);
		ret = virtqueue_add_sgs(ctrl->vq, sgs, 1, 1, cmd, GFP_ATOMIC);
		if (ret)
			kref_put(&cmd->ref, vnr_ctrl_cmd_release);
		else
			kick = virtqueue_kick_prepare(ctrl->vq);
	}
	/* Under the lock, or teardown could free the queue before the kick. */
	if (kick)
		virtqueue_notify(ctrl->vq);
	spin_unlock_irqrestore(&ctrl->lock, flags);
	return ret;
}

/* Take answers off the real queue.  Context: any. */
static void vnr_ctrl_reap(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd;
	unsigned long flags;
	u32 len;

	spin_lock_irqsave(&ctrl->lock, flags);
	if (ctrl->vq) {
		do {
			virtqueue_disable_cb(ctrl->vq);
			while ((cmd = virtqueue_get_buf(ctrl->vq, &len))) {
				cmd->used = len;
				cmd->finish(cmd);
				vnr_ctrl_cmd_put(cmd);
			}
		} while (!virtqueue_enable_cb(ctrl->vq));
	}
	spin_unlock_irqrestore(&ctrl->lock, flags);
	wake_up_all(&ctrl->space);
}

/**
 * vnr_ctrl_interrupt() - callback of the real control queue
 * @vq: the queue
 *
 * Context: any.
 */
void vnr_ctrl_interrupt(struct virtqueue *vq)
{
	vnr_ctrl_reap(&vnr_from_vdev(vq->vdev)->ctrl);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_interrupt);

static void vnr_ctrl_kill(struct vnr_dev *dev, const char *what)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&ctrl->lock, flags);
	first = !ctrl->dead;
	ctrl->dead = true;
	spin_unlock_irqrestore(&ctrl->lock, flags);
	wake_up_all(&ctrl->space);
	if (first)
		dev_err(vnr_device(dev),
			"the device does not answer %s; control queue given up until reset\n",
			what);
}

/**
 * vnr_ctrl_abandon() - fail all further commands of a function that is gone
 * @dev: function
 *
 * Context: any.
 */
void vnr_ctrl_abandon(struct vnr_dev *dev)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->ctrl.lock, flags);
	dev->ctrl.dead = true;
	spin_unlock_irqrestore(&dev->ctrl.lock, flags);
	wake_up_all(&dev->ctrl.space);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_abandon);

/* ----- RoCE commands ----- */

static void vnr_ctrl_finish_exec(struct vnr_ctrl_cmd *cmd)
{
	complete(&cmd->done);
}

static int vnr_ctrl_wait_atomic(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd)
{
	unsigned int us;

	for (us = 0; us < ctrl->atomic_us; us++) {
		vnr_ctrl_reap(ctrl);
		if (completion_done(&cmd->done))
			return 0;
		udelay(1);
	}
	return -ETIMEDOUT;
}

/* Returns true when there is no more reason to wait; *ret tells how it went. */
static bool vnr_ctrl_try_submit(struct vnr_ctrl *ctrl,
				struct vnr_ctrl_cmd *cmd, int *ret)
{
	*ret = vnr_ctrl_submit(ctrl, cmd, VNR_CTRL_RESERVE);
	return *ret != -ENOSPC;
}

static int vnr_ctrl_submit_wait(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd)
{
	int ret;

	if (!wait_event_timeout(ctrl->space,
				vnr_ctrl_try_submit(ctrl, cmd, &ret),
				ctrl->timeout))
		return -ETIMEDOUT;
	return ret;
}

static int vnr_ctrl_run(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd,
			bool atomic)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	int ret;

	if (atomic) {
		ret = vnr_ctrl_submit(ctrl, cmd, VNR_CTRL_RESERVE);
		if (ret == -ENOSPC)
			ret = -EAGAIN;
		if (!ret)
			ret = vnr_ctrl_wait_atomic(ctrl, cmd);
	} else {
		ret = vnr_ctrl_submit_wait(ctrl, cmd);
		if (!ret && !wait_for_completion_timeout(&cmd->done,
							 ctrl->timeout))
			ret = -ETIMEDOUT;
	}
	if (ret == -ETIMEDOUT)
		vnr_ctrl_kill(dev, "a RoCE command");
	return ret;
}

/**
 * vnr_ctrl_max_req() - how long the request of a RoCE command may be
 * @dev: device whose control queue runs
 *
 * Return: bytes.
 */
size_t vnr_ctrl_max_req(struct vnr_dev *dev)
{
	unsigned int num = virtqueue_get_vring_size(dev->ctrl.vq);

	/* See vnr_ctrl_submit(). */
	if (num <= VNR_CTRL_RESERVE + VNR_CTRL_FIXED)
		return 0;
	return (num - VNR_CTRL_RESERVE - VNR_CTRL_FIXED) * VNR_CTRL_CHUNK;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_max_req);

static struct vnr_ctrl_cmd *
vnr_ctrl_exec_alloc(struct vnr_ctrl *ctrl,
		    const struct virtio_net_roce_cmd *cmd, size_t len)
{
	const gfp_t gfp = cmd->atomic ? GFP_ATOMIC : GFP_KERNEL;
	struct virtio_net_ctrl_hdr *hdr;
	struct vnr_ctrl_cmd *c;
	u8 *ack;

	c = vnr_ctrl_cmd_alloc(ctrl, VNR_CTRL_FIXED +
			       DIV_ROUND_UP(len, VNR_CTRL_CHUNK),
			       vnr_ctrl_finish_exec, gfp);
	if (!c)
		return NULL;
	hdr = vnr_ctrl_cmd_add(c, false, sizeof(*hdr), gfp);
	if (!hdr || vnr_ctrl_cmd_add_request(c, len, gfp))
		goto err_put;
	hdr->class = VIRTIO_NET_CTRL_ROCE;
	hdr->cmd = cmd->command;
	sg_pcopy_from_buffer(&c->sg[1], c->nout - 1, cmd->req[0].iov_base,
			     cmd->req[0].iov_len, 0);
	sg_pcopy_from_buffer(&c->sg[1], c->nout - 1, cmd->req[1].iov_base,
			     cmd->req[1].iov_len, cmd->req[0].iov_len);

	ack = vnr_ctrl_cmd_add(c, true, sizeof(*ack), gfp);
	if (!ack)
		goto err_put;
	*ack = VNR_CTRL_NO_ACK;
	if (cmd->rsp_len && !vnr_ctrl_cmd_add(c, true, cmd->rsp_len, gfp))
		goto err_put;
	return c;

err_put:
	vnr_ctrl_cmd_put(c);
	return NULL;
}

/*
 * The used length is not looked at: not every device counts the response, and what
 * it did not write is zero.
 */
static int vnr_ctrl_exec_result(const struct virtio_net_roce_cmd *cmd,
				struct vnr_ctrl_cmd *c)
{
	const u8 *ack = vnr_ctrl_cmd_ack(c);

	if (*ack == VNR_CTRL_NO_ACK)
		return -EPROTO;
	if (*ack != VIRTIO_NET_OK)
		return -EREMOTEIO;
	if (cmd->rsp_len)
		memcpy(cmd->rsp, sg_virt(&c->sg[c->nout + 1]), cmd->rsp_len);
	return 0;
}

/**
 * vnr_ctrl_exec() - carry out a RoCE command
 * @dev: function
 * @cmd: command; see &virtio_net_roce_ops.exec
 *
 * Context: may sleep unless @cmd->atomic.
 * Return: see &virtio_net_roce_ops.exec.
 */
int vnr_ctrl_exec(struct vnr_dev *dev, struct virtio_net_roce_cmd *cmd)
{
	size_t len = cmd->req[0].iov_len + cmd->req[1].iov_len;
	bool big = len > VNR_CTRL_BIG && !cmd->atomic;
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct vnr_ctrl_cmd *c;
	int ret;

	c = vnr_ctrl_exec_alloc(ctrl, cmd, len);
	if (!c)
		return -ENOMEM;
	if (big && down_timeout(&ctrl->big, ctrl->timeout)) {
		ret = -EBUSY;
		goto out_put;
	}
	ret = vnr_ctrl_run(dev, c, cmd->atomic);
	if (big)
		up(&ctrl->big);
	if (!ret)
		ret = vnr_ctrl_exec_result(cmd, c);

out_put:
	vnr_ctrl_cmd_put(c);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_exec);

/* ----- the proxy ----- */

/* Answer one buffer of the shadow ring.  Context: shadow_lock held. */
static void vnr_shadow_used(struct vnr_ctrl *ctrl, u16 head, u32 len)
{
	const struct vring *vring = virtqueue_get_vring(ctrl->shadow);
	struct vring_used_elem *elem;

	elem = &vring->used->ring[ctrl->shadow_used % vring->num];
	elem->id = cpu_to_virtio32(&ctrl->shadow_vdev, head);
	elem->len = cpu_to_virtio32(&ctrl->shadow_vdev, len);
	ctrl->shadow_used++;
	/* The element before the index that shows it. */
	virtio_store_mb(true, &vring->used->idx,
			cpu_to_virtio16(&ctrl->shadow_vdev,
					ctrl->shadow_used));
}

/* Answer the child's command.  Context: shadow_lock held. */
static void vnr_shadow_answer(struct vnr_ctrl_cmd *cmd, u32 used)
{
	struct vnr_ctrl *ctrl = cmd->ctrl;

	list_del_init(&cmd->node);
	if (list_empty(&ctrl->proxied))
		hrtimer_try_to_cancel(&ctrl->stall);
	if (!ctrl->shadow)
		return;
	vnr_shadow_used(ctrl, cmd->head, used);
	/* Today's virtio_net polls; a callback would have to be called. */
	vring_interrupt(0, ctrl->shadow);
}

static void vnr_shadow_fail(struct vnr_ctrl_cmd *cmd)
{
	*(u8 *)cmd->segs[0].addr = VIRTIO_NET_ERR;
	vnr_shadow_answer(cmd, 1);
}

/*
 * What the device did not write is what the child put there, as if the child's own
 * buffers had been with the device.
 */
static void vnr_shadow_copy_back(struct vnr_ctrl_cmd *cmd)
{
	unsigned int i;

	for (i = 0; i < cmd->nin; i++)
		memcpy(cmd->segs[i].addr, sg_virt(&cmd->sg[cmd->nout + i]),
		       cmd->segs[i].len);
}

static void vnr_ctrl_finish_proxy(struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = cmd->ctrl;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	/* Not on the list: the stall timer has answered already. */
	if (!list_empty(&cmd->node)) {
		vnr_shadow_copy_back(cmd);
		vnr_shadow_answer(cmd, cmd->used);
	}
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
}

/* The real queue did not take it. */
static void vnr_shadow_refuse(struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = cmd->ctrl;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	if (!list_empty(&cmd->node))
		vnr_shadow_fail(cmd);
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
}

static void vnr_shadow_fail_all(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd, *next;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	list_for_each_entry_safe(cmd, next, &ctrl->proxied, node)
		vnr_shadow_fail(cmd);
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
}

/* Locks may be taken in an irq_work, on every kind of kernel, and not here. */
static enum hrtimer_restart vnr_ctrl_stall(struct hrtimer *timer)
{
	struct vnr_ctrl *ctrl = container_of(timer, struct vnr_ctrl, stall);

	irq_work_queue(&ctrl->stall_work);
	return HRTIMER_NORESTART;
}

static void vnr_ctrl_stall_work(struct irq_work *work)
{
	struct vnr_ctrl *ctrl = container_of(work, struct vnr_ctrl, stall_work);
	struct vnr_dev *dev = container_of(ctrl, struct vnr_dev, ctrl);

	/* The answer may be there and only its interrupt be lost. */
	vnr_ctrl_reap(ctrl);
	if (!list_empty_careful(&ctrl->proxied)) {
		vnr_ctrl_kill(dev, "an Ethernet command");
		vnr_shadow_fail_all(ctrl);
	}
}

/*
 * Collect one descriptor chain of the shadow ring: its readable pieces in @out,
 * its writable ones in @in.  The ring is written by this kernel's virtio_net,
 * but a loop or a chain that does not fit is still answered, not followed.
 * Returns false if the chain cannot be forwarded.
 */
static bool vnr_shadow_walk(struct vnr_ctrl *ctrl, u16 head,
			    struct vnr_shadow_seg *out, unsigned int *nout,
			    struct vnr_shadow_seg *in, unsigned int *nin)
{
	const struct vring *vring = virtqueue_get_vring(ctrl->shadow);
	struct virtio_device *vdev = &ctrl->shadow_vdev;
	struct vnr_shadow_seg seg, *segs;
	struct vring_desc *desc;
	unsigned int *n, steps = 0;
	bool fits = true;
	u16 i = head, flags;

	*nout = 0;
	*nin = 0;
	do {
		if (i >= vring->num || steps++ == vring->num)
			return false;
		desc = &vring->desc[i];
		flags = virtio16_to_cpu(vdev, desc->flags);
		seg.addr = phys_to_virt(virtio64_to_cpu(vdev, desc->addr));
		seg.len = virtio32_to_cpu(vdev, desc->len);
		segs = flags & VRING_DESC_F_WRITE ? in : out;
		n = flags & VRING_DESC_F_WRITE ? nin : nout;
		/* Past those that are too many: the ack may come behind them. */
		if (*n == VNR_SHADOW_SEGS)
			fits = false;
		/* A piece without bytes would be a descriptor without them. */
		else if (seg.len)
			segs[(*n)++] = seg;
		i = virtio16_to_cpu(vdev, desc->next);
	} while (flags & VRING_DESC_F_NEXT);
	return fits && *nout && *nin;
}

static u32 vnr_shadow_len(const struct vnr_shadow_seg *segs, unsigned int n)
{
	u64 len = 0;

	while (n--)
		len += segs[n].len;
	return min_t(u64, len, U32_MAX);
}

/*
 * A command for the real queue that has the pieces of the child's, in buffers of
 * their own; NULL if it cannot be had.
 */
static struct vnr_ctrl_cmd *
vnr_shadow_copy(struct vnr_ctrl *ctrl, const struct vnr_shadow_seg *out,
		unsigned int nout, const struct vnr_shadow_seg *in,
		unsigned int nin)
{
	struct vnr_ctrl_cmd *cmd;
	unsigned int i;
	void *buf;

	if (vnr_shadow_len(out, nout) > VNR_SHADOW_LEN_MAX ||
	    vnr_shadow_len(in, nin) > VNR_SHADOW_LEN_MAX)
		return NULL;
	cmd = vnr_ctrl_cmd_alloc(ctrl, nout + nin, vnr_ctrl_finish_proxy,
				 GFP_ATOMIC);
	if (!cmd)
		return NULL;
	for (i = 0; i < nout + nin; i++) {
		const struct vnr_shadow_seg *seg = i < nout ? &out[i] :
							      &in[i - nout];

		buf = vnr_ctrl_cmd_add(cmd, i >= nout, seg->len, GFP_ATOMIC);
		if (!buf) {
			vnr_ctrl_cmd_put(cmd);
			return NULL;
		}
		memcpy(buf, seg->addr, seg->len);
	}
	memcpy(cmd->segs, in, nin * sizeof(*in));
	return cmd;
}

/*
 * Take the next command off the shadow ring and make a command for the real
 * queue of it, which is then on the list of proxied ones.  NULL if there is
 * none; one that cannot be forwarded is answered here.
 * Context: shadow_lock held.
 */
static struct vnr_ctrl_cmd *vnr_shadow_take(struct vnr_ctrl *ctrl)
{
	const struct vring *vring = virtqueue_get_vring(ctrl->shadow);
	struct vnr_shadow_seg out[VNR_SHADOW_SEGS], in[VNR_SHADOW_SEGS];
	struct vnr_ctrl_cmd *cmd;
	unsigned int nout, nin;
	__virtio16 avail_idx;
	u16 head;

	for (;;) {
		/* The entries of the ring after the index that shows them. */
		avail_idx = smp_load_acquire(&vring->avail->idx);
		if (ctrl->shadow_avail ==
		    virtio16_to_cpu(&ctrl->shadow_vdev, avail_idx))
			return NULL;
		head = virtio16_to_cpu(&ctrl->shadow_vdev,
				       vring->avail->ring[ctrl->shadow_avail %
							  vring->num]);
		ctrl->shadow_avail++;

		cmd = NULL;
		if (vnr_shadow_walk(ctrl, head, out, &nout, in, &nin))
			cmd = vnr_shadow_copy(ctrl, out, nout, in, nin);
		if (!cmd) {
			if (nin)
				*(u8 *)in[0].addr = VIRTIO_NET_ERR;
			vnr_shadow_used(ctrl, head, !!nin);
			continue;
		}
		cmd->head = head;
		list_add_tail(&cmd->node, &ctrl->proxied);
		return cmd;
	}
}

/* virtio_net rings the doorbell of its control queue.  Context: any. */
static bool vnr_ctrl_proxy(struct virtqueue *shadow)
{
	struct vnr_ctrl *ctrl = container_of(shadow->vdev, struct vnr_ctrl,
					     shadow_vdev);
	struct vnr_ctrl_cmd *cmd;
	unsigned long flags;

	for (;;) {
		spin_lock_irqsave(&ctrl->shadow_lock, flags);
		cmd = vnr_shadow_take(ctrl);
		spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
		if (!cmd)
			return true;

		hrtimer_start(&ctrl->stall, ns_to_ktime(ctrl->stall_ns),
			      HRTIMER_MODE_REL_HARD);
		if (vnr_ctrl_submit(ctrl, cmd, 0))
			vnr_shadow_refuse(cmd);
		vnr_ctrl_cmd_put(cmd);
	}
}

/* ----- set-up ----- */

/**
 * vnr_ctrl_init() - prepare the control queue's software, once per function
 * @dev: function
 */
void vnr_ctrl_init(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	spin_lock_init(&ctrl->lock);
	spin_lock_init(&ctrl->shadow_lock);
	ctrl->timeout = VNR_CTRL_TIMEOUT;
	ctrl->atomic_us = VNR_CTRL_ATOMIC_US;
	ctrl->stall_ns = VNR_CTRL_STALL_SEC * NSEC_PER_SEC;
	init_waitqueue_head(&ctrl->space);
	sema_init(&ctrl->big, VNR_CTRL_BIG_MAX);
	INIT_LIST_HEAD(&ctrl->proxied);
	vnr_hrtimer_setup(&ctrl->stall, vnr_ctrl_stall);
	init_irq_work(&ctrl->stall_work, vnr_ctrl_stall_work);

	/*
	 * Without VIRTIO_F_ACCESS_PLATFORM the shadow ring holds physical
	 * addresses, which phys_to_virt() undoes; without indirect descriptors
	 * a chain is in the ring itself.
	 */
	ctrl->shadow_vdev.dev.parent = vnr_device(dev);
	ctrl->shadow_vdev.features = BIT_ULL(VIRTIO_F_VERSION_1);
	INIT_LIST_HEAD(&ctrl->shadow_vdev.vqs);
	spin_lock_init(&ctrl->shadow_vdev.vqs_list_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_init);

/**
 * vnr_ctrl_attach() - take a virtqueue for the real control queue and make its shadow
 * @dev: function
 * @vq: virtqueue with the callback vnr_ctrl_interrupt()
 * @name: for messages
 * @callback: of the child, NULL as a rule
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int vnr_ctrl_attach(struct vnr_dev *dev, struct virtqueue *vq, const char *name,
		    vq_callback_t *callback)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	ctrl->shadow = vring_create_virtqueue(vq->index, VNR_SHADOW_NUM,
					      SMP_CACHE_BYTES,
					      &ctrl->shadow_vdev, true, false,
					      false, vnr_ctrl_proxy, callback,
					      name);
	if (!ctrl->shadow)
		return -ENOMEM;
	ctrl->shadow->num_max = VNR_SHADOW_NUM;
	ctrl->shadow_avail = 0;
	ctrl->shadow_used = 0;
	ctrl->dead = false;
	ctrl->indirect = virtio_has_feature(&dev->child->vdev,
					    VIRTIO_RING_F_INDIRECT_DESC);
	/* Bounce buffers are smaller than what can be allocated. */
	ctrl->max_part = min(round_down(virtio_max_dma_size(vq->vdev),
					VNR_CTRL_CHUNK), KMALLOC_MAX_SIZE);
	ctrl->max_part = max(ctrl->max_part, VNR_CTRL_CHUNK);
	ctrl->vq = vq;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_attach);

/**
 * vnr_ctrl_setup() - make the real control queue and its shadow
 * @dev: function
 * @index: virtqueue number of the control queue
 * @name: for messages
 * @callback: of the child, NULL as a rule
 *
 * Context: may sleep.  The function is not running (before DRIVER_OK).
 * Return: 0 or -errno.
 */
int vnr_ctrl_setup(struct vnr_dev *dev, u16 index, const char *name,
		   vq_callback_t *callback)
{
	struct virtqueue *vq;
	int ret;

	vq = vnr_vq_create(dev, index, vnr_ctrl_interrupt, name, false);
	if (IS_ERR(vq))
		return PTR_ERR(vq);
	ret = vnr_ctrl_attach(dev, vq, name, callback);
	if (ret)
		vnr_vq_destroy(dev, vq);
	return ret;
}

/**
 * vnr_ctrl_detach() - undo vnr_ctrl_attach(), free what the device had not answered
 * @dev: function
 *
 * Context: may sleep.  The function was reset and interrupts are off.
 * Return: the real control queue, NULL if there was none.
 */
struct virtqueue *vnr_ctrl_detach(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct vnr_ctrl_cmd *cmd;
	struct virtqueue *vq, *shadow;

	hrtimer_cancel(&ctrl->stall);
	irq_work_sync(&ctrl->stall_work);
	vnr_shadow_fail_all(ctrl);

	spin_lock_irq(&ctrl->lock);
	vq = ctrl->vq;
	ctrl->vq = NULL;
	spin_unlock_irq(&ctrl->lock);
	wake_up_all(&ctrl->space);

	spin_lock_irq(&ctrl->shadow_lock);
	shadow = ctrl->shadow;
	ctrl->shadow = NULL;
	spin_unlock_irq(&ctrl->shadow_lock);

	if (shadow)
		vring_del_virtqueue(shadow);
	if (!vq)
		return NULL;
	while ((cmd = virtqueue_detach_unused_buf(vq)))
		vnr_ctrl_cmd_put(cmd);
	return vq;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_detach);

/**
 * vnr_ctrl_teardown() - free both queues and what the device had not answered
 * @dev: function
 *
 * Context: may sleep.  The function was reset and interrupts are off.
 */
void vnr_ctrl_teardown(struct vnr_dev *dev)
{
	struct virtqueue *vq = vnr_ctrl_detach(dev);

	if (vq)
		vnr_vq_destroy(dev, vq);
}
