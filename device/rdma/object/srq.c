// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues: a ring of requests for many QPs.
 *
 * The producer index is the guest's, and a hint: it must be between what was taken and a
 * ring ahead of it.  It is read with acquire before the requests that it covers.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/object/srq.h"
#include "virtio/write.h"

/* Bytes of the smallest one in a state. */
#define SRQ_STATE_SIZE	48u

/**
 * struct srq_returned - a request that was taken and given back
 * @entry:	of the SRQ
 * @req:	what the taker has made of it
 */
struct srq_returned {
	SLIST_ENTRY(srq_returned) entry;
	uint8_t req[];
};

_Static_assert(RNIC_SRQS_MAX << OBJ_TAG_BITS <= VIRTIO_RDMA_XRC_SRQN_MASK + 1,
	       "a handle is larger than the number of an XRC SRQ");

int srq_table_init(struct srq_table *srqs)
{
	return obj_table_init(&srqs->objs, RNIC_SRQS_MAX);
}

void srq_table_fini(struct srq_table *srqs)
{
	obj_table_fini(&srqs->objs);
}

/*
 * Take the requests that were given back out of an SRQ, and let those who hold it forget
 * it, though not all of many; true if that is all.
 */
static bool srq_empty(struct srq *srq, struct portion *portion)
{
	struct srq_returned *returned;
	struct xrcd_user *user;

	for (; portion->left > 0; portion->left -= PORTION_OBJECT) {
		user = LIST_FIRST(&srq->holders);
		returned = SLIST_FIRST(&srq->returned);
		if (user) {
			srq_let_go(user);
			user->forget(user->arg, srq);
		} else if (returned) {
			SLIST_REMOVE_HEAD(&srq->returned, entry);
			free(returned);
		} else {
			return true;
		}
	}
	return false;
}

static void srq_free(struct srq *srq)
{
	struct srq_table *srqs = srq->table;

	if (srq->xrcd) {
		srq->xrcd->srqs--;
		cq_detach(srq->cq, &srq->user);
	}
	event_drop(srqs->events, &srq->low);
	event_drop(srqs->events, &srq->failed);
	pages_free(&srq->pages);
	srq->pd->refs--;
	obj_del(&srqs->objs, srq->handle);
	free(srq);
}

bool srq_table_reset(struct srq_table *srqs, struct portion *portion)
{
	struct srq *srq;

	while (srqs->objs.used && portion_next(portion, srqs->objs.max)) {
		srq = obj_at(&srqs->objs, portion->at);
		if (srq && !srq_empty(srq, portion))
			return false;
		portion->at++;
		if (!srq)
			continue;
		srq_free(srq);
		portion->left -= PORTION_OBJECT;
	}
	return !srqs->objs.used;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

const char *srq_check(const struct srq_table *srqs,
		      const struct virtio_rdma_cmd_create_srq *req)
{
	uint32_t depth = le32toh(req->depth);
	struct block block;

	if (!rnic_has_direct(srqs->ctx))
		return "unknown command";
	if (!pd_get(srqs->pds, le32toh(req->pdn)))
		return "unknown protection domain";
	if (!depth || !pages_fit_ring(depth, req->shift, le32toh(req->npages)))
		return "ring of a wrong size";
	if (le32toh(req->max_sge) > RNIC_MAX_SGE)
		return "too many scatter/gather elements";
	return block_init(&block, srqs->ctx, le64toh(req->control),
			  VIRTIO_RDMA_CONTROL_SIZE);
}

const char *srq_create(struct srq_table *srqs,
		       const struct virtio_rdma_cmd_create_srq *req,
		       struct pages *pages, uint32_t *handle)
{
	struct srq *srq = calloc(1, sizeof(*srq));
	const char *why;

	if (!srq)
		return "out of memory";
	*srq = (struct srq) {
		.table = srqs,
		.pd = pd_get(srqs->pds, le32toh(req->pdn)),
		.depth = le32toh(req->depth),
		.max_sge = le32toh(req->max_sge),
		.shift = req->shift,
		.low.type = VIRTIO_RDMA_EVENT_SRQ_LIMIT,
		.failed.type = VIRTIO_RDMA_EVENT_SRQ_ERROR,
	};
	/* The memory map may have changed while the pages were read. */
	why = srq->pd ? block_init(&srq->block, srqs->ctx, le64toh(req->control),
				   VIRTIO_RDMA_CONTROL_SIZE) :
			"unknown protection domain";
	if (!why && obj_add(&srqs->objs, srq, &srq->handle))
		why = rnic_why(srqs->ctx, "all %u SRQs are in use", RNIC_SRQS_MAX);
	if (why) {
		free(srq);
		return why;
	}
	srq->low.number = srq->handle;
	srq->failed.number = srq->handle;
	srq->pages = *pages;
	*pages = (struct pages) {};
	srq->pd->refs++;
	*handle = srq->handle;
	return NULL;
}

const char *srq_destroy(struct srq_table *srqs, uint32_t handle, bool *more)
{
	struct portion portion = { .left = PORTION };
	struct srq *srq = srq_get(srqs, handle);

	if (!srq)
		return "unknown SRQ";
	if (srq->refs)
		return "SRQ in use";
	srq->dying = true;
	*more = !srq_empty(srq, &portion);
	if (!*more)
		srq_free(srq);
	return NULL;
}

const char *srq_query(const struct srq_table *srqs, uint32_t handle,
		      struct virtio_rdma_ack_query_srq *rsp)
{
	const struct srq *srq = srq_get(srqs, handle);

	if (!srq)
		return "unknown SRQ";
	*rsp = (struct virtio_rdma_ack_query_srq) {
		.depth = htole32(srq->depth),
		.max_sge = htole32(srq->max_sge),
		.limit = htole32(srq->limit),
	};
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Requests                                                                  */
/* ------------------------------------------------------------------------- */

static int srq_fail(struct srq *srq)
{
	struct virtio_rdma_srq_control *control = block_host(&srq->block);

	if (srq->error)
		return -EPROTO;
	srq->error = true;
	rnic_warn(srq->table->ctx, "SRQ %#x in error", srq->handle);
	if (control)
		write_u32(&control->device, htole32(1));
	event_report(srq->table->events, &srq->failed);
	return -EPROTO;
}

/* The number of requests in the ring; false if there cannot be so many. */
static bool srq_ahead(struct srq *srq, uint32_t *ahead)
{
	const struct virtio_rdma_srq_control *control = block_host(&srq->block);

	if (srq->error || !control)
		return false;
	*ahead = le32toh(__atomic_load_n(&control->producer, __ATOMIC_ACQUIRE)) -
		 srq->taken;
	return *ahead <= srq->depth;
}

/* There are @ahead requests in the ring: report it if that is below the limit. */
static void srq_look_at_limit(struct srq *srq, uint32_t ahead)
{
	if (srq->returned_n + ahead >= srq->limit)
		return;
	srq->limit = 0;
	event_report(srq->table->events, &srq->low);
}

const char *srq_modify(struct srq_table *srqs, uint32_t handle, uint32_t limit)
{
	struct srq *srq = srq_get(srqs, handle);
	uint32_t ahead;

	if (!srq)
		return "unknown SRQ";
	if (limit > srq->depth)
		return "limit above the depth";
	srq->limit = limit;
	/* Requests may have gone below it before it was armed. */
	if (srq_ahead(srq, &ahead))
		srq_look_at_limit(srq, ahead);
	return NULL;
}

const char *srq_check_resize(const struct srq_table *srqs,
			     const struct virtio_rdma_cmd_resize_srq *req)
{
	const struct srq *srq = srq_get(srqs, le32toh(req->srq));
	uint32_t depth = le32toh(req->depth);

	if (!srq)
		return "unknown SRQ";
	if (!depth || !pages_fit_ring(depth, srq->shift, le32toh(req->npages)))
		return "ring of a wrong size";
	return NULL;
}

/*
 * The driver has copied the requests, so that this takes no time that depends on their
 * number, and a message that comes next finds them.
 */
const char *srq_resize(struct srq_table *srqs,
		       const struct virtio_rdma_cmd_resize_srq *req,
		       struct pages *pages)
{
	struct srq *srq = srq_get(srqs, le32toh(req->srq));
	const struct virtio_rdma_srq_control *control;
	const uint32_t depth = le32toh(req->depth);
	struct block block;
	const char *why;
	uint32_t ahead;

	why = block_init(&block, srqs->ctx, le64toh(req->control),
			 VIRTIO_RDMA_CONTROL_SIZE);
	if (why)
		return why;
	if (srq->error)
		return "SRQ in error";
	if (srq->limit > depth)
		return "limit above the depth";
	control = block.host;
	ahead = le32toh(__atomic_load_n(&control->producer, __ATOMIC_ACQUIRE)) - srq->taken;
	if (ahead > depth)
		return rnic_why(srqs->ctx, "%u requests are posted, of %u wanted",
				ahead, depth);
	pages_free(&srq->pages);
	srq->pages = *pages;
	srq->near = (struct pages_near) {};
	*pages = (struct pages) {};
	srq->block = block;
	srq->depth = depth;
	return NULL;
}

/* Where the next request is; NULL if that memory is gone. */
static void *srq_slot(struct srq *srq)
{
	const uint64_t i = srq->taken & (srq->depth - 1);

	return pages_ptr_near(&srq->pages, i << srq->shift, &srq->near);
}

const void *srq_peek(struct srq *srq)
{
	uint32_t ahead;

	if (srq->returned_n || !srq_ahead(srq, &ahead) || !ahead)
		return NULL;
	return srq_slot(srq);
}

bool srq_promise(struct srq *srq)
{
	uint32_t ahead, since = srq->taken - srq->promised_at;

	if (srq->error || !srq_ahead(srq, &ahead))
		return false;
	/* Nobody knows who took them.  A promise to one who never comes ends like that, too. */
	srq->promised -= since < srq->promised ? since : srq->promised;
	srq->promised_at = srq->taken;
	if (srq->promised >= ahead + srq->returned_n)
		return false;
	srq->promised++;
	return true;
}

void srq_took(struct srq *srq)
{
	uint32_t ahead;

	srq->taken++;
	if (srq->limit && srq_ahead(srq, &ahead))
		srq_look_at_limit(srq, ahead);
}

int srq_take(struct srq *srq, struct iovec *piece)
{
	uint32_t ahead;

	if (!srq_ahead(srq, &ahead))
		return srq_fail(srq);
	if (!ahead)
		return 0;
	piece->iov_base = srq_slot(srq);
	if (!piece->iov_base)
		return srq_fail(srq);
	piece->iov_len = 1u << srq->shift;
	srq->taken++;
	srq_look_at_limit(srq, ahead - 1);
	return 1;
}

void srq_give_back(struct srq *srq, const void *req, size_t size)
{
	struct srq_returned *returned = malloc(sizeof(*returned) + size);

	if (!returned) {
		srq_fail(srq);
		return;
	}
	memcpy(returned->req, req, size);
	SLIST_INSERT_HEAD(&srq->returned, returned, entry);
	srq->returned_n++;
}

bool srq_take_back(struct srq *srq, void *req, size_t size)
{
	struct srq_returned *returned = SLIST_FIRST(&srq->returned);
	uint32_t ahead;

	if (!returned || srq->error)
		return false;
	memcpy(req, returned->req, size);
	SLIST_REMOVE_HEAD(&srq->returned, entry);
	free(returned);
	srq->returned_n--;
	if (srq_ahead(srq, &ahead))
		srq_look_at_limit(srq, ahead);
	return true;
}

/* ------------------------------------------------------------------------- */
/* XRC                                                                       */
/* ------------------------------------------------------------------------- */

static void srq_cq_failed(void *arg)
{
	srq_fail(arg);
}

static const char *srq_check_domain(const struct srq_table *srqs,
				    const struct virtio_rdma_cmd_create_xrc_srq *req)
{
	const struct cq *cq = cq_get(srqs->cqs, le32toh(req->cqn));

	if (!xrcd_get(srqs->xrcds, le32toh(req->xrcd)))
		return "unknown XRC domain";
	if (!cq)
		return "unknown completion queue";
	if (cq->error)
		return "completion queue in error";
	return cq->direct ? NULL : "an XRC SRQ completes to a direct CQ only";
}

const char *srq_check_xrc(const struct srq_table *srqs,
			  const struct virtio_rdma_cmd_create_xrc_srq *req)
{
	const char *why = srq_check(srqs, &req->srq);

	return why ? why : srq_check_domain(srqs, req);
}

const char *srq_create_xrc(struct srq_table *srqs,
			   const struct virtio_rdma_cmd_create_xrc_srq *req,
			   struct pages *pages, uint32_t *handle)
{
	/* Either may have gone while the pages were read. */
	const char *why = srq_check_domain(srqs, req);
	struct srq *srq;

	if (!why)
		why = srq_create(srqs, &req->srq, pages, handle);
	if (why)
		return why;
	srq = srq_get(srqs, *handle);
	srq->xrcd = xrcd_get(srqs->xrcds, le32toh(req->xrcd));
	srq->xrcd->srqs++;
	srq->cq = cq_get(srqs->cqs, le32toh(req->cqn));
	srq->user = (struct cq_user) {
		.fail = srq_cq_failed,
		.arg = srq,
		.recv = true,
		.srqn = srq->handle,
	};
	cq_attach(srq->cq, &srq->user);
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

const void *srq_given_back(const struct srq *srq, uint32_t i)
{
	const struct srq_returned *returned = SLIST_FIRST(&srq->returned);
	uint32_t n;

	for (n = srq->returned_n - 1; n > i; n--)
		returned = SLIST_NEXT(returned, entry);
	return returned->req;
}

static void srq_xrc_io(struct state *st, struct srq_table *srqs, struct srq *srq)
{
	uint32_t xrcd = srq->xrcd ? srq->xrcd->handle : 0;
	uint32_t cqn = srq->cq ? srq->cq->cqn : 0;
	bool failed = srq->user.failed;

	state_u32(st, "xrcd", &xrcd, UINT32_MAX);
	state_u32(st, "cqn", &cqn, UINT32_MAX);
	state_bool(st, "failed", &failed);
	if (!st->loading || !xrcd)
		return;
	srq->xrcd = xrcd_get(srqs->xrcds, xrcd);
	srq->cq = cq_get(srqs->cqs, cqn);
	state_need(st, srq->xrcd, "xrcd", "no such XRC domain");
	state_need(st, srq->cq && srq->cq->direct, "cqn", "no such direct CQ");
	srq->user = (struct cq_user) {
		.fail = srq_cq_failed,
		.arg = srq,
		.recv = true,
		.srqn = srq->handle,
		.failed = failed,
	};
}

static void srq_io(struct state *st, struct srq_table *srqs, struct srq *srq)
{
	uint32_t pdn = srq->pd ? srq->pd->pdn : 0;

	state_u32(st, "handle", &srq->handle, UINT32_MAX);
	state_u32(st, "pdn", &pdn, UINT32_MAX);
	srq_xrc_io(st, srqs, srq);
	state_u32(st, "depth", &srq->depth, RNIC_DIRECT_WR_MAX);
	state_u32(st, "max_sge", &srq->max_sge, RNIC_MAX_SGE);
	state_u8(st, "shift", &srq->shift, UINT8_MAX);
	block_io(st, &srq->block, srqs->ctx, VIRTIO_RDMA_CONTROL_SIZE);
	state_u32(st, "taken", &srq->taken, UINT32_MAX);
	state_u32(st, "limit", &srq->limit, srq->depth);
	state_bool(st, "error", &srq->error);
	state_bool(st, "dying", &srq->dying);
	pages_io(st, &srq->pages, srqs->ctx);
	if (!st->loading)
		return;
	srq->pd = pd_get(srqs->pds, pdn);
	state_need(st, srq->pd, "pdn", "no such protection domain");
	state_need(st, srq->depth && pages_fit_ring(srq->depth, srq->shift, srq->pages.n),
		   "depth", "ring of a wrong size");
	if (!st->failed && !obj_put(&srqs->objs, srq->handle, srq))
		state_refuse(st, "handle", "it is free, or another one's");
}

static void srq_load_end(struct srq *srq)
{
	srq->pd->refs++;
	if (!srq->xrcd)
		return;
	srq->xrcd->srqs++;
	cq_attach_again(srq->cq, &srq->user, srq->user.failed);
}

void srq_table_io(struct state *st, struct srq_table *srqs)
{
	uint32_t i, at = 0, n = srqs->objs.used;
	struct srq *srq;

	obj_table_io(st, &srqs->objs);
	state_count(st, "srqs", &n, srqs->objs.max, SRQ_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		srq = st->loading ? calloc(1, sizeof(*srq)) : obj_next(&srqs->objs, &at);
		if (!state_need(st, srq, "srqs", "out of memory"))
			return;
		if (st->loading)
			*srq = (struct srq) {
				.table = srqs,
				.low.type = VIRTIO_RDMA_EVENT_SRQ_LIMIT,
				.failed.type = VIRTIO_RDMA_EVENT_SRQ_ERROR,
			};
		srq_io(st, srqs, srq);
		if (!st->loading)
			continue;
		if (st->failed) {
			pages_free(&srq->pages);
			free(srq);
			return;
		}
		srq->low.number = srq->handle;
		srq->failed.number = srq->handle;
		srq_load_end(srq);
	}
	obj_table_io_end(st, &srqs->objs);
}
