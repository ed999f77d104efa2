// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A guest moves between two daemons, which an uplink joins, while it works with a guest of
 * each.  $SANDBOXED is the path of the daemon, as shipped.
 *
 * The guest's memory is copied as QEMU does it: all of it, then what the log of the daemon
 * names.  The test is the processor of the guest, and writes nothing meanwhile, so that both
 * copies must be the same in the end.
 *
 * Each message has its number in each of its pages, each write is read back, and each
 * fetch-and-add finds the number of those before it.  So what is lost, doubled or overtaken
 * shows.  Daemons of ours tell each other where to go on, so that no QP may meet its timeout.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/front_direct.h"
#include "tests/lib/moving.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

#define MEM		(8u << 20)
#define PAGE		4096u

/*
 * Cycles of a link that are under way, and the size of their messages: so little that no ring
 * overflows while a daemon waits for a processor.
 */
#define DEPTH		4u
#define MESSAGE		(8 * PAGE)
#define SLOTS		(DEPTH * MESSAGE)

#define DATAGRAM	1000u
#define UD_ROOM		(40u + DATAGRAM)
#define DATAGRAM_NS	1000000u

#define TIMEOUT_NS	20000000000ULL
#define STATE_MAX	(1u << 20)

/* Cycles of each link between two moves, and rounds of work while memory is copied. */
#define SOME		20u
#define ROUNDS		60u
#define ROUNDS_SYNC	10u

#define MOVES		8u
#define MOVES_LONG	100u

enum { MOVER, PEER_A, PEER_B, GUESTS };

/* The requests of a cycle. */
enum { CYCLE_WRITE, CYCLE_READ, CYCLE_ADD, CYCLE_SEND, CYCLE };

/**
 * struct link - from one guest to another by RC
 * @from:	guests
 * @to:		.
 * @qp:		of both
 * @key:	of the memory of both
 * @at:		memory: at the sender messages, what was read back, what the additions
 *		found; at the receiver what was written, what was received, the sum
 * @sent:	requests posted
 * @done:	of which have completed
 * @posted:	receive requests posted
 * @got:	of which have completed
 */
struct link {
	unsigned int from;
	unsigned int to;
	struct front_qp qp[2];
	uint32_t key[2];
	uint64_t at[2];
	uint64_t sent;
	uint64_t done;
	uint64_t posted;
	uint64_t got;
};

/**
 * struct stream - messages between direct QPs, from one guest to another, one SRQ a guest
 * @from:	guests
 * @to:		.
 * @qp:		of both
 * @sent:	messages posted
 * @done:	of which have completed
 * @got:	of which have arrived
 */
struct stream {
	unsigned int from;
	unsigned int to;
	struct front_dqp qp[2];
	uint64_t sent;
	uint64_t done;
	uint64_t got;
};

/**
 * struct room - memory for the messages of streams of a guest
 * @at:		that which they are sent from, and that which the SRQ has
 * @key:	of that
 */
struct room {
	uint64_t at;
	uint32_t key;
};

/**
 * struct datagrams - from one guest to another by UD, one at a time
 * @to:		guest
 * @ah:		of it
 * @qp:		of both
 * @next:	number of the next one
 * @busy:	it has not completed
 * @at:		when the next one is sent: a flood would push others' packets out of rings
 * @got:	number behind that of the last one that came
 */
struct datagrams {
	unsigned int from;
	unsigned int to;
	uint32_t ah;
	uint64_t next;
	uint64_t got;
	bool busy;
	uint64_t at;
};

/**
 * struct ud - the UD QP of a guest
 * @qp:		itself
 * @at:		memory for one datagram that is sent and DEPTH that are received
 * @key:	of that
 * @posted:	receive requests posted
 * @got:	of which have completed
 */
struct ud {
	struct front_qp qp;
	uint64_t at;
	uint32_t key;
	uint64_t posted;
	uint64_t got;
};

static struct front guest[GUESTS];
static uint32_t pdn[GUESTS], cqn[GUESTS];
static struct ud ud[GUESTS];
static struct link links[] = {
	{ .from = MOVER, .to = PEER_A },
	{ .from = PEER_A, .to = MOVER },
	{ .from = MOVER, .to = PEER_B },
	{ .from = PEER_B, .to = MOVER },
};
static struct front_direct direct[GUESTS];
static struct room rooms[GUESTS];
static struct stream streams[] = {
	{ .from = MOVER, .to = PEER_A },
	{ .from = PEER_A, .to = MOVER },
	{ .from = MOVER, .to = PEER_B },
	{ .from = PEER_B, .to = MOVER },
};
static struct datagrams flows[] = {
	{ .from = MOVER, .to = PEER_A },
	{ .from = PEER_B, .to = MOVER },
};

static struct moving between;
static uint64_t last;

static unsigned int moves;

/* The processor of the moving guest stands still. */
static bool frozen;

/* ------------------------------------------------------------------------- */
/* Work                                                                      */
/* ------------------------------------------------------------------------- */

static uint64_t slot_at(uint64_t at, unsigned int area, uint64_t number)
{
	return at + area * SLOTS + number % DEPTH * MESSAGE;
}

static void fill(const struct front *front, uint64_t at, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < MESSAGE; i += PAGE)
		*(uint64_t *)guest_ptr(&front->guest, at + i) = number * 31 + i;
}

static void expect_filled(const struct front *front, uint64_t at, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < MESSAGE; i += PAGE)
		assert_int_equal(*(uint64_t *)guest_ptr(&front->guest, at + i),
				 number * 31 + i);
}

static struct virtio_rdma_sge sge(uint64_t at, uint32_t len, uint32_t key)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(at),
		.length = htole32(len),
		.lkey = htole32(key),
	};
}

static void post_recv(const struct front_qp *qp, uint64_t number, struct virtio_rdma_sge to)
{
	struct front_vq *vq = front_recv_vq(qp);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->wr_id = htole64(number);
	req->num_sge = htole32(1);
	req->sg_list[0] = to;
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static struct virtio_rdma_sq_req *request_at(const struct front_qp *qp)
{
	struct front_vq *vq = front_send_vq(qp);
	struct virtio_rdma_sq_req *req = front_slot(vq, vq->gvq.avail_idx % FRONT_NUM);

	memset(req, 0, sizeof(*req));
	req->send_flags = VIRTIO_IB_SEND_SIGNALED;
	req->num_sge = htole32(1);
	return req;
}

static void post_send(const struct front_qp *qp)
{
	struct front_vq *vq = front_send_vq(qp);

	guest_vq_add_head(&vq->gvq, vq->gvq.avail_idx % FRONT_NUM);
	front_kick(vq);
}

static uint64_t found_at(const struct link *link, uint64_t number)
{
	return link->at[0] + 2 * SLOTS + number % DEPTH * 8;
}

static void link_request(struct link *link, unsigned int step, uint64_t number)
{
	struct virtio_rdma_sq_req *req = request_at(&link->qp[0]);
	const uint64_t from = slot_at(link->at[0], 0, number);

	req->wr_id = htole64(link->sent++);
	req->sg_list[0] = sge(from, MESSAGE, link->key[0]);
	req->rdma.remote_addr = htole64(slot_at(link->at[1], 0, number));
	req->rdma.rkey = htole32(link->key[1]);
	switch (step) {
	case CYCLE_WRITE:
		fill(&guest[link->from], from, number);
		req->opcode = VIRTIO_IB_WR_RDMA_WRITE;
		break;
	case CYCLE_READ:
		req->opcode = VIRTIO_IB_WR_RDMA_READ;
		req->sg_list[0].addr = htole64(slot_at(link->at[0], 1, number));
		break;
	case CYCLE_ADD:
		req->opcode = VIRTIO_IB_WR_FETCH_ADD;
		req->atomic_rkey = htole32(link->key[1]);
		req->atomic.remote_addr = htole64(link->at[1] + 2 * SLOTS);
		req->atomic.compare_add = htole64(1);
		req->atomic.swap = 0;
		req->sg_list[0] = sge(found_at(link, number), 8, link->key[0]);
		break;
	case CYCLE_SEND:
		req->opcode = VIRTIO_IB_WR_SEND;
		break;
	}
	post_send(&link->qp[0]);
}

/* Half of the receive requests come late, so that some messages wait for theirs. */
static void link_post(struct link *link)
{
	unsigned int step;

	while (!(frozen && link->to == MOVER) && link->posted - link->got < DEPTH / 2) {
		post_recv(&link->qp[1], link->posted,
			  sge(slot_at(link->at[1], 1, link->posted), MESSAGE, link->key[1]));
		link->posted++;
	}
	while (!(frozen && link->from == MOVER) &&
	       link->sent / CYCLE - link->done / CYCLE < DEPTH &&
	       link->sent / CYCLE - link->got < DEPTH)
		for (step = 0; step < CYCLE; step++)
			link_request(link, step, link->sent / CYCLE);
}

static void link_done(struct link *link, const struct virtio_rdma_cq_req *wc)
{
	const struct front *front = &guest[link->from];
	const uint64_t number = link->done / CYCLE;

	assert_int_equal(le64toh(wc->wr_id), link->done);
	switch (link->done++ % CYCLE) {
	case CYCLE_READ:
		expect_filled(front, slot_at(link->at[0], 1, number), number);
		break;
	case CYCLE_ADD:
		assert_int_equal(*(uint64_t *)guest_ptr(&front->guest,
							found_at(link, number)), number);
		break;
	}
}

static void link_got(struct link *link, const struct virtio_rdma_cq_req *wc)
{
	assert_int_equal(le64toh(wc->wr_id), link->got);
	assert_int_equal(le32toh(wc->byte_len), MESSAGE);
	expect_filled(&guest[link->to], slot_at(link->at[1], 1, link->got), link->got);
	link->got++;
}

/*
 * Messages of a stream are sent from one place each: they wait for each other.  A receive
 * request's place is told by its cookie.
 */
static void stream_post(unsigned int i)
{
	struct stream *s = &streams[i];
	const uint64_t at = rooms[s->from].at + i * MESSAGE;

	if (s->sent != s->done || (frozen && s->from == MOVER))
		return;
	fill(&guest[s->from], at, s->sent++);
	front_dqp_send(&s->qp[0], sge(at, MESSAGE, rooms[s->from].key));
}

static void room_post(unsigned int who, uint32_t place)
{
	const struct room *room = &rooms[who];

	front_direct_recv(&direct[who], sge(room->at + SLOTS + place * MESSAGE, MESSAGE, room->key),
			  place);
}

static void direct_completion(unsigned int who, const struct virtio_rdma_cqe *cqe)
{
	const bool recv = cqe->opcode & VIRTIO_RDMA_CQE_RECV;
	const uint32_t qpn = le32toh(cqe->qp_num);
	unsigned int i;

	if (cqe->status)
		fail_msg("guest %u, direct QP %u: status %u", who, qpn, cqe->status);
	last = moving_ns();
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		if (!recv && streams[i].from == who && streams[i].qp[0].qp.qpn == qpn) {
			streams[i].done++;
		} else if (recv && streams[i].to == who && streams[i].qp[1].qp.qpn == qpn) {
			expect_filled(&guest[who], rooms[who].at + SLOTS +
				      le32toh(cqe->wqe) * MESSAGE, streams[i].got++);
			room_post(who, le32toh(cqe->wqe));
		}
}

static void ud_post(struct ud *u)
{
	while (u->posted - u->got < DEPTH) {
		post_recv(&u->qp, u->posted,
			  sge(u->at + (1 + u->posted % DEPTH) * PAGE, UD_ROOM, u->key));
		u->posted++;
	}
}

static void flow_post(struct datagrams *flow)
{
	const struct ud *u = &ud[flow->from];
	struct virtio_rdma_sq_req *req;

	if (flow->busy || (frozen && flow->from == MOVER) || moving_ns() < flow->at)
		return;
	flow->at = moving_ns() + DATAGRAM_NS;
	*(uint64_t *)guest_ptr(&guest[flow->from].guest, u->at) = flow->next;
	*(uint64_t *)guest_ptr(&guest[flow->from].guest, u->at + DATAGRAM - 8) = flow->next;
	req = request_at(&u->qp);
	req->wr_id = htole64(flow->next++);
	req->opcode = VIRTIO_IB_WR_SEND;
	req->ud.remote_qpn = htole32(ud[flow->to].qp.qpn);
	req->ud.remote_qkey = htole32(0x1234);
	req->ud.ah = htole32(flow->ah);
	req->sg_list[0] = sge(u->at, DATAGRAM, u->key);
	flow->busy = true;
	post_send(&u->qp);
}

/* Datagrams may get lost. */
static void flow_got(struct datagrams *flow, const struct virtio_rdma_cq_req *wc)
{
	struct ud *u = &ud[flow->to];
	const uint64_t at = u->at + (1 + u->got % DEPTH) * PAGE + 40;
	const uint64_t number = *(uint64_t *)guest_ptr(&guest[flow->to].guest, at);

	assert_int_equal(le64toh(wc->wr_id), u->got);
	u->got++;
	assert_in_range(number, flow->got, flow->next - 1);
	assert_int_equal(*(uint64_t *)guest_ptr(&guest[flow->to].guest, at + DATAGRAM - 8),
			 number);
	flow->got = number + 1;
}

static void completion(unsigned int who, const struct virtio_rdma_cq_req *wc)
{
	const bool recv = wc->opcode == VIRTIO_IB_WC_RECV;
	const uint32_t qpn = le32toh(wc->qp_num);
	unsigned int i;

	if (wc->status)
		fail_msg("guest %u, QP %u, request %lu: status %u, opcode %u", who, qpn,
			 (unsigned long)le64toh(wc->wr_id), wc->status, wc->opcode);
	last = moving_ns();
	for (i = 0; i < ARRAY_SIZE(links); i++)
		if (!recv && links[i].from == who && links[i].qp[0].qpn == qpn)
			link_done(&links[i], wc);
		else if (recv && links[i].to == who && links[i].qp[1].qpn == qpn)
			link_got(&links[i], wc);
	for (i = 0; i < ARRAY_SIZE(flows) && qpn == ud[who].qp.qpn; i++)
		if (!recv && flows[i].from == who)
			flows[i].busy = false;
		else if (recv && flows[i].to == who)
			flow_got(&flows[i], wc);
}

static void step(void)
{
	struct virtio_rdma_cq_req wc;
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(links); i++)
		link_post(&links[i]);
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		stream_post(i);
	for (i = 0; i < ARRAY_SIZE(flows); i++)
		flow_post(&flows[i]);
	for (i = 0; i < GUESTS; i++) {
		if (frozen && i == MOVER)
			continue;
		ud_post(&ud[i]);
		while (front_poll_cq(&guest[i], cqn[i], &wc))
			completion(i, &wc);
		while (front_direct_poll(&direct[i], &cqe))
			direct_completion(i, &cqe);
	}
	if (moving_ns() - last < TIMEOUT_NS)
		return;
	for (i = 0; i < ARRAY_SIZE(links); i++)
		print_message("%u to %u: %lu sent, %lu done, %lu posted, %lu got\n",
			      links[i].from, links[i].to, (unsigned long)links[i].sent,
			      (unsigned long)links[i].done, (unsigned long)links[i].posted,
			      (unsigned long)links[i].got);
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		print_message("direct, %u to %u: %lu sent, %lu done, %lu got\n", streams[i].from,
			      streams[i].to, (unsigned long)streams[i].sent,
			      (unsigned long)streams[i].done, (unsigned long)streams[i].got);
	fail_msg("nothing completes");
}

static void work_some(void)
{
	uint64_t enough[ARRAY_SIZE(links)], heard[ARRAY_SIZE(flows)], came[ARRAY_SIZE(streams)];
	bool more = true;
	unsigned int i;

	last = moving_ns();
	for (i = 0; i < ARRAY_SIZE(links); i++)
		enough[i] = links[i].got + SOME;
	for (i = 0; i < ARRAY_SIZE(flows); i++)
		heard[i] = flows[i].got + 1;
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		came[i] = streams[i].done + SOME;
	while (more) {
		step();
		more = false;
		for (i = 0; i < ARRAY_SIZE(links); i++)
			more |= links[i].got < enough[i] || links[i].done < CYCLE * enough[i];
		for (i = 0; i < ARRAY_SIZE(flows); i++)
			more |= flows[i].got < heard[i];
		for (i = 0; i < ARRAY_SIZE(streams); i++)
			more |= streams[i].done < came[i];
	}
}

/* ------------------------------------------------------------------------- */
/* Daemons and guests                                                        */
/* ------------------------------------------------------------------------- */

static uint32_t protection_domain(struct front *front)
{
	struct virtio_rdma_ack_create_pd ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL, 0, &ack, sizeof(ack));
	return le32toh(ack.pdn);
}

/* Memory of @len bytes that the peer may use. */
static uint64_t place(unsigned int who, uint32_t len, uint32_t *key)
{
	const uint64_t at = guest_alloc(&guest[who].guest, len, PAGE);

	*key = front_reg(&guest[who], pdn[who], at, len);
	return at;
}

static void link_open(struct link *link)
{
	unsigned int end, who;

	for (end = 0; end < 2; end++) {
		who = end ? link->to : link->from;
		link->at[end] = place(who, 2 * SLOTS + PAGE, &link->key[end]);
		link->qp[end] = front_qp(&guest[who], VIRTIO_IB_QPT_RC, pdn[who], cqn[who]);
	}
	for (end = 0; end < 2; end++)
		front_connect(&link->qp[end], VIRTIO_IB_QPT_RC, &link->qp[!end]);
	link->sent = 0;
	link->done = 0;
	link->posted = 0;
	link->got = 0;
}

static void stream_open(struct stream *s)
{
	s->sent = 0;
	s->done = 0;
	s->got = 0;
	front_dqp_open(&s->qp[0], &direct[s->from]);
	front_dqp_open(&s->qp[1], &direct[s->to]);
	front_connect(&s->qp[0].qp, VIRTIO_IB_QPT_RC, &s->qp[1].qp);
	front_connect(&s->qp[1].qp, VIRTIO_IB_QPT_RC, &s->qp[0].qp);
}

static void direct_open(unsigned int who)
{
	unsigned int i;

	front_direct_open(&direct[who], &guest[who], pdn[who]);
	rooms[who].at = place(who, 2 * SLOTS, &rooms[who].key);
	for (i = 0; i < DEPTH; i++)
		room_post(who, i);
}

static void guests_open(void)
{
	unsigned int i;

	front_open_mem(&guest[MOVER], between.socket_of[0][0], 1, FEATURES, MEM);
	front_open_mem(&guest[PEER_A], between.socket_of[0][1], 2, FEATURES, MEM);
	front_open_mem(&guest[PEER_B], between.socket_of[1][1], 3, FEATURES, MEM);
	for (i = 0; i < GUESTS; i++) {
		pdn[i] = protection_domain(&guest[i]);
		cqn[i] = front_cq(&guest[i]);
		ud[i] = (struct ud) {};
		ud[i].at = place(i, (1 + DEPTH) * PAGE, &ud[i].key);
		ud[i].qp = front_qp(&guest[i], VIRTIO_IB_QPT_UD, pdn[i], cqn[i]);
		front_connect(&ud[i].qp, VIRTIO_IB_QPT_UD, &ud[i].qp);
		direct_open(i);
	}
	for (i = 0; i < ARRAY_SIZE(streams); i++)
		stream_open(&streams[i]);
	for (i = 0; i < ARRAY_SIZE(links); i++)
		link_open(&links[i]);
	for (i = 0; i < ARRAY_SIZE(flows); i++) {
		flows[i].ah = front_ah(&guest[flows[i].from], pdn[flows[i].from],
				       guest[flows[i].to].number);
		flows[i].next = 0;
		flows[i].got = 0;
		flows[i].busy = false;
	}
}

static int setup_mtu(const char *mtu)
{
	/* 17 s: a daemon that stands still for seconds, as on a busy machine, is not a loss. */
	front_ack_timeout = 22;
	moving_start(&between, mtu);
	frozen = false;
	guests_open();
	last = moving_ns();
	return 0;
}

static int setup(void **state)
{
	return setup_mtu(NULL);
}

static int teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < GUESTS; i++)
		front_close(&guest[i]);
	moving_stop(&between);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Counters                                                                  */
/* ------------------------------------------------------------------------- */

/* The sum of a counter over all guests of a daemon. */
static uint64_t counted(unsigned int i, const char *counter)
{
	static char text[1 << 16];
	char *line, *field, *next = text;
	uint64_t sum = 0;

	moving_ask(&between, i, "stats\n", text, sizeof(text));
	while ((line = strsep(&next, "\n"))) {
		field = strstr(line, counter);
		if (field && field[-1] == '\t' && field[strlen(counter)] == '\t')
			sum += strtoull(field + strlen(counter), NULL, 10);
	}
	return sum;
}

/* ------------------------------------------------------------------------- */
/* Moving                                                                    */
/* ------------------------------------------------------------------------- */

/* Copies while the daemon and the peers work, and stops the queues; all is copied then. */
static void copy_and_pause(struct moving_copy *copy, uint16_t *base)
{
	unsigned int i;

	step();
	frozen = true;
	moving_copy_begin(copy, &guest[MOVER]);
	/* In some moves the guest has work left, in others only its peers have. */
	for (i = 1; i <= ROUNDS * (moves % 4) / 3; i++) {
		step();
		if (!(i % ROUNDS_SYNC))
			moving_copy_sync(copy, &guest[MOVER]);
	}
	front_pause(&guest[MOVER], base);
	moving_copy_sync(copy, &guest[MOVER]);
	moving_copy_check(copy, &guest[MOVER]);
}

static void move(void)
{
	static uint8_t data[STATE_MAX];
	struct front *front = &guest[MOVER];
	uint16_t base[FRONT_QUEUES];
	struct moving_copy copy;
	uint64_t began;
	size_t len;
	int old;

	work_some();
	copy_and_pause(&copy, base);
	began = moving_ns();
	len = front_save(front, data, sizeof(data));
	old = front->sock;
	moving_copy_use(&copy, front);
	assert_true(front_load(front, between.socket_of[!between.here][0], data, len));
	front_resume(front, base);
	frozen = false;
	between.here = !between.here;
	print_message("moved to %u: %lu pages by the log, %zu bytes of state, %.1f ms\n",
		      between.here, copy.pages, len, (moving_ns() - began) / 1e6);
	moving_copy_end(&copy, front);
	moves++;
	/* QEMU's connection at the source stays as long as QEMU does. */
	work_some();
	close(old);
}

static void expect_no_timeout(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (counted(i, "local_ack_timeout_err"))
			print_message("%u: uplink dropped %lu frames, guests %lu packets\n", i,
				      counted(i, "tx_dropped"), counted(i, "rcvd_dropped"));
		assert_int_equal(counted(i, "local_ack_timeout_err"), 0);
	}
}

static void test_to_and_fro(void **state)
{
	const unsigned int n = getenv("LAB_LONG") ? MOVES_LONG : MOVES;
	unsigned int i;

	for (i = 0; i < n; i++)
		move();
	work_some();
	expect_no_timeout();
}

/* The answer of the daemon that the guest is not in. */
static void expect_answer(const char *answer)
{
	char needs[2048], line[2200], text[512];

	snprintf(line, sizeof(line), "guest needs %u-mover\n", between.here);
	moving_ask(&between, between.here, line, needs, sizeof(needs));
	assert_memory_equal(needs, "ok\n", 3);
	snprintf(line, sizeof(line), "guest check-move %u-mover %s", !between.here, needs + 3);
	moving_ask(&between, !between.here, line, text, sizeof(text));
	assert_string_equal(text, answer);
}

static void test_check(void **state)
{
	expect_answer("ok\n");
	move();
	expect_answer("ok\n");
}

/* The target refuses: it has said so before, and the guest goes on where it was. */
static void test_refused(void **state)
{
	static uint8_t data[STATE_MAX];
	struct front *front = &guest[MOVER];
	uint16_t base[FRONT_QUEUES];
	unsigned int i;
	size_t len;
	int old;

	expect_answer("error mtu: 65535, but 4300 here\n");
	for (i = 0; i < 3; i++) {
		work_some();
		front_pause(front, base);
		len = front_save(front, data, sizeof(data));
		old = front->sock;
		assert_false(front_load(front, between.socket_of[!between.here][0], data, len));
		close(front->sock);
		front->sock = old;
		front_resume(front, base);
	}
	work_some();
	expect_no_timeout();
}

static int setup_smaller(void **state)
{
	return setup_mtu("4300");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_to_and_fro),
		TEST(test_check),
		cmocka_unit_test_setup_teardown(test_refused, setup_smaller, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
