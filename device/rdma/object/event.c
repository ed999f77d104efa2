// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event virtqueues: what happened to which object, by number.
 *
 * Each object has a mark for each type of event, so that there are never more events
 * to report than there are objects.  A mark that finds no buffer stands in line until
 * the driver makes one available, for which the virtqueue asks for a doorbell.
 */
#include <endian.h>

#include "rdma/object/event.h"

void event_table_init(struct event_table *events, struct rnic_ctx *ctx)
{
	unsigned int i;

	events->ctx = ctx;
	for (i = 0; i < RNIC_EVENT_VQS_MAX; i++)
		TAILQ_INIT(&events->queue[i].marks);
}

/* Put an event into a buffer; false if there is none, or none can be used. */
static bool event_store(struct event_table *events, struct virtq *vq,
			const struct event_mark *mark)
{
	const struct virtio_rdma_event event = {
		.type = htole16(mark->type),
		.number = htole32(mark->number),
	};
	struct virtq_elem *elem = &events->ctx->elem;

	if (virtq_pop(vq, elem) <= 0)
		return false;
	if (elem->in_len < sizeof(event)) {
		virtq_push(vq, elem->head, 0);
		virtq_break(vq, "a buffer for events is too short");
		return false;
	}
	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, &event, sizeof(event));
	virtq_push(vq, elem->head, sizeof(event));
	return true;
}

static void event_fill(struct event_table *events, struct event_queue *queue)
{
	struct event_mark *mark;

	for (;;) {
		mark = TAILQ_FIRST(&queue->marks);
		if (!mark || !event_store(events, queue->vq, mark))
			return;
		mark->waits = false;
		TAILQ_REMOVE(&queue->marks, mark, entry);
	}
}

/* Report what waits, and ask for a doorbell if not all of it found a buffer. */
static void event_flush(struct event_table *events, struct event_queue *queue)
{
	bool wait, more = false;

	if (!queue->vq || events->ctx->clearing)
		return;
	do {
		event_fill(events, queue);
		wait = !TAILQ_EMPTY(&queue->marks);
		if (wait || queue->kick)
			more = virtq_want_kick(queue->vq, wait);
		queue->kick = wait;
	} while (more);
	virtq_notify(queue->vq);
}

void event_set_queue(struct event_table *events, uint32_t number,
		     struct virtq *vq)
{
	if (number >= events->ctx->limits.event_vqs)
		return;
	events->queue[number].vq = vq;
	/* As it begins, it asks for doorbells. */
	events->queue[number].kick = true;
	event_flush(events, &events->queue[number]);
}

void event_kick(struct event_table *events, uint32_t number)
{
	if (number < events->ctx->limits.event_vqs)
		event_flush(events, &events->queue[number]);
}

void event_report(struct event_table *events, struct event_mark *mark)
{
	struct event_queue *queue = &events->queue[mark->vq];

	if (mark->waits)
		return;
	mark->waits = true;
	TAILQ_INSERT_TAIL(&queue->marks, mark, entry);
	event_flush(events, queue);
}

void event_drop(struct event_table *events, struct event_mark *mark)
{
	if (!mark->waits)
		return;
	mark->waits = false;
	TAILQ_REMOVE(&events->queue[mark->vq].marks, mark, entry);
}

bool event_line_up(struct event_table *events, struct event_mark *mark)
{
	if (mark->waits)
		return false;
	mark->waits = true;
	TAILQ_INSERT_TAIL(&events->queue[mark->vq].marks, mark, entry);
	return true;
}

void event_go_on(struct event_table *events)
{
	uint32_t i;

	for (i = 0; i < events->ctx->limits.event_vqs; i++)
		if (!TAILQ_EMPTY(&events->queue[i].marks))
			event_flush(events, &events->queue[i]);
}
