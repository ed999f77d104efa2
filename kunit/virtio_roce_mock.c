// SPDX-License-Identifier: GPL-2.0
/*
 * A RoCE function without hardware, for tests of the RDMA driver.
 */
#include <linux/delay.h>
#include <linux/mm_types.h>
#include <linux/rwsem.h>
#include <linux/virtio_byteorder.h>
#include <rdma/ib_verbs.h>

#include "virtio_roce_mock.h"

static struct mock *to_mock(struct virtio_net_roce_aux *aux)
{
	return container_of(aux, struct mock, aux);
}

/* Records only the first violation.  Context: lock held. */
void mock_violation(struct mock *mock, const char *what, u32 number)
{
	if (!mock->violation[0])
		snprintf(mock->violation, sizeof(mock->violation), "%s (%u)",
			 what, number);
}

/* ----- commands, by a script ----- */

static int mock_read_script(struct mock *mock, struct virtio_net_roce_cmd *cmd)
{
	const struct mock_answer *answer = &mock->script[mock->script_pos];

	if (mock->script_pos == mock->script_len) {
		mock_violation(mock, "command behind the end of the script",
			       cmd->command);
		return -EIO;
	}
	mock->script_pos++;
	if (answer->command != cmd->command) {
		mock_violation(mock, "not the command of the script",
			       cmd->command);
		return -EIO;
	}
	if (answer->ret)
		return answer->ret;
	/* As in the lower module: what the device did not write is zero. */
	memset(cmd->rsp, 0, cmd->rsp_len);
	memcpy(cmd->rsp, answer->rsp, min(answer->rsp_len, cmd->rsp_len));
	return 0;
}

static void mock_record(struct mock *mock, const struct virtio_net_roce_cmd *cmd,
			int ret)
{
	struct mock_call *call = &mock->calls[mock->ncalls++ % MOCK_CALLS];
	size_t len = 0, n;
	int i;

	call->command = cmd->command;
	call->atomic = cmd->atomic;
	call->ret = ret;
	call->rsp_len = cmd->rsp_len;
	call->req_len = cmd->req[0].iov_len + cmd->req[1].iov_len;
	for (i = 0; i < ARRAY_SIZE(cmd->req) && len < MOCK_REQ_MAX; i++) {
		n = min(cmd->req[i].iov_len, MOCK_REQ_MAX - len);
		if (n)
			memcpy(call->req + len, cmd->req[i].iov_base, n);
		len += n;
	}
}

/* ----- operations ----- */

static void mock_hold(struct mock *mock, bool *hold)
{
	if (!*hold)
		return;
	*hold = false;
	complete(&mock->held);
	if (!wait_for_completion_timeout(&mock->release, MOCK_PATIENCE))
		mock_violation(mock, "one command waits for another", 0);
}

static int mock_exec(struct virtio_net_roce_aux *aux,
		     struct virtio_net_roce_cmd *cmd)
{
	struct mock *mock = to_mock(aux);
	unsigned long flags;
	int ret;

	if (cmd->command >= VIRTIO_NET_CTRL_ROCE_NUM)
		return -EIO;
	if (!cmd->atomic) {
		might_sleep();
		spin_lock_irqsave(&mock->lock, flags);
		mock->most = max(mock->most, ++mock->running);
		spin_unlock_irqrestore(&mock->lock, flags);
		if (mock->slow)
			msleep(mock->slow);
		mock_hold(mock, &mock->hold[cmd->command]);
	}
	spin_lock_irqsave(&mock->lock, flags);
	/* Page faults of the process would wait for the device. */
	if (current->mm && rwsem_is_locked(&current->mm->mmap_lock))
		mock_violation(mock, "command while the memory map is locked",
			       cmd->command);
	if (cmd->req[0].iov_len + cmd->req[1].iov_len > aux->max_req)
		ret = -E2BIG;
	else
		ret = mock->script ? mock_read_script(mock, cmd) : mock_act(mock, cmd);
	mock_record(mock, cmd, ret);
	mock->running -= !cmd->atomic;
	mock->settled[cmd->command] = cmd->settle;
	mock->was_slow[cmd->command] = cmd->slow;
	spin_unlock_irqrestore(&mock->lock, flags);
	if (!cmd->atomic)
		mock_hold(mock, &mock->hold_answer[cmd->command]);
	return ret;
}

static struct virtio_net_roce_vq *mock_cq_vq(struct virtio_net_roce_aux *aux,
					     u32 cqn)
{
	return cqn < aux->max_cqs ? &to_mock(aux)->cq_vqs[cqn].pub : NULL;
}

static struct virtio_net_roce_vq *mock_sq_vq(struct virtio_net_roce_aux *aux,
					     u32 qpn)
{
	return qpn < aux->max_qps ? &to_mock(aux)->sq_vqs[qpn].pub : NULL;
}

static struct virtio_net_roce_vq *mock_rq_vq(struct virtio_net_roce_aux *aux,
					     u32 qpn)
{
	return qpn < aux->max_qps ? &to_mock(aux)->rq_vqs[qpn].pub : NULL;
}

static void mock_kick(struct virtio_net_roce_aux *aux,
		      struct virtio_net_roce_vq *vq)
{
	container_of(vq, struct mock_vq, pub)->kicks++;
}

static int mock_cq_enable(struct virtio_net_roce_aux *aux, u32 cqn, bool kernel,
			  void (*notify)(void *data), void *data)
{
	struct mock *mock = to_mock(aux);

	might_sleep();
	spin_lock_irq(&mock->lock);
	mock->cqs[cqn].kernel = kernel;
	mock->cqs[cqn].notify = notify;
	mock->cqs[cqn].data = data;
	spin_unlock_irq(&mock->lock);
	return 0;
}

static void mock_cq_arm(struct virtio_net_roce_aux *aux, u32 cqn)
{
	struct mock *mock = to_mock(aux);
	unsigned long flags;

	spin_lock_irqsave(&mock->lock, flags);
	mock->cqs[cqn].arm_first = true;
	spin_unlock_irqrestore(&mock->lock, flags);
}

/* Nobody waits, and so nobody hears what the device says. */
static int mock_cq_request(struct virtio_net_roce_aux *aux, u32 cqn,
			   bool solicited_only)
{
	struct virtio_rdma_cmd_req_notify req = {
		.cqn = cpu_to_le32(cqn),
		.flags = cpu_to_le32(solicited_only ?
				     VIRTIO_IB_NOTIFY_SOLICITED :
				     VIRTIO_IB_NOTIFY_NEXT_COMPLETION),
	};
	struct virtio_net_roce_cmd cmd = {
		.command = VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ,
		.atomic = true,
		.req = { { .iov_base = &req, .iov_len = sizeof(req) } },
	};
	struct mock *mock = to_mock(aux);

	if (!mock->cqs[cqn].kernel)
		mock_violation(mock, "cq_request of a process's CQ", cqn);
	mock_cq_arm(aux, cqn);
	return mock_exec(aux, &cmd) == -EIO ? -EIO : 0;
}

static void mock_cq_disable(struct virtio_net_roce_aux *aux, u32 cqn)
{
	mock_cq_enable(aux, cqn, false, NULL, NULL);
}

static void mock_listen(struct virtio_net_roce_aux *aux,
			void (*event)(struct virtio_net_roce_aux *aux,
				      enum virtio_net_roce_event event))
{
	to_mock(aux)->event = event;
}

/* The device is reset at once. */
static void mock_give_up(struct virtio_net_roce_aux *aux)
{
	struct mock *mock = to_mock(aux);
	unsigned int i;

	mock->given_up++;
	for (i = 0; i < VIRTIO_NET_CTRL_ROCE_NUM; i++)
		mock->fail[i] = -ENODEV;
	if (mock->event)
		mock->event(aux, VIRTIO_NET_ROCE_QUIESCED);
}

static int mock_quiesce(struct virtio_net_roce_aux *aux)
{
	might_sleep();
	mock_give_up(aux);
	return to_mock(aux)->never_quiet ? -EBUSY : 0;
}

static struct virtio_net_roce_vq *
mock_get_doorbell_vq(struct virtio_net_roce_aux *aux, u32 d)
{
	return d < aux->num_doorbells ? &to_mock(aux)->doorbell_vq.pub : NULL;
}

static void mock_events(struct virtio_net_roce_aux *aux,
			void (*notify)(struct virtio_net_roce_aux *aux,
				       u16 type, u32 number))
{
	WRITE_ONCE(to_mock(aux)->notify, notify);
	synchronize_rcu();
}

/* Events are reported with interrupts off. */
static void mock_synchronize(struct virtio_net_roce_aux *aux)
{
	synchronize_rcu();
}

const struct virtio_net_roce_ops mock_ops = {
	.doorbell_vq = mock_get_doorbell_vq,
	.events = mock_events,
	.synchronize = mock_synchronize,
	.exec = mock_exec,
	.cq_vq = mock_cq_vq,
	.sq_vq = mock_sq_vq,
	.rq_vq = mock_rq_vq,
	.kick = mock_kick,
	.cq_enable = mock_cq_enable,
	.cq_arm = mock_cq_arm,
	.cq_request = mock_cq_request,
	.cq_disable = mock_cq_disable,
	.listen = mock_listen,
	.give_up = mock_give_up,
	.quiesce = mock_quiesce,
};

/* ----- looking at it ----- */

/**
 * mock_count() - how often a command was sent
 * @mock: function
 * @command: command
 *
 * Return: number.
 */
unsigned int mock_count(struct mock *mock, u8 command)
{
	unsigned int i, n = 0;
	unsigned long flags;

	spin_lock_irqsave(&mock->lock, flags);
	for (i = 0; i < min(mock->ncalls, MOCK_CALLS); i++)
		n += mock->calls[i].command == command;
	if (mock->ncalls > MOCK_CALLS)
		mock_violation(mock, "more commands than the test thought of",
			       mock->ncalls);
	spin_unlock_irqrestore(&mock->lock, flags);
	return n;
}

/**
 * mock_last() - last time that a command was sent
 * @mock: function
 * @command: command
 *
 * Return: call, never NULL.
 */
const struct mock_call *mock_last(struct mock *mock, u8 command)
{
	unsigned int i;

	KUNIT_ASSERT_LE(mock->test, mock->ncalls, MOCK_CALLS);
	for (i = mock->ncalls; i--;)
		if (mock->calls[i].command == command)
			return &mock->calls[i];
	KUNIT_FAIL_AND_ABORT(mock->test, "command %u was never sent", command);
	return NULL;
}

/**
 * mock_objects() - number of objects that the driver has not destroyed
 * @mock: function
 *
 * Return: number of objects of all kinds.
 */
unsigned int mock_objects(struct mock *mock)
{
	unsigned int i, n = 0;

	spin_lock_irq(&mock->lock);
	for (i = 0; i < MOCK_PDS; i++)
		n += mock->pd_refs[i] >= 0;
	for (i = 0; i < MOCK_ALL_CQS; i++)
		n += mock->cqs[i].exists;
	for (i = 0; i < MOCK_ALL_QPS; i++)
		n += mock->qps[i].exists;
	for (i = 0; i < MOCK_SRQS; i++)
		n += mock->srqs[i].exists;
	for (i = 0; i < MOCK_XRCDS; i++)
		n += mock->xrcd_refs[i] >= 0;
	for (i = 0; i < MOCK_TABLES; i++)
		n += mock->tables[i].exists;
	for (i = 0; i < MOCK_FLOWS; i++)
		n += mock->flows[i].exists;
	for (i = 0; i < MOCK_MRS; i++)
		n += mock->mrs[i].exists;
	for (i = 0; i < MOCK_AHS; i++)
		n += mock->ah_pdn[i] >= 0;
	spin_unlock_irq(&mock->lock);
	return n;
}

/**
 * mock_expect_clean() - the driver broke no rule and left nothing behind
 * @mock: function
 *
 * Work that frees what was mapped may still be running; this waits for it.
 * Context: may sleep.
 */
void mock_expect_clean(struct mock *mock)
{
	mock_wait(!mock_objects(mock));
	KUNIT_EXPECT_STREQ(mock->test, mock->violation, "");
	KUNIT_EXPECT_EQ(mock->test, mock_objects(mock), 0);
}

/**
 * mock_complete() - the device adds a completion, and interrupts if it is armed
 * @mock: function
 * @cqn: CQ
 * @req: completion
 */
void mock_complete(struct mock *mock, u32 cqn,
		   const struct virtio_rdma_cq_req *req)
{
	struct mock_vq *vq = &mock->cq_vqs[cqn];
	struct vring *vring = &vq->pub.vring;
	struct mock_cq *cq = &mock->cqs[cqn];
	u16 pos = vq->used & (vring->num - 1);
	struct vring_used_elem *elem = &vring->used->ring[pos];
	unsigned long flags;
	u32 armed, len;
	void *slot;

	slot = mock_take(mock, vq, vq->used, &len);
	KUNIT_ASSERT_EQ(mock->test, len, sizeof(*req));
	memcpy(slot, req, sizeof(*req));
	elem->id = __cpu_to_virtio32(true,
				     __virtio16_to_cpu(true,
						       vring->avail->ring[pos]));
	elem->len = __cpu_to_virtio32(true, len);
	vq->used++;
	/* Orders completion and entry before the index. */
	smp_store_release(&vring->used->idx, __cpu_to_virtio16(true, vq->used));

	/*
	 * The driver, on another processor, arms and then looks at the index.  It may arm
	 * again as soon as it is told, so the CQ is disarmed before that.
	 */
	smp_mb();
	armed = xchg(&cq->armed, 0);
	/* Interrupt handlers have interrupts off. */
	local_irq_save(flags);
	if (armed && cq->notify)
		cq->notify(cq->data);
	local_irq_restore(flags);
}

/**
 * mock_avail_idx() - available index of a virtqueue
 * @vq: virtqueue
 *
 * Return: index.
 */
u16 mock_avail_idx(const struct mock_vq *vq)
{
	return __virtio16_to_cpu(true, vq->pub.vring.avail->idx);
}

/**
 * mock_take() - look at what the driver made available
 * @mock: function
 * @vq: virtqueue
 * @pos: position in its available ring
 * @len: length of the buffer
 *
 * Return: the buffer, by its device address.
 */
void *mock_take(struct mock *mock, struct mock_vq *vq, u16 pos, u32 *len)
{
	struct vring *vring = &vq->pub.vring;
	struct kunit *test = mock->test;
	u16 left, id;

	left = mock_avail_idx(vq) - pos;
	KUNIT_ASSERT_GT(test, left, 0);
	KUNIT_ASSERT_LE(test, left, vring->num);
	id = __virtio16_to_cpu(true, vring->avail->ring[pos & (vring->num - 1)]);
	KUNIT_ASSERT_LT(test, id, vring->num);
	*len = __virtio32_to_cpu(true, vring->desc[id].len);
	KUNIT_ASSERT_GT(test, *len, 0);
	return phys_to_virt(__virtio64_to_cpu(true, vring->desc[id].addr));
}
