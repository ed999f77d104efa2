// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon takes the place of another one while many QPs of a guest have a message under way
 * each, and two others send messages.  $SANDBOXED is the path of the daemon, as shipped.  How
 * long these messages stand still is printed, beside what a process takes that is started and
 * maps the same memory, and does nothing else.
 *
 * No QP has a receive request before the daemon was replaced, so that all of them wait for
 * their peers, and each message has to come after it, once.
 */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/front_direct.h"
#include "tests/lib/stream.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

/* In the short form, and in the long one, which $LAB_LONG asks for: all that a guest may have. */
#define QPS		1000u
#define QPS_LONG	16374u
#define MEM		(320ul << 20)
#define PAGE		4096u
#define ROUNDS		3u
#define ROUNDS_LONG	101u

/* The program is called with it, and with descriptors to map. */
#define MAP		"map"

/* A number to send for each, and what is received. */
#define ROOM		((QPS_LONG + FD_DEPTH + PAGE / 8 - 1) / (PAGE / 8) * PAGE)

/**
 * struct many - the QPs of guest C, each of which has another one as its peer
 * @n:		how many there are
 * @of:		what they share
 * @qp:		themselves
 * @at:		memory: a number to send for each, then what is received
 * @key:	key of that
 * @sent:	send requests that have completed
 * @came:	by QP, whether its message has come
 * @got:	how many have
 * @posted:	receive requests so far
 * @free:	places of those that are not posted
 * @free_n:	number of them
 */
static struct many {
	unsigned int n;
	struct front_direct of;
	struct front_dqp qp[QPS_LONG];
	uint64_t at;
	uint32_t key;
	unsigned int sent;
	bool came[QPS_LONG];
	unsigned int got;
	unsigned int posted;
	uint32_t free[FD_DEPTH];
	unsigned int free_n;
} m;

static char control[96];

static struct virtio_rdma_sge sge(unsigned int place)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(m.at + place * sizeof(uint64_t)),
		.length = htole32(sizeof(uint64_t)),
		.lkey = htole32(m.key),
	};
}

static uint64_t *value(unsigned int place)
{
	return guest_ptr(&pp.guest[2].guest, m.at + place * sizeof(uint64_t));
}

/* QP @i sends that in a round. */
static uint64_t number(unsigned int i, unsigned int round)
{
	return (uint64_t)(round + 1) << 32 | i;
}

static void send_all(unsigned int round)
{
	unsigned int i;

	m.sent = 0;
	m.got = 0;
	memset(m.came, 0, sizeof(m.came));
	for (i = 0; i < m.n; i++) {
		*value(i) = number(i, round);
		front_dqp_send(&m.qp[i], sge(i));
	}
}

static void message_came(uint32_t place, unsigned int round)
{
	const uint32_t from = *value(m.n + place);

	assert_true(from < m.n);
	assert_int_equal(*value(m.n + place), number(from, round));
	assert_false(m.came[from]);
	m.came[from] = true;
	m.got++;
}

/*
 * A receive brings two completions, that of the sender and its own.  More are not posted than
 * the CQ has room for, however late this process comes to poll it.
 */
static void receive_more(void)
{
	uint32_t place;

	while (m.free_n && m.posted < m.n &&
	       2 * (m.posted + 1) - m.got - m.sent <= FD_CQE) {
		place = m.free[--m.free_n];
		front_direct_recv(&m.of, sge(m.n + place), place);
		m.posted++;
	}
}

/* The first QPs that still wait, and what guest and daemon last said to each other. */
static void stands_still(void)
{
	const struct virtio_rdma_doorbell_page *page = m.of.page;
	unsigned int i, n = 0;

	print_message("CQ: %u taken; SRQ: %u posted; the page %s\n", m.of.consumer, m.of.posted,
		      page->ring_me ? "is to be rung" : "is looked at");
	for (i = 0; i < m.n && n < 8; i++) {
		if (m.came[i])
			continue;
		n++;
		print_message("QP %u: %u posted, its bit is %s\n", m.qp[i].qp.qpn,
			      m.qp[i].posted,
			      le64toh(page->pending[i / 64]) >> i % 64 & 1 ? "set" : "clear");
	}
	stream_print_daemon();
	fail_msg("nothing completes: of %u messages %u have come, and %u are known to have",
		 m.n, m.got, m.sent);
}

/* Until each message has come, and each sender knows it. */
static void receive_all(unsigned int round)
{
	uint64_t end = pp_ran() + PP_LOOK_NS;
	struct virtio_rdma_cqe cqe;
	uint32_t i;

	m.posted = 0;
	for (i = 0; i < FD_DEPTH; i++)
		m.free[i] = i;
	m.free_n = FD_DEPTH;
	receive_more();
	while (m.got < m.n || m.sent < m.n) {
		if (!front_direct_poll(&m.of, &cqe)) {
			if (pp_ran() >= end)
				stands_still();
			continue;
		}
		end = pp_ran() + PP_LOOK_NS;
		assert_int_equal(cqe.status, VIRTIO_IB_WC_SUCCESS);
		if (!(cqe.opcode & VIRTIO_RDMA_CQE_RECV)) {
			m.sent++;
		} else {
			message_came(le32toh(cqe.wqe), round);
			m.free[m.free_n++] = le32toh(cqe.wqe);
		}
		receive_more();
	}
	assert_false(front_direct_poll(&m.of, &cqe));
}

/* The least that a new process takes that is to have the memory of all guests. */
static double bare_ms(void)
{
	char text[PP_GUESTS][2][24];
	char *args[2 * PP_GUESTS + 3] = { (char *)"test_takeover_many", (char *)MAP };
	const uint64_t begin = pp_now();
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < PP_GUESTS; i++) {
		snprintf(text[i][0], sizeof(text[i][0]), "%d", pp.guest[i].guest.fd);
		snprintf(text[i][1], sizeof(text[i][1]), "%zu", pp.guest[i].guest.size);
		args[2 * i + 2] = text[i][0];
		args[2 * i + 3] = text[i][1];
	}
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (i = 0; i < PP_GUESTS; i++)
			fcntl(pp.guest[i].guest.fd, F_SETFD, 0);
		execv("/proc/self/exe", args);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return (pp_now() - begin) / 1e6;
}

static int bare(int argc, char **argv)
{
	int i;

	for (i = 2; i + 1 < argc; i += 2)
		if (mmap(NULL, strtoul(argv[i + 1], NULL, 0), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, atoi(argv[i]), 0) == MAP_FAILED)
			return 1;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_times(const char *what, double *ms, unsigned int n)
{
	qsort(ms, n, sizeof(*ms), by_value);
	print_message("%s: median %.1f ms, p99 %.1f ms, most %.1f ms of %u\n", what, ms[n / 2],
		      ms[n * 99 / 100], ms[n - 1], n);
}

static void test_many(void **state)
{
	const unsigned int rounds = getenv("LAB_LONG") ? ROUNDS_LONG : ROUNDS;
	double still[ROUNDS_LONG], least[ROUNDS_LONG], rest[ROUNDS_LONG];
	char text[64];
	unsigned int i;

	stream_some();
	for (i = 0; i < rounds; i++) {
		least[i] = bare_ms();
		send_all(i);
		stream_take_over(getenv("SANDBOXED"));
		stream_some();
		still[i] = stream.gap / 1e6;
		rest[i] = pp_now() / 1e6;
		receive_all(i);
		rest[i] = pp_now() / 1e6 - rest[i];
	}
	print_times("a process that maps the memory", least, rounds);
	snprintf(text, sizeof(text), "messages of others, while %u QPs wait", m.n);
	print_times(text, still, rounds);
	print_times("until the messages of these have come", rest, rounds);
}

static int setup(void **state, unsigned int n)
{
	static char *options[] = { (char *)"--control", control, NULL };
	struct front *front = &pp.guest[2];
	uint32_t pdn;
	unsigned int i;

	memset(&m, 0, sizeof(m));
	m.n = n;
	snprintf(control, sizeof(control), "/tmp/takeover.%d", getpid());
	pp_start(options, FEATURES);
	stream_open();
	stream.control = control;
	front_open_mem(front, pp.path[2], 3, FEATURES, MEM);
	pdn = pp_pd(front);
	m.at = guest_alloc(&front->guest, ROOM, PAGE);
	m.key = front_reg(front, pdn, m.at, ROOM);
	front_direct_open(&m.of, front, pdn);
	for (i = 0; i < m.n; i++)
		front_dqp_open(&m.qp[i], &m.of);
	for (i = 0; i < m.n; i++)
		front_connect(&m.qp[i].qp, VIRTIO_IB_QPT_RC, &m.qp[i ^ 1].qp);
	return 0;
}

static int setup_none(void **state)
{
	return setup(state, 0);
}

static int setup_many(void **state)
{
	return setup(state, QPS);
}

static int setup_most(void **state)
{
	return setup(state, QPS_LONG);
}

static int teardown(void **state)
{
	front_close(&pp.guest[2]);
	pp_stop();
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, setup_none, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup_many, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup_most, teardown),
	};
	const struct CMUnitTest short_tests[] = { tests[0], tests[1] };

	if (argc > 1 && !strcmp(argv[1], MAP))
		return bare(argc, argv);
	if (!getenv("LAB_LONG"))
		return cmocka_run_group_tests(short_tests, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
