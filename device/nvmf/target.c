// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Targets: names, namespaces, who may connect; and what each guest has of all of them.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/nvmf_priv.h"

/* ------------------------------------------------------------------------- */
/* Shares                                                                    */
/* ------------------------------------------------------------------------- */

struct nvmf_share *nvmf_share_get(struct nvmf *nvmf, const char *guest)
{
	const char *name = guest ? guest : "";
	struct nvmf_share *share;

	TAILQ_FOREACH(share, &nvmf->shares, entry) {
		if (!strcmp(share->guest, name)) {
			share->refs++;
			return share;
		}
	}
	share = calloc(1, sizeof(*share) + strlen(name) + 1);
	if (!share)
		return NULL;
	strcpy(share->guest, name);
	TAILQ_INIT(&share->waiting);
	TAILQ_INIT(&share->parked);
	share->refs = 1;
	TAILQ_INSERT_TAIL(&nvmf->shares, share, entry);
	return share;
}

void nvmf_share_put(struct nvmf *nvmf, struct nvmf_share *share)
{
	if (--share->refs)
		return;
	TAILQ_REMOVE(&nvmf->shares, share, entry);
	free(share);
}

/* ------------------------------------------------------------------------- */
/* Targets                                                                   */
/* ------------------------------------------------------------------------- */

struct nvmf *nvmf_new(struct loop *loop, struct nvmf_pool *pool)
{
	struct nvmf *nvmf = calloc(1, sizeof(*nvmf));

	if (!nvmf)
		return NULL;
	nvmf->loop = loop;
	nvmf->pool = pool;
	nvmf->share_max = pool->size / 2;
	if (nvmf->share_max < NVMF_DATA_MAX)
		nvmf->share_max = NVMF_DATA_MAX;
	TAILQ_INIT(&nvmf->targets);
	TAILQ_INIT(&nvmf->shares);
	return nvmf;
}

void nvmf_free(struct nvmf *nvmf)
{
	free(nvmf);
}

static void nvmf_target_unmake(struct nvmf_target *target)
{
	while (target->hosts)
		free(target->host[--target->hosts]);
	while (target->guests)
		free(target->guest[--target->guests]);
	free(target->trsvcid);
	free(target->traddr);
	free(target->nqn);
	free(target);
}

static bool nvmf_is_nqn(const char *text)
{
	const size_t len = strlen(text);

	return len > 0 && len <= NVMF_NQN_MAX;
}

static bool nvmf_config_is_possible(const struct nvmf_target_config *config)
{
	const struct nvmf_limits *limits = &config->limits;
	unsigned int i;

	if (!nvmf_is_nqn(config->nqn) || !strcmp(config->nqn, NVME_DISCOVERY_NQN))
		return false;
	for (i = 0; i < config->hosts && i < NVMF_HOSTS_MAX; i++)
		if (!nvmf_is_nqn(config->host[i]))
			return false;
	return strlen(config->traddr) < sizeof(((struct nvmf_disc_entry *)0)->traddr) &&
	       strlen(config->trsvcid) < sizeof(((struct nvmf_disc_entry *)0)->trsvcid) &&
	       config->namespaces <= NVMF_NAMESPACES_MAX &&
	       config->hosts <= NVMF_HOSTS_MAX && config->guests <= NVMF_GUESTS_MAX &&
	       limits->queues <= NVMF_QUEUES_MAX && limits->depth <= NVMF_DEPTH_MAX &&
	       limits->depth != 1 && limits->controllers <= NVMF_CONTROLLERS_MAX;
}

static uint16_t nvmf_limit(uint16_t value, uint16_t otherwise)
{
	return value ? value : otherwise;
}

static void nvmf_target_limits(struct nvmf_target *target, const struct nvmf_limits *limits)
{
	target->limits.queues = nvmf_limit(limits->queues, NVMF_QUEUES);
	target->limits.depth = nvmf_limit(limits->depth, NVMF_DEPTH);
	target->limits.controllers = nvmf_limit(limits->controllers, NVMF_CONTROLLERS);
	target->limits.host = nvmf_limit(limits->host, NVMF_HOST);
}

/* Copies a list of names, as far as there is memory. */
static unsigned int nvmf_copy_names(char **to, const char *const *from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		to[i] = strdup(from[i]);
		if (!to[i])
			break;
	}
	return i;
}

static bool nvmf_target_fill(struct nvmf_target *target, const struct nvmf_target_config *config)
{
	target->nqn = strdup(config->nqn);
	target->traddr = strdup(config->traddr);
	target->trsvcid = strdup(config->trsvcid);
	target->namespaces = config->namespaces;
	memcpy(target->space, config->space, sizeof(target->space));
	target->hosts = nvmf_copy_names(target->host, config->host, config->hosts);
	target->guests = nvmf_copy_names(target->guest, config->guest, config->guests);
	nvmf_target_limits(target, &config->limits);
	target->away = config->away;
	return target->nqn && target->traddr && target->trsvcid &&
	       target->hosts == config->hosts && target->guests == config->guests;
}

struct nvmf_target *nvmf_target_new(struct nvmf *nvmf, const struct nvmf_target_config *config)
{
	struct nvmf_target *target;

	if (!nvmf_config_is_possible(config)) {
		errno = EINVAL;
		return NULL;
	}
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	if (!nvmf_target_fill(target, config)) {
		nvmf_target_unmake(target);
		errno = ENOMEM;
		return NULL;
	}
	target->nvmf = nvmf;
	target->offload.max_io = NVMF_DATA_MAX;
	LIST_INIT(&target->ctrls);
	target->portid = ++nvmf->genctr;
	TAILQ_INSERT_TAIL(&nvmf->targets, target, entry);
	return target;
}

void nvmf_target_free(struct nvmf_target *target)
{
	TAILQ_REMOVE(&target->nvmf->targets, target, entry);
	target->nvmf->genctr++;
	nvmf_target_unmake(target);
}

/* The end of an answer may be that of a controller, but not before this has returned. */
static void nvmf_target_changed(struct nvmf_target *target, uint32_t changed)
{
	struct nvmf_ctrl *ctrl, *next;

	for (ctrl = LIST_FIRST(&target->ctrls); ctrl; ctrl = next) {
		next = LIST_NEXT(ctrl, entry);
		if (ctrl->discovery)
			continue;
		ctrl->changed |= changed;
		nvmf_ctrl_changed(ctrl);
	}
}

void nvmf_ns_changed(struct nvmf *nvmf, const struct ns *ns)
{
	struct nvmf_target *target;
	uint32_t changed;
	unsigned int i;

	TAILQ_FOREACH(target, &nvmf->targets, entry) {
		changed = 0;
		for (i = 0; i < target->namespaces; i++)
			if (target->space[i].ns == ns)
				changed |= 1u << i;
		if (changed)
			nvmf_target_changed(target, changed);
	}
}

const struct nvmf_counters *nvmf_target_counters(const struct nvmf_target *target)
{
	return &target->count;
}

static bool nvmf_is_listed(char *const *list, unsigned int n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

bool nvmf_target_allows(const struct nvmf_target *target, const char *hostnqn,
			const char *guest)
{
	if (target->hosts && !nvmf_is_listed(target->host, target->hosts, hostnqn))
		return false;
	return !target->guests || nvmf_is_listed(target->guest, target->guests, guest);
}

struct nvmf_namespace *nvmf_target_ns(struct nvmf_target *target, uint32_t nsid)
{
	unsigned int i;

	if (!target->offload.ops)
		return nsid && nsid <= target->namespaces ? &target->space[nsid - 1] : NULL;
	for (i = 0; nsid && i < NVMF_NAMESPACES_MAX; i++)
		if (target->nsid[i] == nsid)
			return &target->space[i];
	return NULL;
}
