// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The examples of Documentation/spec.rst, Annex C: a device takes the driver's bytes and
 * writes its own.
 */
#include "tests/lib/engine_ring.h"
#include "tests/lib/example.h"

#include "packet/roce.h"

#include <stdlib.h>

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC

/* Where the examples have their memory. */
#define PAGE_AT		(EG_BASE + 0x3000000)
#define CQ_CONTROL_AT	(PAGE_AT + 0x1000)
#define QP_CONTROL_AT	(PAGE_AT + 0x1040)
#define CQ_AT		(PAGE_AT + 0x2000)
#define SEND_AT		(PAGE_AT + 0x3000)
#define RECV_AT		(PAGE_AT + 0x4000)
#define SRQ_CONTROL_AT	(PAGE_AT + 0x1100)
#define SRQ_AT		(PAGE_AT + 0x6000)

static uint32_t create(struct eg_guest *guest, uint8_t command, const void *req,
		       size_t len)
{
	__le32 number;

	assert_int_equal(eg_command(guest, command, req, len, &number, sizeof(number)),
			 VIRTIO_NET_OK);
	return le32toh(number);
}

/* The last one: a CQ with two completions gets another ring. */
static void resize_example(struct eg_guest *guest)
{
	uint8_t req[64], rsp[8], wanted[8];
	size_t len = example("resize_cq", req, sizeof(req));

	assert_int_equal(len, sizeof(struct virtio_rdma_cmd_resize_cq) + 8);
	assert_int_equal(example("resized", wanted, 8), sizeof(struct virtio_rdma_ack_resize_cq));
	assert_int_equal(eg_command(guest, CMD(RESIZE_CQ), req, len, rsp, sizeof(rsp)),
			 VIRTIO_NET_OK);
	assert_memory_equal(rsp, wanted, sizeof(rsp));
}

/* Handles and keys are the device's choice; all else is as it stands there. */
static void test_examples(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct virtio_rdma_doorbell_page *page = eg_ptr(guest, PAGE_AT);
	struct eg_end end = { .guest = guest, .pdn = eg_create_pd(guest) };
	struct virtio_rdma_qp_direct *direct;
	struct virtio_rdma_cmd_create_qp *qp;
	struct virtio_rdma_rwqe *rwqe;
	struct virtio_rdma_event event;
	uint8_t req[256] __attribute__((aligned(8))), bytes[32];
	struct er_end peer;
	struct eg_wr wr;
	uint32_t handle;
	size_t len;

	end.lkey = eg_reg(guest, end.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, EG_DATA);
	len = example("doorbell", req, sizeof(req));
	assert_int_equal(len, sizeof(struct virtio_rdma_cmd_alloc_doorbell));
	handle = create(guest, CMD(ALLOC_DOORBELL), req, len);
	len = example("create_cq", req, sizeof(req));
	end.cqn = create(guest, CMD(CREATE_CQ), req, len);
	assert_int_equal(end.cqn, EG_CQS);
	len = example("create_qp", req, sizeof(req));
	qp = (void *)req;
	qp->pdn = htole32(end.pdn);
	direct = (void *)(req + VIRTIO_RDMA_QP_DIRECT_OFFSET);
	direct->doorbell = htole32(handle);
	end.qpn = create(guest, CMD(CREATE_QP), req, len);
	assert_int_equal(end.qpn, EG_QPS);
	er_open(&peer, &engine->guest[1], RC, &(struct er_shape) {});
	eg_connect(&end, &peer.end, RC);

	/* Slots that the driver posts. */
	example("recv", eg_ptr(guest, RECV_AT), 64);
	rwqe = eg_ptr(guest, RECV_AT);
	rwqe->sg_list[0].lkey = htole32(end.lkey);
	example("send", eg_ptr(guest, SEND_AT), 64);
	er_recv(&peer, EG_IN, 64);
	example("qp_control", eg_ptr(guest, QP_CONTROL_AT), 64);
	example("page", page, sizeof(*page));
	rnic_queue_kick(guest->rnic, RNIC_DOORBELL, 0);
	eg_run(engine);
	er_expect(&peer, true, 0, VIRTIO_IB_WC_SUCCESS);
	assert_memory_equal(eg_ptr(peer.end.guest, EG_DATA + EG_IN), "hello", 5);

	/* Slots that the device writes. */
	er_give_events(guest, 1, 4);
	example("cq_control", eg_ptr(guest, CQ_CONTROL_AT), 64);
	wr = (struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND_WITH_IMM,
		.flags = VIRTIO_IB_SEND_INLINE,
		.imm = 0x1234,
		.data = "hello",
		.data_len = 5,
	};
	er_post_send(&peer.qp, &wr);
	eg_run(engine);
	assert_memory_equal(eg_ptr(guest, EG_DATA + (4 << 20)), "hello", 5);
	assert_int_equal(example("cqe", bytes, 32), sizeof(struct virtio_rdma_cqe));
	/* Behind that of the send request. */
	assert_memory_equal(eg_ptr(guest, CQ_AT + 32), bytes, 32);
	assert_true(er_take_event(guest, 1, &event));
	assert_int_equal(example("event", bytes, 16), sizeof(event));
	assert_memory_equal(&event, bytes, sizeof(event));
	resize_example(guest);
}

/* CREATE_QP with the handles of this device; returns its number. */
static uint32_t create_qp_with_srq(struct eg_end *end, uint32_t doorbell, uint32_t srq)
{
	uint8_t req[256] __attribute__((aligned(8)));
	size_t len = example("srq_qp", req, sizeof(req));
	struct virtio_rdma_cmd_create_qp *qp = (void *)req;
	struct virtio_rdma_qp_direct *direct =
		(void *)(req + VIRTIO_RDMA_QP_DIRECT_OFFSET);

	qp->pdn = htole32(end->pdn);
	direct->doorbell = htole32(doorbell);
	direct->srq = htole32(srq);
	return create(end->guest, CMD(CREATE_QP), req, len);
}

static void test_srq_examples(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct eg_end end = { .guest = guest, .pdn = eg_create_pd(guest) };
	struct virtio_rdma_cmd_create_srq *create_srq;
	struct virtio_rdma_cmd_modify_srq modify;
	uint8_t req[256] __attribute__((aligned(8))), bytes[32];
	struct virtio_rdma_rwqe *rwqe = eg_ptr(guest, SRQ_AT);
	struct virtio_rdma_event event, *wanted = (void *)bytes;
	const struct eg_wr wr = {
		.opcode = VIRTIO_IB_WR_SEND_WITH_IMM,
		.flags = VIRTIO_IB_SEND_INLINE,
		.imm = 0x1234,
		.data = "hello",
		.data_len = 5,
	};
	struct er_page page;
	struct er_end peer;
	struct er_cq cq;
	uint32_t srq;
	size_t len;

	end.lkey = eg_reg(guest, end.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, EG_DATA);
	er_page_init(&page, guest, 0);
	er_cq_init(&cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	len = example("create_srq", req, sizeof(req));
	create_srq = (void *)req;
	create_srq->pdn = htole32(end.pdn);
	srq = create(guest, CMD(CREATE_SRQ), req, len);
	end.qpn = create_qp_with_srq(&end, page.handle, srq);
	assert_int_equal(end.qpn, EG_QPS);
	er_open(&peer, &engine->guest[1], RC, &(struct er_shape) {});
	eg_connect(&end, &peer.end, RC);
	er_give_events(guest, 0, 4);

	example("srq_recv", rwqe, 64);
	rwqe->sg_list[0].lkey = htole32(end.lkey);
	example("srq_block", eg_ptr(guest, SRQ_CONTROL_AT), 64);
	assert_int_equal(example("modify_srq", &modify, sizeof(modify)), sizeof(modify));
	modify.srq = htole32(srq);
	assert_int_equal(eg_command(guest, CMD(MODIFY_SRQ), &modify, sizeof(modify),
				    NULL, 0), VIRTIO_NET_OK);
	er_post_send(&peer.qp, &wr);
	eg_run(engine);
	assert_memory_equal(eg_ptr(guest, EG_DATA + (4 << 20)), "hello", 5);
	/* It is the first direct QP here. */
	example("srq_cqe", bytes, 32);
	((struct virtio_rdma_cqe *)bytes)->qp_num = htole32(end.qpn);
	assert_memory_equal(cq.ring, bytes, 32);
	assert_true(er_take_event(guest, 0, &event));
	example("srq_event", bytes, 16);
	wanted->number = htole32(srq);
	assert_memory_equal(&event, bytes, sizeof(event));

	len = example("resize_srq", req, sizeof(req));
	((struct virtio_rdma_cmd_resize_srq *)req)->srq = htole32(srq);
	example("srq_block", eg_ptr(guest, SRQ_CONTROL_AT + 128), 64);
	assert_int_equal(eg_command(guest, CMD(RESIZE_SRQ), req, len, NULL, 0),
			 VIRTIO_NET_OK);
}

/* A SEND of the example to the SRQ, by the example's own QP; the frame, to compare. */
static void xrc_send_example(struct engine *engine, struct eg_end *tgt, uint32_t srqn)
{
	struct eg_guest *guest = &engine->guest[1];
	struct eg_end end = { .guest = guest, .pdn = eg_create_pd(guest) };
	uint8_t req[256] __attribute__((aligned(8)));
	struct virtio_rdma_cmd_create_qp *qp = (void *)req;
	struct virtio_rdma_qp_direct *direct = (void *)(req + VIRTIO_RDMA_QP_DIRECT_OFFSET);
	uint8_t *slot = eg_ptr(guest, SEND_AT);
	struct virtio_rdma_xrc *xrc = (void *)(slot + VIRTIO_RDMA_XRC_OFFSET);
	struct virtio_rdma_doorbell_page *page;
	struct er_page doorbell;
	struct er_cq cq;
	size_t len;

	er_page_init(&doorbell, guest, 0);
	er_cq_init(&cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	len = example("xrc_ini", req, sizeof(req));
	qp->pdn = htole32(end.pdn);
	assert_int_equal(le32toh(qp->send_cqn), cq.cqn);
	direct->doorbell = htole32(doorbell.handle);
	end.qpn = create(guest, CMD(CREATE_QP), req, len);
	eg_connect_xrc(&end, tgt);
	example("xrc_send", slot, 64);
	assert_int_equal(le32toh(xrc->srqn), 0x3c07);
	xrc->srqn = htole32(srqn);
	example("qp_control", eg_ptr(guest, QP_CONTROL_AT), 64);
	page = doorbell.page;
	page->words[0] = htole64(1);
	page->pending[0] = htole64(1 << 5);
	rnic_queue_kick(guest->rnic, RNIC_DOORBELL, 0);
	eg_run(engine);
}

static void test_xrc_examples(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	const uint32_t pdn = eg_create_pd(guest), xrcd = er_create_xrcd(guest);
	struct eg_end tgt = { .guest = guest };
	uint8_t req[256] __attribute__((aligned(8))), bytes[32];
	struct virtio_rdma_cmd_create_xrc_srq *create_srq = (void *)req;
	struct virtio_rdma_qp_direct *direct = (void *)(req + VIRTIO_RDMA_QP_DIRECT_OFFSET);
	struct virtio_rdma_cqe *cqe = (void *)bytes;
	struct virtio_rdma_rwqe *rwqe = eg_ptr(guest, SRQ_AT);
	struct er_cq cq;
	uint32_t srq;
	size_t len;

	er_cq_init(&cq, guest, 64, 5, 0);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_OK);
	len = example("xrc_srq", req, sizeof(req));
	create_srq->srq.pdn = htole32(pdn);
	create_srq->xrcd = htole32(xrcd);
	assert_int_equal(le32toh(create_srq->cqn), cq.cqn);
	srq = create(guest, CMD(CREATE_XRC_SRQ), req, len);
	len = example("xrc_tgt", req, sizeof(req));
	assert_int_equal(len, VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(*direct));
	direct->xrcd = htole32(xrcd);
	tgt.qpn = create(guest, CMD(CREATE_QP), req, len);
	assert_int_equal(tgt.qpn, EG_QPS);

	example("srq_recv", rwqe, 64);
	rwqe->sg_list[0].lkey = htole32(eg_reg(guest, pdn, EG_ACCESS_ALL, EG_VA,
					       EG_MR_SIZE, EG_DATA));
	example("srq_block", eg_ptr(guest, SRQ_CONTROL_AT), 64);
	xrc_send_example(engine, &tgt, srq);
	assert_memory_equal(eg_ptr(guest, EG_DATA + (4 << 20)), "hello", 5);
	assert_int_equal(example("xrc_cqe", bytes, 32), sizeof(*cqe));
	assert_int_equal(le32toh(cqe->srqn), 0x3c07);
	cqe->srqn = htole32(srq);
	assert_memory_equal(cq.ring, bytes, 32);
}

/* The same message on a wire. */
static void test_xrc_packet_example(void **state)
{
	static const uint8_t smac[ETH_ALEN];
	uint8_t gid[2][GID_SIZE] = { { [10] = 0xff, 0xff, 10 }, { [10] = 0xff, 0xff, 10 } };
	uint8_t frame[ROCE_FRAME_MAX], wanted[64], *p;
	const struct pkt_av av = {};
	const struct pkt pkt = {
		.opcode = PKT_OPCODE(PKT_XRC, PKT_SEND_ONLY_IMM),
		.ack_req = true,
		.psn = 0xfffffe,
		.npsn = 1,
		.dest_qpn = 8,
		.srqn = 0x3c07,
		.imm = htobe32(0x1234),
		.sgid = gid[0],
		.dgid = gid[1],
		.av = &av,
		.len = 5,
	};
	const size_t len = example("xrc_packet", wanted, sizeof(wanted));
	struct roce_path path;

	roce_path_init(&path, &pkt, smac);
	p = roce_build(frame, &path, &pkt);
	assert_non_null(p);
	memcpy(p, "hello", 5);
	assert_int_equal(roce_finish(frame, p, &pkt), 42 + len + ROCE_ICRC_SIZE);
	assert_memory_equal(frame + 42, wanted, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_examples, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_srq_examples, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_xrc_examples, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test(test_xrc_packet_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
