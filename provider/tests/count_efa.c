// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many instructions posting and polling take in the efa provider of rdma-core, with
 * queues in the memory of this process, as count.c has them for ours.
 *
 * Its sends are datagrams, which need an address handle and no remote address.  The CQ has
 * one part, no event channel, and nobody else uses it: nothing that costs more than it must.
 */
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>
#include <util/util.h>

#include "efa.h"
#include "efa_io_defs.h"
#include "stepper.h"
#include "verbs.h"

enum {
	DEPTH = 64,
	BATCH = 8,
	QPN = 5,
};

static struct efa_context ctx;
static struct efa_qp qp;
static struct efa_qp *qp_table[DEPTH];
static struct efa_cq *cq;
static struct efa_ah ah;
static struct efa_io_rx_cdesc cqes[DEPTH];
static uint8_t sends[DEPTH * sizeof(struct efa_io_tx_wqe)]
	__attribute__((aligned(64)));
static uint8_t recvs[DEPTH * sizeof(struct efa_io_rx_desc)];
static uint32_t doorbells[2], tail;
static struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
static struct ibv_send_wr send[BATCH], *bad_send;
static struct ibv_recv_wr recv, *bad_recv;
static struct ibv_wc wc[BATCH];

static void wq_init(struct efa_wq *wq, uint32_t *doorbell)
{
	unsigned int i;

	wq->wrid = calloc(DEPTH, sizeof(*wq->wrid));
	wq->wrid_idx_pool = calloc(DEPTH, sizeof(*wq->wrid_idx_pool));
	for (i = 0; i < DEPTH; i++)
		wq->wrid_idx_pool[i] = i;
	wq->wqe_cnt = DEPTH;
	wq->desc_mask = DEPTH - 1;
	wq->max_sge = 2;
	wq->db = doorbell;
	pthread_spin_init(&wq->wqlock, PTHREAD_PROCESS_PRIVATE);
}

static void setup(void)
{
	unsigned int i;

	ctx.qp_table = qp_table;
	ctx.qp_table_sz_m1 = DEPTH - 1;
	qp_table[QPN] = &qp;
	qp.verbs_qp.qp.context = &ctx.ibvctx.context;
	qp.verbs_qp.qp.qp_num = QPN;
	qp.verbs_qp.qp.state = IBV_QPS_RTS;
	wq_init(&qp.sq.wq, &doorbells[0]);
	wq_init(&qp.rq.wq, &doorbells[1]);
	qp.sq.desc = sends;
	qp.sq.max_batch_wr = DEPTH;
	qp.rq.buf = recvs;

	cq = calloc(1, sizeof(*cq) + sizeof(cq->sub_cq_arr[0]));
	cq->verbs_cq.cq.context = &ctx.ibvctx.context;
	cq->num_sub_cqs = 1;
	cq->sub_cq_arr[0] = (struct efa_sub_cq){
		.phase = 1,
		.buf = (uint8_t *)cqes,
		.qmask = DEPTH - 1,
		.cqe_size = sizeof(cqes[0]),
		.ref_cnt = 1,
	};
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);

	for (i = 0; i < BATCH; i++)
		send[i] = (struct ibv_send_wr){
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { .ah = &ah.ibvah, .remote_qpn = 1 },
		};
	recv = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
}

/* Requests that are complete have been posted. */
static void complete(unsigned int n, enum efa_io_queue_type type)
{
	struct efa_wq *wq = type == EFA_IO_SEND_QUEUE ? &qp.sq.wq : &qp.rq.wq;
	struct efa_io_rx_cdesc *cqe;
	unsigned int i;

	for (i = 0; i < n; i++) {
		wq->wqe_posted++;
		cqe = &cqes[tail % DEPTH];
		memset(cqe, 0, sizeof(*cqe));
		cqe->common.req_id = wq->wrid_idx_pool[wq->wrid_idx_pool_next++];
		cqe->common.qp_num = QPN;
		cqe->length = 64;
		EFA_SET(&cqe->common.flags, EFA_IO_CDESC_COMMON_Q_TYPE, type);
		EFA_SET(&cqe->common.flags, EFA_IO_CDESC_COMMON_PHASE, 1);
		tail++;
	}
}

static void nothing_ready(void)
{
}

static void send_ready(void)
{
	complete(1, EFA_IO_SEND_QUEUE);
}

static void recv_ready(void)
{
	complete(1, EFA_IO_RECV_QUEUE);
}

static void batch_ready(void)
{
	complete(BATCH, EFA_IO_SEND_QUEUE);
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
	stepper_failed = efa_post_send(&qp.verbs_qp.qp, send, &bad_send);
}

static void post_recv(void)
{
	stepper_failed = efa_post_recv(&qp.verbs_qp.qp, &recv, &bad_recv);
}

static void poll_one(void)
{
	stepper_failed = efa_poll_cq(&cq->verbs_cq.cq, 1, wc) - 1;
}

static void poll_batch(void)
{
	stepper_failed = efa_poll_cq(&cq->verbs_cq.cq, BATCH, wc) - BATCH;
}

static void poll_none(void)
{
	stepper_failed = efa_poll_cq(&cq->verbs_cq.cq, 1, wc);
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
