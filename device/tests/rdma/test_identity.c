// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Nobody sends in the name of another one: a third guest and the world outside try to get
 * packets into the connection of two guests, with all numbers guessed right.
 */
#include "tests/lib/engine_port.h"
#include "rdma/qp/qp_queues.h"
#include "rdma/rnic_priv.h"

#define RC	VIRTIO_IB_QPT_RC
#define UD	VIRTIO_IB_QPT_UD
#define IN	EG_IN

#define B(name)	eg_count(p.b.guest, VIRTIO_RDMA_CNT_ ## name)

/* The third guest, which only has to exist. */
static struct eg_port third;

static const uint8_t *third_mac(void *arg)
{
	struct eg_port *port = arg;

	return port->mac;
}

static const struct rnic_eth third_eth = {
	.mac = third_mac,
	.hears = eg_port_hears,
	.behind = eg_port_behind,
};

static void third_start(struct engine *engine)
{
	static const struct rnic_limits limits = {
		.qps = 2, .cqs = 1, .queue_size = 8, .cqe = 8, .mrs = 1,
		.pds = 1, .ahs = 1,
	};

	third = (struct eg_port) { .mac = { 2, 0, 0, 0, 0, 3 } };
	third.rnic = rnic_new(engine->loop, engine->fabric, &limits, "third");
	assert_non_null(third.rnic);
	rnic_set_eth(third.rnic, &third_eth, &third);
}

static int setup(void **state)
{
	int ret = eg_setup(state);

	if (!ret)
		third_start(*state);
	return ret;
}

static int teardown(void **state)
{
	rnic_free(third.rnic);
	return eg_teardown(state);
}

static struct qp *qp_of(const struct eg_end *end)
{
	return qp_get(&end->guest->rnic->qps, end->qpn);
}

/* A SEND of 4 bytes with the PSN that b expects next; it has no origin yet. */
static struct pkt forged(const struct eg_pair *p, struct sg *sg)
{
	static uint8_t data[4] = { 0xde, 0xad, 0xbe, 0xef };
	const struct qp *a = qp_of(&p->a), *b = qp_of(&p->b);

	sg_init_flat(sg, data);
	return (struct pkt) {
		.opcode = PKT_OPCODE(PKT_RC, PKT_SEND_ONLY),
		.ack_req = true,
		.psn = b->resp.epsn & PSN_MASK,
		.npsn = 1,
		.dest_qpn = p->b.qpn,
		.src_qpn = p->a.qpn,
		.sgid = a->attr.sgid,
		.dgid = b->attr.sgid,
		.av = &a->attr.av,
		.len = sizeof(data),
		.payload = sg,
	};
}

/* Delivers it in memory; true if it used b's receive request. */
static bool gets_in(const struct eg_pair *p, const struct rnic *from)
{
	struct fabric_end *end = &p->b.guest->rnic->end;
	struct sg sg;
	struct pkt pkt = forged(p, &sg);
	struct eg_wc wc;

	pkt.from = from ? &from->end : NULL;
	end->deliver(end, &pkt);
	eg_run(p->engine);
	return eg_poll(&p->b, &wc);
}

/* It comes as a frame, which b looks at in its next round. */
static void comes_by_port(const struct eg_pair *p, const struct rnic *from)
{
	uint8_t frame[ROCE_FRAME_MAX], mac[] = EG_MAC;
	struct roce_path path;
	struct sg sg;
	struct pkt pkt = forged(p, &sg);
	size_t len;

	roce_path_init(&path, &pkt, mac);
	len = eg_build(frame, &path, &pkt, (const uint8_t *)"\xde\xad\xbe\xef");
	assert_true(len);
	assert_true(eg_frame_from(&eg_port[1], from, frame, len));
}

/* Delivers it as a frame. */
static bool gets_in_by_port(const struct eg_pair *p, const struct rnic *from)
{
	struct eg_wc wc;

	comes_by_port(p, from);
	eg_run(p->engine);
	return eg_poll(&p->b, &wc);
}

static uint8_t gid_command(struct rnic *rnic, uint8_t command, const void *req,
			   size_t len)
{
	struct iovec iov = { .iov_base = (void *)req, .iov_len = len };
	struct rnic_request request = { .iov = &iov, .iov_n = 1, .len = len };
	size_t rsp_len;

	return rnic_command(rnic, command, &request, NULL, 0, &rsp_len);
}

static void add_gid(struct rnic *rnic, const struct eg_guest *of)
{
	struct virtio_rdma_cmd_add_gid req = { 0 };

	eg_gid(of, req.gid);
	assert_int_equal(gid_command(rnic, VIRTIO_NET_CTRL_ROCE_ADD_GID, &req,
				     sizeof(req)), VIRTIO_NET_OK);
}

static void del_gid(const struct eg_guest *guest)
{
	struct virtio_rdma_cmd_del_gid req = { 0 };

	assert_int_equal(gid_command(guest->rnic, VIRTIO_NET_CTRL_ROCE_DEL_GID,
				     &req, sizeof(req)), VIRTIO_NET_OK);
}

/* A guest enters a GID that another one has, and sends with it as source. */
static void test_second_owner(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	add_gid(third.rnic, p.a.guest);
	eg_recv(&p.b, 7, IN, 64);
	assert_false(gets_in(&p, third.rnic));
	assert_false(gets_in(&p, p.b.guest->rnic));
	assert_int_equal(B(RCVD_DROPPED), 2);
	assert_int_equal(B(RCVD_PKTS), 0);
	assert_true(gets_in(&p, p.a.guest->rnic));
	eg_expect_states(&p, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_RTS);
}

/* Raw frames, from a guest or by an uplink, to a QP whose peer is in memory. */
static void test_frames_for_local_peer(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_plug(p.engine);
	eg_recv(&p.b, 7, IN, 64);
	assert_false(gets_in_by_port(&p, NULL));
	assert_false(gets_in_by_port(&p, third.rnic));
	assert_int_equal(B(RCVD_DROPPED), 2);
	eg_recv(&p.b, 8, IN, 64);
	eg_expect_states(&p, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_RTS);
	assert_true(gets_in(&p, p.a.guest->rnic));
}

/* The same if guests of the daemon exchange packets. */
static void test_packets(void **state)
{
	struct eg_pair p;

	eg_ports(*state);
	p = eg_pair_up(state, RC);
	add_gid(third.rnic, p.a.guest);
	eg_recv(&p.b, 7, IN, 64);
	assert_false(gets_in_by_port(&p, NULL));
	assert_false(gets_in_by_port(&p, third.rnic));
	assert_int_equal(B(RCVD_DROPPED), 2);
	assert_true(gets_in_by_port(&p, p.a.guest->rnic));
}

/*
 * The peer is outside the daemon: no guest can send in its name, except one whose port
 * has the address of the connection, or a bridge with it behind, because that may run
 * Soft-RoCE.
 */
static void test_remote_peer(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);

	eg_plug(p.engine);
	del_gid(p.a.guest);
	eg_recv(&p.b, 7, IN, 64);
	assert_false(gets_in(&p, third.rnic));
	assert_false(gets_in_by_port(&p, third.rnic));
	assert_int_equal(B(RCVD_DROPPED), 2);
	assert_true(gets_in_by_port(&p, NULL));
	eg_recv(&p.b, 8, IN, 64);
	assert_true(gets_in_by_port(&p, p.a.guest->rnic));
	memcpy(third.behind, (uint8_t[])EG_MAC, sizeof(third.behind));
	eg_recv(&p.b, 10, IN, 64);
	assert_true(gets_in_by_port(&p, third.rnic));
	/* A guest gets this GID. */
	add_gid(third.rnic, p.a.guest);
	eg_recv(&p.b, 9, IN, 64);
	assert_false(gets_in_by_port(&p, NULL));
	assert_false(gets_in_by_port(&p, p.a.guest->rnic));
	assert_int_equal(B(RCVD_DROPPED), 4);
}

/* The operator removes a guest while a frame of its waits. */
static void test_sender_is_removed(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wc wc;

	eg_plug(p.engine);
	del_gid(p.a.guest);
	eg_recv(&p.b, 7, IN, 64);
	memcpy(third.behind, (uint8_t[])EG_MAC, sizeof(third.behind));
	comes_by_port(&p, third.rnic);
	rnic_free(third.rnic);
	eg_run(p.engine);
	assert_false(eg_poll(&p.b, &wc));
	assert_int_equal(B(RCVD_MALFORMED), 0);
	third_start(p.engine);
	memcpy(third.behind, (uint8_t[])EG_MAC, sizeof(third.behind));
	assert_true(gets_in_by_port(&p, third.rnic));
}

static bool datagram_gets_in(const struct eg_pair *p, const struct rnic *from,
			     const uint8_t *sgid)
{
	struct fabric_end *end = &p->b.guest->rnic->end;
	static const struct pkt_av av;
	uint8_t dgid[GID_SIZE];
	struct pkt pkt = {
		.opcode = PKT_OPCODE(PKT_UD, PKT_SEND_ONLY),
		.npsn = 1,
		.dest_qpn = p->b.qpn,
		.src_qpn = p->a.qpn,
		.qkey = qp_of(&p->b)->attr.qkey,
		.sgid = sgid,
		.dgid = dgid,
		.av = &av,
		.from = from ? &from->end : NULL,
	};
	struct eg_wc wc;

	eg_gid(p->b.guest, dgid);
	end->deliver(end, &pkt);
	eg_run(p->engine);
	return eg_poll(&p->b, &wc);
}

/* The source of a datagram, such as a connection request, cannot be forged. */
static void test_datagram(void **state)
{
	struct eg_pair p = eg_pair_up(state, UD);
	uint8_t sgid[GID_SIZE], nobody[GID_SIZE];

	eg_gid(p.a.guest, sgid);
	eg_gid(p.a.guest, nobody);
	nobody[15] = 99;
	add_gid(third.rnic, p.a.guest);
	eg_recv(&p.b, 7, IN, 64);
	assert_false(datagram_gets_in(&p, third.rnic, sgid));
	assert_false(datagram_gets_in(&p, NULL, sgid));
	assert_int_equal(B(RCVD_DROPPED), 2);
	assert_true(datagram_gets_in(&p, p.a.guest->rnic, sgid));
	eg_recv(&p.b, 8, IN, 64);
	assert_true(datagram_gets_in(&p, NULL, nobody));
}

static bool not_10_0_0_2(const void *arg, const uint8_t *gid)
{
	assert_ptr_equal(arg, &third);
	return gid[15] != 2;
}

/* A GID that the operator has not given to a guest. */
static void test_gid_not_allowed(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_add_gid req = { 0 };
	struct fabric *fabric = engine->fabric;
	uint8_t gid[GID_SIZE];

	rnic_set_gid_policy(third.rnic, not_10_0_0_2, &third);
	eg_gid(&engine->guest[1], req.gid);
	memcpy(gid, req.gid, GID_SIZE);
	assert_int_equal(gid_command(third.rnic, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				     &req, sizeof(req)), VIRTIO_NET_ERR);
	assert_ptr_equal(fabric_find(fabric, gid, 0)->end,
			 &engine->guest[1].rnic->end);
	assert_false(fabric_has(&third.rnic->end, gid, 0));
	add_gid(third.rnic, &engine->guest[0]);
	/* The entry keeps what it had. */
	assert_int_equal(gid_command(third.rnic, VIRTIO_NET_CTRL_ROCE_ADD_GID,
				     &req, sizeof(req)), VIRTIO_NET_ERR);
	eg_gid(&engine->guest[0], gid);
	assert_true(fabric_has(&third.rnic->end, gid, 0));
}

#define T(fn)	cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_second_owner),
		T(test_frames_for_local_peer),
		T(test_packets),
		T(test_remote_peer),
		T(test_sender_is_removed),
		T(test_datagram),
		T(test_gid_not_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
