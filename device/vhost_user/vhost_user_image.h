/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A connection of vhost-user, saved and loaded.
 */
#ifndef DEVICE_VHOST_USER_IMAGE_H
#define DEVICE_VHOST_USER_IMAGE_H

#include "state/state_fds.h"
#include "vhost_user/vhost_user.h"

/** VHOST_USER_STATE_SIZE - least bytes of a front-end in a state */
#define VHOST_USER_STATE_SIZE	8u

/**
 * vhost_user_io() - save or load a front-end
 * @st:		state with descriptors
 * @vu:		front-end; when loading, one that neither listens nor is connected
 * @path:	name of the socket that it listens on
 *
 * What is loaded is read first and then done: memory is mapped, queues are started.  The
 * device behind loads its own state afterwards.  If it fails there is no connection, but the
 * front-end may listen.  The same holds for a lenient state if only memory or queues of
 * QEMU's cannot be had.
 */
void vhost_user_io(struct state *st, struct vhost_user *vu, const char *path);

/** vhost_user_drop() - end the connection, if there is one, of a device that has no state */
void vhost_user_drop(struct vhost_user *vu);

#endif /* DEVICE_VHOST_USER_IMAGE_H */
