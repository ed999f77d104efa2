// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What an operator can ask a running daemon, and tell it to do.
 */

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "operator/commands.h"
#include "uapi/virtio_net_roce.h"

/**
 * struct counter - a counter of a port
 * @name:	its name
 * @offset:	of it in the structure that has it
 */
struct counter {
	const char *name;
	size_t offset;
};

#define COUNTER(what, field, title) { title, offsetof(struct what, field) }

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
	{ 0 },
};

static const struct counter uplink_counters[] = {
	COUNTER(uplink_stats, peers, "peers"),
	COUNTER(uplink_stats, tx_dropped, "tx_dropped"),
	COUNTER(uplink_stats, rx_dropped, "rx_dropped"),
	{ 0 },
};

#define VIRTIO_RDMA_COUNTER(counter, title) \
	{ title, VIRTIO_RDMA_CNT_##counter * sizeof(uint64_t) },

static const struct counter rdma_counters[] = {
#include "uapi/virtio_net_roce_counters.h"
	{ 0 },
};

_Static_assert(ARRAY_SIZE(rdma_counters) ==
	       VIRTIO_RDMA_CNT_NUM + 1, "a counter has no name");

/* ------------------------------------------------------------------------- */
/* Names                                                                     */
/* ------------------------------------------------------------------------- */

/* The short name of a port, or the whole one if another has the same. */
static const char *port_name(const struct operator *op,
			     const struct operator_port *port)
{
	const struct operator_port *other;
	unsigned int i;

	for (i = 0; i < op->ports; i++) {
		other = &op->port[i];
		if (other != port &&
		    !strcmp(other->group->name, port->group->name))
			return port->text;
	}
	return port->group->name;
}

static const struct operator_port *port_find(const struct operator *op,
					     const char *name)
{
	const struct operator_port *port;
	unsigned int i;

	for (i = 0; i < op->ports; i++) {
		port = &op->port[i];
		if (!strcmp(name, port_name(op, port)) ||
		    !strcmp(name, port->text))
			return port;
	}
	return NULL;
}

static const char *port_kind(const struct operator_port *port)
{
	return port->fn ? "guest" : "uplink";
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void stats_print(const struct operator *op,
			const struct operator_port *port,
			const struct counter *counter, const void *values,
			FILE *out)
{
	uint64_t value;

	for (; counter->name; counter++) {
		memcpy(&value, (const char *)values + counter->offset,
		       sizeof(value));
		fprintf(out, "%s\t%s\t%s\t%" PRIu64 "\n",
			port_name(op, port), port_kind(port),
			counter->name, value);
	}
}

static void command_stats(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	unsigned int i;

	fprintf(out, "ok\n");
	for (i = 0; i < op->ports; i++, port++) {
		stats_print(op, port, port_counters, &port->group->stats,
			    out);
		if (port->uplink)
			stats_print(op, port, uplink_counters,
				    &port->uplink->stats, out);
		if (!port->fn)
			continue;
		stats_print(op, port, function_counters, function_stats(port->fn),
			    out);
		stats_print(op, port, rdma_counters,
			    function_rdma_counters(port->fn), out);
	}
}

static const char *guest_state(const struct operator_port *port)
{
	if (!function_connected(port->fn))
		return "absent";
	return function_link(port->fn) ? "up" : "down";
}

static void command_ports(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	unsigned int i;

	fprintf(out, "ok\n");
	for (i = 0; i < op->ports; i++, port++) {
		fprintf(out, "%s\t%s\t", port_name(op, port),
			port_kind(port));
		if (port->fn)
			fprintf(out, "%s", guest_state(port));
		else
			fprintf(out, "%" PRIu64 " peers",
				port->uplink->stats.peers);
		fprintf(out, "%s\n", port->group->cut ? ", cut" : "");
	}
}

static void command_link(const struct operator_port *port, bool up, FILE *out)
{
	if (!port->fn) {
		fprintf(out, "error %s is no guest\n", port->text);
		return;
	}
	function_set_link(port->fn, up);
	fprintf(out, "ok\n");
}

static void command_cut(const struct operator_port *port, bool on, FILE *out)
{
	port->group->cut = on;
	fprintf(out, "ok\n");
}

/**
 * struct command - a command that switches something of a port
 * @verb:	its first word
 * @on:		its last word to switch it on
 * @off:	its last word to switch it off
 * @fn:		carries it out
 */
struct command {
	const char *verb;
	const char *on;
	const char *off;
	void (*fn)(const struct operator_port *port, bool on, FILE *out);
};

static const struct command commands[] = {
	{ "link", "up", "down", command_link },
	{ "cut", "on", "off", command_cut },
};

/* The name is all between the first word and the last one, spaces included. */
static void command_switch(const struct operator *op,
			   const struct command *command, char *name, FILE *out)
{
	char *value = strrchr(name, ' ');
	const struct operator_port *port;

	if (!value || (strcmp(value + 1, command->on) &&
		       strcmp(value + 1, command->off))) {
		fprintf(out, "error %s wants a port, and %s or %s\n",
			command->verb, command->on, command->off);
		return;
	}
	*value++ = 0;
	port = port_find(op, name);
	if (port)
		command->fn(port, !strcmp(value, command->on), out);
	else
		fprintf(out, "error no such port\n");
}

void operator_command(const struct operator *op, char *line, FILE *out)
{
	const struct command *command = commands;
	unsigned int i;
	size_t len;

	if (!strcmp(line, "stats")) {
		command_stats(op, out);
		return;
	}
	if (!strcmp(line, "ports")) {
		command_ports(op, out);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++, command++) {
		len = strlen(command->verb);
		if (!strncmp(line, command->verb, len) && line[len] == ' ') {
			command_switch(op, command, line + len + 1, out);
			return;
		}
	}
	fprintf(out, "error unknown command\n");
}
