// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: vhost-user messages of a hostile front-end.
 *
 * A front-end that connects to the daemon sends what the input holds, descriptors
 * of several kinds with it.  A device behind it takes what the queues have, as long
 * as they are started.  An operation of the input is most often a message as a good
 * front-end sends it, with some bits flipped.
 *
 *	input:	begin, then operations
 *	operation: what, how, ...; see operation()
 *
 * Among the operations is that another front-end takes the place of this one, by a saved state
 * of which the input changes some bytes, or by what was kept when this one was killed.
 *
 * The device may look at each queue between its start and its stop.  When the
 * connection has ended, nothing is left of it: no queue, no descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/idle.h"
#include "tests/lib/keep.h"
#include "tests/lib/need.h"
#include "tests/lib/vu_wire.h"
#include "vhost_user/vhost_user_image.h"
#include "vhost_user/vhost_user_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Begin: bits of the first byte. */
#define BEGIN_HANDSHAKE	1	/* features and memory are known */
#define BEGIN_QUEUES	2	/* three queues run */

/* How: bits of the second byte of an operation. */
#define HOW_REPLY	1	/* an answer is wanted */
#define HOW_MORE	2	/* the daemon sees it together with the next one */
#define HOW_SPLIT	4	/* it comes in two pieces */
#define HOW_SIZE	8	/* it is as long as the input says */
#define HOW_FDS		16	/* the descriptors are the input's choice */
#define HOW_RAW		32	/* no good message to begin with */
#define HOW_FLAGS	64	/* the flags are the input's choice */

/* What: a request below, or one of these. */
enum {
	OP_REQUESTS = 48,
	OP_KICK = OP_REQUESTS,
	OP_MEMORY,
	OP_QUEUE,
	OP_CONFIG,
	OP_BYTES,
	OP_RECONNECT,
	OP_HAND_OVER,
	OP_KILL,
	OPS,
};

#define FEATURES	(BIT(32) | BIT(29) | BIT(28) | BIT(5))
#define QUEUES		300
#define NUM		16
#define BUFS_MAX	64

/* Of the two memory files, the second right behind the first. */
#define SIZE_0		(64u << 10)
#define SIZE_1		(16u << 10)
#define GUEST_BASE	0x40000000ULL
#define USER_BASE	0x7f0000000000ULL
#define RING_STRIDE	1024u

/* Where the fields of a state with one section begin. */
#define STATE_FIELDS	(sizeof(struct state_header) + sizeof(struct state_section_header))

/* Descriptors are looked for among the first ones. */
#define FDS_WATCHED	256

enum {
	FD_MEMORY_0,
	FD_MEMORY_1,
	FD_KICK,
	FD_CALL,
	FD_BACKEND,
	FD_ENDED,
	FD_FULL,
	FD_FOLDER,
	FDS,
};

/**
 * struct message - a message as it is sent, from @hdr on
 * @padding:	so that there is none between @hdr and @u
 * @hdr:	header
 * @u:		payload
 */
struct message {
	uint32_t padding;
	struct vu_header hdr;
	union {
		uint64_t u64;
		struct vu_vring_state state;
		struct vu_vring_addr addr;
		struct vu_memory memory;
		struct vu_config config;
		uint8_t bytes[VU_PAYLOAD_MAX + 64];
	} u;
};

/**
 * struct target - what is fuzzed
 * @loop:	event loop
 * @vu:		front-end
 * @listen:	socket that it listens on
 * @fd:		QEMU's end of its connection
 * @file:	descriptors that QEMU sends
 * @backend:	QEMU's end of the channel for requests of the daemon
 * @memory:	the first memory file
 * @queue:	number of the queue that messages are about
 * @vq:		queues started
 * @started:	number of them
 * @mem:	memory map
 * @fds:	descriptors open between two inputs
 */
static struct target {
	struct loop *loop;
	struct vhost_user *vu;
	int listen;
	int fd;
	int file[FDS];
	int backend;
	uint8_t *memory;
	uint32_t queue;
	struct virtq *vq[VHOST_USER_QUEUES_MAX];
	unsigned int started;
	const struct guest_mem *mem;
	unsigned int fds;
} t;

/* ------------------------------------------------------------------------- */
/* The device                                                                */
/* ------------------------------------------------------------------------- */

static uint64_t dev_features(void *arg __always_unused)
{
	return FEATURES;
}

static int dev_negotiated(void *arg __always_unused, uint64_t features)
{
	return features & ~FEATURES ? -EINVAL : 0;
}

static int dev_config_read(void *arg __always_unused, uint32_t off, void *buf,
			   uint32_t len)
{
	if (off > 32 || len > 32 - off)
		return -EINVAL;
	memset(buf, 0x40, len);
	return 0;
}

static int dev_config_write(void *arg __always_unused, uint32_t off,
			    const void *buf __always_unused, uint32_t len)
{
	return off > 32 || len > 32 - off ? -EINVAL : 0;
}

/* Takes a few buffers, and gives all but the last one back. */
static void take(struct virtq *vq)
{
	static struct virtq_elem elem;
	static const uint8_t text[] = "something that is written";
	unsigned int i;
	uint8_t copy[16];

	for (i = 0; i < BUFS_MAX && virtq_pop(vq, &elem) > 0; i++) {
		iov_to_buf(elem.iov, elem.out_n, 0, copy, sizeof(copy));
		iov_from_buf(elem.iov + elem.out_n, elem.in_n, 0, text,
			     sizeof(text));
		virtq_push(vq, elem.head, elem.in_len);
	}
	virtq_notify(vq);
	virtq_want_kick(vq, i % 2);
}

static void dev_queue_start(void *arg __always_unused, struct virtq *vq)
{
	need(!t.vq[vq->index] && vq->ready && vq->mem == t.mem);
	t.vq[vq->index] = vq;
	t.started++;
	take(vq);
}

static void dev_queue_stop(void *arg __always_unused, struct virtq *vq)
{
	need(t.vq[vq->index] == vq && vq->ready);
	/* The rings are still there. */
	take(vq);
	t.vq[vq->index] = NULL;
	t.started--;
}

static void dev_kick(void *arg __always_unused, struct virtq *vq)
{
	need(t.vq[vq->index] == vq);
	take(vq);
}

static void dev_mem_changed(void *arg __always_unused, const struct guest_mem *mem)
{
	unsigned int i, started = 0;

	t.mem = mem;
	for (i = 0; i < VHOST_USER_QUEUES_MAX && started < t.started; i++) {
		if (!t.vq[i])
			continue;
		started++;
		need(t.vq[i]->mem == mem);
		take(t.vq[i]);
	}
}

static void dev_reset(void *arg __always_unused)
{
	need(!t.started);
}

static const struct fe_device_ops device_ops = {
	.features = dev_features,
	.negotiated = dev_negotiated,
	.config_read = dev_config_read,
	.config_write = dev_config_write,
	.queue_start = dev_queue_start,
	.queue_stop = dev_queue_stop,
	.kick = dev_kick,
	.mem_changed = dev_mem_changed,
	.reset = dev_reset,
};

/* ------------------------------------------------------------------------- */
/* QEMU                                                                      */
/* ------------------------------------------------------------------------- */

/* A round ends before all messages are read if others have waited. */
static void run(void)
{
	run_idle(t.loop);
}

static void drain(int fd)
{
	uint8_t buf[4096];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static unsigned int open_fds(void)
{
	struct pollfd fd[FDS_WATCHED];
	unsigned int i, n = 0;

	for (i = 0; i < FDS_WATCHED; i++)
		fd[i] = (struct pollfd){ .fd = i };
	need(poll(fd, FDS_WATCHED, 0) >= 0);
	for (i = 0; i < FDS_WATCHED; i++)
		n += fd[i].revents != POLLNVAL;
	return n;
}

static int memory_file(size_t size)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	need(fd >= 0 && !ftruncate(fd, size));
	return fd;
}

static void front_end_new(void)
{
	t.vu = vhost_user_new(t.loop, "fuzz", &device_ops, NULL, QUEUES);
	need(t.vu);
}

static void front_end_listen(void)
{
	need(!vhost_user_take(t.vu, "none", fcntl(t.listen, F_DUPFD_CLOEXEC, 0)));
}

static void target_init(void)
{
	const sa_family_t family = AF_UNIX;
	int pair[2], ended[2];

	signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_LEVEL_ERROR);
	t.loop = loop_new(0);
	t.mem = &guest_mem_none;
	/* It has no name in the file system. */
	t.listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	need(!bind(t.listen, (const struct sockaddr *)&family, sizeof(family)));
	need(!listen(t.listen, 1));
	front_end_new();
	front_end_listen();
	t.file[FD_MEMORY_0] = memory_file(SIZE_0);
	t.file[FD_MEMORY_1] = memory_file(SIZE_1);
	t.memory = mmap(NULL, SIZE_0, PROT_READ | PROT_WRITE, MAP_SHARED,
			t.file[FD_MEMORY_0], 0);
	need(t.memory != MAP_FAILED);
	t.file[FD_KICK] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	t.file[FD_CALL] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	t.file[FD_BACKEND] = pair[0];
	t.backend = pair[1];
	need(!pipe2(ended, O_CLOEXEC));
	t.file[FD_ENDED] = ended[0];
	close(ended[1]);
	t.file[FD_FULL] = open("/dev/full", O_RDWR | O_CLOEXEC);
	t.file[FD_FOLDER] = open("/", O_RDONLY | O_CLOEXEC);
}

static void connect_qemu(void)
{
	int sv[2];

	need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	t.fd = sv[0];
	need(!vhost_user_connect(t.vu, sv[1]));
}

/* The end of a connection, after which nothing of it is left. */
static void disconnect_qemu(void)
{
	unsigned int i;

	drain(t.fd);
	close(t.fd);
	/* The last message and the end of the connection. */
	for (i = 0; i < 100 && vhost_user_connected(t.vu); i++)
		run();
	need(!vhost_user_connected(t.vu) && !t.started);
	need(t.mem == &guest_mem_none);
	drain(t.backend);
	need(open_fds() == t.fds);
}

/* Returns false when the connection is of no more use. */
static bool send_bytes(const void *data, size_t len, const int *fd, unsigned int fds)
{
	return vu_wire_send(t.fd, data, len, fd, fds, MSG_DONTWAIT);
}

static uint32_t memory_table(struct message *msg)
{
	msg->u.memory = (struct vu_memory) {
		.n = 2,
		.region[0] = { GUEST_BASE, SIZE_0, USER_BASE, 0 },
		.region[1] = { GUEST_BASE + SIZE_0, SIZE_1, USER_BASE + SIZE_0, 0 },
	};
	return offsetof(struct vu_memory, region[2]);
}

/* The rings of a queue, each in a place of its own as far as there are some. */
static uint32_t addresses(struct message *msg)
{
	uint64_t base = USER_BASE + t.queue % 8 * RING_STRIDE;

	msg->u.addr = (struct vu_vring_addr) {
		.index = t.queue,
		.desc = base,
		.avail = base + 16 * NUM,
		.used = base + 16 * NUM + 64,
	};
	return sizeof(msg->u.addr);
}

static uint32_t state(struct message *msg, uint32_t num)
{
	msg->u.state = (struct vu_vring_state){ .index = t.queue, .num = num };
	return sizeof(msg->u.state);
}

static uint32_t number(struct message *msg, uint64_t value)
{
	msg->u.u64 = value;
	return sizeof(msg->u.u64);
}

/* A good message; returns the bytes of its payload. */
static uint32_t good(struct message *msg, int *fd, unsigned int *fds)
{
	*fds = 0;
	switch (msg->hdr.request) {
	case VU_SET_FEATURES:
		return number(msg, FEATURES | VU_F_PROTOCOL_FEATURES);
	case VU_SET_PROTOCOL_FEATURES:
		return number(msg, BIT(0) | BIT(3) | BIT(5) | BIT(9) | BIT(13) | BIT(15));
	case VU_SET_MEM_TABLE:
		fd[(*fds)++] = t.file[FD_MEMORY_0];
		fd[(*fds)++] = t.file[FD_MEMORY_1];
		return memory_table(msg);
	case VU_ADD_MEM_REG:
	case VU_REM_MEM_REG:
		fd[(*fds)++] = t.file[FD_MEMORY_0];
		/* The first region of a table is at the offset of the region in these messages. */
		memory_table(msg);
		return sizeof(struct vu_mem_reg);
	case VU_SET_VRING_NUM:
		return state(msg, NUM);
	case VU_SET_VRING_BASE:
	case VU_GET_VRING_BASE:
		return state(msg, 0);
	case VU_SET_VRING_ENABLE:
		return state(msg, 1);
	case VU_SET_VRING_ADDR:
		return addresses(msg);
	case VU_SET_VRING_KICK:
		fd[(*fds)++] = t.file[FD_KICK];
		return number(msg, t.queue & VU_VRING_INDEX_MASK);
	case VU_SET_VRING_CALL:
	case VU_SET_VRING_ERR:
		fd[(*fds)++] = t.file[FD_CALL];
		return number(msg, t.queue & VU_VRING_INDEX_MASK);
	case VU_SET_BACKEND_REQ_FD:
		fd[(*fds)++] = t.file[FD_BACKEND];
		return 0;
	case VU_GET_CONFIG:
	case VU_SET_CONFIG:
		msg->u.config = (struct vu_config){ .size = 8 };
		return offsetof(struct vu_config, data) + 8;
	default:
		return 0;
	}
}

static void say(uint32_t request)
{
	struct message msg = {
		.hdr = { .request = request, .flags = VU_FLAGS_VERSION },
	};
	unsigned int fds;
	int fd[16];

	msg.hdr.size = good(&msg, fd, &fds);
	send_bytes(&msg.hdr, sizeof(msg.hdr) + msg.hdr.size, fd, fds);
}

static void say_queue(uint32_t queue)
{
	static const uint32_t requests[] = {
		VU_SET_VRING_NUM, VU_SET_VRING_BASE, VU_SET_VRING_ADDR,
		VU_SET_VRING_KICK, VU_SET_VRING_CALL, VU_SET_VRING_ERR,
		VU_SET_VRING_ENABLE,
	};
	unsigned int i;

	t.queue = queue;
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		say(requests[i]);
}

static void begin(uint8_t how)
{
	unsigned int i;

	t.queue = 0;
	if (how & (BEGIN_HANDSHAKE | BEGIN_QUEUES)) {
		say(VU_SET_PROTOCOL_FEATURES);
		say(VU_SET_OWNER);
		say(VU_SET_BACKEND_REQ_FD);
		say(VU_SET_FEATURES);
		say(VU_SET_MEM_TABLE);
		run();
	}
	if (!(how & BEGIN_QUEUES))
		return;
	for (i = 0; i < 3; i++)
		say_queue(i);
	run();
	/* The queues must run, or the rest of the input would test little. */
	need(t.started == 3);
}

/* ------------------------------------------------------------------------- */
/* Operations                                                                */
/* ------------------------------------------------------------------------- */

/* fds: which of them (4 bits), how many (4 bits). */
static unsigned int choose_fds(struct fuzz_input *in, int *fd)
{
	uint8_t choice = fuzz_u8(in);
	unsigned int i, n = choice >> 4;

	for (i = 0; i < n; i++)
		fd[i] = t.file[(choice + i) % FDS];
	return n;
}

/* request, how, [fds], [flags], [size (two bytes)], patch */
static void op_request(struct fuzz_input *in, uint32_t request, uint8_t how)
{
	static struct message msg;
	unsigned int fds = 0;
	size_t len, half;
	int fd[16];

	memset(&msg, 0, sizeof(msg));
	msg.hdr.request = request;
	msg.hdr.flags = VU_FLAGS_VERSION;
	if (how & HOW_REPLY)
		msg.hdr.flags |= VU_FLAGS_NEED_REPLY;
	if (!(how & HOW_RAW))
		msg.hdr.size = good(&msg, fd, &fds);
	if (how & HOW_FDS)
		fds = choose_fds(in, fd);
	if (how & HOW_FLAGS)
		msg.hdr.flags ^= fuzz_u8(in);
	if (how & HOW_SIZE)
		msg.hdr.size = fuzz_u16(in) % (sizeof(msg.u) + 1);
	len = fuzz_patch(in, &msg.u, sizeof(msg.u));
	if (how & HOW_RAW && !(how & HOW_SIZE))
		msg.hdr.size = len;
	len = sizeof(msg.hdr) + msg.hdr.size;
	half = how & HOW_SPLIT ? len / 2 : len;
	send_bytes(&msg.hdr, half, fd, fds);
	if (half == len)
		return;
	run();
	send_bytes((uint8_t *)&msg.hdr + half, len - half, NULL, 0);
}

static void op_bytes(struct fuzz_input *in, uint8_t how)
{
	uint8_t bytes[256] = {};
	unsigned int fds = 0;
	size_t len;
	int fd[16];

	if (how & HOW_FDS)
		fds = choose_fds(in, fd);
	len = fuzz_patch(in, bytes, sizeof(bytes));
	if (len)
		send_bytes(bytes, len, fd, fds);
}

/*
 * A front-end that is refused has no connection.  If the section fails later, because of bytes
 * that are left at its end, its owner clears up.
 */
static void front_end_section(struct state *st, void *arg __always_unused)
{
	vhost_user_io(st, t.vu, "none");
	need(!st->failed || !st->loading || !vhost_user_connected(t.vu));
}

static const struct state_section front_end_table[] = {
	{ "front-end", 1, 0, front_end_section },
};

/* Saves the front-end, with copies of its descriptors. */
static void front_end_save(struct state *st, struct state_fds *fds)
{
	uint32_t i;

	state_write(st);
	st->fds = fds;
	need(state_sections(st, front_end_table, 1, NULL) && state_written(st));
	for (i = 0; i < fds->n; i++) {
		fds->fd[i] = fcntl(fds->fd[i], F_DUPFD_CLOEXEC, 0);
		need(fds->fd[i] >= 0);
	}
}

/* how many changes (3 bits), then of each: offset (2 bytes), length and bytes. */
static void op_hand_over(struct fuzz_input *in, uint8_t how)
{
	struct state_fds fds = {};
	unsigned int n = how % 8;
	struct state out, st;
	uint8_t *copy;
	size_t at;

	front_end_save(&out, &fds);
	/* In a block of its size, so that reading past it is caught. */
	copy = malloc(out.at);
	memcpy(copy, out.data, out.at);
	while (n--) {
		at = STATE_FIELDS + fuzz_u16(in) % (out.at - STATE_FIELDS);
		fuzz_patch(in, copy + at, out.at - at);
	}
	vhost_user_free(t.vu);
	need(!t.started);
	front_end_new();
	need(state_read(&st, copy, out.at));
	st.fds = &fds;
	st.lenient = how & HOW_FLAGS;
	state_sections(&st, front_end_table, 1, NULL);
	state_fds_close(&fds);
	state_free(&out);
	free(copy);
	if (st.failed)
		vhost_user_drop(t.vu);
	/* Without a change it is good. */
	need(how % 8 || !st.failed);
	if (t.vu->listen.fd < 0)
		front_end_listen();
	if (vhost_user_connected(t.vu))
		return;
	close(t.fd);
	connect_qemu();
	begin(0);
}

/*
 * how many changes (3 bits), then of each: offset (3 bytes), length and bytes.  Numbers of
 * descriptors are what they are, because this process has others, too.
 */
static void op_kill(struct fuzz_input *in, uint8_t how)
{
	static struct vu_keep keep, left, changed;
	unsigned int n = how % 8;
	uint32_t at;

	/* Keeping it all the time takes too long here. */
	vhost_user_set_keep(t.vu, &keep);
	keep_copy(&left, &keep);
	changed = left;
	while (n--) {
		at = (fuzz_u16(in) | fuzz_u8(in) << 16) % sizeof(changed);
		fuzz_patch(in, (uint8_t *)&changed + at, sizeof(changed) - at);
	}
	keep_same_fds(&changed, &left);
	t.vu->keep = NULL;
	vhost_user_free(t.vu);
	need(!t.started);
	front_end_new();
	vhost_user_recover(t.vu, &changed, "none");
	keep_close(&left);
	t.vu->keep = &keep;
	/* Without a change it is good. */
	need(how % 8 || vhost_user_connected(t.vu) || vu_kept(&left)->conn < 0 ||
	     vu_kept(&left)->moving);
	vhost_user_look_again(t.vu);
	t.vu->keep = NULL;
	if (t.vu->listen.fd < 0)
		front_end_listen();
	if (vhost_user_connected(t.vu))
		return;
	close(t.fd);
	connect_qemu();
	begin(0);
}

static void operation(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in) % OPS, how = fuzz_u8(in);
	uint16_t at;

	switch (what) {
	case OP_KICK:
		need(!eventfd_write(t.file[FD_KICK], 1));
		break;
	case OP_MEMORY:
		at = fuzz_u16(in);
		fuzz_patch(in, t.memory + at, SIZE_0 - at);
		return;
	case OP_QUEUE:
		t.queue = fuzz_u16(in) % (VHOST_USER_QUEUES_MAX + 1);
		return;
	case OP_CONFIG:
		vhost_user_fe_ops.config_changed(t.vu);
		return;
	case OP_BYTES:
		op_bytes(in, how);
		break;
	case OP_RECONNECT:
		disconnect_qemu();
		connect_qemu();
		begin(how);
		return;
	case OP_HAND_OVER:
		op_hand_over(in, how);
		break;
	case OP_KILL:
		op_kill(in, how);
		break;
	default:
		op_request(in, what, how);
	}
	if (!(how & HOW_MORE))
		run();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (!t.loop)
		target_init();
	memset(t.memory, 0, SIZE_0);
	/* libFuzzer opens some now and then. */
	t.fds = open_fds();
	connect_qemu();
	begin(fuzz_u8(&in));
	while (in.size)
		operation(&in);
	disconnect_qemu();
	return 0;
}
