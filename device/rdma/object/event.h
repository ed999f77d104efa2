/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Event virtqueues: what happened to which object, by number.
 */
#ifndef DEVICE_RDMA_OBJECT_EVENT_H
#define DEVICE_RDMA_OBJECT_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/object/ctx.h"

TAILQ_HEAD(event_mark_list, event_mark);

/**
 * struct event_mark - one type of event of one object
 * @type:	&enum virtio_rdma_event_type
 * @vq:		number of the event virtqueue
 * @waits:	it has occurred and waits for a buffer
 * @number:	CQN or QPN
 * @entry:	of those that wait
 */
struct event_mark {
	uint8_t type;
	uint8_t vq;
	bool waits;
	uint32_t number;
	TAILQ_ENTRY(event_mark) entry;
};

/**
 * struct event_queue - an event virtqueue
 * @vq:		the virtqueue, or NULL while it is stopped
 * @kick:	it asks for doorbells
 * @marks:	events that wait for a buffer
 */
struct event_queue {
	struct virtq *vq;
	bool kick;
	struct event_mark_list marks;
};

/**
 * struct event_table - the event virtqueues of a NIC
 * @ctx:	the NIC's context
 * @queue:	virtqueues by number
 */
struct event_table {
	struct rnic_ctx *ctx;
	struct event_queue queue[RNIC_EVENT_VQS_MAX];
};

/** event_table_init() - make a table without a virtqueue */
void event_table_init(struct event_table *events, struct rnic_ctx *ctx);

/** event_set_queue() - event virtqueue @number may be used; NULL: not any more */
void event_set_queue(struct event_table *events, uint32_t number,
		     struct virtq *vq);

/** event_kick() - the doorbell of event virtqueue @number was rung */
void event_kick(struct event_table *events, uint32_t number);

/**
 * event_report() - an event has occurred
 * @events:	table
 * @mark:	the event
 *
 * Without a buffer it waits.  If it occurs again meanwhile, that is the same event.
 */
void event_report(struct event_table *events, struct event_mark *mark);

/** event_drop() - the object goes: what is not reported will not be */
void event_drop(struct event_table *events, struct event_mark *mark);

/** event_line_up() - an event that is loaded waits for a buffer; false if it does already */
bool event_line_up(struct event_table *events, struct event_mark *mark);

/** event_go_on() - buffers may have come unseen: report what waits, or ask for doorbells */
void event_go_on(struct event_table *events);

#endif /* DEVICE_RDMA_OBJECT_EVENT_H */
