// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon takes the place of another one while two guests send messages.  $SANDBOXED is the
 * path of the daemon, as shipped.
 *
 * Each message has its number in its first and last bytes.  So a message that is lost,
 * doubled or overtaken shows, and one whose second half never came shows as well.
 */
#include <endian.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

/* Messages under way, and their size: some more than are copied in a turn. */
#define DEPTH		32u
#define MESSAGE		(128u << 10)
#define TIMEOUT_NS	20000000000ULL

/* Messages between two events of a test. */
#define SOME		(4 * DEPTH)

#define TAKEOVERS	10u

/**
 * struct stream - messages from A to B
 * @qp:		ends
 * @at:		memory of the messages of each end
 * @key:	key of that
 * @sent:	send requests so far
 * @done:	of which have completed
 * @posted:	receive requests so far
 * @got:	of which have completed
 * @last:	when something completed last
 * @gap:	longest time without
 */
static struct stream {
	struct front_qp qp[2];
	uint64_t at[2];
	uint32_t key[2];
	uint64_t sent;
	uint64_t done;
	uint64_t posted;
	uint64_t got;
	uint64_t last;
	uint64_t gap;
} s;

static char control[96];

/* ------------------------------------------------------------------------- */
/* Messages                                                                  */
/* ------------------------------------------------------------------------- */

static void stream_open(void)
{
	struct front *front;
	uint32_t pdn;
	unsigned int i;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < 2; i++) {
		front = &pp.guest[i];
		pdn = pp_pd(front);
		s.at[i] = guest_alloc(&front->guest, DEPTH * MESSAGE, 4096);
		s.key[i] = front_reg(front, pdn, s.at[i], DEPTH * MESSAGE);
		s.qp[i] = front_qp(front, VIRTIO_IB_QPT_RC, pdn, front_cq(front));
	}
	front_connect(&s.qp[0], VIRTIO_IB_QPT_RC, &s.qp[1]);
	front_connect(&s.qp[1], VIRTIO_IB_QPT_RC, &s.qp[0]);
	s.last = pp_now();
}

static uint64_t *number_at(unsigned int end, uint64_t number, uint32_t off)
{
	return guest_ptr(&pp.guest[end].guest, s.at[end] + number % DEPTH * MESSAGE + off);
}

static struct virtio_rdma_sge sge(unsigned int end, uint64_t number)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(s.at[end] + number % DEPTH * MESSAGE),
		.length = htole32(MESSAGE),
		.lkey = htole32(s.key[end]),
	};
}

static void post_recv(void)
{
	struct front_vq *vq = front_recv_vq(&s.qp[1]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->num_sge = htole32(1);
	req->sg_list[0] = sge(1, s.posted++);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static void post_send(void)
{
	struct front_vq *vq = front_send_vq(&s.qp[0]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	*number_at(0, s.sent, 0) = s.sent;
	*number_at(0, s.sent, MESSAGE - 8) = s.sent;
	req->opcode = VIRTIO_IB_WR_SEND;
	req->send_flags = VIRTIO_IB_SEND_SIGNALED;
	req->num_sge = htole32(1);
	req->sg_list[0] = sge(0, s.sent++);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static bool completed(const struct front_qp *qp)
{
	uint8_t status;

	if (!front_poll(qp, &status))
		return false;
	assert_int_equal(status, VIRTIO_IB_WC_SUCCESS);
	return true;
}

/* Half of the receive requests come late, so that some messages wait for theirs. */
static void stream_step(void)
{
	uint64_t now;

	while (s.posted - s.got < DEPTH / 2)
		post_recv();
	while (s.sent - s.done < DEPTH)
		post_send();
	now = pp_now();
	while (completed(&s.qp[0]))
		s.done++;
	while (completed(&s.qp[1])) {
		assert_int_equal(*number_at(1, s.got, 0), s.got);
		assert_int_equal(*number_at(1, s.got, MESSAGE - 8), s.got);
		s.got++;
		if (now - s.last > s.gap)
			s.gap = now - s.last;
		s.last = now;
	}
	assert_true(s.done <= s.got);
	if (now - s.last >= TIMEOUT_NS)
		fail_msg("nothing completes: %lu sent, %lu done, %lu posted, %lu got",
			 s.sent, s.done, s.posted, s.got);
}

static void stream_some(void)
{
	const uint64_t enough = s.got + SOME;

	while (s.got < enough)
		stream_step();
}

/* ------------------------------------------------------------------------- */
/* Daemons                                                                   */
/* ------------------------------------------------------------------------- */

/* Runs the stream until a process has ended; its exit status. */
static int stream_until_end(pid_t pid)
{
	int status;
	pid_t got;

	do {
		stream_step();
		got = waitpid(pid, &status, WNOHANG);
		assert_true(got >= 0);
	} while (!got);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static pid_t spawn(char *const *more)
{
	return pp_spawn(getenv("SANDBOXED"), more);
}

static void take_over(void)
{
	char *const more[] = { (char *)"--takeover", control, NULL };
	const pid_t pid = spawn(more);

	assert_int_equal(stream_until_end(pp.pid), 0);
	pp_is(pid);
	stream_some();
}

/* A daemon that cannot take over ends, and the one that there is goes on. */
static void expect_refused(char *const *more)
{
	const pid_t pid = spawn(more);

	assert_int_not_equal(stream_until_end(pid), 0);
	assert_int_equal(waitpid(pp.pid, NULL, WNOHANG), 0);
	stream_some();
}

static int control_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, control);
	assert_int_equal(connect(sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return sock;
}

/* The control socket answers, and B is connected. */
static void expect_control(void)
{
	int sock = control_connect();
	char text[256] = {};

	assert_int_equal(write(sock, "ports\n", 6), 6);
	assert_true(recv(sock, text, sizeof(text) - 1, MSG_WAITALL) > 0);
	assert_non_null(strstr(text, "ok\n0\tguest\tup\n1\tguest\tup\n"));
	close(sock);
}

static void expect_frame(void)
{
	const struct virtio_net_hdr_v1 hdr = { .num_buffers = 0 };
	struct front_vq *tx = &pp.guest[0].vq[FRONT_TX], *rx = &pp.guest[1].vq[FRONT_RX];
	const uint64_t addr = guest_alloc(&pp.guest[0].guest, sizeof(hdr) + 64, 64);
	const struct guest_buf buf = { .addr = addr, .len = sizeof(hdr) + 64 };
	uint8_t *p = guest_ptr(&pp.guest[0].guest, addr);
	const uint64_t end = pp_now() + TIMEOUT_NS;
	uint32_t head, len;

	memcpy(p, &hdr, sizeof(hdr));
	memset(p + sizeof(hdr), 0xff, 6);
	memcpy(p + sizeof(hdr) + 6, "\x52\x54\x00\x00\xce\x01\x88\xb5", 8);
	guest_vq_add(&tx->gvq, &buf, 1);
	front_kick(tx);
	while (!guest_vq_get(&rx->gvq, &head, &len))
		assert_true(pp_now() < end);
	assert_int_equal(len, sizeof(hdr) + 64);
	while (!guest_vq_get(&tx->gvq, &head, &len))
		assert_true(pp_now() < end);
}

/* ------------------------------------------------------------------------- */
/* The tests                                                                 */
/* ------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_messages_go_on(void **state)
{
	uint64_t gap[TAKEOVERS];
	unsigned int i;

	stream_some();
	for (i = 0; i < TAKEOVERS; i++) {
		s.gap = 0;
		take_over();
		gap[i] = s.gap;
		expect_frame();
		expect_control();
	}
	qsort(gap, TAKEOVERS, sizeof(*gap), by_number);
	print_message("messages stood still for %.1f ms (median), %.1f ms (most)\n",
		      gap[TAKEOVERS / 2] / 1e6, gap[TAKEOVERS - 1] / 1e6);
}

/* The sockets are served as before: a guest comes, and one goes and comes again. */
static void test_guests_come_and_go(void **state)
{
	take_over();
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	take_over();
	pp_pd(&pp.guest[2]);
	front_close(&pp.guest[2]);
	take_over();
	front_open(&pp.guest[2], pp.path[2], 3, FEATURES);
	front_close(&pp.guest[2]);
	stream_some();
}

static void test_other_options(void **state)
{
	char *const other_qps[] = {
		(char *)"--takeover", control, (char *)"--mrs", (char *)"77", NULL,
	};
	char *const other_mac[] = {
		(char *)"--takeover", control, (char *)"--mac-base",
		(char *)"52:54:00:00:dd:01", NULL,
	};
	char *const other_control[] = {
		(char *)"--takeover", control, (char *)"--control",
		(char *)"/tmp/takeover-other", NULL,
	};

	expect_refused(other_qps);
	expect_refused(other_mac);
	expect_refused(other_control);
	expect_frame();
	expect_control();
	take_over();
}

/* Another process that asks, and ends before it serves. */
static void test_ends_in_the_middle(void **state)
{
	uint8_t head[24];
	int sock;

	sock = control_connect();
	assert_int_equal(write(sock, "takeover\n", 9), 9);
	close(sock);
	stream_some();

	sock = control_connect();
	assert_int_equal(write(sock, "takeover\n", 9), 9);
	assert_int_equal(recv(sock, head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_memory_equal(head, "VNRHAND1", 8);
	close(sock);
	stream_some();
	expect_control();
	expect_frame();
	take_over();
}

/* Another one that does nothing does not keep the guests waiting for ever. */
static void test_does_nothing(void **state)
{
	int sock = control_connect();

	assert_int_equal(write(sock, "takeover\n", 9), 9);
	stream_some();
	close(sock);
	expect_control();
}

/* Nobody is there who could hand over. */
static void test_no_daemon(void **state)
{
	char *const more[] = { (char *)"--takeover", (char *)"/nonexistent", NULL };

	expect_refused(more);
}

/* ------------------------------------------------------------------------- */
/* A service manager                                                         */
/* ------------------------------------------------------------------------- */

static int manager = -1;

static void manager_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = 20 };
	char name[64];

	snprintf(name, sizeof(name), "@test_takeover/%d", getpid());
	strcpy(addr.sun_path, name);
	addr.sun_path[0] = 0;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(bind(manager, (struct sockaddr *)&addr,
			      offsetof(struct sockaddr_un, sun_path) + strlen(name)), 0);
	setenv("NOTIFY_SOCKET", name, 1);
	setenv("FDSTORE", "1", 1);
}

static void manager_close(void)
{
	close(manager);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("FDSTORE");
}

/* The next message begins with @text; returns its descriptor, or -1. */
static int manager_hears(const char *text)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(sizeof(int))];
	} room;
	char told[256] = {};
	struct iovec iov = { .iov_base = told, .iov_len = sizeof(told) - 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};
	int fd;

	assert_true(recvmsg(manager, &msg, MSG_CMSG_CLOEXEC) > 0);
	told[strlen(text)] = 0;
	assert_string_equal(told, text);
	if (!CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Ends the daemon; what it stored is in @pp. */
static void manager_ends(void)
{
	int status;

	kill(pp.pid, SIGTERM);
	pp.stored = manager_hears("FDSTORE=1\nFDNAME=guests\nFDPOLL=0");
	assert_int_equal(waitpid(pp.pid, NULL, WNOHANG), 0);
	close(manager_hears("BARRIER=1"));
	assert_int_equal(waitpid(pp.pid, &status, 0), pp.pid);
	assert_int_equal(status, 0);
}

static void test_service_is_restarted(void **state)
{
	char *const none[] = { NULL };
	unsigned int i;

	manager_hears("READY=1");
	for (i = 0; i < 3; i++) {
		stream_some();
		s.gap = 0;
		manager_ends();
		pp_is(spawn(none));
		close(pp.stored);
		pp.stored = 0;
		manager_hears("FDSTOREREMOVE=1\nFDNAME=guests");
		manager_hears("READY=1");
		stream_some();
		print_message("a restart takes %.1f ms\n", s.gap / 1e6);
		expect_frame();
		expect_control();
	}
}

/*
 * With other limits the guests lose their connections, and can come again; with another
 * address the daemon ends, and the next one begins anew.
 */
static void test_service_with_other_options(void **state)
{
	char *const mrs[] = { (char *)"--mrs", (char *)"77", NULL };
	char *const mac[] = { (char *)"--mac-base", (char *)"52:54:00:00:dd:01", NULL };
	int status, stored;

	manager_hears("READY=1");
	stream_some();
	manager_ends();
	pp_is(spawn(mrs));
	manager_hears("FDSTOREREMOVE=1");
	manager_hears("READY=1");
	stored = pp.stored;
	manager_ends();
	close(stored);
	assert_true(waitpid(spawn(mac), &status, 0) > 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status));
	manager_hears("FDSTOREREMOVE=1");
	pp_is(spawn(mac));
	stored = pp.stored;
	pp.stored = 0;
	manager_hears("FDSTOREREMOVE=1");
	manager_hears("READY=1");
	front_close(&pp.guest[0]);
	front_close(&pp.guest[1]);
	front_open(&pp.guest[0], pp.path[0], 1, FEATURES);
	front_open(&pp.guest[1], pp.path[1], 2, FEATURES);
	close(stored);
}

static char *options[8];

static int setup(void **state)
{
	snprintf(control, sizeof(control), "/tmp/takeover.%d", getpid());
	options[0] = (char *)"--control";
	options[1] = control;
	options[2] = *state;
	pp_start(options, FEATURES);
	stream_open();
	return 0;
}

static int teardown(void **state)
{
	pp_stop();
	return 0;
}

static int service_setup(void **state)
{
	manager_open();
	return setup(state);
}

/* The daemon has left its names, which a service manager removes with their folder. */
static int service_teardown(void **state)
{
	unsigned int i;

	manager_ends();
	close(pp.stored);
	pp.stored = 0;
	manager_close();
	for (i = 0; i < PP_GUESTS; i++)
		unlink(pp.path[i]);
	unlink(control);
	pp_end();
	return 0;
}

int main(void)
{
	char packets[] = "--packets", keeper[] = "--keeper";
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_messages_go_on),
		cmocka_unit_test_prestate_setup_teardown(test_messages_go_on, setup, teardown,
							 packets),
		TEST(test_guests_come_and_go),
		TEST(test_other_options),
		TEST(test_ends_in_the_middle),
		TEST(test_does_nothing),
		TEST(test_no_daemon),
		cmocka_unit_test_setup_teardown(test_service_is_restarted, service_setup,
						service_teardown),
		cmocka_unit_test_prestate_setup_teardown(test_service_is_restarted, service_setup,
							 service_teardown, keeper),
		cmocka_unit_test_setup_teardown(test_service_with_other_options,
						service_setup, service_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
