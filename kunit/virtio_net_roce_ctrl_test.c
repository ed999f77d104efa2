// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: RoCE commands that wait for an answer, and timeouts.  A thread, or
 * the test itself, plays the device.
 */
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/virtio_ring.h>

#include "../drivers/net/virtio_net_roce/vnr_ctrl.h"
#include "virtio_net_roce_fake.h"

/* A timeout for devices that never answer. */
#define SHORT		(HZ / 10)

#define REQ_MAX		(64 * 1024)
#define RSP_MAX		256

/**
 * struct runner - a thread that carries out a command
 * @fake: function
 * @cmd: command
 * @req: its request
 * @rsp: room for the response
 * @ret: what vnr_ctrl_exec() returned
 * @done: it has returned
 * @task: the thread
 */
struct runner {
	struct fake *fake;
	struct virtio_net_roce_cmd cmd;
	u8 *req;
	u8 rsp[RSP_MAX];
	int ret;
	bool done;
	struct task_struct *task;
};

static void pattern(u8 *p, size_t len, u8 seed)
{
	while (len--)
		*p++ = seed++;
}

static struct runner *runner_new(struct fake *fake, u8 command, size_t req_len,
				 size_t rsp_len)
{
	struct kunit *test = fake->test;
	struct runner *r;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	r->fake = fake;
	if (req_len) {
		r->req = kunit_kmalloc(test, req_len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, r->req);
		pattern(r->req, req_len, command);
	}
	r->cmd.command = command;
	/* In two pieces, like a command with a list of pages. */
	r->cmd.req[0].iov_base = r->req;
	r->cmd.req[0].iov_len = req_len / 3;
	r->cmd.req[1].iov_base = r->req + req_len / 3;
	r->cmd.req[1].iov_len = req_len - req_len / 3;
	r->cmd.rsp = r->rsp;
	r->cmd.rsp_len = rsp_len;
	memset(r->rsp, 0xee, sizeof(r->rsp));
	return r;
}

static int runner_thread(void *data)
{
	struct runner *r = data;

	r->ret = vnr_ctrl_exec(r->fake->dev, &r->cmd);
	/* Orders the result before the flag. */
	smp_store_release(&r->done, true);
	while (!kthread_should_stop())
		usleep_range(100, 300);
	return 0;
}

static void runner_stop(void *data)
{
	kthread_stop_put(data);
}

static void runner_go(struct runner *r)
{
	struct kunit *test = r->fake->test;

	r->task = kthread_create(runner_thread, r, "exec-%u", r->cmd.command);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r->task);
	get_task_struct(r->task);
	wake_up_process(r->task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, runner_stop,
							   r->task));
}

static struct runner *runner_start(struct fake *fake, u8 command,
				   size_t req_len, size_t rsp_len)
{
	struct runner *r = runner_new(fake, command, req_len, rsp_len);

	runner_go(r);
	return r;
}

static bool runner_done(struct runner *r)
{
	/* Orders the flag before the result; pairs with runner_thread(). */
	return smp_load_acquire(&r->done);
}

static int run(struct fake *fake, u8 command, size_t req_len, size_t rsp_len)
{
	return vnr_ctrl_exec(fake->dev, &runner_new(fake, command, req_len,
						    rsp_len)->cmd);
}

/* In atomic context, as for address handles. */
static int run_atomic(struct fake *fake, struct runner *r)
{
	int ret;

	r->cmd.atomic = true;
	preempt_disable();
	ret = vnr_ctrl_exec(fake->dev, &r->cmd);
	preempt_enable();
	return ret;
}

/* The number of the command that was taken, whose class must be 6. */
static u8 taken(struct kunit *test, const struct fake_cmd *cmd)
{
	const struct virtio_net_ctrl_hdr *hdr = cmd->out[0].addr;

	KUNIT_EXPECT_EQ(test, hdr->class, VIRTIO_NET_CTRL_ROCE);
	return hdr->cmd;
}

static void answer(struct fake *fake, struct fake_cmd *cmd, u8 ack)
{
	u32 len = fake_len(cmd->in, cmd->nin);

	*(u8 *)cmd->in[0].addr = ack;
	fake_give(fake, cmd, len);
	fake_interrupt(fake);
}

/* ----- answers ----- */

static int serve_ok(struct fake *fake, struct fake_cmd *cmd)
{
	static const u8 rsp[] = { VIRTIO_NET_OK, 1, 2, 3, 4, 5, 6, 7, 8 };

	fake_scatter(cmd->in, cmd->nin, rsp, sizeof(rsp));
	return fake_len(cmd->in, cmd->nin);
}

struct frame_case {
	const char *name;
	size_t req_len;
	size_t rsp_len;
	bool atomic;
	u64 features;
};

static const struct frame_case frame_cases[] = {
	{ "request and response", 24, 8 },
	{ "request alone", 24, 0 },
	{ "response alone", 0, 8 },
	{ "neither", 0, 0 },
	{ "atomic", 24, 8, true },
	{ "indirect descriptors", 24, 8, false,
	  BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC) },
	{ "long request", 3 * PAGE_SIZE, 8 },
	{ "longest contiguous request", 32 * 1024, 8 },
};

KUNIT_ARRAY_PARAM_DESC(frame, frame_cases, name);

static struct {
	unsigned int nout;
	unsigned int nin;
	u32 out_len[2];
	u32 in_len[2];
	bool aligned;
	u8 hdr[2];
	u8 req[REQ_MAX];
} seen;

static int serve_look(struct fake *fake, struct fake_cmd *cmd)
{
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	seen.nout = cmd->nout;
	seen.nin = cmd->nin;
	seen.aligned = true;
	for (i = 0; i < min(cmd->nout, 2); i++) {
		seen.out_len[i] = cmd->out[i].len;
		seen.aligned &= IS_ALIGNED((unsigned long)cmd->out[i].addr, 8);
	}
	for (i = 0; i < min(cmd->nin, 2); i++) {
		seen.in_len[i] = cmd->in[i].len;
		seen.aligned &= IS_ALIGNED((unsigned long)cmd->in[i].addr, 8);
	}
	fake_gather(cmd->out, 1, seen.hdr, sizeof(seen.hdr));
	fake_gather(cmd->out + 1, cmd->nout - 1, seen.req, sizeof(seen.req));
	return serve_ok(fake, cmd);
}

/*
 * Header, request, ack and response in descriptors of their own: a device that
 * takes the structures of the RFC one by one finds them.
 */
static void ctrl_frame(struct kunit *test)
{
	const struct frame_case *c = test->param_value;
	struct fake *fake = fake_running(test, FAKE_NET | c->features);
	struct runner *r = runner_new(fake, 9, c->req_len, c->rsp_len);

	fake_start(fake, serve_look);
	if (c->atomic)
		KUNIT_ASSERT_EQ(test, 0, run_atomic(fake, r));
	else
		KUNIT_ASSERT_EQ(test, 0, vnr_ctrl_exec(fake->dev, &r->cmd));

	KUNIT_EXPECT_EQ(test, seen.nout, 1 + !!c->req_len);
	KUNIT_EXPECT_EQ(test, seen.nin, 1 + !!c->rsp_len);
	KUNIT_EXPECT_EQ(test, seen.out_len[0], 2);
	KUNIT_EXPECT_EQ(test, seen.out_len[1], c->req_len);
	KUNIT_EXPECT_EQ(test, seen.in_len[0], 1);
	KUNIT_EXPECT_EQ(test, seen.in_len[1], c->rsp_len);
	KUNIT_EXPECT_TRUE(test, seen.aligned);
	KUNIT_EXPECT_EQ(test, seen.hdr[0], VIRTIO_NET_CTRL_ROCE);
	KUNIT_EXPECT_EQ(test, seen.hdr[1], 9);
	if (c->req_len)
		KUNIT_EXPECT_MEMEQ(test, seen.req, r->req, c->req_len);
	if (c->rsp_len) {
		KUNIT_EXPECT_EQ(test, r->rsp[0], 1);
		KUNIT_EXPECT_EQ(test, r->rsp[7], 8);
	}
	KUNIT_EXPECT_EQ(test, r->rsp[c->rsp_len], 0xee);
	KUNIT_EXPECT_EQ(test, fake->served, 1);
}

static int serve_err(struct fake *fake, struct fake_cmd *cmd)
{
	static const u8 rsp[] = { VIRTIO_NET_ERR, 1, 2, 3, 4, 5, 6, 7, 8 };

	fake_scatter(cmd->in, cmd->nin, rsp, sizeof(rsp));
	return fake_len(cmd->in, cmd->nin);
}

/* Used length 1 though more was written, like the device of the RFC's authors. */
static int serve_short(struct fake *fake, struct fake_cmd *cmd)
{
	serve_ok(fake, cmd);
	return 1;
}

/* Writes the ack and half of the response; the rest keeps its bytes. */
static int serve_half(struct fake *fake, struct fake_cmd *cmd)
{
	static const u8 rsp[] = { VIRTIO_NET_OK, 1, 2, 3, 4 };

	fake_scatter(cmd->in, cmd->nin, rsp, sizeof(rsp));
	return sizeof(rsp);
}

/* Reports a length greater than the room. */
static int serve_long(struct fake *fake, struct fake_cmd *cmd)
{
	return serve_ok(fake, cmd) + 4096;
}

/* Gives the command back without writing anything. */
static int serve_nothing(struct fake *fake, struct fake_cmd *cmd)
{
	return 0;
}

static void ctrl_answers(struct kunit *test)
{
	static const u8 half[8] = { 1, 2, 3, 4, 0, 0, 0, 0 };
	struct fake *fake = fake_running(test, FAKE_NET);
	struct runner *r;

	fake_start(fake, serve_err);
	r = runner_new(fake, 1, 4, 8);
	KUNIT_EXPECT_EQ(test, -EREMOTEIO, vnr_ctrl_exec(fake->dev, &r->cmd));
	KUNIT_EXPECT_EQ(test, r->rsp[0], 0xee);

	WRITE_ONCE(fake->serve, serve_short);
	r = runner_new(fake, 2, 4, 8);
	KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(fake->dev, &r->cmd));
	KUNIT_EXPECT_EQ(test, r->rsp[7], 8);

	WRITE_ONCE(fake->serve, serve_half);
	r = runner_new(fake, 3, 4, 8);
	KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(fake->dev, &r->cmd));
	KUNIT_EXPECT_MEMEQ(test, r->rsp, half, 8);

	WRITE_ONCE(fake->serve, serve_long);
	r = runner_new(fake, 4, 4, 8);
	KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_exec(fake->dev, &r->cmd));
	KUNIT_EXPECT_EQ(test, r->rsp[7], 8);
	KUNIT_EXPECT_EQ(test, r->rsp[8], 0xee);

	/* A missing ack is an error, but no reason to give the queue up. */
	WRITE_ONCE(fake->serve, serve_nothing);
	r = runner_new(fake, 5, 4, 8);
	KUNIT_EXPECT_EQ(test, -EPROTO, vnr_ctrl_exec(fake->dev, &r->cmd));
	KUNIT_EXPECT_EQ(test, r->rsp[0], 0xee);

	WRITE_ONCE(fake->serve, serve_ok);
	KUNIT_EXPECT_EQ(test, 0, run(fake, 6, 4, 8));
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

/* ----- silence ----- */

/*
 * The device does not answer: the queue is dead.  Memory that the device may still write
 * to stays until teardown; KASAN and kmemleak check that.
 */
static void expect_dead(struct kunit *test, struct fake *fake,
			struct fake_cmd *late)
{
	struct runner *r = runner_new(fake, 2, 4, 8);
	struct fake_cmd *next = fake_cmds(test, 1);
	u8 junk[64];

	KUNIT_EXPECT_TRUE(test, fake->dev->ctrl.dead);
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 3, 4, 8));
	KUNIT_EXPECT_EQ(test, -EIO, run_atomic(fake, r));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, next));

	memset(junk, 0, sizeof(junk));
	fake_scatter(late->in, late->nin, junk, sizeof(junk));
	fake_gather(late->out, late->nout, junk, sizeof(junk));
	fake_give(fake, late, fake_len(late->in, late->nin));
	fake_interrupt(fake);
	/* An answer does not bring it back to life. */
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 4, 4, 8));
}

static void ctrl_timeout(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *late = fake_cmds(test, 1);
	ktime_t start = ktime_get();
	struct runner *r;

	fake->dev->ctrl.timeout = SHORT;
	r = runner_new(fake, 1, 16, 8);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, vnr_ctrl_exec(fake->dev, &r->cmd));
	/* By the driver's clock: jiffies may be late. */
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), jiffies_to_msecs(SHORT));
	KUNIT_EXPECT_EQ(test, r->rsp[0], 0xee);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, late));
	KUNIT_EXPECT_EQ(test, taken(test, late), 1);
	expect_dead(test, fake, late);
}

static void ctrl_timeout_atomic(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct runner *r = runner_new(fake, 1, 16, 8);
	struct fake_cmd *late = fake_cmds(test, 2);

	fake->dev->ctrl.atomic_us = 2000;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, run_atomic(fake, r));
	KUNIT_EXPECT_EQ(test, r->rsp[0], 0xee);
	/* Nobody else is harmed. */
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_RUNNING);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, late));
	/* But if it is not answered in the time of any command, the device is dead. */
	fake->dev->ctrl.timeout = SHORT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, run(fake, 2, 16, 8));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &late[1]));
	expect_dead(test, fake, late);
}

/* An object that a late answer has made is undone, and nothing else. */
static const struct undo_case {
	const char *name;
	u8 undo;
	u8 ack;
	bool undone;
} undo_cases[] = {
	{ "made", VIRTIO_NET_CTRL_ROCE_DESTROY_AH, VIRTIO_NET_OK, true },
	{ "refused", VIRTIO_NET_CTRL_ROCE_DESTROY_AH, VIRTIO_NET_ERR, false },
	{ "nothing to undo", 0, VIRTIO_NET_OK, false },
};

static void undo_name(const struct undo_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(undo, undo_cases, undo_name);

static void ctrl_late_answer(struct kunit *test)
{
	const struct undo_case *c = test->param_value;
	struct fake *fake = fake_running(test, FAKE_NET);
	struct runner *r = runner_new(fake, VIRTIO_NET_CTRL_ROCE_CREATE_AH, 48, 4);
	struct fake_cmd *cmd = fake_cmds(test, 2);
	u8 rsp[5] = { c->ack, 0x11, 0x22, 0x33, 0x44 };
	const struct virtio_net_ctrl_hdr *hdr;
	u8 req[10];

	r->cmd.undo = c->undo;
	fake->dev->ctrl.atomic_us = 2000;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, run_atomic(fake, r));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[0]));
	fake_scatter(cmd[0].in, cmd[0].nin, rsp, sizeof(rsp));
	fake_give(fake, &cmd[0], sizeof(rsp));
	fake_interrupt(fake);
	KUNIT_ASSERT_EQ(test, fake_take(fake, &cmd[1]), c->undone);
	if (c->undone) {
		hdr = cmd[1].out[0].addr;
		KUNIT_EXPECT_EQ(test, hdr->class, VIRTIO_NET_CTRL_ROCE);
		KUNIT_EXPECT_EQ(test, hdr->cmd, c->undo);
		KUNIT_EXPECT_EQ(test, 10, fake_gather(cmd[1].out, cmd[1].nout,
						      req, sizeof(req)));
		KUNIT_EXPECT_MEMEQ(test, req + 2, r->req, 4);
		KUNIT_EXPECT_MEMEQ(test, req + 6, rsp + 1, 4);
		*(u8 *)cmd[1].in[0].addr = VIRTIO_NET_OK;
		fake_give(fake, &cmd[1], 1);
		fake_interrupt(fake);
	}
	KUNIT_EXPECT_EQ(test, fake->dev->ctrl.vq->num_free, FAKE_NUM);
	fake_start(fake, serve_ok);
	KUNIT_EXPECT_EQ(test, 0, run(fake, 2, 4, 8));
}

/* The device never answers, and the function is removed. */
static void ctrl_timeout_teardown(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	unsigned int i;

	fake->dev->ctrl.timeout = SHORT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, run(fake, 1, 2 * PAGE_SIZE, 8));
	fake_reset(fake);
	fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
	KUNIT_EXPECT_NULL(test, fake->dev->ctrl.vq);
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 2, 4, 8));

	/* New queues work. */
	fake->dev->ctrl.timeout = FAKE_PATIENCE;
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	fake_start(fake, serve_ok);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0, run(fake, 3, 4, 8));
}

/* Commands that wait for room. */
static unsigned int in_line(struct fake *fake)
{
	struct vnr_ctrl *ctrl = &fake->dev->ctrl;
	unsigned int n;

	spin_lock_irq(&ctrl->lock);
	n = list_count_nodes(&ctrl->waiting[VNR_CTRL_ORDINARY]);
	spin_unlock_irq(&ctrl->lock);
	return n;
}

/* A function whose control queue has room for one sleeping and one atomic command. */
static struct fake *fake_narrow(struct kunit *test)
{
	struct fake *fake = fake_create(test);

	fake->common->queue_size = cpu_to_le16(16);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	return fake;
}

/* The function was pulled out: callers stop waiting, for room or for an answer. */
static void ctrl_abandon(struct kunit *test)
{
	struct fake_cmd *cmd = fake_cmds(test, 2);
	struct fake *fake = fake_narrow(test);
	unsigned int i, sent = 0;
	struct runner *r[5];

	for (i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = runner_start(fake, i, 4, 8);
	KUNIT_EXPECT_TRUE(test, fake_wait(fake_take(fake, &cmd[0])));
	KUNIT_EXPECT_TRUE(test, fake_wait(in_line(fake) == 4));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[1]));

	vnr_ctrl_abandon(fake->dev);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(r[i])));
		/* One was sent, and the device may carry it out. */
		sent += r[i]->ret == -ETIMEDOUT;
		KUNIT_EXPECT_TRUE(test, r[i]->ret == -EIO || r[i]->ret == -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, r[i]->rsp[0], 0xee);
	}
	KUNIT_EXPECT_EQ(test, sent, 1);
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 9, 4, 8));

	/* The device may still write to sent commands; they are freed later. */
	answer(fake, &cmd[0], VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 9, 4, 8));
}

/* ----- a full queue ----- */

/* First in, first out. */
static void ctrl_full(struct kunit *test)
{
	struct fake *fake = fake_narrow(test);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct runner *r[6];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = runner_start(fake, i, 4, 8);
		if (i)
			KUNIT_ASSERT_TRUE(test, fake_wait(in_line(fake) == i));
		else
			KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		KUNIT_EXPECT_EQ(test, taken(test, cmd), i);
		answer(fake, cmd, VIRTIO_NET_OK);
		KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(r[i])));
		KUNIT_EXPECT_EQ(test, r[i]->ret, 0);
		KUNIT_EXPECT_EQ(test, fake_take(fake, cmd),
				i < ARRAY_SIZE(r) - 1);
	}
}

#define FLOOD	50

/* The command that the device of a flood answers. */
#define FLOOD_URGENT	99

static int serve_urgent(struct fake *fake, struct fake_cmd *cmd)
{
	const struct virtio_net_ctrl_hdr *hdr = cmd->out[0].addr;

	return hdr->cmd == FLOOD_URGENT ? serve_ok(fake, cmd) : -1;
}

/*
 * Callers that must not sleep have descriptors of their own, even if many threads have
 * commands in line.  When these are used up, too, the caller gets an error; the queue
 * goes on.
 *
 * The first such caller gives up, and leaves its command to the device.  So the descriptors
 * are used for as long as the test likes, and no thread has to run in time.
 */
static void ctrl_flood(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct fake_cmd *cmd = fake_cmds(test, FAKE_NUM);
	struct runner *flood[FLOOD], *r;
	unsigned int i, n = 0;

	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	fake->dev->ctrl.timeout = FAKE_PATIENCE;
	for (i = 0; i < FLOOD; i++)
		flood[i] = runner_start(fake, 1, 4, 8);
	/* 64 descriptors, of which 8 are Ethernet's, and 4 the atomic command's. */
	KUNIT_ASSERT_TRUE(test, fake_wait((n += fake_take(fake, &cmd[n])) == 13));
	KUNIT_ASSERT_TRUE(test, fake_wait(in_line(fake) == FLOOD - 13));

	fake->dev->ctrl.atomic_us = 1000;
	r = runner_new(fake, 97, 4, 8);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, run_atomic(fake, r));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[n]));
	KUNIT_EXPECT_EQ(test, taken(test, &cmd[n]), 97);
	r = runner_new(fake, 98, 4, 8);
	KUNIT_EXPECT_EQ(test, -EAGAIN, run_atomic(fake, r));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[n + 1]));
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);

	/* The flood does not get the room that the answer makes. */
	answer(fake, &cmd[n], VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, in_line(fake), FLOOD - 13);
	fake->dev->ctrl.atomic_us = FAKE_PATIENCE_US;
	fake_start(fake, serve_urgent);
	r = runner_new(fake, FLOOD_URGENT, 4, 8);
	KUNIT_EXPECT_EQ(test, 0, run_atomic(fake, r));
	KUNIT_EXPECT_EQ(test, in_line(fake), FLOOD - 13);
	fake_stop(fake);

	for (i = 0; i < n; i++)
		answer(fake, &cmd[i], VIRTIO_NET_OK);
	fake_start(fake, serve_ok);
	for (i = 0; i < FLOOD; i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(flood[i])));
		KUNIT_EXPECT_EQ(test, flood[i]->ret, 0);
	}
}

/* Time spent in line does not count: the device answers each command in time. */
static void ctrl_slow(struct kunit *test)
{
	struct fake *fake = fake_narrow(test);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	ktime_t answered, sent = ktime_get();
	struct runner *r[6];
	unsigned int i;
	bool dead;

	fake->dev->ctrl.timeout = 2 * HZ;
	for (i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = runner_start(fake, i, 4, 8);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		fake_wait(fake_take(fake, cmd) || fake->dev->ctrl.dead);
		msleep(600);
		dead = fake->dev->ctrl.dead;
		/* An answer sends the next command. */
		answered = ktime_get();
		if (!dead)
			answer(fake, cmd, VIRTIO_NET_OK);
		/* Other work on the machine may have made the device late, to the last moment. */
		if (ktime_ms_delta(ktime_get(), sent) >= 2 * MSEC_PER_SEC) {
			vnr_ctrl_abandon(fake->dev);
			kunit_skip(test, "too busy a machine: no answer within 2 s");
		}
		KUNIT_ASSERT_FALSE(test, dead);
		sent = answered;
	}
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(r[i])));
		KUNIT_EXPECT_EQ(test, r[i]->ret, 0);
	}
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

/*
 * The device does not answer.  Callers that wait for room notice that, too, and the queue
 * is dead.
 */
static void ctrl_full_timeout(struct kunit *test)
{
	struct fake *fake = fake_narrow(test);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct runner *r;

	r = runner_start(fake, 0, 4, 8);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	fake->dev->ctrl.timeout = SHORT;
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 2, 4, 8));
	KUNIT_EXPECT_TRUE(test, fake->dev->ctrl.dead);
	KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(r)));
	KUNIT_EXPECT_EQ(test, r->ret, -ETIMEDOUT);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, -EIO, run(fake, 3, 4, 8));
}

struct small_case {
	const char *name;
	u16 num;
	bool roce;
};

static const struct small_case small_cases[] = {
	{ "1 entry", 1 },
	{ "2 entries", 2 },
	{ "4 entries", 4 },
	{ "8 entries", 8 },
	{ "16 entries", 16, true },
};

KUNIT_ARRAY_PARAM_DESC(small, small_cases, name);

/*
 * A queue with only as many descriptors as Ethernet needs: no RoCE.  A command is refused
 * at once, and the queue goes on.
 */
static void ctrl_small(struct kunit *test)
{
	const struct small_case *c = test->param_value;
	struct fake *fake = fake_create(test);

	fake->common->queue_size = cpu_to_le16(c->num);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_EXPECT_EQ(test, fake->dev->roce, c->roce);
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	if (c->roce) {
		KUNIT_EXPECT_NE(test, 0, vnr_ctrl_max_req(fake->dev));
		fake_start(fake, serve_ok);
		KUNIT_EXPECT_EQ(test, 0, run(fake, 1, 4, 8));
	} else {
		KUNIT_EXPECT_EQ(test, 0, vnr_ctrl_max_req(fake->dev));
		KUNIT_EXPECT_EQ(test, -E2BIG, run(fake, 1, 4, 8));
	}
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

/* A request of the greatest length that is promised fits. */
static void ctrl_max_req(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	size_t max;

	fake->common->queue_size = cpu_to_le16(16);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	fake_start(fake, serve_ok);
	max = vnr_ctrl_max_req(fake->dev);
	KUNIT_ASSERT_GT(test, max, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 0, run(fake, 1, max, 8));
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
	KUNIT_EXPECT_EQ(test, 0, run(fake, 3, 4, 8));
}

/* ----- long requests ----- */

/* Two long or slow requests at a time; later ones wait, and short ones pass them. */
static void ctrl_big(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct runner *big[3], *small;
	struct fake_cmd *cmd = fake_cmds(test, 5);
	unsigned int n = 0, i;

	big[0] = runner_start(fake, 0, 2 * PAGE_SIZE, 8);
	big[1] = runner_new(fake, 1, 4, 8);
	big[1]->cmd.slow = true;
	runner_go(big[1]);
	KUNIT_ASSERT_TRUE(test, fake_wait((n += fake_take(fake, &cmd[n])) == 2));
	big[2] = runner_start(fake, 2, 2 * PAGE_SIZE, 8);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[2]));
	small = runner_start(fake, 3, 4, 8);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, &cmd[2])));
	KUNIT_EXPECT_EQ(test, taken(test, &cmd[2]), 3);
	answer(fake, &cmd[2], VIRTIO_NET_OK);
	KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(small)));

	answer(fake, &cmd[0], VIRTIO_NET_OK);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, &cmd[3])));
	KUNIT_EXPECT_EQ(test, taken(test, &cmd[3]), 2);
	answer(fake, &cmd[3], VIRTIO_NET_ERR);
	answer(fake, &cmd[1], VIRTIO_NET_OK);
	for (i = 0; i < ARRAY_SIZE(big); i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(runner_done(big[i])));
		KUNIT_EXPECT_EQ(test, big[i]->ret, i == 2 ? -EREMOTEIO : 0);
	}
}

/* One that waits too long for its turn fails, and the queue is not given up for it. */
static void ctrl_big_busy(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	unsigned int i;

	/* The test has the turns itself: a command that was sent would expire. */
	for (i = 0; i < VNR_CTRL_BIG_MAX; i++)
		down(&fake->dev->ctrl.big);
	fake->dev->ctrl.timeout = SHORT;
	KUNIT_EXPECT_EQ(test, -EBUSY, run(fake, 4, 2 * PAGE_SIZE, 8));
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
	fake->dev->ctrl.timeout = FAKE_PATIENCE;
	for (i = 0; i < VNR_CTRL_BIG_MAX; i++)
		up(&fake->dev->ctrl.big);
	fake_start(fake, serve_ok);
	KUNIT_EXPECT_EQ(test, 0, run(fake, 4, 2 * PAGE_SIZE, 8));
}

/* ----- several threads ----- */

#define CROWD		8
#define CROWD_ROUNDS	100

/**
 * struct member - one of a crowd
 * @fake: function
 * @id: number, which it sends and expects back
 * @bad: answers that were not its own
 * @good: those that were
 * @rounds: both
 * @task: its thread
 */
struct member {
	struct fake *fake;
	u32 id;
	unsigned int bad;
	unsigned int good;
	unsigned int rounds;
	struct task_struct *task;
};

/* Echoes the request, and answers two commands in the wrong order. */
static int serve_echo(struct fake *fake, struct fake_cmd *cmd)
{
	u8 in[9] = { VIRTIO_NET_OK };
	static struct fake_cmd second;

	if (fake_take(fake, &second)) {
		fake_gather(second.out + 1, second.nout - 1, in + 1, 8);
		fake_scatter(second.in, second.nin, in, sizeof(in));
		fake_give(fake, &second, sizeof(in));
	}
	fake_gather(cmd->out + 1, cmd->nout - 1, in + 1, 8);
	fake_scatter(cmd->in, cmd->nin, in, sizeof(in));
	return sizeof(in);
}

static int member_thread(void *data)
{
	struct member *m = data;
	u32 req[2], rsp[2];
	struct virtio_net_roce_cmd cmd = {
		.command = m->id,
		.req[0] = { req, sizeof(req) },
		.rsp = rsp,
		.rsp_len = sizeof(rsp),
	};
	unsigned int i;
	int ret;

	for (i = 0; i < CROWD_ROUNDS; i++) {
		req[0] = m->id;
		req[1] = i;
		/* One must not sleep; more could keep the device from running. */
		cmd.atomic = m->id == 1;
		do {
			if (cmd.atomic)
				preempt_disable();
			ret = vnr_ctrl_exec(m->fake->dev, &cmd);
			if (cmd.atomic)
				preempt_enable();
			cond_resched();
		} while (ret == -EAGAIN);
		if (!ret && rsp[0] == m->id && rsp[1] == i)
			m->good++;
		else
			m->bad++;
		WRITE_ONCE(m->rounds, i + 1);
	}
	while (!kthread_should_stop())
		usleep_range(100, 300);
	return 0;
}

static void ctrl_crowd(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct member *m;
	unsigned int i;

	m = kunit_kcalloc(test, CROWD, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m);
	fake->common->queue_size = cpu_to_le16(32);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	fake->dev->ctrl.timeout = FAKE_PATIENCE;
	fake->dev->ctrl.atomic_us = FAKE_PATIENCE_US;
	fake_start(fake, serve_echo);
	for (i = 0; i < CROWD; i++) {
		m[i].fake = fake;
		m[i].id = i;
		m[i].task = kthread_run(member_thread, &m[i], "crowd-%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, m[i].task);
	}
	for (i = 0; i < CROWD; i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(m[i].rounds) ==
						  CROWD_ROUNDS));
		kthread_stop(m[i].task);
	}
	for (i = 0; i < CROWD; i++) {
		KUNIT_EXPECT_EQ(test, m[i].bad, 0);
		KUNIT_EXPECT_EQ(test, m[i].good, CROWD_ROUNDS);
	}
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

static struct kunit_case ctrl_cases[] = {
	KUNIT_CASE_PARAM(ctrl_frame, frame_gen_params),
	KUNIT_CASE(ctrl_answers),
	KUNIT_CASE(ctrl_timeout),
	KUNIT_CASE(ctrl_timeout_atomic),
	KUNIT_CASE_PARAM(ctrl_late_answer, undo_gen_params),
	KUNIT_CASE(ctrl_timeout_teardown),
	KUNIT_CASE(ctrl_abandon),
	KUNIT_CASE(ctrl_full),
	KUNIT_CASE(ctrl_flood),
	KUNIT_CASE(ctrl_slow),
	KUNIT_CASE(ctrl_full_timeout),
	KUNIT_CASE_PARAM(ctrl_small, small_gen_params),
	KUNIT_CASE(ctrl_max_req),
	KUNIT_CASE(ctrl_big),
	KUNIT_CASE(ctrl_big_busy),
	KUNIT_CASE(ctrl_crowd),
	{}
};

static struct kunit_suite ctrl_suite = {
	.name = "virtio_net_roce_ctrl",
	.test_cases = ctrl_cases,
};

kunit_test_suite(ctrl_suite);
