// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that writes nonsense into all that it shares with the device: the device
 * and the QPs of others go on.
 */
#include "tests/lib/engine_ring.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma/rnic_priv.h"
#include "virtio/guard.h"

#define RC		VIRTIO_IB_QPT_RC
#define UD		VIRTIO_IB_QPT_UD
#define IN		EG_IN
#define MS		(1000 * 1000ULL)
#define ROUNDS		4000

static uint64_t seed;

static uint32_t number(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % below;
}

static void garbage(void *at, size_t len)
{
	uint8_t *p = at;
	size_t off = number(len), n = 1 + number(16);

	while (n-- && off < len)
		p[off++] = number(2) ? number(256) : number(4);
}

/* Indices are more often close to what they could be. */
static void garbage_index(__le32 *index, uint32_t about)
{
	*index = number(4) ? htole32(about + number(20) - 2) : htole32(number(UINT32_MAX));
}

static void meddle(struct er_end *end)
{
	switch (number(10)) {
	case 0:
	case 1:
		garbage(end->qp.send, 16 * 64);
		break;
	case 2:
		garbage(end->qp.recv, 16 * 64);
		break;
	case 3:
	case 4:
		garbage_index(&end->qp.control->send_producer, end->qp.posted++);
		break;
	case 5:
		garbage_index(&end->qp.control->recv_producer, end->qp.posted_recv++);
		break;
	case 6:
		garbage(end->qp.control, 64);
		break;
	case 7:
		garbage(end->page.page, EG_PAGE);
		break;
	case 8:
		garbage_index(&end->cq.control->consumer, end->cq.consumer++);
		break;
	case 9:
		garbage(end->cq.control, 64);
		break;
	}
	if (number(2))
		er_announce(&end->qp);
	if (!number(4))
		rnic_queue_kick(end->end.guest->rnic, RNIC_DOORBELL, 0);
}

/* The QP and its CQ are as new. */
static void renew(struct er_end *end)
{
	assert_int_equal(er_destroy_qp(&end->qp), VIRTIO_NET_OK);
	assert_int_equal(er_destroy_cq(&end->cq), VIRTIO_NET_OK);
	memset(end->cq.control, 0, 64);
	memset(end->cq.ring, 0, 64 * 32);
	memset(end->qp.control, 0, 64);
	end->qp.posted = 0;
	end->qp.posted_recv = 0;
	end->cq.consumer = 0;
	assert_int_equal(er_create_cq(&end->cq), VIRTIO_NET_OK);
	end->qp.req.send_cqn = htole32(end->cq.cqn);
	end->qp.req.recv_cqn = htole32(end->cq.cqn);
	assert_int_equal(er_create_qp(&end->qp), VIRTIO_NET_OK);
	end->end.qpn = end->qp.qpn;
}

/* Others of the same guests, with CQs and pages of their own. */
static void expect_works(struct er_pair *p, unsigned int i)
{
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 900);

	eg_fill(p->a.end.guest, 0, 900, i);
	er_recv(&p->b, IN, 900);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, false, i, 0);
	er_expect(&p->b, true, i, 0);
	eg_check(p->b.end.guest, IN, 900, i, 0);
}

/*
 * Requests of garbage rarely have a key, so that the ring begins with good ones.  The
 * region of the hostile process is apart from that of the others.
 */
static void meddle_with(void **state, uint8_t type)
{
	struct er_pair *p = er_pair_up(state, type, NULL);
	struct er_pair *good = er_pair_up(state, RC, NULL);
	unsigned int i, j, works = 0;
	struct eg_wr wr;

	er_give_events(p->a.end.guest, 0, 32);
	for (i = 0; i < ROUNDS; i++) {
		if (i % 20 == 0) {
			renew(&p->a);
			renew(&p->b);
			eg_connect(&p->a.end, &p->b.end, type);
			wr = eg_send(&p->a.end, 0, EG_IN / 2, 64);
			for (j = 0; j < 16; j++)
				er_write_send(&p->a.qp, j, &wr);
		}
		meddle(number(3) ? &p->a : &p->b);
		if (number(2))
			eg_run(p->engine);
		if (!number(10))
			engine_loop_advance(p->engine->loop, MS);
		if (i % 50 == 0)
			expect_works(good, works++);
	}
	eg_run(p->engine);
	expect_works(good, works);
	er_pair_free(good);
	er_pair_free(p);
}

static void test_rc(void **state)
{
	for (seed = 1; seed < 3; seed++)
		meddle_with(state, RC);
}

static void test_ud(void **state)
{
	seed = 3;
	meddle_with(state, UD);
}

/* ------------------------------------------------------------------------- */
/* Memory that its owner takes away                                          */
/* ------------------------------------------------------------------------- */

static unsigned int lost;

static void guard_lost(void *arg)
{
	lost++;
}

/* From now on the page at @addr of a guest is that of a file, which is cut short. */
static void cut(struct eg_guest *guest, uint64_t addr, struct mem_guard *guard)
{
	void *at = eg_ptr(guest, addr);
	int fd = memfd_create("page", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, EG_PAGE), 0);
	assert_int_equal(pwrite(fd, at, EG_PAGE, 0), EG_PAGE);
	assert_ptr_equal(mmap(at, EG_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      fd, 0), at);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	*guard = (struct mem_guard) { .map = at, .len = EG_PAGE, .lost = guard_lost };
	mem_guard_add(guard);
	lost = 0;
}

/* SIGBUS where the device looks next; the front-end is told, and ends the guest. */
static void cut_one(void **state, unsigned int what)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct eg_wr wr = eg_send(&p->a.end, 0, 0, 4);
	const uint64_t at[] = {
		p->a.page.addr,
		le64toh(p->a.qp.direct.control),
		p->a.qp.pages[0],
		p->a.cq.pages[0],
		le64toh(p->a.cq.req.control),
	};
	struct mem_guard guard;

	assert_int_equal(mem_guard_init(), 0);
	er_recv(&p->b, IN, 4);
	er_post_send(&p->a.qp, &wr);
	cut(p->a.end.guest, at[what], &guard);
	eg_run(p->engine);
	rnic_sleep(p->a.end.guest->rnic);
	rnic_wake(p->a.end.guest->rnic);
	assert_int_equal(lost, 1);
	mem_guard_del(&guard);
	er_pair_free(p);
}

static void test_sigbus_page(void **state)
{
	cut_one(state, 0);
}

static void test_sigbus_qp_control(void **state)
{
	cut_one(state, 1);
}

static void test_sigbus_ring(void **state)
{
	cut_one(state, 2);
}

static void test_sigbus_cq(void **state)
{
	cut_one(state, 3);
}

static void test_sigbus_cq_control(void **state)
{
	cut_one(state, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_rc),
		TEST(test_ud),
		TEST(test_sigbus_page),
		TEST(test_sigbus_qp_control),
		TEST(test_sigbus_ring),
		TEST(test_sigbus_cq),
		TEST(test_sigbus_cq_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
