/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control queue, as its two users see it: the commands of vnr_ctrl_exec() in
 * vnr_ctrl.c and those of the shadow in vnr_shadow.c.
 */
#ifndef _VNR_CTRL_H
#define _VNR_CTRL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/scatterlist.h>

#include "vnr.h"

/* Pieces of each direction that a command of virtio_net can have. */
#define VNR_SHADOW_SEGS		8

/**
 * struct vnr_shadow_seg - a piece of a command of virtio_net
 * @addr: where it is
 * @len: its bytes
 */
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
 * @deadline: when the answer to an Ethernet command is late
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
	ktime_t deadline;
	u32 used;
	u16 head;
	struct vnr_shadow_seg segs[VNR_SHADOW_SEGS];
	unsigned int max;
	unsigned int nout;
	unsigned int nin;
	struct scatterlist sg[];
};

/* ----- vnr_ctrl.c ----- */

struct vnr_ctrl_cmd *
vnr_ctrl_cmd_alloc(struct vnr_ctrl *ctrl, unsigned int max,
		   void (*finish)(struct vnr_ctrl_cmd *cmd), gfp_t gfp);
void *vnr_ctrl_cmd_add(struct vnr_ctrl_cmd *cmd, bool in, size_t len,
		       gfp_t gfp);
void vnr_ctrl_cmd_put(struct vnr_ctrl_cmd *cmd);
int vnr_ctrl_submit(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd,
		    unsigned int reserve);
void vnr_ctrl_reap(struct vnr_ctrl *ctrl);
void vnr_ctrl_kill(struct vnr_dev *dev, const char *what);

/* ----- vnr_shadow.c ----- */

void vnr_shadow_init(struct vnr_dev *dev);
int vnr_shadow_create(struct vnr_dev *dev, u16 index, const char *name,
		      vq_callback_t *callback);
void vnr_shadow_stop(struct vnr_dev *dev);
void vnr_shadow_destroy(struct vnr_dev *dev);

#endif /* _VNR_CTRL_H */
