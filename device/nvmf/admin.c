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

/**
 * struct nvmf_feature - a feature
 * @id:		its number
 * @discovery:	discovery controllers have it, too
 * @len:	bytes of data when it is read
 * @set:	set it; NULL if it cannot be set
 * @get:	read it
 *
 * Both functions return a status.
 */
struct nvmf_feature {
	uint8_t id;
	bool discovery;
	uint32_t len;
	uint16_t (*set)(struct nvmf_cmd *cmd);
	uint16_t (*get)(struct nvmf_cmd *cmd);
};

static uint16_t nvmf_get_cache(struct nvmf_cmd *cmd)
{
	nvmf_cmd_result(cmd, 1);
	return NVME_OK;
}

static uint16_t nvmf_get_queues(struct nvmf_cmd *cmd)
{
	const uint32_t most = cmd->queue->ctrl->target->limits.queues - 1;

	nvmf_cmd_result(cmd, most | most << 16);
	return NVME_OK;
}

/* The host may ask for fewer I/O queues; both numbers are less 1. */
static uint16_t nvmf_set_queues(struct nvmf_cmd *cmd)
{
	const uint32_t asked = le32toh(cmd->sqe.cdw11);

	if ((asked & 0xffff) == 0xffff || asked >> 16 == 0xffff)
		return NVME_INVALID_FIELD;
	return nvmf_get_queues(cmd);
}

static uint16_t nvmf_set_events(struct nvmf_cmd *cmd)
{
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	const uint32_t value = le32toh(cmd->sqe.cdw11);

	if (value & ~(ctrl->discovery ? 0 : NVME_OAES_NS))
		return NVME_INVALID_FIELD;
	ctrl->config = value;
	nvmf_ctrl_changed(ctrl);
	return NVME_OK;
}

static uint16_t nvmf_get_events(struct nvmf_cmd *cmd)
{
	nvmf_cmd_result(cmd, cmd->queue->ctrl->config);
	return NVME_OK;
}

static uint16_t nvmf_set_kato(struct nvmf_cmd *cmd)
{
	nvmf_ctrl_set_kato(cmd->queue->ctrl, le32toh(cmd->sqe.cdw11));
	return NVME_OK;
}

static uint16_t nvmf_get_kato(struct nvmf_cmd *cmd)
{
	nvmf_cmd_result(cmd, cmd->queue->ctrl->kato);
	return NVME_OK;
}

/* That of the Connect command. */
static uint16_t nvmf_set_hostid(struct nvmf_cmd *cmd __always_unused)
{
	return NVME_SEQUENCE;
}

static uint16_t nvmf_get_hostid(struct nvmf_cmd *cmd)
{
	memcpy(cmd->buf, cmd->queue->ctrl->hostid, cmd->len);
	return NVME_OK;
}

static const struct nvmf_feature nvmf_features[] = {
	{ NVME_FEAT_CACHE, false, 0, NULL, nvmf_get_cache },
	{ NVME_FEAT_QUEUES, false, 0, nvmf_set_queues, nvmf_get_queues },
	{ NVME_FEAT_EVENTS, true, 0, nvmf_set_events, nvmf_get_events },
	{ NVME_FEAT_KATO, true, 0, nvmf_set_kato, nvmf_get_kato },
	{ NVME_FEAT_HOSTID, true, NVME_HOSTID_SIZE, nvmf_set_hostid, nvmf_get_hostid },
};

/* Of this controller, or NULL. */
static const struct nvmf_feature *nvmf_feature_of(const struct nvmf_cmd *cmd)
{
	const uint8_t id = le32toh(cmd->sqe.cdw10);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvmf_features); i++)
		if (nvmf_features[i].id == id)
			return nvmf_features[i].discovery || !cmd->queue->ctrl->discovery ?
			       &nvmf_features[i] : NULL;
	return NULL;
}

static uint16_t nvmf_set_features_check(struct nvmf_cmd *cmd)
{
	const struct nvmf_feature *feature = nvmf_feature_of(cmd);

	if (le32toh(cmd->sqe.cdw10) & NVME_FEAT_SAVE)
		return NVME_NOT_SAVEABLE;
	return feature && feature->set ? NVME_OK : NVME_INVALID_FIELD;
}

static void nvmf_set_features_run(struct nvmf_cmd *cmd)
{
	const uint16_t status = nvmf_feature_of(cmd)->set(cmd);

	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

/* Of the host's identifier there is only the long form. */
static uint16_t nvmf_get_features_check(struct nvmf_cmd *cmd)
{
	const struct nvmf_feature *feature = nvmf_feature_of(cmd);

	if (!feature || (feature->len && !(le32toh(cmd->sqe.cdw11) & 1)))
		return NVME_INVALID_FIELD;
	cmd->len = feature->len;
	return NVME_OK;
}

static void nvmf_get_features_run(struct nvmf_cmd *cmd)
{
	const uint16_t status = nvmf_feature_of(cmd)->get(cmd);

	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

/* ------------------------------------------------------------------------- */
/* Events, abort, keep-alive                                                 */
/* ------------------------------------------------------------------------- */

/* It is answered when there is something to tell, which may be so already. */
static void nvmf_event_run(struct nvmf_cmd *cmd)
{
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;

	if (ctrl->events == NVMF_EVENTS) {
		nvmf_cmd_end(cmd, NVME_EVENT_LIMIT | NVME_DNR);
		return;
	}
	cmd->stage = NVMF_HELD;
	ctrl->event[ctrl->events++] = cmd;
	nvmf_ctrl_changed(ctrl);
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
	{ NVME_ADMIN_SET_FEATURES, nvmf_set_features_check, nvmf_set_features_run },
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
