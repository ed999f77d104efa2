/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The strict device: the daemon with --rfc, and a layer between its function and its
 * RDMA side that checks each control command, work request and doorbell, as a device
 * that takes the RFC literally would.  A request that such a device may fail on is a
 * violation: one line "strict: …", and the process ends with STRICT_STATUS.
 *
 * strict_wrap.c adds the layer with the linker's --wrap, so that no file of the
 * daemon knows it.  strict_frame.c checks descriptors, strict_command.c commands and
 * their order, strict_slot.c work requests and slots for completions.
 *
 * Context: the event loop's thread.
 */
#ifndef DEVICE_TESTS_STRICT_H
#define DEVICE_TESTS_STRICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rdma/rnic.h"
#include "uapi/virtio_net_roce.h"
#include "virtio/virtq.h"

/* Exit status of a process that found a violation. */
#define STRICT_STATUS	3

/* Every part of what a device is given begins at a multiple of this. */
#define STRICT_ALIGN	8

/* The virtqueue of commands; the function has one pair of Ethernet queues. */
#define STRICT_CTRL	2

/**
 * enum strict_kind - what a command can make
 * @STRICT_PD:	protection domain
 * @STRICT_MR:	memory region
 * @STRICT_AH:	address handle
 * @STRICT_CQ:	completion queue
 * @STRICT_QP:	queue pair
 * @STRICT_GID:	entry of the GID table
 */
enum strict_kind {
	STRICT_PD,
	STRICT_MR,
	STRICT_AH,
	STRICT_CQ,
	STRICT_QP,
	STRICT_GID,
	STRICT_KINDS,
};

/**
 * struct strict_object - something that a command has made
 * @kind:	what it is
 * @handle:	its number
 * @refs:	objects that use it
 * @pd:		its PD, or NULL
 * @send_cq:	of a QP
 * @recv_cq:	of a QP
 * @type:	of a QP
 * @cap:	of a QP
 * @cqe:	of a CQ
 * @used:	of a CQ: a QP has used it
 * @entry:	of the list
 */
struct strict_object {
	enum strict_kind kind;
	uint32_t handle;
	uint32_t refs;
	struct strict_object *pd;
	struct strict_object *send_cq;
	struct strict_object *recv_cq;
	uint8_t type;
	struct virtio_rdma_qp_cap cap;
	uint32_t cqe;
	bool used;
	TAILQ_ENTRY(strict_object) entry;
};

TAILQ_HEAD(strict_objects, strict_object);

/**
 * struct strict_queue - a virtqueue of the RDMA side
 * @vq:		itself; NULL while it is stopped
 * @kind:	what it is
 * @number:	of its CQ or QP
 * @kicks:	doorbells since it was started
 * @made:	a command has made its CQ or QP, since the last reset
 */
struct strict_queue {
	struct virtq *vq;
	enum rnic_queue kind;
	uint32_t number;
	unsigned int kicks;
	bool made;
};

/**
 * struct strict - what the device has promised and what it was asked for
 * @rnic:	NIC that is checked
 * @limits:	its limits
 * @name:	for messages
 * @device:	answer to QUERY_DEVICE
 * @port:	answer to QUERY_PORT
 * @has_device:	@device is valid
 * @has_port:	@port is valid
 * @object:	objects that exist
 * @count:	how many of each kind
 * @queue:	RDMA queues by kind and number
 * @entry:	of all of them
 */
struct strict {
	struct rnic *rnic;
	struct rnic_limits limits;
	char name[64];
	struct virtio_rdma_ack_query_device device;
	struct virtio_rdma_ack_query_port port;
	bool has_device;
	bool has_port;
	struct strict_objects object;
	uint32_t count[STRICT_KINDS];
	struct strict_queue *queue[RNIC_QUEUES];
	TAILQ_ENTRY(strict) entry;
};

/** strict_fail() - print "strict: …" and end the process; @s may be NULL */
void strict_fail(const struct strict *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/** strict_zero() - fail unless @len bytes at @p are zero; @what tells where */
void strict_zero(const struct strict *s, const void *p, size_t len,
		 const char *what);

/** strict_name() - name of a RoCE command */
const char *strict_name(uint8_t command);

/** strict_frame() - look at the descriptors of a control command */
void strict_frame(const struct virtq_elem *elem);

/** strict_before() - look at a RoCE command before the device carries it out */
void strict_before(struct strict *s, uint8_t command, const void *req, size_t len);

/** strict_after() - remember what it has done; @ack and @rsp are the answer */
void strict_after(struct strict *s, uint8_t command, const void *req, uint8_t ack,
		  const void *rsp);

/** strict_forget() - the function was reset: nothing exists any more */
void strict_forget(struct strict *s);

/** strict_find() - an object by number, or NULL */
struct strict_object *strict_find(const struct strict *s, enum strict_kind kind,
				  uint32_t handle);

/** strict_slot() - look at what was taken from an RDMA queue */
void strict_slot(const struct strict *s, const struct strict_queue *queue,
		 const struct virtq_elem *elem);

/** strict_kick() - a doorbell was rung */
void strict_kick(const struct strict *s, struct strict_queue *queue);

/** strict_avail() - requests or slots in a queue that the device has not taken */
uint16_t strict_avail(const struct strict_queue *queue);

/** strict_pending() - requests or slots that the device has not given back */
uint16_t strict_pending(const struct strict_queue *queue);

#endif /* DEVICE_TESTS_STRICT_H */
