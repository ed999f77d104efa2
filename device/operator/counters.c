// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The counters of ports, by name.
 */

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "operator/counters.h"
#include "rdma/rnic.h"
#include "uapi/virtio_net_roce.h"

#define COUNTER(what, field, title) { title, offsetof(struct what, field), false }

static const struct counter port_counters[] = {
	COUNTER(port_stats, in, "port_in"),
	COUNTER(port_stats, in_bytes, "port_in_bytes"),
	COUNTER(port_stats, out, "port_out"),
	COUNTER(port_stats, out_bytes, "port_out_bytes"),
	COUNTER(port_stats, cut, "port_cut"),
	COUNTER(port_stats, spoofed, "port_spoofed"),
	COUNTER(port_stats, unfinished, "port_unfinished"),
	COUNTER(port_stats, fault.lost, "fault_lost"),
	COUNTER(port_stats, fault.duplicated, "fault_duplicated"),
	COUNTER(port_stats, fault.reordered, "fault_reordered"),
	COUNTER(port_stats, fault.corrupted, "fault_corrupted"),
	{ 0 },
};

static const struct counter function_counters[] = {
	COUNTER(function_stats, tx, "eth_tx"),
	COUNTER(function_stats, tx_dropped, "eth_tx_dropped"),
	COUNTER(function_stats, rx, "eth_rx"),
	COUNTER(function_stats, rx_dropped, "eth_rx_dropped"),
	COUNTER(function_stats, rx_filtered, "eth_rx_filtered"),
	COUNTER(function_stats, doorbells, "rdma_doorbells"),
	COUNTER(function_stats, fused, "rdma_fused"),
	{ 0 },
};

static const struct counter uplink_counters[] = {
	{ "peers", offsetof(struct uplink_stats, peers), true },
	COUNTER(uplink_stats, tx_dropped, "tx_dropped"),
	COUNTER(uplink_stats, rx_dropped, "rx_dropped"),
	{ 0 },
};

#define VIRTIO_RDMA_COUNTER(counter, title) \
	{ title, VIRTIO_RDMA_CNT_##counter * sizeof(uint64_t), false },

static const struct counter rdma_counters[] = {
#include "uapi/virtio_net_roce_counters.h"
	{ 0 },
};

_Static_assert(ARRAY_SIZE(rdma_counters) ==
	       VIRTIO_RDMA_CNT_NUM + 1, "a counter has no name");

static const void *port_values(const struct operator_port *port)
{
	return &port->group->stats;
}

static const void *uplink_values(const struct operator_port *port)
{
	return port->uplink ? &port->uplink->stats : NULL;
}

static const void *function_values(const struct operator_port *port)
{
	return port->fn ? function_stats(port->fn) : NULL;
}

static const void *rdma_values(const struct operator_port *port)
{
	if (port->fn)
		return function_rdma_counters(port->fn);
	return port->rnic ? rnic_counters(port->rnic) : NULL;
}

const struct counter_set counter_sets[] = {
	{ port_counters, port_values },
	{ uplink_counters, uplink_values },
	{ function_counters, function_values },
	{ rdma_counters, rdma_values },
	{ 0 },
};

uint64_t counter_value(const struct counter *counter, const void *values)
{
	uint64_t value;

	memcpy(&value, (const char *)values + counter->offset, sizeof(value));
	return value;
}

const char *counter_rdma_name(unsigned int i)
{
	return rdma_counters[i].name;
}
