// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port to the switch: RoCE packets by the function's Ethernet port.
 *
 * A packet that is sent becomes a frame on the stack, and the function's port
 * reads it before the call returns.
 *
 * A frame is received while its sender sends.  An immediate answer would send within
 * that call, and so recurse.  So the frame is only copied to a ring, and
 * rnic_poll() looks at it later.  The copy is needed anyway: a frame may lie in
 * memory of another guest, which must not change it between the check of the
 * ICRC and the use of what was checked.  A frame for which the ring has no room is
 * lost, as in any network.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/roce_head.h"
#include "rdma/eth_port.h"

/* As much as several QPs send in one call of rnic_poll(), with an MTU of 1024. */
#define ETH_PORT_RING	1024

/**
 * struct eth_port_slot - a frame received
 * @from:	NIC of the guest that it comes from, or NULL
 * @len:	its bytes, or 0 if @from has gone
 * @frame:	them
 */
struct eth_port_slot {
	const struct fabric_end *from;
	uint32_t len;
	uint8_t frame[ROCE_FRAME_MAX];
};

/* Pages of the ring are allocated when they are first used. */
int eth_port_init(struct eth_port *port, struct rnic_ctx *ctx)
{
	port->ctx = ctx;
	port->ring = calloc(ETH_PORT_RING, sizeof(*port->ring));
	return port->ring ? 0 : -ENOMEM;
}

void eth_port_reset(struct eth_port *port)
{
	port->n = 0;
}

void eth_port_fini(struct eth_port *port)
{
	if (port->ring)
		rnic_give_back(port->ctx, port->ring, ETH_PORT_RING * sizeof(*port->ring));
}

void eth_port_attach(struct eth_port *port, const struct rnic_eth *eth,
		     void *arg)
{
	port->eth = eth;
	port->arg = arg;
}

bool eth_port_is_mine(const struct eth_port *port, const uint8_t *mac)
{
	return port->eth && (!memcmp(mac, port->eth->mac(port->arg), ETH_ALEN) ||
			     port->eth->hears(port->arg, mac));
}

bool eth_port_leads_to(const struct eth_port *port, const uint8_t *mac)
{
	return eth_port_is_mine(port, mac) ||
	       (port->eth && port->eth->behind(port->arg, mac));
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

/* Headers, for the payload to follow them; NULL if the long way is to be taken. */
static uint8_t *eth_port_begin(const struct eth_port *port, const struct pkt *pkt,
			       uint8_t *frame)
{
	const uint8_t *mac = port->eth->mac(port->arg);

	if (!pkt->head || pkt->icrc_twice || pkt->opcode == PKT_CNP)
		return NULL;
	if (!roce_head_is(pkt->head, mac) && !roce_head_init(pkt->head, pkt, mac))
		return NULL;
	return roce_head_build(frame, pkt->head, pkt, port->eth->mtu(port->arg));
}

/* The same of any packet; @why is set if it returns NULL. */
static uint8_t *eth_port_begin_any(const struct eth_port *port, const struct pkt *pkt,
				   uint8_t *frame, const char **why)
{
	struct roce_path path;

	*why = "packet longer than the MTU of the port";
	if (roce_ip_size(pkt) > port->eth->mtu(port->arg))
		return NULL;
	*why = "no packet for these GIDs";
	roce_path_init(&path, pkt, port->eth->mac(port->arg));
	return roce_build(frame, &path, pkt);
}

static const char *eth_port_transmit(const struct eth_port *port,
				     const struct pkt *pkt)
{
	uint8_t frame[ROCE_FRAME_MAX], *payload;
	struct roce_head *head = pkt->head;
	const char *why;
	struct sg dst;
	size_t len;

	if (!port->eth)
		return "no port";
	payload = eth_port_begin(port, pkt, frame);
	if (!payload) {
		head = NULL;
		payload = eth_port_begin_any(port, pkt, frame, &why);
	}
	if (!payload)
		return why;
	if (pkt->len) {
		sg_init_flat(&dst, payload);
		sg_copy(&dst, pkt->payload, pkt->len);
	}
	len = head ? roce_head_finish(frame, head, payload, pkt) :
		     roce_finish(frame, payload, pkt);
	if (!port->eth->send(port->arg, frame, len))
		return "port is down";
	return NULL;
}

void eth_port_send(struct eth_port *port, const struct pkt *pkt)
{
	const char *why = eth_port_transmit(port, pkt);

	if (!why) {
		rnic_count_sent(port->ctx, pkt->len);
		return;
	}
	rnic_count(port->ctx, VIRTIO_RDMA_CNT_SENT_DROPPED);
	rnic_warn(port->ctx, "packet for QP %u of a peer not sent: %s",
		  pkt->dest_qpn, why);
}

bool eth_port_send_frame(struct eth_port *port, void *frame, size_t len, uint64_t *work)
{
	const uint64_t before = port->eth ? port->eth->work(port->arg) : 0;

	*work = 0;
	if (!port->eth || !port->eth->send(port->arg, frame, len)) {
		rnic_count(port->ctx, VIRTIO_RDMA_CNT_SENT_DROPPED);
		return false;
	}
	rnic_count_sent(port->ctx, len);
	*work = port->eth->work(port->arg) - before;
	return true;
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

void eth_port_keep(struct eth_port *port, const struct fabric_end *from,
		   const struct iovec *iov, unsigned int iov_n, size_t off,
		   size_t len)
{
	struct eth_port_slot *slot;

	if (len > ROCE_FRAME_MAX) {
		rnic_count(port->ctx, VIRTIO_RDMA_CNT_RCVD_MALFORMED);
		return;
	}
	if (port->n == ETH_PORT_RING) {
		rnic_count(port->ctx, VIRTIO_RDMA_CNT_RCVD_DROPPED);
		return;
	}
	slot = &port->ring[(port->head + port->n) % ETH_PORT_RING];
	slot->from = from;
	slot->len = iov_to_buf(iov, iov_n, off, slot->frame, len);
	port->n++;
	rnic_call(port->ctx);
}

const struct pkt *eth_port_next(struct eth_port *port, struct roce_rx *rx,
				struct sg *payload)
{
	struct eth_port_slot *slot = &port->ring[port->head];
	const char *why;

	if (!slot->len)
		return NULL;
	why = roce_parse(rx, slot->frame, slot->len);
	if (why) {
		rnic_count(port->ctx, VIRTIO_RDMA_CNT_RCVD_MALFORMED);
		log_debug("%s: malformed packet: %s", port->ctx->name, why);
		return NULL;
	}
	if (!roce_icrc_ok(rx, slot->frame)) {
		rnic_count(port->ctx, VIRTIO_RDMA_CNT_RCVD_ICRC_ERR);
		return NULL;
	}
	rx->pkt.from = slot->from;
	if (rx->pkt.len) {
		sg_init_flat(payload, slot->frame + rx->payload);
		rx->pkt.payload = payload;
	}
	return &rx->pkt;
}

void eth_port_forget(struct eth_port *port, const struct fabric_end *gone)
{
	struct eth_port_slot *slot;
	unsigned int i;

	for (i = 0; i < port->n; i++) {
		slot = &port->ring[(port->head + i) % ETH_PORT_RING];
		if (slot->from == gone)
			slot->len = 0;
	}
}

void eth_port_done(struct eth_port *port)
{
	port->head = (port->head + 1) % ETH_PORT_RING;
	/* Memory used a moment ago is the best to use again. */
	if (!--port->n)
		port->head = 0;
}
