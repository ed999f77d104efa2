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
 * @sealed:	its file cannot shrink
 */
struct vu_region {
	uint64_t user_addr;
	uint64_t guest_addr;
	uint64_t size;
	uint8_t *host;
	void *map;
	size_t map_len;
	bool sealed;
};

/**
 * struct vu_mem - a memory table
 * @map:	for the device
 * @n:		number of regions
 * @region:	sorted by guest address, without overlap
 * @guard:	of each
 * @conn:	connection that it belongs to
 * @lost:	QEMU took memory away, and zeroes are in its place.  Then @conn is
 *		shut down, which wakes the loop
 */
struct vu_mem {
	struct guest_mem map;
	unsigned int n;
	struct vu_region region[VU_REGIONS_MAX];
	struct mem_guard guard[VU_REGIONS_MAX];
	int conn;
	atomic_bool lost;
};

/**
 * vu_mem_new() - map the guest's memory
 * @memp:	set to the table
 * @from:	description, whose number of regions is VU_REGIONS_MAX at most
 * @fd:		file of each region; not kept
 * @conn:	connection to shut down when memory is lost
 *
 * Return: 0, -EINVAL if a region wraps around, is not in its file or overlaps
 *	   another one, or another -errno.
 */
int vu_mem_new(struct vu_mem **memp, const struct vu_memory *from,
	       const int *fd, int conn);

/** vu_mem_sealed() - is there no file among its files that can shrink? */
bool vu_mem_sealed(const struct vu_mem *mem);

/** vu_mem_free() - unmap, free; @mem may be NULL */
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
