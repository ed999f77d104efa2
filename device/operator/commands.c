// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of an operator to a running daemon: questions and orders.
 */

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/util.h"
#include "operator/change.h"
#include "operator/commands.h"
#include "operator/counters.h"
#include "operator/metrics.h"
#include "operator/qps.h"
#include "rdma/rnic.h"

/* ------------------------------------------------------------------------- */
/* Names                                                                     */
/* ------------------------------------------------------------------------- */

const char *operator_port_name(const struct operator *op,
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

const struct operator_port *operator_port_find(const struct operator *op,
					       const char *name)
{
	const struct operator_port *port;
	unsigned int i;

	for (i = 0; i < op->ports; i++) {
		port = &op->port[i];
		if (!strcmp(name, operator_port_name(op, port)) ||
		    !strcmp(name, port->text))
			return port;
	}
	return NULL;
}

const char *operator_port_kind(const struct operator_port *port)
{
	return port->fn ? "guest" : port->uplink ? "uplink" : "target";
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void stats_print(const struct operator *op,
			const struct operator_port *port,
			const struct counter_set *set, FILE *out)
{
	const struct counter *counter = set->counter;
	const void *values = set->of(port);

	for (; values && counter->name; counter++)
		fprintf(out, "%s\t%s\t%s\t%" PRIu64 "\n",
			operator_port_name(op, port), operator_port_kind(port),
			counter->name, counter_value(counter, values));
}

static void command_stats(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	const struct counter_set *set;
	unsigned int i;

	fprintf(out, "ok\n");
	for (i = 0; i < op->ports; i++, port++)
		for (set = counter_sets; set->counter; set++)
			stats_print(op, port, set, out);
}

const char *operator_guest_state(const struct operator_port *port)
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
		fprintf(out, "%s\t%s\t", operator_port_name(op, port),
			operator_port_kind(port));
		if (port->fn)
			fprintf(out, "%s", operator_guest_state(port));
		else if (!port->uplink)
			fprintf(out, "up");
		else
			fprintf(out, "%" PRIu64 " peers",
				port->uplink->stats.peers);
		fprintf(out, "%s\n", port->group->cut ? ", cut" : "");
	}
}

/* As the value of an option of QEMU's, in which a comma is written twice. */
static void qemu_value(const char *text, FILE *out)
{
	for (; *text; text++)
		fprintf(out, "%s%c", *text == ',' ? "," : "", *text);
}

static void qemu_path(const struct operator *op, const char *path, FILE *out)
{
	if (*path != '/') {
		qemu_value(op->cwd, out);
		fprintf(out, "/");
	}
	qemu_value(path, out);
}

static void command_qemu_args(const struct operator *op, const char *name,
			      FILE *out)
{
	const struct operator_port *port = operator_port_find(op, name);
	const struct rnic_limits *limits = op->limits;
	size_t config = VIRTIO_NET_ROCE_CONFIG_OFFSET +
			sizeof(struct virtio_net_roce_config);

	if (!port || !port->fn) {
		fprintf(out, "error no such guest\n");
		return;
	}
	if (limits->event_vqs || limits->doorbell_vqs)
		config += sizeof(struct virtio_net_roce_config_rings);
	fprintf(out, "ok\n-chardev\nsocket,id=roce0-socket,path=");
	qemu_path(op, port->text, out);
	fprintf(out, "\n-device\nvhost-user-test-device-pci,virtio-id=1,");
	fprintf(out, "chardev=roce0-socket,id=roce0,page-per-vq=on,");
	fprintf(out, "num_vqs=%u,vq_size=%u,config_size=%zu\n",
		function_num_queues(op->queue_pairs, limits), limits->queue_size, config);
}

/* For who makes sockets for us, which shall have the same rights. */
static void command_umask(const struct operator *op, FILE *out)
{
	fprintf(out, "ok\n%04o\n", op->umask);
}

/* For a process that is about to take over: it may ask for "takeover piped". */
static void command_heap(const struct operator *op __always_unused, FILE *out)
{
	fprintf(out, "ok\n%zu\npiped\n", heap_used());
}

static void command_link(const struct operator_port *port, bool up, FILE *out)
{
	if (!port->fn) {
		fprintf(out, "error %s is not a guest\n", port->text);
		return;
	}
	function_set_link(port->fn, up);
	fprintf(out, "ok\n");
}

static void command_cut(const struct operator_port *port, bool on, FILE *out)
{
	port->group->cut = on;
	if (port->fn)
		function_port_changed(port->fn);
	else if (port->rnic)
		rnic_set_packets(port->rnic, on);
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

static void command_look(const struct operator *op, FILE *out)
{
	fprintf(out, "ok\n");
	if (op->look)
		op->look(op->targets_arg);
}

static void command_targets(const struct operator *op, FILE *out)
{
	fprintf(out, "ok\n");
	if (op->targets)
		op->targets(op->targets_arg, out);
}

/**
 * struct question - a command of one word
 * @verb:	the word
 * @fn:		answers it
 */
struct question {
	const char *verb;
	void (*fn)(const struct operator *op, FILE *out);
};

static const struct question questions[] = {
	{ "stats", command_stats },
	{ "ports", command_ports },
	{ "qps", operator_qps },
	{ "metrics", operator_metrics },
	{ "targets", command_targets },
	{ "look", command_look },
	{ "umask", command_umask },
	{ "heap", command_heap },
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
	port = operator_port_find(op, name);
	if (port)
		command->fn(port, !strcmp(value, command->on), out);
	else
		fprintf(out, "error no such port\n");
}

void operator_command(const struct operator *op, char *line, int *fd, FILE *out)
{
	const struct command *command = commands;
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(questions); i++)
		if (!strcmp(line, questions[i].verb)) {
			questions[i].fn(op, out);
			return;
		}
	if (!strncmp(line, "qemu-args ", 10)) {
		command_qemu_args(op, line + 10, out);
		return;
	}
	if (operator_change(op, line, fd, out))
		return;
	for (i = 0; i < ARRAY_SIZE(commands); i++, command++) {
		len = strlen(command->verb);
		if (!strncmp(line, command->verb, len) && line[len] == ' ') {
			command_switch(op, command, line + len + 1, out);
			return;
		}
	}
	fprintf(out, "error unknown command\n");
}
