// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * framerate send raw|socket NAME COUNT MAC
 * framerate receive raw|socket NAME MAC
 *
 * Frames of 60 bytes to a MAC address, as fast as they go: by a raw packet QP of the RDMA device
 * NAME, or by a packet socket of the interface NAME, with sendmmsg() past the queueing discipline,
 * and recvmmsg().  The receiver prints "ready", and counts until it gets the mark of the end, which the
 * sender repeats.  Each of them prints the number of frames and how many that were a second.
 * A receiver that is too slow loses some.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "open.h"

#define TYPE		0x88b5	/* ETH_P_802_EX1 */
#define SIZE		60u
#define BATCH		64u
#define DEPTH		1024u
#define MARK_US		20000

struct frame {
	struct ethhdr head;
	uint8_t is_end;
	uint8_t rest[SIZE - ETH_HLEN - 1];
} __attribute__((packed));

static struct frame frames[DEPTH];
static uint8_t mac[ETH_ALEN];
static unsigned long count;
static double first, last;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void print_rate(double seconds)
{
	printf("%lu %.0f\n", count, seconds > 0 ? count / seconds : 0);
}

/* Returns true at the end.  Frames that are not ours are left out. */
static bool take(const struct frame *frame)
{
	if (frame->head.h_proto != htons(TYPE) || memcmp(frame->head.h_dest, mac, ETH_ALEN))
		return false;
	if (frame->is_end)
		return true;
	last = now();
	if (!count++)
		first = last;
	return false;
}

/* ------------------------------------------------------------------------- */
/* A raw packet QP                                                           */
/* ------------------------------------------------------------------------- */

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

static void raw_open(const char *name)
{
	struct ibv_context *ctx = open_device(name);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp_attr attr = { .port_num = 1 };
	int state;

	require(!!pd, "PD");
	cq = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, frames, sizeof(frames), IBV_ACCESS_LOCAL_WRITE);
	require(cq && mr, "CQ or MR");
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	require(!!qp, "QP");
	for (state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE |
				      (state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
		require(!errno, "modify QP");
	}
}

/* The next completion, whose wr_id is returned. */
static uint64_t raw_completion(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	return wc.wr_id;
}

/* The last one of a batch leaves a completion. */
static void raw_post_batch(unsigned int n)
{
	struct ibv_send_wr wr[BATCH], *bad;
	struct ibv_sge sge = { (uintptr_t)frames, SIZE, mr->lkey };
	unsigned int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr) {
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED,
		};
	errno = ibv_post_send(qp, wr, &bad);
	require(!errno, "post");
}

static void raw_send(unsigned long n)
{
	unsigned int under_way = 0;

	for (; count < n; count += BATCH) {
		if (under_way == DEPTH / BATCH)
			raw_completion();
		else
			under_way++;
		raw_post_batch(BATCH);
	}
	while (under_way--)
		raw_completion();
}

static void raw_mark(void)
{
	raw_post_batch(1);
	raw_completion();
}

static void raw_post_recv(unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)&frames[i], SIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(qp, &wr, &bad);
	require(!errno, "receive");
}

static void raw_receive(void)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule),
			  .num_of_specs = 1, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};
	unsigned int i;
	bool ended;

	for (i = 0; i < DEPTH; i++)
		raw_post_recv(i);
	memcpy(rule.eth.val.dst_mac, mac, ETH_ALEN);
	memset(rule.eth.mask.dst_mac, 0xff, ETH_ALEN);
	require(!!ibv_create_flow(qp, &rule.attr), "rule");
	puts("ready");
	fflush(stdout);
	do {
		i = raw_completion();
		ended = take(&frames[i]);
		raw_post_recv(i);
	} while (!ended);
}

/* ------------------------------------------------------------------------- */
/* A packet socket                                                           */
/* ------------------------------------------------------------------------- */

static int fd;
static struct mmsghdr messages[BATCH];
static struct iovec pieces[BATCH];

static void socket_open(const char *name)
{
	struct sockaddr_ll here = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(TYPE),
		.sll_ifindex = if_nametoindex(name),
	};
	int one = 1, room = 8 << 20;
	unsigned int i;

	fd = socket(AF_PACKET, SOCK_RAW, htons(TYPE));
	require(fd >= 0, "socket");
	require(!bind(fd, (struct sockaddr *)&here, sizeof(here)), "bind");
	require(!setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)), "bypass");
	require(!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), "room");
	for (i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec) { &frames[i], SIZE };
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

/* Where the interface has no room for a frame, it is tried again. */
static void socket_send(unsigned long n)
{
	int sent;

	while (count < n) {
		sent = sendmmsg(fd, messages, BATCH, 0);
		require(sent > 0 || errno == ENOBUFS || errno == EAGAIN, "send");
		count += sent > 0 ? sent : 0;
	}
}

static void socket_mark(void)
{
	require(send(fd, frames, SIZE, 0) == SIZE || errno == ENOBUFS, "send");
}

static void socket_receive(void)
{
	int n, i;

	puts("ready");
	fflush(stdout);
	for (;;) {
		n = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
		require(n > 0, "receive");
		for (i = 0; i < n; i++)
			if (take(&frames[i]))
				return;
	}
}

/* ------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	bool send = argc == 6 && !strcmp(argv[1], "send"), raw;
	double begin;
	unsigned int i;

	if (argc != 5 + send || sscanf(argv[4 + send], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0],
				       &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) != 6)
		return 2;
	raw = !strcmp(argv[2], "raw");
	(raw ? raw_open : socket_open)(argv[3]);
	if (!send) {
		(raw ? raw_receive : socket_receive)();
		print_rate(last - first);
		return 0;
	}
	for (i = 0; i < BATCH; i++) {
		memcpy(frames[i].head.h_dest, mac, ETH_ALEN);
		/* An address that nobody has. */
		memcpy(frames[i].head.h_source, "\x02\x72\x61\x74\x65\x01", ETH_ALEN);
		frames[i].head.h_proto = htons(TYPE);
	}
	begin = now();
	(raw ? raw_send : socket_send)(strtoul(argv[4], NULL, 0));
	print_rate(now() - begin);
	frames[0].is_end = 1;
	/* Until somebody ends it: the receiver may stand still for any time. */
	fflush(stdout);
	for (;;) {
		(raw ? raw_mark : socket_mark)();
		usleep(MARK_US);
	}
}
