// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many instructions posting and polling take in the mlx5 provider of rdma-core, with
 * queues in the memory of this process, as count.c has them for ours: RC, RDMA WRITE of one
 * element, completions of version 1, and doorbells without BlueFlame.
 */
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>

#include "mlx5.h"
#include "stepper.h"
#include "wqe.h"

enum {
	DEPTH = 64,
	BATCH = 8,
	QPN = 5,
	UIDX = 3,
};

static struct mlx5_context *ctx;
static struct mlx5_qp qp;
static struct mlx5_cq cq;
static struct mlx5_bf bf;
static void *uidx_table[MLX5_UIDX_TABLE_MASK + 1];
static struct mlx5_cqe64 cqes[DEPTH] __attribute__((aligned(64)));
static char sends[DEPTH << MLX5_SEND_WQE_SHIFT] __attribute__((aligned(64)));
static char recvs[DEPTH << 6] __attribute__((aligned(64)));
static char reg[4096] __attribute__((aligned(64)));
static __be32 records[2], cq_record[2];
static uint32_t tail;
static struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
static struct ibv_send_wr send[BATCH], *bad_send;
static struct ibv_recv_wr recv, *bad_recv;
static struct ibv_wc wc[BATCH];

static void lock_init(struct mlx5_spinlock *lock)
{
	mlx5_spinlock_init(lock, 1);
}

static void wq_init(struct mlx5_wq *wq)
{
	wq->wrid = calloc(DEPTH, sizeof(*wq->wrid));
	wq->wqe_head = calloc(DEPTH, sizeof(*wq->wqe_head));
	wq->wr_data = calloc(DEPTH, sizeof(*wq->wr_data));
	wq->wqe_cnt = DEPTH;
	wq->max_post = DEPTH;
	wq->max_gs = 2;
	wq->qp_state_max_gs = 2;
	wq->wqe_shift = 6;
	lock_init(&wq->lock);
}

static void setup(void)
{
	unsigned int i;

	ctx = calloc(1, sizeof(*ctx));
	ctx->uidx_table[0].refcnt = 1;
	ctx->uidx_table[0].table = (void *)uidx_table;
	uidx_table[UIDX] = &qp;

	for (i = 0; i < DEPTH; i++)
		cqes[i].op_own = MLX5_CQE_INVALID << 4;
	cq.verbs_cq.cq.context = &ctx->ibv_ctx.context;
	cq.verbs_cq.cq.cqe = DEPTH - 1;
	cq.buf_a.buf = cqes;
	cq.active_buf = &cq.buf_a;
	cq.cqe_sz = sizeof(cqes[0]);
	cq.dbrec = cq_record;
	lock_init(&cq.lock);

	qp.rsc.type = MLX5_RSC_TYPE_QP;
	qp.rsc.rsn = UIDX;
	qp.verbs_qp.qp.context = &ctx->ibv_ctx.context;
	qp.verbs_qp.qp.qp_type = IBV_QPT_RC;
	qp.verbs_qp.qp.qp_num = QPN;
	qp.verbs_qp.qp.state = IBV_QPS_RTS;
	qp.verbs_qp.qp.send_cq = &cq.verbs_cq.cq;
	qp.verbs_qp.qp.recv_cq = &cq.verbs_cq.cq;
	qp.ibv_qp = &qp.verbs_qp.qp;
	wq_init(&qp.sq);
	wq_init(&qp.rq);
	qp.sq_start = sends;
	qp.sq.qend = sends + sizeof(sends);
	qp.buf.buf = recvs;
	qp.db = records;
	qp.bf = &bf;
	bf.reg = reg;
	bf.buf_size = 256;
	bf.need_lock = 1;
	lock_init(&bf.lock);

	for (i = 0; i < BATCH; i++)
		send[i] = (struct ibv_send_wr){
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = 0x2000, .rkey = 9 },
		};
	recv = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
}

static void complete(unsigned int n, uint8_t opcode)
{
	struct mlx5_cqe64 *cqe;
	unsigned int i;

	for (i = 0; i < n; i++) {
		cqe = &cqes[tail % DEPTH];
		memset(cqe, 0, sizeof(*cqe));
		cqe->srqn_uidx = htobe32(UIDX);
		cqe->sop_drop_qpn = htobe32(QPN | (uint32_t)MLX5_OPCODE_RDMA_WRITE << 24);
		cqe->byte_cnt = htobe32(64);
		cqe->wqe_counter = htobe16(i);
		cqe->op_own = opcode << 4 | !!(tail & DEPTH);
		tail++;
	}
}

static void nothing_ready(void)
{
}

static void send_ready(void)
{
	complete(1, MLX5_CQE_REQ);
}

static void recv_ready(void)
{
	complete(1, MLX5_CQE_RESP_SEND);
}

static void batch_ready(void)
{
	complete(BATCH, MLX5_CQE_REQ);
}

static void list_of_one(void)
{
	send[0].next = NULL;
}

static void list_of_eight(void)
{
	unsigned int i;

	for (i = 0; i + 1 < BATCH; i++)
		send[i].next = &send[i + 1];
}

static void post_send(void)
{
	stepper_failed = mlx5_post_send(&qp.verbs_qp.qp, send, &bad_send);
}

static void post_recv(void)
{
	stepper_failed = mlx5_post_recv(&qp.verbs_qp.qp, &recv, &bad_recv);
}

static void poll_one(void)
{
	stepper_failed = mlx5_poll_cq_v1(&cq.verbs_cq.cq, 1, wc) - 1;
}

static void poll_batch(void)
{
	stepper_failed = mlx5_poll_cq_v1(&cq.verbs_cq.cq, BATCH, wc) - BATCH;
}

static void poll_none(void)
{
	stepper_failed = mlx5_poll_cq_v1(&cq.verbs_cq.cq, 1, wc);
}

int main(void)
{
	static const struct stepper_case cases[] = {
		{ "post_send", list_of_one, post_send, 1 },
		{ "post_send_list_of_8", list_of_eight, post_send, BATCH },
		{ "post_recv", nothing_ready, post_recv, 1 },
		{ "poll_send", send_ready, poll_one, 1 },
		{ "poll_recv", recv_ready, poll_one, 1 },
		{ "poll_8_of_8", batch_ready, poll_batch, BATCH },
		{ "poll_empty", nothing_ready, poll_none, 1 },
	};

	setup();
	stepper_print(cases, ARRAY_SIZE(cases));
	return 0;
}
