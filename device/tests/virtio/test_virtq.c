// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/guest.h"
#include "virtio/virtq.h"

#define NUM	8

/**
 * struct fix - what each test starts with: a queue of NUM entries
 * @guest:	guest
 * @gvq:	driver's side
 * @vq:		device's side
 * @elem:	for virtq_pop()
 * @calls:	interrupts
 * @errors:	reports that the queue is broken
 * @why:	reason given in the last one
 */
struct fix {
	struct guest guest;
	struct guest_vq gvq;
	struct virtq vq;
	struct virtq_elem elem;
	unsigned int calls;
	unsigned int errors;
	const char *why;
};

static void on_call(struct virtq *vq)
{
	((struct fix *)vq->priv)->calls++;
}

static void on_error(struct virtq *vq, const char *why)
{
	struct fix *fix = vq->priv;

	fix->why = why;
	fix->errors++;
}

static int setup(void **state)
{
	struct fix *fix = calloc(1, sizeof(*fix));

	guest_init(&fix->guest, 1 << 20);
	guest_vq_init(&fix->gvq, &fix->guest, NUM);
	fix->vq.indirect = true;
	fix->vq.call = on_call;
	fix->vq.error = on_error;
	fix->vq.priv = fix;
	guest_vq_start(&fix->gvq, &fix->vq);
	*state = fix;
	return 0;
}

static int teardown(void **state)
{
	struct fix *fix = *state;

	guest_fini(&fix->guest);
	free(fix);
	return 0;
}

/* A buffer of one readable piece of @len bytes. */
static uint16_t add_one(struct fix *fix, uint32_t len)
{
	struct guest_buf buf = {
		.addr = guest_alloc(&fix->guest, len, 1),
		.len = len,
	};

	return guest_vq_add(&fix->gvq, &buf, 1);
}

/* The next buffer breaks the queue, for a reason that has @why in it. */
static void assert_broken(struct fix *fix, const char *why)
{
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), -EPROTO);
	assert_true(fix->vq.broken);
	assert_int_equal(fix->errors, 1);
	if (!strstr(fix->why, why))
		fail_msg("\"%s\" says nothing of \"%s\"", fix->why, why);
	/* The error is reported once, and the queue stays broken. */
	add_one(fix, 1);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), -EPROTO);
	assert_false(virtq_pending(&fix->vq));
	assert_int_equal(fix->errors, 1);
}

/* ------------------------------------------------------------------------- */

static void test_pop_empty(void **state)
{
	struct fix *fix = *state;

	assert_false(virtq_pending(&fix->vq));
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 0);
}

static void test_pop_chain(void **state)
{
	struct fix *fix = *state;
	struct guest_buf buf[] = {
		{ .addr = guest_alloc(&fix->guest, 10, 1), .len = 10 },
		{ .addr = guest_alloc(&fix->guest, 20, 1), .len = 20 },
		{ .addr = guest_alloc(&fix->guest, 30, 1), .len = 30,
		  .write = true },
	};
	uint16_t head;

	add_one(fix, 1);
	head = guest_vq_add(&fix->gvq, buf, 3);
	assert_true(virtq_pending(&fix->vq));
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.head, head);
	assert_int_equal(fix->elem.out_n, 2);
	assert_int_equal(fix->elem.in_n, 1);
	assert_int_equal(fix->elem.out_len, 30);
	assert_int_equal(fix->elem.in_len, 30);
	assert_ptr_equal(fix->elem.iov[1].iov_base,
			 guest_ptr(&fix->guest, buf[1].addr));
	assert_int_equal(fix->elem.iov[2].iov_len, 30);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 0);
}

static void test_pop_full_length_chain(void **state)
{
	struct fix *fix = *state;
	struct guest_buf buf[NUM];
	unsigned int i;

	for (i = 0; i < NUM; i++)
		buf[i] = (struct guest_buf){ .addr = GUEST_BASE, .len = 1 };
	guest_vq_add(&fix->gvq, buf, NUM);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_n, NUM);
}

static void test_indices_wrap(void **state)
{
	struct fix *fix = *state;
	uint32_t head, len, i;

	/* Twice round 16 bits. */
	for (i = 0; i < 2 * 65536 + 3; i++) {
		struct guest_buf buf = { .addr = GUEST_BASE, .len = i % 7 + 1 };
		uint16_t added = guest_vq_add(&fix->gvq, &buf, 1);

		assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
		assert_int_equal(fix->elem.head, added);
		assert_int_equal(fix->elem.out_len, i % 7 + 1);
		virtq_push(&fix->vq, added, i);
		assert_true(guest_vq_get(&fix->gvq, &head, &len));
		assert_int_equal(head, added);
		assert_int_equal(len, i);
	}
	assert_int_equal(fix->vq.used_idx, 3);
}

static void test_full_ring_is_legal(void **state)
{
	struct fix *fix = *state;
	unsigned int i;

	for (i = 0; i < NUM; i++)
		add_one(fix, 1);
	for (i = 0; i < NUM; i++)
		assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 0);
}

static void test_unpop(void **state)
{
	struct fix *fix = *state;
	uint16_t a = add_one(fix, 1), b = add_one(fix, 2);

	virtq_pop(&fix->vq, &fix->elem);
	virtq_pop(&fix->vq, &fix->elem);
	assert_int_equal(fix->elem.head, b);
	virtq_unpop(&fix->vq);
	virtq_unpop(&fix->vq);
	assert_true(virtq_pending(&fix->vq));
	virtq_pop(&fix->vq, &fix->elem);
	assert_int_equal(fix->elem.head, a);
}

static void test_avail_too_far(void **state)
{
	struct fix *fix = *state;

	fix->gvq.avail->idx = NUM + 1;
	assert_true(virtq_pending(&fix->vq));
	assert_broken(fix, "too far");
}

static void test_avail_backwards(void **state)
{
	struct fix *fix = *state;

	fix->gvq.avail->idx = 0xffff;
	assert_broken(fix, "too far");
}

static void test_head_out_of_range(void **state)
{
	struct fix *fix = *state;

	guest_vq_add_head(&fix->gvq, NUM);
	assert_broken(fix, "out of range");
}

static void test_next_out_of_range(void **state)
{
	struct fix *fix = *state;
	uint16_t head = add_one(fix, 1);

	fix->gvq.desc[head].flags = VRING_DESC_F_NEXT;
	fix->gvq.desc[head].next = 0xffff;
	assert_broken(fix, "out of range");
}

static void test_loop_of_one(void **state)
{
	struct fix *fix = *state;
	uint16_t head = add_one(fix, 1);

	fix->gvq.desc[head].flags = VRING_DESC_F_NEXT;
	fix->gvq.desc[head].next = head;
	assert_broken(fix, "loop");
}

static void test_loop_of_all(void **state)
{
	struct fix *fix = *state;
	unsigned int i;

	for (i = 0; i < NUM; i++)
		fix->gvq.desc[i] = (struct vring_desc){
			.addr = GUEST_BASE,
			.len = 1,
			.flags = VRING_DESC_F_NEXT,
			.next = (i + 1) % NUM,
		};
	guest_vq_add_head(&fix->gvq, 3);
	assert_broken(fix, "loop");
}

static void test_length_zero(void **state)
{
	struct fix *fix = *state;
	uint16_t head = add_one(fix, 1);

	fix->gvq.desc[head].len = 0;
	assert_broken(fix, "length 0");
}

static void test_readable_behind_writable(void **state)
{
	struct fix *fix = *state;
	struct guest_buf buf[] = {
		{ .addr = GUEST_BASE, .len = 1, .write = true },
		{ .addr = GUEST_BASE, .len = 1 },
	};

	guest_vq_add(&fix->gvq, buf, 2);
	assert_broken(fix, "behind");
}

static void test_buffer_outside(void **state)
{
	struct fix *fix = *state;
	uint16_t head = add_one(fix, 1);

	fix->gvq.desc[head].addr = GUEST_BASE + fix->guest.size - 1;
	fix->gvq.desc[head].len = 2;
	assert_broken(fix, "outside");
}

static void test_buffer_wraps(void **state)
{
	struct fix *fix = *state;
	uint16_t head = add_one(fix, 1);

	fix->gvq.desc[head].addr = UINT64_MAX;
	fix->gvq.desc[head].len = 2;
	assert_broken(fix, "outside");
}

static void test_total_of_4g(void **state)
{
	struct fix *fix = *state;
	struct guest_buf buf[] = {
		{ .addr = GUEST_BASE, .len = 0x80000000 },
		{ .addr = GUEST_BASE, .len = 0x80000000 },
	};

	/* Nothing is read, so the memory need not exist. */
	fix->guest.mem.region[0].size = 1ULL << 40;
	guest_vq_add(&fix->gvq, buf, 2);
	assert_broken(fix, "4 GiB");
}

static void test_buffer_across_regions(void **state)
{
	struct fix *fix = *state;
	struct guest_mem *mem = &fix->guest.mem;
	struct guest_buf buf = { .addr = GUEST_BASE + 0x7ff0, .len = 0x20 };

	mem->n = 2;
	mem->region[1].addr = GUEST_BASE + 0x8000;
	mem->region[1].size = 0x8000;
	mem->region[1].host = fix->guest.host + 0x40000;
	mem->region[0].size = 0x8000;
	guest_vq_add(&fix->gvq, &buf, 1);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_n, 2);
	assert_int_equal(fix->elem.out_len, 0x20);
	assert_ptr_equal(fix->elem.iov[1].iov_base, fix->guest.host + 0x40000);
}

/* ------------------------------------------------------------------------- */

/*
 * Makes a buffer available that is an indirect table of @n descriptors, readable
 * and of length 1, and returns the table.
 */
static struct vring_desc *add_indirect(struct fix *fix, unsigned int n,
				       uint32_t len)
{
	uint64_t addr = guest_alloc(&fix->guest, n * sizeof(struct vring_desc),
				    16);
	struct vring_desc *table = guest_ptr(&fix->guest, addr);
	struct guest_buf buf = { .addr = addr, .len = len };
	unsigned int i;
	uint16_t head;

	for (i = 0; i < n; i++)
		table[i] = (struct vring_desc){
			.addr = GUEST_BASE,
			.len = 1,
			.flags = i + 1 < n ? VRING_DESC_F_NEXT : 0,
			.next = i + 1,
		};
	head = guest_vq_add(&fix->gvq, &buf, 1);
	fix->gvq.desc[head].flags = VRING_DESC_F_INDIRECT;
	return table;
}

static void test_indirect(void **state)
{
	struct fix *fix = *state;

	/* A table may be longer than the queue. */
	add_indirect(fix, 3 * NUM, 3 * NUM * 16);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_n, 3 * NUM);
	assert_int_equal(fix->errors, 0);
}

static void test_indirect_behind_direct(void **state)
{
	struct fix *fix = *state;
	uint16_t head = fix->gvq.next_desc;

	add_one(fix, 5);
	add_indirect(fix, 2, 32);
	fix->gvq.desc[head].flags = VRING_DESC_F_NEXT;
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_n, 3);
	assert_int_equal(fix->elem.out_len, 7);
}

static void test_indirect_largest(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, VIRTQ_IOV_MAX, VIRTQ_IOV_MAX * 16);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_n, VIRTQ_IOV_MAX);
}

static void test_indirect_too_long(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, VIRTQ_IOV_MAX + 1, (VIRTQ_IOV_MAX + 1) * 16);
	assert_broken(fix, "bad length");
}

static void test_indirect_too_many_pieces(void **state)
{
	struct fix *fix = *state;
	uint16_t head = fix->gvq.next_desc;

	add_one(fix, 1);
	add_indirect(fix, VIRTQ_IOV_MAX, VIRTQ_IOV_MAX * 16);
	fix->gvq.desc[head].flags = VRING_DESC_F_NEXT;
	assert_broken(fix, "too many");
}

static void test_indirect_odd_length(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, 2, 31);
	assert_broken(fix, "bad length");
}

static void test_indirect_huge(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, 1, 0xfffffff0);
	assert_broken(fix, "bad length");
}

static void test_indirect_outside(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, 1, 16);
	fix->gvq.desc[0].addr = GUEST_BASE + fix->guest.size - 8;
	assert_broken(fix, "outside");
}

static void test_indirect_in_indirect(void **state)
{
	struct fix *fix = *state;
	struct vring_desc *table = add_indirect(fix, 2, 32);

	table[1].len = 16;
	table[1].flags = VRING_DESC_F_INDIRECT;
	assert_broken(fix, "inside");
}

static void test_indirect_chained_on(void **state)
{
	struct fix *fix = *state;

	add_indirect(fix, 1, 16);
	fix->gvq.desc[0].flags |= VRING_DESC_F_NEXT;
	assert_broken(fix, "chained");
}

static void test_indirect_loop(void **state)
{
	struct fix *fix = *state;
	struct vring_desc *table = add_indirect(fix, 2, 32);

	table[1].flags = VRING_DESC_F_NEXT;
	table[1].next = 0;
	assert_broken(fix, "loop");
}

static void test_indirect_next_outside_table(void **state)
{
	struct fix *fix = *state;
	struct vring_desc *table = add_indirect(fix, 2, 32);

	table[1].flags = VRING_DESC_F_NEXT;
	table[1].next = 2;
	assert_broken(fix, "out of range");
}

static void test_indirect_not_negotiated(void **state)
{
	struct fix *fix = *state;

	fix->vq.indirect = false;
	add_indirect(fix, 1, 16);
	assert_broken(fix, "negotiated");
}

/* An indirect table may stand anywhere; its descriptors are copied. */
static void test_indirect_unaligned(void **state)
{
	struct fix *fix = *state;
	struct vring_desc desc = { .addr = GUEST_BASE, .len = 9 };
	uint64_t addr = guest_alloc(&fix->guest, 32, 16) + 3;

	add_indirect(fix, 1, 16);
	memcpy(guest_ptr(&fix->guest, addr), &desc, sizeof(desc));
	fix->gvq.desc[0].addr = addr;
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	assert_int_equal(fix->elem.out_len, 9);
}

/* ------------------------------------------------------------------------- */

static void test_push_many_shows_all_at_once(void **state)
{
	struct fix *fix = *state;
	const struct virtq_used used[] = { { 5, 50 }, { 2, 20 }, { 7, 70 } };
	uint32_t head, len;

	virtq_push_many(&fix->vq, used, 3);
	assert_int_equal(fix->gvq.used->idx, 3);
	assert_true(guest_vq_get(&fix->gvq, &head, &len));
	assert_int_equal(head, 5);
	assert_true(guest_vq_get(&fix->gvq, &head, &len));
	assert_true(guest_vq_get(&fix->gvq, &head, &len));
	assert_int_equal(head, 7);
	assert_int_equal(len, 70);
}

static void test_notify_by_flag(void **state)
{
	struct fix *fix = *state;

	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 0);
	virtq_push(&fix->vq, 0, 0);
	virtq_notify(&fix->vq);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 1);
	fix->gvq.avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
	virtq_push(&fix->vq, 0, 0);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 1);
}

static void test_notify_by_event(void **state)
{
	struct fix *fix = *state;
	uint16_t *used_event = &fix->gvq.avail->ring[NUM];

	fix->vq.event_idx = true;
	/* With the feature the flag has no meaning. */
	fix->gvq.avail->flags = VRING_AVAIL_F_NO_INTERRUPT;
	*used_event = 2;
	virtq_push(&fix->vq, 0, 0);
	virtq_push(&fix->vq, 1, 0);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 0);
	virtq_push(&fix->vq, 2, 0);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 1);
	virtq_push(&fix->vq, 3, 0);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 1);
	/* Passed in a batch. */
	*used_event = 5;
	virtq_push(&fix->vq, 4, 0);
	virtq_push(&fix->vq, 5, 0);
	virtq_push(&fix->vq, 6, 0);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->calls, 2);
}

static void test_want_kick_by_flag(void **state)
{
	struct fix *fix = *state;

	assert_false(virtq_want_kick(&fix->vq, false));
	assert_int_equal(fix->gvq.used->flags, VRING_USED_F_NO_NOTIFY);
	assert_false(virtq_want_kick(&fix->vq, true));
	assert_int_equal(fix->gvq.used->flags, 0);
	virtq_want_kick(&fix->vq, false);
	add_one(fix, 1);
	assert_true(virtq_want_kick(&fix->vq, true));
}

/* The rule by which a driver decides, from the virtio standard. */
static bool driver_kicks(const struct fix *fix, uint16_t old)
{
	uint16_t event = *(const uint16_t *)&fix->gvq.used->ring[NUM];
	uint16_t new = fix->gvq.avail_idx;

	return (uint16_t)(new - event - 1) < (uint16_t)(new - old);
}

static void test_want_kick_by_event(void **state)
{
	struct fix *fix = *state;
	unsigned int i;

	fix->vq.event_idx = true;
	virtq_want_kick(&fix->vq, false);
	for (i = 0; i < NUM; i++) {
		add_one(fix, 1);
		assert_false(driver_kicks(fix, i));
	}
	assert_false(driver_kicks(fix, 0));
	assert_true(virtq_want_kick(&fix->vq, true));
	while (virtq_pop(&fix->vq, &fix->elem) > 0)
		;
	assert_false(virtq_want_kick(&fix->vq, true));
	add_one(fix, 1);
	assert_true(driver_kicks(fix, NUM));
	/* The flag is for drivers without the feature. */
	assert_int_equal(fix->gvq.used->flags, 0);
}

static void test_stopped_queue_is_left_alone(void **state)
{
	struct fix *fix = *state;

	add_one(fix, 1);
	virtq_stop(&fix->vq);
	assert_false(virtq_pending(&fix->vq));
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 0);
	virtq_push(&fix->vq, 0, 1);
	virtq_want_kick(&fix->vq, false);
	virtq_notify(&fix->vq);
	assert_int_equal(fix->gvq.used->idx, 0);
	assert_int_equal(fix->gvq.used->flags, 0);
	assert_int_equal(fix->calls, 0);
}

static void test_restart(void **state)
{
	struct fix *fix = *state;

	add_one(fix, 1);
	virtq_pop(&fix->vq, &fix->elem);
	virtq_push(&fix->vq, 0, 0);
	guest_vq_add_head(&fix->gvq, NUM);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), -EPROTO);

	memset(fix->gvq.avail, 0, 6 + 2 * NUM);
	memset(fix->gvq.used, 0xaa, 6 + 8 * NUM);
	virtq_restart(&fix->vq);
	assert_int_equal(fix->gvq.used->idx, 0xaaaa);
	fix->gvq.avail_idx = 0;
	add_one(fix, 4);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	virtq_push(&fix->vq, fix->elem.head, 4);
	assert_int_equal(fix->gvq.used->idx, 1);
}

static void test_start_takes_indices(void **state)
{
	struct fix *fix = *state;
	struct guest_vq *gvq = &fix->gvq;

	gvq->used->idx = 77;
	gvq->avail_idx = 80;
	gvq->avail->idx = 80;
	assert_int_equal(virtq_start(&fix->vq, NUM, 80, gvq->desc, gvq->avail,
				     gvq->used), 0);
	assert_false(virtq_pending(&fix->vq));
	add_one(fix, 1);
	assert_int_equal(virtq_pop(&fix->vq, &fix->elem), 1);
	virtq_push(&fix->vq, fix->elem.head, 1);
	assert_int_equal(gvq->used->idx, 78);
}

static void test_start_bad(void **state)
{
	struct fix *fix = *state;
	struct guest_vq *gvq = &fix->gvq;
	char *desc = (char *)gvq->desc, *avail = (char *)gvq->avail;
	char *used = (char *)gvq->used;

	assert_int_equal(virtq_start(&fix->vq, 0, 0, desc, avail, used),
			 -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 6, 0, desc, avail, used),
			 -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 2 * VIRTQ_SIZE_MAX, 0, desc,
				     avail, used), -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 4, 0, desc + 8, avail, used),
			 -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 4, 0, desc, avail + 1, used),
			 -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 4, 0, desc, avail, used + 2),
			 -EINVAL);
	assert_int_equal(virtq_start(&fix->vq, 4, 0, desc, avail, used), 0);
}

/* A chain that would take long to walk, for ever even, is not looked at. */
static void test_pop_head(void **state)
{
	struct fix *fix = *state;
	struct guest_buf buf = {
		.addr = guest_alloc(&fix->guest, 1, 1),
		.len = 1,
	};
	uint16_t head, added = guest_vq_add(&fix->gvq, &buf, 1);

	fix->gvq.desc[added].flags = htole16(VRING_DESC_F_NEXT);
	fix->gvq.desc[added].next = htole16(added);
	assert_int_equal(virtq_pop_head(&fix->vq, &head), 1);
	assert_int_equal(head, added);
	assert_int_equal(virtq_pop_head(&fix->vq, &head), 0);
	assert_false(fix->vq.broken);
	guest_vq_add_head(&fix->gvq, NUM);
	assert_int_equal(virtq_pop_head(&fix->vq, &head), -EPROTO);
	assert_true(fix->vq.broken);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pop_empty),
		TEST(test_pop_chain),
		TEST(test_pop_full_length_chain),
		TEST(test_indices_wrap),
		TEST(test_full_ring_is_legal),
		TEST(test_unpop),
		TEST(test_avail_too_far),
		TEST(test_avail_backwards),
		TEST(test_head_out_of_range),
		TEST(test_next_out_of_range),
		TEST(test_loop_of_one),
		TEST(test_loop_of_all),
		TEST(test_length_zero),
		TEST(test_readable_behind_writable),
		TEST(test_buffer_outside),
		TEST(test_buffer_wraps),
		TEST(test_total_of_4g),
		TEST(test_buffer_across_regions),
		TEST(test_indirect),
		TEST(test_indirect_behind_direct),
		TEST(test_indirect_largest),
		TEST(test_indirect_too_long),
		TEST(test_indirect_too_many_pieces),
		TEST(test_indirect_odd_length),
		TEST(test_indirect_huge),
		TEST(test_indirect_outside),
		TEST(test_indirect_in_indirect),
		TEST(test_indirect_chained_on),
		TEST(test_indirect_loop),
		TEST(test_indirect_next_outside_table),
		TEST(test_indirect_not_negotiated),
		TEST(test_indirect_unaligned),
		TEST(test_push_many_shows_all_at_once),
		TEST(test_notify_by_flag),
		TEST(test_notify_by_event),
		TEST(test_want_kick_by_flag),
		TEST(test_want_kick_by_event),
		TEST(test_pop_head),
		TEST(test_stopped_queue_is_left_alone),
		TEST(test_restart),
		TEST(test_start_takes_indices),
		TEST(test_start_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
