// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Code that tap and packet uplinks have in common.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/util.h"
#include "uplink/vnet.h"
#include "virtio/mem.h"

/* Frames of one event, before others get their turn. */
#define VNET_BURST	64

int vnet_write(const struct vnet *vnet, const void *data, size_t len)
{
	const ssize_t n = write(vnet->lfd.fd, data, len);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* The frames of a message one by one, for a kernel that does not cut up UDP. */
static void vnet_send_segments(struct vnet *vnet, const struct batch_msg *msg)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < msg->segments; i++) {
		len = batch_segment(&vnet->tx, msg, i, vnet->alone.data);
		if (vnet_write(vnet, vnet->alone.data, len))
			vnet->uplink.stats.tx_dropped++;
	}
}

/* Writes all that waits.  The kernel's queue is the only one that outlasts this. */
static void vnet_send(struct vnet *vnet)
{
	struct batch *tx = &vnet->tx;
	const struct batch_msg *msg;
	unsigned int i = 0;
	int n;

	batch_close(tx);
	while (i < tx->n) {
		n = vnet->ops->send(vnet, i);
		if (n > 0) {
			i += n;
			continue;
		}
		msg = &tx->msg[i++];
		if (n == -EINVAL && msg->segments > 1) {
			/* Linux has taken such messages since 6.2. */
			tx->plain = true;
			vnet_send_segments(vnet, msg);
		} else {
			vnet->uplink.stats.tx_dropped += msg->segments;
		}
	}
	tx->n = 0;
	tx->len = 0;
}

static void vnet_deliver(void *arg, const struct frame *frame)
{
	struct vnet *vnet = arg;

	if (frame->len > OFFLOAD_FRAME_MAX) {
		vnet->uplink.stats.tx_dropped++;
		return;
	}
	if (batch_add(&vnet->tx, frame))
		return;
	vnet_send(vnet);
	batch_add(&vnet->tx, frame);
}

static void vnet_flush(void *arg)
{
	vnet_send(arg);
}

/* Sends on what was read; what fills the buffer may have been cut off. */
static bool vnet_frame(struct vnet *vnet, struct vnet_buf *buf, size_t n)
{
	const struct iovec iov = { .iov_base = buf->data, .iov_len = n };
	struct virtio_net_hdr hdr;
	struct frame frame;

	if (n < VNET_HDR_LEN || n > VNET_HDR_LEN + OFFLOAD_FRAME_MAX)
		return false;
	memcpy(&hdr, buf->data, sizeof(hdr));
	if (frame_init(&frame, &iov, 1, VNET_HDR_LEN, n - VNET_HDR_LEN) ||
	    offload_init(&frame, &hdr))
		return false;
	switch_send(&vnet->port, &frame);
	return true;
}

/* An interface that was deleted would report an event again and again. */
static void vnet_error(struct vnet *vnet, int err)
{
	if (log_limit_ok(&vnet->limit))
		log_warn("%s: %s", vnet->name, strerror(err));
	if (err == EBADFD) {
		loop_fd_del(vnet->uplink.env.loop, &vnet->lfd);
		vnet->uplink.stats.peers = 0;
	}
}

static void vnet_event(void *arg, uint32_t events __always_unused)
{
	struct vnet *vnet = arg;
	unsigned int done = 0;
	int i, n = 0;

	while (done < VNET_BURST) {
		n = vnet->ops->recv(vnet);
		if (n < 0)
			break;
		for (i = 0; i < n; i++)
			if (!vnet_frame(vnet, &vnet->rx[i], vnet->rx_len[i]))
				vnet->uplink.stats.rx_dropped++;
		done += n;
	}
	switch_flush(vnet->uplink.env.sw);
	if (n < 0 && n != -EAGAIN && n != -EINTR)
		vnet_error(vnet, -n);
}

static void vnet_close(struct vnet *vnet)
{
	close(vnet->lfd.fd);
	free(vnet);
}

struct vnet *vnet_new(const struct uplink_env *env, const char *name, int fd)
{
	struct vnet *vnet = calloc(1, sizeof(*vnet));

	if (!vnet) {
		log_error("--uplink: %s: %s", name, strerror(errno));
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	vnet->uplink.env = *env;
	vnet->lfd = (struct loop_fd){ .fd = fd, .fn = vnet_event, .arg = vnet };
	snprintf(vnet->name, sizeof(vnet->name), "%s", name);
	return vnet;
}

struct uplink *vnet_start(struct vnet *vnet)
{
	struct uplink *uplink = &vnet->uplink;
	int err = loop_fd_add(uplink->env.loop, &vnet->lfd, EPOLLIN);

	if (err) {
		log_error("--uplink: %s: cannot wait for frames: %s", vnet->name,
			  strerror(-err));
		vnet_close(vnet);
		errno = -err;
		return NULL;
	}
	vnet->port.deliver = vnet_deliver;
	vnet->port.flush = vnet_flush;
	vnet->port.arg = vnet;
	vnet->port.offloads = OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_TSO6 |
			      OFFLOAD_ECN;
	vnet->port.network = true;
	vnet->port.group = uplink->env.group;
	switch_port_add(uplink->env.sw, &vnet->port);
	uplink->stats.peers = 1;
	return uplink;
}

void vnet_free(struct uplink *uplink)
{
	struct vnet *vnet = (struct vnet *)uplink;

	switch_port_del(uplink->env.sw, &vnet->port);
	loop_fd_del(uplink->env.loop, &vnet->lfd);
	vnet_close(vnet);
}
