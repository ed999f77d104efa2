// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions over pages of all sizes, and lists of pages outside of the request.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/util.h"
#include "tests/lib/engine_guest.h"
#include "tests/lib/work.h"
#include "rdma/object/mr.h"
#include "rdma/rnic_priv.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define LOCAL		VIRTIO_IB_ACCESS_LOCAL_WRITE
#define ZERO		VIRTIO_IB_ACCESS_ZERO_BASED
#define GIB		(1ull << 30)
#define MIB		(1ull << 20)
#define PER_LIST	VIRTIO_RDMA_MR_LIST_PAGE

/* Memory that is never touched, beside that of the guest: device addresses. */
#define WIDE		(64 * GIB)
#define WIDE_SIZE	(5 * GIB)

/* Lists of pages, in the guest's own memory. */
#define LISTS		(EG_DATA + (8u << 20))

/**
 * struct form - a registration
 * @va:		address of the first byte
 * @length:	bytes
 * @npages:	pages in the list
 * @shift:	log2 of their size, as it stands in the request
 * @levels:	likewise
 * @access:	rights
 * @n:		addresses in the request
 * @addr:	those
 */
struct form {
	uint64_t va;
	uint64_t length;
	uint32_t npages;
	uint8_t shift;
	uint8_t levels;
	uint32_t access;
	uint32_t n;
	const uint64_t *addr;
};

static uint8_t *wide;

/* The guest gets the pieces of more memory whose sizes are given. */
static struct eg_guest *guest_with(void **state, const uint64_t *size, unsigned int n)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct guest_mem *map = &guest->map;
	uint64_t addr = WIDE;
	unsigned int i;

	wide = mmap(NULL, 2 * WIDE_SIZE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(wide, MAP_FAILED);
	for (i = 0; i < n; i++) {
		/* Adjacent for the guest, and not here. */
		map->region[map->n++] = (struct guest_region) {
			addr, size[i], wide + 2 * (addr - WIDE),
		};
		addr += size[i];
	}
	rnic_mem_changed(guest->rnic, map);
	return guest;
}

static struct eg_guest *guest_wide(void **state)
{
	static const uint64_t size = WIDE_SIZE;

	return guest_with(state, &size, 1);
}

static int teardown(void **state)
{
	munmap(wide, 2 * WIDE_SIZE);
	return eg_teardown(state);
}

static uint8_t reg(struct eg_guest *guest, uint32_t pdn, const struct form *f,
		   uint32_t *key)
{
	size_t len = sizeof(struct virtio_rdma_cmd_reg_user_mr) + f->n * 8ul;
	struct virtio_rdma_cmd_reg_user_mr *req = calloc(1, len);
	struct virtio_rdma_ack_mr ack;
	uint8_t ret;
	uint32_t i;

	assert_non_null(req);
	req->pdn = htole32(pdn);
	req->access_flags = htole32(f->access);
	req->virt_addr = htole64(f->va);
	req->length = htole64(f->length);
	req->npages = htole32(f->npages);
	req->page_shift = f->shift;
	req->levels = f->levels;
	for (i = 0; i < f->n; i++)
		req->pages[i] = htole64(f->addr[i]);
	work.lookups = 0;
	ret = eg_command(guest, CMD(REG_USER_MR), req, len, &ack, sizeof(ack));
	free(req);
	if (ret == VIRTIO_NET_OK)
		*key = le32toh(ack.lkey);
	return ret;
}

static uint8_t rereg(struct eg_guest *guest, uint32_t pdn, uint32_t key,
		     const struct form *f)
{
	size_t len = sizeof(struct virtio_rdma_cmd_rereg_mr_long) + f->n * 8ul;
	struct virtio_rdma_cmd_rereg_mr_long *req = calloc(1, len);
	uint8_t ret;
	uint32_t i;

	assert_non_null(req);
	req->pdn = htole32(pdn);
	req->access_flags = htole32(f->access);
	req->virt_addr = htole64(f->va);
	req->length = htole64(f->length);
	req->npages = htole32(f->npages);
	req->mrn = htole32(key >> 8);
	req->page_shift = f->shift;
	req->levels = f->levels;
	for (i = 0; i < f->n; i++)
		req->pages[i] = htole64(f->addr[i]);
	ret = eg_command(guest, CMD(REREG_MR_LONG), req, len, NULL, 0);
	free(req);
	return ret;
}

static void dereg(struct eg_guest *guest, uint32_t key)
{
	__le32 req = htole32(key >> 8);

	assert_int_equal(eg_command(guest, CMD(DEREG_MR), &req, 4, NULL, 0),
			 VIRTIO_NET_OK);
}

/* Where a byte of a region is. */
static uint8_t *at(const struct eg_guest *guest, uint32_t pdn, uint32_t key,
		   uint64_t addr)
{
	const struct mr_table *mrs = &guest->rnic->mrs;
	const struct mr *mr = mr_get(mrs, pd_get(&guest->rnic->pds, pdn), key, addr, 1, 0);
	uint32_t hint = 0;
	uint8_t *p;

	assert_non_null(mr);
	assert_int_equal(mr_contig(mrs, mr, addr, 1, &hint, &p), 1);
	return p;
}

static bool ends_at(const struct eg_guest *guest, uint32_t pdn, uint32_t key,
		    uint64_t addr)
{
	const struct mr_table *mrs = &guest->rnic->mrs;

	return !mr_get(mrs, pd_get(&guest->rnic->pds, pdn), key, addr, 1, 0);
}

/* The list of a region of pages of the guest's own memory, one after the other. */
static void put_list(const struct eg_guest *guest, uint64_t list, uint32_t n)
{
	__le64 *to = guest_mem_ptr(guest->rnic->ctx.mem, list, n * 8ul);
	uint32_t i;

	assert_non_null(to);
	for (i = 0; i < n; i++)
		to[i] = htole64(EG_DATA + i % 1024 * EG_PAGE);
}

/* ------------------------------------------------------------------------- */
/* Sizes of pages                                                            */
/* ------------------------------------------------------------------------- */

/* Two pages in reverse order, the first and last byte of the region inside of them. */
static void test_sizes(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), shift, key = 0;
	uint64_t size;

	for (shift = 12; shift <= 30; shift++) {
		size = 1ull << shift;
		const uint64_t addr[] = { WIDE + 2 * size, WIDE };
		const uint64_t va = (1ull << 40) + size - 77;
		const struct form f = {
			.va = va, .length = 177, .npages = 2, .shift = shift, .n = 2,
			.addr = addr,
		};

		assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
		assert_ptr_equal(at(guest, pdn, key, va), wide + 2 * (3 * size - 77) -
				 (3 * size - 77));
		assert_ptr_equal(at(guest, pdn, key, va + 76), wide + 3 * size - 1);
		assert_ptr_equal(at(guest, pdn, key, va + 77), wide);
		assert_ptr_equal(at(guest, pdn, key, va + 176), wide + 99);
		assert_true(ends_at(guest, pdn, key, va + 177));
		assert_true(ends_at(guest, pdn, key, va - 1));
		assert_int_equal(guest->rnic->mrs.extents, 2);
		dereg(guest, key);
	}
}

/* One entry for all of a page. */
static void test_whole_pages(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), key = 0;
	const uint64_t addr[] = { WIDE + 3 * GIB, WIDE + 4 * GIB, WIDE };
	const struct form f = {
		.va = 7 * GIB, .length = 3 * GIB, .npages = 3, .shift = 30, .n = 3,
		.addr = addr,
	};

	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	assert_int_equal(eg_rounds, 1);
	assert_in_range(work.lookups, 3, 4);
	/* The first two are one run. */
	assert_int_equal(guest->rnic->mrs.extents, 2);
	assert_ptr_equal(at(guest, pdn, key, 9 * GIB - 1), wide + 5 * GIB - 1);
	assert_ptr_equal(at(guest, pdn, key, 9 * GIB), wide);
	assert_ptr_equal(at(guest, pdn, key, 10 * GIB - 1), wide + GIB - 1);
	assert_true(ends_at(guest, pdn, key, 10 * GIB));
}

static void test_zero_based(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), key = 0;
	const uint64_t addr[] = { WIDE + 2 * MIB };
	const struct form f = {
		.va = 5 * MIB + 123, .length = 100, .npages = 1, .shift = 21, .n = 1,
		.addr = addr, .access = ZERO,
	};

	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	assert_ptr_equal(at(guest, pdn, key, 0), wide + 3 * MIB + 123);
	assert_ptr_equal(at(guest, pdn, key, 99), wide + 3 * MIB + 222);
	assert_true(ends_at(guest, pdn, key, 100));
}

static void test_bad_pages(void **state)
{
	static const uint64_t addr[] = { WIDE, WIDE + 2 * MIB };
	static const uint64_t odd[] = { WIDE + MIB };
	static const uint64_t none[] = { WIDE + 8 * GIB };
	static const uint64_t last[] = { UINT64_MAX - GIB + 1 };
	static const struct form bad[] = {
		/* No such sizes; no such form. */
		{ .length = 1, .npages = 1, .shift = 11, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .shift = 1, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .shift = 31, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .shift = 63, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .shift = 64, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .shift = 255, .n = 1, .addr = addr },
		{ .length = 1, .npages = 1, .levels = 2, .n = 1, .addr = addr },
		/* Another number of pages than cover it. */
		{ .length = 2 * MIB, .npages = 2, .shift = 21, .n = 2, .addr = addr },
		{ .length = 2 * MIB + 1, .npages = 1, .shift = 21, .n = 1, .addr = addr },
		{ .va = MIB, .length = 2 * MIB, .npages = 1, .shift = 21, .n = 1,
		  .addr = addr },
		{ .length = 2 * MIB, .npages = 512, .shift = 21, .n = 2, .addr = addr },
		{ .length = GIB, .shift = 30 },
		/* Not aligned; not memory. */
		{ .length = 1, .npages = 1, .shift = 21, .n = 1, .addr = odd },
		{ .length = 1, .npages = 1, .shift = 30, .n = 1, .addr = none },
		{ .length = 1, .npages = 1, .shift = 30, .n = 1, .addr = last },
		{ .length = GIB, .npages = 1, .shift = 30, .n = 1, .addr = last },
		/* Longer than any, and than there are addresses. */
		{ .length = (1ull << 43) + 1, .npages = 8193, .shift = 30, .n = 2,
		  .addr = addr },
		{ .va = UINT64_MAX - 10, .length = 100, .npages = 1, .shift = 21, .n = 1,
		  .addr = addr },
	};
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), i, key = 0;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (reg(guest, pdn, &bad[i], &key) != VIRTIO_NET_ERR)
			fail_msg("case %u", i);
	assert_int_equal(guest->rnic->mrs.extents, 0);
	assert_int_equal(guest->rnic->mrs.objs.used, 0);
}

/* Of its first and last page only what the region has must be memory. */
static void test_ends(void **state)
{
	static const uint64_t sizes[] = { GIB / 2 };
	static const uint64_t addr[] = { WIDE };
	struct eg_guest *guest = guest_with(state, sizes, 1);
	uint32_t pdn = eg_create_pd(guest), key = 0;
	struct form f = {
		.va = GIB / 2 - 4096, .length = 4096, .npages = 1, .shift = 30, .n = 1,
		.addr = addr,
	};

	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	assert_ptr_equal(at(guest, pdn, key, f.va), wide + GIB / 2 - 4096);
	f.length++;
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);
	f.va = GIB / 2;
	f.length = 1;
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);
}

/* A page may be spread over many pieces of memory: they count as work. */
static void test_spread(void **state)
{
	enum { PIECES = GUEST_MEM_REGIONS_MAX - 1, PAGES = 64 };
	uint64_t sizes[PIECES], addr[PAGES];
	struct eg_guest *guest;
	uint32_t pdn, i, key = 0;
	const uint64_t piece = 16 * EG_PAGE;
	struct form f = {
		.va = 0, .length = PIECES * piece, .npages = 1, .shift = 25, .n = 1,
		.addr = addr,
	};

	for (i = 0; i < PIECES; i++)
		sizes[i] = piece;
	for (i = 0; i < PAGES; i++)
		addr[i] = WIDE;
	guest = guest_with(state, sizes, PIECES);
	pdn = eg_create_pd(guest);
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 1);
	for (i = 0; i < PIECES; i++) {
		assert_ptr_equal(at(guest, pdn, key, i * piece), wide + 2 * i * piece);
		assert_ptr_equal(at(guest, pdn, key, (i + 1) * piece - 1),
				 wide + 2 * i * piece + piece - 1);
	}
	dereg(guest, key);

	/* One page is 32 MiB, of which the last piece ends one piece before. */
	f.length = 32 * MIB;
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);

	/* Many of them, which take several turns. */
	f.shift = 24;
	f.npages = PAGES;
	f.n = PAGES;
	f.length = PAGES * 16 * MIB;
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, PAGES);
	assert_in_range(eg_rounds, PAGES * 256 / 2048, PAGES * 256 / 2048 + 1);
	assert_ptr_equal(at(guest, pdn, key, 63 * 16 * MIB + 5 * piece),
			 wide + 10 * piece);
}

/* ------------------------------------------------------------------------- */
/* Lists outside of the request                                              */
/* ------------------------------------------------------------------------- */

static void test_indirect(void **state)
{
	static const uint32_t counts[] = { 1, 511, 512, 513, 1024, 2048, 2049, 5000 };
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), i, n, key = 0;
	uint64_t addr[16];

	/* The last of the pages of the list comes first in memory. */
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		addr[i] = LISTS + (ARRAY_SIZE(addr) - 1 - i) * EG_PAGE;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct form f = {
			.va = 99, .length = counts[i] * 4096ull - 99, .npages = counts[i],
			.levels = 1, .addr = addr,
			.n = (counts[i] + PER_LIST - 1) / PER_LIST,
		};

		for (n = 0; n < counts[i]; n++) {
			__le64 *to = guest_mem_ptr(guest->rnic->ctx.mem,
						   addr[n / PER_LIST] + n % PER_LIST * 8,
						   8);

			*to = htole64(EG_DATA + (n * 7 % 1024) * EG_PAGE);
		}
		assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
		assert_int_equal(eg_rounds, (counts[i] + 2047) / 2048);
		for (n = 0; n < counts[i]; n++)
			assert_ptr_equal(at(guest, pdn, key, n * 4096ull + 99),
					 guest->mem + (EG_DATA - EG_BASE) +
					 (n * 7 % 1024) * EG_PAGE + 99);
		assert_true(ends_at(guest, pdn, key, counts[i] * 4096ull));
		dereg(guest, key);
	}
}

static void test_bad_lists(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), i, key = 0;
	const uint64_t bad[] = {
		LISTS + 8, LISTS + 2048, WIDE + WIDE_SIZE, 0, UINT64_MAX - 4095,
	};
	uint64_t addr[6] = {
		LISTS, LISTS, LISTS, LISTS, LISTS, LISTS,
	};
	struct form f = {
		.va = 0, .length = 3000 * 4096, .npages = 3000, .levels = 1, .n = 6,
		.addr = addr,
	};

	put_list(guest, LISTS, PER_LIST);
	for (f.n = 0; f.n < 6; f.n++)
		assert_int_equal(reg(guest, pdn, &f, &key),
				 f.n == 6 ? VIRTIO_NET_OK : VIRTIO_NET_ERR);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		addr[5] = bad[i];
		assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);
		assert_int_equal(eg_rounds, 2);
		addr[0] = bad[i];
		assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);
		assert_int_equal(eg_rounds, 1);
		addr[0] = LISTS;
	}
	/* A list that is in order with an entry that is not. */
	addr[5] = LISTS + EG_PAGE;
	put_list(guest, LISTS + EG_PAGE, 440);
	*(__le64 *)guest_mem_ptr(guest->rnic->ctx.mem, LISTS + EG_PAGE + 439 * 8, 8) = 1;
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_ERR);
	*(__le64 *)guest_mem_ptr(guest->rnic->ctx.mem, LISTS + EG_PAGE + 439 * 8, 8) =
		htole64(EG_DATA);
	assert_int_equal(guest->rnic->mrs.extents, 0);
	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* Bounds                                                                    */
/* ------------------------------------------------------------------------- */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* @npages pages of 4 KiB, by the same page of the list again and again. */
static uint8_t reg_again(struct eg_guest *guest, uint32_t pdn, uint32_t npages,
			 uint32_t *key)
{
	uint32_t n = (npages + PER_LIST - 1) / PER_LIST, i;
	uint64_t *addr = calloc(n, sizeof(*addr));
	const struct form f = {
		.length = npages * 4096ull, .npages = npages, .levels = 1, .n = n,
		.addr = addr,
	};
	double start = seconds();
	uint8_t ret;

	assert_non_null(addr);
	for (i = 0; i < n; i++)
		addr[i] = LISTS;
	ret = reg(guest, pdn, &f, key);
	print_message("%u pages: %u rounds, %.3f s, %u runs\n", npages, eg_rounds,
		      seconds() - start, guest->rnic->mrs.extents);
	free(addr);
	return ret;
}

/* 64 GiB in 4 KiB each: time by the list, memory by the runs in it. */
static void test_64_gib(void **state)
{
	const uint32_t npages = 64 * GIB / 4096;
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), key = 0;

	put_list(guest, LISTS, PER_LIST);
	assert_int_equal(reg_again(guest, pdn, npages, &key), VIRTIO_NET_OK);
	assert_int_equal(eg_rounds, npages / 2048);
	assert_int_equal(guest->rnic->mrs.extents, npages / PER_LIST);
	assert_ptr_equal(at(guest, pdn, key, 64 * GIB - 1),
			 guest->mem + (EG_DATA - EG_BASE) + PER_LIST * EG_PAGE - 1);
	assert_true(ends_at(guest, pdn, key, 64 * GIB));
	dereg(guest, key);

	/* A longer list than any is not even begun. */
	assert_int_equal(reg_again(guest, pdn, RNIC_MR_LIST_MAX + 1, &key),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_rounds, 1);
	assert_int_equal(work.lookups, 0);
}

/* One page 16 million times: no two of them are a run. */
static void test_as_many_runs_as_pages(void **state)
{
	static const uint64_t more[] = { WIDE_SIZE, 12 * GIB };
	const uint32_t npages = 64 * GIB / 4096;
	struct eg_guest *guest = guest_with(state, more, 1);
	uint32_t pdn = eg_create_pd(guest), i, key = 0;
	uint32_t *extents = &guest->rnic->mrs.extents;
	__le64 *list = guest_mem_ptr(guest->rnic->ctx.mem, LISTS, 4096);

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	for (i = 0; i < PER_LIST; i++)
		list[i] = htole64(EG_DATA);
	/* A guest of less than 16 GiB. */
	assert_int_equal(reg_again(guest, pdn, npages, &key), VIRTIO_NET_ERR);
	assert_in_range(eg_rounds, RNIC_MR_EXTENTS_LEAST / 2048,
			RNIC_MR_EXTENTS_LEAST / 2048 + 1);
	assert_int_equal(*extents, 0);

	/* One with 5 GiB and 12 GiB and 64 MiB, which has room left for 1000. */
	guest->map.region[guest->map.n++] = (struct guest_region) {
		WIDE + WIDE_SIZE, more[1], wide,
	};
	rnic_mem_changed(guest->rnic, &guest->map);
	*extents = (WIDE_SIZE + more[1] + EG_SIZE) / 4096 - 1000;
	assert_int_equal(reg_again(guest, pdn, 1001, &key), VIRTIO_NET_ERR);
	assert_int_equal(reg_again(guest, pdn, 1000, &key), VIRTIO_NET_OK);
	/* Less memory than before, and more runs than it may have. */
	guest->map.n--;
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_int_equal(reg_again(guest, pdn, 1, &key), VIRTIO_NET_ERR);
	*extents = 1000;
}

/* ------------------------------------------------------------------------- */
/* Changed regions, and what ends early                                      */
/* ------------------------------------------------------------------------- */

static void test_rereg(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), other = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, LOCAL, 0x123, 5000, EG_DATA), i;
	const uint64_t huge[] = { WIDE + GIB, WIDE };
	const uint64_t lists[] = { LISTS, LISTS, LISTS, LISTS, LISTS };
	const struct form two = {
		.va = 5 * GIB + 9, .length = 2 * GIB - 9, .npages = 2, .shift = 30, .n = 2,
		.addr = huge, .access = LOCAL,
	};
	const struct form many = {
		.va = 0, .length = 2560 * 4096, .npages = 2560, .levels = 1, .n = 5,
		.addr = lists,
	};
	const struct form rights = { .shift = 99, .levels = 77 };
	const struct form bad[] = {
		{ .length = 4096, .npages = 1, .shift = 11, .n = 1, .addr = huge },
		{ .length = 4096, .npages = 1, .levels = 2, .n = 1, .addr = huge },
		{ .length = GIB, .npages = 1, .shift = 30, .n = 1, .addr = lists },
		{ .length = 600 * 4096, .npages = 600, .levels = 1, .n = 1, .addr = lists },
		{ .length = 600 * 4096, .npages = 600, .levels = 1, .n = 3, .addr = lists },
		{ .n = 1, .addr = lists },
	};

	put_list(guest, LISTS, PER_LIST);
	assert_int_equal(rereg(guest, pdn, key, &two), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 2);
	assert_ptr_equal(at(guest, pdn, key, 5 * GIB + 9), wide + GIB + 9);
	assert_ptr_equal(at(guest, pdn, key, 7 * GIB - 1), wide + GIB - 1);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (rereg(guest, pdn, key, &bad[i]) != VIRTIO_NET_ERR)
			fail_msg("case %u", i);
		assert_ptr_equal(at(guest, pdn, key, 5 * GIB + 9), wide + GIB + 9);
	}
	assert_int_equal(rereg(guest, other, key, &rights), VIRTIO_NET_OK);
	assert_ptr_equal(at(guest, other, key, 7 * GIB - 1), wide + GIB - 1);
	assert_int_equal(rereg(guest, pdn, key, &many), VIRTIO_NET_OK);
	assert_int_equal(eg_rounds, 2);
	assert_int_equal(guest->rnic->mrs.extents, 5);
	assert_ptr_equal(at(guest, pdn, key, 513 * 4096), guest->mem +
			 (EG_DATA - EG_BASE) + EG_PAGE);
	assert_int_equal(rereg(guest, pdn, key + (1 << 8), &rights), VIRTIO_NET_ERR);
}

/* Memory that goes and comes back under a region of huge pages. */
static void test_memory_moves(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	uint32_t pdn = eg_create_pd(guest), key = 0;
	struct guest_region *region = &guest->map.region[guest->map.n - 1];
	const uint64_t addr[] = { WIDE + GIB };
	const struct form f = {
		.va = 0, .length = GIB, .npages = 1, .shift = 30, .n = 1, .addr = addr,
	};

	assert_int_equal(reg(guest, pdn, &f, &key), VIRTIO_NET_OK);
	/* Cut in the middle of the page. */
	region[0].size = GIB + GIB / 2;
	region[1] = (struct guest_region) { WIDE + GIB + GIB / 2, GIB, wide };
	guest->map.n++;
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_int_equal(guest->rnic->mrs.extents, 1);
	assert_ptr_equal(at(guest, pdn, key, GIB / 2 - 1), wide + GIB + GIB / 2 - 1);
	assert_ptr_equal(at(guest, pdn, key, GIB / 2), wide);
	guest->map.n--;
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_ptr_equal(at(guest, pdn, key, GIB / 2 - 1), wide + GIB + GIB / 2 - 1);
	assert_true(ends_at(guest, pdn, key, GIB / 2));
	guest->map.n++;
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_ptr_equal(at(guest, pdn, key, GIB - 1), wide + GIB / 2 - 1);
}

/* A list that is being read may end with the function, or be forgotten. */
static void test_ends_early(void **state)
{
	struct eg_guest *guest = guest_wide(state);
	struct {
		struct virtio_rdma_cmd_reg_user_mr fixed;
		__le64 list[8];
	} req = {
		.fixed = {
			.pdn = htole32(eg_create_pd(guest)),
			.length = htole64(4096 * 4096),
			.npages = htole32(4096),
			.levels = 1,
		},
	};
	const struct iovec iov = { .iov_base = &req, .iov_len = sizeof(req) };
	const struct rnic_request request = {
		.iov = &iov, .iov_n = 1, .len = sizeof(req),
	};
	struct virtio_rdma_ack_mr ack;
	size_t len;
	int i;

	put_list(guest, LISTS, PER_LIST);
	for (i = 0; i < 8; i++)
		req.list[i] = htole64(LISTS);
	for (i = 0; i < 2; i++) {
		req.fixed.pdn = htole32(eg_create_pd(guest));
		assert_int_equal(rnic_command(guest->rnic, CMD(REG_USER_MR), &request,
					      &ack, sizeof(ack), &len),
				 RNIC_COMMAND_MORE);
		if (i)
			eg_reset(guest);
		else
			rnic_command_abort(guest->rnic);
		assert_int_equal(guest->rnic->mrs.extents, 0);
		assert_null(guest->rnic->mrs.reg);
	}
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_sizes),
		T(test_whole_pages),
		T(test_zero_based),
		T(test_bad_pages),
		T(test_ends),
		T(test_spread),
		T(test_indirect),
		T(test_bad_lists),
		T(test_64_gib),
		T(test_as_many_runs_as_pages),
		T(test_rereg),
		T(test_memory_moves),
		T(test_ends_early),
	};

	return cmocka_run_group_tests_name("mr_pages", tests, NULL, NULL);
}
