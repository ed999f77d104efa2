/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A guest for tests: memory, and the driver's side of virtqueues in it.
 */
#ifndef DEVICE_TESTS_GUEST_H
#define DEVICE_TESTS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "virtio/mem.h"
#include "virtio/virtq.h"

/* Differs from where it is mapped, so that a mix-up of addresses shows. */
#define GUEST_BASE	0x40000000ULL

/**
 * struct guest - a guest
 * @host:	its memory
 * @size:	bytes of that
 * @used:	bytes handed out by guest_alloc()
 * @fd:		its file
 * @mem:	memory map: one region at GUEST_BASE
 */
struct guest {
	uint8_t *host;
	size_t size;
	size_t used;
	int fd;
	struct guest_mem mem;
};

/**
 * struct guest_vq - the driver's side of a virtqueue
 * @guest:	guest
 * @num:	entries
 * @desc_addr:	device address
 * @avail_addr:	device address
 * @used_addr:	device address
 * @desc:	descriptor table
 * @avail:	available ring
 * @used:	used ring
 * @next_desc:	next free descriptor; none is reused before this wraps
 * @avail_idx:	available index
 * @last_used:	used entries seen
 */
struct guest_vq {
	struct guest *guest;
	uint16_t num;
	uint64_t desc_addr;
	uint64_t avail_addr;
	uint64_t used_addr;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t next_desc;
	uint16_t avail_idx;
	uint16_t last_used;
};

/**
 * struct guest_buf - a piece of a buffer
 * @addr:	device address
 * @len:	bytes
 * @write:	the device writes it
 */
struct guest_buf {
	uint64_t addr;
	uint32_t len;
	bool write;
};

/** guest_init() - give a guest @size bytes of memory, zeroed and in a file */
void guest_init(struct guest *guest, size_t size);

/** guest_fini() - free it */
void guest_fini(struct guest *guest);

/** guest_alloc() - take @len bytes of memory; returns the device address */
uint64_t guest_alloc(struct guest *guest, size_t len, size_t align);

/** guest_ptr() - the test's pointer to a device address */
void *guest_ptr(const struct guest *guest, uint64_t addr);

/** guest_vq_init() - place a virtqueue in guest memory */
void guest_vq_init(struct guest_vq *gvq, struct guest *guest, uint16_t num);

/** guest_vq_start() - make @vq the device's side of it */
void guest_vq_start(const struct guest_vq *gvq, struct virtq *vq);

/**
 * guest_vq_add() - make a buffer available
 * @gvq:	virtqueue
 * @buf:	pieces
 * @n:		their number
 *
 * Return: its head.
 */
uint16_t guest_vq_add(struct guest_vq *gvq, const struct guest_buf *buf,
		      unsigned int n);

/** guest_vq_add_head() - make whatever begins at descriptor @head available */
void guest_vq_add_head(struct guest_vq *gvq, uint16_t head);

/**
 * guest_vq_get() - take a used buffer
 * @gvq:	virtqueue
 * @head:	set to its head
 * @len:	set to the bytes written
 *
 * Return: false if there is none.
 */
bool guest_vq_get(struct guest_vq *gvq, uint32_t *head, uint32_t *len);

/** guest_fds() - number of open file descriptors of this process */
unsigned int guest_fds(void);

/** guest_maps() - number of mappings of guests' memory in this process */
unsigned int guest_maps(void);

#endif /* DEVICE_TESTS_GUEST_H */
