/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A front-end that was kept, as another process finds it.
 */
#ifndef DEVICE_TESTS_KEEP_H
#define DEVICE_TESTS_KEEP_H

#include <fcntl.h>
#include <unistd.h>

#include "vhost_user/vhost_user_keep.h"

static inline void keep_copy_fd(int *fd)
{
	if (*fd >= 0)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
}

/** keep_copy() - copy what was kept, with descriptors of its own */
static inline void keep_copy(struct vu_keep *to, const struct vu_keep *from)
{
	struct vu_image *image;
	uint32_t i;

	*to = *from;
	image = vu_kept(to);
	keep_copy_fd(&image->listen);
	keep_copy_fd(&image->conn);
	keep_copy_fd(&image->backend);
	for (i = 0; i < image->box.msg.fd_n; i++)
		keep_copy_fd(&image->box.msg.fd[i]);
	for (i = 0; i < image->regions; i++)
		keep_copy_fd(&image->region[i].fd);
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		keep_copy_fd(&image->queue[i].kick);
		keep_copy_fd(&image->queue[i].call);
		keep_copy_fd(&image->queue[i].err);
	}
}

/* Neither of two images is to name others. */
static inline void keep_same_fds_image(struct vu_image *to, const struct vu_image *image)
{
	uint32_t i;

	/* Control data has descriptors, too. */
	to->box.in.msg_len = 0;
	to->box.stage &= ~VU_BOX_CHANGE;
	to->listen = image->listen;
	to->conn = image->conn;
	to->backend = image->backend;
	for (i = 0; i < VU_FDS_MAX; i++)
		to->box.msg.fd[i] = i < image->box.msg.fd_n ? image->box.msg.fd[i] : -1;
	for (i = 0; i < GUEST_MEM_REGIONS_MAX; i++)
		to->region[i].fd = i < image->regions ? image->region[i].fd : -1;
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		to->queue[i].kick = image->queue[i].kick;
		to->queue[i].call = image->queue[i].call;
		to->queue[i].err = image->queue[i].err;
	}
}

/** keep_same_fds() - give a changed copy the descriptors that it had */
static inline void keep_same_fds(struct vu_keep *changed, struct vu_keep *from)
{
	keep_same_fds_image(&changed->image[0], vu_kept(from));
	keep_same_fds_image(&changed->image[1], vu_kept(from));
}

/** keep_close() - close the descriptors of such a copy */
static inline void keep_close(struct vu_keep *keep)
{
	static int fd[VU_KEEP_FDS];
	size_t n = vhost_user_kept_fds(keep, fd);

	while (n)
		if (fd[--n] > STDERR_FILENO)
			close(fd[n]);
}

#endif /* DEVICE_TESTS_KEEP_H */
