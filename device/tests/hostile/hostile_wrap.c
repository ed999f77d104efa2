// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How the hostile device gets between the parts of the daemon: the linker replaces
 * references to each function f below by __wrap_f, and __real_f by f.
 */
#include <stdlib.h>

#include "options.h"
#include "rdma/qp/fused.h"
#include "rdma/rnic_priv.h"
#include "tests/hostile/hostile.h"
#include "vhost_user/vhost_user.h"

static TAILQ_HEAD(, hostile) all = TAILQ_HEAD_INITIALIZER(all);

/* With the types of those they replace, so that none is called with other arguments. */
__typeof__(options_parse) __real_options_parse, __wrap_options_parse;
__typeof__(vhost_user_new) __real_vhost_user_new, __wrap_vhost_user_new;
__typeof__(rnic_command) __real_rnic_command, __wrap_rnic_command;
__typeof__(rnic_command_more) __real_rnic_command_more, __wrap_rnic_command_more;
__typeof__(cq_add) __real_cq_add, __wrap_cq_add;
__typeof__(cq_add_late) __wrap_cq_add_late;
__typeof__(virtq_pop) __real_virtq_pop, __wrap_virtq_pop;
__typeof__(virtq_push) __real_virtq_push, __wrap_virtq_push;

int __wrap_options_parse(struct options *options, int argc, char **argv)
{
	if (hostile_options(&argc, argv))
		return -1;
	/* All completions are to come by cq_add(). */
	fused_off = true;
	return __real_options_parse(options, argc, argv);
}

int hostile_pop(struct virtq *vq, struct virtq_elem *elem)
{
	return __real_virtq_pop(vq, elem);
}

void hostile_push(struct virtq *vq, uint16_t head, uint32_t len)
{
	__real_virtq_push(vq, head, len);
}

void hostile_cq_add(struct cq *cq, struct cq_user *user,
		    const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited)
{
	__real_cq_add(cq, user, wc, wqe, solicited);
}

/* ------------------------------------------------------------------------- */
/* What the front-end calls                                                  */
/* ------------------------------------------------------------------------- */

static struct hostile *hostile_of(const void *dev)
{
	struct hostile *h;

	TAILQ_FOREACH(h, &all, entry)
		if (h->fn == dev)
			return h;
	abort();
}

static struct hostile *hostile_of_queue(const struct virtq *vq)
{
	struct hostile *h;

	TAILQ_FOREACH(h, &all, entry)
		if (vq->index < h->queues && h->vq[vq->index] == vq)
			return h;
	return NULL;
}

static void hostile_call(struct virtq *vq)
{
	struct hostile *h = hostile_of_queue(vq);

	if (h && !(vq->index >= FUNCTION_CTRL && hostile_roll(CALL_LOST)))
		h->call[vq->index](vq);
}

static void hostile_queue_start(void *dev, struct virtq *vq)
{
	struct hostile *h = hostile_of(dev);

	if (vq->index < h->queues) {
		h->vq[vq->index] = vq;
		h->elem[vq->index] = NULL;
		if (vq->call != hostile_call)
			h->call[vq->index] = vq->call;
		vq->call = hostile_call;
	}
	function_device_ops.queue_start(dev, vq);
}

static void hostile_queue_stop(void *dev, struct virtq *vq)
{
	struct hostile *h = hostile_of(dev);

	function_device_ops.queue_stop(dev, vq);
	if (vq->index < h->queues)
		h->vq[vq->index] = NULL;
}

static int hostile_config_read(void *dev, uint32_t off, void *buf, uint32_t len)
{
	int err = function_device_ops.config_read(dev, off, buf, len);

	if (!err && len && hostile_roll(CONFIG_BITS))
		hostile_flip(buf, len);
	return err;
}

static void hostile_reset(void *dev)
{
	hostile_forget(hostile_of(dev));
	function_device_ops.reset(dev);
}

static void hostile_tick_direct(struct hostile *h)
{
	struct cq_table *cqs = &h->fn->rnic->cqs;
	struct cq *cq;
	uint32_t cqn;

	for (cqn = h->fn->config.limits.cqs; cqn < cqs->size; cqn++) {
		cq = cq_get(cqs, cqn);
		if (cq)
			hostile_add_from_nothing(h, cq);
	}
}

/* Each queue may have an interrupt for no reason, and more. */
static void hostile_tick(void *arg)
{
	struct hostile *h = arg;
	unsigned int i;

	hostile_orders();
	hostile_push_late(h);
	for (i = FUNCTION_CTRL; i < h->queues; i++) {
		if (!h->vq[i])
			continue;
		if (hostile_roll(CALL_SPURIOUS))
			h->call[i](h->vq[i]);
		if (i > FUNCTION_CTRL) {
			hostile_out_of_nothing(h, h->vq[i]);
			hostile_event(h, h->vq[i]);
		}
	}
	hostile_tick_direct(h);
	if (h->fn->fe_ops && hostile_roll(CONFIG_CHANGE))
		h->fn->fe_ops->config_changed(h->fn->fe);
	loop_timer_set(h->fn->loop, &h->tick, HOSTILE_TICK_NS);
}

struct vhost_user *__wrap_vhost_user_new(struct loop *loop, const char *name,
					 const struct fe_device_ops *ops, void *dev,
					 unsigned int queues)
{
	static struct fe_device_ops hostile_ops;
	struct hostile *h = calloc(1, sizeof(*h));
	struct function *fn = dev;

	if (!h)
		return NULL;
	hostile_ops = *ops;
	hostile_ops.queue_start = hostile_queue_start;
	hostile_ops.queue_stop = hostile_queue_stop;
	hostile_ops.config_read = hostile_config_read;
	hostile_ops.reset = hostile_reset;
	h->fn = fn;
	h->queues = queues;
	h->vq = calloc(queues, sizeof(*h->vq));
	h->call = calloc(queues, sizeof(*h->call));
	h->elem = calloc(queues, sizeof(*h->elem));
	h->cq_made = calloc(VIRTIO_NET_ROCE_MAX_OBJECTS, 1);
	h->qp_made = calloc(VIRTIO_NET_ROCE_MAX_OBJECTS, 1);
	h->cq_owner = calloc(VIRTIO_NET_ROCE_MAX_OBJECTS, 1);
	h->qp_owner = calloc(VIRTIO_NET_ROCE_MAX_OBJECTS, 1);
	if (!h->vq || !h->call || !h->elem || !h->cq_made || !h->qp_made ||
	    !h->cq_owner || !h->qp_owner)
		abort();
	h->tick.fn = hostile_tick;
	h->tick.arg = h;
	loop_timer_set(loop, &h->tick, HOSTILE_TICK_NS);
	TAILQ_INSERT_TAIL(&all, h, entry);
	return __real_vhost_user_new(loop, name, &hostile_ops, dev, queues);
}

/* ------------------------------------------------------------------------- */
/* What the device calls                                                     */
/* ------------------------------------------------------------------------- */

static struct hostile *hostile_of_rnic(const struct rnic *rnic)
{
	struct hostile *h;

	TAILQ_FOREACH(h, &all, entry)
		if (h->fn->rnic == rnic)
			return h;
	return NULL;
}

uint8_t __wrap_rnic_command(struct rnic *rnic, uint8_t command,
			    const struct rnic_request *req, void *rsp, size_t rsp_size,
			    size_t *rsp_len)
{
	struct hostile *h = hostile_of_rnic(rnic);
	uint8_t ack;

	if (h)
		hostile_ask(h, command, req);
	ack = __real_rnic_command(rnic, command, req, rsp, rsp_size, rsp_len);
	if (!h || ack == RNIC_COMMAND_MORE)
		return ack;
	if (ack == VIRTIO_NET_OK)
		hostile_learn(h, rsp);
	return hostile_answer(h, ack, rsp, rsp_size, rsp_len);
}

uint8_t __wrap_rnic_command_more(struct rnic *rnic, void *rsp, size_t *rsp_len)
{
	struct hostile *h = hostile_of_rnic(rnic);
	uint8_t ack = __real_rnic_command_more(rnic, rsp, rsp_len);

	if (!h || ack == RNIC_COMMAND_MORE)
		return ack;
	if (ack == VIRTIO_NET_OK)
		hostile_learn(h, rsp);
	/* Nothing else has so much to be done; there is room for its answer. */
	return hostile_answer(h, ack, rsp, *rsp_len, rsp_len);
}

void __wrap_cq_add(struct cq *cq, struct cq_user *user,
		   const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited)
{
	struct hostile *h;

	TAILQ_FOREACH(h, &all, entry)
		if (h->fn->rnic && cq->table == &h->fn->rnic->cqs)
			break;
	if (h && cq->direct)
		hostile_add(h, cq, user, wc, wqe, solicited);
	else
		__real_cq_add(cq, user, wc, wqe, solicited);
}

void __wrap_cq_add_late(struct cq *cq, struct cq_user *user,
			const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited)
{
	__wrap_cq_add(cq, user, wc, wqe, solicited);
}

int __wrap_virtq_pop(struct virtq *vq, struct virtq_elem *elem)
{
	struct hostile *h = hostile_of_queue(vq);

	if (h)
		h->elem[vq->index] = elem;
	return __real_virtq_pop(vq, elem);
}

void __wrap_virtq_push(struct virtq *vq, uint16_t head, uint32_t len)
{
	struct hostile *h = hostile_of_queue(vq);

	if (!h || vq->index < FUNCTION_CTRL) {
		__real_virtq_push(vq, head, len);
	} else if (vq->index == FUNCTION_CTRL) {
		if (hostile_push_answer(h, vq, &head, &len))
			__real_virtq_push(vq, head, len);
	} else {
		hostile_before_push(h, vq, &head, &len);
		__real_virtq_push(vq, head, len);
		hostile_after_push(h, vq);
	}
}
