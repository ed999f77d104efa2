// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * timed DEVICE GID_INDEX
 *
 * Completions with their times, of a QP that is connected with itself.  It ends with an error
 * unless each time lies between two looks at the clock and is not before the last one.  It
 * prints
 *
 *	MASK KHZ	what the device says of its clock
 *	INNER DEVICE OUTER	ns between two looks at it, by the guest's clock and its own: from
 *			the end of the first to the beginning of the second; by the
 *			device; from the beginning of the first to the end of the second
 *	ROUNDS
 *
 * (pyverbs cannot poll a CQ with times by ibv_poll_cq().)
 */
#include <inttypes.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "open.h"

#define CQE		16
#define ROUNDS		300u
#define RESIZE_AT	100u
#define SIZE		64u
#define PAUSE_US	200000

static struct ibv_context *ctx;
static struct ibv_cq_ex *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static char memory[SIZE];
static uint64_t last;

static uint64_t device_ns(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	errno = ibv_query_rt_values_ex(ctx, &values);
	require(!errno, "clock");
	require(!values.raw_clock.tv_sec && values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK,
		"not a raw clock");
	return values.raw_clock.tv_nsec;
}

static uint64_t guest_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void look_at_clock(void)
{
	struct ibv_device_attr_ex attr;
	uint64_t begin, first, inner_begin, inner_end, second;

	errno = ibv_query_device_ex(ctx, NULL, &attr);
	require(!errno, "query device");
	printf("%" PRIu64 " %" PRIu64 "\n", attr.completion_timestamp_mask,
	       attr.hca_core_clock);
	begin = guest_ns();
	first = device_ns();
	inner_begin = guest_ns();
	usleep(PAUSE_US);
	inner_end = guest_ns();
	second = device_ns();
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", inner_end - inner_begin,
	       second - first, guest_ns() - begin);
}

static void connect_itself(struct ibv_pd *pd, int gid_index)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ibv_cq_ex_to_cq(cq),
		.recv_cq = ibv_cq_ex_to_cq(cq),
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = gid_index, .hop_limit = 64 },
		},
	};

	qp = ibv_create_qp(pd, &init);
	require(!!qp, "QP");
	errno = ibv_query_gid(ctx, 1, gid_index, &attr.ah_attr.grh.dgid) ? EINVAL : 0;
	require(!errno, "GID");
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS);
	require(!errno, "INIT");
	attr.dest_qp_num = qp->qp_num;
	attr.qp_state = IBV_QPS_RTR;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			      IBV_QP_MIN_RNR_TIMER);
	require(!errno, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	require(!errno, "RTS");
}

/* A message to itself, which leaves a completion at each end. */
static void send_one(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, SIZE / 2, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad;

	errno = ibv_post_recv(qp, &recv, &bad_recv);
	require(!errno, "receive");
	errno = ibv_post_send(qp, &send, &bad);
	require(!errno, "send");
}

/* So many completions, whose times are not before @from. */
static void take_times(unsigned int n, uint64_t from)
{
	struct ibv_poll_cq_attr attr = {};
	uint64_t time;

	while (n) {
		errno = ibv_start_poll(cq, &attr);
		require(!errno || errno == ENOENT, "poll");
		if (errno)
			continue;
		do {
			require(cq->status == IBV_WC_SUCCESS, ibv_wc_status_str(cq->status));
			time = ibv_wc_read_completion_ts(cq);
			require(time >= from && time >= last, "a time is too early");
			last = time;
		} while (--n && !ibv_next_poll(cq));
		ibv_end_poll(cq);
	}
	require(last <= device_ns(), "a time is too late");
}

/* The other way of polling, which does not tell times. */
static void take_plain(unsigned int n)
{
	struct ibv_wc wc;

	while (n) {
		if (!ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc))
			continue;
		require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
		n--;
	}
}

/* Completions that nobody has taken keep their times in a larger ring. */
static void resize(void)
{
	const uint64_t from = device_ns();
	unsigned int i;

	for (i = 0; i < 3; i++)
		send_one();
	errno = ibv_resize_cq(ibv_cq_ex_to_cq(cq), 4 * CQE);
	require(!errno, "resize");
	take_times(6, from);
}

int main(int argc, char **argv)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = CQE,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_pd *pd;
	unsigned int i;
	uint64_t from;

	if (argc != 3)
		return 2;
	ctx = open_device(argv[1]);
	require(!!ctx, "open");
	look_at_clock();
	pd = ibv_alloc_pd(ctx);
	require(!!pd, "PD");
	cq = ibv_create_cq_ex(ctx, &attr);
	require(!!cq, "CQ");
	mr = ibv_reg_mr(pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	require(!!mr, "MR");
	connect_itself(pd, atoi(argv[2]));
	for (i = 0; i < ROUNDS; i++) {
		from = device_ns();
		send_one();
		if (i % 4 == 3)
			take_plain(2);
		else
			take_times(2, from);
		if (i == RESIZE_AT)
			resize();
	}
	printf("%u\n", i);
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return 0;
}
