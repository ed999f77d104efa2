/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of the RDMA counters, those that a guest has in hw_counters.
 */
#ifndef DEVICE_RDMA_COUNTER_NAMES_H
#define DEVICE_RDMA_COUNTER_NAMES_H

#include "uapi/virtio_net_roce.h"

/**
 * COUNTER_NAMES() - all counters
 * @X:	macro of the rest of a %VIRTIO_RDMA_CNT_… and its name
 */
#define COUNTER_NAMES(X) \
	X(SENT_PKTS, "sent_pkts") \
	X(RCVD_PKTS, "rcvd_pkts") \
	X(SENT_BYTES, "sent_bytes") \
	X(RCVD_BYTES, "rcvd_bytes") \
	X(SENDS, "rdma_sends") \
	X(WRITES, "rdma_writes") \
	X(READS, "rdma_reads") \
	X(RECVS, "rdma_recvs") \
	X(DUP_REQUEST, "duplicate_request") \
	X(OUT_OF_SEQ, "out_of_seq_request") \
	X(RCVD_RNR, "rcvd_rnr_err") \
	X(SENT_RNR, "send_rnr_err") \
	X(RCVD_SEQ_NAK, "rcvd_seq_err") \
	X(ACK_DEFERRED, "ack_deferred") \
	X(RETRY, "completer_retry_err") \
	X(TIMEOUT, "local_ack_timeout_err") \
	X(RETRY_EXCEEDED, "retry_exceeded_err") \
	X(RNR_EXCEEDED, "retry_rnr_exceeded_err") \
	X(SEND_ERR, "send_err") \
	X(RECV_ERR, "recv_err") \
	X(REFUSED, "resp_refused") \
	X(RCVD_DROPPED, "rcvd_dropped") \
	X(RCVD_MALFORMED, "rcvd_malformed") \
	X(RCVD_ICRC_ERR, "rx_icrc_errors") \
	X(SENT_DROPPED, "sent_dropped") \
	X(RCVD_ECN, "np_ecn_marked_roce_packets") \
	X(SENT_CNP, "np_cnp_sent") \
	X(RCVD_CNP, "rp_cnp_handled")

#endif /* DEVICE_RDMA_COUNTER_NAMES_H */
