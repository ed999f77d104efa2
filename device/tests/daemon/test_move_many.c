// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A guest with a thousand busy QPs, each with a CQ of its own, moves between two daemons and
 * back.  $SANDBOXED is the path of the daemon, as shipped, which prints how long it takes.
 *
 * Each QP has a message under way when the guest is stopped: half of them are sent by the
 * guest, half by its peer, and nobody has posted a receive request for any.
 */
#include <endian.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/front_direct.h"
#include "tests/lib/moving.h"

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

#define MANY		1000u
#define MEM		(32u << 20)
#define MESSAGE		4096u
#define STATE_MAX	(4u << 20)
#define TIMEOUT_NS	60000000000ULL

/* The most that a QP may have in a state, its CQ and message included. */
#define QP_BYTES	1024u

enum { MOVER, PEER, GUESTS };

/**
 * struct end - a guest's ends of all connections
 * @front:	guest
 * @direct:	what its QPs share, but for the CQ
 * @qp:		QPs
 * @cq:		the same with the CQ of each
 * @key:	of the memory that messages are in
 * @at:		one message that is sent, and one for each receive request
 * @sent:	messages that have completed
 * @got:	messages that have come
 */
struct end {
	struct front front;
	struct front_direct direct;
	struct front_dqp qp[MANY];
	struct front_direct cq[MANY];
	uint32_t key;
	uint64_t at;
	unsigned int sent;
	unsigned int got;
};

static struct moving between;
static struct end ends[GUESTS];

static void end_open(struct end *end, const char *path, uint8_t number)
{
	struct virtio_rdma_ack_create_pd ack;
	const uint32_t len = (1 + FD_DEPTH) * MESSAGE;
	unsigned int i;

	*end = (struct end) {};
	front_open_mem(&end->front, path, number, FEATURES, MEM);
	front_command(&end->front, VIRTIO_NET_CTRL_ROCE_CREATE_PD, NULL, 0, &ack, sizeof(ack));
	front_direct_open(&end->direct, &end->front, le32toh(ack.pdn));
	end->at = guest_alloc(&end->front.guest, len, MESSAGE);
	end->key = front_reg(&end->front, le32toh(ack.pdn), end->at, len);
	for (i = 0; i < MANY; i++) {
		end->cq[i] = end->direct;
		front_direct_own_cq(&end->cq[i]);
		end->cq[i].bits = i;
		front_dqp_open(&end->qp[i], &end->cq[i]);
	}
}

static struct virtio_rdma_sge message(const struct end *end, unsigned int slot)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(end->at + slot * MESSAGE),
		.length = htole32(MESSAGE),
		.lkey = htole32(end->key),
	};
}

static int setup(void **state)
{
	unsigned int i;

	/* 17 s: a daemon that stands still for seconds, as on a busy machine, is not a loss. */
	front_ack_timeout = 22;
	moving_start(&between, NULL);
	end_open(&ends[MOVER], between.socket_of[0][0], 1);
	end_open(&ends[PEER], between.socket_of[0][1], 2);
	for (i = 0; i < MANY; i++) {
		front_connect(&ends[MOVER].qp[i].qp, VIRTIO_IB_QPT_RC, &ends[PEER].qp[i].qp);
		front_connect(&ends[PEER].qp[i].qp, VIRTIO_IB_QPT_RC, &ends[MOVER].qp[i].qp);
	}
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < GUESTS; i++)
		front_close(&ends[i].front);
	moving_stop(&between);
	return 0;
}

static void send_all(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		front_dqp_send(&ends[i % GUESTS].qp[i], message(&ends[i % GUESTS], 0));
}

/* Takes what completed, and gives each message that came a place for the next one. */
static void take(struct end *end)
{
	struct virtio_rdma_cqe cqe;
	unsigned int i;

	for (i = 0; i < MANY; i++)
		while (front_direct_poll(&end->cq[i], &cqe)) {
			if (cqe.status)
				fail_msg("QP %u: status %u", i, cqe.status);
			if (!(cqe.opcode & VIRTIO_RDMA_CQE_RECV)) {
				end->sent++;
				continue;
			}
			assert_int_equal(le32toh(cqe.byte_len), MESSAGE);
			end->got++;
			front_direct_recv(&end->direct, message(end, 1 + le32toh(cqe.wqe)),
					  le32toh(cqe.wqe));
		}
}

static bool all_came(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < GUESTS; i++)
		if (ends[i].sent < rounds * MANY / GUESTS || ends[i].got < rounds * MANY / GUESTS)
			return false;
	return true;
}

/* All that is under way arrives, once. */
static void finish(unsigned int rounds)
{
	const uint64_t began = moving_ns();
	unsigned int i, slot;

	for (i = 0; i < GUESTS; i++)
		for (slot = 0; rounds == 1 && slot < FD_DEPTH / 2; slot++)
			front_direct_recv(&ends[i].direct, message(&ends[i], 1 + slot), slot);
	while (!all_came(rounds)) {
		for (i = 0; i < GUESTS; i++)
			take(&ends[i]);
		if (moving_ns() - began > TIMEOUT_NS)
			fail_msg("sent %u and %u, got %u and %u", ends[0].sent, ends[1].sent,
				 ends[0].got, ends[1].got);
	}
	for (i = 0; i < GUESTS; i++) {
		assert_int_equal(ends[i].sent, rounds * MANY / GUESTS);
		assert_int_equal(ends[i].got, rounds * MANY / GUESTS);
	}
}

static size_t move(void)
{
	static uint8_t data[STATE_MAX];
	struct front *front = &ends[MOVER].front;
	uint16_t base[FRONT_QUEUES];
	struct moving_copy copy;
	size_t len;
	int old = front->sock;

	moving_copy_begin(&copy, front);
	moving_copy_sync(&copy, front);
	front_pause(front, base);
	moving_copy_sync(&copy, front);
	moving_copy_check(&copy, front);
	len = front_save(front, data, sizeof(data));
	moving_copy_use(&copy, front);
	assert_true(front_load(front, between.socket_of[!between.here][0], data, len));
	front_resume(front, base);
	print_message("%u busy QPs: %zu bytes of state\n", MANY, len);
	between.here = !between.here;
	moving_copy_end(&copy, front);
	close(old);
	return len;
}

static void test_many(void **state)
{
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		send_all();
		assert_in_range(move(), 0, QP_BYTES * MANY);
		finish(i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
