/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * QP 1 of a node: datagrams of management.
 */
#ifndef DEVICE_NODE_GSI_H
#define DEVICE_NODE_GSI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/node_verbs.h"
#include "virtio/virtq.h"

#define NODE_MAD_SIZE		256u

/**
 * struct node_mad - a datagram that was received
 * @data:	NODE_MAD_SIZE bytes
 * @from:	GID of the sender
 * @to:		GID that it was sent to
 * @qpn:	QPN of the sender
 */
struct node_mad {
	const uint8_t *data;
	uint8_t from[GID_SIZE];
	uint8_t to[GID_SIZE];
	uint32_t qpn;
};

/**
 * struct node_gsi_queue - a queue
 * @vq:		the device's side
 * @slots:	slots
 * @stride:	bytes of one
 * @posted:	requests posted
 * @done:	those of them that are complete
 */
struct node_gsi_queue {
	struct virtq vq;
	uint8_t *slots;
	uint32_t stride;
	uint16_t posted;
	uint16_t done;
};

/**
 * struct node_gsi - QP 1
 * @verbs:	of the node
 * @block:	memory of all
 * @sq:		send queue
 * @rq:		receive queue
 * @data:	where datagrams go
 * @ah:		address handle of each datagram that is being sent
 * @received:	a datagram has come
 * @arg:	for @received
 */
struct node_gsi {
	struct node_verbs *verbs;
	uint8_t *block;
	struct node_gsi_queue sq;
	struct node_gsi_queue rq;
	uint8_t *data;
	uint32_t ah[NODE_GSI_DEPTH];
	void (*received)(void *arg, const struct node_mad *mad);
	void *arg;
};

/**
 * node_gsi_open() - make QP 1, which receives from then on
 * @gsi:	with @received and @arg filled in
 * @verbs:	of the node
 *
 * Return: 0 or -ENOMEM.  It goes with the NIC, but after node_gsi_close(), in either case.
 */
int node_gsi_open(struct node_gsi *gsi, struct node_verbs *verbs);

/** node_gsi_close() - stop its queues: the NIC does not know them any more */
void node_gsi_close(struct node_gsi *gsi);

/**
 * node_gsi_send() - send a datagram
 * @gsi:	QP 1
 * @path:	to whom: @dgid, @dmac, @sgid_index and @qpn count
 * @mad:	NODE_MAD_SIZE bytes, copied
 *
 * It is lost if there is no room.
 */
void node_gsi_send(struct node_gsi *gsi, const struct node_path *path, const void *mad);

#endif /* DEVICE_NODE_GSI_H */
