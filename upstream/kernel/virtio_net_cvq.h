/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control virtqueue of virtio_net, with several commands at a time.
 *
 * Each command is a token of the virtqueue.  A caller that takes answers off the virtqueue
 * finishes all commands that are answered, no matter who has sent them.  So a command
 * can be waited for by polling, also where the caller must not sleep.
 */
#ifndef _VIRTIO_NET_CVQ_H
#define _VIRTIO_NET_CVQ_H

#include <linux/spinlock.h>
#include <linux/virtio.h>

/**
 * struct virtnet_cvq_cmd - a command that the device has
 * @done: called when it was answered, with the lock held and interrupts off
 */
struct virtnet_cvq_cmd {
	void (*done)(struct virtnet_cvq_cmd *cmd);
};

/**
 * struct virtnet_cvq - the control virtqueue
 * @vq: the virtqueue
 * @lock: serialises its use
 */
struct virtnet_cvq {
	struct virtqueue *vq;
	spinlock_t lock; /* vq */
};

/**
 * virtnet_cvq_send() - give a command to the device
 * @cvq: control virtqueue
 * @sgs: parts of the command, all of which stay until it is done
 * @out: number of those that the device reads
 * @in: number of those that it writes
 * @cmd: the command
 *
 * Context: any.
 * Return: 0, or the error of virtqueue_add_sgs().
 */
static inline int virtnet_cvq_send(struct virtnet_cvq *cvq,
				   struct scatterlist *sgs[], unsigned int out,
				   unsigned int in, struct virtnet_cvq_cmd *cmd)
{
	unsigned long flags;
	bool notify;
	int err;

	spin_lock_irqsave(&cvq->lock, flags);
	err = virtqueue_add_sgs(cvq->vq, sgs, out, in, cmd, GFP_ATOMIC);
	notify = !err && virtqueue_kick_prepare(cvq->vq);
	spin_unlock_irqrestore(&cvq->lock, flags);
	if (notify)
		virtqueue_notify(cvq->vq);
	return err;
}

/**
 * virtnet_cvq_reap() - finish the commands that the device has answered
 * @cvq: control virtqueue
 *
 * Context: any.
 */
static inline void virtnet_cvq_reap(struct virtnet_cvq *cvq)
{
	struct virtnet_cvq_cmd *cmd;
	unsigned long flags;
	unsigned int len;

	spin_lock_irqsave(&cvq->lock, flags);
	while ((cmd = virtqueue_get_buf(cvq->vq, &len)))
		cmd->done(cmd);
	spin_unlock_irqrestore(&cvq->lock, flags);
}

#endif /* _VIRTIO_NET_CVQ_H */
