// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames that flow rules give to QPs.
 *
 * The function's port asks before its Ethernet queue gets a frame, and a QP that sends a
 * frame asks the rules of its own NIC.  Both ask first and give then, because a frame may
 * have to be segmented in between, and all of its segments go the same way.
 */
#include "rdma/qp/raw.h"
#include "rdma/qp/rss.h"
#include "rdma/rnic_priv.h"
#include "rdma/steer.h"

bool rnic_steer(struct rnic *rnic, enum rule_for what, const struct iovec *iov,
		unsigned int iov_n, size_t off, size_t len, struct rule_hits *hits)
{
	uint8_t head[RULE_HEAD];
	size_t part;
	bool found;

	hits->n = 0;
	hits->taken = false;
	if (!rule_any(&rnic->rules))
		return false;
	part = iov_to_buf(iov, iov_n, off, head, len < sizeof(head) ? len : sizeof(head));
	rule_key(&hits->key, head, part);
	found = rule_find(&rnic->rules, &hits->key, what, hits);
	if (hits->dropped)
		rule_count_frame(hits->dropped, len);
	return found;
}

void rnic_give(struct rnic *rnic, const struct rule_hits *hits, const struct iovec *iov,
	       size_t off, size_t len)
{
	const struct raw_frame frame = {
		.iov = iov,
		.off = off,
		.len = len,
		.key = &hits->key,
	};
	unsigned int i;
	struct qp *qp;

	/* The rules of a QP go before it does, and it goes before its work queues. */
	for (i = 0; i < hits->n; i++) {
		rule_count_frame(hits->count[i], len);
		qp = qp_get(&rnic->qps, hits->qpn[i]);
		raw_rx(rss_choose(qp, &hits->key), &frame, hits->tag[i]);
	}
}
