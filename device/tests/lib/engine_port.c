// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ethernet ports for the guests of an engine.
 */
#include "tests/lib/engine_port.h"

#include <stdlib.h>

#include "rdma/steer.h"

struct eg_port eg_port[EG_GUESTS];

bool eg_frame_from(struct eg_port *port, const struct rnic *from,
		   const void *frame, size_t len)
{
	uint8_t before[] = "xyz";
	struct rule_hits hits;
	struct iovec iov[2];
	uint8_t *copy = malloc(len);
	bool taken;

	assert_non_null(copy);
	memcpy(copy, frame, len);
	/* In two pieces, with something before the frame. */
	iov[0] = (struct iovec) { .iov_base = before, .iov_len = 3 };
	iov[1] = (struct iovec) { .iov_base = copy, .iov_len = len };
	taken = rnic_frame(port->rnic, from, iov, 2, 3, len);
	/* As the port of a function. */
	if (rnic_steer(port->rnic, taken ? RULE_FOR_SNIFFERS : RULE_FOR_PORT, iov, 2, 3, len,
		       &hits)) {
		rnic_give(port->rnic, &hits, iov, 3, len);
		taken |= hits.taken;
	}
	port->taken += taken;
	free(copy);
	return taken;
}

bool eg_frame(struct eg_port *port, const void *frame, size_t len)
{
	return eg_frame_from(port, port->peer->rnic, frame, len);
}

static bool port_send(void *arg, void *frame, size_t len)
{
	struct eg_port *port = arg;

	if (port->down)
		return false;
	port->sent++;
	port->len = len;
	port->bytes += len;
	memcpy(port->frame, frame, len);
	if (!port->lose && !port->alone)
		eg_frame(port->peer, frame, len);
	return true;
}

static const uint8_t *port_mac(void *arg)
{
	struct eg_port *port = arg;

	return port->mac;
}

static uint32_t port_mtu(void *arg)
{
	struct eg_port *port = arg;

	return port->mtu;
}

bool eg_port_behind(void *arg, const uint8_t *mac)
{
	const struct eg_port *port = arg;

	return !memcmp(mac, port->behind, ETH_ALEN);
}

bool eg_port_hears(void *arg, const uint8_t *mac)
{
	const struct eg_port *port = arg;

	return !memcmp(mac, port->further, ETH_ALEN);
}

/* As a switch: what a frame costs, and its bytes. */
static uint64_t port_work(void *arg)
{
	const struct eg_port *port = arg;

	return port->alone ? 0 : port->bytes + (uint64_t)port->cost * port->sent;
}

static const struct rnic_eth port_eth = {
	.send = port_send,
	.mac = port_mac,
	.hears = eg_port_hears,
	.mtu = port_mtu,
	.work = port_work,
	.behind = eg_port_behind,
};

void eg_plug(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < EG_GUESTS; i++) {
		eg_port[i] = (struct eg_port) {
			.rnic = engine->guest[i].rnic,
			.peer = &eg_port[EG_GUESTS - 1 - i],
			.mac = EG_MAC,
			.mtu = EG_MTU,
		};
		eg_follow(&eg_port[i].rnic);
		rnic_set_eth(eg_port[i].rnic, &port_eth, &eg_port[i]);
	}
}

void eg_ports(struct engine *engine)
{
	fabric_use_packets(engine->fabric);
	eg_plug(engine);
}

size_t eg_build(uint8_t *frame, const struct roce_path *path,
		const struct pkt *pkt, const uint8_t *data)
{
	uint8_t *payload = roce_build(frame, path, pkt);

	if (!payload)
		return 0;
	if (pkt->len)
		memcpy(payload, data, pkt->len);
	return roce_finish(frame, payload, pkt);
}

uint64_t eg_count(const struct eg_guest *guest, enum virtio_rdma_counter counter)
{
	return rnic_counters(guest->rnic)[counter];
}
