/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fields of a frame that flow rules look at.
 */
#ifndef DEVICE_RDMA_OBJECT_RULE_KEY_H
#define DEVICE_RDMA_OBJECT_RULE_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "uapi/virtio_net_roce.h"

/* Ethernet, a VLAN tag, IPv4 with options, ports. */
#define RULE_HEAD	(14u + 4 + 60 + 4)

/**
 * union rule_key - fields of a frame, or a mask of them
 * @match:	the fields
 * @word:	all of them, to be looked at together
 */
union rule_key {
	struct virtio_rdma_flow_match match;
	uint64_t word[sizeof(struct virtio_rdma_flow_match) / sizeof(uint64_t)];
};

/**
 * rule_key() - read the fields of a frame
 * @key:	filled in; fields that the frame does not have are zero
 * @head:	its beginning
 * @len:	bytes of that; of a longer frame RULE_HEAD are enough
 */
void rule_key(union rule_key *key, const uint8_t *head, size_t len);

/** rule_key_mask() - the bits of @key that @mask has */
void rule_key_mask(union rule_key *to, const union rule_key *key,
		   const union rule_key *mask);

/** rule_key_bits() - how many bits are set */
unsigned int rule_key_bits(const union rule_key *key);

#endif /* DEVICE_RDMA_OBJECT_RULE_KEY_H */
