// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * habits DEVICE GID-INDEX CASE
 *
 * What programs of others do, each seen in public reports about other devices:
 *
 *   destroy   a thread destroys an SRQ and a QP whose events another thread
 *             acknowledges only after it has made and destroyed other objects
 *   shared    a QP with an SRQ is asked for a receive queue that no device has
 *   datagram  a datagram that is longer than the MTU of the port
 *   inline    inline data of a QP that was asked for none
 *   arm       a CQ is armed for any completion, and then for solicited ones
 *   rate      a QP gets a rate limit
 *   window    a region is deregistered while a window is bound to it, of type 1 or 2
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECONDS	30
#define QKEY	0x11111111
#define LENGTH	8192

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static int gid_index;
static char memory[LENGTH];

static void require(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* An errno that a call returned. */
static void expect(int err, int expected, const char *what)
{
	if (err == expected)
		return;
	printf("%s: %s, expected %s\n", what, strerror(err), strerror(expected));
	exit(1);
}

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq,
			      struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = *cap,
		.qp_type = type,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	require(!!qp, "create QP");
	*cap = attr.cap;
	return qp;
}

/* Connect a QP to itself. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num, .max_dest_rd_atomic = 1, .max_rd_atomic = 1,
		.min_rnr_timer = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int ud = qp->qp_type == IBV_QPT_UD;

	require(!ibv_modify_qp(qp, &attr, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
		"INIT");
	attr.qp_state = IBV_QPS_RTR;
	require(!ibv_modify_qp(qp, &attr, ud ? IBV_QP_STATE :
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	require(!ibv_modify_qp(qp, &attr, ud ? IBV_QP_STATE | IBV_QP_SQ_PSN :
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	require(!!srq, "create SRQ");
	return srq;
}

static void make_and_destroy(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_srq *srq = make_srq();
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, srq, &cap);
	struct ibv_cq *other = ibv_create_cq(context, 4, NULL, NULL, 0);

	require(!!other, "create CQ");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
	expect(ibv_destroy_srq(srq), 0, "destroy SRQ");
	expect(ibv_destroy_cq(other), 0, "destroy CQ");
}

static struct ibv_async_event next_event(enum ibv_event_type type)
{
	struct ibv_async_event event;

	do {
		require(!ibv_get_async_event(context, &event), "event");
		if (event.event_type != type)
			ibv_ack_async_event(&event);
	} while (event.event_type != type);
	return event;
}

static void *destroy_qp(void *qp)
{
	return (void *)(intptr_t)ibv_destroy_qp(qp);
}

static void *destroy_srq(void *srq)
{
	return (void *)(intptr_t)ibv_destroy_srq(srq);
}

/* The object that a thread destroys waits for @event, and nobody else does. */
static void destroyed_beside(void *(*destroy)(void *), void *object,
			     struct ibv_async_event event)
{
	pthread_t thread;
	void *err;

	require(!pthread_create(&thread, NULL, destroy, object), "thread");
	/* It is in the call by now; if not, the test sees less. */
	sleep(1);
	make_and_destroy();
	ibv_ack_async_event(&event);
	require(!pthread_join(thread, &err), "join");
	expect((intptr_t)err, 0, "destroy");
}

static void destroy_case(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_srq_attr limit = { .srq_limit = 8 };
	struct ibv_qp_attr sqd = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_srq *srq = make_srq(), *limited = make_srq();
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, srq, &cap);

	to_rts(qp);
	require(!ibv_modify_qp(qp, &sqd, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), "SQD");
	destroyed_beside(destroy_qp, qp, next_event(IBV_EVENT_SQ_DRAINED));
	expect(ibv_destroy_srq(srq), 0, "destroy SRQ");

	require(!ibv_modify_srq(limited, &limit, IBV_SRQ_LIMIT), "limit");
	destroyed_beside(destroy_srq, limited, next_event(IBV_EVENT_SRQ_LIMIT_REACHED));
}

static void shared_case(void)
{
	struct ibv_qp_cap cap = {
		.max_send_wr = 4, .max_send_sge = 1,
		.max_recv_wr = 1000000, .max_recv_sge = 1000,
	};
	struct ibv_srq *srq = make_srq();
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, srq, &cap);

	expect(cap.max_recv_wr, 0, "max_recv_wr");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
	expect(ibv_destroy_srq(srq), 0, "destroy SRQ");
}

static void wait_for_completion(void)
{
	struct ibv_wc wc = {};

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	if (wc.status != IBV_WC_SUCCESS) {
		printf("completion: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

static void datagram_case(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_UD, NULL, &cap);
	struct ibv_ah_attr path = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 },
	};
	struct ibv_sge sge = { (uintptr_t)memory, 0, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .remote_qpn = qp->qp_num, .remote_qkey = QKEY },
	};
	struct ibv_port_attr port;
	uint32_t mtu;

	to_rts(qp);
	require(!ibv_query_port(context, 1, &port), "port");
	mtu = 128 << port.active_mtu;
	wr.wr.ud.ah = ibv_create_ah(pd, &path);
	require(!!wr.wr.ud.ah, "AH");
	sge.length = mtu + 1;
	expect(ibv_post_send(qp, &wr, &bad), EINVAL, "too long");
	sge.length = mtu;
	expect(ibv_post_send(qp, &wr, &bad), 0, "as long as the MTU");
	wait_for_completion();
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
	expect(ibv_destroy_ah(wr.wr.ud.ah), 0, "destroy AH");
}

static int post_write(struct ibv_qp *qp, uint32_t length, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)memory, length, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = { .remote_addr = (uintptr_t)memory + LENGTH / 2, .rkey = mr->rkey },
	};

	return ibv_post_send(qp, &wr, &bad);
}

static void inline_case(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL, &cap);
	uint32_t room = cap.max_inline_data;

	to_rts(qp);
	if (room < 16) {
		printf("%u bytes of inline data\n", room);
		exit(1);
	}
	memset(memory, 0x5a, room);
	expect(post_write(qp, room, IBV_SEND_INLINE), 0, "inline");
	wait_for_completion();
	require(!memcmp(memory, memory + LENGTH / 2, room), "data");
	expect(post_write(qp, room + 1, IBV_SEND_INLINE), EINVAL, "more than there is room");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
}

static void arm_case(void)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL, &cap);
	struct ibv_cq *armed;
	void *arg;

	to_rts(qp);
	expect(ibv_req_notify_cq(cq, 0), 0, "arm");
	expect(ibv_req_notify_cq(cq, 1), 0, "arm");
	expect(post_write(qp, 8, 0), 0, "post");
	wait_for_completion();
	require(poll(&fd, 1, 1000 * SECONDS) == 1, "event");
	require(!ibv_get_cq_event(channel, &armed, &arg), "get event");
	ibv_ack_cq_events(armed, 1);

	/* The event was for both: what is not solicited does not wake now. */
	expect(ibv_req_notify_cq(cq, 1), 0, "arm");
	expect(post_write(qp, 8, 0), 0, "post");
	wait_for_completion();
	require(!poll(&fd, 1, 500), "event that nobody asked for");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void rate_case(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 8000, .comp_mask = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL, &cap);
	double begin;
	int i;

	to_rts(qp);
	expect(ibv_modify_qp_rate_limit(qp, &limit), EINVAL, "what there is not yet");
	limit.comp_mask = 0;
	limit.max_burst_sz = LENGTH / 2;
	expect(ibv_modify_qp_rate_limit(qp, &limit), 0, "8000 kbit/s in bursts");
	limit.max_burst_sz = 0;
	expect(ibv_modify_qp_rate_limit(qp, &limit), 0, "8000 kbit/s");
	/* 400 KiB, at a million bytes in a second. */
	begin = now();
	for (i = 0; i < 100; i++) {
		expect(post_write(qp, LENGTH / 2, 0), 0, "post");
		wait_for_completion();
	}
	require(now() - begin > 0.3, "as fast as without a limit");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
}

/* Bind a window to a region, or to nothing. */
static void bind_window(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *region)
{
	struct ibv_mw_bind_info info = {
		.mr = region, .addr = region ? (uintptr_t)region->addr : 0,
		.length = region ? region->length : 0,
		.mw_access_flags = region ? IBV_ACCESS_REMOTE_WRITE : 0,
	};
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { .mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = info },
	};

	if (mw->type == IBV_MW_TYPE_1) {
		expect(ibv_bind_mw(qp, mw, &bind), 0, "bind");
	} else {
		expect(ibv_post_send(qp, &wr, &bad), 0, "bind");
		mw->rkey = wr.bind_mw.rkey;
	}
	wait_for_completion();
}

/* The window is real: by its key the region is written. */
static void write_by(struct ibv_qp *qp, struct ibv_mw *mw, char *to, char what)
{
	struct ibv_sge sge = { (uintptr_t)memory, 1, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)to, .rkey = mw->rkey },
	};

	memory[0] = what;
	expect(ibv_post_send(qp, &wr, &bad), 0, "write by the window");
	wait_for_completion();
	require(*to == what, "data by the window");
}

static void window_of(enum ibv_mw_type type)
{
	static char room[LENGTH];
	struct ibv_qp_cap cap = { .max_send_wr = 4, .max_send_sge = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL, &cap);
	struct ibv_mr *region;
	struct ibv_mw *mw;

	to_rts(qp);
	region = ibv_reg_mr(pd, room, sizeof(room),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	require(!!region, "region");
	mw = ibv_alloc_mw(pd, type);
	require(!!mw, "window");
	bind_window(qp, mw, region);
	write_by(qp, mw, room, 'a');
	expect(ibv_dereg_mr(region), EBUSY, "deregister under a window");
	/* That changed nothing. */
	write_by(qp, mw, room + LENGTH - 1, 'b');
	expect(ibv_dereg_mr(region), EBUSY, "deregister under a window");

	if (type == IBV_MW_TYPE_1)
		bind_window(qp, mw, NULL);
	else
		expect(ibv_dealloc_mw(mw), 0, "free the window");
	expect(ibv_dereg_mr(region), 0, "deregister");
	if (type == IBV_MW_TYPE_1)
		expect(ibv_dealloc_mw(mw), 0, "free the window");
	expect(ibv_destroy_qp(qp), 0, "destroy QP");
}

static void window_case(void)
{
	window_of(IBV_MW_TYPE_1);
	window_of(IBV_MW_TYPE_2);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "destroy", destroy_case }, { "shared", shared_case }, { "datagram", datagram_case },
	{ "inline", inline_case }, { "arm", arm_case },
	{ "rate", rate_case }, { "window", window_case },
};

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **device = list;
	unsigned int i;

	require(argc == 4, "arguments");
	alarm(SECONDS * 3);
	while (list && *device && strcmp(ibv_get_device_name(*device), argv[1]))
		device++;
	context = list && *device ? ibv_open_device(*device) : NULL;
	require(!!context, "device");
	gid_index = atoi(argv[2]);
	require(!ibv_query_gid(context, 1, gid_index, &gid), "GID");
	pd = ibv_alloc_pd(context);
	require(!!pd, "PD");
	channel = ibv_create_comp_channel(context);
	require(!!channel, "channel");
	cq = ibv_create_cq(context, 64, NULL, channel, 0);
	require(!!cq, "CQ");
	mr = ibv_reg_mr(pd, memory, sizeof(memory),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	require(!!mr, "region");
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[3]))
			continue;
		cases[i].run();
		expect(ibv_destroy_cq(cq), 0, "destroy CQ");
		printf("%s\n", argv[3]);
		return 0;
	}
	printf("unknown case\n");
	return 1;
}
