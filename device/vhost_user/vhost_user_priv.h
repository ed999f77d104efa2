/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parts of the vhost-user front-end share this: connections (vhost_user.c),
 * requests (vhost_user_req.c), queues (vhost_user_vring.c), the log of written pages
 * (vhost_user_log.c) and the state of the device (vhost_user_move.c).
 */
#ifndef DEVICE_VHOST_USER_PRIV_H
#define DEVICE_VHOST_USER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/chore.h"
#include "base/log.h"
#include "vhost_user/vhost_user.h"
#include "vhost_user/vhost_user_keep.h"
#include "vhost_user/vhost_user_mem.h"
#include "vhost_user/vhost_user_msg.h"
#include "virtio/dirty.h"
#include "virtio/guard.h"

/* The ones that the front-end has. */
#define VU_PROTOCOL_FEATURES \
	(VU_PROTOCOL_F_MQ | VU_PROTOCOL_F_REPLY_ACK | \
	 VU_PROTOCOL_F_BACKEND_REQ | VU_PROTOCOL_F_CONFIG | \
	 VU_PROTOCOL_F_RESET_DEVICE | VU_PROTOCOL_F_CONFIGURE_MEM_SLOTS | \
	 VU_PROTOCOL_F_LOG_SHMFD | VU_PROTOCOL_F_DEVICE_STATE)

/* One request does away with no more descriptors than these: doorbells or regions, and its own. */
#define VU_LATE_MAX		(VHOST_USER_QUEUES_MAX + VU_FDS_MAX + 3u)

/* Features that are the front-end's and not the device's. */
#define VU_OWN_FEATURES		(VU_F_PROTOCOL_FEATURES | VU_F_LOG_ALL)

/**
 * struct vu_vring - a queue
 * @vq:		as the device sees it
 * @vu:		front-end
 * @kick:	doorbell; its fd is -1 while there is none
 * @call:	interrupt, or -1
 * @err:	where errors are signalled, or -1
 * @num:	size, or 0 while not known
 * @base:	next entry of the available ring, while not started
 * @addr_set:	@addr is known
 * @enabled:	by SET_VRING_ENABLE
 * @started:	the device has it
 * @stopped:	it was started and stopped since the last reset
 * @addr:	addresses as they came
 */
struct vu_vring {
	struct virtq vq;
	struct vhost_user *vu;
	struct loop_fd kick;
	int call;
	int err;
	uint16_t num;
	uint16_t base;
	bool addr_set;
	bool enabled;
	bool started;
	bool stopped;
	struct vu_vring_addr addr;
};

/**
 * struct vu_log - the log of written pages
 * @dirty:	what is logged where
 * @guard:	of the memory for it
 * @map:	that memory, NULL while there is none
 * @on:		it is on
 */
struct vu_log {
	struct dirty_log dirty;
	struct mem_guard guard;
	void *map;
	bool on;
};

/**
 * struct vu_move - the state of the device on its way
 * @pipe:	to QEMU or from it; its fd is -1 while there is none
 * @loading:	from it
 * @failed:	it did not come through
 * @ended:	all of it did
 * @data:	the state
 * @size:	its bytes; loading: room for so many
 * @at:		bytes that came through
 * @began:	when the first one could, of clock_ns()
 */
struct vu_move {
	struct loop_fd pipe;
	bool loading;
	bool failed;
	bool ended;
	uint8_t *data;
	size_t size;
	size_t at;
	uint64_t began;
};

/**
 * struct vu_vrings - the queues of a connection
 * @chore:	when it has ended: to close their descriptors
 * @loop:	event loop
 * @vu:		front-end that waits for that; NULL if there is none
 * @closed:	queues whose descriptors are closed
 * @vring:	queues
 */
struct vu_vrings {
	struct chore chore;
	struct loop *loop;
	struct vhost_user *vu;
	unsigned int closed;
	struct vu_vring vring[VHOST_USER_QUEUES_MAX];
};

/**
 * struct vhost_user - the front-end of one guest
 * @loop:	event loop
 * @name:	for messages
 * @ops:	device
 * @dev:	for @ops
 * @queues:	number of queues that the device has
 * @listen:	listening socket; its fd is -1 while there is none
 * @path:	name of that
 * @conn:	connection; its fd is -1 while there is none
 * @backend:	channel for our requests, or -1
 * @features:	acknowledged
 * @negotiated:	@features are known and the device agrees
 * @protocol:	protocol features acknowledged
 * @mem:	memory table, NULL while there is none
 * @mem_most:	bytes that there have been in it at most
 * @dead:	what was in it and is being unmapped; NULL without a connection
 * @warned:	the operator was told that its memory can shrink
 * @cursor:	queue that the last request was about
 * @run:	that was a request with 8 bits of queue number, as part of a run
 * @vrings:	queues
 * @vring:	the same
 * @ending:	those of the connection before, as long as they have descriptors
 * @saved:	the state was saved, and no queue was started since
 * @log:	log of written pages
 * @move:	state of the device on its way
 * @box:	message on its way: @own, or one of @keep
 * @own:	the box of a front-end that is not kept
 * @msg:	message being handled
 * @limit:	for messages that the guest or QEMU can cause
 * @touched:	queue that the request being handled is about, or NULL
 * @changed:	it has changed others, too
 * @late:	descriptors to close when what is kept does not name them any more
 * @late_n:	their number
 * @keep:	what is known of all this, for another process, or NULL
 * @recovers:	it was kept, and goes on: queues begin where they have been used
 * @known:	whatever the function has is known: it was loaded, or runs in this connection
 */
struct vhost_user {
	struct loop *loop;
	char name[64];
	const struct fe_device_ops *ops;
	void *dev;
	unsigned int queues;
	struct loop_fd listen;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct loop_fd conn;
	int backend;
	uint64_t features;
	bool negotiated;
	uint64_t protocol;
	struct vu_mem *mem;
	uint64_t mem_most;
	struct chore_debt *dead;
	bool warned;
	int cursor;
	bool run;
	struct vu_vrings *vrings;
	struct vu_vring *vring;
	struct vu_vrings *ending;
	bool saved;
	struct vu_log log;
	struct vu_move move;
	struct vu_box *box;
	struct vu_box own;
	struct vu_msg msg;
	struct log_limit limit;
	struct vu_vring *touched;
	bool changed;
	int late[VU_LATE_MAX];
	unsigned int late_n;
	struct vu_keep *keep;
	bool recovers;
	bool known;
};

static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline struct vu_vring *vu_vring_first(struct vhost_user *vu)
{
	return &vu->vring[0];
}

static inline struct vu_vring *vu_vring_end(struct vhost_user *vu)
{
	return &vu->vring[VHOST_USER_QUEUES_MAX];
}

/**
 * struct vu_rings - the parts of a queue, translated
 * @desc:	descriptor table
 * @avail:	available ring
 * @used:	used ring
 */
struct vu_rings {
	void *desc;
	void *avail;
	void *used;
};

/**
 * vu_rings_find() - translate the addresses of a queue
 * @mem:	memory table, may be NULL
 * @addr:	addresses in QEMU
 * @num:	size of the queue
 * @rings:	filled in
 *
 * Return: 0, -EFAULT unless all of each part is in memory, or -EINVAL if a part
 *	   is not aligned as virtio demands.
 */
int vu_rings_find(const struct vu_mem *mem, const struct vu_vring_addr *addr,
		  uint16_t num, struct vu_rings *rings);

/**
 * vu_disconnect() - end the connection, forget the guest, close all that came by it
 * @vu:		front-end with a connection
 * @err:	why, 0 if the other side has ended it
 */
void vu_disconnect(struct vhost_user *vu, int err);

/**
 * vu_vrings_new() - queues as they are without a connection
 * @vu:		front-end, which gets them
 *
 * Return: 0 or -ENOMEM.
 */
int vu_vrings_new(struct vhost_user *vu);

/**
 * vu_vrings_end() - the connection has ended
 * @vu:		front-end, which gets other queues; all are stopped
 *
 * Descriptors are closed bit by bit.  &vhost_user.ending tells that some are left.
 */
void vu_vrings_end(struct vhost_user *vu);

/** vu_vring_stop() - take a started queue away from the device */
void vu_vring_stop(struct vu_vring *vr);

/**
 * vu_vring_update() - start or stop a queue if its state requires that
 * @vr:		queue
 *
 * Return: 0, or -errno if it cannot be started.
 */
int vu_vring_update(struct vu_vring *vr);

/**
 * vu_vring_inherited() - signal a queue that another process has served
 * @vr:		queue
 *
 * That process may have died before it could signal what it had used.
 */
void vu_vring_inherited(struct vu_vring *vr);

/** vu_signal() - signal *@fd, of a queue, if it is not -1; one that blocks is closed */
void vu_signal(struct vu_vring *vr, int *fd);

/**
 * vu_close_late() - close @fd, or nothing if it is -1, when the request has ended
 *
 * A process that is killed before that leaves it to the next one, which has the queue, the
 * memory or the channel still as it was.
 */
void vu_close_late(struct vhost_user *vu, int fd);

/** vu_close_now() - it has ended: close what vu_close_late() was told */
void vu_close_now(struct vhost_user *vu);

/** vu_kick_close() - close the kick descriptor late, if there is one */
void vu_kick_close(struct vu_vring *vr);

/** vu_log_update() - memory, features or log are others now */
void vu_log_update(struct vhost_user *vu);

/** vu_log_end() - there is no log any more */
void vu_log_end(struct vhost_user *vu);

/** vu_move_end() - no state is on its way any more */
void vu_move_end(struct vhost_user *vu);

/** vu_image_take() - describe a front-end, all but its queues and its box */
void vu_image_take(struct vu_image *image, const struct vhost_user *vu);

/** vu_image_take_queue() - describe a queue */
void vu_image_take_queue(struct queue_image *queue, const struct vu_vring *vr);

/*
 * After each of these another process would go on with the front-end as it is now.  Before that
 * it would as it was, and never in between.
 */

/** vu_keep_all() - keep all of it, without a message */
void vu_keep_all(struct vhost_user *vu);

/** vu_keep_queue() - keep a queue that has changed, not by a request */
void vu_keep_queue(struct vu_vring *vr);

/** vu_keep_signals() - keep that descriptors of a queue to be signalled are not used any more */
void vu_keep_signals(struct vu_vring *vr);

/** vu_keep_no_connection() - it has ended */
void vu_keep_no_connection(struct vhost_user *vu);

/** vu_keep_settle() - finish the step at which the process that has left it was killed */
void vu_keep_settle(struct vu_keep *keep);

struct vu_request;

/**
 * vu_keep_request() - keep what a request has changed, that it is done, and its answer
 * @vu:		front-end
 * @req:	request, or NULL if it is not known
 * @answer:	message with the answer, or NULL if there is none
 *
 * The box is at VU_BOX_DONE then.
 */
void vu_keep_request(struct vhost_user *vu, const struct vu_request *req,
		     const struct vu_msg *answer);

/** vu_dispatch() - carry out the message received, answer it, get ready for the next */
int vu_dispatch(struct vhost_user *vu);

/* Requests, as of &struct vu_request. */
int vu_set_log_base(struct vhost_user *vu, struct vu_msg *msg);
int vu_set_device_state_fd(struct vhost_user *vu, struct vu_msg *msg);
int vu_check_device_state(struct vhost_user *vu, struct vu_msg *msg);

/** vu_any_started() - has the device any queue? */
bool vu_any_started(struct vhost_user *vu);

/**
 * vu_function_reset() - the function was reset, or must be
 * @vu:		front-end
 *
 * Queues that were started again before the reset was noticed continue.
 */
void vu_function_reset(struct vhost_user *vu);

/** vu_vring_u32() - queue of a request that has the whole number, or NULL */
struct vu_vring *vu_vring_u32(struct vhost_user *vu, uint32_t index);

/**
 * vu_vring_u8() - queue of a request that has only the low 8 bits of the number
 * @vu:		front-end
 * @low:	these
 *
 * It is the queue of the last request if they agree; else, in a run through all
 * queues, the next one; else a run begins here.  Where this goes wrong, at the
 * first step of a run that follows the setting-up of a queue of the same low
 * bits, the run itself sets it right later.
 */
struct vu_vring *vu_vring_u8(struct vhost_user *vu, uint8_t low);

/* How much of what is kept a request may change. */
enum vu_changes {
	VU_CHANGES_ALL,
	VU_CHANGES_QUEUE,
	VU_CHANGES_NOTHING,
};

/**
 * struct vu_request - a request that we know
 * @name:	for messages
 * @fn:		handler: returns 0 or -errno
 * @min:	bytes of payload, at least
 * @max:	bytes of payload, at most
 * @fds:	descriptors, at most
 * @protocol:	protocol feature that must have been acknowledged
 * @reply:	it has a reply of its own, which is empty if it failed
 * @changes:	what it may change; a queue is the one of &vhost_user.touched
 */
struct vu_request {
	const char *name;
	int (*fn)(struct vhost_user *vu, struct vu_msg *msg);
	uint32_t min;
	uint32_t max;
	unsigned int fds;
	uint64_t protocol;
	bool reply;
	enum vu_changes changes;
};

/** vu_request_find() - the request of number @request, or NULL */
const struct vu_request *vu_request_find(uint32_t request);

/**
 * vu_request_run() - check a request and carry it out
 * @vu:		front-end
 * @req:	request, or NULL if it is not known
 * @msg:	message
 *
 * Return: 0 or -errno.
 */
int vu_request_run(struct vhost_user *vu, const struct vu_request *req,
		   struct vu_msg *msg);

#endif /* DEVICE_VHOST_USER_PRIV_H */
