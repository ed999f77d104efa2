/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of an operator to a running daemon: questions and orders.
 */
#ifndef DEVICE_OPERATOR_COMMANDS_H
#define DEVICE_OPERATOR_COMMANDS_H

#include <stdio.h>
#include <sys/types.h>

#include "ether/switch.h"
#include "function/function.h"
#include "uplink/uplink.h"

/**
 * struct operator_port - a port of the switch
 * @text:	its socket, or its uplink, as on the command line
 * @group:	name, counters, whether it is cut off
 * @fn:	function of a guest, or NULL
 * @uplink:	uplink, or NULL
 * @rnic:	NIC of a station of the daemon's own, or NULL
 */
struct operator_port {
	const char *text;
	struct port_group *group;
	struct function *fn;
	struct uplink *uplink;
	struct rnic *rnic;
};

/**
 * struct operator_changes - how guests and uplinks come and go
 * @guest_add:	add a guest: PATH[,mac=MAC][,gid=ADDRESS]..., and a socket that listens
 *		there.  Returns 0, or -errno after an error was printed; the descriptor is
 *		taken over in any case
 * @uplink_add:	add an uplink, as on the command line, likewise, with the descriptor that
 *		uplink_descriptor() made
 * @remove:	remove a guest or an uplink
 * @takeover:	another process takes all over, by the connection that it asked on, which is
 *		taken over, and as it asked for; or NULL
 */
struct operator_changes {
	int (*guest_add)(void *arg, const char *text, int fd);
	int (*uplink_add)(void *arg, const char *text, int fd);
	void (*remove)(void *arg, const struct operator_port *port);
	void (*takeover)(void *arg, int fd, bool piped);
};

/**
 * struct operator - all ports
 * @port:	they; commands that change something change this, too
 * @ports:	number of them
 * @queue_pairs: of each guest
 * @limits:	likewise
 * @cwd:	directory that sockets without one are in
 * @umask:	of the daemon, which the names of its sockets were made with
 * @changes:	how they come and go
 * @arg:	for @changes
 * @targets:	print a line for each target's address, and before them one with the columns;
 *		or NULL: there are none
 * @metrics:	print metrics of targets and namespaces, or NULL
 * @look:	look how large namespaces are, or NULL
 * @targets_arg: for @targets, @metrics and @look
 */
struct operator {
	const struct operator_port *port;
	unsigned int ports;
	uint32_t queue_pairs;
	const struct rnic_limits *limits;
	const char *cwd;
	mode_t umask;
	const struct operator_changes *changes;
	void *arg;
	void (*targets)(const void *arg, FILE *out);
	void (*metrics)(const void *arg, FILE *out);
	void (*look)(void *arg);
	void *targets_arg;
};

/** operator_port_find() - the port of this name, short or whole, or NULL */
const struct operator_port *operator_port_find(const struct operator *op,
					       const char *name);

/** operator_port_name() - short name of a port, or the whole one if another has the same */
const char *operator_port_name(const struct operator *op,
			       const struct operator_port *port);

/** operator_port_kind() - what a port is, in a word */
const char *operator_port_kind(const struct operator_port *port);

/** operator_guest_state() - state of a guest's port, in a word */
const char *operator_guest_state(const struct operator_port *port);

/**
 * operator_command() - carry out a command
 * @op:		the ports that there are
 * @line:	command, not checked yet; changed
 * @fd:		descriptor that came with it, or -1; set to -1 if it is taken over
 * @out:	where the answer goes: "ok" or "error REASON" in the first line,
 *		then fields that tabs separate, a line for each
 *
 *   ports             name, kind, state
 *   qemu-args NAME    arguments for a guest's QEMU, a line each, not quoted
 *   stats             name, kind, counter, value
 *   qps               see operator_qps()
 *   metrics           see operator_metrics()
 *   look              see @look of &struct operator
 *   targets           see @targets of &struct operator
 *   link NAME up|down
 *   cut NAME on|off
 *   guest list, guest add TEXT, guest remove NAME, uplink add TEXT, uplink remove NAME,
 *   guest needs NAME, guest check-move NAME NEEDS
 *                     see operator_change()
 *   umask             of the daemon, in octal
 */
void operator_command(const struct operator *op, char *line, int *fd, FILE *out);

#endif /* DEVICE_OPERATOR_COMMANDS_H */
