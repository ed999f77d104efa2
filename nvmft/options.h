/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command line of virtio-roce-nvmft.
 */
#ifndef NVMFT_OPTIONS_H
#define NVMFT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "nvmf/nvmf.h"

#define OPTIONS_ADDRESSES	8

/**
 * enum space_kind - where the blocks of a namespace are
 * @SPACE_FILE:	in a file or block device of this machine
 * @SPACE_MEMORY: in memory of the program
 * @SPACE_HOST:	in a namespace of the host, which the device alone reaches
 */
enum space_kind {
	SPACE_FILE,
	SPACE_MEMORY,
	SPACE_HOST,
};

/**
 * struct space - a namespace as the command line has it
 * @kind:	where its blocks are
 * @name:	path, or name at the host
 * @size:	of memory: bytes
 * @ro:		hosts must not write to it
 */
struct space {
	enum space_kind kind;
	const char *name;
	uint64_t size;
	bool ro;
};

/**
 * struct options - what was asked for
 * @addresses:	number of @address
 * @address:	where to listen
 * @port:	and at which port
 * @nqn:	name of the subsystem
 * @spaces:	number of @space
 * @space:	its namespaces
 * @hosts:	number of @host
 * @host:	hosts that may connect; any one if there are none
 * @limits:	queues of a controller, entries of a queue
 * @recvs:	receive buffers, of all connections
 * @staging:	bytes of staging memory
 * @offload:	let the device serve reads and writes
 */
struct options {
	unsigned int addresses;
	const char *address[OPTIONS_ADDRESSES];
	const char *port;
	const char *nqn;
	unsigned int spaces;
	struct space space[NVMF_NAMESPACES_MAX];
	unsigned int hosts;
	const char *host[NVMF_HOSTS_MAX];
	struct nvmf_limits limits;
	unsigned int recvs;
	uint64_t staging;
	bool offload;
};

/**
 * options_parse() - read the command line
 * @options:	result
 * @argc:	of main()
 * @argv:	of main()
 *
 * Return: 0, 1 if help was asked for and printed, or -EINVAL with a message printed.
 */
int options_parse(struct options *options, int argc, char **argv);

#endif /* NVMFT_OPTIONS_H */
