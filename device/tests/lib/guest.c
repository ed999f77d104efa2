// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/lib/guest.h"

/* A test cannot go on without this. */
static void need(bool ok)
{
	if (!ok)
		abort();
}

void guest_init(struct guest *guest, size_t size)
{
	memset(guest, 0, sizeof(*guest));
	guest->size = size;
	guest->fd = memfd_create("guest", MFD_CLOEXEC);
	need(guest->fd >= 0 && !ftruncate(guest->fd, size));
	guest->host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   guest->fd, 0);
	need(guest->host != MAP_FAILED);
	guest->mem.n = 1;
	guest->mem.region[0].addr = GUEST_BASE;
	guest->mem.region[0].size = size;
	guest->mem.region[0].host = guest->host;
}

void guest_fini(struct guest *guest)
{
	munmap(guest->host, guest->size);
	close(guest->fd);
}

uint64_t guest_alloc(struct guest *guest, size_t len, size_t align)
{
	uint64_t addr;

	guest->used = (guest->used + align - 1) / align * align;
	need(len <= guest->size - guest->used);
	addr = GUEST_BASE + guest->used;
	guest->used += len;
	return addr;
}

void *guest_ptr(const struct guest *guest, uint64_t addr)
{
	need(addr >= GUEST_BASE && addr - GUEST_BASE < guest->size);
	return guest->host + (addr - GUEST_BASE);
}

void guest_vq_init(struct guest_vq *gvq, struct guest *guest, uint16_t num)
{
	memset(gvq, 0, sizeof(*gvq));
	gvq->guest = guest;
	gvq->num = num;
	gvq->desc_addr = guest_alloc(guest, 16 * num, 16);
	gvq->avail_addr = guest_alloc(guest, 6 + 2 * num, 2);
	gvq->used_addr = guest_alloc(guest, 6 + 8 * num, 4);
	gvq->desc = guest_ptr(guest, gvq->desc_addr);
	gvq->avail = guest_ptr(guest, gvq->avail_addr);
	gvq->used = guest_ptr(guest, gvq->used_addr);
}

void guest_vq_start(const struct guest_vq *gvq, struct virtq *vq)
{
	vq->mem = &gvq->guest->mem;
	need(!virtq_start(vq, gvq->num, 0, gvq->desc, gvq->avail, gvq->used));
}

void guest_vq_add_head(struct guest_vq *gvq, uint16_t head)
{
	gvq->avail->ring[gvq->avail_idx % gvq->num] = head;
	gvq->avail_idx++;
	__atomic_store_n(&gvq->avail->idx, gvq->avail_idx, __ATOMIC_RELEASE);
}

uint16_t guest_vq_add(struct guest_vq *gvq, const struct guest_buf *buf,
		      unsigned int n)
{
	uint16_t head = gvq->next_desc;
	struct vring_desc *desc;
	unsigned int i;

	for (i = 0; i < n; i++) {
		desc = &gvq->desc[gvq->next_desc];
		gvq->next_desc = (gvq->next_desc + 1) % gvq->num;
		desc->addr = buf[i].addr;
		desc->len = buf[i].len;
		desc->flags = (buf[i].write ? VRING_DESC_F_WRITE : 0) |
			      (i + 1 < n ? VRING_DESC_F_NEXT : 0);
		desc->next = gvq->next_desc;
	}
	guest_vq_add_head(gvq, head);
	return head;
}

bool guest_vq_get(struct guest_vq *gvq, uint32_t *head, uint32_t *len)
{
	const struct vring_used_elem *entry;

	if (__atomic_load_n(&gvq->used->idx, __ATOMIC_ACQUIRE) ==
	    gvq->last_used)
		return false;
	entry = &gvq->used->ring[gvq->last_used++ % gvq->num];
	*head = entry->id;
	*len = entry->len;
	return true;
}

unsigned int guest_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	need(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

unsigned int guest_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	need(maps);
	while (fgets(line, sizeof(line), maps))
		n += !!strstr(line, "memfd:guest");
	fclose(maps);
	return n;
}
