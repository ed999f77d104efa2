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

/* One write for each frame; the kernel's queue is the only one. */
static void vnet_deliver(void *arg, const struct frame *frame)
{
	struct vnet *vnet = arg;
	const size_t total = VNET_HDR_LEN + frame->len;

	if (total <= sizeof(vnet->tx)) {
		memcpy(vnet->tx, &frame->hdr, VNET_HDR_LEN);
		iov_to_buf(frame->iov, frame->iov_n, frame->off,
			   vnet->tx + VNET_HDR_LEN, frame->len);
		if (write(vnet->lfd.fd, vnet->tx, total) == (ssize_t)total)
			return;
	}
	vnet->uplink.stats.tx_dropped++;
}

static void vnet_flush(void *arg __always_unused)
{
}

/* Sends on what was read; what fills the buffer may have been cut off. */
static bool vnet_frame(struct vnet *vnet, size_t n)
{
	const struct iovec iov = { .iov_base = vnet->rx, .iov_len = n };
	struct virtio_net_hdr hdr;
	struct frame frame;

	if (n < VNET_HDR_LEN || n == sizeof(vnet->rx))
		return false;
	memcpy(&hdr, vnet->rx, sizeof(hdr));
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
	unsigned int i;
	ssize_t n = 0;

	for (i = 0; i < VNET_BURST; i++) {
		n = vnet->recv(vnet);
		if (n < 0)
			break;
		if (!vnet_frame(vnet, n))
			vnet->uplink.stats.rx_dropped++;
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
