// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands: from the capsule to the answer.
 *
 * Theory of operation
 *
 * A command is looked up and checked, with the description of its data; a wrong one is
 * answered at once.  If it has data it gets a staging buffer, or waits for one in the line of
 * its share.  Data of the host is copied from the capsule or pulled into it, all of it,
 * before the command is done; data for the host is written to the whole of it by the command,
 * and pushed before the answer.  So a buffer never shows what was in it before.
 */

#include <endian.h>
#include <string.h>

#include "nvmf/nvmf_priv.h"

/* ------------------------------------------------------------------------- */
/* Staging buffers                                                           */
/* ------------------------------------------------------------------------- */

static bool nvmf_cmd_stage(struct nvmf_cmd *cmd)
{
	struct nvmf_share *share = cmd->queue->share;
	struct nvmf *nvmf = cmd->queue->nvmf;
	const struct nvmf_pool *pool = nvmf->pool;

	if (share->staged + cmd->len > nvmf->share_max)
		return false;
	cmd->buf = pool->alloc_of ? pool->alloc_of(pool->arg, share, cmd->len) :
				    pool->alloc(pool->arg, cmd->len);
	if (!cmd->buf)
		return false;
	share->staged += cmd->len;
	return true;
}

static void nvmf_cmd_staged(struct nvmf_cmd *cmd);

/* The first one of a share that waits, if there is a buffer for it. */
static bool nvmf_share_serve(struct nvmf_share *share)
{
	struct nvmf_cmd *cmd = TAILQ_FIRST(&share->waiting);

	if (!cmd || (!cmd->queue->ended && !nvmf_cmd_stage(cmd)))
		return false;
	TAILQ_REMOVE(&share->waiting, cmd, entry);
	if (cmd->queue->ended)
		cmd->stage = NVMF_FREE;
	else
		nvmf_cmd_staged(cmd);
	return true;
}

/* One command of each share after the other. */
static void nvmf_serve(struct nvmf *nvmf)
{
	struct nvmf_share *share;

	if (nvmf->serving)
		return;
	nvmf->serving = true;
	share = TAILQ_FIRST(&nvmf->shares);
	while (share) {
		if (!nvmf_share_serve(share)) {
			share = TAILQ_NEXT(share, entry);
			continue;
		}
		/* A share has a queue, and so does not go away meanwhile. */
		TAILQ_REMOVE(&nvmf->shares, share, entry);
		TAILQ_INSERT_TAIL(&nvmf->shares, share, entry);
		share = TAILQ_FIRST(&nvmf->shares);
	}
	nvmf->serving = false;
}

void nvmf_cmd_unstage(struct nvmf_cmd *cmd)
{
	struct nvmf *nvmf = cmd->queue->nvmf;

	if (!cmd->buf)
		return;
	nvmf->pool->free(nvmf->pool->arg, cmd->buf, cmd->len);
	cmd->buf = NULL;
	cmd->queue->share->staged -= cmd->len;
	nvmf_serve(nvmf);
}

/* ------------------------------------------------------------------------- */
/* Answers                                                                   */
/* ------------------------------------------------------------------------- */

void nvmf_cmd_result(struct nvmf_cmd *cmd, uint64_t result)
{
	cmd->cqe.result = htole64(result);
}

void nvmf_cmd_release(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;

	if (!cmd->capsule)
		return;
	cmd->capsule = NULL;
	queue->ops->release(queue->conn, cmd->cookie);
}

static uint8_t nvmf_cmd_dir(const struct nvmf_cmd *cmd)
{
	const struct nvme_sqe *sqe = &cmd->sqe;

	return (sqe->opcode == NVME_FABRICS ? sqe->fctype : sqe->opcode) & NVME_DIR;
}

static void nvmf_cmd_answer(struct nvmf_cmd *cmd, uint16_t status)
{
	struct nvmf_queue *queue = cmd->queue;

	if (!queue->counted)
		queue->sqhd = (queue->sqhd + 1) % queue->size;
	cmd->cqe.sqhd = htole16(queue->flow ? queue->sqhd : 0xffff);
	cmd->cqe.cid = cmd->sqe.cid;
	cmd->cqe.status = htole16(status << 1);
	cmd->stage = NVMF_ANSWER;
	if (cmd->buf)
		queue->ops->push(queue->conn, cmd, cmd->buf, cmd->len, cmd->addr, cmd->key);
	if (!queue->ended)
		queue->ops->answer(queue->conn, cmd, &cmd->cqe, cmd->inv, cmd->key);
}

void nvmf_cmd_end(struct nvmf_cmd *cmd, uint16_t status)
{
	struct nvmf_queue *queue = cmd->queue;

	if (!queue->ended)
		nvmf_cmd_release(cmd);
	if (status && !queue->ended)
		queue->target->count.errors++;
	if (status || queue->ended || nvmf_cmd_dir(cmd) == NVME_DIR_IN)
		nvmf_cmd_unstage(cmd);
	if (queue->ended)
		cmd->stage = NVMF_FREE;
	else
		nvmf_cmd_answer(cmd, status);
}

/* ------------------------------------------------------------------------- */
/* Beginning                                                                 */
/* ------------------------------------------------------------------------- */

static uint16_t nvmf_cmd_keyed(struct nvmf_cmd *cmd, uint32_t *len)
{
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;

	*len = sgl->len[0] | sgl->len[1] << 8 | (uint32_t)sgl->len[2] << 16;
	cmd->key = sgl->key[0] | sgl->key[1] << 8 | sgl->key[2] << 16 |
		   (uint32_t)sgl->key[3] << 24;
	cmd->addr = le64toh(sgl->addr);
	cmd->inv = sgl->type == NVME_SGL_KEYED_INV && *len;
	return NVME_OK;
}

/* Data of the host that lies in the capsule. */
static uint16_t nvmf_cmd_within(struct nvmf_cmd *cmd, uint32_t *len)
{
	const struct nvme_sgl *sgl = &cmd->sqe.sgl;

	*len = sgl->len[0] | sgl->len[1] << 8 | sgl->len[2] << 16 | (uint32_t)sgl->key[0] << 24;
	cmd->addr = le64toh(sgl->addr);
	cmd->within = true;
	if (*len && nvmf_cmd_dir(cmd) != NVME_DIR_IN)
		return NVME_INVALID_FIELD;
	if (cmd->addr > cmd->capsule_len)
		return NVME_SGL_BAD_OFFSET;
	cmd->addr += cmd->queue->target->offload.data_off;
	if (cmd->addr > cmd->capsule_len || *len > cmd->capsule_len - cmd->addr)
		return NVME_SGL_BAD_OFFSET;
	return NVME_OK;
}

static uint16_t nvmf_cmd_sgl(struct nvmf_cmd *cmd)
{
	const uint8_t type = cmd->sqe.sgl.type;
	uint16_t status;
	uint32_t len;

	if (type == NVME_SGL_KEYED || type == NVME_SGL_KEYED_INV)
		status = nvmf_cmd_keyed(cmd, &len);
	else if (type == NVME_SGL_OFFSET)
		status = nvmf_cmd_within(cmd, &len);
	else if (NVME_SGL_TYPE(type) == NVME_SGL_TYPE(NVME_SGL_KEYED) ||
		 NVME_SGL_TYPE(type) == NVME_SGL_TYPE(NVME_SGL_OFFSET))
		return NVME_INVALID_FIELD;
	else
		return NVME_SGL_BAD_TYPE;
	if (status)
		return status;
	return len == cmd->len || (cmd->more && len > cmd->len) ? NVME_OK : NVME_SGL_LENGTH;
}

/* The table in which a command is, by its queue and by what that has become. */
static uint16_t nvmf_cmd_find(struct nvmf_cmd *cmd)
{
	const struct nvmf_queue *queue = cmd->queue;
	const struct nvmf_ctrl *ctrl = queue->ctrl;
	const struct nvme_sqe *sqe = &cmd->sqe;
	const bool fabrics = sqe->opcode == NVME_FABRICS;

	cmd->op = fabrics ? nvmf_fabrics_op(sqe->fctype) :
		  queue->qid ? nvmf_io_op(sqe->opcode) :
		  nvmf_admin_op(sqe->opcode, ctrl && ctrl->discovery);
	if (!ctrl && !(fabrics && sqe->fctype == NVME_FABRICS_CONNECT))
		return NVME_SEQUENCE;
	if (!cmd->op)
		return NVME_INVALID_OPCODE;
	return !fabrics && !(ctrl->csts & NVME_CSTS_RDY) ? NVME_SEQUENCE : NVME_OK;
}

static uint16_t nvmf_cmd_check(struct nvmf_cmd *cmd)
{
	const uint8_t flags = cmd->sqe.flags;
	uint16_t status;

	if ((flags & NVME_FLAGS_PSDT) != NVME_FLAGS_SGL || flags & NVME_FLAGS_FUSED)
		return NVME_INVALID_FIELD;
	status = nvmf_cmd_find(cmd);
	if (!status)
		status = cmd->op->check(cmd);
	return status ? status : nvmf_cmd_sgl(cmd);
}

void nvmf_cmd_begin(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;
	uint16_t status;

	cmd->len = 0;
	cmd->more = false;
	cmd->within = false;
	cmd->inv = false;
	cmd->key = 0;
	cmd->ns = NULL;
	if (queue->ctrl)
		queue->ctrl->alive = true;
	status = nvmf_cmd_check(cmd);
	if (status) {
		nvmf_cmd_end(cmd, status | NVME_DNR);
		return;
	}
	if (!cmd->len) {
		nvmf_cmd_go_on(cmd);
		return;
	}
	if (TAILQ_EMPTY(&queue->share->waiting) && nvmf_cmd_stage(cmd)) {
		nvmf_cmd_staged(cmd);
		return;
	}
	queue->target->count.waits++;
	cmd->stage = NVMF_WAIT;
	TAILQ_INSERT_TAIL(&queue->share->waiting, cmd, entry);
}

static void nvmf_cmd_staged(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;

	if (nvmf_cmd_dir(cmd) != NVME_DIR_IN) {
		nvmf_cmd_go_on(cmd);
		return;
	}
	if (cmd->within) {
		memcpy(cmd->buf, cmd->capsule + cmd->addr, cmd->len);
		nvmf_cmd_go_on(cmd);
		return;
	}
	nvmf_cmd_release(cmd);
	cmd->stage = NVMF_PULL;
	queue->ops->pull(queue->conn, cmd, cmd->buf, cmd->len, cmd->addr, cmd->key);
}

void nvmf_cmd_go_on(struct nvmf_cmd *cmd)
{
	nvmf_cmd_release(cmd);
	cmd->op->run(cmd);
}
