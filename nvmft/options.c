// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line of virtio-roce-nvmft.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "options.h"
#include "storage/staging.h"

#define OPTIONS_NQN		"nqn.2026-11.org.example:virtio-roce-nvmft"
#define OPTIONS_PORT		"4420"
#define OPTIONS_RECVS		1024
#define OPTIONS_RECVS_MAX	16384
#define OPTIONS_STAGING_MAX	(64ULL << 30)

static const char options_usage[] =
"Usage: virtio-roce-nvmft --address ADDRESS --namespace STORAGE [OPTION]...\n"
"\n"
"A target of NVMe over Fabrics on RDMA.  The device serves reads, writes and\n"
"flushes by itself; the program does the rest.\n"
"\n"
"  --address ADDRESS     listen at this IP address; repeat for more\n"
"  --port PORT           port (4420)\n"
"  --nqn NQN             name of the subsystem\n"
"  --namespace STORAGE   a namespace; the first one has number 1, repeat for more:\n"
"                          host:NAME    a namespace of the host, by the name that\n"
"                                       vhost-user-roce --namespace gives it\n"
"                          file:PATH[,ro]    a file or a block device; with ro hosts\n"
"                                            must not write to it\n"
"                          memory:SIZE[,ro]  memory of the program; K, M, G\n"
"                        a thread of the program is the controller of the last two\n"
"  --host NQN            this host may connect; repeat for more.  Without it all may\n"
"  --queues N            I/O queues of a controller (16)\n"
"  --depth N             entries of a queue (128)\n"
"  --receives N          receive buffers of all connections (1024)\n"
"  --staging SIZE        staging memory (64M)\n"
"  --no-offload          the program serves reads and writes, too\n"
"  --help                this text\n"
"\n"
"SIGUSR1 has it print what it has counted, as a line of JSON.\n";

enum {
	OPT_ADDRESS = 256,
	OPT_PORT,
	OPT_NQN,
	OPT_NAMESPACE,
	OPT_HOST,
	OPT_QUEUES,
	OPT_DEPTH,
	OPT_RECEIVES,
	OPT_STAGING,
	OPT_NO_OFFLOAD,
	OPT_HELP,
};

static const struct option options_long[] = {
	{ "address", required_argument, NULL, OPT_ADDRESS },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "nqn", required_argument, NULL, OPT_NQN },
	{ "namespace", required_argument, NULL, OPT_NAMESPACE },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "receives", required_argument, NULL, OPT_RECEIVES },
	{ "staging", required_argument, NULL, OPT_STAGING },
	{ "no-offload", no_argument, NULL, OPT_NO_OFFLOAD },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* A number with K, M or G, from 1 to @max; 0 if it is none. */
static uint64_t options_size(const char *text, uint64_t max)
{
	unsigned long long value;
	unsigned int shift = 0;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *text == '-')
		return 0;
	if (*end == 'K')
		shift = 10;
	else if (*end == 'M')
		shift = 20;
	else if (*end == 'G')
		shift = 30;
	if (shift)
		end++;
	if (*end || value > max >> shift)
		return 0;
	return value << shift;
}

static int options_wrong(const char *option, const char *value)
{
	log_error("--%s %s: not possible", option, value);
	return -EINVAL;
}

static int options_number(const char *option, const char *value, uint64_t min, uint64_t max,
			  uint64_t *number)
{
	*number = options_size(value, max);
	return *number < min ? options_wrong(option, value) : 0;
}

static int options_namespace(struct options *options, char *value)
{
	struct space *space = &options->space[options->spaces];
	char *comma = strrchr(value, ',');
	char *colon = strchr(value, ':');

	if (options->spaces == NVMF_NAMESPACES_MAX || !colon || !colon[1])
		return options_wrong("namespace", value);
	if (comma && !strcmp(comma, ",ro")) {
		space->ro = true;
		*comma = '\0';
	}
	*colon = '\0';
	space->name = colon + 1;
	if (!strcmp(value, "file"))
		space->kind = SPACE_FILE;
	else if (!strcmp(value, "memory"))
		space->kind = SPACE_MEMORY;
	else if (!strcmp(value, "host") && !space->ro)
		space->kind = SPACE_HOST;
	else
		return options_wrong("namespace", value);
	if (space->kind == SPACE_MEMORY) {
		space->size = options_size(space->name, OPTIONS_STAGING_MAX) & ~4095ULL;
		if (!space->size)
			return options_wrong("namespace memory:", space->name);
	}
	options->spaces++;
	return 0;
}

static int options_add(const char **list, unsigned int *n, unsigned int max, const char *option,
		       const char *value)
{
	if (*n == max)
		return options_wrong(option, value);
	list[(*n)++] = value;
	return 0;
}

static int options_limit(struct options *options, int which, const char *value)
{
	uint64_t number;
	int err;

	switch (which) {
	case OPT_QUEUES:
		err = options_number("queues", value, 1, 64, &number);
		options->limits.queues = number;
		return err;
	case OPT_DEPTH:
		err = options_number("depth", value, 2, 1024, &number);
		options->limits.depth = number;
		return err;
	case OPT_RECEIVES:
		err = options_number("receives", value, 1, OPTIONS_RECVS_MAX, &number);
		options->recvs = number;
		return err;
	default:
		err = options_number("staging", value, STAGING_BUFFER_MAX, OPTIONS_STAGING_MAX,
				     &options->staging);
		options->staging &= ~(uint64_t)(STAGING_BUFFER_MAX - 1);
		return err;
	}
}

static int options_one(struct options *options, int which, char *value)
{
	switch (which) {
	case OPT_ADDRESS:
		return options_add(options->address, &options->addresses, OPTIONS_ADDRESSES,
				   "address", value);
	case OPT_HOST:
		return options_add(options->host, &options->hosts, NVMF_HOSTS_MAX, "host", value);
	case OPT_PORT:
		options->port = value;
		return 0;
	case OPT_NQN:
		options->nqn = value;
		return 0;
	case OPT_NAMESPACE:
		return options_namespace(options, value);
	case OPT_NO_OFFLOAD:
		options->offload = false;
		return 0;
	case OPT_HELP:
		fputs(options_usage, stdout);
		return 1;
	case '?':
		return -EINVAL;
	default:
		return options_limit(options, which, value);
	}
}

static int options_check(const struct options *options)
{
	unsigned int i;

	if (!options->addresses || !options->spaces) {
		log_error("--address and --namespace are needed");
		return -EINVAL;
	}
	for (i = 0; i < options->spaces; i++) {
		/* The device alone reaches these. */
		if (options->offload || options->space[i].kind != SPACE_HOST)
			continue;
		log_error("--namespace host:%s: not with --no-offload", options->space[i].name);
		return -EINVAL;
	}
	return 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	int which, err;

	memset(options, 0, sizeof(*options));
	options->port = OPTIONS_PORT;
	options->nqn = OPTIONS_NQN;
	options->recvs = OPTIONS_RECVS;
	options->staging = STAGING_DEFAULT;
	options->offload = true;
	while ((which = getopt_long(argc, argv, "", options_long, NULL)) >= 0) {
		err = options_one(options, which, optarg);
		if (err)
			return err;
	}
	if (optind < argc) {
		log_error("%s: not an option", argv[optind]);
		return -EINVAL;
	}
	return options_check(options);
}
