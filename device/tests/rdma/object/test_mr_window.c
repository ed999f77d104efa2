// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: what they open, for whom, and when that ends.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "tests/lib/engine_guest.h"
#include "rdma/object/mr.h"
#include "rdma/object/sg.h"
#include "rdma/rnic_priv.h"

#define LOCAL	VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE	VIRTIO_IB_ACCESS_REMOTE_WRITE
#define RREAD	VIRTIO_IB_ACCESS_REMOTE_READ
#define ATOMIC	VIRTIO_IB_ACCESS_REMOTE_ATOMIC
#define ZERO	VIRTIO_IB_ACCESS_ZERO_BASED
#define BIND	VIRTIO_IB_ACCESS_MW_BIND

#define TYPE_1	VIRTIO_IB_MW_TYPE_1
#define TYPE_2	VIRTIO_IB_MW_TYPE_2

#define VA	0x10123
#define LENGTH	20000
#define MINE	7
#define OTHER	8

/* A region of LENGTH bytes at VA, and a window, in a PD. */
struct scene {
	struct eg_guest *guest;
	struct mr_table *mrs;
	uint32_t pdn;
	uint32_t region;
	uint32_t window;
};

static uint8_t alloc_mw(struct eg_guest *guest, uint32_t pdn, uint32_t type,
			struct virtio_rdma_ack_mr *ack)
{
	struct virtio_rdma_cmd_alloc_mw req = {
		.pdn = htole32(pdn),
		.type = htole32(type),
	};

	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MW, &req, sizeof(req), ack,
			  sizeof(*ack));
}

static uint8_t dereg(struct eg_guest *guest, uint32_t key)
{
	__le32 req = htole32(key >> 8);

	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_DEREG_MR, &req, 4, NULL, 0);
}

static struct scene scene_of(void **state, uint32_t type, uint32_t access)
{
	struct engine *engine = *state;
	struct scene scene = { .guest = &engine->guest[0] };
	struct virtio_rdma_ack_mr ack;

	scene.mrs = &scene.guest->rnic->mrs;
	scene.pdn = eg_create_pd(scene.guest);
	scene.region = eg_reg(scene.guest, scene.pdn, access, VA, LENGTH, EG_DATA);
	assert_int_equal(alloc_mw(scene.guest, scene.pdn, type, &ack), VIRTIO_NET_OK);
	scene.window = le32toh(ack.rkey);
	return scene;
}

static const struct pd *pd_of(const struct scene *scene)
{
	return pd_get(&scene->guest->rnic->pds, scene->pdn);
}

/* Binds with the next key, which is the window's if that works. */
static bool bind(struct scene *scene, uint64_t addr, uint64_t length, uint32_t access)
{
	struct mr_bind req = {
		.addr = addr,
		.length = length,
		.mr_key = scene->region,
		.key = (scene->window & ~0xffu) | ((scene->window + 1) & 0xff),
		.access = access,
	};

	if (mr_bind(scene->mrs, pd_of(scene), MINE, &req))
		return false;
	scene->window = req.key;
	return true;
}

static const struct mr *get(const struct scene *scene, uint64_t user, uint64_t addr,
			    uint64_t len, uint32_t access)
{
	return mr_get_remote(scene->mrs, pd_of(scene), user, scene->window, addr, len, access);
}

static void test_types(void **state)
{
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND);
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(alloc_mw(scene.guest, scene.pdn, 0, &ack), VIRTIO_NET_ERR);
	assert_int_equal(alloc_mw(scene.guest, scene.pdn, 3, &ack), VIRTIO_NET_ERR);
	assert_int_equal(alloc_mw(scene.guest, scene.pdn + 1, TYPE_1, &ack),
			 VIRTIO_NET_ERR);
	/* It counts as a region, and keeps its PD. */
	while (scene.mrs->objs.used < EG_MRS)
		assert_int_equal(alloc_mw(scene.guest, scene.pdn, TYPE_2, &ack),
				 VIRTIO_NET_OK);
	assert_int_equal(alloc_mw(scene.guest, scene.pdn, TYPE_2, &ack), VIRTIO_NET_ERR);
	assert_int_equal(dereg(scene.guest, scene.window), VIRTIO_NET_OK);
	assert_int_equal(alloc_mw(scene.guest, scene.pdn, TYPE_2, &ack), VIRTIO_NET_OK);
}

static void test_bounds_and_rights(void **state)
{
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND);
	uint32_t old;

	assert_null(get(&scene, MINE, VA, 1, RREAD));
	assert_true(bind(&scene, VA + 100, 9000, RREAD));
	old = scene.window;
	assert_non_null(get(&scene, MINE, VA + 100, 9000, RREAD));
	assert_non_null(get(&scene, OTHER, VA + 9099, 1, RREAD));
	assert_null(get(&scene, MINE, VA + 99, 1, RREAD));
	assert_null(get(&scene, MINE, VA + 100, 9001, RREAD));
	assert_null(get(&scene, MINE, VA + 100, 1, RWRITE));
	assert_null(get(&scene, MINE, VA + 100, 1, RREAD | ATOMIC));
	/* Its key is none for a scatter/gather element. */
	assert_null(get(&scene, MINE, VA + 100, 1, 0));
	assert_null(mr_get(scene.mrs, pd_of(&scene), scene.window, VA + 100, 1, LOCAL));
	/* Bound once more, the old key ends. */
	assert_true(bind(&scene, VA, LENGTH, RWRITE | ATOMIC | LOCAL));
	assert_non_null(get(&scene, MINE, VA, LENGTH, RWRITE));
	assert_non_null(get(&scene, MINE, VA, 8, ATOMIC));
	assert_null(get(&scene, MINE, VA, 8, RREAD));
	assert_null(mr_get_remote(scene.mrs, pd_of(&scene), MINE, old, VA + 100, 1, RREAD));
	/* Without a byte it is not bound. */
	assert_true(bind(&scene, 0, 0, 0));
	assert_null(get(&scene, MINE, VA, 8, RWRITE));
}

static void test_bytes(void **state)
{
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND);
	const struct mr *mr;
	uint32_t hint = 0;
	uint8_t *p;

	assert_true(bind(&scene, VA + 5000, 3000, RREAD));
	mr = get(&scene, MINE, VA + 5100, 10, RREAD);
	assert_non_null(mr);
	assert_int_equal(mr_contig(scene.mrs, mr, VA + 5100, 10, &hint, &p), 10);
	assert_ptr_equal(p, guest_mem_ptr(scene.guest->rnic->ctx.mem,
					  EG_DATA + VA % EG_PAGE + 5100, 1));
	assert_true(bind(&scene, VA + 5000, 3000, RREAD | ZERO));
	assert_null(get(&scene, MINE, VA + 5000, 1, RREAD));
	assert_null(get(&scene, MINE, 1, 3000, RREAD));
	mr = get(&scene, MINE, 0, 3000, RREAD);
	assert_non_null(mr);
	hint = 0;
	mr_contig(scene.mrs, mr, 0, 10, &hint, &p);
	assert_ptr_equal(p, guest_mem_ptr(scene.guest->rnic->ctx.mem,
					  EG_DATA + VA % EG_PAGE + 5000, 1));
}

static void test_refused(void **state)
{
	static const struct {
		uint64_t addr, length;
		uint32_t access;
	} bad[] = {
		{ VA - 1, 10, RREAD }, { VA, LENGTH + 1, RREAD },
		{ VA + LENGTH, 1, RREAD }, { VA, UINT64_MAX, RREAD },
		{ UINT64_MAX, 2, RREAD }, { VA, 1, BIND },
		{ VA, 1, 1u << 31 }, { VA, 1, VIRTIO_IB_ACCESS_FLUSH_GLOBAL },
	};
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND), wrong;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (bind(&scene, bad[i].addr, bad[i].length, bad[i].access))
			fail_msg("case %u", i);
	/* A window of another PD, one that is none, a region of another PD, a window. */
	wrong = scene;
	wrong.pdn = eg_create_pd(scene.guest);
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong = scene;
	wrong.window = scene.region;
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong.window = 0xfffff00;
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong = scene;
	wrong.region = eg_reg(scene.guest, eg_create_pd(scene.guest), LOCAL | BIND, VA,
			      LENGTH, EG_DATA);
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong.region = scene.window;
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong.region = scene.region + 1;
	assert_false(bind(&wrong, VA, 1, RREAD));
	/* A region to which none may be bound, and one that may not be written to. */
	wrong.region = eg_reg(scene.guest, scene.pdn, LOCAL, VA, LENGTH, EG_DATA);
	assert_false(bind(&wrong, VA, 1, RREAD));
	wrong.region = eg_reg(scene.guest, scene.pdn, BIND, VA, LENGTH, EG_DATA);
	assert_false(bind(&wrong, VA, 1, RWRITE));
	assert_false(bind(&wrong, VA, 1, ATOMIC));
	assert_true(bind(&wrong, VA, 1, RREAD));
}

/* Type 2: its QP alone; bound once; made invalid by request. */
static void test_type_2(void **state)
{
	struct scene scene = scene_of(state, TYPE_2, LOCAL | BIND);

	assert_false(bind(&scene, VA, 0, 0));
	assert_true(bind(&scene, VA, LENGTH, RREAD));
	assert_non_null(get(&scene, MINE, VA, 1, RREAD));
	assert_null(get(&scene, OTHER, VA, 1, RREAD));
	assert_null(get(&scene, 0, VA, 1, RREAD));
	assert_false(bind(&scene, VA, 10, RREAD));
	assert_false(mr_invalidate(scene.mrs, pd_of(&scene), OTHER, scene.window));
	assert_false(mr_invalidate(scene.mrs, pd_of(&scene), MINE, scene.window + 1));
	assert_non_null(get(&scene, MINE, VA, 1, RREAD));
	assert_true(mr_invalidate(scene.mrs, pd_of(&scene), MINE, scene.window));
	assert_null(get(&scene, MINE, VA, 1, RREAD));
	assert_true(bind(&scene, VA, 10, RREAD));
	assert_non_null(get(&scene, MINE, VA, 10, RREAD));
}

static void test_type_1_is_not_invalidated(void **state)
{
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND);

	assert_true(bind(&scene, VA, 10, RREAD));
	assert_false(mr_invalidate(scene.mrs, pd_of(&scene), MINE, scene.window));
	assert_false(mr_invalidate(scene.mrs, pd_of(&scene), MINE, scene.region));
	assert_non_null(get(&scene, MINE, VA, 10, RREAD));
}

/* A region stays while windows are bound to it.  When it changes, they end. */
static void test_region_ends(void **state)
{
	struct scene scene = scene_of(state, TYPE_1, LOCAL | BIND), more[3];
	struct virtio_rdma_cmd_rereg_mr req = {
		.pdn = htole32(scene.pdn),
		.access_flags = htole32(LOCAL | BIND),
		.mrn = htole32(scene.region >> 8),
	};
	struct virtio_rdma_ack_mr ack;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(more); i++) {
		more[i] = scene;
		assert_int_equal(alloc_mw(scene.guest, scene.pdn, TYPE_1, &ack),
				 VIRTIO_NET_OK);
		more[i].window = le32toh(ack.rkey);
		assert_true(bind(&more[i], VA, 10, RREAD));
	}
	/* One in the middle is destroyed. */
	assert_int_equal(dereg(scene.guest, more[1].window), VIRTIO_NET_OK);
	assert_null(get(&more[1], MINE, VA, 1, RREAD));
	assert_non_null(get(&more[0], MINE, VA, 1, RREAD));
	assert_non_null(get(&more[2], MINE, VA, 1, RREAD));
	assert_int_equal(eg_command(scene.guest, VIRTIO_NET_CTRL_ROCE_REREG_MR, &req,
				    sizeof(req), NULL, 0), VIRTIO_NET_OK);
	assert_null(get(&more[0], MINE, VA, 1, RREAD));
	assert_null(get(&more[2], MINE, VA, 1, RREAD));
	assert_true(bind(&more[0], VA, 10, RREAD));
	assert_true(bind(&more[2], VA, 10, RREAD));
	assert_int_equal(dereg(scene.guest, scene.region), VIRTIO_NET_ERR);
	assert_non_null(get(&more[0], MINE, VA, 1, RREAD));
	assert_int_equal(dereg(scene.guest, more[0].window), VIRTIO_NET_OK);
	assert_int_equal(dereg(scene.guest, scene.region), VIRTIO_NET_ERR);
	/* A window without bytes is bound to nothing. */
	assert_true(bind(&more[2], VA, 0, 0));
	assert_int_equal(dereg(scene.guest, scene.region), VIRTIO_NET_OK);
	assert_int_equal(dereg(scene.guest, more[2].window), VIRTIO_NET_OK);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
	const struct CMUnitTest tests[] = {
		T(test_types),
		T(test_bounds_and_rights),
		T(test_bytes),
		T(test_refused),
		T(test_type_2),
		T(test_type_1_is_not_invalidated),
		T(test_region_ends),
	};

	return cmocka_run_group_tests_name("mr_window", tests, NULL, NULL);
}
