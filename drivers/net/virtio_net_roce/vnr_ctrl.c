// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue.
 *
 * The function has one control queue with two users.  RoCE commands come from
 * vnr_ctrl_exec(), whose caller sleeps until the interrupt, or polls if it must not
 * sleep.  Ethernet commands come from stock virtio_net through the shadow
 * (vnr_shadow.c).
 *
 * A command is a heap object that owns every byte that the device may touch.  It has
 * one reference for the waiter and one for the queue.  If no answer comes in time, the
 * queue is dead.  Then all waiting commands and every further one fail.  The
 * object keeps the queue's reference until the function has been reset.
 *
 * Descriptors are divided by class.  Ethernet may use all of them.  RoCE commands leave
 * some to Ethernet.  Commands that may sleep also leave some to commands that must not
 * sleep.  A RoCE command that finds no room waits in a FIFO, and is sent when an answer
 * makes room.  So if one process floods the queue, other commands wait only for those
 * before them in the FIFO, and atomic commands can still be sent.  Time in the FIFO is
 * not the device's fault, so only a command that was sent can expire.
 *
 * Each part of a command (header, request, ack, response) has its own descriptor and
 * buffer, aligned as by kmalloc().  The standard lets a driver merge and split them
 * freely.  But a device may expect one descriptor for each structure of the RFC, and
 * may not accept a long chain.
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
#include "vnr_ctrl.h"
#include "vnr_trace.h"

/* If a request cannot be allocated in one piece, its pieces have at least this size. */
#define VNR_CTRL_CHUNK		(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

/* Parts of a RoCE command beside its request: header, ack, response. */
#define VNR_CTRL_FIXED		3

/* Descriptors that RoCE commands leave to the shadow. */
#define VNR_CTRL_RESERVE	8

/* Descriptors of the smallest command that has all parts. */
#define VNR_CTRL_LEAST		(VNR_CTRL_FIXED + 1)

/*
 * Commands that may sleep leave one of this many descriptors to commands that must not
 * sleep.
 */
#define VNR_CTRL_URGENT_PART	16
#define VNR_CTRL_URGENT_MAX	(8 * VNR_CTRL_LEAST)

/*
 * A request longer than this is slow, as is one that says so.  Only a few of these are sent
 * at a time.
 */
#define VNR_CTRL_BIG		PAGE_SIZE
#define VNR_CTRL_BIG_MAX	2

#define VNR_CTRL_TIMEOUT	(30 * HZ)
#define VNR_CTRL_ATOMIC_US	(2 * USEC_PER_SEC)

/*
 * A buffer for one part.  Small buffers have their own cache lines, because the device
 * may use several at a time.
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

/**
 * vnr_ctrl_cmd_put() - drop a reference of a command
 * @cmd: command
 *
 * Context: any.
 */
void vnr_ctrl_cmd_put(struct vnr_ctrl_cmd *cmd)
{
	kref_put(&cmd->ref, vnr_ctrl_cmd_release);
}

/**
 * vnr_ctrl_cmd_alloc() - allocate a command without parts
 * @ctrl: control queue
 * @max: number of parts that it has room for
 * @finish: called once with the queue's answer, in any context
 * @gfp: how to allocate
 *
 * Return: the command with one reference, or NULL.
 */
struct vnr_ctrl_cmd *
vnr_ctrl_cmd_alloc(struct vnr_ctrl *ctrl, unsigned int max,
		   void (*finish)(struct vnr_ctrl_cmd *cmd), gfp_t gfp)
{
	struct vnr_ctrl_cmd *cmd = kzalloc(struct_size(cmd, sg, max), gfp);

	if (!cmd)
		return NULL;
	kref_init(&cmd->ref);
	init_completion(&cmd->done);
	INIT_LIST_HEAD(&cmd->node);
	INIT_LIST_HEAD(&cmd->link);
	INIT_LIST_HEAD(&cmd->entry);
	cmd->ctrl = ctrl;
	cmd->finish = finish;
	cmd->max = max;
	sg_init_table(cmd->sg, max);
	return cmd;
}

/**
 * vnr_ctrl_cmd_add() - add a part, zeroed
 * @cmd: command
 * @in: the device writes it; such parts must follow all parts that the device reads
 * @len: its bytes, not 0
 * @gfp: how to allocate
 *
 * Return: its buffer, which the command owns, or NULL.
 */
void *vnr_ctrl_cmd_add(struct vnr_ctrl_cmd *cmd, bool in, size_t len,
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

/**
 * vnr_ctrl_cmd_ack() - the part of a command that the device acknowledges it in
 * @cmd: command with all its parts
 *
 * Return: its buffer.
 */
u8 *vnr_ctrl_cmd_ack(struct vnr_ctrl_cmd *cmd)
{
	return sg_virt(&cmd->sg[cmd->nout]);
}

/*
 * Allocate the request in one piece if possible, else in as few as possible.  For a
 * piece above the minimum size the allocator should not try hard.
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

static unsigned int vnr_ctrl_need(const struct vnr_ctrl_cmd *cmd)
{
	return cmd->nout + cmd->nin;
}

/*
 * Put a command on the real queue.  Context: lock held.
 * Returns 0, -ENOSPC if there is no room now, or the errno of virtio_ring.
 */
static int vnr_ctrl_send(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd)
{
	struct scatterlist *sgs[2] = { cmd->sg, &cmd->sg[cmd->nout] };
	unsigned int need = ctrl->indirect ? 1 : vnr_ctrl_need(cmd);
	int ret;

	if (ctrl->vq->num_free < ctrl->reserve[cmd->class] + need)
		return -ENOSPC;
	ret = virtqueue_add_sgs(ctrl->vq, sgs, 1, 1, cmd, GFP_ATOMIC);
	if (ret)
		return ret;
	cmd->state = VNR_CTRL_SENT;
	cmd->sent = ktime_get();
	list_move_tail(&cmd->link, &ctrl->sent);
	/* Under the lock, or teardown could free the queue before the kick. */
	if (virtqueue_kick_prepare(ctrl->vq))
		virtqueue_notify(ctrl->vq);
	return 0;
}

/**
 * vnr_ctrl_submit() - send a command, or queue it until there is room
 * @ctrl: control queue, which takes a reference
 * @cmd: command with all its parts; may be one that was finished
 * @class: which descriptors it may use; with %VNR_CTRL_PROXY it does not wait
 *
 * Context: any.
 * Return: 0, -ENOSPC if there is no room now and it does not wait, -E2BIG if it needs
 * more room than there can be, -ENOMEM if it cannot be mapped, or -EIO if the queue is
 * dead.
 */
int vnr_ctrl_submit(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd,
		    enum vnr_ctrl_class class)
{
	unsigned int need = vnr_ctrl_need(cmd);
	unsigned long flags;
	int ret = -ENOSPC;

	KUNIT_STATIC_STUB_REDIRECT(vnr_ctrl_submit, ctrl, cmd, class);
	sg_mark_end(&cmd->sg[cmd->nout - 1]);
	sg_mark_end(&cmd->sg[need - 1]);
	spin_lock_irqsave(&ctrl->lock, flags);
	if (!ctrl->vq || ctrl->dead) {
		ret = -EIO;
		goto out_unlock;
	}
	if (ctrl->reserve[class] + need > virtqueue_get_vring_size(ctrl->vq)) {
		ret = -E2BIG;
		goto out_unlock;
	}
	cmd->class = class;
	cmd->err = 0;
	cmd->submitted = ktime_get();
	cmd->sent = 0;
	if (list_empty(&ctrl->waiting[class]))
		ret = vnr_ctrl_send(ctrl, cmd);
	if (ret == -ENOSPC && class != VNR_CTRL_PROXY) {
		cmd->state = VNR_CTRL_WAITING;
		list_add_tail(&cmd->link, &ctrl->waiting[class]);
		ret = 0;
	}
	if (!ret)
		kref_get(&cmd->ref);
out_unlock:
	spin_unlock_irqrestore(&ctrl->lock, flags);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_submit);

/* Context: lock held.  @done takes over the reference of the queue. */
static void vnr_ctrl_done(struct vnr_ctrl_cmd *cmd, int err,
			  struct list_head *done)
{
	trace_vnr_command(container_of(cmd->ctrl, struct vnr_dev, ctrl), cmd,
			  err);
	cmd->state = VNR_CTRL_DONE;
	cmd->err = err;
	list_move_tail(&cmd->link, done);
}

/* There may be room: send waiting commands in their order.  Context: lock held. */
static void vnr_ctrl_pump(struct vnr_ctrl *ctrl, struct list_head *done)
{
	struct vnr_ctrl_cmd *cmd, *next;
	enum vnr_ctrl_class class;
	int ret;

	if (ctrl->dead)
		return;
	for (class = 0; class < VNR_CTRL_CLASSES; class++) {
		list_for_each_entry_safe(cmd, next, &ctrl->waiting[class],
					 link) {
			ret = vnr_ctrl_send(ctrl, cmd);
			if (ret == -ENOSPC)
				break;
			if (ret)
				vnr_ctrl_done(cmd, ret, done);
		}
	}
}

/* Called without the lock, because @finish may submit a command again. */
static void vnr_ctrl_finish(struct list_head *done)
{
	struct vnr_ctrl_cmd *cmd;

	while ((cmd = list_first_entry_or_null(done, struct vnr_ctrl_cmd,
					       link))) {
		list_del_init(&cmd->link);
		cmd->finish(cmd);
		vnr_ctrl_cmd_put(cmd);
	}
}

/*
 * The device gave back what it never got, or never gave, and the core has broken the queue.
 * No answer can come any more, but the device is not silent: it is reset at once.
 */
static void vnr_ctrl_broken(struct vnr_dev *dev)
{
	vnr_life_die(dev, false);
	dev_err(vnr_device(dev),
		"the device has written nonsense to the control queue, which is given up until reset\n");
	vnr_ctrl_abandon(dev);
}

/**
 * vnr_ctrl_reap() - take answers off the real queue, and use the room
 * @ctrl: control queue
 *
 * Context: any.
 */
void vnr_ctrl_reap(struct vnr_ctrl *ctrl)
{
	struct vnr_ctrl_cmd *cmd;
	unsigned long flags;
	bool late = false, broken = false;
	LIST_HEAD(done);
	u32 len;

	spin_lock_irqsave(&ctrl->lock, flags);
	if (ctrl->vq && !ctrl->drained) {
		do {
			virtqueue_disable_cb(ctrl->vq);
			while ((cmd = virtqueue_get_buf(ctrl->vq, &len))) {
				/* It has failed already when the queue was given up. */
				if (cmd->state == VNR_CTRL_LOST) {
					late = true;
					vnr_ctrl_cmd_put(cmd);
					continue;
				}
				cmd->used = len;
				vnr_ctrl_done(cmd, 0, &done);
			}
		} while (!virtqueue_enable_cb(ctrl->vq));
		broken = !ctrl->dead && virtqueue_is_broken(ctrl->vq);
		vnr_ctrl_pump(ctrl, &done);
	}
	spin_unlock_irqrestore(&ctrl->lock, flags);
	vnr_ctrl_finish(&done);
	if (late)
		vnr_life_heard(container_of(ctrl, struct vnr_dev, ctrl));
	if (broken)
		vnr_ctrl_broken(container_of(ctrl, struct vnr_dev, ctrl));
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

/*
 * Fail all commands, so that their callers do not wait any longer.  The device still
 * owns commands that were sent, so these keep the queue's reference, and get the error of
 * one that the device may carry out all the same.  Context: lock held.
 */
static void vnr_ctrl_fail_all(struct vnr_ctrl *ctrl, struct list_head *done)
{
	struct vnr_ctrl_cmd *cmd, *next;
	enum vnr_ctrl_class class;

	list_for_each_entry_safe(cmd, next, &ctrl->sent, link) {
		kref_get(&cmd->ref);
		vnr_ctrl_done(cmd, -ETIMEDOUT, done);
		cmd->state = VNR_CTRL_LOST;
	}
	for (class = 0; class < VNR_CTRL_CLASSES; class++)
		list_for_each_entry_safe(cmd, next, &ctrl->waiting[class], link)
			vnr_ctrl_done(cmd, -EIO, done);
}

/* Returns true if the queue was alive until now. */
static bool vnr_ctrl_give_up(struct vnr_ctrl *ctrl)
{
	unsigned long flags;
	LIST_HEAD(done);
	bool first;

	spin_lock_irqsave(&ctrl->lock, flags);
	first = !ctrl->dead;
	ctrl->dead = true;
	vnr_ctrl_fail_all(ctrl, &done);
	spin_unlock_irqrestore(&ctrl->lock, flags);
	vnr_ctrl_finish(&done);
	return first;
}

/**
 * vnr_ctrl_kill() - the device does not answer: fail all commands
 * @dev: function
 * @what: what was not answered
 *
 * Context: any.
 */
void vnr_ctrl_kill(struct vnr_dev *dev, const char *what)
{
	/* Before the waiters are woken, because they check the state. */
	vnr_life_die(dev, true);
	if (vnr_ctrl_give_up(&dev->ctrl))
		dev_err(vnr_device(dev),
			"the device does not answer %s; control queue given up until reset\n",
			what);
}

/**
 * vnr_ctrl_drain() - take back all commands that a device had when it was quiesced
 * @dev: function whose device touches no memory
 *
 * Context: may sleep.
 */
void vnr_ctrl_drain(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct vnr_ctrl_cmd *cmd;
	unsigned long flags;

	vnr_ctrl_reap(ctrl);
	vnr_ctrl_give_up(ctrl);
	spin_lock_irqsave(&ctrl->lock, flags);
	ctrl->drained = true;
	while (ctrl->vq && (cmd = virtqueue_detach_unused_buf(ctrl->vq)))
		vnr_ctrl_cmd_put(cmd);
	spin_unlock_irqrestore(&ctrl->lock, flags);
}

/**
 * vnr_ctrl_abandon() - fail all commands of a function that is gone
 * @dev: function
 *
 * Context: any.
 */
void vnr_ctrl_abandon(struct vnr_dev *dev)
{
	vnr_ctrl_give_up(&dev->ctrl);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_abandon);

/* ----- RoCE commands ----- */

static void vnr_ctrl_finish_undo(struct vnr_ctrl_cmd *cmd)
{
	if (!cmd->err && *vnr_ctrl_cmd_ack(cmd) != VIRTIO_NET_OK)
		dev_err_ratelimited(vnr_device(container_of(cmd->ctrl, struct vnr_dev, ctrl)),
				    "the device keeps what a late answer has made\n");
}

/*
 * The device has made something that nobody waits for any more.  If there is no memory to
 * undo it, it stays until the function is reset.
 */
static void vnr_ctrl_undo(struct vnr_ctrl_cmd *late)
{
	struct virtio_net_ctrl_hdr *hdr;
	struct vnr_ctrl_cmd *cmd;
	__le32 *req;
	u8 *ack;

	cmd = vnr_ctrl_cmd_alloc(late->ctrl, 3, vnr_ctrl_finish_undo, GFP_ATOMIC);
	if (!cmd)
		return;
	hdr = vnr_ctrl_cmd_add(cmd, false, sizeof(*hdr), GFP_ATOMIC);
	req = hdr ? vnr_ctrl_cmd_add(cmd, false, 2 * sizeof(*req), GFP_ATOMIC) : NULL;
	ack = req ? vnr_ctrl_cmd_add(cmd, true, sizeof(*ack), GFP_ATOMIC) : NULL;
	if (!ack)
		goto out_put;
	hdr->class = VIRTIO_NET_CTRL_ROCE;
	hdr->cmd = late->undo;
	req[0] = *(__le32 *)sg_virt(&late->sg[1]);
	req[1] = *(__le32 *)sg_virt(&late->sg[late->nout + 1]);
	*ack = VNR_CTRL_NO_ACK;
	vnr_ctrl_submit(late->ctrl, cmd, VNR_CTRL_URGENT);
out_put:
	vnr_ctrl_cmd_put(cmd);
}

static void vnr_ctrl_finish_exec(struct vnr_ctrl_cmd *cmd)
{
	if (cmd->orphan && cmd->undo && !cmd->err &&
	    *vnr_ctrl_cmd_ack(cmd) == VIRTIO_NET_OK)
		vnr_ctrl_undo(cmd);
	complete(&cmd->done);
}

/* Has a sent command been without an answer for too long? */
static bool vnr_ctrl_expired(struct vnr_ctrl *ctrl)
{
	const struct vnr_ctrl_cmd *oldest;
	unsigned long flags;
	bool ret;

	spin_lock_irqsave(&ctrl->lock, flags);
	oldest = list_first_entry_or_null(&ctrl->sent, struct vnr_ctrl_cmd,
					  link);
	ret = oldest && ktime_ms_delta(ktime_get(), oldest->sent) >=
			jiffies_to_msecs(ctrl->timeout);
	spin_unlock_irqrestore(&ctrl->lock, flags);
	return ret;
}

/*
 * A waiter also checks whether commands before its own have expired, because not all of
 * them have a waiter.
 */
static int vnr_ctrl_wait(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	while (!wait_for_completion_timeout(&cmd->done,
					    max(ctrl->timeout / 8, 1UL))) {
		/* The answer may have come and only its interrupt been lost. */
		vnr_ctrl_reap(ctrl);
		if (!vnr_ctrl_expired(ctrl))
			continue;
		vnr_ctrl_kill(dev, "a RoCE command");
		wait_for_completion(&cmd->done);
		return cmd->state == VNR_CTRL_LOST ? -ETIMEDOUT : cmd->err;
	}
	return cmd->err;
}

/*
 * Give up a command whose caller must not sleep and has waited too long.  The device
 * is not given up for that: a command that was sent has as much time as any other.
 */
static int vnr_ctrl_withdraw(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	enum vnr_ctrl_state state;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->lock, flags);
	state = cmd->state;
	if (state == VNR_CTRL_WAITING)
		list_del_init(&cmd->link);
	else if (state == VNR_CTRL_SENT)
		cmd->orphan = true;
	spin_unlock_irqrestore(&ctrl->lock, flags);

	switch (state) {
	case VNR_CTRL_WAITING:
		vnr_ctrl_cmd_put(cmd);
		return -EAGAIN;
	case VNR_CTRL_SENT:
		return -ETIMEDOUT;
	default:
		/* Its answer may not have been told yet. */
		return cmd->err;
	}
}

static int vnr_ctrl_poll(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	unsigned int us, patience = ctrl->atomic_us;
	bool sent = false;

	for (us = 0; us < patience; us++) {
		vnr_ctrl_reap(ctrl);
		if (completion_done(&cmd->done))
			return cmd->err;
		/* The time of the device starts when the command is sent. */
		if (!sent && READ_ONCE(cmd->state) != VNR_CTRL_WAITING) {
			sent = true;
			us = 0;
		}
		udelay(1);
	}
	return vnr_ctrl_withdraw(dev, cmd);
}

/**
 * vnr_ctrl_run() - send a command, and wait for its answer
 * @dev: function
 * @cmd: command whose @finish completes @done
 * @atomic: the caller must not sleep
 *
 * Context: may sleep unless @atomic.
 * Return: 0 if there is an answer, else -errno.
 */
int vnr_ctrl_run(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd, bool atomic)
{
	int ret;

	ret = vnr_ctrl_submit(&dev->ctrl, cmd, atomic ? VNR_CTRL_URGENT :
							VNR_CTRL_ORDINARY);
	if (ret)
		return ret;
	return atomic ? vnr_ctrl_poll(dev, cmd) : vnr_ctrl_wait(dev, cmd);
}

/* How many of @num descriptors are reserved for commands that must not sleep. */
static unsigned int vnr_ctrl_urgent(unsigned int num)
{
	return clamp_t(unsigned int, num / VNR_CTRL_URGENT_PART, VNR_CTRL_LEAST,
		       VNR_CTRL_URGENT_MAX);
}

/**
 * vnr_ctrl_is_small() - is a control queue too small for RoCE commands?
 * @num: number of its descriptors
 *
 * Return: true if Ethernet needs all of them.
 */
bool vnr_ctrl_is_small(unsigned int num)
{
	return num < VNR_CTRL_RESERVE + vnr_ctrl_urgent(num) + VNR_CTRL_LEAST;
}

/**
 * vnr_ctrl_max_req() - maximum length of the request of a RoCE command
 * @dev: device whose control queue runs
 *
 * Return: bytes.
 */
size_t vnr_ctrl_max_req(struct vnr_dev *dev)
{
	unsigned int num = virtqueue_get_vring_size(dev->ctrl.vq);

	/* See vnr_ctrl_submit(). */
	if (vnr_ctrl_is_small(num))
		return 0;
	return (num - dev->ctrl.reserve[VNR_CTRL_ORDINARY] - VNR_CTRL_FIXED) *
	       VNR_CTRL_CHUNK;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_max_req);

static struct vnr_ctrl_cmd *
vnr_ctrl_exec_alloc(struct vnr_ctrl *ctrl,
		    const struct virtio_net_roce_cmd *cmd, size_t len)
{
	/*
	 * A long one is as long as a process likes: it is charged to it.  One that
	 * takes something away must not fail for lack of memory.
	 */
	const gfp_t gfp = cmd->atomic ? GFP_ATOMIC :
			  len > VNR_CTRL_BIG ? GFP_KERNEL_ACCOUNT :
			  cmd->settle ? GFP_KERNEL | __GFP_NOFAIL : GFP_KERNEL;
	struct virtio_net_ctrl_hdr *hdr;
	struct vnr_ctrl_cmd *c;
	u8 *ack;

	c = vnr_ctrl_cmd_alloc(ctrl, VNR_CTRL_FIXED +
			       DIV_ROUND_UP(len, VNR_CTRL_CHUNK),
			       vnr_ctrl_finish_exec, gfp);
	if (!c)
		return NULL;
	c->undo = cmd->undo;
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
 * The used length is ignored, because not every device includes the response in it.
 * Bytes that the device did not write are zero.
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
	bool big = (len > VNR_CTRL_BIG || cmd->slow) && !cmd->atomic;
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

/* ----- set-up ----- */

/**
 * vnr_ctrl_init() - prepare the control queue's software, once per function
 * @dev: function
 */
void vnr_ctrl_init(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	enum vnr_ctrl_class class;

	spin_lock_init(&ctrl->lock);
	ctrl->timeout = VNR_CTRL_TIMEOUT;
	ctrl->atomic_us = VNR_CTRL_ATOMIC_US;
	for (class = 0; class < VNR_CTRL_CLASSES; class++)
		INIT_LIST_HEAD(&ctrl->waiting[class]);
	INIT_LIST_HEAD(&ctrl->sent);
	sema_init(&ctrl->big, VNR_CTRL_BIG_MAX);
	vnr_shadow_init(dev);
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_init);

/**
 * vnr_ctrl_attach() - use a virtqueue as the real control queue and create its shadow
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
	int ret;

	ret = vnr_shadow_create(dev, vq->index, name, callback);
	if (ret)
		return ret;
	vnr_ctrl_plug(dev, vq);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_attach);

/**
 * vnr_ctrl_plug() - use a virtqueue as the real control queue of a shadow that exists
 * @dev: function without a real control queue
 * @vq: virtqueue with the callback vnr_ctrl_interrupt()
 *
 * Context: may sleep.
 */
void vnr_ctrl_plug(struct vnr_dev *dev, struct virtqueue *vq)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	unsigned int num = virtqueue_get_vring_size(vq);

	spin_lock_irq(&ctrl->lock);
	ctrl->dead = false;
	ctrl->drained = false;
	ctrl->reserve[VNR_CTRL_PROXY] = 0;
	ctrl->reserve[VNR_CTRL_URGENT] = VNR_CTRL_RESERVE;
	ctrl->reserve[VNR_CTRL_ORDINARY] = VNR_CTRL_RESERVE +
					   vnr_ctrl_urgent(num);
	ctrl->indirect = virtio_has_feature(&dev->child->vdev,
					    VIRTIO_RING_F_INDIRECT_DESC);
	/* A bounce buffer is smaller than the largest allocation. */
	ctrl->max_part = min(round_down(virtio_max_dma_size(vq->vdev),
					VNR_CTRL_CHUNK), KMALLOC_MAX_SIZE);
	ctrl->max_part = max(ctrl->max_part, VNR_CTRL_CHUNK);
	ctrl->vq = vq;
	spin_unlock_irq(&ctrl->lock);
}

/**
 * vnr_ctrl_setup() - create the real control queue and its shadow
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
 * vnr_ctrl_detach() - undo vnr_ctrl_attach(), and free unanswered commands
 * @dev: function
 *
 * Context: may sleep.  The function was reset and interrupts are off.
 * Return: the real control queue, NULL if there was none.
 */
struct virtqueue *vnr_ctrl_detach(struct vnr_dev *dev)
{
	struct virtqueue *vq;

	vnr_shadow_stop(dev);
	vq = vnr_ctrl_unplug(dev);
	vnr_shadow_destroy(dev);
	return vq;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_detach);

/**
 * vnr_ctrl_unplug() - undo vnr_ctrl_plug(), and free unanswered commands
 * @dev: function that was reset
 *
 * Commands of virtio_net fail at once until there is a queue again.
 *
 * Context: may sleep.
 * Return: the real control queue, NULL if there was none.
 */
struct virtqueue *vnr_ctrl_unplug(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct vnr_ctrl_cmd *cmd;
	struct virtqueue *vq;
	LIST_HEAD(done);

	spin_lock_irq(&ctrl->lock);
	vq = ctrl->vq;
	ctrl->vq = NULL;
	vnr_ctrl_fail_all(ctrl, &done);
	spin_unlock_irq(&ctrl->lock);
	vnr_ctrl_finish(&done);

	if (!vq)
		return NULL;
	while ((cmd = virtqueue_detach_unused_buf(vq)))
		vnr_ctrl_cmd_put(cmd);
	return vq;
}

/**
 * vnr_ctrl_teardown() - free both queues and unanswered commands
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
