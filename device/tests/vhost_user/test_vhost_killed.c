// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The vhost-user front-end: a process is killed at any instruction of a request, and the next
 * one goes on.
 *
 * Theory of operation
 *
 * A child shares the table of descriptors and the memory of what is kept, as a daemon does with
 * its keeper.  It runs with the trap flag set, so that each instruction ends in a handler, which
 * counts them and kills the process at the chosen one.  The next front-end runs in the parent,
 * which is QEMU as well.  Whatever the instruction was: the request is carried out, QEMU gets
 * one answer, and the next message is understood.
 *
 * A process that is killed most often is at a system call, where it had lost its processor.  So
 * each of them is a point, and some other instructions are.  With LAB_LONG=1 all of them are, but
 * for those that copy all queues, and in the requests that take longest.
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/keeper.h"
#include "base/util.h"
#include "tests/lib/qemu.h"

/* Instructions of all processes that are killed in a request, about; a trap takes some 10 µs. */
#define STEPS		20000u

/* Points are tried in a process of its own, which tells by its status. */
#define STATUS_BEHIND	77

/**
 * struct shared - what both processes see
 * @keep:	the front-end
 * @calls:	system calls of the child
 * @steps:	instructions of it
 */
struct shared {
	struct vu_keep keep;
	unsigned int calls;
	unsigned int steps;
};

/**
 * struct point - when the child is killed: behind a system call or an instruction
 * @calls:	number of the call, from 1, or 0
 * @steps:	number of the instruction, from 1, or 0
 */
struct point {
	unsigned int calls;
	unsigned int steps;
};

/**
 * struct request - a request, and what follows from it
 * @name:	for messages
 * @prepare:	sends what must come before it, or NULL
 * @number:	of the request
 * @flags:	of the message
 * @payload:	what it carries
 * @len:	bytes of that
 * @fd:		its descriptor, or NULL
 * @reply:	bytes of the answer
 * @answer:	first bytes of it
 * @stops:	the queue is not started any more
 * @check:	looks at what it has changed, or NULL
 */
struct request {
	const char *name;
	void (*prepare)(void);
	uint32_t number;
	uint32_t flags;
	union {
		uint64_t u64;
		struct vu_vring_state state;
		struct vu_memory memory;
		struct vu_mem_reg region;
		struct vu_config config;
	} payload;
	uint32_t len;
	const int *fd;
	int reply;
	uint64_t answer;
	bool stops;
	void (*check)(void);
};

static struct shared *shared;
static struct point point;
static bool stepping;
static char path[64];
static int other;

#define REGION	{ .guest_addr = GUEST_BASE, .size = MEM_SIZE, .user_addr = USER_BASE }

static void check_call(void)
{
	dev.vq[0]->call(dev.vq[0]);
	assert_int_equal(event_count(other), 1);
}

static void check_kick(void)
{
	eventfd_write(other, 1);
	run();
	assert_int_equal(dev.kicks[0], 1);
}

static void check_base(void)
{
	qemu_queue(0, 0);
	assert_non_null(dev.vq[0]);
	assert_int_equal(dev.resets, 0);
}

static void check_enable(void)
{
	qemu_enable(0, true);
	assert_non_null(dev.vq[0]);
}

static void prepare_without_memory(void)
{
	const struct vu_mem_reg reg = { .region = REGION };

	assert_int_equal(qemu_ask(VU_REM_MEM_REG, &reg, sizeof(reg), NULL, 0), 0);
}

static void check_without_memory(void)
{
	const struct vu_mem_reg reg = { .region = REGION };

	assert_int_equal(qemu_ask(VU_ADD_MEM_REG, &reg, sizeof(reg), &guest.fd, 1), 0);
	assert_non_null(dev.vq[0]);
}

static void check_reset(void)
{
	qemu_set_features();
	qemu_queue(0, 0);
	qemu_enable(0, true);
	assert_non_null(dev.vq[0]);
}

static const struct request requests[] = {
	{
		.name = "GET_FEATURES",
		.number = VU_GET_FEATURES,
		.reply = 8,
		.answer = FEATURES | VU_F_LOG_ALL | VU_F_PROTOCOL_FEATURES,
	}, {
		.name = "GET_CONFIG",
		.number = VU_GET_CONFIG,
		.payload.config = { .offset = 3, .size = 2 },
		.len = offsetof(struct vu_config, data) + 2,
		.reply = offsetof(struct vu_config, data) + 2,
		.answer = 3 | 2ull << 32,
	}, {
		.name = "SET_FEATURES",
		.number = VU_SET_FEATURES,
		.flags = VU_FLAGS_NEED_REPLY,
		.payload.u64 = FEATURES | VU_F_PROTOCOL_FEATURES,
		.len = 8,
		.reply = 8,
	}, {
		.name = "SET_VRING_CALL",
		.number = VU_SET_VRING_CALL,
		.flags = VU_FLAGS_NEED_REPLY,
		.len = 8,
		.fd = &other,
		.reply = 8,
		.check = check_call,
	}, {
		.name = "SET_VRING_CALL without an answer",
		.number = VU_SET_VRING_CALL,
		.len = 8,
		.fd = &other,
		.reply = -1,
		.check = check_call,
	}, {
		.name = "SET_VRING_KICK",
		.number = VU_SET_VRING_KICK,
		.flags = VU_FLAGS_NEED_REPLY,
		.len = 8,
		.fd = &other,
		.reply = 8,
		.check = check_kick,
	}, {
		.name = "SET_VRING_ENABLE",
		.number = VU_SET_VRING_ENABLE,
		.flags = VU_FLAGS_NEED_REPLY,
		.len = 8,
		.reply = 8,
		.stops = true,
		.check = check_enable,
	}, {
		.name = "GET_VRING_BASE",
		.number = VU_GET_VRING_BASE,
		.len = 8,
		.reply = 8,
		.stops = true,
		.check = check_base,
	}, {
		.name = "SET_MEM_TABLE",
		.number = VU_SET_MEM_TABLE,
		.flags = VU_FLAGS_NEED_REPLY,
		.payload.memory = { .n = 1, .region[0] = REGION },
		.len = offsetof(struct vu_memory, region[1]),
		.fd = &guest.fd,
		.reply = 8,
	}, {
		.name = "REM_MEM_REG",
		.number = VU_REM_MEM_REG,
		.flags = VU_FLAGS_NEED_REPLY,
		.payload.region.region = REGION,
		.len = sizeof(struct vu_mem_reg),
		.reply = 8,
		.stops = true,
		.check = check_without_memory,
	}, {
		.name = "ADD_MEM_REG",
		.prepare = prepare_without_memory,
		.number = VU_ADD_MEM_REG,
		.flags = VU_FLAGS_NEED_REPLY,
		.payload.region.region = REGION,
		.len = sizeof(struct vu_mem_reg),
		.fd = &guest.fd,
		.reply = 8,
	}, {
		.name = "SET_BACKEND_REQ_FD",
		.number = VU_SET_BACKEND_REQ_FD,
		.flags = VU_FLAGS_NEED_REPLY,
		.fd = &other,
		.reply = 8,
	}, {
		.name = "RESET_DEVICE",
		.number = VU_RESET_DEVICE,
		.flags = VU_FLAGS_NEED_REPLY,
		.reply = 8,
		.stops = true,
		.check = check_reset,
	}, {
		.name = "a request that is unknown",
		.number = 99,
		.flags = VU_FLAGS_NEED_REPLY,
		.len = 8,
		.reply = 8,
		.answer = ENOSYS,
	},
};

/* ----- the one that is killed ----- */

/* A loop that finds out whether it is idle would never be so: each instruction takes 1 µs. */
static void readable(void)
{
	vu->conn.fn(vu->conn.arg, EPOLLIN);
}

/* A system call is one step together with the instruction that follows it. */
static bool behind_a_call(const ucontext_t *context)
{
	const uint8_t *ip = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
	static bool calling;
	bool behind = calling;

	calling = ip[0] == 0x0f && ip[1] == 0x05;
	return behind;
}

static void stepped(int sig __always_unused, siginfo_t *info __always_unused, void *context)
{
	bool here = ++shared->steps == point.steps;

	if (behind_a_call(context))
		here |= ++shared->calls == point.calls;
	if (here)
		kill(getpid(), SIGKILL);
}

static void trap_flag(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();
	const uint64_t trap = 1 << 8;

	__builtin_ia32_writeeflags_u64(on ? flags | trap : flags & ~trap);
}

void __real_vu_image_take_queue(struct queue_image *queue, const struct vu_vring *vr);
void __wrap_vu_image_take_queue(struct queue_image *queue, const struct vu_vring *vr);

/*
 * All queues are copied to an image that is not current, which takes nine of ten instructions,
 * and a trap takes some 10 µs: no point is in there.
 */
void __wrap_vu_image_take_queue(struct queue_image *queue, const struct vu_vring *vr)
{
	const struct vu_image *image = shared->keep.image;

	if (stepping && (queue == &image[0].queue[1] || queue == &image[1].queue[1]))
		trap_flag(false);
	__real_vu_image_take_queue(queue, vr);
	if (stepping && (queue == &image[0].queue[VHOST_USER_QUEUES_MAX - 1] ||
			 queue == &image[1].queue[VHOST_USER_QUEUES_MAX - 1]))
		trap_flag(true);
}

/* Returns true if it was killed. */
static bool run_in_child(void (*before)(void), void (*fn)(void))
{
	const struct sigaction action = { .sa_sigaction = stepped, .sa_flags = SA_SIGINFO };
	int status;
	pid_t pid;

	shared->calls = 0;
	shared->steps = 0;
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (!pid) {
		sigaction(SIGTRAP, &action, NULL);
		if (before)
			before();
		stepping = true;
		trap_flag(true);
		fn();
		trap_flag(false);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return true;
	assert_int_equal(status, 0);
	return false;
}

/* ----- the next one ----- */

/* Of the one before. */
static int kept[VU_KEEP_FDS];
static size_t kept_n;

static void take_over(void)
{
	static int all[VU_KEEP_FDS + 8];
	const int own[] = { qemu.fd, qemu.kick, qemu.call, guest.fd, other };

	kept_n = vhost_user_kept_fds(&shared->keep, kept);
	memcpy(all, kept, kept_n * sizeof(*kept));
	memcpy(all + kept_n, own, sizeof(own));
	keeper_sweep(all, kept_n + ARRAY_SIZE(own));

	memset(&dev, 0, sizeof(dev));
	loop = loop_new(0);
	qemu_new_front_end();
	assert_int_equal(vhost_user_recover(vu, &shared->keep, path), 0);
}

static void go_on(void)
{
	vhost_user_set_keep(vu, &shared->keep);
	while (kept_n)
		close(kept[--kept_n]);
	vhost_user_look_again(vu);
	readable();
}

/* ----- both ----- */

static void begin(const struct request *req)
{
	qemu_setup(NULL);
	snprintf(path, sizeof(path), "/tmp/test_killed.%d", getpid());
	assert_int_equal(vhost_user_listen(vu, path), 0);
	other = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	vhost_user_set_keep(vu, &shared->keep);
	qemu_start(0);
	event_count(qemu.call);
	if (req->prepare)
		req->prepare();
}

static void ask(const struct request *req)
{
	struct wire_msg msg = {
		.hdr = {
			.request = req->number,
			.flags = VU_FLAGS_VERSION | req->flags,
			.size = req->len,
		},
	};

	memcpy(msg.payload, &req->payload, req->len);
	qemu_send_raw(&msg, sizeof(msg.hdr) + req->len, req->fd, !!req->fd);
}

/* One answer, and what was asked for was done. */
static void check(const struct request *req)
{
	uint8_t reply[sizeof(struct vu_config)] = {};
	char byte;

	assert_true(vhost_user_connected(vu));
	assert_int_equal(qemu_reply(req->number, reply, sizeof(reply)), req->reply);
	if (req->reply > 0)
		assert_memory_equal(reply, &req->answer, sizeof(req->answer));
	assert_still_serving();
	assert_int_equal(recv(qemu.fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(!dev.vq[0], req->stops);
	event_count(other);
	if (req->check)
		req->check();
	assert_still_serving();
	unlink(path);
}

/* ----- tests ----- */

static void killed_once(const struct request *req, bool *killed)
{
	begin(req);
	ask(req);
	*killed = run_in_child(NULL, readable);
	take_over();
	go_on();
	check(req);
}

/* The second one is killed while it takes over, or does what was asked for meanwhile. */
static void killed_twice(const struct request *req, bool *killed)
{
	begin(req);
	ask(req);
	*killed = run_in_child(take_over, go_on);
	take_over();
	go_on();
	check(req);
}

/* Returns false if the point is behind the end. */
static bool try(void (*fn)(const struct request *, bool *), const struct request *req)
{
	bool killed;
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		fn(req, &killed);
		_exit(killed ? 0 : STATUS_BEHIND);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status && (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS_BEHIND))
		fail_msg("%s: killed behind system call %u, instruction %u", req->name,
			 point.calls, point.steps);
	return !status;
}

/* From one instruction that is tried to the next one. */
static unsigned int stride(unsigned int steps)
{
	const bool all = getenv("LAB_LONG");
	unsigned int points = STEPS / steps;

	if (points < 4)
		points = all ? 16 : 4;
	else if (all)
		points = steps;
	return steps / points + (points < steps);
}

/* Only each of @every requests, if there is little time. */
static void try_points(void (*fn)(const struct request *, bool *), unsigned int every)
{
	const struct request *req;
	unsigned int n = 0, by;

	for (req = requests; req < requests + ARRAY_SIZE(requests); req++) {
		if ((req - requests + 3) % every && !getenv("LAB_LONG"))
			continue;
		for (point = (struct point) { .calls = 1 }; try(fn, req); point.calls++)
			n++;
		/* It is received and answered. */
		assert_true(point.calls > 2);
		by = stride(shared->steps);
		for (point = (struct point) { .steps = by }; try(fn, req); point.steps += by)
			n++;
	}
	print_message("%u points\n", n);
}

static void test_killed_once(void **state __always_unused)
{
	try_points(killed_once, 1);
}

static void test_killed_twice(void **state __always_unused)
{
	try_points(killed_twice, 4);
}

static int setup(void **state __always_unused)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_once),
		cmocka_unit_test(test_killed_twice),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
