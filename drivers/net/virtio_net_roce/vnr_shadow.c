// SPDX-License-Identifier: GPL-2.0
/*
 * The shadow: the queue that virtio_net uses as its control queue.
 *
 * Theory of operation
 * ===================
 *
 * The shadow is a virtqueue in plain memory.  When virtio_net rings its doorbell, the
 * proxy copies the command to the real queue (vnr_ctrl.c).  The interrupt of the answer
 * copies the answer back. virtio_net spins meanwhile, on old kernels with bottom halves
 * off.  So all of this works in any context, and a hard timer answers VIRTIO_NET_ERR if
 * the device does not answer.
 *
 * A command keeps the pieces in which virtio_net sent it, because a device may expect
 * one piece for each structure.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "virtio_net_roce_compat.h"
#include "vnr_ctrl.h"

/* virtio_net spins for the answer: stay below the soft lockup detector's 20 s. */
#define VNR_SHADOW_STALL_SEC	5

#define VNR_SHADOW_NUM		64
#define VNR_SHADOW_LEN_MAX	SZ_64K

/* Answer one buffer of the shadow ring.  Context: shadow_lock held. */
static void vnr_shadow_used(struct vnr_ctrl *ctrl, u16 head, u32 len)
{
	const struct vring *vring = virtqueue_get_vring(ctrl->shadow);
	struct vring_used_elem *elem;

	elem = &vring->used->ring[ctrl->shadow_used % vring->num];
	elem->id = cpu_to_virtio32(&ctrl->shadow_vdev, head);
	elem->len = cpu_to_virtio32(&ctrl->shadow_vdev, len);
	ctrl->shadow_used++;
	/* Store the element before the index that shows it. */
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
	/* virtio_net polls today, but a callback would have to be called. */
	vring_interrupt(0, ctrl->shadow);
}

static void vnr_shadow_fail(struct vnr_ctrl_cmd *cmd)
{
	vnr_journal_note(cmd, false);
	*(u8 *)cmd->segs[0].addr = VIRTIO_NET_ERR;
	vnr_shadow_answer(cmd, 1);
}

/*
 * Bytes that the device did not write keep the child's data, as if the device had used
 * the child's own buffers.
 */
static void vnr_shadow_copy_back(struct vnr_ctrl_cmd *cmd)
{
	unsigned int i;

	for (i = 0; i < cmd->nin; i++)
		memcpy(cmd->segs[i].addr, sg_virt(&cmd->sg[cmd->nout + i]),
		       cmd->segs[i].len);
}

static void vnr_shadow_finish(struct vnr_ctrl_cmd *cmd)
{
	struct vnr_ctrl *ctrl = cmd->ctrl;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	/* If it is not on the list, the stall timer has already answered. */
	if (!list_empty(&cmd->node) && cmd->err) {
		vnr_shadow_fail(cmd);
	} else if (!list_empty(&cmd->node)) {
		vnr_shadow_copy_back(cmd);
		if (*vnr_ctrl_cmd_ack(cmd) == VIRTIO_NET_OK)
			vnr_journal_note(cmd, true);
		vnr_shadow_answer(cmd, cmd->used);
	}
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
}

/* Fail a command that the real queue did not accept. */
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

/*
 * Start the timer for the oldest command.  The later commands have later deadlines,
 * which are checked when this one has passed.  Context: shadow_lock held.
 */
static void vnr_shadow_watch(struct vnr_ctrl *ctrl)
{
	const struct vnr_ctrl_cmd *oldest;

	oldest = list_first_entry_or_null(&ctrl->proxied, struct vnr_ctrl_cmd,
					  node);
	if (oldest)
		hrtimer_start(&ctrl->stall, oldest->deadline,
			      HRTIMER_MODE_ABS_HARD);
}

/*
 * Has the oldest command waited for too long?  If not, the timer may have been started
 * for another command, so start it again.
 */
static bool vnr_shadow_is_late(struct vnr_ctrl *ctrl)
{
	const struct vnr_ctrl_cmd *oldest;
	unsigned long flags;
	bool late;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	oldest = list_first_entry_or_null(&ctrl->proxied, struct vnr_ctrl_cmd,
					  node);
	late = oldest && ktime_compare(ktime_get(), oldest->deadline) >= 0;
	if (!late)
		vnr_shadow_watch(ctrl);
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
	return late;
}

/* Not every kernel allows taking locks here, but all allow it in an irq_work. */
static enum hrtimer_restart vnr_shadow_stall(struct hrtimer *timer)
{
	struct vnr_ctrl *ctrl = container_of(timer, struct vnr_ctrl, stall);

	irq_work_queue(&ctrl->stall_work);
	return HRTIMER_NORESTART;
}

static void vnr_shadow_stall_work(struct irq_work *work)
{
	struct vnr_ctrl *ctrl = container_of(work, struct vnr_ctrl, stall_work);
	struct vnr_dev *dev = container_of(ctrl, struct vnr_dev, ctrl);

	/* The answer may have come and only its interrupt been lost. */
	vnr_ctrl_reap(ctrl);
	if (vnr_shadow_is_late(ctrl)) {
		vnr_ctrl_kill(dev, "an Ethernet command");
		vnr_shadow_fail_all(ctrl);
	}
}

/*
 * Collect one descriptor chain of the shadow ring: its readable pieces in @out,
 * its writable ones in @in.  The ring is written by this kernel's virtio_net.  Still, a
 * loop or a chain that does not fit is not followed, but answered with an error.
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
		/* Skip pieces that are too many, because the ack may follow them. */
		if (*n == VNR_SHADOW_SEGS)
			fits = false;
		/* Skip an empty piece, which would make an empty descriptor. */
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
 * Make a command for the real queue with copies of the pieces of the child's command.
 * NULL if that is not possible.
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
	cmd = vnr_ctrl_cmd_alloc(ctrl, nout + nin, vnr_shadow_finish,
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
 * Take the next command off the shadow ring, make a command for the real queue from it
 * and put that on the list of proxied commands.  NULL if there is none.  A command that
 * cannot be forwarded is answered here.
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
		/* Read the entries of the ring after the index that shows them. */
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
		cmd->deadline = ktime_add_ns(ktime_get(), ctrl->stall_ns);
		list_add_tail(&cmd->node, &ctrl->proxied);
		vnr_shadow_watch(ctrl);
		return cmd;
	}
}

/* virtio_net rings the doorbell of its control queue.  Context: any. */
static bool vnr_shadow_notify(struct virtqueue *shadow)
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

		if (vnr_ctrl_submit(ctrl, cmd, VNR_CTRL_PROXY))
			vnr_shadow_refuse(cmd);
		vnr_ctrl_cmd_put(cmd);
	}
}

/**
 * vnr_shadow_init() - prepare the shadow's software, once per function
 * @dev: function
 *
 * Context: any.
 */
void vnr_shadow_init(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	spin_lock_init(&ctrl->shadow_lock);
	ctrl->stall_ns = VNR_SHADOW_STALL_SEC * NSEC_PER_SEC;
	INIT_LIST_HEAD(&ctrl->proxied);
	INIT_LIST_HEAD(&ctrl->journal);
	vnr_hrtimer_setup(&ctrl->stall, vnr_shadow_stall);
	init_irq_work(&ctrl->stall_work, vnr_shadow_stall_work);

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

/**
 * vnr_shadow_create() - create the virtqueue that the child gets
 * @dev: function
 * @index: virtqueue number of the control queue
 * @name: for messages
 * @callback: of the child, NULL as a rule
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int vnr_shadow_create(struct vnr_dev *dev, u16 index, const char *name,
		      vq_callback_t *callback)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	ctrl->shadow = vring_create_virtqueue(index, VNR_SHADOW_NUM,
					      SMP_CACHE_BYTES,
					      &ctrl->shadow_vdev, true, false,
					      false, vnr_shadow_notify,
					      callback, name);
	if (!ctrl->shadow)
		return -ENOMEM;
	ctrl->shadow->num_max = VNR_SHADOW_NUM;
	ctrl->shadow_avail = 0;
	ctrl->shadow_used = 0;
	return 0;
}

/**
 * vnr_shadow_stop() - answer waiting commands with an error, and stop the timer
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_shadow_stop(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;

	/* The timer is not started again when nothing waits. */
	vnr_shadow_fail_all(ctrl);
	hrtimer_cancel(&ctrl->stall);
	irq_work_sync(&ctrl->stall_work);
}

/**
 * vnr_shadow_destroy() - free the virtqueue of the child, if there is one
 * @dev: function
 *
 * Context: may sleep.
 */
void vnr_shadow_destroy(struct vnr_dev *dev)
{
	struct vnr_ctrl *ctrl = &dev->ctrl;
	struct virtqueue *shadow;

	spin_lock_irq(&ctrl->shadow_lock);
	shadow = ctrl->shadow;
	ctrl->shadow = NULL;
	spin_unlock_irq(&ctrl->shadow_lock);
	vnr_journal_forget(ctrl);
	if (shadow)
		vring_del_virtqueue(shadow);
}
