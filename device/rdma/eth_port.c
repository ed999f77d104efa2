// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The wire: RoCE packets by the function's Ethernet port.
 *
 * A packet that is sent becomes a frame on the stack, and the port reads it
 * before the call returns.
 *
 * A frame that is received comes while its sender sends, and what it is answered
 * with would be sent in that call, and so on.  So it is only copied, once, to a
 * ring, and rnic_poll() looks at it later.  The copy is needed anyway: a frame may
 * lie in memory of another guest, who must not change it between the check of
 * the ICRC and the use of what was checked.  A frame for which the ring has no
 * room is lost, as in any network.
 *
 * What is taken from Ethernet is what another one could not want: UDP to port
 * 4791 for the function's own MAC address, for a GID that the guest has given to
 * it, in that GID's VLAN, for a QP that there is.  With all else a guest may do
 * what it likes, such as running Soft-RoCE at the same addresses.  A datagram to a
 * group may be wanted by both, and both get it.  It is looked at before Ethernet's
 * filter, so that a QP needs no more than to be attached.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "virtio/mem.h"
#include "rdma/qp/qp.h"
#include "packet/roce.h"
#include "rdma/object/sg.h"

/* As much as several QPs send in one call of rnic_poll(), with an MTU of 1024. */
#define ETH_PORT_RING	1024

/* What one call of rnic_poll() takes at most; a frame for n QPs counts as n. */
#define ETH_PORT_BURST	256

/**
 * struct eth_port_slot - a frame received
 * @len:	its bytes
 * @frame:	them
 */
struct eth_port_slot {
	uint32_t len;
	uint8_t frame[ROCE_FRAME_MAX];
};

/* Pages of the ring are there when they are needed first. */
int eth_port_init(struct rnic *rnic)
{
	rnic->port.ring = calloc(ETH_PORT_RING, sizeof(*rnic->port.ring));
	return rnic->port.ring ? 0 : -ENOMEM;
}

void eth_port_reset(struct rnic *rnic)
{
	rnic->port.n = 0;
}

void eth_port_fini(struct rnic *rnic)
{
	free(rnic->port.ring);
}

void rnic_set_eth(struct rnic *rnic, const struct rnic_eth *eth, void *arg)
{
	rnic->port.eth = eth;
	rnic->port.arg = arg;
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static const char *eth_port_transmit(struct rnic *rnic, const struct pkt *pkt)
{
	const struct eth_port *wire = &rnic->port;
	uint8_t frame[ROCE_FRAME_MAX];
	struct roce_path path;
	uint8_t *payload;
	struct sg dst;
	size_t len;

	if (!wire->eth)
		return "no port";
	if (roce_ip_size(pkt) > wire->eth->mtu(wire->arg))
		return "packet longer than the MTU of the port";
	roce_path_init(&path, pkt, wire->eth->mac(wire->arg));
	payload = roce_build(frame, &path, pkt);
	if (!payload)
		return "no packet for these GIDs";
	if (pkt->len) {
		sg_init_flat(&dst, payload);
		sg_copy(&dst, pkt->payload, pkt->len);
	}
	len = roce_finish(frame, payload, pkt);
	if (!wire->eth->send(wire->arg, frame, len))
		return "port is down";
	return NULL;
}

static void transport_wire_send(struct rnic *from, struct rnic *to,
				const struct pkt *pkt)
{
	const char *why;

	(void)to;
	why = eth_port_transmit(from, pkt);
	if (!why) {
		rnic_count_sent(from, pkt->len);
		return;
	}
	rnic_count(from, VIRTIO_RDMA_CNT_SENT_DROPPED);
	rnic_warn(from, "packet for QP %u of a peer not sent: %s",
		  pkt->dest_qpn, why);
}

const struct transport transport_wire = {
	.name = "wire",
	.seg_max = 0,
	.send = transport_wire_send,
};

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

static bool eth_port_wants(const struct rnic *rnic, const struct roce_peek *peek)
{
	const struct eth_port *wire = &rnic->port;
	const struct qp *qp = rnic_qp(rnic, peek->dest_qpn);

	return wire->eth && qp && qp->state != VIRTIO_IB_QPS_RESET &&
	       !memcmp(peek->dmac, wire->eth->mac(wire->arg), ETH_ALEN) &&
	       gid_is_mine(rnic, peek->dgid, peek->vlan);
}

/* A group has no VLAN of its own: those where the NIC has an address will do. */
static bool eth_port_wants_group(const struct rnic *rnic,
				 const struct roce_peek *peek)
{
	return rnic->port.eth && peek->dmac[0] & 1 &&
	       mcast_find(rnic, peek->dest_qpn, peek->dgid) &&
	       gid_has_vlan(rnic, peek->vlan);
}

static void eth_port_keep(struct rnic *rnic, const struct iovec *iov,
			  unsigned int iov_n, size_t off, size_t len)
{
	struct eth_port *wire = &rnic->port;
	struct eth_port_slot *slot;

	if (len > ROCE_FRAME_MAX) {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_MALFORMED);
		return;
	}
	if (wire->n == ETH_PORT_RING) {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_DROPPED);
		return;
	}
	slot = &wire->ring[(wire->head + wire->n) % ETH_PORT_RING];
	slot->len = iov_to_buf(iov, iov_n, off, slot->frame, len);
	wire->n++;
}

bool rnic_frame(struct rnic *rnic, const struct iovec *iov, unsigned int iov_n,
		size_t off, size_t len)
{
	uint8_t head[ROCE_PEEK_SIZE];
	struct roce_peek peek;
	bool mine;

	if (!roce_peek(&peek, head, iov_to_buf(iov, iov_n, off, head,
					       len < sizeof(head) ?
					       len : sizeof(head))))
		return false;
	mine = eth_port_wants(rnic, &peek);
	if (mine || eth_port_wants_group(rnic, &peek))
		eth_port_keep(rnic, iov, iov_n, off, len);
	return mine;
}

/* Returns how many QPs the frame was for, and no less than 1. */
static unsigned int eth_port_receive(struct rnic *rnic, struct eth_port_slot *slot)
{
	struct roce_rx rx;
	const char *why;
	struct sg src;

	why = roce_parse(&rx, slot->frame, slot->len);
	if (why) {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_MALFORMED);
		log_debug("%s: malformed packet: %s", rnic->name, why);
		return 1;
	}
	if (!roce_icrc_ok(&rx, slot->frame)) {
		rnic_count(rnic, VIRTIO_RDMA_CNT_RCVD_ICRC_ERR);
		return 1;
	}
	if (rx.pkt.len) {
		sg_init_flat(&src, slot->frame + rx.payload);
		rx.pkt.payload = &src;
	}
	return rnic_deliver(rnic, &rx.pkt);
}

bool eth_port_poll(struct rnic *rnic)
{
	struct eth_port *wire = &rnic->port;
	unsigned int done = 0;

	while (done < ETH_PORT_BURST && wire->n) {
		done += eth_port_receive(rnic, &wire->ring[wire->head]);
		wire->head = (wire->head + 1) % ETH_PORT_RING;
		wire->n--;
	}
	/* Memory used a moment ago is the best to use again. */
	if (!wire->n)
		wire->head = 0;
	return done;
}
