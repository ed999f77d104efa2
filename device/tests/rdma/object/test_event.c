// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event queues, and CQs of virtqueues that are armed by a control block.
 */
#include "tests/lib/engine_ring.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define IN		EG_IN

#define NEXT		VIRTIO_RDMA_ARM_NEXT
#define SOLICITED	VIRTIO_RDMA_ARM_SOLICITED
#define COMPLETION	VIRTIO_RDMA_EVENT_COMPLETION

/**
 * struct ends - RC QPs of virtqueues, connected
 * @p:	the ends
 * @cq:	CQ of the receiving end
 */
struct ends {
	struct eg_pair p;
	struct er_cq cq;
};

/* The receiving end completes to a CQ with a control block and event virtqueue 1. */
static struct ends ends_up(void **state)
{
	struct ends e = { .p.engine = *state };
	struct eg_guest *guest = &e.p.engine->guest[1];
	unsigned int i;

	e.p.a = eg_open(&e.p.engine->guest[0], RC);
	er_cq_init(&e.cq, guest, EG_QUEUE, 0, 1);
	assert_int_equal(er_create_cq(&e.cq), VIRTIO_NET_OK);
	for (i = 0; i < EG_QUEUE; i++)
		eg_post_slot(&guest->cq[e.cq.cqn]);
	e.p.b = (struct eg_end) {
		.guest = guest,
		.pdn = eg_create_pd(guest),
		.cqn = e.cq.cqn,
	};
	e.p.b.qpn = eg_create_qp(guest, RC, e.p.b.pdn, e.cq.cqn);
	e.p.b.lkey = eg_reg(guest, e.p.b.pdn, EG_ACCESS_ALL, EG_VA, EG_MR_SIZE, EG_DATA);
	eg_connect(&e.p.a, &e.p.b, RC);
	er_give_events(guest, 1, 16);
	return e;
}

static void send(const struct ends *e, uint64_t wr_id, uint8_t flags)
{
	struct eg_wr wr = eg_send(&e->p.a, wr_id, 0, 4);

	wr.flags |= flags;
	eg_recv(&e->p.b, wr_id, IN, 4);
	eg_post_send(&e->p.a, &wr);
	eg_run(e->p.engine);
	eg_expect(&e->p.a, wr_id, 0);
}

static void expect_event(const struct ends *e)
{
	er_expect_event(e->p.b.guest, 1, COMPLETION, e->cq.cqn);
	er_expect_no_event(e->p.b.guest, 1);
}

static void expect_no_event(const struct ends *e)
{
	er_expect_no_event(e->p.b.guest, 1);
}

static void test_offered(void **state)
{
	struct engine *engine = *state;
	struct virtio_rdma_ack_query_device ack;

	assert_int_equal(eg_command(&engine->guest[0], CMD(QUERY_DEVICE), NULL, 0, &ack,
				    sizeof(ack)), VIRTIO_NET_OK);
	assert_int_equal(le64toh(ack.device_cap_flags), 0x3fbffffff);
	assert_int_equal(le32toh(ack.max_direct_qp), EG_DIRECT_QPS);
	assert_int_equal(le32toh(ack.max_direct_cq), EG_DIRECT_CQS);
	assert_int_equal(le32toh(ack.max_direct_wr), 32768);
	assert_int_equal(le32toh(ack.max_direct_cqe), 1 << 22);
	assert_int_equal(le32toh(ack.max_doorbells), 1024);
	assert_int_equal(le32toh(ack.max_srq), 4096);
	assert_int_equal(le32toh(ack.max_xrcd), 4096);
	assert_int_equal(le32toh(ack.max_wq_tables), 256);
	assert_int_equal(le32toh(ack.max_wq_table_size), 1024);
}

/* A device that does not offer them knows no command of them. */
static void test_not_offered(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct virtio_rdma_ack_query_device ack;
	struct er_page page = { .guest = guest, .addr = EG_BASE + EG_PAGE };
	struct er_srq srq;
	struct er_cq cq;
	__le32 xrcd;

	assert_int_equal(eg_command(guest, CMD(QUERY_DEVICE), NULL, 0, &ack,
				    sizeof(ack)), VIRTIO_NET_OK);
	assert_false(le64toh(ack.device_cap_flags) & ~0x28027ccffull);
	assert_int_equal(ack.max_direct_qp | ack.max_direct_cq | ack.max_direct_wr |
			 ack.max_direct_cqe | ack.max_doorbells | ack.max_srq |
			 ack.max_xrcd, 0);
	er_cq_init(&cq, guest, EG_QUEUE, 0, 0);
	assert_int_equal(er_create_cq(&cq), VIRTIO_NET_ERR);
	assert_int_equal(er_alloc_doorbell(&page), VIRTIO_NET_ERR);
	er_srq_init(&srq, guest, eg_create_pd(guest), EG_QUEUE);
	assert_int_equal(er_create_srq(&srq), VIRTIO_NET_ERR);
	srq.xrc = true;
	assert_int_equal(er_create_srq(&srq), VIRTIO_NET_ERR);
	assert_int_equal(eg_command(guest, CMD(CREATE_XRCD), NULL, 0, &xrcd, sizeof(xrcd)),
			 VIRTIO_NET_ERR);
}

/* One event for each arming, for a completion that comes after it. */
static void test_armed(void **state)
{
	struct ends e = ends_up(state);

	send(&e, 1, 0);
	expect_no_event(&e);
	er_arm(&e.cq, NEXT);
	send(&e, 2, 0);
	expect_event(&e);
	send(&e, 3, 0);
	expect_no_event(&e);
	/* The same number is not a new arming. */
	e.cq.number--;
	er_arm(&e.cq, NEXT);
	send(&e, 4, 0);
	expect_no_event(&e);
	er_arm(&e.cq, NEXT);
	er_arm(&e.cq, NEXT);
	send(&e, 5, 0);
	expect_event(&e);
	send(&e, 6, 0);
	expect_no_event(&e);
	/* No interrupt of the CQ's own, and one for each event. */
	assert_int_equal(e.p.b.guest->cq[e.cq.cqn].calls, 0);
	assert_int_equal(e.p.b.guest->event[1].calls, 2);
}

static void test_solicited(void **state)
{
	struct ends e = ends_up(state);

	er_arm(&e.cq, SOLICITED);
	send(&e, 1, 0);
	expect_no_event(&e);
	send(&e, 2, VIRTIO_IB_SEND_SOLICITED);
	expect_event(&e);
	/* Any error counts. */
	er_arm(&e.cq, SOLICITED);
	eg_recv(&e.p.b, 3, IN, 4);
	eg_to(&e.p.b, RC, VIRTIO_IB_QPS_ERR, &e.p.a);
	eg_run(e.p.engine);
	expect_event(&e);
	/* Without a bit nothing is asked for. */
	er_arm(&e.cq, 0);
	eg_recv(&e.p.b, 4, IN, 4);
	rnic_queue_kick(e.p.b.guest->rnic, RNIC_RQ, e.p.b.qpn);
	eg_run(e.p.engine);
	expect_no_event(&e);
}

static void modify(const struct ends *e, uint16_t count, uint16_t period, uint8_t ret)
{
	const struct virtio_rdma_cmd_modify_cq req = {
		.cqn = htole32(e->cq.cqn),
		.count = htole16(count),
		.period = htole16(period),
	};

	assert_int_equal(eg_command(e->p.b.guest, CMD(MODIFY_CQ), &req, sizeof(req), NULL, 0),
			 ret);
}

#define US	1000ULL

/* A message whose completion is read, so that there is a slot for the next one. */
static void send_read(const struct ends *e, uint64_t wr_id, uint8_t flags)
{
	send(e, wr_id, flags);
	eg_expect(&e->p.b, wr_id, 0);
}

/* An event waits for three completions, or for 50 us after the first one. */
static void test_moderated(void **state)
{
	struct ends e = ends_up(state);
	struct loop *loop = e.p.engine->loop;

	modify(&e, 3, 50, VIRTIO_NET_OK);
	er_arm(&e.cq, NEXT);
	send_read(&e, 1, 0);
	send_read(&e, 2, 0);
	expect_no_event(&e);
	send_read(&e, 3, 0);
	expect_event(&e);
	assert_int_equal(engine_loop_timers(loop), 0);
	/* Nothing waits that was not asked for. */
	send_read(&e, 4, 0);
	assert_int_equal(engine_loop_timers(loop), 0);
	er_arm(&e.cq, NEXT);
	send_read(&e, 5, 0);
	engine_loop_advance(loop, 49 * US);
	expect_no_event(&e);
	send_read(&e, 6, 0);
	engine_loop_advance(loop, 1 * US);
	expect_event(&e);
	send_read(&e, 7, 0);
	engine_loop_advance(loop, 100 * US);
	expect_no_event(&e);
	/* Any number of completions. */
	modify(&e, 0, 65535, VIRTIO_NET_OK);
	er_arm(&e.cq, NEXT);
	send_read(&e, 8, 0);
	send_read(&e, 9, 0);
	send_read(&e, 10, 0);
	send_read(&e, 11, 0);
	engine_loop_advance(loop, 65534 * US);
	expect_no_event(&e);
	engine_loop_advance(loop, 1 * US);
	expect_event(&e);
	/* Without a period there is no wait. */
	modify(&e, 100, 0, VIRTIO_NET_OK);
	er_arm(&e.cq, NEXT);
	send_read(&e, 12, 0);
	expect_event(&e);
}

/* A later arming waits anew, and one for solicited completions counts those only. */
static void test_moderated_armings(void **state)
{
	struct ends e = ends_up(state);
	struct loop *loop = e.p.engine->loop;

	modify(&e, 2, 50, VIRTIO_NET_OK);
	er_arm(&e.cq, NEXT);
	send_read(&e, 1, 0);
	er_arm(&e.cq, NEXT);
	send_read(&e, 2, 0);
	engine_loop_advance(loop, 49 * US);
	expect_no_event(&e);
	engine_loop_advance(loop, 1 * US);
	expect_event(&e);
	/* One that nothing has come for since has no event. */
	er_arm(&e.cq, NEXT);
	send_read(&e, 3, 0);
	er_arm(&e.cq, NEXT);
	engine_loop_advance(loop, 50 * US);
	expect_no_event(&e);
	er_arm(&e.cq, SOLICITED);
	send_read(&e, 4, VIRTIO_IB_SEND_SOLICITED);
	send_read(&e, 5, 0);
	expect_no_event(&e);
	send_read(&e, 6, VIRTIO_IB_SEND_SOLICITED);
	expect_event(&e);
}

/* An event that waits is raised when the wait is changed, and goes with its CQ. */
static void test_moderated_changed(void **state)
{
	struct ends e = ends_up(state);
	struct loop *loop = e.p.engine->loop;

	modify(&e, 10, 1000, VIRTIO_NET_OK);
	er_arm(&e.cq, NEXT);
	send_read(&e, 1, 0);
	modify(&e, 10, 2000, VIRTIO_NET_OK);
	expect_event(&e);
	assert_int_equal(engine_loop_timers(loop), 0);
	er_arm(&e.cq, NEXT);
	send_read(&e, 2, 0);
	expect_no_event(&e);
	assert_int_equal(engine_loop_timers(loop), 1);
	/* While the guest is paused nothing can be raised; its armings are not known. */
	rnic_mem_changed(e.p.b.guest->rnic, &guest_mem_none);
	engine_loop_advance(loop, 5000 * US);
	rnic_mem_changed(e.p.b.guest->rnic, &e.p.b.guest->map);
	expect_no_event(&e);
	engine_loop_advance(loop, 10000 * US);
	expect_event(&e);
	er_arm(&e.cq, NEXT);
	send_read(&e, 3, 0);
	eg_reset(e.p.b.guest);
	engine_loop_advance(loop, 5000 * US);
	assert_int_equal(engine_loop_timers(loop), 0);

	/* Only where there is a control block. */
	e.p.b.guest = e.p.a.guest;
	e.cq.cqn = e.p.a.cqn;
	modify(&e, 1, 1, VIRTIO_NET_ERR);
	e.cq.cqn = 77777;
	modify(&e, 1, 1, VIRTIO_NET_ERR);
}

static void test_no_command_arms(void **state)
{
	struct ends e = ends_up(state);
	struct virtio_rdma_cmd_req_notify req = {
		.cqn = htole32(e.cq.cqn),
		.flags = htole32(VIRTIO_IB_NOTIFY_NEXT_COMPLETION),
	};

	assert_int_equal(eg_command(e.p.b.guest, CMD(REQ_NOTIFY_CQ), &req, sizeof(req),
				    NULL, 0), VIRTIO_NET_ERR);
	send(&e, 1, 0);
	expect_no_event(&e);
}

/*
 * A completion without a slot raises an event, because the guest may wait for it, and
 * one more when it is in a slot, because the guest may have found nothing.
 */
static void test_held(void **state)
{
	struct ends e = ends_up(state);
	struct eg_wc wc;
	unsigned int i;

	for (i = 0; i < EG_QUEUE; i++)
		send(&e, i, 0);
	er_arm(&e.cq, NEXT);
	send(&e, 100, 0);
	expect_event(&e);
	send(&e, 101, 0);
	expect_no_event(&e);
	for (i = 0; i < EG_QUEUE; i++)
		assert_true(eg_poll(&e.p.b, &wc));
	engine_loop_advance(e.p.engine->loop, 20000000);
	expect_event(&e);
	eg_expect(&e.p.b, 100, 0);
	eg_expect(&e.p.b, 101, 0);
}

/* It does not go to its slot while nobody can tell whether the CQ is armed. */
static void test_held_paused(void **state)
{
	struct ends e = ends_up(state);
	struct rnic *rnic = e.p.b.guest->rnic;
	struct eg_wc wc;
	unsigned int i;

	for (i = 0; i < EG_QUEUE; i++)
		send(&e, i, 0);
	send(&e, 100, 0);
	for (i = 0; i < EG_QUEUE; i++)
		assert_true(eg_poll(&e.p.b, &wc));
	er_arm(&e.cq, NEXT);
	rnic_mem_changed(rnic, &guest_mem_none);
	engine_loop_advance(e.p.engine->loop, 20000000);
	eg_expect_none(&e.p.b);
	rnic_mem_changed(rnic, &e.p.b.guest->map);
	engine_loop_advance(e.p.engine->loop, 20000000);
	eg_expect(&e.p.b, 100, 0);
	expect_event(&e);
}

/* Events wait for buffers, one for each object, and none gets lost. */
static void test_no_buffers(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[1];
	struct ends e = ends_up(state);
	struct virtio_rdma_event event;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		er_arm(&e.cq, NEXT);
		send(&e, i, 0);
		assert_true(er_take_event(guest, 1, &event));
	}
	assert_false(eg_wants_kick(&guest->event[1]));
	/* No buffer is left. */
	er_arm(&e.cq, NEXT);
	send(&e, 20, 0);
	er_arm(&e.cq, NEXT);
	send(&e, 21, 0);
	expect_no_event(&e);
	assert_true(eg_wants_kick(&guest->event[1]));
	er_give_events(guest, 1, 1);
	expect_event(&e);
	er_give_events(guest, 1, 1);
	expect_no_event(&e);
	er_arm(&e.cq, NEXT);
	send(&e, 22, 0);
	expect_event(&e);
}

/* After the answer to DESTROY_CQ nothing is heard of the CQ. */
static void test_destroyed(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[1];
	struct ends e = ends_up(state);
	struct virtio_rdma_event event;
	unsigned int i;

	for (i = 0; i < 17; i++) {
		er_arm(&e.cq, NEXT);
		send(&e, i, 0);
	}
	while (er_take_event(guest, 1, &event))
		;
	eg_destroy_qp(guest, e.p.b.qpn);
	assert_int_equal(er_destroy_cq(&e.cq), VIRTIO_NET_OK);
	er_give_events(guest, 1, 4);
	expect_no_event(&e);
}

/* A virtqueue that is stopped, as in a guest that is paused, keeps its events. */
static void test_stopped(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[1];
	struct ends e = ends_up(state);

	rnic_queue_stop(guest->rnic, RNIC_EVENT, 1);
	er_arm(&e.cq, NEXT);
	send(&e, 1, 0);
	expect_no_event(&e);
	rnic_queue_start(guest->rnic, RNIC_EVENT, 1, &guest->event[1].vq);
	expect_event(&e);
	/* There is no such virtqueue. */
	rnic_queue_start(guest->rnic, RNIC_EVENT, EG_EVENT_VQS, &guest->event[1].vq);
	rnic_queue_kick(guest->rnic, RNIC_EVENT, EG_EVENT_VQS);
	rnic_queue_kick(guest->rnic, RNIC_EVENT, UINT32_MAX);
}

/* A buffer that cannot hold an event breaks that virtqueue, and nothing else. */
static void test_short_buffer(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[1];
	struct ends e = ends_up(state);
	struct eg_ring *ring = &guest->event[1];

	ring->vq.desc[0].len = htole32(15);
	er_arm(&e.cq, NEXT);
	send(&e, 1, 0);
	assert_true(ring->vq.broken);
	er_arm(&e.cq, NEXT);
	send(&e, 2, 0);
	assert_int_equal(eg_used(ring), 1);
	eg_expect(&e.p.b, 1, 0);
	eg_expect(&e.p.b, 2, 0);
}

/* A QP with virtqueues, one of which breaks: that is no CQ's event. */
static void test_qp_broken(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.a.guest;

	er_give_events(guest, 0, 2);
	guest->sq[e.p.a.qpn].vq.avail->idx = htole16(1000);
	rnic_queue_kick(guest->rnic, RNIC_SQ, e.p.a.qpn);
	eg_run(e.p.engine);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_QP_FATAL, e.p.a.qpn);
	er_expect_no_event(guest, 0);
	assert_int_equal(eg_state(guest, e.p.a.qpn), VIRTIO_IB_QPS_ERR);
}

static struct eg_wr write_to(const struct ends *e, uint64_t addr, uint32_t key)
{
	struct eg_wr wr = eg_send(&e->p.a, 40, 0, 8);

	wr.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	wr.remote_addr = addr;
	wr.rkey = key;
	return wr;
}

/* The peer names memory that it may not access, or breaks a rule. */
static void refused(void **state, struct eg_wr wr, uint8_t status, uint16_t type)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.b.guest;

	wr.rkey ^= e.p.b.lkey;
	wr.sge[0].lkey = e.p.a.lkey;
	er_give_events(guest, 0, 4);
	er_give_events(e.p.a.guest, 0, 4);
	eg_post_send(&e.p.a, &wr);
	eg_run(e.p.engine);
	eg_expect(&e.p.a, wr.wr_id, status);
	assert_int_equal(eg_state(guest, e.p.b.qpn), VIRTIO_IB_QPS_ERR);
	er_expect_event(guest, 0, type, e.p.b.qpn);
	er_expect_no_event(guest, 0);
	/* The requester has a completion that says it. */
	er_expect_no_event(e.p.a.guest, 0);
	/* It is in ERR now: whatever comes, that was all. */
	rnic_queue_kick(guest->rnic, RNIC_SQ, e.p.b.qpn);
	eg_run(e.p.engine);
	er_expect_no_event(guest, 0);
}

static const struct eg_wr one_write = {
	.wr_id = 40,
	.opcode = VIRTIO_IB_WR_RDMA_WRITE,
	.flags = VIRTIO_IB_SEND_SIGNALED,
	.remote_addr = EG_VA,
	.num_sge = 1,
	.sge = { { EG_VA, 8 } },
};

static void test_access_error(void **state)
{
	struct eg_wr wr = one_write;

	wr.rkey = 0xbad;
	refused(state, wr, VIRTIO_IB_WC_REM_ACCESS_ERR, VIRTIO_RDMA_EVENT_QP_ACCESS_ERR);
}

static void test_read_access_error(void **state)
{
	struct eg_wr wr = one_write;

	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	wr.remote_addr = 0;
	refused(state, wr, VIRTIO_IB_WC_REM_ACCESS_ERR, VIRTIO_RDMA_EVENT_QP_ACCESS_ERR);
}

static void test_request_error(void **state)
{
	struct eg_wr wr = one_write;

	wr.opcode = VIRTIO_IB_WR_FETCH_ADD;
	wr.remote_addr = EG_VA + 1;
	refused(state, wr, VIRTIO_IB_WC_REM_INV_REQ_ERR, VIRTIO_RDMA_EVENT_QP_REQ_ERR);
}

/* A receive request that is too short: its completion tells of that. */
static void test_no_event_beside_completion(void **state)
{
	struct ends e = ends_up(state);
	struct eg_wr wr = eg_send(&e.p.a, 1, 0, 8);

	er_give_events(e.p.b.guest, 0, 4);
	eg_recv(&e.p.b, 1, IN, 4);
	eg_post_send(&e.p.a, &wr);
	eg_run(e.p.engine);
	eg_expect(&e.p.b, 1, VIRTIO_IB_WC_LOC_LEN_ERR);
	er_expect_no_event(e.p.b.guest, 0);
}

/* The first request in RTR, and no other. */
static void test_established(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.b.guest;
	struct eg_wr wr = write_to(&e, EG_VA, e.p.b.lkey);
	unsigned int i;

	er_give_events(guest, 0, 4);
	/* In RTS it is not an event. */
	eg_post_send(&e.p.a, &wr);
	eg_run(e.p.engine);
	eg_expect(&e.p.a, wr.wr_id, 0);
	er_expect_no_event(guest, 0);
	eg_to(&e.p.b, RC, VIRTIO_IB_QPS_RESET, &e.p.a);
	eg_to(&e.p.a, RC, VIRTIO_IB_QPS_RESET, &e.p.b);
	eg_connect(&e.p.a, &e.p.b, RC);
	eg_to(&e.p.b, RC, VIRTIO_IB_QPS_RESET, &e.p.a);
	eg_to(&e.p.b, RC, VIRTIO_IB_QPS_INIT, &e.p.a);
	eg_to(&e.p.b, RC, VIRTIO_IB_QPS_RTR, &e.p.a);
	er_expect_no_event(guest, 0);
	for (i = 0; i < 3; i++) {
		eg_post_send(&e.p.a, &wr);
		eg_run(e.p.engine);
		eg_expect(&e.p.a, wr.wr_id, 0);
	}
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_COMM_EST, e.p.b.qpn);
	er_expect_no_event(guest, 0);
}

static void to_state(const struct ends *e, uint8_t state)
{
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(e->p.a.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_STATE),
		.qp_state = state,
	};

	assert_int_equal(eg_modify(e->p.a.guest, &req), VIRTIO_NET_OK);
}

/* Once for each SQD, behind the completions of what was begun. */
static void test_drained(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.a.guest;
	struct eg_wr wr = write_to(&e, EG_VA, e.p.b.lkey);

	er_give_events(guest, 0, 4);
	/* There is nothing to drain. */
	to_state(&e, VIRTIO_IB_QPS_SQD);
	eg_run(e.p.engine);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_SQ_DRAINED, e.p.a.qpn);
	to_state(&e, VIRTIO_IB_QPS_SQD);
	eg_run(e.p.engine);
	er_expect_no_event(guest, 0);
	to_state(&e, VIRTIO_IB_QPS_RTS);

	/* A READ that waits for its answer. */
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	eg_post_send(&e.p.a, &wr);
	assert_true(rnic_poll(guest->rnic));
	to_state(&e, VIRTIO_IB_QPS_SQD);
	while (rnic_poll(guest->rnic))
		;
	er_expect_no_event(guest, 0);
	eg_run(e.p.engine);
	eg_expect(&e.p.a, wr.wr_id, 0);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_SQ_DRAINED, e.p.a.qpn);
	er_expect_no_event(guest, 0);
}

/* A request that is malformed and was not begun does not end SQD, but what is behind it. */
static void test_drained_before_malformed(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.a.guest;
	struct eg_wr wr = write_to(&e, EG_VA, e.p.b.lkey);

	er_give_events(guest, 0, 4);
	wr.opcode = VIRTIO_IB_WR_RDMA_READ;
	eg_post_send(&e.p.a, &wr);
	wr.opcode = 0xee;
	eg_post_send(&e.p.a, &wr);
	assert_true(rnic_poll(guest->rnic));
	to_state(&e, VIRTIO_IB_QPS_SQD);
	eg_run(e.p.engine);
	eg_expect(&e.p.a, wr.wr_id, 0);
	eg_expect_none(&e.p.a);
	assert_int_equal(eg_state(guest, e.p.a.qpn), VIRTIO_IB_QPS_SQD);
	er_expect_event(guest, 0, VIRTIO_RDMA_EVENT_SQ_DRAINED, e.p.a.qpn);
	to_state(&e, VIRTIO_IB_QPS_RTS);
	eg_run(e.p.engine);
	eg_expect(&e.p.a, wr.wr_id, VIRTIO_IB_WC_LOC_QP_OP_ERR);
}

/* An event that waits for a buffer is of one connection: RESET ends it. */
static void test_reset_drops(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.a.guest;

	to_state(&e, VIRTIO_IB_QPS_SQD);
	eg_run(e.p.engine);
	eg_to(&e.p.a, RC, VIRTIO_IB_QPS_RESET, &e.p.b);
	er_give_events(guest, 0, 4);
	er_expect_no_event(guest, 0);
}

/* The guest's memory goes away under the control block. */
static void test_control_lost(void **state)
{
	struct ends e = ends_up(state);
	struct eg_guest *guest = e.p.b.guest;

	er_arm(&e.cq, NEXT);
	er_lose_page(guest, le64toh(e.cq.req.control));
	eg_recv(&e.p.b, 1, IN, 4);
	eg_post_send(&e.p.a, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_SIGNALED,
	});
	eg_run(e.p.engine);
	er_expect_event(guest, 1, VIRTIO_RDMA_EVENT_CQ_ERROR, e.cq.cqn);
	assert_int_equal(eg_state(guest, e.p.b.qpn), VIRTIO_IB_QPS_ERR);
	assert_int_equal(e.cq.control->device, 0);
	rnic_mem_changed(guest->rnic, &guest->map);
}

/* The driver asks for no interrupts while it takes events, as NAPI does. */
static void test_suppressed(void **state)
{
	struct ends e = ends_up(state);
	struct eg_ring *ring = &e.p.b.guest->event[1];

	/* used_event: not before event 3 */
	ring->vq.avail->ring[EG_QUEUE] = htole16(2);
	er_arm(&e.cq, NEXT);
	send(&e, 1, 0);
	er_arm(&e.cq, NEXT);
	send(&e, 2, 0);
	assert_int_equal(ring->calls, 0);
	er_arm(&e.cq, NEXT);
	send(&e, 3, 0);
	assert_int_equal(ring->calls, 1);
}

static void expect_refused(struct er_cq *cq)
{
	assert_int_equal(er_create_cq(cq), VIRTIO_NET_ERR);
}

static void test_bad_requests(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct er_cq good, cq;

	er_cq_init(&good, guest, EG_QUEUE, 0, 1);
	cq = good;
	cq.req.event_vq = htole16(EG_EVENT_VQS);
	expect_refused(&cq);
	cq = good;
	cq.req.control = htole64(le64toh(good.req.control) + 32);
	expect_refused(&cq);
	cq = good;
	cq.req.control = htole64(EG_BASE + EG_SIZE);
	expect_refused(&cq);
	cq = good;
	cq.req.flags |= 4;
	expect_refused(&cq);
	cq = good;
	cq.req.npages = htole32(1);
	expect_refused(&cq);
	cq = good;
	cq.req.cqe = 0;
	expect_refused(&cq);
	/* Neither form. */
	assert_int_equal(eg_command(guest, CMD(CREATE_CQ), &good.req, 31, &cq.cqn, 4),
			 VIRTIO_NET_ERR);
	assert_int_equal(er_create_cq(&good), VIRTIO_NET_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, eg_setup_direct, eg_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_offered),
		cmocka_unit_test_setup_teardown(test_not_offered, eg_setup, eg_teardown),
		TEST(test_armed),
		TEST(test_solicited),
		TEST(test_moderated),
		TEST(test_moderated_armings),
		TEST(test_moderated_changed),
		TEST(test_no_command_arms),
		TEST(test_held),
		TEST(test_held_paused),
		TEST(test_no_buffers),
		TEST(test_destroyed),
		TEST(test_stopped),
		TEST(test_short_buffer),
		TEST(test_qp_broken),
		TEST(test_access_error),
		TEST(test_read_access_error),
		TEST(test_request_error),
		TEST(test_no_event_beside_completion),
		TEST(test_established),
		TEST(test_drained),
		TEST(test_drained_before_malformed),
		TEST(test_reset_drops),
		TEST(test_control_lost),
		TEST(test_suppressed),
		TEST(test_bad_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
