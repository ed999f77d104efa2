// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unit tests: connections and controllers of NVMe over Fabrics.
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

#define MS		1000000ULL
#define CC_ON		(NVME_CC_EN | NVME_CC_SIZES_NVM)

static const struct nvmf_counters *counters(const struct nh *host)
{
	return nvmf_target_counters(host->target);
}

static uint16_t reject(struct nh *host, const struct nvmf_cm_req *req, size_t len)
{
	static const struct nvmf_wire_ops none;
	const struct nvmf_peer peer = { .req = req, .len = len };
	const struct nvmf_cm_rej *rej;
	struct nvmf_cm_answer answer;

	assert_null(nvmf_queue_new(host->target, &none, NULL, &peer, &answer));
	assert_int_equal(answer.len, sizeof(*rej));
	rej = (const struct nvmf_cm_rej *)answer.data;
	assert_int_equal(rej->recfmt, 0);
	assert_int_equal(le16toh(rej->status), answer.reject);
	return answer.reject;
}

static void connections_are_refused(void **state)
{
	const struct nvmf_cm_req good = {
		.hrqsize = htole16(32),
		.hsqsize = htole16(31),
	};
	struct nh *host = nh_new();
	struct nvmf_cm_req req = good;

	assert_int_equal(reject(host, &req, sizeof(req) - 1), NVMF_CM_LEN);
	req.recfmt = htole16(1);
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_RECFMT);
	req = good;
	req.qid = htole16(5);
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_QID);
	req = good;
	req.hsqsize = 0;
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_HSQSIZE);
	req.hsqsize = htole16(32);
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_HSQSIZE);
	req.qid = htole16(1);
	req.hsqsize = htole16(128);
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_HSQSIZE);
	req = good;
	req.hrqsize = 0;
	assert_int_equal(reject(host, &req, sizeof(req)), NVMF_CM_HRQSIZE);
	assert_int_equal(counters(host)->refused, 7);
	nh_free(host);
}

static void a_connection_is_told_its_buffers(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_open(host, 0, host->target, 4, 128, NULL);
	const struct nvmf_cm_rep *rep = (const struct nvmf_cm_rep *)conn->answer.data;

	assert_non_null(conn->queue);
	assert_int_equal(conn->answer.reject, 0);
	assert_int_equal(conn->answer.len, sizeof(*rep));
	assert_int_equal(le16toh(rep->crqsize), 128);
	assert_int_equal(conn->answer.recvs, 128);
	assert_int_equal(conn->answer.sends, 256);
	nh_free(host);
}

static void connections_that_say_nothing_are_few_and_end(void **state)
{
	const struct nvmf_cm_req req = { .hrqsize = htole16(2), .hsqsize = htole16(1) };
	static const struct nvmf_wire_ops none;
	struct nvmf_peer peer = { .req = &req, .len = sizeof(req), .guest = "a" };
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_open(host, 0, host->target, 0, 32, "a");
	struct nvmf_queue *queue[40];
	struct nvmf_cm_answer answer;
	unsigned int n = 0;

	do {
		queue[n] = nvmf_queue_new(host->target, &none, NULL, &peer, &answer);
	} while (queue[n++]);
	assert_int_equal(answer.reject, NVMF_CM_RESOURCES);
	/* Others have a number of their own. */
	peer.guest = "b";
	queue[n - 1] = nvmf_queue_new(host->target, &none, NULL, &peer, &answer);
	assert_non_null(queue[n - 1]);
	while (n--)
		nvmf_queue_free(queue[n]);
	engine_loop_advance(host->loop, 9999 * MS);
	assert_false(conn->ended);
	engine_loop_advance(host->loop, MS);
	assert_true(conn->ended);
	nh_free(host);
}

/* Returns the status of Connect, with the parameter that is wrong in @wrong. */
static uint16_t connect_status(struct nh_conn *conn, const struct nvme_sqe *sqe, uint32_t *wrong)
{
	const uint16_t status = nh_exec(conn, sqe);

	*wrong = le64toh(conn->cqe.result);
	return status;
}

static void connect_is_refused(void **state)
{
	const uint32_t in_data = NVMF_PARAM_DATA;
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_open(host, 0, host->target, 0, 32, NULL);
	const struct nvme_sqe good = nh_connect_sqe(0, 32, 0);
	struct nvme_sqe sqe = good;
	struct nvmf_connect_data *data;
	uint32_t wrong;

	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	sqe.cdw10 = htole32(1);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_FORMAT);
	sqe = nh_connect_sqe(1, 32, 0);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, 42);
	sqe = nh_connect_sqe(0, 1, 0);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, 44);
	sqe = nh_connect_sqe(0, 33, 0);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, 44);
	sqe = good;
	sqe.sgl.len[0] = 1;
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_SGL_LENGTH);
	sqe = good;
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, 1);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data | 16);
	nh_connect_data(host, NH_NQN "2", NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data | 256);
	data = nh_connect_data(host, NH_NQN, "", NVME_CNTLID_DYNAMIC);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data | 512);
	memset(data->hostnqn, 'n', sizeof(data->hostnqn));
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data | 512);
	memset(data->subnqn, 'n', sizeof(data->subnqn));
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data | 256);
	assert_int_equal(counters(host)->connects, 0);

	/* None of that has changed anything. */
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_OK);
	assert_int_equal(wrong, 1);
	assert_int_equal(nh_exec(conn, &sqe), NVME_SEQUENCE);
	nh_free(host);
}

static uint16_t knock(struct nh *host, struct nvmf_target *target, const char *hostnqn,
		      const char *guest)
{
	struct nh_conn *conn = nh_open(host, 7, target, 0, 32, guest);
	const struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);
	uint16_t status;

	nh_connect_data(host, NH_NQN, hostnqn, NVME_CNTLID_DYNAMIC);
	status = nh_exec(conn, &sqe);
	nh_close(conn);
	return status;
}

static void only_hosts_and_guests_of_the_lists_connect(void **state)
{
	struct nh *host = nh_new();
	struct nvmf_target_config config;
	struct nvmf_target *target;

	nh_config(host, &config);
	config.hosts = 1;
	config.host[0] = NH_HOSTNQN;
	config.guests = 2;
	config.guest[0] = "/run/a";
	config.guest[1] = "/run/b";
	target = nvmf_target_new(host->nvmf, &config);
	assert_int_equal(knock(host, target, NH_HOSTNQN, "/run/b"), NVME_OK);
	assert_int_equal(knock(host, target, NH_HOSTNQN, "/run/c"), NVME_CONNECT_HOST);
	assert_int_equal(knock(host, target, NH_HOSTNQN, NULL), NVME_CONNECT_HOST);
	assert_int_equal(knock(host, target, NH_HOSTNQN "2", "/run/a"), NVME_CONNECT_HOST);
	assert_int_equal(knock(host, host->target, NH_HOSTNQN "2", NULL), NVME_OK);
	nvmf_target_free(target);
	nh_free(host);
}

static void controllers_are_limited(void **state)
{
	struct nh *host = nh_new();
	struct nvmf_target_config config;
	struct nvmf_target *target;
	const struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);
	struct nh_conn *conn;
	unsigned int i;

	nh_config(host, &config);
	config.limits.controllers = 3;
	config.limits.host = 2;
	target = nvmf_target_new(host->nvmf, &config);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, NVME_CNTLID_DYNAMIC);
	for (i = 0; i < 3; i++) {
		conn = nh_open(host, i, target, 0, 32, "a");
		assert_int_equal(nh_exec(conn, &sqe), i < 2 ? NVME_OK : NVME_CONNECT_BUSY);
	}
	/* It may try again. */
	assert_false(le16toh(conn->cqe.status) >> 1 & NVME_DNR);
	conn = nh_open(host, 3, target, 0, 32, "b");
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	conn = nh_open(host, 4, target, 0, 32, "c");
	assert_int_equal(nh_exec(conn, &sqe), NVME_CONNECT_BUSY);
	nh_close(&host->conn[0]);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	for (i = 1; i < 5; i++)
		nh_close(&host->conn[i]);
	nvmf_target_free(target);
	nh_free(host);
}

static void targets_have_possible_names_and_numbers(void **state)
{
	struct nh *host = nh_new();
	struct nvmf_target_config config;
	char nqn[NVMF_NQN_MAX + 2];

	memset(nqn, 'n', sizeof(nqn));
	nqn[NVMF_NQN_MAX + 1] = 0;
	nh_config(host, &config);
	config.nqn = nqn;
	assert_null(nvmf_target_new(host->nvmf, &config));
	assert_int_equal(errno, EINVAL);
	config.nqn = "";
	assert_null(nvmf_target_new(host->nvmf, &config));
	config.nqn = NVME_DISCOVERY_NQN;
	assert_null(nvmf_target_new(host->nvmf, &config));
	config.nqn = NH_NQN;
	config.limits.queues = 65;
	assert_null(nvmf_target_new(host->nvmf, &config));
	nh_free(host);
}

static void io_queues_belong_to_their_host(void **state)
{
	const uint32_t in_data = NVMF_PARAM_DATA | 16;
	struct nh *host = nh_new();
	struct nh_conn *admin = nh_admin(host, 0);
	struct nh_conn *conn = nh_open(host, 1, host->target, 1, 32, NULL);
	struct nh_conn *other = nh_open(host, 2, host->target, 1, 32, "a");
	const struct nvme_sqe sqe = nh_connect_sqe(1, 32, 0);
	struct nvme_sqe off = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false, 0);
	struct nvmf_connect_data *data;
	uint32_t wrong;

	nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid + 1);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN "2", admin->cntlid);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data);
	data = nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid);
	data->hostid[15]++;
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data);
	data = nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid);
	/* It is another guest that says the same. */
	assert_int_equal(connect_status(other, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, in_data);
	strcpy(data->subnqn, NVME_DISCOVERY_NQN);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_CONNECT_PARAM);
	assert_int_equal(wrong, NVMF_PARAM_DATA | 256);

	nh_exec(admin, &off);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, admin->cntlid);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_SEQUENCE);
	off = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false, CC_ON);
	nh_exec(admin, &off);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_OK);
	assert_int_equal(wrong, admin->cntlid);
	conn = nh_open(host, 3, host->target, 1, 32, NULL);
	assert_int_equal(connect_status(conn, &sqe, &wrong), NVME_QID_INVALID);
	nh_free(host);
}

static void nothing_but_connect_comes_first(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_open(host, 0, host->target, 0, 32, NULL);
	struct nh_conn *io = nh_open(host, 1, host->target, 1, 32, NULL);
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_IDENTIFY, 0, 0, 4096);

	sqe.cdw10 = htole32(NVME_CNS_CTRL);
	assert_int_equal(nh_exec(conn, &sqe), NVME_SEQUENCE);
	sqe = nh_property(NVME_FABRICS_GET, NVME_REG_CAP, true, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_SEQUENCE);
	sqe = nh_rw(NVME_IO_READ, 1, 0, 1, 0);
	assert_int_equal(nh_exec(io, &sqe), NVME_SEQUENCE);
	assert_int_equal(counters(host)->errors, 3);
	nh_free(host);
}

static uint64_t property(struct nh_conn *conn, uint32_t offset, bool wide)
{
	const struct nvme_sqe sqe = nh_property(NVME_FABRICS_GET, offset, wide, 0);

	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	return le64toh(conn->cqe.result);
}

static void set_cc(struct nh_conn *conn, uint32_t cc)
{
	const struct nvme_sqe sqe = nh_property(NVME_FABRICS_SET, NVME_REG_CC, false, cc);

	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
}

static void properties_are_registers(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nh_conn *io = nh_io(conn, 1, 1, 32);
	struct nvme_sqe sqe;

	assert_int_equal(property(conn, NVME_REG_CAP, true), 127ULL | 1 << 16 | 15 << 24 |
			 1ULL << 37);
	assert_int_equal(property(conn, NVME_REG_VS, false), 0x10400);
	assert_int_equal(property(conn, NVME_REG_CC, false), CC_ON);
	assert_int_equal(property(conn, NVME_REG_CSTS, false), NVME_CSTS_RDY);
	sqe = nh_property(NVME_FABRICS_GET, NVME_REG_CAP, false, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_property(NVME_FABRICS_GET, NVME_REG_VS, true, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_property(NVME_FABRICS_GET, 0x20, false, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_property(NVME_FABRICS_SET, NVME_REG_CSTS, false, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_property(NVME_FABRICS_SET, NVME_REG_CC, true, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	sqe = nh_property(NVME_FABRICS_GET, NVME_REG_VS, false, 0);
	assert_int_equal(nh_exec(io, &sqe), NVME_INVALID_OPCODE);
	sqe.fctype = 0x05;
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_OPCODE);
	nh_free(host);
}

static void controllers_start_stop_and_shut_down(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nh_conn *io = nh_io(conn, 1, 1, 32);
	struct nvme_sqe keep = nh_sqe(NVME_ADMIN_KEEP_ALIVE, 0, 0, 0);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, 1, 0);

	assert_int_equal(nh_exec(conn, &keep), NVME_OK);
	set_cc(conn, NVME_CC_SIZES_NVM);
	assert_int_equal(property(conn, NVME_REG_CSTS, false), 0);
	assert_int_equal(nh_exec(conn, &keep), NVME_SEQUENCE);
	assert_int_equal(nh_exec(io, &read), NVME_SEQUENCE);
	/* Pages of 8 KiB; entries of other sizes. */
	set_cc(conn, CC_ON | 1 << 7);
	assert_int_equal(property(conn, NVME_REG_CSTS, false), NVME_CSTS_CFS);
	assert_int_equal(nh_exec(io, &read), NVME_SEQUENCE);
	set_cc(conn, 0);
	set_cc(conn, NVME_CC_EN | 0x44 << 16);
	assert_int_equal(property(conn, NVME_REG_CSTS, false), NVME_CSTS_CFS);
	set_cc(conn, 0);
	set_cc(conn, CC_ON);
	assert_int_equal(nh_exec(io, &read), NVME_OK);
	set_cc(conn, CC_ON | 1 << 14);
	assert_int_equal(property(conn, NVME_REG_CSTS, false), NVME_CSTS_SHUT);
	assert_int_equal(nh_exec(io, &read), NVME_SEQUENCE);
	set_cc(conn, 0);
	set_cc(conn, CC_ON);
	assert_int_equal(nh_exec(io, &read), NVME_OK);
	nh_free(host);
}

/* A command whose timeout is what the last one of that host said. */
static void a_silent_host_loses_its_controller(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nh_conn *io = nh_io(conn, 1, 1, 32);
	struct nh_conn *other = nh_admin(host, 2);
	struct nvme_sqe kato = nh_sqe(NVME_ADMIN_SET_FEATURES, 0, 0, 0);
	struct nvme_sqe read = nh_rw(NVME_IO_READ, 1, 0, 1, 0);

	kato.cdw10 = htole32(NVME_FEAT_KATO);
	kato.cdw11 = htole32(5000);
	assert_int_equal(nh_exec(conn, &kato), NVME_OK);
	engine_loop_advance(host->loop, 4999 * MS);
	assert_int_equal(nh_exec(io, &read), NVME_OK);
	engine_loop_advance(host->loop, 5000 * MS);
	assert_false(conn->ended);
	engine_loop_advance(host->loop, 5001 * MS);
	assert_true(conn->ended);
	assert_true(io->ended);
	/* This one has no timeout. */
	assert_false(other->ended);
	assert_int_equal(counters(host)->expired, 1);
	nh_free(host);
}

static void the_end_of_a_controller_ends_its_queues(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nh_conn *io = nh_io(conn, 1, 1, 32);
	struct nh_conn *second = nh_io(conn, 2, 2, 32);

	nh_close(second);
	assert_false(conn->ended);
	nh_close(conn);
	assert_true(io->ended);
	assert_int_equal(counters(host)->controllers, 0);
	assert_int_equal(counters(host)->queues, 1);
	nh_free(host);
}

static void events_are_held(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_EVENT, 0, 0, 0);
	const unsigned int before = conn->answers;
	unsigned int i;

	for (i = 0; i < 4; i++)
		nh_send(conn, &sqe, NULL, 0);
	assert_int_equal(conn->answers, before);
	/* Their capsules are not needed meanwhile. */
	assert_int_equal(conn->capsules, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_EVENT_LIMIT);
	sqe = nh_sqe(NVME_ADMIN_ABORT, 0, 0, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(le64toh(conn->cqe.result), 1);
	nh_free(host);
}

static uint16_t feature(struct nh_conn *conn, uint8_t opcode, uint32_t cdw10, uint32_t cdw11,
			uint32_t len)
{
	struct nvme_sqe sqe = nh_sqe(opcode, 0, 8192, len);

	sqe.cdw10 = htole32(cdw10);
	sqe.cdw11 = htole32(cdw11);
	return nh_exec(conn, &sqe);
}

#define SET(conn, fid, value)	feature(conn, NVME_ADMIN_SET_FEATURES, fid, value, 0)
#define GET(conn, fid)		feature(conn, NVME_ADMIN_GET_FEATURES, fid, 0, 0)
#define RESULT(conn)		((uint32_t)le64toh((conn)->cqe.result))

static void features_are_set_and_told(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	unsigned int i;

	assert_int_equal(SET(conn, NVME_FEAT_QUEUES, 7 | 7 << 16), NVME_OK);
	assert_int_equal(RESULT(conn), 3 | 3 << 16);
	assert_int_equal(SET(conn, NVME_FEAT_QUEUES, 0xffff), NVME_INVALID_FIELD);
	assert_int_equal(GET(conn, NVME_FEAT_QUEUES), NVME_OK);
	assert_int_equal(RESULT(conn), 3 | 3 << 16);
	assert_int_equal(SET(conn, NVME_FEAT_EVENTS, 1 << 8), NVME_OK);
	assert_int_equal(SET(conn, NVME_FEAT_EVENTS, 1 << 9), NVME_INVALID_FIELD);
	assert_int_equal(GET(conn, NVME_FEAT_EVENTS), NVME_OK);
	assert_int_equal(RESULT(conn), 1 << 8);
	assert_int_equal(SET(conn, NVME_FEAT_KATO, 15000), NVME_OK);
	assert_int_equal(GET(conn, NVME_FEAT_KATO), NVME_OK);
	assert_int_equal(RESULT(conn), 15000);
	assert_int_equal(GET(conn, NVME_FEAT_CACHE), NVME_OK);
	assert_int_equal(RESULT(conn), 1);
	assert_int_equal(SET(conn, NVME_FEAT_HOSTID, 0), NVME_SEQUENCE);
	assert_int_equal(feature(conn, NVME_ADMIN_GET_FEATURES, NVME_FEAT_HOSTID, 0, 8),
			 NVME_INVALID_FIELD);
	assert_int_equal(feature(conn, NVME_ADMIN_GET_FEATURES, NVME_FEAT_HOSTID, 1, 16),
			 NVME_OK);
	for (i = 0; i < 16; i++)
		assert_int_equal(host->memory[8192 + i], 0x11);
	assert_int_equal(host->memory[8192 + 16], 0);
	assert_int_equal(SET(conn, NVME_FEAT_CACHE, 0), NVME_INVALID_FIELD);
	assert_int_equal(GET(conn, 0x7f), NVME_INVALID_FIELD);
	assert_int_equal(SET(conn, NVME_FEAT_SAVE | NVME_FEAT_KATO, 0), NVME_NOT_SAVEABLE);
	nh_free(host);
}

/* Fills the host's memory first, so that what the target wrote is known. */
static uint16_t identify(struct nh_conn *conn, uint8_t cns, uint32_t nsid, uint32_t len)
{
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_IDENTIFY, nsid, 4096, len);

	memset(conn->host->memory, 0xee, 3 * 4096);
	sqe.cdw10 = htole32(cns);
	return nh_exec(conn, &sqe);
}

static void no_secret(const struct nh *host, uint32_t at, uint32_t len)
{
	uint32_t i;

	for (i = at; i < at + len; i++)
		assert_true(host->memory[i] != NH_SECRET || host->memory[i + 1] != NH_SECRET);
	assert_int_equal(host->memory[at - 1], 0xee);
	assert_int_equal(host->memory[at + len], 0xee);
}

static void controllers_are_identified(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	const struct nvme_id_ctrl *id = (const struct nvme_id_ctrl *)(host->memory + 4096);

	assert_int_equal(identify(conn, NVME_CNS_CTRL, 0, 4096), NVME_OK);
	no_secret(host, 4096, 4096);
	assert_string_equal(id->subnqn, NH_NQN);
	assert_int_equal(le16toh(id->cntlid), conn->cntlid);
	assert_int_equal(id->mdts, 8);
	assert_int_equal(id->cntrltype, 1);
	assert_int_equal(le32toh(id->sgls), 0x100005);
	assert_int_equal(le32toh(id->ioccsz), 260);
	assert_int_equal(le32toh(id->iorcsz), 1);
	assert_int_equal(le16toh(id->maxcmd), 128);
	assert_int_equal(id->vwc, 5);
	assert_int_equal(le16toh(id->oncs), 12);
	assert_memory_equal(id->mn, "virtio-net-roce target    ", 26);
	assert_int_equal(identify(conn, NVME_CNS_CS_CTRL, 0, 4096), NVME_OK);
	no_secret(host, 4096, 4096);
	assert_int_equal(identify(conn, NVME_CNS_CTRL, 0, 512), NVME_SGL_LENGTH);
	assert_int_equal(identify(conn, 0x7f, 0, 4096), NVME_INVALID_FIELD);
	nh_free(host);
}

static void namespaces_are_identified(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	const uint8_t *page = host->memory + 4096;
	const struct nvme_id_ns *id = (const struct nvme_id_ns *)page;
	const uint32_t *list = (const uint32_t *)page;
	uint8_t nguid[16];

	assert_int_equal(identify(conn, NVME_CNS_NS_LIST, 0, 4096), NVME_OK);
	assert_int_equal(le32toh(list[0]), 1);
	assert_int_equal(le32toh(list[1]), 2);
	assert_int_equal(list[2], 0);
	no_secret(host, 4096, 4096);
	assert_int_equal(identify(conn, NVME_CNS_NS_LIST, 1, 4096), NVME_OK);
	assert_int_equal(le32toh(list[0]), 2);
	assert_int_equal(list[1], 0);
	assert_int_equal(identify(conn, NVME_CNS_NS_LIST, 0xffffffff, 4096), NVME_INVALID_NS);
	assert_int_equal(identify(conn, NVME_CNS_NS_LIST, 0xfffffffe, 4096), NVME_INVALID_NS);

	assert_int_equal(identify(conn, NVME_CNS_NS, 1, 4096), NVME_OK);
	no_secret(host, 4096, 4096);
	assert_int_equal(le64toh(id->nsze), NH_BLOCKS);
	assert_int_equal(id->lbaf_ds, 9);
	assert_int_equal(id->nmic, 1);
	assert_int_equal(id->nsattr, 0);
	memcpy(nguid, id->nguid, sizeof(nguid));
	assert_int_equal(identify(conn, NVME_CNS_NS_DESC, 1, 4096), NVME_OK);
	no_secret(host, 4096, 4096);
	assert_int_equal(page[0], NVME_NID_NGUID);
	assert_int_equal(page[1], 16);
	assert_memory_equal(page + 4, nguid, 16);
	assert_int_equal(page[20], NVME_NID_UUID);
	assert_int_equal(page[40], NVME_NID_CSI);
	assert_int_equal(identify(conn, NVME_CNS_NS, 2, 4096), NVME_OK);
	assert_memory_not_equal(id->nguid, nguid, 16);
	/* A number without a namespace, and those that cannot be one. */
	assert_int_equal(identify(conn, NVME_CNS_NS, 3, 4096), NVME_OK);
	assert_int_equal(id->nsze, 0);
	assert_int_equal(identify(conn, NVME_CNS_NS, 0, 4096), NVME_INVALID_NS);
	assert_int_equal(identify(conn, NVME_CNS_NS, 33, 4096), NVME_INVALID_NS);
	assert_int_equal(identify(conn, NVME_CNS_NS, NVME_NSID_ALL, 4096), NVME_INVALID_NS);
	assert_int_equal(identify(conn, NVME_CNS_NS_DESC, 3, 4096), NVME_INVALID_NS);
	assert_int_equal(identify(conn, NVME_CNS_CS_NS, 1, 4096), NVME_OK);
	assert_int_equal(identify(conn, NVME_CNS_CS_NS, 3, 4096), NVME_INVALID_NS);
	nh_free(host);
}

/* Two addresses of a subsystem: the host takes what they have for the same. */
static void ports_of_a_subsystem_agree(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0), *other;
	const struct nvme_id_ctrl *id = (const struct nvme_id_ctrl *)(host->memory + 4096);
	const struct nvme_id_ns *ns = (const struct nvme_id_ns *)id;
	struct nvmf_target *target = host->target, *second;
	struct nvmf_target_config config;
	uint8_t nguid[16], serial[20];

	assert_int_equal(identify(conn, NVME_CNS_NS, 1, 4096), NVME_OK);
	memcpy(nguid, ns->nguid, sizeof(nguid));
	assert_int_equal(identify(conn, NVME_CNS_CTRL, 0, 4096), NVME_OK);
	memcpy(serial, id->sn, sizeof(serial));
	nh_config(host, &config);
	second = nvmf_target_new(host->nvmf, &config);
	host->target = second;
	other = nh_admin(host, 1);
	assert_int_equal(identify(other, NVME_CNS_CTRL, 0, 4096), NVME_OK);
	assert_memory_equal(id->sn, serial, sizeof(serial));
	/* But for the controllers. */
	assert_int_not_equal(other->cntlid, conn->cntlid);
	assert_int_equal(identify(other, NVME_CNS_NS, 1, 4096), NVME_OK);
	assert_memory_equal(ns->nguid, nguid, sizeof(nguid));
	nh_close(other);
	nvmf_target_free(second);
	host->target = target;
	nh_free(host);
}

static uint16_t log_page(struct nh_conn *conn, uint8_t lid, uint64_t at, uint32_t len)
{
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_LOG_PAGE, 0, 8192, len);
	const uint32_t dwords = len / 4 - 1;

	memset(conn->host->memory, 0xee, 8192 + len + 4096);
	sqe.cdw10 = htole32(lid | dwords << 16);
	sqe.cdw11 = htole32(dwords >> 16);
	sqe.cdw12 = htole32(at);
	sqe.cdw13 = htole32(at >> 32);
	return nh_exec(conn, &sqe);
}

/* Of all changes until a host has read which they are there is one event. */
static void changes_of_namespaces_are_told(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0), *quiet = nh_admin(host, 1);
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_EVENT, 0, 0, 0);
	struct nvme_sqe set = nh_sqe(NVME_ADMIN_SET_FEATURES, 0, 0, 0);
	const __le32 *list = (const void *)(host->memory + 8192);
	unsigned int before;
	struct ns other;

	ns_null(&other, "other", 1 << 20, false);
	nh_send(conn, &sqe, NULL, 0);
	nh_send(quiet, &sqe, NULL, 0);
	before = conn->answers;
	/* They do not want to know. */
	nvmf_ns_changed(host->nvmf, &host->null);
	assert_int_equal(conn->answers, before);
	set.cdw10 = htole32(NVME_FEAT_EVENTS);
	set.cdw11 = htole32(1 << 8);
	nh_send(conn, &set, NULL, 0);
	assert_int_equal(conn->answers, before + 2);
	assert_int_equal(log_page(conn, NVME_LOG_CHANGED_NS, 0, 4096), NVME_OK);
	assert_int_equal(le32toh(list[0]), 2);
	assert_int_equal(list[1], 0);

	nh_send(conn, &sqe, NULL, 0);
	before = conn->answers;
	nvmf_ns_changed(host->nvmf, &other);
	assert_int_equal(conn->answers, before);
	nvmf_ns_changed(host->nvmf, &host->ns);
	assert_int_equal(conn->answers, before + 1);
	assert_int_equal(le64toh(conn->cqe.result), 0x00040002);
	assert_int_equal(conn->cqe.status, 0);
	nh_send(conn, &sqe, NULL, 0);
	nvmf_ns_changed(host->nvmf, &host->null);
	assert_int_equal(conn->answers, before + 1);
	sqe = nh_sqe(NVME_ADMIN_LOG_PAGE, 0, 8192, 4096);
	sqe.cdw10 = htole32(NVME_LOG_CHANGED_NS | NVME_LOG_RETAIN | 1023 << 16);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	assert_int_equal(log_page(conn, NVME_LOG_CHANGED_NS, 0, 4096), NVME_OK);
	assert_int_equal(le32toh(list[0]), 1);
	assert_int_equal(le32toh(list[1]), 2);
	assert_int_equal(log_page(conn, NVME_LOG_CHANGED_NS, 0, 4096), NVME_OK);
	assert_int_equal(list[0], 0);
	nvmf_ns_changed(host->nvmf, &host->null);
	assert_int_equal(le64toh(conn->cqe.result), 0x00040002);
	nh_free(host);
}

/* Which commands there are: of a target whose reads and writes are elsewhere these are fewer. */
static void effects_are_told(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	const __le32 *admin = (const __le32 *)(host->memory + 8192), *io = admin + 256;
	const struct nvme_id_ctrl *id = (const struct nvme_id_ctrl *)(host->memory + 4096);
	struct nvmf_target *target = host->target, *away;
	struct nvmf_target_config config;

	assert_int_equal(identify(conn, NVME_CNS_CTRL, 0, 4096), NVME_OK);
	assert_true(id->lpa & NVME_LPA_EFFECTS);
	assert_int_equal(log_page(conn, NVME_LOG_EFFECTS, 0, 4096), NVME_OK);
	no_secret(host, 8192, 4096);
	assert_int_equal(le32toh(admin[NVME_ADMIN_IDENTIFY]), NVME_EFFECTS_SUPPORTED);
	assert_int_equal(admin[0xff], 0);
	assert_int_equal(le32toh(io[NVME_IO_READ]), NVME_EFFECTS_SUPPORTED);
	assert_int_equal(le32toh(io[NVME_IO_WRITE]),
			 NVME_EFFECTS_SUPPORTED | NVME_EFFECTS_CHANGES);
	assert_int_equal(le32toh(io[NVME_IO_DSM]), NVME_EFFECTS_SUPPORTED | NVME_EFFECTS_CHANGES);
	assert_int_equal(io[0x05], 0);
	/* From one entry on. */
	assert_int_equal(log_page(conn, NVME_LOG_EFFECTS, NVME_EFFECTS_IO + 4 * NVME_IO_WRITE, 8),
			 NVME_OK);
	assert_int_equal(le32toh(admin[0]), NVME_EFFECTS_SUPPORTED | NVME_EFFECTS_CHANGES);
	assert_int_equal(le32toh(admin[1]), NVME_EFFECTS_SUPPORTED);

	nh_config(host, &config);
	config.away = true;
	away = nvmf_target_new(host->nvmf, &config);
	host->target = away;
	conn = nh_admin(host, 1);
	assert_int_equal(log_page(conn, NVME_LOG_EFFECTS, 0, 4096), NVME_OK);
	assert_int_equal(le32toh(io[NVME_IO_READ]), NVME_EFFECTS_SUPPORTED);
	assert_int_equal(io[NVME_IO_DSM], 0);
	nh_close(conn);
	nvmf_target_free(away);
	host->target = target;
	nh_free(host);
}

static void log_pages_are_told(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = nh_admin(host, 0);
	struct nvme_sqe sqe = nh_sqe(NVME_ADMIN_LOG_PAGE, 0, 8192, 512);

	assert_int_equal(log_page(conn, NVME_LOG_ERROR, 0, 64), NVME_OK);
	no_secret(host, 8192, 64);
	assert_int_equal(log_page(conn, NVME_LOG_HEALTH, 0, 512), NVME_OK);
	assert_int_equal(host->memory[8192 + 3], 100);
	no_secret(host, 8192, 512);
	assert_int_equal(log_page(conn, NVME_LOG_FIRMWARE, 8, 8), NVME_OK);
	assert_memory_equal(host->memory + 8192, "1       ", 8);
	no_secret(host, 8192, 8);
	/* More than the page has. */
	assert_int_equal(log_page(conn, NVME_LOG_CHANGED_NS, 4092, 8192), NVME_OK);
	no_secret(host, 8192, 8192);
	assert_int_equal(log_page(conn, NVME_LOG_HEALTH, 512, 512), NVME_INVALID_FIELD);
	assert_int_equal(log_page(conn, NVME_LOG_HEALTH, 2, 64), NVME_INVALID_FIELD);
	assert_int_equal(log_page(conn, 0x99, 0, 512), NVME_INVALID_LOG);
	assert_int_equal(log_page(conn, NVME_LOG_DISCOVERY, 0, 1024), NVME_INVALID_LOG);
	/* 16 GiB, of which the description says less. */
	sqe.cdw10 = htole32(NVME_LOG_HEALTH | 0xffff0000);
	sqe.cdw11 = htole32(0xffff);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_FIELD);
	nh_free(host);
}

static struct nh_conn *discovery(struct nh *host, unsigned int n, const char *hostnqn,
				 const char *guest)
{
	struct nh_conn *conn = nh_open(host, n, host->target, 0, 32, guest);
	struct nvme_sqe sqe = nh_connect_sqe(0, 32, 0);

	nh_connect_data(host, NVME_DISCOVERY_NQN, hostnqn, NVME_CNTLID_DYNAMIC);
	assert_int_equal(nh_exec(conn, &sqe), NVME_OK);
	/* It has no I/O queues, whose entries this would be. */
	set_cc(conn, NVME_CC_EN);
	return conn;
}

static unsigned int discovered(struct nh_conn *conn)
{
	const struct nvmf_disc_head *head;

	assert_int_equal(log_page(conn, NVME_LOG_DISCOVERY, 0, 1024), NVME_OK);
	head = (const struct nvmf_disc_head *)(conn->host->memory + 8192);
	assert_int_equal(head->recfmt, 0);
	return le64toh(head->numrec);
}

static void targets_are_discovered(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = discovery(host, 0, NH_HOSTNQN, NULL);
	const struct nvmf_disc_entry *entry;
	struct nvmf_target_config config;
	struct nvmf_target *target;

	assert_int_equal(discovered(conn), 1);
	nh_config(host, &config);
	config.nqn = "nqn.2026-11.org.example:second";
	config.traddr = "fd00::9";
	config.guests = 1;
	config.guest[0] = "/run/a";
	target = nvmf_target_new(host->nvmf, &config);
	assert_int_equal(discovered(conn), 1);
	conn = discovery(host, 1, NH_HOSTNQN, "/run/a");
	assert_int_equal(discovered(conn), 2);

	/* Head and records in one piece, and from the middle of one to that of the next. */
	assert_int_equal(log_page(conn, NVME_LOG_DISCOVERY, 0, 3072), NVME_OK);
	no_secret(host, 8192, 3072);
	entry = (const struct nvmf_disc_entry *)(host->memory + 8192 + 1024);
	assert_string_equal(entry[0].subnqn, NH_NQN);
	assert_string_equal(entry[0].traddr, "10.0.0.9");
	assert_string_equal(entry[0].trsvcid, "4420");
	assert_int_equal(entry[0].trtype, 1);
	assert_int_equal(entry[0].adrfam, 1);
	assert_int_equal(entry[0].subtype, 2);
	assert_int_equal(le16toh(entry[0].cntlid), 0xffff);
	assert_int_equal(entry[0].prtype, 4);
	assert_string_equal(entry[1].subnqn, config.nqn);
	assert_int_equal(entry[1].adrfam, 2);
	assert_int_equal(log_page(conn, NVME_LOG_DISCOVERY, 1024 + 512, 1024), NVME_OK);
	no_secret(host, 8192, 1024);
	assert_string_equal((char *)host->memory + 8192, "10.0.0.9");
	assert_int_equal(host->memory[8192 + 512], 1);
	nvmf_target_free(target);
	assert_int_equal(discovered(conn), 1);
	nh_free(host);
}

static void discovery_is_all_that_it_does(void **state)
{
	struct nh *host = nh_new();
	struct nh_conn *conn = discovery(host, 0, NH_HOSTNQN, NULL);
	struct nh_conn *io = nh_open(host, 1, host->target, 1, 32, NULL);
	struct nvme_sqe sqe = nh_connect_sqe(1, 32, 0);
	const struct nvme_id_ctrl *id = (const struct nvme_id_ctrl *)(host->memory + 4096);

	assert_int_equal(identify(conn, NVME_CNS_CTRL, 0, 4096), NVME_OK);
	assert_int_equal(id->cntrltype, 2);
	assert_string_equal(id->subnqn, NVME_DISCOVERY_NQN);
	assert_int_equal(id->nn, 0);
	assert_int_equal(identify(conn, NVME_CNS_NS_LIST, 0, 4096), NVME_INVALID_FIELD);
	assert_int_equal(log_page(conn, NVME_LOG_HEALTH, 0, 512), NVME_INVALID_LOG);
	assert_int_equal(SET(conn, NVME_FEAT_QUEUES, 0), NVME_INVALID_FIELD);
	assert_int_equal(GET(conn, NVME_FEAT_QUEUES), NVME_INVALID_FIELD);
	nh_connect_data(host, NH_NQN, NH_HOSTNQN, 1);
	assert_int_equal(nh_exec(io, &sqe), NVME_CONNECT_PARAM);
	sqe = nh_sqe(NVME_ADMIN_ABORT, 0, 0, 0);
	assert_int_equal(nh_exec(conn, &sqe), NVME_INVALID_OPCODE);
	/* It ends by itself. */
	engine_loop_advance(host->loop, 120000 * MS);
	assert_false(conn->ended);
	engine_loop_advance(host->loop, 120000 * MS);
	assert_true(conn->ended);
	nh_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_are_refused),
		cmocka_unit_test(a_connection_is_told_its_buffers),
		cmocka_unit_test(connections_that_say_nothing_are_few_and_end),
		cmocka_unit_test(connect_is_refused),
		cmocka_unit_test(only_hosts_and_guests_of_the_lists_connect),
		cmocka_unit_test(controllers_are_limited),
		cmocka_unit_test(targets_have_possible_names_and_numbers),
		cmocka_unit_test(io_queues_belong_to_their_host),
		cmocka_unit_test(nothing_but_connect_comes_first),
		cmocka_unit_test(properties_are_registers),
		cmocka_unit_test(controllers_start_stop_and_shut_down),
		cmocka_unit_test(a_silent_host_loses_its_controller),
		cmocka_unit_test(the_end_of_a_controller_ends_its_queues),
		cmocka_unit_test(events_are_held),
		cmocka_unit_test(features_are_set_and_told),
		cmocka_unit_test(controllers_are_identified),
		cmocka_unit_test(namespaces_are_identified),
		cmocka_unit_test(ports_of_a_subsystem_agree),
		cmocka_unit_test(effects_are_told),
		cmocka_unit_test(log_pages_are_told),
		cmocka_unit_test(changes_of_namespaces_are_told),
		cmocka_unit_test(targets_are_discovered),
		cmocka_unit_test(discovery_is_all_that_it_does),
	};

	return cmocka_run_group_tests_name("nvmf", tests, NULL, NULL);
}
