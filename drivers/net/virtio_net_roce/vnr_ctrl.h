/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control queue, as its two users see it: the commands of vnr_ctrl_exec() in
 * vnr_ctrl_exec.c and those of the shadow in vnr_shadow.c.
 */
#ifndef _VNR_CTRL_H
#define _VNR_CTRL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/scatterlist.h>

#include "vnr.h"

/* Initial value of an ack, so that VIRTIO_NET_OK must be written by the device. */
#define VNR_CTRL_NO_ACK		0xff

/* If a request cannot be allocated in one piece, its pieces have at least this size. */
#define VNR_CTRL_CHUNK		(PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

/* Descriptors that RoCE commands leave to the shadow. */
#define VNR_CTRL_RESERVE	8

/* Pieces of each direction that a command of virtio_net can have. */
#define VNR_SHADOW_SEGS		8

/**
 * struct vnr_shadow_seg - a piece of a command of virtio_net
 * @addr: its address
 * @len: its bytes
 */
struct vnr_shadow_seg {
	void *addr;
	u32 len;
};

/**
 * enum vnr_ctrl_state - state of a command
 * @VNR_CTRL_NEW: not submitted yet
 * @VNR_CTRL_WAITING: waiting for room on the real queue
 * @VNR_CTRL_SENT: owned by the device
 * @VNR_CTRL_LOST: owned by the device, but it has failed and its answer is ignored
 * @VNR_CTRL_DONE: answered or failed
 */
enum vnr_ctrl_state {
	VNR_CTRL_NEW,
	VNR_CTRL_WAITING,
	VNR_CTRL_SENT,
	VNR_CTRL_LOST,
	VNR_CTRL_DONE,
};

/**
 * struct vnr_ctrl_cmd - a command on the real control queue
 * @ref: one for the waiter, one for the queue
 * @finish: called once for each submission, when it was answered or has failed, in
 *	any context, without locks
 * @done: @finish was called, for commands that are waited for
 * @node: on &vnr_ctrl.proxied
 * @ctrl: back pointer
 * @link: on &vnr_ctrl.waiting or &vnr_ctrl.sent; with @state, @class, @sent and @err
 *	guarded by &vnr_ctrl.lock until @finish is called
 * @state: its state
 * @class: which descriptors it may use
 * @submitted: when it was submitted
 * @sent: when it was sent, 0 before
 * @err: 0 if it was answered, else -errno
 * @orphan: its caller has given up; guarded as @state
 * @undo: command that undoes it, see &virtio_net_roce_cmd
 * @owner: for the use of the submitter
 * @deadline: when the answer to an Ethernet command is late
 * @used: used length that the device gave
 * @head: descriptor of the shadow ring to be answered
 * @entry: on &vnr_ctrl.journal
 * @again: it has to be sent again, see vnr_journal_replay()
 * @segs: device-writable pieces of the shadow's descriptor chain, one for each
 *	device-writable part
 * @max: number of parts that there is room for
 * @nout: number of device-readable parts
 * @nin: number of device-writable parts, which follow them
 * @sg: one element per part
 */
struct vnr_ctrl_cmd {
	struct kref ref;
	void (*finish)(struct vnr_ctrl_cmd *cmd);
	struct completion done;
	struct list_head node;
	struct vnr_ctrl *ctrl;
	struct list_head link;
	enum vnr_ctrl_state state;
	enum vnr_ctrl_class class;
	ktime_t submitted;
	ktime_t sent;
	int err;
	bool orphan;
	u8 undo;
	void *owner;
	ktime_t deadline;
	u32 used;
	u16 head;
	struct list_head entry;
	bool again;
	struct vnr_shadow_seg segs[VNR_SHADOW_SEGS];
	unsigned int max;
	unsigned int nout;
	unsigned int nin;
	struct scatterlist sg[];
};

/* RoCE commands that are big (vnr_ctrl_exec.c) and sent at a time. */
#define VNR_CTRL_BIG_MAX	2

/* ----- vnr_ctrl_cmd.c ----- */

struct vnr_ctrl_cmd *
vnr_ctrl_cmd_alloc(struct vnr_ctrl *ctrl, unsigned int max,
		   void (*finish)(struct vnr_ctrl_cmd *cmd), gfp_t gfp);
void *vnr_ctrl_cmd_add(struct vnr_ctrl_cmd *cmd, bool in, size_t len,
		       gfp_t gfp);
u8 *vnr_ctrl_cmd_ack(struct vnr_ctrl_cmd *cmd);
void vnr_ctrl_cmd_put(struct vnr_ctrl_cmd *cmd);

/* ----- vnr_ctrl.c ----- */

int vnr_ctrl_submit(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd,
		    enum vnr_ctrl_class class);
void vnr_ctrl_reap(struct vnr_ctrl *ctrl);
void vnr_ctrl_kill(struct vnr_dev *dev, const char *what);
void vnr_ctrl_drain(struct vnr_dev *dev);

/* ----- vnr_ctrl_exec.c ----- */

unsigned int vnr_ctrl_urgent(unsigned int num);
int vnr_ctrl_run(struct vnr_dev *dev, struct vnr_ctrl_cmd *cmd, bool atomic);

/* ----- vnr_shadow.c ----- */

void vnr_shadow_init(struct vnr_dev *dev);
int vnr_shadow_create(struct vnr_dev *dev, u16 index, const char *name,
		      vq_callback_t *callback);
void vnr_shadow_stop(struct vnr_dev *dev);
void vnr_shadow_destroy(struct vnr_dev *dev);

/* ----- vnr_journal.c ----- */

void vnr_journal_note(struct vnr_ctrl_cmd *cmd, bool told);
void vnr_journal_forget(struct vnr_ctrl *ctrl);
int vnr_journal_replay(struct vnr_dev *dev);

#endif /* _VNR_CTRL_H */
