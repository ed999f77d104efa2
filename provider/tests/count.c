// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many instructions posting and polling take.
 *
 * virtio_roce_count [--addresses CASE]
 *
 * The counts (stepper.c) depend only on the provider and on the compiler.  The driver and the
 * device of the unit tests stand behind the queues; what they do is not counted.  JSON:
 * instructions of each case, for one element of it.
 *
 * With --addresses it prints the address of each instruction of a case instead, from
 * which "addr2line -f" makes a profile.
 */
#include <errno.h>
#include <stdio.h>

#include <ccan/array_size.h>

#include "stepper.h"
#include "util.h"

#define BATCH	8

static struct virtio_roce_qp *qp;
static struct virtio_roce_cq *cq;
static struct virtio_roce_srq *srq;
static struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
static struct ibv_send_wr send[BATCH], *bad_send;
static struct ibv_recv_wr recv[BATCH], *bad_recv;
static struct ibv_wc wc[BATCH];
static char payload[16];
static int result;

/* A case makes this ready before it is counted: completions that the device has added. */

static void complete(unsigned int n, uint8_t opcode)
{
	struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(qp->vqp.qp.qp_num),
		.byte_len = htole32(64),
		.opcode = opcode,
	};
	unsigned int i;

	for (i = 0; i < n; i++) {
		cqe.wqe = htole32(i);
		fake_direct_complete(&cqe);
	}
}

static void nothing_ready(void)
{
}

static void send_ready(void)
{
	complete(1, VIRTIO_IB_WC_SEND);
}

static void recv_ready(void)
{
	complete(1, VIRTIO_IB_WC_RECV | VIRTIO_RDMA_CQE_RECV);
}

static void batch_ready(void)
{
	complete(BATCH, VIRTIO_IB_WC_SEND);
}

/* The bit of the QP is set: the device has not looked since the last request. */
static void announced_ready(void)
{
	fake.page->pending[fake.bit / 64] = ~(__le64)0;
}

static void unannounced_ready(void)
{
	memset(fake.page->pending, 0, sizeof(fake.page->pending));
	memset(fake.page->words, 0, sizeof(fake.page->words));
}

/* The cases */

static void post_send(void)
{
	result = qp->vqp.qp.context->ops.post_send(&qp->vqp.qp, send, &bad_send);
}

static void post_recv(void)
{
	result = qp->vqp.qp.context->ops.post_recv(&qp->vqp.qp, recv, &bad_recv);
}

static void post_srq_recv(void)
{
	result = qp->vqp.qp.context->ops.post_srq_recv(&srq->vsrq.srq, recv, &bad_recv);
}

static void wr_write(void)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_set_sge(ex, 7, 0x1000, 64);
	result = ibv_wr_complete(ex);
}

static void poll_one(void)
{
	result = cq->vcq.cq.context->ops.poll_cq(&cq->vcq.cq, 1, wc) - 1;
}

static void poll_batch(void)
{
	result = cq->vcq.cq.context->ops.poll_cq(&cq->vcq.cq, BATCH, wc) - BATCH;
}

static void poll_none(void)
{
	result = cq->vcq.cq.context->ops.poll_cq(&cq->vcq.cq, 1, wc);
}

static void poll_ex_one(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	result = ibv_start_poll(ex, &attr);
	if (result)
		return;
	wc[0].opcode = ibv_wc_read_opcode(ex);
	wc[0].byte_len = ibv_wc_read_byte_len(ex);
	ibv_end_poll(ex);
}

static void poll_ex_none(void)
{
	struct ibv_poll_cq_attr attr = {};

	result = ibv_start_poll(&cq->vcq.cq_ex, &attr) - ENOENT;
}

/**
 * struct count_case - what is counted
 * @name: in the output
 * @ready: makes it ready
 * @run: what is counted, but for the call itself
 * @elements: requests or completions
 * @requests: of a list that is posted
 * @flags: of each request
 * @unlocked: queues of a thread domain
 */
static const struct count_case {
	const char *name;
	void (*ready)(void);
	void (*run)(void);
	unsigned int elements;
	unsigned int requests;
	unsigned int flags;
	bool unlocked;
} cases[] = {
	{ "post_send", announced_ready, post_send, 1, 1, IBV_SEND_SIGNALED },
	{ "post_send_rings", unannounced_ready, post_send, 1, 1, IBV_SEND_SIGNALED },
	{ "post_send_inline", announced_ready, post_send, 1, 1,
	  IBV_SEND_SIGNALED | IBV_SEND_INLINE },
	{ "post_send_list_of_8", announced_ready, post_send, BATCH, BATCH,
	  IBV_SEND_SIGNALED },
	{ "post_send_thread_domain", announced_ready, post_send, 1, 1,
	  IBV_SEND_SIGNALED, true },
	{ "wr_rdma_write", announced_ready, wr_write, 1, 1 },
	{ "post_recv", nothing_ready, post_recv, 1, 1 },
	{ "post_srq_recv", nothing_ready, post_srq_recv, 1, 1 },
	{ "poll_send", send_ready, poll_one, 1, 1 },
	{ "poll_recv", recv_ready, poll_one, 1, 1 },
	{ "poll_8_of_8", batch_ready, poll_batch, BATCH, 1 },
	{ "poll_send_thread_domain", send_ready, poll_one, 1, 1, 0, true },
	{ "poll_empty", nothing_ready, poll_none, 1, 1 },
	{ "poll_empty_thread_domain", nothing_ready, poll_none, 1, 1, 0, true },
	{ "start_poll_one", send_ready, poll_ex_one, 1, 1 },
	{ "start_poll_empty", nothing_ready, poll_ex_none, 1, 1 },
};

static void make_objects(const struct count_case *c)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	unsigned int i;

	fake_setup_direct(NULL);
	fake.ctx.vctx.context.ops.post_send = virtio_roce_post_send;
	fake.ctx.vctx.context.ops.post_recv = virtio_roce_post_recv;
	fake.ctx.vctx.context.ops.post_srq_recv = virtio_roce_post_srq_recv;
	fake.ctx.vctx.context.ops.poll_cq = virtio_roce_poll_cq;
	qp = make_qp(IBV_QPT_RC);
	cq = to_vcq(qp->vqp.qp.send_cq);
	cq->vq.unlocked = c->unlocked;
	qp->sq.unlocked = c->unlocked;
	srq = to_vsrq(virtio_roce_create_srq(&fake.pd, &attr));
	for (i = 0; i < c->requests; i++) {
		if (c->flags & IBV_SEND_INLINE)
			sge = (struct ibv_sge){ .addr = (uintptr_t)payload,
						.length = sizeof(payload) };
		send[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < c->requests ? &send[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = c->flags,
			.wr.rdma = { .remote_addr = 0x2000, .rkey = 9 },
		};
		recv[i] = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	}
}

static int run_case(const void *arg, void (*run)(void))
{
	const struct count_case *c = arg;

	make_objects(c);
	c->ready();
	run();
	c->ready();
	stepper_count(run);
	return result;
}

static unsigned int count(const struct count_case *c, void (*run)(void), bool addresses)
{
	return stepper_run(c->name, run_case, c, run, addresses);
}

int main(int argc, char **argv)
{
	bool addresses = argc == 3 && !strcmp(argv[1], "--addresses");
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (addresses) {
			if (!strcmp(cases[i].name, argv[2]))
				count(&cases[i], cases[i].run, true);
			continue;
		}
		n = count(&cases[i], cases[i].run, false) -
		    count(&cases[i], stepper_nothing, false);
		printf("%s\t\"%s\": %u", i ? ",\n" : "{\n", cases[i].name,
		       n / cases[i].elements);
	}
	if (!addresses)
		printf("\n}\n");
	return 0;
}
