// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters: "rdma statistic" and hw_counters/ of the port in sysfs.
 *
 * The device counts, if it has the capability.  The names are in
 * uapi/virtio_net_roce_counters.h.  The last counter is the driver's own.
 *
 * Counters of QPs ("rdma statistic qp"): the device counts for each QP, from its creation on,
 * and for the port.  The core binds QPs to counters, from some time on, until some time.  So
 * a counter is the sum of what its QPs have counted since they were bound, and of what those
 * that are not bound any more had counted until then.
 *
 * The core adds all QP counters to those of the port, also those that were freed.  The device
 * has counted them for the port already, so the driver subtracts them.  It asks for the port
 * first: then the core's sum never goes back and is never too large.  The difference may be
 * negative and wrap, but the sum is right.
 */
#include <linux/sched/signal.h>

#include "vroce_caps.h"
#include "vroce_counters.h"

#define VIRTIO_RDMA_COUNTER(counter, title) \
	[VIRTIO_RDMA_CNT_##counter].name = (title),

static const struct rdma_stat_desc vroce_counters[] = {
#include "virtio_net_roce_counters.h"
	[VIRTIO_RDMA_CNT_NUM].name = "bad_completions",
};

static_assert(ARRAY_SIZE(vroce_counters) == VIRTIO_RDMA_CNT_NUM + 1);

/* Number of counters that the device has. */
static int vroce_device_counters(const struct vroce_dev *dev)
{
	return dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_COUNTERS ?
	       VIRTIO_RDMA_CNT_NUM : 0;
}

static struct rdma_hw_stats *vroce_alloc_hw_port_stats(struct ib_device *ibdev,
						       u32 port)
{
	int n = vroce_device_counters(to_vdev(ibdev));

	/* The driver's own counter is the last one.  Without the device's it is the only one. */
	return rdma_alloc_hw_stats_struct(vroce_counters + VIRTIO_RDMA_CNT_NUM - n,
					  n + 1, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * struct vroce_counter - the device's part of a counter of QPs
 * @qps: &struct vroce_counted of the QPs that are bound to it
 * @gone: what QPs counted that were bound to it
 * @sum: what it had counted when it was looked at last
 */
struct vroce_counter {
	struct list_head qps;
	u64 gone[VIRTIO_RDMA_CNT_NUM];
	u64 sum[VIRTIO_RDMA_CNT_NUM];
};

/**
 * struct vroce_counted - a QP that is bound to a counter
 * @entry: in &vroce_counter.qps
 * @qp: the QP
 * @since: what it had counted before
 * @last: what it had counted when it was looked at last
 */
struct vroce_counted {
	struct list_head entry;
	struct ib_qp *qp;
	u64 since[VIRTIO_RDMA_CNT_NUM];
	u64 last[VIRTIO_RDMA_CNT_NUM];
};

/* Add what a QP has counted since it was bound, as far as it is known. */
static void vroce_counted_add(const struct vroce_counted *counted, u64 *sum)
{
	unsigned int i;

	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		sum[i] += counted->last[i] - counted->since[i];
}

static int vroce_counted_look(struct vroce_counted *counted)
{
	struct vroce_dev *dev = to_vdev(counted->qp->device);

	return vroce_cmd_query_qp_counters(dev->aux, counted->qp->qp_num, counted->last);
}

/* Ask the device for all QPs of a counter: a command for each. */
static int vroce_counter_look(struct vroce_counter *counter)
{
	struct vroce_counted *counted;
	u64 sum[VIRTIO_RDMA_CNT_NUM];
	int err;

	memcpy(sum, counter->gone, sizeof(sum));
	list_for_each_entry(counted, &counter->qps, entry) {
		err = fatal_signal_pending(current) ? -EINTR : vroce_counted_look(counted);
		if (err)
			return err;
		vroce_counted_add(counted, sum);
	}
	memcpy(counter->sum, sum, sizeof(sum));
	return 0;
}

/* Take what counters have off from what the port has. */
static int vroce_counters_take_off(struct vroce_dev *dev, u64 *values)
{
	struct vroce_counter *counter;
	unsigned long id;
	unsigned int i;
	int err = 0;

	mutex_lock(&dev->counters_lock);
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		values[i] -= dev->counters_gone[i];
	xa_for_each(&dev->counters, id, counter) {
		err = vroce_counter_look(counter);
		if (err)
			break;
		for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
			values[i] -= counter->sum[i];
	}
	mutex_unlock(&dev->counters_lock);
	return err;
}

/* Reads all counters at once, whichever @index asks for. */
static int vroce_get_hw_stats(struct ib_device *ibdev,
			      struct rdma_hw_stats *stats, u32 port, int index)
{
	struct vroce_dev *dev = to_vdev(ibdev);
	int n = vroce_device_counters(dev);
	int err = 0;

	if (!port)
		return -EINVAL;
	if (n)
		err = vroce_cmd_query_counters(dev->aux, stats->value);
	if (n && !err)
		err = vroce_counters_take_off(dev, stats->value);
	if (err)
		return err;
	stats->value[n] = atomic64_read(&dev->bad_completions);
	return n + 1;
}

/* ----- counters of QPs ----- */

/* All that the port has, as the core goes by index. */
static struct rdma_hw_stats *vroce_counter_alloc_stats(struct rdma_counter *rdma_counter)
{
	return vroce_alloc_hw_port_stats(rdma_counter->device, rdma_counter->port);
}

static int vroce_counter_update_stats(struct rdma_counter *rdma_counter)
{
	struct vroce_dev *dev = to_vdev(rdma_counter->device);
	struct vroce_counter *counter;
	int err = -ENOENT;

	mutex_lock(&dev->counters_lock);
	counter = xa_load(&dev->counters, rdma_counter->id);
	if (counter) {
		err = vroce_counter_look(counter);
		memcpy(rdma_counter->stats->value, counter->sum, sizeof(counter->sum));
	}
	mutex_unlock(&dev->counters_lock);
	return err;
}

static struct vroce_counter *vroce_counter_make(struct vroce_dev *dev, u32 *id)
{
	struct vroce_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL);
	int err;

	if (!counter)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&counter->qps);
	err = xa_alloc(&dev->counters, id, counter, xa_limit_31b, GFP_KERNEL);
	if (!err)
		return counter;
	kfree(counter);
	return ERR_PTR(err);
}

static void vroce_counter_free(struct vroce_dev *dev, u32 id)
{
	kfree(xa_erase(&dev->counters, id));
}

static int vroce_counter_add(struct vroce_counter *counter, struct ib_qp *ibqp)
{
	struct vroce_counted *counted = kzalloc(sizeof(*counted), GFP_KERNEL);
	int err;

	if (!counted)
		return -ENOMEM;
	counted->qp = ibqp;
	err = vroce_counted_look(counted);
	if (err) {
		kfree(counted);
		return err;
	}
	memcpy(counted->since, counted->last, sizeof(counted->since));
	list_add_tail(&counted->entry, &counter->qps);
	return 0;
}

/* The core holds its lock of this counter, and binds no QP twice. */
static int vroce_counter_bind(struct rdma_counter *rdma_counter, struct ib_qp *ibqp)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	bool made = !rdma_counter->id;
	struct vroce_counter *counter;
	int err;

	/* Work queues count the frames that such a QP spreads. */
	if (ibqp->rwq_ind_tbl)
		return -EOPNOTSUPP;
	mutex_lock(&dev->counters_lock);
	counter = made ? vroce_counter_make(dev, &rdma_counter->id) :
			 xa_load(&dev->counters, rdma_counter->id);
	err = PTR_ERR_OR_ZERO(counter);
	if (!err)
		err = vroce_counter_add(counter, ibqp);
	if (!err) {
		ibqp->counter = rdma_counter;
	} else if (made && !IS_ERR(counter)) {
		vroce_counter_free(dev, rdma_counter->id);
		rdma_counter->id = 0;
	}
	mutex_unlock(&dev->counters_lock);
	return err;
}

/* If the device does not answer, the rest is not counted here, but by the port. */
static int vroce_counter_unbind(struct ib_qp *ibqp)
{
	struct vroce_dev *dev = to_vdev(ibqp->device);
	struct vroce_counter *counter;
	struct vroce_counted *counted;

	mutex_lock(&dev->counters_lock);
	counter = xa_load(&dev->counters, ibqp->counter->id);
	list_for_each_entry(counted, &counter->qps, entry) {
		if (counted->qp != ibqp)
			continue;
		vroce_counted_look(counted);
		vroce_counted_add(counted, counter->gone);
		list_del(&counted->entry);
		kfree(counted);
		break;
	}
	ibqp->counter = NULL;
	mutex_unlock(&dev->counters_lock);
	return 0;
}

/* No QP is bound to it.  The core has asked what it has counted, and remembers that. */
static int vroce_counter_dealloc(struct rdma_counter *rdma_counter)
{
	struct vroce_dev *dev = to_vdev(rdma_counter->device);
	struct vroce_counter *counter;
	unsigned int i;

	mutex_lock(&dev->counters_lock);
	counter = xa_load(&dev->counters, rdma_counter->id);
	for (i = 0; counter && i < VIRTIO_RDMA_CNT_NUM; i++)
		dev->counters_gone[i] += counter->gone[i];
	vroce_counter_free(dev, rdma_counter->id);
	mutex_unlock(&dev->counters_lock);
	return 0;
}

#ifdef VNR_HAVE_COUNTER_PORT
static int vroce_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	return vroce_counter_bind(counter, ibqp);
}

static int vroce_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	return vroce_counter_unbind(ibqp);
}
#else
#define vroce_counter_bind_qp	vroce_counter_bind
#define vroce_counter_unbind_qp	vroce_counter_unbind
#endif

static const struct ib_device_ops vroce_counter_ops = {
	.alloc_hw_port_stats = vroce_alloc_hw_port_stats,
	.get_hw_stats = vroce_get_hw_stats,
};

static const struct ib_device_ops vroce_qp_counter_ops = {
	.counter_alloc_stats = vroce_counter_alloc_stats,
	.counter_bind_qp = vroce_counter_bind_qp,
	.counter_dealloc = vroce_counter_dealloc,
	.counter_unbind_qp = vroce_counter_unbind_qp,
	.counter_update_stats = vroce_counter_update_stats,

	VROCE_INIT_COUNTER_SIZE
};

/**
 * vroce_set_counter_ops() - add the verbs for counters
 * @dev: device, not yet registered
 */
void vroce_set_counter_ops(struct vroce_dev *dev)
{
	ib_set_device_ops(&dev->ibdev, &vroce_counter_ops);
	if (vroce_has_qp_counters(dev))
		ib_set_device_ops(&dev->ibdev, &vroce_qp_counter_ops);
}

/** vroce_counters_init() - no QP is bound to a counter */
void vroce_counters_init(struct vroce_dev *dev)
{
	mutex_init(&dev->counters_lock);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
}

/** vroce_counters_fini() - the core has freed all counters */
void vroce_counters_fini(struct vroce_dev *dev)
{
	xa_destroy(&dev->counters);
	mutex_destroy(&dev->counters_lock);
}
