// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAW_PACKET QPs: frames that they send, and those that flow rules give them.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"

#include <stdlib.h>

#include "rdma/qp/wqe.h"
#include "rdma/rnic_priv.h"

#define RAW		VIRTIO_IB_QPT_RAW_PACKET
#define OK		VIRTIO_IB_WC_SUCCESS
#define SEND		false
#define RECV		true
#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define IN		EG_IN
#define HEADER		14u
#define TAG		4u

static const uint8_t macs[12] = { 2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1 };

static struct er_pair *raw_up(void **state, const struct er_shape *shape)
{
	struct er_pair *p;

	eg_ports(*state);
	p = er_pair_up(state, RAW, shape);
	return p;
}

/* A frame of @len bytes at offset 0 of the region of end a. */
static uint8_t *put_frame(struct er_pair *p, uint32_t len)
{
	uint8_t *frame = eg_ptr(p->a.end.guest, EG_DATA);

	eg_fill(p->a.end.guest, 0, len, len);
	memcpy(frame, macs, sizeof(macs));
	frame[12] = 0x88;
	frame[13] = 0xb5;
	return frame;
}

static void send_frame(struct er_pair *p, uint32_t len)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, len);

	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
}

static void test_sent(void **state)
{
	static const uint32_t lens[] = { HEADER, 15, 60, 1000, EG_MTU + HEADER,
					 EG_MTU + HEADER + TAG };
	struct er_pair *p = raw_up(state, NULL);
	const uint8_t *frame;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		frame = put_frame(p, lens[i]);
		send_frame(p, lens[i]);
		assert_int_equal(er_expect(&p->a, SEND, i, OK).opcode, VIRTIO_IB_WC_SEND);
		assert_int_equal(eg_port[0].sent, i + 1);
		assert_int_equal(eg_port[0].len, lens[i]);
		assert_memory_equal(eg_port[0].frame, frame, lens[i]);
	}
	/* Nobody has asked for them. */
	assert_int_equal(eg_port[1].taken, 0);
	er_expect_none(&p->b);
	assert_int_equal(eg_count(p->a.end.guest, VIRTIO_RDMA_CNT_SENDS), 6);
	assert_int_equal(eg_count(p->a.end.guest, VIRTIO_RDMA_CNT_SENT_PKTS), 6);
	assert_int_equal(eg_count(p->a.end.guest, VIRTIO_RDMA_CNT_SENT_BYTES),
			 14 + 15 + 60 + 1000 + 1514 + 1518);
	er_pair_free(p);
}

static void test_elements(void **state)
{
	struct er_pair *p = raw_up(state, &(struct er_shape) { .send_shift = 7 });
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 5);
	const uint8_t *frame = put_frame(p, 100);

	wr.num_sge = 3;
	wr.sge[1] = wr.sge[0];
	wr.sge[1].addr += 5;
	wr.sge[1].length = 0;
	wr.sge[2] = wr.sge[0];
	wr.sge[2].addr += 5;
	wr.sge[2].length = 95;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, OK);
	assert_int_equal(eg_port[0].len, 100);
	assert_memory_equal(eg_port[0].frame, frame, 100);

	wr = (struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED | VIRTIO_IB_SEND_INLINE,
		.data = frame,
		.data_len = 64,
	};
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 1, OK);
	assert_int_equal(eg_port[0].len, 64);
	assert_memory_equal(eg_port[0].frame, frame, 64);
	er_pair_free(p);
}

/* A packet of UDP, without checksums, in the place of put_frame(). */
static uint8_t *put_packet(struct er_pair *p)
{
	static const uint8_t head[] = {
		0x08, 0x00,
		0x45, 0, 0, 46, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0x30, 0x39, 0, 7, 0, 26, 0, 0,
	};
	uint8_t *frame = put_frame(p, 60);

	memcpy(frame + HEADER - 2, head, sizeof(head));
	memset(frame + 42, 'x', 18);
	return frame;
}

/* The checksums of put_packet(). */
static void test_csum(void **state)
{
	static const uint8_t ip_csum[] = { 0x26, 0xbc }, udp_csum[] = { 0x7f, 0x3b };
	struct er_pair *p = raw_up(state, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 60);
	uint8_t *frame = put_packet(p);
	uint8_t sent[60];

	wr.flags |= VIRTIO_IB_SEND_IP_CSUM;
	memcpy(sent, frame, sizeof(sent));
	memcpy(sent + 24, ip_csum, sizeof(ip_csum));
	memcpy(sent + 40, udp_csum, sizeof(udp_csum));
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, SEND, 0, OK);
	assert_memory_equal(eg_port[0].frame, sent, 60);
	/* The program's memory stays. */
	assert_int_equal(frame[24] | frame[25] | frame[40] | frame[41], 0);
	/* Not asked for. */
	send_frame(p, 60);
	er_expect(&p->a, SEND, 1, OK);
	assert_memory_equal(eg_port[0].frame, frame, 60);
	er_pair_free(p);
}

/* Other QPs have no such flag. */
static void test_csum_only_raw(void **state)
{
	struct er_pair *p = er_pair_up(state, VIRTIO_IB_QPT_RC, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 60);
	struct virtio_rdma_cqe cqe;

	wr.flags |= VIRTIO_IB_SEND_IP_CSUM;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	cqe = er_expect(&p->a, SEND, 0, VIRTIO_IB_WC_LOC_QP_OP_ERR);
	assert_int_equal(le32toh(cqe.vendor_err), VENDOR_ERR_FLAGS);
	er_pair_free(p);
}

static void expect_failed(struct er_pair *p, uint32_t i, uint8_t status, uint16_t why)
{
	struct virtio_rdma_cqe cqe = er_expect(&p->a, SEND, i, status);

	assert_int_equal(le16toh(cqe.vendor_err), why);
	assert_int_equal(eg_state(p->a.end.guest, p->a.qp.qpn), VIRTIO_IB_QPS_SQE);
	eg_to(&p->a.end, RAW, VIRTIO_IB_QPS_RTS, &p->b.end);
}

static void test_refused(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct eg_wr wr;

	put_frame(p, EG_MTU + HEADER + TAG + 1);
	send_frame(p, HEADER - 1);
	expect_failed(p, 0, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
	send_frame(p, 0);
	expect_failed(p, 1, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
	send_frame(p, EG_MTU + HEADER + TAG + 1);
	expect_failed(p, 2, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);
	/* Longer than the room for a frame, whatever the MTU. */
	eg_port[0].mtu = UINT32_MAX;
	send_frame(p, RAW_FRAME_MAX + 1);
	expect_failed(p, 3, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH);

	wr = eg_send(&p->a.end, 0, 0, 100);
	wr.sge[0].lkey ^= 1;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	expect_failed(p, 4, VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);

	wr = eg_send(&p->a.end, 0, 0, 100);
	wr.opcode = VIRTIO_IB_WR_SEND_WITH_IMM;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	expect_failed(p, 5, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_OPCODE);
	assert_int_equal(eg_port[0].sent, 0);

	eg_port[0].mtu = EG_MTU;
	send_frame(p, 100);
	er_expect(&p->a, SEND, 6, OK);
	assert_int_equal(eg_port[0].sent, 1);
	er_pair_free(p);
}

/* A frame that cannot be sent is lost, and complete. */
static void test_lost(void **state)
{
	struct er_pair *p = raw_up(state, NULL);

	put_frame(p, 100);
	eg_port[0].down = true;
	send_frame(p, 100);
	er_expect(&p->a, SEND, 0, OK);
	rnic_set_eth(p->a.end.guest->rnic, NULL, NULL);
	send_frame(p, 100);
	er_expect(&p->a, SEND, 1, OK);
	assert_int_equal(eg_port[0].sent, 0);
	assert_int_equal(eg_count(p->a.end.guest, VIRTIO_RDMA_CNT_SENT_DROPPED), 2);
	er_pair_free(p);
}

static uint8_t modify(struct er_pair *p, uint8_t state, uint32_t mask)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(p->a.qp.qpn, RAW, state, p->b.end.guest, p->b.qp.qpn);

	req.attr_mask |= htole32(mask);
	req.rate_limit = htole32(1000);
	req.max_burst = htole32(5000);
	req.cur_qp_state = eg_state(p->a.end.guest, p->a.qp.qpn);
	return eg_modify(p->a.end.guest, &req);
}

/* It takes no attribute that names a peer. */
static void test_states(void **state)
{
	static const uint32_t none[] = {
		VIRTIO_IB_QP_AV, VIRTIO_IB_QP_QKEY, VIRTIO_IB_QP_DEST_QPN,
		VIRTIO_IB_QP_SQ_PSN, VIRTIO_IB_QP_ACCESS_FLAGS, VIRTIO_IB_QP_PATH_MTU,
	};
	static const uint8_t way[] = {
		VIRTIO_IB_QPS_RESET, VIRTIO_IB_QPS_INIT, VIRTIO_IB_QPS_INIT,
		VIRTIO_IB_QPS_RTR, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_SQD,
		VIRTIO_IB_QPS_SQD, VIRTIO_IB_QPS_RTS, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RESET,
	};
	struct er_pair *p = raw_up(state, NULL);
	unsigned int i, j;

	for (i = 0; i < sizeof(way); i++) {
		for (j = 0; j < sizeof(none) / sizeof(*none); j++)
			assert_int_equal(modify(p, way[i], none[j]), VIRTIO_NET_ERR);
		assert_int_equal(modify(p, way[i], 0), VIRTIO_NET_OK);
		eg_run(p->engine);
	}
	assert_int_equal(modify(p, VIRTIO_IB_QPS_RTS, 0), VIRTIO_NET_ERR);
	for (i = VIRTIO_IB_QPS_INIT; i <= VIRTIO_IB_QPS_RTS; i++)
		assert_int_equal(modify(p, i, i < VIRTIO_IB_QPS_RTS ? 0 :
					VIRTIO_IB_QP_RATE_LIMIT | VIRTIO_IB_QP_CUR_STATE),
				 VIRTIO_NET_OK);
	eg_run(p->engine);
	assert_int_equal(le32toh(eg_query(p->a.end.guest, p->a.qp.qpn).rate_limit), 1000);
	assert_int_equal(le32toh(eg_query(p->a.end.guest, p->a.qp.qpn).max_burst), 5000);
	er_pair_free(p);
}

/* There is none with virtqueues. */
static void test_direct_only(void **state)
{
	struct eg_guest *guest = &((struct engine *)*state)->guest[0];
	struct virtio_rdma_cmd_create_qp req =
		eg_create_qp_req(RAW, eg_create_pd(guest), eg_create_cq(guest));
	struct virtio_rdma_ack_create_qp ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
}

/* A packet of RoCE for its number is a frame like others. */
static void test_no_roce(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	uint8_t frame[ROCE_FRAME_MAX];
	uint8_t gid[2][GID_SIZE];
	const struct pkt_av av = { .dmac = EG_MAC };
	struct pkt pkt = {
		.opcode = PKT_CNP,
		.npsn = 1,
		.dest_qpn = p->b.qp.qpn,
		.sgid = gid[0],
		.dgid = gid[1],
		.av = &av,
	};
	struct roce_path path;

	eg_gid(p->a.end.guest, gid[0]);
	eg_gid(p->b.end.guest, gid[1]);
	roce_path_init(&path, &pkt, av.dmac);
	assert_false(eg_frame(&eg_port[1], frame, eg_build(frame, &path, &pkt, NULL)));
	assert_int_equal(eg_port[1].taken, 0);
	er_pair_free(p);
}

/* The work of the switch counts, so that one call sends few frames that are for all. */
static void test_budget(void **state)
{
	struct er_pair *p = raw_up(state, &(struct er_shape) { .send_depth = 256 });
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 100);
	unsigned int i, first;

	eg_cycle_off = true;
	put_frame(p, 100);
	for (i = 0; i < 64; i++)
		er_post_send(&p->a.qp, &wr);
	rnic_poll(p->a.end.guest->rnic);
	first = eg_port[0].sent;
	assert_in_range(first, 1, 16);
	eg_run(p->engine);
	eg_port[0].cost = 30000;
	for (i = 0; i < 64; i++)
		er_post_send(&p->a.qp, &wr);
	eg_port[0].sent = 0;
	rnic_poll(p->a.end.guest->rnic);
	/* 256 KiB for all. */
	assert_in_range(eg_port[0].sent, 1, 9);
	assert_true(eg_port[0].sent < first);
	eg_cycle_off = false;
	er_pair_free(p);
}

/* ------------------------------------------------------------------------- */
/* Flow rules                                                                */
/* ------------------------------------------------------------------------- */

static uint8_t create_flow(const struct er_end *end,
			   const struct virtio_rdma_cmd_create_flow *req, uint32_t *flow)
{
	struct virtio_rdma_ack_create_flow ack = {};
	uint8_t ret = eg_command(end->end.guest, CMD(CREATE_FLOW), req, sizeof(*req), &ack,
				 sizeof(ack));

	*flow = le32toh(ack.flow);
	return ret;
}

static uint8_t destroy_flow(const struct er_end *end, uint32_t flow)
{
	const struct virtio_rdma_cmd_destroy_flow req = { .flow = htole32(flow) };

	return eg_command(end->end.guest, CMD(DESTROY_FLOW), &req, sizeof(req), NULL, 0);
}

/* Frames for the address of put_frame(). */
static struct virtio_rdma_cmd_create_flow flow_req(const struct er_end *end)
{
	struct virtio_rdma_cmd_create_flow req = {
		.qpn = htole32(end->qp.qpn),
	};

	memcpy(req.value.dst_mac, macs, ETH_ALEN);
	memset(req.mask.dst_mac, 0xff, ETH_ALEN);
	return req;
}

static uint32_t add_flow(const struct er_end *end, uint8_t type, uint8_t flags)
{
	struct virtio_rdma_cmd_create_flow req = flow_req(end);
	uint32_t flow;

	if (type != VIRTIO_RDMA_FLOW_NORMAL) {
		memset(&req.value, 0, sizeof(req.value));
		memset(&req.mask, 0, sizeof(req.mask));
	}
	req.type = type;
	req.flags = flags;
	assert_int_equal(create_flow(end, &req, &flow), VIRTIO_NET_OK);
	return flow;
}

static void send_some(struct er_pair *p, unsigned int n)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 100);

	while (n--)
		er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
}

static void expect_told(const struct er_end *end)
{
	er_expect_event(end->end.guest, 0, VIRTIO_RDMA_EVENT_COMPLETION, end->cq.cqn);
	er_expect_no_event(end->end.guest, 0);
}

/* A burst has one event, on either side, and all of its completions are there by then. */
static void test_events(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	unsigned int i;

	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	er_give_events(p->a.end.guest, 0, 4);
	er_give_events(p->b.end.guest, 0, 4);
	put_frame(p, 100);
	for (i = 0; i < 5; i++)
		er_recv(&p->b, IN, 2000);
	er_arm(&p->a.cq, VIRTIO_RDMA_ARM_NEXT);
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_NEXT);
	send_some(p, 5);
	expect_told(&p->a);
	expect_told(&p->b);
	for (i = 0; i < 5; i++) {
		er_expect(&p->a, SEND, i, OK);
		er_expect(&p->b, RECV, i, OK);
	}
	/* Not armed again. */
	send_some(p, 2);
	er_expect_no_event(p->a.end.guest, 0);
	er_expect(&p->a, SEND, 5, OK);
	er_expect(&p->a, SEND, 6, OK);
	er_pair_free(p);
}

/* Armed for what is solicited: of a burst, for the one that failed. */
static void test_event_of_error(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 100);
	unsigned int i;

	er_give_events(p->a.end.guest, 0, 4);
	put_frame(p, 100);
	er_arm(&p->a.cq, VIRTIO_RDMA_ARM_SOLICITED);
	send_some(p, 2);
	er_expect_no_event(p->a.end.guest, 0);
	er_post_send(&p->a.qp, &wr);
	wr.sge[0].lkey ^= 1;
	er_post_send(&p->a.qp, &wr);
	send_some(p, 1);
	expect_told(&p->a);
	for (i = 0; i < 3; i++)
		er_expect(&p->a, SEND, i, OK);
	er_expect(&p->a, SEND, 3, VIRTIO_IB_WC_LOC_PROT_ERR);
	er_expect(&p->a, SEND, 4, VIRTIO_IB_WC_WR_FLUSH_ERR);
	er_pair_free(p);
}

/* Events that are moderated count the frames of a burst one by one. */
static void test_moderated_events(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	const struct virtio_rdma_cmd_modify_cq req = {
		.cqn = htole32(p->a.cq.cqn),
		.count = htole16(3),
		.period = htole16(50),
	};
	unsigned int i;

	assert_int_equal(eg_command(p->a.end.guest, CMD(MODIFY_CQ), &req, sizeof(req), NULL, 0),
			 VIRTIO_NET_OK);
	er_give_events(p->a.end.guest, 0, 4);
	put_frame(p, 100);
	er_arm(&p->a.cq, VIRTIO_RDMA_ARM_NEXT);
	send_some(p, 2);
	er_expect_no_event(p->a.end.guest, 0);
	send_some(p, 2);
	expect_told(&p->a);
	er_arm(&p->a.cq, VIRTIO_RDMA_ARM_NEXT);
	send_some(p, 1);
	er_expect_no_event(p->a.end.guest, 0);
	engine_loop_advance(p->engine->loop, 50000);
	expect_told(&p->a);
	for (i = 0; i < 5; i++)
		er_expect(&p->a, SEND, i, OK);
	er_pair_free(p);
}

/* An RC QP whose CQ is that of the raw one. */
static struct eg_end open_rc(struct er_end *end, struct er_qp *qp)
{
	static const struct er_shape plain;
	struct eg_end rc = end->end;

	er_qp_init(qp, &end->page, &end->cq, 40, VIRTIO_IB_QPT_RC, rc.pdn, &plain);
	assert_int_equal(er_create_qp(qp), VIRTIO_NET_OK);
	rc.qpn = qp->qpn;
	return rc;
}

/* Takes the completions of two QPs, in which order they may be; none has failed. */
static void expect_both(struct er_end *end, const struct er_qp *rc, unsigned int raws,
			unsigned int rcs)
{
	struct virtio_rdma_cqe cqe;

	while (er_poll(&end->cq, &cqe)) {
		assert_int_equal(cqe.status, OK);
		if (le32toh(cqe.qp_num) == rc->qpn)
			rcs--;
		else
			raws--;
	}
	assert_int_equal(raws, 0);
	assert_int_equal(rcs, 0);
}

/*
 * Completions of raw QPs are looked at late, those of others at once: with one CQ for both no
 * event is lost, and none is raised twice.
 */
static void test_shared_cq(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct eg_end from, to;
	struct er_qp a, b;
	struct eg_wr wr;
	unsigned int i;

	from = open_rc(&p->a, &a);
	to = open_rc(&p->b, &b);
	eg_connect(&from, &to, VIRTIO_IB_QPT_RC);
	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	er_give_events(p->a.end.guest, 0, 8);
	er_give_events(p->b.end.guest, 0, 8);
	put_frame(p, 100);
	wr = eg_send(&from, 0, 0, 100);
	for (i = 0; i < 8; i++) {
		const struct eg_sge sge = { EG_VA + IN + 4096, 100, to.lkey };

		er_recv(&p->b, IN, 2000);
		er_post_recv(&b, &sge, 1);
	}
	/* Each of both first, and alone. */
	for (i = 0; i < 4; i++) {
		er_arm(&p->a.cq, VIRTIO_RDMA_ARM_NEXT);
		er_arm(&p->b.cq, VIRTIO_RDMA_ARM_NEXT);
		if (i & 1)
			er_post_send(&a, &wr);
		send_some(p, i != 3);
		if (i == 2)
			er_post_send(&a, &wr);
		eg_run(p->engine);
		expect_told(&p->a);
		expect_told(&p->b);
		expect_both(&p->a, &a, i != 3, i > 0);
		expect_both(&p->b, &b, i != 3, i > 0);
	}
	/* Only the RC QP's message is solicited. */
	er_arm(&p->b.cq, VIRTIO_RDMA_ARM_SOLICITED);
	send_some(p, 1);
	er_expect_no_event(p->b.end.guest, 0);
	wr.flags |= VIRTIO_IB_SEND_SOLICITED;
	er_post_send(&a, &wr);
	send_some(p, 1);
	expect_told(&p->b);
	expect_both(&p->b, &b, 2, 1);
	er_pair_free(p);
}

static void test_received(void **state)
{
	static const uint32_t lens[] = { HEADER, 61, 1000, EG_MTU + HEADER + TAG };
	struct er_pair *p = raw_up(state, NULL);
	uint32_t flow = add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	struct virtio_rdma_cqe cqe;
	const uint8_t *frame;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		frame = put_frame(p, lens[i]);
		eg_zero(p->b.end.guest, IN, 2000);
		er_recv(&p->b, IN, 2000);
		send_frame(p, lens[i]);
		er_expect(&p->a, SEND, i, OK);
		cqe = er_expect(&p->b, RECV, i, OK);
		assert_int_equal(cqe.opcode, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
		assert_int_equal(le32toh(cqe.byte_len), lens[i]);
		assert_int_equal(cqe.wc_flags, 0);
		assert_memory_equal(eg_ptr(p->b.end.guest, EG_DATA + IN), frame, lens[i]);
		eg_check_zero(p->b.end.guest, IN + lens[i], 2000 - lens[i]);
	}
	assert_int_equal(eg_port[1].taken, 4);
	assert_int_equal(eg_count(p->b.end.guest, VIRTIO_RDMA_CNT_RECVS), 4);
	assert_int_equal(eg_count(p->b.end.guest, VIRTIO_RDMA_CNT_RCVD_PKTS), 4);
	/* Another address; then no rule. */
	er_recv(&p->b, IN, 2000);
	put_frame(p, 100)[5] ^= 1;
	send_frame(p, 100);
	assert_int_equal(destroy_flow(&p->b, flow), VIRTIO_NET_OK);
	assert_int_equal(destroy_flow(&p->b, flow), VIRTIO_NET_ERR);
	put_frame(p, 100);
	send_frame(p, 100);
	er_expect_none(&p->b);
	assert_int_equal(eg_port[1].taken, 4);
	er_pair_free(p);
}

/* The receiver hears whether the checksums are right; the frame comes in any case. */
static void test_csum_ok(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 60);
	struct virtio_rdma_cqe cqe;

	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	put_packet(p);
	er_recv(&p->b, IN, 2000);
	er_recv(&p->b, IN, 2000);
	send_frame(p, 60);
	cqe = er_expect(&p->b, RECV, 0, OK);
	assert_int_equal(le16toh(cqe.wc_flags), 0);
	wr.flags |= VIRTIO_IB_SEND_IP_CSUM;
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	cqe = er_expect(&p->b, RECV, 1, OK);
	assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_IP_CSUM_OK);
	er_pair_free(p);
}

/* A tag of a frame that comes to a QP with the flag goes to the completion. */
static void test_strip(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct er_shape shape = { .flags = VIRTIO_IB_QP_CVLAN_STRIP };
	struct virtio_rdma_cqe cqe;
	struct er_end strip;
	uint8_t *frame;

	er_open(&strip, p->b.end.guest, RAW, &shape);
	eg_to(&strip.end, RAW, VIRTIO_IB_QPS_INIT, &p->a.end);
	eg_to(&strip.end, RAW, VIRTIO_IB_QPS_RTR, &p->a.end);
	add_flow(&strip, VIRTIO_RDMA_FLOW_NORMAL, 0);

	frame = put_packet(p);
	memmove(frame + 16, frame + 12, 60);
	memcpy(frame + 12, (uint8_t []) { 0x81, 0, 0xa1, 0x23 }, TAG);
	/* One byte less than the frame has without its tag is too few. */
	er_recv(&strip, IN, 60);
	eg_zero(p->b.end.guest, IN, 2000);
	send_frame(p, 65);
	er_expect_none(&strip);
	send_frame(p, 64);
	cqe = er_expect(&strip, RECV, 0, OK);
	assert_int_equal(le32toh(cqe.byte_len), 60);
	assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_WITH_VLAN);
	assert_int_equal(le16toh(cqe.vlan), 0xa123);
	assert_memory_equal(eg_ptr(p->b.end.guest, EG_DATA + IN), frame, 12);
	assert_memory_equal(eg_ptr(p->b.end.guest, EG_DATA + IN + 12), frame + 16, 48);
	eg_check_zero(p->b.end.guest, IN + 60, 1940);
	/* Without a tag, and with nothing behind one. */
	put_frame(p, 17);
	er_recv(&strip, IN, 100);
	send_frame(p, 17);
	cqe = er_expect(&strip, RECV, 1, OK);
	assert_int_equal(le32toh(cqe.byte_len), 17);
	assert_int_equal(cqe.wc_flags | cqe.vlan, 0);
	put_frame(p, 17);
	frame[12] = 0x81;
	frame[13] = 0;
	er_recv(&strip, IN, 100);
	send_frame(p, 17);
	cqe = er_expect(&strip, RECV, 2, OK);
	assert_int_equal(le32toh(cqe.byte_len), 17);
	assert_int_equal(cqe.wc_flags | cqe.vlan, 0);
	er_pair_free(p);
}

/* Frames only have tags: other QPs are not created with the flag, nor any with others. */
static void test_flags(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct er_shape shape = { .flags = VIRTIO_IB_QP_CVLAN_STRIP };
	struct er_qp qp;

	er_qp_init(&qp, &p->a.page, &p->a.cq, 6, VIRTIO_IB_QPT_RC, p->a.end.pdn, &shape);
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);
	er_qp_init(&qp, &p->a.page, &p->a.cq, 6, VIRTIO_IB_QPT_UD, p->a.end.pdn, &shape);
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);
	shape.flags = VIRTIO_IB_QP_CVLAN_STRIP << 1;
	er_qp_init(&qp, &p->a.page, &p->a.cq, 6, RAW, p->a.end.pdn, &shape);
	assert_int_equal(er_create_qp(&qp), VIRTIO_NET_ERR);
	er_pair_free(p);
}

/* A frame that finds no room is lost, and the request stays. */
static void test_no_room(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct virtio_rdma_cqe cqe;

	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	put_frame(p, 100);
	send_frame(p, 100);
	er_expect_none(&p->b);
	er_recv(&p->b, IN, 99);
	send_frame(p, 100);
	er_expect_none(&p->b);
	assert_int_equal(eg_count(p->b.end.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 2);
	assert_int_equal(eg_state(p->b.end.guest, p->b.qp.qpn), VIRTIO_IB_QPS_RTS);
	put_frame(p, 99);
	send_frame(p, 99);
	cqe = er_expect(&p->b, RECV, 0, OK);
	assert_int_equal(le32toh(cqe.byte_len), 99);
	/* A bad key fails the QP; nothing is received any more. */
	p->b.end.lkey ^= 1;
	er_recv(&p->b, IN, 2000);
	send_frame(p, 99);
	er_expect(&p->b, RECV, 1, VIRTIO_IB_WC_LOC_PROT_ERR);
	assert_int_equal(eg_state(p->b.end.guest, p->b.qp.qpn), VIRTIO_IB_QPS_ERR);
	send_frame(p, 99);
	assert_int_equal(eg_count(p->b.end.guest, VIRTIO_RDMA_CNT_RCVD_DROPPED), 3);
	er_pair_free(p);
}

/* A QP hears itself by its own rules, and the network hears it, too. */
static void test_own_rules(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	const uint8_t *frame = put_frame(p, 100);

	add_flow(&p->a, VIRTIO_RDMA_FLOW_ALL_DEFAULT, 0);
	er_recv(&p->a, IN, 2000);
	send_frame(p, 100);
	er_expect(&p->a, SEND, 0, OK);
	er_expect_none(&p->a);
	add_flow(&p->a, VIRTIO_RDMA_FLOW_NORMAL, 0);
	send_frame(p, 100);
	er_expect(&p->a, RECV, 0, OK);
	er_expect(&p->a, SEND, 1, OK);
	assert_memory_equal(eg_ptr(p->a.end.guest, EG_DATA + IN), frame, 100);
	assert_int_equal(eg_port[0].sent, 2);
	/* Also where nobody else is. */
	eg_port[0].alone = true;
	er_recv(&p->a, IN, 2000);
	send_frame(p, 100);
	er_expect(&p->a, RECV, 1, OK);
	er_expect(&p->a, SEND, 2, OK);
	/* One that cannot be sent is not heard either. */
	eg_port[0].down = true;
	er_recv(&p->a, IN, 2000);
	send_frame(p, 100);
	er_expect(&p->a, SEND, 3, OK);
	er_expect_none(&p->a);
	er_pair_free(p);
}

static void test_drop_copy(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	uint32_t drop;

	put_frame(p, 100);
	drop = add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, VIRTIO_RDMA_FLOW_DROP);
	er_recv(&p->b, IN, 2000);
	send_frame(p, 100);
	er_expect_none(&p->b);
	assert_int_equal(eg_port[1].taken, 1);
	assert_int_equal(destroy_flow(&p->b, drop), VIRTIO_NET_OK);
	/* With a copy, Ethernet gets it, too. */
	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, VIRTIO_RDMA_FLOW_DONT_TRAP);
	send_frame(p, 100);
	er_expect(&p->b, RECV, 0, OK);
	assert_int_equal(eg_port[1].taken, 1);
	add_flow(&p->b, VIRTIO_RDMA_FLOW_SNIFFER, 0);
	er_recv(&p->b, IN, 2000);
	er_recv(&p->b, IN, 2000);
	send_frame(p, 100);
	er_expect(&p->b, RECV, 1, OK);
	er_expect(&p->b, RECV, 2, OK);
	assert_int_equal(eg_port[1].taken, 1);
	er_pair_free(p);
}

static void expect_counts(const struct er_end *end, uint32_t flow, uint64_t packets,
			  uint64_t bytes)
{
	const struct virtio_rdma_cmd_query_flow req = { .flow = htole32(flow) };
	struct virtio_rdma_ack_query_flow ack = {};

	assert_int_equal(eg_command(end->end.guest, CMD(QUERY_FLOW), &req, sizeof(req), &ack,
				    sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.packets), packets);
	assert_int_equal(le64toh(ack.bytes), bytes);
}

/* Rules count, and put their tag into completions. */
static void test_counts(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct virtio_rdma_cmd_create_flow_long req = {
		.flow = flow_req(&p->b),
		.tag = htole32(0x12345678),
	};
	struct virtio_rdma_ack_create_flow ack;
	uint32_t tagged, copy, drop;
	struct virtio_rdma_cqe cqe;

	copy = add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, VIRTIO_RDMA_FLOW_DONT_TRAP);
	assert_int_equal(eg_command(p->b.end.guest, CMD(CREATE_FLOW_LONG), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_OK);
	tagged = le32toh(ack.flow);
	put_frame(p, 100);
	er_recv(&p->b, IN, 2000);
	er_recv(&p->b, IN, 2000);
	send_frame(p, 100);
	cqe = er_expect(&p->b, RECV, 0, OK);
	assert_int_equal(le32toh(cqe.src_qp), 0);
	cqe = er_expect(&p->b, RECV, 1, OK);
	assert_int_equal(le32toh(cqe.src_qp), 0x12345678);
	/* One that finds no request counts, too. */
	send_frame(p, 61);
	expect_counts(&p->b, copy, 2, 161);
	expect_counts(&p->b, tagged, 2, 161);
	assert_int_equal(destroy_flow(&p->b, copy), VIRTIO_NET_OK);
	drop = add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, VIRTIO_RDMA_FLOW_DROP);
	assert_int_equal(destroy_flow(&p->b, tagged), VIRTIO_NET_OK);
	expect_counts(&p->b, drop, 0, 0);
	send_frame(p, 100);
	expect_counts(&p->b, drop, 1, 100);
	req.reserved = htole32(1);
	assert_int_equal(eg_command(p->b.end.guest, CMD(CREATE_FLOW_LONG), &req, sizeof(req),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
	assert_int_equal(eg_command(p->b.end.guest, CMD(QUERY_FLOW), &tagged, sizeof(tagged),
				    &ack, sizeof(ack)), VIRTIO_NET_ERR);
	er_pair_free(p);
}

/* Only for RAW_PACKET QPs, and of a right length. */
static void test_flow_refused(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct virtio_rdma_cmd_create_flow req = flow_req(&p->a);
	struct er_end rc;
	uint32_t flow;

	er_open(&rc, p->a.end.guest, VIRTIO_IB_QPT_RC, &(struct er_shape) {});
	req.qpn = htole32(rc.qp.qpn);
	assert_int_equal(create_flow(&p->a, &req, &flow), VIRTIO_NET_ERR);
	req.qpn = htole32(UINT32_MAX);
	assert_int_equal(create_flow(&p->a, &req, &flow), VIRTIO_NET_ERR);
	req = flow_req(&p->a);
	req.type = 4;
	assert_int_equal(create_flow(&p->a, &req, &flow), VIRTIO_NET_ERR);
	req.type = 0;
	assert_int_equal(eg_command(p->a.end.guest, CMD(CREATE_FLOW), &req, sizeof(req) - 1,
				    &flow, sizeof(flow)), VIRTIO_NET_ERR);
	assert_int_equal(eg_command(p->a.end.guest, CMD(CREATE_FLOW), &req, sizeof(req),
				    &flow, sizeof(flow) - 1), VIRTIO_NET_ERR);
	assert_int_equal(destroy_flow(&p->a, 1), VIRTIO_NET_ERR);
	assert_false(rule_any(&p->a.end.guest->rnic->rules));
	er_pair_free(p);
}

/* The rules of a QP go with it, also if there are many. */
static void test_rules_die(void **state)
{
	struct engine *engine = *state;
	struct er_pair *p = raw_up(state, NULL);
	struct virtio_rdma_cmd_create_flow req = flow_req(&p->b);
	unsigned int i;
	uint32_t flow;

	eg_cycle_off = true;
	for (i = 0; i < 1000; i++) {
		req.value.dst_port = htobe16(i);
		req.mask.dst_port = 0xffff;
		assert_int_equal(create_flow(&p->b, &req, &flow), VIRTIO_NET_OK);
	}
	assert_int_equal(p->b.end.guest->rnic->rules.objs.used, 1000);
	/* RESET keeps them. */
	eg_to(&p->b.end, RAW, VIRTIO_IB_QPS_RESET, &p->a.end);
	assert_int_equal(p->b.end.guest->rnic->rules.objs.used, 1000);
	assert_int_equal(er_destroy_qp(&p->b.qp), VIRTIO_NET_OK);
	assert_in_range(eg_rounds, 4, 8);
	assert_false(rule_any(&p->b.end.guest->rnic->rules));
	put_frame(p, 100);
	send_frame(p, 100);
	assert_int_equal(eg_port[1].taken, 0);
	/* And with a reset of the function. */
	add_flow(&p->a, VIRTIO_RDMA_FLOW_ALL_DEFAULT, 0);
	eg_reset(&engine->guest[0]);
	assert_int_equal(engine->guest[0].rnic->rules.objs.used, 0);
	eg_cycle_off = false;
	er_pair_free(p);
}

/* Packets of RoCE are for their QPs; sniffers get a copy. */
static void test_roce_first(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct er_end a, b;
	struct eg_wr wr;

	er_open(&a, p->a.end.guest, VIRTIO_IB_QPT_RC, &(struct er_shape) {});
	er_open(&b, p->b.end.guest, VIRTIO_IB_QPT_RC, &(struct er_shape) {});
	eg_connect(&a.end, &b.end, VIRTIO_IB_QPT_RC);
	add_flow(&p->b, VIRTIO_RDMA_FLOW_ALL_DEFAULT, 0);
	er_recv(&p->b, IN, 2000);
	er_recv(&b, IN + 4096, 2000);
	wr = eg_send(&a.end, 0, 0, 100);
	er_post_send(&a.qp, &wr);
	eg_run(p->engine);
	er_expect(&b, RECV, 0, OK);
	er_expect_none(&p->b);
	add_flow(&p->b, VIRTIO_RDMA_FLOW_SNIFFER, 0);
	er_recv(&b, IN + 4096, 2000);
	er_post_send(&a.qp, &wr);
	eg_run(p->engine);
	er_expect(&b, RECV, 1, OK);
	er_expect(&p->b, RECV, 0, OK);
	er_pair_free(p);
}

/* ------------------------------------------------------------------------- */
/* Streams                                                                   */
/* ------------------------------------------------------------------------- */

#define STREAM_HEADER	54u

/* Headers of Ethernet, IPv4 and TCP. */
static void put_headers(uint8_t *head)
{
	static const uint8_t rest[] = {
		0x08, 0x00,
		0x45, 0, 0, 0, 0x10, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0x30, 0x39, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0, 0x50, 0x18, 1, 0, 0, 0, 0, 0,
	};

	memcpy(head, macs, sizeof(macs));
	memcpy(head + sizeof(macs), rest, sizeof(rest));
}

/**
 * struct stream - a TSO request
 * @mss:	payload of a frame
 * @header_len:	bytes of headers, as the request says
 * @len:	bytes of payload, in elements of @part
 * @part:	bytes of an element
 */
struct stream {
	uint16_t mss;
	uint16_t header_len;
	uint32_t len;
	uint32_t part;
};

/* Into the next slot.  The elements stand behind the headers, at a multiple of 16. */
static void put_stream(struct er_pair *p, const struct stream *s)
{
	const size_t stride = 1ul << p->a.qp.direct.send_shift;
	const uint32_t depth = le32toh(p->a.qp.direct.send_depth);
	uint8_t *slot = p->a.qp.send + (p->a.qp.posted & (depth - 1)) * stride;
	struct virtio_rdma_swqe *swqe = (void *)slot;
	struct virtio_rdma_sge *sge = (void *)(slot + 32 + (s->header_len + 15) / 16 * 16);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 0);
	uint32_t at, n = 0;

	wr.opcode = VIRTIO_IB_WR_TSO;
	wr.num_sge = 0;
	er_write_send(&p->a.qp, p->a.qp.posted, &wr);
	swqe->tso.mss = htole16(s->mss);
	swqe->tso.header_len = htole16(s->header_len);
	if (32 + STREAM_HEADER <= stride)
		put_headers(slot + 32);
	for (at = 0; at < s->len; at += s->part, n++) {
		if ((uint8_t *)&sge[n + 1] > slot + stride)
			continue;
		sge[n] = (struct virtio_rdma_sge) {
			.addr = htole64(EG_VA + at),
			.length = htole32(s->len - at < s->part ? s->len - at : s->part),
			.lkey = htole32(p->a.end.lkey),
		};
	}
	swqe->num_sge = htole16(n);
}

static void announce_stream(struct er_pair *p)
{
	__atomic_store_n(&p->a.qp.control->send_producer, htole32(++p->a.qp.posted),
			 __ATOMIC_RELEASE);
	er_announce(&p->a.qp);
	eg_run(p->engine);
}

static void post_stream(struct er_pair *p, const struct stream *s)
{
	put_stream(p, s);
	announce_stream(p);
}

static uint32_t seq_of(const uint8_t *frame)
{
	__be32 seq;

	memcpy(&seq, frame + 38, sizeof(seq));
	return be32toh(seq);
}

/* A stream comes in pieces that make it up, and that all have right checksums. */
static void test_tso(void **state)
{
	static const struct stream streams[] = {
		{ 1000, STREAM_HEADER, 3500, 3500 },
		{ 1000, STREAM_HEADER, 3500, 999 },
		{ 1460, STREAM_HEADER, 1460, 1460 },
		{ 1, STREAM_HEADER, 10, 3 },
		{ 1460, STREAM_HEADER, VIRTIO_RDMA_TSO_MAX, 4000 },
		{ 65535, STREAM_HEADER, 100, 100 },
	};
	struct er_pair *p = raw_up(state, &(struct er_shape) {
		.send_shift = 9, .recv_depth = 64,
	});
	const uint8_t *data = eg_ptr(p->a.end.guest, EG_DATA);
	const uint8_t *frame = eg_ptr(p->b.end.guest, EG_DATA + IN);
	unsigned int i, n, frames, taken = 0;
	struct virtio_rdma_cqe cqe;
	uint32_t off, len;

	add_flow(&p->b, VIRTIO_RDMA_FLOW_NORMAL, 0);
	for (i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
		const struct stream *s = &streams[i];

		eg_fill(p->a.end.guest, 0, s->len, i);
		frames = (s->len + s->mss - 1) / s->mss;
		for (n = 0; n < frames; n++)
			er_recv(&p->b, IN + n * 2048, 2048);
		post_stream(p, s);
		cqe = er_expect(&p->a, SEND, i, OK);
		assert_int_equal(cqe.opcode, VIRTIO_IB_WC_TSO);
		for (n = 0, off = 0; n < frames; n++, off += len) {
			len = s->len - off < s->mss ? s->len - off : s->mss;
			cqe = er_expect(&p->b, RECV, taken++, OK);
			assert_int_equal(le32toh(cqe.byte_len), STREAM_HEADER + len);
			assert_int_equal(le16toh(cqe.wc_flags), VIRTIO_IB_WC_IP_CSUM_OK);
			assert_int_equal(seq_of(frame + n * 2048), 0x100 + off);
			assert_memory_equal(frame + n * 2048 + STREAM_HEADER, data + off, len);
		}
		er_expect_none(&p->b);
	}
	er_pair_free(p);
}

static void expect_stream_failed(struct er_pair *p, uint32_t i, const struct stream *s,
				 uint8_t status, uint16_t why)
{
	struct virtio_rdma_cqe cqe;

	post_stream(p, s);
	cqe = er_expect(&p->a, SEND, i, status);
	assert_int_equal(le16toh(cqe.vendor_err), why);
	eg_to(&p->a.end, RAW, VIRTIO_IB_QPS_RTS, &p->b.end);
}

static void test_tso_refused(void **state)
{
	static const struct {
		struct stream stream;
		uint8_t status;
		uint16_t why;
	} rows[] = {
		{ { 0, STREAM_HEADER, 100, 100 }, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, 0, 100, 100 }, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, VIRTIO_RDMA_TSO_HEADER + 1, 100, 100 },
		  VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, UINT16_MAX, 100, 100 }, VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, STREAM_HEADER - 1, 100, 100 },
		  VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, STREAM_HEADER + 1, 100, 100 },
		  VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_TSO },
		{ { 100, STREAM_HEADER, 0, 1 }, VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH },
		{ { 1460, STREAM_HEADER, VIRTIO_RDMA_TSO_MAX + 1, 65536 },
		  VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH },
		{ { 100, STREAM_HEADER, 25601, 25601 },
		  VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH },
		/* A frame of 1519 bytes. */
		{ { 1465, STREAM_HEADER, 1465, 1465 },
		  VIRTIO_IB_WC_LOC_LEN_ERR, VENDOR_ERR_LENGTH },
		/* More elements than the copy of a request has room for, or the QP. */
		{ { 100, STREAM_HEADER, 29, 1 },
		  VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_NUM_SGE },
	};
	struct er_pair *p = raw_up(state, &(struct er_shape) { .send_shift = 10 });
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_stream_failed(p, i, &rows[i].stream, rows[i].status, rows[i].why);
	p->a.end.lkey ^= 1;
	expect_stream_failed(p, i, &(struct stream) { 100, STREAM_HEADER, 100, 100 },
			     VIRTIO_IB_WC_LOC_PROT_ERR, VENDOR_ERR_SGE);
	assert_int_equal(eg_port[0].sent, 0);
	er_pair_free(p);
}

/* The slot ends in the headers, or in the elements. */
static void test_tso_short_slot(void **state)
{
	struct er_pair *p = raw_up(state, NULL);
	struct er_pair *q;

	expect_stream_failed(p, 0, &(struct stream) { 100, STREAM_HEADER, 100, 100 },
			     VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_SLOT_SHORT);
	q = er_pair_up(state, RAW, &(struct er_shape) { .send_shift = 7 });
	expect_stream_failed(q, 0, &(struct stream) { 100, STREAM_HEADER, 100, 25 },
			     VIRTIO_IB_WC_LOC_QP_OP_ERR, VENDOR_ERR_SLOT_SHORT);
	er_pair_free(q);
	er_pair_free(p);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/*
 * Streams of which some bytes of the slot were changed: each leaves one completion, no frame is
 * longer than one may be, and a good stream goes through afterwards.
 */
static void test_tso_changed(void **state)
{
	static const struct stream good = { 1000, STREAM_HEADER, 3500, 1000 };
	struct er_pair *p = raw_up(state, &(struct er_shape) { .send_shift = 8 });
	unsigned int i, k, n, sent = 0, failed = 0;
	struct virtio_rdma_cqe cqe;
	uint32_t seed = 1;
	uint8_t *slot;

	eg_port[0].lose = true;
	for (i = 0; i < 180; i++) {
		slot = p->a.qp.send + (size_t)(p->a.qp.posted & 15) * 256;
		put_stream(p, &good);
		n = 1 + next_random(&seed) % 3;
		for (k = 0; k < n; k++)
			slot[next_random(&seed) % 160] = next_random(&seed);
		slot[1] |= VIRTIO_IB_SEND_SIGNALED;
		announce_stream(p);
		assert_true(er_poll(&p->a.cq, &cqe));
		assert_int_equal(le32toh(cqe.wqe), i);
		assert_true(eg_port[0].len <= EG_MTU + HEADER + TAG);
		er_expect_none(&p->a);
		if (!cqe.status) {
			sent++;
			continue;
		}
		failed++;
		assert_int_equal(eg_state(p->a.end.guest, p->a.qp.qpn), VIRTIO_IB_QPS_SQE);
		eg_to(&p->a.end, RAW, VIRTIO_IB_QPS_RTS, &p->b.end);
	}
	/* Both happen: payload, ports and addresses are free, lengths and types are not. */
	assert_in_range(sent, 20, 160);
	assert_in_range(failed, 20, 160);
	post_stream(p, &good);
	er_expect(&p->a, SEND, i, OK);
	er_pair_free(p);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sent),
		TEST(test_elements),
		TEST(test_csum),
		TEST(test_csum_only_raw),
		TEST(test_refused),
		TEST(test_lost),
		TEST(test_states),
		TEST(test_direct_only),
		TEST(test_no_roce),
		TEST(test_budget),
		TEST(test_received),
		TEST(test_events),
		TEST(test_event_of_error),
		TEST(test_moderated_events),
		TEST(test_shared_cq),
		TEST(test_csum_ok),
		TEST(test_tso),
		TEST(test_tso_refused),
		TEST(test_tso_short_slot),
		TEST(test_tso_changed),
		TEST(test_strip),
		TEST(test_flags),
		TEST(test_no_room),
		TEST(test_own_rules),
		TEST(test_drop_copy),
		TEST(test_counts),
		TEST(test_flow_refused),
		TEST(test_rules_die),
		TEST(test_roce_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
