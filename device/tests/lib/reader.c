// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A guest that reads a namespace through a target at a node, by direct rings.
 *
 * Its memory, from EG_DATA on: messages of the connection manager, capsules and answers of
 * both queues, and data, 4 KiB for each command.
 */
#include "tests/lib/reader.h"

#include "node/node_target.h"
#include "tests/lib/engine_loop.h"
#include "tests/lib/node_caller.h"
#include "tests/lib/nvmf_host.h"

#define CAPSULES	(1u << 20)
#define ANSWERS		(2u << 20)
#define DATA		(4u << 20)
/* Of the administration queue, behind those of the other one. */
#define ADMIN		READER_DEPTH
#define ENTRIES		(READER_DEPTH + 1)

static uint64_t capsule_at(uint32_t i)
{
	return CAPSULES + i * 64;
}

static uint64_t answer_at(uint32_t i)
{
	return ANSWERS + i * NVMF_CQE_SIZE;
}

static void connect_queue(struct caller *c, struct er_end *end, uint16_t qid, uint16_t entries)
{
	static const struct er_shape shape = {
		.send_depth = 2 * READER_DEPTH,
		.recv_depth = 2 * READER_DEPTH,
		.cqe = 512,
		.cqe_shift = 5,
	};
	uint8_t msg[CALLER_MAD];
	uint32_t node_id;

	er_open(end, c->gsi.guest, VIRTIO_IB_QPT_RC, &shape);
	put_req(c, msg, CALLER_ID + qid, end->end.qpn);
	memset(msg + 200, 0, 56);
	msg[202] = qid;
	msg[204] = entries;
	msg[206] = entries - 1;
	node_id = call_with(c, msg);
	connect_qp(c, &end->end, c->msg[c->n - 1]);
	put_message(msg, RTU, CALLER_ID + qid, node_id);
	say(c, msg);
}

static void post(struct er_end *end, const struct nvme_sqe *sqe, uint32_t at, uint8_t flags)
{
	struct eg_wr wr = eg_send(&end->end, 0, capsule_at(at), sizeof(*sqe));

	memcpy(eg_ptr(end->end.guest, EG_DATA + capsule_at(at)), sqe, sizeof(*sqe));
	wr.flags = flags;
	er_post_send(&end->qp, &wr);
}

/* A command that is the only one of its queue; returns the result. */
static uint64_t exec(struct reader *r, struct er_end *end, struct nvme_sqe sqe)
{
	const uint32_t key = htole32(end->end.lkey);
	struct virtio_rdma_cqe cqe;
	struct nvme_cqe answer;

	memcpy(sqe.sgl.key, &key, sizeof(key));
	er_recv(end, answer_at(ADMIN), NVMF_CQE_SIZE);
	post(end, &sqe, ADMIN, 0);
	bed_run(r->bed);
	assert_true(er_poll(&end->cq, &cqe));
	assert_int_equal(cqe.status, 0);
	memcpy(&answer, eg_ptr(end->end.guest, EG_DATA + answer_at(ADMIN)), sizeof(answer));
	assert_int_equal(answer.status, 0);
	return le64toh(answer.result);
}

static uint16_t say_connect(struct reader *r, struct er_end *end, uint16_t qid, uint16_t cntlid)
{
	struct nvmf_connect_data data = { .cntlid = htole16(cntlid) };
	struct nvme_sqe sqe = nh_connect_sqe(qid, qid ? ENTRIES : NVME_AQ_DEPTH, 0);

	strcpy(data.subnqn, NH_NQN);
	strcpy(data.hostnqn, NH_HOSTNQN);
	sqe.sgl.addr = htole64(EG_VA + DATA);
	memcpy(eg_ptr(end->end.guest, EG_DATA + DATA), &data, sizeof(data));
	return exec(r, end, sqe);
}

void reader_open(struct reader *r, void **state, struct ns *ns, struct nvmf_pool *pool,
		 void *staging)
{
	struct nvmf_target_config config = {
		.nqn = NH_NQN,
		.namespaces = 1,
		.space = { { .ns = ns } },
	};
	struct node_bed *bed = *state;
	struct caller *c;
	uint16_t cntlid;
	uint32_t i;

	node_free(bed->node);
	bed->node = NULL;
	*r = (struct reader) { .bed = bed, .block = ns->block };
	r->nvmf = nvmf_new(bed->engine->loop, pool);
	bed->config.shared = staging;
	bed->config.shared_size = pool->size;
	r->target = node_target_new(bed->engine->loop, bed->sw, bed->engine->fabric, r->nvmf,
				    &bed->config, &config);
	assert_non_null(r->target);
	c = caller(state, 0);
	connect_queue(c, &r->admin, 0, NVME_AQ_DEPTH);
	cntlid = say_connect(r, &r->admin, 0, NVME_CNTLID_DYNAMIC);
	exec(r, &r->admin, nh_property(NVME_FABRICS_SET, NVME_REG_CC, false,
				       NVME_CC_EN | NVME_CC_SIZES_NVM));
	connect_queue(c, &r->io, 1, ENTRIES);
	say_connect(r, &r->io, 1, cntlid);
	for (i = 0; i < READER_DEPTH; i++)
		er_recv(&r->io, answer_at(i), NVMF_CQE_SIZE);
}

void reader_close(struct reader *r)
{
	node_target_free(r->target);
	nvmf_free(r->nvmf);
}

void reader_read(struct reader *r, uint16_t slot, uint64_t offset)
{
	const uint32_t key = htole32(r->io.end.lkey);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, offset / r->block, READER_BYTES / r->block,
				    EG_VA + DATA + slot * READER_BYTES);

	sqe.cid = htole16(slot);
	memcpy(sqe.sgl.key, &key, sizeof(key));
	post(&r->io, &sqe, slot, 0);
}

void reader_poll(struct reader *r)
{
	rnic_poll(r->bed->engine->guest[0].rnic);
	engine_loop_poll(r->bed->engine->loop);
}

bool reader_take(struct reader *r, uint16_t *slot)
{
	const uint32_t at = r->answered % READER_DEPTH;
	struct virtio_rdma_cqe cqe;
	struct nvme_cqe answer;

	if (!er_poll(&r->io.cq, &cqe))
		return false;
	assert_int_equal(cqe.status, 0);
	memcpy(&answer, eg_ptr(r->io.end.guest, EG_DATA + answer_at(at)), sizeof(answer));
	assert_int_equal(answer.status, 0);
	*slot = le16toh(answer.cid);
	r->answered++;
	er_recv(&r->io, answer_at(at), NVMF_CQE_SIZE);
	return true;
}
