// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scatter lists of work requests.
 */
#include <string.h>

#include "rdma/object/sg.h"
#include "virtio/write.h"

uint64_t sg_length(const struct sge *sge, unsigned int n)
{
	uint64_t len = 0;

	while (n--)
		len += (sge++)->length;
	return len;
}

/* An element without bytes is legal whatever its key. */
static bool sge_ok(const struct sg *sg, const struct sge *sge, uint64_t off,
		   uint64_t len)
{
	return !len || mr_get_remote(sg->mrs, sg->pd, sg->user, sge->key,
				     sge->addr + off, len, sg->access);
}

bool sg_init(struct sg *sg, const struct mr_table *mrs, const struct pd *pd,
	     uint32_t access, const struct sge *sge, unsigned int n,
	     uint64_t off, uint64_t len)
{
	uint64_t part;

	while (n && off >= sge->length) {
		off -= sge->length;
		sge++;
		n--;
	}
	*sg = (struct sg) {
		.mrs = mrs,
		.pd = pd,
		.access = access,
		.sge = sge,
		.n = n,
		.off = off,
	};
	for (; n && len; n--, sge++, off = 0) {
		part = sge->length - off;
		if (part > len)
			part = len;
		if (!sge_ok(sg, sge, off, part))
			return false;
		len -= part;
	}
	return !len;
}

bool sg_init_remote(struct sg *sg, const struct mr_table *mrs, const struct pd *pd,
		    uint64_t user, uint32_t access, const struct sge *sge)
{
	*sg = (struct sg) {
		.mrs = mrs,
		.pd = pd,
		.user = user,
		.access = access,
		.sge = sge,
		.n = 1,
	};
	return sge_ok(sg, sge, 0, sge->length);
}

void sg_init_flat(struct sg *sg, void *p)
{
	*sg = (struct sg) { .flat = p };
}

void sg_init_guest(struct sg *sg, uint8_t *p)
{
	*sg = (struct sg) { .flat = p, .guest = true };
}

/* Leave elements that lie behind the cursor. */
static void sg_enter(struct sg *sg)
{
	while (sg->off == sg->sge->length) {
		sg->sge++;
		sg->off = 0;
		sg->mr = NULL;
	}
}

/* The next piece in one go, up to @max bytes, which are not 0; *@p as of mr_contig(). */
static size_t sg_contig(struct sg *sg, size_t max, uint8_t **p)
{
	const struct sge *sge;

	if (sg->flat) {
		*p = sg->flat;
		return max;
	}
	sg_enter(sg);
	sge = sg->sge;
	if (max > sge->length - sg->off)
		max = sge->length - sg->off;
	if (!sg->mr) {
		/* Bounds were checked when the cursor was made. */
		sg->mr = mr_get_whole(sg->mrs, sg->pd, sg->user, sge->key,
				      sg->access);
		sg->hint = 0;
	}
	return mr_contig(sg->mrs, sg->mr, sge->addr + sg->off, max, &sg->hint, p);
}

static void sg_advance(struct sg *sg, size_t len)
{
	if (sg->flat)
		sg->flat += len;
	else
		sg->off += len;
}

void sg_skip(struct sg *sg, uint64_t len)
{
	uint64_t part = len;

	for (; len; len -= part) {
		if (!sg->flat) {
			sg_enter(sg);
			part = sg->sge->length - sg->off;
			if (part > len)
				part = len;
		}
		sg_advance(sg, part);
	}
}

/*
 * In a loop-back both may be the same memory.  Pages that are gone read as zeroes, as
 * memory that QEMU takes away does.  Only a guest polls what is written.
 */
static void sg_copy_part(const struct sg *dst, uint8_t *to, const uint8_t *from, size_t len)
{
	if (!to)
		return;
	if (!from)
		write_zero(to, len);
	else if (dst->flat && !dst->guest)
		memmove(to, from, len);
	else
		write_place(to, from, len);
}

void sg_copy(struct sg *dst, struct sg *src, uint64_t len)
{
	uint8_t *to, *from;
	size_t part;

	while (len) {
		part = sg_contig(src, len, &from);
		part = sg_contig(dst, part, &to);
		sg_copy_part(dst, to, from, part);
		sg_advance(src, part);
		sg_advance(dst, part);
		len -= part;
	}
}
