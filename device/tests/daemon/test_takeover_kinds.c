// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon takes the place of another one while requests of all kinds are under way: 64 busy
 * RC QPs that send, write, read and do atomic operations, UD QPs, and XRC QPs, with SRQs, and
 * CQs that are looked at only when an event says so; stream.h's messages and frames besides.
 * $SANDBOXED is the path of the daemon, as shipped.
 *
 * Each request has a number.  It is in the first and last bytes of its message, so a message
 * that is lost, doubled, overtaken or cut shows; an atomic operation that is done twice, or
 * not at all, shows in the number that it finds.  Nothing is lost but datagrams, and those
 * by packets only.
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
#include "tests/lib/stream.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

/* Takeovers in the short form, and in the long one, which $LAB_LONG asks for. */
#define TIMES		5u
#define TIMES_LONG	200u

/* QPs of a kind, and requests of each under way. */
#define QPS		16u
#define WINDOW		4u

/* Bytes of a message, some packets, and of a datagram. */
#define MESSAGE		16384u
#define DATAGRAM	1024u
#define GRH		40u

/* Receive requests of an SRQ: some messages have to wait for theirs, datagrams must not. */
#define RECVS		(QPS * WINDOW / 4)
#define RECVS_UD	(QPS * WINDOW)

#define QKEY		0x1234u

enum kind { SEND, WRITE, READ, ATOMIC, UD, XRC, KINDS };

static const char *const kind_name[] = { "send", "write", "read", "atomic", "UD", "XRC" };

/**
 * struct pair - two QPs
 * @qp:		that of A, which requests, and its peer of B
 * @sent:	requests so far
 * @done:	of which have completed
 * @came:	messages that B has received; with lost ones, one more than the last number
 * @lost:	datagrams that were lost
 * @due:	what @done is to be at least before the next takeover
 * @counter:	the counters of A's QP, when they were looked at last
 */
struct pair {
	struct front_dqp qp[2];
	uint64_t sent;
	uint64_t done;
	uint64_t came;
	uint64_t lost;
	uint64_t due;
	struct virtio_rdma_ack_query_counters counter;
};

/**
 * struct group - the QPs of a kind
 * @of:		what they share: at A, and at B
 * @pair:	themselves
 * @at:		memory of both for messages, which slot() divides
 * @key:	keys of that
 * @room:	memory of B for what it receives
 * @room_key:	key of that
 * @ah:		UD: address handle of B
 * @events:	of the CQ of B so far
 * @look:	one has come since that CQ was looked at last
 */
struct group {
	struct front_direct of[2];
	struct pair pair[QPS];
	uint64_t at[2];
	uint32_t key[2];
	uint64_t room;
	uint32_t room_key;
	uint32_t ah;
	unsigned int events;
	bool look;
};

static struct group group[KINDS];
static char control[96];

/* Guests reach each other by packets: those that nobody has looked at are not handed over. */
static bool packets;

/* ------------------------------------------------------------------------- */
/* Memory                                                                    */
/* ------------------------------------------------------------------------- */

static uint64_t slot(unsigned int kind, unsigned int end, unsigned int i, uint64_t n)
{
	return group[kind].at[end] + (uint64_t)(i * WINDOW + n % WINDOW) * MESSAGE;
}

static uint32_t length(unsigned int kind)
{
	return kind == UD ? DATAGRAM : kind == ATOMIC ? sizeof(uint64_t) : MESSAGE;
}

static void put(unsigned int end, uint64_t addr, uint32_t len, uint64_t value)
{
	uint8_t *p = guest_ptr(&pp.guest[end].guest, addr);

	memcpy(p, &value, sizeof(value));
	memcpy(p + len - sizeof(value), &value, sizeof(value));
}

static void expect(unsigned int end, uint64_t addr, uint32_t len, uint64_t value)
{
	const uint8_t *p = guest_ptr(&pp.guest[end].guest, addr);

	assert_memory_equal(p, &value, sizeof(value));
	assert_memory_equal(p + len - sizeof(value), &value, sizeof(value));
}

/* Request @n of a QP; not 0. */
static uint64_t number(unsigned int kind, unsigned int i, uint64_t n)
{
	return (uint64_t)(kind + 1) << 56 | (uint64_t)i << 48 | n;
}

static struct virtio_rdma_sge sge(uint64_t addr, uint32_t len, uint32_t key)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(addr),
		.length = htole32(len),
		.lkey = htole32(key),
	};
}

/* ------------------------------------------------------------------------- */
/* Requests                                                                  */
/* ------------------------------------------------------------------------- */

static bool is_received(unsigned int kind)
{
	return kind == SEND || kind == UD || kind == XRC;
}

static void to_xrc_srq(struct virtio_rdma_swqe *req, uint32_t srqn)
{
	struct virtio_rdma_xrc xrc = { .srqn = htole32(srqn) };

	xrc.sg_list[0] = req->sg_list[0];
	memcpy((uint8_t *)req + VIRTIO_RDMA_XRC_OFFSET, &xrc, sizeof(xrc));
}

/* Number by number: one adds 1, the next one exchanges. */
static void atomically(struct virtio_rdma_swqe *req, unsigned int i, uint64_t n)
{
	const bool add = n % 2;

	req->opcode = add ? VIRTIO_IB_WR_FETCH_ADD : VIRTIO_IB_WR_CMP_SWAP;
	req->atomic_rkey = htole32(group[ATOMIC].key[1]);
	req->atomic.remote_addr = htole64(slot(ATOMIC, 1, i, 0));
	req->atomic.compare_add = htole64(add ? 1 : n);
	req->atomic.swap = htole64(add ? 0 : n + 1);
}

static void aim(struct virtio_rdma_swqe *req, unsigned int kind, unsigned int i, uint64_t n)
{
	struct group *g = &group[kind];

	if (kind == WRITE || kind == READ) {
		req->opcode = kind == WRITE ? VIRTIO_IB_WR_RDMA_WRITE : VIRTIO_IB_WR_RDMA_READ;
		req->rdma.remote_addr = htole64(slot(kind, 1, i, n));
		req->rdma.rkey = htole32(g->key[1]);
	} else if (kind == ATOMIC) {
		atomically(req, i, n);
	} else if (kind == UD) {
		req->ud.remote_qpn = htole32(g->pair[i].qp[1].qp.qpn);
		req->ud.remote_qkey = htole32(QKEY);
		req->ud.ah = htole32(g->ah);
	} else if (kind == XRC) {
		to_xrc_srq(req, g->of[1].srqn);
	}
}

static void post_send(unsigned int kind, unsigned int i)
{
	struct pair *pair = &group[kind].pair[i];
	const uint64_t n = pair->sent++;
	struct virtio_rdma_swqe req = {
		.opcode = VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_SIGNALED,
		.num_sge = htole16(1),
	};

	put(0, slot(kind, 0, i, n), length(kind), kind == READ ? 0 : number(kind, i, n));
	if (kind == READ || kind == WRITE)
		put(1, slot(kind, 1, i, n), length(kind), kind == READ ? number(kind, i, n) : 0);
	req.sg_list[0] = sge(slot(kind, 0, i, n), length(kind), group[kind].key[0]);
	aim(&req, kind, i, n);
	front_dqp_post(&pair->qp[0], &req);
}

static void post_recv(unsigned int kind, uint32_t place)
{
	struct group *g = &group[kind];

	front_direct_recv(&g->of[1], sge(g->room + place * MESSAGE, MESSAGE, g->room_key), place);
}

static struct pair *pair_of(unsigned int kind, unsigned int end, uint32_t qpn, unsigned int *i)
{
	for (*i = 0; *i < QPS; (*i)++)
		if (group[kind].pair[*i].qp[end].qp.qpn == qpn)
			return &group[kind].pair[*i];
	fail_msg("a completion of QP %u, which is no %s QP", qpn, kind_name[kind]);
	return NULL;
}

static void expect_success(unsigned int kind, const struct virtio_rdma_cqe *cqe)
{
	if (cqe->status != VIRTIO_IB_WC_SUCCESS)
		fail_msg("%s QP %u: status %u", kind_name[kind], le32toh(cqe->qp_num),
			 cqe->status);
}

/* A request has completed. */
static void sent_one(unsigned int kind, const struct virtio_rdma_cqe *cqe)
{
	unsigned int i;
	struct pair *pair = pair_of(kind, 0, le32toh(cqe->qp_num), &i);
	const uint64_t n = pair->done++;

	expect_success(kind, cqe);
	assert_int_equal(cqe->opcode & VIRTIO_RDMA_CQE_RECV, 0);
	assert_int_equal(le32toh(cqe->wqe) % FD_DEPTH, n % FD_DEPTH);
	assert_true(pair->done <= pair->sent);
	if (kind == WRITE)
		expect(1, slot(kind, 1, i, n), MESSAGE, number(kind, i, n));
	if (kind == READ)
		expect(0, slot(kind, 0, i, n), MESSAGE, number(kind, i, n));
	if (kind == ATOMIC)
		expect(0, slot(kind, 0, i, n), sizeof(n), n);
}

static bool may_be_lost(unsigned int kind)
{
	return kind == UD && packets;
}

/* No datagram comes twice, or behind a later one. */
static void skip_lost(unsigned int kind, struct pair *pair, unsigned int i, uint64_t addr)
{
	uint64_t n;

	memcpy(&n, guest_ptr(&pp.guest[1].guest, addr), sizeof(n));
	n -= number(kind, i, 0);
	assert_in_range(n, pair->came, pair->sent - 1);
	pair->lost += n - pair->came;
	pair->came = n;
}

/* A message has come; datagrams come behind a header. */
static void came_one(unsigned int kind, const struct virtio_rdma_cqe *cqe)
{
	const uint32_t place = le32toh(cqe->wqe), head = kind == UD ? GRH : 0;
	unsigned int i;
	struct pair *pair = pair_of(kind, 1, le32toh(cqe->qp_num), &i);
	const uint64_t addr = group[kind].room + place * MESSAGE + head;

	expect_success(kind, cqe);
	assert_int_equal(cqe->opcode & VIRTIO_RDMA_CQE_RECV, VIRTIO_RDMA_CQE_RECV);
	assert_int_equal(le32toh(cqe->byte_len), head + length(kind));
	if (may_be_lost(kind))
		skip_lost(kind, pair, i, addr);
	expect(1, addr, length(kind), number(kind, i, pair->came++));
	post_recv(kind, place);
}

/* ------------------------------------------------------------------------- */
/* Events                                                                    */
/* ------------------------------------------------------------------------- */

static void take_events(void)
{
	struct front_vq *vq = &pp.guest[1].vq[FRONT_EVENT];
	const struct virtio_rdma_event *event;
	unsigned int kind;
	uint32_t head, len;

	while (guest_vq_get(&vq->gvq, &head, &len)) {
		event = guest_ptr(&pp.guest[1].guest, le64toh(vq->gvq.desc[head].addr));
		assert_int_equal(len, sizeof(*event));
		assert_int_equal(le16toh(event->type), VIRTIO_RDMA_EVENT_COMPLETION);
		for (kind = 0; kind < KINDS; kind++) {
			if (group[kind].of[1].cqn != le32toh(event->number))
				continue;
			group[kind].look = true;
			group[kind].events++;
			assert_true(group[kind].events <= group[kind].of[1].armings);
		}
		guest_vq_add_head(&vq->gvq, head);
		front_kick(vq);
	}
}

static void give_event_buffers(void)
{
	struct front_vq *vq = &pp.guest[1].vq[FRONT_EVENT];
	struct guest_buf buf = { .len = sizeof(struct virtio_rdma_event), .write = true };
	unsigned int i;

	for (i = 0; i < KINDS; i++) {
		buf.addr = guest_alloc(&pp.guest[1].guest, buf.len, 16);
		guest_vq_add(&vq->gvq, &buf, 1);
	}
	front_kick(vq);
}

/* ------------------------------------------------------------------------- */
/* Steps                                                                     */
/* ------------------------------------------------------------------------- */

static void take_received(unsigned int kind)
{
	struct virtio_rdma_cqe cqe;

	while (front_direct_poll(&group[kind].of[1], &cqe))
		came_one(kind, &cqe);
}

static void step_kind(unsigned int kind)
{
	struct group *g = &group[kind];
	struct virtio_rdma_cqe cqe;
	struct pair *pair;
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		pair = &g->pair[i];
		while (pair->sent - pair->done < WINDOW &&
		       (!is_received(kind) || may_be_lost(kind) ||
			pair->sent - pair->came < WINDOW))
			post_send(kind, i);
	}
	while (front_direct_poll(&g->of[0], &cqe))
		sent_one(kind, &cqe);
	if (!g->look)
		return;
	g->look = false;
	take_received(kind);
	front_direct_arm(&g->of[1]);
	take_received(kind);
}

static void step(void)
{
	unsigned int kind;

	take_events();
	for (kind = 0; kind < KINDS; kind++)
		step_kind(kind);
}

static bool is_due(unsigned int kind, unsigned int i)
{
	const struct pair *pair = &group[kind].pair[i];

	return pair->done < pair->due || (is_received(kind) && pair->came < pair->due);
}

static unsigned int due(void)
{
	unsigned int kind, i, n = 0;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < QPS; i++)
			n += is_due(kind, i);
	return n;
}

static void stands_still(void)
{
	const struct pair *pair;
	unsigned int kind, i;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < QPS; i++) {
			pair = &group[kind].pair[i];
			if (is_due(kind, i))
				print_message("%s QP %u: %lu sent, %lu done, %lu came, %u events\n",
					      kind_name[kind], pair->qp[0].qp.qpn, pair->sent,
					      pair->done, pair->came, group[kind].events);
		}
	stream_print_daemon();
	fail_msg("%u QPs stand still", due());
}

/* Each QP goes on: what it had under way has completed, and more. */
static void all_go_on(void)
{
	unsigned int kind, i, left, now;
	uint64_t end;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < QPS; i++)
			group[kind].pair[i].due = group[kind].pair[i].sent + 1;
	left = due();
	end = pp_ran() + PP_LOOK_NS;
	while (left) {
		stream_some();
		now = due();
		if (now < left)
			end = pp_ran() + PP_LOOK_NS;
		else if (pp_ran() >= end)
			stands_still();
		left = now;
	}
}

/* ------------------------------------------------------------------------- */
/* The test                                                                  */
/* ------------------------------------------------------------------------- */

/* No counter goes back. */
static void count(void)
{
	struct virtio_rdma_cmd_query_qp_counters req;
	struct virtio_rdma_ack_query_counters now;
	unsigned int kind, i, c;
	struct pair *pair;

	for (kind = 0; kind < KINDS; kind++)
		for (i = 0; i < QPS; i++) {
			pair = &group[kind].pair[i];
			req.qpn = htole32(pair->qp[0].qp.qpn);
			front_command(&pp.guest[0], VIRTIO_NET_CTRL_ROCE_QUERY_QP_COUNTERS, &req,
				      sizeof(req), &now, sizeof(now));
			for (c = 0; c < VIRTIO_RDMA_CNT_NUM; c++)
				assert_true(le64toh(now.value[c]) >=
					    le64toh(pair->counter.value[c]));
			pair->counter = now;
		}
}

static void test_kinds(void **state)
{
	const unsigned int times = getenv("LAB_LONG") ? TIMES_LONG : TIMES;
	unsigned int kind, i, t;
	uint64_t sum, lost;

	stream.also = step;
	all_go_on();
	for (t = 0; t < times; t++) {
		count();
		stream_take_over(getenv("SANDBOXED"));
		all_go_on();
		count();
		stream_frame();
	}
	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0, sum = 0, lost = 0; i < QPS; i++) {
			sum += group[kind].pair[i].done;
			lost += group[kind].pair[i].lost;
		}
		print_message("%s: %lu requests, %lu lost, %u events, %u takeovers\n",
			      kind_name[kind], sum, lost, group[kind].events, times);
	}
}

static uint8_t type_of(unsigned int kind, unsigned int end)
{
	if (kind == XRC)
		return end ? VIRTIO_IB_QPT_XRC_TGT : VIRTIO_IB_QPT_XRC_INI;
	return kind == UD ? VIRTIO_IB_QPT_UD : VIRTIO_IB_QPT_RC;
}

static void open_memory(unsigned int kind, unsigned int end)
{
	struct group *g = &group[kind];
	struct front *front = &pp.guest[end];
	const uint32_t size = QPS * WINDOW * MESSAGE;

	g->at[end] = guest_alloc(&front->guest, size, 4096);
	g->key[end] = front_reg(front, g->of[end].pdn, g->at[end], size);
	if (!end || !is_received(kind))
		return;
	g->room = guest_alloc(&front->guest, RECVS_UD * MESSAGE, 4096);
	g->room_key = front_reg(front, g->of[1].pdn, g->room, RECVS_UD * MESSAGE);
}

static void open_end(unsigned int kind, unsigned int end, const struct front_direct *of)
{
	struct group *g = &group[kind];
	unsigned int i;

	g->of[end] = *of;
	g->of[end].bits = kind * QPS;
	front_direct_own_cq(&g->of[end]);
	if (kind == UD)
		front_direct_own_srq(&g->of[end]);
	if (kind == XRC && end)
		front_direct_own_xrc(&g->of[end]);
	open_memory(kind, end);
	for (i = 0; i < QPS; i++)
		front_dqp_open_type(&g->pair[i].qp[end], &g->of[end], type_of(kind, end));
}

static void open_kind(unsigned int kind)
{
	struct group *g = &group[kind];
	struct pair *pair;
	unsigned int i;

	for (i = 0; i < QPS; i++) {
		pair = &g->pair[i];
		front_connect(&pair->qp[0].qp, type_of(kind, 0), &pair->qp[1].qp);
		front_connect(&pair->qp[1].qp, type_of(kind, 1), &pair->qp[0].qp);
	}
	if (kind == UD)
		g->ah = front_ah(&pp.guest[0], g->of[0].pdn, pp.guest[1].number);
	for (i = 0; is_received(kind) && i < (kind == UD ? RECVS_UD : RECVS); i++)
		post_recv(kind, i);
	front_direct_arm(&g->of[1]);
}

static int setup(void **state)
{
	static char *options[4];
	struct front_direct of[2];
	unsigned int kind, end;

	memset(group, 0, sizeof(group));
	packets = *state;
	snprintf(control, sizeof(control), "/tmp/takeover.%d", getpid());
	options[0] = (char *)"--control";
	options[1] = control;
	options[2] = *state;
	pp_start(options, FEATURES);
	stream_open();
	stream.control = control;
	for (end = 0; end < 2; end++) {
		front_direct_open(&of[end], &pp.guest[end], pp_pd(&pp.guest[end]));
		for (kind = 0; kind < KINDS; kind++)
			open_end(kind, end, &of[end]);
	}
	give_event_buffers();
	for (kind = 0; kind < KINDS; kind++)
		open_kind(kind);
	return 0;
}

static int teardown(void **state)
{
	pp_stop();
	return 0;
}

int main(void)
{
	char by_packets[] = "--packets";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
		cmocka_unit_test_prestate_setup_teardown(test_kinds, setup, teardown,
							 by_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
