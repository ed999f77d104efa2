// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters: "rdma statistic" and hw_counters/ of the port in sysfs.
 *
 * The device counts, if it has the capability.  The names are in
 * uapi/virtio_net_roce_counters.h.  The last counter is the driver's own.
 */
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
	if (err)
		return err;
	stats->value[n] = atomic64_read(&dev->bad_completions);
	return n + 1;
}

static const struct ib_device_ops vroce_counter_ops = {
	.alloc_hw_port_stats = vroce_alloc_hw_port_stats,
	.get_hw_stats = vroce_get_hw_stats,
};

/**
 * vroce_set_counter_ops() - add the verbs for counters
 * @dev: device, not yet registered
 */
void vroce_set_counter_ops(struct vroce_dev *dev)
{
	ib_set_device_ops(&dev->ibdev, &vroce_counter_ops);
}
