// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A tap interface: the host sees the switch as an Ethernet interface of its own.
 * One that exists is attached to, else it is made and goes with the daemon.
 */

#include <errno.h>
#include <unistd.h>

#include "uplink/vnet.h"

/* A tap has no call for several frames. */
static int tap_recv(struct vnet *vnet)
{
	const ssize_t n = read(vnet->lfd.fd, vnet->rx[0].data, sizeof(vnet->rx[0].data));

	if (n < 0)
		return -errno;
	vnet->rx_len[0] = n;
	return 1;
}

static int tap_send(struct vnet *vnet, unsigned int first)
{
	const struct batch_msg *msg = &vnet->tx.msg[first];
	const int err = vnet_write(vnet, vnet->tx.data + msg->off, msg->len);

	return err ? err : 1;
}

static const struct vnet_ops tap_ops = {
	.recv = tap_recv,
	.send = tap_send,
};

static struct uplink *tap_open(const struct uplink_env *env, const char *name, int fd)
{
	struct vnet *vnet = vnet_new(env, name, fd);

	if (!vnet)
		return NULL;
	vnet->ops = &tap_ops;
	return vnet_start(vnet);
}

const struct uplink_ops uplink_tap_ops = {
	.scheme = "tap",
	.needs = UPLINK_NETWORK,
	.open = tap_open,
	.free = vnet_free,
};
