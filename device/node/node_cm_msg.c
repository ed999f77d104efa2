// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of the connection manager.
 *
 * A message has 256 bytes always, and all fields have fixed places, so that there is no
 * length to be checked.  Offsets count from the beginning of the datagram, whose header
 * has 24 bytes.
 */
#include <string.h>

#include "node/node_cm_msg.h"
#include "packet/inet.h"

/* Header of a management datagram. */
#define MAD_VERSION	0
#define MAD_CLASS	1
#define MAD_CLASS_VER	2
#define MAD_METHOD	3
#define MAD_TID		8
#define MAD_ATTR	16

#define MAD_CM		7
#define MAD_CM_VER	2
#define MAD_SEND	3

#define MSG_LOCAL	24
#define MSG_REMOTE	28

#define REQ_SERVICE	32
#define REQ_QPN		56
#define REQ_RESOURCES	59
#define REQ_TRANSPORT	67
#define REQ_PSN		68
#define REQ_RETRIES	71
#define REQ_MTU		74
#define REQ_EXTENDED	75
#define REQ_TIMEOUT	119
#define REQ_PRIVATE	164

/* The header of the IP service, at the beginning of the private data. */
#define IP_VERSION	1
#define IP_SOURCE	4
#define IP_DESTINATION	20
#define IP_SIZE		36

#define REP_QPN		36
#define REP_PSN		44
#define REP_RESOURCES	48
#define REP_DEPTH	49
#define REP_DELAY	50
#define REP_RNR		51
#define REP_GUID	52
#define REP_PRIVATE	60

#define REJ_REASON	34
#define REJ_PRIVATE	108

#define MRA_TIMEOUT	33
#define DREQ_QPN	32

#define SIDR_ID		24
#define SIDR_SERVICE	32
#define SIDR_REP_STATUS	28
#define SIDR_REP_SERVICE 36
#define SIDR_UNSUPPORTED 1

/* 134 ms until a request is acknowledged, as the NIC says of itself. */
#define ACK_DELAY	15
#define RNR_WITHOUT_END	7

_Static_assert(REQ_PRIVATE + IP_SIZE + CM_REQ_PRIVATE == CM_MSG_SIZE &&
	       REP_PRIVATE + CM_REP_PRIVATE == CM_MSG_SIZE &&
	       REJ_PRIVATE + CM_REJ_PRIVATE == CM_MSG_SIZE,
	       "private data does not end with the message");

uint16_t cm_msg_attr(const uint8_t *msg)
{
	if (msg[MAD_VERSION] != 1 || msg[MAD_CLASS] != MAD_CM ||
	    msg[MAD_CLASS_VER] != MAD_CM_VER || msg[MAD_METHOD] != MAD_SEND)
		return 0;
	return get_be16(msg + MAD_ATTR);
}

uint64_t cm_msg_tid(const uint8_t *msg)
{
	return get_be64(msg + MAD_TID);
}

void cm_msg_ids(const uint8_t *msg, uint32_t *peer_id, uint32_t *comm_id)
{
	*peer_id = get_be32(msg + MSG_LOCAL);
	*comm_id = get_be32(msg + MSG_REMOTE);
}

uint8_t cm_mra_wait(const uint8_t *msg)
{
	return msg[MRA_TIMEOUT] >> 3;
}

uint32_t cm_dreq_qpn(const uint8_t *msg)
{
	return get_be24(msg + DREQ_QPN);
}

/* An IPv4 address stands in the last four bytes. */
static bool ip_is(const uint8_t *ip, const uint8_t *gid, uint8_t version)
{
	uint8_t raw[GID_SIZE];

	if (version == 6)
		return gid_equal(ip, gid);
	gid_from_ipv4(raw, ip + GID_IPV4);
	return version == 4 && gid_equal(raw, gid);
}

bool cm_req_read(const uint8_t *msg, struct cm_req *req, const uint8_t *from,
		 const uint8_t *to)
{
	const uint8_t *ip = msg + REQ_PRIVATE;
	const uint8_t version = ip[IP_VERSION] >> 4;

	*req = (struct cm_req) {
		.comm_id = get_be32(msg + MSG_LOCAL),
		.service = get_be64(msg + REQ_SERVICE),
		.qpn = get_be24(msg + REQ_QPN),
		.psn = get_be24(msg + REQ_PSN),
		.reads = msg[REQ_RESOURCES],
		.transport = msg[REQ_TRANSPORT] >> 1 & 3,
		.extended = msg[REQ_EXTENDED] & 7,
		.mtu = msg[REQ_MTU] >> 4,
		.retries = msg[REQ_RETRIES] & 7,
		.rnr_retries = msg[REQ_MTU] & 7,
		.timeout = msg[REQ_TIMEOUT] >> 3,
	};
	memcpy(req->private, ip + IP_SIZE, CM_REQ_PRIVATE);
	return !ip[0] && ip_is(ip + IP_SOURCE, from, version) &&
	       ip_is(ip + IP_DESTINATION, to, version);
}

static void put_header(uint8_t *msg, uint16_t attr, uint64_t tid)
{
	memset(msg, 0, CM_MSG_SIZE);
	msg[MAD_VERSION] = 1;
	msg[MAD_CLASS] = MAD_CM;
	msg[MAD_CLASS_VER] = MAD_CM_VER;
	msg[MAD_METHOD] = MAD_SEND;
	put_be64(msg + MAD_TID, tid);
	put_be16(msg + MAD_ATTR, attr);
}

static void put_ids(uint8_t *msg, uint32_t comm_id, uint32_t peer_id)
{
	put_be32(msg + MSG_LOCAL, comm_id);
	put_be32(msg + MSG_REMOTE, peer_id);
}

void cm_rep_write(uint8_t *msg, const uint8_t *req, const struct cm_rep *rep)
{
	put_header(msg, CM_REP, cm_msg_tid(req));
	put_ids(msg, rep->comm_id, rep->peer_id);
	put_be24(msg + REP_QPN, rep->qpn);
	put_be24(msg + REP_PSN, rep->psn);
	msg[REP_RESOURCES] = 0;
	msg[REP_DEPTH] = rep->reads;
	msg[REP_DELAY] = ACK_DELAY << 3;
	msg[REP_RNR] = RNR_WITHOUT_END << 5;
	put_be64(msg + REP_GUID, rep->guid);
	memcpy(msg + REP_PRIVATE, rep->data, rep->len);
}

void cm_rej_write(uint8_t *msg, const uint8_t *req, uint16_t reason, const void *data,
		  size_t len)
{
	put_header(msg, CM_REJ, cm_msg_tid(req));
	put_ids(msg, 0, get_be32(req + MSG_LOCAL));
	put_be16(msg + REJ_REASON, reason);
	if (len)
		memcpy(msg + REJ_PRIVATE, data, len);
}

void cm_plain_write(uint8_t *msg, uint16_t attr, uint64_t tid, uint32_t comm_id,
		    uint32_t peer_id, uint32_t qpn)
{
	put_header(msg, attr, tid);
	put_ids(msg, comm_id, peer_id);
	if (attr == CM_DREQ)
		put_be24(msg + DREQ_QPN, qpn);
}

void cm_sidr_refuse(uint8_t *msg, const uint8_t *req)
{
	put_header(msg, CM_SIDR_REP, cm_msg_tid(req));
	memcpy(msg + SIDR_ID, req + SIDR_ID, 4);
	msg[SIDR_REP_STATUS] = SIDR_UNSUPPORTED;
	memcpy(msg + SIDR_REP_SERVICE, req + SIDR_SERVICE, 8);
}
