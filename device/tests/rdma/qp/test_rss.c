// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues, indirection tables, and RX_HASH QPs that spread frames over them.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "packet/toeplitz.h"
#include "rdma/rnic_priv.h"

#define RAW		VIRTIO_IB_QPT_RAW_PACKET
#define WQ		VIRTIO_IB_QPT_WQ
#define OK		VIRTIO_IB_WC_SUCCESS
#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define F(field)	VIRTIO_RDMA_RX_HASH_ ## field
#define WQS		4u
#define IP		14u
#define FRAME		60u
#define ROOM		2048u

/**
 * struct rss_test - a guest that sends frames, and one that spreads them
 * @p:		raw QPs in both
 * @wq:		work queues of the second one
 * @table:	handle of the table that names them
 * @qpn:	RX_HASH QP
 * @posted:	receive requests so far; number n has the room n of the region
 */
struct rss_test {
	struct er_pair *p;
	struct er_qp wq[WQS];
	uint32_t table;
	uint32_t qpn;
	unsigned int posted;
};

static uint8_t key[TOEPLITZ_KEY];

static struct eg_guest *guest_of(const struct rss_test *t)
{
	return t->p->b.end.guest;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static uint8_t wq_to(const struct rss_test *t, uint32_t wqn, uint8_t to)
{
	const struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(wqn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = to,
	};

	return eg_modify(guest_of(t), &req);
}

/* With these flags, those that are opened. */
static uint8_t wq_flags;

static void open_wq(struct rss_test *t, unsigned int i, uint32_t depth)
{
	struct er_end *end = &t->p->b;
	const struct er_shape shape = { .recv_depth = depth, .flags = wq_flags };

	er_qp_init(&t->wq[i], &end->page, &end->cq, 32 + i, WQ, end->end.pdn, &shape);
	assert_int_equal(er_create_qp(&t->wq[i]), VIRTIO_NET_OK);
	assert_int_equal(wq_to(t, t->wq[i].qpn, VIRTIO_IB_QPS_RTR), VIRTIO_NET_OK);
}

static uint8_t create_table(const struct rss_test *t, uint8_t log_size, const uint32_t *wqn,
			    unsigned int n, uint32_t *table)
{
	struct {
		struct virtio_rdma_cmd_create_wq_table fixed;
		__le32 wqn[2 * RSS_TABLE_MAX];
	} req = { .fixed.log_size = log_size };
	struct virtio_rdma_ack_create_wq_table ack = {};
	unsigned int i;
	uint8_t ret;

	for (i = 0; i < n; i++)
		req.wqn[i] = htole32(wqn[i]);
	ret = eg_command(guest_of(t), CMD(CREATE_WQ_TABLE), &req,
			 sizeof(req.fixed) + n * sizeof(*req.wqn), &ack, sizeof(ack));
	*table = le32toh(ack.table);
	return ret;
}

static uint8_t destroy_table(const struct rss_test *t, uint32_t table)
{
	const struct virtio_rdma_cmd_destroy_wq_table req = { .table = htole32(table) };

	return eg_command(guest_of(t), CMD(DESTROY_WQ_TABLE), &req, sizeof(req), NULL, 0);
}

static uint8_t create_rx_hash(const struct rss_test *t, uint32_t table, uint8_t function,
			      uint32_t fields, uint32_t *qpn)
{
	struct virtio_rdma_cmd_create_rx_hash_qp req = {
		.table = htole32(table),
		.fields = htole32(fields),
		.function = function,
	};
	struct virtio_rdma_ack_create_qp ack = {};
	uint8_t ret;

	memcpy(req.key, key, sizeof(key));
	ret = eg_command(guest_of(t), CMD(CREATE_RX_HASH_QP), &req, sizeof(req), &ack,
			 sizeof(ack));
	*qpn = le32toh(ack.qpn);
	return ret;
}

static uint8_t destroy_qp(const struct rss_test *t, uint32_t qpn)
{
	const struct virtio_rdma_cmd_destroy_qp req = { .qpn = htole32(qpn) };

	return eg_command(guest_of(t), CMD(DESTROY_QP), &req, sizeof(req), NULL, 0);
}

static void add_rule(const struct rss_test *t, uint32_t qpn)
{
	const struct virtio_rdma_cmd_create_flow req = {
		.qpn = htole32(qpn),
		.type = VIRTIO_RDMA_FLOW_ALL_DEFAULT,
	};
	struct virtio_rdma_ack_create_flow ack;

	assert_int_equal(eg_command(guest_of(t), CMD(CREATE_FLOW), &req, sizeof(req), &ack,
				    sizeof(ack)), VIRTIO_NET_OK);
}

/* A table of WQS work queues of @depth requests, an RX_HASH QP, a rule for all frames. */
static struct rss_test *rss_up(void **state, uint8_t function, uint32_t fields,
			       uint32_t depth)
{
	struct rss_test *t = calloc(1, sizeof(*t));
	uint32_t wqn[WQS];
	unsigned int i;

	assert_non_null(t);
	for (i = 0; i < sizeof(key); i++)
		key[i] = 37 * i + 11;
	eg_ports(*state);
	t->p = er_pair_up(state, RAW, &(struct er_shape) { .cqe = 256 });
	for (i = 0; i < WQS; i++) {
		open_wq(t, i, depth);
		wqn[i] = t->wq[i].qpn;
	}
	assert_int_equal(create_table(t, 2, wqn, WQS, &t->table), VIRTIO_NET_OK);
	assert_int_equal(create_rx_hash(t, t->table, function, fields, &t->qpn),
			 VIRTIO_NET_OK);
	add_rule(t, t->qpn);
	return t;
}

static void rss_down(struct rss_test *t)
{
	er_pair_free(t->p);
	free(t);
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

static void put16(uint8_t *p, unsigned int value)
{
	p[0] = value >> 8;
	p[1] = value;
}

/* IPv4 from 10.0.0.@host, with the ports @port and 80. */
static uint8_t *put_ipv4(struct rss_test *t, uint8_t host, uint8_t proto, unsigned int port,
			 unsigned int fragment)
{
	static const uint8_t head[] = {
		2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		0x45, 0, 0, FRAME - IP, 0, 1, 0, 0, 64, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 99,
	};
	uint8_t *frame = eg_ptr(t->p->a.end.guest, EG_DATA);

	memset(frame, 0, FRAME);
	memcpy(frame, head, sizeof(head));
	put16(frame + IP + 6, fragment);
	frame[IP + 9] = proto;
	frame[IP + 15] = host;
	put16(frame + IP + 20, port);
	put16(frame + IP + 22, 80);
	return frame;
}

static void send_it(struct rss_test *t)
{
	const struct eg_wr wr = eg_send(&t->p->a.end, 0, 0, FRAME);
	struct virtio_rdma_cqe cqe;

	er_post_send(&t->p->a.qp, &wr);
	eg_run(t->p->engine);
	assert_true(er_poll(&t->p->a.cq, &cqe));
	assert_int_equal(cqe.status, OK);
}

static void post(struct rss_test *t, unsigned int i)
{
	const struct eg_sge sge = { EG_VA + EG_IN + t->posted++ % 16 * ROOM, ROOM,
				    t->p->b.end.lkey };

	er_post_recv(&t->wq[i], &sge, 1);
}

static void post_all(struct rss_test *t, unsigned int n)
{
	unsigned int i;

	while (n--)
		for (i = 0; i < WQS; i++)
			post(t, i);
}

/* The work queue that has received a frame, by its place in @wq; WQS if none has. */
static unsigned int taken_by(struct rss_test *t)
{
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	if (!er_poll(&t->p->b.cq, &cqe))
		return WQS;
	assert_int_equal(cqe.status, OK);
	assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
	assert_int_equal(le32toh(cqe.byte_len), FRAME);
	for (i = 0; i < WQS; i++)
		if (t->wq[i].qpn == le32toh(cqe.qp_num))
			break;
	assert_in_range(i, 0, WQS - 1);
	/* One frame goes to one of them. */
	assert_false(er_poll(&t->p->b.cq, &cqe));
	return i;
}

static unsigned int where(struct rss_test *t)
{
	send_it(t);
	return taken_by(t);
}

/* ------------------------------------------------------------------------- */
/* Tests                                                                     */
/* ------------------------------------------------------------------------- */

static void test_spread(void **state)
{
	struct rss_test *t = rss_up(state, F(TOEPLITZ), F(SRC_IPV4) | F(DST_IPV4), 16);
	unsigned int seen[WQS] = {}, host, at;
	const uint8_t *frame;

	post_all(t, 16);
	for (host = 0; host < 16; host++) {
		frame = put_ipv4(t, host, 17, 1000, 0);
		at = where(t);
		assert_int_equal(at, toeplitz(key, frame + IP + 12, 8) % WQS);
		seen[at]++;
		/* Ports do not matter. */
		put_ipv4(t, host, 6, 2000 + host, 0);
		if (seen[at] < 8) {
			assert_int_equal(where(t), at);
			seen[at]++;
		}
	}
	for (at = 0; at < WQS; at++)
		assert_true(seen[at]);
	assert_int_equal(eg_count(guest_of(t), VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
	rss_down(t);
}

static void test_ports(void **state)
{
	const uint32_t fields = F(SRC_IPV4) | F(DST_IPV4) | F(SRC_PORT_TCP) |
				F(DST_PORT_TCP);
	struct rss_test *t = rss_up(state, F(TOEPLITZ), fields, 32);
	unsigned int seen[WQS] = {}, port, at;
	const uint8_t *frame;

	post_all(t, 32);
	for (port = 0; port < 16; port++) {
		frame = put_ipv4(t, 1, 6, port, 0);
		at = where(t);
		assert_int_equal(at, toeplitz(key, frame + IP + 12, 12) % WQS);
		seen[at]++;
		/* Of UDP, and of fragments, only the addresses. */
		put_ipv4(t, 1, 17, port, 0);
		assert_int_equal(where(t), toeplitz(key, frame + IP + 12, 8) % WQS);
	}
	for (at = 0; at < WQS; at++)
		assert_true(seen[at]);
	for (port = 0; port < 4; port++) {
		put_ipv4(t, 1, 6, port, port % 2 ? 0x2000 : 0x0010);
		assert_int_equal(where(t), toeplitz(key, frame + IP + 12, 8) % WQS);
	}
	rss_down(t);
}

static void test_xor(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4) | F(SRC_PORT_UDP) |
				    F(DST_PORT_UDP), 16);
	unsigned int i;

	post_all(t, 16);
	for (i = 0; i < 16; i++) {
		put_ipv4(t, i, 17, 3 * i, 0);
		assert_int_equal(where(t), (0x0a00 ^ i ^ 3 * i ^ 80) % WQS);
	}
	rss_down(t);
}

/* A frame that is not IP, or of the other version, goes to the first entry. */
static void test_no_fields(void **state)
{
	struct rss_test *t = rss_up(state, F(TOEPLITZ), F(SRC_IPV6) | F(DST_IPV6), 16);
	uint8_t *frame;
	unsigned int i;

	post_all(t, 16);
	for (i = 0; i < 4; i++) {
		put_ipv4(t, i, 17, i, 0);
		assert_int_equal(where(t), 0);
		frame = put_ipv4(t, i, 17, i, 0);
		put16(frame + 12, 0x88b5);
		assert_int_equal(where(t), 0);
	}
	frame = put_ipv4(t, 0, 0, 0, 0);
	put16(frame + 12, 0x86dd);
	memset(frame + IP, 0, 40);
	frame[IP] = 0x60;
	memset(frame + IP + 8, 0x5a, 32);
	for (i = 0; i < 4; i++) {
		frame[IP + 23] = i;
		assert_int_equal(where(t), toeplitz(key, frame + IP + 8, 32) % WQS);
	}
	rss_down(t);
}

/* The others go on, and those of the full one are dropped. */
static void test_full(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4), 4);
	unsigned int i;

	for (i = 1; i < WQS; i++)
		post(t, i);
	for (i = 0; i < WQS; i++) {
		put_ipv4(t, i, 17, 0, 0);
		assert_int_equal(where(t), i ? i : WQS);
	}
	assert_int_equal(eg_count(guest_of(t), VIRTIO_RDMA_CNT_RCVD_DROPPED), 1);
	post(t, 0);
	put_ipv4(t, 0, 17, 0, 0);
	assert_int_equal(where(t), 0);
	rss_down(t);
}

/* Work queues with the flag get frames without their tags, which are in the completions. */
static void test_strip(void **state)
{
	struct virtio_rdma_cqe cqe;
	struct rss_test *t;
	uint8_t *frame;

	wq_flags = VIRTIO_IB_QP_CVLAN_STRIP;
	t = rss_up(state, F(XOR), F(SRC_IPV4), 4);
	wq_flags = 0;
	post_all(t, 1);
	frame = put_ipv4(t, 2, 17, 7, 0);
	memmove(frame + 16, frame + 12, FRAME - 16);
	memcpy(frame + 12, "\x81\x00\x60\x05", 4);
	send_it(t);
	assert_true(er_poll(&t->p->b.cq, &cqe));
	assert_int_equal(le32toh(cqe.qp_num), t->wq[2].qpn);
	assert_int_equal(le32toh(cqe.byte_len), FRAME - 4);
	assert_int_equal(le16toh(cqe.wc_flags) & VIRTIO_IB_WC_WITH_VLAN, VIRTIO_IB_WC_WITH_VLAN);
	assert_int_equal(le16toh(cqe.vlan), 0x6005);
	rss_down(t);
}

/* In the order of sending, while other flows are between them. */
static void test_order(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4), 16);
	struct virtio_rdma_cqe cqe;
	uint32_t next[WQS] = {};
	unsigned int i, at;

	post_all(t, 8);
	for (i = 0; i < 24; i++) {
		put_ipv4(t, i % 3, 17, i, 0);
		send_it(t);
	}
	while (er_poll(&t->p->b.cq, &cqe)) {
		for (at = 0; t->wq[at].qpn != le32toh(cqe.qp_num); at++)
			assert_in_range(at, 0, WQS - 1);
		assert_int_equal(le32toh(cqe.wqe), next[at]++);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(next[i], 8);
	rss_down(t);
}

/* ------------------------------------------------------------------------- */
/* Very many flows                                                           */
/* ------------------------------------------------------------------------- */

#define MANY		8u
#define MANY_LOG	3
#define FLOWS		10000u
#define ROUNDS		2u
#define BURST		2u
#define SMALL		128u

/**
 * struct many - flows over MANY work queues, each of which has BURST requests
 * @t:		the guests
 * @wq:		work queues
 * @table:	table of them
 * @qpn:	RX_HASH QP
 * @place:	by flow, its work queue and 1, once it is known
 * @flows:	by work queue, flows that it has
 */
struct many {
	struct rss_test t;
	struct er_qp wq[MANY];
	uint32_t table;
	uint32_t qpn;
	uint8_t place[FLOWS];
	unsigned int flows[MANY];
};

/* Request @n of work queue @i. */
static uint64_t many_room(unsigned int i, unsigned int n)
{
	return EG_IN + (i * BURST + n % BURST) * SMALL;
}

static void many_post(struct many *m, unsigned int i, unsigned int n)
{
	const struct eg_sge sge = { EG_VA + many_room(i, n), SMALL, m->t.p->b.end.lkey };

	er_post_recv(&m->wq[i], &sge, 1);
}

static void many_open(struct many *m, unsigned int i)
{
	const struct er_shape shape = { .recv_depth = 4 };
	struct er_end *end = &m->t.p->b;
	unsigned int n;

	er_qp_init(&m->wq[i], &end->page, &end->cq, 32 + i, WQ, end->end.pdn, &shape);
	assert_int_equal(er_create_qp(&m->wq[i]), VIRTIO_NET_OK);
	assert_int_equal(wq_to(&m->t, m->wq[i].qpn, VIRTIO_IB_QPS_RTR), VIRTIO_NET_OK);
	for (n = 0; n < BURST; n++)
		many_post(m, i, n);
}

static void many_spread(struct many *m)
{
	uint32_t wqn[MANY];
	unsigned int i;

	for (i = 0; i < MANY; i++)
		wqn[i] = m->wq[i].qpn;
	assert_int_equal(create_table(&m->t, MANY_LOG, wqn, MANY, &m->table), VIRTIO_NET_OK);
	assert_int_equal(create_rx_hash(&m->t, m->table, F(TOEPLITZ), F(SRC_IPV4) |
					F(DST_IPV4) | F(SRC_PORT_UDP) | F(DST_PORT_UDP),
					&m->qpn), VIRTIO_NET_OK);
	add_rule(&m->t, m->qpn);
}

/* Work queue @i is another one from now on. */
static void many_rebuild(struct many *m, unsigned int i)
{
	assert_int_equal(destroy_qp(&m->t, m->qpn), VIRTIO_NET_OK);
	assert_int_equal(destroy_table(&m->t, m->table), VIRTIO_NET_OK);
	assert_int_equal(destroy_qp(&m->t, m->wq[i].qpn), VIRTIO_NET_OK);
	many_open(m, i);
	many_spread(m);
}

/* Completions of a burst are of one work queue, in order, and their frames are the right ones. */
static void many_take(struct many *m, unsigned int flow)
{
	struct virtio_rdma_cqe cqe;
	unsigned int i = 0, n;
	const uint8_t *p;

	for (n = 0; n < BURST; n++) {
		assert_true(er_poll(&m->t.p->b.cq, &cqe));
		assert_int_equal(cqe.status, OK);
		if (!n)
			while (m->wq[i].qpn != le32toh(cqe.qp_num))
				assert_in_range(++i, 0, MANY - 1);
		assert_int_equal(m->wq[i].qpn, le32toh(cqe.qp_num));
		p = eg_ptr(m->t.p->b.end.guest, EG_DATA + many_room(i, le32toh(cqe.wqe)));
		assert_int_equal(p[IP + 28] << 8 | p[IP + 29], flow);
		assert_int_equal(p[IP + 30], n);
		many_post(m, i, le32toh(cqe.wqe));
	}
	if (!m->place[flow]) {
		m->place[flow] = i + 1;
		m->flows[i]++;
	}
	/* Whatever was rebuilt, it is at the same place. */
	assert_int_equal(m->place[flow], i + 1);
}

static void many_send(struct many *m, unsigned int flow)
{
	uint8_t *frame;
	unsigned int n;

	for (n = 0; n < BURST; n++) {
		frame = put_ipv4(&m->t, flow, 17, 1000 + flow / 256, 0);
		put16(frame + IP + 28, flow);
		frame[IP + 30] = n;
		send_it(&m->t);
	}
	many_take(m, flow);
}

/* They are spread evenly, and each is in order, while work queues come and go. */
static void test_many_flows(void **state)
{
	struct many *m = calloc(1, sizeof(*m));
	unsigned int i, round, flow;

	assert_non_null(m);
	eg_cycle_off = true;
	for (i = 0; i < sizeof(key); i++)
		key[i] = 37 * i + 11;
	eg_ports(*state);
	m->t.p = er_pair_up(state, RAW, &(struct er_shape) { .cqe = 256 });
	for (i = 0; i < MANY; i++)
		many_open(m, i);
	many_spread(m);
	for (round = 0; round < ROUNDS; round++) {
		for (flow = 0; flow < FLOWS; flow++) {
			many_send(m, flow);
			if (flow % 500 == 250)
				many_rebuild(m, flow / 500 % MANY);
		}
	}
	for (i = 0; i < MANY; i++)
		assert_in_range(m->flows[i], FLOWS / MANY * 8 / 10, FLOWS / MANY * 12 / 10);
	assert_int_equal(eg_count(guest_of(&m->t), VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
	eg_cycle_off = false;
	er_pair_free(m->t.p);
	free(m);
}

static void test_states(void **state)
{
	static const uint8_t states[] = { VIRTIO_IB_QPS_RESET, VIRTIO_IB_QPS_RTR,
					  VIRTIO_IB_QPS_ERR };
	static const bool may[3][3] = {
		{ true, true, false },
		{ true, true, true },
		{ true, false, false },
	};
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4), 4);
	const uint32_t wqn = t->wq[0].qpn;
	unsigned int from, to;
	uint8_t s;

	for (from = 0; from < 3; from++) {
		for (to = 0; to < 3; to++) {
			assert_int_equal(wq_to(t, wqn, VIRTIO_IB_QPS_RESET), VIRTIO_NET_OK);
			if (from)
				assert_int_equal(wq_to(t, wqn, VIRTIO_IB_QPS_RTR), VIRTIO_NET_OK);
			if (from == 2)
				assert_int_equal(wq_to(t, wqn, VIRTIO_IB_QPS_ERR), VIRTIO_NET_OK);
			assert_int_equal(wq_to(t, wqn, states[to]),
					 may[from][to] ? VIRTIO_NET_OK : VIRTIO_NET_ERR);
		}
	}
	/* Nothing else, and an RX_HASH QP stays as it is. */
	for (s = VIRTIO_IB_QPS_RESET; s <= VIRTIO_IB_QPS_ERR; s++) {
		if (s != VIRTIO_IB_QPS_RESET && s != VIRTIO_IB_QPS_RTR && s != VIRTIO_IB_QPS_ERR)
			assert_int_equal(wq_to(t, wqn, s), VIRTIO_NET_ERR);
		assert_int_equal(wq_to(t, t->qpn, s), VIRTIO_NET_ERR);
	}
	assert_int_equal(eg_state(guest_of(t), t->qpn), VIRTIO_IB_QPS_RTR);
	rss_down(t);
}

/* In ERR requests are flushed; RESET drops them, and the ring begins again. */
static void test_flush(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4), 4);
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	post(t, 0);
	post(t, 0);
	assert_int_equal(wq_to(t, t->wq[0].qpn, VIRTIO_IB_QPS_ERR), VIRTIO_NET_OK);
	eg_run(t->p->engine);
	for (i = 0; i < 2; i++) {
		assert_true(er_poll(&t->p->b.cq, &cqe));
		assert_int_equal(cqe.status, VIRTIO_IB_WC_WR_FLUSH_ERR);
		assert_int_equal(le32toh(cqe.qp_num), t->wq[0].qpn);
		assert_int_equal(le32toh(cqe.wqe), i);
	}
	put_ipv4(t, 0, 17, 0, 0);
	assert_int_equal(where(t), WQS);
	assert_int_equal(wq_to(t, t->wq[0].qpn, VIRTIO_IB_QPS_RESET), VIRTIO_NET_OK);
	t->wq[0].posted_recv = 0;
	t->wq[0].control->recv_producer = 0;
	assert_int_equal(wq_to(t, t->wq[0].qpn, VIRTIO_IB_QPS_RTR), VIRTIO_NET_OK);
	post(t, 0);
	assert_int_equal(where(t), 0);
	rss_down(t);
}

/* It is told by an event of its own; the other work queues go on. */
static void test_fatal(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), F(SRC_IPV4), 4);

	er_give_events(guest_of(t), 0, 4);
	post_all(t, 1);
	t->wq[2].control->recv_producer = htole32(1000);
	put_ipv4(t, 2, 17, 0, 0);
	assert_int_equal(where(t), WQS);
	er_expect_event(guest_of(t), 0, VIRTIO_RDMA_EVENT_WQ_FATAL, t->wq[2].qpn);
	er_expect_no_event(guest_of(t), 0);
	assert_int_equal(eg_state(guest_of(t), t->wq[2].qpn), VIRTIO_IB_QPS_ERR);
	put_ipv4(t, 1, 17, 0, 0);
	assert_int_equal(where(t), 1);
	rss_down(t);
}

static void test_refused(void **state)
{
	static const uint32_t both[] = {
		F(SRC_IPV4) | F(DST_IPV6), F(DST_IPV4) | F(SRC_IPV6),
		F(SRC_PORT_TCP) | F(SRC_PORT_UDP), F(DST_PORT_TCP) | F(SRC_PORT_UDP), 1 << 8,
	};
	struct rss_test *t = rss_up(state, F(XOR), 0, 4);
	uint32_t wqn[4] = { t->wq[0].qpn, t->wq[0].qpn, t->wq[1].qpn, t->p->b.qp.qpn };
	struct er_end *end = &t->p->b;
	uint32_t table, qpn;
	struct er_qp wq;
	unsigned int i;

	/* Entries that are not there, or not work queues. */
	assert_int_equal(create_table(t, 2, wqn, 4, &table), VIRTIO_NET_ERR);
	assert_int_equal(create_table(t, 1, wqn, 3, &table), VIRTIO_NET_ERR);
	assert_int_equal(create_table(t, 2, wqn, 3, &table), VIRTIO_NET_ERR);
	assert_int_equal(create_table(t, VIRTIO_RDMA_WQ_TABLE_LOG_MAX + 1, wqn, 4, &table),
			 VIRTIO_NET_ERR);
	assert_int_equal(create_table(t, 255, wqn, 4, &table), VIRTIO_NET_ERR);
	wqn[3] = UINT32_MAX;
	assert_int_equal(create_table(t, 2, wqn, 4, &table), VIRTIO_NET_ERR);
	assert_int_equal(create_table(t, 1, wqn, 2, &table), VIRTIO_NET_OK);
	/* Those in use stay. */
	assert_int_equal(destroy_qp(t, t->wq[0].qpn), VIRTIO_NET_ERR);
	assert_int_equal(destroy_table(t, t->table), VIRTIO_NET_ERR);
	assert_int_equal(destroy_table(t, t->table ^ 1), VIRTIO_NET_ERR);
	for (i = 0; i < sizeof(both) / sizeof(*both); i++)
		assert_int_equal(create_rx_hash(t, table, F(XOR), both[i], &qpn),
				 VIRTIO_NET_ERR);
	assert_int_equal(create_rx_hash(t, table, 0, 0, &qpn), VIRTIO_NET_ERR);
	assert_int_equal(create_rx_hash(t, table, 3, 0, &qpn), VIRTIO_NET_ERR);
	assert_int_equal(create_rx_hash(t, table ^ 1, F(XOR), 0, &qpn), VIRTIO_NET_ERR);
	/* A work queue has a receive ring, and no SRQ; a rule is not for it. */
	er_qp_init(&wq, &end->page, &end->cq, 40, WQ, end->end.pdn, &(struct er_shape) {});
	wq.direct.recv_depth = 0;
	wq.direct.recv_pages = 0;
	assert_int_equal(er_create_qp(&wq), VIRTIO_NET_ERR);
	er_qp_init(&wq, &end->page, &end->cq, 40, RAW, end->end.pdn, &(struct er_shape) {});
	wq.req.qp_type = WQ;
	assert_int_equal(er_create_qp(&wq), VIRTIO_NET_ERR);
	wq.req.qp_type = VIRTIO_IB_QPT_RX_HASH;
	assert_int_equal(er_create_qp(&wq), VIRTIO_NET_ERR);
	rss_down(t);
}

/* From the top: the QP, its table, their work queues.  A reset takes all of them. */
static void test_destroy(void **state)
{
	struct rss_test *t = rss_up(state, F(TOEPLITZ), 0, 4);
	struct rnic *rnic = guest_of(t)->rnic;
	unsigned int i;

	post_all(t, 1);
	put_ipv4(t, 0, 17, 0, 0);
	assert_int_equal(where(t), 0);
	assert_int_equal(destroy_qp(t, t->qpn), VIRTIO_NET_OK);
	assert_int_equal(where(t), WQS);
	assert_int_equal(destroy_table(t, t->table), VIRTIO_NET_OK);
	assert_int_equal(rnic->tables.objs.used, 0);
	for (i = 1; i < WQS; i++)
		assert_int_equal(destroy_qp(t, t->wq[i].qpn), VIRTIO_NET_OK);
	rss_down(t);
}

static void test_reset(void **state)
{
	struct rss_test *t = rss_up(state, F(TOEPLITZ), 0, 4);
	struct eg_guest *guest = guest_of(t);

	eg_reset(guest);
	assert_int_equal(guest->rnic->tables.objs.used, 0);
	assert_int_equal(guest->rnic->rules.objs.used, 0);
	rss_down(t);
}

static void test_many_tables(void **state)
{
	struct rss_test *t = rss_up(state, F(XOR), 0, 4);
	static uint32_t wqn[RSS_TABLE_MAX];
	unsigned int i;
	uint32_t table;

	eg_cycle_off = true;
	for (i = 0; i < RSS_TABLE_MAX; i++)
		wqn[i] = t->wq[i % WQS].qpn;
	for (i = 1; i < RNIC_WQ_TABLES_MAX; i++)
		assert_int_equal(create_table(t, VIRTIO_RDMA_WQ_TABLE_LOG_MAX, wqn,
					      RSS_TABLE_MAX, &table), VIRTIO_NET_OK);
	assert_int_equal(create_table(t, 0, wqn, 1, &table), VIRTIO_NET_ERR);
	eg_cycle_off = false;
	/* The state has all of them. */
	put_ipv4(t, 0, 17, 0, 0);
	post_all(t, 1);
	assert_int_equal(where(t), 0);
	rss_down(t);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_spread),
		TEST(test_ports),
		TEST(test_xor),
		TEST(test_no_fields),
		TEST(test_full),
		TEST(test_order),
		TEST(test_strip),
		TEST(test_many_flows),
		TEST(test_states),
		TEST(test_flush),
		TEST(test_fatal),
		TEST(test_refused),
		TEST(test_destroy),
		TEST(test_reset),
		TEST(test_many_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
