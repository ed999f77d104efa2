// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The hash of a frame, by which it goes to one of several queues.
 *
 * The fields of a frame are those that flow rules look at.  All frames of a connection have
 * the same ones, so they go to the same queue, in their order.
 */
#include <endian.h>
#include <string.h>

#include "base/util.h"
#include "packet/toeplitz.h"
#include "rdma/object/rx_hash.h"

_Static_assert(TOEPLITZ_KEY == RX_HASH_KEY, "a key has another size");

/**
 * struct rx_hash_field - a field that can be hashed
 * @field:	&enum virtio_rdma_rx_hash_fields
 * @layer:	&enum virtio_rdma_flow_layer that has it
 * @offset:	where it is in &struct virtio_rdma_flow_match
 * @size:	its bytes
 */
struct rx_hash_field {
	uint8_t field;
	uint8_t layer;
	uint8_t offset;
	uint8_t size;
};

#define F(field)	VIRTIO_RDMA_RX_HASH_ ## field
#define AT(member)	offsetof(struct virtio_rdma_flow_match, member)

static const struct rx_hash_field rx_hash_fields[] = {
	{ F(SRC_IPV4), VIRTIO_RDMA_FLOW_IPV4, AT(src_ip), 4 },
	{ F(DST_IPV4), VIRTIO_RDMA_FLOW_IPV4, AT(dst_ip), 4 },
	{ F(SRC_IPV6), VIRTIO_RDMA_FLOW_IPV6, AT(src_ip), 16 },
	{ F(DST_IPV6), VIRTIO_RDMA_FLOW_IPV6, AT(dst_ip), 16 },
	{ F(SRC_PORT_TCP), VIRTIO_RDMA_FLOW_TCP, AT(src_port), 2 },
	{ F(DST_PORT_TCP), VIRTIO_RDMA_FLOW_TCP, AT(dst_port), 2 },
	{ F(SRC_PORT_UDP), VIRTIO_RDMA_FLOW_UDP, AT(src_port), 2 },
	{ F(DST_PORT_UDP), VIRTIO_RDMA_FLOW_UDP, AT(dst_port), 2 },
};

uint32_t rx_hash_layers(const union rule_key *key)
{
	const uint32_t ports = VIRTIO_RDMA_FLOW_TCP | VIRTIO_RDMA_FLOW_UDP;
	const uint32_t layers = le32toh(key->match.layers);

	return key->match.ip_flags & VIRTIO_RDMA_FLOW_MF ? layers & ~ports : layers;
}

/* Puts the fields one behind the other; those of one version of IP, and one protocol, fit. */
static size_t rx_hash_gather(uint32_t fields, const union rule_key *key,
			     uint8_t data[TOEPLITZ_MAX])
{
	const uint8_t *from = (const uint8_t *)&key->match;
	const uint32_t layers = rx_hash_layers(key);
	const struct rx_hash_field *field;
	unsigned int i;
	size_t len = 0;

	for (i = 0; i < ARRAY_SIZE(rx_hash_fields); i++) {
		field = &rx_hash_fields[i];
		if (!(fields & field->field) || !(layers & field->layer))
			continue;
		memcpy(data + len, from + field->offset, field->size);
		len += field->size;
	}
	return len;
}

uint32_t rx_hash_toeplitz(const uint8_t *secret, uint32_t fields, const union rule_key *key)
{
	uint8_t data[TOEPLITZ_MAX];
	const size_t len = rx_hash_gather(fields, key, data);

	return toeplitz(secret, data, len);
}

/* All fields have an even number of bytes. */
uint32_t rx_hash_xor(uint32_t fields, const union rule_key *key)
{
	uint8_t data[TOEPLITZ_MAX];
	const size_t len = rx_hash_gather(fields, key, data);
	uint32_t hash = 0;
	size_t i;

	for (i = 0; i < len; i += 2)
		hash ^= data[i] << 8 | data[i + 1];
	return hash;
}
