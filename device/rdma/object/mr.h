/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions and memory windows: from key and address to a pointer, never without a
 * check.
 */
#ifndef DEVICE_RDMA_OBJECT_MR_H
#define DEVICE_RDMA_OBJECT_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdma/object/ctx.h"
#include "rdma/object/extents.h"
#include "rdma/object/obj.h"
#include "rdma/object/pd.h"

/**
 * struct mr - memory region
 * @key:	lkey and rkey: mrn << 8 | tag
 * @access:	&enum virtio_ib_access_flags
 * @pd:		protection domain
 * @dma:	it is all of the guest's memory, without extents
 * @invalid:	no access: it waits for mr_fast_reg()
 * @max_pages:	pages that mr_fast_reg() may give it, 0 if that is not possible;
 *		there is room for as many extents
 * @addr:	address of its first byte
 * @first:	its offset in the first page
 * @length:	bytes
 * @n:		number of extents
 * @extent:	sorted by page
 * @window:	of a memory window: its type; else 0.  A window has no extents; it is
 *		@invalid while it is not bound
 * @user:	of a window of type 2: &qp.serial of the QP that may use it
 * @of:		of a window: MRN of the region that it is bound to
 * @bound:	of a window: @binding of that region when it was bound, 0 if it is not
 * @base:	of a window: address of its first byte there
 * @windows:	of a region: how many windows are bound to it
 * @binding:	of a region: windows with this number are bound to it.  A region that gets
 *		another number has lost all of its windows, however many they were
 */
struct mr {
	uint32_t key;
	uint32_t access;
	struct pd *pd;
	bool dma;
	bool invalid;
	uint32_t max_pages;
	uint64_t addr;
	uint32_t first;
	uint64_t length;
	uint32_t n;
	struct mr_extent *extent;
	uint8_t window;
	uint64_t user;
	uint32_t of;
	uint64_t bound;
	uint64_t base;
	uint32_t windows;
	uint64_t binding;
};

struct mr_reg;

/**
 * struct mr_table - the memory regions of a NIC
 * @ctx:	the NIC's context
 * @pds:	its protection domains
 * @objs:	&struct mr by key
 * @extents:	extents of all of them together
 * @binding:	&mr.binding that was given out last
 * @map:	last memory map that was not empty
 * @unchecked:	they were loaded without memory: look for gaps when it is there
 * @gaps:	pages of regions may not be in the guest's memory any more
 * @stamp:	changes with each of them, and with the memory map; not 0
 * @reg:	registration under way, or NULL
 */
struct mr_table {
	struct rnic_ctx *ctx;
	struct pd_table *pds;
	struct obj_table objs;
	uint32_t extents;
	uint64_t binding;
	struct guest_mem map;
	bool unchecked;
	bool gaps;
	uint64_t stamp;
	struct mr_reg *reg;
};

/** mr_table_init() - make an empty table; returns 0 or a negative error */
int mr_table_init(struct mr_table *mrs, struct rnic_ctx *ctx,
		  struct pd_table *pds);

/** mr_table_reset() - destroy memory regions; true if none is left */
bool mr_table_reset(struct mr_table *mrs, struct portion *portion);

/** mr_table_fini() - free a table without memory regions */
void mr_table_fini(struct mr_table *mrs);

/**
 * mr_get_dma() - make a memory region of all memory that the device reaches
 * @mrs:	memory regions of the NIC
 * @pdn:	protection domain
 * @access:	&enum virtio_ib_access_flags
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_get_dma(struct mr_table *mrs, uint32_t pdn, uint32_t access,
		       uint32_t *key);

/**
 * mr_reg_begin() - begin to make a memory region of pages
 * @mrs:	memory regions of the NIC, none of which is under way
 * @req:	fixed part of the request
 * @room:	bytes behind that
 *
 * A list of pages may be long: mr_reg_list() tells where it goes on, mr_reg_pages()
 * takes it bit by bit, and mr_reg_end() ends it.  The memory map must not change
 * meanwhile.
 *
 * Return: NULL, or why it failed.
 */
const char *mr_reg_begin(struct mr_table *mrs,
			 const struct virtio_rdma_cmd_reg_user_mr *req, size_t room);

/**
 * mr_rereg_begin() - begin to change a memory region of mr_reg_begin()
 * @mrs:	memory regions of the NIC, none of which is under way
 * @req:	fixed part of the request
 * @room:	bytes behind that
 *
 * If it shall get other pages, these come as for mr_reg_begin(); until mr_reg_end()
 * the region is as it was.  If not, it has been changed.
 *
 * Return: NULL, or why it failed.
 */
const char *mr_rereg_begin(struct mr_table *mrs,
			   const struct virtio_rdma_cmd_rereg_mr *req, size_t room);

/**
 * mr_rereg_long_begin() - the same for REREG_MR_LONG
 * @mrs:	memory regions of the NIC, none of which is under way
 * @req:	fixed part of the request
 * @room:	bytes behind that
 *
 * Return: as of mr_rereg_begin().
 */
const char *mr_rereg_long_begin(struct mr_table *mrs,
				const struct virtio_rdma_cmd_rereg_mr_long *req,
				size_t room);

/**
 * struct mr_list - the list of pages of a registration
 * @next:	number of the page that comes next
 * @left:	pages that are to come, 0 also if there is no registration
 * @indirect:	the list is not in the request, but in pages that the request names
 */
struct mr_list {
	uint32_t next;
	uint32_t left;
	bool indirect;
};

/** mr_reg_list() - which pages a registration still needs */
struct mr_list mr_reg_list(const struct mr_table *mrs);

/**
 * mr_reg_pages() - the next pages of a region
 * @mrs:	memory regions of the NIC
 * @pages:	copy of their addresses
 * @n:		how many, up to &mr_list.left
 *
 * A page may be spread over many pieces of the guest's memory.  Then fewer are taken,
 * but one at least, and mr_reg_list() says where to go on.
 *
 * Return: NULL, or why it failed; then there is no registration any more.
 */
const char *mr_reg_pages(struct mr_table *mrs, const __le64 *pages, uint32_t n);

/**
 * mr_reg_end() - make, or change, the memory region, all of whose pages have come
 * @mrs:	memory regions of the NIC
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_reg_end(struct mr_table *mrs, uint32_t *key);

/** mr_reg_abort() - forget a registration, if one is under way */
void mr_reg_abort(struct mr_table *mrs);

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
 * @mrs:	memory regions of the NIC
 * @pdn:	protection domain
 * @max_pages:	pages that it takes
 * @key:	set to its key
 *
 * Return: NULL, or why it failed.
 */
const char *mr_alloc(struct mr_table *mrs, uint32_t pdn, uint32_t max_pages,
		     uint32_t *key);

/**
 * mr_fast_reg() - carry out a registration
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @fast:	copy of the request
 *
 * Return: NULL, or why it failed; then the region is as it was before.
 */
const char *mr_fast_reg(struct mr_table *mrs, const struct pd *pd,
			const struct mr_fast *fast);

/**
 * mr_alloc_window() - make a memory window
 * @mrs:	memory regions of the NIC
 * @pdn:	protection domain
 * @type:	&enum virtio_ib_mw_type
 * @key:	set to its key
 *
 * It counts as a memory region, and mr_dereg() destroys it.  It is bound to a region as
 * long as that is neither changed nor destroyed.
 *
 * Return: NULL, or why it failed.
 */
const char *mr_alloc_window(struct mr_table *mrs, uint32_t pdn, uint32_t type,
			    uint32_t *key);

/**
 * struct mr_bind - what a window is bound to
 * @addr:	address of the first byte in the region
 * @length:	bytes
 * @mr_key:	key of the region
 * @key:	new key of the window
 * @access:	&enum virtio_ib_access_flags
 */
struct mr_bind {
	uint64_t addr;
	uint64_t length;
	uint32_t mr_key;
	uint32_t key;
	uint32_t access;
};

/**
 * mr_bind() - bind a memory window
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP
 * @bind:	copy of the request
 *
 * Return: NULL, or why it failed; then the window is as it was before.
 */
const char *mr_bind(struct mr_table *mrs, const struct pd *pd, uint64_t user,
		    const struct mr_bind *bind);

/** mr_is_window() - is a key that of a memory window? */
bool mr_is_window(const struct mr_table *mrs, uint32_t key);

/**
 * mr_invalidate() - make a memory region of mr_alloc(), or a window of type 2, invalid
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP
 * @key:	its key
 *
 * One that is invalid already stays so: both sides may be at it.
 *
 * Return: false if the key is not that of such a region.  No cursor on the
 *	   region may be used any more.
 */
bool mr_invalidate(struct mr_table *mrs, const struct pd *pd, uint64_t user,
		   uint32_t key);

/** mr_dereg() - destroy a memory region; returns NULL, or why not */
const char *mr_dereg(struct mr_table *mrs, uint32_t mrn);

/** mr_find_gaps() - regions were loaded: are all of their pages there? */
void mr_find_gaps(struct mr_table *mrs);

/** mr_mem_changed() - the memory map may be another one */
void mr_mem_changed(struct mr_table *mrs);

/**
 * mr_get_whole() - memory region that a key stands for, whatever it covers
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP
 * @key:	rkey
 * @access:	right that the region must grant
 *
 * Return: as of mr_get().
 */
const struct mr *mr_get_whole(const struct mr_table *mrs, const struct pd *pd,
			      uint64_t user, uint32_t key, uint32_t access);

/**
 * mr_get() - memory region for an access
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @key:	lkey or rkey
 * @addr:	first byte
 * @len:	bytes
 * @access:	right that the region must grant, or 0 for local reading
 *
 * Of a range longer than %RNIC_SLICE_ALONE it is not known whether its pages are still the
 * guest's memory; that is looked at for each slice.
 *
 * Return: the region if all of [@addr, @addr + @len) may be accessed, else
 *	   NULL.  Valid until the next control command.
 */
const struct mr *mr_get(const struct mr_table *mrs, const struct pd *pd,
			uint32_t key, uint64_t addr, uint64_t len,
			uint32_t access);

/**
 * mr_get_remote() - memory region or memory window for an access by the peer
 * @mrs:	memory regions of the NIC
 * @pd:		protection domain of the QP
 * @user:	&qp.serial of the QP
 * @key:	rkey
 * @addr:	first byte
 * @len:	bytes
 * @access:	right that it must grant
 *
 * Return: as of mr_get().
 */
const struct mr *mr_get_remote(const struct mr_table *mrs, const struct pd *pd,
			       uint64_t user, uint32_t key, uint64_t addr,
			       uint64_t len, uint32_t access);

/**
 * mr_contig() - pointer to a part of a memory region
 * @mrs:	memory regions of the NIC
 * @mr:		from mr_get() for a range that contains the following
 * @addr:	first byte
 * @len:	bytes
 * @hint:	extent to try first; updated
 * @p:		set to the pointer, or to NULL if there is no memory any more
 *
 * Return: how many bytes, up to @len and not 0, lie at @p, or are not there.
 */
size_t mr_contig(const struct mr_table *mrs, const struct mr *mr, uint64_t addr,
		 size_t len, uint32_t *hint, uint8_t **p);

/** mr_access_check() - may a region, @of_user: one of REG_USER_MR, have these rights? */
const char *mr_access_check(const struct rnic_ctx *ctx, uint32_t access, bool of_user);

/** mr_cost() - extents that a region counts for */
uint32_t mr_cost(const struct mr *mr);

/** mr_of() - the region that a window is bound to, or NULL if that has gone or was changed */
struct mr *mr_of(const struct mr_table *mrs, const struct mr *window);

/** mr_covers() - are all pages of a part of a region still there? */
bool mr_covers(const struct mr_table *mrs, const struct mr *mr, uint64_t addr,
	       uint64_t len);

/**
 * struct mr_place - memory behind a part of a region, as it was found
 * @stamp:	&mr_table.stamp of then, 0 = none
 * @pd:		protection domain
 * @access:	rights that were asked for
 * @key:	key of the region
 * @addr:	first address
 * @length:	bytes that lie there in one piece
 * @host:	where they are
 *
 * It is for one user only.
 */
struct mr_place {
	uint64_t stamp;
	const struct pd *pd;
	uint32_t access;
	uint32_t key;
	uint64_t addr;
	uint64_t length;
	uint8_t *host;
};

/** mr_find() - as mr_at(), without a look at @place, which is filled in */
uint8_t *mr_find(const struct mr_table *mrs, struct mr_place *place, const struct pd *pd,
		 uint64_t user, uint32_t key, uint64_t addr, uint64_t len,
		 uint32_t access);

/**
 * mr_at() - memory that a key gives access to, in one piece
 * @mrs:	memory regions of the NIC
 * @place:	what was found last, for the same @user
 * @pd:		protection domain
 * @user:	as of mr_get_remote()
 * @key:	key
 * @addr:	first address
 * @len:	bytes
 * @access:	&enum virtio_ib_access_flags that are needed
 *
 * Return: the memory, or NULL if there is no access, or if it lies in several pieces.
 */
static inline uint8_t *mr_at(const struct mr_table *mrs, struct mr_place *place,
			     const struct pd *pd, uint64_t user, uint32_t key,
			     uint64_t addr, uint64_t len, uint32_t access)
{
	const uint64_t off = addr - place->addr;

	if (place->stamp == mrs->stamp && place->key == key && place->pd == pd &&
	    place->access == access && off <= place->length && len <= place->length - off)
		return place->host + off;
	return mr_find(mrs, place, pd, user, key, addr, len, access);
}

#endif /* DEVICE_RDMA_OBJECT_MR_H */
