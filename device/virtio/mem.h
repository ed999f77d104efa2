/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guest memory as the front-end mapped it.
 *
 * Every address from the guest passes through here; nothing else turns a number
 * of the guest's into a pointer.
 */
#ifndef DEVICE_MEM_H
#define DEVICE_MEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

/* As many as QEMU may have. */
#define GUEST_MEM_REGIONS_MAX	512

/**
 * struct guest_region - one contiguous piece of guest memory
 * @addr: first device address
 * @size: bytes
 * @host: where it is mapped here
 */
struct guest_region {
	uint64_t addr;
	uint64_t size;
	uint8_t *host;
};

/**
 * struct guest_mem - the memory map of one guest
 * @n: number of regions
 * @region: sorted by address, without overlap
 */
struct guest_mem {
	unsigned int n;
	struct guest_region region[GUEST_MEM_REGIONS_MAX];
};

/** guest_mem_none - a map without memory */
extern const struct guest_mem guest_mem_none;

/**
 * guest_mem_ptr() - pointer to a piece of guest memory
 * @mem:	memory map
 * @addr:	device address
 * @len:	bytes, may be 0
 *
 * Return: the pointer, or NULL unless all of [@addr, @addr + @len) lies in one
 *	   region.  Valid until the memory map changes.
 */
void *guest_mem_ptr(const struct guest_mem *mem, uint64_t addr, uint64_t len);

/**
 * guest_mem_contig() - how far it is the same from an address on
 * @mem:	memory map
 * @addr:	device address
 * @len:	bytes, more than 0
 * @host:	set to the memory at @addr, or to NULL if there is none
 *
 * Return: how many bytes, up to @len and not 0, lie in the region that @addr is
 *	   in; or, if it is in none, in none.
 */
uint64_t guest_mem_contig(const struct guest_mem *mem, uint64_t addr, uint64_t len,
			  uint8_t **host);

/**
 * guest_mem_iov() - pieces of the daemon's memory behind a device address
 * @mem:	memory map
 * @addr:	device address
 * @len:	bytes, more than 0
 * @iov:	filled in; one piece per region that the range touches
 * @max:	room in @iov
 *
 * Return: number of pieces, -EFAULT unless all of [@addr, @addr + @len) is
 *	   memory, -E2BIG if @iov is too small.  The pieces are valid until the
 *	   memory map changes.
 */
int guest_mem_iov(const struct guest_mem *mem, uint64_t addr, uint64_t len,
		  struct iovec *iov, unsigned int max);

/**
 * guest_mem_read_once() - copy what a guest may change at the same time
 * @dst:	where to
 * @src:	in guest memory, any alignment
 * @len:	bytes
 *
 * What is checked in the copy afterwards is what is used: the compiler does not
 * read @src again.
 */
static inline void guest_mem_read_once(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	__asm__ volatile("" : : : "memory");
}

/**
 * iov_to_buf() - copy out of a scatter list
 * @iov:	pieces
 * @n:		their number
 * @off:	bytes to skip
 * @buf:	where to
 * @len:	bytes
 *
 * Return: bytes copied, less than @len if the list ends before.  The compiler
 *	   does not read the list's memory again.
 */
size_t iov_to_buf(const struct iovec *iov, unsigned int n, size_t off,
		  void *buf, size_t len);

/**
 * iov_from_buf() - copy into a scatter list
 * @iov:	pieces
 * @n:		their number
 * @off:	bytes to skip
 * @buf:	where from
 * @len:	bytes
 *
 * Return: bytes copied, less than @len if the list ends before.
 */
size_t iov_from_buf(const struct iovec *iov, unsigned int n, size_t off,
		    const void *buf, size_t len);

/**
 * iov_copy() - copy from one scatter list to another
 * @dst:	pieces to write
 * @dst_n:	their number
 * @dst_off:	bytes to skip in @dst
 * @src:	pieces to read
 * @src_n:	their number
 * @src_off:	bytes to skip in @src
 * @len:	bytes
 *
 * Return: bytes copied, less than @len if one of the lists ends before.
 */
size_t iov_copy(const struct iovec *dst, unsigned int dst_n, size_t dst_off,
		const struct iovec *src, unsigned int src_n, size_t src_off,
		size_t len);

#endif /* DEVICE_MEM_H */
