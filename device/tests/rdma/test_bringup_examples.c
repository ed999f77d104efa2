// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Annex B of Documentation/spec.rst: from reset to the first SEND and its completion.
 *
 * All bytes of the driver are those of the document, and all of the device are compared
 * with it.  Handles and keys are the device's choice: those of the document are replaced by
 * those of this device in requests, and the other way round in what is compared.
 *
 * With SPEC_PRINT in the environment the test prints what the device writes, in the form of
 * the document, and compares nothing.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_ring.h"
#include "tests/lib/example.h"

#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define MAX_BYTES	640

/* Where the example has its memory. */
#define BUFFER_AT	(EG_BASE + 0x3000000)
#define PAGE_AT		(EG_BASE + 0x3001000)
#define CQ_CONTROL_AT	(EG_BASE + 0x3002000)
#define QP_CONTROL_AT	(EG_BASE + 0x3002040)
#define CQ_AT		(EG_BASE + 0x3003000)
#define SEND_AT		(EG_BASE + 0x3004000)
#define RECV_AT		(EG_BASE + 0x3005000)

/* Capabilities that depend on the processor of the host. */
#define HOST_CAPS	(VIRTIO_IB_DEVICE_ATOMIC | VIRTIO_IB_DEVICE_ATOMIC_WRITE | \
			 VIRTIO_IB_DEVICE_DATA_IN_ORDER)

/* Handles of the document, and those of this device: PD, key, doorbell page. */
static const uint32_t doc_handle[] = { 0x2b01, 0x1501, 0x2a01 };
static uint32_t our_handle[ARRAY_SIZE(doc_handle)];

/* Replace the handles in @len bytes; all are at multiples of 4. */
static void translate(void *data, size_t len, const uint32_t *from, const uint32_t *to)
{
	__le32 *word = data;
	size_t i, k;

	for (i = 0; i < len / sizeof(*word); i++)
		for (k = 0; k < ARRAY_SIZE(doc_handle); k++)
			if (from[k] && word[i] == htole32(from[k])) {
				word[i] = htole32(to[k]);
				break;
			}
}

static void compare(const char *name, const void *data, size_t len)
{
	uint8_t wanted[MAX_BYTES];
	const uint8_t *p = data;
	size_t i;

	if (!getenv("SPEC_PRINT")) {
		assert_int_equal(example(name, wanted, sizeof(wanted)), len);
		assert_memory_equal(data, wanted, len);
		return;
	}
	for (i = 0; i < len; i++) {
		if (i % 16 == 0)
			printf("%s  %-10s %04zx ", i ? "\n" : "", name, i);
		printf(" %02x", p[i]);
	}
	printf("\n");
}

/* The request is example @req, the response example @rsp, of @len bytes. */
static void command(struct eg_guest *guest, uint8_t number, const char *req,
		    const char *rsp, size_t len)
{
	uint64_t to[MAX_BYTES / 8], from[RNIC_RSP_MAX / 8];
	size_t n = req ? example(req, to, sizeof(to)) : 0;

	translate(to, n, doc_handle, our_handle);
	assert_int_equal(eg_command(guest, number, to, n, rsp ? from : NULL, len),
			 VIRTIO_NET_OK);
	if (rsp)
		compare(rsp, from, len);
}

/* The same for a command that answers with handle number @k of those above. */
static void new_handle(struct eg_guest *guest, uint8_t number, const char *req,
		       const char *rsp, unsigned int k)
{
	uint64_t to[MAX_BYTES / 8];
	__le32 ack[3], wanted[3];
	size_t n = req ? example(req, to, sizeof(to)) : 0;
	size_t len = number == CMD(REG_USER_MR) ? 12 : 4;

	translate(to, n, doc_handle, our_handle);
	assert_int_equal(eg_command(guest, number, to, n, ack, len), VIRTIO_NET_OK);
	our_handle[k] = le32toh(ack[len == 12]);
	assert_int_equal(example(rsp, wanted, sizeof(wanted)), len);
	assert_int_equal(le32toh(wanted[len == 12]), doc_handle[k]);
}

static void query_device(struct eg_guest *guest)
{
	struct virtio_rdma_ack_query_device ack, wanted;

	assert_int_equal(eg_command(guest, CMD(QUERY_DEVICE), NULL, 0, &ack, sizeof(ack)),
			 VIRTIO_NET_OK);
	if (!getenv("SPEC_PRINT")) {
		example("up_device", &wanted, sizeof(wanted));
		ack.device_cap_flags &= ~htole64(HOST_CAPS);
		ack.device_cap_flags |= wanted.device_cap_flags & htole64(HOST_CAPS);
	}
	compare("up_device", &ack, sizeof(ack));
}

static void common_steps(struct eg_guest *guest)
{
	query_device(guest);
	command(guest, CMD(QUERY_PORT), NULL, "up_port", 32);
	command(guest, CMD(ADD_GID), "up_gid", NULL, 0);
	new_handle(guest, CMD(CREATE_PD), NULL, "up_pd", 0);
	new_handle(guest, CMD(REG_USER_MR), "up_mr", "up_key", 1);
	memcpy(eg_ptr(guest, BUFFER_AT), "hello", 5);
}

/* The peer is connected with QP @qpn of guest 1. */
static void connect_peer(struct eg_end *peer, struct eg_guest *to, uint32_t qpn)
{
	static const uint8_t states[] = {
		VIRTIO_IB_QPS_INIT, VIRTIO_IB_QPS_RTR, VIRTIO_IB_QPS_RTS,
	};
	struct virtio_rdma_cmd_modify_qp req;
	unsigned int i;

	for (i = 0; i < sizeof(states); i++) {
		req = eg_modify_req(peer->qpn, RC, states[i], to, qpn);
		req.rq_psn = htole32(0x100);
		req.sq_psn = htole32(0x200);
		assert_int_equal(eg_modify(peer->guest, &req), VIRTIO_NET_OK);
	}
}

static void modify(struct eg_guest *guest, const char *name, uint32_t qpn, uint32_t peer)
{
	struct virtio_rdma_cmd_modify_qp req;

	assert_int_equal(example(name, &req, sizeof(req)), sizeof(req));
	req.qpn = htole32(qpn);
	if (req.dest_qp_num)
		req.dest_qp_num = htole32(peer);
	assert_int_equal(eg_modify(guest, &req), VIRTIO_NET_OK);
}

/* Slot @name goes to the next place of a virtqueue. */
static void post(struct eg_ring *ring, const char *name)
{
	uint8_t wanted[6];

	example(name, eg_slot(ring), ring->slot_size);
	translate(eg_slot(ring), ring->slot_size, doc_handle, our_handle);
	eg_post_slot(ring);
	example("r_avail", wanted, sizeof(wanted));
	assert_memory_equal(ring->vq.avail, wanted, sizeof(wanted));
}

static void test_virtqueues(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct eg_ring *cq = &guest->cq[0];
	struct eg_end peer;
	struct eg_wr wr;
	unsigned int i;

	eg_ports(engine);
	common_steps(guest);
	command(guest, CMD(CREATE_CQ), "r_cq", "r_cqn", 4);
	for (i = 0; i < EG_QUEUE; i++)
		eg_post_slot(cq);
	command(guest, CMD(CREATE_QP), "r_qp", "r_qpn", 4);
	peer = eg_open(&engine->guest[1], RC);
	command(guest, CMD(MODIFY_QP), "r_init", NULL, 0);
	post(&guest->rq[2], "r_recv");
	command(guest, CMD(MODIFY_QP), "r_rtr", NULL, 0);
	command(guest, CMD(MODIFY_QP), "r_rts", NULL, 0);
	connect_peer(&peer, guest, 2);

	eg_recv(&peer, 1, EG_IN, 64);
	command(guest, CMD(REQ_NOTIFY_CQ), "r_notify", NULL, 0);
	post(&guest->sq[2], "r_send");
	rnic_queue_kick(guest->rnic, RNIC_SQ, 2);
	eg_run(engine);
	assert_memory_equal(eg_ptr(peer.guest, EG_DATA + EG_IN), "hello", 5);
	compare("r_packet", eg_port[0].frame, eg_port[0].len);
	assert_int_equal(cq->calls, 1);
	compare("r_used", guest->sq[2].vq.used, 12);
	compare("r_sent", eg_ptr(guest, cq->slots), 48);

	wr = (struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_INLINE,
		.data = "hello",
		.data_len = 5,
	};
	eg_post_send(&peer, &wr);
	eg_run(engine);
	compare("r_received", eg_ptr(guest, cq->slots + 48), 48);
	assert_int_equal(cq->calls, 1);
}

static void test_rings(void **state)
{
	struct engine *engine = *state;
	struct eg_guest *guest = &engine->guest[0];
	struct virtio_rdma_doorbell_page *page = eg_ptr(guest, PAGE_AT);
	struct virtio_rdma_event event;
	struct er_end peer;

	eg_ports(engine);
	common_steps(guest);
	er_give_events(guest, 0, 4);
	new_handle(guest, CMD(ALLOC_DOORBELL), "d_bell", "d_handle", 2);
	command(guest, CMD(CREATE_CQ), "d_cq", "d_cqn", 4);
	command(guest, CMD(CREATE_QP), "d_qp", "d_qpn", 4);
	er_open(&peer, &engine->guest[1], RC, &(struct er_shape) {});
	modify(guest, "r_init", EG_QPS, EG_QPS);
	example("d_recv", eg_ptr(guest, RECV_AT), 64);
	translate(eg_ptr(guest, RECV_AT), 64, doc_handle, our_handle);
	example("d_post_recv", eg_ptr(guest, QP_CONTROL_AT), 64);
	modify(guest, "r_rtr", EG_QPS, EG_QPS);
	modify(guest, "r_rts", EG_QPS, EG_QPS);
	connect_peer(&peer.end, guest, EG_QPS);

	er_recv(&peer, EG_IN, 64);
	example("d_arm", eg_ptr(guest, CQ_CONTROL_AT), 64);
	example("d_send", eg_ptr(guest, SEND_AT), 64);
	translate(eg_ptr(guest, SEND_AT), 64, doc_handle, our_handle);
	example("d_post_send", eg_ptr(guest, QP_CONTROL_AT), 64);
	assert_int_not_equal(page->ring_me, 0);
	example("d_page", page, sizeof(*page));
	rnic_queue_kick(guest->rnic, RNIC_DOORBELL, 0);
	eg_run(engine);
	assert_memory_equal(eg_ptr(peer.end.guest, EG_DATA + EG_IN), "hello", 5);
	compare("d_packet", eg_port[0].frame, eg_port[0].len);
	compare("d_sent", eg_ptr(guest, CQ_AT), 32);
	assert_true(er_take_event(guest, 0, &event));
	compare("d_event", &event, sizeof(event));

	er_post_send(&peer.qp, &(struct eg_wr) {
		.opcode = VIRTIO_IB_WR_SEND,
		.flags = VIRTIO_IB_SEND_INLINE,
		.data = "hello",
		.data_len = 5,
	});
	eg_run(engine);
	compare("d_received", eg_ptr(guest, CQ_AT + 32), 32);
	/* It is not armed any more. */
	er_expect_no_event(guest, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_virtqueues, eg_setup_direct,
						eg_teardown),
		cmocka_unit_test_setup_teardown(test_rings, eg_setup_direct, eg_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
