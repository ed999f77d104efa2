/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A target of NVMe over Fabrics, as the command line describes it.
 */
#ifndef DEVICE_TARGET_OPTIONS_H
#define DEVICE_TARGET_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"
#include "nvmf/nvmf.h"

#define TARGETS_MAX		8
#define TARGET_TEXT_MAX		4096

/**
 * struct target_options - what the command line says about a target
 * @text:	all of it, in pieces that the others point to
 * @nqn:	name of the subsystem
 * @gids:	number of addresses
 * @gid:	addresses
 * @spaces:	number of namespaces
 * @space:	their names
 * @ro:		those that hosts must not write to
 * @hosts:	number of names of hosts that may connect, 0 for all
 * @host:	them
 * @guests:	number of names of guests that may connect, 0 for all
 * @guest:	them
 */
struct target_options {
	char text[TARGET_TEXT_MAX];
	const char *nqn;
	unsigned int gids;
	uint8_t gid[NODE_GIDS][GID_SIZE];
	unsigned int spaces;
	const char *space[NVMF_NAMESPACES_MAX];
	bool ro[NVMF_NAMESPACES_MAX];
	unsigned int hosts;
	const char *host[NVMF_HOSTS_MAX];
	unsigned int guests;
	const char *guest[NVMF_GUESTS_MAX];
};

/**
 * target_options_parse() - read what is said about a target
 * @options:	filled in
 * @text:	nqn=NQN,address=ADDRESS,namespace=NAME and more
 *
 * Return: 0, or -EINVAL after an error was printed.
 */
int target_options_parse(struct target_options *options, const char *text);

#endif /* DEVICE_TARGET_OPTIONS_H */
