// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guest memory as the front-end mapped it.
 */

#include <errno.h>

#include "virtio/mem.h"
#include "virtio/write.h"

const struct guest_mem guest_mem_none;

/* Number of the first region that ends behind @addr; @n if there is none. */
static unsigned int guest_mem_search(const struct guest_mem *mem, uint64_t addr)
{
	unsigned int low = 0, high = mem->n, mid;
	const struct guest_region *region;

	while (low < high) {
		mid = low + (high - low) / 2;
		region = &mem->region[mid];
		if (addr >= region->addr && addr - region->addr >= region->size)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct guest_region *guest_mem_find(const struct guest_mem *mem,
						 uint64_t addr)
{
	unsigned int i = guest_mem_search(mem, addr);

	return i < mem->n && addr >= mem->region[i].addr ? &mem->region[i] : NULL;
}

void *guest_mem_ptr(const struct guest_mem *mem, uint64_t addr, uint64_t len)
{
	const struct guest_region *region = guest_mem_find(mem, addr);

	if (!region || len > region->size - (addr - region->addr))
		return NULL;
	return region->host + (addr - region->addr);
}

uint64_t guest_mem_contig(const struct guest_mem *mem, uint64_t addr, uint64_t len,
			  uint8_t **host)
{
	unsigned int i = guest_mem_search(mem, addr);
	const struct guest_region *region = &mem->region[i];
	uint64_t run = len;

	*host = NULL;
	if (i < mem->n && addr < region->addr) {
		run = region->addr - addr;
	} else if (i < mem->n) {
		run = region->size - (addr - region->addr);
		*host = region->host + (addr - region->addr);
	}
	return run < len ? run : len;
}

int guest_mem_iov(const struct guest_mem *mem, uint64_t addr, uint64_t len,
		  struct iovec *iov, unsigned int max)
{
	const struct guest_region *region;
	unsigned int n = 0;
	uint64_t part;

	if (!len || addr + len - 1 < addr)
		return -EFAULT;
	while (len) {
		region = guest_mem_find(mem, addr);
		if (!region)
			return -EFAULT;
		if (n == max)
			return -E2BIG;
		part = region->size - (addr - region->addr);
		if (part > len)
			part = len;
		iov[n].iov_base = region->host + (addr - region->addr);
		iov[n].iov_len = part;
		n++;
		addr += part;
		len -= part;
	}
	return n;
}

/* Where in a scatter list a walk is: at @off of the first of @n pieces. */
struct iov_iter {
	const struct iovec *iov;
	unsigned int n;
	size_t off;
};

static struct iov_iter iov_at(const struct iovec *iov, unsigned int n,
			      size_t off)
{
	while (n && off >= iov->iov_len) {
		off -= iov->iov_len;
		iov++;
		n--;
	}
	return (struct iov_iter){ .iov = iov, .n = n, .off = off };
}

static size_t iov_room(const struct iov_iter *it, size_t max)
{
	size_t room;

	if (!it->n)
		return 0;
	room = it->iov->iov_len - it->off;
	return room < max ? room : max;
}

static uint8_t *iov_ptr(const struct iov_iter *it)
{
	return (uint8_t *)it->iov->iov_base + it->off;
}

/* Empty pieces are passed over, so that room is 0 at the end only. */
static void iov_advance(struct iov_iter *it, size_t len)
{
	*it = iov_at(it->iov, it->n, it->off + len);
}

/* The same of a list of which the first piece does not have all of it. */
static __attribute__((noinline)) size_t iov_gather(const struct iovec *iov, unsigned int n,
						   size_t off, void *buf, size_t len)
{
	struct iov_iter it = iov_at(iov, n, off);
	size_t done = 0, part;

	while ((part = iov_room(&it, len - done))) {
		guest_mem_read_once((uint8_t *)buf + done, iov_ptr(&it), part);
		iov_advance(&it, part);
		done += part;
	}
	return done;
}

size_t iov_to_buf(const struct iovec *iov, unsigned int n, size_t off,
		  void *buf, size_t len)
{
	/* As a rule all of it lies in the first piece. */
	if (!n || off > iov->iov_len || len > iov->iov_len - off)
		return iov_gather(iov, n, off, buf, len);
	guest_mem_read_once(buf, (const uint8_t *)iov->iov_base + off, len);
	return len;
}

size_t iov_from_buf(const struct iovec *iov, unsigned int n, size_t off,
		    const void *buf, size_t len)
{
	struct iov_iter it = iov_at(iov, n, off);
	size_t done = 0, part;

	while ((part = iov_room(&it, len - done))) {
		write_copy(iov_ptr(&it), (const uint8_t *)buf + done, part);
		iov_advance(&it, part);
		done += part;
	}
	return done;
}

size_t iov_copy(const struct iovec *dst, unsigned int dst_n, size_t dst_off,
		const struct iovec *src, unsigned int src_n, size_t src_off,
		size_t len)
{
	struct iov_iter to = iov_at(dst, dst_n, dst_off);
	struct iov_iter from = iov_at(src, src_n, src_off);
	size_t done = 0, part;

	while ((part = iov_room(&to, iov_room(&from, len - done)))) {
		/* Both may lie in one guest's memory, and overlap. */
		write_move(iov_ptr(&to), iov_ptr(&from), part);
		iov_advance(&to, part);
		iov_advance(&from, part);
		done += part;
	}
	return done;
}
