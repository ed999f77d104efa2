// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port of a node: frames from the switch and to it.
 *
 * A frame is received while its sender sends, when nothing may be sent.  So the NIC takes
 * what is RoCE, and of ARP and IPv6 the beginning is copied, to be looked at by and by.  A
 * frame for which there is no room is lost, as in any network.
 */
#include <endian.h>
#include <string.h>

#include "base/util.h"
#include "node/node_port.h"
#include "virtio/mem.h"

/* The smallest frame, without its checksum. */
#define FRAME_LEAST	60u

static bool port_wants(const struct frame *frame)
{
	const uint16_t type = be16toh(frame->eth.ether_type);

	return type == ETHERTYPE_ARP || type == ETHERTYPE_IPV6;
}

static void port_keep(struct node_port *port, const struct frame *frame)
{
	struct node_frame *slot;

	if (port->n == NODE_PORT_FRAMES)
		return;
	slot = &port->ring[(port->head + port->n) % NODE_PORT_FRAMES];
	slot->len = iov_to_buf(frame->iov, frame->iov_n, frame->off, slot->data,
			       frame->len < NODE_PORT_BYTES ? frame->len : NODE_PORT_BYTES);
	port->n++;
}

static void port_deliver(void *arg, const struct frame *frame)
{
	struct node_port *port = arg;

	if (!rnic_frame(port->rnic, frame->origin, frame->iov, frame->iov_n, frame->off,
			frame->len) && port_wants(frame))
		port_keep(port, frame);
}

static void port_flush(void *arg __always_unused)
{
}

static bool port_send(void *arg, void *data, size_t len)
{
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct node_port *port = arg;
	struct frame frame;

	if (frame_init(&frame, &iov, 1, 0, len))
		return false;
	frame.origin = port->rnic;
	switch_send(&port->port, &frame);
	return true;
}

static const uint8_t *port_mac(void *arg)
{
	const struct node_port *port = arg;

	return port->pin.mac;
}

static bool port_hears(void *arg __always_unused, const uint8_t *mac __always_unused)
{
	return false;
}

static uint32_t port_mtu(void *arg)
{
	const struct node_port *port = arg;

	return port->mtu;
}

static uint64_t port_work(void *arg)
{
	const struct node_port *port = arg;

	return switch_work(port->sw);
}

static bool port_behind(void *arg, const uint8_t *mac)
{
	const struct node_port *port = arg;

	return switch_is_behind(&port->port, mac);
}

static const struct rnic_eth port_eth = {
	.send = port_send,
	.mac = port_mac,
	.hears = port_hears,
	.mtu = port_mtu,
	.work = port_work,
	.behind = port_behind,
};

void node_port_init(struct node_port *port, struct l2_switch *sw, struct rnic *rnic,
		    struct port_group *group)
{
	port->sw = sw;
	port->rnic = rnic;
	port->port.deliver = port_deliver;
	port->port.flush = port_flush;
	port->port.arg = port;
	port->port.group = group;
	port->port.quota = 1;
	port->port.pin = &port->pin;
	switch_port_add(sw, &port->port);
	rnic_set_eth(rnic, &port_eth, port);
}

void node_port_fini(struct node_port *port)
{
	switch_port_del(port->sw, &port->port);
	switch_forget(port->sw, port->rnic);
}

void node_port_send(struct node_port *port, void *frame, size_t len, size_t room)
{
	if (len < FRAME_LEAST && room >= FRAME_LEAST) {
		memset((uint8_t *)frame + len, 0, FRAME_LEAST - len);
		len = FRAME_LEAST;
	}
	port_send(port, frame, len);
}

const struct node_frame *node_port_next(struct node_port *port)
{
	const struct node_frame *frame = &port->ring[port->head];

	if (!port->n)
		return NULL;
	port->head = (port->head + 1) % NODE_PORT_FRAMES;
	port->n--;
	return frame;
}
