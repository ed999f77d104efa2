// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware counters: "rdma statistic" and hw_counters/ of the port in sysfs.
 *
 * The device counts; here the counters get the names that rdma_rxe has for the
 * same things, or that other drivers have where it has none.
 */
#include "vroce.h"

static const struct rdma_stat_desc vroce_counters[] = {
	[VIRTIO_RDMA_CNT_SENT_PKTS].name = "sent_pkts",
	[VIRTIO_RDMA_CNT_RCVD_PKTS].name = "rcvd_pkts",
	[VIRTIO_RDMA_CNT_SENT_BYTES].name = "sent_bytes",
	[VIRTIO_RDMA_CNT_RCVD_BYTES].name = "rcvd_bytes",
	[VIRTIO_RDMA_CNT_SENDS].name = "rdma_sends",
	[VIRTIO_RDMA_CNT_WRITES].name = "rdma_writes",
	[VIRTIO_RDMA_CNT_READS].name = "rdma_reads",
	[VIRTIO_RDMA_CNT_RECVS].name = "rdma_recvs",
	[VIRTIO_RDMA_CNT_DUP_REQUEST].name = "duplicate_request",
	[VIRTIO_RDMA_CNT_OUT_OF_SEQ].name = "out_of_seq_request",
	[VIRTIO_RDMA_CNT_RCVD_RNR].name = "rcvd_rnr_err",
	[VIRTIO_RDMA_CNT_SENT_RNR].name = "send_rnr_err",
	[VIRTIO_RDMA_CNT_RCVD_SEQ_NAK].name = "rcvd_seq_err",
	[VIRTIO_RDMA_CNT_ACK_DEFERRED].name = "ack_deferred",
	[VIRTIO_RDMA_CNT_RETRY].name = "completer_retry_err",
	[VIRTIO_RDMA_CNT_TIMEOUT].name = "local_ack_timeout_err",
	[VIRTIO_RDMA_CNT_RETRY_EXCEEDED].name = "retry_exceeded_err",
	[VIRTIO_RDMA_CNT_RNR_EXCEEDED].name = "retry_rnr_exceeded_err",
	[VIRTIO_RDMA_CNT_SEND_ERR].name = "send_err",
	[VIRTIO_RDMA_CNT_RECV_ERR].name = "recv_err",
	[VIRTIO_RDMA_CNT_REFUSED].name = "resp_refused",
	[VIRTIO_RDMA_CNT_RCVD_DROPPED].name = "rcvd_dropped",
	[VIRTIO_RDMA_CNT_RCVD_MALFORMED].name = "rcvd_malformed",
	[VIRTIO_RDMA_CNT_RCVD_ICRC_ERR].name = "rx_icrc_errors",
	[VIRTIO_RDMA_CNT_SENT_DROPPED].name = "sent_dropped",
	[VIRTIO_RDMA_CNT_RCVD_ECN].name = "np_ecn_marked_roce_packets",
	[VIRTIO_RDMA_CNT_SENT_CNP].name = "np_cnp_sent",
	[VIRTIO_RDMA_CNT_RCVD_CNP].name = "rp_cnp_handled",
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
