// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A tap interface: the host sees the switch as an Ethernet interface of its own.
 * One that exists is attached to, else it is made and goes with the daemon.
 */

#include <errno.h>
#include <unistd.h>

#include "uplink/vnet.h"

static ssize_t tap_recv(struct vnet *vnet)
{
	ssize_t n = read(vnet->lfd.fd, vnet->rx, sizeof(vnet->rx));

	return n < 0 ? -errno : n;
}

static struct uplink *tap_open(const struct uplink_env *env, const char *name, int fd)
{
	struct vnet *vnet = vnet_new(env, name, fd);

	if (!vnet)
		return NULL;
	vnet->recv = tap_recv;
	return vnet_start(vnet);
}

const struct uplink_ops uplink_tap_ops = {
	.scheme = "tap",
	.needs = UPLINK_NETWORK,
	.open = tap_open,
	.free = vnet_free,
};
