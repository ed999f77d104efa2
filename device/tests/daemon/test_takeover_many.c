// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon takes the place of another one while many QPs of a guest have a message under way
 * each, and two others send messages.  $SANDBOXED is the path of the daemon, as shipped.
 *
 * No QP has a receive request before the daemon was replaced, so that all of them wait for
 * their peers, and each message has to come after it, once.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/front_direct.h"
#include "tests/lib/stream.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

/* In the short form, and in the long one, which $LAB_LONG asks for. */
#define QPS		1000u
#define QPS_LONG	16000u
#define MEM		(256ul << 20)
#define PAGE		4096u
#define ROUNDS		3u

#define TIMEOUT_NS	20000000000ULL

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

/* Until each message has come, and each sender knows it. */
static void receive_all(unsigned int round)
{
	uint64_t end = pp_now() + TIMEOUT_NS;
	struct virtio_rdma_cqe cqe;
	uint32_t i;

	m.posted = 0;
	for (i = 0; i < FD_DEPTH; i++)
		m.free[i] = i;
	m.free_n = FD_DEPTH;
	receive_more();
	while (m.got < m.n || m.sent < m.n) {
		if (!front_direct_poll(&m.of, &cqe)) {
			assert_true(pp_now() < end);
			continue;
		}
		end = pp_now() + TIMEOUT_NS;
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

/* The least that a new process takes: to start, and to say what options it has. */
static double bare_ms(void)
{
	const uint64_t begin = pp_now();
	const pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		close(STDOUT_FILENO);
		execl(getenv("SANDBOXED"), "vhost-user-roce", "--help", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return (pp_now() - begin) / 1e6;
}

static void take_over(void)
{
	char *const more[] = { (char *)"--takeover", control, NULL };
	const pid_t pid = pp_spawn(getenv("SANDBOXED"), more);

	stream.gap = 0;
	assert_int_equal(stream_until_end(pp.pid), 0);
	pp_is(pid);
	stream_some();
}

static void test_many(void **state)
{
	unsigned int i;

	print_message("a process that does nothing takes %.1f ms\n", bare_ms());
	stream_some();
	for (i = 0; i < ROUNDS; i++) {
		send_all(i);
		take_over();
		receive_all(i);
		print_message("%u QPs wait: messages of others stood still for %.1f ms\n", m.n,
			      stream.gap / 1e6);
	}
}

static int setup(void **state)
{
	static char *options[] = { (char *)"--control", control, NULL };
	struct front *front = &pp.guest[2];
	uint32_t pdn;
	unsigned int i;

	m.n = getenv("LAB_LONG") ? QPS_LONG : QPS;
	snprintf(control, sizeof(control), "/tmp/takeover.%d", getpid());
	pp_start(options, FEATURES);
	stream_open();
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

static int teardown(void **state)
{
	front_close(&pp.guest[2]);
	pp_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
