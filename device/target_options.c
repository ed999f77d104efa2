// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A target of NVMe over Fabrics, as the command line describes it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "target_options.h"

static int target_refuse(const char *why, const char *text)
{
	log_error("--nvmf-target: %s: \"%s\"", why, text);
	return -EINVAL;
}

static int add_nqn(struct target_options *options, const char *value)
{
	if (options->nqn)
		return target_refuse("more than one nqn=", value);
	if (strlen(value) > NVMF_NQN_MAX || strpbrk(value, "\t\n"))
		return target_refuse("no name of a subsystem", value);
	options->nqn = value;
	return 0;
}

static int add_address(struct target_options *options, const char *value)
{
	uint8_t addr[GID_SIZE], *gid;

	if (options->gids == NODE_GIDS)
		return target_refuse("too many addresses", value);
	gid = options->gid[options->gids];
	if (inet_pton(AF_INET, value, addr) == 1)
		gid_from_ipv4(gid, addr);
	else if (inet_pton(AF_INET6, value, gid) != 1)
		gid = NULL;
	if (!gid || !gid_is_unicast(gid))
		return target_refuse("not the address of a station", value);
	options->gids++;
	return 0;
}

static int add_space(struct target_options *options, const char *value, bool ro)
{
	if (options->spaces == NVMF_NAMESPACES_MAX)
		return target_refuse("too many namespaces", value);
	options->ro[options->spaces] = ro;
	options->space[options->spaces++] = value;
	return 0;
}

static int add_namespace(struct target_options *options, const char *value)
{
	return add_space(options, value, false);
}

static int add_readonly(struct target_options *options, const char *value)
{
	return add_space(options, value, true);
}

static int add_host(struct target_options *options, const char *value)
{
	if (options->hosts == NVMF_HOSTS_MAX || strlen(value) > NVMF_NQN_MAX)
		return target_refuse("too many hosts, or a name that is too long", value);
	options->host[options->hosts++] = value;
	return 0;
}

static int add_guest(struct target_options *options, const char *value)
{
	if (options->guests == NVMF_GUESTS_MAX)
		return target_refuse("too many guests", value);
	options->guest[options->guests++] = value;
	return 0;
}

/**
 * struct target_key - what may stand in front of a value
 * @name:	with the equals sign
 * @add:	takes the value
 */
struct target_key {
	const char *name;
	int (*add)(struct target_options *options, const char *value);
};

static const struct target_key target_keys[] = {
	{ "nqn=", add_nqn },
	{ "address=", add_address },
	{ "namespace=", add_namespace },
	{ "readonly=", add_readonly },
	{ "host=", add_host },
	{ "guest=", add_guest },
};

static int add(struct target_options *options, const char *item)
{
	const struct target_key *key;
	size_t len;

	for (key = target_keys; key < target_keys + ARRAY_SIZE(target_keys); key++) {
		len = strlen(key->name);
		if (!strncmp(item, key->name, len))
			return item[len] ? key->add(options, item + len) :
					   target_refuse("no value", item);
	}
	return target_refuse("unknown field", item);
}

int target_options_parse(struct target_options *options, const char *text)
{
	char *rest = options->text, *item;
	int err = 0;

	memset(options, 0, sizeof(*options));
	if (strlen(text) >= sizeof(options->text))
		return target_refuse("too long", text);
	strcpy(options->text, text);
	while (!err && (item = strsep(&rest, ",")))
		err = add(options, item);
	if (err)
		return err;
	if (!options->nqn || !options->gids || !options->spaces)
		return target_refuse("nqn=, address= or namespace= is missing", text);
	return 0;
}
