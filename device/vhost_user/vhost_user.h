/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The vhost-user front-end: brings a function to a guest of QEMU's by way of its
 * generic vhost-user device.
 */
#ifndef DEVICE_VHOST_USER_H
#define DEVICE_VHOST_USER_H

#include "base/loop.h"
#include "virtio/frontend.h"

/** VHOST_USER_QUEUES_MAX - as many virtqueues as a virtio device of QEMU's has */
#define VHOST_USER_QUEUES_MAX	1024

struct vhost_user;

/** vhost_user_fe_ops - what a device calls, with the front-end as @fe */
extern const struct fe_ops vhost_user_fe_ops;

/**
 * vhost_user_new() - make a front-end
 * @loop:	event loop
 * @name:	for messages, copied
 * @ops:	device behind it
 * @dev:	for @ops
 * @queues:	number of virtqueues that the device has
 *
 * Return: the front-end, or NULL with errno set.
 */
struct vhost_user *vhost_user_new(struct loop *loop, const char *name,
				  const struct fe_device_ops *ops, void *dev,
				  unsigned int queues);

/** vhost_user_free() - end the connection, remove the socket, free all */
void vhost_user_free(struct vhost_user *vu);

/**
 * vhost_user_listen() - make a socket and wait there for QEMU
 * @vu:		front-end
 * @path:	name of the socket; one that nobody listens on is replaced
 *
 * Return: 0, -EADDRINUSE if somebody listens there, -EEXIST if it is something
 *	   else than a socket, or another -errno.
 */
int vhost_user_listen(struct vhost_user *vu, const char *path);

/**
 * vhost_user_take() - wait for QEMU at a socket that others made
 * @vu:		front-end
 * @path:	name of the socket, removed when @vu is freed
 * @fd:		the socket, which listens; taken over unless there is an error
 *
 * Return: 0, -EINVAL if it is no such socket, or another -errno.
 */
int vhost_user_take(struct vhost_user *vu, const char *path, int fd);

/**
 * vhost_user_connect() - serve a connection
 * @vu:		front-end without a connection
 * @fd:		stream socket with QEMU at its other end; taken over
 *
 * Return: 0 or -errno.
 */
int vhost_user_connect(struct vhost_user *vu, int fd);

/** vhost_user_connected() - is there a connection? */
bool vhost_user_connected(const struct vhost_user *vu);

#endif /* DEVICE_VHOST_USER_H */
