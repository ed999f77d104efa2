/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Scatter lists of work requests, and a cursor that walks over one.
 */
#ifndef DEVICE_RDMA_OBJECT_SG_H
#define DEVICE_RDMA_OBJECT_SG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdma/object/mr.h"

/**
 * struct sge - scatter/gather element, copied out of its slot
 * @addr:	address in the memory region
 * @length:	bytes
 * @key:	its lkey (or the rkey, for the range of an RDMA operation)
 */
struct sge {
	uint64_t addr;
	uint32_t length;
	uint32_t key;
};

/**
 * struct sg - a cursor on memory that was checked
 * @mrs:	memory regions that the keys are of
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP, for the peer's accesses
 * @access:	right that the memory regions must grant
 * @sge:	element that the cursor is in
 * @n:		number of elements from it on
 * @off:	bytes of it that lie behind the cursor
 * @mr:		its memory region, or NULL if it was not looked up yet
 * @hint:	of mr_contig()
 * @flat:	without elements: plain memory
 * @guest:	@flat is memory of the guest
 *
 * Valid until the next control command.
 */
struct sg {
	const struct mr_table *mrs;
	const struct pd *pd;
	uint64_t user;
	uint32_t access;
	const struct sge *sge;
	unsigned int n;
	uint32_t off;
	const struct mr *mr;
	uint32_t hint;
	uint8_t *flat;
	bool guest;
};

/** sg_length() - bytes in a list of elements; does not overflow */
uint64_t sg_length(const struct sge *sge, unsigned int n);

/**
 * sg_init() - point a cursor into a list of elements
 * @sg:		cursor
 * @mrs:	memory regions that the keys are of
 * @pd:		protection domain of the QP
 * @access:	right that the memory regions must grant, 0 for local reading
 * @sge:	elements; stay the caller's and where they are
 * @n:		number of them
 * @off:	bytes to skip
 * @len:	bytes that will be used from there on
 *
 * Return: true; false if the list is shorter or if any of its keys, bounds or
 *	   rights that matter for these bytes is not as it must be.
 */
bool sg_init(struct sg *sg, const struct mr_table *mrs, const struct pd *pd,
	     uint32_t access, const struct sge *sge, unsigned int n,
	     uint64_t off, uint64_t len);

/**
 * sg_init_remote() - point a cursor at the range of an access by the peer
 * @sg:		cursor
 * @mrs:	memory regions that the key is of
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP
 * @access:	right that the memory region or window must grant
 * @sge:	range; stays the caller's and where it is
 *
 * Return: as of sg_init().
 */
bool sg_init_remote(struct sg *sg, const struct mr_table *mrs, const struct pd *pd,
		    uint64_t user, uint32_t access, const struct sge *sge);

/** sg_init_flat() - point a cursor at plain memory */
void sg_init_flat(struct sg *sg, void *p);

/** sg_init_guest() - point a cursor at memory of the guest, from mr_at() */
void sg_init_guest(struct sg *sg, uint8_t *p);

/** sg_skip() - move a cursor on by @len bytes, no more than it was made for */
void sg_skip(struct sg *sg, uint64_t len);

/**
 * sg_copy() - copy from cursor to cursor, and move both on
 * @dst:	destination
 * @src:	source; may overlap the destination
 * @len:	bytes, no more than both were made for
 *
 * In memory of a guest the bytes become visible in the order of place().
 */
void sg_copy(struct sg *dst, struct sg *src, uint64_t len);

#endif /* DEVICE_RDMA_OBJECT_SG_H */
