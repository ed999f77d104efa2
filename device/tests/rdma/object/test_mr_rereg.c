// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions that get other pages, rights or protection domains, and those whose
 * first byte has address 0.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tests/lib/engine_guest.h"
#include "rdma/object/mr.h"
#include "rdma/rnic_priv.h"

#define LOCAL	VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE	VIRTIO_IB_ACCESS_REMOTE_WRITE
#define RREAD	VIRTIO_IB_ACCESS_REMOTE_READ
#define ZERO	VIRTIO_IB_ACCESS_ZERO_BASED

#define VA	0x10123

static struct eg_guest *guest0(void **state)
{
	struct engine *engine = *state;

	return &engine->guest[0];
}

static const struct mr *get(const struct eg_guest *guest, uint32_t pdn,
			    uint32_t key, uint64_t addr, uint64_t len,
			    uint32_t access)
{
	return mr_get(&guest->rnic->mrs, pd_get(&guest->rnic->pds, pdn), key, addr, len,
		      access);
}

/* Where a byte of a region is. */
static uint8_t *at(const struct eg_guest *guest, uint32_t pdn, uint32_t key,
		   uint64_t addr)
{
	const struct mr *mr = get(guest, pdn, key, addr, 1, 0);
	uint32_t hint = 0;
	uint8_t *p;

	assert_non_null(mr);
	assert_int_equal(mr_contig(&guest->rnic->mrs, mr, addr, 1, &hint, &p), 1);
	return p;
}

static uint8_t *memory(const struct eg_guest *guest, uint64_t addr)
{
	uint8_t *p = guest_mem_ptr(guest->rnic->ctx.mem, addr, 1);

	assert_non_null(p);
	return p;
}

/* With @npages pages from @addr on, each @step bytes behind the one before. */
static uint8_t rereg_of(struct eg_guest *guest, uint32_t mrn, uint32_t pdn,
			uint32_t access, uint64_t va, uint64_t length, uint64_t addr,
			uint64_t step, uint32_t npages)
{
	size_t len = sizeof(struct virtio_rdma_cmd_rereg_mr) + npages * 8ul;
	struct virtio_rdma_cmd_rereg_mr *req = calloc(1, len);
	uint8_t ret;
	uint32_t i;

	assert_non_null(req);
	req->pdn = htole32(pdn);
	req->access_flags = htole32(access);
	req->virt_addr = htole64(va);
	req->length = htole64(length);
	req->npages = htole32(npages);
	req->mrn = htole32(mrn);
	for (i = 0; i < npages; i++)
		req->pages[i] = htole64(addr + i * step);
	ret = eg_command(guest, VIRTIO_NET_CTRL_ROCE_REREG_MR, req, len, NULL, 0);
	free(req);
	return ret;
}

static uint8_t rereg(struct eg_guest *guest, uint32_t key, uint32_t pdn,
		     uint32_t access, uint64_t va, uint64_t length, uint64_t addr,
		     uint32_t npages)
{
	return rereg_of(guest, key >> 8, pdn, access, va, length, addr, EG_PAGE, npages);
}

static void test_rights(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, LOCAL, VA, 5000, EG_DATA);

	assert_null(get(guest, pdn, key, VA, 5000, RWRITE));
	assert_int_equal(rereg(guest, key, pdn, LOCAL | RWRITE, 0, 0, 0, 0),
			 VIRTIO_NET_OK);
	assert_non_null(get(guest, pdn, key, VA, 5000, RWRITE));
	assert_null(get(guest, pdn, key, VA, 5001, 0));
	assert_ptr_equal(at(guest, pdn, key, VA), memory(guest, EG_DATA + 0x123));
	assert_int_equal(rereg(guest, key, pdn, 0, 0, 0, 0, 0), VIRTIO_NET_OK);
	assert_null(get(guest, pdn, key, VA, 1, LOCAL));
	assert_non_null(get(guest, pdn, key, VA, 1, 0));
}

/* The old PD is free to go, the new one is not. */
static void test_domain(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t old = eg_create_pd(guest), new = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, old, LOCAL, VA, 5000, EG_DATA);
	__le32 req = htole32(old);

	assert_int_equal(rereg(guest, key, new, LOCAL, 0, 0, 0, 0), VIRTIO_NET_OK);
	assert_null(get(guest, old, key, VA, 1, 0));
	assert_non_null(get(guest, new, key, VA, 1, 0));
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_DESTROY_PD, &req, 4,
				    NULL, 0), VIRTIO_NET_OK);
	assert_int_equal(rereg(guest, key, old, LOCAL, 0, 0, 0, 0), VIRTIO_NET_ERR);
	req = htole32(new);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_DESTROY_PD, &req, 4,
				    NULL, 0), VIRTIO_NET_ERR);
}

static void test_pages(void **state)
{
	enum { MANY = 3000 };
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), other = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, LOCAL, VA, 5000, EG_DATA);
	const uint64_t long_len = (uint64_t)MANY * EG_PAGE;

	/* One that is shorter and elsewhere, with another address. */
	assert_int_equal(rereg(guest, key, other, LOCAL | RREAD, 7, 100,
			       EG_DATA + 8 * EG_PAGE, 1), VIRTIO_NET_OK);
	assert_null(get(guest, pdn, key, 7, 1, 0));
	assert_null(get(guest, other, key, VA, 1, 0));
	assert_null(get(guest, other, key, 7, 101, 0));
	assert_non_null(get(guest, other, key, 7, 100, RREAD));
	assert_ptr_equal(at(guest, other, key, 8),
			 memory(guest, EG_DATA + 8 * EG_PAGE + 8));
	assert_int_equal(guest->rnic->mrs.extents, 1);

	/* One whose page list is looked at in several turns. */
	assert_int_equal(rereg_of(guest, key >> 8, pdn, LOCAL, 0, long_len, EG_DATA, 0,
				  MANY), VIRTIO_NET_OK);
	assert_true(eg_rounds > 1);
	assert_int_equal(guest->rnic->mrs.extents, MANY);
	assert_ptr_equal(at(guest, pdn, key, long_len - 1),
			 memory(guest, EG_DATA + EG_PAGE - 1));
	assert_int_equal(rereg(guest, key, pdn, LOCAL, VA, 5000, EG_DATA, 2),
			 VIRTIO_NET_OK);
	assert_int_equal(guest->rnic->mrs.extents, 1);
}

/* A command that is refused leaves the region as it was. */
static void test_refused(void **state)
{
	static const struct {
		uint32_t access, npages;
		uint64_t va, length, addr;
	} bad[] = {
		{ RWRITE, 0, 0, 0, 0 },
		{ 1u << 31, 0, 0, 0, 0 },
		{ LOCAL | ZERO, 0, 0, 0, 0 },
		{ RWRITE, 1, 0, 100, EG_DATA },
		{ LOCAL, 1, 0, 0, EG_DATA },
		{ LOCAL, 1, 0, 4097, EG_DATA },
		{ LOCAL, 2, 0, 4096, EG_DATA },
		{ LOCAL, 1, UINT64_MAX - 10, 100, EG_DATA },
		{ LOCAL, 1, 0, 100, EG_DATA + 1 },
		{ LOCAL, 1, 0, 100, EG_BASE + EG_SIZE },
		{ LOCAL, 2, 0, 8192, EG_BASE + EG_SIZE - EG_PAGE },
	};
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest), i;
	uint32_t key = eg_reg(guest, pdn, LOCAL, VA, 5000, EG_DATA);

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (rereg(guest, key, pdn, bad[i].access, bad[i].va, bad[i].length,
			  bad[i].addr, bad[i].npages) != VIRTIO_NET_ERR)
			fail_msg("case %u", i);
		assert_non_null(get(guest, pdn, key, VA, 5000, LOCAL));
		assert_null(get(guest, pdn, key, VA, 1, RWRITE));
		assert_ptr_equal(at(guest, pdn, key, VA),
				 memory(guest, EG_DATA + 0x123));
	}
	assert_int_equal(rereg(guest, key, pdn + 1, LOCAL, 0, 0, 0, 0), VIRTIO_NET_ERR);
	assert_int_equal(rereg(guest, key, pdn + 1, LOCAL, 0, 9, EG_DATA, 1),
			 VIRTIO_NET_ERR);
	assert_int_equal(rereg_of(guest, (key >> 8) + 1, pdn, LOCAL, 0, 0, 0, 0, 0),
			 VIRTIO_NET_ERR);
	assert_int_equal(guest->rnic->mrs.extents, 1);
}

/* Regions of the kernel are changed by other means. */
static void test_other_kinds(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	struct virtio_rdma_cmd_get_dma_mr dma = { .pdn = htole32(pdn) };
	struct virtio_rdma_cmd_alloc_mr fast = {
		.pdn = htole32(pdn),
		.max_pages = htole32(4),
	};
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR, &dma,
				    sizeof(dma), &ack, sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(rereg_of(guest, le32toh(ack.mrn), pdn, LOCAL, 0, 0, 0, 0, 0),
			 VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MR, &fast,
				    sizeof(fast), &ack, sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(rereg_of(guest, le32toh(ack.mrn), pdn, LOCAL, 0, 9, EG_DATA, 0,
				  1), VIRTIO_NET_ERR);
	/* Neither may begin with address 0. */
	dma.access_flags = htole32(ZERO);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR, &dma,
				    sizeof(dma), &ack, sizeof(ack)), VIRTIO_NET_ERR);
}

static void test_zero_based(void **state)
{
	struct eg_guest *guest = guest0(state);
	uint32_t pdn = eg_create_pd(guest);
	uint32_t key = eg_reg(guest, pdn, LOCAL | RREAD | ZERO, VA, 5000, EG_DATA);

	assert_non_null(get(guest, pdn, key, 0, 5000, LOCAL | RREAD));
	assert_null(get(guest, pdn, key, 0, 5001, 0));
	assert_null(get(guest, pdn, key, 4999, 2, 0));
	assert_null(get(guest, pdn, key, UINT64_MAX, 1, 0));
	assert_null(get(guest, pdn, key, VA, 1, 0));
	assert_ptr_equal(at(guest, pdn, key, 0), memory(guest, EG_DATA + 0x123));
	assert_ptr_equal(at(guest, pdn, key, 4999),
			 memory(guest, EG_DATA + 0x123 + 4999));
	/* Other rights, the same base; then the base of other regions. */
	assert_int_equal(rereg(guest, key, pdn, ZERO, 0, 0, 0, 0), VIRTIO_NET_OK);
	assert_non_null(get(guest, pdn, key, 0, 5000, 0));
	assert_null(get(guest, pdn, key, 0, 1, RREAD));
	assert_int_equal(rereg(guest, key, pdn, LOCAL, VA, 5000, EG_DATA, 2),
			 VIRTIO_NET_OK);
	assert_null(get(guest, pdn, key, 0, 1, 0));
	assert_ptr_equal(at(guest, pdn, key, VA), memory(guest, EG_DATA + 0x123));
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_rights),
		T(test_domain),
		T(test_pages),
		T(test_refused),
		T(test_other_kinds),
		T(test_zero_based),
	};

	return cmocka_run_group_tests_name("mr_rereg", tests, NULL, NULL);
}
