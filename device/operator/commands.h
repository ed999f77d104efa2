/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What an operator can ask a running daemon, and tell it.
 */
#ifndef DEVICE_REPORT_H
#define DEVICE_REPORT_H

#include <stdio.h>

#include "function/function.h"
#include "ether/switch.h"
#include "uplink/uplink.h"
#include "vhost_user/vhost_user.h"

/**
 * struct report_port - a port of the switch
 * @text:	its socket, or its uplink, as on the command line
 * @group:	name, counters, whether it is cut off
 * @net:	function of a guest, or NULL
 * @vu:		front-end of that
 * @uplink:	uplink, or NULL
 */
struct report_port {
	const char *text;
	struct port_group *group;
	struct net *net;
	struct vhost_user *vu;
	struct uplink *uplink;
};

/**
 * struct report - all ports
 * @port:	they
 * @ports:	number of them
 */
struct report {
	const struct report_port *port;
	unsigned int ports;
};

/**
 * report_command() - carry out a command
 * @report:	what there is
 * @line:	command, not checked yet; changed
 * @out:	where the answer goes: "ok" or "error REASON" in the first line,
 *		then fields that tabs separate, a line for each
 *
 *   ports             name, kind, state
 *   stats             name, kind, counter, value
 *   link NAME up|down
 *   cut NAME on|off
 */
void report_command(const struct report *report, char *line, FILE *out);

#endif /* DEVICE_REPORT_H */
