// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Atomic operations: what they do, the rights that they need, and that none is lost or
 * done twice, by whichever way and beside a processor of the guest.
 */
#include "tests/lib/engine_wire.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/util.h"
#include "rdma/qp/wqe.h"

#define RC		VIRTIO_IB_QPT_RC
#define OK		VIRTIO_IB_WC_SUCCESS
#define IN		EG_IN
#define CMP_SWAP	VIRTIO_IB_WR_CMP_SWAP
#define FETCH_ADD	VIRTIO_IB_WR_FETCH_ADD
#define ATOMIC_WRITE	VIRTIO_IB_WR_ATOMIC_WRITE
#define MAY		VIRTIO_IB_ACCESS_REMOTE_ATOMIC

/* The word of the responder and where the requester wants the answer. */
static uint64_t *word(const struct eg_pair *p)
{
	return eg_ptr(p->b.guest, EG_DATA + IN);
}

static uint64_t *result(const struct eg_pair *p)
{
	return eg_ptr(p->a.guest, EG_DATA);
}

static struct eg_wr atomic(const struct eg_pair *p, uint8_t opcode, uint64_t compare_add,
			   uint64_t swap)
{
	struct eg_wr wr = eg_send(&p->a, 40, 0, 8);

	wr.opcode = opcode;
	wr.remote_addr = EG_VA + IN;
	wr.rkey = p->b.lkey;
	wr.compare_add = compare_add;
	wr.swap = swap;
	return wr;
}

static struct eg_wc run_one(const struct eg_pair *p, const struct eg_wr *wr,
			    uint8_t status)
{
	eg_post_send(&p->a, wr);
	eg_run(p->engine);
	return eg_expect(&p->a, wr->wr_id, status);
}

static void test_fetch_add(void **state)
{
	static const uint64_t cases[][2] = {
		{ 0, 1 }, { 41, 1 }, { 0x00000000ffffffff, 1 }, { UINT64_MAX, 1 },
		{ 5, UINT64_MAX }, { 0x0123456789abcdef, 0 },
		{ 0x8000000000000000, 0x8000000000000000 },
	};
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	struct eg_wc wc;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		*word(&p) = htole64(cases[i][0]);
		*result(&p) = 0xee;
		/* The value to be swapped in is not looked at. */
		wr = atomic(&p, FETCH_ADD, cases[i][1], 77);
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_FETCH_ADD);
		assert_int_equal(wc.byte_len, 8);
		assert_int_equal(le64toh(*result(&p)), cases[i][0]);
		assert_int_equal(le64toh(*word(&p)), cases[i][0] + cases[i][1]);
		assert_int_equal(le32toh(eg_query(p.b.guest, p.b.qpn).rq_psn),
				 (0xfffffe + i + 1) & 0xffffff);
	}
	eg_expect_none(&p.b);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

static void test_cmp_swap(void **state)
{
	static const uint64_t cases[][3] = {
		{ 1, 1, 2 }, { 0, 0, UINT64_MAX }, { 1, 2, 3 },
		{ 0x100000001, 1, 3 }, { 0x100000001, 0x100000000, 3 },
		{ UINT64_MAX, UINT64_MAX, 0 },
	};
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	struct eg_wc wc;
	unsigned int i;
	uint64_t left;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		*word(&p) = htole64(cases[i][0]);
		*result(&p) = 0xee;
		wr = atomic(&p, CMP_SWAP, cases[i][1], cases[i][2]);
		wc = run_one(&p, &wr, OK);
		assert_int_equal(wc.opcode, VIRTIO_IB_WC_CMP_SWAP);
		assert_int_equal(wc.byte_len, 8);
		assert_int_equal(le64toh(*result(&p)), cases[i][0]);
		left = cases[i][0];
		if (cases[i][0] == cases[i][1])
			left = cases[i][2];
		assert_int_equal(le64toh(*word(&p)), left);
	}
}

static void test_write(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	uint64_t value = htole64(0x0123456789abcdef);
	struct eg_wr wr = atomic(&p, ATOMIC_WRITE, 0, 0);
	struct eg_wc wc;

	memset(word(&p) - 1, 0, 24);
	*result(&p) = htole64(1234567);
	wc = run_one(&p, &wr, OK);
	assert_int_equal(wc.opcode, VIRTIO_IB_WC_ATOMIC_WRITE);
	assert_int_equal(le64toh(*word(&p)), 1234567);
	wr.flags |= VIRTIO_IB_SEND_INLINE;
	wr.data = &value;
	wr.data_len = sizeof(value);
	run_one(&p, &wr, OK);
	assert_int_equal(*word(&p), value);
	assert_int_equal(word(&p)[-1], 0);
	assert_int_equal(word(&p)[1], 0);
	assert_int_equal(le64toh(*result(&p)), 1234567);
}

/* Two elements take the answer as well as one, or a larger one its first bytes. */
static void test_elements(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = atomic(&p, FETCH_ADD, 1, 0);
	const uint32_t *half = (uint32_t *)result(&p);

	*word(&p) = htole64(0x0102030405060708);
	memset(result(&p), 0xee, 32);
	wr.num_sge = 2;
	wr.sge[0].length = 4;
	wr.sge[1] = (struct eg_sge) { EG_VA + 16, 4, p.a.lkey };
	run_one(&p, &wr, OK);
	assert_int_equal(le32toh(half[0]), 0x05060708);
	assert_int_equal(half[1], 0xeeeeeeee);
	assert_int_equal(le32toh(half[4]), 0x01020304);
	assert_int_equal(half[5], 0xeeeeeeee);
	wr = atomic(&p, FETCH_ADD, 1, 0);
	wr.sge[0].length = 64;
	assert_int_equal(run_one(&p, &wr, OK).byte_len, 8);
	assert_int_equal(le64toh(*result(&p)), 0x0102030405060709);
	assert_int_equal(half[2], 0xeeeeeeee);
}

/* Kernel consumers have a region that is all memory. */
static void test_dma(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_cmd_get_dma_mr cmd = {
		.pdn = htole32(p.b.pdn),
		.access_flags = htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE | MAY),
	};
	struct eg_wr wr = atomic(&p, FETCH_ADD, 2, 0);
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(eg_command(p.b.guest, VIRTIO_NET_CTRL_ROCE_GET_DMA_MR,
				    &cmd, sizeof(cmd), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	*word(&p) = htole64(5);
	wr.rkey = le32toh(ack.rkey);
	wr.remote_addr = EG_DATA + IN;
	run_one(&p, &wr, OK);
	assert_int_equal(le64toh(*word(&p)), 7);
}

/* More than max_rd_atomic allows at a time, and READs between them. */
static void test_many(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr;
	uint32_t i;

	*word(&p) = 0;
	for (i = 0; i < 40; i++) {
		wr = atomic(&p, FETCH_ADD, 1, 0);
		wr.sge[0].addr = EG_VA + 8 * i;
		if (i % 3 == 0)
			wr.opcode = VIRTIO_IB_WR_RDMA_READ;
		wr.wr_id = i;
		eg_post_send(&p.a, &wr);
	}
	eg_run(p.engine);
	for (i = 0; i < 40; i++) {
		eg_expect(&p.a, i, OK);
		if (i % 3)
			assert_int_equal(le64toh(result(&p)[i]), i - (i / 3 + 1));
	}
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

/* A fenced request waits for the answer, as it does after a READ. */
static void test_fence(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = atomic(&p, FETCH_ADD, 1, 0);

	*word(&p) = htole64(0x55);
	eg_recv(&p.b, 3, IN + 64, 8);
	eg_post_send(&p.a, &wr);
	wr = eg_send(&p.a, 2, 0, 8);
	wr.flags |= VIRTIO_IB_SEND_FENCE;
	eg_post_send(&p.a, &wr);
	assert_true(rnic_poll(p.a.guest->rnic));
	eg_expect_none(&p.b);
	eg_run(p.engine);
	eg_expect(&p.a, 40, OK);
	eg_expect(&p.a, 2, OK);
	eg_expect(&p.b, 3, OK);
	/* So it sends what was fetched. */
	assert_int_equal(word(&p)[8], htole64(0x55));
}

/* ------------------------------------------------------------------------- */
/* Errors                                                                    */
/* ------------------------------------------------------------------------- */

static void remote_error(void **state, uint32_t qp_access, uint32_t mr_access,
			 uint64_t addr, uint8_t opcode, uint8_t status)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(p.b.qpn, RC, VIRTIO_IB_QPS_RTS, p.a.guest, p.a.qpn);
	struct eg_wr wr = atomic(&p, opcode, 0, 1);

	req.attr_mask = htole32(VIRTIO_IB_QP_STATE | VIRTIO_IB_QP_ACCESS_FLAGS);
	req.qp_access_flags = htole32(qp_access);
	assert_int_equal(eg_modify(p.b.guest, &req), VIRTIO_NET_OK);
	wr.rkey = eg_reg(p.b.guest, p.b.pdn, mr_access, EG_VA, 4096, EG_DATA + IN);
	wr.remote_addr = addr;
	*result(&p) = 1;
	*word(&p) = 0;
	run_one(&p, &wr, status);
	assert_int_equal(*word(&p), 0);
	assert_int_equal(*result(&p), 1);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_ERR);
	assert_int_equal(engine_loop_timers(p.engine->loop), 0);
}

#define LOCAL	VIRTIO_IB_ACCESS_LOCAL_WRITE
#define RWRITE	VIRTIO_IB_ACCESS_REMOTE_WRITE
#define ALL	EG_ACCESS_ALL

#define REMOTE_ERROR(name, qp_access, mr_access, addr, opcode, status)	\
static void test_ ## name(void **state)					\
{									\
	remote_error(state, qp_access, mr_access, EG_VA + (addr), opcode, \
		     VIRTIO_IB_WC_REM_ ## status ## _ERR);		\
}

REMOTE_ERROR(add_no_qp_right, ALL & ~MAY, ALL, 0, FETCH_ADD, INV_REQ)
REMOTE_ERROR(swap_no_qp_right, ALL & ~MAY, ALL, 0, CMP_SWAP, INV_REQ)
REMOTE_ERROR(write_no_qp_right, ALL & ~RWRITE, ALL, 0, ATOMIC_WRITE, INV_REQ)
REMOTE_ERROR(add_no_right, ALL, ALL & ~MAY, 0, FETCH_ADD, ACCESS)
REMOTE_ERROR(swap_no_right, ALL, ALL & ~MAY, 0, CMP_SWAP, ACCESS)
REMOTE_ERROR(write_no_right, ALL, LOCAL | MAY, 0, ATOMIC_WRITE, ACCESS)
REMOTE_ERROR(askew, ALL, ALL, 4, FETCH_ADD, INV_REQ)
REMOTE_ERROR(write_askew, ALL, ALL, 1, ATOMIC_WRITE, INV_REQ)
REMOTE_ERROR(before, ALL, ALL, -8, CMP_SWAP, ACCESS)
REMOTE_ERROR(behind, ALL, ALL, 4096, CMP_SWAP, ACCESS)

/* A right to change memory needs that of the region's own side. */
static void test_region_without_local_write(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	const uint64_t page = EG_DATA;
	struct virtio_rdma_ack_mr ack;

	assert_int_equal(eg_reg_mr(p.b.guest, p.b.pdn, MAY, EG_VA, 4096, &page, 1, &ack),
			 VIRTIO_NET_ERR);
}

/* A bad request fails at the sender; the peer sees nothing of it. */
static void local_error(void **state, uint8_t opcode, struct eg_sge sge, uint8_t flags,
			uint8_t status, uint32_t vendor_err)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = atomic(&p, opcode, 0, 1);
	static const uint8_t data[16];

	wr.flags |= flags;
	wr.sge[0].length = sge.length;
	wr.sge[0].lkey += sge.lkey;
	wr.data = data;
	wr.data_len = sge.length;
	*word(&p) = 0;
	assert_int_equal(run_one(&p, &wr, status).vendor_err, vendor_err);
	assert_int_equal(*word(&p), 0);
	eg_expect_states(&p, VIRTIO_IB_QPS_ERR, VIRTIO_IB_QPS_RTS);
}

#define LOCAL_ERROR(name, opcode, length, key, flags, status, vendor)	\
static void test_ ## name(void **state)					\
{									\
	local_error(state, opcode, (struct eg_sge) { 0, length, key }, flags, \
		    VIRTIO_IB_WC_LOC_ ## status ## _ERR, VENDOR_ERR_ ## vendor); \
}

LOCAL_ERROR(short_result, FETCH_ADD, 7, 0, 0, LEN, LENGTH)
LOCAL_ERROR(no_result, CMP_SWAP, 0, 0, 0, LEN, LENGTH)
LOCAL_ERROR(short_write, ATOMIC_WRITE, 4, 0, 0, LEN, LENGTH)
LOCAL_ERROR(long_write, ATOMIC_WRITE, 9, 0, 0, LEN, LENGTH)
LOCAL_ERROR(long_inline_write, ATOMIC_WRITE, 16, 0, VIRTIO_IB_SEND_INLINE, LEN, LENGTH)
LOCAL_ERROR(result_key, CMP_SWAP, 8, 0x80, 0, PROT, SGE)
LOCAL_ERROR(write_key, ATOMIC_WRITE, 8, 0x80, 0, PROT, SGE)
LOCAL_ERROR(inline_add, FETCH_ADD, 8, 0, VIRTIO_IB_SEND_INLINE, QP_OP, FLAGS)

/* The answer is written, so the region must allow that. */
static void test_read_only_result(void **state)
{
	struct eg_pair p = eg_pair_up(state, RC);
	struct eg_wr wr = atomic(&p, FETCH_ADD, 1, 0);

	wr.sge[0].lkey = eg_reg(p.a.guest, p.a.pdn, 0, EG_VA, 4096, EG_DATA);
	*word(&p) = 0;
	run_one(&p, &wr, VIRTIO_IB_WC_LOC_PROT_ERR);
	assert_int_equal(*word(&p), 0);
}

static void test_not_for_uc(void **state)
{
	struct eg_pair p = eg_pair_up(state, VIRTIO_IB_QPT_UC);
	struct eg_wr wr = atomic(&p, FETCH_ADD, 1, 0);

	run_one(&p, &wr, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

static void test_none_allowed(void **state)
{
	struct engine *engine = *state;
	struct eg_pair p = {
		.engine = engine,
		.a = eg_open(&engine->guest[0], RC),
		.b = eg_open(&engine->guest[1], RC),
	};
	struct eg_wr wr = atomic(&p, FETCH_ADD, 1, 0);
	struct virtio_rdma_cmd_modify_qp req;

	eg_connect(&p.b, &p.a, RC);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RESET, &p.b);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_INIT, &p.b);
	eg_to(&p.a, RC, VIRTIO_IB_QPS_RTR, &p.b);
	req = eg_modify_req(p.a.qpn, RC, VIRTIO_IB_QPS_RTS, p.b.guest, p.b.qpn);
	req.max_rd_atomic = 0;
	assert_int_equal(eg_modify(p.a.guest, &req), VIRTIO_NET_OK);
	assert_int_equal(run_one(&p, &wr, VIRTIO_IB_WC_LOC_QP_OP_ERR).vendor_err,
			 VENDOR_ERR_NO_READS);
}

/* ------------------------------------------------------------------------- */
/* Counting                                                                  */
/* ------------------------------------------------------------------------- */

#define QPS		2u
#define BATCH		8u
#define ROUNDS		420u
#define COUNTED		((QPS + 1) * BATCH * ROUNDS)

/**
 * struct count - QPs that count on one word
 * @p:		pairs from guest 1 to guest 2, and one within guest 2
 * @seen:	numbers that have come back, each of which must come once
 */
struct count {
	struct eg_pair p[QPS + 1];
	bool *seen;
};

/* Another QP for the same user, which completes to @cqn. */
static struct eg_end one_more(const struct eg_end *end, uint32_t cqn)
{
	struct eg_end more = *end;

	more.cqn = cqn;
	more.qpn = eg_create_qp(more.guest, RC, more.pdn, more.cqn);
	return more;
}

static void count_open(void **state, struct count *c)
{
	struct engine *engine = *state;
	struct eg_end a = eg_open(&engine->guest[0], RC);
	struct eg_end b = eg_open(&engine->guest[1], RC);
	const struct eg_end *from;
	unsigned int i;

	for (i = 0; i <= QPS; i++) {
		c->p[i] = (struct eg_pair) { .engine = engine };
		from = i < QPS ? &a : &b;
		c->p[i].a = one_more(from, eg_create_cq(from->guest));
		c->p[i].b = one_more(&b, b.cqn);
		eg_wire_connect(&c->p[i].a, &c->p[i].b, VIRTIO_IB_MTU_1024);
	}
	*word(&c->p[0]) = 0;
	c->seen = calloc(COUNTED, sizeof(*c->seen));
	assert_non_null(c->seen);
}

/* Where request @i of a pair has its answer. */
static uint32_t count_off(unsigned int pair, unsigned int i)
{
	return 8 * (pair * BATCH + i);
}

static void count_post(const struct count *c)
{
	unsigned int pair, i;
	struct eg_wr wr;

	for (pair = 0; pair <= QPS; pair++) {
		for (i = 0; i < BATCH; i++) {
			wr = atomic(&c->p[pair], FETCH_ADD, 1, 0);
			wr.wr_id = i;
			wr.sge[0].addr = EG_VA + count_off(pair, i);
			eg_post_send(&c->p[pair].a, &wr);
		}
	}
}

static void count_take(const struct count *c)
{
	unsigned int pair, i;
	uint64_t n;

	for (pair = 0; pair <= QPS; pair++) {
		for (i = 0; i < BATCH; i++) {
			eg_expect(&c->p[pair].a, i, OK);
			n = le64toh(*(__le64 *)eg_ptr(c->p[pair].a.guest,
						      EG_DATA + count_off(pair, i)));
			assert_in_range(n, 0, COUNTED - 1);
			assert_false(c->seen[n]);
			c->seen[n] = true;
		}
	}
}

static void test_count(void **state)
{
	struct count c;
	unsigned int i;

	count_open(state, &c);
	for (i = 0; i < ROUNDS; i++) {
		count_post(&c);
		eg_run(c.p[0].engine);
		count_take(&c);
	}
	assert_int_equal(le64toh(*word(&c.p[0])), COUNTED);
	free(c.seen);
}

/* Each number comes back once, although requests and answers get lost and come twice. */
static void test_count_by_wire(void **state)
{
	struct count c;
	unsigned int i;

	count_open(state, &c);
	eg_wire_use(c.p[0].engine);
	eg_wire.lose = 20;
	eg_wire.repeat = 20;
	eg_wire.reorder = 10;
	for (i = 0; i < ROUNDS; i++) {
		count_post(&c);
		eg_wire_run(c.p[0].engine, 2000000000);
		count_take(&c);
	}
	assert_int_equal(le64toh(*word(&c.p[0])), COUNTED);
	assert_in_range(eg_wire.lost, 100, UINT32_MAX);
	assert_in_range(rnic_counters(c.p[0].b.guest->rnic)[VIRTIO_RDMA_CNT_DUP_REQUEST],
			100, UINT32_MAX);
	free(c.seen);
}

/**
 * struct processor - a thread that counts on the word, as a guest's processor does
 * @word:	the word
 * @end:	it shall end
 * @n:		how often it has counted
 */
struct processor {
	uint64_t *word;
	bool end;
	uint64_t n;
};

static void *processor_run(void *arg)
{
	struct processor *cpu = arg;

	while (!__atomic_load_n(&cpu->end, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(cpu->word, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&cpu->n, cpu->n + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* A processor that is taken from a machine is away for longer than the engine counts. */
static void processor_wait(const struct processor *cpu)
{
	uint64_t n = __atomic_load_n(&cpu->n, __ATOMIC_RELAXED);

	while (__atomic_load_n(&cpu->n, __ATOMIC_RELAXED) == n)
		sched_yield();
}

static void test_count_beside_processor(void **state)
{
	struct count c;
	struct processor cpu = {};
	pthread_t thread;
	unsigned int i;

	count_open(state, &c);
	cpu.word = word(&c.p[0]);
	assert_int_equal(pthread_create(&thread, NULL, processor_run, &cpu), 0);
	for (i = 0; i < ROUNDS; i++) {
		count_post(&c);
		processor_wait(&cpu);
		eg_run(c.p[0].engine);
		for (unsigned int pair = 0; pair <= QPS; pair++)
			for (unsigned int j = 0; j < BATCH; j++)
				eg_expect(&c.p[pair].a, j, OK);
	}
	__atomic_store_n(&cpu.end, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_in_range(cpu.n, ROUNDS, UINT64_MAX);
	assert_int_equal(le64toh(*cpu.word), COUNTED + cpu.n);
	free(c.seen);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_teardown)
#define W(name)	cmocka_unit_test_setup_teardown(name, eg_setup, eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		T(test_fetch_add),
		T(test_cmp_swap),
		T(test_write),
		T(test_elements),
		T(test_dma),
		T(test_many),
		T(test_fence),
		T(test_add_no_qp_right),
		T(test_swap_no_qp_right),
		T(test_write_no_qp_right),
		T(test_add_no_right),
		T(test_swap_no_right),
		T(test_write_no_right),
		T(test_askew),
		T(test_write_askew),
		T(test_before),
		T(test_behind),
		T(test_region_without_local_write),
		T(test_short_result),
		T(test_no_result),
		T(test_short_write),
		T(test_long_write),
		T(test_long_inline_write),
		T(test_result_key),
		T(test_write_key),
		T(test_inline_add),
		T(test_read_only_result),
		T(test_not_for_uc),
		T(test_none_allowed),
		T(test_count),
		W(test_count_by_wire),
		T(test_count_beside_processor),
	};

	return cmocka_run_group_tests_name("atomic", tests, NULL, NULL);
}
