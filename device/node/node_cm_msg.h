/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of the connection manager (IBTA volume 1, 12.6), and the header of the RDMA IP
 * CM service (annex A11) in a request.
 */
#ifndef DEVICE_NODE_CM_MSG_H
#define DEVICE_NODE_CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/gid.h"

#define CM_MSG_SIZE		256u

/* Private data of a request behind the IP header, of an answer, and of a refusal. */
#define CM_REQ_PRIVATE		56u
#define CM_REP_PRIVATE		196u
#define CM_REJ_PRIVATE		148u

enum cm_attr {
	CM_REQ		= 0x0010,
	CM_MRA		= 0x0011,
	CM_REJ		= 0x0012,
	CM_REP		= 0x0013,
	CM_RTU		= 0x0014,
	CM_DREQ		= 0x0015,
	CM_DREP		= 0x0016,
	CM_SIDR_REQ	= 0x0017,
	CM_SIDR_REP	= 0x0018,
};

enum cm_rej_reason {
	CM_REJ_NO_RESOURCES		= 3,
	CM_REJ_UNSUPPORTED		= 5,
	CM_REJ_INVALID_SERVICE		= 8,
	CM_REJ_INVALID_TRANSPORT	= 9,
	CM_REJ_INVALID_GID		= 12,
	CM_REJ_INVALID_MTU		= 26,
	CM_REJ_FEW_RESOURCES		= 27,
	CM_REJ_CONSUMER			= 28,
};

/**
 * struct cm_req - a request to connect
 * @comm_id:	number of the connection at the peer
 * @service:	what it wants to connect to
 * @qpn:	QPN of the peer
 * @psn:	PSN that the receiver of this is to begin with
 * @reads:	READs that it serves at a time
 * @transport:	transport service: 0 is RC
 * @extended:	extended transport, 0 is none
 * @mtu:	&enum virtio_ib_mtu
 * @retries:	retries that it asks for
 * @rnr_retries: likewise, when it has no receive request
 * @timeout:	ACK timeout that it asks for
 * @private:	CM_REQ_PRIVATE bytes behind the IP header
 */
struct cm_req {
	uint32_t comm_id;
	uint64_t service;
	uint32_t qpn;
	uint32_t psn;
	uint8_t reads;
	uint8_t transport;
	uint8_t extended;
	uint8_t mtu;
	uint8_t retries;
	uint8_t rnr_retries;
	uint8_t timeout;
	uint8_t private[CM_REQ_PRIVATE];
};

/**
 * struct cm_rep - an answer
 * @comm_id:	number of the connection here
 * @peer_id:	and at the peer
 * @qpn:	QPN here
 * @psn:	PSN that the receiver of this is to begin with
 * @reads:	READs that are outstanding at a time
 * @guid:	of the node, which QPNs belong to
 * @data:	private data
 * @len:	its bytes, CM_REP_PRIVATE at most
 */
struct cm_rep {
	uint32_t comm_id;
	uint32_t peer_id;
	uint32_t qpn;
	uint32_t psn;
	uint8_t reads;
	uint64_t guid;
	const void *data;
	size_t len;
};

/** cm_msg_attr() - &enum cm_attr of a datagram, or 0 if it is another one's */
uint16_t cm_msg_attr(const uint8_t *msg);

/** cm_msg_ids() - the sender's and the receiver's number of the connection */
void cm_msg_ids(const uint8_t *msg, uint32_t *peer_id, uint32_t *comm_id);

/** cm_mra_wait() - how long the sender of an MRA asks to wait, as code of 4.096 us * 2^n */
uint8_t cm_mra_wait(const uint8_t *msg);

/** cm_dreq_qpn() - the receiver's QPN as of a DREQ */
uint32_t cm_dreq_qpn(const uint8_t *msg);

/**
 * cm_req_read() - read a request
 * @msg:	message
 * @req:	filled in
 * @from:	GID of the sender
 * @to:		GID that it was sent to
 *
 * Return: false if its IP header is none, or names other addresses than those.
 */
bool cm_req_read(const uint8_t *msg, struct cm_req *req, const uint8_t *from,
		 const uint8_t *to);

/** cm_rep_write() - write the answer to request @req */
void cm_rep_write(uint8_t *msg, const uint8_t *req, const struct cm_rep *rep);

/**
 * cm_rej_write() - refuse request @req
 * @msg:	written
 * @req:	request
 * @reason:	&enum cm_rej_reason
 * @data:	private data
 * @len:	its bytes, CM_REJ_PRIVATE at most
 */
void cm_rej_write(uint8_t *msg, const uint8_t *req, uint16_t reason, const void *data,
		  size_t len);

/**
 * cm_plain_write() - write a DREQ or a DREP
 * @msg:	written
 * @attr:	which
 * @tid:	number of the transaction
 * @comm_id:	number of the connection here
 * @peer_id:	and at the peer
 * @qpn:	QPN of the peer, of a DREQ
 */
void cm_plain_write(uint8_t *msg, uint16_t attr, uint64_t tid, uint32_t comm_id,
		    uint32_t peer_id, uint32_t qpn);

/** cm_msg_tid() - number of the transaction */
uint64_t cm_msg_tid(const uint8_t *msg);

/** cm_sidr_refuse() - answer a SIDR_REQ: there is no such service */
void cm_sidr_refuse(uint8_t *msg, const uint8_t *req);

#endif /* DEVICE_NODE_CM_MSG_H */
