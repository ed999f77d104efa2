// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast: who is attached, and who gets a datagram.
 */
#include "tests/lib/engine_port.h"
#include "base/util.h"
#include "rdma/rnic_priv.h"

#define UD	VIRTIO_IB_QPT_UD
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN
#define GRH	40
#define QKEY	0x1234	/* of eg_modify_req() */

#define ETH	14
#define BTH	(ETH + 20 + 8)

#define ATTACH	VIRTIO_NET_CTRL_ROCE_ATTACH_MCAST
#define DETACH	VIRTIO_NET_CTRL_ROCE_DETACH_MCAST

/* 239.1.1.1, and where Ethernet brings it. */
static const uint8_t group_gid[GID_SIZE] = {
	[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 1, [15] = 1,
};
static const uint8_t group_mac[ETH_ALEN] = { 1, 0, 0x5e, 1, 1, 1 };

/**
 * struct party - QPs that a test has
 * @engine:	engine, whose guests have ports
 * @a:		sends, in guest 1
 * @beside:	another one in guest 1, with a CQ of its own
 * @b:		in guest 2
 * @ah:		of @a, the group
 */
struct party {
	struct engine *engine;
	struct eg_end a;
	struct eg_end beside;
	struct eg_end b;
	uint32_t ah;
};

static void bring_up(struct eg_end *end)
{
	eg_to(end, UD, VIRTIO_IB_QPS_INIT, end);
	eg_to(end, UD, VIRTIO_IB_QPS_RTR, end);
	eg_to(end, UD, VIRTIO_IB_QPS_RTS, end);
}

static uint32_t group_ah(const struct eg_end *end, const uint8_t *gid)
{
	struct virtio_rdma_cmd_create_ah req = { .pdn = htole32(end->pdn) };
	struct virtio_rdma_ack_create_ah ack;

	req.ah_attr.grh.hop_limit = 1;
	memcpy(req.ah_attr.grh.dgid, gid, GID_SIZE);
	memcpy(req.ah_attr.dmac, group_mac, ETH_ALEN);
	assert_int_equal(eg_command(end->guest, VIRTIO_NET_CTRL_ROCE_CREATE_AH,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	return le32toh(ack.ah);
}

static struct party party_of(void **state)
{
	struct engine *engine = *state;
	struct party p = { .engine = engine };

	eg_plug(engine);
	p.a = eg_open(&engine->guest[0], UD);
	p.beside = eg_open(&engine->guest[0], UD);
	p.b = eg_open(&engine->guest[1], UD);
	bring_up(&p.a);
	bring_up(&p.beside);
	bring_up(&p.b);
	p.ah = group_ah(&p.a, group_gid);
	return p;
}

static uint8_t command(const struct eg_guest *guest, uint8_t cmd, uint32_t qpn,
		       const uint8_t *gid)
{
	struct virtio_rdma_cmd_mcast req = { .qpn = htole32(qpn) };

	memcpy(req.gid, gid, GID_SIZE);
	return eg_command((struct eg_guest *)guest, cmd, &req, sizeof(req),
			  NULL, 0);
}

static void attach(const struct eg_end *end)
{
	assert_int_equal(command(end->guest, ATTACH, end->qpn, group_gid),
			 VIRTIO_NET_OK);
}

static void detach(const struct eg_end *end)
{
	assert_int_equal(command(end->guest, DETACH, end->qpn, group_gid),
			 VIRTIO_NET_OK);
}

static struct eg_wr datagram(const struct party *p, uint64_t wr_id,
			     uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a, wr_id, 0, len);

	wr.remote_qpn = VIRTIO_RDMA_MCAST_QPN;
	wr.remote_qkey = QKEY;
	wr.ah = p->ah;
	return wr;
}

static void send_one(const struct party *p, const struct eg_wr *wr)
{
	eg_post_send(&p->a, wr);
	eg_run(p->engine);
}

/* @end has received a datagram from a, at offset @off. */
static void expect_datagram(const struct party *p, const struct eg_end *end,
			    uint64_t wr_id, uint64_t off, uint32_t len)
{
	struct eg_wc wc = eg_expect(end, wr_id, OK);

	assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV);
	assert_int_equal(wc.byte_len, GRH + len);
	assert_int_equal(wc.src_qp, p->a.qpn);
	assert_int_equal(wc.qp_num, end->qpn);
	eg_check(end->guest, off + GRH, len, 5, 0);
	assert_memory_equal(eg_ptr(end->guest, EG_DATA + off + 36),
			    group_gid + 12, 4);
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void test_bad_commands(void **state)
{
	static const uint8_t unicast[][GID_SIZE] = {
		{}, { 0xfe, 0x80, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 223, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 240, [15] = 1 },
	};
	struct party p = party_of(state);
	struct eg_guest *guest = p.a.guest;
	struct virtio_rdma_cmd_mcast req = { .qpn = htole32(p.a.qpn) };
	uint32_t i, rc = eg_create_qp(guest, VIRTIO_IB_QPT_RC, p.a.pdn,
				      p.a.cqn);
	uint32_t gsi = eg_create_qp(guest, VIRTIO_IB_QPT_GSI, p.a.pdn,
				    p.a.cqn);

	for (i = 0; i < ARRAY_SIZE(unicast); i++)
		assert_int_equal(command(guest, ATTACH, p.a.qpn, unicast[i]),
				 VIRTIO_NET_ERR);
	assert_int_equal(command(guest, ATTACH, rc, group_gid), VIRTIO_NET_ERR);
	assert_int_equal(command(guest, ATTACH, gsi, group_gid),
			 VIRTIO_NET_ERR);
	assert_int_equal(command(guest, ATTACH, 0, group_gid), VIRTIO_NET_ERR);
	assert_int_equal(command(guest, ATTACH, EG_QPS, group_gid),
			 VIRTIO_NET_ERR);
	assert_int_equal(command(guest, ATTACH, UINT32_MAX, group_gid),
			 VIRTIO_NET_ERR);
	memcpy(req.gid, group_gid, GID_SIZE);
	assert_int_equal(eg_command(guest, ATTACH, &req, sizeof(req) - 1, NULL,
				    0), VIRTIO_NET_ERR);
	assert_int_equal(guest->rnic->mcast.n, 0);
}

static void test_detach(void **state)
{
	static const uint8_t other[GID_SIZE] = { 0xff, 0x12, [15] = 1 };
	struct party p = party_of(state);
	struct eg_guest *guest = p.a.guest;

	assert_int_equal(command(guest, DETACH, p.a.qpn, group_gid),
			 VIRTIO_NET_ERR);
	attach(&p.a);
	attach(&p.a);
	assert_int_equal(guest->rnic->mcast.group[0].n, 1);
	assert_int_equal(command(guest, DETACH, p.beside.qpn, group_gid),
			 VIRTIO_NET_ERR);
	assert_int_equal(command(guest, DETACH, p.a.qpn, other),
			 VIRTIO_NET_ERR);
	detach(&p.a);
	assert_int_equal(command(guest, DETACH, p.a.qpn, group_gid),
			 VIRTIO_NET_ERR);
	assert_int_equal(guest->rnic->mcast.n, 0);
}

static void test_groups_full(void **state)
{
	struct party p = party_of(state);
	struct eg_guest *guest = p.a.guest;
	uint8_t gid[GID_SIZE] = { 0xff, 0x12 };
	unsigned int i;

	for (i = 0; i < MCAST_GROUPS; i++) {
		gid[15] = i;
		assert_int_equal(command(guest, ATTACH, i % 3 ? p.a.qpn :
					 p.beside.qpn, gid), VIRTIO_NET_OK);
	}
	assert_int_equal(command(guest, ATTACH, p.a.qpn, group_gid),
			 VIRTIO_NET_ERR);
	/* A group that exists still has room. */
	assert_int_equal(command(guest, ATTACH, p.beside.qpn, gid),
			 VIRTIO_NET_OK);
	eg_destroy_qp(guest, p.a.qpn);
	assert_int_equal(guest->rnic->mcast.n, (MCAST_GROUPS + 2) / 3 + 1);
	assert_int_equal(command(guest, ATTACH, p.beside.qpn, group_gid),
			 VIRTIO_NET_OK);
	eg_destroy_qp(guest, p.beside.qpn);
	assert_int_equal(guest->rnic->mcast.n, 0);
}

static void test_group_full(void **state)
{
	struct party p = party_of(state);
	struct mcast_group *group = &p.a.guest->rnic->mcast.group[0];

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	attach(&p.a);
	group->n = MCAST_QPS;
	assert_int_equal(command(p.a.guest, ATTACH, p.beside.qpn, group_gid),
			 VIRTIO_NET_ERR);
	attach(&p.a);
	group->n = MCAST_QPS - 1;
	attach(&p.beside);
	assert_int_equal(group->n, MCAST_QPS);
	assert_int_equal(group->qpn[MCAST_QPS - 1], p.beside.qpn);
	group->n = 1;
}

static void test_reset(void **state)
{
	struct party p = party_of(state);

	attach(&p.a);
	attach(&p.beside);
	eg_reset(p.a.guest);
	assert_int_equal(p.a.guest->rnic->mcast.n, 0);
}

/* ------------------------------------------------------------------------- */
/* Delivery                                                                  */
/* ------------------------------------------------------------------------- */

/* One frame reaches every QP that is attached, the sender's own guest too. */
static void test_delivery(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 512, 1024 };
	struct party p = party_of(state);
	struct eg_wr wr;
	uint32_t i;

	attach(&p.a);
	attach(&p.beside);
	attach(&p.b);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		eg_fill(p.a.guest, 0, sizes[i], 5);
		eg_zero(p.b.guest, IN, 2000);
		eg_recv(&p.a, 10, IN, 2000);
		eg_recv(&p.beside, 11, IN + 4000, 2000);
		eg_recv(&p.b, 12, IN, 2000);
		wr = datagram(&p, i, sizes[i]);
		send_one(&p, &wr);
		expect_datagram(&p, &p.a, 10, IN, sizes[i]);
		eg_expect(&p.a, i, OK);
		expect_datagram(&p, &p.beside, 11, IN + 4000, sizes[i]);
		expect_datagram(&p, &p.b, 12, IN, sizes[i]);
		assert_int_equal(eg_port[0].sent, i + 1);
		assert_memory_equal(eg_port[0].frame, group_mac, ETH_ALEN);
	}
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_SENT_PKTS), 4);
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_RCVD_PKTS), 4);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_PKTS), 4);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
}

/* These guests reach each other in memory, too. */
static void test_once_only(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.b);
	eg_fill(p.a.guest, 0, 4, 5);
	eg_recv(&p.b, 1, IN, 100);
	eg_recv(&p.b, 2, IN, 100);
	send_one(&p, &wr);
	expect_datagram(&p, &p.b, 1, IN, 4);
	eg_expect_none(&p.b);
}

static void test_inline(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 0);

	attach(&p.beside);
	attach(&p.b);
	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = "inline";
	wr.data_len = 7;
	eg_recv(&p.beside, 1, IN + 4000, 100);
	eg_recv(&p.b, 2, IN, 100);
	send_one(&p, &wr);
	eg_expect(&p.beside, 1, OK);
	eg_expect(&p.b, 2, OK);
	assert_string_equal(eg_ptr(p.a.guest, EG_DATA + IN + 4000 + GRH),
			    "inline");
	assert_string_equal(eg_ptr(p.b.guest, EG_DATA + IN + GRH), "inline");
}

static void test_gone(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.beside);
	attach(&p.b);
	detach(&p.beside);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_recv(&p.beside, 1, IN, 100);
	send_one(&p, &wr);
	eg_expect(&p.a, 1, OK);
	eg_expect_none(&p.beside);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 0);
}

/* Destroyed while a datagram for its group waits to be looked at. */
static void test_gone_meanwhile(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.b);
	eg_recv(&p.b, 1, IN, 100);
	eg_post_send(&p.a, &wr);
	rnic_queue_kick(p.a.guest->rnic, RNIC_SQ, p.a.qpn);
	while (rnic_poll(p.a.guest->rnic))
		;
	eg_expect(&p.a, 1, OK);
	eg_destroy_qp(p.b.guest, p.b.qpn);
	eg_run(p.engine);
	eg_expect_none(&p.b);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 1);
}

static void test_qkey(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.beside);
	attach(&p.b);
	eg_recv(&p.beside, 1, IN, 100);
	eg_recv(&p.b, 1, IN, 100);
	wr.remote_qkey = QKEY + 1;
	send_one(&p, &wr);
	eg_expect(&p.a, 1, OK);
	eg_expect_none(&p.beside);
	eg_expect_none(&p.b);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 1);
}

/* A QP with nowhere to put the datagram is the only one that misses it. */
static void test_one_cannot(void **state)
{
	struct eg_sge bad = { EG_VA, 100, 0xbad };
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.a);
	attach(&p.beside);
	attach(&p.b);
	eg_fill(p.a.guest, 0, 4, 5);
	eg_post_recv(&p.a, 10, &bad, 1);
	eg_recv(&p.beside, 11, IN + 4000, 100);
	eg_recv(&p.b, 12, IN, 100);
	send_one(&p, &wr);
	eg_expect(&p.a, 10, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_expect(&p.a, 1, OK);
	assert_int_equal(eg_state(p.a.guest, p.a.qpn), VIRTIO_IB_QPS_ERR);
	expect_datagram(&p, &p.beside, 11, IN + 4000, 4);
	expect_datagram(&p, &p.b, 12, IN, 4);
}

static void test_port_down(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.beside);
	eg_fill(p.a.guest, 0, 4, 5);
	eg_recv(&p.beside, 1, IN, 100);
	eg_port[0].down = true;
	send_one(&p, &wr);
	eg_expect(&p.a, 1, OK);
	expect_datagram(&p, &p.beside, 1, IN, 4);
	assert_int_equal(eg_count(p.a.guest, VIRTIO_RDMA_CNT_SENT_DROPPED), 1);
}

/* A group with another QPN, and the QPN of groups at an address of one NIC. */
static void test_half_a_group(void **state)
{
	struct party p = party_of(state);
	struct eg_wr wr = datagram(&p, 1, 4);

	attach(&p.a);
	attach(&p.b);
	eg_recv(&p.b, 1, IN, 100);
	wr.remote_qpn = p.b.qpn;
	send_one(&p, &wr);
	eg_expect(&p.a, 1, OK);
	wr = datagram(&p, 2, 4);
	wr.ah = eg_create_ah(p.a.guest, p.a.pdn, p.b.guest);
	send_one(&p, &wr);
	eg_expect(&p.a, 2, OK);
	eg_expect_none(&p.b);
}

/* ------------------------------------------------------------------------- */
/* Frames                                                                    */
/* ------------------------------------------------------------------------- */

/* Sends a datagram whose frame is kept and not delivered. */
static struct eg_port *frame_in_hand(const struct party *p)
{
	struct eg_wr wr = datagram(p, 1, 4);

	eg_fill(p->a.guest, 0, 4, 5);
	eg_port[0].lose = true;
	send_one(p, &wr);
	eg_expect(&p->a, 1, OK);
	return &eg_port[0];
}

/* Delivers that frame to guest 2 with a byte changed; its Ethernet gets it too. */
static void arrives_with(const struct party *p, unsigned int off, uint8_t byte)
{
	uint8_t frame[ROCE_FRAME_MAX];

	memcpy(frame, eg_port[0].frame, eg_port[0].len);
	frame[off] = byte;
	assert_false(eg_frame(&eg_port[1], frame, eg_port[0].len));
	eg_run(p->engine);
}

static void test_frames(void **state)
{
	struct party p = party_of(state);
	struct eg_port *from = frame_in_hand(&p);

	eg_recv(&p.b, 1, IN, 100);
	arrives_with(&p, 0, from->frame[0]);		/* not attached */
	attach(&p.b);
	arrives_with(&p, 0, 0);				/* unicast MAC */
	arrives_with(&p, BTH + 7, 0xfe);		/* another QPN */
	arrives_with(&p, ETH + 19, 2);			/* another group */
	eg_expect_none(&p.b);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED) +
			 eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_MALFORMED),
			 0);
	arrives_with(&p, from->len - 1, ~from->frame[from->len - 1]);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_ICRC_ERR), 1);
	eg_expect_none(&p.b);
	arrives_with(&p, 0, from->frame[0]);
	expect_datagram(&p, &p.b, 1, IN, 4);
}

/* In a round, a datagram is as many as there are QPs that get it. */
static void test_copies_count(void **state)
{
	enum { QPS = 4, FRAMES = 100, ROUND = 256 };
	struct party p = party_of(state);
	struct eg_port *from = frame_in_hand(&p);
	struct rnic *rnic = p.b.guest->rnic;
	struct eg_end end;
	unsigned int i;

	attach(&p.b);
	for (i = 1; i < QPS; i++) {
		end = eg_open(p.b.guest, UD);
		bring_up(&end);
		attach(&end);
	}
	for (i = 0; i < FRAMES; i++)
		eg_frame(&eg_port[1], from->frame, from->len);
	assert_int_equal(rnic->port.n, FRAMES);
	rnic_poll(rnic);
	assert_int_equal(rnic->port.n, FRAMES - ROUND / QPS);
	eg_run(p.engine);
	assert_int_equal(rnic->port.n, 0);
}

/* Of a VLAN in which the guest has no address. */
static void test_vlan(void **state)
{
	struct party p = party_of(state);
	struct virtio_rdma_cmd_add_gid add = {
		.index = htole16(3),
		.vlan = htole16(VIRTIO_RDMA_GID_TAGGED | 7),
	};
	struct eg_port *from;

	attach(&p.b);
	eg_recv(&p.b, 1, IN, 100);
	eg_gid(p.a.guest, add.gid);
	add.index = 0;
	assert_int_equal(eg_command(p.a.guest, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				    &add, sizeof(add), NULL, 0), VIRTIO_NET_OK);
	from = frame_in_hand(&p);
	arrives_with(&p, 0, from->frame[0]);
	eg_expect_none(&p.b);

	add.index = htole16(3);
	eg_gid(p.b.guest, add.gid);
	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				    &add, sizeof(add), NULL, 0), VIRTIO_NET_OK);
	arrives_with(&p, 0, from->frame[0]);
	assert_int_equal(eg_expect(&p.b, 1, OK).vlan, 7);
}

/* Other services have no groups. */
static void test_not_a_datagram(void **state)
{
	static const uint8_t data[ROCE_PAYLOAD_MAX];
	struct party p = party_of(state);
	struct roce_rx rx;
	struct eg_port *from;

	attach(&p.b);
	eg_recv(&p.b, 1, IN, 100);
	from = frame_in_hand(&p);
	assert_null(roce_parse(&rx, from->frame, from->len));
	rx.pkt.opcode = PKT_CNP;
	rx.pkt.len = 0;
	from->len = eg_build(from->frame, &rx.path, &rx.pkt, data);
	arrives_with(&p, 0, from->frame[0]);
	rx.pkt.opcode = PKT_OPCODE(PKT_RC, PKT_SEND_ONLY);
	from->len = eg_build(from->frame, &rx.path, &rx.pkt, data);
	arrives_with(&p, 0, from->frame[0]);
	assert_int_equal(eg_count(p.b.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 2);
	eg_expect_none(&p.b);
}

#define T(fn)	cmocka_unit_test_setup_teardown(fn, eg_setup, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_bad_commands),
		T(test_detach),
		T(test_groups_full),
		T(test_group_full),
		T(test_reset),
		T(test_delivery),
		T(test_once_only),
		T(test_inline),
		T(test_gone),
		T(test_gone_meanwhile),
		T(test_qkey),
		T(test_one_cannot),
		T(test_port_down),
		T(test_half_a_group),
		T(test_frames),
		T(test_copies_count),
		T(test_vlan),
		T(test_not_a_datagram),
	};

	return cmocka_run_group_tests_name("mcast", tests, NULL, NULL);
}
