/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A connection of vhost-user described in plain memory, for a state that is saved, and for a
 * daemon that comes after one that was killed.
 */
#ifndef DEVICE_VHOST_USER_KEEP_H
#define DEVICE_VHOST_USER_KEEP_H

#include "vhost_user/vhost_user.h"
#include "vhost_user/vhost_user_msg.h"

/**
 * struct region_image - a region of guest memory
 * @at:		where it is
 * @fd:		its file
 */
struct region_image {
	struct vu_memory_region at;
	int fd;
};

/**
 * struct queue_image - a queue; the fields are those of &struct vu_vring
 */
struct queue_image {
	uint32_t index;
	uint16_t num;
	uint16_t base;
	bool addr_set;
	bool enabled;
	bool started;
	bool stopped;
	struct vu_vring_addr addr;
	int kick;
	int call;
	int err;
};

/**
 * struct queue_change - what a request or the device has changed of one queue
 * @queue:	the queue as it is now
 * @cursor:	queue that the last request was about
 * @run:	that was part of a run
 */
struct queue_change {
	struct queue_image queue;
	uint32_t cursor;
	bool run;
};

/**
 * struct vu_image - a front-end; the other fields are those of &struct vhost_user
 * @moving:	its guest is being moved to another host: the log is not handed over
 * @has_mem:	there is a memory table
 * @regions:	number of its regions
 * @queues:	number of queues about which something is known; one that is kept has all
 *		queues, in their places
 * @box:	message on its way
 * @change:	of one that is kept, while the box is at VU_BOX_CHANGE
 */
struct vu_image {
	int listen;
	int conn;
	int backend;
	uint64_t features;
	bool negotiated;
	uint64_t protocol;
	uint32_t cursor;
	bool run;
	bool warned;
	bool moving;
	struct vu_box box;
	struct queue_change change;
	bool has_mem;
	uint32_t regions;
	struct region_image region[GUEST_MEM_REGIONS_MAX];
	uint32_t queues;
	struct queue_image queue[VHOST_USER_QUEUES_MAX];
};

/**
 * struct vu_keep - a front-end in memory that outlives the process, always current
 * @image:	itself, and the room for the next one; descriptors are those of the process
 * @now:	which of them it is, by the lowest bit
 */
struct vu_keep {
	struct vu_image image[2];
	uint32_t now;
};

/** vu_kept() - the one that is current */
static inline struct vu_image *vu_kept(struct vu_keep *keep)
{
	return &keep->image[keep->now & 1];
}

/** VU_KEEP_FDS - descriptors of a front-end at most */
#define VU_KEEP_FDS	(3u + VU_FDS_MAX + GUEST_MEM_REGIONS_MAX + 3u * VHOST_USER_QUEUES_MAX)

/** vhost_user_set_keep() - keep a front-end there from now on */
void vhost_user_set_keep(struct vhost_user *vu, struct vu_keep *keep);

/**
 * vhost_user_kept_fds() - copy the descriptors of a front-end that another process has left
 * @keep:	the front-end; the step at which that process was killed is finished
 * @fd:		room for VU_KEEP_FDS
 *
 * Return: their number.
 */
size_t vhost_user_kept_fds(struct vu_keep *keep, int *fd);

/**
 * vhost_user_recover() - go on with a front-end that was kept
 * @vu:		front-end that neither listens nor is connected
 * @keep:	what another process has left, which was killed
 * @path:	name of the socket that it listens on
 *
 * Its queues begin where they have been used.  A guest that cannot be had any more is
 * disconnected.  The descriptors in @keep stay open, and the caller's.
 *
 * Return: 0, or -errno after an error was printed.
 */
int vhost_user_recover(struct vhost_user *vu, struct vu_keep *keep, const char *path);

/** vhost_user_look_again() - signals and a message may have been lost with the process */
void vhost_user_look_again(struct vhost_user *vu);

#endif /* DEVICE_VHOST_USER_KEEP_H */
