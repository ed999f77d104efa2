// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_net.h>

#include "tests/lib/front.h"
#include "tests/lib/vu_wire.h"
#include "vhost_user/vhost_user_msg.h"

/* QEMU's address of a device address. */
#define USER(addr)	((addr) - GUEST_BASE + 0x7f0000000000ULL)

#define PROTOCOL_FEATURES (VU_PROTOCOL_F_MQ | VU_PROTOCOL_F_REPLY_ACK | \
			   VU_PROTOCOL_F_CONFIG | VU_PROTOCOL_F_LOG_SHMFD | \
			   VU_PROTOCOL_F_DEVICE_STATE)

#define PAGE		4096u
#define SQ_SLOT	(sizeof(struct virtio_rdma_sq_req) + \
		 FRONT_SGE * sizeof(struct virtio_rdma_sge))
#define RQ_SLOT	(sizeof(struct virtio_rdma_rq_req) + \
		 FRONT_SGE * sizeof(struct virtio_rdma_sge))

/* A command: class and number, request; ack, response. */
#define CMD_MAX		(1u << 20)
#define CMD_RSP		512u

#define IDLE_DEPTH	16u

/* ------------------------------------------------------------------------- */
/* The connection                                                            */
/* ------------------------------------------------------------------------- */

static void vu_request(struct front *front, uint32_t request, const void *payload,
		       uint32_t len, int fd)
{
	struct {
		struct vu_header hdr;
		uint8_t payload[256];
	} __attribute__((packed)) msg = {
		.hdr = {
			.request = request,
			.flags = VU_FLAGS_VERSION | VU_FLAGS_NEED_REPLY,
			.size = len,
		},
	};

	if (len)
		memcpy(msg.payload, payload, len);
	assert_true(vu_wire_send(front->sock, &msg, sizeof(msg.hdr) + len, &fd, fd >= 0,
				 0));
}

/* Each answer that the tests ask for has 64 bits. */
static uint64_t vu_answer_u64(struct front *front, uint32_t request)
{
	struct vu_header hdr;
	uint64_t result;

	assert_int_equal(recv(front->sock, &hdr, sizeof(hdr), MSG_WAITALL), sizeof(hdr));
	assert_int_equal(hdr.request, request);
	assert_int_equal(recv(front->sock, &result, sizeof(result), MSG_WAITALL),
			 sizeof(result));
	return result;
}

static void vu_answer(struct front *front, uint32_t request)
{
	assert_int_equal(vu_answer_u64(front, request), 0);
}

static void vu_ask(struct front *front, uint32_t request, const void *payload,
		   uint32_t len, int fd)
{
	vu_request(front, request, payload, len, fd);
	vu_answer(front, request);
}

static void vu_ask_state(struct front *front, uint32_t request, uint32_t index,
			 uint32_t num)
{
	struct vu_vring_state state = { .index = index, .num = num };

	vu_ask(front, request, &state, sizeof(state), -1);
}

static void vu_queue(struct front *front, uint32_t index, uint16_t base)
{
	struct front_vq *vq = &front->vq[index];
	struct vu_vring_addr addr = {
		.index = index,
		.desc = USER(vq->gvq.desc_addr),
		.avail = USER(vq->gvq.avail_addr),
		.used = USER(vq->gvq.used_addr),
	};
	uint64_t number = index;

	vu_ask_state(front, VU_SET_VRING_NUM, index, FRONT_NUM);
	vu_ask_state(front, VU_SET_VRING_BASE, index, base);
	vu_ask(front, VU_SET_VRING_ADDR, &addr, sizeof(addr), -1);
	vu_ask(front, VU_SET_VRING_KICK, &number, sizeof(number), vq->kick);
	vu_ask_state(front, VU_SET_VRING_ENABLE, index, 1);
}

static void vu_connect(struct front *front, const char *path)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int i, err = -1;

	strcpy(addr.sun_path, path);
	front->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (i = 0; err && i < 12000; i++) {
		err = connect(front->sock, (struct sockaddr *)&addr, sizeof(addr));
		if (err)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(err, 0);
}

static void front_place(struct front *front, uint32_t index)
{
	struct front_vq *vq = &front->vq[index];
	unsigned int i;

	guest_vq_init(&vq->gvq, &front->guest, FRONT_NUM);
	vq->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (index < FRONT_CQ || index >= FRONT_EVENT)
		return;
	if (index < FRONT_SQ)
		vq->slot_size = sizeof(struct virtio_rdma_cq_req);
	else
		vq->slot_size = (index - FRONT_SQ) % 2 ? RQ_SLOT : SQ_SLOT;
	vq->slots = guest_alloc(&front->guest, (size_t)vq->slot_size * FRONT_NUM, 64);
	for (i = 0; i < FRONT_NUM; i++)
		vq->gvq.desc[i] = (struct vring_desc) {
			.addr = vq->slots + (uint64_t)i * vq->slot_size,
			.len = vq->slot_size,
			.flags = index < FRONT_SQ ? VRING_DESC_F_WRITE : 0,
		};
}

void front_gid(uint8_t number, uint8_t *gid)
{
	const uint8_t prefix[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0 };

	memcpy(gid, prefix, sizeof(prefix));
	gid[15] = number;
}

static struct vu_memory front_memory(const struct front *front)
{
	return (struct vu_memory) {
		.n = 1,
		.region[0] = {
			.guest_addr = GUEST_BASE,
			.size = front->guest.size,
			.user_addr = USER(GUEST_BASE),
		},
	};
}

static void front_add_gid(struct front *front)
{
	struct virtio_rdma_cmd_add_gid gid = { 0 };

	front_gid(front->number, gid.gid);
	front_command(front, VIRTIO_NET_CTRL_ROCE_ADD_GID, &gid, sizeof(gid), NULL, 0);
}

void front_open(struct front *front, const char *path, uint8_t number, uint64_t features)
{
	front_open_mem(front, path, number, features, FRONT_MEM);
}

static void front_hello(struct front *front, const char *path)
{
	const uint64_t protocol = PROTOCOL_FEATURES;

	vu_connect(front, path);
	vu_ask(front, VU_SET_PROTOCOL_FEATURES, &protocol, sizeof(protocol), -1);
}

static void front_set_features(struct front *front, uint64_t more)
{
	const uint64_t features = front->features | VU_F_PROTOCOL_FEATURES | more;

	vu_ask(front, VU_SET_FEATURES, &features, sizeof(features), -1);
}

/* Features, memory, and queues that go on where they were. */
static void front_start(struct front *front, const uint16_t *base)
{
	uint32_t i;

	front_set_features(front, 0);
	front_remap(front);
	front_remapped(front);
	for (i = 0; i < FRONT_QUEUES; i++)
		vu_queue(front, i, base[i]);
}

void front_open_mem(struct front *front, const char *path, uint8_t number, uint64_t features,
		    size_t mem)
{
	const uint16_t base[FRONT_QUEUES] = {};
	uint32_t i;

	memset(front, 0, sizeof(*front));
	front->number = number;
	front->features = features;
	guest_init(&front->guest, mem);
	front->cmd = guest_alloc(&front->guest, CMD_MAX, PAGE);
	for (i = 0; i < FRONT_QUEUES; i++)
		front_place(front, i);
	front_hello(front, path);
	front_start(front, base);
	front_add_gid(front);
}

void front_reset(struct front *front)
{
	uint16_t base[FRONT_QUEUES];
	struct guest_vq *gvq;
	uint32_t i;

	front_pause(front, base);
	for (i = 0; i < FRONT_QUEUES; i++) {
		gvq = &front->vq[i].gvq;
		memset(gvq->avail, 0, 6 + 2 * FRONT_NUM);
		memset(gvq->used, 0, 6 + 8 * FRONT_NUM);
		gvq->next_desc = 0;
		gvq->avail_idx = 0;
		gvq->last_used = 0;
		vu_queue(front, i, 0);
	}
	front_add_gid(front);
}

void front_remap(struct front *front)
{
	const struct vu_memory memory = front_memory(front);

	vu_request(front, VU_SET_MEM_TABLE, &memory, offsetof(struct vu_memory, region[1]),
		   front->guest.fd);
}

void front_remapped(struct front *front)
{
	vu_answer(front, VU_SET_MEM_TABLE);
}

void front_hang_up(struct front *front)
{
	close(front->sock);
	front->sock = -1;
}

void front_close(struct front *front)
{
	unsigned int i;

	for (i = 0; i < FRONT_QUEUES; i++)
		close(front->vq[i].kick);
	if (front->sock >= 0)
		close(front->sock);
	guest_fini(&front->guest);
}

/* ------------------------------------------------------------------------- */
/* Moving                                                                    */
/* ------------------------------------------------------------------------- */

void front_log(struct front *front, int fd, uint64_t size)
{
	const struct vu_log_base base = { .size = size };

	if (fd >= 0)
		vu_ask(front, VU_SET_LOG_BASE, &base, sizeof(base), fd);
	front_set_features(front, fd >= 0 ? VU_F_LOG_ALL : 0);
}

void front_pause(struct front *front, uint16_t *base)
{
	union {
		struct vu_vring_state state;
		uint64_t answer;
	} both;
	uint32_t i;

	for (i = 0; i < FRONT_QUEUES; i++) {
		both.state = (struct vu_vring_state) { .index = i };
		vu_request(front, VU_GET_VRING_BASE, &both.state, sizeof(both.state), -1);
		both.answer = vu_answer_u64(front, VU_GET_VRING_BASE);
		assert_int_equal(both.state.index, i);
		base[i] = both.state.num;
	}
}

void front_resume(struct front *front, const uint16_t *base)
{
	front_start(front, base);
}

static uint64_t front_state(struct front *front, uint32_t direction, int fd)
{
	const struct vu_device_state req = { .direction = direction };
	uint64_t answer;

	vu_request(front, VU_SET_DEVICE_STATE_FD, &req, sizeof(req), fd);
	answer = vu_answer_u64(front, VU_SET_DEVICE_STATE_FD);
	close(fd);
	return answer;
}

size_t front_save(struct front *front, uint8_t *data, size_t room)
{
	size_t n = 0;
	ssize_t part;
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(front_state(front, VU_STATE_SAVE, fd[1]), VU_VRING_NOFD);
	while ((part = read(fd[0], data + n, room - n)) > 0)
		n += part;
	close(fd[0]);
	assert_true(n < room);
	vu_request(front, VU_CHECK_DEVICE_STATE, NULL, 0, -1);
	vu_answer(front, VU_CHECK_DEVICE_STATE);
	return n;
}

bool front_load(struct front *front, const char *path, const uint8_t *data, size_t len)
{
	ssize_t part;
	int fd[2];

	front_hello(front, path);
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	assert_int_equal(front_state(front, VU_STATE_LOAD, fd[0]), VU_VRING_NOFD);
	while (len) {
		part = write(fd[1], data, len);
		assert_true(part > 0);
		data += part;
		len -= part;
	}
	close(fd[1]);
	vu_request(front, VU_CHECK_DEVICE_STATE, NULL, 0, -1);
	return !vu_answer_u64(front, VU_CHECK_DEVICE_STATE);
}

/* ------------------------------------------------------------------------- */
/* Queues and commands                                                       */
/* ------------------------------------------------------------------------- */

void front_kick(struct front_vq *vq)
{
	/* Against the device, which looks for work after it has asked for doorbells. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(&vq->gvq.used->flags, __ATOMIC_RELAXED) &
	      VRING_USED_F_NO_NOTIFY))
		eventfd_write(vq->kick, 1);
}

unsigned int front_again(struct front_vq *vq)
{
	uint32_t head, len;
	unsigned int n = 0;

	while (guest_vq_get(&vq->gvq, &head, &len)) {
		guest_vq_add_head(&vq->gvq, head);
		n++;
	}
	vq->done += n;
	if (n)
		front_kick(vq);
	return n;
}

uint8_t front_ack(struct front *front, uint8_t command, const void *req, size_t len,
		  void *rsp, size_t rsp_len)
{
	struct front_vq *vq = &front->vq[FRONT_CTRL];
	const struct guest_buf buf[] = {
		{ .addr = front->cmd + CMD_RSP, .len = 2 + len },
		{ .addr = front->cmd, .len = 1 + rsp_len, .write = true },
	};
	uint8_t *in = guest_ptr(&front->guest, front->cmd);
	uint8_t *out = in + CMD_RSP;
	uint32_t head, got;

	assert_true(CMD_RSP + 2 + len <= CMD_MAX && 1 + rsp_len <= CMD_RSP);
	out[0] = VIRTIO_NET_CTRL_ROCE;
	out[1] = command;
	if (len)
		memcpy(out + 2, req, len);
	in[0] = 0xff;
	guest_vq_add(&vq->gvq, buf, 2);
	front_kick(vq);
	while (!guest_vq_get(&vq->gvq, &head, &got))
		usleep(10);
	if (rsp_len && in[0] == VIRTIO_NET_OK)
		memcpy(rsp, in + 1, rsp_len);
	return in[0];
}

void front_command(struct front *front, uint8_t command, const void *req, size_t len,
		   void *rsp, size_t rsp_len)
{
	assert_int_equal(front_ack(front, command, req, len, rsp, rsp_len), VIRTIO_NET_OK);
}

/* ------------------------------------------------------------------------- */
/* RDMA                                                                      */
/* ------------------------------------------------------------------------- */

uint32_t front_reg(struct front *front, uint32_t pdn, uint64_t addr, uint64_t length)
{
	const uint32_t npages = length / PAGE;
	const size_t len = sizeof(struct virtio_rdma_cmd_reg_user_mr) +
			   npages * sizeof(__le64);
	struct virtio_rdma_cmd_reg_user_mr *req = calloc(1, len);
	struct virtio_rdma_ack_mr ack;
	uint32_t i;

	assert_non_null(req);
	req->pdn = htole32(pdn);
	req->access_flags = htole32(VIRTIO_IB_ACCESS_LOCAL_WRITE |
				    VIRTIO_IB_ACCESS_REMOTE_WRITE |
				    VIRTIO_IB_ACCESS_REMOTE_READ |
				    VIRTIO_IB_ACCESS_REMOTE_ATOMIC |
				    VIRTIO_IB_ACCESS_MW_BIND);
	req->virt_addr = htole64(addr);
	req->length = htole64(length);
	req->npages = htole32(npages);
	for (i = 0; i < npages; i++)
		req->pages[i] = htole64(addr + (uint64_t)i * PAGE);
	front_command(front, VIRTIO_NET_CTRL_ROCE_REG_USER_MR, req, len, &ack, sizeof(ack));
	free(req);
	return le32toh(ack.lkey);
}

uint32_t front_cq(struct front *front)
{
	const struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(FRONT_NUM) };
	struct virtio_rdma_ack_create_cq ack;
	struct front_vq *vq;
	uint32_t i;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req, sizeof(req), &ack,
		      sizeof(ack));
	vq = &front->vq[FRONT_CQ + le32toh(ack.cqn)];
	for (i = 0; i < FRONT_NUM; i++)
		guest_vq_add_head(&vq->gvq, i);
	return le32toh(ack.cqn);
}

static struct virtio_rdma_cmd_create_qp create_qp(uint8_t type, uint32_t pdn, uint32_t cqn,
						  uint32_t depth, uint32_t sges)
{
	return (struct virtio_rdma_cmd_create_qp) {
		.pdn = htole32(pdn),
		.qp_type = type,
		.send_cqn = htole32(cqn),
		.recv_cqn = htole32(cqn),
		.cap = {
			.max_send_wr = htole32(depth),
			.max_recv_wr = htole32(depth),
			.max_send_sge = htole32(sges),
			.max_recv_sge = htole32(sges),
			.max_inline_data = htole32(sges * sizeof(struct virtio_rdma_sge)),
		},
	};
}

struct front_qp front_qp(struct front *front, uint8_t type, uint32_t pdn, uint32_t cqn)
{
	const struct virtio_rdma_cmd_create_qp req =
		create_qp(type, pdn, cqn, FRONT_NUM, FRONT_SGE);
	struct virtio_rdma_ack_create_qp ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req, sizeof(req), &ack,
		      sizeof(ack));
	return (struct front_qp) {
		.front = front,
		.cqn = cqn,
		.qpn = le32toh(ack.qpn),
	};
}

uint32_t front_direct_cq(struct front *front)
{
	const uint64_t mem = guest_alloc(&front->guest, 2 * PAGE, PAGE);
	const struct {
		struct virtio_rdma_cmd_create_cq_long fixed;
		__le64 page;
	} req = {
		.fixed = {
			.cqe = htole32(PAGE / sizeof(struct virtio_rdma_cqe)),
			.flags = VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT,
			.cqe_shift = __builtin_ctz(sizeof(struct virtio_rdma_cqe)),
			.control = htole64(mem + PAGE),
			.npages = htole32(1),
		},
		.page = htole64(mem),
	};
	struct virtio_rdma_ack_create_cq ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req, sizeof(req), &ack,
		      sizeof(ack));
	return le32toh(ack.cqn);
}

uint32_t front_page(struct front *front, uint64_t page)
{
	const struct virtio_rdma_cmd_alloc_doorbell req = { .page = htole64(page) };
	struct virtio_rdma_ack_alloc_doorbell ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_ALLOC_DOORBELL, &req, sizeof(req), &ack,
		      sizeof(ack));
	return le32toh(ack.doorbell);
}

void front_idle_qp(struct front *front, uint32_t pdn, uint32_t cqn, uint32_t page,
		   uint32_t bit)
{
	/* Rings and control block, a page each. */
	const uint64_t mem = guest_alloc(&front->guest, 3 * PAGE, PAGE);
	const struct virtio_rdma_cmd_create_qp qp =
		create_qp(VIRTIO_IB_QPT_RC, pdn, cqn, IDLE_DEPTH, 1);
	const struct virtio_rdma_qp_direct direct = {
		.form = VIRTIO_RDMA_QP_FORM_DIRECT,
		.send_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
		.recv_shift = VIRTIO_RDMA_MIN_STRIDE_SHIFT,
		.send_depth = htole32(IDLE_DEPTH),
		.recv_depth = htole32(IDLE_DEPTH),
		.doorbell = htole32(page),
		.bit = htole32(bit),
		.send_pages = htole32(1),
		.recv_pages = htole32(1),
		.control = htole64(mem + 2 * PAGE),
	};
	const __le64 pages[] = { htole64(mem), htole64(mem + PAGE) };
	uint8_t req[VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct) + sizeof(pages)];
	struct virtio_rdma_ack_create_qp ack;

	memcpy(req, &qp, VIRTIO_RDMA_QP_DIRECT_OFFSET);
	memcpy(req + VIRTIO_RDMA_QP_DIRECT_OFFSET, &direct, sizeof(direct));
	memcpy(req + VIRTIO_RDMA_QP_DIRECT_OFFSET + sizeof(direct), pages, sizeof(pages));
	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_QP, req, sizeof(req), &ack,
		      sizeof(ack));
}

static bool is_connected(uint8_t type)
{
	return type == VIRTIO_IB_QPT_RC || type == VIRTIO_IB_QPT_XRC_INI ||
	       type == VIRTIO_IB_QPT_XRC_TGT;
}

static uint32_t front_attrs_rtr(uint8_t type)
{
	const uint32_t of_responder = VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
				      VIRTIO_IB_QP_MIN_RNR_TIMER;

	if (!is_connected(type))
		return 0;
	return VIRTIO_IB_QP_AV | VIRTIO_IB_QP_PATH_MTU | VIRTIO_IB_QP_DEST_QPN |
	       VIRTIO_IB_QP_RQ_PSN | (type == VIRTIO_IB_QPT_XRC_INI ? 0 : of_responder);
}

static uint32_t front_attrs_rts(uint8_t type)
{
	const uint32_t of_requester = VIRTIO_IB_QP_RETRY_CNT | VIRTIO_IB_QP_RNR_RETRY |
				      VIRTIO_IB_QP_MAX_QP_RD_ATOMIC;

	if (!is_connected(type))
		return VIRTIO_IB_QP_SQ_PSN;
	return VIRTIO_IB_QP_SQ_PSN | VIRTIO_IB_QP_TIMEOUT |
	       (type == VIRTIO_IB_QPT_XRC_TGT ? 0 : of_requester);
}

static uint32_t front_attrs(uint8_t type, uint8_t state)
{
	switch (state) {
	case VIRTIO_IB_QPS_INIT:
		return is_connected(type) ? VIRTIO_IB_QP_ACCESS_FLAGS : VIRTIO_IB_QP_QKEY;
	case VIRTIO_IB_QPS_RTR:
		return front_attrs_rtr(type);
	default:
		return front_attrs_rts(type);
	}
}

static struct virtio_rdma_ah_attr front_address(uint8_t number)
{
	struct virtio_rdma_ah_attr attr = {
		.grh.hop_limit = 64,
		.dmac = { 0x52, 0x54, 0, 0, 0xce, number },
	};

	front_gid(number, attr.grh.dgid);
	return attr;
}

uint32_t front_ah(struct front *front, uint32_t pdn, uint8_t number)
{
	const struct virtio_rdma_cmd_create_ah req = {
		.pdn = htole32(pdn),
		.ah_attr = front_address(number),
	};
	struct virtio_rdma_ack_create_ah ack;

	front_command(front, VIRTIO_NET_CTRL_ROCE_CREATE_AH, &req, sizeof(req), &ack,
		      sizeof(ack));
	return le32toh(ack.ah);
}

uint8_t front_ack_timeout = 18;

void front_connect(const struct front_qp *qp, uint8_t type, const struct front_qp *peer)
{
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(qp->qpn),
		.path_mtu = VIRTIO_IB_MTU_4096,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,	/* 0.64 ms */
		.timeout = front_ack_timeout,
		.retry_cnt = 2,
		.rnr_retry = 7,
		.qkey = htole32(0x1234),
		.dest_qp_num = htole32(peer->qpn),
		.qp_access_flags = htole32(VIRTIO_IB_ACCESS_REMOTE_WRITE |
					   VIRTIO_IB_ACCESS_REMOTE_READ |
					   VIRTIO_IB_ACCESS_REMOTE_ATOMIC),
		.ah_attr = front_address(peer->front->number),
	};
	uint8_t state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req.qp_state = state;
		req.attr_mask = htole32(VIRTIO_IB_QP_STATE | front_attrs(type, state));
		front_command(qp->front, VIRTIO_NET_CTRL_ROCE_MODIFY_QP, &req,
			      sizeof(req), NULL, 0);
	}
}

struct front_vq *front_send_vq(const struct front_qp *qp)
{
	return &qp->front->vq[FRONT_SQ + 2 * qp->qpn];
}

struct front_vq *front_recv_vq(const struct front_qp *qp)
{
	return front_send_vq(qp) + 1;
}

void *front_slot(const struct front_vq *vq, unsigned int i)
{
	return guest_ptr(vq->gvq.guest, vq->slots + (uint64_t)i * vq->slot_size);
}

bool front_poll_cq(struct front *front, uint32_t cqn, struct virtio_rdma_cq_req *wc)
{
	struct front_vq *vq = &front->vq[FRONT_CQ + cqn];
	uint32_t head, len;

	if (!guest_vq_get(&vq->gvq, &head, &len))
		return false;
	memcpy(wc, front_slot(vq, head), sizeof(*wc));
	guest_vq_add_head(&vq->gvq, head);
	return true;
}

bool front_poll(const struct front_qp *qp, uint8_t *status)
{
	struct virtio_rdma_cq_req wc;

	if (!front_poll_cq(qp->front, qp->cqn, &wc))
		return false;
	*status = wc.status;
	return true;
}
