// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A node's memory and verbs: data between it and a guest.
 */
#include "tests/lib/node_bed.h"

#include <errno.h>
#include <stdlib.h>

#define LEN		70000u
#define MS		(1000 * 1000ULL)

/**
 * struct peer - a QP of the node's, and one of a guest's
 * @bed:	all
 * @end:	the guest's
 * @qp:		the node's
 * @buf:	block of the node's memory
 * @cqe:	its completions
 * @n:		number of them
 */
struct peer {
	struct node_bed *bed;
	struct eg_end end;
	struct node_qp qp;
	uint8_t *buf;
	struct virtio_rdma_cqe cqe[64];
	unsigned int n;
};

static void done(void *arg, const struct virtio_rdma_cqe *cqe)
{
	struct peer *peer = arg;

	assert_true(peer->n < 64);
	peer->cqe[peer->n++] = *cqe;
}

/* The guest's side; @mac of the node. */
static void connect_guest(struct peer *peer, uint32_t qpn)
{
	struct eg_guest *guest = peer->end.guest;
	struct virtio_rdma_cmd_modify_qp req;
	uint8_t state;

	for (state = VIRTIO_IB_QPS_INIT; state <= VIRTIO_IB_QPS_RTS; state++) {
		req = eg_modify_req(peer->end.qpn, VIRTIO_IB_QPT_RC, state, guest, qpn);
		memcpy(req.ah_attr.grh.dgid, peer->bed->config.gid[0], GID_SIZE);
		memcpy(req.ah_attr.dmac, peer->bed->config.mac, ETH_ALEN);
		req.path_mtu = VIRTIO_IB_MTU_4096;
		assert_int_equal(eg_modify(guest, &req), VIRTIO_NET_OK);
	}
}

static struct peer *connected(void **state)
{
	static struct peer peer;
	struct node_path path;
	struct virtio_rdma_ack_query_qp query;

	memset(&peer, 0, sizeof(peer));
	peer.bed = *state;
	peer.end = eg_open(&peer.bed->engine->guest[0], VIRTIO_IB_QPT_RC);
	peer.qp.done = done;
	peer.qp.arg = &peer;
	assert_true(node_qp_open(&peer.qp, &peer.bed->node->verbs, 100, 20));
	assert_true(node_qp_listen(&peer.qp));
	connect_guest(&peer, peer.qp.qpn);
	query = eg_query(peer.end.guest, peer.end.qpn);
	path = (struct node_path) {
		.dmac = { 0x52, 0x54, 0, 0, 0, 1 },
		.qpn = peer.end.qpn,
		.rq_psn = le32toh(query.sq_psn),
		.sq_psn = le32toh(query.rq_psn),
		.mtu = VIRTIO_IB_MTU_4096,
		.reads = 4,
		.timeout = 14,
		.retries = 2,
		.rnr_retries = 7,
	};
	eg_gid(peer.end.guest, path.dgid);
	assert_true(node_qp_connect(&peer.qp, &path));
	peer.buf = node_mem_get(&peer.bed->node->mem, LEN);
	assert_non_null(peer.buf);
	memset(peer.buf, 0, LEN);
	return &peer;
}

static void disconnected(struct peer *peer)
{
	node_qp_fail(&peer->qp);
	bed_run(peer->bed);
	assert_true(node_qp_idle(&peer->qp));
	node_qp_close(&peer->qp);
	node_mem_put(&peer->bed->node->mem, peer->buf);
}

static const struct virtio_rdma_cqe *expect(struct peer *peer, unsigned int i, uint8_t opcode,
					    uint8_t status)
{
	assert_true(i < peer->n);
	assert_int_equal(peer->cqe[i].status, status);
	assert_int_equal(peer->cqe[i].opcode, opcode);
	assert_int_equal(le32toh(peer->cqe[i].qp_num), peer->qp.qpn);
	return &peer->cqe[i];
}

/* Received, answered with what was received. */
static void exchange_sends(struct peer *peer)
{
	const struct virtio_rdma_swqe send = { .opcode = VIRTIO_IB_WR_SEND };
	const struct virtio_rdma_cqe *cqe;
	struct eg_wr wr = eg_send(&peer->end, 1, 0, 5000);

	eg_fill(peer->end.guest, 0, 5000, 7);
	assert_int_equal(node_qp_recv(&peer->qp, peer->buf, LEN), 0);
	eg_recv(&peer->end, 2, EG_IN, 6000);
	eg_post_send(&peer->end, &wr);
	bed_run(peer->bed);
	cqe = expect(peer, 0, VIRTIO_RDMA_CQE_RECV | VIRTIO_IB_WC_RECV, 0);
	assert_int_equal(le32toh(cqe->byte_len), 5000);
	assert_int_equal(le32toh(cqe->wqe), 0);
	eg_expect(&peer->end, 1, 0);

	assert_int_equal(node_qp_post(&peer->qp, &send, peer->buf, 5000), 0);
	bed_run(peer->bed);
	expect(peer, 1, VIRTIO_IB_WC_SEND, 0);
	assert_int_equal(eg_expect(&peer->end, 2, 0).byte_len, 5000);
	eg_check(peer->end.guest, EG_IN, 5000, 7, 0);
}

static void test_send(void **state)
{
	struct peer *peer = connected(state);

	exchange_sends(peer);
	disconnected(peer);
}

static void test_send_by_packets(void **state)
{
	struct peer *peer;

	bed_packets(*state);
	peer = connected(state);
	exchange_sends(peer);
	disconnected(peer);
}

/* READ what the guest has, and WRITE it to another place. */
static void test_read_write(void **state)
{
	struct peer *peer = connected(state);
	struct virtio_rdma_swqe wqe = {
		.opcode = VIRTIO_IB_WR_RDMA_READ,
		.rdma.remote_addr = htole64(EG_VA),
		.rdma.rkey = htole32(peer->end.lkey),
	};

	eg_fill(peer->end.guest, 0, LEN, 3);
	node_qp_post(&peer->qp, &wqe, peer->buf, LEN);
	bed_run(peer->bed);
	expect(peer, 0, VIRTIO_IB_WC_RDMA_READ, 0);
	wqe.opcode = VIRTIO_IB_WR_RDMA_WRITE;
	wqe.rdma.remote_addr = htole64(EG_VA + EG_IN);
	node_qp_post(&peer->qp, &wqe, peer->buf, LEN);
	bed_run(peer->bed);
	expect(peer, 1, VIRTIO_IB_WC_RDMA_WRITE, 0);
	eg_check(peer->end.guest, EG_IN, LEN, 3, 0);
	disconnected(peer);
}

/* Whatever key a peer guesses, it has no right. */
static void test_peer_has_no_right(void **state)
{
	struct peer *peer = connected(state);
	struct eg_wr wr = {
		.wr_id = 1,
		.opcode = VIRTIO_IB_WR_RDMA_WRITE,
		.flags = VIRTIO_IB_SEND_SIGNALED,
		.remote_addr = node_mem_addr(&peer->bed->node->mem, peer->buf),
		.rkey = peer->bed->node->verbs.lkey,
		.num_sge = 1,
		.sge = { { EG_VA, 100, peer->end.lkey } },
	};

	eg_fill(peer->end.guest, 0, 100, 3);
	eg_post_send(&peer->end, &wr);
	bed_run(peer->bed);
	eg_expect(&peer->end, 1, VIRTIO_IB_WC_REM_INV_REQ_ERR);
	assert_int_equal(peer->buf[0], 0);
	disconnected(peer);
}

/* All slots are used many times over, by a QP whose ring has 128. */
static void test_many(void **state)
{
	struct peer *peer = connected(state);
	struct virtio_rdma_swqe wqe = {
		.opcode = VIRTIO_IB_WR_RDMA_WRITE,
		.rdma.remote_addr = htole64(EG_VA),
		.rdma.rkey = htole32(peer->end.lkey),
	};
	unsigned int i, round;

	assert_int_equal(peer->qp.send_depth, 128);
	for (round = 0; round < 300; round++) {
		for (i = 0; i < 50; i++)
			node_qp_post(&peer->qp, &wqe, peer->buf, 1);
		assert_int_equal(node_qp_room(&peer->qp), 78);
		bed_run(peer->bed);
		assert_int_equal(node_qp_room(&peer->qp), 128);
		assert_int_equal(peer->n, 50);
		for (i = 0; i < 50; i++)
			assert_int_equal(le32toh(expect(peer, i, VIRTIO_IB_WC_RDMA_WRITE, 0)->wqe),
					 round * 50 + i);
		peer->n = 0;
	}
	disconnected(peer);
}

/* All that was posted completes when the QP fails, and the next one begins anew. */
static void test_flush(void **state)
{
	struct peer *peer = connected(state);
	const uint32_t first = peer->qp.qpn;
	unsigned int i;

	for (i = 0; i < 20; i++)
		node_qp_recv(&peer->qp, peer->buf, 64);
	assert_false(node_qp_idle(&peer->qp));
	disconnected(peer);
	assert_int_equal(peer->n, 20);
	assert_int_equal(peer->cqe[19].status, VIRTIO_IB_WC_WR_FLUSH_ERR);
	peer = connected(state);
	assert_int_not_equal(peer->qp.qpn, first);
	disconnected(peer);
}

/* A node has as many QPs as it says, and then none. */
static void test_all_qps(void **state)
{
	struct node_bed *bed = *state;
	struct node_verbs *verbs = &bed->node->verbs;
	const size_t left = bed->node->mem.left;
	struct node_qp *qp = calloc(NODE_QPS + 1, sizeof(*qp));
	unsigned int i, round;

	assert_non_null(qp);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < NODE_QPS; i++)
			assert_true(node_qp_open(&qp[i], verbs, NODE_SEND_MAX, NODE_RECV_MAX));
		assert_false(node_qp_open(&qp[i], verbs, 1, 1));
		for (i = 0; i < NODE_QPS; i++)
			node_qp_close(&qp[i]);
	}
	assert_int_equal(bed->node->mem.left, left);
	assert_false(node_qp_open(&qp[0], verbs, NODE_SEND_MAX + 1, 1));
	assert_false(node_qp_open(&qp[0], verbs, 1, NODE_RECV_MAX + 1));
	free(qp);
}

/* ------------------------------------------------------------------------- */
/* Memory                                                                    */
/* ------------------------------------------------------------------------- */

/* Blocks of all sizes, taken and given back in another order, do not overlap. */
static void test_memory(void **state)
{
	const size_t size = 4 * NODE_MEM_LARGEST;
	unsigned int i, n = 0, seed = 1;
	struct node_mem mem;
	uint8_t *block[64];
	size_t len[64];

	assert_int_equal(node_mem_init(&mem, size, 0), 0);
	for (i = 0; i < 5000; i++) {
		seed = seed * 1103515245 + 12345;
		if (n < 64 && seed >> 16 & 1) {
			len[n] = 1 + (seed >> 8) % (NODE_MEM_LARGEST >> (seed >> 17 & 7));
			block[n] = node_mem_get(&mem, len[n]);
			if (!block[n])
				continue;
			memset(block[n], n + 1, len[n]);
			n++;
		} else if (n) {
			n--;
			assert_int_equal(block[n][0], n + 1);
			assert_int_equal(block[n][len[n] - 1], n + 1);
			node_mem_put(&mem, block[n]);
		}
	}
	while (n--)
		node_mem_put(&mem, block[n]);
	assert_int_equal(mem.left, size);
	/* All of it is in one piece again. */
	for (i = 0; i < 4; i++)
		assert_non_null(node_mem_get(&mem, NODE_MEM_LARGEST));
	assert_null(node_mem_get(&mem, 1));
	assert_null(node_mem_get(&mem, NODE_MEM_LARGEST + 1));
	node_mem_fini(&mem);
}

static void test_memory_sizes(void **state)
{
	struct node_mem mem;

	assert_int_equal(node_mem_init(&mem, 0, 0), -EINVAL);
	assert_int_equal(node_mem_init(&mem, NODE_MEM_LARGEST + 4096, 0), -EINVAL);
	assert_int_equal(node_mem_init(&mem, NODE_MEM_MAX + NODE_MEM_LARGEST, 0), -EINVAL);
	assert_int_equal(node_mem_init(&mem, NODE_MEM_LARGEST, 2 * NODE_MEM_LARGEST), -EINVAL);
	assert_int_equal(node_mem_init(&mem, 2 * NODE_MEM_LARGEST, NODE_MEM_LARGEST), 0);
	assert_ptr_equal(node_mem_get(&mem, NODE_MEM_LARGEST), mem.host + NODE_MEM_LARGEST);
	assert_null(node_mem_get(&mem, 1));
	node_mem_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_send, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_send_by_packets, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_read_write, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_peer_has_no_right, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_many, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_flush, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(test_all_qps, bed_setup, bed_teardown),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
