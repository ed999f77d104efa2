// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon with a keeper is killed, again and again, while two guests are connected.
 * $SANDBOXED is the path of the daemon, as shipped.
 */
#include <dirent.h>
#include <endian.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"
#include "vhost_user/vhost_user_msg.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

/* In the short form, and in the long one, which $LAB_LONG asks for. */
#define KILLS		10u
#define KILLS_LONG	200u

/* A daemon goes on itself if the other one takes too long, as on a busy machine. */
#define LATE_MAX	20u

/* Memory that does not count as lost. */
#define SPARE_KB	256u

static char control[96];
static uint64_t frame_addr;

/* ------------------------------------------------------------------------- */
/* Processes                                                                 */
/* ------------------------------------------------------------------------- */

/* The child of a keeper, or 0 while there is none. */
static pid_t daemon_of(pid_t keeper)
{
	char path[64], text[32] = {};
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", keeper, keeper);
	file = fopen(path, "r");
	if (!file)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return n ? atoi(text) : 0;
}

static pid_t await_daemon(pid_t keeper, pid_t other_than)
{
	const uint64_t end = pp_ran() + PP_LOOK_NS;
	pid_t pid;

	do {
		pid = daemon_of(keeper);
		assert_true(pp_ran() < end);
	} while (!pid || pid == other_than);
	return pid;
}

static void kill_daemon(int sig)
{
	const pid_t pid = await_daemon(pp.pid, 0);

	assert_int_equal(kill(pid, sig), 0);
	await_daemon(pp.pid, pid);
}

/**
 * struct has - resources of a process
 * @kb:		memory that it has touched and shares with nobody, kilobytes
 * @fds:	descriptors
 */
struct has {
	unsigned long kb;
	unsigned int fds;
};

static struct has has(pid_t pid)
{
	struct has it = {};
	unsigned long kb;
	char text[128];
	FILE *file;
	DIR *dir;

	snprintf(text, sizeof(text), "/proc/%d/smaps_rollup", pid);
	file = fopen(text, "r");
	assert_non_null(file);
	while (fgets(text, sizeof(text), file))
		if (sscanf(text, "Private_Dirty: %lu kB", &kb) == 1)
			it.kb = kb;
	fclose(file);
	snprintf(text, sizeof(text), "/proc/%d/fd", pid);
	dir = opendir(text);
	assert_non_null(dir);
	while (readdir(dir))
		it.fds++;
	closedir(dir);
	return it;
}

/* ------------------------------------------------------------------------- */
/* What guests do                                                            */
/* ------------------------------------------------------------------------- */

static void send_frame(void)
{
	const struct virtio_net_hdr_v1 hdr = { .num_buffers = 0 };
	struct front_vq *tx = &pp.guest[0].vq[FRONT_TX];
	const struct guest_buf buf = { .addr = frame_addr, .len = sizeof(hdr) + 64 };
	uint8_t *p = guest_ptr(&pp.guest[0].guest, frame_addr);

	memcpy(p, &hdr, sizeof(hdr));
	memset(p + sizeof(hdr), 0xff, 6);
	memcpy(p + sizeof(hdr) + 6, "\x52\x54\x00\x00\xce\x01\x88\xb5", 8);
	guest_vq_add(&tx->gvq, &buf, 1);
	front_kick(tx);
}

/* Each frame that was sent was used, and B has received one. */
static void await_frame(void)
{
	struct front_vq *tx = &pp.guest[0].vq[FRONT_TX], *rx = &pp.guest[1].vq[FRONT_RX];
	const uint64_t end = pp_ran() + PP_LOOK_NS;
	uint32_t head, len;

	while (!guest_vq_get(&rx->gvq, &head, &len))
		assert_true(pp_ran() < end);
	assert_int_equal(len, sizeof(struct virtio_net_hdr_v1) + 64);
	guest_vq_add_head(&rx->gvq, head);
	front_kick(rx);
	while (tx->gvq.last_used != tx->gvq.avail_idx) {
		guest_vq_get(&tx->gvq, &head, &len);
		assert_true(pp_ran() < end);
	}
}

static void drain_frames(void)
{
	uint32_t head, len;
	struct front_vq *rx = &pp.guest[1].vq[FRONT_RX];

	while (guest_vq_get(&rx->gvq, &head, &len)) {
		guest_vq_add_head(&rx->gvq, head);
		front_kick(rx);
	}
}

static uint8_t ask_port(struct front *front)
{
	struct virtio_rdma_ack_query_port ack;

	return front_ack(front, VIRTIO_NET_CTRL_ROCE_QUERY_PORT, NULL, 0, &ack, sizeof(ack));
}

/* Ethernet goes on; RDMA says that it is lost until the function was reset. */
static void expect_recovery(void)
{
	uint64_t took;
	unsigned int i;

	await_frame();
	drain_frames();
	for (i = 0; i < 2; i++) {
		assert_int_equal(ask_port(&pp.guest[i]), VIRTIO_NET_ERR);
		front_reset(&pp.guest[i]);
		assert_int_equal(ask_port(&pp.guest[i]), VIRTIO_NET_OK);
	}
	pp_pair();
	pp_ping(&took);
}

static void begin(void)
{
	frame_addr = guest_alloc(&pp.guest[0].guest, 128, 64);
}

/* ------------------------------------------------------------------------- */
/* The tests                                                                 */
/* ------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *what, uint64_t *took, unsigned int n)
{
	qsort(took, n, sizeof(*took), by_time);
	print_message("killed %u times; %s after %.1f ms (median), %.1f ms (most)\n", n, what,
		      took[n / 2] / 1e6, took[n - 1] / 1e6);
}

/* Neither of both processes has more after many times than after one. */
static void expect_nothing_lost(const struct has *before)
{
	const pid_t pid[] = { pp.pid, await_daemon(pp.pid, 0) };
	unsigned int i;
	struct has now;

	for (i = 0; i < 2; i++) {
		now = has(pid[i]);
		print_message("%s: %lu kB then, %lu kB now; %u descriptors then, %u now\n",
			      i ? "daemon" : "keeper", before[i].kb, now.kb, before[i].fds,
			      now.fds);
		assert_in_range(now.kb, 0, before[i].kb + SPARE_KB);
		assert_int_equal(now.fds, before[i].fds);
	}
}

static void test_killed(void **state)
{
	const unsigned int kills = getenv("LAB_LONG") ? KILLS_LONG : KILLS;
	uint64_t ethernet[KILLS_LONG], rdma[KILLS_LONG];
	struct has before[2];
	unsigned int i;
	uint64_t took;

	pp_ping(&took);
	for (i = 0; i < kills; i++) {
		/* Some are under way. */
		send_frame();
		ethernet[i] = pp_now();
		rdma[i] = pp_now();
		kill_daemon(SIGKILL);
		send_frame();
		await_frame();
		ethernet[i] = pp_now() - ethernet[i];
		drain_frames();
		send_frame();
		expect_recovery();
		rdma[i] = pp_now() - rdma[i];
		if (i)
			continue;
		before[0] = has(pp.pid);
		before[1] = has(await_daemon(pp.pid, 0));
	}
	print_times("Ethernet was back", ethernet, kills);
	print_times("RDMA was back, and two QPs connected,", rdma, kills);
	expect_nothing_lost(before);
}

/*
 * A guest that does nothing about it keeps its Ethernet, also the second time, and whatever the
 * daemon was doing with what it found.
 */
static void test_killed_twice(void **state)
{
	unsigned int i;

	for (i = 0; i < 2 * KILLS; i++) {
		kill_daemon(SIGKILL);
		usleep(1000 * i);
	}
	send_frame();
	await_frame();
	kill_daemon(SIGSEGV);
	send_frame();
	expect_recovery();
}

/**
 * struct questions - what the killer and the front-end that asks have in common
 * @answers:	answers so far
 * @ended:	the killer has done its work
 */
struct questions {
	unsigned long answers;
	bool ended;
};

/* QEMU reads the configuration by requests of this form, and waits for each answer. */
static void ask_config(int sock, uint32_t offset)
{
	struct {
		struct vu_header hdr;
		uint32_t offset;
		uint32_t size;
		uint32_t flags;
		uint8_t data[4];
	} ask = {
		.hdr = {
			.request = VU_GET_CONFIG,
			.flags = VU_FLAGS_VERSION,
			.size = 16,
		},
		.offset = offset,
		.size = sizeof(ask.data),
	}, answer = {};

	assert_int_equal(send(sock, &ask, sizeof(ask), MSG_NOSIGNAL), sizeof(ask));
	assert_int_equal(recv(sock, &answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
	assert_int_equal(answer.hdr.request, VU_GET_CONFIG);
	assert_int_equal(answer.hdr.flags, VU_FLAGS_VERSION | VU_FLAGS_REPLY);
	assert_int_equal(answer.offset, offset);
}

/* Kills at any moment, but not before the daemon has answered again. */
static void killer(struct questions *q, unsigned int kills)
{
	unsigned long from;
	uint64_t until;
	pid_t pid = 0;

	while (kills--) {
		from = __atomic_load_n(&q->answers, __ATOMIC_RELAXED) + 2 + rand() % 64;
		while (__atomic_load_n(&q->answers, __ATOMIC_RELAXED) < from)
			usleep(50);
		until = pp_now() + rand() % 100000;
		while (pp_now() < until)
			;
		pid = await_daemon(pp.pid, pid);
		kill(pid, SIGKILL);
	}
	__atomic_store_n(&q->ended, true, __ATOMIC_RELAXED);
}

/* Each question of QEMU's has one answer, whenever the daemon is killed. */
static void test_killed_while_it_is_asked(void **state)
{
	const unsigned int kills = getenv("LAB_LONG") ? 5 * KILLS_LONG : 4 * KILLS;
	const struct timeval patience = { .tv_sec = 20 };
	const int sock = pp.guest[0].sock;
	struct questions *q;
	int status;
	pid_t pid;

	q = mmap(NULL, sizeof(*q), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(q, MAP_FAILED);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		/* An assertion that fails here must not go on with the other tests. */
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		killer(q, kills);
		_exit(0);
	}
	while (!__atomic_load_n(&q->ended, __ATOMIC_RELAXED)) {
		/* The address, and what follows it. */
		ask_config(sock, q->answers % 8);
		__atomic_fetch_add(&q->answers, 1, __ATOMIC_RELAXED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	print_message("killed %u times, %lu answers\n", kills, q->answers);
	munmap(q, sizeof(*q));
	send_frame();
	expect_recovery();
}

/* Guests come and go, before and after. */
static void test_guests_come_and_go(void **state)
{
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	kill_daemon(SIGKILL);
	assert_int_equal(ask_port(&pp.guest[2]), VIRTIO_NET_ERR);
	front_close(&pp.guest[2]);
	kill_daemon(SIGKILL);
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	assert_int_equal(ask_port(&pp.guest[2]), VIRTIO_NET_OK);
	front_close(&pp.guest[2]);
}

/* A bug that comes again and again ends both. */
static void test_gives_up(void **state)
{
	pid_t pid = 0;
	unsigned int i;
	int status;

	for (i = 0; i < 5; i++) {
		pid = await_daemon(pp.pid, pid);
		assert_int_equal(kill(pid, SIGABRT), 0);
	}
	assert_int_equal(waitpid(pp.pid, &status, 0), pp.pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status));
	pp.pid = 0;
}

/* Another daemon, which has a keeper of its own, takes over, and is killed. */
static void test_takeover(void **state)
{
	char *const more[] = { (char *)"--takeover", control, NULL };
	unsigned int late = 0;
	uint64_t took;
	int status;
	pid_t pid;

	for (;;) {
		pid = pp_spawn(getenv("SANDBOXED"), more);
		if (waitpid(-1, &status, 0) != pid)
			break;
		assert_true(WIFEXITED(status) && WEXITSTATUS(status));
		assert_true(late++ < LATE_MAX);
	}
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(pp.pid, NULL, WNOHANG), -1);
	pp_is(pid);
	pp_ping(&took);
	send_frame();
	await_frame();
	kill_daemon(SIGKILL);
	send_frame();
	expect_recovery();
}

static int setup(void **state)
{
	static char *options[4];

	snprintf(control, sizeof(control), "/tmp/keeper.%d", getpid());
	options[0] = (char *)"--control";
	options[1] = control;
	options[2] = (char *)"--keeper";
	pp_start(options, FEATURES);
	begin();
	return 0;
}

static int teardown(void **state)
{
	pp_stop();
	return 0;
}

/* Both have ended, and left the names of their sockets. */
static int teardown_ended(void **state)
{
	unsigned int i;

	for (i = 0; i < PP_GUESTS; i++)
		unlink(pp.path[i]);
	unlink(control);
	pp_end();
	return 0;
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_killed),
		TEST(test_killed_twice),
		TEST(test_killed_while_it_is_asked),
		TEST(test_guests_come_and_go),
		TEST(test_takeover),
		cmocka_unit_test_setup_teardown(test_gives_up, setup, teardown_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
