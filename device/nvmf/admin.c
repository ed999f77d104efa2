// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of the administration queue, but for what they tell: identify.c, log_page.c.
 */

#include <endian.h>
#include <string.h>

#include "base/util.h"
#include "nvmf/nvmf_priv.h"

static uint16_t nvmf_plain_check(struct nvmf_cmd *cmd __always_unused)
{
	return NVME_OK;
}

/* ------------------------------------------------------------------------- */
/* Features                                                                  */
/* ------------------------------------------------------------------------- */

static uint8_t nvmf_feature_of(const struct nvmf_cmd *cmd)
{
	return le32toh(cmd->sqe.cdw10);
}

/* The host may ask for fewer I/O queues; both numbers are less 1. */
static uint16_t nvmf_set_queues(struct nvmf_cmd *cmd)
{
	const uint32_t asked = le32toh(cmd->sqe.cdw11);
	const uint32_t most = cmd->queue->ctrl->target->limits.queues - 1;

	if ((asked & 0xffff) == 0xffff || asked >> 16 == 0xffff)
		return NVME_INVALID_FIELD;
	nvmf_cmd_result(cmd, most | most << 16);
	return NVME_OK;
}

static uint16_t nvmf_set_feature(struct nvmf_cmd *cmd)
{
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	const uint32_t value = le32toh(cmd->sqe.cdw11);

	if (le32toh(cmd->sqe.cdw10) & NVME_FEAT_SAVE)
		return NVME_NOT_SAVEABLE;
	switch (nvmf_feature_of(cmd)) {
	case NVME_FEAT_QUEUES:
		return ctrl->discovery ? NVME_INVALID_FIELD : nvmf_set_queues(cmd);
	case NVME_FEAT_EVENTS:
		if (value & ~(ctrl->discovery ? 0 : NVME_OAES_NS))
			return NVME_INVALID_FIELD;
		ctrl->config = value;
		return NVME_OK;
	case NVME_FEAT_KATO:
		nvmf_ctrl_set_kato(ctrl, value);
		return NVME_OK;
	case NVME_FEAT_HOSTID:
		/* That of the Connect command. */
		return NVME_SEQUENCE;
	default:
		return NVME_INVALID_FIELD;
	}
}

static void nvmf_set_features_run(struct nvmf_cmd *cmd)
{
	const uint16_t status = nvmf_set_feature(cmd);

	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

/* Only the host's identifier is data, and only its long form there is. */
static uint16_t nvmf_get_features_check(struct nvmf_cmd *cmd)
{
	if (nvmf_feature_of(cmd) != NVME_FEAT_HOSTID)
		return NVME_OK;
	if (!(le32toh(cmd->sqe.cdw11) & 1))
		return NVME_INVALID_FIELD;
	cmd->len = sizeof(cmd->queue->ctrl->hostid);
	return NVME_OK;
}

static uint16_t nvmf_get_feature(struct nvmf_cmd *cmd)
{
	const struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	const uint32_t most = ctrl->target->limits.queues - 1;

	switch (nvmf_feature_of(cmd)) {
	case NVME_FEAT_CACHE:
		if (ctrl->discovery)
			return NVME_INVALID_FIELD;
		nvmf_cmd_result(cmd, 1);
		return NVME_OK;
	case NVME_FEAT_QUEUES:
		if (ctrl->discovery)
			return NVME_INVALID_FIELD;
		nvmf_cmd_result(cmd, most | most << 16);
		return NVME_OK;
	case NVME_FEAT_EVENTS:
		nvmf_cmd_result(cmd, ctrl->config);
		return NVME_OK;
	case NVME_FEAT_KATO:
		nvmf_cmd_result(cmd, ctrl->kato);
		return NVME_OK;
	case NVME_FEAT_HOSTID:
		memcpy(cmd->buf, ctrl->hostid, sizeof(ctrl->hostid));
		return NVME_OK;
	default:
		return NVME_INVALID_FIELD;
	}
}

static void nvmf_get_features_run(struct nvmf_cmd *cmd)
{
	const uint16_t status = nvmf_get_feature(cmd);

	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

/* ------------------------------------------------------------------------- */
/* Events, abort, keep-alive                                                 */
/* ------------------------------------------------------------------------- */

/* It is answered when there is something to tell, which nothing does so far. */
static void nvmf_event_run(struct nvmf_cmd *cmd)
{
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;

	if (ctrl->events == NVMF_EVENTS) {
		nvmf_cmd_end(cmd, NVME_EVENT_LIMIT | NVME_DNR);
		return;
	}
	cmd->stage = NVMF_HELD;
	ctrl->event[ctrl->events++] = cmd;
}

/* A command that has begun is not aborted, as the result says. */
static void nvmf_abort_run(struct nvmf_cmd *cmd)
{
	nvmf_cmd_result(cmd, 1);
	nvmf_cmd_end(cmd, NVME_OK);
}

/* That it came counts already: nvmf_cmd_begin(). */
static void nvmf_keep_alive_run(struct nvmf_cmd *cmd)
{
	nvmf_cmd_end(cmd, NVME_OK);
}

static const struct nvmf_op nvmf_admin_ops[] = {
	{ NVME_ADMIN_LOG_PAGE, nvmf_log_check, nvmf_log_run },
	{ NVME_ADMIN_IDENTIFY, nvmf_identify_check, nvmf_identify_run },
	{ NVME_ADMIN_ABORT, nvmf_plain_check, nvmf_abort_run },
	{ NVME_ADMIN_SET_FEATURES, nvmf_plain_check, nvmf_set_features_run },
	{ NVME_ADMIN_GET_FEATURES, nvmf_get_features_check, nvmf_get_features_run },
	{ NVME_ADMIN_EVENT, nvmf_plain_check, nvmf_event_run },
	{ NVME_ADMIN_KEEP_ALIVE, nvmf_plain_check, nvmf_keep_alive_run },
};

const struct nvmf_op *nvmf_admin_op(uint8_t opcode, bool discovery)
{
	unsigned int i;

	if (discovery && opcode == NVME_ADMIN_ABORT)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(nvmf_admin_ops); i++)
		if (nvmf_admin_ops[i].opcode == opcode)
			return &nvmf_admin_ops[i];
	return NULL;
}
