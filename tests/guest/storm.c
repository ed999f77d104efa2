// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * storm: two programs send each other messages of mixed size and operation over
 * one RC connection, and check that each arrives once, in order and unchanged.
 *
*	storm -d DEVICE -g GID_INDEX [OPTION]...	waits for the other
 *	storm -d DEVICE -g GID_INDEX [OPTION]... HOST	connects to it
 *
 * Both must be given the same options.  Ends with status 0 and one line of
 * figures; with 1 and one line if anything is wrong; with 2 and one line if a
 * work request failed.
 *
 * Operation, size and content of message n follow from the seed and n, so that both
 * ends know them.  Contents are pieces of a buffer of noise that both have; senders
 * send directly from it.  Immediate data is n.
 *
 *	SEND, SEND with immediate	checked by the receiver
 *	WRITE with immediate		goes to a slot of the receiver, who checks
 *	WRITE, READ			a pair: to a slot, and back from it; the
 *					sender checks
 *	ADD			with -a, behind each of these pairs: fetches the number
 *				of those before and adds one; the sender checks
 *
 * There are WINDOW receive requests, and each is posted again only when its message
 * was checked.  So among the messages that take one, number m + WINDOW + 1 is not
 * written before m was checked, and twice as many slots are enough.  If a receiver
 * does not keep up, the sender gets RNR NAKs, which is part of the test.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOISE_SIZE	(1u << 20)
#define SIGNAL_EVERY	8
#define POLL_BATCH	32

enum op {
	OP_SEND,
	OP_SEND_IMM,
	OP_WRITE_IMM,
	OP_WRITE,
	OP_READ,
	OP_ADD,
	OP_NUM,
};

static const struct {
	const char *name;
	enum ibv_wr_opcode wr;
	enum ibv_wc_opcode wc;
} ops[OP_NUM] = {
	[OP_SEND] = { "SEND", IBV_WR_SEND, IBV_WC_RECV },
	[OP_SEND_IMM] = { "SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM, IBV_WC_RECV },
	[OP_WRITE_IMM] = { "WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM,
			   IBV_WC_RECV_RDMA_WITH_IMM },
	[OP_WRITE] = { "WRITE", IBV_WR_RDMA_WRITE, 0 },
	[OP_READ] = { "READ", IBV_WR_RDMA_READ, 0 },
	[OP_ADD] = { "ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, 0 },
};

/* The ends exchange this; both run on the same kind of machine. */
struct hello {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint32_t rkey;
	uint32_t pad;
	uint64_t inbox;
	uint64_t scratch;
	uint64_t counter;
};

/*
 * One direction's messages, one after the other: n counts them all, m those that
 * take a receive request, and adds those that are ADDs.
 */
struct script {
	uint64_t state;
	uint64_t n;
	uint64_t m;
	uint64_t adds;
	enum op op;
	uint32_t size;
	uint32_t offset;
};

static struct {
	const char *device;
	const char *port;
	const char *host;
	int gid_index;
	int mtu;
	int timeout;
	int retry;
	int atomics;
	uint64_t count;
	uint64_t seed;
	uint32_t window;
	uint32_t min_size;
	uint32_t max_size;
} opt = {
	.port = "18600",
	.gid_index = 1,
	.mtu = 1024,
	.timeout = 14,
	.retry = 7,
	.count = 10000,
	.seed = 1,
	.window = 32,
	.max_size = 65536,
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

/* All in one region: noise, then slots of max_size. */
static uint8_t *memory;
static uint8_t *noise, *inbox, *scratch, *recv_slots, *read_slots;
static uint64_t *counter;
static uint32_t slots;
static struct hello mine, theirs;

static struct script out, in;
static uint64_t sent, completed, received;
static uint64_t bytes;
static uint64_t progress_ns;
static int tcp = -1;

__attribute__((format(printf, 2, 3), noreturn))
static void die(int status, const char *format, ...)
{
	va_list args;

	fputs("storm: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ------------------------------------------------------------------------- */
/* The sequence of messages                                                  */
/* ------------------------------------------------------------------------- */

/* Half of them tiny, some around the path MTU, few large. */
static uint32_t script_size(struct script *script)
{
	uint64_t r = random_next(&script->state);
	uint32_t size;

	switch (r % 16) {
	case 0 ... 7:
		size = (r >> 8) % 65;
		break;
	case 8 ... 11:
		size = (r >> 8) % 1500;
		break;
	case 12:
		size = opt.mtu - 1 + (r >> 8) % 3;
		break;
	case 13 ... 14:
		size = (r >> 8) % 8192;
		break;
	default:
		size = (r >> 8) % (opt.max_size + 1);
	}
	if (size < opt.min_size)
		return opt.min_size;
	return size < opt.max_size ? size : opt.max_size;
}

/* Message script->n; a READ takes size and content of the WRITE before it. */
static void script_next(struct script *script)
{
	script->n++;
	script->m += script->op <= OP_WRITE_IMM;
	script->adds += script->op == OP_ADD;
	if (script->op == OP_WRITE) {
		script->op = OP_READ;
		return;
	}
	if (script->op == OP_READ && opt.atomics) {
		script->op = OP_ADD;
		return;
	}
	script->op = random_next(&script->state) % OP_READ;
	script->size = script_size(script);
	script->offset = random_next(&script->state) % NOISE_SIZE;
}

static void script_start(struct script *script, uint64_t seed)
{
	script->state = seed * 0x9e3779b97f4a7c15ull | 1;
	script->n = UINT64_MAX;
	script->m = 0;
	script->adds = 0;
	script->op = OP_NUM;
	script_next(script);
}

static uint64_t slot_offset(uint64_t n)
{
	return n % slots * opt.max_size;
}

/* ------------------------------------------------------------------------- */
/* Setting up                                                                */
/* ------------------------------------------------------------------------- */

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!opt.device || !strcmp(ibv_get_device_name(list[i]),
					   opt.device))
			break;
	if (!list || !list[i])
		die(1, "no device %s", opt.device ? opt.device : "at all");
	context = ibv_open_device(list[i]);
	if (!context)
		die(1, "cannot open %s", ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
}

static void make_memory(void)
{
	uint64_t area, total, state = opt.seed * 7919 + 1, i;

	slots = 2 * opt.window;
	area = (uint64_t)slots * opt.max_size;
	total = (NOISE_SIZE + opt.max_size + 4 * area + 7) / 8 * 8 + sizeof(*counter);
	memory = calloc(1, total);
	if (!memory)
		die(1, "no memory for %llu bytes", (unsigned long long)total);
	noise = memory;
	counter = (uint64_t *)(memory + total - sizeof(*counter));
	inbox = noise + NOISE_SIZE + opt.max_size;
	scratch = inbox + area;
	recv_slots = scratch + area;
	read_slots = recv_slots + area;
	for (i = 0; i < NOISE_SIZE + opt.max_size; i++)
		noise[i] = random_next(&state) >> 24;
	mr = ibv_reg_mr(pd, memory, total,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die(1, "cannot register memory: %s", strerror(errno));
}

static void make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = opt.window,
			.max_recv_wr = opt.window,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};

	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 2 * opt.window, NULL, NULL, 0);
	if (!pd || !cq)
		die(1, "cannot create a PD and a CQ: %s", strerror(errno));
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	if (!qp)
		die(1, "cannot create a QP: %s", strerror(errno));
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die(1, "cannot modify the QP to INIT: %s", strerror(errno));
}

static enum ibv_mtu mtu_code(void)
{
	int code;

	for (code = IBV_MTU_256; code <= IBV_MTU_4096; code++)
		if (128 << code == opt.mtu)
			return code;
	die(1, "%d is not a path MTU", opt.mtu);
}

static void connect_qp(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(),
		.dest_qp_num = theirs.qpn,
		.rq_psn = theirs.psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = theirs.gid,
				.sgid_index = opt.gid_index,
				.hop_limit = 64,
			},
		},
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die(1, "cannot modify the QP to RTR: %s", strerror(errno));
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS,
		.timeout = opt.timeout,
		.retry_cnt = opt.retry,
		.rnr_retry = 7,
		.sq_psn = mine.psn,
		.max_rd_atomic = 4,
	};
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			  IBV_QP_MAX_QP_RD_ATOMIC))
		die(1, "cannot modify the QP to RTS: %s", strerror(errno));
}

static int tcp_open(void)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = opt.host ? 0 : AI_PASSIVE,
	};
	struct addrinfo *found;
	int s, one = 1, fd, err;

	err = getaddrinfo(opt.host, opt.port, &hints, &found);
	if (err)
		die(1, "%s: %s", opt.host, gai_strerror(err));
	s = socket(found->ai_family, SOCK_STREAM, 0);
	if (s < 0)
		die(1, "socket: %s", strerror(errno));
	if (opt.host) {
		if (connect(s, found->ai_addr, found->ai_addrlen))
			die(1, "%s: %s", opt.host, strerror(errno));
		freeaddrinfo(found);
		return s;
	}
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, found->ai_addr, found->ai_addrlen) || listen(s, 1))
		die(1, "port %s: %s", opt.port, strerror(errno));
	fd = accept(s, NULL, NULL);
	if (fd < 0)
		die(1, "accept: %s", strerror(errno));
	close(s);
	freeaddrinfo(found);
	return fd;
}

/* Exchanges messages of the same length; also a barrier. */
static void tcp_exchange(const void *say, void *hear, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (write(tcp, say, len) != (ssize_t)len)
		die(1, "the other end is gone");
	while (done < len) {
		n = read(tcp, (char *)hear + done, len - done);
		if (n <= 0)
			die(1, "the other end is gone");
		done += n;
	}
}

static void say_hello(void)
{
	mine = (struct hello) {
		.qpn = qp->qp_num,
		/* Near the end, so that each run sees PSNs wrap. */
		.psn = 0xffff00 + opt.seed % 0x80,
		.rkey = mr->rkey,
		.inbox = (uintptr_t)inbox,
		.scratch = (uintptr_t)scratch,
		.counter = (uintptr_t)counter,
	};
	if (ibv_query_gid(context, 1, opt.gid_index, &mine.gid))
		die(1, "no GID %d", opt.gid_index);
	tcp_exchange(&mine, &theirs, sizeof(mine));
}

/* ------------------------------------------------------------------------- */
/* Sending                                                                   */
/* ------------------------------------------------------------------------- */

static void post_send(void)
{
	const uint64_t n = out.n;
	struct ibv_sge sge = {
		.addr = (uintptr_t)(out.op >= OP_READ ?
				    read_slots + slot_offset(n - 1) :
				    noise + out.offset),
		.length = out.op == OP_ADD ? sizeof(*counter) : out.size,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = n,
		.opcode = ops[out.op].wr,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(n),
	}, *bad;

	if (out.op >= OP_READ || n % SIGNAL_EVERY == 0 || n == opt.count - 1)
		wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.rkey = theirs.rkey;
	if (out.op == OP_WRITE_IMM)
		wr.wr.rdma.remote_addr = theirs.inbox + slot_offset(out.m);
	else
		wr.wr.rdma.remote_addr = theirs.scratch +
					 slot_offset(out.op == OP_READ ?
						     n - 1 : n);
	if (out.op == OP_ADD) {
		wr.wr.atomic.rkey = theirs.rkey;
		wr.wr.atomic.remote_addr = theirs.counter;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 0;
	}
	if (ibv_post_send(qp, &wr, &bad))
		die(1, "cannot post message %llu: %s", (unsigned long long)n,
		    strerror(errno));
	bytes += sge.length;
	sent++;
}

/*
 * The READ or ADD n is checked when it completes.  The script has gone on by then, so its
 * expected contents are kept by slot, that of n - 1.
 */
static struct {
	uint32_t size;
	uint32_t offset;
	uint64_t adds;
} *expected;

static void send_some(void)
{
	while (sent < opt.count && sent - completed < opt.window) {
		if (out.op == OP_WRITE) {
			expected[out.n % slots].size = out.size;
			expected[out.n % slots].offset = out.offset;
		}
		if (out.op == OP_ADD)
			expected[(out.n - 1) % slots].adds = out.adds;
		post_send();
		script_next(&out);
	}
}

static void check(const char *what, uint64_t n, const uint8_t *got,
		  uint32_t offset, uint32_t size)
{
	uint32_t i;

	if (!memcmp(got, noise + offset, size))
		return;
	for (i = 0; got[i] == noise[offset + i]; i++)
		;
	die(1, "%s %llu of %u bytes: wrong from byte %u on", what,
	    (unsigned long long)n, size, i);
}

static void send_completed(const struct ibv_wc *wc)
{
	uint64_t slot = (wc->wr_id - 1) % slots, found;

	if (wc->opcode == IBV_WC_RDMA_READ)
		check("READ", wc->wr_id, read_slots + slot * opt.max_size,
		      expected[slot].offset, expected[slot].size);
	if (wc->opcode == IBV_WC_FETCH_ADD) {
		memcpy(&found, read_slots + slot * opt.max_size, sizeof(found));
		if (found != expected[slot].adds)
			die(1, "ADD %llu: found %llu instead of %llu",
			    (unsigned long long)wc->wr_id, (unsigned long long)found,
			    (unsigned long long)expected[slot].adds);
	}
	if (wc->wr_id + 1 <= completed)
		die(1, "request %llu completed twice, or out of order",
		    (unsigned long long)wc->wr_id);
	completed = wc->wr_id + 1;
}

/* ------------------------------------------------------------------------- */
/* Receiving                                                                 */
/* ------------------------------------------------------------------------- */

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)recv_slots + slot * opt.max_size,
		.length = opt.max_size,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = slot,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die(1, "cannot post a receive request: %s", strerror(errno));
}

/* The next message of the other end that uses a receive request. */
static void script_next_received(void)
{
	while (in.n < opt.count && in.op > OP_WRITE_IMM)
		script_next(&in);
}

static void recv_completed(const struct ibv_wc *wc)
{
	const uint8_t *got = recv_slots + wc->wr_id * opt.max_size;

	if (in.n >= opt.count)
		die(1, "a message more than were sent");
	if (wc->opcode != ops[in.op].wc)
		die(1, "message %llu: opcode %d instead of a %s",
		    (unsigned long long)in.n, wc->opcode, ops[in.op].name);
	if (!(wc->wc_flags & IBV_WC_WITH_IMM) != (in.op == OP_SEND))
		die(1, "message %llu: immediate data lost or invented",
		    (unsigned long long)in.n);
	if (in.op != OP_SEND && be32toh(wc->imm_data) != (uint32_t)in.n)
		die(1, "message %llu: got number %u", (unsigned long long)in.n,
		    be32toh(wc->imm_data));
	if (wc->byte_len != in.size)
		die(1, "message %llu: %u bytes instead of %u",
		    (unsigned long long)in.n, wc->byte_len, in.size);
	if (in.op == OP_WRITE_IMM)
		got = inbox + slot_offset(in.m);
	check(ops[in.op].name, in.n, got, in.offset, in.size);
	post_recv(wc->wr_id);
	received++;
	bytes += in.size;
	script_next(&in);
	script_next_received();
}

/* ------------------------------------------------------------------------- */
/* The run                                                                   */
/* ------------------------------------------------------------------------- */

static void failed(const struct ibv_wc *wc)
{
	die(2, "status %d (%s) after %llu requests and %llu messages, %.0f ms after the last progress",
	    wc->status, ibv_wc_status_str(wc->status),
	    (unsigned long long)completed, (unsigned long long)received,
	    (now_ns() - progress_ns) / 1e6);
}

static void poll_some(void)
{
	struct ibv_wc wc[POLL_BATCH];
	int i, n;

	n = ibv_poll_cq(cq, POLL_BATCH, wc);
	if (n < 0)
		die(1, "cannot poll the CQ");
	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			failed(&wc[i]);
		if (wc[i].opcode & IBV_WC_RECV)
			recv_completed(&wc[i]);
		else
			send_completed(&wc[i]);
	}
	if (n)
		progress_ns = now_ns();
}

static void run(void)
{
	char say = 's', hear;
	uint64_t start;
	double seconds;
	uint32_t i;

	expected = calloc(slots, sizeof(*expected));
	if (!expected)
		die(1, "no memory");
	script_start(&out, opt.seed + !!opt.host);
	script_start(&in, opt.seed + !opt.host);
	script_next_received();
	for (i = 0; i < opt.window; i++)
		post_recv(i);
	tcp_exchange(&say, &hear, 1);
	start = progress_ns = now_ns();
	while (completed < opt.count || in.n < opt.count) {
		send_some();
		poll_some();
	}
	seconds = (now_ns() - start) / 1e9;
	/* The end that is done first must not leave the other without its last ACK. */
	tcp_exchange(&say, &hear, 1);
	poll_some();
	if (*counter != in.adds)
		die(1, "%llu ADDs arrived instead of %llu", (unsigned long long)*counter,
		    (unsigned long long)in.adds);
	printf("storm: %llu requests done, %llu messages received, %llu bytes, %.3f s\n",
	       (unsigned long long)completed, (unsigned long long)received,
	       (unsigned long long)bytes, seconds);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "ad:g:l:m:n:p:r:s:S:t:w:")) != -1) {
		switch (c) {
		case 'a':
			opt.atomics = 1;
			break;
		case 'd':
			opt.device = optarg;
			break;
		case 'g':
			opt.gid_index = atoi(optarg);
			break;
		case 'l':
			opt.min_size = atoi(optarg);
			break;
		case 'm':
			opt.mtu = atoi(optarg);
			break;
		case 'n':
			opt.count = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			opt.port = optarg;
			break;
		case 'r':
			opt.retry = atoi(optarg);
			break;
		case 's':
			opt.max_size = atoi(optarg);
			break;
		case 'S':
			opt.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			opt.timeout = atoi(optarg);
			break;
		case 'w':
			opt.window = atoi(optarg);
			break;
		default:
			die(1, "unknown option; the head of storm.c tells which there are");
		}
	}
	opt.host = argv[optind];
	if (opt.atomics && opt.max_size < sizeof(*counter))
		die(1, "with ADDs SIZE must not be below %zu", sizeof(*counter));
	if (!opt.count || opt.window < SIGNAL_EVERY || !opt.max_size)
		die(1, "COUNT and SIZE must not be 0, nor WINDOW below %d",
		    SIGNAL_EVERY);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	open_device();
	make_qp();
	make_memory();
	tcp = tcp_open();
	say_hello();
	connect_qp();
	run();
	return 0;
}
