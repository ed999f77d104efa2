// SPDX-License-Identifier: GPL-2.0
/*
 * Arming the CQs of kernel consumers.
 *
 * Kernel consumers ask for a notification in any context, and cannot handle a failure:
 * the RDMA core takes an errno for "armed" and goes to sleep.  So each of their CQs has
 * a command of its own, allocated with the CQ.  No caller waits for it.  It is sent, or
 * queued until there is room on the control queue, and its answer comes by interrupt.
 * If the consumer asks again meanwhile, the command is sent again after the answer.
 *
 * Until the device has the command, it may complete a request without a notification.
 * So when the answer comes, the driver checks the CQ itself.  It does so from an interrupt
 * of its own: an answer may be found by a caller that polls for another one under a lock.
 */
#include <linux/irq_work.h>
#include <linux/kmemleak.h>
#include <linux/rcupdate.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

/**
 * struct vnr_arm - the command REQ_NOTIFY_CQ of a CQ
 * @ref: one for the CQ, one for the command while it is submitted
 * @dev: function
 * @cqn: number of the CQ
 * @cmd: the command
 * @retry: sends it later if there was no memory, as when bounce buffers run out
 * @look: checks the CQ
 * @rcu: frees it, because @look must not free itself
 * @lock: guards the rest
 * @gone: the CQ is gone, and nothing is sent any more
 * @busy: the command waits for room or for its answer
 * @again: the command has to be sent again after that
 * @any: the command asks for any completion
 */
struct vnr_arm {
	struct kref ref;
	struct vnr_dev *dev;
	u32 cqn;
	struct vnr_ctrl_cmd *cmd;
	struct delayed_work retry;
	struct irq_work look;
	struct rcu_head rcu;
	spinlock_t lock; /* gone, busy, again, any */
	bool gone;
	bool busy;
	bool again;
	bool any;
};

static void vnr_arm_release(struct kref *ref)
{
	struct vnr_arm *arm = container_of(ref, struct vnr_arm, ref);

	vnr_ctrl_cmd_put(arm->cmd);
	kfree_rcu(arm, rcu);
}

/* Has the reference that vnr_arm_finish() took. */
static void vnr_arm_look(struct irq_work *work)
{
	struct vnr_arm *arm = container_of(work, struct vnr_arm, look);
	unsigned long flags;

	/* Without hard interrupts it runs in a thread. */
	local_irq_save(flags);
	vnr_cq_look(arm->dev, arm->cqn);
	local_irq_restore(flags);
	kref_put(&arm->ref, vnr_arm_release);
}

/**
 * vnr_arm_delay() - how long to wait if the command could not be mapped for the device
 *
 * Context: any.
 * Return: jiffies.
 */
unsigned long vnr_arm_delay(void)
{
	KUNIT_STATIC_STUB_REDIRECT(vnr_arm_delay);
	return HZ / 50 + 1;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_arm_delay);

/* Context: lock held. */
static int vnr_arm_send(struct vnr_arm *arm)
{
	struct virtio_rdma_cmd_req_notify *req = sg_virt(&arm->cmd->sg[1]);
	int ret;

	arm->again = false;
	req->cqn = cpu_to_le32(arm->cqn);
	req->flags = cpu_to_le32(arm->any ? VIRTIO_IB_NOTIFY_NEXT_COMPLETION :
					    VIRTIO_IB_NOTIFY_SOLICITED);
	*(u8 *)sg_virt(&arm->cmd->sg[2]) = VNR_CTRL_NO_ACK;
	ret = vnr_ctrl_submit(&arm->dev->ctrl, arm->cmd, VNR_CTRL_URGENT);
	if (ret == -ENOMEM) {
		queue_delayed_work(system_wq, &arm->retry, vnr_arm_delay());
		return 0;
	}
	if (ret)
		return ret;
	arm->busy = true;
	kref_get(&arm->ref);
	return 0;
}

static void vnr_arm_retry(struct work_struct *work)
{
	struct vnr_arm *arm = container_of(to_delayed_work(work),
					   struct vnr_arm, retry);

	spin_lock_irq(&arm->lock);
	if (!arm->busy && !arm->gone)
		vnr_arm_send(arm);
	spin_unlock_irq(&arm->lock);
}

static void vnr_arm_finish(struct vnr_ctrl_cmd *cmd)
{
	const u8 *ack = sg_virt(&cmd->sg[2]);
	struct vnr_arm *arm = cmd->owner;
	unsigned long flags;
	bool refused;

	spin_lock_irqsave(&arm->lock, flags);
	refused = !arm->gone && !cmd->err && *ack != VIRTIO_NET_OK;
	arm->busy = false;
	if (!arm->gone && (arm->again || cmd->err == -ENOMEM))
		vnr_arm_send(arm);
	spin_unlock_irqrestore(&arm->lock, flags);
	if (refused)
		dev_err_ratelimited(vnr_device(arm->dev),
				    "REQ_NOTIFY_CQ failed for CQ %u\n",
				    arm->cqn);

	/* The reference goes over.  vnr_arm_destroy() waits until it is done. */
	if (!irq_work_queue(&arm->look))
		kref_put(&arm->ref, vnr_arm_release);
}

/**
 * vnr_arm_create() - allocate the command of a CQ
 * @dev: function
 * @cqn: number of the CQ
 *
 * Context: may sleep.
 * Return: the command, or NULL.
 */
struct vnr_arm *vnr_arm_create(struct vnr_dev *dev, u32 cqn)
{
	struct virtio_net_ctrl_hdr *hdr;
	struct vnr_ctrl_cmd *cmd;
	struct vnr_arm *arm;
	unsigned int i;

	arm = kzalloc(sizeof(*arm), GFP_KERNEL);
	if (!arm)
		return NULL;
	cmd = vnr_ctrl_cmd_alloc(&dev->ctrl, 3, vnr_arm_finish, GFP_KERNEL);
	if (!cmd)
		goto err_free;
	hdr = vnr_ctrl_cmd_add(cmd, false, sizeof(*hdr), GFP_KERNEL);
	if (!hdr ||
	    !vnr_ctrl_cmd_add(cmd, false,
			      sizeof(struct virtio_rdma_cmd_req_notify),
			      GFP_KERNEL) ||
	    !vnr_ctrl_cmd_add(cmd, true, sizeof(u8), GFP_KERNEL))
		goto err_cmd;
	/* It lives as long as the CQ.  A list of pages is nothing that kmemleak reads. */
	for (i = 0; i < cmd->nout + cmd->nin; i++)
		kmemleak_not_leak(sg_virt(&cmd->sg[i]));
	hdr->class = VIRTIO_NET_CTRL_ROCE;
	hdr->cmd = VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ;
	cmd->owner = arm;
	kref_init(&arm->ref);
	spin_lock_init(&arm->lock);
	INIT_DELAYED_WORK(&arm->retry, vnr_arm_retry);
	arm->look = IRQ_WORK_INIT_HARD(vnr_arm_look);
	arm->dev = dev;
	arm->cqn = cqn;
	arm->cmd = cmd;
	return arm;

err_cmd:
	vnr_ctrl_cmd_put(cmd);
err_free:
	kfree(arm);
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_arm_create);

/**
 * vnr_arm_destroy() - undo vnr_arm_create()
 * @arm: command of a CQ whose bit in &vnr_dev.armed is clear and stays clear; or NULL
 *
 * When this returns, the command may still be waiting or sent, but it does not cause a
 * call of the handler any more.  Context: may sleep.
 */
void vnr_arm_destroy(struct vnr_arm *arm)
{
	if (!arm)
		return;
	spin_lock_irq(&arm->lock);
	arm->gone = true;
	spin_unlock_irq(&arm->lock);
	cancel_delayed_work_sync(&arm->retry);
	irq_work_sync(&arm->look);
	kref_put(&arm->ref, vnr_arm_release);
	/* This waits for all code that runs with interrupts off. */
	synchronize_rcu();
}
EXPORT_SYMBOL_IF_KUNIT(vnr_arm_destroy);

/**
 * vnr_arm_request() - ask for a notification, now or when there is room
 * @arm: command of the CQ
 * @solicited_only: only for solicited completions and errors
 *
 * If two requests wait at a time, one for any completion wins.
 *
 * Context: any.
 * Return: 0, or -EIO if the control queue is dead.
 */
int vnr_arm_request(struct vnr_arm *arm, bool solicited_only)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&arm->lock, flags);
	arm->any = !solicited_only || (arm->any && arm->again);
	if (arm->busy)
		arm->again = true;
	else
		ret = vnr_arm_send(arm);
	spin_unlock_irqrestore(&arm->lock, flags);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_arm_request);
