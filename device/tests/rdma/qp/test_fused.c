// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The short way of a message (rdma/qp/fused.c) against the long one: the same random
 * schedule runs in two engines, one of which has the short way turned off.  All that a
 * program or its peer can see must be the same: completions and their order, events,
 * memory, states, counters.
 *
 * FUSED_SCHEDULES in the environment is the number of schedules, FUSED_SEED the first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rdma/qp/fused.h"
#include "rdma/rnic_priv.h"
#include "tests/lib/engine_ring.h"

#define CMD(name)	VIRTIO_NET_CTRL_ROCE_ ## name
#define RC		VIRTIO_IB_QPT_RC
#define MS		(1000 * 1000ULL)

#define SCHEDULES	300u
#define STEPS		150u
#define DEPTH		64u

/*
 * Parts of the data memory, from EG_DATA.  Those that READs are about are for nothing else,
 * because a READ and a WRITE behind it may be carried out in either order.
 */
#define PART		(256u << 10)
#define OUT		0u
#define READ_FROM	(1 * PART)
#define WORDS		(2 * PART)
#define READ_TO		(3 * PART)
#define IN_FIRST	(4 * PART)
#define IN_PARTS	4u
#define ALL		((4 + IN_PARTS) * PART)
#define LEN_MAX		150000u

#define LOG_MAX		8192u

/**
 * struct world - one of the two engines, and a connection in it
 * @state:	the fixture's
 * @off:	the short way is turned off
 * @pair:	connection of this schedule
 * @srq:	of the second end
 * @has_srq:	the second end has it
 * @sends:	requests posted at each end
 * @recvs:	the same of receive requests
 * @log:	what could be seen
 * @log_n:	number of entries
 * @order:	sum over the completions of each queue, which depends on their order
 */
struct world {
	void *state;
	bool off;
	struct er_pair pair;
	struct er_srq srq;
	bool has_srq;
	uint32_t sends[2];
	uint32_t recvs[2];
	uint64_t log[LOG_MAX];
	uint32_t log_n;
	uint64_t order[4];
};

static uint32_t dice_state;

/*
 * By the long way a READ is answered when the peer has its turn, and what comes behind it
 * is acknowledged then, maybe together, or refused then because no receive request is
 * there.  So in schedules with READs nothing goes wrong, no CQ is armed, only messages are
 * counted, and the order of completions is compared for each queue.
 */
static bool with_reads;

static uint32_t dice(uint32_t n)
{
	dice_state ^= dice_state << 13;
	dice_state ^= dice_state >> 17;
	dice_state ^= dice_state << 5;
	return dice_state % n;
}

static struct engine *engine_of(const struct world *w)
{
	return w->state;
}

static struct er_end *end_of(struct world *w, unsigned int side)
{
	return side ? &w->pair.b : &w->pair.a;
}

static void note(struct world *w, uint64_t what, uint64_t value)
{
	if (w->log_n < LOG_MAX)
		w->log[w->log_n++] = what << 56 ^ value;
}

/* ------------------------------------------------------------------------- */
/* Steps, drawn once and done in both worlds                                 */
/* ------------------------------------------------------------------------- */

/**
 * struct step - what is done
 * @side:	by which end
 * @kind:	what
 * @wr:		to post; keys are those of the world
 * @bad_key:	with a wrong local key
 * @bad_rkey:	with a wrong remote key
 * @n:		a number of something
 */
struct step {
	unsigned int side;
	enum {
		POST_RECV, POST_SEND, ARM, RUN, POLL, WAIT, MAP, ACCESS, DEREG,
	} kind;
	struct eg_wr wr;
	bool bad_key;
	bool bad_rkey;
	uint32_t n;
};

static uint32_t draw_len(void)
{
	switch (dice(8)) {
	case 0:
		return 0;
	case 1:
		return dice(LEN_MAX);
	case 2 ... 3:
		return dice(5000);
	default:
		return 1 + dice(64);
	}
}

static void draw_elements(struct step *step, uint32_t len, uint64_t off)
{
	uint32_t i, part, n = dice(6) ? 1 : 1 + dice(2);

	step->wr.num_sge = n;
	for (i = 0; i < n; i++) {
		part = i + 1 < n ? dice(len + 1) : len;
		step->wr.sge[i] = (struct eg_sge) { EG_VA + off, part, 0 };
		off += part;
		len -= part;
	}
}

static void draw_send(struct step *step)
{
	static const uint8_t opcodes[] = {
		VIRTIO_IB_WR_SEND, VIRTIO_IB_WR_SEND, VIRTIO_IB_WR_SEND_WITH_IMM,
		VIRTIO_IB_WR_RDMA_WRITE, VIRTIO_IB_WR_RDMA_WRITE,
		VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, VIRTIO_IB_WR_RDMA_READ,
		VIRTIO_IB_WR_FETCH_ADD,
	};
	static const uint8_t zeroes[32];
	const uint32_t len = draw_len();
	struct eg_wr *wr = &step->wr;

	wr->opcode = opcodes[dice(sizeof(opcodes) - (with_reads ? 0 : 2))];
	wr->flags = (dice(8) ? VIRTIO_IB_SEND_SIGNALED : 0) |
		    (dice(4) ? 0 : VIRTIO_IB_SEND_SOLICITED) |
		    (dice(8) ? 0 : VIRTIO_IB_SEND_FENCE);
	wr->imm = dice(1u << 30);
	wr->remote_addr = EG_VA + IN_FIRST + dice(IN_PARTS) * PART + dice(PART - LEN_MAX);
	draw_elements(step, len, OUT + dice(PART - LEN_MAX));
	if (wr->opcode == VIRTIO_IB_WR_RDMA_READ) {
		wr->remote_addr = EG_VA + READ_FROM + dice(PART - LEN_MAX);
		draw_elements(step, len, READ_TO + dice(PART - LEN_MAX));
	} else if (wr->opcode == VIRTIO_IB_WR_FETCH_ADD) {
		wr->remote_addr = EG_VA + WORDS + 8 * dice(8);
		wr->compare_add = dice(1000);
		draw_elements(step, 8, WORDS + 4096 + 8 * dice(64));
	} else if (!dice(5)) {
		wr->flags |= VIRTIO_IB_SEND_INLINE;
		wr->data = zeroes;
		wr->data_len = dice(sizeof(zeroes) + 1);
	}
	step->bad_key = !with_reads && !dice(200);
	step->bad_rkey = !with_reads && !dice(200);
}

static struct step draw(void)
{
	struct step step = { .side = dice(2) };

	switch (dice(16)) {
	case 0 ... 5:
		step.kind = POST_RECV;
		draw_elements(&step, with_reads || dice(40) ? LEN_MAX : draw_len(),
			      IN_FIRST + dice(IN_PARTS) * PART);
		step.bad_key = !with_reads && !dice(200);
		break;
	case 6 ... 10:
		step.kind = POST_SEND;
		draw_send(&step);
		break;
	case 11:
		step.kind = with_reads ? RUN : ARM;
		step.n = dice(2) ? VIRTIO_RDMA_ARM_NEXT : VIRTIO_RDMA_ARM_SOLICITED;
		break;
	case 12 ... 13:
		step.kind = RUN;
		break;
	case 14:
		step.kind = POLL;
		step.n = dice(20);
		break;
	default:
		step.kind = WAIT + (with_reads ? dice(2) : dice(4));
		if (step.kind > MAP && dice(4))
			step.kind = WAIT;
		step.n = dice(100);
	}
	return step;
}

/* ------------------------------------------------------------------------- */
/* What each step is                                                         */
/* ------------------------------------------------------------------------- */

static void do_post(struct world *w, const struct step *step)
{
	struct er_end *end = end_of(w, step->side), *peer = end_of(w, !step->side);
	struct eg_wr wr = step->wr;
	uint32_t i;

	for (i = 0; i < wr.num_sge; i++)
		wr.sge[i].lkey = end->end.lkey ^ step->bad_key;
	wr.rkey = peer->end.lkey ^ step->bad_rkey;
	if (step->kind == POST_SEND && w->sends[step->side]++ < DEPTH)
		er_post_send(&end->qp, &wr);
	if (step->kind == POST_RECV && w->recvs[step->side]++ < DEPTH) {
		if (step->side && w->has_srq)
			er_post_srq(&w->srq, wr.sge, wr.num_sge, w->recvs[1]);
		else
			er_post_recv(&end->qp, wr.sge, wr.num_sge);
	}
}

static void note_order(struct world *w, unsigned int side,
		       const struct virtio_rdma_cqe *cqe)
{
	uint64_t *sum = &w->order[2 * side + !!(cqe->opcode & VIRTIO_RDMA_CQE_RECV)];
	const uint64_t *word = (const uint64_t *)cqe;
	unsigned int i;

	/* Not the phase. */
	for (i = 0; i < sizeof(*cqe) / sizeof(*word); i++)
		*sum = (*sum ^ (i < 3 ? word[i] : word[i] & 0xffffffffffffffull)) *
		       0x9e3779b97f4a7c15ull;
}

static void do_poll(struct world *w, unsigned int side, uint32_t n)
{
	struct er_end *end = end_of(w, side);
	struct virtio_rdma_event event;
	struct virtio_rdma_cqe cqe;

	while (n-- && er_poll(&end->cq, &cqe)) {
		if (with_reads) {
			note_order(w, side, &cqe);
			continue;
		}
		note(w, 1 + side, (uint64_t)cqe.wqe << 24 ^ cqe.status << 16 ^
				  cqe.opcode << 8 ^ cqe.wc_flags);
		note(w, 3 + side, (uint64_t)cqe.byte_len << 32 ^ cqe.imm_data);
		note(w, 5 + side, (uint64_t)cqe.qp_num << 32 ^ cqe.vendor_err);
		note(w, 7 + side, (uint64_t)cqe.src_qp << 32 ^ cqe.vlan);
	}
	while (er_take_event(end->end.guest, 0, &event)) {
		er_give_events(end->end.guest, 0, 1);
		note(w, 9 + side, (uint64_t)event.type << 32 ^ event.number);
	}
}

static void do_access(struct world *w, const struct step *step)
{
	struct er_end *end = end_of(w, step->side);
	struct virtio_rdma_cmd_modify_qp req = {
		.qpn = htole32(end->qp.qpn),
		.attr_mask = htole32(VIRTIO_IB_QP_ACCESS_FLAGS),
		.qp_access_flags = htole32(step->n % 2 ? EG_ACCESS_ALL :
					   VIRTIO_IB_ACCESS_REMOTE_READ),
	};

	note(w, 11, eg_modify(end->end.guest, &req));
}

static void do_step(struct world *w, const struct step *step)
{
	struct er_end *end = end_of(w, step->side);

	fused_off = w->off;
	switch (step->kind) {
	case POST_RECV:
	case POST_SEND:
		do_post(w, step);
		break;
	case ARM:
		er_arm(&end->cq, step->n);
		break;
	case RUN:
		eg_run(engine_of(w));
		break;
	case POLL:
		do_poll(w, step->side, step->n);
		break;
	case WAIT:
		eg_run(engine_of(w));
		engine_loop_advance(engine_of(w)->loop, step->n * MS / 4);
		eg_run(engine_of(w));
		break;
	case MAP:
		rnic_mem_changed(end->end.guest->rnic, &end->end.guest->map);
		break;
	case ACCESS:
		do_access(w, step);
		break;
	case DEREG:
		if (step->n < 10) {
			const struct virtio_rdma_cmd_dereg_mr req = {
				.mrn = htole32(end->end.mrn),
			};

			note(w, 12, eg_command(end->end.guest, CMD(DEREG_MR), &req,
					       sizeof(req), NULL, 0));
		}
		break;
	}
}

/* ------------------------------------------------------------------------- */
/* A schedule                                                                */
/* ------------------------------------------------------------------------- */

static void begin(struct world *w, bool srq, uint32_t cqe)
{
	const struct er_shape plain = {
		.send_depth = DEPTH, .recv_depth = DEPTH, .cqe = cqe,
	};
	struct er_shape shared = plain;
	struct engine *engine;
	unsigned int i;

	w->state = NULL;
	assert_int_equal(eg_setup_direct(&w->state), 0);
	engine = engine_of(w);
	memset(w->sends, 0, sizeof(w->sends));
	memset(w->recvs, 0, sizeof(w->recvs));
	memset(w->order, 0, sizeof(w->order));
	w->log_n = 0;
	w->has_srq = srq;
	er_open(&w->pair.a, &engine->guest[0], RC, &plain);
	if (srq) {
		er_srq_init(&w->srq, &engine->guest[1], eg_create_pd(&engine->guest[1]),
			    DEPTH);
		assert_int_equal(er_create_srq(&w->srq), VIRTIO_NET_OK);
		shared.srq = &w->srq;
	}
	er_open(&w->pair.b, &engine->guest[1], RC, &shared);
	for (i = 0; i < EG_GUESTS; i++) {
		eg_fill(&engine->guest[i], 0, 2 * PART, i);
		er_give_events(&engine->guest[i], 0, 32);
	}
	eg_connect(&w->pair.a.end, &w->pair.b.end, RC);
}

static bool counts_messages(unsigned int counter)
{
	return counter >= VIRTIO_RDMA_CNT_SENDS && counter <= VIRTIO_RDMA_CNT_RECVS;
}

static void note_end(struct world *w, unsigned int side)
{
	const struct eg_guest *guest = end_of(w, side)->end.guest;
	const uint64_t *word = eg_ptr(guest, EG_DATA);
	uint64_t sum = 0;
	unsigned int i;

	note(w, 12, w->order[2 * side] >> 8);
	note(w, 12, w->order[2 * side + 1] >> 8);
	for (i = 0; i < ALL / sizeof(*word); i++)
		sum = (sum ^ word[i]) * 0x9e3779b97f4a7c15ull;
	note(w, 14, sum >> 8);
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		if (!with_reads || counts_messages(i))
			note(w, 0x40 + i, guest->rnic->ctx.counter[i]);
}

static void finish(struct world *w)
{
	struct engine *engine = engine_of(w);
	unsigned int i, side;
	uint8_t state[2];

	fused_off = w->off;
	for (i = 0; i < 20; i++) {
		eg_run(engine);
		engine_loop_advance(engine->loop, 100 * MS);
	}
	for (side = 0; side < 2; side++) {
		do_poll(w, side, UINT32_MAX);
		state[side] = eg_state(end_of(w, side)->end.guest, end_of(w, side)->qp.qpn);
		note(w, 13, state[side]);
	}
	/* RNR retries were exceeded: how far READs have got depends on their turn. */
	if (with_reads && (state[0] == VIRTIO_IB_QPS_ERR || state[1] == VIRTIO_IB_QPS_ERR))
		return;
	for (side = 0; side < 2; side++)
		note_end(w, side);
}

static uint32_t number_of(const char *name, uint32_t or_else)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : or_else;
}

/* The short way must have been taken for some, or nothing was compared. */
static void test_same_as_the_long_way(void **state)
{
	const uint32_t n = number_of("FUSED_SCHEDULES", SCHEDULES);
	const uint32_t first = number_of("FUSED_SEED", 1);
	struct world *w = calloc(2, sizeof(*w));
	uint64_t fused = 0, sent = 0;
	uint32_t i, k, steps, cqe;
	const struct rnic_ctx *ctx;
	struct step step;
	bool srq;

	assert_non_null(w);
	for (i = first; i != first + n; i++) {
		dice_state = i * 2654435761u | 1;
		dice(2);
		srq = !dice(3);
		with_reads = dice(2);
		cqe = with_reads || dice(8) ? 256 : 16;
		steps = 1 + dice(STEPS);
		for (k = 0; k < 2; k++) {
			w[k].off = k;
			begin(&w[k], srq, cqe);
		}
		while (steps--) {
			step = draw();
			do_step(&w[0], &step);
			do_step(&w[1], &step);
		}
		for (k = 0; k < 2; k++)
			finish(&w[k]);
		for (k = 0; k < w[0].log_n || k < w[1].log_n; k++)
			if (w[0].log[k] != w[1].log[k])
				fail_msg("FUSED_SEED=%u: entry %u of %u, %u: %#" PRIx64
					 " by the short way, else %#" PRIx64, i, k,
					 w[0].log_n, w[1].log_n, w[0].log[k], w[1].log[k]);
		for (k = 0; k < EG_GUESTS; k++) {
			ctx = &engine_of(&w[0])->guest[k].rnic->ctx;
			fused += ctx->fused;
			sent += ctx->counter[VIRTIO_RDMA_CNT_SENT_PKTS];
			assert_int_equal(engine_of(&w[1])->guest[k].rnic->ctx.fused, 0);
		}
		eg_teardown(&w[0].state);
		eg_teardown(&w[1].state);
	}
	free(w);
	fused_off = false;
	print_message("%u schedules, %" PRIu64 " messages by the short way\n", n, fused);
	assert_true(fused > n && fused < sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_the_long_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
