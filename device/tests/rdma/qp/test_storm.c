// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ends that send to each other without a pause, all operations mixed, over a
 * wire with faults: the device's part of tests/guest/storm.c, in simulated time.
 * Nothing may be lost, doubled, out of order or wrong, and no connection may fail.
 *
 * The kind of message n follows from the side and n, so both sides know it.  Contents
 * are pieces of a pattern that both have.  A WRITE without immediate data is read
 * back by the next message.
 */
#include "tests/lib/engine_wire.h"

#define WINDOW		16
#define SLOTS		(2 * WINDOW)
#define MAX_SIZE	32768u
#define NOISE		(256u * 1024)

/* Parts of the data memory, from EG_DATA. */
#define INBOX		(NOISE + MAX_SIZE)
#define SCRATCH		(INBOX + SLOTS * MAX_SIZE)
#define RECV		(SCRATCH + SLOTS * MAX_SIZE)
#define READ		(RECV + SLOTS * MAX_SIZE)

/*
 * How long a program may not look at its CQ, so that the peer gets RNR NAKs: usually
 * for a moment, sometimes for many ACK timeouts.
 */
#define PAUSE_NS	300000u
#define LONG_PAUSE_NS	200000000u

/* No progress for so long means that something hangs. */
#define HANG_NS		5000000000ull

/**
 * struct side - an end, and the program that uses it
 * @end:	end
 * @peer:	the other one
 * @number:	0 or 1
 * @sent:	messages posted
 * @done:	of these, completed
 * @with_recv:	of @sent, those that take a receive request
 * @heard:	message of the peer that is received next, or one before it
 * @heard_recv:	messages received
 * @pause:	until when the program does not look
 */
struct side {
	struct eg_end end;
	const struct eg_end *peer;
	uint32_t number;
	uint32_t sent;
	uint32_t done;
	uint32_t with_recv;
	uint32_t heard;
	uint32_t heard_recv;
	uint64_t pause;
};

/**
 * struct storm - a run
 * @fate:	of packets
 * @messages:	each way
 * @mtu:	&enum virtio_ib_mtu
 */
struct storm {
	struct eg_wire_fate fate;
	uint32_t messages;
	uint8_t mtu;
};

static uint32_t dice(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static uint32_t hash(uint32_t side, uint32_t n)
{
	uint32_t state = (n + 1) * 2654435761u ^ (side + 1) * 0x85ebca6bu;

	dice(&state);
	return dice(&state);
}

static uint8_t opcode_of(uint32_t side, uint32_t n)
{
	static const uint8_t opcodes[] = {
		VIRTIO_IB_WR_SEND, VIRTIO_IB_WR_SEND_WITH_IMM,
		VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, VIRTIO_IB_WR_RDMA_WRITE,
	};

	/* The odd message after a WRITE reads it back. */
	if (n % 2 && opcode_of(side, n - 1) == VIRTIO_IB_WR_RDMA_WRITE)
		return VIRTIO_IB_WR_RDMA_READ;
	return opcodes[hash(side, n) % (n % 2 ? 3 : 4)];
}

static uint32_t size_of(uint32_t side, uint32_t n)
{
	uint32_t h;

	if (opcode_of(side, n) == VIRTIO_IB_WR_RDMA_READ)
		n--;
	h = hash(side, n) >> 4;
	switch (h % 8) {
	case 0 ... 3:
		return h % 65;
	case 4 ... 6:
		return h % 3000;
	default:
		return h % (MAX_SIZE + 1);
	}
}

static uint32_t noise_of(uint32_t side, uint32_t n)
{
	return (hash(side, n) >> 7) % NOISE;
}

static bool takes_recv(uint8_t opcode)
{
	return opcode != VIRTIO_IB_WR_RDMA_WRITE &&
	       opcode != VIRTIO_IB_WR_RDMA_READ;
}

static uint32_t slot(uint32_t n)
{
	return n % SLOTS * MAX_SIZE;
}

static void post(struct side *side)
{
	uint32_t n = side->sent++, size = size_of(side->number, n);
	uint8_t opcode = opcode_of(side->number, n);
	struct eg_wr wr = eg_send(&side->end, n, noise_of(side->number, n),
				  size);

	wr.opcode = opcode;
	wr.imm = n;
	wr.rkey = side->peer->lkey;
	switch (opcode) {
	case VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM:
		wr.remote_addr = EG_VA + INBOX + slot(side->with_recv);
		break;
	case VIRTIO_IB_WR_RDMA_WRITE:
		wr.remote_addr = EG_VA + SCRATCH + slot(n);
		break;
	case VIRTIO_IB_WR_RDMA_READ:
		wr.remote_addr = EG_VA + SCRATCH + slot(n - 1);
		wr.sge[0].addr = EG_VA + READ + slot(n);
		break;
	}
	side->with_recv += takes_recv(opcode);
	eg_post_send(&side->end, &wr);
}

static void check(const struct side *side, uint64_t got, uint32_t sender,
		  uint32_t n, uint32_t size)
{
	assert_memory_equal(eg_ptr(side->end.guest, EG_DATA + got),
			    eg_ptr(side->end.guest,
				   EG_DATA + noise_of(sender, n)), size);
}

static void completed(struct side *side, const struct eg_wc *wc)
{
	uint32_t n = side->done++;

	assert_int_equal(wc->wr_id, n);
	if (opcode_of(side->number, n) == VIRTIO_IB_WR_RDMA_READ)
		check(side, READ + slot(n), side->number, n - 1,
		      size_of(side->number, n));
}

static void received(struct side *side, const struct eg_wc *wc)
{
	uint32_t peer = !side->number, n, size, place;

	while (!takes_recv(opcode_of(peer, side->heard)))
		side->heard++;
	n = side->heard++;
	size = size_of(peer, n);
	assert_int_equal(wc->byte_len, size);
	if (opcode_of(peer, n) != VIRTIO_IB_WR_SEND)
		assert_int_equal(wc->imm, n);
	place = opcode_of(peer, n) == VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM ?
		INBOX + slot(side->heard_recv) : RECV + wc->wr_id * MAX_SIZE;
	check(side, place, peer, n, size);
	side->heard_recv++;
	eg_recv(&side->end, wc->wr_id, RECV + wc->wr_id * MAX_SIZE, MAX_SIZE);
}

/* One turn of a program between two pauses; true if anything was completed. */
static bool program(struct side *side, uint32_t messages)
{
	bool any = false;
	struct eg_wc wc;

	while (eg_poll(&side->end, &wc)) {
		assert_int_equal(wc.status, VIRTIO_IB_WC_SUCCESS);
		if (wc.opcode >= VIRTIO_IB_WC_RECV)
			received(side, &wc);
		else
			completed(side, &wc);
		any = true;
	}
	while (side->sent < messages && side->sent - side->done < WINDOW)
		post(side);
	return any;
}

static void side_up(struct side *side, const struct side *peer)
{
	uint32_t i;

	side->peer = &peer->end;
	eg_fill(side->end.guest, 0, NOISE + MAX_SIZE, 1);
	for (i = 0; i < WINDOW; i++)
		eg_recv(&side->end, i, RECV + i * MAX_SIZE, MAX_SIZE);
}

static uint64_t pause_ns(uint32_t *state)
{
	uint32_t roll = dice(state) % 10000;

	return roll ? roll < 10 ? dice(state) % PAUSE_NS : 0 :
		      dice(state) % LONG_PAUSE_NS;
}

static void storm(void **state, const struct storm *storm)
{
	struct engine *engine = *state;
	struct side side[2] = { { .number = 0 }, { .number = 1 } };
	uint32_t i, state_of_dice = storm->fate.seed * 7919 + 1;
	uint64_t now, progress = 0;

	for (i = 0; i < 2; i++)
		side[i].end = eg_open(&engine->guest[i], VIRTIO_IB_QPT_RC);
	for (i = 0; i < 2; i++)
		side_up(&side[i], &side[!i]);
	eg_wire_connect(&side[0].end, &side[1].end, storm->mtu);
	eg_wire_use(engine);
	eg_wire = storm->fate;
	while (side[0].done < storm->messages ||
	       side[1].done < storm->messages) {
		now = loop_now(engine->loop);
		for (i = 0; i < 2; i++) {
			if (now < side[i].pause)
				continue;
			if (program(&side[i], storm->messages))
				progress = now;
			side[i].pause = now + pause_ns(&state_of_dice);
		}
		if (progress)
			assert_true(now - progress < HANG_NS);
		eg_wire_for(engine, 1 + dice(&state_of_dice) % 4000);
	}
	eg_wire_run(engine, HANG_NS);
	for (i = 0; i < 2; i++)
		program(&side[i], storm->messages);
	assert_int_equal(side[0].heard_recv, side[1].with_recv);
	assert_int_equal(side[1].heard_recv, side[0].with_recv);
}

#define STORM(name, ...)						\
static void name(void **state)						\
{									\
	storm(state, &(struct storm) {					\
		.fate = { .mbps = 10000, __VA_ARGS__ },			\
		.messages = 4000,					\
		.mtu = VIRTIO_IB_MTU_1024,				\
	});								\
}

#define NEAR	.latency = 50000

STORM(test_clean, NEAR, .seed = 1)
STORM(test_loss_1, NEAR, .seed = 2, .lose = 10)
STORM(test_loss_5, NEAR, .seed = 3, .lose = 50)
STORM(test_repeat_1, NEAR, .seed = 4, .repeat = 10)
STORM(test_reorder_1, NEAR, .seed = 5, .reorder = 10)
STORM(test_all_1, NEAR, .seed = 6, .lose = 10, .repeat = 10, .reorder = 10)
STORM(test_all_10, NEAR, .seed = 7, .lose = 100, .repeat = 100, .reorder = 100)
/* If more than 64 KiB wait for bandwidth, packets are lost. */
STORM(test_short_queue, NEAR, .seed = 8, .queue = 65536)
/* Answers come when the ACK timeout is nearly over. */
STORM(test_long_path, .latency = 1900000, .seed = 9, .lose = 1)

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, eg_setup, \
						eg_wire_teardown)
	const struct CMUnitTest tests[] = {
		T(test_clean),
		T(test_loss_1),
		T(test_loss_5),
		T(test_repeat_1),
		T(test_reorder_1),
		T(test_all_1),
		T(test_all_10),
		T(test_short_queue),
		T(test_long_path),
	};

	return cmocka_run_group_tests_name("storm", tests, NULL, NULL);
}
