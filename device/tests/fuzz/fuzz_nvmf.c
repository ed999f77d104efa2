// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: capsules of a hostile host of NVMe over Fabrics.
 *
 * A host has a controller with an I/O queue, and connections that are not connected to one
 * yet.  The input sends good commands that it changes, by any connection, holds back the wire
 * and the namespace, ends connections and lets time pass.
 *
 *	input:	operations; see operation()
 *
 * Nothing that goes out shows what a staging buffer had in it before (nvmf_host.c), no buffer
 * is left behind, and another guest reads and writes at the end as if nothing had happened.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/util.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/engine_loop.h"
#include "tests/lib/need.h"
#include "tests/lib/nvmf_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of an operation's first byte: the low bits. */
enum {
	OP_SEND,	/* a good command, patched, with data behind it */
	OP_SEND2,	/* the same: most of them are this */
	OP_GO,		/* the wire does what it was asked for */
	OP_HOLD,	/* the wire, or the namespace, holds back, or does not */
	OP_RELEASE,	/* the namespace does what it was asked for */
	OP_TIME,	/* time passes */
	OP_OPEN,	/* a connection ends, and there is another one */
	OP_MEMORY,	/* bytes of the host's memory */
	OPS,
};

/* Connections: those of the hostile host, and the two of another one. */
enum { ADMIN, IO, FRESH, FRESH_IO, HOSTILE, OTHER = HOSTILE, OTHER_IO };

#define DEPTH		8
#define BLOCKS_OF_OTHER	64
#define DATA		4096u

/* ------------------------------------------------------------------------- */
/* Good commands                                                             */
/* ------------------------------------------------------------------------- */

static struct nvme_sqe admin(uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint32_t cdw11,
			     uint32_t len)
{
	struct nvme_sqe sqe = nh_sqe(opcode, nsid, DATA, len);

	sqe.cdw10 = htole32(cdw10);
	sqe.cdw11 = htole32(cdw11);
	return sqe;
}

static struct nvme_sqe good_admin(uint8_t which)
{
	switch (which % 12) {
	case 0:
		return admin(NVME_ADMIN_IDENTIFY, 0, NVME_CNS_CTRL, 0, 4096);
	case 1:
		return admin(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_NS, 0, 4096);
	case 2:
		return admin(NVME_ADMIN_IDENTIFY, 0, NVME_CNS_NS_LIST, 0, 4096);
	case 3:
		return admin(NVME_ADMIN_IDENTIFY, 2, NVME_CNS_NS_DESC, 0, 4096);
	case 4:
		return admin(NVME_ADMIN_LOG_PAGE, 0, NVME_LOG_HEALTH | 127 << 16, 0, 512);
	case 5:
		return admin(NVME_ADMIN_SET_FEATURES, 0, NVME_FEAT_KATO, 1000, 0);
	case 6:
		return admin(NVME_ADMIN_GET_FEATURES, 0, NVME_FEAT_HOSTID, 1, 16);
	case 7:
		return admin(NVME_ADMIN_EVENT, 0, 0, 0, 0);
	case 8:
		return nh_property(NVME_FABRICS_GET, NVME_REG_CAP, true, 0);
	case 9:
		return nh_property(NVME_FABRICS_SET, NVME_REG_CC, false,
				   NVME_CC_EN | NVME_CC_SIZES_NVM);
	case 10:
		return admin(NVME_ADMIN_LOG_PAGE, 0, NVME_LOG_DISCOVERY | 767 << 16, 0, 3072);
	default:
		return admin(NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, 0);
	}
}

static struct nvme_sqe good_io(uint8_t which)
{
	struct nvme_sqe sqe;

	switch (which % 8) {
	case 0:
		return nh_rw(NVME_IO_READ, 1, which, 1 + which, DATA);
	case 1:
		return nh_rw(NVME_IO_WRITE, 1, which, 1 + which, DATA);
	case 2:
		sqe = nh_rw(NVME_IO_WRITE, 1, which, 1, DATA);
		nh_within(&sqe, 0, NH_BLOCK);
		return sqe;
	case 3:
		return nh_rw(NVME_IO_ZEROES, 1, which, 1 + which, 0);
	case 4:
		sqe = admin(NVME_IO_DSM, 1, which % 4, NVME_DSM_DEALLOCATE, 4096);
		return sqe;
	case 5:
		return admin(NVME_IO_FLUSH, 1, 0, 0, 0);
	case 6:
		return nh_rw(NVME_IO_READ, 2, 0, 2048, DATA);
	default:
		return nh_rw(NVME_IO_READ, 1, 0, 2048, DATA);
	}
}

/* Connect finds its data where the host's memory begins. */
static struct nvme_sqe good_connect(struct nh *host, unsigned int n, bool discovery)
{
	const bool is_io = n == IO || n == FRESH_IO;

	nh_connect_data(host, discovery ? NVME_DISCOVERY_NQN : NH_NQN, NH_HOSTNQN,
			is_io ? host->conn[ADMIN].cntlid : NVME_CNTLID_DYNAMIC);
	return nh_connect_sqe(is_io ? n : 0, is_io ? DEPTH : NVME_AQ_DEPTH, 0);
}

/* ------------------------------------------------------------------------- */
/* Operations                                                                */
/* ------------------------------------------------------------------------- */

/* Nobody but a staging buffer of old has this in it. */
static void tame(uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] == NH_SECRET)
			p[i] = 0;
}

static void op_send(struct nh *host, struct fuzz_input *in, unsigned int n)
{
	struct nh_conn *conn = &host->conn[n];
	const uint8_t which = fuzz_u8(in);
	uint8_t data[1024] = { 0 };
	struct nvme_sqe sqe;
	size_t extra;

	if (which & 0x80)
		sqe = good_connect(host, n, which & 1);
	else if (n == IO || n == FRESH_IO)
		sqe = good_io(which);
	else
		sqe = good_admin(which);
	/* Where, and what is there. */
	extra = fuzz_u8(in) % sizeof(sqe);
	fuzz_patch(in, (uint8_t *)&sqe + extra, sizeof(sqe) - extra);
	extra = fuzz_u8(in) * 4;
	fuzz_bytes(in, data, fuzz_u8(in) % 16);
	tame(data, sizeof(data));
	if (conn->queue && !conn->ended && conn->capsules < conn->answer.recvs)
		nh_send(conn, &sqe, data, extra);
}

static void op_open(struct nh *host, unsigned int n)
{
	struct nh_conn *conn = &host->conn[n];
	const bool is_io = n == IO || n == FRESH_IO;
	uint16_t cntlid = conn->cntlid;

	if (conn->queue)
		nh_close(conn);
	nh_open(host, n, host->target, is_io ? n : 0, is_io ? DEPTH : NVME_AQ_DEPTH, "a");
	conn->cntlid = cntlid;
}

static void op_memory(struct nh *host, struct fuzz_input *in)
{
	const uint16_t at = fuzz_u16(in);
	const size_t len = fuzz_patch(in, host->memory + at, 64);

	tame(host->memory + at, len);
}

static void operation(struct nh *host, struct fuzz_input *in)
{
	const uint8_t what = fuzz_u8(in);
	const unsigned int n = what / OPS % HOSTILE;

	switch (what % OPS) {
	case OP_SEND:
	case OP_SEND2:
		op_send(host, in, n);
		break;
	case OP_GO:
		if (host->conn[n].queue && !host->conn[n].ended)
			nh_go(&host->conn[n]);
		break;
	case OP_HOLD:
		host->lazy = n & 1;
		host->hold = n & 2;
		break;
	case OP_RELEASE:
		nh_release(host);
		break;
	case OP_TIME:
		engine_loop_advance(host->loop, (uint64_t)fuzz_u8(in) * 100000000);
		break;
	case OP_OPEN:
		op_open(host, n);
		break;
	default:
		op_memory(host, in);
	}
}

/* ------------------------------------------------------------------------- */
/* Before and after                                                          */
/* ------------------------------------------------------------------------- */

static void become(struct nh *host, unsigned int n, uint16_t qid, unsigned int of,
		   const char *guest)
{
	const uint16_t depth = qid ? DEPTH : NVME_AQ_DEPTH;
	struct nh_conn *conn = nh_open(host, n, host->target, qid, depth, guest);
	struct nvme_sqe sqe = nh_connect_sqe(qid, depth, 0);

	need(conn->queue);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, qid ? host->conn[of].cntlid :
			NVME_CNTLID_DYNAMIC);
	need(nh_exec(conn, &sqe) == NVME_OK);
	conn->cntlid = le64toh(conn->cqe.result);
	if (qid)
		return;
	sqe = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false, NVME_CC_EN | NVME_CC_SIZES_NVM);
	need(nh_exec(conn, &sqe) == NVME_OK);
}

static void other_goes_on(struct nh *host)
{
	struct nh_conn *conn = &host->conn[OTHER_IO];
	struct nvme_sqe write = nh_rw(NVME_IO_WRITE, 1, 0, BLOCKS_OF_OTHER, DATA);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, BLOCKS_OF_OTHER, DATA);
	uint8_t *p = host->memory + DATA;
	const size_t len = BLOCKS_OF_OTHER * NH_BLOCK;

	host->lazy = false;
	host->hold = false;
	need(!conn->ended && !host->conn[OTHER].ended);
	memset(p, 0x77, len);
	need(nh_exec(conn, &write) == NVME_OK);
	memset(p, 0, len);
	need(nh_exec(conn, &read) == NVME_OK);
	need(p[0] == 0x77 && !memcmp(p, p + 1, len - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { .data = data, .size = size };
	struct nh *host = nh_new();

	log_set_level(LOG_LEVEL_ERROR);
	become(host, OTHER, 0, 0, "b");
	become(host, OTHER_IO, 1, OTHER, "b");
	become(host, ADMIN, 0, 0, "a");
	become(host, IO, 1, ADMIN, "a");
	op_open(host, FRESH);
	op_open(host, FRESH_IO);
	while (in.size)
		operation(host, &in);
	other_goes_on(host);
	nh_free(host);
	return 0;
}
