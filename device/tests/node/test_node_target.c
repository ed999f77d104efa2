// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A target at a node: a guest connects, and reads and writes a disk.
 */
#include "tests/lib/node_caller.h"
#include "tests/lib/nvmf_host.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/chore.h"
#include "base/util.h"
#include "node/node_target.h"
#include "packet/inet.h"

#define DISK		(1u << 20)
#define CHUNKS		8u
#define CHUNK		NVMF_DATA_MAX
#define CAPSULES	0u
#define ANSWERS		(1u << 20)
#define DATA		(8u << 20)
#define DEPTH		16u

/**
 * struct target_bed - a target, and what it has
 * @bed:	guests, and no node
 * @nvmf:	all targets
 * @pool:	staging buffers
 * @staging:	memory of them
 * @used:	which of them are in use
 * @ns:		namespace
 * @disk:	its bytes
 * @held:	a request that the namespace has not done, if it holds some back
 * @hold:	it does
 * @target:	target
 */
struct target_bed {
	struct node_bed *bed;
	struct nvmf *nvmf;
	struct nvmf_pool pool;
	uint8_t *staging;
	bool used[CHUNKS];
	struct ns ns;
	uint8_t disk[DISK];
	struct ns_io *held;
	bool hold;
	struct node_target *target;
};

/* The bed that the present test has. */
static struct target_bed *tb;

static void *alloc(void *arg, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < CHUNKS; i++)
		if (!tb->used[i]) {
			tb->used[i] = true;
			return tb->staging + i * CHUNK;
		}
	return NULL;
}

static void release(void *arg, void *buf, uint32_t len)
{
	const unsigned int i = ((uint8_t *)buf - tb->staging) / CHUNK;

	assert_true(tb->used[i]);
	tb->used[i] = false;
}

static void submit(void *arg, struct ns_io *io)
{
	if (tb->hold) {
		tb->held = io;
		return;
	}
	if (io->op == NS_READ)
		memcpy(io->buf, tb->disk + io->offset, io->len);
	else if (io->op == NS_WRITE)
		memcpy(tb->disk + io->offset, io->buf, io->len);
	io->done(io, 0);
}

static int setup(void **state)
{
	static const struct ns ns = {
		.name = "disk",
		.size = DISK,
		.block = NH_BLOCK,
		.submit = submit,
	};
	struct nvmf_target_config config = {
		.nqn = NH_NQN,
		.namespaces = 1,
		.guests = 1,
		.guest = { "guest1" },
	};
	struct node_bed *bed;

	assert_int_equal(bed_setup(state), 0);
	bed = *state;
	node_free(bed->node);
	bed->node = NULL;
	tb = calloc(1, sizeof(*tb));
	assert_non_null(tb);
	tb->bed = bed;
	tb->staging = mmap(NULL, CHUNKS * CHUNK, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(tb->staging, MAP_FAILED);
	tb->pool.alloc = alloc;
	tb->pool.free = release;
	tb->pool.size = CHUNKS * CHUNK;
	tb->ns = ns;
	config.space[0].ns = &tb->ns;
	tb->nvmf = nvmf_new(bed->engine->loop, &tb->pool);
	assert_non_null(tb->nvmf);
	bed->config.shared = tb->staging;
	bed->config.shared_size = CHUNKS * CHUNK;
	tb->target = node_target_new(bed->engine->loop, bed->sw, bed->engine->fabric, tb->nvmf,
				     &bed->config, &config);
	assert_non_null(tb->target);
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	node_target_free(tb->target);
	nvmf_free(tb->nvmf);
	chores_finish(loop_chores(tb->bed->engine->loop));
	for (i = 0; i < CHUNKS; i++)
		assert_false(tb->used[i]);
	munmap(tb->staging, CHUNKS * CHUNK);
	free(tb);
	return bed_teardown(state);
}

/* ------------------------------------------------------------------------- */
/* An initiator                                                              */
/* ------------------------------------------------------------------------- */

/**
 * struct queue - a connection of a guest's
 * @caller:	guest
 * @end:	its QP
 * @at:		offset of its buffers among those of all queues
 * @node_id:	node's number of the connection
 * @node_qpn:	QPN of the node's
 * @id:		guest's number of it
 */
struct queue {
	struct caller *caller;
	struct eg_end end;
	uint32_t at;
	uint32_t node_id;
	uint32_t node_qpn;
	uint32_t id;
};

static void put_private(uint8_t *req, uint16_t qid, uint16_t depth)
{
	memset(req + 200, 0, 56);
	req[202] = qid;
	req[204] = depth;
	req[206] = depth - 1;
}

static struct queue open_queue(struct caller *c, uint16_t qid, uint16_t depth)
{
	struct queue q = {
		.caller = c,
		.end = eg_open(c->gsi.guest, VIRTIO_IB_QPT_RC),
		.at = qid * 8192,
		.id = CALLER_ID + qid,
	};
	uint8_t msg[CALLER_MAD];

	put_req(c, msg, q.id, q.end.qpn);
	put_private(msg, qid, depth);
	q.node_id = call_with(c, msg);
	q.node_qpn = get_be24(c->msg[c->n - 1] + 36);
	q.end = connect_qp(c, &q.end, c->msg[c->n - 1]);
	put_message(msg, RTU, q.id, q.node_id);
	say(c, msg);
	return q;
}

static void close_queue(struct queue *q)
{
	uint8_t msg[CALLER_MAD];

	put_message(msg, DREQ, q->id, q->node_id);
	put_be24(msg + 32, q->node_qpn);
	say(q->caller, msg);
}

static void post(struct queue *q, struct nvme_sqe *sqe, const void *more, uint32_t len)
{
	struct eg_wr wr = eg_send(&q->end, 1, CAPSULES + q->at, sizeof(*sqe) + len);
	const uint32_t key = htole32(q->end.lkey);
	uint8_t *capsule = eg_ptr(q->end.guest, EG_DATA + CAPSULES + q->at);

	if (sqe->sgl.type == NVME_SGL_KEYED)
		memcpy(sqe->sgl.key, &key, sizeof(key));
	memcpy(capsule, sqe, sizeof(*sqe));
	if (len)
		memcpy(capsule + sizeof(*sqe), more, len);
	eg_recv(&q->end, 2, ANSWERS + q->at, NVMF_CQE_SIZE);
	eg_post_send(&q->end, &wr);
	bed_run(q->caller->bed);
	eg_expect(&q->end, 1, 0);
}

static struct nvme_cqe answer(struct queue *q)
{
	struct nvme_cqe cqe;

	assert_int_equal(eg_expect(&q->end, 2, 0).byte_len, sizeof(cqe));
	memcpy(&cqe, eg_ptr(q->end.guest, EG_DATA + ANSWERS + q->at), sizeof(cqe));
	return cqe;
}

static struct nvme_cqe exec(struct queue *q, struct nvme_sqe sqe, const void *more, uint32_t len)
{
	post(q, &sqe, more, len);
	return answer(q);
}

static struct nvme_cqe connect_cmd(struct queue *q, uint16_t qid, uint16_t depth,
				   uint16_t cntlid)
{
	struct nvmf_connect_data data = { .cntlid = htole16(cntlid) };
	struct nvme_sqe sqe = nh_connect_sqe(qid, depth, 0);

	memset(data.hostid, 0x22, sizeof(data.hostid));
	strcpy(data.subnqn, NH_NQN);
	strcpy(data.hostnqn, NH_HOSTNQN);
	sqe.sgl.addr = htole64(EG_VA + DATA);
	memcpy(eg_ptr(q->end.guest, EG_DATA + DATA), &data, sizeof(data));
	return exec(q, sqe, NULL, 0);
}

static uint16_t status(struct nvme_cqe cqe)
{
	return le16toh(cqe.status) >> 1 & 0x7ff;
}

static struct queue open_admin(struct caller *c, uint16_t *cntlid)
{
	struct queue q = open_queue(c, 0, NVME_AQ_DEPTH);
	struct nvme_cqe cqe = connect_cmd(&q, 0, NVME_AQ_DEPTH, NVME_CNTLID_DYNAMIC);

	assert_int_equal(status(cqe), NVME_OK);
	*cntlid = le64toh(cqe.result);
	cqe = exec(&q, nh_property(NVME_FABRICS_SET, NVME_REG_CC, false,
				   NVME_CC_EN | NVME_CC_SIZES_NVM), NULL, 0);
	assert_int_equal(status(cqe), NVME_OK);
	return q;
}

static struct queue open_io(struct caller *c, uint16_t cntlid)
{
	struct queue q = open_queue(c, 1, DEPTH);

	assert_int_equal(status(connect_cmd(&q, 1, DEPTH, cntlid)), NVME_OK);
	return q;
}

/* ------------------------------------------------------------------------- */

/* Data of all sizes goes to the disk and comes back, and then all is given back. */
static void test_disk(void **state)
{
	static const uint32_t blocks[] = { 1, 8, 9, 128, 1024 };
	struct caller *c = caller(state, 0);
	uint16_t cntlid;
	struct queue admin = open_admin(c, &cntlid);
	struct queue io = open_io(c, cntlid);
	uint8_t inside[2 * NH_BLOCK];
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		eg_fill(c->gsi.guest, DATA, blocks[i] * NH_BLOCK, i);
		sqe = nh_rw(NVME_IO_WRITE, 1, 3, blocks[i], EG_VA + DATA);
		assert_int_equal(status(exec(&io, sqe, NULL, 0)), NVME_OK);
		eg_check(c->gsi.guest, DATA, blocks[i] * NH_BLOCK, i, 0);
		eg_zero(c->gsi.guest, DATA, blocks[i] * NH_BLOCK);
		sqe = nh_rw(NVME_IO_READ, 1, 3, blocks[i], EG_VA + DATA);
		assert_int_equal(status(exec(&io, sqe, NULL, 0)), NVME_OK);
		eg_check(c->gsi.guest, DATA, blocks[i] * NH_BLOCK, i, 0);
	}
	/* Data in the capsule. */
	memset(inside, 0x77, sizeof(inside));
	sqe = nh_rw(NVME_IO_WRITE, 1, 100, 2, 0);
	nh_within(&sqe, 0, sizeof(inside));
	assert_int_equal(status(exec(&io, sqe, inside, sizeof(inside))), NVME_OK);
	assert_memory_equal(tb->disk + 100 * NH_BLOCK, inside, sizeof(inside));

	close_queue(&io);
	close_queue(&admin);
	assert_int_equal(node_target_conns(tb->target), 0);
	assert_int_equal(node_target_counters(tb->target, 0)->read, ARRAY_SIZE(blocks));
	assert_int_equal(node_target_counters(tb->target, 0)->controllers, 0);
}

/* Many more commands than the queue has entries, a queue's worth at a time. */
static void test_many(void **state)
{
	struct caller *c = caller(state, 0);
	uint16_t cntlid;
	struct queue admin = open_admin(c, &cntlid);
	struct queue io = open_io(c, cntlid);
	struct nvme_sqe sqe;
	unsigned int i, j;

	assert_int_equal(admin.caller->number, 0);
	for (i = 0; i < 100; i++) {
		for (j = 0; j < DEPTH - 1; j++) {
			sqe = nh_rw(NVME_IO_READ, 1, j, 1, EG_VA + DATA + j * NH_BLOCK);
			post(&io, &sqe, NULL, 0);
			assert_int_equal(status(answer(&io)), NVME_OK);
		}
	}
	assert_int_equal(node_target_counters(tb->target, 0)->read, 100 * (DEPTH - 1));
}

/* A key that is none: the command fails at the initiator's NIC, and with it the connection. */
static void wrong_key(void **state, uint8_t opcode)
{
	struct caller *c = caller(state, 0);
	uint16_t cntlid;
	struct queue admin = open_admin(c, &cntlid);
	struct queue io = open_io(c, cntlid);
	struct nvme_sqe sqe = nh_rw(opcode, 1, 0, 8, EG_VA + EG_MR_SIZE);

	post(&io, &sqe, NULL, 0);
	bed_run(c->bed);
	listen(c);
	assert_int_equal(node_target_conns(tb->target), 1);
	heard(c, c->n - 1, DREQ);
	close_queue(&admin);
	assert_int_equal(node_target_conns(tb->target), 0);
}

static void test_wrong_key(void **state)
{
	wrong_key(state, NVME_IO_WRITE);
}

static void test_wrong_key_of_a_read(void **state)
{
	wrong_key(state, NVME_IO_READ);
}

/* The admin queue ends, and the I/O queue with it, while the namespace has its request. */
static void test_end_under_load(void **state)
{
	struct caller *c = caller(state, 0);
	uint16_t cntlid;
	struct queue admin = open_admin(c, &cntlid);
	struct queue io = open_io(c, cntlid);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 8, EG_VA + DATA);

	tb->hold = true;
	eg_zero(c->gsi.guest, DATA, 4096);
	post(&io, &sqe, NULL, 0);
	assert_non_null(tb->held);
	close_queue(&admin);
	bed_run(c->bed);
	assert_int_equal(node_target_conns(tb->target), 0);
	memset(tb->held->buf, 0xab, 4096);
	tb->held->done(tb->held, 0);
	bed_run(c->bed);
	eg_check_zero(c->gsi.guest, DATA, 4096);
}

/* A guest that is not named cannot use it; a request that is none is refused at once. */
static void test_access(void **state)
{
	struct caller *c = caller(state, 0), *other = caller(state, 1);
	struct queue q = open_queue(other, 0, NVME_AQ_DEPTH);
	uint8_t msg[CALLER_MAD];

	assert_int_not_equal(status(connect_cmd(&q, 0, NVME_AQ_DEPTH, NVME_CNTLID_DYNAMIC)),
			     NVME_OK);
	put_req(c, msg, CALLER_ID, 5);
	put_private(msg, 0, NVME_AQ_DEPTH);
	msg[200] = 1;
	say(c, msg);
	heard(c, c->n - 1, REJ);
	assert_int_equal(get_be16(c->msg[c->n - 1] + 34), CM_REJ_CONSUMER);
	assert_int_not_equal(c->msg[c->n - 1][110], 0);
}

/* It ends with connections and a command under way. */
static void test_stop(void **state)
{
	struct caller *c = caller(state, 0);
	uint16_t cntlid;
	struct queue admin = open_admin(c, &cntlid);
	struct queue io = open_io(c, cntlid);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 8, EG_VA + DATA);
	uint8_t msg[CALLER_MAD];

	tb->hold = true;
	post(&io, &sqe, NULL, 0);
	node_target_stop(tb->target);
	bed_run(c->bed);
	listen(c);
	heard(c, c->n - 1, DREQ);
	heard(c, c->n - 2, DREQ);
	assert_int_equal(node_target_conns(tb->target), 0);
	tb->held->done(tb->held, -EPIPE);
	put_req(c, msg, CALLER_ID + 7, admin.end.qpn);
	put_private(msg, 0, NVME_AQ_DEPTH);
	say(c, msg);
	heard(c, c->n - 1, REJ);
	node_target_resume(tb->target);
	call_with(c, msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_key, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_key_of_a_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_under_load, setup, teardown),
		cmocka_unit_test_setup_teardown(test_access, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
