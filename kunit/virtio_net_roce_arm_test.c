// SPDX-License-Identifier: GPL-2.0
/*
 * Arming the CQs of kernel consumers: it never fails for lack of room, and what comes
 * before the device has the command is not missed.
 */
#include <kunit/static_stub.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/kthread.h>
#include <linux/virtio_config.h>

#include "virtio_net_roce_compat.h"
#include "virtio_net_roce_fake.h"
#include "../drivers/net/virtio_net_roce/vnr_ctrl.h"

#define CQN	1

/**
 * struct consumer - the user of a CQ
 * @fake: function
 * @arm: what vnr_arm.c made for it
 * @events: calls of its handler
 */
struct consumer {
	struct fake *fake;
	struct vnr_arm *arm;
	unsigned int events;
};

static void consumer_notify(void *data)
{
	struct consumer *c = data;

	c->events++;
}

/* Does the work of the operation cq_enable. */
static struct consumer *consumer_open(struct fake *fake)
{
	struct kunit *test = fake->test;
	struct vnr_cq *cq = &fake->dev->cqs[CQN];
	struct consumer *c;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	c->fake = fake;
	c->arm = vnr_arm_create(fake->dev, CQN);
	KUNIT_ASSERT_NOT_NULL(test, c->arm);
	cq->notify = consumer_notify;
	cq->data = c;
	return c;
}

/* Does the work of the operation cq_disable. */
static void consumer_close(struct consumer *c)
{
	clear_bit(CQN, c->fake->dev->armed);
	vnr_arm_destroy(c->arm);
	c->fake->dev->cqs[CQN].notify = NULL;
}

static struct vring_used *used(struct consumer *c)
{
	return c->fake->dev->queues[CQN].pub.vring.used;
}

/* In atomic context, as a consumer may be. */
static int request(struct consumer *c, bool solicited_only)
{
	struct vnr_dev *dev = c->fake->dev;
	unsigned long flags;
	int ret;

	local_irq_save(flags);
	if (!test_bit(CQN, dev->armed)) {
		dev->cqs[CQN].arm_idx = (__force u16)used(c)->idx;
		/* The ring has slots, so a full ring is not mistaken for news. */
		dev->queues[CQN].pub.vring.avail->idx =
			cpu_to_virtio16(fake_vdev(c->fake), 100);
		set_bit(CQN, dev->armed);
	}
	ret = vnr_arm_request(c->arm, solicited_only);
	local_irq_restore(flags);
	return ret;
}

static void complete_one(struct consumer *c)
{
	used(c)->idx = (__force __virtio16)((__force u16)used(c)->idx + 1);
}

/* The command that was taken asks for this notification of our CQ. */
static void expect_taken(struct kunit *test, const struct fake_cmd *cmd, u32 flags)
{
	const struct virtio_net_ctrl_hdr *hdr = cmd->out[0].addr;
	const struct virtio_rdma_cmd_req_notify *req = cmd->out[1].addr;

	KUNIT_EXPECT_EQ(test, hdr->class, VIRTIO_NET_CTRL_ROCE);
	KUNIT_EXPECT_EQ(test, hdr->cmd, VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ);
	KUNIT_EXPECT_EQ(test, cmd->out[1].len, sizeof(*req));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->cqn), CQN);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(req->flags), flags);
	KUNIT_EXPECT_EQ(test, cmd->nin, 1);
}

static void answer(struct fake *fake, const struct fake_cmd *cmd, u8 ack)
{
	*(u8 *)cmd->in[0].addr = ack;
	fake_give(fake, cmd, 1);
	fake_interrupt(fake);
	/* The CQ is looked at by an interrupt of its own. */
	usleep_range(2000, 3000);
}

/* The caller does not wait for the answer.  Completions before it are noticed. */
static void arm_missed(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);

	/* The handler is not called until the device has the command. */
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	expect_taken(test, cmd, VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, c->events, 0);
	KUNIT_EXPECT_TRUE(test, test_bit(CQN, fake->dev->armed));
	clear_bit(CQN, fake->dev->armed);

	/* A completion came before that: the handler is called. */
	KUNIT_EXPECT_EQ(test, 0, request(c, true));
	complete_one(c);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	expect_taken(test, cmd, VIRTIO_IB_NOTIFY_SOLICITED);
	KUNIT_EXPECT_EQ(test, c->events, 0);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, c->events, 1);
	KUNIT_EXPECT_FALSE(test, test_bit(CQN, fake->dev->armed));

	/* The same if the device refuses, or does not answer. */
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	complete_one(c);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	answer(fake, cmd, VIRTIO_NET_ERR);
	KUNIT_EXPECT_EQ(test, c->events, 2);
	consumer_close(c);
}

/* Armed again while a command is under way: one more is sent, with the last value. */
static void arm_again(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);

	KUNIT_EXPECT_EQ(test, 0, request(c, true));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	KUNIT_EXPECT_EQ(test, 0, request(c, true));
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_EXPECT_EQ(test, 0, request(c, true));
	expect_taken(test, cmd, VIRTIO_IB_NOTIFY_SOLICITED);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	expect_taken(test, cmd, VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_EXPECT_FALSE(test, fake_take(fake, cmd));
	consumer_close(c);
}

/* The CQ is destroyed while the device has its command: no call, no use after free. */
static void arm_gone(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);

	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	complete_one(c);
	consumer_close(c);
	answer(fake, cmd, VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, c->events, 0);
	KUNIT_EXPECT_FALSE(test, fake_take(fake, cmd));
}

static unsigned int refusals;

/* Only for the thread of the test: that of the retry is not refused. */
static int submit_without_memory(struct vnr_ctrl *ctrl, struct vnr_ctrl_cmd *cmd,
				 enum vnr_ctrl_class class)
{
	refusals++;
	return -ENOMEM;
}

static unsigned long delay_for_ever(void)
{
	return MAX_JIFFY_OFFSET;
}

/* Bounce buffers have run out: it is sent when there are some. */
static void arm_no_memory(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);

	kunit_activate_static_stub(test, vnr_ctrl_submit, submit_without_memory);
	refusals = 0;
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_EXPECT_EQ(test, refusals, 1);
	kunit_deactivate_static_stub(test, vnr_ctrl_submit);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	expect_taken(test, cmd, VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
	answer(fake, cmd, VIRTIO_NET_OK);

	/* The CQ may go meanwhile. */
	kunit_activate_static_stub(test, vnr_ctrl_submit, submit_without_memory);
	kunit_activate_static_stub(test, vnr_arm_delay, delay_for_ever);
	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_EXPECT_EQ(test, refusals, 2);
	consumer_close(c);
	kunit_deactivate_static_stub(test, vnr_arm_delay);
	kunit_deactivate_static_stub(test, vnr_ctrl_submit);
	KUNIT_EXPECT_FALSE(test, fake_take(fake, cmd));
}

/* A dead queue is the only reason for an error. */
static void arm_dead(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct consumer *c = consumer_open(fake);

	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	vnr_ctrl_abandon(fake->dev);
	KUNIT_EXPECT_EQ(test, -EIO, request(c, false));
	consumer_close(c);
}

/* ----- beside a flood ----- */

#define FLOOD	50

static int flood_thread(void *data)
{
	struct virtio_net_roce_cmd cmd = { .command = 1 };
	struct fake *fake = data;

	vnr_ctrl_exec(fake->dev, &cmd);
	return 0;
}

/*
 * Fifty threads of some process have commands in line, and other CPUs have used up
 * what is left for those who must not sleep.  The arming is not refused, and it is the
 * first that is sent.
 */
static void arm_flood(struct kunit *test)
{
	struct fake_cmd *cmd = fake_cmds(test, 8);
	struct task_struct *task[FLOOD];
	struct fake *fake = fake_create(test);
	struct consumer *c, *other;
	unsigned int i, n = 0;

	fake->common->queue_size = cpu_to_le16(16);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	for (i = 0; i < FLOOD; i++) {
		task[i] = kthread_create(flood_thread, fake, "flood-%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task[i]);
		get_task_struct(task[i]);
		wake_up_process(task[i]);
	}
	/* Two descriptors each; four are those of the flood, and four the reserve. */
	KUNIT_ASSERT_TRUE(test, fake_wait((n += fake_take(fake, &cmd[n])) == 2));

	other = consumer_open(fake);
	KUNIT_EXPECT_EQ(test, 0, request(other, false));
	KUNIT_EXPECT_TRUE(test, fake_take(fake, &cmd[2]));
	c = consumer_open(fake);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0, request(c, false));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[3]));

	answer(fake, &cmd[0], VIRTIO_NET_OK);
	answer(fake, &cmd[1], VIRTIO_NET_OK);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[3]));
	expect_taken(test, &cmd[3], VIRTIO_IB_NOTIFY_NEXT_COMPLETION);

	vnr_ctrl_abandon(fake->dev);
	for (i = 0; i < FLOOD; i++)
		kthread_stop_put(task[i]);
	consumer_close(other);
	consumer_close(c);
}

/*
 * A caller that must not sleep polls for its own answer, and finds that of an arming.  The
 * handler may want a lock that the caller has.
 */
static void arm_caller(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);
	unsigned int inside;
	unsigned long flags;

	KUNIT_EXPECT_EQ(test, 0, request(c, false));
	complete_one(c);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	*(u8 *)cmd->in[0].addr = VIRTIO_NET_OK;
	fake_give(fake, cmd, 1);
	local_irq_save(flags);
	vnr_ctrl_interrupt(fake->dev->ctrl.vq);
	inside = c->events;
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, inside, 0);
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(c->events) == 1));
	consumer_close(c);
}

/* ----- when is an armed CQ told? ----- */

/**
 * struct news_case - a CQ that is armed, and what happens to it then
 * @name: for the report; the same name in virtio_roce_arm_test.c is the same case
 * @slots: slots that the driver has given the device in all
 * @before: completions when it is armed; not all of them have been polled
 * @after: completions when an interrupt comes
 * @twice: it was armed before, with @first completions
 * @first: see @twice
 * @solicited: armed for solicited completions
 * @any_first: but first for any, with @twice
 * @told: is the handler called, with a device that does not hold completions
 * @held: and with one that does
 *
 * The used index does not say whether a completion is solicited.  So with an interrupt
 * that was for something else a handler may be called that waits for a solicited one.
 */
struct news_case {
	const char *name;
	u16 slots;
	u16 before;
	u16 after;
	bool twice;
	u16 first;
	bool solicited;
	bool any_first;
	bool told;
	bool held;
};

static const struct news_case news_cases[] = {
	{ "empty, nothing comes", 4, 0, 0, .told = false, .held = false },
	{ "empty, one comes", 4, 0, 1, .told = true, .held = true },
	{ "empty, it fills up", 4, 0, 4, .told = true, .held = true },
	{ "some not polled, nothing comes", 4, 2, 2, .told = false, .held = false },
	{ "some not polled, one comes", 4, 2, 3, .told = true, .held = true },
	{ "full, nothing comes", 4, 4, 4, .told = false, .held = true },
	{ "one slot, full", 1, 1, 1, .told = false, .held = true },
	{ "index wraps, full", 2, 2, 2, .told = false, .held = true },
	{ "solicited, nothing comes", 4, 0, 0, .solicited = true,
	  .told = false, .held = false },
	{ "solicited, one comes", 4, 0, 1, .solicited = true, .told = true, .held = true },
	{ "solicited, some not polled, nothing comes", 4, 2, 2, .solicited = true,
	  .told = false, .held = false },
	{ "solicited, full, nothing comes", 4, 4, 4, .solicited = true,
	  .told = false, .held = true },
	{ "armed twice, nothing comes", 4, 1, 1, .twice = true, .first = 1,
	  .told = false, .held = false },
	{ "armed twice, one came in between", 4, 2, 2, .twice = true, .first = 1,
	  .told = true, .held = true },
	{ "armed twice, one comes", 4, 1, 2, .twice = true, .first = 1,
	  .told = true, .held = true },
	{ "armed for any, then solicited, nothing comes", 4, 1, 1, .twice = true, .first = 1,
	  .solicited = true, .any_first = true, .told = false, .held = false },
	{ "armed for any, then solicited, one comes", 4, 1, 2, .twice = true, .first = 1,
	  .solicited = true, .any_first = true, .told = true, .held = true },
};

static void news_name(const struct news_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(news, news_cases, news_name);

/* As vnr_op_cq_arm(): it is in a table that the test cannot reach without an interface. */
static void news_arm(struct fake *fake, u16 used)
{
	struct vnr_dev *dev = fake->dev;

	dev->queues[CQN].pub.vring.used->idx = cpu_to_virtio16(fake_vdev(fake), used);
	if (test_bit(CQN, dev->armed))
		return;
	dev->cqs[CQN].arm_idx = used;
	set_bit(CQN, dev->armed);
}

/* A hard timer is the context of an interrupt, wherever it runs. */
static struct {
	struct hrtimer timer;
	struct completion done;
	unsigned int irq;
} news;

/* Told once for each arming. */
static enum hrtimer_restart news_irq(struct hrtimer *timer)
{
	generic_handle_irq(news.irq);
	generic_handle_irq(news.irq);
	complete(&news.done);
	return HRTIMER_NORESTART;
}

/* A consumer in the kernel has a command for it, and the CQ is looked at with the answer. */
static void news_request(struct fake *fake, struct consumer *c, bool solicited)
{
	unsigned long flags;

	local_irq_save(flags);
	KUNIT_EXPECT_EQ(fake->test, 0, vnr_arm_request(c->arm, solicited));
	local_irq_restore(flags);
}

static void news_answer(struct fake *fake, struct fake_cmd *cmd)
{
	const struct news_case *n = fake->test->param_value;
	unsigned int i;

	for (i = 0; fake_take(fake, cmd); i++) {
		expect_taken(fake->test, cmd, n->solicited && !(n->any_first && !i) ?
			     VIRTIO_IB_NOTIFY_SOLICITED :
			     VIRTIO_IB_NOTIFY_NEXT_COMPLETION);
		answer(fake, cmd, VIRTIO_NET_OK);
	}
	KUNIT_EXPECT_EQ(fake->test, i, n->twice ? 2 : 1);
}

static bool news_told(struct fake *fake, struct consumer *c, struct fake_cmd *cmd, bool hold)
{
	const struct news_case *n = fake->test->param_value;
	struct vnr_dev *dev = fake->dev;
	unsigned int events = c->events;

	dev->cqs[CQN].hold = hold;
	dev->queues[CQN].pub.vring.avail->idx = cpu_to_virtio16(fake_vdev(fake),
								n->slots);
	clear_bit(CQN, dev->armed);
	if (n->twice) {
		news_arm(fake, n->first);
		if (cmd)
			news_request(fake, c, n->solicited && !n->any_first);
	}
	news_arm(fake, n->before);
	if (cmd)
		news_request(fake, c, n->solicited);
	dev->queues[CQN].pub.vring.used->idx = cpu_to_virtio16(fake_vdev(fake),
							       n->after);
	if (cmd)
		news_answer(fake, cmd);
	news.irq = dev->vectors[vnr_cq_vector(dev, CQN)].irq;
	init_completion(&news.done);
	vnr_hrtimer_setup(&news.timer, news_irq);
	hrtimer_start(&news.timer, 0, HRTIMER_MODE_REL_HARD);
	wait_for_completion(&news.done);
	hrtimer_cancel(&news.timer);
	KUNIT_EXPECT_LE(fake->test, c->events, events + 1);
	return c->events != events;
}

/*
 * The rule of vnr_cq_has_news(), for a vector of its own and for one that serves everything,
 * for a process's CQ and for one of the kernel.
 */
static void arm_news(struct kunit *test)
{
	const struct news_case *n = test->param_value;
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c;
	struct fake *fake;
	unsigned int few;

	for (few = 0; few < 2; few++) {
		fake = fake_create(test);
		if (few)	/* MSI-X control: size of the table */
			fake->cfg[FAKE_MSIX_CAP + PCI_MSIX_FLAGS] = 0;
		KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
		KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
		KUNIT_EXPECT_EQ(test, fake->dev->nvectors == 1, few);
		c = consumer_open(fake);
		KUNIT_EXPECT_EQ(test, news_told(fake, c, NULL, false), n->told);
		KUNIT_EXPECT_EQ(test, news_told(fake, c, NULL, true), n->held);
		KUNIT_EXPECT_EQ(test, news_told(fake, c, cmd, false), n->told);
		KUNIT_EXPECT_EQ(test, news_told(fake, c, cmd, true), n->held);
		consumer_close(c);
	}
}

/* ----- the queues go while a CQ is looked at ----- */

/* How long the handler stays, so that a teardown that does not wait is seen. */
#define STAY_MS		100

static struct {
	struct fake *fake;
	struct fake_cmd *cmd;
	bool entered;
	bool freed;
	bool early;
} late;

/* With interrupts off, on another processor than the test. */
static void late_notify(void *data)
{
	ktime_t end = ktime_add_ms(ktime_get(), STAY_MS);

	WRITE_ONCE(late.entered, true);
	while (ktime_before(ktime_get(), end) && !READ_ONCE(late.freed))
		cpu_relax();
	late.early = READ_ONCE(late.freed);
}

/* As the watchdog does when an interrupt was lost. */
static int late_thread(void *data)
{
	fake_give(late.fake, late.cmd, 1);
	vnr_ctrl_interrupt(late.fake->dev->ctrl.vq);
	while (!kthread_should_stop())
		usleep_range(100, 300);
	return 0;
}

/* A late answer makes a CQ be looked at.  The queues are freed only after that. */
static void arm_teardown(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct consumer *c = consumer_open(fake);
	struct task_struct *task;
	unsigned int cpu;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	fake->dev->cqs[CQN].notify = late_notify;
	KUNIT_ASSERT_EQ(test, 0, request(c, false));
	complete_one(c);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	*(u8 *)cmd->in[0].addr = VIRTIO_NET_OK;
	memset(&late, 0, sizeof(late));
	late.fake = fake;
	late.cmd = cmd;

	task = kthread_create(late_thread, NULL, "late");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	migrate_disable();
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	kthread_bind(task, cpu);
	wake_up_process(task);
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(late.entered)));
	vnr_rdma_queues_teardown(fake->dev);
	WRITE_ONCE(late.freed, true);
	migrate_enable();
	kthread_stop(task);
	KUNIT_EXPECT_FALSE(test, late.early);
	vnr_arm_destroy(c->arm);
}

static struct kunit_case arm_cases[] = {
	KUNIT_CASE(arm_missed),
	KUNIT_CASE(arm_again),
	KUNIT_CASE(arm_gone),
	KUNIT_CASE(arm_no_memory),
	KUNIT_CASE(arm_dead),
	KUNIT_CASE(arm_flood),
	KUNIT_CASE(arm_caller),
	KUNIT_CASE(arm_teardown),
	KUNIT_CASE_PARAM(arm_news, news_gen_params),
	{}
};

static struct kunit_suite arm_suite = {
	.name = "virtio_net_roce_arm",
	.test_cases = arm_cases,
};

kunit_test_suite(arm_suite);
