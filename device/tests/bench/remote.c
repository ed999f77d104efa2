// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The NIC of the engine's tests, in a daemon.
 *
 * The functions of rnic.h that tests/lib/engine_guest.c calls are replaced.  Each guest
 * is a connection to the daemon; its queues are those that the tests set up, and a
 * control queue.
 */
#include "tests/bench/remote.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "vhost_user/vhost_user_msg.h"

#define ETHERNET_QUEUES	3
#define TX_QUEUE	1
#define CTRL_QUEUE	2
#define CTRL_NUM	8
/* The first page of a guest is nobody's; its last megabyte is not, either. */
#define CTRL_RING	EG_BASE
#define CTRL_REQ	(EG_BASE + EG_SIZE - (1u << 20))
#define CTRL_RSP	(EG_BASE + EG_SIZE - EG_PAGE)
#define TX_RING		(CTRL_RING + EG_PAGE / 2)
#define QUEUES_MAX	64
#define SOCKETS		(EG_GUESTS + REMOTE_GUESTS)
#define PROTOCOL	(VU_PROTOCOL_F_MQ | VU_PROTOCOL_F_REPLY_ACK | VU_PROTOCOL_F_CONFIG)

/**
 * struct rnic - a connection to the daemon
 * @guest:	guest that it is for
 * @limits:	as the engine has them
 * @fd:		socket
 * @ctrl:	control queue
 * @seen:	used index of that
 * @kick:	doorbells, by index of the queue
 * @call:	interrupts, likewise
 * @kicks:	how often a doorbell was rung
 */
struct rnic {
	struct eg_guest *guest;
	struct rnic_limits limits;
	int fd;
	struct virtq ctrl;
	uint16_t seen;
	int kick[QUEUES_MAX];
	int call[QUEUES_MAX];
	unsigned int kicks;
};

static char directory[] = "/tmp/vhost-user-roce-bench-XXXXXX";
static pid_t daemon_pid;
static unsigned int connections;

/* ------------------------------------------------------------------------- */
/* The daemon                                                                */
/* ------------------------------------------------------------------------- */

static void socket_path(char *path, size_t size, unsigned int i)
{
	snprintf(path, size, "%s/%u", directory, i);
}

int remote_daemon(const char *path)
{
	static const char * const options[] = {
		"--qps", "8", "--cqs", "4", "--queue-size", "64", "--event-queues", "2",
		"--doorbell-queues", "2",
	};
	static char sockets[SOCKETS][sizeof(directory) + 16];
	const char *argv[1 + 2 * SOCKETS + ARRAY_SIZE(options) + 1] = { path };
	unsigned int i, n = 1;

	assert_non_null(mkdtemp(directory));
	for (i = 0; i < SOCKETS; i++) {
		socket_path(sockets[i], sizeof(sockets[i]), i);
		argv[n++] = "--socket";
		argv[n++] = sockets[i];
	}
	for (i = 0; i < ARRAY_SIZE(options); i++)
		argv[n++] = options[i];
	daemon_pid = fork();
	if (!daemon_pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execv(path, (char **)argv);
		_exit(127);
	}
	return daemon_pid;
}

void remote_daemon_end(void)
{
	char path[sizeof(directory) + 16];
	unsigned int i;

	kill(daemon_pid, SIGTERM);
	waitpid(daemon_pid, NULL, 0);
	for (i = 0; i < SOCKETS; i++) {
		socket_path(path, sizeof(path), i);
		unlink(path);
	}
	rmdir(directory);
}

size_t remote_daemon_rss(void)
{
	unsigned long size, resident = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", daemon_pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* ------------------------------------------------------------------------- */
/* vhost-user                                                                */
/* ------------------------------------------------------------------------- */

static void message(const struct rnic *rnic, uint32_t request, uint32_t flags,
		    const void *payload, uint32_t len, int fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct vu_header hdr = {
		.request = request,
		.flags = VU_FLAGS_VERSION | flags,
		.size = len,
	};
	struct iovec iov[] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)payload, .iov_len = len },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		mh.msg_control = &control;
		mh.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	assert_int_equal(sendmsg(rnic->fd, &mh, MSG_NOSIGNAL), sizeof(hdr) + len);
}

static void reply(const struct rnic *rnic, uint32_t request, void *payload, uint32_t len)
{
	struct vu_header hdr;

	assert_int_equal(recv(rnic->fd, &hdr, sizeof(hdr), MSG_WAITALL), sizeof(hdr));
	assert_int_equal(hdr.request, request);
	assert_int_equal(hdr.size, len);
	assert_int_equal(recv(rnic->fd, payload, len, MSG_WAITALL), len);
}

static void ask(const struct rnic *rnic, uint32_t request, const void *payload,
		uint32_t len, int fd)
{
	uint64_t result;

	message(rnic, request, VU_FLAGS_NEED_REPLY, payload, len, fd);
	reply(rnic, request, &result, sizeof(result));
	assert_int_equal(result, 0);
}

static void ask_state(const struct rnic *rnic, uint32_t request, uint32_t index,
		      uint32_t num)
{
	const struct vu_vring_state state = { .index = index, .num = num };

	ask(rnic, request, &state, sizeof(state), -1);
}

static void queue_start(struct rnic *rnic, uint32_t index, const struct virtq *vq)
{
	const struct vu_vring_addr addr = {
		.index = index,
		.desc = (uintptr_t)vq->desc,
		.avail = (uintptr_t)vq->avail,
		.used = (uintptr_t)vq->used,
	};
	const uint64_t low = index & VU_VRING_INDEX_MASK;

	assert_in_range(index, 0, QUEUES_MAX - 1);
	rnic->kick[index] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rnic->call[index] = eventfd(0, EFD_CLOEXEC);
	ask_state(rnic, VU_SET_VRING_NUM, index, vq->num);
	ask_state(rnic, VU_SET_VRING_BASE, index, 0);
	ask(rnic, VU_SET_VRING_ADDR, &addr, sizeof(addr), -1);
	ask(rnic, VU_SET_VRING_KICK, &low, sizeof(low), rnic->kick[index]);
	ask(rnic, VU_SET_VRING_CALL, &low, sizeof(low), rnic->call[index]);
	ask_state(rnic, VU_SET_VRING_ENABLE, index, 1);
}

static void negotiate(struct rnic *rnic)
{
	uint64_t features, protocol = PROTOCOL;

	message(rnic, VU_GET_FEATURES, 0, "", 0, -1);
	reply(rnic, VU_GET_FEATURES, &features, sizeof(features));
	message(rnic, VU_SET_PROTOCOL_FEATURES, 0, &protocol, sizeof(protocol), -1);
	message(rnic, VU_SET_OWNER, 0, "", 0, -1);
	ask(rnic, VU_SET_FEATURES, &features, sizeof(features), -1);
}

/* The daemon may not listen yet. */
struct rnic *rnic_new(struct loop *loop, struct fabric *fabric,
		      const struct rnic_limits *limits, const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct rnic *rnic = calloc(1, sizeof(*rnic));
	unsigned int i;

	assert_non_null(rnic);
	rnic->limits = *limits;
	rnic->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socket_path(addr.sun_path, sizeof(addr.sun_path), connections++);
	for (i = 0; connect(rnic->fd, (struct sockaddr *)&addr, sizeof(addr)); i++) {
		assert_in_range(i, 0, 500);
		usleep(10000);
	}
	negotiate(rnic);
	return rnic;
}

void rnic_free(struct rnic *rnic)
{
	close(rnic->fd);
	free(rnic);
}

/* Nothing that is measured resets a function. */
void rnic_reset(struct rnic *rnic)
{
	abort();
}

static void ctrl_start(struct rnic *rnic)
{
	uint8_t *ring = eg_ptr(rnic->guest, CTRL_RING);

	assert_int_equal(virtq_start(&rnic->ctrl, CTRL_NUM, 0, ring, ring + 256,
				     ring + 512), 0);
	queue_start(rnic, CTRL_QUEUE, &rnic->ctrl);
}

void rnic_mem_changed(struct rnic *rnic, const struct guest_mem *mem)
{
	struct eg_guest *guest = (struct eg_guest *)
		((char *)mem - offsetof(struct eg_guest, map));
	const struct vu_memory memory = {
		.n = 1,
		.region[0] = {
			.guest_addr = EG_BASE,
			.size = EG_SIZE,
			.user_addr = (uintptr_t)guest->mem,
		},
	};

	rnic->guest = guest;
	ask(rnic, VU_SET_MEM_TABLE, &memory, offsetof(struct vu_memory, region[1]),
	    guest->fd);
	ctrl_start(rnic);
}

/* They last until the daemon ends. */
void remote_guests(void)
{
	static struct eg_guest guests[REMOTE_GUESTS];
	static struct virtq tx[REMOTE_GUESTS];
	const struct rnic_limits limits = {
		.qps = EG_QPS,
		.cqs = EG_CQS,
		.event_vqs = EG_EVENT_VQS,
		.doorbell_vqs = EG_DOORBELL_VQS,
	};
	struct eg_guest *guest;
	uint8_t *ring;
	unsigned int i;

	for (i = 0; i < REMOTE_GUESTS; i++) {
		guest = &guests[i];
		eg_guest_mem(guest);
		guest->rnic = rnic_new(NULL, NULL, &limits, "quiet");
		rnic_mem_changed(guest->rnic, &guest->map);
		ring = eg_ptr(guest, TX_RING);
		assert_int_equal(virtq_start(&tx[i], CTRL_NUM, 0, ring, ring + 256,
					     ring + 512), 0);
		queue_start(guest->rnic, TX_QUEUE, &tx[i]);
	}
}

uint32_t remote_index(const struct rnic *rnic, enum rnic_queue kind,
			    uint32_t number)
{
	const struct rnic_limits *limits = &rnic->limits;
	const uint32_t behind = ETHERNET_QUEUES + limits->cqs + 2 * limits->qps;

	switch (kind) {
	case RNIC_CQ:
		return ETHERNET_QUEUES + number;
	case RNIC_SQ:
		return ETHERNET_QUEUES + limits->cqs + 2 * number;
	case RNIC_RQ:
		return ETHERNET_QUEUES + limits->cqs + 2 * number + 1;
	case RNIC_EVENT:
		return behind + number;
	default:
		return behind + limits->event_vqs + number;
	}
}

void rnic_queue_start(struct rnic *rnic, enum rnic_queue kind, uint32_t number,
		      struct virtq *vq)
{
	queue_start(rnic, remote_index(rnic, kind, number), vq);
}

void remote_kick(struct rnic *rnic, uint32_t index)
{
	assert_int_equal(eventfd_write(rnic->kick[index], 1), 0);
	rnic->kicks++;
}

/* Does the daemon want a doorbell for the buffer posted last? */
static bool wants_kick(const struct eg_ring *ring)
{
	uint16_t event;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	event = le16toh(*(volatile uint16_t *)&ring->vq.used->ring[EG_QUEUE]);
	return event == (uint16_t)(ring->avail - 1);
}

/* The driver of a direct QP has looked before. */
void rnic_queue_kick(struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	if (kind == RNIC_SQ && !wants_kick(&rnic->guest->sq[number]))
		return;
	remote_kick(rnic, remote_index(rnic, kind, number));
}

int remote_call(const struct rnic *rnic, enum rnic_queue kind, uint32_t number)
{
	return rnic->call[remote_index(rnic, kind, number)];
}

unsigned int remote_kicks(const struct rnic *rnic)
{
	return rnic->kicks;
}

/* The NIC is in another process. */
unsigned int eg_steps;
bool eg_cycle_off;

void eg_cycle(struct eg_guest *guest)
{
	(void)guest;
}

bool rnic_poll(struct rnic *rnic)
{
	return false;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static void ctrl_desc(struct rnic *rnic, unsigned int i, uint64_t addr, uint32_t len,
		      uint16_t flags)
{
	rnic->ctrl.desc[i] = (struct vring_desc) {
		.addr = htole64(addr),
		.len = htole32(len),
		.flags = htole16(flags),
		.next = htole16(i + 1),
	};
}

/* Header and request in one buffer, ack and response in another one. */
static void ctrl_run(struct rnic *rnic, uint32_t req_len, uint32_t rsp_len)
{
	struct virtq *vq = &rnic->ctrl;

	ctrl_desc(rnic, 0, CTRL_REQ, req_len, VRING_DESC_F_NEXT);
	ctrl_desc(rnic, 1, CTRL_RSP, rsp_len, VRING_DESC_F_WRITE);
	vq->avail->ring[rnic->seen % CTRL_NUM] = 0;
	__atomic_store_n(&vq->avail->idx, htole16(++rnic->seen), __ATOMIC_RELEASE);
	remote_kick(rnic, CTRL_QUEUE);
	while (le16toh(__atomic_load_n(&vq->used->idx, __ATOMIC_ACQUIRE)) != rnic->seen)
		;
}

uint8_t rnic_command(struct rnic *rnic, uint8_t command, const struct rnic_request *req,
		     void *rsp, size_t rsp_size, size_t *rsp_len)
{
	uint8_t *out = eg_ptr(rnic->guest, CTRL_REQ), *in = eg_ptr(rnic->guest, CTRL_RSP);

	assert_in_range(req->len, 0, (1u << 20) - 2 * EG_PAGE);
	out[0] = VIRTIO_NET_CTRL_ROCE;
	out[1] = command;
	iov_to_buf(req->iov, req->iov_n, req->off, out + 2, req->len);
	ctrl_run(rnic, req->len + 2, rsp_size + 1);
	*rsp_len = in[0] == VIRTIO_NET_OK ? rsp_size : 0;
	memcpy(rsp, in + 1, *rsp_len);
	return in[0];
}

/* The daemon goes on by itself. */
uint8_t rnic_command_more(struct rnic *rnic, void *rsp, size_t *rsp_len)
{
	return VIRTIO_NET_ERR;
}
