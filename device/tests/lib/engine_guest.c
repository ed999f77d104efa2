// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guests for the tests of the RDMA engine.
 */
#include "tests/lib/engine_dirty.h"
#include "tests/lib/engine_guest.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/chore.h"
#include "base/log.h"
#include "rdma/rnic_priv.h"

#define SQ_SLOT	(sizeof(struct virtio_rdma_sq_req) + \
		 EG_SGE * sizeof(struct virtio_rdma_sge))
#define RQ_SLOT	(sizeof(struct virtio_rdma_rq_req) + \
		 EG_SGE * sizeof(struct virtio_rdma_sge))
#define CQ_SLOT	sizeof(struct virtio_rdma_cq_req)
#define EVENT_SLOT sizeof(struct virtio_rdma_event)

void (*eg_dump)(const struct eg_guest *guest, const char *kind, uint32_t number,
		const void *data, size_t len, const void *more, size_t more_len);

static void eg_tell(const struct eg_guest *guest, const char *kind, uint32_t number,
		    const void *data, size_t len)
{
	if (eg_dump)
		eg_dump(guest, kind, number, data, len, NULL, 0);
}

void *eg_ptr(const struct eg_guest *guest, uint64_t addr)
{
	assert_in_range(addr, EG_BASE, EG_BASE + EG_SIZE - 1);
	return guest->mem + (addr - EG_BASE);
}

uint64_t eg_place(struct eg_guest *guest, uint64_t size)
{
	uint64_t addr = guest->next;

	guest->next += (size + EG_PAGE - 1) & ~(uint64_t)(EG_PAGE - 1);
	assert_true(guest->next <= EG_DATA);
	return addr;
}

/* ------------------------------------------------------------------------- */
/* Rings                                                                     */
/* ------------------------------------------------------------------------- */

static void eg_call(struct virtq *vq)
{
	struct eg_ring *ring = vq->priv;

	ring->calls++;
}

static void eg_ring_start(struct eg_guest *guest, struct eg_ring *ring,
			  uint32_t slot_size, bool write, bool event_idx)
{
	struct vring_desc *desc;
	uint64_t avail, used, table;
	unsigned int i;

	*ring = (struct eg_ring) { .guest = guest, .slot_size = slot_size };
	ring->slots = eg_place(guest, (uint64_t)slot_size * EG_QUEUE);
	table = eg_place(guest, EG_QUEUE * sizeof(*desc));
	avail = eg_place(guest, 6 + 2 * EG_QUEUE);
	used = eg_place(guest, 6 + 8 * EG_QUEUE);
	desc = eg_ptr(guest, table);
	for (i = 0; i < EG_QUEUE; i++)
		desc[i] = (struct vring_desc) {
			.addr = htole64(ring->slots + i * slot_size),
			.len = htole32(slot_size),
			.flags = htole16(write ? VRING_DESC_F_WRITE : 0),
		};
	ring->vq = (struct virtq) {
		.event_idx = event_idx,
		.mem = &guest->map,
		.call = eg_call,
		.priv = ring,
	};
	assert_int_equal(virtq_start(&ring->vq, EG_QUEUE, 0, desc,
				     eg_ptr(guest, avail),
				     eg_ptr(guest, used)), 0);
	eg_ring_reset(ring);
}

void eg_ring_reset(struct eg_ring *ring)
{
	memset(ring->vq.avail, 0, 6 + 2 * EG_QUEUE);
	memset(ring->vq.used, 0, 6 + 8 * EG_QUEUE);
	ring->avail = 0;
	ring->seen = 0;
}

void *eg_slot(struct eg_ring *ring)
{
	return eg_ptr(ring->guest,
		      ring->slots + ring->avail % EG_QUEUE * ring->slot_size);
}

void eg_post_slot(struct eg_ring *ring)
{
	uint16_t i = ring->avail % EG_QUEUE;

	ring->vq.avail->ring[i] = htole16(i);
	__atomic_store_n(&ring->vq.avail->idx, htole16(++ring->avail), __ATOMIC_RELEASE);
}

uint16_t eg_used(const struct eg_ring *ring)
{
	return le16toh(__atomic_load_n(&ring->vq.used->idx, __ATOMIC_ACQUIRE));
}

/* Is a doorbell to be rung for the slot that is or was put at an index? */
static bool eg_kick_at(const struct eg_ring *ring, uint16_t avail)
{
	const uint16_t *event = (const uint16_t *)&ring->vq.used->ring[EG_QUEUE];

	if (!ring->vq.event_idx)
		return !(le16toh(__atomic_load_n(&ring->vq.used->flags, __ATOMIC_RELAXED)) &
			 VRING_USED_F_NO_NOTIFY);
	return le16toh(__atomic_load_n(event, __ATOMIC_RELAXED)) == avail;
}

bool eg_wants_kick(const struct eg_ring *ring)
{
	return eg_kick_at(ring, ring->avail);
}

bool eg_wanted_kick(const struct eg_ring *ring)
{
	/* The slot was stored before this looks; the device does both the other way round. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return eg_kick_at(ring, ring->avail - 1);
}

/* ------------------------------------------------------------------------- */
/* Setting up                                                                */
/* ------------------------------------------------------------------------- */

void eg_gid(const struct eg_guest *guest, uint8_t *gid)
{
	memset(gid, 0, GID_SIZE);
	gid[10] = 0xff;
	gid[11] = 0xff;
	gid[12] = 10;
	gid[15] = guest->number;
}

void eg_guest_start(struct eg_guest *guest, bool event_idx)
{
	const struct rnic_limits *limits = &guest->rnic->ctx.limits;
	struct virtio_rdma_cmd_add_gid gid = {};
	uint32_t i;

	guest->next = EG_BASE + EG_PAGE;
	for (i = 0; i < EG_CQS; i++) {
		eg_ring_start(guest, &guest->cq[i], CQ_SLOT, true, event_idx);
		rnic_queue_start(guest->rnic, RNIC_CQ, i, &guest->cq[i].vq);
	}
	for (i = 0; i < EG_QPS; i++) {
		eg_ring_start(guest, &guest->sq[i], SQ_SLOT, false, event_idx);
		eg_ring_start(guest, &guest->rq[i], RQ_SLOT, false, event_idx);
		rnic_queue_start(guest->rnic, RNIC_SQ, i, &guest->sq[i].vq);
		rnic_queue_start(guest->rnic, RNIC_RQ, i, &guest->rq[i].vq);
	}
	for (i = 0; i < limits->event_vqs; i++) {
		eg_ring_start(guest, &guest->event[i], EVENT_SLOT, true, event_idx);
		rnic_queue_start(guest->rnic, RNIC_EVENT, i, &guest->event[i].vq);
	}
	for (i = 0; i < limits->doorbell_vqs; i++) {
		eg_ring_start(guest, &guest->doorbell[i], 1, false, event_idx);
		rnic_queue_start(guest->rnic, RNIC_DOORBELL, i, &guest->doorbell[i].vq);
	}
	eg_gid(guest, gid.gid);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_ADD_GID, &gid,
				    sizeof(gid), NULL, 0), VIRTIO_NET_OK);
}

void eg_guest_mem(struct eg_guest *guest)
{
	guest->fd = memfd_create("guest", MFD_CLOEXEC);
	assert_true(guest->fd >= 0);
	assert_int_equal(ftruncate(guest->fd, EG_SIZE), 0);
	guest->mem = mmap(NULL, EG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, guest->fd, 0);
	assert_ptr_not_equal(guest->mem, MAP_FAILED);
	guest->map.n = 1;
	guest->map.region[0] = (struct guest_region) {
		.addr = EG_BASE,
		.size = EG_SIZE,
		.host = guest->mem,
	};
}

static void eg_guest_up(struct engine *engine, struct eg_guest *guest,
			uint8_t number, bool event_idx,
			const struct rnic_limits *limits)
{
	eg_guest_mem(guest);
	guest->number = number;
	guest->rnic = rnic_new(engine->loop, engine->fabric, limits,
			       number == 1 ? "guest1" : "guest2");
	assert_non_null(guest->rnic);
	eg_dirty_up(guest);
	rnic_mem_changed(guest->rnic, &guest->map);
	eg_tell(guest, "up", (limits->event_vqs ? 1 : 0) | (limits->doorbell_vqs ? 2 : 0),
		NULL, 0);
	eg_guest_start(guest, event_idx);
}

static struct rnic_limits eg_limits(void)
{
	return (struct rnic_limits) {
		.qps = EG_QPS,
		.cqs = EG_CQS,
		.queue_size = EG_QUEUE,
		.cqe = EG_QUEUE,
		.mrs = EG_MRS,
		.pds = EG_PDS,
		.ahs = EG_AHS,
	};
}

static int eg_setup_with(void **state, bool event_idx, struct rnic_limits limits)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	unsigned int i;

	assert_non_null(engine);
	log_set_level(LOG_LEVEL_ERROR);
	eg_steps = 0;
	eg_cycle_off = false;
	engine->loop = loop_new(0);
	engine->fabric = fabric_new();
	for (i = 0; i < EG_GUESTS; i++)
		eg_guest_up(engine, &engine->guest[i], i + 1, event_idx, &limits);
	*state = engine;
	return 0;
}

int eg_setup(void **state)
{
	return eg_setup_with(state, false, eg_limits());
}

int eg_setup_pointers(void **state)
{
	int ret = eg_setup(state);

	eg_cycle_off = true;
	return ret;
}

int eg_setup_event_idx(void **state)
{
	return eg_setup_with(state, true, eg_limits());
}

int eg_setup_hold(void **state)
{
	struct rnic_limits limits = eg_limits();

	limits.cqe = EG_CQE;
	return eg_setup_with(state, false, limits);
}

int eg_setup_rfc(void **state)
{
	struct rnic_limits limits = eg_limits();

	limits.rfc = true;
	return eg_setup_with(state, false, limits);
}

static int eg_setup_rings(void **state, uint32_t qps, uint32_t cqs)
{
	struct rnic_limits limits = eg_limits();

	limits.cqe = EG_CQE;
	limits.event_vqs = EG_EVENT_VQS;
	limits.doorbell_vqs = EG_DOORBELL_VQS;
	limits.direct_qps = qps;
	limits.direct_cqs = cqs;
	return eg_setup_with(state, true, limits);
}

int eg_setup_direct(void **state)
{
	return eg_setup_rings(state, EG_DIRECT_QPS, EG_DIRECT_CQS);
}

int eg_setup_direct_many(void **state)
{
	return eg_setup_rings(state, VIRTIO_NET_ROCE_MAX_OBJECTS - EG_QPS,
			      VIRTIO_NET_ROCE_MAX_OBJECTS - EG_CQS);
}

int eg_teardown(void **state)
{
	struct engine *engine = *state;
	unsigned int i;

	for (i = 0; i < EG_GUESTS; i++) {
		rnic_free(engine->guest[i].rnic);
		eg_dirty_down(&engine->guest[i]);
		munmap(engine->guest[i].mem, EG_SIZE);
		close(engine->guest[i].fd);
	}
	chores_finish(loop_chores(engine->loop));
	assert_int_equal(engine_loop_timers(engine->loop), 0);
	fabric_free(engine->fabric);
	loop_free(engine->loop);
	free(engine);
	return 0;
}

void eg_deliver(const struct eg_guest *guest, const struct pkt *pkt)
{
	struct fabric_end *end = &guest->rnic->end;
	const struct gid *gid = fabric_find(end->fabric, pkt->sgid, pkt->vlan);
	struct pkt copy = *pkt;

	copy.from = gid ? gid->end : NULL;
	end->deliver(end, &copy);
}

static void eg_cycle_all(struct engine *engine)
{
	unsigned int i;

	for (i = 0; i < EG_GUESTS; i++)
		eg_cycle(&engine->guest[i]);
}

bool eg_work(struct rnic *rnic)
{
	bool work = rnic_poll(rnic);

	/* Not a jump to rnic_poll(). */
	__asm__ volatile("" : "+r"(work));
	return work;
}

void eg_run(struct engine *engine)
{
	unsigned int round, i;
	bool work = true;

	eg_cycle_all(engine);
	eg_dirty_begin();
	for (round = 0; round < 100000; round++) {
		work = false;
		for (i = 0; i < EG_GUESTS; i++)
			work |= eg_work(engine->guest[i].rnic);
		if (!work)
			break;
	}
	eg_dirty_end();
	if (!work)
		return;
	fail_msg("the engine does not come to rest");
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

unsigned int eg_rounds;

void eg_reset(struct eg_guest *guest)
{
	eg_tell(guest, "reset", 0, NULL, 0);
	rnic_reset(guest->rnic);
	chores_finish(loop_chores(guest->rnic->ctx.loop));
}

uint8_t eg_command(struct eg_guest *guest, uint8_t command, const void *req,
		   size_t req_len, void *rsp, size_t rsp_len)
{
	uint64_t buf[RNIC_RSP_MAX / 8];
	struct rnic_request request = { .iov_n = 2, .off = 1, .len = req_len };
	struct iovec iov[2];
	size_t len = 12345;
	void *copy;
	uint8_t ack;

	/* In a heap block of its size, so that reading past it is caught. */
	eg_cycle(guest);
	copy = malloc(req_len ? req_len : 1);
	assert_non_null(copy);
	if (req_len)
		memcpy(copy, req, req_len);
	/* Something is in front of it, as class and command are. */
	iov[0] = (struct iovec) { .iov_base = &ack, .iov_len = 1 };
	iov[1] = (struct iovec) { .iov_base = copy, .iov_len = req_len };
	request.iov = iov;
	eg_dirty_begin();
	ack = rnic_command(guest->rnic, command, &request, buf, rsp ? rsp_len : 0,
			   &len);
	for (eg_rounds = 1; ack == RNIC_COMMAND_MORE; eg_rounds++) {
		assert_int_equal(len, 0);
		/* It may wait for them, and time stands still here. */
		chores_finish(loop_chores(guest->rnic->ctx.loop));
		ack = rnic_command_more(guest->rnic, buf, &len);
	}
	eg_dirty_end();
	free(copy);
	if (eg_dump) {
		uint8_t answer[1 + RNIC_RSP_MAX] = { ack };

		memcpy(answer + 1, buf, len);
		eg_dump(guest, "command", command, req, req_len, answer, 1 + len);
	}
	if (ack == VIRTIO_NET_OK) {
		assert_int_equal(len, rsp ? rsp_len : 0);
		if (rsp)
			memcpy(rsp, buf, len);
	} else {
		assert_int_equal(ack, VIRTIO_NET_ERR);
		assert_int_equal(len, 0);
	}
	return ack;
}

uint32_t eg_create_pd(struct eg_guest *guest)
{
	struct virtio_rdma_ack_create_pd ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL,
				    0, &ack, sizeof(ack)), VIRTIO_NET_OK);
	return le32toh(ack.pdn);
}

uint32_t eg_create_cq(struct eg_guest *guest)
{
	struct virtio_rdma_cmd_create_cq req = { .cqe = htole32(EG_QUEUE) };
	struct virtio_rdma_ack_create_cq ack;
	struct eg_ring *ring;
	unsigned int i;

	/* The driver does not know which CQ number it will get. */
	for (i = 0; i < EG_CQS; i++)
		if (!guest->cq[i].avail)
			eg_ring_reset(&guest->cq[i]);
	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_CQ, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	ring = &guest->cq[le32toh(ack.cqn)];
	for (i = 0; i < EG_QUEUE; i++)
		eg_post_slot(ring);
	return le32toh(ack.cqn);
}

struct virtio_rdma_cmd_create_qp eg_create_qp_req(uint8_t type, uint32_t pdn,
						  uint32_t cqn)
{
	return (struct virtio_rdma_cmd_create_qp) {
		.pdn = htole32(pdn),
		.qp_type = type,
		.send_cqn = htole32(cqn),
		.recv_cqn = htole32(cqn),
		.cap = {
			.max_send_wr = htole32(EG_QUEUE),
			.max_recv_wr = htole32(EG_QUEUE),
			.max_send_sge = htole32(EG_SGE),
			.max_recv_sge = htole32(EG_SGE),
			.max_inline_data = htole32(VIRTIO_RDMA_INLINE_SIZE),
		},
	};
}

uint32_t eg_create_qp(struct eg_guest *guest, uint8_t type, uint32_t pdn,
		      uint32_t cqn)
{
	struct virtio_rdma_cmd_create_qp req = eg_create_qp_req(type, pdn, cqn);
	struct virtio_rdma_ack_create_qp ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_QP, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	return le32toh(ack.qpn);
}

void eg_destroy_qp(struct eg_guest *guest, uint32_t qpn)
{
	struct virtio_rdma_cmd_destroy_qp req = { .qpn = htole32(qpn) };

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_DESTROY_QP,
				    &req, sizeof(req), NULL, 0), VIRTIO_NET_OK);
	eg_ring_reset(&guest->sq[qpn]);
	eg_ring_reset(&guest->rq[qpn]);
}

static struct virtio_rdma_ah_attr eg_av(const struct eg_guest *to)
{
	struct virtio_rdma_ah_attr av = {
		.grh = {
			.flow_label = htole32(0x12345),
			.hop_limit = 64,
			.traffic_class = 0x28,
		},
		.dmac = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 },
	};

	eg_gid(to, av.grh.dgid);
	return av;
}

uint32_t eg_create_ah(struct eg_guest *guest, uint32_t pdn,
		      const struct eg_guest *to)
{
	struct virtio_rdma_cmd_create_ah req = {
		.pdn = htole32(pdn),
		.ah_attr = eg_av(to),
	};
	struct virtio_rdma_ack_create_ah ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_CREATE_AH, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	return le32toh(ack.ah);
}

uint8_t eg_reg_mr(struct eg_guest *guest, uint32_t pdn, uint32_t access,
		  uint64_t va, uint64_t length, const uint64_t *page,
		  uint32_t npages, struct virtio_rdma_ack_mr *ack)
{
	size_t len = sizeof(struct virtio_rdma_cmd_reg_user_mr) + npages * 8ul;
	struct virtio_rdma_cmd_reg_user_mr *req = calloc(1, len);
	uint8_t ret;
	uint32_t i;

	assert_non_null(req);
	req->pdn = htole32(pdn);
	req->access_flags = htole32(access);
	req->virt_addr = htole64(va);
	req->length = htole64(length);
	req->npages = htole32(npages);
	for (i = 0; i < npages; i++)
		req->pages[i] = htole64(page[i]);
	ret = eg_command(guest, VIRTIO_NET_CTRL_ROCE_REG_USER_MR, req, len, ack,
			 sizeof(*ack));
	free(req);
	return ret;
}

uint32_t eg_reg(struct eg_guest *guest, uint32_t pdn, uint32_t access,
		uint64_t va, uint64_t length, uint64_t addr)
{
	uint32_t npages = (va % EG_PAGE + length + EG_PAGE - 1) / EG_PAGE;
	uint64_t *page = calloc(npages, sizeof(*page));
	struct virtio_rdma_ack_mr ack;
	uint32_t i;

	assert_non_null(page);
	for (i = 0; i < npages; i++)
		page[i] = addr + i * (uint64_t)EG_PAGE;
	assert_int_equal(eg_reg_mr(guest, pdn, access, va, length, page, npages,
				   &ack), VIRTIO_NET_OK);
	free(page);
	assert_int_equal(le32toh(ack.lkey), le32toh(ack.rkey));
	assert_int_equal(le32toh(ack.lkey) >> 8, le32toh(ack.mrn));
	return le32toh(ack.lkey);
}

static uint32_t eg_attrs(uint8_t type, uint8_t state)
{
	bool ini = type == VIRTIO_IB_QPT_XRC_INI, tgt = type == VIRTIO_IB_QPT_XRC_TGT;
	bool conn = type == VIRTIO_IB_QPT_RC || type == VIRTIO_IB_QPT_UC || ini || tgt;

	if (type == VIRTIO_IB_QPT_RAW_PACKET)
		return 0;
	switch (state) {
	case VIRTIO_IB_QPS_INIT:
		return conn ? VIRTIO_IB_QP_ACCESS_FLAGS : VIRTIO_IB_QP_QKEY;
	case VIRTIO_IB_QPS_RTR:
		if (!conn)
			return 0;
		return VIRTIO_IB_QP_AV | VIRTIO_IB_QP_PATH_MTU |
		       VIRTIO_IB_QP_DEST_QPN | VIRTIO_IB_QP_RQ_PSN |
		       (type == VIRTIO_IB_QPT_UC || ini ? 0 :
			VIRTIO_IB_QP_MAX_DEST_RD_ATOMIC |
			VIRTIO_IB_QP_MIN_RNR_TIMER);
	case VIRTIO_IB_QPS_RTS:
		if (tgt)
			return VIRTIO_IB_QP_SQ_PSN | VIRTIO_IB_QP_TIMEOUT;
		return VIRTIO_IB_QP_SQ_PSN |
		       (type != VIRTIO_IB_QPT_RC && !ini ? 0 : VIRTIO_IB_QP_TIMEOUT |
			VIRTIO_IB_QP_RETRY_CNT | VIRTIO_IB_QP_RNR_RETRY |
			VIRTIO_IB_QP_MAX_QP_RD_ATOMIC);
	}
	return 0;
}

struct virtio_rdma_cmd_modify_qp eg_modify_req(uint32_t qpn, uint8_t type,
					       uint8_t state,
					       const struct eg_guest *to,
					       uint32_t dest_qpn)
{
	return (struct virtio_rdma_cmd_modify_qp) {
		.qpn = htole32(qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE |
				     eg_attrs(type, state)),
		.qp_state = state,
		.path_mtu = VIRTIO_IB_MTU_1024,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,	/* 0.64 ms */
		.timeout = 10,		/* 4.19 ms */
		.retry_cnt = 2,
		.rnr_retry = 3,
		.qkey = htole32(0x1234),
		/* Close to the end, so that PSNs wrap in many tests. */
		.rq_psn = htole32(0xfffffe),
		.sq_psn = htole32(0xfffffe),
		.dest_qp_num = htole32(dest_qpn),
		.qp_access_flags = htole32(EG_ACCESS_ALL),
		.ah_attr = eg_av(to),
	};
}

uint8_t eg_modify(struct eg_guest *guest,
		  const struct virtio_rdma_cmd_modify_qp *req)
{
	return eg_command(guest, VIRTIO_NET_CTRL_ROCE_MODIFY_QP, req,
			  sizeof(*req), NULL, 0);
}

void eg_to(struct eg_end *end, uint8_t type, uint8_t state,
	   const struct eg_end *peer)
{
	struct virtio_rdma_cmd_modify_qp req =
		eg_modify_req(end->qpn, type, state, peer->guest, peer->qpn);

	assert_int_equal(eg_modify(end->guest, &req), VIRTIO_NET_OK);
}

struct virtio_rdma_ack_query_qp eg_query(struct eg_guest *guest, uint32_t qpn)
{
	struct virtio_rdma_cmd_query_qp req = { .qpn = htole32(qpn) };
	struct virtio_rdma_ack_query_qp ack;

	assert_int_equal(eg_command(guest, VIRTIO_NET_CTRL_ROCE_QUERY_QP, &req,
				    sizeof(req), &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	return ack;
}

uint8_t eg_state(struct eg_guest *guest, uint32_t qpn)
{
	return eg_query(guest, qpn).qp_state;
}

struct eg_end eg_open(struct eg_guest *guest, uint8_t type)
{
	struct eg_end end = {
		.guest = guest,
		.pdn = eg_create_pd(guest),
		.cqn = eg_create_cq(guest),
	};

	end.qpn = eg_create_qp(guest, type, end.pdn, end.cqn);
	end.lkey = eg_reg(guest, end.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE,
			  EG_DATA);
	end.mrn = end.lkey >> 8;
	return end;
}

static void eg_connect_types(struct eg_end *a, uint8_t a_type, struct eg_end *b,
			     uint8_t b_type)
{
	static const uint8_t states[] = {
		VIRTIO_IB_QPS_INIT, VIRTIO_IB_QPS_RTR, VIRTIO_IB_QPS_RTS,
	};
	unsigned int i;

	for (i = 0; i < sizeof(states); i++) {
		eg_to(a, a_type, states[i], b);
		eg_to(b, b_type, states[i], a);
	}
}

void eg_connect(struct eg_end *a, struct eg_end *b, uint8_t type)
{
	eg_connect_types(a, type, b, type);
}

void eg_connect_xrc(struct eg_end *ini, struct eg_end *tgt)
{
	eg_connect_types(ini, VIRTIO_IB_QPT_XRC_INI, tgt, VIRTIO_IB_QPT_XRC_TGT);
}

void eg_pair(struct engine *engine, uint8_t type, struct eg_end *a,
	     struct eg_end *b)
{
	*a = eg_open(&engine->guest[0], type);
	*b = eg_open(&engine->guest[1], type);
	eg_connect(a, b, type);
}

struct eg_pair eg_pair_up(void **state, uint8_t type)
{
	struct eg_pair p = { .engine = *state };

	eg_pair(p.engine, type, &p.a, &p.b);
	return p;
}

/* ------------------------------------------------------------------------- */
/* Work requests                                                             */
/* ------------------------------------------------------------------------- */

void eg_put_sge(struct virtio_rdma_sge *to, const struct eg_sge *from, uint32_t n,
		size_t room)
{
	struct virtio_rdma_sge sge;
	uint32_t i;

	for (i = 0; i < n && (i + 1) * sizeof(sge) <= room; i++) {
		sge = (struct virtio_rdma_sge) {
			.addr = htole64(from[i].addr),
			.length = htole32(from[i].length),
			.lkey = htole32(from[i].lkey),
		};
		memcpy(&to[i], &sge, sizeof(sge));
	}
}

void eg_put_header(struct virtio_rdma_swqe *to, const struct eg_wr *wr)
{
	to->opcode = wr->opcode;
	to->send_flags = wr->flags;
	to->imm_data = htobe32(wr->imm);
	if (wr->ah) {
		to->ud.remote_qpn = htole32(wr->remote_qpn);
		to->ud.remote_qkey = htole32(wr->remote_qkey);
		to->ud.ah = htole32(wr->ah);
	} else {
		to->rdma.remote_addr = htole64(wr->remote_addr);
		to->rdma.rkey = htole32(wr->rkey);
	}
	if (wr->opcode == VIRTIO_IB_WR_FLUSH) {
		to->flush.length = htole32(wr->flush_len);
		to->flush.type = wr->flush_type;
		to->flush.level = wr->flush_level;
	}
	if (wr->opcode == VIRTIO_IB_WR_CMP_SWAP || wr->opcode == VIRTIO_IB_WR_FETCH_ADD) {
		to->atomic_rkey = htole32(wr->rkey);
		to->atomic.compare_add = htole64(wr->compare_add);
		to->atomic.swap = htole64(wr->swap);
	}
}

void eg_post_send(const struct eg_end *end, const struct eg_wr *wr)
{
	struct eg_ring *ring = &end->guest->sq[end->qpn];
	struct virtio_rdma_sq_req *slot = eg_slot(ring);

	memset(slot, 0xee, SQ_SLOT);
	memset(slot, 0, 48);
	slot->wr_id = htole64(wr->wr_id);
	eg_put_header((void *)&slot->opcode, wr);
	slot->num_sge = htole32(wr->num_sge);
	if (wr->flags & VIRTIO_IB_SEND_INLINE) {
		slot->inline_len = htole16(wr->data_len);
		if (wr->data_len && wr->data_len <= VIRTIO_RDMA_INLINE_SIZE)
			memcpy(slot->inline_data, wr->data, wr->data_len);
	} else {
		eg_put_sge(slot->sg_list, wr->sge, wr->num_sge,
			   EG_SGE * sizeof(struct virtio_rdma_sge));
	}
	eg_tell(end->guest, "send", end->qpn, slot, SQ_SLOT);
	eg_post_slot(ring);
	rnic_queue_kick(end->guest->rnic, RNIC_SQ, end->qpn);
}

void eg_post_recv(const struct eg_end *end, uint64_t wr_id,
		  const struct eg_sge *sge, uint32_t num_sge)
{
	struct eg_ring *ring = &end->guest->rq[end->qpn];
	struct virtio_rdma_rq_req *slot = eg_slot(ring);

	memset(slot, 0xee, RQ_SLOT);
	slot->wr_id = htole64(wr_id);
	slot->num_sge = htole32(num_sge);
	eg_put_sge(slot->sg_list, sge, num_sge, EG_SGE * sizeof(struct virtio_rdma_sge));
	eg_tell(end->guest, "recv", end->qpn, slot, RQ_SLOT);
	eg_post_slot(ring);
}

bool eg_poll(const struct eg_end *end, struct eg_wc *wc)
{
	struct eg_ring *ring = &end->guest->cq[end->cqn];
	const struct virtio_rdma_cq_req *slot;
	const struct vring_used_elem *used;

	if (ring->seen == eg_used(ring))
		return false;
	used = &ring->vq.used->ring[ring->seen++ % EG_QUEUE];
	assert_int_equal(le32toh(used->len), CQ_SLOT);
	assert_in_range(le32toh(used->id), 0, EG_QUEUE - 1);
	slot = eg_ptr(ring->guest, ring->slots + le32toh(used->id) * CQ_SLOT);
	eg_tell(end->guest, "wc", end->cqn, slot, CQ_SLOT);
	*wc = (struct eg_wc) {
		.wr_id = le64toh(slot->wr_id),
		.status = slot->status,
		.opcode = slot->opcode,
		.vendor_err = le32toh(slot->vendor_err),
		.byte_len = le32toh(slot->byte_len),
		.imm = be32toh(slot->imm_data),
		.qp_num = le32toh(slot->qp_num),
		.src_qp = le32toh(slot->src_qp),
		.flags = le32toh(slot->wc_flags),
		.vlan = le16toh(slot->vlan),
	};
	eg_post_slot(ring);
	return true;
}

struct eg_wc eg_expect(const struct eg_end *end, uint64_t wr_id, uint8_t status)
{
	struct eg_wc wc;

	if (!eg_poll(end, &wc))
		fail_msg("no completion, wanted wr_id %ju with status %u",
			 (uintmax_t)wr_id, status);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, end->qpn);
	return wc;
}

void eg_expect_none(const struct eg_end *end)
{
	struct eg_wc wc;

	if (eg_poll(end, &wc))
		fail_msg("unexpected completion: wr_id %ju, status %u",
			 (uintmax_t)wc.wr_id, wc.status);
}

struct eg_wr eg_send(const struct eg_end *end, uint64_t wr_id, uint64_t off,
		     uint32_t len)
{
	return (struct eg_wr) {
		.wr_id = wr_id,
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.num_sge = 1,
		.sge = { { EG_VA + off, len, end->lkey } },
	};
}

void eg_recv(const struct eg_end *end, uint64_t wr_id, uint64_t off,
	     uint32_t len)
{
	struct eg_sge sge = { EG_VA + off, len, end->lkey };

	eg_post_recv(end, wr_id, &sge, 1);
}

/* ------------------------------------------------------------------------- */
/* Data                                                                      */
/* ------------------------------------------------------------------------- */

static uint8_t eg_byte(uint32_t seed, size_t i)
{
	uint32_t x = (seed + 1) * 2654435761u ^ (uint32_t)i * 40503u;

	return x >> 13 ^ x >> 3 ^ x;
}

void eg_fill(const struct eg_guest *guest, uint64_t off, size_t len,
	     uint32_t seed)
{
	uint8_t *p = eg_ptr(guest, EG_DATA + off);
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = eg_byte(seed, i);
}

void eg_check(const struct eg_guest *guest, uint64_t off, size_t len,
	      uint32_t seed, size_t skip)
{
	const uint8_t *p = eg_ptr(guest, EG_DATA + off);
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != eg_byte(seed, skip + i))
			fail_msg("byte %zu of %zu at offset %ju differs", i,
				 len, (uintmax_t)off);
}

void eg_zero(const struct eg_guest *guest, uint64_t off, size_t len)
{
	memset(eg_ptr(guest, EG_DATA + off), 0, len);
}

void eg_check_zero(const struct eg_guest *guest, uint64_t off, size_t len)
{
	const uint8_t *p = eg_ptr(guest, EG_DATA + off);
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i])
			fail_msg("byte %zu at offset %ju was written", i,
				 (uintmax_t)off);
}

/* ------------------------------------------------------------------------- */
/* Pairs                                                                     */
/* ------------------------------------------------------------------------- */

void eg_expect_sent(const struct eg_pair *p, uint64_t wr_id)
{
	struct eg_wc wc = eg_expect(&p->a, wr_id, VIRTIO_IB_WC_SUCCESS);

	assert_int_equal(wc.opcode, VIRTIO_IB_WC_SEND);
	assert_int_equal(wc.vendor_err, 0);
	assert_int_equal(wc.flags, 0);
}

void eg_expect_received(const struct eg_pair *p, uint64_t wr_id, uint32_t len)
{
	struct eg_wc wc = eg_expect(&p->b, wr_id, VIRTIO_IB_WC_SUCCESS);

	assert_int_equal(wc.opcode, VIRTIO_IB_WC_RECV);
	assert_int_equal(wc.byte_len, len);
	assert_int_equal(wc.flags, 0);
	assert_int_equal(wc.vendor_err, 0);
}

void eg_expect_states(const struct eg_pair *p, uint8_t a, uint8_t b)
{
	assert_int_equal(eg_state(p->a.guest, p->a.qpn), a);
	assert_int_equal(eg_state(p->b.guest, p->b.qpn), b);
}

void eg_expect_works(const struct eg_pair *p)
{
	struct eg_wr wr = eg_send(&p->a, 0x5151, 100, 777);

	eg_fill(p->a.guest, 100, 777, 99);
	eg_zero(p->b.guest, EG_IN, 800);
	eg_recv(&p->b, 0x6161, EG_IN, 800);
	eg_post_send(&p->a, &wr);
	eg_run(p->engine);
	eg_expect_sent(p, 0x5151);
	eg_expect_received(p, 0x6161, 777);
	eg_check(p->b.guest, EG_IN, 777, 99, 0);
	eg_check_zero(p->b.guest, EG_IN + 777, 23);
}
