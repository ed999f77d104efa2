// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"

/* Waking up costs less. */
#define WAITED_NS	20000

#define PING_LEN	64
#define FRAME_ROOM	2048u
#define PING_TIMEOUT_NS	10000000000ULL

/*
 * Where nearly each ping has to wait for a processor, fewer are enough after some time.  The
 * fifty blocks of a daemon together must take less than ALARM_S.
 */
#define BLOCK_LONG_NS	4000000000ULL
#define BLOCK_FEW	(PP_PINGS / 10)
#define BLOCK_TIMEOUT_NS 60000000000ULL

/* No daemon outlives its test by more. */
#define ALARM_S		900
#define ALARM_LONG_S	7200

/* Four times what the daemon copies for one guest before it turns to the next one. */
#define UNIT_BYTES	(1u << 20)
#define UNIT_TIMES	15

struct pingpong pp;

/* ------------------------------------------------------------------------- */
/* The daemon                                                                */
/* ------------------------------------------------------------------------- */

/* Options of the daemon, behind those that all have. */
static char *const *daemon_options;

pid_t pp_spawn(const char *program, char *const *more)
{
	char *argv[160] = {
		(char *)"vhost-user-roce",
		(char *)"--socket", pp.path[0], (char *)"--socket", pp.path[1],
		(char *)"--socket", pp.path[2], (char *)"--qps", (char *)"8",
		(char *)"--cqs", (char *)"4", (char *)"--queue-size", (char *)"256",
		(char *)"--cqe", (char *)"256", (char *)"--event-queues", (char *)"1",
		(char *)"--doorbell-queues", (char *)"1",
	};
	char *const *options = daemon_options;
	unsigned int n = 19;
	char text[16];
	pid_t pid;

	assert_non_null(program);
	while (*options && n < 159)
		argv[n++] = *options++;
	while (*more && n < 159)
		argv[n++] = *more++;
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	alarm(getenv("LAB_LONG") ? ALARM_LONG_S : ALARM_S);
	if (pp.stored) {
		snprintf(text, sizeof(text), "%d", getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "1", 1);
		setenv("LISTEN_FDNAMES", "guests", 1);
		dup2(pp.stored, 3);
	}
	execv(program, argv);
	_exit(127);
}

static int sched_open(const char *process)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/schedstat", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Counters of the scheduler: the time in schedstat is as old as the last tick. */
static struct pp_sched sched_read(unsigned int i)
{
	struct pp_sched sched;
	char text[128], *wait;
	struct timespec ts;
	ssize_t n;

	n = pread(pp.sched[i], text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = 0;
	strtoull(text, &wait, 10);
	sched.waited = strtoull(wait, NULL, 10);
	assert_int_equal(clock_gettime(pp.clock[i], &ts), 0);
	sched.ran = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	return sched;
}

static void sched_begin(struct pp_sched *sched)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		sched[i] = sched_read(i);
}

static void sched_end(struct pp_sched *sched)
{
	struct pp_sched now;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		now = sched_read(i);
		sched[i].ran = now.ran - sched[i].ran;
		sched[i].waited = now.waited - sched[i].waited;
	}
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t pp_now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

uint64_t pp_ran(void)
{
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ------------------------------------------------------------------------- */
/* Ping-pong                                                                 */
/* ------------------------------------------------------------------------- */

uint32_t pp_pd(struct front *front)
{
	struct virtio_rdma_ack_create_pd ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL, 0, &ack, sizeof(ack));
	return le32toh(ack.pdn);
}

static struct virtio_rdma_sge ping_sge(unsigned int i)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(pp.ping[i]),
		.length = htole32(PING_LEN),
		.lkey = htole32(pp.lkey[i]),
	};
}

static void post_recv(unsigned int i)
{
	struct front_vq *vq = front_recv_vq(&pp.end[i]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->num_sge = htole32(1);
	req->sg_list[0] = ping_sge(i);
	guest_vq_add_head(&vq->gvq, slot);
}

static void post_send(unsigned int i)
{
	struct front_vq *vq = front_send_vq(&pp.end[i]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	req->opcode = VIRTIO_IB_WR_SEND;
	req->num_sge = htole32(1);
	req->sg_list[0] = ping_sge(i);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static void await(unsigned int i)
{
	const uint64_t end = pp_now() + PING_TIMEOUT_NS;
	uint8_t status;

	while (!front_poll(&pp.end[i], &status))
		assert_true(pp_now() < end);
	assert_int_equal(status, VIRTIO_IB_WC_SUCCESS);
}

bool pp_ping(uint64_t *took)
{
	sched_begin(pp.last);
	post_recv(0);
	post_recv(1);
	*took = pp_now();
	post_send(0);
	await(1);
	post_send(1);
	await(0);
	*took = pp_now() - *took;
	sched_end(pp.last);
	return pp.last[0].waited + pp.last[1].waited < WAITED_NS;
}

uint64_t pp_pause(uint64_t took)
{
	const struct pp_sched *last = pp.last;
	/* They wait for each other, so that they may have waited one after the other. */
	const uint64_t waited = last[0].waited + last[1].waited;
	const uint64_t left = took > waited ? took - waited : 0;

	return last[0].ran < left ? last[0].ran : left;
}

/* ------------------------------------------------------------------------- */
/* How much worse                                                            */
/* ------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t pp_unit(void)
{
	static uint8_t from[UNIT_BYTES], to[UNIT_BYTES];
	uint64_t took[UNIT_TIMES];
	unsigned int i;

	for (i = 0; i < UNIT_TIMES; i++) {
		memset(from, i, sizeof(from));
		took[i] = pp_now();
		memcpy(to, from, sizeof(to));
		/* It is not left out. */
		assert_int_equal(*(volatile uint8_t *)&to[i], i);
		took[i] = pp_now() - took[i];
	}
	qsort(took, UNIT_TIMES, sizeof(*took), compare);
	return took[UNIT_TIMES / 2];
}

uint64_t pp_block(void (*again)(void), bool (*enough)(void))
{
	static uint64_t took[PP_PINGS];
	const uint64_t began = pp_now();
	unsigned int i, n;

	for (i = 0; i < PP_PINGS || (enough && !enough());) {
		if (i >= BLOCK_FEW && pp_now() > began + BLOCK_LONG_NS && (!enough || enough()))
			break;
		assert_true(pp_now() < began + BLOCK_TIMEOUT_NS);
		front_again(&pp.guest[0].vq[FRONT_RX]);
		front_again(&pp.guest[1].vq[FRONT_RX]);
		if (again)
			again();
		i += pp_ping(&took[i % PP_PINGS]);
	}
	n = i < PP_PINGS ? i : PP_PINGS;
	qsort(took, n, sizeof(*took), compare);
	return took[n - 1 - n / 100];
}

static uint64_t measure(const struct pp_worse *worse)
{
	return worse->alone > worse->unit ? worse->alone : worse->unit;
}

void pp_worse_add(struct pp_worse *worse, uint64_t alone, uint64_t noisy)
{
	const struct pp_worse pair = { .alone = alone, .noisy = noisy, .unit = pp_unit() };

	if (!worse->unit || pair.noisy * measure(worse) < worse->noisy * measure(&pair))
		*worse = pair;
}

bool pp_worse_more(const struct pp_worse *worse, unsigned int n, unsigned int times)
{
	return n < PP_PAIRS || (n < PP_PAIRS_MOST && worse->noisy > times * measure(worse));
}

void pp_worse_expect(const struct pp_worse *worse, const char *what, unsigned int times)
{
	print_message("%s: p99 %ju ns, alone %ju ns, unit %ju ns: %.1f of %u times\n", what,
		      (uintmax_t)worse->noisy, (uintmax_t)worse->alone,
		      (uintmax_t)worse->unit, (double)worse->noisy / measure(worse), times);
	assert_in_range(worse->noisy, 0, times * measure(worse));
}

/* ------------------------------------------------------------------------- */
/* Begin and end                                                             */
/* ------------------------------------------------------------------------- */

static void pair_up(void)
{
	struct front *front;
	unsigned int i;
	uint32_t pdn;

	for (i = 0; i < 2; i++) {
		front = &pp.guest[i];
		pdn = pp_pd(front);
		pp.ping[i] = guest_alloc(&front->guest, 4096, 4096);
		pp.lkey[i] = front_reg(front, pdn, pp.ping[i], 4096);
		pp.end[i] = front_qp(front, VIRTIO_IB_QPT_RC, pdn, front_cq(front));
	}
	front_connect(&pp.end[0], VIRTIO_IB_QPT_RC, &pp.end[1]);
	front_connect(&pp.end[1], VIRTIO_IB_QPT_RC, &pp.end[0]);
}

/* Frames of others end here, and as many come again. */
static void receive_frames(struct front *front, uint64_t *memory)
{
	struct front_vq *vq = &front->vq[FRONT_RX];
	struct guest_buf buf = { .len = FRAME_ROOM, .write = true };
	unsigned int i;

	if (!*memory)
		*memory = guest_alloc(&front->guest, FRONT_NUM * FRAME_ROOM, 64);
	for (i = 0; i < FRONT_NUM; i++) {
		buf.addr = *memory + i * FRAME_ROOM;
		guest_vq_add(&vq->gvq, &buf, 1);
	}
}

void pp_pair(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		receive_frames(&pp.guest[i], &pp.frames[i]);
	pair_up();
}

void pp_is(pid_t pid)
{
	char text[16];

	pp.pid = pid;
	snprintf(text, sizeof(text), "%d", pid);
	assert_int_equal(clock_getcpuclockid(pid, &pp.clock[0]), 0);
	if (pp.sched[0] >= 0)
		close(pp.sched[0]);
	pp.sched[0] = sched_open(text);
}

void pp_start(char *const *options, uint64_t features)
{
	char *const none[] = { NULL };
	unsigned int i;

	signal(SIGPIPE, SIG_IGN);
	memset(pp.frames, 0, sizeof(pp.frames));
	strcpy(pp.dir, "/tmp/pingpong.XXXXXX");
	assert_non_null(mkdtemp(pp.dir));
	for (i = 0; i < PP_GUESTS; i++)
		snprintf(pp.path[i], sizeof(pp.path[i]), "%s/%u", pp.dir, i);
	daemon_options = options;
	pp.pid = pp_spawn(getenv("SANDBOXED"), none);
	for (i = 0; i < 2; i++)
		front_open(&pp.guest[i], pp.path[i], i + 1, features);
	pp.sched[0] = -1;
	pp_is(pp.pid);
	pp.clock[1] = CLOCK_THREAD_CPUTIME_ID;
	pp.sched[1] = sched_open("thread-self");
	pp_pair();
}

static void close_guests(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		front_close(&pp.guest[i]);
}

static void end(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		close(pp.sched[i]);
	assert_int_equal(rmdir(pp.dir), 0);
}

void pp_end(void)
{
	close_guests();
	end();
}

void pp_stop(void)
{
	int status;

	close_guests();
	kill(pp.pid, SIGTERM);
	assert_int_equal(waitpid(pp.pid, &status, 0), pp.pid);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	end();
}
