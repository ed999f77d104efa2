// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Subsystems without a target: commands of I/O queues alone.
 *
 * Somebody else has answered Connect and all administration.  Such a subsystem has one
 * controller, which is always ready, and numbers of namespaces as they were mapped.  All else
 * is as with targets: the same commands, staging buffers and shares.
 */

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/nvmf_priv.h"

/* The number that queues have: not that of an administration queue. */
#define OFFLOAD_QID	1

/**
 * struct offload - a subsystem
 * @target:	of which only what commands look at is used
 * @ctrl:	its controller
 */
struct offload {
	struct nvmf_target target;
	struct nvmf_ctrl ctrl;
};

struct nvmf_target *nvmf_offload_new(struct nvmf *nvmf,
				     const struct nvmf_offload_config *config)
{
	struct offload *offload = calloc(1, sizeof(*offload));

	if (!offload)
		return NULL;
	offload->target.nvmf = nvmf;
	offload->target.offload = *config;
	LIST_INIT(&offload->target.ctrls);
	offload->ctrl.target = &offload->target;
	offload->ctrl.csts = NVME_CSTS_RDY;
	return &offload->target;
}

static struct offload *offload_of(struct nvmf_target *target)
{
	return (struct offload *)((char *)target - offsetof(struct offload, target));
}

void nvmf_offload_free(struct nvmf_target *target)
{
	free(offload_of(target));
}

bool nvmf_offload_map(struct nvmf_target *target, uint32_t nsid, struct ns *ns)
{
	unsigned int i;

	for (i = 0; i < NVMF_NAMESPACES_MAX; i++) {
		if (target->nsid[i])
			continue;
		target->nsid[i] = nsid;
		target->space[i] = (struct nvmf_namespace) { .ns = ns };
		return true;
	}
	return false;
}

void nvmf_offload_unmap(struct nvmf_target *target, uint32_t nsid)
{
	unsigned int i;

	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		if (target->nsid[i] == nsid)
			target->nsid[i] = 0;
}

struct nvmf_queue *nvmf_offload_queue(struct nvmf_target *target,
				      const struct nvmf_wire_ops *ops, void *conn,
				      const char *guest, uint16_t depth)
{
	struct nvmf_share *share = nvmf_share_get(target->nvmf, guest);
	struct nvmf_queue *queue = NULL;

	errno = ENOMEM;
	if (!share)
		return NULL;
	if (share->orphans)
		errno = EBUSY;
	else
		queue = nvmf_queue_alloc(depth);
	if (!queue) {
		nvmf_share_put(target->nvmf, share);
		return NULL;
	}
	queue->share = share;
	queue->nvmf = target->nvmf;
	queue->target = target;
	queue->ops = ops;
	queue->conn = conn;
	queue->qid = OFFLOAD_QID;
	queue->ctrl = &offload_of(target)->ctrl;
	queue->counted = true;
	nvmf_offload_flow(queue, 0, 0);
	target->count.queues++;
	return queue;
}

void nvmf_offload_flow(struct nvmf_queue *queue, uint16_t size, uint16_t head)
{
	queue->flow = size;
	queue->size = size ? size : 1;
	queue->sqhd = head;
}

uint16_t nvmf_offload_head(const struct nvmf_queue *queue)
{
	return queue->sqhd;
}

bool nvmf_offload_ready(const struct nvmf_queue *queue)
{
	return !queue->ended && !TAILQ_EMPTY(&queue->free);
}

bool nvmf_offload_wants(struct nvmf_queue *queue, const void *head, size_t len)
{
	const struct nvmf_offload_config *offload = &queue->target->offload;
	struct nvme_sqe sqe;

	queue->sqhd = (queue->sqhd + 1) % queue->size;
	if (len < sizeof(sqe) || len > offload->capsule)
		return false;
	memcpy(&sqe, head, sizeof(sqe));
	return sqe.opcode < 32 && offload->ops & 1U << sqe.opcode &&
	       !(sqe.flags & NVME_FLAGS_FUSED) &&
	       nvmf_target_ns(queue->target, le32toh(sqe.nsid));
}

bool nvmf_queue_is_idle(const struct nvmf_queue *queue)
{
	const struct nvmf_cmd *cmd;
	unsigned int n = 0;

	TAILQ_FOREACH(cmd, &queue->free, entry)
		n++;
	return n == 2U * queue->depth;
}
