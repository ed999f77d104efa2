// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <sys/wait.h>

#include "base/log.h"
#include "tests/lib/idle.h"
#include "tests/strict/driver.h"

struct rig rig;
union send_slot send_slot;
union recv_slot recv_slot;

static void on_call(struct virtq *vq)
{
}

static void rig_up(void)
{
	const struct function_config config = {
		.name = "guest",
		.mac = { 2, 0, 0, 0, 0, 1 },
		.mtu = 1500,
		.limits = { .qps = QPS, .cqs = CQS, .queue_size = NUM, .cqe = NUM,
			    .mrs = MRS, .pds = PDS, .ahs = AHS },
	};
	unsigned int i;

	log_set_level(LOG_LEVEL_ERROR);
	rig.loop = loop_new(0);
	rig.fn = function_new(rig.loop, switch_new(rig.loop), fabric_new(), &config);
	check(rig.fn);
	guest_init(&rig.guest, 4 << 20);
	check(!function_device_ops.negotiated(rig.fn,
					      function_device_ops.features(rig.fn)));
	function_device_ops.mem_changed(rig.fn, &rig.guest.mem);
	for (i = 0; i < QUEUES; i++) {
		rig.vq[i].index = i;
		rig.vq[i].call = on_call;
		guest_vq_init(&rig.gvq[i], &rig.guest, NUM);
		guest_vq_start(&rig.gvq[i], &rig.vq[i]);
		function_device_ops.queue_start(rig.fn, &rig.vq[i]);
	}
}

void run(void)
{
	run_idle(rig.loop);
}

/* Copies @data to guest memory; returns the descriptor that names it. */
struct guest_buf part(const void *data, uint32_t len, size_t shift)
{
	struct guest_buf buf = {
		.addr = guest_alloc(&rig.guest, len + shift, 64) + shift,
		.len = len,
		.write = !data,
	};

	if (data)
		memcpy(guest_ptr(&rig.guest, buf.addr), data, len);
	return buf;
}

/* Puts a command on the control queue; returns the ack. */
uint8_t submit(const struct guest_buf *buf, unsigned int n, unsigned int ack)
{
	uint32_t head, len;

	guest_vq_add(&rig.gvq[STRICT_CTRL], buf, n);
	run();
	check(guest_vq_get(&rig.gvq[STRICT_CTRL], &head, &len));
	return *(uint8_t *)guest_ptr(&rig.guest, buf[ack].addr);
}

uint8_t control(uint8_t class, uint8_t command, const void *req, uint32_t len,
		void *rsp, uint32_t rsp_len)
{
	const uint8_t header[] = { class, command };
	struct guest_buf buf[4];
	unsigned int n = 0, at;
	uint8_t ack;

	buf[n++] = part(header, sizeof(header), 0);
	if (len)
		buf[n++] = part(req, len, 0);
	at = n;
	buf[n++] = part(NULL, 1, 0);
	if (rsp_len)
		buf[n++] = part(NULL, rsp_len, 0);
	ack = submit(buf, n, at);
	if (rsp_len)
		memcpy(rsp, guest_ptr(&rig.guest, buf[n - 1].addr), rsp_len);
	return ack;
}

void roce(uint8_t command, const void *req, uint32_t len, void *rsp,
	  uint32_t rsp_len)
{
	check(!control(VIRTIO_NET_CTRL_ROCE, command, req, len, rsp, rsp_len));
}

void simple(uint8_t command, uint32_t handle)
{
	__le32 req = htole32(handle);

	roce(command, &req, sizeof(req), NULL, 0);
}

void query(void)
{
	struct virtio_rdma_ack_query_device device;
	struct virtio_rdma_ack_query_port port;

	roce(CMD(QUERY_DEVICE), NULL, 0, &device, sizeof(device));
	check(le64toh(device.device_cap_flags) == VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN);
	roce(CMD(QUERY_PORT), NULL, 0, &port, sizeof(port));
}

uint32_t create_pd(void)
{
	__le32 pdn;

	roce(CMD(CREATE_PD), NULL, 0, &pdn, sizeof(pdn));
	return le32toh(pdn);
}

uint32_t create_cq(uint32_t cqe, uint32_t slots)
{
	struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(cqe) };
	struct guest_buf buf;
	__le32 cqn;

	roce(CMD(CREATE_CQ), &req, sizeof(req), &cqn, sizeof(cqn));
	while (slots--) {
		buf = part(NULL, sizeof(struct virtio_rdma_cq_req), 0);
		guest_vq_add(&rig.gvq[3 + le32toh(cqn)], &buf, 1);
	}
	return le32toh(cqn);
}

struct virtio_rdma_cmd_create_qp qp_req(void)
{
	return (struct virtio_rdma_cmd_create_qp) {
		.pdn = htole32(rig.pdn),
		.qp_type = VIRTIO_IB_QPT_RC,
		.send_cqn = htole32(rig.cqn),
		.recv_cqn = htole32(rig.cqn),
		.cap = { htole32(4), htole32(4), htole32(SLOT_SGE), htole32(SLOT_SGE),
			 htole32(32), 0 },
	};
}

uint32_t create_qp(const struct virtio_rdma_cmd_create_qp *req)
{
	__le32 qpn;

	roce(CMD(CREATE_QP), req, sizeof(*req), &qpn, sizeof(qpn));
	return le32toh(qpn);
}

struct virtio_rdma_cmd_add_gid gid_req(uint16_t index)
{
	return (struct virtio_rdma_cmd_add_gid) {
		.index = htole16(index),
		.gid = { [0] = 0x20, [15] = 1 },
	};
}

static struct virtio_rdma_ah_attr ah_attr(void)
{
	return (struct virtio_rdma_ah_attr) {
		.grh = { .dgid = { [0] = 0x20, [15] = 2 } },
		.dmac = { 2, 0, 0, 0, 0, 2 },
	};
}

struct virtio_rdma_cmd_create_ah ah_req(void)
{
	return (struct virtio_rdma_cmd_create_ah) {
		.pdn = htole32(rig.pdn),
		.ah_attr = ah_attr(),
	};
}

uint32_t create_ah(const struct virtio_rdma_cmd_create_ah *req)
{
	__le32 ah;

	roce(CMD(CREATE_AH), req, sizeof(*req), &ah, sizeof(ah));
	return le32toh(ah);
}

void mr_fill(struct mr_req *req)
{
	uint64_t addr = guest_alloc(&rig.guest, 8192, 4096);

	*req = (struct mr_req) {
		.cmd = {
			.pdn = htole32(rig.pdn),
			.access_flags = htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE),
			.virt_addr = htole64(0x10000),
			.length = htole64(8000),
			.npages = htole32(2),
		},
		.page = { htole64(addr), htole64(addr + 4096) },
	};
}

uint32_t reg_mr(const struct mr_req *req)
{
	struct virtio_rdma_ack_mr ack;

	roce(CMD(REG_USER_MR), req, sizeof(*req), &ack, sizeof(ack));
	return le32toh(ack.mrn);
}

/* One of each kind. */
void make_all(void)
{
	struct virtio_rdma_cmd_create_ah ah;
	struct virtio_rdma_cmd_create_qp qp;
	struct virtio_rdma_cmd_add_gid gid = gid_req(0);
	struct mr_req mr;

	query();
	roce(CMD(ADD_GID), &gid, sizeof(gid), NULL, 0);
	rig.pdn = create_pd();
	rig.cqn = create_cq(DEPTH, DEPTH);
	ah = ah_req();
	rig.ah = create_ah(&ah);
	mr_fill(&mr);
	rig.mrn = reg_mr(&mr);
	qp = qp_req();
	rig.qpn = create_qp(&qp);
}

struct virtio_rdma_cmd_modify_qp modify_req(uint8_t state)
{
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(rig.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = state,
	};

	switch (state) {
	case VIRTIO_IB_QPS_INIT:
		req.attr_mask |= htole32(VIRTIO_IB_QP_ACCESS_FLAGS);
		break;
	case VIRTIO_IB_QPS_RTR:
		req.attr_mask |= htole32(VIRTIO_IB_QP_AV | VIRTIO_IB_QP_PATH_MTU |
					 VIRTIO_IB_QP_DEST_QPN | VIRTIO_IB_QP_RQ_PSN |
					 VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
					 VIRTIO_IB_QP_MIN_RNR_TIMER);
		req.path_mtu = VIRTIO_IB_MTU_1024;
		req.ah_attr = ah_attr();
		req.dest_qp_num = htole32(2);
		break;
	case VIRTIO_IB_QPS_RTS:
		req.attr_mask |= htole32(VIRTIO_IB_QP_TIMEOUT | VIRTIO_IB_QP_RETRY_CNT |
					 VIRTIO_IB_QP_RNR_RETRY | VIRTIO_IB_QP_SQ_PSN |
					 VIRTIO_IB_QP_MAX_QP_RD_ATOMIC);
		req.timeout = 14;
		break;
	}
	return req;
}

void modify(const struct virtio_rdma_cmd_modify_qp *req)
{
	roce(CMD(MODIFY_QP), req, sizeof(*req), NULL, 0);
}

void to(uint8_t state)
{
	struct virtio_rdma_cmd_modify_qp req = modify_req(state);

	modify(&req);
}

void to_rts(void)
{
	to(VIRTIO_IB_QPS_INIT);
	to(VIRTIO_IB_QPS_RTR);
	to(VIRTIO_IB_QPS_RTS);
}

struct guest_vq *sq(void)
{
	return &rig.gvq[3 + CQS + 2 * rig.qpn];
}

struct guest_vq *rq(void)
{
	return &rig.gvq[3 + CQS + 2 * rig.qpn + 1];
}

/* Posts a slot of @len bytes, @shift bytes past an aligned address. */
void post(struct guest_vq *gvq, const void *slot, uint32_t len, size_t shift)
{
	struct guest_buf buf = part(slot, len, shift);

	guest_vq_add(gvq, &buf, 1);
	function_device_ops.kick(rig.fn, &rig.vq[gvq - rig.gvq]);
	run();
}

void send_begin(void)
{
	make_all();
	to_rts();
	send_slot.req = (struct virtio_rdma_sq_req) {
		.opcode = VIRTIO_IB_WR_SEND,
		.send_flags = VIRTIO_IB_SEND_SIGNALED,
	};
}

void send_post(void)
{
	post(sq(), send_slot.bytes, SQ_SLOT, 0);
}

void recv_post(void)
{
	/* Taken when the QP is flushed. */
	post(rq(), recv_slot.bytes, RQ_SLOT, 0);
	to(VIRTIO_IB_QPS_ERR);
	run();
}

static void test_rule(void **state)
{
	const struct rule *rule = *state;
	int fd[2], status;
	char text[4096];
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		alarm(60);
		dup2(fd[1], STDERR_FILENO);
		rig_up();
		rule->fn();
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += n;
	text[len] = 0;
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != (rule->says ? STRICT_STATUS : 0) ||
	    (rule->says && (!strstr(text, "strict: ") || !strstr(text, rule->says))))
		print_error("%s: status %d, text \"%s\"\n", rule->name,
			    WEXITSTATUS(status), text);
	assert_int_equal(WEXITSTATUS(status), rule->says ? STRICT_STATUS : 0);
	if (!rule->says) {
		assert_string_equal(text, "");
		return;
	}
	assert_non_null(strstr(text, rule->says));
	/* The last line is the one that counts. */
	assert_ptr_equal(strrchr(text, '\n'), text + len - 1);
	assert_non_null(strstr(text, "strict: "));
}

int test_rules(const struct rule *rules, unsigned int n)
{
	struct CMUnitTest *tests = calloc(n, sizeof(*tests));
	unsigned int i;
	int failed;

	assert_non_null(tests);
	for (i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest) {
			.name = rules[i].name,
			.test_func = test_rule,
			.initial_state = (void *)&rules[i],
		};
	failed = _cmocka_run_group_tests("strict", tests, n, NULL, NULL);
	free(tests);
	return failed;
}
