/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager of a node, the accepting side.
 */
#ifndef DEVICE_NODE_CM_H
#define DEVICE_NODE_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/loop.h"
#include "node/node_arp.h"
#include "node/node_cm_msg.h"
#include "node/node_gsi.h"
#include "node/node_verbs.h"

/* Connections of one address, and those of them whose peer has not confirmed them. */
#define NODE_CM_PEER		128u
#define NODE_CM_HALF_OPEN	32u

/* Messages that wait for the MAC address of their sender. */
#define NODE_CM_WAITING		32u

struct node_cm;

/**
 * enum node_conn_state - state of a connection
 * @NODE_CONN_NONE:	there is none
 * @NODE_CONN_ANSWERED:	the REP was sent
 * @NODE_CONN_UP:	the peer has confirmed it
 * @NODE_CONN_ENDING:	its QP is in ERR, and not all requests are complete
 */
enum node_conn_state {
	NODE_CONN_NONE,
	NODE_CONN_ANSWERED,
	NODE_CONN_UP,
	NODE_CONN_ENDING,
};

/**
 * struct node_conn - a connection
 * @cm:		of the node
 * @state:	state
 * @ask_end:	it is to be ended as soon as nothing is nested
 * @tell:	the peer is to be told when it ends
 * @qp:		QP
 * @path:	to the peer
 * @comm_id:	its number here
 * @peer_id:	its number at the peer
 * @rep:	the REP, to be sent again
 * @timer:	when it is, or the connection is given up
 * @tries:	so many times
 * @user:	what @ask of &struct node_cm_ops has returned
 */
struct node_conn {
	struct node_cm *cm;
	enum node_conn_state state;
	bool ask_end;
	bool tell;
	struct node_qp qp;
	struct node_path path;
	uint32_t comm_id;
	uint32_t peer_id;
	uint8_t rep[CM_MSG_SIZE];
	struct loop_timer timer;
	unsigned int tries;
	void *user;
};

/**
 * struct node_asked - who wants to connect
 * @from:	GID
 * @to:		GID of the node's
 * @private:	CM_REQ_PRIVATE bytes, from the peer
 */
struct node_asked {
	const uint8_t *from;
	const uint8_t *to;
	const uint8_t *private;
};

/**
 * struct node_answer - what it is told
 * @data:	private data of the REP, or of a REJ
 * @len:	its bytes
 * @sends:	send requests that the QP is to hold
 * @recvs:	receive requests that it is to hold
 */
struct node_answer {
	uint8_t data[64];
	size_t len;
	uint32_t sends;
	uint32_t recvs;
};

/**
 * struct node_cm_ops - whose connections they are
 * @ask:	somebody wants to connect.  Returns what stands for the connection, or NULL to
 *		refuse it
 * @ready:	its QP takes receive requests.  False to refuse it; @gone follows
 * @done:	a request of its QP is complete
 * @gone:	the connection has ended, and no request of its QP is left
 */
struct node_cm_ops {
	void *(*ask)(void *arg, struct node_conn *conn, const struct node_asked *asked,
		     struct node_answer *answer);
	bool (*ready)(void *user);
	void (*done)(void *user, const struct virtio_rdma_cqe *cqe);
	void (*gone)(void *user);
};

/**
 * struct node_waiting - a message whose sender's MAC address is asked for
 * @used:	there is one
 * @tries:	how often it was asked for
 * @mad:	the message
 * @data:	of it
 */
struct node_waiting {
	bool used;
	unsigned int tries;
	struct node_mad mad;
	uint8_t data[NODE_MAD_SIZE];
};

/**
 * struct node_cm - the connection manager of a node
 * @loop:	event loop
 * @verbs:	of the node
 * @gsi:	QP 1
 * @arp:	neighbours
 * @service:	port number of TCP's port space
 * @ops:	whose connections they are
 * @arg:	for @ops
 * @key:	of the numbers that others cannot guess
 * @count:	numbers so far
 * @guid:	of the node, which is another one each time that it is made
 * @ending:	connections that end, or are to end
 * @stopped:	nobody may connect any more
 * @next:	place in @waiting that is used next
 * @again:	when to ask again
 * @waiting:	messages
 * @conn:	connections
 */
struct node_cm {
	struct loop *loop;
	struct node_verbs *verbs;
	struct node_gsi *gsi;
	struct node_arp *arp;
	uint16_t service;
	const struct node_cm_ops *ops;
	void *arg;
	struct hash_key key;
	uint64_t count;
	uint64_t guid;
	unsigned int ending;
	bool stopped;
	unsigned int next;
	struct loop_timer again;
	struct node_waiting waiting[NODE_CM_WAITING];
	struct node_conn conn[NODE_QPS];
};

/**
 * node_cm_init() - accept connections
 * @cm:		with @loop, @verbs, @gsi, @arp, @service, @ops and @arg filled in, zeroes else
 */
void node_cm_init(struct node_cm *cm);

/** node_cm_poll() - end what is to be ended; true if there was any work */
bool node_cm_poll(struct node_cm *cm);

/** node_cm_end() - a connection is to end, and its peer to be told; @gone follows */
void node_cm_end(struct node_conn *conn);

/** node_cm_stop() - end all, and let nobody connect any more */
void node_cm_stop(struct node_cm *cm);

/** node_cm_conns() - connections that there are */
unsigned int node_cm_conns(const struct node_cm *cm);

/** node_cm_fini() - stop its timers, after node_cm_stop() */
void node_cm_fini(struct node_cm *cm);

#endif /* DEVICE_NODE_CM_H */
