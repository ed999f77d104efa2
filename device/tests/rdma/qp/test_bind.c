// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows by work requests, in both forms: BIND_MW, what a peer reaches through the
 * window, and how that ends.
 *
 * The operands are those of the example "bind_mw" of Documentation/spec.rst, with the keys of
 * this device.  object/test_mr_window.c tests each right and bound.
 */
#include "tests/lib/engine_ring.h"
#include "tests/lib/example.h"
#include "rdma/qp/wqe.h"

#define RC		VIRTIO_IB_QPT_RC
#define OK		VIRTIO_IB_WC_SUCCESS
#define ACCESS_ERR	VIRTIO_IB_WC_REM_ACCESS_ERR
#define SIGNALED	VIRTIO_IB_SEND_SIGNALED
#define IN		EG_IN

/* Where and how much the example opens, in a region of @REGION_LEN bytes that begins before. */
#define OPEN_AT		0x7f0000001000ull
#define OPEN_LEN	256u
#define REGION_AT	0x7f0000000000ull
#define REGION_LEN	8192u

/* A region that windows may be bound to, and a window, of one guest. */
struct window {
	uint32_t region;
	uint32_t rkey;
};

/* The operands in memory, as uapi/virtio_net_roce.h has them in both forms. */
struct operands {
	__le64 addr;
	__le64 length;
	__le32 mr_key;
	__le32 key;
	__le32 access;
	__le32 reserved;
};

static struct window window_of(const struct eg_end *end, uint32_t type)
{
	const struct virtio_rdma_cmd_alloc_mw req = {
		.pdn = htole32(end->pdn),
		.type = htole32(type),
	};
	struct virtio_rdma_ack_mr ack;
	struct window window;

	window.region = eg_reg(end->guest, end->pdn, VIRTIO_IB_ACCESS_LOCAL_WRITE |
			       VIRTIO_IB_ACCESS_MW_BIND, REGION_AT, REGION_LEN,
			       EG_DATA + IN);
	assert_int_equal(eg_command(end->guest, VIRTIO_NET_CTRL_ROCE_ALLOC_MW, &req,
				    sizeof(req), &ack, sizeof(ack)), VIRTIO_NET_OK);
	window.rkey = le32toh(ack.rkey);
	return window;
}

/* The operands of the example, for a window that has the next key from then on. */
static struct operands operands_of(struct window *window)
{
	struct operands to;

	assert_int_equal(example("bind_mw", &to, sizeof(to)), sizeof(to));
	window->rkey = (window->rkey & ~0xffu) | ((window->rkey + 1) & 0xff);
	to.mr_key = htole32(window->region);
	to.key = htole32(window->rkey);
	return to;
}

/* Posts a request whose operands are @operands, or which has a key only. */
static void post_slot(const struct eg_end *end, uint64_t wr_id, uint8_t opcode,
		      const struct operands *operands, uint32_t key, uint32_t num_sge)
{
	struct eg_ring *ring = &end->guest->sq[end->qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(ring);

	memset(slot, 0, sizeof(*slot));
	slot->wr_id = htole64(wr_id);
	slot->opcode = opcode;
	slot->send_flags = SIGNALED;
	slot->num_sge = htole32(num_sge);
	slot->invalidate_rkey = htole32(key);
	if (operands)
		memcpy(&slot->bind, operands, sizeof(*operands));
	if (eg_dump)
		eg_dump(end->guest, "send", end->qpn, slot, sizeof(*slot), NULL, 0);
	eg_post_slot(ring);
	rnic_queue_kick(end->guest->rnic, RNIC_SQ, end->qpn);
}

static void post_direct(struct er_qp *qp, uint8_t opcode, const struct operands *operands,
			uint32_t key)
{
	const size_t stride = 1ul << qp->direct.send_shift;
	struct virtio_rdma_swqe *slot = (void *)
		(qp->send + (qp->posted & (le32toh(qp->direct.send_depth) - 1)) * stride);

	memset(slot, 0, stride);
	slot->opcode = opcode;
	slot->send_flags = SIGNALED;
	slot->invalidate_rkey = htole32(key);
	if (operands)
		memcpy(&slot->bind, operands, sizeof(*operands));
	if (eg_dump)
		eg_dump(qp->guest, "swqe", qp->qpn, slot, stride, &qp->posted,
			sizeof(qp->posted));
	__atomic_store_n(&qp->control->send_producer, htole32(++qp->posted),
			 __ATOMIC_RELEASE);
	er_announce(qp);
}

/* A READ of @len bytes at @addr by @rkey, into the reader's memory. */
static struct eg_wr read_of(const struct eg_end *from, uint64_t wr_id, uint32_t rkey,
			    uint64_t addr, uint32_t len)
{
	struct eg_wr wr = eg_send(from, wr_id, 0, len);

	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.rkey = rkey;
	wr.remote_addr = addr;
	eg_zero(from->guest, 0, len);
	return wr;
}

static struct eg_wc bound(const struct eg_pair *p, struct window *window, uint64_t wr_id)
{
	const struct operands operands = operands_of(window);

	post_slot(&p->b, wr_id, VIRTIO_IB_WR_BIND_MW, &operands, 0, 0);
	eg_run(p->engine);
	return eg_expect(&p->b, wr_id, OK);
}

static void expect_read(const struct eg_pair *p, const struct window *window, uint64_t addr,
			uint32_t len, uint8_t status)
{
	struct eg_wr wr = read_of(&p->a, 40, window->rkey, addr, len);

	eg_post_send(&p->a, &wr);
	eg_run(p->engine);
	eg_expect(&p->a, 40, status);
	if (status == OK)
		eg_check(p->a.guest, 0, len, 7, addr - OPEN_AT);
}

/* Bound, the window opens what its operands say and no byte more. */
static void test_slots(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct window window = window_of(&p.b, VIRTIO_IB_MW_TYPE_1);
	struct eg_wc wc;

	eg_fill(p.b.guest, IN + OPEN_AT - REGION_AT, OPEN_LEN, 7);
	wc = bound(&p, &window, 1);
	assert_int_equal(wc.opcode, VIRTIO_IB_WC_BIND_MW);
	assert_int_equal(wc.byte_len, 0);
	expect_read(&p, &window, OPEN_AT, OPEN_LEN, OK);
	expect_read(&p, &window, OPEN_AT, OPEN_LEN + 1, ACCESS_ERR);
}

/* The key of before is none any more. */
static void test_old_key(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct window window = window_of(&p.b, VIRTIO_IB_MW_TYPE_1), old;

	bound(&p, &window, 1);
	old = window;
	bound(&p, &window, 2);
	expect_read(&p, &old, OPEN_AT, 1, ACCESS_ERR);
}

/* A window of type 2 ends being bound by a LOCAL_INV of the QP that bound it. */
static void test_direct(void **state)
{
	struct er_pair *p = er_pair_up(state, RC, NULL);
	struct window window = window_of(&p->b.end, VIRTIO_IB_MW_TYPE_2);
	const struct operands operands = operands_of(&window);
	struct virtio_rdma_cqe cqe;
	struct eg_wr wr;

	eg_fill(p->b.end.guest, IN + OPEN_AT - REGION_AT, OPEN_LEN, 7);
	post_direct(&p->b.qp, VIRTIO_IB_WR_BIND_MW, &operands, 0);
	eg_run(p->engine);
	cqe = er_expect(&p->b, false, 0, OK);
	assert_int_equal(cqe.opcode, VIRTIO_IB_WC_BIND_MW);
	assert_int_equal(cqe.byte_len, 0);

	wr = read_of(&p->a.end, 0, window.rkey, OPEN_AT, OPEN_LEN);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, false, 0, OK);
	eg_check(p->a.end.guest, 0, OPEN_LEN, 7, 0);

	post_direct(&p->b.qp, VIRTIO_IB_WR_LOCAL_INV, NULL, window.rkey);
	eg_run(p->engine);
	er_expect(&p->b, false, 1, OK);
	wr = read_of(&p->a.end, 1, window.rkey, OPEN_AT, 1);
	er_post_send(&p->a.qp, &wr);
	eg_run(p->engine);
	er_expect(&p->a, false, 1, ACCESS_ERR);
	er_pair_free(p);
}

/* A wrong range ends with MEM_MGT_ERR, a request that is malformed with LOC_QP_OP_ERR. */
static void test_refused(void **state)
{
	static const uint8_t status[] = {
		VIRTIO_IB_WC_MEM_MGT_ERR, VIRTIO_IB_WC_LOC_QP_OP_ERR,
	};
	unsigned int i;

	for (i = 0; i < sizeof(status); i++) {
		struct eg_pair p = eg_pair_up(state, RC);
		struct window window = window_of(&p.b, VIRTIO_IB_MW_TYPE_2);
		struct operands operands = operands_of(&window);

		if (i == 0)
			operands.length = htole64(REGION_LEN);
		post_slot(&p.b, 1, VIRTIO_IB_WR_BIND_MW, &operands, 0, i);
		eg_run(p.engine);
		eg_expect(&p.b, 1, status[i]);
		assert_int_equal(eg_state(p.b.guest, p.b.qpn), VIRTIO_IB_QPS_ERR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slots, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_old_key, eg_setup, eg_teardown),
		cmocka_unit_test_setup_teardown(test_direct, eg_setup_direct, eg_teardown),
		cmocka_unit_test_setup_teardown(test_refused, eg_setup, eg_teardown),
	};

	return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
