// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * xrc DEVICE GID-INDEX
 *
 * Two processes share an XRC domain by a file, and an XRC_RECV QP by its number; a third
 * one sends to both by one connection.  The process that made the QP is killed, and the
 * other one goes on, until a message names the SRQ that is gone.  (pyverbs cannot open a
 * QP by its number.)
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS		30
#define LENGTH		4096
#define REQUESTS	8
#define DOMAIN_FILE	"/tmp/xrc-domain"
#define ACCESS		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Messages of the processes to each other. */
struct word {
	uint32_t qpn;
	uint32_t srqn;
	uint32_t rkey;
	uint64_t addr;
	int order;
	uint64_t message;
};

enum { RECEIVE, END };

static const char *who = "sender";
static const char *device;
static int gid_index;

static char memory[REQUESTS + 1][LENGTH] __attribute__((aligned(64)));
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;

static void require(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s: %s\n", who, what, strerror(errno));
	exit(1);
}

static void tell(int fd, const struct word *word)
{
	require(write(fd, word, sizeof(*word)) == sizeof(*word), "write");
}

static struct word hear(int fd)
{
	struct word word;

	require(read(fd, &word, sizeof(word)) == sizeof(word), "the other process is gone");
	return word;
}

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			context = ibv_open_device(list[i]);
	require(!!context, "device");
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	require(pd && cq, "PD and CQ");
	mr = ibv_reg_mr(pd, memory, sizeof(memory), ACCESS);
	require(!!mr, "MR");
}

static struct ibv_wc completion(void)
{
	time_t end = time(NULL) + SECONDS;
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n && time(NULL) < end);
	require(n == 1, "completion");
	return wc;
}

/* All that either of the two kinds needs. */
static void connect_to(struct ibv_qp *qp, uint32_t qpn)
{
	const int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int send = qp->qp_type == IBV_QPT_XRC_SEND;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = gid_index, .hop_limit = 1 } },
	};

	require(!ibv_query_gid(context, 1, gid_index, &attr.ah_attr.grh.dgid), "GID");
	errno = ibv_modify_qp(qp, &attr, init);
	require(!errno, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      (send ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER));
	require(!errno, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN |
			      (send ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC : 0));
	require(!errno, "RTS");
}

/* ----- a process that receives ----- */

static struct ibv_xrcd *open_domain(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = open(DOMAIN_FILE, O_RDONLY | O_CREAT, 0600),
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &attr);

	require(!!xrcd, "XRC domain");
	return xrcd;
}

static struct ibv_srq *make_srq(struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = REQUESTS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(context, &attr);

	require(!!srq, "XRC SRQ");
	return srq;
}

static void post(struct ibv_srq *srq, uint64_t number)
{
	struct ibv_sge sge = { (uintptr_t)memory[number % REQUESTS], LENGTH, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 };

	errno = ibv_post_srq_recv(srq, &wr, &bad);
	require(!errno, "post_srq_recv");
}

static void receive(struct ibv_srq *srq, uint64_t number, uint32_t qpn, uint64_t message)
{
	struct ibv_wc wc = completion();

	require(wc.status == IBV_WC_SUCCESS && wc.wr_id == number && wc.qp_num == qpn &&
		wc.opcode == IBV_WC_RECV && wc.byte_len == LENGTH, "receive completion");
	require(!memcmp(memory[number % REQUESTS], &message, sizeof(message)), "message");
	post(srq, number + REQUESTS);
}

static void expect_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	errno = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	require(!errno, "query_qp");
	require(attr.qp_state == state, "state");
}

/* Makes the QP, or opens the one with a number. */
static struct ibv_qp *make_qp(struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = qpn ? ibv_open_qp(context, &open) :
				  ibv_create_qp_ex(context, &init);

	require(!!qp, "XRC_RECV QP");
	return qp;
}

static int receiver(int fd, const char *name)
{
	struct ibv_send_wr *bad, send = { .opcode = IBV_WR_SEND };
	struct word word, me = {};
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint64_t number;

	who = name;
	open_all();
	xrcd = open_domain();
	srq = make_srq(xrcd);
	for (number = 0; number < REQUESTS; number++)
		post(srq, number);
	word = hear(fd);
	qp = make_qp(xrcd, word.qpn);
	/* One that was opened is connected already. */
	expect_state(qp, word.qpn ? IBV_QPS_RTS : IBV_QPS_RESET);
	require(ibv_post_send(qp, &send, &bad) == EINVAL, "it has no send queue");
	me.qpn = qp->qp_num;
	require(!ibv_get_srq_num(srq, &me.srqn), "get_srq_num");
	me.rkey = mr->rkey;
	me.addr = (uintptr_t)memory[REQUESTS];
	tell(fd, &me);
	if (!word.qpn) {
		word = hear(fd);
		connect_to(qp, word.qpn);
		tell(fd, &me);
	}
	require(ibv_close_xrcd(xrcd) == EBUSY, "closed a domain in use");
	for (number = 0; word = hear(fd), word.order == RECEIVE; number++) {
		receive(srq, number, qp->qp_num, word.message);
		tell(fd, &me);
	}
	/* The kernel reports events of a QP only to who made it. */
	expect_state(qp, IBV_QPS_ERR);
	errno = ibv_destroy_qp(qp);
	require(!errno, "destroy QP");
	errno = ibv_destroy_srq(srq);
	require(!errno, "destroy SRQ");
	errno = ibv_close_xrcd(xrcd);
	require(!errno, "close domain");
	tell(fd, &me);
	return 0;
}

/* ----- the process that sends ----- */

static struct ibv_wc send_request(struct ibv_qp *qp, enum ibv_wr_opcode opcode,
				  const struct word *to, uint32_t srqn, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], length, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = srqn,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to->addr;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = to->addr;
		wr.wr.rdma.rkey = to->rkey;
	}
	errno = ibv_post_send(qp, &wr, &bad);
	require(!errno, "post_send");
	return completion();
}

static void transfer(struct ibv_qp *qp, enum ibv_wr_opcode opcode, const struct word *to,
		     uint32_t length)
{
	struct ibv_wc wc = send_request(qp, opcode, to, to->srqn, length);

	require(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

static void message(struct ibv_qp *qp, int fd, const struct word *to)
{
	static uint64_t number;
	struct word word = { .order = RECEIVE, .message = ++number };

	memcpy(memory[0], &number, sizeof(number));
	transfer(qp, IBV_WR_SEND, to, LENGTH);
	tell(fd, &word);
	hear(fd);
}

/* Memory of the process whose SRQ is named: written, read, counted in. */
static void rdma(struct ibv_qp *qp, const struct word *to)
{
	uint64_t was = 41, found;

	memcpy(memory[0], &was, sizeof(was));
	transfer(qp, IBV_WR_RDMA_WRITE, to, LENGTH);
	transfer(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, to, sizeof(was));
	memcpy(&found, memory[0], sizeof(found));
	require(found == was, "FETCH_ADD");
	memset(memory[0], 0, LENGTH);
	transfer(qp, IBV_WR_RDMA_READ, to, LENGTH);
	memcpy(&found, memory[0], sizeof(found));
	require(found == was + 1, "READ");
}

static struct ibv_qp *make_sender(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	require(!!qp, "XRC_SEND QP");
	return qp;
}

static pid_t start(int *fd, const char *name)
{
	int pair[2];
	pid_t pid;

	require(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
	fflush(stdout);
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid)
		exit(receiver(pair[0], name));
	close(pair[0]);
	*fd = pair[1];
	return pid;
}

int main(int argc, char **argv)
{
	struct word maker, opener, word = {};
	int i, fd[2], status;
	struct ibv_qp *qp;
	pid_t pid[2];

	require(argc == 3, "usage: xrc DEVICE GID-INDEX");
	device = argv[1];
	gid_index = atoi(argv[2]);
	pid[0] = start(&fd[0], "maker");
	pid[1] = start(&fd[1], "opener");
	open_all();
	qp = make_sender();

	tell(fd[0], &word);
	maker = hear(fd[0]);
	word.qpn = qp->qp_num;
	tell(fd[0], &word);
	hear(fd[0]);
	connect_to(qp, maker.qpn);
	word.qpn = maker.qpn;
	tell(fd[1], &word);
	opener = hear(fd[1]);
	require(opener.qpn == maker.qpn, "another QP was opened");
	require(opener.srqn != maker.srqn, "the SRQs have the same number");

	for (i = 0; i < 3 * REQUESTS; i++) {
		message(qp, fd[i & 1], i & 1 ? &opener : &maker);
		rdma(qp, i & 2 ? &opener : &maker);
	}
	/* The maker of QP and domain dies, and both live on. */
	kill(pid[0], SIGKILL);
	require(waitpid(pid[0], &status, 0) == pid[0], "waitpid");
	for (i = 0; i < 3 * REQUESTS; i++)
		message(qp, fd[1], &opener);
	require(send_request(qp, IBV_WR_SEND, &maker, maker.srqn, LENGTH).status ==
		IBV_WC_REM_INV_REQ_ERR, "an SRQ that is gone");
	word.order = END;
	tell(fd[1], &word);
	hear(fd[1]);
	require(waitpid(pid[1], &status, 0) == pid[1] && !status, "the opener");
	errno = ibv_destroy_qp(qp);
	require(!errno, "destroy");
	puts("shared");
	return 0;
}
