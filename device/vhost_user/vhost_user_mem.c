// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory tables: guest memory as QEMU shares it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vhost_user/vhost_user_mem.h"

/*
 * So much of a mapping is unmapped at a time: to unmap pages of 4 KiB that were all
 * touched takes some 50 µs then, and 100 ms for 1 GiB.
 */
#define VU_MEM_PART	(512u << 10)

static bool range_wraps(uint64_t start, uint64_t size)
{
	return start + size < start;
}

/* Unmap the next part of a region. */
static bool vu_region_step(struct chore *chore)
{
	struct vu_region *region = (struct vu_region *)((char *)chore -
				   offsetof(struct vu_region, chore));
	size_t part = region->map_len;

	if (region->part && part > region->part)
		part = region->part;
	munmap(region->map, part);
	region->map = (uint8_t *)region->map + part;
	region->map_len -= part;
	region->dead->bytes -= part;
	if (region->map_len)
		return true;
	chore_debt_end(region->dead, 0);
	free(region);
	return false;
}

void vu_region_free(struct vu_region *region)
{
	mem_guard_del(&region->guard);
	if (region->fd >= 0)
		close(region->fd);
	chore_debt_add(region->dead, region->map_len);
	region->chore.step = vu_region_step;
	if (region->part && region->map_len > region->part)
		chore_add(region->loop, &region->chore);
	else
		vu_region_step(&region->chore);
}

uint64_t vu_mem_bytes(const struct vu_mem *mem)
{
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; mem && i < mem->n; i++)
		bytes += mem->region[i]->map_len;
	return bytes;
}

void vu_mem_free(struct vu_mem *mem)
{
	if (!mem)
		return;
	while (mem->n)
		vu_region_free(mem->region[--mem->n]);
	free(mem);
}

/* In a signal handler. */
static void vu_mem_lost(void *arg)
{
	struct vu_mem *mem = arg;

	mem->lost = true;
	shutdown(mem->conn, SHUT_RDWR);
}

bool vu_mem_sealed(const struct vu_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->n; i++)
		if (!mem->region[i]->sealed)
			return false;
	return true;
}

/* Files that know no seals can shrink. */
static bool fd_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK);
}

static int vu_region_check(const struct vu_memory_region *from, int fd)
{
	struct stat st;

	if (!from->size || range_wraps(from->guest_addr, from->size) ||
	    range_wraps(from->user_addr, from->size) ||
	    range_wraps(from->offset, from->size))
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	return from->offset + from->size > (uint64_t)st.st_size ? -EINVAL : 0;
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

	if (fstat(fd, &st))
		return -errno;
	align = sysconf(_SC_PAGESIZE);
	if ((uint64_t)st.st_blksize > align)
		align = st.st_blksize;
	skip = from->offset % align;
	/* Parts of huge pages cannot be unmapped. */
	if (!(align & (align - 1)))
		region->part = align > VU_MEM_PART ? align : VU_MEM_PART;

	region->user_addr = from->user_addr;
	region->guest_addr = from->guest_addr;
	region->size = from->size;
	region->map_len = (skip + from->size + align - 1) / align * align;
	region->offset = from->offset;
	region->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (region->fd < 0)
		return -errno;
	region->map = mmap(NULL, region->map_len, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, fd, from->offset - skip);
	if (region->map == MAP_FAILED) {
		int err = errno;

		close(region->fd);
		return -err;
	}
	region->host = (uint8_t *)region->map + skip;
	region->sealed = fd_is_sealed(fd);
	madvise(region->map, region->map_len, MADV_DONTDUMP);
	return 0;
}

static bool range_overlaps(uint64_t a, uint64_t a_size, uint64_t b,
			   uint64_t b_size)
{
	return a < b + b_size && b < a + a_size;
}

static bool vu_mem_overlaps(const struct vu_mem *mem, const struct vu_memory_region *from)
{
	const struct vu_region *region;
	unsigned int i;

	for (i = 0; i < mem->n; i++) {
		region = mem->region[i];
		if (range_overlaps(region->guest_addr, region->size,
				   from->guest_addr, from->size) ||
		    range_overlaps(region->user_addr, region->size,
				   from->user_addr, from->size))
			return true;
	}
	return false;
}

/* Fills in the device's map. */
static void vu_mem_show(struct vu_mem *mem)
{
	unsigned int i;

	for (i = 0; i < mem->n; i++)
		mem->map.region[i] = (struct guest_region) {
			.addr = mem->region[i]->guest_addr,
			.size = mem->region[i]->size,
			.host = mem->region[i]->host,
		};
	mem->map.n = mem->n;
}

struct vu_mem *vu_mem_new(struct loop *loop, struct chore_debt *dead, int conn)
{
	struct vu_mem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->loop = loop;
	mem->dead = dead;
	mem->conn = conn;
	return mem;
}

int vu_mem_add(struct vu_mem *mem, const struct vu_memory_region *from, int fd)
{
	struct vu_region *region;
	unsigned int i;
	int err;

	if (mem->n == GUEST_MEM_REGIONS_MAX)
		return -ENOSPC;
	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	err = vu_region_check(from, fd);
	if (!err && vu_mem_overlaps(mem, from))
		err = -EINVAL;
	if (!err)
		err = vu_region_map(region, from, fd);
	if (err) {
		free(region);
		return err;
	}
	region->loop = mem->loop;
	region->dead = mem->dead;
	region->guard = (struct mem_guard) {
		.map = region->map,
		.len = region->map_len,
		.part = region->part,
		.lost = vu_mem_lost,
		.arg = mem,
	};
	mem_guard_add(&region->guard);

	for (i = mem->n++; i && mem->region[i - 1]->guest_addr > region->guest_addr; i--)
		mem->region[i] = mem->region[i - 1];
	mem->region[i] = region;
	vu_mem_show(mem);
	return 0;
}

struct vu_region *vu_mem_take(struct vu_mem *mem, const struct vu_memory_region *from)
{
	struct vu_region *region;
	unsigned int i;

	for (i = 0; mem && i < mem->n; i++) {
		region = mem->region[i];
		if (region->guest_addr != from->guest_addr ||
		    region->user_addr != from->user_addr || region->size != from->size)
			continue;
		memmove(&mem->region[i], &mem->region[i + 1],
			(--mem->n - i) * sizeof(*mem->region));
		vu_mem_show(mem);
		return region;
	}
	return NULL;
}

void *vu_mem_user(const struct vu_mem *mem, uint64_t addr, uint64_t len)
{
	const struct vu_region *region;
	unsigned int i;

	for (i = 0; mem && i < mem->n; i++) {
		region = mem->region[i];
		if (addr >= region->user_addr &&
		    addr - region->user_addr < region->size &&
		    len <= region->size - (addr - region->user_addr))
			return region->host + (addr - region->user_addr);
	}
	return NULL;
}
