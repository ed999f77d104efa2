// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connection of vhost-user, saved and loaded.
 *
 * All fields are read into an image before anything is done.  An image that was read has
 * the descriptors, until the front-end takes them over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/keeper.h"
#include "base/uds.h"
#include "base/util.h"
#include "vhost_user/vhost_user_image.h"
#include "vhost_user/vhost_user_priv.h"

/* Bytes of a region and of a queue in a state. */
#define REGION_SIZE	36u
#define QUEUE_SIZE	48u

/* ------------------------------------------------------------------------- */
/* Fields                                                                    */
/* ------------------------------------------------------------------------- */

/* A message of which a part has come. */
static void msg_io(struct state *st, struct vu_msg *msg)
{
	const uint32_t max = sizeof(msg->hdr) + sizeof(msg->u);
	uint32_t i, head, got = msg->got, fds = msg->fd_n;

	state_count(st, "got", &got, max, 1);
	head = got < sizeof(msg->hdr) ? got : sizeof(msg->hdr);
	state_bytes(st, "header", &msg->hdr, head);
	state_bytes(st, "payload", &msg->u, got - head);
	if (head == sizeof(msg->hdr))
		state_need(st, vu_header_is_good(&msg->hdr) && got - head <= msg->hdr.size,
			   "header", "not one of a message");
	state_bool(st, "fd_lost", &msg->fd_lost);
	state_count(st, "fds", &fds, VU_FDS_MAX, sizeof(uint32_t));
	for (i = 0; i < fds; i++)
		state_fd_need(st, "fd", &msg->fd[i]);
	if (!st->loading)
		return;
	msg->fd_n = fds;
	msg->got = st->failed ? 0 : got;
}

static void region_io(struct state *st, struct region_image *region)
{
	state_u64(st, "guest_addr", &region->at.guest_addr, UINT64_MAX);
	state_u64(st, "size", &region->at.size, UINT64_MAX);
	state_u64(st, "user_addr", &region->at.user_addr, UINT64_MAX);
	state_u64(st, "offset", &region->at.offset, UINT64_MAX);
	state_fd_need(st, "memory", &region->fd);
}

static void queue_io(struct state *st, struct queue_image *queue)
{
	state_u32(st, "index", &queue->index, VHOST_USER_QUEUES_MAX - 1);
	state_u16(st, "num", &queue->num, VIRTQ_SIZE_MAX);
	state_need(st, !(queue->num & (queue->num - 1)), "num", "not a size of a virtqueue");
	state_u16(st, "base", &queue->base, UINT16_MAX);
	state_bool(st, "addr_set", &queue->addr_set);
	state_need(st, queue->num || !queue->addr_set, "addr_set", "of a queue without a size");
	state_bool(st, "enabled", &queue->enabled);
	state_bool(st, "started", &queue->started);
	state_bool(st, "stopped", &queue->stopped);
	state_u64(st, "desc", &queue->addr.desc, UINT64_MAX);
	state_u64(st, "used", &queue->addr.used, UINT64_MAX);
	state_u64(st, "avail", &queue->addr.avail, UINT64_MAX);
	queue->addr.index = queue->index;
	state_fd(st, "kick", &queue->kick);
	state_fd(st, "call", &queue->call);
	state_fd(st, "err", &queue->err);
}

static void connection_io(struct state *st, struct vu_image *image)
{
	uint32_t i;

	state_fd(st, "backend", &image->backend);
	state_u64(st, "features", &image->features, UINT64_MAX);
	state_bool(st, "negotiated", &image->negotiated);
	state_u64(st, "protocol", &image->protocol, UINT64_MAX);
	state_need(st, !(image->protocol & ~VU_PROTOCOL_FEATURES), "protocol",
		   "features that are unknown here");
	state_u32(st, "cursor", &image->cursor, VHOST_USER_QUEUES_MAX);
	state_bool(st, "run", &image->run);
	state_bool(st, "warned", &image->warned);
	state_bool(st, "moving", &image->moving);
	msg_io(st, &image->box.msg);
	state_bool(st, "has_mem", &image->has_mem);
	state_count(st, "regions", &image->regions, GUEST_MEM_REGIONS_MAX, REGION_SIZE);
	for (i = 0; i < image->regions; i++)
		region_io(st, &image->region[i]);
	state_count(st, "queues", &image->queues, VHOST_USER_QUEUES_MAX, QUEUE_SIZE);
	for (i = 0; i < image->queues; i++) {
		queue_io(st, &image->queue[i]);
		state_need(st, !i || image->queue[i].index > image->queue[i - 1].index, "index",
			   "not in ascending order");
	}
}

static void image_io(struct state *st, struct vu_image *image)
{
	if (state_fd_need(st, "listen", &image->listen))
		state_need(st, uds_is_listening(image->listen), "listen",
			   "not a socket that listens");
	state_fd(st, "connection", &image->conn);
	if (image->conn < 0)
		return;
	state_need(st, uds_is_connected(image->conn), "connection", "not a connected socket");
	connection_io(st, image);
}

/* ------------------------------------------------------------------------- */
/* Images                                                                    */
/* ------------------------------------------------------------------------- */

static struct vu_image *image_new(void)
{
	struct vu_image *image = calloc(1, sizeof(*image));
	unsigned int i;

	if (!image)
		return NULL;
	image->listen = -1;
	image->conn = -1;
	image->backend = -1;
	for (i = 0; i < VU_FDS_MAX; i++)
		image->box.msg.fd[i] = -1;
	for (i = 0; i < GUEST_MEM_REGIONS_MAX; i++)
		image->region[i].fd = -1;
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		image->queue[i].kick = -1;
		image->queue[i].call = -1;
		image->queue[i].err = -1;
	}
	return image;
}

/* Closes what no front-end has taken over. */
static void image_close(struct vu_image *image)
{
	unsigned int i;

	fd_close(&image->listen);
	fd_close(&image->conn);
	fd_close(&image->backend);
	for (i = 0; i < VU_FDS_MAX; i++)
		fd_close(&image->box.msg.fd[i]);
	for (i = 0; i < GUEST_MEM_REGIONS_MAX; i++)
		fd_close(&image->region[i].fd);
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++) {
		fd_close(&image->queue[i].kick);
		fd_close(&image->queue[i].call);
		fd_close(&image->queue[i].err);
	}
}

/* ------------------------------------------------------------------------- */
/* Saving                                                                    */
/* ------------------------------------------------------------------------- */

static bool vring_is_known(const struct vu_vring *vr)
{
	return vr->num || vr->enabled || vr->kick.fd >= 0 || vr->call >= 0 || vr->err >= 0;
}

void vu_image_take_queue(struct queue_image *queue, const struct vu_vring *vr)
{
	*queue = (struct queue_image) {
		.index = vr->vq.index,
		.num = vr->num,
		.base = vr->started ? vr->vq.last_avail : vr->base,
		.addr_set = vr->addr_set,
		.enabled = vr->enabled,
		.started = vr->started,
		.stopped = vr->stopped,
		.addr = vr->addr,
		.kick = vr->kick.fd,
		.call = vr->call,
		.err = vr->err,
	};
}

static void image_take_mem(struct vu_image *image, const struct vu_mem *mem)
{
	const struct vu_region *region;
	uint32_t i;

	image->has_mem = mem;
	image->regions = mem ? mem->n : 0;
	for (i = 0; i < image->regions; i++) {
		region = mem->region[i];
		image->region[i] = (struct region_image) {
			.at = {
				.guest_addr = region->guest_addr,
				.size = region->size,
				.user_addr = region->user_addr,
				.offset = region->offset,
			},
			.fd = region->fd,
		};
	}
}

void vu_image_take(struct vu_image *image, const struct vhost_user *vu)
{
	image->listen = vu->listen.fd;
	image->conn = vu->conn.fd;
	image->backend = vu->backend;
	image->features = vu->features;
	image->negotiated = vu->negotiated;
	image->protocol = vu->protocol;
	image->cursor = vu->cursor + 1;
	image->run = vu->run;
	image->warned = vu->warned;
	image->moving = vu->log.on || vu->move.pipe.fd >= 0 || vu->move.ended ||
			vu->saved;
	image_take_mem(image, vu->mem);
}

static void image_take_all(struct vu_image *image, struct vhost_user *vu)
{
	const struct vu_vring *vr;

	vu_image_take(image, vu);
	image->box = *vu->box;
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vring_is_known(vr))
			vu_image_take_queue(&image->queue[image->queues++], vr);
}

/* ------------------------------------------------------------------------- */
/* Loading                                                                   */
/* ------------------------------------------------------------------------- */

/* All of these return 0 or -errno. */

static int load_mem(struct vhost_user *vu, struct vu_image *image)
{
	uint32_t i;
	int err = 0;

	if (!image->has_mem)
		return image->regions ? -EINVAL : 0;
	vu->mem = vu_mem_new(vu->loop, vu->dead, vu->conn.fd);
	if (!vu->mem)
		return -ENOMEM;
	for (i = 0; !err && i < image->regions; i++)
		err = vu_mem_add(vu->mem, &image->region[i].at, image->region[i].fd);
	if (!err)
		vu->ops->mem_changed(vu->dev, &vu->mem->map);
	return err;
}

static int load_queue(struct vhost_user *vu, struct queue_image *queue)
{
	struct vu_vring *vr = &vu->vring[queue->index];
	int err;

	vr->num = queue->num;
	vr->base = queue->base;
	vr->addr_set = queue->addr_set;
	vr->enabled = queue->enabled;
	vr->addr = queue->addr;
	vr->call = queue->call;
	vr->err = queue->err;
	queue->call = -1;
	queue->err = -1;
	if (queue->kick >= 0) {
		vr->kick.fd = queue->kick;
		err = loop_fd_add(vu->loop, &vr->kick, EPOLLIN);
		if (err) {
			vr->kick.fd = -1;
			return err;
		}
		queue->kick = -1;
	}
	/* One that could not be started may still be such a one, or its memory is to come. */
	err = queue->started ? vu_vring_update(vr) : 0;
	if (!err && vr->started != queue->started)
		err = -EINVAL;
	vr->stopped = queue->stopped;
	return err;
}

static int load_features(struct vhost_user *vu, const struct vu_image *image)
{
	int err = 0;

	vu->protocol = image->protocol;
	if (image->negotiated)
		err = vu->ops->negotiated(vu->dev, image->features & ~VU_OWN_FEATURES);
	if (err)
		return err;
	vu->features = image->features;
	vu->negotiated = image->negotiated;
	return 0;
}

static void load_rest(struct vhost_user *vu, struct vu_image *image)
{
	unsigned int i;

	vu->backend = image->backend;
	image->backend = -1;
	vu->cursor = (int)image->cursor - 1;
	vu->run = image->run;
	vu->warned = image->warned;
	vu->box->msg = image->box.msg;
	for (i = 0; i < VU_FDS_MAX; i++)
		image->box.msg.fd[i] = -1;
}

/* Says which part could not be done. */
static void load_connection(struct state *st, struct vhost_user *vu, struct vu_image *image)
{
	const char *field = "connection";
	int err = vhost_user_connect(vu, image->conn);
	uint32_t i;

	image->conn = -1;
	if (err) {
		state_refuse(st, field, "%s", strerror(-err));
		return;
	}
	/* Of one that has not begun yet nobody knows anything. */
	vu->known = image->negotiated;
	load_rest(vu, image);
	field = "moving";
	err = image->moving ? -EBUSY : 0;
	if (!err) {
		field = "features";
		err = load_features(vu, image);
	}
	if (!err) {
		field = "memory";
		err = load_mem(vu, image);
	}
	for (i = 0; !err && i < image->queues; i++) {
		field = "queues";
		err = load_queue(vu, &image->queue[i]);
	}
	if (!err)
		return;
	if (!st->lenient)
		state_refuse(st, field, "%s", strerror(-err));
	vu_disconnect(vu, err);
}

static void image_load(struct state *st, struct vhost_user *vu, struct vu_image *image,
		       const char *path)
{
	int err;

	if (st->failed)
		return;
	err = vhost_user_take(vu, path, image->listen);
	if (err) {
		state_refuse(st, "listen", "%s", strerror(-err));
		return;
	}
	image->listen = -1;
	if (image->conn >= 0)
		load_connection(st, vu, image);
}

void vhost_user_io(struct state *st, struct vhost_user *vu, const char *path)
{
	struct vu_image *image = image_new();

	if (!image) {
		state_refuse(st, "connection", "out of memory");
		return;
	}
	if (!st->loading)
		image_take_all(image, vu);
	image_io(st, image);
	if (st->loading) {
		image_load(st, vu, image, path);
		image_close(image);
	}
	free(image);
}

void vhost_user_drop(struct vhost_user *vu)
{
	if (vhost_user_connected(vu))
		vu_disconnect(vu, -ESTALE);
}

/* ------------------------------------------------------------------------- */
/* After a process that was killed                                           */
/* ------------------------------------------------------------------------- */

/* An image that such a process has left is checked as a state is: by being read. */

/*
 * Gets a descriptor of its own.  The other one stays, for one more process, in case that this one
 * is killed before it keeps the front-end itself.
 */
static void kept_fd(int *fd)
{
	*fd = *fd > STDERR_FILENO ? fcntl(*fd, F_DUPFD_CLOEXEC, 0) : -1;
}

static void kept_bool(bool *flag)
{
	*flag = keeper_bool(flag);
}

static bool queue_is_known(const struct queue_image *queue)
{
	return queue->num || queue->enabled || queue->kick >= 0 || queue->call >= 0 ||
	       queue->err >= 0;
}

static void kept_queues(struct vu_image *image)
{
	struct queue_image *queue = image->queue;
	uint32_t i;

	image->queues = 0;
	for (i = 0; i < VHOST_USER_QUEUES_MAX; i++, queue++) {
		queue->index = i;
		kept_fd(&queue->kick);
		kept_fd(&queue->call);
		kept_fd(&queue->err);
		kept_bool(&queue->addr_set);
		kept_bool(&queue->enabled);
		kept_bool(&queue->started);
		kept_bool(&queue->stopped);
		if (queue_is_known(queue))
			image->queue[image->queues++] = *queue;
	}
}

/* The process may have been killed before it ended the connection for that. */
static bool message_is_good(const struct vu_msg *msg)
{
	return msg->got < sizeof(msg->hdr) || vu_header_is_good(&msg->hdr);
}

static void kept_message(struct vu_msg *msg)
{
	const size_t max = sizeof(msg->hdr) + sizeof(msg->u);
	unsigned int i;

	if (msg->got > max)
		msg->got = max;
	if (msg->fd_n > VU_FDS_MAX)
		msg->fd_n = VU_FDS_MAX;
	for (i = 0; i < msg->fd_n; i++)
		kept_fd(&msg->fd[i]);
}

static void kept_check(struct vu_image *image)
{
	uint32_t i;

	kept_fd(&image->listen);
	if (!message_is_good(&image->box.msg))
		image->conn = -1;
	if (image->conn < 0)
		return;
	kept_fd(&image->conn);
	kept_fd(&image->backend);
	kept_bool(&image->negotiated);
	kept_bool(&image->run);
	kept_bool(&image->warned);
	kept_bool(&image->moving);
	kept_bool(&image->has_mem);
	kept_bool(&image->box.msg.fd_lost);
	if (image->regions > GUEST_MEM_REGIONS_MAX)
		image->regions = GUEST_MEM_REGIONS_MAX;
	for (i = 0; i < image->regions; i++)
		kept_fd(&image->region[i].fd);
	kept_message(&image->box.msg);
	kept_queues(image);
}

/**
 * struct kept - a front-end that goes on
 * @vu:		itself
 * @image:	what was kept of it
 * @path:	name of its socket
 */
struct kept {
	struct vhost_user *vu;
	struct vu_image *image;
	const char *path;
};

static void kept_section(struct state *st, void *arg)
{
	struct kept *kept = arg;

	if (st->loading)
		vhost_user_io(st, kept->vu, kept->path);
	else
		image_io(st, kept->image);
}

static const struct state_section kept_sections[] = {
	{ "guest", 1, 0, kept_section },
};

static bool kept_write(struct state *st, struct kept *kept)
{
	return state_sections(st, kept_sections, ARRAY_SIZE(kept_sections), kept) &&
	       state_written(st);
}

static bool kept_read(struct state *st, struct kept *kept, struct state_fds *fds,
		      const struct state *from)
{
	bool ok = state_read(st, from->data, from->at);

	st->fds = fds;
	st->lenient = true;
	return ok && state_sections(st, kept_sections, ARRAY_SIZE(kept_sections), kept) &&
	       state_read_end(st);
}

static int kept_load(struct kept *kept)
{
	struct state_fds fds = {};
	struct state from, to = {};
	int err = -EINVAL;

	state_write(&from);
	from.fds = &fds;
	if (!kept_write(&from, kept))
		log_error("%s: not kept: %s", kept->vu->name, from.why);
	else if (!kept_read(&to, kept, &fds, &from))
		log_error("%s: not kept: %s", kept->vu->name, to.why);
	else
		err = 0;
	state_free(&from);
	/* Also what no field has taken. */
	state_fds_close(&fds);
	return err;
}

/* A state does not have these: an answer that was not sent, how often a message was begun. */
static void kept_answer(struct vhost_user *vu, const struct vu_box *from)
{
	struct vu_box *box = vu->box;

	box->tries = from->tries;
	if (!(from->stage & VU_BOX_DONE))
		return;
	box->hdr = from->hdr;
	if (box->hdr.size > sizeof(box->reply))
		box->hdr.size = sizeof(box->reply);
	memcpy(box->reply, from->reply, box->hdr.size);
	box->has_reply = !!from->has_reply;
	vu_box_stage(box, VU_BOX_DONE);
}

int vhost_user_recover(struct vhost_user *vu, struct vu_keep *keep, const char *path)
{
	struct kept kept = { .vu = vu, .image = image_new(), .path = path };
	int err;

	if (!kept.image)
		return -ENOMEM;
	vu_keep_settle(keep);
	*kept.image = *vu_kept(keep);
	kept_check(kept.image);
	vu->recovers = true;
	err = kept_load(&kept);
	vu->recovers = false;
	if (!err && vhost_user_connected(vu))
		kept_answer(vu, &vu_kept(keep)->box);
	free(kept.image);
	return err;
}
