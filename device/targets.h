/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The daemon's own storage: namespaces, and targets at nodes of the switch.
 */
#ifndef DEVICE_TARGETS_H
#define DEVICE_TARGETS_H

#include <stdio.h>

#include "ether/switch.h"
#include "node/node_target.h"
#include "operator/commands.h"
#include "options.h"
#include "rdma/nvmf/subsys.h"
#include "storage/staging.h"
#include "storage/storage.h"

/**
 * struct targets - all of them
 * @options:	command line
 * @staging:	memory for data, or NULL if there are no namespaces
 * @storage:	namespaces, or NULL
 * @pool:	buffers of @staging
 * @nvmf:	targets, or NULL
 * @host:	what guests may use of it themselves
 * @n:		number of @target
 * @target:	with a node each
 * @group:	ports of the nodes
 */
struct targets {
	const struct options *options;
	struct staging *staging;
	struct storage *storage;
	struct nvmf_pool pool;
	struct nvmf *nvmf;
	struct nvmf_host host;
	unsigned int n;
	struct node_target *target[TARGETS_MAX];
	struct port_group group[TARGETS_MAX];
};

/**
 * targets_open() - open namespaces, start the process that serves them, connect the nodes
 * @targets:	zeroes
 * @options:	command line
 * @loop:	event loop
 * @sw:		switch
 * @fabric:	fabric of the nodes' NICs
 * @successor:	another daemon, whose place this one takes, may still have the files
 *
 * Before the sandbox, and before there are guests, who might claim the addresses.
 *
 * Return: 0, or -errno after an error was printed.
 */
int targets_open(struct targets *targets, const struct options *options, struct loop *loop,
		 struct l2_switch *sw, struct fabric *fabric, bool successor);

/** targets_host() - what guest @guest may use by control commands, or NULL */
const struct nvmf_host *targets_host(const struct targets *targets, const char *guest);

/** targets_attach() - in the sandbox: storage can be used; 0, or -errno after an error */
int targets_attach(struct targets *targets, struct loop *loop);

/** targets_stop() - end all connections, and tell the initiators; let nobody connect */
void targets_stop(struct targets *targets);

/** targets_resume() - after targets_stop(): let initiators connect again */
void targets_resume(struct targets *targets);

/** targets_look() - look how large namespaces are, and tell hosts of those that changed */
void targets_look(void *targets);

/** targets_ports() - what an operator sees of them: %TARGETS_MAX ports at most, and how many */
unsigned int targets_ports(struct targets *targets, struct operator_port *port);

/** targets_close() - the same, and end all; no guest uses targets_host() any more */
void targets_close(struct targets *targets);

#endif /* DEVICE_TARGETS_H */
