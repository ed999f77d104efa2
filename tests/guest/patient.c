// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * patient DEVICE GID-INDEX
 *
 * A program that takes whatever completions it is given: two connected QPs, of which it
 * polls the CQs and believes nothing.  When nothing comes any more, or a call fails, it
 * makes others, and it never ends.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH		32
#define LENGTH		256

/* So many rounds without a completion, and the QPs are given up. */
#define IDLE_ROUNDS	200

/* So many rounds at most with the same QPs. */
#define ROUNDS		2000

static char buffer[LENGTH];

struct objects {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
};

static int to_rts(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = *gid, .sgid_index = index, .hop_limit = 64 },
		},
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int make(struct ibv_context *context, int index, struct objects *o)
{
	struct ibv_qp_init_attr attr = {
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	union ibv_gid gid;
	int i;

	o->pd = ibv_alloc_pd(context);
	if (!o->pd || ibv_query_gid(context, 1, index, &gid))
		return -1;
	o->mr = ibv_reg_mr(o->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	if (!o->mr)
		return -1;
	for (i = 0; i < 2; i++) {
		/* With room for forged ones: a CQ that overflows is of no more use. */
		o->cq[i] = ibv_create_cq(context, 64 * DEPTH, NULL, NULL, 0);
		if (!o->cq[i])
			return -1;
		attr.send_cq = o->cq[i];
		attr.recv_cq = o->cq[i];
		o->qp[i] = ibv_create_qp(o->pd, &attr);
		if (!o->qp[i])
			return -1;
	}
	return to_rts(o->qp[0], o->qp[1]->qp_num, &gid, index) ||
	       to_rts(o->qp[1], o->qp[0]->qp_num, &gid, index);
}

/* Objects that the device refuses to destroy go when the context is closed. */
static void unmake(struct objects *o)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (o->qp[i])
			ibv_destroy_qp(o->qp[i]);
		if (o->cq[i])
			ibv_destroy_cq(o->cq[i]);
	}
	if (o->mr)
		ibv_dereg_mr(o->mr);
	if (o->pd)
		ibv_dealloc_pd(o->pd);
}

/* A full queue and a failed QP are what we are after. */
static void post(const struct objects *o)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, o->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad_send;
	int i;

	for (i = 0; i < DEPTH / 2; i++)
		ibv_post_recv(o->qp[i & 1], &recv, &bad_recv);
	for (i = 0; i < DEPTH / 2; i++)
		ibv_post_send(o->qp[i & 1], &send, &bad_send);
}

static void use(const struct objects *o)
{
	int idle = 0, round, i, n;
	struct ibv_wc wc[DEPTH];

	for (round = 0; round < ROUNDS && idle < IDLE_ROUNDS; round++, idle++) {
		post(o);
		for (i = 0; i < 2; i++) {
			n = ibv_poll_cq(o->cq[i], DEPTH, wc);
			if (n < 0)
				return;
			if (n)
				idle = 0;
		}
		/* To sleep takes longer than all the rest. */
		if (idle)
			usleep(100);
	}
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return context;
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct objects objects;

	if (argc != 3)
		return 2;
	for (;;) {
		context = open_device(argv[1]);
		if (!context) {
			usleep(100000);
			continue;
		}
		memset(&objects, 0, sizeof(objects));
		if (!make(context, atoi(argv[2]), &objects))
			use(&objects);
		unmake(&objects);
		ibv_close_device(context);
	}
}
