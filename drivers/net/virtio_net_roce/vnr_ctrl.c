// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue.
 *
 * The function has one control queue with two users.  RoCE commands come from
 * vnr_ctrl_exec() (vnr_ctrl_exec.c), Ethernet commands from stock virtio_net through the
 * shadow (vnr_shadow.c).
 *
 * A command (vnr_ctrl_cmd.c) has one reference for the waiter and one for the queue.  If
 * no answer comes in time, the queue is dead.  Then all waiting commands and every further
 * one fail.  The command keeps the queue's reference until the function has been reset.
 *
 * Descriptors are divided by class.  Ethernet may use all of them.  RoCE commands leave
 * some to Ethernet.  Commands that may sleep also leave some to commands that must not
 * sleep.  A RoCE command that finds no room waits in a FIFO, and is sent when an answer
 * makes room.  So if one process floods the queue, other commands wait only for those
 * before them in the FIFO, and atomic commands can still be sent.  Time in the FIFO is
 * not the device's fault, so only a command that was sent can expire.
 */
#include <linux/dma-mapping.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"
#include "vnr_trace.h"

#define VNR_CTRL_TIMEOUT	(30 * HZ)
#define VNR_CTRL_ATOMIC_US	(2 * USEC_PER_SEC)

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
