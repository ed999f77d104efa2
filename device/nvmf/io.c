// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of I/O queues.
 */

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "nvmf/nvmf_priv.h"

/* ------------------------------------------------------------------------- */
/* Between commands and namespaces                                           */
/* ------------------------------------------------------------------------- */

/* An error of a namespace as the host is told.  Without DNR it may try again. */
static uint16_t nvmf_io_status(const struct nvmf_cmd *cmd, int err)
{
	if (err && cmd->io.status)
		return cmd->io.status;
	switch (err) {
	case 0:
		return NVME_OK;
	case -EPIPE:
	case -ENOMEM:
	case -EAGAIN:
	case -EINTR:
		return NVME_INTERNAL;
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
		return NVME_CAPACITY | NVME_DNR;
	case -EROFS:
		return NVME_NS_PROTECTED | NVME_DNR;
	case -EOPNOTSUPP:
		return NVME_INVALID_OPCODE | NVME_DNR;
	case -EINVAL:
		return NVME_INTERNAL | NVME_DNR;
	default:
		return (cmd->io.op == NS_READ ? NVME_READ_ERROR : NVME_WRITE_FAULT) | NVME_DNR;
	}
}

/* True if the command is to go on: its queue is not about to end. */
static bool nvmf_io_back(struct nvmf_cmd *cmd)
{
	struct nvmf_queue *queue = cmd->queue;

	if (!queue->ended) {
		queue->running--;
		return true;
	}
	nvmf_cmd_unstage(cmd);
	cmd->stage = NVMF_FREE;
	if (queue->gone)
		nvmf_queue_unref(queue);
	else
		queue->running--;
	return false;
}

static struct nvmf_cmd *nvmf_io_cmd(struct ns_io *io)
{
	return (struct nvmf_cmd *)((char *)io - offsetof(struct nvmf_cmd, io));
}

static void nvmf_io_done(struct ns_io *io, int err)
{
	struct nvmf_cmd *cmd = nvmf_io_cmd(io);

	if (nvmf_io_back(cmd))
		nvmf_cmd_end(cmd, nvmf_io_status(cmd, err));
}

static void nvmf_io_submit(struct nvmf_cmd *cmd, enum ns_op op)
{
	cmd->io.op = op;
	cmd->io.buf = cmd->buf;
	cmd->io.done = nvmf_io_done;
	cmd->io.status = 0;
	cmd->stage = NVMF_RUN;
	cmd->queue->running++;
	ns_submit(cmd->ns, &cmd->io);
}

/* ------------------------------------------------------------------------- */
/* Checks                                                                    */
/* ------------------------------------------------------------------------- */

static uint16_t nvmf_io_ns(struct nvmf_cmd *cmd, bool writes)
{
	struct nvmf_ctrl *ctrl = cmd->queue->ctrl;
	struct nvmf_namespace *space = nvmf_target_ns(ctrl->target, le32toh(cmd->sqe.nsid));

	if (!space)
		return NVME_INVALID_NS;
	if (writes && (space->ro || space->ns->ro))
		return NVME_NS_PROTECTED;
	cmd->ns = space->ns;
	return NVME_OK;
}

/* Blocks to a place of the namespace, if they are within it. */
static uint16_t nvmf_io_place(struct nvmf_cmd *cmd, uint64_t slba, uint64_t blocks)
{
	const uint64_t size = cmd->ns->size / cmd->ns->block;

	if (slba > size || blocks > size - slba)
		return NVME_LBA_RANGE;
	cmd->io.offset = slba * cmd->ns->block;
	cmd->io.len = blocks * cmd->ns->block;
	return NVME_OK;
}

static uint16_t nvmf_io_range(struct nvmf_cmd *cmd)
{
	const struct nvme_sqe *sqe = &cmd->sqe;
	const uint64_t slba = le32toh(sqe->cdw10) | (uint64_t)le32toh(sqe->cdw11) << 32;

	return nvmf_io_place(cmd, slba, (le32toh(sqe->cdw12) & 0xffff) + 1);
}

static uint16_t nvmf_io_data(struct nvmf_cmd *cmd, bool writes)
{
	uint16_t status = nvmf_io_ns(cmd, writes);

	if (!status)
		status = nvmf_io_range(cmd);
	if (status)
		return status;
	if (cmd->io.len > cmd->queue->target->offload.max_io)
		return NVME_INVALID_FIELD;
	cmd->len = cmd->io.len;
	return NVME_OK;
}

static uint16_t nvmf_read_check(struct nvmf_cmd *cmd)
{
	return nvmf_io_data(cmd, false);
}

static uint16_t nvmf_write_check(struct nvmf_cmd *cmd)
{
	return nvmf_io_data(cmd, true);
}

static uint16_t nvmf_flush_check(struct nvmf_cmd *cmd)
{
	return nvmf_io_ns(cmd, false);
}

static uint16_t nvmf_zeroes_check(struct nvmf_cmd *cmd)
{
	uint16_t status = nvmf_io_ns(cmd, true);

	return status ? status : nvmf_io_range(cmd);
}

/* A host may describe a list that is longer than what it says of it. */
static uint16_t nvmf_dsm_check(struct nvmf_cmd *cmd)
{
	cmd->len = ((le32toh(cmd->sqe.cdw10) & 0xff) + 1) * sizeof(struct nvme_range);
	cmd->more = true;
	return nvmf_io_ns(cmd, true);
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void nvmf_read_run(struct nvmf_cmd *cmd)
{
	struct nvmf_counters *count = &cmd->queue->target->count;

	count->read++;
	count->read_bytes += cmd->len;
	cmd->io.lasting = false;
	nvmf_io_submit(cmd, NS_READ);
}

static void nvmf_write_run(struct nvmf_cmd *cmd)
{
	struct nvmf_counters *count = &cmd->queue->target->count;

	count->written++;
	count->written_bytes += cmd->len;
	cmd->io.lasting = le32toh(cmd->sqe.cdw12) & NVME_RW_FUA;
	nvmf_io_submit(cmd, NS_WRITE);
}

static void nvmf_flush_run(struct nvmf_cmd *cmd)
{
	cmd->queue->target->count.other++;
	cmd->io.offset = 0;
	cmd->io.len = 0;
	nvmf_io_submit(cmd, NS_FLUSH);
}

static void nvmf_zeroes_run(struct nvmf_cmd *cmd)
{
	const uint32_t flags = le32toh(cmd->sqe.cdw12);

	cmd->queue->target->count.other++;
	cmd->io.lasting = flags & NVME_RW_FUA;
	cmd->io.keep = !(flags & NVME_ZEROES_DEAC);
	nvmf_io_submit(cmd, NS_ZERO);
}

/**
 * enum nvmf_step - what has become of a range that a namespace was given
 * @NVMF_STEP_LATER:	it works on it
 * @NVMF_STEP_OPEN:	it is being given to it
 * @NVMF_STEP_NEXT:	it was done at once, and the next one is to follow
 * @NVMF_STEP_OVER:	it was done at once, and the command is over
 */
enum nvmf_step {
	NVMF_STEP_LATER,
	NVMF_STEP_OPEN,
	NVMF_STEP_NEXT,
	NVMF_STEP_OVER,
};

static void nvmf_dsm_next(struct nvmf_cmd *cmd);

/* Called from within nvmf_dsm_next(), too, which goes on by itself then. */
static void nvmf_dsm_done(struct ns_io *io, int err)
{
	struct nvmf_cmd *cmd = nvmf_io_cmd(io);
	const bool nested = cmd->step == NVMF_STEP_OPEN;

	if (nested)
		cmd->step = err || cmd->queue->ended ? NVMF_STEP_OVER : NVMF_STEP_NEXT;
	if (!nvmf_io_back(cmd))
		return;
	if (err)
		nvmf_cmd_end(cmd, nvmf_io_status(cmd, err));
	else if (!nested)
		nvmf_dsm_next(cmd);
}

/* Returns a status, and the namespace has something to do if @io.len is set. */
static uint16_t nvmf_dsm_range(struct nvmf_cmd *cmd)
{
	const struct nvme_range *ranges = cmd->buf;
	const struct nvme_range *range = &ranges[cmd->range++];

	return nvmf_io_place(cmd, le64toh(range->slba), le32toh(range->nlb));
}

/* Whether all ranges are within the namespace is known before the first one is forgotten. */
static uint16_t nvmf_dsm_look(struct nvmf_cmd *cmd)
{
	const unsigned int n = cmd->len / sizeof(struct nvme_range);
	uint16_t status = NVME_OK;

	for (cmd->range = 0; !status && cmd->range < n;)
		status = nvmf_dsm_range(cmd);
	cmd->range = 0;
	return status;
}

static void nvmf_dsm_next(struct nvmf_cmd *cmd)
{
	const unsigned int n = cmd->len / sizeof(struct nvme_range);
	const uint64_t serial = cmd->serial;

	while (cmd->range < n) {
		nvmf_dsm_range(cmd);
		if (!cmd->io.len)
			continue;
		cmd->io.op = NS_DISCARD;
		cmd->io.done = nvmf_dsm_done;
		cmd->io.status = 0;
		cmd->stage = NVMF_RUN;
		cmd->queue->running++;
		cmd->step = NVMF_STEP_OPEN;
		ns_submit(cmd->ns, &cmd->io);
		/* It may have been answered, and be another one already. */
		if (cmd->serial != serial)
			return;
		if (cmd->step == NVMF_STEP_OPEN)
			cmd->step = NVMF_STEP_LATER;
		if (cmd->step != NVMF_STEP_NEXT)
			return;
	}
	nvmf_cmd_end(cmd, NVME_OK);
}

static void nvmf_dsm_run(struct nvmf_cmd *cmd)
{
	uint16_t status = nvmf_dsm_look(cmd);

	cmd->queue->target->count.other++;
	if (!status && le32toh(cmd->sqe.cdw11) & NVME_DSM_DEALLOCATE)
		nvmf_dsm_next(cmd);
	else
		nvmf_cmd_end(cmd, status ? status | NVME_DNR : NVME_OK);
}

static const struct nvmf_op nvmf_io_ops[] = {
	{ NVME_IO_FLUSH, nvmf_flush_check, nvmf_flush_run },
	{ NVME_IO_WRITE, nvmf_write_check, nvmf_write_run },
	{ NVME_IO_READ, nvmf_read_check, nvmf_read_run },
	{ NVME_IO_ZEROES, nvmf_zeroes_check, nvmf_zeroes_run },
	{ NVME_IO_DSM, nvmf_dsm_check, nvmf_dsm_run },
};

const struct nvmf_op *nvmf_io_op(uint8_t opcode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nvmf_io_ops); i++)
		if (nvmf_io_ops[i].opcode == opcode)
			return &nvmf_io_ops[i];
	return NULL;
}
