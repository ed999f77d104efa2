// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connection manager of a node, the accepting side.
 *
 * Theory of operation
 *
 * A peer sends a REQ with its QPN and where its data flow begins.  It gets a REJ, which
 * leaves nothing behind, or a QP and a REP.  The REP is sent again until the peer confirms
 * it by an RTU, or by its first message, whichever comes first; else the connection is
 * given up.  It ends by a DREQ of either side, or when its QP fails.
 *
 *	none -> answered -> up -> ending -> none
 *	           |                ^
 *	           +----------------+   REJ, or no RTU
 *
 * To end a connection its QP is taken to ERR, so that all its requests complete, and the
 * QP is destroyed when they have.  Both happen in node_cm_poll(), when nobody is in the
 * middle of a completion.
 *
 * An answer needs the MAC address of the peer, which ARP knows as a rule, as the peer has
 * asked for ours a moment ago.  A message of somebody else waits in a small ring until that
 * is known; when there are too many, the oldest one is lost, and its sender repeats it.
 *
 * A hostile peer is bounded: connections of one address, those that are half
 * open, and messages that wait have fixed numbers.  A message for a connection counts only
 * if it comes from the GID of its peer, and has both numbers; the engine lets nobody send
 * from the GID of another guest.
 */
#include <endian.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "node/node_cm.h"

/* Port space TCP of the RDMA IP CM service; the port is in the lower 16 bits. */
#define SERVICE_TCP	0x0000000001060000ull

#define MS		(1000 * 1000ull)
#define REP_NS		(1000 * MS)
#define REP_TRIES	8u
#define ASK_NS		(250 * MS)
#define ASK_TRIES	4u

/* An MRA may ask for this much, at most. */
#define MRA_MAX		(60 * 1000 * MS)

/* READs outstanding, at most, and the shortest ACK timeout: 67 ms. */
#define READS_MAX	16u
#define TIMEOUT_LEAST	14u
#define TIMEOUT_MOST	20u

#define PSN_BITS	0xffffffu
#define GSI_QPN		1u

/* ------------------------------------------------------------------------- */
/* Helpers                                                                   */
/* ------------------------------------------------------------------------- */

static uint64_t cm_number(struct node_cm *cm)
{
	const uint64_t n = ++cm->count;

	return hash_bytes(&cm->key, &n, sizeof(n));
}

/* Where a message comes from, as a path for the answer; false if it is not for us. */
static bool cm_way_back(struct node_cm *cm, const struct node_mad *mad, const uint8_t *mac,
			struct node_path *path)
{
	const struct pin *pin = &cm->arp->port->pin;
	unsigned int i;

	*path = (struct node_path) { .qpn = GSI_QPN };
	memcpy(path->dgid, mad->from, GID_SIZE);
	memcpy(path->dmac, mac, sizeof(path->dmac));
	for (i = 0; i < pin->gids; i++)
		if (gid_equal(pin->gid[i], mad->to))
			break;
	path->sgid_index = i;
	return i < pin->gids;
}

static void cm_send(struct node_cm *cm, const struct node_path *path, const uint8_t *msg)
{
	struct node_path to = *path;

	to.qpn = GSI_QPN;
	node_gsi_send(cm->gsi, &to, msg);
}

static struct node_conn *cm_find(struct node_cm *cm, const struct node_mad *mad,
				 uint32_t peer_id)
{
	struct node_conn *conn;

	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		if (conn->state != NODE_CONN_NONE && conn->peer_id == peer_id &&
		    gid_equal(conn->path.dgid, mad->from))
			return conn;
	return NULL;
}

/* The connection that a message is about: of its sender, with both numbers. */
static struct node_conn *cm_about(struct node_cm *cm, const struct node_mad *mad)
{
	uint32_t peer_id, comm_id;
	struct node_conn *conn;

	cm_msg_ids(mad->data, &peer_id, &comm_id);
	conn = cm_find(cm, mad, peer_id);
	return conn && conn->comm_id == comm_id ? conn : NULL;
}

/* ------------------------------------------------------------------------- */
/* The end of a connection                                                   */
/* ------------------------------------------------------------------------- */

static void conn_say(struct node_conn *conn, uint16_t attr, uint64_t tid)
{
	uint8_t msg[CM_MSG_SIZE];

	cm_plain_write(msg, attr, tid, conn->comm_id, conn->peer_id, conn->path.qpn);
	cm_send(conn->cm, &conn->path, msg);
}

static void conn_want_end(struct node_conn *conn, bool tell)
{
	if (conn->state == NODE_CONN_NONE || conn->state == NODE_CONN_ENDING ||
	    conn->ask_end)
		return;
	conn->ask_end = true;
	conn->tell = tell;
	conn->cm->ending++;
}

void node_cm_end(struct node_conn *conn)
{
	conn_want_end(conn, true);
}

/* A DREQ may get lost: then the peer's QP fails, as it has no other end. */
static void conn_begin_end(struct node_conn *conn)
{
	struct node_cm *cm = conn->cm;

	conn->ask_end = false;
	conn->state = NODE_CONN_ENDING;
	loop_timer_cancel(cm->loop, &conn->timer);
	if (conn->tell)
		conn_say(conn, CM_DREQ, cm_number(cm));
	node_qp_fail(&conn->qp);
}

static void conn_release(struct node_conn *conn)
{
	conn->cm->ops->gone(conn->user);
	node_qp_close(&conn->qp);
	conn->state = NODE_CONN_NONE;
	conn->cm->ending--;
}

bool node_cm_poll(struct node_cm *cm)
{
	struct node_conn *conn;
	bool worked = false;

	if (!cm->ending)
		return false;
	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++) {
		if (conn->ask_end) {
			conn_begin_end(conn);
			worked = true;
		} else if (conn->state == NODE_CONN_ENDING && node_qp_idle(&conn->qp)) {
			conn_release(conn);
			worked = true;
		}
	}
	return worked;
}

/* ------------------------------------------------------------------------- */
/* Established                                                               */
/* ------------------------------------------------------------------------- */

static void conn_up(struct node_conn *conn)
{
	if (conn->state != NODE_CONN_ANSWERED)
		return;
	conn->state = NODE_CONN_UP;
	loop_timer_cancel(conn->cm->loop, &conn->timer);
}

/* As @done of its QP.  A message of the peer is as good as an RTU. */
static void conn_done(void *arg, const struct virtio_rdma_cqe *cqe)
{
	struct node_conn *conn = arg;

	if (cqe->status && conn->state != NODE_CONN_ENDING && !conn->ask_end)
		log_debug("QP %u of a node: opcode %u ended with status %u, vendor_err %u",
			  conn->qp.qpn, cqe->opcode, cqe->status, le32toh(cqe->vendor_err));
	if (cqe->status)
		conn_want_end(conn, true);
	else if (cqe->opcode & VIRTIO_RDMA_CQE_RECV)
		conn_up(conn);
	conn->cm->ops->done(conn->user, cqe);
}

static void conn_timer(void *arg)
{
	struct node_conn *conn = arg;
	struct node_cm *cm = conn->cm;

	if (++conn->tries >= REP_TRIES) {
		conn_want_end(conn, true);
		return;
	}
	cm_send(cm, &conn->path, conn->rep);
	loop_timer_set(cm->loop, &conn->timer, REP_NS);
}

/* ------------------------------------------------------------------------- */
/* REQ                                                                       */
/* ------------------------------------------------------------------------- */

static void cm_refuse(struct node_cm *cm, const struct node_mad *mad,
		      const struct node_path *back, uint16_t reason,
		      const struct node_answer *answer)
{
	uint8_t msg[CM_MSG_SIZE];

	cm_rej_write(msg, mad->data, reason, answer ? answer->data : NULL,
		     answer ? answer->len : 0);
	cm_send(cm, back, msg);
}

/* Returns &enum cm_rej_reason, or 0. */
static uint16_t cm_check(const struct node_cm *cm, const struct node_mad *mad,
			 const struct cm_req *req, bool ip)
{
	const struct node_conn *conn;
	unsigned int n = 0, half = 0;

	if (req->transport || req->extended)
		return CM_REJ_INVALID_TRANSPORT;
	if (req->service != (SERVICE_TCP | cm->service) || cm->stopped)
		return CM_REJ_INVALID_SERVICE;
	if (!ip)
		return CM_REJ_INVALID_GID;
	if (req->mtu < VIRTIO_IB_MTU_256 || req->mtu > VIRTIO_IB_MTU_4096)
		return CM_REJ_INVALID_MTU;
	if (!req->reads)
		return CM_REJ_FEW_RESOURCES;
	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++) {
		if (conn->state == NODE_CONN_NONE || !gid_equal(conn->path.dgid, mad->from))
			continue;
		n++;
		half += conn->state == NODE_CONN_ANSWERED;
	}
	return n >= NODE_CM_PEER || half >= NODE_CM_HALF_OPEN ? CM_REJ_NO_RESOURCES : 0;
}

static struct node_conn *cm_free_conn(struct node_cm *cm)
{
	struct node_conn *conn;

	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		if (conn->state == NODE_CONN_NONE)
			return conn;
	return NULL;
}

static void conn_init(struct node_cm *cm, struct node_conn *conn, const struct cm_req *req,
		      const struct node_path *back)
{
	uint8_t timeout = req->timeout;

	if (timeout < TIMEOUT_LEAST)
		timeout = TIMEOUT_LEAST;
	if (timeout > TIMEOUT_MOST)
		timeout = TIMEOUT_MOST;
	*conn = (struct node_conn) {
		.cm = cm,
		.qp = { .done = conn_done, .arg = conn },
		.path = *back,
		.comm_id = cm_number(cm),
		.peer_id = req->comm_id,
		.timer = { .fn = conn_timer, .arg = conn },
	};
	conn->path.qpn = req->qpn;
	conn->path.rq_psn = cm_number(cm) & PSN_BITS;
	conn->path.sq_psn = req->psn;
	conn->path.mtu = req->mtu;
	conn->path.reads = req->reads < READS_MAX ? req->reads : READS_MAX;
	conn->path.timeout = timeout;
	conn->path.retries = req->retries;
	conn->path.rnr_retries = req->rnr_retries;
}

/* Its user and its QP; returns &enum cm_rej_reason, or 0. */
static uint16_t conn_open(struct node_conn *conn, const struct node_asked *asked,
			  struct node_answer *answer)
{
	struct node_cm *cm = conn->cm;

	conn->user = cm->ops->ask(cm->arg, conn, asked, answer);
	if (!conn->user)
		return CM_REJ_CONSUMER;
	if (!node_qp_open(&conn->qp, cm->verbs, answer->sends, answer->recvs)) {
		cm->ops->gone(conn->user);
		return CM_REJ_NO_RESOURCES;
	}
	/* From here on it ends like any other. */
	conn->state = NODE_CONN_ANSWERED;
	if (node_qp_listen(&conn->qp) && cm->ops->ready(conn->user) &&
	    node_qp_connect(&conn->qp, &conn->path))
		return 0;
	conn_want_end(conn, false);
	return CM_REJ_NO_RESOURCES;
}

static void conn_answer(struct node_conn *conn, const struct node_mad *mad,
			const struct node_answer *answer)
{
	struct node_cm *cm = conn->cm;
	const struct cm_rep rep = {
		.comm_id = conn->comm_id,
		.peer_id = conn->peer_id,
		.qpn = conn->qp.qpn,
		.psn = conn->path.rq_psn,
		.reads = conn->path.reads,
		.guid = cm->guid,
		.data = answer->data,
		.len = answer->len,
	};

	cm_rep_write(conn->rep, mad->data, &rep);
	cm_send(cm, &conn->path, conn->rep);
	loop_timer_set(cm->loop, &conn->timer, REP_NS);
}

/* A peer that says it begins anew with a QP has forgotten what it had with that QP. */
static void cm_forget(struct node_cm *cm, const struct node_mad *mad, uint32_t qpn)
{
	struct node_conn *conn;

	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		if (conn->state != NODE_CONN_NONE && conn->path.qpn == qpn &&
		    gid_equal(conn->path.dgid, mad->from))
			conn_want_end(conn, false);
}

static void cm_req(struct node_cm *cm, const struct node_mad *mad,
		   const struct node_path *back)
{
	struct node_answer answer = { .len = 0 };
	struct node_conn *conn;
	struct cm_req req;
	const bool ip = cm_req_read(mad->data, &req, mad->from, mad->to);
	const struct node_asked asked = {
		.from = mad->from,
		.to = mad->to,
		.private = req.private,
	};
	uint16_t reason;

	conn = cm_find(cm, mad, req.comm_id);
	if (conn) {
		/* Repeated: the REP was lost, or is on its way. */
		if (conn->state == NODE_CONN_ANSWERED && conn->path.qpn == req.qpn)
			cm_send(cm, &conn->path, conn->rep);
		return;
	}
	reason = cm_check(cm, mad, &req, ip);
	conn = cm_free_conn(cm);
	if (!reason && !conn)
		reason = CM_REJ_NO_RESOURCES;
	if (!reason) {
		cm_forget(cm, mad, req.qpn);
		conn_init(cm, conn, &req, back);
		reason = conn_open(conn, &asked, &answer);
	}
	if (reason)
		cm_refuse(cm, mad, back, reason, reason == CM_REJ_CONSUMER ? &answer : NULL);
	else
		conn_answer(conn, mad, &answer);
}

/* ------------------------------------------------------------------------- */
/* Other messages                                                            */
/* ------------------------------------------------------------------------- */

static void cm_mra(struct node_cm *cm, const struct node_mad *mad)
{
	struct node_conn *conn = cm_about(cm, mad);
	const unsigned int code = cm_mra_wait(mad->data);
	const uint64_t ns = 4096ull << code;

	/* It costs one of the tries, so that it does not go on for ever. */
	if (conn && conn->state == NODE_CONN_ANSWERED && !conn->ask_end)
		loop_timer_set(cm->loop, &conn->timer, ns < MRA_MAX ? ns + REP_NS : MRA_MAX);
}

static void cm_rej(struct node_cm *cm, const struct node_mad *mad)
{
	struct node_conn *conn = cm_about(cm, mad);

	if (conn)
		conn_want_end(conn, false);
}

/* A connection that is not there any more is one that has ended. */
static void cm_dreq(struct node_cm *cm, const struct node_mad *mad,
		    const struct node_path *back)
{
	struct node_conn *conn = cm_about(cm, mad);
	uint32_t peer_id, comm_id;
	uint8_t msg[CM_MSG_SIZE];

	if (conn && conn->qp.qpn != cm_dreq_qpn(mad->data))
		return;
	cm_msg_ids(mad->data, &peer_id, &comm_id);
	cm_plain_write(msg, CM_DREP, cm_msg_tid(mad->data), comm_id, peer_id, 0);
	cm_send(cm, back, msg);
	if (conn)
		conn_want_end(conn, false);
}

static void cm_sidr(struct node_cm *cm, const struct node_mad *mad,
		    const struct node_path *back)
{
	uint8_t msg[CM_MSG_SIZE];

	cm_sidr_refuse(msg, mad->data);
	cm_send(cm, back, msg);
}

static void cm_rtu(struct node_cm *cm, const struct node_mad *mad)
{
	struct node_conn *conn = cm_about(cm, mad);

	if (conn)
		conn_up(conn);
}

static void cm_take(struct node_cm *cm, const struct node_mad *mad, const uint8_t *mac)
{
	struct node_path back;

	if (!cm_way_back(cm, mad, mac, &back))
		return;
	switch (cm_msg_attr(mad->data)) {
	case CM_REQ:
		cm_req(cm, mad, &back);
		break;
	case CM_MRA:
		cm_mra(cm, mad);
		break;
	case CM_REJ:
		cm_rej(cm, mad);
		break;
	case CM_RTU:
		cm_rtu(cm, mad);
		break;
	case CM_DREQ:
		cm_dreq(cm, mad, &back);
		break;
	case CM_SIDR_REQ:
		cm_sidr(cm, mad, &back);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------------------- */
/* Messages of those whose MAC address is not known                          */
/* ------------------------------------------------------------------------- */

static void cm_wait(struct node_cm *cm, const struct node_mad *mad)
{
	struct node_waiting *waiting = &cm->waiting[cm->next];

	cm->next = (cm->next + 1) % NODE_CM_WAITING;
	*waiting = (struct node_waiting) { .used = true, .mad = *mad };
	memcpy(waiting->data, mad->data, NODE_MAD_SIZE);
	waiting->mad.data = waiting->data;
	node_arp_ask(cm->arp, mad->to, mad->from);
	if (!cm->again.due)
		loop_timer_set(cm->loop, &cm->again, ASK_NS);
}

/* As @known of ARP. */
static void cm_known(void *arg, const uint8_t *gid)
{
	struct node_cm *cm = arg;
	const uint8_t *mac = node_neigh_find(&cm->arp->neighs, gid);
	unsigned int i;

	for (i = 0; mac && i < NODE_CM_WAITING; i++) {
		if (!cm->waiting[i].used || !gid_equal(cm->waiting[i].mad.from, gid))
			continue;
		cm->waiting[i].used = false;
		cm_take(cm, &cm->waiting[i].mad, mac);
	}
}

static void cm_again(void *arg)
{
	struct node_cm *cm = arg;
	struct node_waiting *waiting;
	bool more = false;

	for (waiting = cm->waiting; waiting < cm->waiting + NODE_CM_WAITING; waiting++) {
		if (waiting->used && ++waiting->tries == ASK_TRIES)
			waiting->used = false;
		if (!waiting->used)
			continue;
		node_arp_ask(cm->arp, waiting->mad.to, waiting->mad.from);
		more = true;
	}
	if (more)
		loop_timer_set(cm->loop, &cm->again, ASK_NS);
	switch_flush(cm->arp->port->sw);
}

/* As @received of QP 1. */
static void cm_received(void *arg, const struct node_mad *mad)
{
	struct node_cm *cm = arg;
	const uint8_t *mac;

	if (!cm_msg_attr(mad->data) || !gid_is_unicast(mad->from))
		return;
	mac = node_neigh_find(&cm->arp->neighs, mad->from);
	if (mac)
		cm_take(cm, mad, mac);
	else
		cm_wait(cm, mad);
}

/* ------------------------------------------------------------------------- */

void node_cm_init(struct node_cm *cm)
{
	hash_key_init(&cm->key);
	cm->guid = cm_number(cm);
	cm->again = (struct loop_timer) { .fn = cm_again, .arg = cm };
	cm->gsi->received = cm_received;
	cm->gsi->arg = cm;
	cm->arp->known = cm_known;
	cm->arp->arg = cm;
}

void node_cm_stop(struct node_cm *cm)
{
	struct node_conn *conn;

	cm->stopped = true;
	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		conn_want_end(conn, true);
}

unsigned int node_cm_conns(const struct node_cm *cm)
{
	const struct node_conn *conn;
	unsigned int n = 0;

	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		n += conn->state != NODE_CONN_NONE;
	return n;
}

void node_cm_fini(struct node_cm *cm)
{
	struct node_conn *conn;

	loop_timer_cancel(cm->loop, &cm->again);
	for (conn = cm->conn; conn < cm->conn + NODE_QPS; conn++)
		if (conn->state != NODE_CONN_NONE)
			loop_timer_cancel(cm->loop, &conn->timer);
}
