// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A front-end in memory that outlives the process.
 *
 * Theory of operation
 *
 * After each request what it has changed is copied there: the queue that it was about, or all.
 * A message is there from the moment that it was received until it was answered, so that a
 * process that was killed in between has not swallowed it: QEMU would wait for the answer for
 * ever.  The next process carries it out.  One that kills the next process, too, ends the
 * connection.
 *
 * Where a process was killed right behind the answer, QEMU gets it twice.  That takes a signal
 * between two instructions, and costs this guest its device, and nothing else.
 *
 * Of the queues only what QEMU has set is here.  Where they go on is in guest memory: the used
 * index.
 */
#include <errno.h>
#include <stddef.h>

#include "vhost_user/vhost_user_priv.h"

/* So often a message is begun with. */
#define KEEP_TRIES	2u

void vu_keep_queue(struct vu_vring *vr)
{
	if (vr->vu->keep)
		vu_image_take_queue(&vr->vu->keep->image.queue[vr->vq.index], vr);
}

void vu_keep_message(struct vhost_user *vu)
{
	if (!vu->keep)
		return;
	/* Most often nothing has come, and nothing was there. */
	if (vu->msg.got || vu->keep->image.msg.got)
		vu->keep->image.msg = vu->msg;
}

void vu_keep_all(struct vhost_user *vu)
{
	struct vu_vring *vr;

	if (!vu->keep)
		return;
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vu_keep_queue(vr);
	vu_image_take(&vu->keep->image, vu);
}

/* Those that change one queue, whose number is the cursor. */
static bool request_of_a_queue(uint32_t request)
{
	switch (request) {
	case VU_SET_VRING_NUM:
	case VU_SET_VRING_ADDR:
	case VU_SET_VRING_BASE:
	case VU_GET_VRING_BASE:
	case VU_SET_VRING_KICK:
	case VU_SET_VRING_CALL:
	case VU_SET_VRING_ERR:
	case VU_SET_VRING_ENABLE:
		return true;
	default:
		return false;
	}
}

void vu_keep_request(struct vhost_user *vu, uint32_t request)
{
	struct vu_keep *keep = vu->keep;

	if (!keep)
		return;
	if (!request_of_a_queue(request)) {
		vu_keep_all(vu);
	} else {
		if (vu->touched)
			vu_keep_queue(vu->touched);
		keep->image.cursor = vu->cursor + 1;
		keep->image.run = vu->run;
		vu_keep_message(vu);
	}
	vu->touched = NULL;
	keep->tries = 0;
}

void vhost_user_set_keep(struct vhost_user *vu, struct vu_keep *keep)
{
	vu->keep = keep;
	vu_keep_all(vu);
}

static size_t keep_fd(int *fd, size_t n, int value)
{
	if (value >= 0)
		fd[n++] = value;
	return n;
}

size_t vhost_user_kept_fds(const struct vu_keep *keep, int *fd)
{
	const struct vu_image *image = &keep->image;
	size_t n = 0;
	uint32_t i;

	n = keep_fd(fd, n, image->listen);
	n = keep_fd(fd, n, image->conn);
	n = keep_fd(fd, n, image->backend);
	for (i = 0; i < VU_FDS_MAX && i < image->msg.fd_n; i++)
		n = keep_fd(fd, n, image->msg.fd[i]);
	for (i = 0; i < GUEST_MEM_REGIONS_MAX && i < image->regions; i++)
		n = keep_fd(fd, n, image->region[i].fd);
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		n = keep_fd(fd, n, image->queue[i].kick);
		n = keep_fd(fd, n, image->queue[i].call);
		n = keep_fd(fd, n, image->queue[i].err);
	}
	return n;
}

/* A message that was received, and not answered. */
static bool vu_is_asked(const struct vhost_user *vu)
{
	return vu->msg.got >= sizeof(vu->msg.hdr) &&
	       vu->msg.got == sizeof(vu->msg.hdr) + vu->msg.hdr.size;
}

static int vu_answer(struct vhost_user *vu)
{
	if (vu->keep && vu->keep->tries++ == KEEP_TRIES - 1)
		return -ELOOP;
	return vu_dispatch(vu);
}

void vhost_user_look_again(struct vhost_user *vu)
{
	struct vu_vring *vr;
	int err = vhost_user_connected(vu) && vu_is_asked(vu) ? vu_answer(vu) : 0;

	if (err) {
		vu_disconnect(vu, err);
		return;
	}
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started)
			vu_signal(vr, &vr->call);
}
