// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Commands of an operator, and clients that misbehave.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "function/function_priv.h"
#include "operator/line.h"
#include "operator/metrics.h"
#include "operator/socket.h"
#include "tests/lib/need.h"
#include "tests/lib/station.h"

#define PORTS	3
#define PASSED_MAX	3

static struct port_group group[PORTS] = {
	{ .name = "a.sock" }, { .name = "same" }, { .name = "same" },
};
static struct uplink uplink = { .stats = { .peers = 3, .tx_dropped = 7 } };
static struct operator_port port[PORTS] = {
	{ .text = "/run/a.sock", .group = &group[0] },
	{ .text = "/run/x y/same", .group = &group[1] },
	{ .text = "tap:same", .group = &group[2], .uplink = &uplink },
};
static struct rnic_limits limits = {
	.qps = 32, .cqs = 64, .queue_size = 1024, .event_vqs = 4, .doorbell_vqs = 1,
};

/* The last change; @err and @error are what comes of it. */
static struct {
	char what[OPERATOR_LINE_MAX];
	const char *error;
	int err;
} change;

static int change_add(const char *kind, const char *text, int fd)
{
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	snprintf(change.what, sizeof(change.what), "add %s %s", kind, text);
	if (change.error)
		log_error("%s", change.error);
	return change.err;
}

static int change_guest_add(void *arg, const char *text, int fd)
{
	assert_ptr_equal(arg, &change);
	return change_add("guest", text, fd);
}

static int change_uplink_add(void *arg, const char *text, int fd)
{
	assert_ptr_equal(arg, &change);
	return change_add("uplink", text, fd);
}

static void change_remove(void *arg, const struct operator_port *which)
{
	assert_ptr_equal(arg, &change);
	snprintf(change.what, sizeof(change.what), "remove %s", which->text);
}

static const struct operator_changes changes = {
	.guest_add = change_guest_add,
	.uplink_add = change_uplink_add,
	.remove = change_remove,
};

static const struct operator op = {
	.port = port,
	.ports = PORTS,
	.queue_pairs = 1,
	.limits = &limits,
	.cwd = "/run/a,b",
	.umask = 027,
	.changes = &changes,
	.arg = &change,
};
static struct operator_socket *control;
static char path[64];

static int setup(void **state)
{
	unsigned int i;

	station_setup(state);
	for (i = 0; i < 2; i++)
		port[i].fn = st[i].fn;
	for (i = 0; i < PORTS; i++)
		group[i].cut = false;
	snprintf(path, sizeof(path), "/tmp/test_control.%d", getpid());
	control = operator_socket_new(loop, path, &op);
	assert_non_null(control);
	return 0;
}

static int teardown(void **state)
{
	operator_socket_free(control);
	assert_int_equal(access(path, F_OK), -1);
	return station_teardown(state);
}

/* A test adds so many nanoseconds to the loop's clock; true time does not count. */
static uint64_t ahead;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static uint64_t now = 1000000000;
	uint64_t ns;

	/* Time goes on, a little with each look. */
	now += 1000;
	ns = now + ahead;
	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
	return 0;
}

static int client(void)
{
	int fd = uds_connect(path);

	assert_true(fd >= 0);
	return fd;
}

static void send_with(int fd, const char *text, const int *passed, unsigned int n)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} room = { 0 };
	struct iovec iov = { .iov_base = (char *)text, .iov_len = strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		msg.msg_control = &room;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		room.cmsg.cmsg_level = SOL_SOCKET;
		room.cmsg.cmsg_type = SCM_RIGHTS;
		room.cmsg.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&room.cmsg), passed, n * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &msg, 0), strlen(text));
}

/* Sends @text with descriptors and returns all that comes until the end of the connection. */
static const char *ask_with(const char *text, const int *passed, unsigned int passed_n)
{
	static char answer[65536];
	int fd = client(), i;
	size_t len = 0;
	ssize_t n;

	send_with(fd, text, passed, passed_n);
	for (i = 0; i < 100; i++) {
		run();
		n = recv(fd, answer + len, sizeof(answer) - 1 - len,
			 MSG_DONTWAIT);
		if (!n)
			break;
		if (n > 0)
			len += n;
	}
	assert_true(i < 100);
	close(fd);
	answer[len] = 0;
	return answer;
}

static const char *ask(const char *text)
{
	return ask_with(text, NULL, 0);
}

static void test_ports(void **state)
{
	assert_string_equal(ask("ports\n"),
			    "ok\n"
			    "a.sock\tguest\tabsent\n"
			    "/run/x y/same\tguest\tabsent\n"
			    "tap:same\tuplink\t3 peers\n");
	connected = true;
	function_set_link(st[1].fn, false);
	assert_string_equal(ask("ports\n"),
			    "ok\n"
			    "a.sock\tguest\tup\n"
			    "/run/x y/same\tguest\tdown\n"
			    "tap:same\tuplink\t3 peers\n");
}

/* tests/test_packages.py starts QEMU with it. */
static void assert_qemu_args(const char *socket, unsigned int queues,
			     unsigned int config)
{
	char args[512];

	snprintf(args, sizeof(args),
		 "ok\n-chardev\nsocket,id=roce0-socket,path=%s\n"
		 "-device\n%s,%s,num_vqs=%u,vq_size=1024,config_size=%u\n",
		 socket, "vhost-user-test-device-pci,virtio-id=1",
		 "chardev=roce0-socket,id=roce0,page-per-vq=on", queues, config);
	assert_string_equal(ask("qemu-args a.sock\n"), args);
}

static void test_qemu_args(void **state)
{
	assert_qemu_args("/run/a.sock", 136, 36);
	/* Virtqueues as the RFC has them, and a path that begins where the daemon did. */
	limits.event_vqs = 0;
	limits.doorbell_vqs = 0;
	port[0].text = "a,.sock";
	assert_qemu_args("/run/a,,b/a,,.sock", 131, 32);
	port[0].text = "/run/a.sock";
	limits.event_vqs = 4;
	limits.doorbell_vqs = 1;
	assert_string_equal(ask("qemu-args tap:same\n"), "error no such guest\n");
	assert_string_equal(ask("qemu-args b\n"), "error no such guest\n");
}

static void test_stats(void **state)
{
	const char *answer;

	group[2].stats.fault.lost = 12345678901;
	answer = ask("stats\n");
	assert_memory_equal(answer, "ok\n", 3);
	assert_non_null(strstr(answer, "\na.sock\tguest\trp_cnp_handled\t0\n"));
	assert_non_null(strstr(answer, "\na.sock\tguest\teth_tx\t0\n"));
	assert_non_null(strstr(answer, "\ntap:same\tuplink\ttx_dropped\t7\n"));
	assert_non_null(strstr(answer,
			       "\ntap:same\tuplink\tfault_lost\t12345678901\n"));
	assert_null(strstr(answer, "\ntap:same\tuplink\tsent_pkts"));
}

static const uint64_t counters[VIRTIO_RDMA_CNT_NUM] = { 11, 12, 13 };
static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 2 };
static const struct qp_view qps[] = {
	{ 1, "GSI", "RTS", "-", "-", NULL, 0, 0, counters },
	{ 17, "RC", "RTS", "answer", "b", gid, 18, 3, counters },
	{ 16383, "RC", "ERR", "-", "-", NULL, 0, 0, counters },
};

static void test_qps(void **state)
{
	const char *answer = ask("qps\n");

	assert_memory_equal(answer, "ok\nguest\tqpn\ttype\tstate\twaits\tpeer\tpeer_gid\t"
			    "peer_qpn\trequests\tsent_pkts\t", 72);
	assert_null(strstr(answer, "\na.sock\t"));
	rnic_mock.qp = qps;
	rnic_mock.qps = ARRAY_SIZE(qps);
	answer = ask("qps\n");
	assert_non_null(strstr(answer, "\na.sock\t1\tGSI\tRTS\t-\t-\t-\t0\t0\t11\t12\t13\t0\t"));
	assert_non_null(strstr(answer, "\n/run/x y/same\t17\tRC\tRTS\tanswer\tb\t"));
	assert_non_null(strstr(answer, "\tanswer\tb\tfe80::2\t18\t3\t11\t12\t13\t"));
	assert_non_null(strstr(answer, "\na.sock\t16383\tRC\tERR\t-\t"));
	assert_null(strstr(answer, "\ntap:same\t"));
}

/* Each family is in one piece, of its type, and the text ends as it has to. */
static void print_targets(const void *arg, FILE *out)
{
	fprintf(out, "nqn\taddress\n%s\t192.0.2.9\n", (const char *)arg);
}

static void test_targets(void **state)
{
	struct operator with = op;
	char line[] = "targets", *answer = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&answer, &len);
	int fd = -1;

	assert_string_equal(ask("targets\n"), "ok\n");
	with.targets = print_targets;
	with.targets_arg = (char *)"a name";
	operator_command(&with, line, &fd, out);
	fclose(out);
	assert_string_equal(answer, "ok\nnqn\taddress\na name\t192.0.2.9\n");
	free(answer);
}

static void print_metrics(const void *arg, FILE *out)
{
	metric_type(out, "stored", false);
	metric_name(out, "stored", false);
	fprintf(out, "{of=\"");
	metric_label(out, arg);
	fprintf(out, "\"} 1\n");
}

static void look(void *arg)
{
	*(char *)arg = 'l';
}

static void test_look(void **state)
{
	struct operator with = op;
	char line[] = "look", *answer = NULL, seen = 0;
	size_t len = 0;
	FILE *out = open_memstream(&answer, &len);
	int fd = -1;

	assert_string_equal(ask("look\n"), "ok\n");
	with.look = look;
	with.targets_arg = &seen;
	operator_command(&with, line, &fd, out);
	fclose(out);
	assert_string_equal(answer, "ok\n");
	assert_int_equal(seen, 'l');
	free(answer);
}

/* A station of the daemon's own is a port as others are, and cannot be removed. */
static void test_station(void **state)
{
	struct operator_port ports[PORTS + 1];
	static struct port_group target = { .name = "nvmf-target0" };
	struct operator with = op;
	char line[64], *answer = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&answer, &len);
	int fd = -1;

	memcpy(ports, port, sizeof(port));
	ports[PORTS] = (struct operator_port) {
		.text = target.name,
		.group = &target,
		.rnic = (struct rnic *)function_rnic(st[0].fn),
	};
	with.port = ports;
	with.ports = PORTS + 1;
	with.metrics = print_metrics;
	with.targets_arg = (char *)"a\"name";
	strcpy(line, "ports");
	operator_command(&with, line, &fd, out);
	strcpy(line, "stats");
	operator_command(&with, line, &fd, out);
	strcpy(line, "metrics");
	operator_command(&with, line, &fd, out);
	strcpy(line, "cut nvmf-target0 on");
	operator_command(&with, line, &fd, out);
	strcpy(line, "uplink remove nvmf-target0");
	operator_command(&with, line, &fd, out);
	fclose(out);
	assert_true(target.cut);
	assert_non_null(strstr(answer, "\nnvmf-target0\ttarget\tup\n"));
	assert_non_null(strstr(answer, "\nnvmf-target0\ttarget\tport_in\t0\n"));
	assert_non_null(strstr(answer, "\nnvmf-target0\ttarget\trcvd_malformed\t"));
	assert_non_null(strstr(answer, "\n# TYPE vhost_user_roce_stored counter\n"
			       "vhost_user_roce_stored_total{of=\"a\\\"name\"} 1\n# EOF\n"));
	assert_non_null(strstr(answer, "\nerror nvmf-target0 is not an uplink\n"));
	free(answer);
}

static void test_metrics(void **state)
{
	const char *answer;

	rnic_mock.qp = qps;
	rnic_mock.qps = ARRAY_SIZE(qps);
	connected = true;
	strcpy(group[2].name, "a\"b\\c");
	answer = ask("metrics\n");
	assert_non_null(strstr(answer,
			       "\n# TYPE vhost_user_roce_port_in counter\n"
			       "vhost_user_roce_port_in_total{port=\"a.sock\",kind=\"guest\"} 0\n"
			       "vhost_user_roce_port_in_total{port=\"same\",kind=\"guest\"} 0\n"
			       "vhost_user_roce_port_in_total{port=\"a\\\"b\\\\c\",kind=\"uplink\"} 0\n"
			       "# TYPE "));
	assert_non_null(strstr(answer,
			       "\n# TYPE vhost_user_roce_peers gauge\n"
			       "vhost_user_roce_peers{port=\"a\\\"b\\\\c\",kind=\"uplink\"} 3\n"));
	assert_non_null(strstr(answer,
			       "\n# TYPE vhost_user_roce_guest_up gauge\n"
			       "vhost_user_roce_guest_up{port=\"a.sock\",kind=\"guest\"} 1\n"));
	assert_non_null(strstr(answer,
			       "\n# TYPE vhost_user_roce_qps gauge\n"
			       "vhost_user_roce_qps{port=\"a.sock\",kind=\"guest\",state=\"RTS\"} 2\n"
			       "vhost_user_roce_qps{port=\"a.sock\",kind=\"guest\",state=\"ERR\"} 1\n"
			       "vhost_user_roce_qps{port=\"same\""));
	assert_string_equal(answer + strlen(answer) - 7, "\n# EOF\n");
	strcpy(group[2].name, "same");
}

static void test_cut(void **state)
{
	st[0].fn->port.group = &group[0];
	assert_string_equal(ask("cut a.sock on\n"), "ok\n");
	assert_true(group[0].cut);
	/* RDMA in memory would not notice. */
	assert_true(rnic_mock.packets);
	assert_string_equal(ask("cut /run/a.sock off\n"), "ok\n");
	assert_false(group[0].cut);
	assert_false(rnic_mock.packets);
	assert_string_equal(ask("cut /run/x y/same on\n"), "ok\n");
	assert_true(group[1].cut);
	assert_false(group[2].cut);
	assert_non_null(strstr(ask("ports\n"), "same\tguest\tabsent, cut\n"));
}

static void test_link(void **state)
{
	assert_true(function_link(st[0].fn));
	assert_string_equal(ask("link a.sock down\n"), "ok\n");
	assert_false(function_link(st[0].fn));
	assert_int_equal(config_changes, 1);
	assert_string_equal(ask("link a.sock up\n"), "ok\n");
	assert_true(function_link(st[0].fn));
}

static void test_add(void **state)
{
	int fd[PASSED_MAX] = { 0, 1, 2 };
	unsigned int fds = count_fds();

	change.err = 0;
	change.error = NULL;
	assert_string_equal(ask_with("guest add /run/x y,mac=2\n", fd, 1), "ok\n");
	assert_string_equal(change.what, "add guest /run/x y,mac=2");
	assert_string_equal(ask_with("uplink add tap:x\n", fd, 1), "ok\n");
	assert_string_equal(change.what, "add uplink tap:x");
	/* The message is told; without a message it is the error's own text. */
	change.err = -EINVAL;
	change.error = "wrong";
	assert_string_equal(ask_with("guest add x\n", fd, 1), "error wrong\n");
	change.error = NULL;
	assert_string_equal(ask_with("guest add x\n", fd, 1), "error Invalid argument\n");
	/* Too few, too many, and where none is wanted. */
	*change.what = 0;
	assert_string_equal(ask("guest add x\n"), "error no descriptor came with it\n");
	assert_string_equal(change.what, "");
	change.err = 0;
	assert_string_equal(ask_with("guest add x\n", fd, 3), "ok\n");
	assert_memory_equal(ask_with("ports\n", fd, 3), "ok\n", 3);
	assert_int_equal(count_fds(), fds);
}

/* A descriptor that came with the first piece of a line, and with the second. */
static void test_add_in_pieces(void **state)
{
	unsigned int fds = count_fds(), i;
	int fd, one = 1;
	char c[4];

	for (i = 0; i < 4; i++) {
		fd = client();
		send_with(fd, "guest ad", &one, i & 1);
		run();
		send_with(fd, "d x\n", &one, i >> 1);
		run();
		assert_int_equal(recv(fd, c, 3, MSG_DONTWAIT), 3);
		assert_memory_equal(c, i ? "ok\n" : "err", 3);
		close(fd);
		/* And one whose client leaves in the middle. */
		fd = client();
		send_with(fd, "guest ad", &one, 1);
		run();
		close(fd);
		run();
	}
	assert_int_equal(count_fds(), fds);
}

static void test_remove(void **state)
{
	assert_string_equal(ask("guest remove a.sock\n"), "ok\n/run/a.sock\n");
	assert_string_equal(change.what, "remove /run/a.sock");
	port[0].text = "a.sock";
	assert_string_equal(ask("guest remove a.sock\n"), "ok\n/run/a,b/a.sock\n");
	port[0].text = "/run/a.sock";
	assert_string_equal(ask("uplink remove tap:same\n"), "ok\n");
	assert_string_equal(change.what, "remove tap:same");
	port[2].text = "unix:/run/u";
	assert_string_equal(ask("uplink remove unix:/run/u\n"), "ok\n/run/u\n");
	port[2].text = "tap:same";
	*change.what = 0;
	assert_string_equal(ask("guest remove same\n"),
			    "error more than one has the name same; say its whole path\n");
	assert_string_equal(ask("guest remove tap:same\n"), "error tap:same is not a guest\n");
	assert_string_equal(ask("uplink remove a.sock\n"), "error a.sock is not an uplink\n");
	assert_string_equal(ask("guest remove b\n"), "error no such guest: b\n");
	assert_string_equal(change.what, "");
}

/* Answer to whether a guest that has @text in its needs for @from could take b's place. */
static const char *check_move(const char *needs, const char *from, const char *to)
{
	const char *at = strstr(needs, from);
	char line[OPERATOR_LINE_MAX];

	assert_non_null(at);
	snprintf(line, sizeof(line), "guest check-move /run/x y/same %.*s%s%s", (int)(at - needs),
		 needs, to, at + strlen(from));
	return ask(line);
}

static void test_needs(void **state)
{
	static const uint8_t here[] = { 0x20, 1, 0x0d, 0xb8, [15] = 7 };
	char needs[1024];

	rnic_mock.gid[0] = here;
	rnic_mock.gids = 1;
	rnic_mock.path_mtu = 1024;
	snprintf(needs, sizeof(needs), "%s", ask("guest needs a.sock\n"));
	rnic_mock.gids = 0;
	assert_memory_equal(needs, "ok\nfeatures=0 mtu=1500 qps=4 cqs=3 ", 34);
	assert_non_null(strstr(needs, " path_mtu=1024 mac=02:00:00:00:00:"));
	assert_non_null(strstr(needs, " gid=2001:db8::7 "));
	/* A section that may be skipped is not needed. */
	assert_non_null(strstr(needs, " state=1 sections=function.1,ethernet.1\n"));
	memmove(needs, needs + 3, strlen(needs) - 2);
	assert_string_equal(check_move(needs, "qps=4", "qps=4"), "ok\n");
	assert_string_equal(check_move(needs, "qps=4", "qps=5"), "error qps: 5, but 4 here\n");
	assert_string_equal(check_move(needs, "mtu=1500", "mtu=68"), "ok\n");
	assert_string_equal(check_move(needs, "mtu=1500", "mtu=9000"),
			    "error mtu: 9000, but 1500 here\n");
	assert_string_equal(check_move(needs, "path_mtu=1024", "path_mtu=2048"),
			    "error path_mtu: 2048, but 1500 here\n");
	assert_memory_equal(check_move(needs, "features=0 ", "features=0x4000000000000000 "),
			    "error features: 0x4000000000000000, and 0x", 42);
	assert_string_equal(check_move(needs, "mac=02:", "mac=2"),
			    "error mac: not a MAC address\n");
	assert_string_equal(check_move(needs, "gid=2001", "gid=20010"), "error gid: not a GID\n");
	assert_string_equal(check_move(needs, "cqs=3", "nvme=3"), "error nvme: unknown here\n");
	assert_string_equal(check_move(needs, "cqs=3", "cqs=-3"), "error cqs: not a number\n");
	assert_string_equal(check_move(needs, "state=1", "state=2"),
			    "error state: 2, but 1 here\n");
	assert_string_equal(check_move(needs, "ethernet.1", "mock.1"), "ok\n");
	assert_string_equal(check_move(needs, "ethernet.1", "ethernet.2"),
			    "error sections: ethernet of version 2, but 1 here\n");
	assert_string_equal(check_move(needs, "ethernet.1", "later.1"),
			    "error sections: later, which is unknown here\n");
	assert_string_equal(check_move(needs, "ethernet.1", "ethernet"),
			    "error sections: not NAME.VERSION\n");
	assert_string_equal(check_move(needs, "cqs=3", "cqs"), "error cqs: no FIELD=VALUE\n");
	assert_string_equal(ask("guest needs tap:same\n"), "error tap:same is not a guest\n");
	assert_memory_equal(ask("guest check-move a.sock\n"), "error check-move wants", 22);
	assert_string_equal(ask("guest check-move b features=0x0\n"), "error no such guest: b\n");
}

static void test_guest_list(void **state)
{
	char line[128];

	snprintf(line, sizeof(line),
		 "ok\n"
		 "a.sock\t/run/a.sock\t02:00:00:00:00:%02x\tabsent\n"
		 "/run/x y/same\t/run/x y/same\t02:00:00:00:00:%02x\tabsent\n",
		 function_mac(st[0].fn)[5], function_mac(st[1].fn)[5]);
	assert_string_equal(ask("guest list\n"), line);
	assert_string_equal(ask("umask\n"), "ok\n0027\n");
	/* A number: the allocator of the sanitizers says 0. */
	assert_string_equal(ask("heap\n"), "ok\n0\npiped\n");
}

static void test_errors(void **state)
{
	static const char *const bad[] = {
		"\n", "bogus\n", "stats \n", "link\n", "link \n", "cut a.sock\n",
		"cut a.sock maybe\n", "cut nobody on\n", "cut same on\n",
		"link tap:same up\n", "link a.sock on\n", "cut  on\n",
		"guest\n", "guest add\n", "guest list \n", "uplink list\n",
		"guest remove \n", "guest  remove a.sock\n", "umask 0\n",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_memory_equal(ask(bad[i]), "error ", 6);
}

static void test_long_line(void **state)
{
	char line[OPERATOR_LINE_MAX + 88];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = 0;
	assert_string_equal(ask(line), "");
	memcpy(line, "cut ", 4);
	strcpy(line + OPERATOR_LINE_MAX - 5, " on\n");
	assert_memory_equal(ask(line), "error ", 6);
}

static void test_too_many_clients(void **state)
{
	int fd[9], i;
	char c;

	for (i = 0; i < 9; i++) {
		fd[i] = client();
		run();
	}
	assert_int_equal(recv(fd[8], &c, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(fd[7], &c, 1, MSG_DONTWAIT), -1);
	close(fd[0]);
	run();
	assert_memory_equal(ask("ports\n"), "ok\n", 3);
	for (i = 1; i < 9; i++)
		close(fd[i]);
	run();
}

/* A client that says nothing makes room for others after 5 s. */
static void test_patience(void **state)
{
	int fd = client(), ms;
	char c;

	run();
	for (ms = 0; ms < 6000 && recv(fd, &c, 1, MSG_DONTWAIT); ms += 10) {
		ahead += 10000000;
		run();
	}
	assert_in_range(ms, 4900, 5100);
	close(fd);
}

static void test_mode(void **state)
{
	struct stat st_path;

	assert_int_equal(stat(path, &st_path), 0);
	assert_int_equal(st_path.st_mode & 0777, 0600);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ports),
		TEST(test_qemu_args),
		TEST(test_stats),
		TEST(test_qps),
		TEST(test_targets),
		TEST(test_metrics),
		TEST(test_station),
		TEST(test_look),
		TEST(test_cut),
		TEST(test_link),
		TEST(test_add),
		TEST(test_add_in_pieces),
		TEST(test_remove),
		TEST(test_needs),
		TEST(test_guest_list),
		TEST(test_errors),
		TEST(test_long_line),
		TEST(test_too_many_clients),
		TEST(test_patience),
		TEST(test_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
