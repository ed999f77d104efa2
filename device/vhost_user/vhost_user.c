// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: connections.
 *
 * Theory of operation
 *
 * QEMU connects to our socket and sends requests.  Each is received whole, which
 * may take several wake-ups, then checked against its row in vu_requests[]
 * (length, descriptors, protocol feature) and handed to its handler.  A handler
 * that keeps a descriptor takes it out of the message; those that are left are
 * closed.  A request that fails is logged, and answered with an error if it asked
 * for an answer, and the connection goes on.  It is ended only when we cannot
 * tell where the next message begins.
 *
 * A queue is started, which means that the device may use it, as soon as it has
 * addresses and a kick descriptor and is enabled, and the features are known.
 * Where VHOST_USER_F_PROTOCOL_FEATURES was not acknowledged, queues count as
 * enabled.  A queue that is not enabled is not processed at all.
 *
 * Ring addresses are of QEMU's address space.  They are kept as they came and
 * translated when the queue is started and, while it is, whenever the memory
 * table is replaced; a queue whose rings are gone then is stopped.
 *
 * Queue numbers: SET_VRING_KICK, _CALL and _ERR carry only the low 8 bits of the
 * number.  QEMU sends them in two ways: right behind SET_VRING_NUM, _BASE and
 * _ADDR of the same queue, or for all queues one after the other.  vu_vring_u8()
 * follows both.
 *
 * Memory that is not in the table any more is unmapped bit by bit (base/chore.h), so that
 * a guest of many GiB that ends does not keep the others waiting.  The descriptors of a
 * connection that ends are closed likewise.
 *
 * Memory that QEMU takes away while the device uses it (virtio/guard.h) reads as
 * zeroes until the loop comes round to end the connection.
 *
 * Reset: QEMU stops all queues both when the guest resets the function and when
 * the machine is paused, and does not say which.  A paused queue is continued
 * where it had stopped and with the same features; when anything else is asked
 * for, the function had been reset, and the device learns of it then.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/uds.h"
#include "base/util.h"
#include "vhost_user/vhost_user_priv.h"

/* Messages handled before the loop gets to do something else; fewer if that is due. */
#define VU_BURST			32

/* Mappings that are still to be unmapped before others may come, and how long to wait. */
#define VU_DEAD_MAX			64
#define VU_DEAD_BYTES			(1ull << 30)
#define VU_DEAD_WAIT_NS			(1000 * 1000)

int vu_dispatch(struct vhost_user *vu)
{
	struct vu_msg *msg = &vu->msg;
	const struct vu_request *req;
	bool reply;
	int err;

	vu_msg_copy(msg, &vu->box->msg);
	req = vu_request_find(msg->hdr.request);
	reply = req && req->reply;
	log_debug("%s: request %u (%s), %u bytes, %u descriptors", vu->name,
		  msg->hdr.request, req ? req->name : "unknown", msg->hdr.size,
		  msg->fd_n);
	err = vu_request_run(vu, req, msg);
	if (err && log_limit_ok(&vu->limit))
		log_warn("%s: vhost-user request %u (%s): %s", vu->name,
			 msg->hdr.request, req ? req->name : "unknown",
			 strerror(-err));
	if (err)
		msg->reply_len = 0;
	if (!reply && (msg->hdr.flags & VU_FLAGS_NEED_REPLY) &&
	    (vu->protocol & VU_PROTOCOL_F_REPLY_ACK)) {
		vu_msg_reply_u64(msg, err ? -err : 0);
		reply = true;
	}

	vu_keep_request(vu, req, reply ? msg : NULL);
	vu_msg_done(msg);
	vu_close_now(vu);
	return vu_box_send(vu->conn.fd, vu->box);
}

void vu_close_late(struct vhost_user *vu, int fd)
{
	if (fd < 0)
		return;
	if (vu->late_n < VU_LATE_MAX)
		vu->late[vu->late_n++] = fd;
	else	/* By mistake: better soon than never. */
		close(fd);
}

void vu_close_now(struct vhost_user *vu)
{
	while (vu->late_n)
		close(vu->late[--vu->late_n]);
}

static bool vu_mem_is_lost(const struct vhost_user *vu)
{
	return vu->mem && vu->mem->lost;
}

void vu_disconnect(struct vhost_user *vu, int err)
{
	struct vu_vring *vr;

	vu_keep_no_connection(vu);
	if (vu_mem_is_lost(vu))
		log_error("%s: disconnected: its memory was taken away", vu->name);
	else if (err == -ECONNRESET || !err)
		log_info("%s: disconnected", vu->name);
	else
		log_warn("%s: connection ended: %s", vu->name, strerror(-err));

	for (vr = vu_vring_first(vu); vr < vu_vring_end(vu); vr++)
		if (vr->started)
			vu_vring_stop(vr);
	vu_vrings_end(vu);
	vu->ops->reset(vu->dev);
	vu->ops->mem_changed(vu->dev, &guest_mem_none);
	vu_move_end(vu);
	vu_log_end(vu);
	vu_mem_free(vu->mem);
	vu->mem = NULL;
	vu->mem_most = 0;
	chore_debt_put(vu->dead);
	vu->dead = NULL;
	vu->warned = false;
	vu->saved = false;
	vu->negotiated = false;
	vu->known = false;
	vu->features = 0;
	vu->protocol = 0;
	vu->cursor = -1;
	vu->run = true;
	vu_msg_done(&vu->box->msg);
	fd_close(&vu->backend);
	loop_fd_del(vu->loop, &vu->conn);
	fd_close(&vu->conn.fd);
	vu_keep_all(vu);
}

/*
 * A guest can have its memory map changed again and again.  If more is to be unmapped than
 * there is, or than VU_DEAD_BYTES, its front-end waits for its next answer.
 */
static bool vu_must_wait(struct vhost_user *vu)
{
	const uint64_t bytes = vu_mem_bytes(vu->mem);

	if (bytes > vu->mem_most)
		vu->mem_most = bytes;
	return vu->dead->n > VU_DEAD_MAX ||
	       (vu->dead->bytes > vu->mem_most && vu->dead->bytes > VU_DEAD_BYTES);
}

static void vu_readable(void *arg, uint32_t events)
{
	struct vhost_user *vu = arg;
	unsigned int i;
	int err = 0;

	for (i = 0; i < VU_BURST && !(i && loop_turn_is_over(vu->loop)); i++) {
		if (vu_mem_is_lost(vu)) {
			err = -EFAULT;
			break;
		}
		/* A connection that has hung up is not waited for. */
		if (vu_must_wait(vu) && !(events & (EPOLLHUP | EPOLLERR))) {
			loop_fd_rest(vu->loop, &vu->conn, VU_DEAD_WAIT_NS);
			return;
		}
		err = vu_receive(vu->conn.fd, vu->box);
		if (err <= 0)
			break;
		err = vu_dispatch(vu);
		if (err)
			break;
	}
	if (err < 0)
		vu_disconnect(vu, err);
}

int vhost_user_connect(struct vhost_user *vu, int fd)
{
	int err;

	vu->dead = chore_debt_new();
	vu->conn.fd = fd;
	err = vu->dead ? loop_fd_add(vu->loop, &vu->conn, EPOLLIN) : -ENOMEM;
	if (err) {
		chore_debt_put(vu->dead);
		vu->dead = NULL;
		fd_close(&vu->conn.fd);
		return err;
	}
	vu_keep_all(vu);
	log_info("%s: connected", vu->name);
	return 0;
}

bool vhost_user_connected(const struct vhost_user *vu)
{
	return vu->conn.fd >= 0;
}

/* Has QEMU closed the connection, and we did not come to see it yet? */
static bool vu_conn_closed(const struct vhost_user *vu)
{
	char c;

	return recv(vu->conn.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void vu_accept(void *arg, uint32_t events __always_unused)
{
	struct vhost_user *vu = arg;
	int fd;

	if (vhost_user_connected(vu) && vu_conn_closed(vu))
		vu_disconnect(vu, 0);
	/* There are descriptors for the queues of two connections, and not of more. */
	if (vu->ending) {
		loop_fd_rest(vu->loop, &vu->listen, VU_DEAD_WAIT_NS);
		return;
	}
	fd = uds_accept(vu->loop, &vu->listen);
	if (fd < 0)
		return;
	if (vhost_user_connected(vu)) {
		if (log_limit_ok(&vu->limit))
			log_warn("%s: connected already, refused another",
				 vu->name);
		close(fd);
		return;
	}
	if (vhost_user_connect(vu, fd))
		log_error("%s: cannot serve a connection", vu->name);
}

int vhost_user_take(struct vhost_user *vu, const char *path, int fd)
{
	int err;

	if (strlen(path) >= sizeof(vu->path) || !uds_is_listening(fd))
		return -EINVAL;
	err = set_nonblocking(fd);
	if (err)
		return err;
	vu->listen.fd = fd;
	err = loop_fd_add(vu->loop, &vu->listen, EPOLLIN);
	if (err) {
		vu->listen.fd = -1;
		return err;
	}
	strcpy(vu->path, path);
	return 0;
}

int vhost_user_listen(struct vhost_user *vu, const char *path)
{
	int fd = uds_listen(path, 1);
	int err;

	if (fd < 0)
		return fd;
	err = vhost_user_take(vu, path, fd);
	if (err) {
		unlink(path);
		close(fd);
	}
	return err;
}

/*
 * QEMU 11.1 crashes if its generic device hears of a change while it is stopped.  It stops the
 * queues in their order, so that it runs at least as long as the first one.  A driver reads
 * the configuration when it starts, and so misses nothing.
 */
static void vu_config_changed(void *fe)
{
	struct vhost_user *vu = fe;
	struct vu_header hdr = {
		.request = VU_BACKEND_CONFIG_CHANGE,
		.flags = VU_FLAGS_VERSION,
	};

	if (vu->backend >= 0 && (vu->protocol & VU_PROTOCOL_F_CONFIG) &&
	    vu_vring_first(vu)->started)
		vu_send(vu->backend, &hdr, NULL);
}

static bool vu_connected(const void *fe)
{
	return vhost_user_connected(fe);
}

const struct fe_ops vhost_user_fe_ops = {
	.config_changed = vu_config_changed,
	.connected = vu_connected,
};

struct vhost_user *vhost_user_new(struct loop *loop, const char *name,
				  const struct fe_device_ops *ops, void *dev,
				  unsigned int queues)
{
	struct vhost_user *vu = calloc(1, sizeof(*vu));

	if (!vu)
		return NULL;
	vu->loop = loop;
	if (vu_vrings_new(vu)) {
		free(vu);
		return NULL;
	}
	snprintf(vu->name, sizeof(vu->name), "%s", name);
	vu->ops = ops;
	vu->dev = dev;
	vu->queues = queues;
	vu->listen = (struct loop_fd){ .fd = -1, .fn = vu_accept, .arg = vu };
	vu->conn = (struct loop_fd){ .fd = -1, .fn = vu_readable, .arg = vu };
	vu->backend = -1;
	vu->box = &vu->own;
	vu->move.pipe.fd = -1;
	vu->cursor = -1;
	vu->run = true;
	return vu;
}

void vhost_user_free(struct vhost_user *vu)
{
	if (vhost_user_connected(vu))
		vu_disconnect(vu, 0);
	if (vu->listen.fd >= 0) {
		loop_fd_del(vu->loop, &vu->listen);
		fd_close(&vu->listen.fd);
		uds_unlink(vu->path);
	}
	if (vu->ending)
		vu->ending->vu = NULL;
	free(vu->vrings);
	free(vu);
}
