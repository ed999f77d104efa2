/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: from key and address to a pointer, never without a check.
 */
#ifndef DEVICE_MR_H
#define DEVICE_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdma/object/ah.h"

/**
 * struct mr_extent - pages of a memory region that lie side by side
 * @page:	number of the first one in the region
 * @npages:	how many they are
 * @addr:	device address
 * @host:	where they are mapped here, or NULL if they no longer are
 */
struct mr_extent {
	uint32_t page;
	uint32_t npages;
	uint64_t addr;
	uint8_t *host;
};

/**
 * struct mr - memory region
 * @key:	lkey and rkey: mrn << 8 | tag
 * @access:	&enum virtio_ib_access_flags
 * @pd:		protection domain
 * @dma:	it is all of the guest's memory, without extents
 * @lost:	pages of it are not in the guest's memory any more
 * @invalid:	no access: it waits for mr_fast_reg()
 * @max_pages:	pages that mr_fast_reg() may give it, 0 if that is not possible;
 *		there is room for as many extents
 * @addr:	address of its first byte
 * @length:	bytes
 * @n:		number of extents
 * @extent:	sorted by page
 */
struct mr {
	uint32_t key;
	uint32_t access;
	struct pd *pd;
	bool dma;
	bool lost;
	bool invalid;
	uint32_t max_pages;
	uint64_t addr;
	uint64_t length;
	uint32_t n;
	struct mr_extent *extent;
};

/**
 * mr_get_dma() - make a memory region of all memory that the device reaches
 * @rnic:	NIC
 * @pdn:	protection domain
 * @access:	&enum virtio_ib_access_flags
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_get_dma(struct rnic *rnic, uint32_t pdn, uint32_t access,
		       uint32_t *key);

/**
 * mr_reg_user() - make a memory region of pages
 * @rnic:	NIC
 * @req:	request
 * @room:	bytes behind the fixed part of it
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_reg_user(struct rnic *rnic,
			const struct virtio_rdma_cmd_reg_user_mr *req,
			size_t room, uint32_t *key);

/**
 * struct mr_fast - a registration by work request
 * @pages:	device address of the page list
 * @addr:	address of the first byte
 * @length:	bytes
 * @key:	new key
 * @access:	&enum virtio_ib_access_flags
 * @npages:	number of pages
 */
struct mr_fast {
	uint64_t pages;
	uint64_t addr;
	uint32_t length;
	uint32_t key;
	uint32_t access;
	uint32_t npages;
};

/**
 * mr_alloc() - make a memory region for registrations by work request
 * @rnic:	NIC
 * @pdn:	protection domain
 * @max_pages:	pages that it takes
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_alloc(struct rnic *rnic, uint32_t pdn, uint32_t max_pages,
		     uint32_t *key);

/**
 * mr_fast_reg() - carry out a registration
 * @rnic:	NIC
 * @pd:		protection domain of the QP
 * @fast:	copy of the request
 *
 * Return: NULL, or why it failed; then the region is as it was before.
 */
const char *mr_fast_reg(struct rnic *rnic, const struct pd *pd,
			const struct mr_fast *fast);

/**
 * mr_invalidate() - make a memory region of mr_alloc() invalid
 * @rnic:	NIC
 * @pd:		protection domain of the QP
 * @key:	its key
 *
 * One that is invalid already stays so: both sides may be at it.
 *
 * Return: false if the key is not that of such a region.  No cursor on the
 *	   region may be used any more.
 */
bool mr_invalidate(struct rnic *rnic, const struct pd *pd, uint32_t key);

/** mr_dereg() - destroy a memory region; returns NULL, or why not */
const char *mr_dereg(struct rnic *rnic, uint32_t mrn);

/** mr_free_all() - destroy all memory regions of a NIC */
void mr_free_all(struct rnic *rnic);

/** mr_translate_all() - the memory map is another one: translate all again */
void mr_translate_all(struct rnic *rnic);

/**
 * mr_get_whole() - memory region that a key stands for, whatever it covers
 * @rnic:	NIC
 * @pd:		protection domain of the QP
 * @key:	rkey
 * @access:	right that the region must grant
 *
 * Return: as of mr_get().
 */
const struct mr *mr_get_whole(const struct rnic *rnic, const struct pd *pd,
			      uint32_t key, uint32_t access);

/**
 * mr_get() - memory region for an access
 * @rnic:	NIC
 * @pd:		protection domain of the QP
 * @key:	lkey or rkey
 * @addr:	first byte
 * @len:	bytes
 * @access:	right that the region must grant, or 0 for local reading
 *
 * Return: the region if all of [@addr, @addr + @len) may be accessed, else
 *	   NULL.  Valid until the next control command.
 */
const struct mr *mr_get(const struct rnic *rnic, const struct pd *pd,
			uint32_t key, uint64_t addr, uint64_t len,
			uint32_t access);

/**
 * mr_contig() - pointer to a part of a memory region
 * @rnic:	NIC
 * @mr:		from mr_get() for a range that contains the following
 * @addr:	first byte
 * @len:	bytes
 * @hint:	extent to try first; updated
 * @p:		set to the pointer
 *
 * Return: how many bytes, up to @len and not 0, lie at @p.
 */
size_t mr_contig(const struct rnic *rnic, const struct mr *mr, uint64_t addr,
		 size_t len, uint32_t *hint, uint8_t **p);

#endif /* DEVICE_MR_H */
