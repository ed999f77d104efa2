// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the two halves of a QP remember: the memory for it.
 *
 * A QP that does nothing needs room for one request, which is in it, and for no READ.
 * What it needs beyond is allocated when it is needed, and freed when the QP has had
 * nothing to do for a while.
 */
#include <stdlib.h>

#include "rdma/qp/halves.h"

/* What a ring begins with when one request is not enough. */
#define REQUESTER_RING_MIN	8u

bool requester_grow(struct requester *req)
{
	uint32_t i, size = 2 * req->size;
	struct wqe *ring;

	if (req->size >= req->max)
		return false;
	if (size < REQUESTER_RING_MIN)
		size = REQUESTER_RING_MIN;
	ring = reallocarray(NULL, size, sizeof(*ring));
	if (!ring)
		return false;
	for (i = req->una; i != req->prod; i++)
		ring[i & (size - 1)] = *requester_wqe(req, i);
	requester_free(req);
	req->ring = ring;
	req->size = size;
	return true;
}

void requester_free(struct requester *req)
{
	if (req->ring != &req->first)
		free(req->ring);
	req->ring = &req->first;
	req->size = 1;
}

bool responder_make_room(struct responder *resp)
{
	if (!resp->read)
		resp->read = reallocarray(NULL, RESP_READS, sizeof(*resp->read));
	return resp->read;
}

void responder_free(struct responder *resp)
{
	free(resp->read);
	resp->read = NULL;
}
