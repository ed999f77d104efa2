// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unit tests: I/O commands of NVMe over Fabrics, staging buffers, and ends with commands under
 * way.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "tests/lib/engine_loop.h"
#include "tests/lib/nvmf_host.h"

#define DATA		65536u
#define MS		1000000ULL

static void fill(uint8_t *p, uint32_t len, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = seed + i * 7 + i / 251;
}

static struct nh_conn *io_queue(struct nh *host, uint16_t depth)
{
	return nh_io(nh_admin(host, 0), 1, 1, depth);
}

static void what_is_written_is_read(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_WRITE, 1, 5, 2048, DATA);
	uint8_t *data = host->memory + DATA;
	const struct nvmf_counters *count = nvmf_target_counters(host->target);

	/* The most that fits. */
	fill(data, NVMF_DATA_MAX, 3);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_memory_equal(host->disk + 5 * NH_BLOCK, data, NVMF_DATA_MAX);
	assert_false(host->last.lasting);
	sqe = nh_rw(NVME_IO_READ, 1, 6, 2, DATA + 4096);
	memset(data, 0, NVMF_DATA_MAX);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_memory_equal(data + 4096, host->disk + 6 * NH_BLOCK, 1024);
	assert_int_equal(data[4095], 0);
	assert_int_equal(data[4096 + 1024], 0);
	assert_int_equal(count->read, 1);
	assert_int_equal(count->read_bytes, 1024);
	assert_int_equal(count->written, 1);
	assert_int_equal(count->written_bytes, NVMF_DATA_MAX);
	nh_free(host);
}

static void the_null_namespace_reads_as_zeroes(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_WRITE, 2, (1ULL << 31) - 8, 8, DATA);
	unsigned int i;

	memset(host->memory + DATA, 1, 4097);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	sqe = nh_rw(NVME_IO_READ, 2, (1ULL << 31) - 8, 8, DATA);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	for (i = 0; i < 4096; i++)
		assert_int_equal(host->memory[DATA + i], 0);
	assert_int_equal(host->memory[DATA + 4096], 1);
	nh_free(host);
}

static void data_in_the_capsule_is_written(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_WRITE, 1, 1, 7, 0);
	uint8_t data[4096];

	fill(data, sizeof(data), 9);
	nh_within(&sqe, 512, 3584);
	nh_send(conn, &sqe, data, sizeof(data));
	assert_int_equal(le16toh(conn->cqe.status), 0);
	assert_memory_equal(host->disk + NH_BLOCK, data + 512, 3584);
	assert_int_equal(host->disk[0], 0);
	assert_int_equal(conn->capsules, 0);
	nh_free(host);
}

/* Returns the status of a command with @extra bytes behind it. */
static uint16_t within(struct nh_conn *conn, struct nvme_sqe *sqe, uint64_t offset, uint32_t len,
		       size_t extra)
{
	static const uint8_t data[4096];

	nh_within(sqe, offset, len);
	nh_send(conn, sqe, data, extra);
	return le16toh(conn->cqe.status) >> 1;
}

static void data_that_is_described_wrongly_is_refused(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	const struct nvme_sqe good = nh_rw(NVME_IO_WRITE, 1, 0, 1, DATA);
	struct nvme_sqe sqe = good;

	assert_int_equal(within(conn, &sqe, 1, 512, 512), NVME_SGL_BAD_OFFSET | NVME_DNR);
	assert_int_equal(within(conn, &sqe, 513, 0, 512), NVME_SGL_BAD_OFFSET | NVME_DNR);
	assert_int_equal(within(conn, &sqe, UINT64_MAX, 512, 512),
			 NVME_SGL_BAD_OFFSET | NVME_DNR);
	assert_int_equal(within(conn, &sqe, 0, 511, 512), NVME_SGL_LENGTH | NVME_DNR);
	assert_int_equal(within(conn, &sqe, 0, 0x80000000, 512), NVME_SGL_BAD_OFFSET | NVME_DNR);
	assert_int_equal(within(conn, &sqe, 0, 512, 512), NVME_OK);
	sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
	assert_int_equal(within(conn, &sqe, 0, 512, 512), NVME_INVALID_FIELD | NVME_DNR);
	sqe = good;
	sqe.sgl.len[0]++;
	assert_int_equal(nh_exec(conn, &sqe), NVME_SGL_LENGTH);
	sqe = good;
	sqe.sgl.type = 0x41;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe.sgl.type = 0x00;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe.sgl.type = 0x30;
	assert_int_equal(nh_exec(conn, &sqe), NVME_SGL_BAD_TYPE);
	sqe = good;
	sqe.flags = 0;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe.flags = 0x80;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe.flags = NVME_FLAGS_SGL | 1;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	/* A command without data that describes some. */
	sqe = nh_sqe(NVME_IO_FLUSH, 1, DATA, 512);
	assert_int_equal(nh_exec(conn, &sqe), NVME_SGL_LENGTH);
	assert_int_equal(conn->capsules, 0);
	nh_free(host);
}

static void keys_are_withdrawn_if_asked_for(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);

	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_false(conn->inv);
	sqe.sgl.type = NVME_SGL_KEYED_INV;
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_true(conn->inv);
	assert_int_equal(conn->key, NH_KEY);
	nh_free(host);
}

static void places_beyond_the_end_are_refused(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	static const uint8_t opcodes[] = { NVME_IO_READ, NVME_IO_WRITE, NVME_IO_ZEROES };
	struct nvme_sqe sqe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		sqe = nh_rw(opcodes[i], 1, NH_BLOCKS - 1, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
		sqe = nh_rw(opcodes[i], 1, NH_BLOCKS - 1, 2, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_LBA_RANGE);
		sqe = nh_rw(opcodes[i], 1, UINT64_MAX, 2, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_LBA_RANGE);
		sqe = nh_rw(opcodes[i], 1, 1ULL << 55, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_LBA_RANGE);
		sqe = nh_rw(opcodes[i], 3, 0, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_NS);
		sqe = nh_rw(opcodes[i], 0, 0, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_NS);
		sqe = nh_rw(opcodes[i], NVME_NSID_ALL, 0, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_NS);
	}
	/* More than MDTS says. */
	sqe = nh_rw(NVME_IO_READ, 1, 0, 2049, DATA);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_rw(0x05, 1, 0, 1, DATA);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_OPCODE);
	sqe = nh_sqe(NVME_IO_FLUSH, NVME_NSID_ALL, 0, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_NS);
	nh_free(host);
}

static void flush_zeroes_and_fua_reach_the_namespace(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_sqe(NVME_IO_FLUSH, 1, 0, 0);

	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(host->last.op, NS_FLUSH);
	sqe = nh_rw(NVME_IO_WRITE, 1, 0, 1, DATA);
	sqe.cdw12 |= htole32(NVME_RW_FUA);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_true(host->last.lasting);
	sqe = nh_rw(NVME_IO_ZEROES, 1, 3, 4, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(host->last.op, NS_ZERO);
	assert_int_equal(host->last.offset, 3 * NH_BLOCK);
	assert_int_equal(host->last.len, 4 * NH_BLOCK);
	assert_true(host->last.keep);
	sqe.cdw12 |= htole32(NVME_ZEROES_DEAC);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_false(host->last.keep);
	nh_free(host);
}

static struct nvme_sqe dsm(struct nh *host, unsigned int n, uint32_t attributes)
{
	struct nvme_range *range = (struct nvme_range *)(host->memory + DATA);
	/* As Linux does it: always room for all. */
	struct nvme_sqe sqe = nh_sqe(NVME_IO_DSM, 1, DATA, 4096);
	unsigned int i;

	for (i = 0; i < n; i++) {
		range[i].cattr = 0;
		range[i].slba = htole64(2 * i);
		range[i].nlb = htole32(1);
	}
	sqe.cdw10 = htole32(n - 1);
	sqe.cdw11 = htole32(attributes);
	return sqe;
}

static void ranges_are_forgotten(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = dsm(host, 256, NVME_DSM_DEALLOCATE);
	struct nvme_range *range = (struct nvme_range *)(host->memory + DATA);
	unsigned int i;

	memset(host->disk, 1, sizeof(host->disk));
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	for (i = 0; i < 512; i++)
		assert_int_equal(host->disk[i * NH_BLOCK], i & 1);
	assert_int_equal(host->disk[512 * NH_BLOCK], 1);

	/* One that is wrong leaves all others alone. */
	memset(host->disk, 1, sizeof(host->disk));
	range[200].slba = htole64(NH_BLOCKS);
	assert_int_equal(nh_exec(conn, &sqe), NVME_LBA_RANGE);
	assert_int_equal(host->disk[0], 1);
	/* An empty one is none; other attributes are advice. */
	sqe = dsm(host, 2, NVME_DSM_DEALLOCATE);
	range[0].nlb = 0;
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(host->disk[0], 1);
	assert_int_equal(host->disk[2 * NH_BLOCK], 0);
	sqe = dsm(host, 1, 1);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(host->disk[0], 1);
	sqe.sgl.len[1] = 0;
	sqe.sgl.len[0] = 15;
	assert_int_equal(nh_exec(conn, &sqe), NVME_SGL_LENGTH);

	/* One after the other, by a namespace that takes its time; and one that fails. */
	host->hold = true;
	sqe = dsm(host, 3, NVME_DSM_DEALLOCATE);
	nh_send(conn, &sqe, NULL, 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(host->ios, 1);
		assert_int_equal(host->last.offset, 2 * i * NH_BLOCK);
		nh_release(host);
	}
	assert_int_equal(conn->cqe.cid, sqe.cid);
	assert_int_equal(conn->cqe.status, 0);
	host->hold = false;
	host->err = -EIO;
	assert_int_equal(nh_exec(conn, &sqe), NVME_WRITE_FAULT);
	assert_int_equal(host->last.offset, 0);
	nh_free(host);
}

static void who_may_only_read_does_not_write(void **state)
{
	static const uint8_t opcodes[] = { NVME_IO_WRITE, NVME_IO_ZEROES, NVME_IO_DSM };
	struct nh *host = nh_new();
	struct nvmf_target_config config;
	struct nvmf_target *target;
	struct nh_conn *conn;
	struct nvme_sqe sqe;
	unsigned int i;

	nh_config(host, &config);
	config.space[0].ro = true;
	host->null.ro = true;
	target = host->target;
	host->target = nvmf_target_new(host->nvmf, &config);
	conn = io_queue(host, 32);
	memset(host->disk, 7, sizeof(host->disk));
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		sqe = opcodes[i] == NVME_IO_DSM ? dsm(host, 1, NVME_DSM_DEALLOCATE) :
		      nh_rw(opcodes[i], 1, 0, 1, DATA);
		assert_int_equal(nh_exec(conn, &sqe), NVME_NS_PROTECTED);
		sqe.nsid = htole32(2);
		assert_int_equal(nh_exec(conn, &sqe), NVME_NS_PROTECTED);
	}
	assert_int_equal(host->disk[0], 7);
	sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	sqe = nh_sqe(NVME_IO_FLUSH, 1, 0, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	sqe = nh_sqe(NVME_ADMIN_IDENTIFY, 1, 4096, 4096);
	sqe.cdw10 = htole32(NVME_CNS_NS);
	assert_int_equal(nh_exec(&host->conn[0], &sqe), NVME_OK);
	assert_int_equal(((struct nvme_id_ns *)(host->memory + 4096))->nsattr, 1);
	nh_close(&host->conn[1]);
	nh_close(&host->conn[0]);
	nvmf_target_free(host->target);
	host->target = target;
	nh_free(host);
}

static void errors_of_a_namespace_have_their_status(void **state)
{
	static const struct {
		int err;
		uint16_t read;
		uint16_t write;
	} rows[] = {
		{ -EIO, NVME_READ_ERROR | NVME_DNR, NVME_WRITE_FAULT | NVME_DNR },
		{ -ENOSPC, NVME_CAPACITY | NVME_DNR, NVME_CAPACITY | NVME_DNR },
		{ -EPIPE, NVME_INTERNAL, NVME_INTERNAL },
		{ -EROFS, NVME_NS_PROTECTED | NVME_DNR, NVME_NS_PROTECTED | NVME_DNR },
		{ -EINVAL, NVME_INTERNAL | NVME_DNR, NVME_INTERNAL | NVME_DNR },
	};
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe;
	unsigned int i;

	memset(host->memory + DATA, 0xee, 512);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		host->err = rows[i].err;
		sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
		nh_exec(conn, &sqe);
		assert_int_equal(le16toh(conn->cqe.status) >> 1, rows[i].read);
		/* And nothing of the buffer is seen. */
		assert_int_equal(host->memory[DATA], 0xee);
		sqe = nh_rw(NVME_IO_WRITE, 1, 0, 1, DATA);
		nh_exec(conn, &sqe);
		assert_int_equal(le16toh(conn->cqe.status) >> 1, rows[i].write);
	}
	nh_free(host);
}

static void a_key_that_does_not_reach_is_an_error(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_WRITE, 1, 0, 1, NH_MEMORY - 511);

	memset(host->disk, 7, NH_BLOCK);
	assert_int_equal(nh_exec(conn, &sqe), NVME_TRANSFER_ERROR);
	assert_int_equal(host->disk[0], 7);
	host->pull_err = -EIO;
	sqe = nh_rw(NVME_IO_WRITE, 1, 0, 1, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_TRANSFER_ERROR);
	assert_int_equal(host->disk[0], 7);
	nh_free(host);
}

static void the_head_of_the_queue_is_told(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 4);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
	unsigned int i;

	/* Connect was the first one. */
	for (i = 2; i < 10; i++) {
		assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
		assert_int_equal(le16toh(conn->cqe.sqhd), i % 4);
	}
	conn = nh_open(host, 2, host->target, 2, 8, NULL);
	sqe = nh_connect_sqe(2, 4, 0);
	((struct nvmf_connect *)&sqe.cdw10)->cattr = NVMF_CATTR_NO_FLOW;
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, host->conn[0].cntlid);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(le16toh(conn->cqe.sqhd), 0xffff);
	nh_free(host);
}

static void commands_wait_for_a_staging_buffer(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe large = nh_rw(NVME_IO_READ, 1, 0, 16, DATA);
	struct nvme_sqe small = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, 1, 0);
	struct nvme_sqe none = nh_sqe(NVME_IO_FLUSH, 1, 0, 0);
	const uint64_t left = host->left;
	const unsigned int before = conn->answers;
	uint8_t data[512];

	fill(data, sizeof(data), 1);
	host->left = 4096;
	nh_send(conn, &large, NULL, 0);
	nh_send(conn, &small, NULL, 0);
	nh_within(&write, 0, 512);
	nh_send(conn, &write, data, sizeof(data));
	/* Nobody overtakes; but whose data is in the capsule keeps that. */
	assert_int_equal(conn->answers, before);
	assert_int_equal(conn->capsules, 3);
	assert_int_equal(nvmf_target_counters(host->target)->waits, 3);
	nh_send(conn, &none, NULL, 0);
	assert_int_equal(conn->answers, before + 1);

	/* A command that gives a buffer back lets the next ones go on. */
	host->left = left;
	none = nh_sqe(NVME_ADMIN_IDENTIFY, 0, 4096, 4096);
	none.cdw10 = htole32(NVME_CNS_CTRL);
	nh_send(&host->conn[0], &none, NULL, 0);
	assert_int_equal(conn->answers, before + 1);
	host->left = 4096;
	nh_close(conn);
	host->left = left;
	nh_free(host);
}

static void who_gives_back_serves_who_waits(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 8, DATA);
	const unsigned int before = conn->answers;
	const uint64_t left = host->left;
	unsigned int i;

	host->left = 8192;
	host->hold = true;
	for (i = 0; i < 5; i++)
		nh_send(conn, &sqe, NULL, 0);
	assert_int_equal(host->ios, 2);
	assert_int_equal(conn->answers, before);
	nh_release(host);
	assert_int_equal(conn->answers, before + 2);
	assert_int_equal(host->ios, 2);
	host->hold = false;
	nh_release(host);
	assert_int_equal(conn->answers, before + 5);
	assert_int_equal(host->used, 0);
	host->left = left;
	nh_free(host);
}

/* A controller of guest "b" on connections 2 and 3. */
static struct nh_conn *io_of_other(struct nh *host)
{
	struct nh_conn *admin = nh_open(host, 2, host->target, 0, 32, "b");
	struct nh_conn *conn = nh_open(host, 3, host->target, 1, 32, "b");
	struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);
	const struct nvme_sqe on = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false,
					       NVME_CC_EN | NVME_CC_SIZES_NVM);

	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	assert_int_equal(nh_exec(admin, &sqe), NVME_OK);
	admin->cntlid = le64toh(admin->cqe.result);
	assert_int_equal(nh_exec(admin, &on), NVME_OK);
	sqe = nh_connect_sqe(1, 32, 0);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	return conn;
}

static void those_who_wait_are_served_in_turn(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nh_conn *other = io_of_other(host);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 8, DATA);
	const unsigned int before = conn->answers, others = other->answers;
	const uint64_t left = host->left;
	unsigned int i;

	/* One buffer; one guest was there first, with all that it has. */
	host->left = 4096;
	host->hold = true;
	for (i = 0; i < 8; i++)
		nh_send(conn, &sqe, NULL, 0);
	for (i = 0; i < 2; i++)
		nh_send(other, &sqe, NULL, 0);
	for (i = 0; i < 5; i++)
		nh_release(host);
	assert_int_equal(other->answers, others + 2);
	assert_int_equal(conn->answers, before + 3);
	host->hold = false;
	nh_release(host);
	assert_int_equal(conn->answers, before + 8);
	host->left = left;
	nh_free(host);
}

static void one_guest_leaves_half_to_others(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nh_conn *admin = nh_open(host, 2, host->target, 0, 32, "b");
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 2048, DATA);
	struct nvme_sqe other = nh_connect_sqe(0, 32, 0);
	unsigned int i;

	/* 4 of 8 MiB. */
	host->hold = true;
	for (i = 0; i < 9; i++)
		nh_send(conn, &sqe, NULL, 0);
	assert_int_equal(host->used, 4u << 20);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	assert_int_equal(nh_exec(admin, &other), NVME_OK);
	nh_free(host);
}

/* With commands at each stage; what a namespace has it keeps until it lets go. */
static void a_queue_ends_with_commands_under_way(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, 8, DATA);
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, 8, DATA);
	struct nvme_sqe ranges = dsm(host, 3, NVME_DSM_DEALLOCATE);

	host->lazy = true;
	nh_send(conn, &read, NULL, 0);		/* answered */
	nh_send(conn, &write, NULL, 0);		/* pulled */
	nh_send(conn, &ranges, NULL, 0);	/* pulled, then first range */
	host->hold = true;
	nh_send(conn, &read, NULL, 0);		/* namespace */
	host->left = 0;
	nh_send(conn, &read, NULL, 0);		/* waits */
	assert_int_equal(conn->events, 3);
	assert_int_equal(host->ios, 1);
	nh_close(conn);
	assert_int_equal(host->used, 4096);
	host->left = 1 << 20;
	nh_release(host);
	assert_int_equal(host->used, 0);
	host->left = 8 << 20;
	nh_free(host);
}

/* A host's connections have ended, and namespaces still have @n writes of theirs. */
static void leave_behind(struct nh *host, unsigned int n)
{
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, 8, DATA);

	host->hold = true;
	while (n--)
		nh_send(conn, &write, NULL, 0);
	nh_close(conn);
	nh_close(&host->conn[0]);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
}

/*
 * A write of a connection that has ended is not done yet.  The host would do it again by the
 * next one, and overwrite that; then the first one would undo it.
 */
static void a_host_waits_for_what_it_has_left_behind(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn;
	struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);
	unsigned int i;

	leave_behind(host, 2);
	for (i = 0; i < 2; i++) {
		conn = nh_open(host, i ? 4 : 0, host->target, 0, 32, NULL);
		nh_send(conn, &sqe, NULL, 0);
		assert_int_equal(conn->answers, 0);
	}
	/* One Connect is enough. */
	assert_int_equal(nh_exec(conn, &sqe), NVME_SEQUENCE);
	/* Others do not wait. */
	io_of_other(host);
	engine_loop_advance(host->loop, 49999 * MS);
	assert_int_equal(host->conn[0].answers, 0);
	nh_release(host);
	for (i = 0; i < 2; i++) {
		conn = &host->conn[i ? 4 : 0];
		assert_int_equal(conn->answers, 1 + i);
		assert_int_equal(le16toh(conn->cqe.status), 0);
	}
	nh_free(host);
}

/* Also if the end of that connection is what gives the Connect its buffer. */
static void a_host_waits_if_the_end_gives_it_a_buffer(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nh_conn *again = nh_open(host, 3, host->target, 0, 32, NULL);
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, 8, DATA);
	struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);

	host->hold = true;
	nh_send(conn, &write, NULL, 0);		/* namespace */
	host->lazy = true;
	nh_send(conn, &write, NULL, 0);		/* pulled */
	host->lazy = false;
	host->left = 0;
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	nh_within(&sqe, 0, sizeof(struct nvmf_connect_data));
	nh_send(again, &sqe, host->memory, sizeof(struct nvmf_connect_data));
	nh_close(conn);
	assert_int_equal(again->answers, 0);
	nh_release(host);
	assert_int_equal(again->answers, 1);
	assert_int_equal(le16toh(again->cqe.status), 0);
	nh_free(host);
}

/* A host that waited in vain may try again; a connection may end while it waits. */
static void a_host_does_not_wait_for_ever(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn;
	struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);
	unsigned int i;

	leave_behind(host, 1);
	for (i = 3; i < 6; i++) {
		nh_open(host, i, host->target, 0, 32, NULL);
		nh_send(&host->conn[i], &sqe, NULL, 0);
	}
	nh_close(&host->conn[3]);
	/* It has ended, and does not know that yet. */
	nvmf_capsule(host->conn[4].queue, &sqe, sizeof(sqe) - 1, NULL);
	assert_true(host->conn[4].ended);
	engine_loop_advance(host->loop, 50000 * MS);
	conn = &host->conn[5];
	assert_int_equal(conn->answers, 1);
	assert_int_equal(le16toh(conn->cqe.status) >> 1, NVME_CONNECT_BUSY);
	assert_int_equal(host->conn[4].answers, 0);
	/* It tries again, and is the only one that is left. */
	nh_send(conn, &sqe, NULL, 0);
	nh_release(host);
	assert_int_equal(conn->answers, 2);
	assert_int_equal(le16toh(conn->cqe.status), 0);
	/* The one that had ended gets nothing, and no controller. */
	assert_int_equal(host->conn[4].answers, 0);
	nh_close(&host->conn[4]);
	nh_close(conn);
	/* A host that does not try again is ended. */
	leave_behind(host, 1);
	conn = nh_open(host, 6, host->target, 0, 32, NULL);
	nh_send(conn, &sqe, NULL, 0);
	engine_loop_advance(host->loop, 50000 * MS);
	assert_int_equal(conn->answers, 1);
	assert_false(conn->ended);
	engine_loop_advance(host->loop, 10000 * MS);
	assert_true(conn->ended);
	nh_release(host);
	nh_free(host);
}

static void an_end_within_ranges_is_the_end(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe ranges = dsm(host, 3, NVME_DSM_DEALLOCATE);

	host->hold = true;
	nh_send(conn, &ranges, NULL, 0);
	nh_close(conn);
	host->hold = false;
	nh_release(host);
	assert_int_equal(host->last.offset, 0);
	assert_int_equal(host->used, 0);
	nh_free(host);
}

/* An end that the target asked for, with what comes between that and the end itself. */
static void nothing_is_asked_of_a_wire_that_is_to_end(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 32);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, 8, DATA);
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, 8, DATA);

	host->hold = true;
	nh_send(conn, &read, NULL, 0);
	host->lazy = true;
	nh_send(conn, &write, NULL, 0);
	nvmf_capsule(conn->queue, &read, sizeof(read) - 1, NULL);
	assert_true(conn->ended);
	nvmf_moved(conn->event[0].cmd, 0);
	nvmf_capsule(conn->queue, &read, sizeof(read), NULL);
	nh_release(host);
	nh_close(conn);
	nh_free(host);
}

static void an_answer_that_is_not_delivered_ends_the_queue(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 4);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, 8, DATA);
	unsigned int i;

	/* Also where capsules wait for the command. */
	host->lazy = true;
	for (i = 0; i < 9; i++)
		nh_send(conn, &read, NULL, 0);
	nvmf_sent(conn->event[0].cmd, -EIO);
	assert_true(conn->ended);
	nh_close(conn);
	nh_free(host);
}

/* A host may go on when it has an answer, whether or not its receipt is known. */
static void capsules_wait_for_a_free_command(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = io_queue(host, 4);
	struct nvme_sqe sqe = nh_rw(NVME_IO_READ, 1, 0, 1, DATA);
	const unsigned int before = conn->answers;
	unsigned int i;

	host->lazy = true;
	for (i = 0; i < 12; i++)
		nh_send(conn, &sqe, NULL, 0);
	assert_int_equal(conn->answers, before + 8);
	assert_int_equal(conn->capsules, 4);
	for (i = 0; i < 4; i++)
		nh_go(conn);
	assert_int_equal(conn->answers, before + 12);
	assert_int_equal(conn->capsules, 0);
	for (i = 0; i < 12; i++)
		nh_send(conn, &sqe, NULL, 0);
	assert_false(conn->ended);
	/* This one has no buffer that it could have come to. */
	nh_send(conn, &sqe, NULL, 0);
	assert_true(conn->ended);
	nh_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_null_namespace_reads_as_zeroes),
		cmocka_unit_test(data_in_the_capsule_is_written),
		cmocka_unit_test(data_that_is_described_wrongly_is_refused),
		cmocka_unit_test(keys_are_withdrawn_if_asked_for),
		cmocka_unit_test(places_beyond_the_end_are_refused),
		cmocka_unit_test(flush_zeroes_and_fua_reach_the_namespace),
		cmocka_unit_test(ranges_are_forgotten),
		cmocka_unit_test(who_may_only_read_does_not_write),
		cmocka_unit_test(errors_of_a_namespace_have_their_status),
		cmocka_unit_test(a_key_that_does_not_reach_is_an_error),
		cmocka_unit_test(the_head_of_the_queue_is_told),
		cmocka_unit_test(commands_wait_for_a_staging_buffer),
		cmocka_unit_test(who_gives_back_serves_who_waits),
		cmocka_unit_test(those_who_wait_are_served_in_turn),
		cmocka_unit_test(one_guest_leaves_half_to_others),
		cmocka_unit_test(a_queue_ends_with_commands_under_way),
		cmocka_unit_test(a_host_waits_for_what_it_has_left_behind),
		cmocka_unit_test(a_host_waits_if_the_end_gives_it_a_buffer),
		cmocka_unit_test(a_host_does_not_wait_for_ever),
		cmocka_unit_test(an_end_within_ranges_is_the_end),
		cmocka_unit_test(nothing_is_asked_of_a_wire_that_is_to_end),
		cmocka_unit_test(an_answer_that_is_not_delivered_ends_the_queue),
		cmocka_unit_test(capsules_wait_for_a_free_command),
	};

	return cmocka_run_group_tests_name("nvmf_io", tests, NULL, NULL);
}
