// SPDX-License-Identifier: GPL-2.0
/*
 * Work queues, indirection tables, RX_HASH QPs and flow rules of the function without
 * hardware; see virtio_roce_mock.h.
 */
#include "virtio_roce_mock.h"

static struct mock_table *mock_table(struct mock *mock, u32 handle)
{
	u32 i = handle - MOCK_TABLE_HANDLE;

	if (i < MOCK_TABLES && mock->tables[i].exists)
		return &mock->tables[i];
	mock_violation(mock, "no such indirection table", handle);
	return NULL;
}

/**
 * mock_wq_made() - CREATE_QP, of a work queue
 * @mock: function
 * @qp: what was asked for
 */
void mock_wq_made(struct mock *mock, struct mock_qp *qp)
{
	if (qp->scqn || qp->direct.send_depth || qp->direct.send_pages ||
	    qp->direct.flags || !qp->direct.recv_depth)
		mock_violation(mock, "work queue with more than a receive ring", qp->scqn);
	qp->scqn = qp->rcqn;
}

/**
 * mock_wq_gone() - a QP is destroyed
 * @mock: function
 * @qpn: any QP
 */
void mock_wq_gone(struct mock *mock, u32 qpn)
{
	unsigned int i, j;

	for (i = 0; i < MOCK_TABLES; i++)
		for (j = 0; mock->tables[i].exists && j < mock->tables[i].n; j++)
			if (mock->tables[i].wqn[j] == qpn)
				mock_violation(mock, "work queue in use", qpn);
}

/**
 * mock_create_wq_table() - CREATE_WQ_TABLE
 * @mock: function
 * @kvec: request in two pieces
 * @rsp: response
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_create_wq_table(struct mock *mock, const struct kvec *kvec, void *rsp)
{
	const struct virtio_rdma_cmd_create_wq_table *req = kvec[0].iov_base;
	struct virtio_rdma_ack_create_wq_table *ack = rsp;
	const __le32 *wqn = kvec[1].iov_base;
	struct mock_table table = { .exists = true, .n = 1U << req->log_size };
	u32 i;

	if (table.n > MOCK_TABLE_MAX || kvec[1].iov_len != table.n * sizeof(*wqn)) {
		mock_violation(mock, "indirection table of another size", req->log_size);
		return -EREMOTEIO;
	}
	for (i = 0; i < table.n; i++) {
		table.wqn[i] = le32_to_cpu(wqn[i]);
		if (!mock_qp_exists(mock, table.wqn[i]) ||
		    mock->qps[table.wqn[i]].type != VIRTIO_IB_QPT_WQ)
			mock_violation(mock, "no such work queue", table.wqn[i]);
	}
	for (i = 0; i < MOCK_TABLES && mock->tables[i].exists; i++)
		;
	if (i == MOCK_TABLES)
		return -EREMOTEIO;
	mock->tables[i] = table;
	ack->table = cpu_to_le32(MOCK_TABLE_HANDLE + i);
	return 0;
}

int mock_destroy_wq_table(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_wq_table *req = r;
	struct mock_table *table = mock_table(mock, le32_to_cpu(req->table));

	if (!table)
		return -EREMOTEIO;
	if (table->refs)
		mock_violation(mock, "indirection table in use", le32_to_cpu(req->table));
	table->exists = false;
	return 0;
}

int mock_create_rx_hash_qp(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_rx_hash_qp *req = r;
	struct mock_table *table = mock_table(mock, le32_to_cpu(req->table));
	u32 qpn = mock->next_qpn >= 0 ? mock->next_qpn : MOCK_QPS;
	struct virtio_rdma_ack_create_qp *ack = rsp;

	if (!table)
		return -EREMOTEIO;
	while (qpn < MOCK_ALL_QPS && mock_qp_exists(mock, qpn))
		qpn++;
	ack->qpn = cpu_to_le32(qpn);
	/* As for CREATE_QP. */
	if (mock->next_qpn >= MOCK_ALL_QPS) {
		mock->next_qpn = -1;
		return 0;
	}
	if (qpn >= MOCK_ALL_QPS)
		return -EREMOTEIO;
	table->refs++;
	mock->qps[qpn] = (struct mock_qp) {
		.exists = true,
		.type = VIRTIO_IB_QPT_RX_HASH,
		.state = VIRTIO_IB_QPS_RTR,
		.table = le32_to_cpu(req->table),
	};
	return 0;
}

/**
 * mock_rx_hash_gone() - DESTROY_QP, of an RX_HASH QP
 * @mock: function
 * @qp: QP
 *
 * Return: 0 or -EREMOTEIO.
 */
int mock_rx_hash_gone(struct mock *mock, struct mock_qp *qp)
{
	struct mock_table *table = mock_table(mock, qp->table);

	qp->exists = false;
	if (!table)
		return -EREMOTEIO;
	table->refs--;
	return 0;
}

static struct mock_flow *mock_flow(struct mock *mock, u32 handle)
{
	u32 i = handle - MOCK_FLOW_HANDLE;

	if (i < MOCK_FLOWS && mock->flows[i].exists)
		return &mock->flows[i];
	mock_violation(mock, "no such flow rule", handle);
	return NULL;
}

int mock_create_flow_long(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_create_flow_long *req = r;
	struct virtio_rdma_ack_create_flow *ack = rsp;
	u32 i, qpn = le32_to_cpu(req->flow.qpn);

	if (!mock_qp_exists(mock, qpn))
		mock_violation(mock, "no such QP", qpn);
	for (i = 0; i < MOCK_FLOWS && mock->flows[i].exists; i++)
		;
	if (i == MOCK_FLOWS)
		return -EREMOTEIO;
	mock->flows[i] = (struct mock_flow) {
		.exists = true,
		.qpn = qpn,
		.tag = le32_to_cpu(req->tag),
	};
	ack->flow = cpu_to_le32(MOCK_FLOW_HANDLE + i);
	return 0;
}

int mock_create_flow(struct mock *mock, const void *r, void *rsp)
{
	struct virtio_rdma_cmd_create_flow_long req = {};

	memcpy(&req.flow, r, sizeof(req.flow));
	return mock_create_flow_long(mock, &req, rsp);
}

int mock_query_flow(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_query_flow *req = r;
	struct mock_flow *flow = mock_flow(mock, le32_to_cpu(req->flow));
	struct virtio_rdma_ack_query_flow *ack = rsp;

	if (!flow)
		return -EREMOTEIO;
	ack->packets = cpu_to_le64(flow->packets);
	ack->bytes = cpu_to_le64(flow->bytes);
	return 0;
}

int mock_destroy_flow(struct mock *mock, const void *r, void *rsp)
{
	const struct virtio_rdma_cmd_destroy_flow *req = r;
	struct mock_flow *flow = mock_flow(mock, le32_to_cpu(req->flow));

	if (!flow)
		return -EREMOTEIO;
	flow->exists = false;
	return 0;
}
