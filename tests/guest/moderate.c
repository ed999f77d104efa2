// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * moderate DEVICE
 *
 * Events of a CQ that wait for more completions.  It prints, for each of these, the least time in
 * µs of some rounds from a request to the event:
 *
 *	alone		nothing was said: the first completion brings the event
 *	count		the fourth completion of four brings it
 *	period		there are three of four, and the period ends
 *	changed		there is one of many, and then the CQ is to wait no more
 *
 * (pyverbs cannot modify a CQ.)
 */
#include <poll.h>
#include <stdint.h>
#include <time.h>

#include "open.h"

#define ROUNDS		10u
#define COUNT		4u
#define PERIOD		60000u
#define LOST_MS		20000
#define SIZE		64u

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

/* To an address of nobody, of the type that is for experiments. */
static char frame[SIZE] = "\x02\x72\x61\x77\x00\x09\x02\x72\x61\x77\x00\x08\x88\xb5";

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

static void open_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 2 * COUNT, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	qp = ibv_create_qp(pd, &init);
	require(!!qp, "QP");
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT);
	require(!errno, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	require(!errno, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	require(!errno, "RTS");
}

static void moderate(uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period },
	};

	errno = ibv_modify_cq(cq, &attr);
	require(!errno, "modify CQ");
}

static void send_frame(void)
{
	struct ibv_sge sge = { (uintptr_t)frame, SIZE, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad;

	errno = ibv_post_send(qp, &wr, &bad);
	require(!errno, "post");
}

static void complete(unsigned int n)
{
	struct ibv_wc wc;

	while (n) {
		if (!ibv_poll_cq(cq, 1, &wc))
			continue;
		require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
		n--;
	}
}

static void take_event(void)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *of;
	void *context;

	require(poll(&fd, 1, LOST_MS) == 1, "event");
	require(!ibv_get_cq_event(channel, &of, &context), "get event");
	ibv_ack_cq_events(cq, 1);
}

/* Frames are sent, and have completed, before the event is looked for. */
static uint64_t round_us(unsigned int frames, int change)
{
	const uint64_t begin = now_us();
	unsigned int i;

	errno = ibv_req_notify_cq(cq, 0);
	require(!errno, "arm");
	for (i = 0; i < frames; i++)
		send_frame();
	complete(frames);
	if (change)
		moderate(0, 0);
	take_event();
	return now_us() - begin;
}

static void rounds(const char *name, uint16_t count, unsigned int frames, int change)
{
	uint64_t least = UINT64_MAX, us;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		if (count)
			moderate(count, PERIOD);
		us = round_us(frames, change);
		if (us < least)
			least = us;
	}
	printf("%s %llu\n", name, (unsigned long long)least);
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	if (argc != 2)
		return 2;
	ctx = open_device(argv[1]);
	require(!!ctx, "open");
	pd = ibv_alloc_pd(ctx);
	require(!!pd, "PD");
	channel = ibv_create_comp_channel(ctx);
	require(!!channel, "channel");
	cq = ibv_create_cq(ctx, 4 * COUNT, NULL, channel, 0);
	require(!!cq, "CQ");
	mr = ibv_reg_mr(pd, frame, SIZE, 0);
	require(!!mr, "MR");
	open_qp(pd);
	rounds("alone", 0, COUNT - 1, 0);
	rounds("count", COUNT, COUNT, 0);
	rounds("period", COUNT, COUNT - 1, 0);
	rounds("changed", 16 * COUNT, 1, 1);
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	return 0;
}
