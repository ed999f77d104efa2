// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/virtio_net.h>

#include "tests/lib/stream.h"

/* Messages under way, and their size: some more than are copied in a turn. */
#define DEPTH		32u
#define MESSAGE		(128u << 10)

/* A daemon goes on itself if the other one takes too long, as on a busy machine. */
#define LATE_MAX	20u

/* Messages between two events of a test. */
#define SOME		(4 * DEPTH)

struct stream stream;

void stream_open(void)
{
	struct front *front;
	uint32_t pdn;
	unsigned int i;

	memset(&stream, 0, sizeof(stream));
	for (i = 0; i < 2; i++) {
		front = &pp.guest[i];
		pdn = pp_pd(front);
		stream.at[i] = guest_alloc(&front->guest, DEPTH * MESSAGE, 4096);
		stream.key[i] = front_reg(front, pdn, stream.at[i], DEPTH * MESSAGE);
		stream.qp[i] = front_qp(front, VIRTIO_IB_QPT_RC, pdn, front_cq(front));
	}
	front_connect(&stream.qp[0], VIRTIO_IB_QPT_RC, &stream.qp[1]);
	front_connect(&stream.qp[1], VIRTIO_IB_QPT_RC, &stream.qp[0]);
	stream_again();
}

void stream_again(void)
{
	stream.last = pp_now();
	stream.gap = 0;
}

static uint64_t *number_at(unsigned int end, uint64_t number, uint32_t off)
{
	return guest_ptr(&pp.guest[end].guest, stream.at[end] + number % DEPTH * MESSAGE + off);
}

static struct virtio_rdma_sge sge(unsigned int end, uint64_t number)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(stream.at[end] + number % DEPTH * MESSAGE),
		.length = htole32(MESSAGE),
		.lkey = htole32(stream.key[end]),
	};
}

static void post_recv(void)
{
	struct front_vq *vq = front_recv_vq(&stream.qp[1]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->num_sge = htole32(1);
	req->sg_list[0] = sge(1, stream.posted++);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static void post_send(void)
{
	struct front_vq *vq = front_send_vq(&stream.qp[0]);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	*number_at(0, stream.sent, 0) = stream.sent;
	*number_at(0, stream.sent, MESSAGE - 8) = stream.sent;
	req->opcode = VIRTIO_IB_WR_SEND;
	req->send_flags = VIRTIO_IB_SEND_SIGNALED;
	req->num_sge = htole32(1);
	req->sg_list[0] = sge(0, stream.sent++);
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

/* ------------------------------------------------------------------------- */
/* What there is to see when nothing completes                               */
/* ------------------------------------------------------------------------- */

/* Doorbells that nobody has taken. */
static unsigned long untaken(int kick)
{
	unsigned long count = 0;
	char text[64];
	FILE *file;

	snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", kick);
	file = fopen(text, "r");
	if (!file)
		return 0;
	while (fgets(text, sizeof(text), file))
		if (sscanf(text, "eventfd-count: %lx", &count) == 1)
			break;
	fclose(file);
	return count;
}

static void print_queue(const char *what, const struct front_vq *vq)
{
	const struct guest_vq *gvq = &vq->gvq;

	print_message("  %s: available %u, used %u, looked at %u, %s, %lu doorbells untaken\n",
		      what, gvq->avail_idx, __atomic_load_n(&gvq->used->idx, __ATOMIC_ACQUIRE),
		      gvq->last_used,
		      gvq->used->flags & VRING_USED_F_NO_NOTIFY ? "polled" : "to be rung",
		      untaken(vq->kick));
}

static void print_process(const char *name)
{
	char path[64], line[128];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pp.pid, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strcmp(name, "status") || strstr(line, "State:") || strstr(line, "ctxt"))
			print_message("  daemon: %s", line);
	if (file)
		fclose(file);
}

static void print_qps(void)
{
	const struct timeval patience = { .tv_sec = 5 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4096];
	ssize_t n = -1;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", stream.control);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(sock, (struct sockaddr *)&addr, sizeof(addr)) && write(sock, "qps\n", 4) == 4)
		n = recv(sock, text, sizeof(text), MSG_WAITALL);
	close(sock);
	print_message("  daemon: %.*s\n", n > 0 ? (int)n : 9, n > 0 ? text : "no answer");
}

void stream_print_daemon(void)
{
	print_process("status");
	print_process("wchan");
	print_process("schedstat");
	if (stream.control)
		print_qps();
}

static void stands_still(void)
{
	static const char *const end[] = { "sender", "receiver" };
	char text[32];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "%s's send queue", end[i]);
		print_queue(text, front_send_vq(&stream.qp[i]));
		snprintf(text, sizeof(text), "%s's receive queue", end[i]);
		print_queue(text, front_recv_vq(&stream.qp[i]));
		snprintf(text, sizeof(text), "%s's CQ", end[i]);
		print_queue(text, &stream.qp[i].front->vq[FRONT_CQ + stream.qp[i].cqn]);
	}
	stream_print_daemon();
	fail_msg("nothing completes: %lu sent, %lu done, %lu posted, %lu got; %.1f s by the clock",
		 stream.sent, stream.done, stream.posted, stream.got,
		 (pp_now() - stream.last) / 1e9);
}

/* ------------------------------------------------------------------------- */
/* A step                                                                    */
/* ------------------------------------------------------------------------- */

/* Half of the receive requests come late, so that some messages wait for theirs. */
static void stream_step(void)
{
	uint64_t now;

	while (stream.posted - stream.got < DEPTH / 2)
		post_recv();
	while (stream.sent - stream.done < DEPTH)
		post_send();
	if (stream.also)
		stream.also();
	now = pp_now();
	while (completed(&stream.qp[0]))
		stream.done++;
	while (completed(&stream.qp[1])) {
		assert_int_equal(*number_at(1, stream.got, 0), stream.got);
		assert_int_equal(*number_at(1, stream.got, MESSAGE - 8), stream.got);
		stream.got++;
		if (now - stream.last > stream.gap)
			stream.gap = now - stream.last;
		stream.last = now;
		stream.looked = 0;
	}
	assert_true(stream.done <= stream.got);
	if (!stream.looked)
		stream.looked = pp_ran();
	else if (pp_ran() - stream.looked >= PP_LOOK_NS)
		stands_still();
}

void stream_some(void)
{
	const uint64_t enough = stream.got + SOME;

	stream.looked = 0;
	while (stream.got < enough)
		stream_step();
}

int stream_until_end(pid_t pid)
{
	int status;
	pid_t got;

	stream.looked = 0;
	do {
		stream_step();
		got = waitpid(pid, &status, WNOHANG);
		assert_true(got >= 0);
	} while (!got);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The first process of this one to end; @status is its status. */
static pid_t stream_until_one_ends(int *status)
{
	pid_t got;

	stream.looked = 0;
	do {
		stream_step();
		got = waitpid(-1, status, WNOHANG);
		assert_true(got >= 0);
	} while (!got);
	return got;
}

void stream_take_over(const char *program)
{
	char *const more[] = { (char *)"--takeover", (char *)stream.control, NULL };
	unsigned int i;
	pid_t new;
	int status;

	for (i = 0; i <= LATE_MAX; i++) {
		new = pp_spawn(program, more);
		stream_again();
		if (stream_until_one_ends(&status) != new) {
			assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
			pp_is(new);
			return;
		}
		assert_true(WIFEXITED(status) && WEXITSTATUS(status));
		print_message("too late: the daemon goes on itself\n");
		stream_some();
	}
	fail_msg("no takeover in %u attempts", i);
}

void stream_frame(void)
{
	const struct virtio_net_hdr_v1 hdr = { .num_buffers = 0 };
	struct front_vq *tx = &pp.guest[0].vq[FRONT_TX], *rx = &pp.guest[1].vq[FRONT_RX];
	const uint64_t addr = guest_alloc(&pp.guest[0].guest, sizeof(hdr) + 64, 64);
	const struct guest_buf buf = { .addr = addr, .len = sizeof(hdr) + 64 };
	uint8_t *p = guest_ptr(&pp.guest[0].guest, addr);
	const uint64_t end = pp_ran() + PP_LOOK_NS;
	uint32_t head, len;

	memcpy(p, &hdr, sizeof(hdr));
	memset(p + sizeof(hdr), 0xff, 6);
	memcpy(p + sizeof(hdr) + 6, "\x52\x54\x00\x00\xce\x01\x88\xb5", 8);
	guest_vq_add(&tx->gvq, &buf, 1);
	front_kick(tx);
	while (!guest_vq_get(&rx->gvq, &head, &len))
		assert_true(pp_ran() < end);
	assert_int_equal(len, sizeof(hdr) + 64);
	while (!guest_vq_get(&tx->gvq, &head, &len))
		assert_true(pp_ran() < end);
}
