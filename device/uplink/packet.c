// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A packet socket: the switch shares an interface that the host has.  The host's
 * own stack still sees the frames that come in there.
 *
 * The kernel takes the VLAN tag out of a frame before the socket gets it, and
 * passes it in a control message.  It is put back, so that the frame stays in its
 * VLAN.
 */

#include <errno.h>
#include <net/ethernet.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/if_packet.h>

#include "uplink/vnet.h"

/* A tag goes behind the two addresses. */
#define TAG_OFF		(VNET_HDR_LEN + 2 * ETH_ALEN)

static const struct tpacket_auxdata *packet_auxdata(struct msghdr *msg)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg))
		if (cmsg->cmsg_level == SOL_PACKET &&
		    cmsg->cmsg_type == PACKET_AUXDATA)
			return (const void *)CMSG_DATA(cmsg);
	return NULL;
}

/* Makes room for a tag in a frame of @n bytes with its header; its new length. */
static size_t packet_tag(struct vnet *vnet, size_t n,
			 const struct tpacket_auxdata *aux)
{
	const uint16_t tpid = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ?
			      aux->tp_vlan_tpid : ETHERTYPE_VLAN;
	const uint16_t tag[] = { htobe16(tpid), htobe16(aux->tp_vlan_tci) };
	struct virtio_net_hdr *hdr = (struct virtio_net_hdr *)vnet->rx;

	if (n < TAG_OFF)
		return n;
	memmove(vnet->rx + TAG_OFF + sizeof(tag), vnet->rx + TAG_OFF,
		n - TAG_OFF);
	memcpy(vnet->rx + TAG_OFF, tag, sizeof(tag));
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		hdr->csum_start = htole16(le16toh(hdr->csum_start) +
					  sizeof(tag));
	return n + sizeof(tag);
}

static ssize_t packet_recv(struct vnet *vnet)
{
	union {
		struct cmsghdr cmsg;
		uint8_t room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec iov = {
		.iov_base = vnet->rx,
		.iov_len = sizeof(vnet->rx) - OFFLOAD_TAG_LEN,
	};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct tpacket_auxdata *aux;
	ssize_t n = recvmsg(vnet->lfd.fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (msg.msg_flags & MSG_TRUNC)
		return 0;
	aux = packet_auxdata(&msg);
	if (aux && (aux->tp_status & TP_STATUS_VLAN_VALID))
		n = packet_tag(vnet, n, aux);
	return n;
}

static struct uplink *packet_open(const struct uplink_env *env, const char *name, int fd)
{
	struct vnet *vnet = vnet_new(env, name, fd);

	if (!vnet)
		return NULL;
	vnet->recv = packet_recv;
	return vnet_start(vnet);
}

const struct uplink_ops uplink_packet_ops = {
	.scheme = "packet",
	.needs = UPLINK_NETWORK,
	.open = packet_open,
	.free = vnet_free,
};
