// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory for the states of the requester and the responder of a QP.
 *
 * A QP that does nothing needs room for one request, which is in it, and for no READ.
 * More is allocated when it is needed, and freed when the QP has had
 * nothing to do for a while.  Answers to atomic operations stay until the QP is reset: a
 * peer may ask for them again after any time.
 */
#include <stdlib.h>

#include "rdma/qp/qp_sides.h"

/* Entries that rings have at first. */
#define REQUESTER_RING_MIN	8u
#define RESPONDER_RING_MIN	8u

/* The first request has room in the QP. */
static uint32_t requester_beyond(const struct requester *req)
{
	return req->size > 1 ? req->size : 0;
}

bool requester_grow(struct requester *req, struct rnic_ctx *ctx)
{
	uint32_t i, size = 2 * req->size;
	struct wqe *ring;

	if (size < REQUESTER_RING_MIN)
		size = REQUESTER_RING_MIN;
	if (req->size >= req->max ||
	    ctx->wqes - requester_beyond(req) + size > RNIC_WQES_MAX)
		return false;
	ring = reallocarray(NULL, size, sizeof(*ring));
	if (!ring)
		return false;
	for (i = req->una; i != req->prod; i++)
		ring[i & (size - 1)] = *requester_wqe(req, i);
	requester_free(req, ctx);
	req->ring = ring;
	req->size = size;
	ctx->wqes += size;
	return true;
}

void requester_free(struct requester *req, struct rnic_ctx *ctx)
{
	if (req->ring != &req->first)
		free(req->ring);
	ctx->wqes -= requester_beyond(req);
	req->ring = &req->first;
	req->size = 1;
}

/* Each share is bounded, so that all of them are. */
bool responder_make_room(struct responder *resp)
{
	uint32_t i, room = resp->room ? 2 * resp->room : RESPONDER_RING_MIN;
	struct read_job *read;

	if (resp->reads < resp->room)
		return true;
	read = reallocarray(NULL, room, sizeof(*read));
	if (!read)
		return false;
	for (i = 0; i < resp->reads; i++)
		read[i] = resp->read[(resp->read_head + i) % resp->room];
	free(resp->read);
	resp->read = read;
	resp->read_head = 0;
	resp->room = room;
	return true;
}

void responder_free(struct responder *resp)
{
	free(resp->read);
	resp->read = NULL;
	resp->room = 0;
	resp->read_head = 0;
}

bool responder_make_atomic(struct responder *resp)
{
	if (!resp->done)
		resp->done = calloc(RNIC_MAX_RD_ATOMIC, sizeof(*resp->done));
	return resp->done;
}

void responder_remember(struct responder *resp, uint32_t psn, uint64_t orig)
{
	resp->done[resp->done_n++ % RNIC_MAX_RD_ATOMIC] = (struct atomic_done) {
		.orig = orig,
		.psn = psn,
	};
}

/* The newest one first: PSNs come round again. */
const struct atomic_done *responder_recall(const struct responder *resp, uint32_t psn)
{
	const struct atomic_done *done;
	uint32_t i;

	for (i = 1; i <= RNIC_MAX_RD_ATOMIC && i <= resp->done_n; i++) {
		done = &resp->done[(resp->done_n - i) % RNIC_MAX_RD_ATOMIC];
		if (done->psn == psn)
			return done;
	}
	return NULL;
}

void responder_forget(struct responder *resp)
{
	free(resp->done);
	resp->done = NULL;
	resp->done_n = 0;
}
