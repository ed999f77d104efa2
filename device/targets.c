// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The daemon's own storage: namespaces, and targets at nodes of the switch.
 *
 * Nothing of it is in a saved state.  A daemon that ends or hands over ends all connections,
 * and tells the initiators, which connect again, to the next daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "sandbox.h"
#include "targets.h"

static int open_storage(struct targets *targets, const struct options *options,
			bool successor)
{
	unsigned int i;
	int err = 0;

	targets->staging = staging_new(STAGING_DEFAULT);
	if (!targets->staging)
		goto err_memory;
	targets->storage = storage_new(targets->staging);
	if (!targets->storage)
		goto err_memory;
	if (successor)
		storage_share(targets->storage);
	for (i = 0; !err && i < options->namespaces; i++)
		err = storage_add(targets->storage, options->namespace[i]);
	return err ? err : storage_start(targets->storage, options->no_sandbox ? NULL :
					 sandbox_storage);

err_memory:
	err = -errno;
	log_error("--namespace: %s", strerror(-err));
	return err;
}

static int find_spaces(const struct targets *targets, const struct target_options *options,
		       struct nvmf_target_config *config)
{
	unsigned int i;

	for (i = 0; i < options->spaces; i++) {
		config->space[i].ro = options->ro[i];
		config->space[i].ns = targets->storage ?
				      storage_find(targets->storage, options->space[i]) : NULL;
		if (!config->space[i].ns) {
			log_error("--nvmf-target: there is no --namespace %s",
				  options->space[i]);
			return -EINVAL;
		}
	}
	config->namespaces = options->spaces;
	return 0;
}

/* Behind those of the guests. */
static void node_mac(const struct targets *targets, uint8_t *mac)
{
	const uint64_t number = targets->options->mac_base + GUESTS_MAX + targets->n;
	unsigned int i;

	for (i = 0; i < ETH_ALEN; i++)
		mac[i] = number >> (8 * (ETH_ALEN - 1 - i));
}

static int target_start(struct targets *targets, struct loop *loop, struct l2_switch *sw,
			struct fabric *fabric)
{
	const struct target_options *options = &targets->options->target[targets->n];
	struct port_group *group = &targets->group[targets->n];
	struct nvmf_target_config config = {
		.nqn = options->nqn,
		.hosts = options->hosts,
		.guests = options->guests,
	};
	struct node_config node = {
		.name = group->name,
		.gids = options->gids,
		.mtu = targets->options->mtu ? targets->options->mtu : FUNCTION_MTU_MAX,
		.group = group,
		.shared = staging_base(targets->staging),
		.shared_size = staging_size(targets->staging),
	};
	int err = find_spaces(targets, options, &config);

	if (err)
		return err;
	snprintf(group->name, sizeof(group->name), "nvmf-target%u", targets->n);
	memcpy(config.host, options->host, sizeof(config.host));
	memcpy(config.guest, options->guest, sizeof(config.guest));
	memcpy(node.gid, options->gid, sizeof(node.gid));
	node_mac(targets, node.mac);
	targets->target[targets->n] = node_target_new(loop, sw, fabric, targets->nvmf, &node,
						      &config);
	if (!targets->target[targets->n]) {
		err = -errno;
		log_error("--nvmf-target: %s: %s", options->nqn, strerror(-err));
		return err;
	}
	targets->n++;
	return 0;
}

static struct ns *find_for_guest(const void *arg, const char *name, const char *guest)
{
	const struct targets *targets = arg;

	return storage_find_for(targets->storage, name, guest);
}

const struct nvmf_host *targets_host(const struct targets *targets, const char *guest)
{
	return targets->nvmf && find_for_guest(targets, NULL, guest) ? &targets->host : NULL;
}

static void targets_changed(void *nvmf, struct ns *ns)
{
	nvmf_ns_changed(nvmf, ns);
}

static int open_nvmf(struct targets *targets, struct loop *loop)
{
	targets->pool = (struct nvmf_pool) {
		.alloc = staging_alloc,
		.alloc_of = staging_alloc_of,
		.free = staging_release,
		.arg = targets->staging,
		.size = staging_size(targets->staging),
	};
	targets->nvmf = nvmf_new(loop, &targets->pool);
	targets->host = (struct nvmf_host) {
		.nvmf = targets->nvmf,
		.find = find_for_guest,
		.arg = targets,
	};
	if (targets->nvmf) {
		storage_watch(targets->storage, targets_changed, targets->nvmf);
		return 0;
	}
	log_error("--nvmf-target: %s", strerror(ENOMEM));
	return -ENOMEM;
}

int targets_open(struct targets *targets, const struct options *options, struct loop *loop,
		 struct l2_switch *sw, struct fabric *fabric, bool successor)
{
	int err;

	targets->options = options;
	if (!options->namespaces && !options->targets)
		return 0;
	err = open_storage(targets, options, successor);
	if (!err)
		err = open_nvmf(targets, loop);
	while (!err && targets->n < options->targets)
		err = target_start(targets, loop, sw, fabric);
	if (err)
		targets_close(targets);
	return err;
}

int targets_attach(struct targets *targets, struct loop *loop)
{
	int err = targets->storage ? storage_attach(targets->storage, loop) : 0;

	if (err)
		log_error("--namespace: %s", strerror(-err));
	return err;
}

void targets_stop(struct targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->n; i++)
		node_target_stop(targets->target[i]);
}

void targets_resume(struct targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->n; i++)
		node_target_resume(targets->target[i]);
}

void targets_look(void *arg)
{
	struct targets *targets = arg;

	if (targets->storage)
		storage_look(targets->storage);
}

unsigned int targets_ports(struct targets *targets, struct operator_port *port)
{
	unsigned int i;

	for (i = 0; i < targets->n; i++)
		port[i] = (struct operator_port) {
			.text = targets->group[i].name,
			.group = &targets->group[i],
			.rnic = node_target_rnic(targets->target[i]),
		};
	return i;
}

/* Namespaces end their requests, which are of commands of the targets. */
void targets_close(struct targets *targets)
{
	while (targets->n)
		node_target_free(targets->target[--targets->n]);
	if (targets->storage)
		storage_free(targets->storage);
	if (targets->nvmf)
		nvmf_free(targets->nvmf);
	if (targets->staging)
		staging_free(targets->staging);
	*targets = (struct targets) { .options = targets->options };
}
