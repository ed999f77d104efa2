// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A path that loses packets: the rate that is left, and the order of data.  All in simulated
 * time, over a wire with latency and bandwidth.
 */
#include "tests/lib/engine_port.h"
#include "tests/lib/engine_stream.h"

#include "rdma/rnic_priv.h"

#define RC	VIRTIO_IB_QPT_RC
#define OK	VIRTIO_IB_WC_SUCCESS
#define IN	EG_IN

#define WRITE	VIRTIO_IB_WR_RDMA_WRITE
#define SEND	VIRTIO_IB_WR_SEND
#define READ	VIRTIO_IB_WR_RDMA_READ

#define MSG	(128u * 1024)

/* Bytes of packets that came too early. */
static uint32_t kept(const struct eg_end *end)
{
	return end->guest->rnic->ctx.early;
}

/*
 * One packet of a hundred gets lost, of both directions: some are lost again.  No ACK timer, of
 * 67 ms, may be what notices.  Returns the rate, Mbit/s of 10000.
 */
static uint64_t lossy_path(struct eg_stream *s)
{
	uint64_t rate;

	eg_wire.latency = 20 * US;
	eg_wire.mbps = 10000;
	eg_wire.lose = 10;
	eg_stream_for(s, 5 * MS);
	eg_wire.lost = 0;
	rate = eg_mbps(eg_stream_for(s, 200 * MS), 200 * MS);
	print_message("# %u Mbit/s, %u lost\n", (unsigned int)rate, eg_wire.lost);
	assert_in_range(eg_wire.lost, 100, 10000);
	assert_int_equal(eg_count(s->p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 0);
	return rate;
}

/* Mbit/s: 90 % of the 9861 without loss. */
#define LOSS_RATE	8875

/* Enough of the rate is left, and nothing that was kept stays. */
static void loss(void **state, uint8_t opcode, uint32_t len)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = opcode,
		.len = len,
	};

	assert_in_range(lossy_path(&s), LOSS_RATE, 10000);
	eg_wire.lose = 0;
	eg_wire_run(s.p.engine, SECOND);
	/* A responder has what it sent until the QP was idle for a while. */
	eg_run(s.p.engine);
	assert_int_equal(kept(&s.p.a), 0);
	assert_int_equal(kept(&s.p.b), 0);
}

/* 718, and 3 timeouts, if all is sent again. */
static void test_loss_write(void **state)
{
	loss(state, WRITE, MSG);
}

/* Only what is missing is asked for again. */
static void test_loss_read(void **state)
{
	loss(state, READ, MSG);
}

static void test_loss_read_short(void **state)
{
	loss(state, READ, 32 * 1024);
}

static void test_loss_read_long(void **state)
{
	loss(state, READ, 1024 * 1024);
}

/* The oldest copy of an answer that a responder has, in PSNs before the newest one. */
static uint32_t oldest_copy(const struct eg_end *end)
{
	const struct responder *resp = &qp_get(&end->guest->rnic->qps, end->qpn)->resp;
	uint32_t i, age, oldest = 0;

	for (i = 0; resp->sent && i < EARLY_MAX; i++) {
		if (!resp->sent->at[i])
			continue;
		age = (resp->sent_psn - resp->sent->at[i]->pkt.psn) & PSN_MASK;
		oldest = age > oldest ? age : oldest;
	}
	return oldest;
}

/*
 * READs and WRITEs in turn: 19700 both ways without loss.  Their packets share the places of copies
 * by PSN, in all of which there are new ones soon.
 */
static void test_loss_mixed(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = READ,
		.len = 9 * 4096,
		.mixed = true,
	};

	assert_in_range(lossy_path(&s), 11000, 20000);
	assert_in_range(oldest_copy(&s.p.b), 1, 16 * EARLY_MAX);
}

/* A peer that never says that it sends what it sent first: later READs are asked for again. */
static void test_loss_read_others(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = READ,
		.len = MSG,
	};

	eg_wire.plain = true;
	assert_in_range(lossy_path(&s), 7000, 10000);
}

/* Packets of a READ, READs under way, and where the peer has the flags and the data. */
#define PAIR_PACKETS	4u
#define PAIR_LEN	(PAIR_PACKETS * 4096)
#define PAIRS		8u
#define FLAGS		(8u << 20)
#define DATA		(9u << 20)

/* One number in each packet of a READ: the lowest, or the largest, of those from @at on. */
static uint64_t pair_number(const struct eg_end *end, uint64_t at, bool largest)
{
	uint64_t number = 0, one;
	unsigned int i;

	for (i = 0; i < PAIR_PACKETS; i++) {
		memcpy(&one, eg_ptr(end->guest, EG_DATA + at + i * 4096), sizeof(one));
		if (!i || (largest ? one > number : one < number))
			number = one;
	}
	return number;
}

static void pair_write(const struct eg_end *end, uint64_t at, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < PAIR_PACKETS; i++)
		memcpy(eg_ptr(end->guest, EG_DATA + at + i * 4096), &number, sizeof(number));
}

static void pair_post(const struct eg_pair *p, uint64_t i)
{
	struct eg_wr wr = eg_send(&p->a, i, (i % (2 * PAIRS)) * PAIR_LEN, PAIR_LEN);

	wr.opcode = READ;
	wr.remote_addr = EG_VA + (i % 2 ? DATA : FLAGS);
	wr.rkey = p->b.lkey;
	eg_post_send(&p->a, &wr);
}

/* Let there be room for packets of @end, or not. */
static void read_room(const struct eg_end *end, bool room)
{
	struct rnic_ctx *ctx = &end->guest->rnic->ctx;

	if (room && ctx->early >= RNIC_EARLY_MAX)
		ctx->early -= RNIC_EARLY_MAX;
	else if (!room && ctx->early < RNIC_EARLY_MAX)
		ctx->early += RNIC_EARLY_MAX;
}

/*
 * A peer writes data and then a flag; a program reads the flag and then the data.  Whatever gets
 * lost, the data may not be older than the flag, if the network keeps the order of packets.
 */
static void read_order(void **state, bool kept_there)
{
	struct eg_pair p = eg_stream_pair(state, RC, eg_patient, eg_patient);
	uint64_t end, number = 0, posted = 0, done = 0, flag, at;
	struct eg_wc wc;

	eg_wire.latency = 20 * US;
	eg_wire.mbps = 10000;
	eg_wire.lose = 30;
	eg_wire.repeat = 5;
	end = loop_now(p.engine->loop) + 100 * MS;
	while (loop_now(p.engine->loop) < end) {
		for (; posted < done / 2 * 2 + 2 * PAIRS; posted++)
			pair_post(&p, posted);
		/* Without room for what was sent the peer reads its memory again. */
		if (!kept_there && number % 64 == 0)
			read_room(&p.b, number % 128);
		pair_write(&p.b, DATA, ++number);
		pair_write(&p.b, FLAGS, number);
		eg_wire_for(p.engine, 2 * US);
		for (; eg_poll(&p.a, &wc); done++) {
			assert_int_equal(wc.status, OK);
			assert_int_equal(wc.wr_id, done);
			at = (done % (2 * PAIRS)) * PAIR_LEN;
			if (done % 2) {
				flag = pair_number(&p.a, at - PAIR_LEN, true);
				assert_in_range(pair_number(&p.a, at, false), flag, number);
			}
		}
	}
	read_room(&p.b, true);
	print_message("# %u READs\n", (unsigned int)done);
	assert_in_range(eg_wire.lost, 100, 10000);
	/* Some thousand, but for QPs that are saved and loaded while something is missing. */
	assert_in_range(done, 50, 100000);
}

static void test_loss_read_order(void **state)
{
	read_order(state, true);
}

static void test_loss_read_order_anew(void **state)
{
	read_order(state, false);
}

/* A peer that keeps nothing, as others: nothing may be skipped for it. */
static void test_loss_go_back(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = WRITE,
		.len = MSG,
	};

	s.p.b.guest->rnic->ctx.early = RNIC_EARLY_MAX;
	assert_in_range(lossy_path(&s), 4000, 10000);
	assert_int_equal(kept(&s.p.b), RNIC_EARLY_MAX);
	s.p.b.guest->rnic->ctx.early = 0;
}

/* One of a hundred packets gets lost: it is sent again, and one behind it. */
static void test_loss_of_one(void **state)
{
	struct eg_stream s = {
		.p = eg_stream_pair(state, RC, eg_patient, eg_patient),
		.opcode = SEND,
		.len = 4096,
	};
	struct eg_sge sge = { EG_VA + IN, 4096, s.p.b.lkey };
	unsigned int i;

	eg_wire.latency = 100 * US;
	for (i = 0; i < 31; i++)
		eg_post_recv(&s.p.b, i, &sge, 1);
	eg_wire.lose = 1000;
	eg_stream_post(&s);
	eg_wire_for(s.p.engine, US);
	assert_int_equal(eg_wire.lost, 1);
	eg_wire.lose = 0;
	for (i = 1; i < 31; i++)
		eg_stream_post(&s);
	eg_wire_for(s.p.engine, 150 * US);
	/* All others wait for it. */
	assert_in_range(kept(&s.p.b), 30 * 4096, 30 * 4096 + 16384);
	eg_expect_none(&s.p.b);
	eg_wire_for(s.p.engine, 200 * US);
	for (i = 0; i < 31; i++)
		eg_expect(&s.p.b, i, OK);
	assert_int_equal(kept(&s.p.b), 0);
	assert_in_range(eg_wire.bytes[0], 32 * 4096, 33 * 4096);
	assert_int_equal(eg_count(s.p.a.guest, VIRTIO_RDMA_CNT_TIMEOUT), 0);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, \
						eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		T(test_loss_write),
		T(test_loss_read),
		T(test_loss_read_short),
		T(test_loss_read_long),
		T(test_loss_mixed),
		T(test_loss_read_others),
		T(test_loss_read_order),
		T(test_loss_read_order_anew),
		T(test_loss_go_back),
		T(test_loss_of_one),
	};

	return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
