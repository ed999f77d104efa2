// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon whose guests have nothing for it to do does nothing.  While some have work, it
 * does not look at the others, and hears of it when they have some.  $SANDBOXED is the path
 * of the daemon, as shipped.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"

#define GUESTS		64
#define MEM		(16u << 20)

/* How long the daemon may look for work, at most, after the last of it. */
#define SETTLE_S	2

/* Seconds in one of which, at least, nothing else made it lose its CPU; and for what must come. */
#define QUIET_TRIES	30
#define PATIENCE_S	60

/* Pings in a row after which it is seen that the others sleep. */
#define SEEN		100

#define LEN		4096u

/* A QP number that no guest has. */
#define NO_QP		7u

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

static struct front idle[GUESTS - 2];
static char paths[GUESTS - PP_GUESTS][96];

/* How often the daemon has gone to sleep, or lost its CPU. */
static unsigned long switches(void)
{
	unsigned long n = 0;
	char line[256];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", pp.pid);
	f = fopen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "voluntary_ctxt_switches:", 24))
			n = strtoul(line + 24, NULL, 10);
	fclose(f);
	return n;
}

static void test_idle(void **state)
{
	unsigned long before = 0, after = 0;
	uint64_t took;
	unsigned int i;

	for (i = 0; i < 100; i++)
		pp_ping(&took);
	/* On a busy machine, it may not have come to look for the last time. */
	for (i = 0; i < QUIET_TRIES; i++) {
		sleep(i ? 1 : SETTLE_S);
		before = switches();
		sleep(1);
		after = switches();
		print_message("%lu wake-ups in a second, of %u guests\n", after - before, GUESTS);
		if (after == before)
			break;
	}
	assert_int_equal(after, before);
	/* It is what was counted: it sleeps again after some work. */
	pp_ping(&took);
	for (i = 0; i < PATIENCE_S && switches() <= after; i++)
		sleep(1);
	assert_true(switches() > after);
}

/* ------------------------------------------------------------------------- */
/* Guests that sleep while others work                                       */
/* ------------------------------------------------------------------------- */

/* Does the daemon want to be told of a command? */
static bool wants_doorbell(const struct front *front)
{
	const struct guest_vq *vq = &front->vq[FRONT_CTRL].gvq;

	return !(__atomic_load_n(&vq->used->flags, __ATOMIC_SEQ_CST) &
		 VRING_USED_F_NO_NOTIFY);
}

/*
 * Plays ping-pong until the daemon has not looked at the others for so many pings.  Where it
 * has a CPU to itself, it is awake when an answer comes.
 */
static void play_until_quiet(void)
{
	const uint64_t end = pp_ran() + PP_LOOK_NS;
	unsigned int seen = 0, quiet, i;
	uint64_t took;

	while (seen < SEEN) {
		assert_true(pp_ran() < end);
		pp_ping(&took);
		for (i = 0, quiet = 0; i < GUESTS - 2; i++)
			quiet += wants_doorbell(&idle[i]);
		seen = quiet == GUESTS - 2 ? seen + 1 : 0;
	}
}

/**
 * struct side - a guest that is quiet most of the time
 * @qp:		its QP
 * @addr:	memory that it sends and receives
 * @pdn:	protection domain
 * @cqn:	CQ of both queues
 * @lkey:	key of @addr
 */
struct side {
	struct front_qp qp;
	uint64_t addr;
	uint32_t pdn;
	uint32_t cqn;
	uint32_t lkey;
};

static void side_init(struct side *side, struct front *front)
{
	side->pdn = pp_pd(front);
	side->cqn = front_cq(front);
	side->addr = guest_alloc(&front->guest, LEN, LEN);
	side->lkey = front_reg(front, side->pdn, side->addr, LEN);
	side->qp = front_qp(front, VIRTIO_IB_QPT_RC, side->pdn, side->cqn);
}

static struct virtio_rdma_sge side_sge(const struct side *side)
{
	return (struct virtio_rdma_sge) {
		.addr = htole64(side->addr),
		.length = htole32(LEN),
		.lkey = htole32(side->lkey),
	};
}

static void side_receive(const struct side *side)
{
	struct front_vq *vq = front_recv_vq(&side->qp);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_rq_req *req = front_slot(vq, slot);

	req->num_sge = htole32(1);
	req->sg_list[0] = side_sge(side);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

static void side_send(const struct side *side)
{
	struct front_vq *vq = front_send_vq(&side->qp);
	const uint16_t slot = vq->gvq.avail_idx % FRONT_NUM;
	struct virtio_rdma_sq_req *req = front_slot(vq, slot);

	req->opcode = VIRTIO_IB_WR_SEND;
	req->send_flags = VIRTIO_IB_SEND_SIGNALED;
	req->num_sge = htole32(1);
	req->sg_list[0] = side_sge(side);
	guest_vq_add_head(&vq->gvq, slot);
	front_kick(vq);
}

/* The others go on meanwhile. */
static void side_await(const struct side *side, uint8_t expected)
{
	const uint64_t end = pp_ran() + PP_LOOK_NS;
	uint64_t took;
	uint8_t status;

	while (!front_poll(&side->qp, &status)) {
		assert_true(pp_ran() < end);
		pp_ping(&took);
	}
	assert_int_equal(status, expected);
}

static void play_some(void)
{
	unsigned int i;
	uint64_t took;

	for (i = 0; i < SEEN; i++)
		pp_ping(&took);
}

/* Messages reach a guest that the daemon does not look at, and leave it. */
static void messages_between(const struct side *from, const struct side *to)
{
	side_receive(to);
	play_until_quiet();
	side_send(from);
	side_await(to, VIRTIO_IB_WC_SUCCESS);
	side_await(from, VIRTIO_IB_WC_SUCCESS);
	/* It comes before there is a receive request, and waits for that. */
	play_until_quiet();
	side_send(from);
	play_some();
	side_receive(to);
	side_await(to, VIRTIO_IB_WC_SUCCESS);
	side_await(from, VIRTIO_IB_WC_SUCCESS);
}

static void test_quiet_guests(void **state)
{
	struct side c, d, lost;
	struct front_qp nobody;

	play_until_quiet();
	/* Commands. */
	side_init(&c, &idle[0]);
	side_init(&d, &idle[1]);
	side_init(&lost, &idle[2]);
	front_connect(&c.qp, VIRTIO_IB_QPT_RC, &d.qp);
	front_connect(&d.qp, VIRTIO_IB_QPT_RC, &c.qp);
	nobody = d.qp;
	nobody.qpn = NO_QP;
	front_connect(&lost.qp, VIRTIO_IB_QPT_RC, &nobody);

	messages_between(&c, &d);
	messages_between(&d, &c);
	/* A timer alone ends this one, a second after its guest was quiet, and again. */
	play_until_quiet();
	side_send(&lost);
	side_await(&lost, VIRTIO_IB_WC_RETRY_EXC_ERR);
}

static int start(bool packets)
{
	char *options[2 * (GUESTS - PP_GUESTS) + 2];
	unsigned int i, n = 0;

	if (packets)
		options[n++] = (char *)"--packets";
	for (i = 0; i < GUESTS - PP_GUESTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/idle.%d.%u", getpid(), i);
		options[n++] = (char *)"--socket";
		options[n++] = paths[i];
	}
	options[n] = NULL;
	pp_start(options, FEATURES);
	for (i = 0; i < GUESTS - 2; i++)
		front_open_mem(&idle[i], i ? paths[i - 1] : pp.path[2], i + 3, FEATURES, MEM);
	return 0;
}

static int setup(void **state)
{
	return start(false);
}

static int setup_packets(void **state)
{
	return start(true);
}

static int teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < GUESTS - 2; i++)
		front_close(&idle[i]);
	pp_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_quiet_guests),
	};
	const struct CMUnitTest packets[] = {
		cmocka_unit_test(test_quiet_guests),
	};

	return cmocka_run_group_tests(tests, setup, teardown) +
	       cmocka_run_group_tests(packets, setup_packets, teardown);
}
