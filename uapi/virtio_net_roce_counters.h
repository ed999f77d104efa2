/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of the counters of &enum virtio_rdma_counter.
 *
 * They are the names that rdma_rxe has for the same things, or that other
 * drivers have where it has none.
 *
 * A list to be included where it is needed: define VIRTIO_RDMA_COUNTER(), which
 * is given the rest of a %VIRTIO_RDMA_CNT_… and its name, before each time.
 */
VIRTIO_RDMA_COUNTER(SENT_PKTS, "sent_pkts")
VIRTIO_RDMA_COUNTER(RCVD_PKTS, "rcvd_pkts")
VIRTIO_RDMA_COUNTER(SENT_BYTES, "sent_bytes")
VIRTIO_RDMA_COUNTER(RCVD_BYTES, "rcvd_bytes")
VIRTIO_RDMA_COUNTER(SENDS, "rdma_sends")
VIRTIO_RDMA_COUNTER(WRITES, "rdma_writes")
VIRTIO_RDMA_COUNTER(READS, "rdma_reads")
VIRTIO_RDMA_COUNTER(RECVS, "rdma_recvs")
VIRTIO_RDMA_COUNTER(DUP_REQUEST, "duplicate_request")
VIRTIO_RDMA_COUNTER(OUT_OF_SEQ, "out_of_seq_request")
VIRTIO_RDMA_COUNTER(RCVD_RNR, "rcvd_rnr_err")
VIRTIO_RDMA_COUNTER(SENT_RNR, "send_rnr_err")
VIRTIO_RDMA_COUNTER(RCVD_SEQ_NAK, "rcvd_seq_err")
VIRTIO_RDMA_COUNTER(ACK_DEFERRED, "ack_deferred")
VIRTIO_RDMA_COUNTER(RETRY, "completer_retry_err")
VIRTIO_RDMA_COUNTER(TIMEOUT, "local_ack_timeout_err")
VIRTIO_RDMA_COUNTER(RETRY_EXCEEDED, "retry_exceeded_err")
VIRTIO_RDMA_COUNTER(RNR_EXCEEDED, "retry_rnr_exceeded_err")
VIRTIO_RDMA_COUNTER(SEND_ERR, "send_err")
VIRTIO_RDMA_COUNTER(RECV_ERR, "recv_err")
VIRTIO_RDMA_COUNTER(REFUSED, "resp_refused")
VIRTIO_RDMA_COUNTER(RCVD_DROPPED, "rcvd_dropped")
VIRTIO_RDMA_COUNTER(RCVD_MALFORMED, "rcvd_malformed")
VIRTIO_RDMA_COUNTER(RCVD_ICRC_ERR, "rx_icrc_errors")
VIRTIO_RDMA_COUNTER(SENT_DROPPED, "sent_dropped")
VIRTIO_RDMA_COUNTER(RCVD_ECN, "np_ecn_marked_roce_packets")
VIRTIO_RDMA_COUNTER(SENT_CNP, "np_cnp_sent")
VIRTIO_RDMA_COUNTER(RCVD_CNP, "rp_cnp_handled")
