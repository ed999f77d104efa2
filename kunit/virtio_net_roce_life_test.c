// SPDX-License-Identifier: GPL-2.0
/*
 * A function's life: who dies of what, when memory may be freed, and how it is again
 * afterwards.
 */
#include <kunit/static_stub.h>
#include <linux/etherdevice.h>
#include <linux/kthread.h>
#include <linux/rtnetlink.h>
#include <linux/sched/task.h>
#include <linux/virtio_config.h>

#include "virtio_net_roce_fake.h"

#define SHORT	(HZ / 50)

/* A command from a thread of its own. */
struct caller {
	struct fake *fake;
	struct virtio_net_roce_cmd cmd;
	u8 req[16];
	u8 rsp[8];
	int ret;
	bool done;
};

static int caller_thread(void *data)
{
	struct caller *c = data;

	c->ret = vnr_life_exec(c->fake->dev, &c->cmd);
	/* The result before the news that it is there. */
	smp_store_release(&c->done, true);
	while (!kthread_should_stop())
		usleep_range(100, 300);
	return 0;
}

static void caller_stop(void *data)
{
	kthread_stop_put(data);
}

static struct caller *caller_new(struct fake *fake, bool settle)
{
	struct caller *c = kunit_kzalloc(fake->test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(fake->test, c);
	c->fake = fake;
	c->cmd.command = 1;
	c->cmd.settle = settle;
	c->cmd.req[0].iov_base = c->req;
	c->cmd.req[0].iov_len = sizeof(c->req);
	c->cmd.rsp = c->rsp;
	c->cmd.rsp_len = sizeof(c->rsp);
	return c;
}

static struct caller *caller_start(struct fake *fake, bool settle)
{
	struct caller *c = caller_new(fake, settle);
	struct kunit *test = fake->test;
	struct task_struct *task;

	task = kthread_create(caller_thread, c, "caller");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	get_task_struct(task);
	wake_up_process(task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, caller_stop,
							   task));
	return c;
}

static bool caller_done(struct caller *c)
{
	/* The news before the result; pairs with caller_thread(). */
	return smp_load_acquire(&c->done);
}

static int call(struct fake *fake, bool settle)
{
	return vnr_life_exec(fake->dev, &caller_new(fake, settle)->cmd);
}

/* A function whose device has let a command expire, which it still has. */
static struct fake *life_dead(struct kunit *test, struct fake_cmd *late)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_RUNNING);
	fake->dev->ctrl.timeout = SHORT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, call(fake, false));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, late));
	/* It does not die once more when it is started, also on a busy machine. */
	fake->dev->ctrl.timeout = FAKE_PATIENCE;
	return fake;
}

/* All transitions: those of the picture in design.rst happen, and no other does. */
static void life_transitions(struct kunit *test)
{
	static const bool may[VNR_STATES][VNR_STATES] = {
		[VNR_QUIESCED] = { [VNR_STARTING] = true },
		[VNR_STARTING] = { [VNR_RUNNING] = true, [VNR_DEAD] = true,
				   [VNR_QUIESCED] = true },
		[VNR_RUNNING] = { [VNR_LOST] = true, [VNR_DEAD] = true,
				  [VNR_QUIESCED] = true },
		[VNR_LOST] = { [VNR_DEAD] = true, [VNR_QUIESCED] = true },
		[VNR_DEAD] = { [VNR_QUIESCED] = true },
	};
	struct fake *fake = fake_running(test, FAKE_NET);
	enum vnr_state from, to, now;
	bool changed;

	for (from = 0; from < VNR_STATES; from++) {
		for (to = 0; to < VNR_STATES; to++) {
			/* Not by the function under test, which may refuse it. */
			fake->dev->life.state = from;
			changed = vnr_life_change(fake->dev, to);
			now = vnr_life_state(fake->dev);
			KUNIT_EXPECT_EQ_MSG(test, changed, may[from][to], "from %d to %d",
					    from, to);
			KUNIT_EXPECT_EQ_MSG(test, now, may[from][to] ? to : from,
					    "from %d to %d", from, to);
		}
	}
	fake->dev->life.state = VNR_RUNNING;
}

/* Between its virtqueues and DRIVER_OK no doorbell reaches the device; a dead one stays dead. */
static void life_starting(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct vnr_dev *dev = fake->dev;

	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_RUNNING);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_QUIESCED);
	KUNIT_EXPECT_FALSE(test, vnr_life_lives(dev));
	vnr_life_go_live(dev);
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_QUIESCED);
	vnr_life_die(dev, false);
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_QUIESCED);

	KUNIT_EXPECT_TRUE(test, vnr_life_change(dev, VNR_STARTING));
	KUNIT_EXPECT_TRUE(test, vnr_life_lives(dev));
	vnr_life_die(dev, false);
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_DEAD);
	vnr_life_go_live(dev);
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_DEAD);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_QUIESCED);
}

/*
 * A caller that wants to free memory waits for the reset, and hears that the device has nothing any
 * more; all others hear at once that it is dead.
 */
static void life_settle(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);
	struct caller *c = caller_start(fake, true);
	u8 junk[64] = {};

	KUNIT_EXPECT_EQ(test, -EIO, call(fake, false));
	msleep(50);
	KUNIT_EXPECT_FALSE(test, caller_done(c));
	/* Its memory is still the device's: KASAN looks on. */
	fake_scatter(late->in, late->nin, junk, sizeof(junk));

	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	KUNIT_EXPECT_EQ(test, fake->common->device_status, 0);
	KUNIT_EXPECT_TRUE(test, fake_wait(caller_done(c)));
	KUNIT_EXPECT_EQ(test, c->ret, -ENODEV);
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, false));
	/* All commands are given back. */
	KUNIT_EXPECT_EQ(test, fake->dev->ctrl.vq->num_free, FAKE_NUM);
}

/* A caller that waits for an answer when the device is reset does not wait longer. */
static void life_waiters(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct caller *c[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = caller_start(fake, i & 1);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake->dev->ctrl.vq->num_free ==
					  FAKE_NUM - 4 * ARRAY_SIZE(c)));
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		KUNIT_EXPECT_TRUE(test, fake_wait(caller_done(c[i])));
		KUNIT_EXPECT_EQ(test, c[i]->ret, -ENODEV);
	}
}

/*
 * virtio_net posts a buffer for packets, upon which @bell is rung, and a command of 32 bytes, with
 * as many for the answer behind them.  A restarted function does not repeat the command.
 */
static u8 *child_speaks(struct kunit *test, struct fake *fake, u16 bell)
{
	u8 *buf = kunit_kzalloc(test, 64, GFP_KERNEL);
	struct scatterlist sg[2], *sgs[2] = { &sg[0], &sg[1] };
	struct virtqueue *shadow = fake->vqs[FAKE_CTRL];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	buf[0] = VIRTIO_NET_CTRL_ANNOUNCE;
	fake_rung(fake);
	for (i = 0; i < 2; i++)
		sg_init_one(&sg[i], &buf[32 * i], 32);
	KUNIT_EXPECT_EQ(test, 0, virtqueue_add_inbuf(fake->vqs[0], &sg[0], 1, buf,
						     GFP_KERNEL));
	KUNIT_EXPECT_TRUE(test, virtqueue_kick(fake->vqs[0]));
	KUNIT_EXPECT_EQ(test, fake_rung(fake), bell);
	KUNIT_EXPECT_EQ(test, 0, virtqueue_add_sgs(shadow, sgs, 1, 1, buf,
						   GFP_KERNEL));
	KUNIT_EXPECT_TRUE(test, virtqueue_kick(shadow));
	return buf;
}

/* virtio_net reaches a device. */
static void expect_heard(struct kunit *test, struct fake *fake, struct fake_cmd *cmd)
{
	child_speaks(test, fake, 0);
	/* It looks when it is rung. */
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	fake_give(fake, cmd, fake_len(cmd->in, cmd->nin));
	fake_interrupt(fake);
}

/*
 * A device that has lost its RDMA objects gets no command of RDMA any more, and their memory
 * stays until the reset.  virtio_net sees nothing of that.
 */
static void life_lost(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct vnr_dev *dev = fake->dev;
	struct caller *c, *sent = caller_start(fake, true);
	struct fake_cmd *cmd = fake_cmds(test, 1);

	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	KUNIT_EXPECT_TRUE(test, vnr_life_lose(dev));
	KUNIT_EXPECT_FALSE(test, vnr_life_lose(dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_LOST);
	KUNIT_EXPECT_FALSE(test, vnr_life_lives(dev));
	KUNIT_EXPECT_EQ(test, vnr_life_event(dev), VIRTIO_NET_ROCE_DEAD);
	KUNIT_EXPECT_FALSE(test, dev->life.mute);
	/* One that it has already is refused, and that is not the end of the device. */
	*(u8 *)cmd->in[0].addr = VIRTIO_NET_ERR;
	fake_give(fake, cmd, fake_len(cmd->in, cmd->nin));
	fake_interrupt(fake);
	/* Its caller has seen that, and waits. */
	KUNIT_ASSERT_TRUE(test, fake_wait(waitqueue_active(&dev->life.wait)));
	c = caller_start(fake, true);
	KUNIT_EXPECT_EQ(test, -EIO, call(fake, false));
	msleep(50);
	KUNIT_EXPECT_FALSE(test, caller_done(sent));
	KUNIT_EXPECT_FALSE(test, caller_done(c));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, cmd));
	expect_heard(test, fake, cmd);
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_LOST);

	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(dev));
	KUNIT_EXPECT_TRUE(test, fake_wait(caller_done(c) && caller_done(sent)));
	KUNIT_EXPECT_EQ(test, c->ret, -ENODEV);
	KUNIT_EXPECT_EQ(test, sent->ret, -ENODEV);
}

/* It is taken down while it is lost: the first command that may free memory resets it. */
static void life_lost_leaving(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	KUNIT_EXPECT_TRUE(test, vnr_life_lose(fake->dev));
	vnr_recover_stop(fake->dev);
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);

	fake = fake_running(test, FAKE_NET);
	KUNIT_EXPECT_TRUE(test, vnr_life_lose(fake->dev));
	KUNIT_EXPECT_FALSE(test, vnr_recover_answers(fake->dev));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	KUNIT_EXPECT_TRUE(test, fake->dev->life.mute);
	KUNIT_EXPECT_FALSE(test, fake->dev->life.silent);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
}

static u8 status_never(struct vnr_dev *dev)
{
	return VIRTIO_CONFIG_S_DRIVER_OK;
}

/* How often the status was read. */
static unsigned int status_reads;

static u8 status_never_counted(struct vnr_dev *dev)
{
	status_reads++;
	return VIRTIO_CONFIG_S_DRIVER_OK;
}

/* A reset that is not confirmed frees nothing; that the device is off the bus does. */
static void life_no_reset(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);

	fake->dev->life.reset_ms = 20;
	kunit_activate_static_stub(test, vnr_status, status_never);
	KUNIT_EXPECT_NE(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
}

/* Neither: the memory stays the device's, and that is said after a while. */
static void life_no_reset_at_all(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);
	u8 junk[64] = {};

	fake->dev->life.reset_ms = 20;
	fake->dev->life.settle_ms = 50;
	fake->master = true;
	kunit_activate_static_stub(test, vnr_status, status_never);
	KUNIT_EXPECT_EQ(test, -EBUSY, vnr_life_quiesce(fake->dev));
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	KUNIT_EXPECT_EQ(test, -EIO, call(fake, true));
	fake_scatter(late->in, late->nin, junk, sizeof(junk));
	fake->master = false;
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
}

/*
 * While a function is taken down there is no recovery.  If it dies then, the first command
 * that finds it dead quiesces it, and those after it succeed at once.
 */
static void life_leaving(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	unsigned long start;

	fake->dev->ctrl.timeout = SHORT;
	vnr_recover_stop(fake->dev);
	start = jiffies;
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	KUNIT_EXPECT_EQ(test, fake->common->device_status, 0);
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + 10 * HZ));
	KUNIT_EXPECT_EQ(test, fake->dev->ctrl.vq->num_free, FAKE_NUM);
}

/* The same of a command that waits already when the function is taken down. */
static void life_leaving_waiter(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);
	struct caller *c = caller_start(fake, true);

	msleep(50);
	KUNIT_EXPECT_FALSE(test, caller_done(c));
	vnr_recover_stop(fake->dev);
	KUNIT_EXPECT_TRUE(test, fake_wait(caller_done(c)));
	KUNIT_EXPECT_EQ(test, c->ret, -ENODEV);
}

/* The device cannot be quiesced: it is tried once, and its memory is not given back. */
static void life_leaving_stuck(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);
	u8 junk[64] = {};
	unsigned int i;

	fake->dev->life.reset_ms = 300;
	fake->master = true;
	vnr_recover_stop(fake->dev);
	status_reads = 0;
	kunit_activate_static_stub(test, vnr_status, status_never_counted);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, -EIO, call(fake, true));
	kunit_deactivate_static_stub(test, vnr_status);
	/* Once each millisecond, and at the start. */
	KUNIT_EXPECT_EQ(test, status_reads, 301);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	fake_scatter(late->in, late->nin, junk, sizeof(junk));
	fake->master = false;
}

struct releaser {
	struct delayed_work work;
	struct fake *fake;
};

static void releaser_work(struct work_struct *work)
{
	container_of(to_delayed_work(work), struct releaser, work)->fake->master = false;
}

/* virtio_net frees its buffers after a reset: it waits until the device is off the bus. */
static void life_reset_waits(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct releaser r = { .fake = fake };

	fake->dev->life.reset_ms = 20;
	fake->master = true;
	INIT_DELAYED_WORK_ONSTACK(&r.work, releaser_work);
	schedule_delayed_work(&r.work, HZ / 4);
	kunit_activate_static_stub(test, vnr_status, status_never);
	fake_reset(fake);
	kunit_deactivate_static_stub(test, vnr_status);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	KUNIT_EXPECT_EQ(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
	flush_delayed_work(&r.work);
	destroy_delayed_work_on_stack(&r.work);
}

/* A function that was pulled out touches nothing. */
static void life_gone(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);

	fake->gone = true;
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(fake->dev));
	KUNIT_EXPECT_EQ(test, -ENODEV, call(fake, true));
	fake->gone = false;
}

static int serve_ok(struct fake *fake, struct fake_cmd *cmd)
{
	u8 rsp[16] = {};

	fake_scatter(cmd->in, cmd->nin, rsp, sizeof(rsp));
	return fake_len(cmd->in, cmd->nin);
}

/* New virtqueues, new life. */
static void life_again(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake = life_dead(test, late);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		fake_reset(fake);
		fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
		KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
		KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
		KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_RUNNING);
		KUNIT_EXPECT_NE(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
		fake->dev->ctrl.timeout = 20 * HZ;
		fake_start(fake, serve_ok);
		KUNIT_EXPECT_EQ(test, 0, call(fake, i & 1));
		fake_stop(fake);
	}
}

/* ----- recovery ----- */

static bool is_running(struct fake *fake)
{
	return vnr_life_state(fake->dev) == VNR_RUNNING &&
	       !READ_ONCE(fake->dev->life.mute);
}

static void expect_works(struct kunit *test, struct fake *fake)
{
	fake->dev->ctrl.timeout = 20 * HZ;
	fake_start(fake, serve_ok);
	KUNIT_EXPECT_EQ(test, 0, call(fake, false));
	fake_stop(fake);
}

static u16 child_status(struct fake *fake)
{
	struct virtio_device *vdev = fake_vdev(fake);
	__le16 status;

	vdev->config->get(vdev, offsetof(struct virtio_net_config, status),
			  &status, sizeof(status));
	return le16_to_cpu(status);
}

static void set_link(struct fake *fake)
{
	*(__le16 *)(fake->config + offsetof(struct virtio_net_config, status)) =
		cpu_to_le16(VIRTIO_NET_S_LINK_UP);
}

/* A late answer: the device was only slow, is reset at once, and started again. */
static void recover_late_answer(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake;

	fake = life_dead(test, late);
	fake_interface(fake);
	vnr_recover_go_on(fake->dev, false);
	msleep(50);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	fake_give(fake, late, fake_len(late->in, late->nin));
	fake_interrupt(fake);
	KUNIT_ASSERT_TRUE(test, fake_wait(is_running(fake)));
	KUNIT_EXPECT_EQ(test, fake->resized, FAKE_RESIZES);
	expect_works(test, fake);
}

/* A device that gives back what it never got: nobody waits for it, and it starts again. */
static void recover_nonsense(struct kunit *test)
{
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct fake *fake;
	struct caller *c;

	fake = fake_running(test, FAKE_NET);
	fake_interface(fake);
	c = caller_start(fake, true);
	KUNIT_ASSERT_TRUE(test, fake_wait(fake_take(fake, cmd)));
	cmd->head = FAKE_NUM;
	fake_give(fake, cmd, 1);
	fake_interrupt(fake);
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_DEAD);
	KUNIT_EXPECT_EQ(test, -EIO, call(fake, false));
	/* With this lock it is not started before the caller has seen the reset. */
	device_lock(&fake_vdev(fake)->dev);
	vnr_recover_go_on(fake->dev, false);
	KUNIT_EXPECT_TRUE(test, fake_wait(caller_done(c)));
	device_unlock(&fake_vdev(fake)->dev);
	KUNIT_EXPECT_EQ(test, c->ret, -ENODEV);
	KUNIT_ASSERT_TRUE(test, fake_wait(is_running(fake)));
	KUNIT_EXPECT_EQ(test, fake->resized, FAKE_RESIZES);
	expect_works(test, fake);
}

/*
 * A device that stays silent is reset when its time is over, and left alone: neither its
 * configuration is read, nor is it started, until somebody says that it is back.
 */
static void recover_silent(struct kunit *test)
{
	struct fake_cmd *late = fake_cmds(test, 1);
	struct fake *fake;

	fake = life_dead(test, late);
	fake_interface(fake);
	set_link(fake);
	KUNIT_EXPECT_EQ(test, child_status(fake), 0);
	fake->dev->life.grace_ms = 20;
	vnr_recover_go_on(fake->dev, false);
	KUNIT_ASSERT_TRUE(test, fake_wait(vnr_life_state(fake->dev) ==
					  VNR_QUIESCED));
	flush_delayed_work(&fake->dev->life.recover);
	msleep(50);
	KUNIT_EXPECT_EQ(test, fake->resized, 0);
	KUNIT_EXPECT_EQ(test, child_status(fake), 0);
	KUNIT_EXPECT_EQ(test, -ENODEV, fake_negotiate(fake, FAKE_NET));

	vnr_recover_stop(fake->dev);
	vnr_recover_go_on(fake->dev, true);
	KUNIT_ASSERT_TRUE(test, fake_wait(is_running(fake)));
	KUNIT_EXPECT_TRUE(test, fake_wait(child_status(fake) ==
					  VIRTIO_NET_S_LINK_UP));
	expect_works(test, fake);
}

/* The link is up over the reset of a lost function, and of no other. */
static void recover_lost_link(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct vnr_dev *dev = fake->dev;

	fake_interface(fake);
	set_link(fake);
	/* Not lost. */
	KUNIT_EXPECT_FALSE(test, vnr_life_pause(dev, true));
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_RUNNING);
	KUNIT_EXPECT_TRUE(test, vnr_life_lose(dev));
	KUNIT_EXPECT_EQ(test, child_status(fake), VIRTIO_NET_S_LINK_UP);
	KUNIT_EXPECT_TRUE(test, vnr_life_pause(dev, true));
	KUNIT_EXPECT_EQ(test, vnr_life_state(dev), VNR_DEAD);
	KUNIT_EXPECT_TRUE(test, dev->life.mute);
	KUNIT_EXPECT_EQ(test, child_status(fake), VIRTIO_NET_S_LINK_UP);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(dev));
	KUNIT_EXPECT_EQ(test, child_status(fake), VIRTIO_NET_S_LINK_UP);
	/* A start that fails takes it down. */
	fake->no_memory = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, vnr_recover_restart(dev));
	KUNIT_EXPECT_EQ(test, child_status(fake), 0);
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(dev));
	KUNIT_EXPECT_EQ(test, child_status(fake), VIRTIO_NET_S_LINK_UP);

	KUNIT_EXPECT_TRUE(test, vnr_life_lose(dev));
	vnr_life_die(dev, true);
	KUNIT_EXPECT_EQ(test, child_status(fake), 0);
	KUNIT_EXPECT_EQ(test, 0, vnr_life_quiesce(dev));
}

/* virtio_net's rings lead nowhere, and each of its commands fails. */
static void expect_deaf(struct kunit *test, struct fake *fake)
{
	unsigned int len;
	u8 *buf;

	KUNIT_EXPECT_FALSE(test, is_running(fake));
	KUNIT_EXPECT_EQ(test, child_status(fake), 0);
	buf = child_speaks(test, fake, FAKE_QUIET);
	KUNIT_EXPECT_PTR_EQ(test, virtqueue_get_buf(fake->vqs[FAKE_CTRL], &len), (void *)buf);
	KUNIT_EXPECT_EQ(test, buf[32], VIRTIO_NET_ERR);
	KUNIT_EXPECT_EQ(test, fake_rung(fake), FAKE_QUIET);
}

/* Both rings of virtio_net are as large as they were, and known to the device. */
static void expect_rings(struct kunit *test, struct fake *fake)
{
	unsigned int i;

	for (i = 0; i < FAKE_CTRL; i++) {
		KUNIT_EXPECT_PTR_EQ(test, fake->dev->vqs[i], fake->vqs[i]);
		KUNIT_EXPECT_EQ(test, virtqueue_get_vring_size(fake->vqs[i]),
				FAKE_NUM);
		KUNIT_EXPECT_EQ(test, fake->vqs[i]->num_free, FAKE_NUM);
		KUNIT_EXPECT_FALSE(test, fake->vqs[i]->reset);
		KUNIT_EXPECT_FALSE(test, virtqueue_is_broken(fake->vqs[i]));
	}
}

/*
 * A restart that fails at any step leaves rings that nobody serves, and is repeated.  The
 * buffers that were in the rings are virtio_net's again.
 */
static void recover_fails(struct kunit *test)
{
	struct vnr_life *life;
	unsigned int step;
	struct fake *fake;

	for (step = 1; step <= FAKE_RESIZES; step++) {
		fake = fake_running(test, FAKE_NET);
		life = &fake->dev->life;
		fake_interface(fake);
		set_link(fake);
		fake->no_memory = step;
		vnr_recover_take_down(fake->dev);
		expect_deaf(test, fake);
		/* The next one comes in a minute, or when the test says so. */
		life->backoff_ms = 30 * MSEC_PER_SEC;
		vnr_recover_go_on(fake->dev, true);
		KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(fake->resized) >= step));
		flush_work(&life->recover.work);
		expect_deaf(test, fake);
		KUNIT_EXPECT_TRUE(test, delayed_work_pending(&life->recover));
		mod_delayed_work(system_unbound_wq, &life->recover, 0);
		KUNIT_ASSERT_TRUE(test, fake_wait(is_running(fake)));
		KUNIT_ASSERT_TRUE(test, fake_wait(child_status(fake) ==
						  VIRTIO_NET_S_LINK_UP));
		vnr_recover_stop(fake->dev);
		expect_rings(test, fake);
		KUNIT_EXPECT_EQ(test, fake->recycled, 2);
		expect_works(test, fake);
	}
}

/* In between it can be unbound, and bound again. */
static void recover_fails_unbind(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	fake->no_memory = 2;
	vnr_recover_take_down(fake->dev);
	KUNIT_EXPECT_EQ(test, -ENOMEM, vnr_recover_restart(fake->dev));
	expect_deaf(test, fake);
	fake_reset(fake);
	KUNIT_EXPECT_PTR_NE(test, virtqueue_detach_unused_buf(fake->vqs[0]),
			    (void *)NULL);
	fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
	fake->dev->life.mute = false;
	KUNIT_EXPECT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_EXPECT_EQ(test, 0, fake_find(fake, NULL));
	KUNIT_EXPECT_TRUE(test, is_running(fake));
	expect_works(test, fake);
}

/* A device with less than virtio_net has taken: virtio_net has to be bound anew. */
static void recover_offers_less(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	vnr_recover_take_down(fake->dev);
	fake_offer(fake, BIT_ULL(VIRTIO_F_VERSION_1));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, vnr_restart(fake->dev));
	expect_deaf(test, fake);
	/* RoCE bits that are missing do not prevent it: bits 17 and 49, 0 and 32, not 23 and 55. */
	fake_offer(fake, FAKE_NET);
	KUNIT_EXPECT_EQ(test, 0, vnr_restart(fake->dev));
	KUNIT_EXPECT_TRUE(test, is_running(fake));
	KUNIT_EXPECT_FALSE(test, fake->dev->roce);
	KUNIT_EXPECT_NULL(test, fake->dev->queues);
	/* And it is back. */
	vnr_recover_take_down(fake->dev);
	fake_offer(fake, ~0ULL);
	KUNIT_EXPECT_EQ(test, 0, vnr_restart(fake->dev));
	KUNIT_EXPECT_TRUE(test, fake->dev->roce);
	KUNIT_EXPECT_NOT_NULL(test, fake->dev->queues);
	expect_works(test, fake);
}

/* virtio_net may replace a ring during a restart only. */
static void recover_resize(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);

	KUNIT_EXPECT_EQ(test, -ENOENT,
			virtqueue_resize(fake->vqs[0], FAKE_NUM / 2, NULL, NULL));
	expect_rings(test, fake);
	fake_interface(fake);
	/* As a device that wrote nonsense leaves it. */
	__virtqueue_break(fake->vqs[0]);
	vnr_recover_take_down(fake->dev);
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(fake->dev));
	KUNIT_EXPECT_EQ(test, fake->resized, FAKE_RESIZES);
	expect_rings(test, fake);
	/* The device looks at each ring that was filled meanwhile. */
	KUNIT_EXPECT_EQ(test, fake_rung(fake), FAKE_CTRL);
	KUNIT_EXPECT_EQ(test, -ENOENT,
			virtqueue_resize(fake->vqs[0], FAKE_NUM / 2, NULL, NULL));
	expect_rings(test, fake);
	expect_works(test, fake);
}

/* ----- what changes with the state ----- */

#define ONLOOKS	300

/* Another processor looks at a function that dies. */
struct onlooker {
	struct fake *fake;
	unsigned int seen;
	unsigned int over;
	unsigned int early;
};

static int onlooker_thread(void *data)
{
	struct onlooker *o = data;

	while (!kthread_should_stop()) {
		if (vnr_life_state(o->fake->dev) != VNR_DEAD)
			continue;
		if (!READ_ONCE(o->fake->dev->life.mute))
			o->early++;
		WRITE_ONCE(o->seen, o->seen + 1);
		while (vnr_life_state(o->fake->dev) == VNR_DEAD &&
		       !kthread_should_stop())
			cond_resched();
		WRITE_ONCE(o->over, o->seen);
	}
	return 0;
}

/* All that belongs to a death is there when it is seen. */
static void life_flags_first(struct kunit *test)
{
	struct onlooker o = { .fake = fake_running(test, FAKE_NET) };
	struct vnr_life *life = &o.fake->dev->life;
	struct task_struct *task;
	unsigned int i, seen;

	task = kthread_run(onlooker_thread, &o, "onlooker");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	for (i = 0; i < ONLOOKS; i++) {
		seen = READ_ONCE(o.seen);
		vnr_life_die(o.fake->dev, true);
		if (!fake_wait(READ_ONCE(o.seen) != seen))
			break;
		life->mute = false;
		/* As it was before. */
		smp_store_release(&life->state, VNR_RUNNING);
		if (!fake_wait(READ_ONCE(o.over) == seen + 1))
			break;
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, i, ONLOOKS);
	KUNIT_EXPECT_EQ(test, o.early, 0);
}

/*
 * PCI errors as the core reports them: one that needs no reset changes nothing, one that
 * does takes the function down until the core is done.
 */
static void recover_pci_error(struct kunit *test)
{
	const struct pci_error_handlers *handlers = &vnr_error_handlers;
	struct fake *fake;

	fake = fake_running(test, FAKE_NET);
	fake_interface(fake);
	fake->dev->life.stopped = false;
	pci_set_drvdata(fake->pdev, fake->dev);
	pci_save_state(fake->pdev);

	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_CAN_RECOVER ==
			  handlers->error_detected(fake->pdev,
						   pci_channel_io_normal));
	handlers->resume(fake->pdev);
	KUNIT_EXPECT_TRUE(test, is_running(fake));
	KUNIT_EXPECT_EQ(test, fake->resized, 0);

	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_NEED_RESET ==
			  handlers->error_detected(fake->pdev,
						   pci_channel_io_frozen));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	msleep(50);
	KUNIT_EXPECT_EQ(test, fake->resized, 0);
	/* A reset of the bus clears this. */
	memset(&fake->cfg[PCI_COMMAND], 0, sizeof(u16));
	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_RECOVERED ==
			  handlers->slot_reset(fake->pdev));
	handlers->resume(fake->pdev);
	KUNIT_ASSERT_TRUE(test, fake_wait(is_running(fake)));
	KUNIT_EXPECT_NE(test, fake_command(fake) & PCI_COMMAND_MASTER, 0);
	expect_works(test, fake);

	KUNIT_EXPECT_TRUE(test, PCI_ERS_RESULT_DISCONNECT ==
			  handlers->error_detected(fake->pdev,
						   pci_channel_io_perm_failure));
	KUNIT_EXPECT_EQ(test, vnr_life_state(fake->dev), VNR_QUIESCED);
	pci_set_drvdata(fake->pdev, NULL);
}

/* Has the child's driver been told of a change since this was asked last? */
static bool was_told(struct fake *fake)
{
	struct virtio_device *vdev = fake_vdev(fake);
	bool told = vdev->config_change_pending;

	vdev->config_change_pending = false;
	return told;
}

/* The watchdog: the device asks for a reset, or it is gone. */
static void recover_watch(struct kunit *test)
{
	struct fake *fake;

	fake = fake_create(test);
	fake_interface(fake);
	fake->dev->life.watch_ms = 20;
	fake->dev->life.stopped = false;
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	__virtio_set_bit(fake_vdev(fake), VIRTIO_NET_F_STATUS);
	WRITE_ONCE(fake->dev->child->unread, true);
	was_told(fake);
	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(fake_vdev(fake)->config_change_pending)));
	__virtio_clear_bit(fake_vdev(fake), VIRTIO_NET_F_STATUS);
	KUNIT_EXPECT_TRUE(test, is_running(fake));
	fake->common->device_status |= VIRTIO_CONFIG_S_NEEDS_RESET;
	KUNIT_ASSERT_TRUE(test, fake_wait(READ_ONCE(fake->resized) == FAKE_RESIZES &&
					  is_running(fake)));
	expect_works(test, fake);

	fake->gone = true;
	KUNIT_ASSERT_TRUE(test, fake_wait(vnr_life_state(fake->dev) ==
					  VNR_QUIESCED));
	vnr_recover_stop(fake->dev);
	fake->gone = false;
}

/*
 * virtio_net forgets a change if its interface is closed before it has looked.  It is told again
 * until it reads the status.
 */
static void recover_link_forgotten(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct vnr_dev *dev = fake->dev;
	u8 mac[ETH_ALEN];

	__virtio_set_bit(fake_vdev(fake), VIRTIO_NET_F_STATUS);
	child_status(fake);
	was_told(fake);
	vnr_child_remind(dev);
	KUNIT_EXPECT_FALSE(test, was_told(fake));

	fake->common->config_generation++;
	vnr_config_work(&dev->config_work.work);
	KUNIT_EXPECT_TRUE(test, was_told(fake));
	vnr_child_remind(dev);
	KUNIT_EXPECT_TRUE(test, was_told(fake));
	/* Its address is not its status. */
	fake_vdev(fake)->config->get(fake_vdev(fake), 0, mac, sizeof(mac));
	vnr_child_remind(dev);
	KUNIT_EXPECT_TRUE(test, was_told(fake));
	child_status(fake);
	vnr_child_remind(dev);
	KUNIT_EXPECT_FALSE(test, was_told(fake));
}

static struct kunit_case life_cases[] = {
	KUNIT_CASE(life_transitions),
	KUNIT_CASE(life_starting),
	KUNIT_CASE(life_settle),
	KUNIT_CASE(life_waiters),
	KUNIT_CASE(life_lost),
	KUNIT_CASE(life_lost_leaving),
	KUNIT_CASE(life_no_reset),
	KUNIT_CASE(life_no_reset_at_all),
	KUNIT_CASE(life_leaving),
	KUNIT_CASE(life_leaving_waiter),
	KUNIT_CASE(life_leaving_stuck),
	KUNIT_CASE(life_reset_waits),
	KUNIT_CASE(life_gone),
	KUNIT_CASE(life_again),
	KUNIT_CASE(life_flags_first),
	KUNIT_CASE(recover_late_answer),
	KUNIT_CASE(recover_nonsense),
	KUNIT_CASE(recover_silent),
	KUNIT_CASE(recover_lost_link),
	KUNIT_CASE(recover_fails),
	KUNIT_CASE(recover_fails_unbind),
	KUNIT_CASE(recover_offers_less),
	KUNIT_CASE(recover_resize),
	KUNIT_CASE(recover_pci_error),
	KUNIT_CASE(recover_watch),
	KUNIT_CASE(recover_link_forgotten),
	{}
};

static struct kunit_suite life_suite = {
	.name = "virtio_net_roce_life",
	.test_cases = life_cases,
};

kunit_test_suite(life_suite);
