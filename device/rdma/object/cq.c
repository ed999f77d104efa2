// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues.
 *
 * The slots that the driver made available are a CQ's window: one is available
 * again once its completion was read.  A completion that finds no slot is held
 * until there is one, and those that come later stand in line behind it.  The
 * driver rings no doorbell for a CQ, so a timer looks for slots meanwhile, and
 * each completion added and each arming do the same.  Those of a queue that is reset
 * are dropped: at once to the guest, while their memory is given back bit by bit,
 * as there may be a million of them.
 *
 * A CQ that cannot hold one more has lost a completion.  The guest can then rely
 * on none of those that follow, so the CQ stays in error until it is destroyed,
 * and the QPs that complete to it fail.
 *
 * A direct CQ is a ring in memory, as deep as its driver wanted it, so that nothing is
 * held for it: a completion that finds the ring full is lost.  A CQ with a control
 * block, direct or not, is armed there, and raises an event instead of the interrupt of
 * a virtqueue.
 */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/object/cq.h"
#include "virtio/write.h"

#define NOTIFY_ALL	(VIRTIO_IB_NOTIFY_SOLICITED | \
			 VIRTIO_IB_NOTIFY_NEXT_COMPLETION)

/* How often slots are looked for, in ns. */
#define HELD_WAIT_MIN	(100 * 1000ULL)
#define HELD_WAIT_MAX	(10 * 1000 * 1000ULL)

/* Pieces of slots that are filled at a time: as a rule a slot is one. */
#define CQ_FILL_PIECES	VIRTQ_SIZE_MAX

/* Dropped completions whose memory is given back at a time, and how often, in ns. */
#define CQ_FREE_MAX	1024
#define CQ_FREE_WAIT	(100 * 1000ULL)

/* An event waits for so many completions of a long burst, at most. */
#define CQ_LATE_MAX	32

static const char cq_no_memory[] = "out of memory";

static void cq_timer(void *arg);
static void cq_period_over(void *arg);
static void cq_free_dropped(void *arg);

/* ------------------------------------------------------------------------- */
/* The table                                                                 */
/* ------------------------------------------------------------------------- */

int cq_table_init(struct cq_table *cqs, struct rnic_ctx *ctx,
		  struct event_table *events)
{
	TAILQ_INIT(&cqs->dropped);
	LIST_INIT(&cqs->late);
	cqs->timer.fn = cq_free_dropped;
	cqs->timer.arg = cqs;
	cqs->ctx = ctx;
	cqs->events = events;
	cqs->size = ctx->limits.cqs;
	cqs->next = ctx->limits.cqs;
	cqs->cq = calloc(cqs->size, sizeof(*cqs->cq));
	cqs->vq = calloc(ctx->limits.cqs, sizeof(*cqs->vq));
	return cqs->cq && cqs->vq ? 0 : -ENOMEM;
}

void cq_table_fini(struct cq_table *cqs)
{
	while (!TAILQ_EMPTY(&cqs->dropped))
		cq_free_dropped(cqs);
	if (cqs->ctx)
		loop_timer_cancel(cqs->ctx->loop, &cqs->timer);
	free(cqs->vq);
	free(cqs->cq);
}

/* Make room for number @cqn, as much again as there is at least. */
static bool cq_table_grow(struct cq_table *cqs, uint32_t cqn)
{
	uint32_t size = cqs->size;
	struct cq **cq;

	if (cqn < size)
		return true;
	while (size <= cqn)
		size *= 2;
	cq = reallocarray(cqs->cq, size, sizeof(*cq));
	if (!cq)
		return false;
	memset(&cq[cqs->size], 0, (size - cqs->size) * sizeof(*cq));
	cqs->cq = cq;
	cqs->size = size;
	return true;
}

void cq_set_queue(struct cq_table *cqs, uint32_t cqn, struct virtq *vq)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (cqn >= cqs->ctx->limits.cqs)
		return;
	cqs->vq[cqn] = vq;
	if (cq)
		cq->vq = cqs->ctx->clearing ? NULL : vq;
}

/* ------------------------------------------------------------------------- */
/* Creation and destruction                                                  */
/* ------------------------------------------------------------------------- */

static uint32_t cqs_started(const struct cq_table *cqs)
{
	uint32_t i, n = 0;

	for (i = 0; i < cqs->ctx->limits.cqs; i++)
		n += !!cqs->vq[i];
	return n;
}

struct cq *cq_enter(struct cq_table *cqs, uint32_t cqn)
{
	struct cq *cq = cq_table_grow(cqs, cqn) ? calloc(1, sizeof(*cq)) : NULL;

	if (!cq)
		return NULL;
	cq->table = cqs;
	cq->cqn = cqn;
	TAILQ_INIT(&cq->users);
	TAILQ_INIT(&cq->failing);
	TAILQ_INIT(&cq->held);
	cq->timer.fn = cq_timer;
	cq->timer.arg = cq;
	cq->mod.timer.fn = cq_period_over;
	cq->mod.timer.arg = cq;
	cqs->cq[cqn] = cq;
	return cq;
}

const char *cq_create(struct cq_table *cqs, uint32_t cqe, uint32_t *cqn)
{
	const struct rnic_limits *limits = &cqs->ctx->limits;
	uint32_t i, slots;
	struct cq *cq;

	if (!cqe)
		return "no depth";
	if (cqe > limits->cqe)
		return rnic_why(cqs->ctx,
				"%u completions are more than the %u that a CQ holds",
				cqe, limits->cqe);
	for (i = 0; i < limits->cqs; i++)
		if (!cqs->cq[i] && cqs->vq[i])
			break;
	if (i == limits->cqs)
		return rnic_why(cqs->ctx,
				"all %u CQs that have a virtqueue are in use",
				cqs_started(cqs));
	if (limits->rfc && cqe > cqs->vq[i]->num)
		return rnic_why(cqs->ctx,
				"%u completions are more than its virtqueue holds, %u",
				cqe, cqs->vq[i]->num);

	cq = cq_enter(cqs, i);
	if (!cq)
		return cq_no_memory;
	slots = cqe < cqs->vq[i]->num ? cqe : cqs->vq[i]->num;
	cq->vq = cqs->vq[i];
	cq->held_max = limits->rfc ? 0 : limits->cqe - slots;
	virtq_restart(cqs->vq[i]);
	virtq_want_kick(cqs->vq[i], false);
	*cqn = i;
	return NULL;
}

static const char *cq_create_direct(struct cq_table *cqs,
				    const struct virtio_rdma_cmd_create_cq_long *req,
				    struct pages *pages, uint32_t *cqn)
{
	const uint32_t first = cqs->ctx->limits.cqs, n = cqs->ctx->limits.direct_cqs;
	uint32_t i, number = 0;
	struct cq *cq;

	for (i = 0; i < n; i++) {
		number = first + (cqs->next - first + i) % n;
		if (!cq_get(cqs, number))
			break;
	}
	if (i == n)
		return rnic_why(cqs->ctx, "all %u direct CQs are in use", n);
	cq = cq_enter(cqs, number);
	if (!cq)
		return cq_no_memory;
	cqs->next = first + (number - first + 1) % n;
	cq->direct = true;
	cq->timed = req->flags & VIRTIO_RDMA_CQ_TIMESTAMP;
	cq->plain = !cq->timed;
	cqs->ctx->clock_known |= cq->timed;
	cq->shift = req->cqe_shift;
	cq->cqe = le32toh(req->cqe);
	cq->pages = *pages;
	*pages = (struct pages) {};
	*cqn = number;
	return NULL;
}

const char *cq_check_ring(uint32_t cqe, uint8_t shift, uint32_t npages)
{
	if (cqe < VIRTIO_RDMA_DIRECT_MIN_CQE || cqe > RNIC_DIRECT_CQE_MAX ||
	    cqe & (cqe - 1))
		return "depth of a direct CQ out of range";
	if (shift != 5 && shift != 6)
		return "size of a completion out of range";
	if (npages != (((uint64_t)cqe << shift) + RNIC_PAGE_SIZE - 1) / RNIC_PAGE_SIZE)
		return "number of pages does not cover the ring";
	return NULL;
}

static const char *cq_check_direct(const struct cq_table *cqs,
				   const struct virtio_rdma_cmd_create_cq_long *req)
{
	if (!rnic_has_direct(cqs->ctx) || !(req->flags & VIRTIO_RDMA_CQ_CONTROL))
		return "a direct CQ needs direct rings and a control block";
	if (req->flags & VIRTIO_RDMA_CQ_TIMESTAMP && req->cqe_shift != CQ_TIMED_SHIFT)
		return "completions of a CQ with timestamps have 64 bytes";
	return cq_check_ring(le32toh(req->cqe), req->cqe_shift, le32toh(req->npages));
}

const char *cq_check_long(const struct cq_table *cqs,
			  const struct virtio_rdma_cmd_create_cq_long *req)
{
	struct block block;

	if (req->flags & ~(VIRTIO_RDMA_CQ_CONTROL | VIRTIO_RDMA_CQ_DIRECT |
			   VIRTIO_RDMA_CQ_TIMESTAMP))
		return "unknown flags";
	if (le16toh(req->event_vq) >= cqs->ctx->limits.event_vqs)
		return "no such event virtqueue";
	if (req->flags & VIRTIO_RDMA_CQ_DIRECT)
		return cq_check_direct(cqs, req);
	if (req->npages)
		return "pages of a CQ that is none of them";
	if (req->flags & VIRTIO_RDMA_CQ_TIMESTAMP)
		return "timestamps of a CQ that is none of them";
	return req->flags & VIRTIO_RDMA_CQ_CONTROL ?
	       block_init(&block, cqs->ctx, le64toh(req->control),
			  VIRTIO_RDMA_CONTROL_SIZE) : NULL;
}

const char *cq_create_long(struct cq_table *cqs,
			   const struct virtio_rdma_cmd_create_cq_long *req,
			   struct pages *pages, uint32_t *cqn)
{
	struct block block = {};
	const char *why = NULL;
	struct cq *cq;

	if (req->flags & VIRTIO_RDMA_CQ_CONTROL)
		why = block_init(&block, cqs->ctx, le64toh(req->control),
				 VIRTIO_RDMA_CONTROL_SIZE);
	if (!why)
		why = req->flags & VIRTIO_RDMA_CQ_DIRECT ?
		      cq_create_direct(cqs, req, pages, cqn) :
		      cq_create(cqs, le32toh(req->cqe), cqn);
	if (why)
		return why;
	cq = cqs->cq[*cqn];
	cq->control = req->flags & VIRTIO_RDMA_CQ_CONTROL;
	cq->block = block;
	cq->ready = (struct event_mark) {
		.type = VIRTIO_RDMA_EVENT_COMPLETION,
		.vq = le16toh(req->event_vq),
		.number = *cqn,
	};
	cq->failed = cq->ready;
	cq->failed.type = VIRTIO_RDMA_EVENT_CQ_ERROR;
	return NULL;
}

const char *cq_check_resize(const struct cq_table *cqs,
			    const struct virtio_rdma_cmd_resize_cq *req)
{
	const struct cq *cq = cq_get(cqs, le32toh(req->cqn));

	if (!cq || !cq->direct)
		return "unknown direct completion queue";
	return cq_check_ring(le32toh(req->cqe), cq->shift, le32toh(req->npages));
}

/*
 * Nothing is copied here, so that the time does not depend on what is unread.  The driver
 * may change the old control block meanwhile: it is read once.
 */
const char *cq_resize(struct cq_table *cqs,
		      const struct virtio_rdma_cmd_resize_cq *req,
		      struct pages *pages, struct virtio_rdma_ack_resize_cq *ack)
{
	struct cq *cq = cqs->cq[le32toh(req->cqn)];
	const struct virtio_rdma_cq_control *old = block_host(&cq->block);
	const uint32_t cqe = le32toh(req->cqe);
	struct block block;
	const char *why;
	uint32_t unread;

	why = block_init(&block, cqs->ctx, le64toh(req->control),
			 VIRTIO_RDMA_CONTROL_SIZE);
	if (why)
		return why;
	if (cq->error || !old)
		return "completion queue in error, or without memory";
	unread = cq->stored - le32toh(__atomic_load_n(&old->consumer, __ATOMIC_ACQUIRE));
	if (unread > cq->cqe)
		return "more completions were taken than stored";
	if (unread > cqe)
		return rnic_why(cqs->ctx, "%u completions are unread, of %u wanted",
				unread, cqe);
	ack->stored = htole32(cq->stored);
	ack->unread = htole32(unread);
	pages_free(&cq->pages);
	cq->pages = *pages;
	cq->near = (struct pages_near) {};
	*pages = (struct pages) {};
	cq->block = block;
	cq->cqe = cqe;
	cq->stored = unread;
	return NULL;
}

/* Take the first one off a list, and give its memory back. */
static void cq_held_free(struct cq_table *cqs, struct cq_held_list *list)
{
	struct cq_held *held = TAILQ_FIRST(list);
	struct cq_lot *lot = held->lot;

	TAILQ_REMOVE(list, held, entry);
	free(held);
	if (lot->user)
		cqs->held--;
	else
		cqs->dropped_n--;
	if (--lot->n)
		return;
	if (lot->user)
		lot->user->lot = NULL;
	free(lot);
}

static void cq_free_dropped(void *arg)
{
	struct cq_table *cqs = arg;
	uint32_t n;

	for (n = 0; n < CQ_FREE_MAX && !TAILQ_EMPTY(&cqs->dropped); n++)
		cq_held_free(cqs, &cqs->dropped);
	if (!TAILQ_EMPTY(&cqs->dropped))
		loop_timer_set(cqs->ctx->loop, &cqs->timer, CQ_FREE_WAIT);
}

bool cq_free_some(struct cq_table *cqs)
{
	cq_free_dropped(cqs);
	return TAILQ_EMPTY(&cqs->dropped);
}

/* Nothing waits for a slot any more: what is still in line was dropped. */
static void cq_held_none(struct cq *cq)
{
	struct cq_table *cqs = cq->table;

	loop_timer_cancel(cqs->ctx->loop, &cq->timer);
	TAILQ_CONCAT(&cqs->dropped, &cq->held, entry);
	cq_free_dropped(cqs);
}

void cq_forget(struct cq *cq, struct cq_user *user)
{
	struct cq_lot *lot = user->lot;

	if (!lot)
		return;
	user->lot = NULL;
	lot->user = NULL;
	cq->table->held -= lot->n;
	cq->table->dropped_n += lot->n;
	cq->held_n -= lot->n;
	if (!cq->held_n)
		cq_held_none(cq);
}

static void cq_free(struct cq *cq)
{
	if (cq->chore.step)
		chore_del(cq->table->ctx->loop, &cq->chore);
	if (cq->late)
		LIST_REMOVE(cq, late_entry);
	moderate_stop(&cq->mod, cq->table->ctx);
	event_drop(cq->table->events, &cq->ready);
	event_drop(cq->table->events, &cq->failed);
	pages_free(&cq->pages);
	cq->table->cq[cq->cqn] = NULL;
	if (cq->vq)
		virtq_restart(cq->vq);
	free(cq);
}

bool cq_table_reset(struct cq_table *cqs, struct portion *portion)
{
	struct cq *cq;

	while (portion_next(portion, cqs->size)) {
		cq = cqs->cq[portion->at++];
		if (!cq)
			continue;
		cq_free(cq);
		portion->left -= PORTION_OBJECT;
	}
	cqs->next = cqs->ctx->limits.cqs;
	return portion->at >= cqs->size;
}

const char *cq_destroy(struct cq_table *cqs, uint32_t cqn)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!TAILQ_EMPTY(&cq->users) || !TAILQ_EMPTY(&cq->failing))
		return "completion queue in use";
	cq_free(cq);
	return NULL;
}

void cq_attach(struct cq *cq, struct cq_user *user)
{
	user->lot = NULL;
	user->failed = cq->error;
	TAILQ_INSERT_TAIL(&cq->users, user, entry);
}

void cq_attach_again(struct cq *cq, struct cq_user *user, bool failed)
{
	user->lot = NULL;
	user->failed = failed;
	TAILQ_INSERT_TAIL(cq->error && !failed ? &cq->failing : &cq->users, user, entry);
}

void cq_detach(struct cq *cq, struct cq_user *user)
{
	cq_forget(cq, user);
	TAILQ_REMOVE(cq->error && !user->failed ? &cq->failing : &cq->users, user, entry);
}

/* ------------------------------------------------------------------------- */
/* Events                                                                    */
/* ------------------------------------------------------------------------- */

static struct virtio_rdma_cq_control *cq_block(const struct cq *cq)
{
	return block_host((struct block *)&cq->block);
}

/*
 * The events that the CQ is armed for, &enum virtio_ib_notify_flags, and the number of that
 * arming.  The bits of @arm are the same.  The barrier stands between the completion
 * and the look at @arm; the driver has one between its store to @arm and its look for
 * completions.
 */
static uint32_t cq_armed(const struct cq *cq, uint32_t *number)
{
	const struct virtio_rdma_cq_control *block = cq_block(cq);
	uint32_t arm;

	*number = cq->arming;
	if (!cq->control)
		return cq->armed;
	if (!block)
		return 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = le32toh(__atomic_load_n(&block->arm, __ATOMIC_RELAXED));
	*number = arm / VIRTIO_RDMA_ARM_NUMBER;
	return *number == cq->arming ? 0 : arm & NOTIFY_ALL;
}

_Static_assert(NOTIFY_ALL == (VIRTIO_RDMA_ARM_SOLICITED | VIRTIO_RDMA_ARM_NEXT) &&
	       VIRTIO_IB_NOTIFY_NEXT_COMPLETION / 2 == VIRTIO_RDMA_ARM_SOLICITED,
	       "an arm word has other bits than REQ_NOTIFY_CQ");

static bool cq_raises(const struct cq *cq, const struct virtio_rdma_cq_req *wc,
		      bool solicited, uint32_t *number)
{
	uint32_t armed = cq_armed(cq, number);

	if (armed & VIRTIO_IB_NOTIFY_NEXT_COMPLETION)
		return true;
	return armed & VIRTIO_IB_NOTIFY_SOLICITED &&
	       (solicited || wc->status != VIRTIO_IB_WC_SUCCESS);
}

static void cq_wake(struct cq *cq)
{
	if (cq->control)
		event_report(cq->table->events, &cq->ready);
	else
		cq->vq->call(cq->vq);
}

/* A completion is in a slot, for the driver to see. */
static void cq_notify(struct cq *cq, const struct virtio_rdma_cq_req *wc,
		      bool solicited)
{
	uint32_t number;

	if (!cq_raises(cq, wc, solicited, &number) ||
	    (cq->control && moderate_holds(&cq->mod, cq->table->ctx, number)))
		return;
	cq->armed = 0;
	cq->arming = number;
	cq_wake(cq);
}

/* The event has waited, unless the driver has armed the CQ again since. */
static void cq_raise_waiting(struct cq *cq)
{
	uint32_t number;

	if (!cq_armed(cq, &number) || number != cq->mod.arming)
		return;
	cq->arming = number;
	cq_wake(cq);
}

/* Without its memory, as while the guest is paused, nobody knows what the CQ is armed for. */
static void cq_period_over(void *arg)
{
	struct cq *cq = arg;

	if (!cq_block(cq) && !cq->table->ctx->clearing) {
		moderate_again(&cq->mod, cq->table->ctx);
		return;
	}
	moderate_stop(&cq->mod, cq->table->ctx);
	if (!cq->table->ctx->clearing)
		cq_raise_waiting(cq);
}

const char *cq_modify(struct cq_table *cqs, uint32_t cqn, uint16_t count, uint16_t period)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (!cq)
		return "unknown completion queue";
	if (!cq->control)
		return "the completion queue has no control block";
	if (moderate_set(&cq->mod, cqs->ctx, count, period))
		cq_raise_waiting(cq);
	return NULL;
}

/*
 * A completion is held.  The guest may wait for the interrupt before it reads
 * any, so there is one now.  But it may also have read all that it saw meanwhile
 * and ignore an interrupt without a completion: the CQ stays armed until this one
 * is in a slot.
 */
static void cq_notify_held(struct cq *cq, const struct virtio_rdma_cq_req *wc,
			   bool solicited)
{
	uint32_t number;

	if (!cq_raises(cq, wc, solicited, &number) || cq->told == number)
		return;
	cq->told = number;
	cq_wake(cq);
}

/* So many users of a CQ in error fail at a time. */
#define CQ_FAILS	32

static void cq_fail_user(struct cq *cq, struct cq_user *user)
{
	if (user->failed)
		return;
	user->failed = true;
	TAILQ_REMOVE(&cq->failing, user, entry);
	TAILQ_INSERT_TAIL(&cq->users, user, entry);
	cq_forget(cq, user);
	user->fail(user->arg);
}

static bool cq_fail_some(struct chore *chore)
{
	struct cq *cq = (struct cq *)((char *)chore - offsetof(struct cq, chore));
	unsigned int n;

	for (n = 0; n < CQ_FAILS && !TAILQ_EMPTY(&cq->failing); n++)
		cq_fail_user(cq, TAILQ_FIRST(&cq->failing));
	if (!TAILQ_EMPTY(&cq->failing))
		return true;
	cq->chore.step = NULL;
	return false;
}

void cq_fail_later(struct cq *cq)
{
	if (TAILQ_EMPTY(&cq->failing) || cq->chore.step)
		return;
	cq->chore.step = cq_fail_some;
	chore_add(cq->table->ctx->loop, &cq->chore);
}

/* A CQ may have thousands of users: the first ones, and @user if any, fail now. */
static void cq_fail(struct cq *cq, struct cq_user *user, const char *why)
{
	rnic_warn(cq->table->ctx, "CQ %u in error: %s", cq->cqn, why);
	cq->error = true;
	if (cq->control) {
		if (cq_block(cq))
			write_u32(&cq_block(cq)->device, htole32(1));
		event_report(cq->table->events, &cq->failed);
	}
	TAILQ_CONCAT(&cq->failing, &cq->users, entry);
	if (user)
		cq_fail_user(cq, user);
	if (cq_fail_some(&cq->chore))
		cq_fail_later(cq);
}

/*
 * Put a completion into a slot.  Returns 1, 0 if there is none now, -1 if there
 * can be none; @why says why.
 */
static int cq_put(struct rnic_ctx *ctx, struct virtq *vq,
		  const struct virtio_rdma_cq_req *wc, const char **why)
{
	struct virtq_elem *elem = &ctx->elem;
	int ret = virtq_pop(vq, elem);

	if (ret < 0)
		*why = "its virtqueue is broken";
	if (ret <= 0)
		return ret < 0 ? -1 : 0;
	if (elem->in_len < sizeof(*wc)) {
		virtq_push(vq, elem->head, 0);
		*why = "a slot is too short";
		return -1;
	}
	iov_from_buf(&elem->iov[elem->out_n], elem->in_n, 0, wc, sizeof(*wc));
	virtq_push(vq, elem->head, sizeof(*wc));
	return 1;
}

/* Completions that the driver has not taken, as it says. */
static uint32_t cq_unread(const struct cq *cq, const struct virtio_rdma_cq_control *block)
{
	return cq->stored - le32toh(__atomic_load_n(&block->consumer, __ATOMIC_ACQUIRE));
}

/* The phase is what the driver looks at, so its word comes last. */
void cq_write_words(struct cq *cq, struct virtio_rdma_cqe *to, uint64_t first, uint64_t second,
		    uint64_t third, uint64_t last)
{
	const uint64_t phase = cq->stored & cq->cqe ? 0 : VIRTIO_RDMA_CQE_PHASE;

	write_four(to, first, second, third, last | htole64(phase << 56));
	cq->stored++;
}

static void cq_write_time(struct cq *cq, struct virtio_rdma_cqe *to)
{
	struct virtio_rdma_cqe_timed *timed = (struct virtio_rdma_cqe_timed *)to;
	const uint64_t now = htole64(rnic_clock(cq->table->ctx));

	write_copy(&timed->time, &now, sizeof(now));
}

/*
 * Store a completion in the ring of a direct CQ; returns why not, or NULL.  @timed is a constant,
 * so that times cost nothing where there are none.
 */
static inline __attribute__((always_inline)) const char *
cq_store_either(struct cq *cq, const struct cq_user *user, const struct virtio_rdma_cq_req *wc,
		uint32_t wqe, bool timed)
{
	const struct virtio_rdma_cq_control *block = cq_block(cq);
	const struct virtio_rdma_cqe cqe = {
		.byte_len = wc->byte_len,
		.imm_data = wc->imm_data,
		.qp_num = wc->qp_num,
		.src_qp = user->srqn ? htole32(user->srqn) : wc->src_qp,
		.wqe = htole32(wqe),
		.vendor_err = wc->vendor_err,
		.vlan = wc->vlan,
		.status = wc->status,
		.opcode = wc->opcode | (user->recv ? VIRTIO_RDMA_CQE_RECV : 0) |
			  (user->srqn ? VIRTIO_RDMA_CQE_XRC : 0),
		.wc_flags = htole16(le32toh(wc->wc_flags)),
	};
	struct virtio_rdma_cqe *to = cq_slot(cq, 0);
	uint32_t unread;

	if (!block || !to)
		return "its memory is gone";
	unread = cq_unread(cq, block);
	if (unread >= cq->cqe)
		return "overrun";
	cq->read = !unread;
	if (timed)
		cq_write_time(cq, to);
	cq_write(cq, to, &cqe);
	return NULL;
}

static inline __attribute__((always_inline)) const char *
cq_store(struct cq *cq, const struct cq_user *user, const struct virtio_rdma_cq_req *wc,
	 uint32_t wqe)
{
	return cq_store_either(cq, user, wc, wqe, false);
}

static __attribute__((noinline)) const char *cq_store_timed(struct cq *cq,
							     const struct cq_user *user,
							     const struct virtio_rdma_cq_req *wc,
							     uint32_t wqe)
{
	return cq_store_either(cq, user, wc, wqe, true);
}

/* An armed CQ is left to cq_add(), which looks at each completion. */
uint32_t cq_quiet_room(struct cq *cq)
{
	const struct virtio_rdma_cq_control *block = cq_block(cq);
	uint32_t unread, arm;

	if (cq->error || !block)
		return 0;
	arm = le32toh(__atomic_load_n(&block->arm, __ATOMIC_RELAXED));
	if (arm / VIRTIO_RDMA_ARM_NUMBER != cq->arming && arm & NOTIFY_ALL)
		return 0;
	unread = cq_unread(cq, block);
	cq->read = !unread;
	return unread < cq->cqe ? cq->cqe - unread : 0;
}

void cq_look(struct cq *cq, bool solicited)
{
	static const struct virtio_rdma_cq_req success;

	cq_notify(cq, &success, solicited);
}

/* ------------------------------------------------------------------------- */
/* Completions without a slot                                                */
/* ------------------------------------------------------------------------- */

static void cq_wait(struct cq *cq, uint64_t ns)
{
	cq->wait_ns = ns < HELD_WAIT_MAX ? ns : HELD_WAIT_MAX;
	loop_timer_set(cq->table->ctx->loop, &cq->timer, cq->wait_ns);
}

const char *cq_hold(struct cq *cq, struct cq_user *user,
		    const struct virtio_rdma_cq_req *wc, bool solicited)
{
	struct cq_table *cqs = cq->table;
	struct cq_held *held;

	if (cq->held_n == cq->held_max)
		return "overrun";
	if (cqs->held + cqs->dropped_n >= RNIC_HELD_MAX)
		return "too many completions unread in all CQs";
	held = malloc(sizeof(*held));
	if (held && !user->lot)
		user->lot = calloc(1, sizeof(*user->lot));
	if (!held || !user->lot) {
		free(held);
		return cq_no_memory;
	}
	held->wc = *wc;
	held->solicited = solicited;
	held->lot = user->lot;
	user->lot->user = user;
	user->lot->n++;
	TAILQ_INSERT_TAIL(&cq->held, held, entry);
	cqs->held++;
	if (!cq->held_n++)
		cq_wait(cq, HELD_WAIT_MIN);
	return NULL;
}

/*
 * Put as many into slots as there are slots, and drop what stands before them;
 * returns how many left the line.  A guest that makes slots available all the
 * while, or slots of many pieces, keeps nobody waiting: the timer goes on soon.
 */
static uint32_t cq_fill_slots(struct cq *cq)
{
	const struct virtq_elem *elem = &cq->table->ctx->elem;
	struct virtq *vq = cq->vq;
	uint32_t pieces = 0;
	struct cq_held *held;
	const char *why;
	uint32_t n;
	int ret = 1;

	/*
	 * Without its queue a CQ stands still, as its users do, or while it has no memory.
	 * In error it stores nothing, though some users may not have failed yet.
	 */
	if (!vq || cq->error || (cq->control && !cq_block(cq)))
		return 0;
	for (n = 0; cq->held_n && pieces < CQ_FILL_PIECES; n++) {
		held = TAILQ_FIRST(&cq->held);
		if (!held->lot->user) {
			pieces++;
			cq_held_free(cq->table, &cq->held);
			continue;
		}
		ret = cq_put(cq->table->ctx, vq, &held->wc, &why);
		if (ret <= 0)
			break;
		pieces += elem->out_n + elem->in_n;
		cq_notify(cq, &held->wc, held->solicited);
		cq_held_free(cq->table, &cq->held);
		if (!--cq->held_n)
			cq_held_none(cq);
	}
	if (cq->held_n && pieces >= CQ_FILL_PIECES)
		cq_wait(cq, HELD_WAIT_MIN);
	if (ret < 0)
		cq_fail(cq, NULL, why);
	return n;
}

/* Have the timers of all CQs together filled enough pieces of slots in this round? */
static bool cq_round_is_over(struct cq_table *cqs)
{
	const uint64_t now = loop_now(cqs->ctx->loop);

	if (cqs->round != now) {
		cqs->round = now;
		cqs->work = virtq_work();
	}
	return virtq_work() - cqs->work >= CQ_FILL_PIECES;
}

/* The slots of a guest that does not poll are checked less and less often. */
static void cq_timer(void *arg)
{
	struct cq *cq = arg;
	bool some;

	if (cq_round_is_over(cq->table)) {
		cq_wait(cq, HELD_WAIT_MIN);
		return;
	}
	some = cq_fill_slots(cq);

	if (cq->held_n)
		cq_wait(cq, some ? HELD_WAIT_MIN : 2 * cq->wait_ns);
}

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

void cq_add(struct cq *cq, struct cq_user *user,
	    const struct virtio_rdma_cq_req *wc, uint32_t wqe, bool solicited)
{
	const char *why = NULL;
	int ret = 1;

	cq_fill_slots(cq);
	if (cq->error) {
		cq_fail_user(cq, user);
		return;
	}
	if (cq->plain)
		why = cq_store(cq, user, wc, wqe);
	else if (!cq->vq)
		why = cq->timed ? cq_store_timed(cq, user, wc, wqe) :
				  "its virtqueue was stopped";
	else if (cq->control && !cq_block(cq))
		why = "its control block is gone";
	else
		ret = cq->held_n ? 0 : cq_put(cq->table->ctx, cq->vq, wc, &why);
	if (!ret)
		why = cq_hold(cq, user, wc, solicited);
	if (why)
		cq_fail(cq, user, why);
	else if (ret)
		cq_notify(cq, wc, solicited);
	else
		cq_notify_held(cq, wc, solicited);
}

static void cq_look_now(struct cq *cq)
{
	cq->late = 0;
	LIST_REMOVE(cq, late_entry);
	cq_look(cq, cq->solicited);
}

/* Moderation counts completions, so that each is looked at. */
void cq_add_late(struct cq *cq, struct cq_user *user, const struct virtio_rdma_cq_req *wc,
		 uint32_t wqe, bool solicited)
{
	const char *why;

	if (!cq->plain || cq->error || cq->mod.period) {
		cq_add(cq, user, wc, wqe, solicited);
		return;
	}
	why = cq_store(cq, user, wc, wqe);
	if (why) {
		cq_fail(cq, user, why);
		return;
	}
	if (!cq->late++) {
		rnic_call(cq->table->ctx);
		cq->solicited = false;
		LIST_INSERT_HEAD(&cq->table->late, cq, late_entry);
	}
	cq->solicited |= solicited || wc->status != VIRTIO_IB_WC_SUCCESS;
	if (cq->late == CQ_LATE_MAX)
		cq_look_now(cq);
}

void cq_look_late(struct cq_table *cqs)
{
	struct cq *cq;

	while ((cq = LIST_FIRST(&cqs->late)))
		cq_look_now(cq);
}

/*
 * As a rule the guest has read what it found.  Completions that waited for that
 * go to their slots at once: there may be no later event to tell the guest of.
 */
const char *cq_arm(struct cq_table *cqs, uint32_t cqn, uint32_t flags)
{
	struct cq *cq = cq_get(cqs, cqn);

	if (!cq)
		return "unknown completion queue";
	if (cq->control)
		return "the completion queue is armed by its control block";
	if (!flags || flags & ~NOTIFY_ALL)
		return "unknown notification flags";
	cq->armed |= flags;
	cq->arming++;
	cq_fill_slots(cq);
	return NULL;
}
