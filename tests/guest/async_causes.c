// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * async_causes: a library that makes asynchronous events in the program that it is loaded into,
 * by LD_PRELOAD: ibv_asyncwatch, which shows them.  Events of an object go to the context
 * that the object is of, so that no other process could make them.
 *
 * When the program has opened the device, a thread makes QPs, CQs and SRQs in the same
 * context, and does to them what causes an event.  It prints the number of each event that
 * must come, one for each, and "async_causes: done".  Nothing is destroyed, because events of
 * what is destroyed are dropped.  CAUSES_GID is the index of a GID.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECONDS		20
#define DEPTH		16
/* A control block is 64 bytes, and what the driver writes is at its begin. */
#define CONTROL		64
#define TOO_FAR		0x7fffffff
#define ACCESS		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static union ibv_gid gid;
static uint8_t gid_index;
static char memory[4096];

struct pair {
	struct ibv_qp *a;
	struct ibv_qp *b;
};

struct ibv_context *ibv_open_device(struct ibv_device *device);

static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
}

static void require(int ok, const char *what)
{
	if (ok)
		return;
	say("async_causes: %s failed\n", what);
	_exit(1);
}

static struct ibv_cq *make_cq(int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(context, cqe, NULL, NULL, 0);

	require(!!cq, "create_cq");
	return cq;
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	require(!!srq, "create_srq");
	return srq;
}

static struct ibv_qp *make_qp(struct ibv_cq *cq, struct ibv_srq *srq, uint32_t depth)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { depth, srq ? 0 : depth, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	require(!!qp, "create_qp");
	return qp;
}

static void connect_qp(struct ibv_qp *qp, const struct ibv_qp *peer, int access,
		       enum ibv_qp_state last)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = access,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp_num,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 },
		},
	};
	static const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= last; attr.qp_state++)
		require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | masks[attr.qp_state]),
			"modify_qp");
}

/* Two QPs; the second one stays in this state, and has this SRQ or none. */
static struct pair make_pair(int access, enum ibv_qp_state state, struct ibv_srq *srq)
{
	struct ibv_cq *cq = make_cq(4 * DEPTH);
	struct pair pair = { make_qp(cq, NULL, DEPTH), make_qp(cq, srq, DEPTH) };

	connect_qp(pair.a, pair.b, ACCESS, IBV_QPS_RTS);
	connect_qp(pair.b, pair.a, access, state);
	return pair;
}

static void request(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t key)
{
	struct ibv_sge sge = { (uintptr_t)memory, 8, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { (uintptr_t)memory + 64, mr->rkey ^ key },
	}, *bad;

	require(!ibv_post_send(qp, &wr, &bad), "post_send");
}

static void receive(struct ibv_qp *qp, struct ibv_srq *srq)
{
	struct ibv_sge sge = { (uintptr_t)memory + 128, 64, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)),
		"post_recv");
}

/* Waits until the QP is in error. */
static void await_error(struct ibv_qp *qp)
{
	time_t end = time(NULL) + SECONDS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	do
		require(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query_qp");
	while (attr.qp_state != IBV_QPS_ERR && time(NULL) < end);
	require(attr.qp_state == IBV_QPS_ERR, "error");
}

/*
 * Makes the driver's number of receive requests nonsense.  Of memory in which one request
 * was posted, the control block is the last part that is not zero.
 */
static void spoil(uintptr_t begin, uintptr_t end)
{
	static const char zero[CONTROL];
	volatile uint32_t *control;
	uintptr_t at = end;

	do
		at -= CONTROL;
	while (at > begin && !memcmp((void *)at, zero, CONTROL));
	control = (uint32_t *)at;
	require(control[0] + control[1] == 1, "control block");
	control[control[0] ? 0 : 1] = TOO_FAR;
}

/* The last mapping of the device that was not there before. */
struct mappings {
	int n;
	uintptr_t begin[64];
	uintptr_t end[64];
};

static void read_mappings(struct mappings *m)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];

	require(!!file, "maps");
	m->n = 0;
	while (m->n < 64 && fgets(line, sizeof(line), file))
		if (strstr(line, "/uverbs") &&
		    sscanf(line, "%lx-%lx", &m->begin[m->n], &m->end[m->n]) == 2)
			m->n++;
	fclose(file);
}

static void spoil_new(const struct mappings *before)
{
	struct mappings after;
	int i, j;

	read_mappings(&after);
	require(after.n == before->n + 1, "one mapping more");
	for (i = 0; i < after.n; i++) {
		for (j = 0; j < before->n && before->begin[j] != after.begin[i]; j++)
			;
		if (j == before->n)
			spoil(after.begin[i], after.end[i]);
	}
}

/* ----- the causes ----- */

static void access_error(void)
{
	struct pair pair = make_pair(ACCESS, IBV_QPS_RTS, NULL);

	request(pair.a, IBV_WR_RDMA_WRITE, 0x80);
	await_error(pair.b);
}

static void request_error(void)
{
	struct pair pair = make_pair(IBV_ACCESS_LOCAL_WRITE, IBV_QPS_RTS, NULL);

	request(pair.a, IBV_WR_RDMA_WRITE, 0);
	await_error(pair.b);
}

static void established(void)
{
	struct pair pair = make_pair(ACCESS, IBV_QPS_RTR, NULL);

	request(pair.a, IBV_WR_RDMA_WRITE, 0);
}

static void drained(void)
{
	struct pair pair = make_pair(ACCESS, IBV_QPS_RTS, NULL);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	request(pair.a, IBV_WR_RDMA_WRITE, 0);
	require(!ibv_modify_qp(pair.a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
		"SQD");
}

/* More completions than the CQ has room for. */
static void overrun(void)
{
	struct ibv_cq *cq = make_cq(1);
	struct ibv_qp *qp = make_qp(cq, NULL, cq->cqe + 1);
	int i;

	connect_qp(qp, qp, ACCESS, IBV_QPS_RTS);
	for (i = 0; i <= cq->cqe; i++)
		request(qp, IBV_WR_RDMA_WRITE, 0);
	await_error(qp);
}

/* A message for a QP whose control block is nonsense. */
static void broken_qp(void)
{
	struct ibv_cq *cq = make_cq(2 * DEPTH);
	struct ibv_qp *a = make_qp(cq, NULL, DEPTH), *b;
	struct mappings before;

	read_mappings(&before);
	b = make_qp(cq, NULL, DEPTH);
	connect_qp(a, b, ACCESS, IBV_QPS_RTS);
	connect_qp(b, a, ACCESS, IBV_QPS_RTS);
	receive(b, NULL);
	spoil_new(&before);
	request(a, IBV_WR_SEND, 0);
	await_error(b);
}

static void limit(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 4 };
	struct ibv_srq *srq = make_srq();
	struct pair pair = make_pair(ACCESS, IBV_QPS_RTS, srq);
	int i;

	for (i = 0; i < 4; i++)
		receive(NULL, srq);
	require(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "modify_srq");
	request(pair.a, IBV_WR_SEND, 0);
}

/* The same as broken_qp(): the QP that needs a request is in error, too. */
static void broken_srq(void)
{
	struct mappings before;
	struct ibv_srq *srq;
	struct pair pair;

	read_mappings(&before);
	srq = make_srq();
	receive(NULL, srq);
	spoil_new(&before);
	pair = make_pair(ACCESS, IBV_QPS_RTS, srq);
	request(pair.a, IBV_WR_SEND, 0);
	await_error(pair.b);
}

static void last_request(void)
{
	struct pair pair = make_pair(ACCESS, IBV_QPS_RTS, make_srq());
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	require(!ibv_modify_qp(pair.b, &attr, IBV_QP_STATE), "ERR");
}

static const struct {
	void (*make)(void);
	/* Those behind the first one are of the QP. */
	int events[4];
} causes[] = {
	{ access_error, { IBV_EVENT_QP_ACCESS_ERR, -1 } },
	{ request_error, { IBV_EVENT_QP_REQ_ERR, -1 } },
	{ established, { IBV_EVENT_COMM_EST, -1 } },
	{ drained, { IBV_EVENT_SQ_DRAINED, -1 } },
	{ overrun, { IBV_EVENT_CQ_ERR, -1 } },
	{ broken_qp, { IBV_EVENT_QP_FATAL, -1 } },
	{ limit, { IBV_EVENT_SRQ_LIMIT_REACHED, -1 } },
	{ broken_srq, { IBV_EVENT_SRQ_ERR, IBV_EVENT_QP_FATAL,
			IBV_EVENT_QP_LAST_WQE_REACHED, -1 } },
	{ last_request, { IBV_EVENT_QP_LAST_WQE_REACHED, -1 } },
};

static void *make_all(void *unused)
{
	unsigned int i;
	int j;

	require(!ibv_query_gid(context, 1, gid_index, &gid), "query_gid");
	pd = ibv_alloc_pd(context);
	require(!!pd, "alloc_pd");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), ACCESS);
	require(!!mr, "reg_mr");
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		causes[i].make();
		for (j = 0; causes[i].events[j] >= 0; j++)
			say("cause of %d\n", causes[i].events[j]);
	}
	say("async_causes: done\n");
	return unused;
}

/* In the place of that of libibverbs, which is called. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*open_device)(struct ibv_device *device);
	const char *index = getenv("CAUSES_GID");
	pthread_t thread;

	open_device = (struct ibv_context *(*)(struct ibv_device *))
		dlsym(RTLD_NEXT, "ibv_open_device");
	require(open_device && index, "CAUSES_GID");
	gid_index = atoi(index);
	context = open_device(device);
	require(!!context, "open_device");
	require(!pthread_create(&thread, NULL, make_all, NULL), "thread");
	return context;
}
