// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory tables: guest memory as QEMU shares it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vhost_user/vhost_user_mem.h"

static bool range_wraps(uint64_t start, uint64_t size)
{
	return start + size < start;
}

void vu_mem_free(struct vu_mem *mem)
{
	unsigned int i;

	if (!mem)
		return;
	for (i = 0; i < mem->n; i++) {
		if (mem->guard[i].map)
			mem_guard_del(&mem->guard[i]);
		munmap(mem->region[i].map, mem->region[i].map_len);
	}
	free(mem);
}

/* In a signal handler. */
static void vu_mem_lost(void *arg)
{
	struct vu_mem *mem = arg;

	mem->lost = true;
	shutdown(mem->conn, SHUT_RDWR);
}

static void vu_mem_guard(struct vu_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->n; i++) {
		mem->guard[i] = (struct mem_guard){
			.map = mem->region[i].map,
			.len = mem->region[i].map_len,
			.lost = vu_mem_lost,
			.arg = mem,
		};
		mem_guard_add(&mem->guard[i]);
	}
}

bool vu_mem_sealed(const struct vu_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->n; i++)
		if (!mem->region[i].sealed)
			return false;
	return true;
}

/* Files that know no seals can shrink. */
static bool fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK);
}

/*
 * Maps what @from describes.  The mapping begins at a multiple of the file's
 * block size, which is that of a page even where pages are huge.
 */
static int vu_region_map(struct vu_region *region,
			 const struct vu_memory_region *from, int fd)
{
	uint64_t align, skip;
	struct stat st;

	if (!from->size || range_wraps(from->guest_addr, from->size) ||
	    range_wraps(from->user_addr, from->size) ||
	    range_wraps(from->offset, from->size))
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	if (from->offset + from->size > (uint64_t)st.st_size)
		return -EINVAL;

	align = sysconf(_SC_PAGESIZE);
	if ((uint64_t)st.st_blksize > align)
		align = st.st_blksize;
	skip = from->offset % align;

	region->user_addr = from->user_addr;
	region->guest_addr = from->guest_addr;
	region->size = from->size;
	region->map_len = (skip + from->size + align - 1) / align * align;
	region->map = mmap(NULL, region->map_len, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fd, from->offset - skip);
	if (region->map == MAP_FAILED)
		return -errno;
	region->host = (uint8_t *)region->map + skip;
	region->sealed = fd_is_sealed(fd);
	madvise(region->map, region->map_len, MADV_DONTDUMP);
	return 0;
}

static int vu_region_compare(const void *a, const void *b)
{
	const struct vu_region *x = a, *y = b;

	if (x->guest_addr == y->guest_addr)
		return 0;
	return x->guest_addr < y->guest_addr ? -1 : 1;
}

static bool range_overlaps(uint64_t a, uint64_t a_size, uint64_t b,
			   uint64_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

/* Sorts the regions, fills in the device's map, and looks for overlaps. */
static int vu_mem_finish(struct vu_mem *mem)
{
	const struct vu_region *a, *b;
	unsigned int i, j;

	qsort(mem->region, mem->n, sizeof(*mem->region), vu_region_compare);
	for (i = 0; i < mem->n; i++) {
		a = &mem->region[i];
		for (j = 0; j < i; j++) {
			b = &mem->region[j];
			if (range_overlaps(a->guest_addr, a->size,
					   b->guest_addr, b->size) ||
			    range_overlaps(a->user_addr, a->size,
					   b->user_addr, b->size))
				return -EINVAL;
		}
		mem->map.region[i].addr = a->guest_addr;
		mem->map.region[i].size = a->size;
		mem->map.region[i].host = a->host;
	}
	mem->map.n = mem->n;
	return 0;
}

int vu_mem_new(struct vu_mem **memp, const struct vu_memory *from,
	       const int *fd, int conn)
{
	struct vu_mem *mem = calloc(1, sizeof(*mem));
	int err;

	if (!mem)
		return -ENOMEM;
	mem->conn = conn;
	while (mem->n < from->n) {
		err = vu_region_map(&mem->region[mem->n],
				    &from->region[mem->n], fd[mem->n]);
		if (err)
			goto err_free;
		mem->n++;
	}
	err = vu_mem_finish(mem);
	if (err)
		goto err_free;
	vu_mem_guard(mem);
	*memp = mem;
	return 0;

err_free:
	vu_mem_free(mem);
	return err;
}

void *vu_mem_user(const struct vu_mem *mem, uint64_t addr, uint64_t len)
{
	const struct vu_region *region;
	unsigned int i;

	for (i = 0; mem && i < mem->n; i++) {
		region = &mem->region[i];
		if (addr >= region->user_addr &&
		    addr - region->user_addr < region->size &&
		    len <= region->size - (addr - region->user_addr))
			return region->host + (addr - region->user_addr);
	}
	return NULL;
}
