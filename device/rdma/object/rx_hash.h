/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The hash of a frame, by which it goes to one of several queues.
 *
 * RX_HASH QPs have it, and the Ethernet queues of a function.
 */
#ifndef DEVICE_RDMA_OBJECT_RX_HASH_H
#define DEVICE_RDMA_OBJECT_RX_HASH_H

#include <stdint.h>

#include "rdma/object/rule_key.h"

/* Bytes of a key. */
#define RX_HASH_KEY	VIRTIO_RDMA_RX_HASH_KEY_SIZE

#define RX_HASH_IPV4	(VIRTIO_RDMA_RX_HASH_SRC_IPV4 | VIRTIO_RDMA_RX_HASH_DST_IPV4)
#define RX_HASH_IPV6	(VIRTIO_RDMA_RX_HASH_SRC_IPV6 | VIRTIO_RDMA_RX_HASH_DST_IPV6)
#define RX_HASH_TCP	(VIRTIO_RDMA_RX_HASH_SRC_PORT_TCP | VIRTIO_RDMA_RX_HASH_DST_PORT_TCP)
#define RX_HASH_UDP	(VIRTIO_RDMA_RX_HASH_SRC_PORT_UDP | VIRTIO_RDMA_RX_HASH_DST_PORT_UDP)

/**
 * rx_hash_layers() - layers of a frame whose fields count
 * @key:	fields of the frame
 *
 * Ports of a fragment do not: only the first one has them.
 *
 * Return: bits of &enum virtio_rdma_flow_layer.
 */
uint32_t rx_hash_layers(const union rule_key *key);

/**
 * rx_hash_toeplitz() - hash fields of a frame with the Toeplitz function
 * @secret:	RX_HASH_KEY bytes
 * @fields:	&enum virtio_rdma_rx_hash_fields, of one version of IP and one protocol
 * @key:	fields of the frame; those that it does not have are left out
 */
uint32_t rx_hash_toeplitz(const uint8_t *secret, uint32_t fields, const union rule_key *key);

/**
 * rx_hash_xor() - hash fields of a frame with the exclusive or of its 16-bit words
 * @fields:	as of rx_hash_toeplitz()
 * @key:	likewise
 *
 * An answer has the hash of what it answers.
 */
uint32_t rx_hash_xor(uint32_t fields, const union rule_key *key);

#endif /* DEVICE_RDMA_OBJECT_RX_HASH_H */
