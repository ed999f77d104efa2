// SPDX-License-Identifier: GPL-2.0
/*
 * Direct queues and events of the function without hardware; see virtio_roce_mock.h.
 */
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "virtio_roce_mock.h"

#define DIRECT_QPS	(MOCK_ALL_QPS - MOCK_QPS)
#define DIRECT_CQS	(MOCK_ALL_CQS - MOCK_CQS)

/**
 * mock_make_direct() - give a function event queues and direct queues
 * @mock: function that acts as a device and is not published yet
 */
void mock_make_direct(struct mock *mock)
{
	struct virtio_rdma_ack_query_device *attr = &mock->query_device;

	mock->aux.num_events = 3;
	mock->aux.num_doorbells = 1;
	mock_vq_init(mock, &mock->doorbell_vq, 100);
	attr->device_cap_flags |= cpu_to_le64(VIRTIO_IB_DEVICE_EVENTS |
					      VIRTIO_IB_DEVICE_DIRECT |
					      VIRTIO_IB_DEVICE_SRQ |
					      VIRTIO_IB_DEVICE_SRQ_RESIZE |
					      VIRTIO_IB_DEVICE_XRC |
					      VIRTIO_IB_DEVICE_QP_EVENTS |
					      VIRTIO_IB_DEVICE_CQ_TIMESTAMP);
	attr->max_direct_qp = cpu_to_le32(DIRECT_QPS);
	attr->max_direct_cq = cpu_to_le32(DIRECT_CQS);
	attr->max_direct_wr = cpu_to_le32(32768);
	attr->max_direct_cqe = cpu_to_le32(1 << 22);
	attr->max_doorbells = cpu_to_le32(MOCK_DOORBELLS);
	attr->max_srq = cpu_to_le32(MOCK_SRQS);
	attr->max_xrcd = cpu_to_le32(MOCK_XRCDS);
}

/* Copy a list of pages, as many as the mock keeps. */
static bool mock_pages_ok(struct mock *mock, const struct kvec *list, u32 npages,
			  size_t bytes, u64 *pages, u32 max)
{
	const __le64 *page = list->iov_base;
	u32 i;

	if (list->iov_len != npages * sizeof(*page) ||
	    npages != DIV_ROUND_UP(bytes, SZ_4K)) {
		mock_violation(mock, "list of pages of another length", npages);
		return false;
	}
	for (i = 0; i < npages; i++) {
		if (le64_to_cpu(page[i]) % SZ_4K)
			mock_violation(mock, "page is not aligned", i);
		if (i < max)
			pages[i] = le64_to_cpu(page[i]);
	}
	return true;
}

static bool mock_is_blank(u64 page, size_t len)
{
	return !memchr_inv(phys_to_virt(page), 0, len);
}

static u32 mock_pick_cqn(struct mock *mock, bool direct)
{
	u32 cqn = direct ? MOCK_CQS : 0;

	if (mock->next_cqn >= 0)
		cqn = mock->next_cqn;
	else
		while (mock_cq_exists(mock, cqn))
			cqn++;
	mock->next_cqn = -1;
	return cqn;
}

static size_t mock_cq_stride(const struct mock_cq *cq)
{
	return cq->timed ? sizeof(struct virtio_rdma_cqe_timed) :
			   sizeof(struct virtio_rdma_cqe);
}

/**
 * mock_direct_create_cq() - CREATE_CQ, long form
 * @mock: function
 * @kvec: request in two pieces
 * @rsp: response
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_direct_create_cq(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_create_cq_long *req = kvec[0].iov_base;
	bool direct = req->flags & VIRTIO_RDMA_CQ_DIRECT;
	struct virtio_rdma_ack_create_cq *ack = rsp;
	u32 cqe = le32_to_cpu(req->cqe), cqn = mock_pick_cqn(mock, direct);
	u64 control = le64_to_cpu(req->control);
	struct mock_cq cq = {
		.exists = true,
		.cqe = cqe,
		.event_vq = le16_to_cpu(req->event_vq),
		.control = phys_to_virt(control),
		.timed = req->flags & VIRTIO_RDMA_CQ_TIMESTAMP,
	};

	if (!(req->flags & VIRTIO_RDMA_CQ_CONTROL) || control % 64 ||
	    cq.event_vq >= mock->aux.num_events ||
	    !mock_is_blank(control, VIRTIO_RDMA_CONTROL_SIZE))
		mock_violation(mock, "bad control block of a CQ", cqn);
	if (direct && (!is_power_of_2(cqe) || req->cqe_shift != 5 + cq.timed ||
		       cqe < VIRTIO_RDMA_DIRECT_MIN_CQE))
		mock_violation(mock, "bad size of a CQ", cqe);
	if (cq.timed && !direct)
		mock_violation(mock, "timestamps of a CQ that is not direct", cqn);
	if (!mock_pages_ok(mock, &kvec[1], le32_to_cpu(req->npages),
			   direct ? (size_t)cqe << req->cqe_shift : 0, cq.pages,
			   MOCK_PAGES))
		return -EREMOTEIO;
	if (direct && !mock_is_blank(cq.pages[0], SZ_4K))
		mock_violation(mock, "ring of a CQ is not zero", cqn);
	ack->cqn = cpu_to_le32(cqn);
	/* A broken device answers this without creating anything. */
	if (cqn >= (direct ? MOCK_ALL_CQS : MOCK_CQS))
		return 0;
	mock->cqs[cqn] = cq;
	if (!direct)
		mock->cq_vqs[cqn].used = 0;
	return 0;
}

/**
 * mock_direct_create_qp() - CREATE_QP, long form
 * @mock: function
 * @kvec: request in two pieces
 * @rsp: response
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_direct_create_qp(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_create_qp *req = kvec[0].iov_base;
	const struct virtio_rdma_qp_direct *direct =
		kvec[0].iov_base + VIRTIO_RDMA_QP_DIRECT_OFFSET;
	u32 send_pages = le32_to_cpu(direct->send_pages);
	struct virtio_rdma_ack_create_qp *ack = rsp;
	u64 control = le64_to_cpu(direct->control);
	u32 qpn = mock->next_qpn >= 0 ? mock->next_qpn : MOCK_QPS;
	struct kvec list = kvec[1];
	struct mock_qp qp = {
		.exists = true,
		.type = req->qp_type,
		.flags = req->flags,
		.state = VIRTIO_IB_QPS_RESET,
		.pdn = le32_to_cpu(req->pdn),
		.scqn = le32_to_cpu(req->send_cqn),
		.rcqn = le32_to_cpu(req->recv_cqn),
		.control = control ? phys_to_virt(control) : NULL,
		.direct = *direct,
	};

	while (mock_qp_exists(mock, qpn))
		qpn++;
	ack->qpn = cpu_to_le32(qpn);
	/* As for CQs. */
	if (mock->next_qpn >= MOCK_ALL_QPS) {
		mock->next_qpn = -1;
		return 0;
	}
	if (qpn >= MOCK_ALL_QPS)
		return -EREMOTEIO;
	if (qp.type == VIRTIO_IB_QPT_XRC_TGT) {
		if (mock_tgt_made(mock, kvec))
			return -EREMOTEIO;
		mock->qps[qpn] = qp;
		return 0;
	}
	if (qp.type == VIRTIO_IB_QPT_XRC_INI) {
		if (qp.rcqn || direct->recv_depth)
			mock_violation(mock, "receive queue of an XRC_INI QP", qpn);
		qp.rcqn = qp.scqn;
	}
	if (qp.type == VIRTIO_IB_QPT_WQ)
		mock_wq_made(mock, &qp);
	if (direct->form != VIRTIO_RDMA_QP_FORM_DIRECT || control % 64 ||
	    le32_to_cpu(direct->bit) >= VIRTIO_RDMA_DOORBELL_BITS ||
	    le32_to_cpu(direct->doorbell) >= MOCK_DOORBELLS ||
	    !mock->doorbells[le32_to_cpu(direct->doorbell)] ||
	    !mock_is_blank(control, VIRTIO_RDMA_CONTROL_SIZE))
		mock_violation(mock, "bad direct QP", qpn);
	list.iov_len = send_pages * sizeof(__le64);
	if (!mock_pages_ok(mock, &list, send_pages,
			   (size_t)le32_to_cpu(direct->send_depth) <<
			   direct->send_shift, qp.pages, MOCK_PAGES))
		return -EREMOTEIO;
	list.iov_base += list.iov_len;
	list.iov_len = kvec[1].iov_len - list.iov_len;
	if (!mock_pages_ok(mock, &list, le32_to_cpu(direct->recv_pages),
			   (size_t)le32_to_cpu(direct->recv_depth) <<
			   direct->recv_shift, qp.pages + MOCK_PAGES,
			   MOCK_PAGES))
		return -EREMOTEIO;
	if (qp.scqn < MOCK_CQS || qp.rcqn < MOCK_CQS ||
	    !mock_cq_exists(mock, qp.scqn) || !mock_cq_exists(mock, qp.rcqn) ||
	    mock_pd_use(mock, qp.pdn, 1))
		return -EREMOTEIO;
	mock->cqs[qp.scqn].refs++;
	mock->cqs[qp.rcqn].refs++;
	mock->qps[qpn] = qp;
	if (mock_qp_srq(mock, &qp)) {
		mock_qp_srq(mock, &qp)->refs++;
		if (direct->recv_depth)
			mock_violation(mock, "receive ring beside an SRQ", qpn);
	}
	ack->qpn = cpu_to_le32(qpn);
	return 0;
}

/**
 * mock_direct_resize_cq() - RESIZE_CQ
 * @mock: function
 * @kvec: request in two pieces
 * @rsp: response
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_direct_resize_cq(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_resize_cq *req = kvec[0].iov_base;
	u32 cqe = le32_to_cpu(req->cqe), cqn = le32_to_cpu(req->cqn), unread;
	struct virtio_rdma_cq_control *control =
		phys_to_virt(le64_to_cpu(req->control));
	struct virtio_rdma_ack_resize_cq *ack = rsp;
	struct mock_cq cq;

	if (cqn < MOCK_CQS || !mock_cq_exists(mock, cqn)) {
		mock_violation(mock, "no such direct CQ", cqn);
		return -EREMOTEIO;
	}
	cq = mock->cqs[cqn];
	if (!is_power_of_2(cqe) || le64_to_cpu(req->control) % 64 ||
	    control->arm != cq.control->arm ||
	    memchr_inv(&control->consumer, 0, sizeof(*control) - 4))
		mock_violation(mock, "bad size or control block of a CQ", cqn);
	if (!mock_pages_ok(mock, &kvec[1], le32_to_cpu(req->npages),
			   cqe * mock_cq_stride(&cq), cq.pages, MOCK_PAGES))
		return -EREMOTEIO;
	if (!mock_is_blank(cq.pages[0], SZ_4K))
		mock_violation(mock, "ring of a CQ is not zero", cqn);
	unread = cq.tail - le32_to_cpu(READ_ONCE(cq.control->consumer));
	if (unread > cq.cqe || unread > cqe)
		return -EREMOTEIO;
	ack->stored = cpu_to_le32(cq.tail);
	ack->unread = cpu_to_le32(unread + mock->unread_more);
	cq.cqe = cqe;
	cq.control = control;
	cq.tail = unread;
	mock->cqs[cqn] = cq;
	return 0;
}

static struct mock_srq *mock_srq(struct mock *mock, u32 handle)
{
	u32 i = handle - MOCK_SRQ_HANDLE;

	if (i < MOCK_SRQS && mock->srqs[i].exists)
		return &mock->srqs[i];
	mock_violation(mock, "no such SRQ", handle);
	return NULL;
}

/**
 * mock_qp_srq() - SRQ of a direct QP
 * @mock: function
 * @qp: QP
 *
 * Return: its SRQ, or NULL.
 */
struct mock_srq *mock_qp_srq(struct mock *mock, const struct mock_qp *qp)
{
	if (!(qp->direct.flags & VIRTIO_RDMA_QP_SRQ))
		return NULL;
	return mock_srq(mock, le32_to_cpu(qp->direct.srq));
}

int mock_create_srq(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_create_srq *req = kvec[0].iov_base;
	struct virtio_rdma_ack_create_srq *ack = rsp;
	u32 depth = le32_to_cpu(req->depth), i;
	u64 control = le64_to_cpu(req->control);
	struct mock_srq srq = {
		.exists = true,
		.pdn = le32_to_cpu(req->pdn),
		.req = *req,
		.control = phys_to_virt(control),
	};

	for (i = 0; i < MOCK_SRQS && mock->srqs[i].exists; i++)
		;
	if (i == MOCK_SRQS)
		return -EREMOTEIO;
	if (control % 64 || !mock_is_blank(control, VIRTIO_RDMA_CONTROL_SIZE) ||
	    !is_power_of_2(depth))
		mock_violation(mock, "bad SRQ", depth);
	if (!mock_pages_ok(mock, &kvec[1], le32_to_cpu(req->npages),
			   (size_t)depth << req->shift, srq.pages, MOCK_PAGES) ||
	    mock_pd_use(mock, srq.pdn, 1))
		return -EREMOTEIO;
	mock->srqs[i] = srq;
	ack->srq = cpu_to_le32(MOCK_SRQ_HANDLE + (mock->same_srq ? 0 : i));
	return 0;
}

int mock_modify_srq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_modify_srq *req = r;
	struct mock_srq *srq = mock_srq(mock, le32_to_cpu(req->srq));

	if (!srq)
		return -EREMOTEIO;
	srq->limit = le32_to_cpu(req->limit);
	return 0;
}

int mock_resize_srq(struct mock *mock, const struct kvec *kvec)
{
	const struct virtio_rdma_cmd_resize_srq *req = kvec[0].iov_base;
	struct mock_srq *old = mock_srq(mock, le32_to_cpu(req->srq)), srq;
	u32 depth = le32_to_cpu(req->depth);
	u64 control = le64_to_cpu(req->control);

	if (!old)
		return -EREMOTEIO;
	srq = *old;
	srq.control = phys_to_virt(control);
	if (control % 64 || !is_power_of_2(depth) ||
	    srq.control->producer != old->control->producer)
		mock_violation(mock, "bad new ring of an SRQ", depth);
	if (!mock_pages_ok(mock, &kvec[1], le32_to_cpu(req->npages),
			   (size_t)depth << srq.req.shift, srq.pages, MOCK_PAGES))
		return -EREMOTEIO;
	srq.req.depth = req->depth;
	*old = srq;
	return 0;
}

int mock_query_srq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_query_srq *req = r;
	struct mock_srq *srq = mock_srq(mock, le32_to_cpu(req->srq));
	struct virtio_rdma_ack_query_srq *ack = rsp;

	if (!srq)
		return -EREMOTEIO;
	ack->limit = cpu_to_le32(srq->limit);
	return 0;
}

int mock_destroy_srq(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_srq *req = r;
	struct mock_srq *srq = mock_srq(mock, le32_to_cpu(req->srq));

	if (!srq)
		return -EREMOTEIO;
	if (srq->refs)
		mock_violation(mock, "SRQ in use", le32_to_cpu(req->srq));
	srq->exists = false;
	mock_xrc_srq_gone(mock, srq);
	return mock_pd_use(mock, srq->pdn, -1);
}

/**
 * mock_srq_slot() - a request of an SRQ
 * @mock: function
 * @srq: SRQ, counted from 0
 * @index: its index
 *
 * Return: its slot, by device addresses.
 */
struct virtio_rdma_rwqe *mock_srq_slot(struct mock *mock, u32 srq, u32 index)
{
	const struct virtio_rdma_cmd_create_srq *req = &mock->srqs[srq].req;
	size_t at = (size_t)(index & (le32_to_cpu(req->depth) - 1)) << req->shift;

	KUNIT_ASSERT_LT(mock->test, at / SZ_4K, MOCK_PAGES);
	return phys_to_virt(mock->srqs[srq].pages[at / SZ_4K]) + at % SZ_4K;
}

int mock_alloc_doorbell(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_alloc_doorbell *req = r;
	struct virtio_rdma_ack_alloc_doorbell *ack = rsp;
	u64 page = le64_to_cpu(req->page);
	u32 i;

	for (i = 0; i < MOCK_DOORBELLS && mock->doorbells[i]; i++)
		;
	if (i == MOCK_DOORBELLS)
		return -EREMOTEIO;
	if (page % SZ_4K || !mock_is_blank(page, SZ_4K) ||
	    le16_to_cpu(req->vq) >= mock->aux.num_doorbells)
		mock_violation(mock, "bad doorbell page", i);
	mock->doorbells[i] = phys_to_virt(page);
	ack->doorbell = cpu_to_le32(i);
	return 0;
}

int mock_free_doorbell(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_free_doorbell *req = r;
	u32 handle = le32_to_cpu(req->doorbell), i;

	if (handle >= MOCK_DOORBELLS || !mock->doorbells[handle]) {
		mock_violation(mock, "no such doorbell page", handle);
		return -EREMOTEIO;
	}
	for (i = MOCK_QPS; i < MOCK_ALL_QPS; i++)
		if (mock->qps[i].exists && mock->qps[i].control &&
		    le32_to_cpu(mock->qps[i].direct.doorbell) == handle)
			mock_violation(mock, "doorbell page in use", i);
	mock->doorbells[handle] = NULL;
	return 0;
}

/**
 * mock_event() - report an event
 * @mock: function
 * @type: &enum virtio_rdma_event_type
 * @number: object
 */
void mock_event(struct mock *mock, u16 type, u32 number)
{
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);
	unsigned long flags;

	local_irq_save(flags);
	notify = READ_ONCE(mock->notify);
	if (notify)
		notify(&mock->aux, type, number);
	local_irq_restore(flags);
}

/**
 * mock_direct_raise() - an event, if a CQ is armed by its control block for a completion
 * @mock: function
 * @cqn: CQ
 * @solicited: the completion is one of those that solicited events are for
 */
void mock_direct_raise(struct mock *mock, u32 cqn, bool solicited)
{
	struct mock_cq *cq = &mock->cqs[cqn];
	u32 arm;

	/* The driver arms, and then polls once more. */
	smp_mb();
	arm = le32_to_cpu(READ_ONCE(cq->control->arm));
	if (arm == cq->told || !(arm & VIRTIO_RDMA_ARM_NEXT ||
				 (solicited && arm & VIRTIO_RDMA_ARM_SOLICITED)))
		return;
	cq->told = arm;
	mock_event(mock, VIRTIO_RDMA_EVENT_COMPLETION, cqn);
}

/**
 * mock_direct_complete() - add a completion, and an event if the CQ is armed for it
 * @mock: function
 * @cqn: direct CQ
 * @cqe: completion, without its phase
 * @solicited: it is one of those that solicited events are for
 */
void mock_direct_complete(struct mock *mock, u32 cqn,
			  const struct virtio_rdma_cqe *cqe, bool solicited)
{
	struct mock_cq *cq = &mock->cqs[cqn];
	size_t at = (cq->tail & (cq->cqe - 1)) * mock_cq_stride(cq);
	struct virtio_rdma_cqe_timed *timed;
	struct virtio_rdma_cqe *slot;

	KUNIT_ASSERT_LT(mock->test, at / SZ_4K, MOCK_PAGES);
	KUNIT_ASSERT_LT(mock->test, cq->tail -
			le32_to_cpu(READ_ONCE(cq->control->consumer)), cq->cqe);
	slot = phys_to_virt(cq->pages[at / SZ_4K]) + at % SZ_4K;
	memcpy(slot, cqe, offsetof(typeof(*cqe), phase));
	if (cq->timed) {
		timed = container_of(slot, struct virtio_rdma_cqe_timed, cqe);
		timed->time = cpu_to_le64(mock->clock++);
	}
	/* The phase comes last. */
	smp_store_release(&slot->phase, cq->tail & cq->cqe ? 0 : 1);
	cq->tail++;

	mock_direct_raise(mock, cqn, solicited);
}

/**
 * mock_direct_slot() - a request of a direct QP
 * @mock: function
 * @qpn: QP
 * @recv: it is in the receive ring
 * @index: its index
 *
 * Return: its slot, by device addresses.
 */
void *mock_direct_slot(struct mock *mock, u32 qpn, bool recv, u32 index)
{
	const struct mock_qp *qp = &mock->qps[qpn];
	u8 shift = recv ? qp->direct.recv_shift : qp->direct.send_shift;
	u32 depth = le32_to_cpu(recv ? qp->direct.recv_depth :
				       qp->direct.send_depth);
	size_t at = (size_t)(index & (depth - 1)) << shift;

	KUNIT_ASSERT_LT(mock->test, at / SZ_4K, MOCK_PAGES);
	return phys_to_virt(qp->pages[at / SZ_4K + (recv ? MOCK_PAGES : 0)]) +
	       at % SZ_4K;
}

/**
 * mock_direct_control_lives() - is the page with a control block allocated?
 * @mock: function
 * @command: the control block is that of the last such command
 *
 * @command is one of those that make or resize a CQ, a QP or an SRQ.
 */
bool mock_direct_control_lives(struct mock *mock, u8 command)
{
	const struct mock_call *call = mock_last(mock, command);
	const struct virtio_rdma_qp_direct *qp =
		(void *)call->req + VIRTIO_RDMA_QP_DIRECT_OFFSET;
	const struct virtio_rdma_cmd_create_cq_long *cq = (void *)call->req;
	const struct virtio_rdma_cmd_resize_cq *resize = (void *)call->req;
	const struct virtio_rdma_cmd_resize_srq *srq = (void *)call->req;
	u64 control;

	switch (command) {
	case VIRTIO_NET_CTRL_ROCE_CREATE_CQ:
		control = le64_to_cpu(cq->control);
		break;
	case VIRTIO_NET_CTRL_ROCE_RESIZE_CQ:
		control = le64_to_cpu(resize->control);
		break;
	case VIRTIO_NET_CTRL_ROCE_RESIZE_SRQ:
		control = le64_to_cpu(srq->control);
		break;
	default:
		control = le64_to_cpu(qp->control);
	}
	return page_count(pfn_to_page(PHYS_PFN(control)));
}
