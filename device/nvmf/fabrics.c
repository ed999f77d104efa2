// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fabrics commands: Connect, Property Get, Property Set.
 */

#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvmf/nvmf_priv.h"

/* ------------------------------------------------------------------------- */
/* Connect                                                                   */
/* ------------------------------------------------------------------------- */

static const struct nvmf_connect *nvmf_connect_of(const struct nvmf_cmd *cmd)
{
	return (const struct nvmf_connect *)&cmd->sqe.cdw10;
}

/* A parameter is wrong, at @at of the command, or of its data with %NVMF_PARAM_DATA. */
static uint16_t nvmf_connect_wrong(struct nvmf_cmd *cmd, uint32_t at)
{
	nvmf_cmd_result(cmd, at);
	return NVME_CONNECT_PARAM;
}

#define WRONG_FIELD(field)	(NVMF_PARAM_CDW10 + offsetof(struct nvmf_connect, field))
#define WRONG_DATA(field)	(NVMF_PARAM_DATA | offsetof(struct nvmf_connect_data, field))

static uint16_t nvmf_connect_parameters(struct nvmf_cmd *cmd)
{
	const struct nvmf_connect *connect = nvmf_connect_of(cmd);
	struct nvmf_queue *queue = cmd->queue;
	const uint16_t sqsize = le16toh(connect->sqsize);

	if (connect->recfmt)
		return NVME_CONNECT_FORMAT;
	if (le16toh(connect->qid) != queue->qid)
		return nvmf_connect_wrong(cmd, WRONG_FIELD(qid));
	if (!sqsize || sqsize >= queue->depth)
		return nvmf_connect_wrong(cmd, WRONG_FIELD(sqsize));
	return NVME_OK;
}

static uint16_t nvmf_connect_check(struct nvmf_cmd *cmd)
{
	uint16_t status;

	if (cmd->queue->ctrl)
		return NVME_SEQUENCE;
	status = nvmf_connect_parameters(cmd);
	if (status) {
		cmd->queue->target->count.refused++;
		return status;
	}
	cmd->len = sizeof(struct nvmf_connect_data);
	return NVME_OK;
}

static bool nvmf_nqn_is_right(const char nqn[NVME_NQN_SIZE])
{
	const size_t len = strnlen(nqn, NVME_NQN_SIZE);

	return len > 0 && len <= NVMF_NQN_MAX;
}

static uint16_t nvmf_connect_admin(struct nvmf_cmd *cmd, const struct nvmf_connect_data *data)
{
	struct nvmf_queue *queue = cmd->queue;
	struct nvmf_target *target = queue->target;
	const bool discovery = !strcmp(data->subnqn, NVME_DISCOVERY_NQN);
	struct nvmf_ctrl *ctrl;

	if (le16toh(data->cntlid) != NVME_CNTLID_DYNAMIC)
		return nvmf_connect_wrong(cmd, WRONG_DATA(cntlid));
	if (!discovery && strcmp(data->subnqn, target->nqn))
		return nvmf_connect_wrong(cmd, WRONG_DATA(subnqn));
	if (!discovery && !nvmf_target_allows(target, data->hostnqn, queue->share->guest))
		return NVME_CONNECT_HOST;
	ctrl = nvmf_ctrl_new(queue, discovery, data, le32toh(nvmf_connect_of(cmd)->kato));
	if (!ctrl)
		return NVME_CONNECT_BUSY;
	nvmf_queue_join(queue, ctrl);
	return NVME_OK;
}

/* Only the host and guest that has a controller connects its I/O queues. */
static bool nvmf_connect_is_owner(const struct nvmf_queue *queue, const struct nvmf_ctrl *ctrl,
				  const struct nvmf_connect_data *data)
{
	return ctrl->share == queue->share && !ctrl->discovery &&
	       !strcmp(ctrl->hostnqn, data->hostnqn) &&
	       !memcmp(ctrl->hostid, data->hostid, sizeof(ctrl->hostid));
}

static uint16_t nvmf_connect_io(struct nvmf_cmd *cmd, const struct nvmf_connect_data *data)
{
	struct nvmf_queue *queue = cmd->queue;
	struct nvmf_ctrl *ctrl = nvmf_ctrl_find(queue->target, le16toh(data->cntlid));

	if (strcmp(data->subnqn, queue->target->nqn))
		return nvmf_connect_wrong(cmd, WRONG_DATA(subnqn));
	if (!ctrl || !nvmf_connect_is_owner(queue, ctrl, data))
		return nvmf_connect_wrong(cmd, WRONG_DATA(cntlid));
	if (!(ctrl->csts & NVME_CSTS_RDY))
		return NVME_SEQUENCE;
	if (ctrl->queue[queue->qid])
		return NVME_QID_INVALID;
	nvmf_queue_join(queue, ctrl);
	return NVME_OK;
}

/* So long the connection may be without a controller from now on. */
static void nvmf_connect_within(struct nvmf_queue *queue, uint64_t ms)
{
	loop_timer_cancel(queue->nvmf->loop, &queue->timer);
	loop_timer_set(queue->nvmf->loop, &queue->timer, ms * NS_PER_MS);
}

static void nvmf_connect_park(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;

	queue->target->count.waits++;
	cmd->stage = NVMF_PARKED;
	queue->parked = cmd;
	TAILQ_INSERT_TAIL(&queue->share->parked, cmd, entry);
	nvmf_connect_within(queue, NVMF_PARK_MS);
}

void nvmf_connect_unpark(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;

	TAILQ_REMOVE(&queue->share->parked, cmd, entry);
	queue->parked = NULL;
}

void nvmf_connect_busy(struct nvmf_cmd *cmd)
{
	nvmf_connect_unpark(cmd);
	nvmf_connect_within(cmd->queue, NVMF_CONNECT_MS);
	cmd->queue->target->count.refused++;
	nvmf_cmd_end(cmd, NVME_CONNECT_BUSY);
}

/* Each of them may end a connection, which then may have new orphans. */
void nvmf_connect_parked(struct nvmf_share *share)
{
	struct nvmf_cmd *cmd;

	while (!share->orphans && (cmd = TAILQ_FIRST(&share->parked))) {
		nvmf_connect_unpark(cmd);
		if (cmd->queue->ended) {
			nvmf_cmd_end(cmd, NVME_OK);
			continue;
		}
		nvmf_connect_within(cmd->queue, NVMF_CONNECT_MS);
		cmd->op->run(cmd);
	}
}

static void nvmf_connect_run(struct nvmf_cmd *cmd)
{
	/* The host cannot change it: it is a copy. */
	const struct nvmf_connect_data *data = cmd->buf;
	struct nvmf_queue *queue = cmd->queue;
	uint16_t status;

	if (!queue->qid && !queue->ctrl && !queue->parked && queue->share->orphans) {
		nvmf_connect_park(cmd);
		return;
	}
	if (queue->ctrl || queue->parked)
		status = NVME_SEQUENCE;
	else if (!nvmf_nqn_is_right(data->subnqn))
		status = nvmf_connect_wrong(cmd, WRONG_DATA(subnqn));
	else if (!nvmf_nqn_is_right(data->hostnqn))
		status = nvmf_connect_wrong(cmd, WRONG_DATA(hostnqn));
	else if (queue->qid)
		status = nvmf_connect_io(cmd, data);
	else
		status = nvmf_connect_admin(cmd, data);
	if (status) {
		queue->target->count.refused++;
		nvmf_cmd_end(cmd, status == NVME_CONNECT_BUSY ? status : status | NVME_DNR);
		return;
	}
	queue->target->count.connects++;
	queue->flow = !(nvmf_connect_of(cmd)->cattr & NVMF_CATTR_NO_FLOW);
	queue->size = le16toh(nvmf_connect_of(cmd)->sqsize) + 1;
	nvmf_cmd_result(cmd, queue->ctrl->cntlid);
	nvmf_cmd_end(cmd, NVME_OK);
}

/* ------------------------------------------------------------------------- */
/* Properties                                                                */
/* ------------------------------------------------------------------------- */

static const struct nvmf_property *nvmf_property_of(const struct nvmf_cmd *cmd)
{
	return (const struct nvmf_property *)&cmd->sqe.cdw10;
}

/* They are those of the controller, and so for its administration queue. */
static uint16_t nvmf_property_check(struct nvmf_cmd *cmd)
{
	return cmd->queue->qid ? NVME_INVALID_OPCODE : NVME_OK;
}

static uint16_t nvmf_get_property(const struct nvmf_ctrl *ctrl, uint32_t offset, uint64_t *value)
{
	switch (offset) {
	case NVME_REG_CAP:
		*value = nvmf_ctrl_cap(ctrl);
		return NVME_OK;
	case NVME_REG_VS:
		*value = NVME_VERSION;
		return NVME_OK;
	case NVME_REG_CC:
		*value = ctrl->cc;
		return NVME_OK;
	case NVME_REG_CSTS:
		*value = ctrl->csts;
		return NVME_OK;
	default:
		return NVME_INVALID_FIELD;
	}
}

static void nvmf_get_run(struct nvmf_cmd *cmd)
{
	const struct nvmf_property *property = nvmf_property_of(cmd);
	const uint32_t offset = le32toh(property->offset);
	/* This one alone has 8 bytes. */
	const uint8_t attrib = offset == NVME_REG_CAP ? 1 : 0;
	uint16_t status = NVME_INVALID_FIELD;
	uint64_t value = 0;

	if ((property->attrib & 7) == attrib)
		status = nvmf_get_property(cmd->queue->ctrl, offset, &value);
	nvmf_cmd_result(cmd, value);
	nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

static void nvmf_set_run(struct nvmf_cmd *cmd)
{
	const struct nvmf_property *property = nvmf_property_of(cmd);

	if (property->attrib & 7 || le32toh(property->offset) != NVME_REG_CC) {
		nvmf_cmd_end(cmd, NVME_INVALID_FIELD | NVME_DNR);
		return;
	}
	nvmf_ctrl_set_cc(cmd->queue->ctrl, le64toh(property->value));
	nvmf_cmd_end(cmd, NVME_OK);
}

static const struct nvmf_op nvmf_fabrics_ops[] = {
	{ NVME_FABRICS_SET, nvmf_property_check, nvmf_set_run },
	{ NVME_FABRICS_CONNECT, nvmf_connect_check, nvmf_connect_run },
	{ NVME_FABRICS_GET, nvmf_property_check, nvmf_get_run },
};

const struct nvmf_op *nvmf_fabrics_op(uint8_t fctype)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvmf_fabrics_ops); i++)
		if (nvmf_fabrics_ops[i].opcode == fctype)
			return &nvmf_fabrics_ops[i];
	return NULL;
}
