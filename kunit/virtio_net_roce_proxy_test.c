// SPDX-License-Identifier: GPL-2.0
/*
 * The proxy carries commands of virtio_net from the shadow of the control queue to the
 * real one, and answers back.  The test plays virtio_net on one side and the device on
 * the other.
 */
#include <linux/kthread.h>
#include <linux/virtio_ring.h>

#include "../drivers/net/virtio_net_roce/vnr_ctrl.h"
#include "virtio_net_roce_fake.h"

/* How long virtio_net still spins in a test of a device that does not answer. */
#define STALL_NS	(300 * NSEC_PER_MSEC)

/* A class of the standard's, and a command of it. */
#define ETH_CLASS		VIRTIO_NET_CTRL_MAC
#define CMD		VIRTIO_NET_CTRL_MAC_ADDR_SET

#define IN_MAX		64

/**
 * struct eth - a command of virtio_net
 * @hdr: class and command
 * @data: what comes after it
 * @in: what the device writes: ack, and an answer if it has one
 */
struct eth {
	struct virtio_net_ctrl_hdr hdr;
	u8 data[24];
	u8 in[IN_MAX];
};

static struct virtqueue *shadow(struct fake *fake)
{
	return fake->vqs[FAKE_CTRL];
}

static struct eth *eth_new(struct kunit *test, u8 seed)
{
	struct eth *eth = kunit_kzalloc(test, sizeof(*eth), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, eth);
	eth->hdr.class = ETH_CLASS;
	eth->hdr.cmd = seed;
	for (i = 0; i < sizeof(eth->data); i++)
		eth->data[i] = seed + i;
	memset(eth->in, 0xee, sizeof(eth->in));
	return eth;
}

/* Header, @len bytes, and an answer of @in_len bytes, ack included. */
static void eth_add(struct kunit *test, struct fake *fake, struct eth *eth,
		    u32 len, u32 in_len)
{
	struct scatterlist hdr, data, in, *sgs[3];
	unsigned int n = 0;

	sg_init_one(&hdr, &eth->hdr, sizeof(eth->hdr));
	sgs[n++] = &hdr;
	if (len) {
		sg_init_one(&data, eth->data, len);
		sgs[n++] = &data;
	}
	sg_init_one(&in, eth->in, in_len);
	sgs[n] = &in;
	KUNIT_ASSERT_EQ(test, 0, virtqueue_add_sgs(shadow(fake), sgs, n, 1, eth,
						   GFP_ATOMIC));
}

static void eth_send(struct kunit *test, struct fake *fake, struct eth *eth,
		     u32 len, u32 in_len)
{
	eth_add(test, fake, eth, len, in_len);
	KUNIT_EXPECT_TRUE(test, virtqueue_kick(shadow(fake)));
}

static struct eth *eth_done(struct fake *fake, u32 *len)
{
	return virtqueue_get_buf(shadow(fake), len);
}

/* Answer with a byte for the ack and @n more. */
static void answer(struct fake *fake, const struct fake_cmd *cmd, u8 ack, u8 seed,
		   u32 n)
{
	u8 in[IN_MAX] = { ack };
	u32 i;

	for (i = 0; i < n; i++)
		in[1 + i] = seed + i;
	fake_scatter(cmd->in, cmd->nin, in, 1 + n);
	fake_give(fake, cmd, 1 + n);
	fake_interrupt(fake);
}

/* ----- there and back ----- */

static void expect_forwarded(struct kunit *test, struct fake *fake)
{
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct eth *eth = eth_new(test, CMD);
	u8 data[sizeof(eth->data)];
	u32 len;

	eth_send(test, fake, eth, 6, 1);
	KUNIT_EXPECT_NULL(test, eth_done(fake, &len));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));

	/* Header, data and ack in descriptors of their own. */
	KUNIT_ASSERT_EQ(test, cmd->nout, 2);
	KUNIT_ASSERT_EQ(test, cmd->nin, 1);
	KUNIT_EXPECT_EQ(test, cmd->out[0].len, 2);
	KUNIT_EXPECT_EQ(test, cmd->out[1].len, 6);
	KUNIT_EXPECT_EQ(test, cmd->in[0].len, 1);
	KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)cmd->out[0].addr, 8));
	KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)cmd->out[1].addr, 8));
	KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)cmd->in[0].addr, 8));
	KUNIT_EXPECT_MEMEQ(test, cmd->out[0].addr, &eth->hdr, 2);
	KUNIT_EXPECT_EQ(test, 6, fake_gather(cmd->out + 1, 1, data, sizeof(data)));
	KUNIT_EXPECT_MEMEQ(test, data, eth->data, 6);

	/* These are copies: the device must not write to virtio_net's memory. */
	KUNIT_EXPECT_PTR_NE(test, cmd->out[1].addr, (void *)eth->data);
	KUNIT_EXPECT_PTR_NE(test, cmd->in[0].addr, (void *)eth->in);

	answer(fake, cmd, VIRTIO_NET_OK, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
	KUNIT_EXPECT_EQ(test, len, 1);
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_OK);
	KUNIT_EXPECT_EQ(test, eth->in[1], 0xee);
	KUNIT_EXPECT_NULL(test, eth_done(fake, &len));
}

static void proxy_forward(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	unsigned int i;

	/* More often than either ring has entries. */
	for (i = 0; i < 2 * FAKE_NUM + 3; i++)
		expect_forwarded(test, fake);
}

static void proxy_forward_indirect(struct kunit *test)
{
	expect_forwarded(test, fake_running(test, FAKE_NET |
				BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC)));
}

/* virtio_net sends with bottom halves off, so nothing may sleep. */
static void proxy_atomic(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct eth *eth = eth_new(test, CMD);
	u32 len;

	eth_add(test, fake, eth, 6, 1);
	local_bh_disable();
	virtqueue_kick(shadow(fake));
	local_bh_enable();
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	answer(fake, cmd, VIRTIO_NET_ERR, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_ERR);
}

/* Several at once, answered in another order. */
static void proxy_several(struct kunit *test)
{
	static const u8 order[] = { 2, 0, 3, 1 };
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 4);
	struct eth *eth[4];
	unsigned int i, n;
	u32 len;

	for (i = 0; i < 4; i++) {
		eth[i] = eth_new(test, i);
		eth_send(test, fake, eth[i], i, 1 + i);
	}
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[i]));
		KUNIT_EXPECT_EQ(test, ((u8 *)cmd[i].out[0].addr)[1], i);
		KUNIT_EXPECT_EQ(test, i, fake_len(cmd[i].out + 1,
						  cmd[i].nout - 1));
		KUNIT_EXPECT_EQ(test, 1 + i, fake_len(cmd[i].in, cmd[i].nin));
	}
	for (i = 0; i < 4; i++) {
		n = order[i];
		answer(fake, &cmd[n], n & 1, 0x40 + n, n);
		KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth[n]);
		KUNIT_EXPECT_EQ(test, len, 1 + n);
		KUNIT_EXPECT_EQ(test, eth[n]->in[0], n & 1);
		if (n)
			KUNIT_EXPECT_EQ(test, eth[n]->in[1], 0x40 + n);
		KUNIT_EXPECT_EQ(test, eth[n]->in[1 + n], 0xee);
	}
}

static unsigned int called;

static void count_call(struct virtqueue *vq)
{
	called++;
}

/* A child that waits for an interrupt gets one. */
static void proxy_callback(struct kunit *test)
{
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct fake *fake = fake_create(test);
	struct eth *eth = eth_new(test, CMD);
	u32 len;

	called = 0;
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, count_call));
	eth_send(test, fake, eth, 6, 1);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	KUNIT_EXPECT_EQ(test, called, 0);
	answer(fake, cmd, VIRTIO_NET_OK, 0, 0);
	KUNIT_EXPECT_EQ(test, called, 1);
	KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
}

/* ----- what cannot be forwarded ----- */

static void expect_refused(struct kunit *test, struct fake *fake,
			   struct eth *eth, u8 ack)
{
	struct fake_cmd *cmd = fake_cmds(test, 1);
	u32 len;

	KUNIT_EXPECT_FALSE(test, fake_take(fake, cmd));
	KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
	KUNIT_EXPECT_EQ(test, eth->in[0], ack);
	KUNIT_EXPECT_EQ(test, eth->in[1], 0xee);
}

static void proxy_too_many_segments(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct eth *eth = eth_new(test, CMD);
	struct scatterlist out[12], in, *sgs[] = { out, &in };
	unsigned int i;

	sg_init_table(out, ARRAY_SIZE(out));
	for (i = 0; i < ARRAY_SIZE(out); i++)
		sg_set_buf(&out[i], &eth->data[i], 1);
	sg_init_one(&in, eth->in, 1);
	KUNIT_ASSERT_EQ(test, 0, virtqueue_add_sgs(shadow(fake), sgs, 1, 1, eth,
						   GFP_ATOMIC));
	virtqueue_kick(shadow(fake));
	expect_refused(test, fake, eth, VIRTIO_NET_ERR);
	expect_forwarded(test, fake);
}

static void proxy_too_long(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct scatterlist hdr, data, in, *sgs[] = { &hdr, &data, &in };
	struct eth *eth = eth_new(test, CMD);
	void *big;

	big = kunit_kzalloc(test, SZ_64K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, big);
	sg_init_one(&hdr, &eth->hdr, sizeof(eth->hdr));
	sg_init_one(&data, big, SZ_64K);
	sg_init_one(&in, eth->in, 1);
	KUNIT_ASSERT_EQ(test, 0, virtqueue_add_sgs(shadow(fake), sgs, 2, 1, eth,
						   GFP_ATOMIC));
	virtqueue_kick(shadow(fake));
	expect_refused(test, fake, eth, VIRTIO_NET_ERR);
	expect_forwarded(test, fake);
}

/* A broken ring: the chain is refused, and nothing outside is read. */
static void proxy_bad_chain(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	const struct vring *vring = virtqueue_get_vring(shadow(fake));
	struct eth *eth = eth_new(test, CMD);
	u16 head;

	/* Beyond the table. */
	eth_add(test, fake, eth, 6, 1);
	head = (__force u16)vring->avail->ring[0];
	vring->desc[head].next = (__force __virtio16)0x7fff;
	virtqueue_kick(shadow(fake));
	vring->desc[head].next = (__force __virtio16)(head + 1);
	expect_refused(test, fake, eth, 0xee);

	/* In a circle. */
	eth_add(test, fake, eth, 6, 1);
	head = (__force u16)vring->avail->ring[1];
	vring->desc[head].next = (__force __virtio16)head;
	virtqueue_kick(shadow(fake));
	vring->desc[head].next = (__force __virtio16)(head + 1);
	expect_refused(test, fake, eth, 0xee);
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

/* No room on the real queue: an error at once, because virtio_net cannot wait. */
static void proxy_full(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct fake_cmd *cmd = fake_cmds(test, 8);
	unsigned int i, sent = 0, failed = 0, n = 0;
	struct eth *eth[8], *done;
	u32 len;

	fake->common->queue_size = cpu_to_le16(16);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	for (i = 0; i < 8; i++) {
		eth[i] = eth_new(test, i);
		eth_send(test, fake, eth[i], 6, 1);
	}
	while (n < 8 && fake_take(fake, &cmd[n]))
		n++;
	KUNIT_EXPECT_EQ(test, n, 16 / 3);
	while ((done = eth_done(fake, &len))) {
		KUNIT_EXPECT_EQ(test, done->in[0], VIRTIO_NET_ERR);
		failed++;
	}
	KUNIT_EXPECT_EQ(test, failed, 8 - n);
	for (i = 0; i < n; i++)
		answer(fake, &cmd[i], VIRTIO_NET_OK, 0, 0);
	while ((done = eth_done(fake, &len))) {
		KUNIT_EXPECT_EQ(test, done->in[0], VIRTIO_NET_OK);
		sent++;
	}
	KUNIT_EXPECT_EQ(test, sent, n);
}

/* ----- silence ----- */

static void *wait_done(struct fake *fake, u32 *len)
{
	void *p;

	fake_wait(!!(p = eth_done(fake, len)));
	return p;
}

/*
 * Lets the time of all commands that were sent be over in STALL_NS.  A time as short as that
 * from the start would have commands refused that are sent after it: the host of this machine
 * may give its processors to others for long.
 */
static void stall_soon(struct fake *fake)
{
	struct vnr_ctrl *ctrl = &fake->dev->ctrl;
	ktime_t due = ktime_add_ns(ktime_get(), STALL_NS);
	struct vnr_ctrl_cmd *cmd;
	unsigned long flags;

	spin_lock_irqsave(&ctrl->shadow_lock, flags);
	list_for_each_entry(cmd, &ctrl->proxied, node)
		cmd->deadline = due;
	hrtimer_start(&ctrl->stall, due, HRTIMER_MODE_ABS_HARD);
	spin_unlock_irqrestore(&ctrl->shadow_lock, flags);
}

/*
 * The device does not answer: virtio_net gets an error when the timer has run out, and a
 * late answer does not touch freed memory.
 */
static void proxy_stall(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 3);
	struct virtio_net_roce_cmd exec = { };
	struct eth *eth[2];
	unsigned int i;
	u64 start;
	u32 len;

	for (i = 0; i < 2; i++) {
		eth[i] = eth_new(test, i);
		eth_send(test, fake, eth[i], 6, 9);
	}
	start = ktime_get_ns();
	stall_soon(fake);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_PTR_EQ(test, wait_done(fake, &len), eth[i]);
		KUNIT_EXPECT_EQ(test, len, 1);
		KUNIT_EXPECT_EQ(test, eth[i]->in[0], VIRTIO_NET_ERR);
		KUNIT_EXPECT_EQ(test, eth[i]->in[1], 0xee);
	}
	KUNIT_EXPECT_GE(test, ktime_get_ns() - start, STALL_NS);
	KUNIT_EXPECT_TRUE(test, fake->dev->ctrl.dead);

	/* The device still has both, and finally answers one. */
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[0]));
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[1]));
	fake_gather(cmd[1].out, cmd[1].nout, eth[1]->data, 8);
	kunit_kfree(test, eth[0]);
	answer(fake, &cmd[0], VIRTIO_NET_OK, 0x55, 8);
	KUNIT_EXPECT_NULL(test, eth_done(fake, &len));

	/* The queue is dead until reset, for both users. */
	eth_send(test, fake, eth[1], 6, 1);
	expect_refused(test, fake, eth[1], VIRTIO_NET_ERR);
	KUNIT_EXPECT_EQ(test, -EIO, vnr_ctrl_exec(fake->dev, &exec));
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[2]));
	fake_scatter(cmd[1].in, cmd[1].nin, "late", 4);
}

/* The answer is there; only its interrupt was lost. */
static void proxy_lost_interrupt(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct eth *eth = eth_new(test, CMD);
	u8 ok = VIRTIO_NET_OK;
	u32 len;

	eth_send(test, fake, eth, 6, 1);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	fake_scatter(cmd->in, cmd->nin, &ok, 1);
	fake_give(fake, cmd, 1);
	stall_soon(fake);
	KUNIT_EXPECT_PTR_EQ(test, wait_done(fake, &len), eth);
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_OK);
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
	expect_forwarded(test, fake);
}

/* The timer starts anew for each command. */
static void proxy_stall_restarts(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct eth *eth;
	unsigned int i;
	ktime_t sent;
	u32 len;

	fake->dev->ctrl.stall_ns = 10 * NSEC_PER_SEC;
	for (i = 0; i < 8; i++) {
		eth = eth_new(test, i);
		sent = ktime_get();
		eth_send(test, fake, eth, 6, 1);
		KUNIT_EXPECT_GE(test, hrtimer_get_expires(&fake->dev->ctrl.stall),
				ktime_add_ns(sent, fake->dev->ctrl.stall_ns));
		msleep(100);
		KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
		answer(fake, cmd, VIRTIO_NET_OK, 0, 0);
		KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
		KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_OK);
	}
	/* No timer runs when no answer is due. */
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&fake->dev->ctrl.stall));
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
}

/*
 * A command is answered at the last moment, when the next one has been sent already: the
 * timer must not count for the next one.
 */
static void proxy_stall_fresh(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 1);
	struct eth *eth = eth_new(test, CMD);
	u32 len;

	eth_send(test, fake, eth, 6, 1);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, cmd));
	irq_work_queue(&fake->dev->ctrl.stall_work);
	irq_work_sync(&fake->dev->ctrl.stall_work);
	KUNIT_EXPECT_FALSE(test, fake->dev->ctrl.dead);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&fake->dev->ctrl.stall));
	answer(fake, cmd, VIRTIO_NET_OK, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth);
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_OK);
}

/* Later commands that are answered give no more time to one that is not. */
static void proxy_stall_oldest(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct fake_cmd *cmd = fake_cmds(test, 2);
	struct eth *eth = eth_new(test, CMD);
	unsigned int i;
	ktime_t due;

	eth_send(test, fake, eth, 6, 1);
	KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[0]));
	due = hrtimer_get_expires(&fake->dev->ctrl.stall);
	for (i = 0; i < 8; i++) {
		eth_send(test, fake, eth_new(test, i), 6, 1);
		KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&fake->dev->ctrl.stall), due);
		KUNIT_ASSERT_TRUE(test, fake_take(fake, &cmd[1]));
		answer(fake, &cmd[1], VIRTIO_NET_OK, 0, 0);
		KUNIT_EXPECT_TRUE(test, hrtimer_active(&fake->dev->ctrl.stall));
		KUNIT_EXPECT_EQ(test, hrtimer_get_expires(&fake->dev->ctrl.stall), due);
	}
	KUNIT_EXPECT_EQ(test, eth->in[0], 0xee);
	answer(fake, &cmd[0], VIRTIO_NET_OK, 0, 0);
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_OK);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&fake->dev->ctrl.stall));
}

/* The function goes while a command is due; KASAN and kmemleak look on. */
static void proxy_teardown(struct kunit *test)
{
	struct fake *fake = fake_running(test, FAKE_NET);
	struct eth *eth = eth_new(test, CMD);

	eth_send(test, fake, eth, 6, 1);
	eth_send(test, fake, eth_new(test, 2), 6, 1);
	fake_reset(fake);
	fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
	KUNIT_EXPECT_EQ(test, eth->in[0], VIRTIO_NET_ERR);
	KUNIT_EXPECT_NULL(test, fake->dev->ctrl.vq);
	KUNIT_EXPECT_NULL(test, fake->dev->ctrl.shadow);
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev->ctrl.proxied));
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&fake->dev->ctrl.stall));

	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	expect_forwarded(test, fake);
}

/* RoCE commands leave room for Ethernet's. */
static int exec_thread(void *data)
{
	struct fake *fake = data;
	struct virtio_net_roce_cmd cmd = { .command = 1 };

	vnr_ctrl_exec(fake->dev, &cmd);
	return 0;
}

static void proxy_reserve(struct kunit *test)
{
	struct fake *fake = fake_create(test);
	struct fake_cmd *cmd = fake_cmds(test, 16);
	struct task_struct *task[12];
	struct eth *eth[2];
	unsigned int i, n = 0;
	u32 len;

	fake->common->queue_size = cpu_to_le16(16);
	KUNIT_ASSERT_EQ(test, 0, fake_negotiate(fake, FAKE_NET));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	for (i = 0; i < ARRAY_SIZE(task); i++) {
		task[i] = kthread_create(exec_thread, fake, "reserve-%u", i);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task[i]);
		get_task_struct(task[i]);
		wake_up_process(task[i]);
	}
	/* Header and ack are two of the four descriptors reserved for the proxy. */
	KUNIT_EXPECT_TRUE(test, fake_wait((n += fake_take(fake, &cmd[n])) == 2));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, fake_take(fake, &cmd[n]));

	for (i = 0; i < 2; i++) {
		eth[i] = eth_new(test, i);
		eth_send(test, fake, eth[i], 6, 1);
		KUNIT_EXPECT_TRUE(test, fake_take(fake, &cmd[2 + i]));
		KUNIT_EXPECT_EQ(test, *(u8 *)cmd[2 + i].out[0].addr, ETH_CLASS);
	}
	for (i = 0; i < 2; i++) {
		answer(fake, &cmd[2 + i], VIRTIO_NET_OK, 0, 0);
		KUNIT_EXPECT_PTR_EQ(test, eth_done(fake, &len), eth[i]);
	}
	vnr_ctrl_abandon(fake->dev);
	for (i = 0; i < 2; i++)
		answer(fake, &cmd[i], VIRTIO_NET_OK, 0, 0);
	for (i = 0; i < ARRAY_SIZE(task); i++)
		kthread_stop_put(task[i]);
}

/* ----- what a device that was reset is told again ----- */

/* A command: its class and number, and the first 16 bits after them. */
struct told {
	u8 class;
	u8 cmd;
	u16 number;
};

static struct {
	struct told got[16];
	unsigned int n;
	/* The device does not take the command at this place; -1 for none. */
	int refuse;
	/* virtio_net says another thing at this place. */
	int meanwhile;
	struct told other;
	struct eth *eth;
} told;

static void tell(struct kunit *test, struct fake *fake, struct eth *eth,
		 const struct told *t)
{
	eth->hdr.class = t->class;
	eth->hdr.cmd = t->cmd;
	memcpy(eth->data, &t->number, sizeof(t->number));
	eth_send(test, fake, eth, sizeof(t->number), 1);
}

static int serve_told(struct fake *fake, struct fake_cmd *cmd)
{
	u8 ack = told.n == told.refuse ? VIRTIO_NET_ERR : VIRTIO_NET_OK;

	if (told.n < ARRAY_SIZE(told.got))
		fake_gather(cmd->out, cmd->nout, &told.got[told.n],
			    sizeof(struct told));
	if (told.n == told.meanwhile)
		tell(fake->test, fake, told.eth, &told.other);
	WRITE_ONCE(told.n, told.n + 1);
	fake_scatter(cmd->in, cmd->nin, &ack, 1);
	return 1;
}

static void told_begin(void)
{
	memset(&told, 0, sizeof(told));
	told.refuse = -1;
	told.meanwhile = -1;
}

static void tell_all(struct kunit *test, struct fake *fake,
		     const struct told *all, unsigned int n)
{
	struct eth *eth;
	unsigned int i;
	u32 len;

	for (i = 0; i < n; i++) {
		eth = eth_new(test, 0);
		tell(test, fake, eth, &all[i]);
		KUNIT_ASSERT_PTR_EQ(test, wait_done(fake, &len), eth);
	}
}

/* Checks what the device got since told_begin(). */
static void expect_told(struct kunit *test, const struct told *all,
			unsigned int n)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, fake_wait(READ_ONCE(told.n) >= n));
	KUNIT_ASSERT_EQ(test, told.n, n);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ_MSG(test, told.got[i].class, all[i].class, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, told.got[i].cmd, all[i].cmd, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, told.got[i].number, all[i].number, "%u", i);
	}
}

/* The device has nothing to do, and so does not look at a queue that goes. */
static void told_down(struct kunit *test, struct fake *fake)
{
	KUNIT_EXPECT_TRUE(test, fake_wait(!READ_ONCE(fake->awake)));
	vnr_recover_take_down(fake->dev);
}

static void told_restart(struct kunit *test, struct fake *fake)
{
	told_down(test, fake);
	told_begin();
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(fake->dev));
}

#define RX(cmd, n)	{ VIRTIO_NET_CTRL_RX, VIRTIO_NET_CTRL_RX_##cmd, n }
#define MAC(cmd, n)	{ VIRTIO_NET_CTRL_MAC, VIRTIO_NET_CTRL_MAC_##cmd, n }
#define VLAN(cmd, n)	{ VIRTIO_NET_CTRL_VLAN, VIRTIO_NET_CTRL_VLAN_##cmd, n }
#define MQ(cmd, n)	{ VIRTIO_NET_CTRL_MQ, VIRTIO_NET_CTRL_MQ_##cmd, n }
#define OFFLOADS(n)	{ VIRTIO_NET_CTRL_GUEST_OFFLOADS, \
			  VIRTIO_NET_CTRL_GUEST_OFFLOADS_SET, n }

/*
 * The last of each kind, in the order in which it was said.  Not what only asks or
 * confirms, not what the device did not take, not what was undone.
 */
static void proxy_told_again(struct kunit *test)
{
	static const struct told first[] = {
		MQ(VQ_PAIRS_SET, 2), RX(PROMISC, 1), RX(ALLMULTI, 1),
		MAC(TABLE_SET, 1), MAC(ADDR_SET, 0x5254), VLAN(ADD, 7),
		VLAN(ADD, 8), VLAN(ADD, 9), OFFLOADS(3), RX(PROMISC, 0),
		{ VIRTIO_NET_CTRL_ANNOUNCE, VIRTIO_NET_CTRL_ANNOUNCE_ACK, 0 },
		MQ(RSS_CONFIG, 5), MQ(HASH_CONFIG, 6), VLAN(DEL, 8),
		OFFLOADS(1),
		/* Statistics. */
		{ 8, 0, 0 },
	};
	static const struct told again[] = {
		MQ(VQ_PAIRS_SET, 2), RX(ALLMULTI, 1), MAC(TABLE_SET, 1),
		MAC(ADDR_SET, 0x5254), VLAN(ADD, 7), VLAN(ADD, 9),
		RX(PROMISC, 0), MQ(RSS_CONFIG, 5), MQ(HASH_CONFIG, 6),
		OFFLOADS(1),
	};
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	told_begin();
	fake_start(fake, serve_told);
	tell_all(test, fake, first, ARRAY_SIZE(first));
	told_restart(test, fake);
	expect_told(test, again, ARRAY_SIZE(again));
	/* And once more, though the device does not take one of them. */
	told_down(test, fake);
	told_begin();
	told.refuse = 2;
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(fake->dev));
	expect_told(test, again, ARRAY_SIZE(again));
	told_restart(test, fake);
	expect_told(test, again, ARRAY_SIZE(again));
	fake_stop(fake);
}

/* A setting that the device refuses is not repeated; the older one is. */
static void proxy_told_refused(struct kunit *test)
{
	static const struct told first[] = {
		MAC(ADDR_SET, 1), MAC(ADDR_SET, 2),
	};
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	told_begin();
	told.refuse = 1;
	fake_start(fake, serve_told);
	tell_all(test, fake, first, ARRAY_SIZE(first));
	told_restart(test, fake);
	expect_told(test, first, 1);
	fake_stop(fake);
}

/*
 * While the function is down each command fails.  virtio_net does not look at the result
 * of some, which are told when it is up again.
 */
static void proxy_told_while_down(struct kunit *test)
{
	static const struct told up[] = { MAC(ADDR_SET, 1), VLAN(ADD, 7) };
	static const struct told down[] = {
		MAC(ADDR_SET, 2), VLAN(ADD, 8), VLAN(DEL, 7), RX(PROMISC, 1),
		MQ(VQ_PAIRS_SET, 4),
	};
	static const struct told again[] = {
		MAC(ADDR_SET, 1), VLAN(ADD, 8), RX(PROMISC, 1),
	};
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	told_begin();
	fake_start(fake, serve_told);
	tell_all(test, fake, up, ARRAY_SIZE(up));
	told_down(test, fake);
	tell_all(test, fake, down, ARRAY_SIZE(down));
	told_begin();
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(fake->dev));
	expect_told(test, again, ARRAY_SIZE(again));
	fake_stop(fake);
}

/* virtio_net says another thing while the old one is repeated: the new one is the last. */
static void proxy_told_meanwhile(struct kunit *test)
{
	static const struct told up[] = { RX(PROMISC, 1), VLAN(ADD, 7) };
	static const struct told again[] = {
		RX(PROMISC, 1), VLAN(DEL, 7), VLAN(ADD, 7), VLAN(DEL, 7),
	};
	struct fake *fake = fake_running(test, FAKE_NET);
	u32 len;

	fake_interface(fake);
	told_begin();
	fake_start(fake, serve_told);
	tell_all(test, fake, up, ARRAY_SIZE(up));
	told_down(test, fake);
	told_begin();
	told.meanwhile = 0;
	told.other = (struct told)VLAN(DEL, 7);
	told.eth = eth_new(test, 0);
	KUNIT_EXPECT_EQ(test, 0, vnr_recover_restart(fake->dev));
	KUNIT_EXPECT_PTR_EQ(test, wait_done(fake, &len), told.eth);
	/* The old one was not sent if the new one had its answer before. */
	KUNIT_EXPECT_GE(test, told.n, 3);
	KUNIT_EXPECT_EQ(test, told.got[told.n - 1].cmd, VIRTIO_NET_CTRL_VLAN_DEL);
	KUNIT_EXPECT_EQ(test, told.got[0].class, again[0].class);
	told_restart(test, fake);
	expect_told(test, again, 1);
	fake_stop(fake);
}

/* The next driver of the child starts with nothing. */
static void proxy_told_forgotten(struct kunit *test)
{
	static const struct told up[] = { RX(PROMISC, 1) };
	struct fake *fake = fake_running(test, FAKE_NET);

	fake_interface(fake);
	told_begin();
	fake_start(fake, serve_told);
	tell_all(test, fake, up, ARRAY_SIZE(up));
	fake_stop(fake);
	fake_reset(fake);
	fake_vdev(fake)->config->del_vqs(fake_vdev(fake));
	KUNIT_EXPECT_TRUE(test, list_empty(&fake->dev->ctrl.journal));
	KUNIT_ASSERT_EQ(test, 0, fake_find(fake, NULL));
	told_restart(test, fake);
	KUNIT_EXPECT_EQ(test, told.n, 0);
}

static struct kunit_case proxy_cases[] = {
	KUNIT_CASE(proxy_forward),
	KUNIT_CASE(proxy_forward_indirect),
	KUNIT_CASE(proxy_atomic),
	KUNIT_CASE(proxy_several),
	KUNIT_CASE(proxy_callback),
	KUNIT_CASE(proxy_too_many_segments),
	KUNIT_CASE(proxy_too_long),
	KUNIT_CASE(proxy_bad_chain),
	KUNIT_CASE(proxy_full),
	KUNIT_CASE(proxy_stall),
	KUNIT_CASE(proxy_lost_interrupt),
	KUNIT_CASE(proxy_stall_restarts),
	KUNIT_CASE(proxy_stall_fresh),
	KUNIT_CASE(proxy_stall_oldest),
	KUNIT_CASE(proxy_teardown),
	KUNIT_CASE(proxy_reserve),
	KUNIT_CASE(proxy_told_again),
	KUNIT_CASE(proxy_told_refused),
	KUNIT_CASE(proxy_told_while_down),
	KUNIT_CASE(proxy_told_meanwhile),
	KUNIT_CASE(proxy_told_forgotten),
	{}
};

static struct kunit_suite proxy_suite = {
	.name = "virtio_net_roce_proxy",
	.test_cases = proxy_cases,
};

kunit_test_suite(proxy_suite);
