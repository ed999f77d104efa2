// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues: connections, their capsules, and their end.
 *
 * Theory of operation
 *
 * A queue has two commands for each of its entries, and receives as many capsules as it has
 * entries.  A capsule that finds no free command waits; more cannot come, because the wire
 * has no further receive buffer.
 *
 * A queue ends in two steps.  nvmf_queue_end() asks the wire for it, and from then on no
 * function of the wire is called.  nvmf_queue_free() follows; commands that a namespace
 * works on keep the memory of the queue, and their staging buffers, until it has let go.
 * Until then the guest gets no new controller, and its Connect is parked: it would do again
 * what was not answered, and something else after that, before the first write of that reaches
 * the storage.
 */

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/nvmf_priv.h"

/* ------------------------------------------------------------------------- */
/* Beginning                                                                 */
/* ------------------------------------------------------------------------- */

static uint16_t nvmf_cm_check(const struct nvmf_target *target, const struct nvmf_cm_req *req)
{
	const uint16_t qid = le16toh(req->qid), hsqsize = le16toh(req->hsqsize);
	const uint16_t hrqsize = le16toh(req->hrqsize);
	const unsigned int depth = qid ? target->limits.depth : NVME_AQ_DEPTH;

	if (req->recfmt)
		return NVMF_CM_RECFMT;
	if (qid > target->limits.queues)
		return NVMF_CM_QID;
	if (!hsqsize || hsqsize >= depth)
		return NVMF_CM_HSQSIZE;
	return hrqsize ? 0 : NVMF_CM_HRQSIZE;
}

struct nvmf_queue *nvmf_queue_alloc(uint16_t depth)
{
	struct nvmf_queue *queue = calloc(1, sizeof(*queue));
	unsigned int i;

	if (!queue)
		return NULL;
	queue->depth = depth;
	queue->held = calloc(depth, sizeof(*queue->held));
	queue->cmd = calloc(2 * depth, sizeof(*queue->cmd));
	TAILQ_INIT(&queue->free);
	if (!queue->held || !queue->cmd) {
		free(queue->cmd);
		free(queue->held);
		free(queue);
		return NULL;
	}
	for (i = 0; i < 2U * depth; i++) {
		queue->cmd[i].queue = queue;
		TAILQ_INSERT_TAIL(&queue->free, &queue->cmd[i], entry);
	}
	return queue;
}

void nvmf_queue_unmake(struct nvmf_queue *queue)
{
	free(queue->cmd);
	free(queue->held);
	free(queue);
}

static void nvmf_queue_late(void *arg)
{
	struct nvmf_queue *queue = arg;

	/* A host that has waited may try again by this connection. */
	if (queue->parked)
		nvmf_connect_busy(queue->parked);
	else
		nvmf_queue_end(queue);
}

static struct nvmf_queue *nvmf_queue_make(struct nvmf_target *target,
					  const struct nvmf_cm_req *req, const char *guest)
{
	struct nvmf_share *share = nvmf_share_get(target->nvmf, guest);
	struct nvmf_queue *queue;

	if (!share)
		return NULL;
	queue = share->lone < NVMF_LONE_MAX ? nvmf_queue_alloc(le16toh(req->hsqsize) + 1) : NULL;
	if (!queue) {
		nvmf_share_put(target->nvmf, share);
		return NULL;
	}
	share->lone++;
	queue->share = share;
	queue->nvmf = target->nvmf;
	queue->target = target;
	queue->qid = le16toh(req->qid);
	queue->flow = true;
	queue->size = queue->depth;
	queue->timer.fn = nvmf_queue_late;
	queue->timer.arg = queue;
	loop_timer_set(queue->nvmf->loop, &queue->timer, NVMF_CONNECT_MS * NS_PER_MS);
	target->count.queues++;
	return queue;
}

static struct nvmf_queue *nvmf_reject(struct nvmf_target *target, uint16_t status,
				      struct nvmf_cm_answer *answer)
{
	const struct nvmf_cm_rej rej = { .status = htole16(status) };

	target->count.refused++;
	answer->reject = status;
	answer->len = sizeof(rej);
	memcpy(answer->data, &rej, sizeof(rej));
	return NULL;
}

struct nvmf_queue *nvmf_queue_new(struct nvmf_target *target, const struct nvmf_wire_ops *ops,
				  void *conn, const struct nvmf_peer *peer,
				  struct nvmf_cm_answer *answer)
{
	struct nvmf_queue *queue;
	struct nvmf_cm_rep rep = { 0 };
	struct nvmf_cm_req req;
	uint16_t status;

	memset(answer, 0, sizeof(*answer));
	if (peer->len < sizeof(req))
		return nvmf_reject(target, NVMF_CM_LEN, answer);
	memcpy(&req, peer->req, sizeof(req));
	status = nvmf_cm_check(target, &req);
	if (status)
		return nvmf_reject(target, status, answer);
	queue = nvmf_queue_make(target, &req, peer->guest);
	if (!queue)
		return nvmf_reject(target, NVMF_CM_RESOURCES, answer);
	queue->ops = ops;
	queue->conn = conn;
	rep.crqsize = htole16(queue->depth);
	answer->len = sizeof(rep);
	memcpy(answer->data, &rep, sizeof(rep));
	answer->recvs = queue->depth;
	answer->sends = 2 * queue->depth;
	return queue;
}

void nvmf_queue_join(struct nvmf_queue *queue, struct nvmf_ctrl *ctrl)
{
	loop_timer_cancel(queue->nvmf->loop, &queue->timer);
	queue->share->lone--;
	queue->ctrl = ctrl;
	ctrl->queue[queue->qid] = queue;
}

bool nvmf_queue_is_io(const struct nvmf_queue *queue)
{
	return queue->qid;
}

bool nvmf_queue_flow(const struct nvmf_queue *queue, uint16_t *size, uint16_t *head)
{
	*size = queue->flow ? queue->size : 0;
	*head = queue->flow ? queue->sqhd : 0;
	return queue->ctrl;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void nvmf_queue_start(struct nvmf_queue *queue, const struct nvmf_held *held)
{
	struct nvmf_cmd *cmd = TAILQ_FIRST(&queue->free);

	TAILQ_REMOVE(&queue->free, cmd, entry);
	cmd->serial = ++queue->serial;
	memset(&cmd->cqe, 0, sizeof(cmd->cqe));
	memcpy(&cmd->sqe, held->capsule, sizeof(cmd->sqe));
	cmd->capsule = (const uint8_t *)held->capsule + sizeof(cmd->sqe);
	cmd->capsule_len = held->len - sizeof(cmd->sqe);
	cmd->cookie = held->cookie;
	nvmf_cmd_begin(cmd);
}

void nvmf_capsule(struct nvmf_queue *queue, const void *capsule, size_t len, void *cookie)
{
	const struct nvmf_held held = { .capsule = capsule, .len = len, .cookie = cookie };

	if (queue->ended)
		return;
	if (len < sizeof(struct nvme_sqe)) {
		nvmf_queue_end(queue);
		return;
	}
	if (!TAILQ_EMPTY(&queue->free)) {
		nvmf_queue_start(queue, &held);
		return;
	}
	if (queue->helds == queue->depth) {
		nvmf_queue_end(queue);
		return;
	}
	queue->held[(queue->held_at + queue->helds++) % queue->depth] = held;
}

void nvmf_moved(struct nvmf_cmd *cmd, int err)
{
	if (cmd->queue->ended)
		return;
	if (err)
		nvmf_cmd_end(cmd, NVME_TRANSFER_ERROR | NVME_DNR);
	else
		nvmf_cmd_go_on(cmd);
}

void nvmf_sent(struct nvmf_cmd *cmd, int err)
{
	struct nvmf_queue *queue = cmd->queue;
	struct nvmf_held held;

	if (queue->ended)
		return;
	nvmf_cmd_unstage(cmd);
	cmd->stage = NVMF_FREE;
	TAILQ_INSERT_TAIL(&queue->free, cmd, entry);
	if (err)
		nvmf_queue_end(queue);
	/* Others, which the buffer served, may have ended it. */
	if (queue->ended || !queue->helds)
		return;
	held = queue->held[queue->held_at];
	queue->held_at = (queue->held_at + 1) % queue->depth;
	queue->helds--;
	nvmf_queue_start(queue, &held);
}

/* ------------------------------------------------------------------------- */
/* End                                                                       */
/* ------------------------------------------------------------------------- */

void nvmf_queue_end(struct nvmf_queue *queue)
{
	if (queue->ended)
		return;
	queue->ended = true;
	queue->ops->end(queue->conn);
}

/* The wire uses no buffer any more; those that a namespace uses stay. */
static void nvmf_queue_drop(struct nvmf_queue *queue)
{
	struct nvmf_cmd *cmd;
	unsigned int i;

	for (i = 0; i < 2U * queue->depth; i++) {
		cmd = &queue->cmd[i];
		if (cmd->stage == NVMF_PARKED)
			nvmf_connect_unpark(cmd);
		if (cmd->stage != NVMF_WAIT)
			continue;
		TAILQ_REMOVE(&queue->share->waiting, cmd, entry);
		cmd->stage = NVMF_FREE;
	}
	for (i = 0; i < 2U * queue->depth; i++) {
		cmd = &queue->cmd[i];
		if (cmd->stage == NVMF_FREE || cmd->stage == NVMF_RUN)
			continue;
		cmd->stage = NVMF_FREE;
		nvmf_cmd_unstage(cmd);
	}
}

static void nvmf_queue_finish(struct nvmf_queue *queue)
{
	nvmf_share_put(queue->nvmf, queue->share);
	nvmf_queue_unmake(queue);
}

void nvmf_queue_unref(struct nvmf_queue *queue)
{
	struct nvmf_share *share = queue->share;
	struct nvmf *nvmf = queue->nvmf;

	share->orphans--;
	share->refs++;
	if (!--queue->running)
		nvmf_queue_finish(queue);
	nvmf_connect_parked(share);
	nvmf_share_put(nvmf, share);
}

void nvmf_queue_free(struct nvmf_queue *queue)
{
	struct nvmf_ctrl *ctrl = queue->ctrl;

	queue->ended = true;
	queue->gone = true;
	queue->target->count.queues--;
	loop_timer_cancel(queue->nvmf->loop, &queue->timer);
	if (!ctrl)
		queue->share->lone--;
	else
		ctrl->queue[queue->qid] = NULL;
	if (ctrl && !queue->qid)
		nvmf_ctrl_free(ctrl);
	queue->ctrl = NULL;
	/* Before a buffer becomes free: a Connect of the same host may wait for one. */
	queue->share->orphans += queue->running;
	nvmf_queue_drop(queue);
	queue->target = NULL;
	if (!queue->running)
		nvmf_queue_finish(queue);
}
