/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The daemon's own storage: namespaces, and targets at nodes of the switch.
 */
#ifndef DEVICE_TARGETS_H
#define DEVICE_TARGETS_H

#include <stdio.h>

#include "ether/switch.h"
#include "node/node_target.h"
#include "options.h"
#include "storage/staging.h"
#include "storage/storage.h"

/**
 * struct targets - all of them
 * @options:	command line
 * @staging:	memory for data, or NULL if there are no namespaces
 * @storage:	namespaces, or NULL
 * @pool:	buffers of @staging
 * @nvmf:	targets, or NULL
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

/** targets_attach() - in the sandbox: storage can be used; 0, or -errno after an error */
int targets_attach(struct targets *targets, struct loop *loop);

/** targets_stop() - end all connections, and tell the initiators; let nobody connect */
void targets_stop(struct targets *targets);

/** targets_resume() - after targets_stop(): let initiators connect again */
void targets_resume(struct targets *targets);

/** targets_print() - a line for each address, after one that names the columns */
void targets_print(const void *targets, FILE *out);

/** targets_close() - the same, and end all */
void targets_close(struct targets *targets);

#endif /* DEVICE_TARGETS_H */
