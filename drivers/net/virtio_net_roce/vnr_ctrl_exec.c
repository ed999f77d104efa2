// SPDX-License-Identifier: GPL-2.0
/*
 * RoCE commands on the control queue: what the RDMA driver has the device do.  The caller
 * sleeps until the interrupt, or polls if it must not sleep.  A caller that gives up leaves
 * its command to the queue, and what a late answer has made is undone.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/scatterlist.h>
#include <linux/virtio_net.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

/* Parts of a RoCE command beside its request: header, ack, response. */
#define VNR_CTRL_FIXED		3

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
 * at a time (VNR_CTRL_BIG_MAX).
 */
#define VNR_CTRL_BIG		PAGE_SIZE

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

	/* See @undo of struct virtio_net_roce_cmd: request and answer begin with these. */
	if (WARN_ON_ONCE(late->nout < 2 || late->nin < 2))
		return;
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

/**
 * vnr_ctrl_urgent() - descriptors that are reserved for commands that must not sleep
 * @num: number of all descriptors of the control queue
 */
unsigned int vnr_ctrl_urgent(unsigned int num)
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
	if (!ret && cmd->command == VIRTIO_NET_CTRL_ROCE_QUERY_PORT)
		vnr_life_answered(dev);

out_put:
	vnr_ctrl_cmd_put(c);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vnr_ctrl_exec);
