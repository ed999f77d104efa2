// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * group DEVICE GID-INDEX
 *
 * A QP that is attached to a multicast group is not destroyed.  After each refusal it
 * receives what is sent to the group and what is sent to itself.  Once detached it is
 * destroyed.  (pyverbs cannot attach a QP to a group.)
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUP_QPN	0xffffff
#define QKEY		0x11111111
#define GRH		40
#define LENGTH		64
#define SECONDS		30

static char in[GRH + LENGTH], out[LENGTH];

static void require(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_QKEY), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

/* One datagram from the QP to itself; the send is not signaled. */
static void datagram(struct ibv_qp *qp, struct ibv_mr *to, struct ibv_mr *from,
		     const union ibv_gid *gid, int index, uint32_t qpn)
{
	struct ibv_ah_attr path = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *gid, .sgid_index = index, .hop_limit = 1 },
	};
	struct ibv_sge sink = { (uintptr_t)in, sizeof(in), to->lkey };
	struct ibv_sge source = { (uintptr_t)out, sizeof(out), from->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &sink, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = {
		.wr_id = 2, .sg_list = &source, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad_send;
	time_t end = time(NULL) + SECONDS;
	struct ibv_wc wc;
	int n;

	memset(in, 0, sizeof(in));
	out[0]++;
	send.wr.ud.ah = ibv_create_ah(qp->pd, &path);
	require(!!send.wr.ud.ah, "address handle");
	send.wr.ud.remote_qpn = qpn;
	send.wr.ud.remote_qkey = QKEY;
	errno = ibv_post_recv(qp, &recv, &bad_recv);
	require(!errno, "post_recv");
	errno = ibv_post_send(qp, &send, &bad_send);
	require(!errno, "post_send");
	do
		n = ibv_poll_cq(qp->recv_cq, 1, &wc);
	while (!n && time(NULL) < end);
	require(n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == 1, "datagram");
	require(!memcmp(in + GRH, out, LENGTH), "payload");
	ibv_destroy_ah(send.wr.ud.ah);
}

int main(int argc, char **argv)
{
	/* 239.1.2.3 */
	const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_qp_init_attr attr = {
		.cap = { 16, 16, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
	};
	int i, index = argc > 2 ? atoi(argv[2]) : 0;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	struct ibv_mr *to, *from;
	union ibv_gid mine;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	for (i = 0; list && list[i] && argc > 2; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			context = ibv_open_device(list[i]);
	require(!!context, "device");
	require(!ibv_query_gid(context, 1, index, &mine), "GID");
	pd = ibv_alloc_pd(context);
	require(!!pd, "PD");
	to = ibv_reg_mr(pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	from = ibv_reg_mr(pd, out, sizeof(out), 0);
	attr.send_cq = ibv_create_cq(context, 32, NULL, NULL, 0);
	attr.recv_cq = attr.send_cq;
	require(to && from && attr.send_cq, "MR and CQ");
	qp = ibv_create_qp(pd, &attr);
	require(!!qp, "QP");
	to_rts(qp);

	errno = ibv_attach_mcast(qp, &group, 0);
	require(!errno, "attach");
	for (i = 0; i < 3; i++) {
		errno = ibv_destroy_qp(qp);
		require(errno == EBUSY, "destroyed in a group");
		datagram(qp, to, from, &group, index, GROUP_QPN);
		datagram(qp, to, from, &mine, index, qp->qp_num);
	}
	errno = ibv_detach_mcast(qp, &group, 0);
	require(!errno, "detach");
	errno = ibv_destroy_qp(qp);
	require(!errno, "destroy");
	puts("destroyed");
	return 0;
}
