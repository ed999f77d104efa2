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
static size_t packet_tag(uint8_t *rx, size_t n, const struct tpacket_auxdata *aux)
{
	const uint16_t tpid = aux->tp_status & TP_STATUS_VLAN_TPID_VALID ?
			      aux->tp_vlan_tpid : ETHERTYPE_VLAN;
	const uint16_t tag[] = { htobe16(tpid), htobe16(aux->tp_vlan_tci) };
	struct virtio_net_hdr *hdr = (struct virtio_net_hdr *)rx;

	if (n < TAG_OFF)
		return n;
	memmove(rx + TAG_OFF + sizeof(tag), rx + TAG_OFF, n - TAG_OFF);
	memcpy(rx + TAG_OFF, tag, sizeof(tag));
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		hdr->csum_start = htole16(le16toh(hdr->csum_start) +
					  sizeof(tag));
	return n + sizeof(tag);
}

/* Bytes of a frame that was read, with its tag; 0 if it was cut off. */
static size_t packet_frame(uint8_t *rx, struct mmsghdr *mmsg)
{
	const struct tpacket_auxdata *aux = packet_auxdata(&mmsg->msg_hdr);

	if (mmsg->msg_hdr.msg_flags & MSG_TRUNC)
		return 0;
	if (aux && (aux->tp_status & TP_STATUS_VLAN_VALID))
		return packet_tag(rx, mmsg->msg_len, aux);
	return mmsg->msg_len;
}

static int packet_recv(struct vnet *vnet)
{
	union {
		struct cmsghdr cmsg;
		uint8_t room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control[VNET_RECV_MAX];
	struct mmsghdr mmsg[VNET_RECV_MAX];
	struct iovec iov[VNET_RECV_MAX];
	int i, n;

	memset(mmsg, 0, sizeof(mmsg));
	for (i = 0; i < VNET_RECV_MAX; i++) {
		iov[i].iov_base = vnet->rx[i].data;
		iov[i].iov_len = sizeof(vnet->rx[i].data) - OFFLOAD_TAG_LEN;
		mmsg[i].msg_hdr.msg_iov = &iov[i];
		mmsg[i].msg_hdr.msg_iovlen = 1;
		mmsg[i].msg_hdr.msg_control = &control[i];
		mmsg[i].msg_hdr.msg_controllen = sizeof(control[i]);
	}
	n = recvmmsg(vnet->lfd.fd, mmsg, VNET_RECV_MAX, MSG_DONTWAIT, NULL);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++)
		vnet->rx_len[i] = packet_frame(vnet->rx[i].data, &mmsg[i]);
	return n;
}

static int packet_send(struct vnet *vnet, unsigned int first)
{
	struct mmsghdr mmsg[BATCH_MSGS];
	struct iovec iov[BATCH_MSGS];
	struct batch *tx = &vnet->tx;
	const unsigned int max = tx->n - first;
	unsigned int i;
	int n;

	memset(mmsg, 0, max * sizeof(mmsg[0]));
	for (i = 0; i < max; i++) {
		iov[i].iov_base = tx->data + tx->msg[first + i].off;
		iov[i].iov_len = tx->msg[first + i].len;
		mmsg[i].msg_hdr.msg_iov = &iov[i];
		mmsg[i].msg_hdr.msg_iovlen = 1;
	}
	n = sendmmsg(vnet->lfd.fd, mmsg, max, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

static const struct vnet_ops packet_ops = {
	.recv = packet_recv,
	.send = packet_send,
};

static struct uplink *packet_open(const struct uplink_env *env, const char *name, int fd)
{
	struct vnet *vnet = vnet_new(env, name, fd);

	if (!vnet)
		return NULL;
	vnet->ops = &packet_ops;
	return vnet_start(vnet);
}

const struct uplink_ops uplink_packet_ops = {
	.scheme = "packet",
	.needs = UPLINK_NETWORK,
	.open = packet_open,
	.free = vnet_free,
};
