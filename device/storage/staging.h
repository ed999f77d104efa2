/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Staging memory: buffers that the daemon and the storage process both have.
 */
#ifndef DEVICE_STORAGE_STAGING_H
#define DEVICE_STORAGE_STAGING_H

#include <stdint.h>

#define STAGING_PAGE		4096u
/* A buffer has from 1 to 256 pages, as powers of two. */
#define STAGING_ORDERS		9
#define STAGING_BUFFER_MAX	(STAGING_PAGE << (STAGING_ORDERS - 1))
#define STAGING_DEFAULT		(64u << 20)

struct staging;

/**
 * staging_new() - make it, before any process that shares it
 * @size:	bytes, a multiple of %STAGING_BUFFER_MAX
 *
 * Return: it, or NULL with errno set.
 */
struct staging *staging_new(uint64_t size);

/** staging_free() - unmap it; no buffer is used */
void staging_free(struct staging *staging);

/** staging_base() - where it is mapped, in each process */
void *staging_base(const struct staging *staging);

/** staging_size() - bytes of it */
uint64_t staging_size(const struct staging *staging);

/** staging_fd() - descriptor of the memory */
int staging_fd(const struct staging *staging);

/**
 * staging_alloc() - as &nvmf_pool.alloc
 * @staging:	struct staging
 * @len:	bytes, from 1 to %STAGING_BUFFER_MAX
 *
 * Return: a buffer of whole pages, or NULL.
 */
void *staging_alloc(void *staging, uint32_t len);

/**
 * staging_alloc_of() - as &nvmf_pool.alloc_of
 * @staging:	struct staging
 * @owner:	whose buffer it is; not NULL
 * @len:	as of staging_alloc()
 *
 * Return: a buffer of whole pages, or NULL; also if the owner has half of the memory already.
 */
void *staging_alloc_of(void *staging, const void *owner, uint32_t len);

/** staging_release() - as &nvmf_pool.free */
void staging_release(void *staging, void *buf, uint32_t len);

/**
 * staging_renew() - let a buffer have other pages, of zeroes
 * @staging:	it
 * @buf:	buffer
 * @len:	bytes
 *
 * Whoever may still write to the pages that it had does no harm any more.  If that is not
 * possible now, its owner must not read it, and nobody gets it after that until it is.
 */
void staging_renew(struct staging *staging, void *buf, uint32_t len);

#endif /* DEVICE_STORAGE_STAGING_H */
