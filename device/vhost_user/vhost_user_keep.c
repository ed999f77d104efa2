// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A front-end in memory that outlives the process.
 *
 * Theory of operation
 *
 * There are two images, of which one is current.  A request that may change all of it writes the
 * other one, and then one store makes that the current one.  Most requests change one queue: the
 * queue as it is now is written beside the image first, and copied to its place once the box
 * says so.
 * A process that is killed in between leaves either what was or what is, or a copy that the next
 * process makes again.
 *
 * Messages come to a box, which belongs to the image.  A message is there from the moment that it
 * left the socket until what it has changed is kept, and the answer from then on until it was
 * sent (vhost_user_msg.c).  So the next process carries out a message that was not, and sends an
 * answer that was not: QEMU would wait for ever for one that is lost, and take a second one for
 * that to its next message.  A message that kills the next process, too, ends the connection.
 *
 * Descriptors that an image names are closed when the current one does not name them.
 *
 * Of the queues only what QEMU has set is here.  Where they go on is in guest memory: the used
 * index.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vhost_user/vhost_user_priv.h"

/* So often a message is begun with. */
#define KEEP_TRIES	2u

/* Stores of this process before it are there if one after it is. */
static void keep_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* All of a front-end, in the image that is not current. */
static struct vu_image *keep_begin(struct vhost_user *vu)
{
	struct vu_image *image = &vu->keep->image[~vu->keep->now & 1];
	const struct vu_vring *vr;

	vu_image_take(image, vu);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vu_image_take_queue(&image->queue[vr->vq.index], vr);
	vu_box_init(&image->box);
	return image;
}

static void keep_end(struct vhost_user *vu)
{
	keep_order();
	vu->keep->now ^= 1;
	keep_order();
	vu->box = &vu_kept(vu->keep)->box;
}

static void keep_apply(struct vu_image *image)
{
	const struct queue_change *change = &image->change;

	image->queue[change->queue.index % VHOST_USER_QUEUES_MAX] = change->queue;
	image->cursor = change->cursor;
	/* A byte that another process has left need not be a flag. */
	memcpy(&image->run, &change->run, sizeof(image->run));
}

/* Together with the change of a queue the box gets to @stage. */
static void keep_queue(struct vu_vring *vr, uint32_t stage)
{
	struct vu_image *image = vu_kept(vr->vu->keep);

	vu_image_take_queue(&image->change.queue, vr);
	image->change.cursor = vr->vu->cursor + 1;
	image->change.run = vr->vu->run;
	vu_box_stage(&image->box, stage | VU_BOX_CHANGE);
	keep_apply(image);
	vu_box_stage(&image->box, stage);
}

void vu_keep_queue(struct vu_vring *vr)
{
	if (vr->vu->keep)
		keep_queue(vr, vr->vu->box->stage);
}

void vu_keep_signals(struct vu_vring *vr)
{
	struct queue_image *queue;

	if (!vr->vu->keep)
		return;
	queue = &vu_kept(vr->vu->keep)->queue[vr->vq.index];
	queue->call = vr->call;
	queue->err = vr->err;
	keep_order();
}

void vu_keep_all(struct vhost_user *vu)
{
	if (!vu->keep) {
		vu_box_init(vu->box);
		return;
	}
	keep_begin(vu);
	keep_end(vu);
}

void vu_keep_no_connection(struct vhost_user *vu)
{
	if (vu->keep)
		vu_kept(vu->keep)->conn = -1;
	keep_order();
}

void vu_keep_request(struct vhost_user *vu, const struct vu_request *req,
		     const struct vu_msg *answer)
{
	const enum vu_changes changes = vu->changed ? VU_CHANGES_ALL :
					req ? req->changes : VU_CHANGES_NOTHING;
	struct vu_image *image;

	if (vu->keep && changes == VU_CHANGES_ALL) {
		image = keep_begin(vu);
		vu_box_answer(&image->box, answer);
		vu_box_stage(&image->box, VU_BOX_DONE);
		keep_end(vu);
	} else {
		vu_box_answer(vu->box, answer);
		if (vu->keep && changes == VU_CHANGES_QUEUE && vu->touched)
			keep_queue(vu->touched, VU_BOX_DONE);
		else
			vu_box_stage(vu->box, VU_BOX_DONE);
		vu_box_forget(vu->box);
	}
	vu->touched = NULL;
	vu->changed = false;
}

void vhost_user_set_keep(struct vhost_user *vu, struct vu_keep *keep)
{
	struct vu_image *image;

	vu->keep = keep;
	image = keep_begin(vu);
	image->box = *vu->box;
	keep_end(vu);
}

void vu_keep_settle(struct vu_keep *keep)
{
	struct vu_image *image = vu_kept(keep);
	const uint32_t stage = image->box.stage;

	if (stage & VU_BOX_CHANGE) {
		keep_apply(image);
		vu_box_stage(&image->box, stage & ~VU_BOX_CHANGE);
	}
	vu_box_settle(&image->box);
}

static size_t keep_fd(int *fd, size_t n, int value)
{
	if (value >= 0)
		fd[n++] = value;
	return n;
}

size_t vhost_user_kept_fds(struct vu_keep *keep, int *fd)
{
	const struct vu_image *image = vu_kept(keep);
	size_t n = 0;
	uint32_t i;

	vu_keep_settle(keep);
	n = keep_fd(fd, n, image->listen);
	if (image->conn < 0)
		return n;
	n = keep_fd(fd, n, image->conn);
	n = keep_fd(fd, n, image->backend);
	for (i = 0; i < VU_FDS_MAX && i < image->box.msg.fd_n; i++)
		n = keep_fd(fd, n, image->box.msg.fd[i]);
	for (i = 0; i < GUEST_MEM_REGIONS_MAX && i < image->regions; i++)
		n = keep_fd(fd, n, image->region[i].fd);
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		n = keep_fd(fd, n, image->queue[i].kick);
		n = keep_fd(fd, n, image->queue[i].call);
		n = keep_fd(fd, n, image->queue[i].err);
	}
	return n;
}

/* A message that was received, and not carried out. */
static bool vu_is_asked(const struct vhost_user *vu)
{
	const struct vu_msg *msg = &vu->box->msg;

	return msg->got >= sizeof(msg->hdr) && msg->got == sizeof(msg->hdr) + msg->hdr.size;
}

static int vu_go_on(struct vhost_user *vu)
{
	if (vu->box->stage & VU_BOX_DONE)
		return vu_box_send(vu->conn.fd, vu->box);
	if (!vu_is_asked(vu))
		return 0;
	return vu->box->tries++ == KEEP_TRIES - 1 ? -ELOOP : vu_dispatch(vu);
}

void vhost_user_look_again(struct vhost_user *vu)
{
	struct vu_vring *vr;
	int err = vhost_user_connected(vu) ? vu_go_on(vu) : 0;

	if (err) {
		vu_disconnect(vu, err);
		return;
	}
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started)
			vu_signal(vr, &vr->call);
}
