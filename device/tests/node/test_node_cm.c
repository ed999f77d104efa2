// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The connection manager of a node: messages byte by byte, as a guest's kernel sends them.
 */
#include "tests/lib/node_caller.h"

#include <stdlib.h>

#include "base/util.h"
#include "packet/inet.h"

#define MAD		CALLER_MAD
#define SERVICE		4420u
#define MS		(1000 * 1000ULL)

/* ------------------------------------------------------------------------- */
/* The user of connections                                                   */
/* ------------------------------------------------------------------------- */

#define DEPTH		4u

/**
 * struct link - a connection, as its user sees it
 * @conn:	connection
 * @buf:	receive buffers of a page each
 * @recvs:	messages received
 * @flushed:	requests that failed
 * @len:	bytes of the last message
 */
struct link {
	struct node_conn *conn;
	uint8_t *buf;
	unsigned int recvs;
	unsigned int flushed;
	uint32_t len;
};

static struct {
	bool refuse;
	bool not_ready;
	unsigned int asked;
	unsigned int links;
	struct link *last;
	uint8_t from[GID_SIZE];
	uint8_t private[CM_REQ_PRIVATE];
} user;

static void *ask(void *arg, struct node_conn *conn, const struct node_asked *asked,
		 struct node_answer *answer)
{
	struct link *link;

	user.asked++;
	memcpy(user.from, asked->from, GID_SIZE);
	memcpy(user.private, asked->private, CM_REQ_PRIVATE);
	memcpy(answer->data, "answer", 6);
	answer->len = 6;
	if (user.refuse)
		return NULL;
	answer->sends = DEPTH;
	answer->recvs = DEPTH;
	link = calloc(1, sizeof(*link));
	assert_non_null(link);
	link->conn = conn;
	user.links++;
	user.last = link;
	return link;
}

static bool ready(void *arg)
{
	struct link *link = arg;
	unsigned int i;

	if (user.not_ready)
		return false;
	link->buf = node_mem_get(link->conn->qp.verbs->mem, DEPTH * 4096);
	assert_non_null(link->buf);
	for (i = 0; i < DEPTH; i++)
		node_qp_recv(&link->conn->qp, link->buf + i * 4096, 4096);
	return true;
}

static void done(void *arg, const struct virtio_rdma_cqe *cqe)
{
	struct link *link = arg;

	if (cqe->status)
		link->flushed++;
	if (cqe->status || !(cqe->opcode & VIRTIO_RDMA_CQE_RECV))
		return;
	link->recvs++;
	link->len = le32toh(cqe->byte_len);
}

static void gone(void *arg)
{
	struct link *link = arg;

	node_mem_put(link->conn->qp.verbs->mem, link->buf);
	if (user.last == link)
		user.last = NULL;
	user.links--;
	free(link);
}

static const struct node_cm_ops ops = {
	.ask = ask,
	.ready = ready,
	.done = done,
	.gone = gone,
};

static int setup(void **state)
{
	struct node_bed *bed;

	memset(&user, 0, sizeof(user));
	assert_int_equal(bed_setup(state), 0);
	bed = *state;
	node_free(bed->node);
	bed->config.service = SERVICE;
	bed->config.ops = &ops;
	bed->node = node_new(bed->engine->loop, bed->sw, bed->engine->fabric, &bed->config);
	assert_non_null(bed->node);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Refused and counted                                                       */
/* ------------------------------------------------------------------------- */

static void expect_refused(struct caller *c, const uint8_t *req, uint16_t reason)
{
	const unsigned int before = c->n;
	const uint8_t *rej;

	say(c, req);
	assert_int_equal(c->n, before + 1);
	rej = heard(c, before, REJ);
	assert_int_equal(get_be32(rej + 24), 0);
	assert_int_equal(get_be32(rej + 28), get_be32(req + 24));
	assert_int_equal(rej[32], 0);
	assert_int_equal(get_be16(rej + 34), reason);
	assert_int_equal(get_be64(rej + 8), TID);
}

static unsigned int conns(const struct caller *c)
{
	return node_cm_conns(&c->bed->node->cm);
}

/* ------------------------------------------------------------------------- */
/* A connection                                                              */
/* ------------------------------------------------------------------------- */

static void test_connection(void **state)
{
	struct caller *c = caller(state, 0);
	struct eg_end end = eg_open(c->gsi.guest, VIRTIO_IB_QPT_RC);
	const size_t left = c->bed->node->mem.left;
	uint8_t msg[MAD], gid[GID_SIZE];
	struct eg_wr wr;
	uint32_t id;

	id = call(c, CALLER_ID, end.qpn);
	assert_int_equal(user.asked, 1);
	eg_gid(c->gsi.guest, gid);
	assert_memory_equal(user.from, gid, GID_SIZE);
	assert_memory_equal(user.private, "private", 8);
	assert_memory_equal(c->msg[0] + 60, "answer", 7);
	assert_int_equal(c->msg[0][48], 0);
	assert_int_equal(c->msg[0][49], 4);
	assert_int_equal(c->msg[0][51], 7 << 5);
	assert_int_not_equal(get_be64(c->msg[0] + 52), 0);

	end = connect_qp(c, &end, c->msg[0]);
	put_message(msg, RTU, CALLER_ID, id);
	say(c, msg);
	assert_int_equal(user.last->conn->state, NODE_CONN_UP);
	wr = eg_send(&end, 7, 0, 1000);
	eg_post_send(&end, &wr);
	bed_run(c->bed);
	eg_expect(&end, 7, 0);
	assert_int_equal(user.last->recvs, 1);
	assert_int_equal(user.last->len, 1000);

	/* A DREQ that names another QP, and the right one. */
	put_message(msg, DREQ, CALLER_ID, id);
	put_be24(msg + 32, get_be24(c->msg[0] + 36) + 1);
	say(c, msg);
	assert_int_equal(c->n, 1);
	put_be24(msg + 32, get_be24(c->msg[0] + 36));
	say(c, msg);
	assert_int_equal(c->n, 2);
	heard(c, 1, DREP);
	assert_int_equal(get_be32(c->msg[1] + 24), id);
	assert_int_equal(get_be32(c->msg[1] + 28), CALLER_ID);
	assert_int_equal(user.links, 0);
	assert_int_equal(conns(c), 0);
	assert_int_equal(c->bed->node->mem.left, left);
	assert_int_equal(engine_loop_timers(c->bed->engine->loop), 0);

	/* Once more: it is over already, and the answer had got lost. */
	say(c, msg);
	assert_int_equal(c->n, 3);
	heard(c, 2, DREP);
}

/* The first message is as good as an RTU. */
static void test_no_rtu(void **state)
{
	struct caller *c = caller(state, 0);
	struct eg_end end = eg_open(c->gsi.guest, VIRTIO_IB_QPT_RC);
	struct eg_wr wr;

	call(c, CALLER_ID, end.qpn);
	end = connect_qp(c, &end, c->msg[0]);
	wr = eg_send(&end, 7, 0, 10);
	eg_post_send(&end, &wr);
	bed_run(c->bed);
	assert_int_equal(user.last->conn->state, NODE_CONN_UP);
	bed_advance(c->bed, 30000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 1);
	assert_int_equal(conns(c), 1);
}

/* By packets, and with an address that is asked for first. */
static void test_unknown_neighbour(void **state)
{
	struct caller *c = caller(state, 0);
	struct node_bed *bed = c->bed;
	uint8_t msg[MAD], reply[60];

	memset(&bed->node->arp.neighs, 0, sizeof(bed->node->arp.neighs));
	bed_packets(bed);
	bed->port[0].n = 0;
	put_req(c, msg, CALLER_ID, 5);
	say(c, msg);
	assert_int_equal(c->n, 0);
	assert_int_equal(user.asked, 0);
	assert_int_equal(bed->port[0].n, 1);
	/* The question is repeated. */
	bed_advance(bed, 300 * MS, 100 * MS);
	assert_int_equal(bed->port[0].n, 2);
	memcpy(reply, bed->port[0].frame[0], sizeof(reply));
	memcpy(reply, bed->config.mac, ETH_ALEN);
	memcpy(reply + 6, bed->port[0].mac, ETH_ALEN);
	reply[21] = 2;
	memcpy(reply + 22, bed->port[0].mac, ETH_ALEN);
	memcpy(reply + 28, "\12\0\0\1", 4);
	memcpy(reply + 32, bed->config.mac, ETH_ALEN);
	memcpy(reply + 38, "\12\0\0\11", 4);
	bed_frame(bed, 0, reply, sizeof(reply));
	listen(c);
	assert_int_equal(user.asked, 1);
	assert_int_equal(c->n, 1);
	heard(c, 0, REP);
}

/* Nobody answers: the message is dropped, and no timer is left. */
static void test_silent_neighbour(void **state)
{
	struct caller *c = caller(state, 0);
	uint8_t msg[MAD];
	unsigned int i;

	memset(&c->bed->node->arp.neighs, 0, sizeof(c->bed->node->arp.neighs));
	for (i = 0; i < 2 * NODE_CM_WAITING; i++) {
		put_req(c, msg, CALLER_ID + i, 5 + i);
		say(c, msg);
	}
	for (i = 0; i < 2000 / 50; i++) {
		bed_advance(c->bed, 50 * MS, 50 * MS);
		assert_int_equal(c->bed->port[0].unflushed, 0);
	}
	assert_int_equal(engine_loop_timers(c->bed->engine->loop), 0);
	be_known(c);
	listen(c);
	assert_int_equal(c->n, 0);
	assert_int_equal(user.asked, 0);
}

/* ------------------------------------------------------------------------- */
/* Refusals                                                                  */
/* ------------------------------------------------------------------------- */

/**
 * struct refusal - a byte of a request that makes it another one
 * @at:		where
 * @value:	byte
 * @reason:	of the REJ
 */
struct refusal {
	size_t at;
	uint8_t value;
	uint16_t reason;
};

static void test_refusals(void **state)
{
	static const struct refusal refusals[] = {
		{ 39, 0x45, CM_REJ_INVALID_SERVICE },
		{ 37, 0x11, CM_REJ_INVALID_SERVICE },
		{ 32, 1, CM_REJ_INVALID_SERVICE },
		{ 67, 20 << 3 | 1 << 1, CM_REJ_INVALID_TRANSPORT },
		{ 67, 20 << 3 | 3 << 1, CM_REJ_INVALID_TRANSPORT },
		{ 75, 15 << 4 | 1, CM_REJ_INVALID_TRANSPORT },
		{ 164, 1, CM_REJ_INVALID_GID },
		{ 165, 5 << 4, CM_REJ_INVALID_GID },
		{ 165, 6 << 4, CM_REJ_INVALID_GID },
		{ 183, 3, CM_REJ_INVALID_GID },
		{ 199, 8, CM_REJ_INVALID_GID },
		{ 74, 7, CM_REJ_INVALID_MTU },
		{ 74, 6 << 4 | 7, CM_REJ_INVALID_MTU },
		{ 59, 0, CM_REJ_FEW_RESOURCES },
	};
	struct caller *c = caller(state, 0);
	uint8_t msg[MAD];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		put_req(c, msg, CALLER_ID, 5);
		msg[refusals[i].at] = refusals[i].value;
		expect_refused(c, msg, refusals[i].reason);
	}
	assert_int_equal(user.asked, 0);
	assert_int_equal(conns(c), 0);
}

static void test_refused_by_user(void **state)
{
	struct caller *c = caller(state, 0);
	const size_t left = c->bed->node->mem.left;
	uint8_t msg[MAD];

	put_req(c, msg, CALLER_ID, 5);
	user.refuse = true;
	expect_refused(c, msg, CM_REJ_CONSUMER);
	assert_memory_equal(c->msg[0] + 108, "answer", 7);
	user.refuse = false;
	user.not_ready = true;
	expect_refused(c, msg, CM_REJ_NO_RESOURCES);
	assert_int_equal(c->msg[1][108], 0);
	assert_int_equal(user.links, 0);
	assert_int_equal(conns(c), 0);
	assert_int_equal(c->bed->node->mem.left, left);
}

static void test_sidr(void **state)
{
	struct caller *c = caller(state, 0);
	uint8_t msg[MAD];

	put_message(msg, SIDR_REQ, 0xabcd, 0);
	put_be64(msg + 32, 0x1110000 + SERVICE);
	say(c, msg);
	assert_int_equal(c->n, 1);
	heard(c, 0, SIDR_REP);
	assert_int_equal(get_be32(c->msg[0] + 24), 0xabcd);
	assert_int_equal(c->msg[0][28], 1);
	assert_int_equal(get_be64(c->msg[0] + 36), 0x1110000 + SERVICE);
}

/* ------------------------------------------------------------------------- */
/* Repetitions, time                                                         */
/* ------------------------------------------------------------------------- */

static void test_repeated(void **state)
{
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);
	uint8_t msg[MAD];

	/* A REQ that comes again gets the same REP. */
	put_req(c, msg, CALLER_ID, 5);
	say(c, msg);
	assert_int_equal(c->n, 2);
	assert_memory_equal(c->msg[0], c->msg[1], MAD);
	assert_int_equal(user.asked, 1);
	bed_advance(c->bed, 1100 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 3);
	assert_memory_equal(c->msg[0], c->msg[2], MAD);
	/* After the RTU nothing is repeated. */
	put_message(msg, RTU, CALLER_ID, id);
	say(c, msg);
	put_req(c, msg, CALLER_ID, 5);
	say(c, msg);
	bed_advance(c->bed, 30000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 3);
}

/* Without an RTU the connection is given up, and the peer told. */
static void test_half_open(void **state)
{
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);
	unsigned int i;

	bed_advance(c->bed, 7500 * MS, 100 * MS);
	listen(c);
	assert_int_equal(conns(c), 1);
	for (i = 1; i < c->n; i++)
		heard(c, i, REP);
	assert_int_equal(c->n, 8);
	bed_advance(c->bed, 1000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 9);
	heard(c, 8, DREQ);
	assert_int_equal(get_be32(c->msg[8] + 24), id);
	assert_int_equal(get_be24(c->msg[8] + 32), 5);
	assert_int_equal(conns(c), 0);
	assert_int_equal(user.links, 0);
	assert_int_equal(engine_loop_timers(c->bed->engine->loop), 0);
}

/* An MRA asks for more time, 4.3 s; a REJ ends it at once, and is not answered. */
static void test_mra_and_rej(void **state)
{
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);
	uint8_t msg[MAD];

	put_message(msg, MRA, CALLER_ID, id);
	msg[32] = 1 << 6;
	msg[33] = 20 << 3;
	say(c, msg);
	bed_advance(c->bed, 5000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 1);
	bed_advance(c->bed, 1000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(c->n, 2);
	put_message(msg, REJ, CALLER_ID, id);
	msg[32] = 1 << 6;
	say(c, msg);
	assert_int_equal(c->n, 2);
	assert_int_equal(conns(c), 0);
}

/* However often it asks, it does not get more than the tries there are. */
static void test_mra_for_ever(void **state)
{
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);
	unsigned int i;
	uint8_t msg[MAD];

	put_message(msg, MRA, CALLER_ID, id);
	msg[33] = 31 << 3;
	for (i = 0; i < 30 && conns(c); i++) {
		say(c, msg);
		bed_advance(c->bed, 61000 * MS, 500 * MS);
	}
	assert_in_range(i, 2, 12);
	assert_int_equal(conns(c), 0);
}

/* A peer that was reset asks again for the same QP: the old connection is over. */
static void test_stale(void **state)
{
	struct caller *c = caller(state, 0);

	call(c, CALLER_ID, 5);
	call(c, CALLER_ID + 1, 5);
	assert_int_equal(conns(c), 1);
	assert_int_equal(user.links, 1);
	call(c, CALLER_ID + 2, 6);
	assert_int_equal(conns(c), 2);
}

/* ------------------------------------------------------------------------- */
/* Ends                                                                      */
/* ------------------------------------------------------------------------- */

static void test_node_ends(void **state)
{
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);

	node_cm_end(user.last->conn);
	node_cm_end(user.last->conn);
	bed_run(c->bed);
	listen(c);
	assert_int_equal(c->n, 2);
	heard(c, 1, DREQ);
	assert_int_equal(get_be32(c->msg[1] + 24), id);
	assert_int_equal(get_be32(c->msg[1] + 28), CALLER_ID);
	assert_int_equal(conns(c), 0);
	assert_int_equal(user.links, 0);
}

/* The peer's QP is gone: a SEND fails, which ends the connection. */
static void test_qp_fails(void **state)
{
	const struct virtio_rdma_swqe send = { .opcode = VIRTIO_IB_WR_SEND };
	struct caller *c = caller(state, 0);
	const uint32_t id = call(c, CALLER_ID, 5);
	uint8_t msg[MAD];

	put_message(msg, RTU, CALLER_ID, id);
	say(c, msg);
	node_qp_post(&user.last->conn->qp, &send, user.last->buf, 16);
	bed_advance(c->bed, 60000 * MS, 100 * MS);
	listen(c);
	assert_int_equal(conns(c), 0);
	heard(c, c->n - 1, DREQ);
}

/* All peers are told when the node ends, and it leaves nothing behind. */
static void test_node_stops(void **state)
{
	struct caller *c = caller(state, 0);
	uint8_t msg[MAD];
	unsigned int i;

	for (i = 0; i < 5; i++)
		call(c, CALLER_ID + i, 5 + i);
	node_stop(c->bed->node);
	bed_run(c->bed);
	listen(c);
	assert_int_equal(c->n, 10);
	for (i = 5; i < 10; i++)
		heard(c, i, DREQ);
	assert_int_equal(user.links, 0);
	put_req(c, msg, CALLER_ID, 5);
	expect_refused(c, msg, CM_REJ_INVALID_SERVICE);
}

/* ------------------------------------------------------------------------- */
/* Hostile peers                                                             */
/* ------------------------------------------------------------------------- */

/* Half-open ones, those that are up, and the other guest still connects. */
static void test_limits(void **state)
{
	struct caller *c = caller(state, 0), *other;
	uint8_t msg[MAD];
	unsigned int i;
	uint32_t id;

	for (i = 0; i < NODE_CM_HALF_OPEN; i++) {
		call(c, CALLER_ID + i, 5 + i);
		c->n = 0;
	}
	put_req(c, msg, CALLER_ID + i, 5 + i);
	expect_refused(c, msg, CM_REJ_NO_RESOURCES);
	c->n = 0;
	node_cm_end(user.last->conn);
	bed_run(c->bed);
	for (i = 100; i < 100 + NODE_CM_PEER - NODE_CM_HALF_OPEN + 1; i++) {
		c->n = 0;
		listen(c);
		c->n = 0;
		id = call(c, CALLER_ID + i, 5 + i);
		put_message(msg, RTU, CALLER_ID + i, id);
		say(c, msg);
		c->n = 0;
	}
	assert_int_equal(conns(c), NODE_CM_PEER);
	put_req(c, msg, CALLER_ID + i, 5 + i);
	expect_refused(c, msg, CM_REJ_NO_RESOURCES);
	other = caller(state, 1);
	call(other, CALLER_ID, 5);
}

/* To know both numbers is not enough: the connection is another guest's. */
static void test_other_guest(void **state)
{
	static const uint16_t attrs[] = { MRA, REJ, RTU, DREQ };
	struct caller *c = caller(state, 0), *other = caller(state, 1);
	const uint32_t id = call(c, CALLER_ID, 5);
	uint8_t msg[MAD];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		put_message(msg, attrs[i], CALLER_ID, id);
		if (attrs[i] == DREQ)
			put_be24(msg + 32, get_be24(c->msg[0] + 36));
		say(other, msg);
	}
	assert_int_equal(user.last->conn->state, NODE_CONN_ANSWERED);
	assert_int_equal(conns(c), 1);
	/* A number that is wrong by one is as bad. */
	put_message(msg, RTU, CALLER_ID, id + 1);
	say(c, msg);
	put_message(msg, RTU, CALLER_ID + 1, id);
	say(c, msg);
	assert_int_equal(user.last->conn->state, NODE_CONN_ANSWERED);
}

/* Messages of random bytes, mostly with a good header. */
static void test_random(void **state)
{
	struct caller *c = caller(state, 0);
	unsigned int i, j, seed = 1;
	uint8_t msg[MAD];

	for (i = 0; i < 5000; i++) {
		for (j = 0; j < MAD; j++) {
			seed = seed * 1103515245 + 12345;
			msg[j] = seed >> 16;
		}
		if (i % 8)
			put_be32(msg, 0x01070203);
		if (i % 4) {
			msg[16] = 0;
			msg[17] = 0x10 + msg[17] % 12;
		}
		if (i % 2)
			put_be64(msg + 32, 0x1060000 + SERVICE);
		say(c, msg);
		c->n = 0;
	}
	assert_int_equal(conns(c), 0);
	call(c, CALLER_ID, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connection, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_no_rtu, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_neighbour, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_silent_neighbour, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_refused_by_user, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_sidr, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_repeated, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_half_open, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_mra_and_rej, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_mra_for_ever, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_stale, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_node_ends, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_qp_fails, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_node_stops, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_other_guest, setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, bed_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
