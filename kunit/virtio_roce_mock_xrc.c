// SPDX-License-Identifier: GPL-2.0
/*
 * XRC domains, XRC SRQs and XRC_TGT QPs of the function without hardware; see
 * virtio_roce_mock.h.
 */
#include "virtio_roce_mock.h"

/* Change the number of references of an XRC domain. */
static int mock_xrcd_use(struct mock *mock, u32 handle, int change)
{
	u32 i = handle - MOCK_XRCD_HANDLE;

	if (i >= MOCK_XRCDS || mock->xrcd_refs[i] < 0) {
		mock_violation(mock, "no such XRC domain", handle);
		return -EREMOTEIO;
	}
	mock->xrcd_refs[i] += change;
	return 0;
}

int mock_create_xrcd(struct mock *mock, const void *r, void *rsp)
{
	struct virtio_rdma_ack_create_xrcd *ack = rsp;
	u32 i;

	for (i = 0; i < MOCK_XRCDS && mock->xrcd_refs[i] >= 0; i++)
		;
	if (i == MOCK_XRCDS)
		return -EREMOTEIO;
	mock->xrcd_refs[i] = 0;
	ack->xrcd = cpu_to_le32(MOCK_XRCD_HANDLE + i);
	return 0;
}

int mock_destroy_xrcd(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_xrcd *req = r;
	u32 handle = le32_to_cpu(req->xrcd);

	if (mock_xrcd_use(mock, handle, 0))
		return -EREMOTEIO;
	if (mock->xrcd_refs[handle - MOCK_XRCD_HANDLE])
		mock_violation(mock, "XRC domain in use", handle);
	mock->xrcd_refs[handle - MOCK_XRCD_HANDLE] = -1;
	return 0;
}

/**
 * mock_create_xrc_srq() - CREATE_XRC_SRQ
 * @mock: function
 * @kvec: request in two pieces
 * @rsp: response
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_create_xrc_srq(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_create_xrc_srq *req = kvec[0].iov_base;
	u32 xrcd = le32_to_cpu(req->xrcd), cqn = le32_to_cpu(req->cqn);
	struct virtio_rdma_ack_create_srq *ack = rsp;
	struct mock_srq *srq;

	if (mock->wide_srq) {
		ack->srq = cpu_to_le32(VIRTIO_RDMA_XRC_SRQN_MASK + 1);
		return 0;
	}
	if (cqn < MOCK_CQS || !mock_cq_exists(mock, cqn)) {
		mock_violation(mock, "no such CQ of an XRC SRQ", cqn);
		return -EREMOTEIO;
	}
	if (mock_xrcd_use(mock, xrcd, 1))
		return -EREMOTEIO;
	if (mock_create_srq(mock, kvec, rsp)) {
		mock_xrcd_use(mock, xrcd, -1);
		return -EREMOTEIO;
	}
	mock->cqs[cqn].refs++;
	srq = &mock->srqs[le32_to_cpu(ack->srq) - MOCK_SRQ_HANDLE];
	srq->xrc = true;
	srq->xrcd = xrcd;
	srq->cqn = cqn;
	return 0;
}

/**
 * mock_xrc_srq_gone() - an SRQ is destroyed
 * @mock: function
 * @srq: any SRQ
 */
void mock_xrc_srq_gone(struct mock *mock, const struct mock_srq *srq)
{
	if (!srq->xrc)
		return;
	mock->cqs[srq->cqn].refs--;
	mock_xrcd_use(mock, srq->xrcd, -1);
}

/**
 * mock_tgt_made() - CREATE_QP, of an XRC_TGT QP
 * @mock: function
 * @kvec: request in two pieces
 *
 * All else than type, form and XRC domain must be zero.
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_tgt_made(struct mock *mock, const struct kvec *kvec)
{
	struct {
		u8 qp[VIRTIO_RDMA_QP_DIRECT_OFFSET];
		struct virtio_rdma_qp_direct direct;
	} req;
	u32 xrcd;

	memcpy(&req, kvec[0].iov_base, sizeof(req));
	xrcd = le32_to_cpu(req.direct.xrcd);
	if (req.direct.form != VIRTIO_RDMA_QP_FORM_DIRECT || kvec[1].iov_len)
		mock_violation(mock, "bad form of an XRC_TGT QP", req.direct.form);
	req.qp[offsetof(struct virtio_rdma_cmd_create_qp, qp_type)] = 0;
	req.direct.form = 0;
	req.direct.xrcd = 0;
	if (memchr_inv(&req, 0, sizeof(req)))
		mock_violation(mock, "XRC_TGT QP with more than its domain", xrcd);
	return mock_xrcd_use(mock, xrcd, 1);
}

/**
 * mock_tgt_gone() - DESTROY_QP, of an XRC_TGT QP
 * @mock: function
 * @qp: QP
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_tgt_gone(struct mock *mock, struct mock_qp *qp)
{
	qp->exists = false;
	return mock_xrcd_use(mock, le32_to_cpu(qp->direct.xrcd), -1);
}
