// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rule of events, for each form of CQ that there is in a process: a completion that is
 * stored after an arming brings one event, if it is one that was asked for; those that are
 * there when the CQ is armed bring none.  An arming for any completion wins over one for
 * solicited completions.
 *
 * Drivers and devices with vectors of their own or shared ones do not differ here: KUnit's
 * arm_news has them.
 */
#include <ccan/array_size.h>

#include "util.h"

/* Completions that a device with CQ_HOLD keeps because all slots are used. */
#define HELD	3

enum {
	RFC = 1,
	HOLD = 2,
	DIRECT = 4,
	ALL = RFC | HOLD | DIRECT,
};

/**
 * struct row - what happens to a CQ
 * @name: what is special
 * @forms: for which forms
 * @steps: n armed for any completion, s for solicited ones; c a completion comes, S a
 *	solicited one; F as many come as there are slots, and HELD more if they are held
 *	back; p one is polled, P all are; e an event is taken.  Behind each of those that may
 *	bring an event, there is one (!) or none (.)
 */
static const struct row {
	const char *name;
	unsigned int forms;
	const char *steps;
} rows[] = {
	{ "not armed", ALL, "c. S. P. c." },
	{ "armed when empty", ALL, "n c! c. S. P." },
	{ "armed when empty, solicited", ALL, "s c. S! S. c." },
	{ "armed when empty again", ALL, "n c! e P. n c! e P. n c!" },
	{ "armed with unpolled", ALL, "c. c. n c! c." },
	{ "armed with unpolled, then polled", ALL, "c. c. n P. c! c." },
	{ "armed with unpolled, solicited", ALL, "S. c. s c. S! S." },
	{ "armed with unpolled, polled in part", ALL, "c. c. c. n p. c! p. c." },
	{ "armed twice", ALL, "n n c! c." },
	{ "armed twice, solicited", ALL, "s s c. S! S." },
	{ "armed twice with unpolled", ALL, "c. n n c! c." },
	{ "any after solicited", ALL, "s n c! S." },
	{ "solicited after any", ALL, "n s c! S." },
	{ "solicited after any, often", ALL, "n s s s c! S." },
	{ "solicited after an event", ALL, "n c! e s c. S! e s c. S!" },
	{ "any after an event", ALL, "s S! e n c! e s c. S!" },
	{ "full", RFC | DIRECT, "F. n P. c! c." },
	{ "full, solicited", RFC | DIRECT, "F. s P. c. S! S." },
	{ "full, polled in part", RFC | DIRECT, "F. n p. c! p. c." },
	{ "full twice", RFC | DIRECT, "F. n P. c! e P. F. n p. c!" },
	{ "fills while armed", ALL, "n F! P." },
	{ "fills while armed, solicited", RFC | DIRECT, "s F. p. S!" },
	/* They are stored when there is room, after the arming. */
	{ "held back", HOLD, "F. n P! c." },
	{ "held back, one polled", HOLD, "F. n p! p. P." },
	{ "held back, solicited", HOLD, "F. s P. c. S!" },
};

/**
 * struct bench - a CQ and its device
 * @form: which one
 * @qp: a QP
 * @cq: its CQ
 * @armed: of the forms with a command: for what
 * @held: completions that are held back
 * @stored: completions that the device has stored
 * @polled: completions that came
 * @events: events that there were
 */
static struct bench {
	unsigned int form;
	struct virtio_roce_qp *qp;
	struct ibv_cq *cq;
	uint32_t armed;
	uint32_t held;
	uint32_t stored;
	uint32_t polled;
	uint32_t events;
} bench;

/* As kernel and device do. */
int ibv_cmd_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	assert_ptr_equal(cq, bench.cq);
	bench.armed |= solicited_only ? VIRTIO_RDMA_ARM_SOLICITED : VIRTIO_RDMA_ARM_NEXT;
	return 0;
}

static void store_by_virtqueue(bool solicited)
{
	fake_complete(bench.stored, TEST_QPN);
	if (bench.armed & VIRTIO_RDMA_ARM_NEXT ||
	    (solicited && bench.armed & VIRTIO_RDMA_ARM_SOLICITED)) {
		bench.events++;
		bench.armed = 0;
	}
}

static void store_direct(bool solicited)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 10, .lkey = 7 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = bench.stored,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	const struct virtio_rdma_cqe cqe = {
		.qp_num = htole32(TEST_QPN),
		.wqe = htole32(bench.stored),
		.opcode = VIRTIO_IB_WC_SEND,
	};
	uint32_t arm;

	assert_int_equal(virtio_roce_post_send(&bench.qp->vqp.qp, &wr, &bad), 0);
	arm = le32toh(__atomic_load_n((uint32_t *)&fake.cq_control->arm,
				      __ATOMIC_RELAXED));
	if (fake_direct_complete(&cqe)) {
		bench.events++;
	} else if (arm != fake.told && solicited && arm & VIRTIO_RDMA_ARM_SOLICITED) {
		fake.told = arm;
		bench.events++;
	}
}

static void store(bool solicited)
{
	if (bench.form == DIRECT)
		store_direct(solicited);
	else
		store_by_virtqueue(solicited);
	bench.stored++;
}

static uint32_t room(void)
{
	return bench.form == DIRECT ?
	       fake.cq.info.depth - (bench.stored - bench.polled) :
	       fake_pending(&fake.cq);
}

/* A device with CQ_HOLD looks for a slot. */
static void store_held(void)
{
	for (; bench.held && room(); bench.held--)
		store(false);
}

static bool poll_one(void)
{
	struct ibv_wc wc;

	if (!virtio_roce_poll_cq(bench.cq, 1, &wc))
		return false;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, bench.polled);
	bench.polled++;
	store_held();
	return true;
}

static void fill(void)
{
	while (room())
		store(false);
	if (bench.form == HOLD)
		bench.held = HELD;
}

static void step(char what)
{
	switch (what) {
	case 'n':
	case 's':
		assert_int_equal(virtio_roce_req_notify_cq(bench.cq, what == 's'), 0);
		break;
	case 'c':
	case 'S':
		store(what == 'S');
		break;
	case 'F':
		fill();
		break;
	case 'p':
		assert_true(poll_one());
		break;
	case 'P':
		while (poll_one())
			;
		break;
	case 'e':
		virtio_roce_cq_event(bench.cq);
		break;
	}
}

static void go_through(const struct row *row, unsigned int form)
{
	const char *at;
	uint32_t events;

	bench = (struct bench){ .form = form, .qp = make_qp(IBV_QPT_RC) };
	bench.cq = bench.qp->vqp.qp.send_cq;
	for (at = row->steps; *at; at++) {
		events = bench.events;
		step(*at);
		if (at[1] != '!' && at[1] != '.')
			continue;
		at++;
		if (bench.events - events != (*at == '!'))
			fail_msg("%s, form %u, \"%s\": %u events behind step %u",
				 row->name, form, row->steps, bench.events - events,
				 (unsigned int)(at - row->steps));
	}
	step('P');
	assert_int_equal(bench.polled, bench.stored);
	drop_qp(bench.qp);
	drop_cq(to_vcq(bench.cq));
	/* Another form, or another CQ, has memory of its own. */
	fake.mem_used = 0;
	virtio_roce_doorbell_free(&fake.ctx);
	fake.page = NULL;
}

static void arm_by_form(unsigned int form)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].forms & form)
			go_through(&rows[i], form);
}

static void arm_rfc(void **state)
{
	arm_by_form(RFC);
}

static void arm_hold(void **state)
{
	arm_by_form(HOLD);
}

static void arm_direct(void **state)
{
	arm_by_form(DIRECT);
}

int run_arm_tests(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arm_rfc),
		TEST(arm_hold),
		TEST_DIRECT(arm_direct),
	};

	return cmocka_run_group_tests_name("arm", tests, NULL, NULL);
}
