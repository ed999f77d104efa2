// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions: registration, keys, bounds, changes of the memory map.
 */
#include <stdlib.h>

#include "base/util.h"
#include "tests/lib/engine_guest.h"
#include "tests/lib/work.h"
#include "rdma/object/mr.h"
#include "rdma/object/sg.h"
#include "rdma/rnic_priv.h"

#define LOCAL	VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE	VIRTIO_IB_ACCESS_REMOTE_WRITE
#define RREAD	VIRTIO_IB_ACCESS_REMOTE_READ
#define PERSIST	VIRTIO_IB_ACCESS_FLUSH_PERSISTENT

static struct eg_guest *guest0(void **state)
{
	struct engine *engine = *state;

	return &engine->guest[0];
}

static uint8_t dereg(struct eg_guest *guest, uint32_t mrn)
{
	__le32 req = htole32(mrn);

	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR, &req, 4, NULL,
			  0);
}

static const struct mr *get(const struct eg_guest *guest, uint32_t pdn,
			    uint32_t key, uint64_t addr, uint64_t len,
			    uint32_t access)
{
	return mr_get(&guest->rnic->mrs, pd_get(&guest->rnic->pds, pdn), key, addr, len,
		      access);
}

/* ------------------------------------------------------------------------- */
/* Registration                                                              */
/* ------------------------------------------------------------------------- */

static void test_page_count(void **state)
{
	static const struct {
		uint64_t va, length;
		uint32_t npages;
	} rows[] = {
		{ 0x10000, 1, 1 }, { 0x10000, 4096, 1 }, { 0x10000, 4097, 2 },
		{ 0x10fff, 1, 1 }, { 0x10fff, 2, 2 }, { 0x10fff, 4097, 2 },
		{ 0x10fff, 4098, 3 }, { 0, 4096 * 3, 3 },
		{ UINT64_MAX - 4096, 4096, 2 },
	};
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_ack_mr ack;
	uint32_t pdn = eg_create_pd(guest), i, n;
	uint64_t page[5];

	for (i = 0; i < 5; i++)
		page[i] = EG_DATA + i * EG_PAGE;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (n = 0; n <= 4; n++) {
			if (eg_reg_mr(guest, pdn, 0, rows[i].va,
				      rows[i].length, page, n, &ack) !=
			    (n == rows[i].npages ? VIRTIO_NET_OK :
						    VIRTIO_NET_ERR))
				fail_msg("case %u with %u pages", i, n);
			if (n == rows[i].npages)
				assert_int_equal(dereg(guest, le32toh(ack.mrn)),
						 VIRTIO_NET_OK);
		}
	}
}

static void test_bad_requests(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct virtio_rdma_ack_mr ack;
	uint32_t pdn = eg_create_pd(guest), i;
	uint64_t page[2] = { EG_DATA, EG_DATA + EG_PAGE };
	const uint64_t bad[] = {
		EG_DATA + 1, EG_DATA + 2048, EG_BASE - EG_PAGE,
		EG_BASE + EG_SIZE, 0, UINT64_MAX, UINT64_MAX & ~4095ull,
	};

	/* Without a byte; past the end of the address space; longer than fits in it. */
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0x1000, 0, page, 0, &ack),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0x1000, 0, page, 1, &ack),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, UINT64_MAX - 4094, 4096, page,
				   2, &ack), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0x1000, UINT64_MAX, page, 0,
				   &ack), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0x1fff, UINT64_MAX - 0x2000,
				   page, 1, &ack), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 1ull << 44, page, 0, &ack),
			 VIRTIO_NET_ERR);
	/* Unknown PD, unknown rights, persistence, remote write without local write. */
	assert_int_equal(eg_reg_mr(guest, pdn + 1, 0, 0, 4096, page, 1, &ack),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 32, 0, 4096, page, 1, &ack),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, PERSIST, 0, 4096, page, 1,
				   &ack), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, RWRITE, 0, 4096, page, 1, &ack),
			 VIRTIO_NET_ERR);
	/* A page, first or second, that is not aligned or not memory. */
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		page[1] = bad[i];
		assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 4096, page + 1, 1,
					   &ack), VIRTIO_NET_ERR);
		assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 8192, page, 2,
					   &ack), VIRTIO_NET_ERR);
	}
	/* The requests that failed used nothing up. */
	for (i = 0; i < EG_MRS; i++)
		eg_reg(guest, pdn, 0, 0, 4096, EG_DATA);
}

static void test_request_length(void **state)
{
	struct eg_guest *guest = guest0(state);
	struct {
		struct virtio_rdma_cmd_reg_user_mr req;
		__le64 page[3];
	} cmd = {
		.req = {
			.pdn = htole32(eg_create_pd(guest)),
			.length = htole64(8192),
			.npages = htole32(2),
		},
		.page = { htole64(EG_DATA), htole64(EG_DATA),
			  htole64(EG_DATA) },
	};
	struct virtio_rdma_ack_mr ack;
	size_t len;

	for (len = 0; len <= sizeof(cmd); len++)
		assert_int_equal(eg_command(guest,
					    VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
					    &cmd, len, &ack, sizeof(ack)),
				 len == 48 ? VIRTIO_NET_OK : VIRTIO_NET_ERR);
}

static void test_exhausted(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i, mrn = 0;
	struct virtio_rdma_ack_mr ack;
	uint64_t page = EG_DATA;

	for (i = 0; i < EG_MRS; i++)
		mrn = eg_reg(guest, pdn, 0, 0, 4096, EG_DATA) >> 8;
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 4096, &page, 1, &ack),
			 VIRTIO_NET_ERR);
	assert_int_equal(dereg(guest, mrn), VIRTIO_NET_OK);
	assert_int_equal(dereg(guest, mrn), VIRTIO_NET_ERR);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 4096, &page, 1, &ack),
			 VIRTIO_NET_OK);
	assert_int_equal(dereg(guest, EG_MRS), VIRTIO_NET_ERR);
	assert_int_equal(dereg(guest, UINT32_MAX), VIRTIO_NET_ERR);
}

/* ------------------------------------------------------------------------- */
/* Keys and bounds                                                           */
/* ------------------------------------------------------------------------- */

static void test_bounds(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	const uint64_t va = 0x12345;
	const uint64_t len = 10000;
	uint32_t key = eg_reg(guest, pdn, LOCAL, va, len, EG_DATA);

	assert_non_null(get(guest, pdn, key, va, 0, 0));
	assert_non_null(get(guest, pdn, key, va, 1, 0));
	assert_non_null(get(guest, pdn, key, va, len, 0));
	assert_non_null(get(guest, pdn, key, va + len - 1, 1, 0));
	assert_non_null(get(guest, pdn, key, va + len, 0, 0));
	assert_null(get(guest, pdn, key, va - 1, 1, 0));
	assert_null(get(guest, pdn, key, va - 1, len, 0));
	assert_null(get(guest, pdn, key, va, len + 1, 0));
	assert_null(get(guest, pdn, key, va + len, 1, 0));
	assert_null(get(guest, pdn, key, va + 1, len, 0));
	assert_null(get(guest, pdn, key, va + 1, UINT64_MAX, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX, 2, 0));
	assert_null(get(guest, pdn, key, 0, 1, 0));
}

/* A region that ends where the address space does. */
static void test_bounds_at_the_end(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, 0, UINT64_MAX - 4095, 4095, EG_DATA);

	assert_non_null(get(guest, pdn, key, UINT64_MAX - 1, 1, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX - 1, 2, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX, 1, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX - 1, 1000, 0));
}

static void test_rights(void **state)
{
	static const uint32_t grants[] = {
		0, LOCAL, RREAD, LOCAL | RREAD, LOCAL | RWRITE,
		LOCAL | RWRITE | RREAD,
	};
	static const uint32_t needs[] = { 0, LOCAL, RREAD, RWRITE };
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), other = eg_create_pd(guest);
	uint32_t i, j, key;
	bool want;

	for (i = 0; i < 6; i++) {
		key = eg_reg(guest, pdn, grants[i], 0, 4096, EG_DATA);
		for (j = 0; j < 4; j++) {
			want = !(needs[j] & ~grants[i]);
			assert_int_equal(!!get(guest, pdn, key, 0, 1, needs[j]),
					 want);
			assert_null(get(guest, other, key, 0, 1, needs[j]));
		}
	}
}

/* A key is not handed out again soon, and an old one never works. */
static void test_keys(void **state)
{
	enum { ROUNDS = 2000 };
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i, j;
	uint32_t *key = calloc(ROUNDS, sizeof(*key));

	assert_non_null(key);
	for (i = 0; i < ROUNDS; i++) {
		key[i] = eg_reg(guest, pdn, 0, 0, 4096, EG_DATA);
		assert_int_not_equal(key[i], 0);
		assert_non_null(get(guest, pdn, key[i], 0, 1, 0));
		for (j = 0; j < i; j++)
			assert_int_not_equal(key[j], key[i]);
		assert_int_equal(dereg(guest, key[i] >> 8), VIRTIO_NET_OK);
		assert_null(get(guest, pdn, key[i], 0, 1, 0));
	}
	/* A key is in use at the same index as some of the old ones. */
	eg_reg(guest, pdn, 0, 0, 4096, EG_DATA);
	for (i = 0; i < ROUNDS; i++)
		assert_null(get(guest, pdn, key[i], 0, 1, 0));
	free(key);
}

/* ------------------------------------------------------------------------- */
/* Pages                                                                     */
/* ------------------------------------------------------------------------- */

/* Each byte of a region is where its page list says. */
static void check_pages(const struct eg_guest *guest, uint32_t pdn,
			uint32_t key, uint64_t va, uint64_t len,
			const uint64_t *page)
{
	const struct mr *mr = get(guest, pdn, key, va, len, 0);
	uint64_t off = 0, at;
	uint32_t hint = 0;
	size_t run, i;
	uint8_t *p;

	assert_non_null(mr);
	while (off < len) {
		run = mr_contig(&guest->rnic->mrs, mr, va + off, len - off, &hint, &p);
		assert_in_range(run, 1, len - off);
		for (i = 0; i < run; i++) {
			at = (va & 4095) + off + i;
			if (p + i != guest->mem + (page[at / EG_PAGE] -
						   EG_BASE) + at % EG_PAGE)
				fail_msg("byte %ju is elsewhere",
					 (uintmax_t)(off + i));
		}
		off += run;
	}
}

static void test_extents(void **state)
{
	enum { PAGES = 97 };
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i, key, hint;
	struct virtio_rdma_ack_mr ack;
	const struct mr *mr;
	uint64_t page[PAGES];
	uint8_t *p;

	/* Runs of one, two, three … pages, each lower than the one before. */
	for (i = 0; i < PAGES; i++) {
		uint32_t run = 0, left = i;

		while (left > run)
			left -= ++run;
		page[i] = EG_DATA + (uint64_t)(40 - run) * 64 * EG_PAGE +
			  left * EG_PAGE;
	}
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0x1234,
				   (PAGES - 1) * EG_PAGE, page, PAGES, &ack),
			 VIRTIO_NET_OK);
	key = le32toh(ack.lkey);
	check_pages(guest, pdn, key, 0x1234, (PAGES - 1) * EG_PAGE, page);
	/* Look up from any offset, with any hint. */
	mr = get(guest, pdn, key, 0x1234, 1, 0);
	for (i = 0; i < 1000; i++) {
		uint64_t off = i * 7919ull % ((PAGES - 1) * EG_PAGE);
		uint64_t at = off + 0x234;

		hint = i % 200;
		assert_int_not_equal(mr_contig(&guest->rnic->mrs, mr, 0x1234 + off, 1,
					       &hint, &p), 0);
		assert_ptr_equal(p, guest->mem + (page[at / EG_PAGE] -
						  EG_BASE) + at % EG_PAGE);
	}
}

/* Pages side by side are one run; the same page may come twice. */
static void test_extents_coalesce(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), hint = 0;
	uint64_t page[3] = { EG_DATA, EG_DATA, EG_DATA + EG_PAGE };
	struct virtio_rdma_ack_mr ack;
	const struct mr *mr;
	uint32_t key;
	uint8_t *p;

	key = eg_reg(guest, pdn, 0, 0, EG_MR_SIZE, EG_DATA);
	mr = get(guest, pdn, key, 0, EG_MR_SIZE, 0);
	assert_int_equal(mr_contig(&guest->rnic->mrs, mr, 0, EG_MR_SIZE, &hint, &p),
			 EG_MR_SIZE);
	assert_int_equal(mr->n, 1);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 3 * EG_PAGE, page, 3,
				   &ack), VIRTIO_NET_OK);
	check_pages(guest, pdn, le32toh(ack.lkey), 0, 3 * EG_PAGE, page);
}

/* Adjacent in our mapping only, which may change: these are two runs. */
static void test_extents_of_two_pieces(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), hint = 0, key;
	struct guest_mem map = {
		.n = 2,
		.region = {
			{ EG_BASE, 8 * EG_PAGE, guest->mem },
			{ EG_BASE + 64 * EG_PAGE, 8 * EG_PAGE,
			  guest->mem + 8 * EG_PAGE },
		},
	};
	uint64_t page[2] = { EG_BASE + 7 * EG_PAGE, EG_BASE + 64 * EG_PAGE };
	struct virtio_rdma_ack_mr ack;
	uint8_t *p;

	rnic_mem_changed(guest->rnic, &map);
	assert_int_equal(eg_reg_mr(guest, pdn, 0, 0, 2 * EG_PAGE, page, 2,
				   &ack), VIRTIO_NET_OK);
	key = le32toh(ack.lkey);
	/* The second piece moves; the first one stays where it is. */
	map.region[1].host += 16 * EG_PAGE;
	rnic_mem_changed(guest->rnic, &map);
	mr_contig(&guest->rnic->mrs, get(guest, pdn, key, 0, 8192, 0), 4096, 1, &hint,
		  &p);
	assert_ptr_equal(p, guest->mem + 24 * EG_PAGE);
	mr_contig(&guest->rnic->mrs, get(guest, pdn, key, 0, 8192, 0), 4095, 1, &hint,
		  &p);
	assert_ptr_equal(p, guest->mem + 8 * EG_PAGE - 1);
	rnic_mem_changed(guest->rnic, &guest->map);
}

/* ------------------------------------------------------------------------- */
/* Cost                                                                      */
/* ------------------------------------------------------------------------- */

#define MANY_PAGES	(EG_MR_SIZE / EG_PAGE)

/* Registers many pages, no two of which lie side by side. */
static uint8_t reg_scattered(struct eg_guest *guest, uint32_t pdn,
			     struct virtio_rdma_ack_mr *ack)
{
	static uint64_t page[MANY_PAGES];
	uint32_t i;

	for (i = 0; i < MANY_PAGES; i++)
		page[i] = EG_DATA + (MANY_PAGES - 1 - i) * EG_PAGE;
	work.lookups = 0;
	work.copied = 0;
	return eg_reg_mr(guest, pdn, 0, 0, EG_MR_SIZE, page, MANY_PAGES, ack);
}

static void test_no_room_is_found_early(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i;
	uint32_t *extents = &guest->rnic->mrs.extents;
	struct virtio_rdma_ack_mr ack;

	/* It sets what no state of a guest has. */
	eg_cycle_off = true;
	/* Room for some: it ends when that is used up. */
	*extents = RNIC_MR_EXTENTS_LEAST - 10;
	assert_int_equal(reg_scattered(guest, pdn, &ack), VIRTIO_NET_ERR);
	assert_in_range(work.lookups, 1, 11);
	/* For none. */
	*extents = RNIC_MR_EXTENTS_LEAST;
	assert_int_equal(reg_scattered(guest, pdn, &ack), VIRTIO_NET_ERR);
	assert_int_equal(work.lookups, 0);
	assert_int_equal(work.copied, sizeof(struct virtio_rdma_cmd_reg_user_mr));
	*extents = 0;
	/* Unknown PD; no free number. */
	assert_int_equal(reg_scattered(guest, pdn + 1, &ack), VIRTIO_NET_ERR);
	assert_int_equal(work.lookups, 0);
	for (i = 0; i < EG_MRS; i++)
		eg_reg(guest, pdn, 0, 0, 4096, EG_DATA);
	assert_int_equal(reg_scattered(guest, pdn, &ack), VIRTIO_NET_ERR);
	assert_int_equal(work.lookups, 0);
}

/* A long list is taken bit by bit. */
static void test_long_list(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), key;
	struct virtio_rdma_ack_mr ack;
	uint64_t page;

	assert_int_equal(reg_scattered(guest, pdn, &ack), VIRTIO_NET_OK);
	assert_true(eg_rounds > 1);
	assert_int_equal(guest->rnic->mrs.extents, MANY_PAGES);
	key = le32toh(ack.lkey);
	page = EG_DATA + (MANY_PAGES - 1) * EG_PAGE;
	check_pages(guest, pdn, key, 0, EG_PAGE, &page);
	page = EG_DATA;
	check_pages(guest, pdn, key, EG_MR_SIZE - EG_PAGE, EG_PAGE, &page);
	assert_int_equal(dereg(guest, le32toh(ack.mrn)), VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 0);
}

/* Sends the beginning of REG_USER_MR, and does not go on with it. */
static uint8_t reg_begin(struct eg_guest *guest, uint32_t pdn, size_t more)
{
	static struct {
		struct virtio_rdma_cmd_reg_user_mr fixed;
		__le64 page[MANY_PAGES + 1];
	} req;
	const struct iovec iov = { .iov_base = &req, .iov_len = sizeof(req) };
	const struct rnic_request request = {
		.iov = &iov,
		.iov_n = 1,
		.len = sizeof(req.fixed) + more,
	};
	struct virtio_rdma_ack_mr ack;
	size_t len, i;

	req.fixed = (struct virtio_rdma_cmd_reg_user_mr) {
		.pdn = htole32(pdn),
		.length = htole64(EG_MR_SIZE),
		.npages = htole32(MANY_PAGES),
	};
	for (i = 0; i < MANY_PAGES; i++)
		req.page[i] = htole64(EG_DATA);
	work.copied = 0;
	return rnic_command(guest->rnic, VIRTIO_NET_CTRL_ROCE_REG_USER_MR,
			    &request, &ack, sizeof(ack), &len);
}

static void test_length_is_checked_first(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	const size_t whole = MANY_PAGES * sizeof(__le64);

	assert_int_equal(reg_begin(guest, pdn, whole - 8), VIRTIO_NET_ERR);
	assert_int_equal(work.copied, sizeof(struct virtio_rdma_cmd_reg_user_mr));
	assert_int_equal(reg_begin(guest, pdn, whole + 8), VIRTIO_NET_ERR);
	assert_int_equal(work.copied, sizeof(struct virtio_rdma_cmd_reg_user_mr));
	assert_int_equal(reg_begin(guest, pdn, whole), RNIC_COMMAND_MORE);
	assert_in_range(work.copied, 1, whole - 1);
	rnic_command_abort(guest->rnic);
}

/* A command that goes on may end with the function, or be forgotten. */
static void test_long_list_ends_early(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);

	assert_int_equal(reg_begin(guest, pdn, MANY_PAGES * sizeof(__le64)),
			 RNIC_COMMAND_MORE);
	rnic_command_abort(guest->rnic);
	assert_int_equal(guest->rnic->mrs.extents, 0);
	eg_reg(guest, pdn, 0, 0, 4096, EG_DATA);
	assert_int_equal(reg_begin(guest, pdn, MANY_PAGES * sizeof(__le64)),
			 RNIC_COMMAND_MORE);
	eg_reset(guest);
	assert_int_equal(guest->rnic->mrs.extents, 0);
}

/* ------------------------------------------------------------------------- */
/* The memory map changes                                                    */
/* ------------------------------------------------------------------------- */

static void test_memory_moves(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i;
	struct guest_mem map = guest->map;
	uint64_t page[6];
	uint32_t key;

	for (i = 0; i < 6; i++)
		page[i] = EG_DATA + i * EG_PAGE;
	key = eg_reg(guest, pdn, 0, 0, 6 * EG_PAGE, EG_DATA);

	/* The same memory in two pieces, cut in the middle of the region. */
	map.n = 2;
	map.region[0].size = EG_DATA + 2 * EG_PAGE - EG_BASE;
	map.region[1] = (struct guest_region) {
		.addr = EG_DATA + 2 * EG_PAGE,
		.size = EG_SIZE - map.region[0].size,
		.host = guest->mem + map.region[0].size,
	};
	rnic_mem_changed(guest->rnic, &map);
	check_pages(guest, pdn, key, 0, 6 * EG_PAGE, page);
	/* In one piece again. */
	rnic_mem_changed(guest->rnic, &guest->map);
	check_pages(guest, pdn, key, 0, 6 * EG_PAGE, page);
}

static void test_memory_goes(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	struct guest_mem map = guest->map;
	uint32_t gone = eg_reg(guest, pdn, 0, 0, 4 * EG_PAGE, EG_DATA);
	uint32_t stays = eg_reg(guest, pdn, 0, 0, EG_PAGE, EG_DATA);
	const struct guest_mem none = {};
	uint64_t page = EG_DATA, last = EG_DATA + 2 * EG_PAGE;

	map.region[0].size = EG_DATA + 3 * EG_PAGE - EG_BASE;
	rnic_mem_changed(guest->rnic, &map);
	assert_null(get(guest, pdn, gone, 0, 4 * EG_PAGE, 0));
	assert_null(get(guest, pdn, gone, 3 * EG_PAGE - 1, 2, 0));
	assert_null(get(guest, pdn, gone, 3 * EG_PAGE, 1, 0));
	check_pages(guest, pdn, gone, 3 * EG_PAGE - 1, 1, &last);
	check_pages(guest, pdn, stays, 0, EG_PAGE, &page);
	rnic_mem_changed(guest->rnic, &none);
	assert_null(get(guest, pdn, gone, 0, 1, 0));
	assert_null(get(guest, pdn, stays, 0, 1, 0));
	/* The regions work again when the memory is back. */
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_non_null(get(guest, pdn, gone, 0, 4 * EG_PAGE, 0));
	check_pages(guest, pdn, stays, 0, EG_PAGE, &page);
	assert_int_equal(dereg(guest, gone >> 8), VIRTIO_NET_OK);
}

/* Memory that is plugged in mends what has gaps. */
static void test_memory_is_plugged_in(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), hint = 0;
	uint32_t key = eg_reg(guest, pdn, 0, 0, 4 * EG_PAGE, EG_DATA);
	struct guest_mem map = guest->map;
	uint8_t *p;

	map.region[0].size = EG_DATA + 3 * EG_PAGE - EG_BASE;
	rnic_mem_changed(guest->rnic, &map);
	assert_null(get(guest, pdn, key, 3 * EG_PAGE, 1, 0));
	map.n = 2;
	map.region[1] = (struct guest_region) {
		.addr = EG_DATA + 3 * EG_PAGE,
		.size = 8 * EG_PAGE,
		.host = guest->mem + 32 * EG_PAGE,
	};
	rnic_mem_changed(guest->rnic, &map);
	assert_non_null(get(guest, pdn, key, 0, 4 * EG_PAGE, 0));
	/* The same number of pieces, but one of them is elsewhere. */
	map.region[1].host += EG_PAGE;
	rnic_mem_changed(guest->rnic, &map);
	assert_int_equal(mr_contig(&guest->rnic->mrs, get(guest, pdn, key, 0, 1, 0),
				   3 * EG_PAGE, EG_PAGE, &hint, &p), EG_PAGE);
	assert_ptr_equal(p, guest->mem + 33 * EG_PAGE);
	rnic_mem_changed(guest->rnic, &guest->map);
}

/*
 * A guest can have its front-end change the map at any time: that costs the same whatever
 * is registered.
 */
static void test_memory_goes_cheaply(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), key, i;
	struct guest_mem map = guest->map;
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(reg_scattered(guest, pdn, &ack), VIRTIO_NET_OK);
	key = le32toh(ack.lkey);
	/* Some page in the middle is in no region as a whole. */
	map.n = 2;
	map.region[0].size = EG_DATA + EG_PAGE - EG_BASE;
	map.region[1] = (struct guest_region) {
		.addr = EG_DATA + EG_PAGE + 100,
		.size = EG_BASE + EG_SIZE - (EG_DATA + EG_PAGE + 100),
		.host = guest->mem + (EG_DATA + EG_PAGE + 100 - EG_BASE),
	};
	for (i = 0; i < 10; i++) {
		work.lookups = 0;
		rnic_mem_changed(guest->rnic, i % 2 ? &guest->map : &map);
		assert_in_range(work.lookups, 0, 4);
		/* Of the region's pages in reverse it is the last one but one. */
		assert_int_equal(!!get(guest, pdn, key, EG_MR_SIZE - 2 * EG_PAGE + 99, 1,
				       0), i % 2);
		assert_non_null(get(guest, pdn, key, EG_MR_SIZE - 2 * EG_PAGE + 100, 1,
				    0));
	}
	assert_int_equal(guest->rnic->mrs.extents, MANY_PAGES);
}

/* A message longer than a slice is looked at slice by slice. */
static void test_memory_goes_under_message(void **state)
{
	enum { LEN = 5 * RNIC_SLICE_ALONE, GAP = 3 * RNIC_SLICE_ALONE };
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_RC);
	const struct pd *pd = pd_get(&p.b.guest->rnic->pds, p.b.pdn);
	struct guest_mem map = p.b.guest->map;
	struct eg_wr wr = eg_send(&p.a, 1, 0, LEN);

	/* The whole is not looked at, and nothing behind the gap is written. */
	map.n = 2;
	map.region[0].size = EG_DATA + EG_IN + GAP - EG_BASE;
	map.region[1] = (struct guest_region) {
		.addr = EG_DATA + EG_IN + GAP + EG_PAGE,
		.size = EG_SIZE - map.region[0].size - EG_PAGE,
		.host = p.b.guest->mem + map.region[0].size + EG_PAGE,
	};
	eg_fill(p.a.guest, 0, LEN, 7);
	eg_zero(p.b.guest, EG_IN, LEN);
	rnic_mem_changed(p.b.guest->rnic, &map);
	assert_non_null(mr_get(&p.b.guest->rnic->mrs, pd, p.b.lkey, EG_VA + EG_IN, LEN, LOCAL));
	eg_recv(&p.b, 2, EG_IN, LEN);
	eg_post_send(&p.a, &wr);
	eg_run(p.engine);
	eg_expect(&p.a, 1, VIRTIO_IB_WC_REM_OP_ERR);
	eg_expect(&p.b, 2, VIRTIO_IB_WC_LOC_PROT_ERR);
	eg_check(p.b.guest, EG_IN, GAP, 7, 0);
	eg_check_zero(p.b.guest, EG_IN + GAP, LEN - GAP);
	rnic_mem_changed(p.b.guest->rnic, &p.b.guest->map);
}

/* A copy of which a part is gone all the same reads zeroes, and writes nowhere. */
static void test_memory_goes_under_cursor(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	const struct pd *pd = pd_get(&guest->rnic->pds, pdn);
	const struct sge sge = {
		.length = 2 * EG_PAGE,
		.key = eg_reg(guest, pdn, LOCAL, 0, 2 * EG_PAGE, EG_DATA),
	};
	static uint8_t buf[2 * EG_PAGE];
	struct guest_mem map = guest->map;
	struct sg sg, flat;

	memset(eg_ptr(guest, EG_DATA), 0x5a, 2 * EG_PAGE);
	memset(buf, 0xff, sizeof(buf));
	map.region[0].size = EG_DATA + EG_PAGE - EG_BASE;
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, &sge, 1, 0, 2 * EG_PAGE));
	rnic_mem_changed(guest->rnic, &map);
	sg_init_flat(&flat, buf);
	sg_copy(&flat, &sg, sizeof(buf));
	assert_int_equal(buf[EG_PAGE - 1], 0x5a);
	assert_int_equal(buf[EG_PAGE], 0);
	assert_int_equal(buf[2 * EG_PAGE - 1], 0);

	rnic_mem_changed(guest->rnic, &guest->map);
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, LOCAL, &sge, 1, 0, 2 * EG_PAGE));
	rnic_mem_changed(guest->rnic, &map);
	memset(buf, 0xff, sizeof(buf));
	sg_init_flat(&flat, buf);
	sg_copy(&sg, &flat, sizeof(buf));
	assert_int_equal(*(uint8_t *)eg_ptr(guest, EG_DATA + EG_PAGE - 1), 0xff);
	assert_int_equal(*(uint8_t *)eg_ptr(guest, EG_DATA + EG_PAGE), 0x5a);
	rnic_mem_changed(guest->rnic, &guest->map);
}

/* A guest that is paused and continued finds its regions. */
static void test_memory_comes_back(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, 0, 0, EG_MR_SIZE, EG_DATA);
	const struct guest_mem none = {};

	rnic_mem_changed(guest->rnic, &none);
	assert_null(get(guest, pdn, key, 0, 1, 0));
	rnic_mem_changed(guest->rnic, &guest->map);
	assert_false(guest->rnic->mrs.gaps);
	assert_non_null(get(guest, pdn, key, 0, EG_MR_SIZE, 0));
}

/* ------------------------------------------------------------------------- */
/* All of memory                                                             */
/* ------------------------------------------------------------------------- */

static void test_dma_mr(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), key, hint = 0;
	struct virtio_rdma_cmd_get_dma_mr req = {
		.pdn = htole32(pdn),
		.access_flags = htole32(LOCAL),
	};
	struct virtio_rdma_ack_mr ack;
	struct guest_mem map = guest->map;
	const struct mr *mr;
	uint8_t *p;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	key = le32toh(ack.lkey);
	assert_int_equal(key, le32toh(ack.rkey));
	assert_int_equal(key >> 8, le32toh(ack.mrn));
	assert_non_null(get(guest, pdn, key, EG_BASE, EG_SIZE, LOCAL));
	assert_null(get(guest, pdn, key, EG_BASE, EG_SIZE, RREAD));
	assert_null(get(guest, pdn, key, EG_BASE, EG_SIZE + 1, 0));
	assert_null(get(guest, pdn, key, EG_BASE - 1, 2, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX, 2, 0));

	/* Two pieces, adjacent for the guest only; then with a hole between. */
	map.n = 2;
	map.region[0].size = 8 * EG_PAGE;
	map.region[1] = (struct guest_region) {
		.addr = EG_BASE + 8 * EG_PAGE,
		.size = 8 * EG_PAGE,
		.host = guest->mem + 32 * EG_PAGE,
	};
	rnic_mem_changed(guest->rnic, &map);
	mr = get(guest, pdn, key, EG_BASE + 100, 16 * EG_PAGE - 100, 0);
	assert_non_null(mr);
	assert_int_equal(mr_contig(&guest->rnic->mrs, mr, EG_BASE + 100, 16 * EG_PAGE,
				   &hint, &p), 8 * EG_PAGE - 100);
	assert_ptr_equal(p, guest->mem + 100);
	assert_int_equal(mr_contig(&guest->rnic->mrs, mr, EG_BASE + 8 * EG_PAGE + 7, 9,
				   &hint, &p), 9);
	assert_ptr_equal(p, guest->mem + 32 * EG_PAGE + 7);
	map.region[1].addr += EG_PAGE;
	rnic_mem_changed(guest->rnic, &map);
	assert_null(get(guest, pdn, key, EG_BASE + 7 * EG_PAGE, 2 * EG_PAGE,
			0));
	assert_non_null(get(guest, pdn, key, EG_BASE + 9 * EG_PAGE, EG_PAGE,
			    0));
	rnic_mem_changed(guest->rnic, &guest->map);

	req.access_flags = htole32(16);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
	req.access_flags = 0;
	req.pdn = htole32(pdn + 1);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &req, sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_ERR);
}

/* A message between all-of-memory regions, as kernel consumers send it. */
static void test_dma_mr_carries_data(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_cmd_get_dma_mr req = { .access_flags = htole32(1) };
	struct virtio_rdma_ack_mr ack;
	struct eg_end end[2];
	struct eg_sge in;
	struct eg_wr wr;
	uint32_t i;

	eg_pair(engine, VIRTIO_IB_QPT_RC, &end[0], &end[1]);
	for (i = 0; i < 2; i++) {
		req.pdn = htole32(end[i].pdn);
		assert_int_equal(eg_command(end[i].guest,
					    VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
					    &req, sizeof(req), &ack,
					    sizeof(ack)), VIRTIO_NET_OK);
		end[i].lkey = le32toh(ack.lkey);
	}
	eg_fill(end[0].guest, 77, 9000, 1);
	in = (struct eg_sge) { EG_DATA + 555, 9000, end[1].lkey };
	wr = eg_send(&end[0], 1, 0, 0);
	wr.sge[0] = (struct eg_sge) { EG_DATA + 77, 9000, end[0].lkey };
	eg_post_recv(&end[1], 2, &in, 1);
	eg_post_send(&end[0], &wr);
	eg_run(engine);
	eg_expect(&end[0], 1, VIRTIO_IB_WC_SUCCESS);
	eg_expect(&end[1], 2, VIRTIO_IB_WC_SUCCESS);
	eg_check(end[1].guest, 555, 9000, 1, 0);
}

/* ------------------------------------------------------------------------- */
/* Cursors                                                                   */
/* ------------------------------------------------------------------------- */

static void test_sg_bounds(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	const struct pd *pd = pd_get(&guest->rnic->pds, pdn);
	uint32_t key = eg_reg(guest, pdn, 0, 0, EG_PAGE, EG_DATA);
	const struct sge sge[] = {
		{ 0, 10, key }, { 0, 0, 0xbad }, { 100, 20, key },
		{ 0, 5, 0xbad },
	};
	struct sg sg;

	assert_int_equal(sg_length(sge, 4), 35);
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 4, 0, 30));
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 4, 10, 20));
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 4, 29, 1));
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 4, 30, 0));
	assert_true(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 0, 0, 0));
	assert_false(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 4, 0, 31));
	assert_false(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 3, 0, 31));
	assert_false(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 3, 30, 1));
	assert_false(sg_init(&sg, &guest->rnic->mrs, pd, 0, sge, 0, 0, 1));
	assert_false(sg_init(&sg, &guest->rnic->mrs, pd, LOCAL, sge, 4, 0, 1));
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_page_count),
		T(test_bad_requests),
		T(test_request_length),
		T(test_exhausted),
		T(test_bounds),
		T(test_bounds_at_the_end),
		T(test_rights),
		T(test_keys),
		T(test_extents),
		T(test_extents_coalesce),
		T(test_extents_of_two_pieces),
		T(test_no_room_is_found_early),
		T(test_long_list),
		T(test_length_is_checked_first),
		T(test_long_list_ends_early),
		T(test_memory_moves),
		T(test_memory_goes),
		T(test_memory_is_plugged_in),
		T(test_memory_goes_cheaply),
		T(test_memory_goes_under_message),
		cmocka_unit_test_setup_teardown(test_memory_goes_under_cursor,
						eg_setup_pointers, eg_teardown),
		T(test_memory_comes_back),
		T(test_dma_mr),
		T(test_dma_mr_carries_data),
		cmocka_unit_test_setup_teardown(test_sg_bounds,
						eg_setup_pointers, eg_teardown),
	};

	return cmocka_run_group_tests_name("mr", tests, NULL, NULL);
}
