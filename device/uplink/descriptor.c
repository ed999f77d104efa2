// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The descriptors that uplinks work with.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>

#include "base/uds.h"
#include "base/util.h"
#include "uplink/descriptor.h"

#define UPLINK_BACKLOG	16

/* Closes a descriptor that could not be made ready; -errno. */
static int descriptor_fail(int fd, const char **what, const char *why)
{
	int err = errno;

	*what = why;
	if (fd >= 0)
		close(fd);
	return -err;
}

/* ------------------------------------------------------------------------- */
/* Unix sockets                                                              */
/* ------------------------------------------------------------------------- */

static int listen_make(const char *path, const char **what)
{
	*what = "cannot listen";
	return uds_listen(path, UPLINK_BACKLOG);
}

static int connect_make(const char *path, const char **what)
{
	*what = "cannot connect";
	return uds_connect(path);
}

/* ------------------------------------------------------------------------- */
/* Tap interfaces                                                            */
/* ------------------------------------------------------------------------- */

static bool is_interface_name(const char *name)
{
	return *name && strlen(name) < IFNAMSIZ;
}

/* Returns what could not be done, or NULL. */
static const char *tap_setup(int fd, const char *name)
{
	/* A tap that was there before may have been set to another length. */
	int hdr_len = sizeof(struct virtio_net_hdr), little_endian = 1;
	struct ifreq ifr = {
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
	};

	strcpy(ifr.ifr_name, name);
	if (ioctl(fd, TUNSETIFF, &ifr))
		return "no tap of that name can be had";
	if (ioctl(fd, TUNSETVNETHDRSZ, &hdr_len) ||
	    ioctl(fd, TUNSETVNETLE, &little_endian) ||
	    ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 |
				     TUN_F_TSO_ECN))
		return "the tap has no offloads";
	return NULL;
}

static int tap_make(const char *name, const char **what)
{
	int fd;

	*what = "no name of an interface";
	if (!is_interface_name(name))
		return -EINVAL;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return descriptor_fail(fd, what, "cannot open /dev/net/tun");
	*what = tap_setup(fd, name);
	return *what ? descriptor_fail(fd, what, *what) : fd;
}

/* Which device it is cannot be told without a right to ioctl(). */
static bool tap_fits(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode);
}

/* ------------------------------------------------------------------------- */
/* Packet sockets                                                            */
/* ------------------------------------------------------------------------- */

/* Returns what could not be done, or NULL. */
static const char *packet_setup(int fd, unsigned int ifindex)
{
	const struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htobe16(ETH_P_ALL),
		.sll_ifindex = ifindex,
	};
	const struct packet_mreq promisc = {
		.mr_ifindex = ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	const int on = 1;

	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		return "packet sockets have no offloads";
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)))
		return "packet sockets do not tell VLANs";
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)))
		return "packet sockets cannot ignore what goes out";
	if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return "cannot bind a packet socket";
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc,
		       sizeof(promisc)))
		return "cannot become promiscuous";
	return NULL;
}

static int packet_make(const char *name, const char **what)
{
	unsigned int ifindex;
	int fd;

	*what = "no name of an interface";
	if (!is_interface_name(name))
		return -EINVAL;
	ifindex = if_nametoindex(name);
	if (!ifindex)
		return descriptor_fail(-1, what, "no such interface");
	/* With a protocol it would get frames of all interfaces before bind(). */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return descriptor_fail(fd, what, "cannot have a packet socket");
	*what = packet_setup(fd, ifindex);
	return *what ? descriptor_fail(fd, what, *what) : fd;
}

static bool packet_fits(int fd)
{
	socklen_t len = sizeof(int);
	int domain;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
	       domain == AF_PACKET;
}

/* ------------------------------------------------------------------------- */
/* All                                                                       */
/* ------------------------------------------------------------------------- */

/**
 * struct descriptor_kind - a kind of uplink
 * @scheme:	what its text begins with
 * @make:	makes the descriptor, by what stands behind that
 * @fits:	tells whether a descriptor can be one of these
 */
struct descriptor_kind {
	const char *scheme;
	int (*make)(const char *arg, const char **what);
	bool (*fits)(int fd);
};

static const struct descriptor_kind descriptor_kinds[] = {
	{ "unix:", listen_make, uds_is_listening },
	{ "connect:", connect_make, uds_is_connected },
	{ "tap:", tap_make, tap_fits },
	{ "packet:", packet_make, packet_fits },
};

static const struct descriptor_kind *descriptor_kind(const char *text)
{
	const struct descriptor_kind *kind = descriptor_kinds;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(descriptor_kinds); i++, kind++)
		if (!strncmp(text, kind->scheme, strlen(kind->scheme)))
			return kind;
	return NULL;
}

int uplink_descriptor(const char *text, const char **what)
{
	const struct descriptor_kind *kind = descriptor_kind(text);

	*what = "of no known kind";
	return kind ? kind->make(text + strlen(kind->scheme), what) : -EINVAL;
}

bool uplink_descriptor_fits(const char *text, int fd)
{
	const struct descriptor_kind *kind = descriptor_kind(text);

	return kind && kind->fits(fd);
}
