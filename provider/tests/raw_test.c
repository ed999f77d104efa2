// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs of whole frames: what their requests and completions have beside those of others.
 */
#include <errno.h>

#include <ccan/array_size.h>

#include "util.h"

#define ALL_CAPS	(VIRTIO_IB_DEVICE_RAW_PACKET | VIRTIO_IB_DEVICE_RAW_CSUM | \
			 VIRTIO_IB_DEVICE_RAW_VLAN | VIRTIO_IB_DEVICE_RAW_TSO)

static void drop_both(struct virtio_roce_qp *qp)
{
	struct virtio_roce_cq *cq = to_vcq(qp->vqp.qp.send_cq);

	drop_qp(qp);
	drop_cq(cq);
}

static int post(struct virtio_roce_qp *qp, unsigned int flags)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 60, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
	};

	return virtio_roce_post_send(&qp->vqp.qp, &wr, &bad);
}

static int post_ex(struct virtio_roce_qp *qp, unsigned int flags)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ex->wr_flags = flags;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, 7, 0x1000, 60);
	return ibv_wr_complete(ex);
}

/* Checksums are made if the program asks for it and the device can. */
static void raw_csum(void **state)
{
	const struct virtio_rdma_swqe *swqe;
	struct virtio_roce_qp *qp;

	fake.ctx.device_caps = ALL_CAPS;
	qp = make_qp(IBV_QPT_RAW_PACKET);
	swqe = (void *)fake.sq.slots;
	assert_int_equal(post(qp, IBV_SEND_IP_CSUM | IBV_SEND_SIGNALED), 0);
	assert_int_equal(swqe->send_flags, VIRTIO_IB_SEND_IP_CSUM | VIRTIO_IB_SEND_SIGNALED);
	swqe = (void *)(fake.sq.slots + 256);
	assert_int_equal(post_ex(qp, IBV_SEND_IP_CSUM), 0);
	assert_int_equal(swqe->send_flags, VIRTIO_IB_SEND_IP_CSUM);
	swqe = (void *)(fake.sq.slots + 512);
	assert_int_equal(post(qp, 0), 0);
	assert_int_equal(swqe->send_flags, 0);
	assert_int_equal(post(qp, IBV_SEND_IP_CSUM << 1), EINVAL);
	assert_int_equal(post(qp, IBV_SEND_IP_CSUM | IBV_SEND_IP_CSUM << 1), EINVAL);
	fake.ctx.device_caps = VIRTIO_IB_DEVICE_RAW_PACKET;
	assert_int_equal(post(qp, IBV_SEND_IP_CSUM), EINVAL);
	assert_int_equal(post_ex(qp, IBV_SEND_IP_CSUM), EINVAL);
	drop_both(qp);
}

/* Datagrams have no such flag. */
static void raw_csum_of_others(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct virtio_roce_qp *qp;
	unsigned int i;

	fake.ctx.device_caps = ALL_CAPS;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		qp = make_qp(types[i]);
		assert_int_equal(post(qp, IBV_SEND_IP_CSUM), EINVAL);
		drop_both(qp);
	}
}

static void raw_csum_ok(void **state)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.byte_len = htole32(60),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
		.wc_flags = htole16(VIRTIO_IB_WC_IP_CSUM_OK),
	};
	struct ibv_poll_cq_attr attr = {};
	struct virtio_roce_qp *qp;
	struct ibv_cq_ex *ex;
	struct ibv_wc wc;

	qp = make_qp(IBV_QPT_RAW_PACKET);
	ex = &to_vcq(qp->vqp.qp.recv_cq)->vcq.cq_ex;
	fake_direct_complete(&cqe);
	cqe.wqe = htole32(1);
	fake_direct_complete(&cqe);
	assert_int_equal(virtio_roce_poll_cq(qp->vqp.qp.recv_cq, 1, &wc), 1);
	assert_int_equal(wc.wc_flags, IBV_WC_IP_CSUM_OK);
	assert_int_equal(wc.byte_len, 60);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_wc_read_wc_flags(ex), IBV_WC_IP_CSUM_OK);
	ibv_end_poll(ex);
	drop_both(qp);
}

/* Only tags can be taken out of frames, and only where the device can and frames are. */
static void raw_flags(void **state)
{
	static const struct {
		uint64_t caps;
		enum ibv_qp_type type;
		uint32_t flags;
		bool ok;
	} qps[] = {
		{ ALL_CAPS, IBV_QPT_RAW_PACKET, IBV_QP_CREATE_CVLAN_STRIPPING, true },
		{ ALL_CAPS, IBV_QPT_RAW_PACKET, 0, true },
		{ ALL_CAPS & ~VIRTIO_IB_DEVICE_RAW_VLAN, IBV_QPT_RAW_PACKET,
		  IBV_QP_CREATE_CVLAN_STRIPPING, false },
		{ ALL_CAPS, IBV_QPT_UD, IBV_QP_CREATE_CVLAN_STRIPPING, false },
		{ ALL_CAPS, IBV_QPT_RAW_PACKET, IBV_QP_CREATE_SCATTER_FCS, false },
		{ ALL_CAPS, IBV_QPT_RAW_PACKET,
		  IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SCATTER_FCS, false },
	};
	struct virtio_roce_cq *cq = make_cq();
	struct ibv_qp *qp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(qps); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
			.pd = &fake.pd,
			.send_cq = &cq->vcq.cq,
			.recv_cq = &cq->vcq.cq,
			.cap = { .max_send_sge = 1, .max_recv_sge = 1 },
			.qp_type = qps[i].type,
			.create_flags = qps[i].flags,
		};

		fake.ctx.device_caps = qps[i].caps;
		errno = 0;
		qp = virtio_roce_create_qp_ex(fake.pd.context, &attr);
		assert_int_equal(!!qp, qps[i].ok);
		if (qp)
			drop_qp(to_vqp(qp));
		else
			assert_int_equal(errno, EOPNOTSUPP);
	}
	drop_cq(cq);
}

/* The tag, all of it, where one was taken out; else 0. */
static void raw_cvlan(void **state)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.opcode = VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV,
		.wc_flags = htole16(VIRTIO_IB_WC_WITH_VLAN),
		.vlan = htole16(0xa123),
	};
	struct ibv_poll_cq_attr attr = {};
	struct virtio_roce_qp *qp;
	struct ibv_cq_ex *ex;

	qp = make_qp(IBV_QPT_RAW_PACKET);
	ex = &to_vcq(qp->vqp.qp.recv_cq)->vcq.cq_ex;
	fake_direct_complete(&cqe);
	cqe.wqe = htole32(1);
	cqe.wc_flags = 0;
	fake_direct_complete(&cqe);
	assert_int_equal(ibv_start_poll(ex, &attr), 0);
	assert_int_equal(ibv_wc_read_cvlan(ex), 0xa123);
	assert_int_equal(ibv_wc_read_wc_flags(ex), 0);
	assert_int_equal(ibv_next_poll(ex), 0);
	assert_int_equal(ibv_wc_read_cvlan(ex), 0);
	ibv_end_poll(ex);
	drop_both(qp);
}

#define HEADER	54

static char header[VIRTIO_RDMA_TSO_HEADER + 1] =
	"headers of Ethernet, IP and TCP, as many as there are";

/* A QP for streams; NULL if there is none, with errno. */
static struct virtio_roce_qp *make_stream(struct virtio_roce_cq *cq, enum ibv_qp_type type,
					  uint32_t header_len)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = &fake.pd,
		.send_cq = &cq->vcq.cq,
		.recv_cq = &cq->vcq.cq,
		.cap = { .max_send_wr = 5, .max_send_sge = TEST_SGES, .max_recv_sge = 1 },
		.qp_type = type,
		.max_tso_header = header_len,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_RAW_PACKET && fake.ctx.device_caps & VIRTIO_IB_DEVICE_RAW_TSO)
		attr.send_ops_flags |= IBV_QP_EX_WITH_TSO;
	errno = 0;
	qp = virtio_roce_create_qp_ex(fake.pd.context, &attr);
	if (!qp)
		return NULL;
	qp->state = IBV_QPS_RTS;
	/* Room for the headers, and for all elements behind them. */
	assert_true(attr.cap.max_inline_data >= (header_len + 15) / 16 * 16 + TEST_SGES * 16);
	return to_vqp(qp);
}

/**
 * struct stream - a TSO request
 * @header_len:	bytes of headers
 * @mss:	bytes of payload of a frame
 * @sges:	elements
 * @flags:	enum ibv_send_flags
 */
struct stream {
	uint16_t header_len;
	uint16_t mss;
	int sges;
	unsigned int flags;
};

static const struct ibv_sge elements[TEST_SGES + 1] = {
	{ 0x1000, 4000, 7 }, { 0x2000, 100, 8 }, { 0x3000, 1, 9 }, { 0x4000, 1, 9 },
};

static int post_stream(struct virtio_roce_qp *qp, const struct stream *s)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 5,
		.sg_list = (struct ibv_sge *)elements,
		.num_sge = s->sges,
		.opcode = IBV_WR_TSO,
		.send_flags = s->flags,
		.tso = { .hdr = header, .hdr_sz = s->header_len, .mss = s->mss },
	};

	return virtio_roce_post_send(&qp->vqp.qp, &wr, &bad);
}

static int post_stream_ex(struct virtio_roce_qp *qp, const struct stream *s)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ex->wr_id = 5;
	ex->wr_flags = s->flags;
	ibv_wr_send_tso(ex, header, s->header_len, s->mss);
	if (s->sges == 1)
		ibv_wr_set_sge(ex, elements[0].lkey, elements[0].addr, elements[0].length);
	else
		ibv_wr_set_sge_list(ex, s->sges, elements);
	return ibv_wr_complete(ex);
}

static void expect_stream(const uint8_t *slot, const struct stream *s)
{
	const struct virtio_rdma_swqe *swqe = (const void *)slot;
	const struct virtio_rdma_sge *sge =
		(const void *)(slot + 32 + (s->header_len + 15) / 16 * 16);
	int i;

	assert_int_equal(swqe->opcode, VIRTIO_IB_WR_TSO);
	assert_int_equal(swqe->send_flags, VIRTIO_IB_SEND_SIGNALED);
	assert_int_equal(le16toh(swqe->tso.mss), s->mss);
	assert_int_equal(le16toh(swqe->tso.header_len), s->header_len);
	assert_int_equal(le16toh(swqe->num_sge), s->sges);
	assert_memory_equal(slot + 32, header, s->header_len);
	for (i = 0; i < s->sges; i++) {
		assert_int_equal(le64toh(sge[i].addr), elements[i].addr);
		assert_int_equal(le32toh(sge[i].length), elements[i].length);
		assert_int_equal(le32toh(sge[i].lkey), elements[i].lkey);
	}
}

/* Headers, and the elements behind them, by both ways to post. */
static void raw_tso(void **state)
{
	static const struct stream good[] = {
		{ HEADER, 1460, TEST_SGES, IBV_SEND_SIGNALED },
		{ HEADER, 1, 1, IBV_SEND_SIGNALED },
		{ 64, 65535, 2, IBV_SEND_SIGNALED },
		{ 1, 1460, 0, IBV_SEND_SIGNALED },
	};
	static const struct stream bad[] = {
		{ 0, 1460, 1, 0 },
		{ 65, 1460, 1, 0 },
		{ HEADER, 0, 1, 0 },
		{ HEADER, 1460, TEST_SGES + 1, 0 },
		{ HEADER, 1460, 1, IBV_SEND_IP_CSUM << 1 },
	};
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_roce_qp *qp;
	unsigned int i;

	fake.ctx.device_caps = ALL_CAPS;
	qp = make_stream(cq, IBV_QPT_RAW_PACKET, 64);
	assert_non_null(qp);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(post_stream(qp, &bad[i]), EINVAL);
		assert_int_equal(post_stream_ex(qp, &bad[i]), EINVAL);
	}
	assert_int_equal(post_stream(qp, &(struct stream){ HEADER, 100, 0, IBV_SEND_INLINE }),
			 EINVAL);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(post_stream(qp, &good[i]), 0);
		expect_stream(fake.sq.slots + 512 * i, &good[i]);
		assert_int_equal(post_stream_ex(qp, &good[i]), 0);
		expect_stream(fake.sq.slots + 512 * i + 256, &good[i]);
	}
	/* Another request by the same functions. */
	assert_int_equal(post_ex(qp, 0), 0);
	assert_int_equal(le32toh(((struct virtio_rdma_swqe *)
				  (fake.sq.slots + 512 * i))->sg_list[0].length), 60);
	drop_qp(qp);
	drop_cq(cq);
}

static void raw_tso_refused(void **state)
{
	struct virtio_roce_cq *cq = make_cq();
	struct virtio_roce_qp *qp;

	fake.ctx.device_caps = ALL_CAPS;
	assert_null(make_stream(cq, IBV_QPT_RAW_PACKET, VIRTIO_RDMA_TSO_HEADER + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(make_stream(cq, IBV_QPT_UD, HEADER));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.ctx.device_caps = ALL_CAPS & ~VIRTIO_IB_DEVICE_RAW_TSO;
	assert_null(make_stream(cq, IBV_QPT_RAW_PACKET, HEADER));
	assert_int_equal(errno, EOPNOTSUPP);
	/* A QP that did not ask for headers sends none. */
	fake.ctx.device_caps = ALL_CAPS;
	qp = make_qp_on(cq, IBV_QPT_RAW_PACKET);
	assert_int_equal(post_stream(qp, &(struct stream){ HEADER, 100, 1, 0 }), EINVAL);
	drop_qp(qp);
	drop_cq(cq);
}

int run_raw_tests(void)
{
	const struct CMUnitTest raw[] = {
		TEST_DIRECT(raw_csum),
		TEST_DIRECT(raw_csum_of_others),
		TEST_DIRECT(raw_csum_ok),
		TEST_DIRECT(raw_flags),
		TEST_DIRECT(raw_cvlan),
		TEST_DIRECT(raw_tso),
		TEST_DIRECT(raw_tso_refused),
	};

	return cmocka_run_group_tests(raw, NULL, NULL);
}
