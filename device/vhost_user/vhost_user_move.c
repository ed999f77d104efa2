// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The state of the device on its way to another daemon, or from one (DEVICE_STATE).
 *
 * QEMU has stopped all queues.  It gives a pipe, which is written or read as it takes and
 * brings bytes.  It has the same open file and could let it block again, so a call that
 * blocks is interrupted, and ends the transfer.  QEMU asks in the end whether all went well.
 * A state is loaded before QEMU says anything of features, memory and queues: the function
 * then is one that was paused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "vhost_user/vhost_user_priv.h"

/* More than any guest's, with all objects that it may have. */
#define VU_STATE_MAX	(256ull << 20)

/* Reads at the end: what a pipe holds, which nobody writes to any more. */
#define VU_STATE_READS	32u

/* Bytes that are written or read at a time, and a first room for them. */
#define VU_STATE_PART	(64u << 10)

/* The answer: no descriptor comes back, QEMU's is used. */
#define VU_STATE_NOFD	BIT(8)
#define VU_STATE_FAILED	1u

static void vu_move_close(struct vhost_user *vu)
{
	if (vu->move.pipe.fd < 0)
		return;
	loop_fd_del(vu->loop, &vu->move.pipe);
	fd_close(&vu->move.pipe.fd);
}

void vu_move_end(struct vhost_user *vu)
{
	vu_move_close(vu);
	free(vu->move.data);
	vu->move = (struct vu_move) { .pipe.fd = -1 };
}

static void vu_move_fail(struct vhost_user *vu, const char *why)
{
	log_error("%s: the state is not %s: %s", vu->name,
		  vu->move.loading ? "loaded" : "saved", why);
	vu->move.failed = true;
	vu_move_close(vu);
}

/* The pipe takes or has nothing now, or it failed. */
static void vu_move_refused(struct vhost_user *vu)
{
	if (errno != EAGAIN)
		vu_move_fail(vu, strerror(errno));
}

/* Returns false if there is no more to do now. */
static bool vu_move_write(struct vhost_user *vu)
{
	struct vu_move *move = &vu->move;
	size_t part = move->size - move->at;
	ssize_t n;

	eventfd_tick_begin();
	n = write(move->pipe.fd, move->data + move->at,
		  part < VU_STATE_PART ? part : VU_STATE_PART);
	eventfd_tick_end();
	if (n < 0) {
		vu_move_refused(vu);
		return false;
	}
	move->at += n;
	if (move->at < move->size)
		return true;
	log_info("%s: its state was taken, %.2f ms", vu->name, clock_ms_since(move->began));
	move->ended = true;
	vu_move_close(vu);
	return false;
}

static bool vu_move_room(struct vu_move *move)
{
	size_t size = move->size ? 2 * move->size : VU_STATE_PART;
	uint8_t *data;

	if (move->at < move->size)
		return true;
	data = size <= VU_STATE_MAX ? realloc(move->data, size) : NULL;
	if (!data)
		return false;
	move->data = data;
	move->size = size;
	return true;
}

static bool vu_move_read(struct vhost_user *vu)
{
	struct vu_move *move = &vu->move;
	size_t part;
	ssize_t n;

	if (!vu_move_room(move)) {
		vu_move_fail(vu, "too many bytes");
		return false;
	}
	part = move->size - move->at;
	eventfd_tick_begin();
	n = read(move->pipe.fd, move->data + move->at,
		 part < VU_STATE_PART ? part : VU_STATE_PART);
	eventfd_tick_end();
	if (n < 0) {
		vu_move_refused(vu);
		return false;
	}
	move->at += n;
	if (n)
		return true;
	move->ended = true;
	vu_move_close(vu);
	return false;
}

static void vu_move_ready(void *arg, uint32_t events __always_unused)
{
	struct vhost_user *vu = arg;

	if (vu->move.loading)
		vu_move_read(vu);
	else
		vu_move_write(vu);
}

static int vu_move_start(struct vhost_user *vu, struct vu_msg *msg, bool load)
{
	struct vu_move *move = &vu->move;
	struct stat st;
	int flags, err;

	if (msg->fd_n != 1 || fstat(msg->fd[0], &st) || !S_ISFIFO(st.st_mode))
		return -EINVAL;
	if (vu_any_started(vu))
		return -EBUSY;
	if (!vu->ops->save || !vu->ops->load)
		return -EOPNOTSUPP;
	flags = fcntl(msg->fd[0], F_GETFL);
	if (flags < 0 || fcntl(msg->fd[0], F_SETFL, flags | O_NONBLOCK))
		return -errno;
	vu_move_end(vu);
	move->loading = load;
	err = load ? 0 : vu->ops->save(vu->dev, &move->data, &move->size);
	if (err)
		return err;
	vu->saved = !load;
	move->began = clock_ns();
	move->pipe = (struct loop_fd) {
		.fd = vu_msg_fd(msg, 0),
		.fn = vu_move_ready,
		.arg = vu,
	};
	err = loop_fd_add(vu->loop, &move->pipe, load ? EPOLLIN : EPOLLOUT);
	if (err)
		fd_close(&move->pipe.fd);
	return err;
}

int vu_set_device_state_fd(struct vhost_user *vu, struct vu_msg *msg)
{
	const struct vu_device_state *state = &msg->u.device_state;
	int err = -EINVAL;

	if (state->direction <= VU_STATE_LOAD && state->phase == VU_STATE_STOPPED)
		err = vu_move_start(vu, msg, state->direction == VU_STATE_LOAD);
	if (err)
		log_error("%s: its state is not moved: %s", vu->name, strerror(-err));
	vu_msg_reply_u64(msg, VU_STATE_NOFD | (err ? VU_STATE_FAILED : 0));
	return 0;
}

/* The function is as if it had been paused, with these features. */
static int vu_move_load(struct vhost_user *vu)
{
	struct vu_vring *vr;
	uint64_t features;
	int err;

	if (vu->negotiated) {
		vu->negotiated = false;
		vu_function_reset(vu);
	}
	log_info("%s: its state has come, %.2f ms", vu->name, clock_ms_since(vu->move.began));
	err = vu->ops->load(vu->dev, vu->move.data, vu->move.at, &features);
	if (err)
		return err;
	vu->features = features | VU_F_PROTOCOL_FEATURES;
	vu->negotiated = true;
	vu->known = true;
	vu_log_update(vu);
	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		vr->stopped = false;
	return 0;
}

int vu_check_device_state(struct vhost_user *vu, struct vu_msg *msg)
{
	unsigned int i;
	bool ok;

	for (i = 0; i < VU_STATE_READS; i++)
		if (vu->move.pipe.fd < 0 || !vu->move.loading || !vu_move_read(vu))
			break;
	ok = vu->move.ended && !vu->move.failed && !vu_any_started(vu);
	if (ok && vu->move.loading)
		ok = !vu_move_load(vu);
	vu_move_end(vu);
	vu_msg_reply_u64(msg, !ok);
	return 0;
}
