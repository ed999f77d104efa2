// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counts calls of virtio/mem.c.  The linker replaces X() by __wrap_X().
 */
#include "tests/lib/work.h"
#include "virtio/mem.h"

struct work work;

void *__real_guest_mem_ptr(const struct guest_mem *mem, uint64_t addr,
			   uint64_t len);
void *__wrap_guest_mem_ptr(const struct guest_mem *mem, uint64_t addr,
			   uint64_t len);
uint64_t __real_guest_mem_contig(const struct guest_mem *mem, uint64_t addr,
				 uint64_t len, uint8_t **host);
uint64_t __wrap_guest_mem_contig(const struct guest_mem *mem, uint64_t addr,
				 uint64_t len, uint8_t **host);
size_t __real_iov_to_buf(const struct iovec *iov, unsigned int n, size_t off,
			 void *buf, size_t len);
size_t __wrap_iov_to_buf(const struct iovec *iov, unsigned int n, size_t off,
			 void *buf, size_t len);

void *__wrap_guest_mem_ptr(const struct guest_mem *mem, uint64_t addr,
			   uint64_t len)
{
	work.lookups++;
	return __real_guest_mem_ptr(mem, addr, len);
}

uint64_t __wrap_guest_mem_contig(const struct guest_mem *mem, uint64_t addr,
				 uint64_t len, uint8_t **host)
{
	work.lookups++;
	return __real_guest_mem_contig(mem, addr, len, host);
}

size_t __wrap_iov_to_buf(const struct iovec *iov, unsigned int n, size_t off,
			 void *buf, size_t len)
{
	size_t copied = __real_iov_to_buf(iov, n, off, buf, len);

	work.copied += copied;
	return copied;
}
