// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Controllers: registers, keep-alive, end.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/nvmf_priv.h"

struct nvmf_ctrl *nvmf_ctrl_find(struct nvmf_target *target, uint16_t cntlid)
{
	struct nvmf_ctrl *ctrl;

	LIST_FOREACH(ctrl, &target->ctrls, entry)
		if (ctrl->cntlid == cntlid)
			return ctrl;
	return NULL;
}

/* Numbers are those of all targets, since some of them may be ports of one subsystem. */
static bool nvmf_cntlid_is_used(struct nvmf *nvmf, uint16_t cntlid)
{
	struct nvmf_target *target;

	TAILQ_FOREACH(target, &nvmf->targets, entry)
		if (nvmf_ctrl_find(target, cntlid))
			return true;
	return false;
}

static uint16_t nvmf_cntlid_new(struct nvmf *nvmf)
{
	unsigned int i;

	for (i = 0; i < NVME_CNTLID_MAX; i++) {
		nvmf->cntlid = nvmf->cntlid % NVME_CNTLID_MAX + 1;
		if (!nvmf_cntlid_is_used(nvmf, nvmf->cntlid))
			return nvmf->cntlid;
	}
	return 0;
}

static bool nvmf_ctrl_has_room(struct nvmf_target *target, const struct nvmf_share *share)
{
	const struct nvmf_ctrl *ctrl;
	unsigned int n = 0;

	LIST_FOREACH(ctrl, &target->ctrls, entry)
		n += ctrl->share == share;
	return n < target->limits.host && target->count.controllers < target->limits.controllers;
}

/* The host was not heard of for at least the timeout, and at most twice as long. */
static void nvmf_ctrl_late(void *arg)
{
	struct nvmf_ctrl *ctrl = arg;
	struct nvmf_target *target = ctrl->target;
	unsigned int i;

	if (ctrl->alive) {
		nvmf_ctrl_set_kato(ctrl, ctrl->kato);
		return;
	}
	target->count.expired++;
	if (log_limit_ok(&target->log))
		log_warn("%s: controller %u: its host has gone silent, ended", target->nqn,
			 ctrl->cntlid);
	ctrl->csts = NVME_CSTS_CFS;
	for (i = 0; i <= NVMF_QUEUES_MAX; i++)
		if (ctrl->queue[i])
			nvmf_queue_end(ctrl->queue[i]);
}

void nvmf_ctrl_set_kato(struct nvmf_ctrl *ctrl, uint32_t kato)
{
	struct loop *loop = ctrl->target->nvmf->loop;

	ctrl->kato = kato < NVMF_KATO_MAX_MS ? kato : NVMF_KATO_MAX_MS;
	ctrl->alive = false;
	loop_timer_cancel(loop, &ctrl->timer);
	if (ctrl->kato)
		loop_timer_set(loop, &ctrl->timer, ctrl->kato * NS_PER_MS);
}

struct nvmf_ctrl *nvmf_ctrl_new(struct nvmf_queue *queue, bool discovery,
				const struct nvmf_connect_data *data, uint32_t kato)
{
	struct nvmf_target *target = queue->target;
	struct nvmf_ctrl *ctrl;
	uint16_t cntlid;

	if (!nvmf_ctrl_has_room(target, queue->share))
		return NULL;
	cntlid = nvmf_cntlid_new(target->nvmf);
	ctrl = cntlid ? calloc(1, sizeof(*ctrl)) : NULL;
	if (!ctrl)
		return NULL;
	ctrl->target = target;
	ctrl->share = queue->share;
	ctrl->discovery = discovery;
	ctrl->cntlid = cntlid;
	memcpy(ctrl->hostid, data->hostid, sizeof(ctrl->hostid));
	memcpy(ctrl->hostnqn, data->hostnqn, sizeof(ctrl->hostnqn));
	ctrl->timer.fn = nvmf_ctrl_late;
	ctrl->timer.arg = ctrl;
	if (!kato && discovery)
		kato = NVMF_DISCOVERY_MS;
	nvmf_ctrl_set_kato(ctrl, kato);
	LIST_INSERT_HEAD(&target->ctrls, ctrl, entry);
	target->count.controllers++;
	return ctrl;
}

void nvmf_ctrl_free(struct nvmf_ctrl *ctrl)
{
	struct nvmf_target *target = ctrl->target;
	unsigned int i;

	loop_timer_cancel(target->nvmf->loop, &ctrl->timer);
	LIST_REMOVE(ctrl, entry);
	target->count.controllers--;
	for (i = 1; i <= NVMF_QUEUES_MAX; i++) {
		if (!ctrl->queue[i])
			continue;
		ctrl->queue[i]->ctrl = NULL;
		ctrl->queue[i]->share->lone++;
		nvmf_queue_end(ctrl->queue[i]);
	}
	free(ctrl);
}

/* An event stands for all that changes until the host has read the list. */
void nvmf_ctrl_changed(struct nvmf_ctrl *ctrl)
{
	struct nvmf_cmd *cmd;

	if (!ctrl->changed || ctrl->told || !ctrl->events || !(ctrl->config & NVME_OAES_NS))
		return;
	ctrl->told = true;
	cmd = ctrl->event[--ctrl->events];
	nvmf_cmd_result(cmd, NVME_EVENT_NS);
	nvmf_cmd_end(cmd, NVME_OK);
}

uint64_t nvmf_ctrl_cap(const struct nvmf_ctrl *ctrl)
{
	return (ctrl->target->limits.depth - 1) | NVME_CAP_CQR | NVME_CAP_TO | NVME_CAP_NVM;
}

static void nvmf_ctrl_start(struct nvmf_ctrl *ctrl, uint32_t cc)
{
	/* A discovery controller has no I/O queues, of which these are the entries. */
	const bool sizes = ctrl->discovery || (cc & NVME_CC_SIZES) == NVME_CC_SIZES_NVM;

	ctrl->csts = sizes && !(cc & NVME_CC_KIND) ? NVME_CSTS_RDY : NVME_CSTS_CFS;
}

void nvmf_ctrl_set_cc(struct nvmf_ctrl *ctrl, uint32_t cc)
{
	const uint32_t before = ctrl->cc;

	ctrl->cc = cc;
	if (cc & NVME_CC_EN && !(before & NVME_CC_EN))
		nvmf_ctrl_start(ctrl, cc);
	if (!(cc & NVME_CC_EN) && before & NVME_CC_EN)
		ctrl->csts = 0;
	if (cc & NVME_CC_SHN && !(before & NVME_CC_SHN)) {
		ctrl->cc &= ~NVME_CC_EN;
		ctrl->csts = NVME_CSTS_SHUT;
	}
}
