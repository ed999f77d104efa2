// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: what a hostile guest sends to a node: frames, and messages of the connection manager.
 *
 *	input: operations, see operation()
 *
 * After each input all connections end; then nothing of them is left, neither memory nor a
 * timer, and another guest connects as if nothing had happened.
 */
#include <stdio.h>
#include <stdlib.h>

#include "packet/inet.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/need.h"
#include "tests/lib/node_caller.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The low bits of an operation's first byte. */
enum {
	OP_FRAME,	/* a good frame, patched */
	OP_MESSAGE,	/* a good message, patched */
	OP_TIME,	/* time passes, in tenths of a second */
	OP_END,		/* the node ends a connection */
	OP_FORGET,	/* the node knows no neighbours any more */
	OP_POST,	/* the node sends to the peer of a connection */
	OPS,
};

#define LINKS		NODE_QPS

/* Bytes of what the node sends. */
#define SENT		64u
#define MS		(1000 * 1000ULL)

static struct node_bed *bed;
static struct caller *hostile, *good;
static struct node_conn *links[LINKS];
static unsigned int link_count;

/* ------------------------------------------------------------------------- */
/* The user of connections                                                   */
/* ------------------------------------------------------------------------- */

static void *ask(void *arg, struct node_conn *conn, const struct node_asked *asked,
		 struct node_answer *answer)
{
	memcpy(answer->data, asked->private, 8);
	answer->len = 8;
	answer->sends = 8;
	answer->recvs = 8;
	if (asked->private[0] == 0xff)
		return NULL;
	need(link_count < LINKS);
	links[link_count++] = conn;
	return conn;
}

static bool ready(void *arg)
{
	const struct node_conn *conn = arg;

	node_qp_recv((struct node_qp *)&conn->qp, conn->qp.verbs->mem->host, 64);
	return true;
}

static void done(void *arg, const struct virtio_rdma_cqe *cqe)
{
}

static void gone(void *arg)
{
	unsigned int i = 0;

	while (i < link_count && links[i] != arg)
		i++;
	need(i < link_count);
	links[i] = links[--link_count];
}

static const struct node_cm_ops ops = {
	.ask = ask,
	.ready = ready,
	.done = done,
	.gone = gone,
};

/* ------------------------------------------------------------------------- */
/* Operations                                                                */
/* ------------------------------------------------------------------------- */

static const uint8_t arp[60] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0, 0, 1, 8, 6,
	0, 1, 8, 0, 6, 4, 0, 1,
	0x52, 0x54, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 9,
};

static const uint8_t solicitation[86] = {
	0x33, 0x33, 0xff, 0, 0, 9, 0x52, 0x54, 0, 0, 0, 1, 0x86, 0xdd,
	0x60, 0, 0, 0, 0, 32, 58, 255, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 9,
	135, 0, 0, 0, 0, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
	1, 1, 0x52, 0x54, 0, 0, 0, 1,
};

/* The checksum of ICMPv6, so that what follows is looked at. */
static void sum(uint8_t *frame, size_t len)
{
	uint64_t total = sum_bytes(frame + 22, 32) + htobe16(len - 54) + htobe16(58);
	uint16_t sum;

	memset(frame + 56, 0, 2);
	sum = ~sum_fold(total + sum_bytes(frame + 54, len - 54));
	memcpy(frame + 56, &sum, sizeof(sum));
}

/* Which; where the patch begins; the length, and the patch. */
static void op_frame(struct fuzz_input *in)
{
	const uint8_t which = fuzz_u8(in), at = fuzz_u8(in);
	const size_t good_len = which & 1 ? sizeof(solicitation) : sizeof(arp);
	size_t len = good_len - (which & 2 ? fuzz_u8(in) % (good_len - 13) : 0);
	uint8_t frame[128];

	memset(frame, 0, sizeof(frame));
	memcpy(frame, which & 1 ? solicitation : arp, good_len);
	fuzz_patch(in, frame + at % sizeof(frame), sizeof(frame) - at % sizeof(frame));
	if (which & 1 && len > 57)
		sum(frame, len);
	bed->port[0].n = 0;
	bed_frame(bed, 0, frame, len);
}

/* Of the last connection that it has, as far as there is one. */
static void put_about(uint8_t *msg, uint16_t attr, uint8_t which)
{
	const struct node_conn *conn = link_count ? links[which % link_count] : NULL;

	put_message(msg, attr, conn ? conn->peer_id : CALLER_ID, conn ? conn->comm_id : 1);
	if (attr == DREQ && conn)
		put_be24(msg + 32, conn->qp.qpn);
}

/* Kind; of which connection, or number of a new one; where the patch begins; the patch. */
static void op_message(struct fuzz_input *in)
{
	const uint16_t attr = REQ + fuzz_u8(in) % (SIDR_REP - REQ + 1);
	const uint8_t which = fuzz_u8(in), at = fuzz_u8(in);
	uint8_t msg[CALLER_MAD];

	if (attr == REQ)
		put_req(hostile, msg, CALLER_ID + which, 5 + which);
	else
		put_about(msg, attr, which);
	fuzz_patch(in, msg + at, sizeof(msg) - at);
	say(hostile, msg);
}

static void op_post(uint8_t which)
{
	const struct virtio_rdma_swqe send = { .opcode = VIRTIO_IB_WR_SEND };
	struct node_conn *conn = link_count ? links[which % link_count] : NULL;

	if (conn && node_qp_room(&conn->qp))
		node_qp_post(&conn->qp, &send, bed->node->mem.host, SENT);
}

static void operation(struct fuzz_input *in)
{
	switch (fuzz_u8(in) % OPS) {
	case OP_FRAME:
		op_frame(in);
		break;
	case OP_MESSAGE:
		op_message(in);
		break;
	case OP_TIME:
		bed_advance(bed, fuzz_u8(in) * 100 * MS, 500 * MS);
		break;
	case OP_END:
		if (link_count)
			node_cm_end(links[fuzz_u8(in) % link_count]);
		break;
	case OP_FORGET:
		memset(&bed->node->arp.neighs, 0, sizeof(bed->node->arp.neighs));
		break;
	default:
		op_post(fuzz_u8(in));
	}
	bed_run(bed);
	listen(hostile);
	hostile->n = 0;
}

/* ------------------------------------------------------------------------- */

static void init(void)
{
	void *state;

	bed_setup(&state);
	bed = state;
	node_free(bed->node);
	bed->config.service = CALLER_PORT;
	bed->config.ops = &ops;
	bed->node = node_new(bed->engine->loop, bed->sw, bed->engine->fabric, &bed->config);
	need(bed->node);
	hostile = caller(&state, 0);
	good = caller(&state, 1);
}

static void finish(void)
{
	static size_t left;

	node_stop(bed->node);
	node_resume(bed->node);
	/* Messages that wait for a neighbour give up. */
	bed_advance(bed, 2000 * MS, 500 * MS);
	listen(hostile);
	hostile->n = 0;
	need(!link_count && !node_cm_conns(&bed->node->cm));
	need(!bed->node->cm.again.due);
	need(!left || bed->node->mem.left == left);
	left = bed->node->mem.left;

	be_known(good);
	call(good, CALLER_ID, 5);
	need(link_count == 1);
	node_stop(bed->node);
	node_resume(bed->node);
	bed_run(bed);
	listen(good);
	good->n = 0;
	need(!link_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { .data = data, .size = size };

	if (!bed)
		init();
	be_known(hostile);
	while (in.size)
		operation(&in);
	finish();
	return 0;
}
