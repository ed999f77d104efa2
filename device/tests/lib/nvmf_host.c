// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A host of NVMe over Fabrics, its wire, a namespace in memory, and staging buffers.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/engine_loop.h"
#include "tests/lib/nvmf_host.h"

#define POOL_SIZE	(8u << 20)

/* ------------------------------------------------------------------------- */
/* Staging buffers                                                           */
/* ------------------------------------------------------------------------- */

static void *pool_alloc(void *arg, uint32_t len)
{
	struct nh *host = arg;
	void *buf;

	assert_true(len > 0 && len <= NVMF_DATA_MAX);
	if (len > host->left)
		return NULL;
	/* Exactly as long, so that AddressSanitizer sees what is beyond. */
	if (posix_memalign(&buf, 4096, len))
		abort();
	memset(buf, NH_SECRET, len);
	host->left -= len;
	host->used += len;
	return buf;
}

static void *pool_alloc_of(void *arg, const void *owner, uint32_t len)
{
	assert_non_null(owner);
	return pool_alloc(arg, len);
}

static void pool_free(void *arg, void *buf, uint32_t len)
{
	struct nh *host = arg;

	host->left += len;
	host->used -= len;
	free(buf);
}

/* ------------------------------------------------------------------------- */
/* A namespace                                                               */
/* ------------------------------------------------------------------------- */

static void disk_do(struct nh *host, struct ns_io *io)
{
	uint8_t *at = host->disk + io->offset;

	if (!host->err && io->op == NS_READ)
		memcpy(io->buf, at, io->len);
	if (!host->err && io->op == NS_WRITE)
		memcpy(at, io->buf, io->len);
	if (!host->err && (io->op == NS_ZERO || io->op == NS_DISCARD))
		memset(at, 0, io->len);
	io->done(io, host->err);
}

static void disk_submit(void *arg, struct ns_io *io)
{
	struct nh *host = arg;

	host->last = *io;
	if (!host->hold) {
		disk_do(host, io);
		return;
	}
	assert_true(host->ios < NH_EVENTS);
	host->io[host->ios++] = io;
}

void nh_release(struct nh *host)
{
	const unsigned int n = host->ios;
	struct ns_io *io[NH_EVENTS];
	unsigned int i;

	memcpy(io, host->io, sizeof(io));
	host->ios = 0;
	for (i = 0; i < n; i++)
		disk_do(host, io[i]);
}

/* ------------------------------------------------------------------------- */
/* The wire                                                                  */
/* ------------------------------------------------------------------------- */

static bool reaches(uint32_t len, uint64_t addr, uint32_t key)
{
	return key == NH_KEY && addr <= NH_MEMORY && len <= NH_MEMORY - addr;
}

static void wire_do(struct nh_conn *conn, const struct nh_event *event)
{
	struct nh *host = conn->host;

	if (event->cqe) {
		nvmf_sent(event->cmd, 0);
		return;
	}
	if (event->buf && !host->pull_err)
		memcpy(event->buf, host->memory + event->addr, event->len);
	nvmf_moved(event->cmd, event->buf ? host->pull_err : -EACCES);
}

static void wire_add(struct nh_conn *conn, const struct nh_event *event)
{
	assert_false(conn->ended);
	if (!conn->host->lazy) {
		wire_do(conn, event);
		return;
	}
	assert_true(conn->events < NH_EVENTS);
	conn->event[conn->events++] = *event;
}

static void wire_pull(void *arg, struct nvmf_cmd *cmd, void *buf, uint32_t len, uint64_t addr,
		      uint32_t key)
{
	struct nh_event event = { .cmd = cmd, .len = len, .addr = addr };

	if (reaches(len, addr, key))
		event.buf = buf;
	wire_add(arg, &event);
}

static void wire_push(void *arg, struct nvmf_cmd *cmd, const void *buf, uint32_t len,
		      uint64_t addr, uint32_t key)
{
	static const uint8_t secret[] = { NH_SECRET, NH_SECRET, NH_SECRET, NH_SECRET };
	struct nh_conn *conn = arg;

	assert_false(conn->ended);
	/* All of it was written, also what a wrong key keeps from the host. */
	assert_null(memmem(buf, len, secret, sizeof(secret)));
	if (reaches(len, addr, key))
		memcpy(conn->host->memory + addr, buf, len);
}

static void wire_answer(void *arg, struct nvmf_cmd *cmd, const void *cqe, bool inv, uint32_t key)
{
	struct nh_conn *conn = arg;
	struct nh_event event = { .cmd = cmd, .cqe = cqe };

	memcpy(&conn->cqe, cqe, sizeof(conn->cqe));
	conn->answers++;
	conn->inv = inv;
	conn->key = key;
	wire_add(conn, &event);
}

/* Capsules that are never released are the wire's, which are freed at the end. */
static void *capsule_of[NH_EVENTS * NH_CONNS];
static unsigned int capsules;

static void wire_release(void *arg, void *cookie)
{
	struct nh_conn *conn = arg;
	unsigned int i;

	assert_false(conn->ended);
	assert_true(conn->capsules > 0);
	conn->capsules--;
	for (i = 0; i < capsules; i++)
		if (capsule_of[i] == cookie)
			capsule_of[i] = capsule_of[--capsules];
	free(cookie);
}

static void wire_end(void *arg)
{
	struct nh_conn *conn = arg;

	assert_false(conn->ended);
	conn->ended = true;
}

static const struct nvmf_wire_ops wire = {
	.pull = wire_pull,
	.push = wire_push,
	.answer = wire_answer,
	.release = wire_release,
	.end = wire_end,
};

unsigned int nh_go(struct nh_conn *conn)
{
	const unsigned int n = conn->events;
	struct nh_event event[NH_EVENTS];
	unsigned int i;

	memcpy(event, conn->event, sizeof(event));
	conn->events = 0;
	for (i = 0; i < n && !conn->ended; i++)
		wire_do(conn, &event[i]);
	return n;
}

void nh_send(struct nh_conn *conn, const struct nvme_sqe *sqe, const void *data, size_t extra)
{
	uint8_t *capsule = malloc(sizeof(*sqe) + extra);

	assert_non_null(capsule);
	memcpy(capsule, sqe, sizeof(*sqe));
	if (extra)
		memcpy(capsule + sizeof(*sqe), data, extra);
	assert_true(capsules < NH_EVENTS * NH_CONNS);
	capsule_of[capsules++] = capsule;
	conn->capsules++;
	nvmf_capsule(conn->queue, capsule, sizeof(*sqe) + extra, capsule);
}

/* ------------------------------------------------------------------------- */
/* Beginning and end                                                         */
/* ------------------------------------------------------------------------- */

void nh_config(struct nh *host, struct nvmf_target_config *config)
{
	memset(config, 0, sizeof(*config));
	config->nqn = NH_NQN;
	config->traddr = "10.0.0.9";
	config->trsvcid = "4420";
	config->namespaces = 2;
	config->space[0].ns = &host->ns;
	config->space[1].ns = &host->null;
	config->limits.queues = 4;
}

struct nh *nh_new(void)
{
	struct nh *host = calloc(1, sizeof(*host));
	struct nvmf_target_config config;

	assert_non_null(host);
	host->loop = loop_new(0);
	host->pool.alloc = pool_alloc;
	host->pool.alloc_of = pool_alloc_of;
	host->pool.free = pool_free;
	host->pool.arg = host;
	host->pool.size = POOL_SIZE;
	host->left = POOL_SIZE;
	ns_null(&host->ns, "disk", sizeof(host->disk), false);
	host->ns.block = NH_BLOCK;
	host->ns.cache = true;
	host->ns.submit = disk_submit;
	host->ns.arg = host;
	ns_null(&host->null, "null", 1ULL << 40, false);
	host->nvmf = nvmf_new(host->loop, &host->pool);
	nh_config(host, &config);
	host->target = nvmf_target_new(host->nvmf, &config);
	assert_non_null(host->target);
	return host;
}

void nh_close(struct nh_conn *conn)
{
	conn->ended = true;
	nvmf_queue_free(conn->queue);
	conn->queue = NULL;
	conn->events = 0;
}

void nh_free(struct nh *host)
{
	unsigned int i;

	for (i = 0; i < NH_CONNS; i++)
		if (host->conn[i].queue)
			nh_close(&host->conn[i]);
	nh_release(host);
	assert_int_equal(host->used, 0);
	assert_int_equal(engine_loop_timers(host->loop), 0);
	assert_int_equal(nvmf_target_counters(host->target)->queues, 0);
	assert_int_equal(nvmf_target_counters(host->target)->controllers, 0);
	nvmf_target_free(host->target);
	nvmf_free(host->nvmf);
	loop_free(host->loop);
	while (capsules)
		free(capsule_of[--capsules]);
	free(host);
}

struct nh_conn *nh_open(struct nh *host, unsigned int n, struct nvmf_target *target,
			uint16_t qid, uint16_t depth, const char *guest)
{
	struct nvmf_cm_req req = {
		.qid = htole16(qid),
		.hrqsize = htole16(depth),
		.hsqsize = htole16(depth - 1),
	};
	const struct nvmf_peer peer = { .req = &req, .len = sizeof(req), .guest = guest };
	struct nh_conn *conn = &host->conn[n];

	memset(conn, 0, sizeof(*conn));
	conn->host = host;
	conn->queue = nvmf_queue_new(target, &wire, conn, &peer, &conn->answer);
	return conn;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

uint16_t nh_exec(struct nh_conn *conn, const struct nvme_sqe *sqe)
{
	const unsigned int before = conn->answers;

	nh_send(conn, sqe, NULL, 0);
	assert_int_equal(conn->answers, before + 1);
	assert_int_equal(conn->cqe.cid, sqe->cid);
	return (le16toh(conn->cqe.status) >> 1) & ~NVME_DNR;
}

struct nvme_sqe nh_sqe(uint8_t opcode, uint32_t nsid, uint64_t addr, uint32_t len)
{
	static uint16_t cid;
	struct nvme_sqe sqe = {
		.opcode = opcode,
		.flags = NVME_FLAGS_SGL,
		.cid = htole16(++cid),
		.nsid = htole32(nsid),
		.sgl.addr = htole64(addr),
		.sgl.type = NVME_SGL_KEYED,
	};
	const uint32_t key = htole32(NH_KEY);

	sqe.sgl.len[0] = len;
	sqe.sgl.len[1] = len >> 8;
	sqe.sgl.len[2] = len >> 16;
	memcpy(sqe.sgl.key, &key, sizeof(key));
	return sqe;
}

void nh_within(struct nvme_sqe *sqe, uint64_t offset, uint32_t len)
{
	sqe->sgl.addr = htole64(offset);
	sqe->sgl.type = NVME_SGL_OFFSET;
	sqe->sgl.len[0] = len;
	sqe->sgl.len[1] = len >> 8;
	sqe->sgl.len[2] = len >> 16;
	memset(sqe->sgl.key, 0, sizeof(sqe->sgl.key));
	sqe->sgl.key[0] = len >> 24;
}

struct nvme_sqe nh_rw(uint8_t opcode, uint32_t nsid, uint64_t lba, uint32_t blocks,
		      uint64_t addr)
{
	const uint32_t len = opcode == NVME_IO_ZEROES ? 0 : blocks * NH_BLOCK;
	struct nvme_sqe sqe = nh_sqe(opcode, nsid, addr, len);

	sqe.cdw10 = htole32(lba);
	sqe.cdw11 = htole32(lba >> 32);
	sqe.cdw12 = htole32(blocks - 1);
	return sqe;
}

struct nvme_sqe nh_connect_sqe(uint16_t qid, uint16_t depth, uint32_t kato)
{
	struct nvme_sqe sqe = nh_sqe(NVME_FABRICS, NVME_FABRICS_CONNECT, 0,
				     sizeof(struct nvmf_connect_data));
	const struct nvmf_connect connect = {
		.qid = htole16(qid),
		.sqsize = htole16(depth - 1),
		.kato = htole32(kato),
	};

	memcpy(&sqe.cdw10, &connect, sizeof(connect));
	return sqe;
}

struct nvmf_connect_data *nh_connect_data(struct nh *host, const char *subnqn,
					  const char *hostnqn, uint16_t cntlid)
{
	struct nvmf_connect_data *data = (struct nvmf_connect_data *)host->memory;

	memset(data, 0, sizeof(*data));
	memset(data->hostid, 0x11, sizeof(data->hostid));
	data->cntlid = htole16(cntlid);
	strcpy(data->subnqn, subnqn);
	strcpy(data->hostnqn, hostnqn);
	return data;
}

struct nvme_sqe nh_property(uint8_t fctype, uint32_t offset, bool wide, uint64_t value)
{
	struct nvme_sqe sqe = nh_sqe(NVME_FABRICS, fctype, 0, 0);
	const struct nvmf_property property = {
		.attrib = wide,
		.offset = htole32(offset),
		.value = htole64(value),
	};

	memcpy(&sqe.cdw10, &property, sizeof(property));
	return sqe;
}

struct nh_conn *nh_admin(struct nh *host, unsigned int n)
{
	struct nh_conn *conn = nh_open(host, n, host->target, 0, NVME_AQ_DEPTH, NULL);
	struct nvme_sqe sqe = nh_connect_sqe(0, NVME_AQ_DEPTH, 0);

	assert_non_null(conn->queue);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	conn->cntlid = le64toh(conn->cqe.result);
	sqe = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false, NVME_CC_EN | NVME_CC_SIZES_NVM);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	return conn;
}

struct nh_conn *nh_io(struct nh_conn *admin, unsigned int n, uint16_t qid, uint16_t depth)
{
	struct nh *host = admin->host;
	struct nh_conn *conn = nh_open(host, n, host->target, qid, depth, NULL);
	struct nvme_sqe sqe = nh_connect_sqe(qid, depth, 0);

	assert_non_null(conn->queue);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	return conn;
}
