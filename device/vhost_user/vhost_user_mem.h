/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory tables: guest memory as QEMU shares it, with two addresses each.
 */
#ifndef DEVICE_VHOST_USER_MEM_H
#define DEVICE_VHOST_USER_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chore.h"
#include "vhost_user/vhost_user_msg.h"
#include "virtio/guard.h"
#include "virtio/mem.h"

/**
 * struct vu_region - a region of guest memory
 * @user_addr:	its address in QEMU
 * @guest_addr:	its address in the guest
 * @size:	bytes
 * @host:	its address here
 * @map:	what mmap() returned
 * @map_len:	what munmap() wants
 * @part:	so much of it is unmapped at a time, 0 for all of it
 * @sealed:	its file cannot shrink
 * @fd:		its file, kept for a process that takes the guest over, or -1
 * @offset:	of it there
 * @guard:	of @map
 * @chore:	unmaps it
 * @loop:	that does the chore
 * @dead:	what counts it then
 */
struct vu_region {
	uint64_t user_addr;
	uint64_t guest_addr;
	uint64_t size;
	uint8_t *host;
	void *map;
	size_t map_len;
	size_t part;
	bool sealed;
	int fd;
	uint64_t offset;
	struct mem_guard guard;
	struct chore chore;
	struct loop *loop;
	struct chore_debt *dead;
};

/**
 * struct vu_mem - a memory table
 * @map:	for the device
 * @n:		number of regions
 * @region:	sorted by guest address, without overlap; those of @map
 * @loop:	event loop
 * @dead:	regions that were in it and are being unmapped
 * @conn:	connection that it belongs to
 * @lost:	QEMU took memory away, and zeroes are in its place.  Then @conn is
 *		shut down, which wakes the loop
 */
struct vu_mem {
	struct guest_mem map;
	unsigned int n;
	struct vu_region *region[GUEST_MEM_REGIONS_MAX];
	struct loop *loop;
	struct chore_debt *dead;
	int conn;
	atomic_bool lost;
};

/**
 * vu_mem_new() - make a memory table without memory
 * @loop:	event loop
 * @dead:	counts what is being unmapped
 * @conn:	connection to shut down when memory is lost
 *
 * Return: the table, or NULL.
 */
struct vu_mem *vu_mem_new(struct loop *loop, struct chore_debt *dead, int conn);

/**
 * vu_mem_add() - map a region of the guest's memory
 * @mem:	table, whose @map changes
 * @from:	description
 * @fd:		its file, which stays the caller's
 *
 * Return: 0, -EINVAL if it wraps around, is not in its file or overlaps another one,
 *	   -ENOSPC if there are too many, or another -errno.
 */
int vu_mem_add(struct vu_mem *mem, const struct vu_memory_region *from, int fd);

/**
 * vu_mem_take() - take a region out of a table, whose @map changes
 * @mem:	table, may be NULL
 * @from:	description; its offset is not looked at
 *
 * Return: the region, still mapped, or NULL if it is not in the table.
 */
struct vu_region *vu_mem_take(struct vu_mem *mem, const struct vu_memory_region *from);

/**
 * vu_region_free() - unmap a region that vu_mem_take() returned
 *
 * From now on nothing of it may be touched.  A large one is unmapped bit by bit.
 */
void vu_region_free(struct vu_region *region);

/** vu_mem_sealed() - is there no file among its files that can shrink? */
bool vu_mem_sealed(const struct vu_mem *mem);

/** vu_mem_bytes() - how much memory there is; @mem may be NULL */
uint64_t vu_mem_bytes(const struct vu_mem *mem);

/** vu_mem_free() - unmap as vu_region_free(), free; @mem may be NULL */
void vu_mem_free(struct vu_mem *mem);

/**
 * vu_mem_user() - pointer to what QEMU has at an address of its own
 * @mem:	table, may be NULL
 * @addr:	address in QEMU
 * @len:	bytes
 *
 * Return: the pointer, or NULL unless all of [@addr, @addr + @len) is in one
 *	   region.
 */
void *vu_mem_user(const struct vu_mem *mem, uint64_t addr, uint64_t len);

#endif /* DEVICE_VHOST_USER_MEM_H */
