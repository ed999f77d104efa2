// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA over an Ethernet port: packets sent, packets taken, counters.
 */
#include "tests/lib/engine_loop.h"
#include "tests/lib/engine_port.h"
#include "base/util.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/rnic_priv.h"

#define RC	VIRTIO_IB_QPT_RC
#define UC	VIRTIO_IB_QPT_UC
#define UD	VIRTIO_IB_QPT_UD
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define ETH	14
#define BTH	(ETH + 20 + 8)
#define VLAN_7	(VIRTIO_RDMA_GID_TAGGED | 7)

#define A(name)		eg_count(p.a.guest, VIRTIO_RDMA_CNT_ ## name)
#define B(name)		eg_count(p.b.guest, VIRTIO_RDMA_CNT_ ## name)

/* Replaces GID 0 of a guest by the same in a VLAN. */
static uint8_t set_vlan(struct eg_guest *guest, uint16_t vlan)
{
	struct virtio_rdma_cmd_add_gid req = { .vlan = htole16(vlan) };

	eg_gid(guest, req.gid);
	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_ADD_GID, &req,
			  sizeof(req), NULL, 0);
}

static struct eg_pair pair_by_port(void **state, uint8_t type)
{
	eg_ports(*state);
	return eg_pair_up(state, type);
}

static void post(const struct eg_pair *p, uint64_t wr_id, uint8_t opcode,
		 uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, 0, len);

	wr.opcode = opcode;
	wr.rkey = p->b.lkey;
	wr.remote_addr = EG_VA + IN;
	eg_post_send(&p->a, &wr);
}

static void test_messages(void **state)
{
	static const uint32_t lens[] = { 0, 1, 1023, 1024, 1025, 100001 };
	struct eg_pair p = pair_by_port(state, RC);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		eg_fill(p.a.guest, 0, lens[i], i);
		eg_zero(p.b.guest, IN, lens[i] + 1);
		eg_recv(&p.b, i, IN, lens[i] + 1);
		post(&p, i, VIRTIO_IB_WR_SEND, lens[i]);
		eg_run(p.engine);
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, lens[i]);
		eg_check(p.b.guest, IN, lens[i], i, 0);
		eg_check_zero(p.b.guest, IN + lens[i], 1);

		eg_zero(p.b.guest, IN, lens[i]);
		post(&p, i, VIRTIO_IB_WR_RDMA_WRITE, lens[i]);
		eg_run(p.engine);
		eg_expect(&p.a, i, OK);
		eg_check(p.b.guest, IN, lens[i], i, 0);

		eg_zero(p.a.guest, 0, lens[i]);
		post(&p, i, VIRTIO_IB_WR_RDMA_READ, lens[i]);
		eg_run(p.engine);
		eg_expect(&p.a, i, OK);
		eg_check(p.a.guest, 0, lens[i], i, 0);
	}
}

/* Messages that are looked at together have one ACK, and each of them completes. */
static void test_one_ack(void **state)
{
	struct eg_pair p = pair_by_port(state, RC);
	unsigned int i;

	for (i = 0; i < 16; i++) {
		eg_recv(&p.b, i, IN, 8);
		post(&p, i, VIRTIO_IB_WR_SEND, 8);
	}
	rnic_poll(p.a.guest->rnic);
	assert_int_equal(eg_port[0].sent, 16);
	rnic_poll(p.b.guest->rnic);
	assert_int_equal(eg_port[1].sent, 1);
	rnic_poll(p.a.guest->rnic);
	for (i = 0; i < 16; i++) {
		eg_expect_sent(&p, i);
		eg_expect_received(&p, i, 8);
	}
	assert_int_equal(A(RETRY), 0);
}

/* A NAK goes out at once, and acknowledges all before it. */
static void test_nak_instead_of_ack(void **state)
{
	struct eg_pair p = pair_by_port(state, RC);
	unsigned int i;

	for (i = 0; i < 8; i++)
		eg_recv(&p.b, i, IN, 8);
	for (i = 0; i < 16; i++)
		post(&p, i, VIRTIO_IB_WR_SEND, 8);
	rnic_poll(p.a.guest->rnic);
	rnic_poll(p.b.guest->rnic);
	assert_int_equal(eg_port[1].sent, 1);
	rnic_poll(p.a.guest->rnic);
	assert_int_equal(A(RCVD_RNR), 1);
	for (i = 0; i < 8; i++)
		eg_expect_sent(&p, i);
	for (i = 8; i < 16; i++)
		eg_recv(&p.b, i, IN, 8);
	/* As long as the RNR NAK has said. */
	engine_loop_advance(p.engine->loop, 640000);
	eg_run(p.engine);
	for (i = 8; i < 16; i++)
		eg_expect_sent(&p, i);
	for (i = 0; i < 16; i++)
		eg_expect_received(&p, i, 8);
}

static void test_counters(void **state)
{
	struct eg_pair p = pair_by_port(state, RC);

	eg_recv(&p.b, 1, IN, 4096);
	post(&p, 1, VIRTIO_IB_WR_SEND, 2500);
	eg_run(p.engine);
	eg_expect_sent(&p, 1);
	assert_int_equal(A(SENT_PKTS), 3);
	assert_int_equal(A(SENT_BYTES), 2500);
	assert_int_equal(B(RCVD_PKTS), 3);
	assert_int_equal(B(RCVD_BYTES), 2500);
	assert_int_equal(B(SENT_PKTS), A(RCVD_PKTS));
	assert_in_range(A(RCVD_PKTS), 1, 3);
	assert_int_equal(A(RCVD_BYTES), 0);
	assert_int_equal(A(SENT_DROPPED) + B(SENT_DROPPED), 0);
	assert_int_equal(A(RCVD_DROPPED) + B(RCVD_DROPPED), 0);
}

/* The same in memory: one packet, however long. */
static void test_counters_local(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_recv(&p.b, 1, IN, 4096);
	post(&p, 1, VIRTIO_IB_WR_SEND, 2500);
	eg_run(p.engine);
	assert_int_equal(A(SENT_PKTS), 1);
	assert_int_equal(A(SENT_BYTES), 2500);
	assert_int_equal(B(RCVD_PKTS), 1);
	assert_int_equal(B(RCVD_BYTES), 2500);
	assert_int_equal(A(RCVD_PKTS), 1);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	post(&p, 2, VIRTIO_IB_WR_SEND, 4);
	eg_run(p.engine);
	assert_int_equal(B(RCVD_DROPPED), 1);
}

/* A NIC reaches itself in memory; a switch would not return its frames. */
static void test_own_gid(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = { .engine = engine };

	eg_ports(engine);
	p.a = eg_open(&engine->guest[0], RC);
	p.b = p.a;
	p.b.qpn = eg_create_qp(p.b.guest, RC, p.b.pdn, p.b.cqn);
	eg_connect(&p.a, &p.b, RC);
	post(&p, 1, VIRTIO_IB_WR_RDMA_WRITE, 100);
	eg_run(engine);
	eg_expect(&p.a, 1, OK);
	assert_int_equal(eg_port[0].sent, 0);
}

static void expect_unsent(struct eg_pair *p, uint64_t n)
{
	unsigned int sent = eg_port[0].sent;

	post(p, n, VIRTIO_IB_WR_SEND, 1024);
	eg_run(p->engine);
	assert_int_equal(eg_port[0].sent, sent);
	assert_int_equal(eg_count(p->a.guest, VIRTIO_RDMA_CNT_SENT_DROPPED), n);
	assert_int_equal(eg_count(p->a.guest, VIRTIO_RDMA_CNT_SENT_PKTS), 0);
}

/* A packet of this path MTU does not fit: 1024 bytes and 20 + 8 + 12 + 4. */
static void test_mtu(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);

	eg_port[0].mtu = 1024 + 43;
	expect_unsent(&p, 1);
	eg_port[0].mtu++;
	post(&p, 2, VIRTIO_IB_WR_SEND, 1024);
	eg_run(p.engine);
	assert_int_equal(eg_port[0].sent, 1);
}

static void expect_datagram(const struct eg_pair *p, uint32_t ah, uint32_t len,
			    uint8_t status)
{
	struct eg_wr wr = eg_send(&p->a, 1, 0, len);

	wr.ah = ah;
	wr.remote_qpn = p->b.qpn;
	wr.remote_qkey = 0x1234;
	eg_recv(&p->b, 2, IN, 8192);
	eg_post_send(&p->a, &wr);
	eg_run(p->engine);
	eg_expect(&p->a, 1, status);
}

/* A datagram has one packet, in memory and by packets. */
static void mtu_of_datagram(struct eg_pair p)
{
	uint32_t ah = eg_create_ah(p.a.guest, p.a.pdn, p.b.guest);
	const uint32_t fits = EG_MTU - 20 - 8 - 12 - 8 - 4;

	expect_datagram(&p, ah, fits, OK);
	assert_int_equal(B(RCVD_PKTS), 1);
	expect_datagram(&p, ah, fits + 1, VIRTIO_IB_WC_LOC_LEN_ERR);
	assert_int_equal(B(RCVD_PKTS), 1);
}

static void test_mtu_of_datagram(void **state)
{
	mtu_of_datagram(pair_by_port(state, UD));
}

static void test_mtu_of_datagram_in_memory(void **state)
{
	eg_plug(*state);
	mtu_of_datagram(eg_pair_up(state, UD));
}

static void test_port_down(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);

	eg_port[0].down = true;
	expect_unsent(&p, 1);
	rnic_set_eth(p.a.guest->rnic, NULL, NULL);
	expect_unsent(&p, 2);
}

/* Packets to a GID that no guest here has leave by the port. */
static void test_unknown_gid(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct virtio_rdma_cmd_del_gid req = {};

	eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_DEL_GID, &req, sizeof(req),
		   NULL, 0);
	post(&p, 1, VIRTIO_IB_WR_SEND, 4);
	eg_run(p.engine);
	assert_int_equal(eg_port[0].sent, 1);
	assert_int_equal(eg_port[1].taken, 0);
	assert_int_equal(B(RCVD_DROPPED), 0);
}

/* ------------------------------------------------------------------------- */
/* What is taken                                                             */
/* ------------------------------------------------------------------------- */

/* A packet from a to b that has not arrived yet: a SEND of 4 bytes. */
static struct eg_port *frame_in_hand(const struct eg_pair *p)
{
	eg_port[0].lose = true;
	post(p, 1, VIRTIO_IB_WR_SEND, 4);
	eg_run(p->engine);
	assert_int_equal(eg_port[0].sent, 1);
	return &eg_port[0];
}

static bool arrives(const struct eg_port *from)
{
	return eg_frame(from->peer, from->frame, from->len);
}

/* Sends it with byte @off changed, and restores the byte. */
static bool arrives_with(struct eg_port *from, unsigned int off, uint8_t value)
{
	uint8_t old = from->frame[off];
	bool taken;

	assert_int_not_equal(old, value);
	from->frame[off] = value;
	taken = arrives(from);
	from->frame[off] = old;
	return taken;
}

static void test_taken(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);

	assert_false(arrives_with(from, 5, 0x57));		/* MAC */
	assert_false(arrives_with(from, 0, 0xff));
	assert_false(arrives_with(from, ETH + 19, 9));		/* GID */
	assert_false(arrives_with(from, ETH + 9, 6));		/* TCP */
	assert_false(arrives_with(from, ETH + 23, 0));		/* port */
	assert_false(arrives_with(from, BTH + 7, 7));		/* no QP */
	assert_false(arrives_with(from, BTH + 5, 1));
	eg_recv(&p.b, 5, IN, 64);
	assert_true(arrives(from));
	eg_run(p.engine);
	eg_expect_received(&p, 5, 4);
}

/* Peers that look for the address of a macvlan interface find that interface's MAC. */
static void test_taken_by_further_address(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);

	assert_false(arrives_with(from, 5, 0x57));
	memcpy(from->peer->further, from->peer->mac, ETH_ALEN);
	from->peer->further[5] = 0x57;
	eg_recv(&p.b, 5, IN, 64);
	assert_true(arrives_with(from, 5, 0x57));
	eg_run(p.engine);
	eg_expect_received(&p, 5, 4);
	assert_false(arrives_with(from, 5, 0x58));
}

static void test_not_for_reset_qp(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);

	eg_to(&p.b, UC, VIRTIO_IB_QPS_RESET, &p.a);
	assert_false(arrives(from));
	eg_destroy_qp(p.b.guest, p.b.qpn);
	assert_false(arrives(from));
}

static void test_bad_frames(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);
	uint8_t big[ROCE_FRAME_MAX + 1] = {};

	eg_recv(&p.b, 5, IN, 64);
	assert_true(arrives_with(from, from->len - 1,
				 ~from->frame[from->len - 1]));
	assert_true(arrives_with(from, BTH + 13, 0xee));
	eg_run(p.engine);
	assert_int_equal(B(RCVD_ICRC_ERR), 2);
	assert_true(arrives_with(from, BTH, 0x1f));
	assert_true(arrives_with(from, ETH + 10, 0x99));
	eg_run(p.engine);
	assert_int_equal(B(RCVD_MALFORMED), 2);
	memcpy(big, from->frame, from->len);
	assert_true(eg_frame(from->peer, big, sizeof(big)));
	assert_int_equal(B(RCVD_MALFORMED), 3);
	assert_int_equal(B(RCVD_PKTS), 0);
	eg_expect_none(&p.b);
}

/* Frames for which there is no room are lost; the others arrive. */
static void test_ring_full(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);
	unsigned int i;

	for (i = 0; i < 5000; i++)
		assert_true(arrives(from));
	assert_true(rnic_sleep(p.b.guest->rnic));
	assert_in_range(B(RCVD_DROPPED), 1000, 4999);
	eg_recv(&p.b, 5, IN, 64);
	eg_run(p.engine);
	eg_expect_received(&p, 5, 4);
	assert_int_equal(B(RCVD_DROPPED) + B(RCVD_PKTS), 5000);
}

static void test_reset_drops(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);

	assert_true(arrives(from));
	rnic_reset(p.b.guest->rnic);
	assert_false(rnic_sleep(p.b.guest->rnic));
	assert_false(rnic_poll(p.b.guest->rnic));
}

/* Repeated READs, of which each comes to stand in the middle of those before it. */
#define AGAIN		128u

/* A round has 2048 pieces, and the last READ may take more. */
#define ROUND_PIECES	2048u

/*
 * A peer asks for a long READ, then again for single packets of it, so that the line of READs
 * has to be moved for each.  That counts: a round ends before all of them are looked at.
 */
static void test_reads_again_are_charged(void **state)
{
	struct eg_pair p = pair_by_port(state, RC);
	struct rnic *rnic = p.b.guest->rnic;
	uint32_t psn, i, n, moved = 0, all = 0;
	struct roce_rx rx;

	eg_port[0].lose = true;
	eg_port[1].lose = true;
	post(&p, 1, VIRTIO_IB_WR_RDMA_READ, 8);
	rnic_poll(p.a.guest->rnic);
	assert_int_equal(eg_port[0].sent, 1);
	assert_null(roce_parse(&rx, eg_port[0].frame, eg_port[0].len));
	psn = rx.pkt.psn;
	for (i = 0; i <= AGAIN; i++) {
		rx.pkt.va = EG_VA;
		rx.pkt.dmalen = i ? 8 : 1000 * 1024;
		/* 0, 998, 1, 997, ... */
		rx.pkt.psn = i ? psn + (i % 2 ? i / 2 : 999 - i / 2) : psn;
		rx.pkt.psn &= 0xffffff;
		eg_port[0].len = eg_build(eg_port[0].frame, &rx.path, &rx.pkt, NULL);
		assert_true(eg_frame(&eg_port[1], eg_port[0].frame, eg_port[0].len));
	}
	assert_int_equal(rnic->port.n, AGAIN + 1);
	rnic_poll(rnic);
	n = AGAIN - rnic->port.n;
	for (i = 0; i < AGAIN; i++) {
		all += i / 2;
		moved += i < n ? i / 2 : 0;
	}
	assert_in_range(moved, 1, ROUND_PIECES + AGAIN / 2);
	assert_true(all > 3 * ROUND_PIECES / 2);
	/* The others follow. */
	while (rnic->port.n)
		assert_true(rnic_poll(rnic));
	assert_int_equal(B(DUP_REQUEST), AGAIN);
}

/* From an address other than the peer's. */
static void test_another_peer(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);
	struct roce_rx rx;
	uint8_t data[4] = {};

	assert_null(roce_parse(&rx, from->frame, from->len));
	rx.sgid[15]++;
	from->len = eg_build(from->frame, &rx.path, &rx.pkt, data);
	assert_true(arrives(from));
	eg_run(p.engine);
	assert_int_equal(B(RCVD_DROPPED), 1);
	assert_int_equal(B(RCVD_PKTS), 0);
}

/* ------------------------------------------------------------------------- */
/* VLANs                                                                     */
/* ------------------------------------------------------------------------- */

static void test_vlan(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p;
	struct roce_rx rx;

	assert_int_equal(set_vlan(&engine->guest[0], VLAN_7), VIRTIO_NET_OK);
	assert_int_equal(set_vlan(&engine->guest[1], VLAN_7), VIRTIO_NET_OK);
	p = pair_by_port(state, RC);
	eg_recv(&p.b, 1, IN, 64);
	post(&p, 1, VIRTIO_IB_WR_SEND, 4);
	eg_run(engine);
	eg_expect_sent(&p, 1);
	eg_expect_received(&p, 1, 4);
	assert_null(roce_parse(&rx, eg_port[0].frame, eg_port[0].len));
	assert_int_equal(rx.path.vlan, VLAN_7);
}

/* The tag must be that of the GID. */
static void test_vlan_must_match(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p;
	struct eg_port *from;

	assert_int_equal(set_vlan(&engine->guest[0], VLAN_7), VIRTIO_NET_OK);
	p = pair_by_port(state, UC);
	from = frame_in_hand(&p);
	assert_int_equal(from->frame[ETH], 0);
	assert_int_equal(from->frame[ETH + 1], 7);
	assert_false(arrives(from));
	assert_int_equal(set_vlan(&engine->guest[1], VLAN_7), VIRTIO_NET_OK);
	assert_true(arrives(from));
	/* A tag of VLAN 0 counts as no tag. */
	assert_false(arrives_with(from, ETH + 1, 0));
	assert_int_equal(set_vlan(&engine->guest[1], 0), VIRTIO_NET_OK);
	assert_true(arrives_with(from, ETH + 1, 0));
}

/* The same GID twice: without a tag, and in a VLAN. */
static void test_vlan_same_gid(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_add_gid req = {
		.index = htole16(3),
		.vlan = htole16(VLAN_7),
	};
	struct fabric_end *a = &engine->guest[0].rnic->end;
	struct fabric_end *b = &engine->guest[1].rnic->end;

	eg_gid(&engine->guest[0], req.gid);
	assert_ptr_equal(fabric_route(b, req.gid, 0).to, a);
	assert_null(fabric_route(b, req.gid, VLAN_7).to);
	assert_ptr_equal(fabric_route(b, req.gid, VLAN_7).transport, b->beyond);
	assert_int_equal(eg_command(&engine->guest[0],
				    VIRTIO_NET_CTRL_ROCE_ADD_GID, &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_OK);
	assert_ptr_equal(fabric_route(b, req.gid, VLAN_7).to, a);
	assert_ptr_equal(fabric_route(b, req.gid, 0).to, a);
	assert_true(fabric_has(a, req.gid, VLAN_7));
	assert_false(fabric_has(b, req.gid, VLAN_7));
	assert_false(fabric_has(a, req.gid, VLAN_7 + 1));
}

static void test_vlan_bad(void **state)
{
	static const uint16_t bad[] = {
		7, 0x8000, 0x8fff, 0x9007, 0xffff, 0x0fff, 0x4007,
	};
	struct engine *engine = *state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(set_vlan(&engine->guest[0], bad[i]),
				 VIRTIO_NET_ERR);
	assert_int_equal(set_vlan(&engine->guest[0], 0x8001), VIRTIO_NET_OK);
	assert_int_equal(set_vlan(&engine->guest[0], 0x8ffe), VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* Datagrams                                                                 */
/* ------------------------------------------------------------------------- */

/* The receiver finds the header that was on the wire, and the VLAN. */
static void test_datagram(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p;
	struct eg_wr wr;
	struct eg_wc wc;
	uint8_t *buf;

	assert_int_equal(set_vlan(&engine->guest[0], VLAN_7), VIRTIO_NET_OK);
	assert_int_equal(set_vlan(&engine->guest[1], VLAN_7), VIRTIO_NET_OK);
	p = pair_by_port(state, UD);
	wr = eg_send(&p.a, 1, 0, 100);
	wr.remote_qpn = p.b.qpn;
	wr.remote_qkey = 0x1234;
	wr.ah = eg_create_ah(p.a.guest, p.a.pdn, p.b.guest);
	eg_fill(p.a.guest, 0, 100, 9);
	eg_recv(&p.b, 2, IN, 200);
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	eg_expect(&p.a, 1, OK);
	wc = eg_expect(&p.b, 2, OK);
	assert_int_equal(wc.byte_len, 140);
	assert_int_equal(wc.src_qp, p.a.qpn);
	assert_int_equal(wc.flags, VIRTIO_IB_WC_GRH | VIRTIO_IB_WC_IPV4 |
			 VIRTIO_IB_WC_WITH_VLAN);
	assert_int_equal(wc.vlan, 7);
	buf = eg_ptr(p.b.guest, EG_DATA + IN);
	assert_memory_equal(buf + 20, eg_port[0].frame + ETH + 4, 20);
	eg_check(p.b.guest, IN + 40, 100, 9, 0);
	/* Once more, without a receive request. */
	eg_post_send(&p.a, &wr);
	eg_run(engine);
	assert_int_equal(B(RCVD_DROPPED), 1);
	assert_int_equal(B(RCVD_PKTS), 1);
}

/* ------------------------------------------------------------------------- */
/* Congestion                                                                */
/* ------------------------------------------------------------------------- */

/* Routers mark packets on their way; the ICRC does not cover the mark. */
static void test_congestion_met(void **state)
{
	struct eg_pair p = pair_by_port(state, UC);
	struct eg_port *from = frame_in_hand(&p);
	struct roce_rx rx;
	uint8_t data[4] = {};

	assert_null(roce_parse(&rx, from->frame, from->len));
	rx.path.tclass |= 3;
	from->len = eg_build(from->frame, &rx.path, &rx.pkt, data);
	eg_recv(&p.b, 1, IN, 64);
	assert_true(arrives(from));
	eg_run(p.engine);
	assert_int_equal(B(RCVD_ECN), 1);
	assert_int_equal(B(RCVD_PKTS), 1);
}

/* A notification, to a QP of any connected type and to no other. */
static void test_cnp(void **state)
{
	static const uint8_t types[] = { RC, UC };
	struct eg_pair p = pair_by_port(state, UD);
	struct pkt pkt = { .opcode = PKT_CNP, .npsn = 1 };
	struct eg_pair conn;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		eg_pair(p.engine, types[i], &conn.a, &conn.b);
		pkt.opcode = PKT_CNP;
		qp_send(qp_get(&conn.a.guest->rnic->qps, conn.a.qpn), &pkt);
		assert_int_equal(eg_port[0].frame[BTH], PKT_CNP);
		eg_run(p.engine);
		assert_int_equal(B(RCVD_CNP), i + 1);
	}
	assert_true(arrives_with(&eg_port[0], BTH + 7, p.b.qpn));
	eg_run(p.engine);
	assert_int_equal(B(RCVD_CNP), 2);
}

/* The service level is the priority in a VLAN's tag, and reads back. */
static void test_service_level(void **state)
{
	struct eg_pair p = { .engine = *state };
	struct virtio_rdma_cmd_modify_qp req;
	struct virtio_rdma_ack_query_qp qp;
	unsigned int sl;

	eg_ports(p.engine);
	assert_int_equal(set_vlan(&p.engine->guest[0], VLAN_7), VIRTIO_NET_OK);
	assert_int_equal(set_vlan(&p.engine->guest[1], VLAN_7), VIRTIO_NET_OK);
	p = eg_pair_up(state, RC);
	for (sl = 0; sl < 16; sl++) {
		eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
		eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
		req = eg_modify_req(p.a.qpn, RC, VIRTIO_IB_QPS_RTR, p.b.guest, p.b.qpn);
		req.ah_attr.sl = sl;
		assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
		req = eg_modify_req(p.a.qpn, RC, VIRTIO_IB_QPS_RTS, p.b.guest, p.b.qpn);
		req.attr_mask |= htole32(VIRTIO_IB_QP_RATE_LIMIT);
		req.rate_limit = htole32(1000000 + sl);
		assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
		qp = eg_query(p.a.guest, p.a.qpn);
		assert_int_equal(qp.ah_attr.sl, sl);
		assert_int_equal(le32toh(qp.rate_limit), 1000000 + sl);
		post(&p, 1, VIRTIO_IB_WR_RDMA_WRITE, 4);
		assert_true(rnic_poll(p.a.guest->rnic));
		assert_int_equal(eg_port[0].frame[12] << 8 | eg_port[0].frame[13], 0x8100);
		assert_int_equal(eg_port[0].frame[14], (sl & 7) << 5);
		assert_int_equal(eg_port[0].frame[15], 7);
	}
}

#define T(fn)	cmocka_unit_test_setup_teardown(fn, eg_setup, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_messages),
		T(test_one_ack),
		T(test_nak_instead_of_ack),
		T(test_counters),
		T(test_counters_local),
		T(test_own_gid),
		T(test_mtu),
		T(test_mtu_of_datagram),
		T(test_mtu_of_datagram_in_memory),
		T(test_port_down),
		T(test_unknown_gid),
		T(test_taken),
		T(test_taken_by_further_address),
		T(test_not_for_reset_qp),
		T(test_bad_frames),
		T(test_ring_full),
		T(test_reset_drops),
		T(test_reads_again_are_charged),
		T(test_another_peer),
		T(test_vlan),
		T(test_service_level),
		T(test_vlan_must_match),
		T(test_vlan_same_gid),
		T(test_vlan_bad),
		T(test_datagram),
		T(test_congestion_met),
		T(test_cnp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
