// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A tap interface: the host sees the switch as an Ethernet interface of its own.
 * One that exists is attached to, else it is made and goes with the daemon.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "uplink/vnet.h"

static ssize_t tap_recv(struct vnet *vnet)
{
	ssize_t n = read(vnet->lfd.fd, vnet->rx, sizeof(vnet->rx));

	return n < 0 ? -errno : n;
}

static struct uplink *tap_open(const struct uplink_env *env, const char *name)
{
	struct vnet *vnet = vnet_new(env, name);
	/* A tap that was there before may have been set to another length. */
	int hdr_len = VNET_HDR_LEN, little_endian = 1;
	struct ifreq ifr = {
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
	};
	int fd;

	if (!vnet)
		return NULL;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	vnet->lfd.fd = fd;
	if (fd < 0)
		return vnet_fail(vnet, "cannot open /dev/net/tun");
	strcpy(ifr.ifr_name, name);
	if (ioctl(fd, TUNSETIFF, &ifr))
		return vnet_fail(vnet, "no tap of that name can be had");
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr_len) ||
	    ioctl(fd, TUNSETVNETLE, &little_endian) ||
	    ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 |
				     TUN_F_TSO_ECN))
		return vnet_fail(vnet, "the tap has no offloads");
	vnet->recv = tap_recv;
	return vnet_start(vnet);
}

const struct uplink_ops uplink_tap_ops = {
	.scheme = "tap",
	.needs = UPLINK_NETWORK,
	.open = tap_open,
	.free = vnet_free,
};
