// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell pages: which direct QPs have work.
 *
 * Theory of operation
 *
 * A page has a bit for each QP of a process.  A page that had bits a moment ago is warm:
 * it is looked at in each round, and the process rings no doorbell.  A page that is not
 * asks to be rung.  So the cost of a round follows the processes, and the QPs, that have
 * work.
 *
 * A guest can have a thousand pages, and keep all of them warm.  So the pages take turns:
 * how many of them, and how much of each, is looked at in a round is bounded, and counts
 * as work of the guest.  To find out which page has rung takes as many looks as there are
 * pages of that virtqueue; these are done in the same way.
 *
 * The bit of a QP that is polled anyway is held: it stays set in the page, so that who
 * posts finds it and does nothing more.  Before the QP is not polled any more the bit is
 * taken, and then the producer index is looked at once more.
 *
 * Where CPU time is short the loop sleeps as soon as there is nothing to do, which may be
 * after each message.  A process that streams, that is, posts without waiting for what
 * was done, would ring for each message, and the loop would wake for each.  Such a page
 * does not ask to be rung.  The loop naps: a timer wakes it, and it finds all that was
 * posted meanwhile; when that has been nothing for a while, the page asks again.
 *
 * All of a page is written by a process, at any time.  Bits are taken by exchange, so
 * that none is lost.  A bit that is no QP's is dropped.  How much of a page is looked at
 * in a round is bounded, and the next round goes on behind that, so that no QP is left
 * out.
 *
 * The barrier in doorbell_arm() stands between the wish to be rung and the look for
 * bits.  The process has one between the bits and its look at that wish.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/object/doorbell.h"
#include "virtio/write.h"

/* The work of a round: pages looked at, words of 64 bits taken out of them. */
#define DOORBELL_LOOKS	64u
#define DOORBELL_BURST	16u

/* And words of one page, if there are others. */
#define DOORBELL_SHARE	4u

/* Bits that the table has at first. */
#define DOORBELL_ROOM	64u

/*
 * How long the loop naps.  Less than its poll window at most, so that the window opens
 * again where the loop has a CPU to itself.
 */
#define DOORBELL_NAP_NS		(30 * 1000)

/* A QP that was not seen to stream for so long does not. */
#define DOORBELL_STREAM_NS	(500 * 1000)

#define DOORBELL_TOPS	(VIRTIO_RDMA_DOORBELL_WORDS / 64)

static struct virtio_rdma_doorbell_page *doorbell_page(const struct doorbell *doorbell)
{
	return block_host((struct block *)&doorbell->block);
}

/* ------------------------------------------------------------------------- */
/* The table                                                                 */
/* ------------------------------------------------------------------------- */

/* That its pages are looked at is all that is needed. */
static void doorbell_nap_over(void *arg)
{
	const struct doorbell_table *doorbells = arg;

	rnic_call(doorbells->ctx);
}

int doorbell_table_init(struct doorbell_table *doorbells, struct rnic_ctx *ctx,
			void (*look)(void *arg, uint32_t qpn), void *arg)
{
	unsigned int i;

	doorbells->ctx = ctx;
	doorbells->look = look;
	doorbells->arg = arg;
	doorbells->nap.fn = doorbell_nap_over;
	doorbells->nap.arg = doorbells;
	TAILQ_INIT(&doorbells->warm);
	for (i = 0; i < RNIC_DOORBELL_VQS_MAX; i++)
		TAILQ_INIT(&doorbells->ring[i].pages);
	return rnic_has_direct(ctx) ?
	       obj_table_init(&doorbells->objs, RNIC_DOORBELLS_MAX) : 0;
}

static void doorbell_cool(struct doorbell_table *doorbells,
			  struct doorbell *doorbell)
{
	doorbell->warm = false;
	doorbells->warm_n--;
	TAILQ_REMOVE(&doorbells->warm, doorbell, entry);
}

static void doorbell_release(struct doorbell_table *doorbells,
			     struct doorbell *doorbell)
{
	if (doorbell->warm)
		doorbell_cool(doorbells, doorbell);
	doorbells->ring[doorbell->vq].n--;
	TAILQ_REMOVE(&doorbells->ring[doorbell->vq].pages, doorbell, of_vq);
	obj_del(&doorbells->objs, doorbell->handle);
	free(doorbell->held);
	free(doorbell->qpn);
	free(doorbell);
}

bool doorbell_table_reset(struct doorbell_table *doorbells, struct portion *portion)
{
	struct doorbell *doorbell;

	loop_timer_cancel(doorbells->ctx->loop, &doorbells->nap);
	while (portion_next(portion, RNIC_DOORBELL_VQS_MAX)) {
		doorbell = TAILQ_FIRST(&doorbells->ring[portion->at].pages);
		if (!doorbell) {
			portion->at++;
			continue;
		}
		doorbell_release(doorbells, doorbell);
		portion->left -= PORTION_OBJECT;
	}
	return portion->at >= RNIC_DOORBELL_VQS_MAX;
}

void doorbell_table_fini(struct doorbell_table *doorbells)
{
	obj_table_fini(&doorbells->objs);
}

/* ------------------------------------------------------------------------- */
/* Warm and cold                                                             */
/* ------------------------------------------------------------------------- */

static void doorbell_ask(const struct doorbell *doorbell, bool ring)
{
	write_u32(&doorbell_page(doorbell)->ring_me, htole32(ring));
}

/* Look at a page from now on. */
static void doorbell_heat(struct doorbell_table *doorbells,
			  struct doorbell *doorbell)
{
	doorbell->busy_at = loop_now(doorbells->ctx->loop);
	if (doorbell->warm)
		return;
	doorbell->warm = true;
	doorbells->warm_n++;
	TAILQ_INSERT_TAIL(&doorbells->warm, doorbell, entry);
	doorbell_ask(doorbell, false);
}

/* Have the process ring; true if there are bits for which it may not. */
static bool doorbell_arm(const struct doorbell *doorbell)
{
	const struct virtio_rdma_doorbell_page *page = doorbell_page(doorbell);
	uint64_t some = 0;
	unsigned int i;

	doorbell_ask(doorbell, true);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 0; i < DOORBELL_TOPS; i++)
		some |= doorbell->word[i] |
			__atomic_load_n(&page->words[i], __ATOMIC_RELAXED);
	return some;
}

/* ------------------------------------------------------------------------- */
/* Bits                                                                      */
/* ------------------------------------------------------------------------- */

static __le64 *doorbell_pending(const struct doorbell *doorbell, uint32_t word)
{
	return &doorbell_page(doorbell)->pending[word];
}

/* Take those of @bits in a word that are set. */
static uint64_t doorbell_take_bits(const struct doorbell *doorbell, uint32_t word,
				   uint64_t bits)
{
	return le64toh(write_and(doorbell_pending(doorbell, word), htole64(~bits))) & bits;
}

/* Take a word of bits, look at the QPs that they are. */
static void doorbell_take_word(const struct doorbell_table *doorbells,
			       const struct doorbell *doorbell, uint32_t word)
{
	const bool some = word * 64 < doorbell->room;
	uint64_t bits = doorbell_take_bits(doorbell, word,
					   some ? ~doorbell->held[word] : UINT64_MAX);
	uint32_t bit;

	/*
	 * The bits are clear before the indices of their QPs are read.  It pairs with the
	 * first fence of doorbell_announce() in the provider: a process that finds its
	 * bit set does not announce its request again, so that this look must find it.
	 * The exchange alone does not order its store before later loads.
	 */
	if (bits)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	virtq_charge(1 + __builtin_popcountll(bits));
	for (; some && bits; bits &= bits - 1) {
		bit = word * 64 + __builtin_ctzll(bits);
		if (doorbell->qpn[bit])
			doorbells->look(doorbells->arg, doorbell->qpn[bit]);
	}
}

void doorbell_hold(struct doorbell *doorbell, uint32_t bit)
{
	const uint64_t mask = 1ull << bit % 64;

	if (!doorbell_page(doorbell))
		return;
	doorbell->held[bit / 64] |= mask;
	write_or(doorbell_pending(doorbell, bit / 64), htole64(mask));
}

void doorbell_let_go(struct doorbell *doorbell, uint32_t bit)
{
	const uint64_t mask = 1ull << bit % 64;

	doorbell->held[bit / 64] &= ~mask;
	if (doorbell_page(doorbell))
		doorbell_take_bits(doorbell, bit / 64, mask);
}

/* Take @max words of the bits of a page; returns how many, or 0 if there are none. */
static uint32_t doorbell_take(const struct doorbell_table *doorbells,
			      struct doorbell *doorbell, uint32_t max)
{
	struct virtio_rdma_doorbell_page *page = doorbell_page(doorbell);
	uint32_t i, w, left = max;
	uint64_t some = 0;

	for (i = 0; i < DOORBELL_TOPS; i++) {
		/* A look is cheaper than an exchange. */
		if (__atomic_load_n(&page->words[i], __ATOMIC_RELAXED))
			doorbell->word[i] |= le64toh(write_swap(&page->words[i], 0));
		some |= doorbell->word[i];
	}
	if (!some)
		return 0;
	for (i = 0; i < VIRTIO_RDMA_DOORBELL_WORDS && left; i++) {
		w = (doorbell->next + i) % VIRTIO_RDMA_DOORBELL_WORDS;
		if (!(doorbell->word[w / 64] >> w % 64 & 1))
			continue;
		doorbell->word[w / 64] &= ~(1ull << w % 64);
		doorbell_take_word(doorbells, doorbell, w);
		left--;
	}
	doorbell->next = (doorbell->next + i) % VIRTIO_RDMA_DOORBELL_WORDS;
	return max - left;
}

/* Look at a page; returns how many words it had, @max at most. */
static uint32_t doorbell_look(struct doorbell_table *doorbells,
			      struct doorbell *doorbell, uint32_t max)
{
	const uint64_t now = loop_now(doorbells->ctx->loop);
	uint32_t n;

	if (!doorbell_page(doorbell))
		return 0;
	n = doorbell_take(doorbells, doorbell, max);
	if (n) {
		doorbell->busy_at = now;
	} else if (now - doorbell->busy_at > RNIC_IDLE_NS) {
		if (doorbell_arm(doorbell))
			doorbell_ask(doorbell, false);
		else
			doorbell_cool(doorbells, doorbell);
	}
	return n;
}

/* Which pages have rung?  Takes one of @looks for each, and returns what is left. */
static uint32_t doorbell_find(struct doorbell_table *doorbells,
			      struct doorbell_ring *ring, uint32_t looks)
{
	struct doorbell *doorbell;

	for (; looks && ring->left; looks--, ring->left--) {
		doorbell = TAILQ_FIRST(&ring->pages);
		if (!doorbell) {
			ring->left = 0;
			break;
		}
		TAILQ_REMOVE(&ring->pages, doorbell, of_vq);
		TAILQ_INSERT_TAIL(&ring->pages, doorbell, of_vq);
		/* The driver takes the wish before it rings. */
		if (doorbell_page(doorbell) &&
		    (ring->all || !__atomic_load_n(&doorbell_page(doorbell)->ring_me,
						   __ATOMIC_RELAXED)))
			doorbell_heat(doorbells, doorbell);
	}
	ring->all &= !!ring->left;
	return looks;
}

bool doorbell_poll(struct doorbell_table *doorbells)
{
	uint32_t looks = DOORBELL_LOOKS, words = DOORBELL_BURST, max, n;
	struct doorbell *doorbell;
	bool worked = false;
	unsigned int i;

	for (i = 0; i < doorbells->ctx->limits.doorbell_vqs; i++)
		looks = doorbell_find(doorbells, &doorbells->ring[i], looks);
	virtq_charge(DOORBELL_LOOKS - looks);
	worked = !looks;
	if (looks > doorbells->warm_n)
		looks = doorbells->warm_n;
	max = doorbells->warm_n > 1 ? DOORBELL_SHARE : DOORBELL_BURST;
	for (i = 0; i < looks && words; i++) {
		doorbell = TAILQ_FIRST(&doorbells->warm);
		TAILQ_REMOVE(&doorbells->warm, doorbell, entry);
		TAILQ_INSERT_TAIL(&doorbells->warm, doorbell, entry);
		n = doorbell_look(doorbells, doorbell, words < max ? words : max);
		worked |= n;
		words -= n;
	}
	virtq_charge(i);
	/* Others are to be looked at before anybody sleeps. */
	return worked || i < doorbells->warm_n;
}

bool doorbell_sleep(struct doorbell_table *doorbells)
{
	struct loop *loop = doorbells->ctx->loop;
	struct doorbell *doorbell;
	bool more = false, nap = false;
	unsigned int i;

	TAILQ_FOREACH(doorbell, &doorbells->warm, entry) {
		if (!doorbell_page(doorbell))
			continue;
		if (doorbell->stream_at &&
		    loop_now(loop) - doorbell->stream_at < DOORBELL_STREAM_NS)
			nap = true;
		else
			more |= doorbell_arm(doorbell);
	}
	if (nap)
		loop_timer_set(loop, &doorbells->nap, DOORBELL_NAP_NS);
	for (i = 0; i < doorbells->ctx->limits.doorbell_vqs; i++)
		more |= doorbells->ring[i].left;
	return more;
}

void doorbell_wake(struct doorbell_table *doorbells)
{
	struct doorbell *doorbell;

	TAILQ_FOREACH(doorbell, &doorbells->warm, entry)
		if (doorbell_page(doorbell))
			doorbell_ask(doorbell, false);
}

void doorbell_kick(struct doorbell_table *doorbells, uint32_t vq)
{
	if (vq < RNIC_DOORBELL_VQS_MAX)
		doorbells->ring[vq].left = doorbells->ring[vq].n;
}

/* Nobody looked while the memory was away, so that all pages are to be looked at. */
void doorbell_mem_changed(struct doorbell_table *doorbells)
{
	struct doorbell_ring *ring;
	unsigned int i;

	rnic_call(doorbells->ctx);
	for (i = 0; i < RNIC_DOORBELL_VQS_MAX; i++) {
		ring = &doorbells->ring[i];
		ring->left = ring->n;
		ring->all = true;
	}
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

const char *doorbell_alloc(struct doorbell_table *doorbells, uint64_t page,
			   uint32_t vq, uint32_t *handle)
{
	struct doorbell *doorbell;
	struct block block;
	const char *why;

	if (vq >= doorbells->ctx->limits.doorbell_vqs)
		return "no such doorbell virtqueue";
	why = block_init(&block, doorbells->ctx, page, RNIC_PAGE_SIZE);
	if (why)
		return why;
	doorbell = calloc(1, sizeof(*doorbell));
	if (!doorbell)
		return "out of memory";
	if (obj_add(&doorbells->objs, doorbell, &doorbell->handle)) {
		free(doorbell);
		return rnic_why(doorbells->ctx, "all %u doorbell pages are in use",
				RNIC_DOORBELLS_MAX);
	}
	doorbell->vq = vq;
	doorbell->block = block;
	doorbells->ring[vq].n++;
	TAILQ_INSERT_TAIL(&doorbells->ring[vq].pages, doorbell, of_vq);
	doorbell_ask(doorbell, true);
	*handle = doorbell->handle;
	return NULL;
}

const char *doorbell_free(struct doorbell_table *doorbells, uint32_t handle)
{
	struct doorbell *doorbell = doorbell_get(doorbells, handle);

	if (!doorbell)
		return "unknown doorbell page";
	if (doorbell->refs)
		return "doorbell page in use";
	doorbell_release(doorbells, doorbell);
	return NULL;
}

struct doorbell *doorbell_get(const struct doorbell_table *doorbells, uint32_t handle)
{
	return obj_get(&doorbells->objs, handle);
}

bool doorbell_has(const struct doorbell *doorbell, uint32_t bit)
{
	return bit < VIRTIO_RDMA_DOORBELL_BITS &&
	       (bit >= doorbell->room || !doorbell->qpn[bit]);
}

static bool doorbell_grow(struct doorbell *doorbell, uint32_t room)
{
	const uint32_t words = room / 64, had = doorbell->room / 64;
	uint16_t *qpn = reallocarray(doorbell->qpn, room, sizeof(*qpn));
	uint64_t *held;

	if (!qpn)
		return false;
	doorbell->qpn = qpn;
	held = reallocarray(doorbell->held, words, sizeof(*held));
	if (!held)
		return false;
	doorbell->held = held;
	memset(&qpn[doorbell->room], 0, (room - doorbell->room) * sizeof(*qpn));
	memset(&held[had], 0, (words - had) * sizeof(*held));
	doorbell->room = room;
	return true;
}

bool doorbell_enter(struct doorbell *doorbell, uint32_t bit, uint32_t qpn)
{
	uint32_t room = doorbell->room ? doorbell->room : DOORBELL_ROOM;

	while (room <= bit)
		room *= 2;
	if (room > doorbell->room && !doorbell_grow(doorbell, room))
		return false;
	doorbell->qpn[bit] = qpn;
	doorbell->refs++;
	return true;
}

bool doorbell_use(struct doorbell *doorbell, uint32_t bit, uint32_t qpn)
{
	if (!doorbell_enter(doorbell, bit, qpn))
		return false;
	/* A bit that another QP left there announces nothing. */
	doorbell_let_go(doorbell, bit);
	return true;
}

void doorbell_unuse(struct doorbell *doorbell, uint32_t bit)
{
	doorbell_let_go(doorbell, bit);
	doorbell->qpn[bit] = 0;
	doorbell->refs--;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

/* Bytes of one in a state. */
#define DOORBELL_STATE_SIZE	(4 + 8 + 8 + 8 + 4 + 8 * DOORBELL_TOPS)

static void doorbell_io(struct state *st, struct doorbell_table *doorbells,
			struct doorbell *doorbell)
{
	const uint64_t now = loop_now(doorbells->ctx->loop);
	unsigned int i;

	state_u32(st, "handle", &doorbell->handle, UINT32_MAX);
	block_io(st, &doorbell->block, doorbells->ctx, RNIC_PAGE_SIZE);
	state_time(st, "busy_at", &doorbell->busy_at, now);
	state_time(st, "stream_at", &doorbell->stream_at, now);
	state_u32(st, "next", &doorbell->next, VIRTIO_RDMA_DOORBELL_WORDS - 1);
	for (i = 0; i < DOORBELL_TOPS; i++)
		state_u64(st, "word", &doorbell->word[i], UINT64_MAX);
	if (st->loading && !st->failed && !obj_put(&doorbells->objs, doorbell->handle, doorbell))
		state_refuse(st, "handle", "it is free, or another one's");
}

static void doorbell_load(struct state *st, struct doorbell_table *doorbells, uint16_t vq)
{
	struct doorbell *doorbell = calloc(1, sizeof(*doorbell));

	if (!state_need(st, doorbell, "pages", "out of memory"))
		return;
	doorbell_io(st, doorbells, doorbell);
	if (st->failed) {
		free(doorbell);
		return;
	}
	doorbell->vq = vq;
	doorbells->ring[vq].n++;
	TAILQ_INSERT_TAIL(&doorbells->ring[vq].pages, doorbell, of_vq);
}

static void doorbell_ring_io(struct state *st, struct doorbell_table *doorbells, uint16_t vq)
{
	struct doorbell_ring *ring = &doorbells->ring[vq];
	struct doorbell *doorbell = TAILQ_FIRST(&ring->pages);
	uint32_t i, n = ring->n;

	state_count(st, "pages", &n, RNIC_DOORBELLS_MAX, DOORBELL_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		if (st->loading) {
			doorbell_load(st, doorbells, vq);
		} else {
			doorbell_io(st, doorbells, doorbell);
			doorbell = TAILQ_NEXT(doorbell, of_vq);
		}
	}
	state_u32(st, "left", &ring->left, n);
	state_bool(st, "all", &ring->all);
}

/* In the order in which they are looked at. */
static void doorbell_warm_io(struct state *st, struct doorbell_table *doorbells)
{
	struct doorbell *doorbell = TAILQ_FIRST(&doorbells->warm);
	uint32_t i, n = doorbells->warm_n, handle = 0;

	state_count(st, "warm", &n, doorbells->objs.used, sizeof(handle));
	for (i = 0; i < n && !st->failed; i++) {
		if (!st->loading)
			handle = doorbell->handle;
		state_u32(st, "warm", &handle, UINT32_MAX);
		if (!st->loading) {
			doorbell = TAILQ_NEXT(doorbell, entry);
			continue;
		}
		doorbell = doorbell_get(doorbells, handle);
		if (!state_need(st, doorbell && !doorbell->warm, "warm",
				"no such page, or twice"))
			return;
		doorbell->warm = true;
		doorbells->warm_n++;
		TAILQ_INSERT_TAIL(&doorbells->warm, doorbell, entry);
	}
}

void doorbell_table_io(struct state *st, struct doorbell_table *doorbells)
{
	uint32_t i;

	if (!doorbells->objs.max)
		return;
	obj_table_io(st, &doorbells->objs);
	for (i = 0; i < doorbells->ctx->limits.doorbell_vqs && !st->failed; i++)
		doorbell_ring_io(st, doorbells, i);
	obj_table_io_end(st, &doorbells->objs);
	doorbell_warm_io(st, doorbells);
	rnic_timer_io(st, "nap", doorbells->ctx, &doorbells->nap);
}
