// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters: "rdma statistic" and hw_counters/ of the port in sysfs.
 *
 * The device counts; the names are in uapi/virtio_net_roce_counters.h.
 */
#include "vroce.h"

#define VIRTIO_RDMA_COUNTER(counter, title) \
	[VIRTIO_RDMA_CNT_##counter].name = (title),

static const struct rdma_stat_desc vroce_counters[] = {
#include "virtio_net_roce_counters.h"
};

static_assert(ARRAY_SIZE(vroce_counters) == VIRTIO_RDMA_CNT_NUM);

static struct rdma_hw_stats *vroce_alloc_hw_port_stats(struct ib_device *ibdev,
						       u32 port)
{
	return rdma_alloc_hw_stats_struct(vroce_counters,
					  ARRAY_SIZE(vroce_counters),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/* All of them at once, whichever is asked for. */
static int vroce_get_hw_stats(struct ib_device *ibdev,
			      struct rdma_hw_stats *stats, u32 port, int index)
{
	int err;

	if (!port)
		return -EINVAL;
	err = vroce_cmd_query_counters(to_vdev(ibdev)->aux, stats->value);
	return err ?: ARRAY_SIZE(vroce_counters);
}

static const struct ib_device_ops vroce_counter_ops = {
	.alloc_hw_port_stats = vroce_alloc_hw_port_stats,
	.get_hw_stats = vroce_get_hw_stats,
};

/**
 * vroce_set_counter_ops() - add the verbs of counters, if the device counts
 * @dev: device, not yet registered
 */
void vroce_set_counter_ops(struct vroce_dev *dev)
{
	if (dev->attr.device_cap_flags & VIRTIO_IB_DEVICE_COUNTERS)
		ib_set_device_ops(&dev->ibdev, &vroce_counter_ops);
}
