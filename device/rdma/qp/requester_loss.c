// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a requester notices losses, and which packets it sends again.
 *
 * To go back is to set @snd_pos to the first position that is not acknowledged.  That happens
 * for what the peer says (a NAK, an answer behind one that is missing), for the ACK timeout,
 * and for a probe: an answer takes far longer than others did.  Only the first loss and the
 * ACK timeout take a retry.
 *
 * The packet that is missing is sent again, and one behind it.  If the peer keeps what
 * came too early, the rest is skipped.  Answers to READs are kept here, and only their gap is
 * asked for again; the rest is skipped if the peer says that it sends what it sent first.
 */
#include "rdma/qp/qp_queues.h"
#include "rdma/qp/requester_loss.h"

#define REQ_TIMEOUT_NS	4096u

/* When to ask what has become of an answer, by how long others took, and how often. */
#define REQ_PROBE_TRIPS		4u
#define REQ_PROBE_MIN_NS	500000u
#define REQ_PROBES		8u

/*
 * After so many parts of READs in a row that nothing followed, the peer is asked for all the
 * rest.  After so many of these requests it is asked for a part once more.
 */
#define REQ_PARTS_FAILED	3u
#define REQ_PARTS_NOT		16u

/* How often the ACK timeout doubles, and the one that does not: 268 ms. */
#define REQ_TIMEOUT_DOUBLES	2
#define REQ_TIMEOUT_LONG	16u

/* ------------------------------------------------------------------------- */
/* Going back                                                                */
/* ------------------------------------------------------------------------- */

/* Step back to what is not acknowledged.  The time until the ACK timeout goes on. */
static void requester_step_back(struct qp *qp)
{
	struct requester *req = &qp->req;
	uint32_t i;

	for (i = req->una; i != req->cur; i++)
		requester_not_reading(req, requester_wqe(req, i));
	req->cur = req->una;
	req->snd_pos = req->una_pos;
	req->ask_pos = req->una_pos;
	req->timed_pos = req->una_pos;
	req->unasked = 0;
	req->parted = false;
	req->hole = false;
	req->skipped = false;
	loop_timer_cancel(qp->ctx->loop, &req->timer);
	qp_count(qp, VIRTIO_RDMA_CNT_RETRY);
}

void requester_rewind(struct qp *qp)
{
	requester_step_back(qp);
	qp->req.gone_at = 0;
}

/*
 * A FLUSH that is not answered may have the wrong one of two ICRCs: a peer that
 * has not sent a FLUSH itself does not show whether it is Soft-RoCE.
 */
static void requester_try_other_icrc(struct requester *req)
{
	if (req->una != req->prod &&
	    requester_wqe(req, req->una)->kind == PKT_KIND_FLUSH)
		req->icrc_twice = !req->icrc_twice;
}

static void requester_retry(struct qp *qp, enum flow_sign sign)
{
	/* It is sent again anyway, and not before the peer is ready. */
	if (qp->req.rnr_wait)
		return;
	flow_congested(&qp->flow, sign);
	if (!qp->req.retry_left) {
		qp_count(qp, VIRTIO_RDMA_CNT_RETRY_EXCEEDED);
		qp_fail_send(qp, VIRTIO_IB_WC_RETRY_EXC_ERR);
		return;
	}
	qp->req.retry_left--;
	qp->req.went_back = true;
	requester_try_other_icrc(&qp->req);
	requester_rewind(qp);
}

/* The same without a retry: only the ACK timeout says that the peer is gone. */
static void requester_go_back(struct qp *qp)
{
	flow_congested(&qp->flow, FLOW_LOSS);
	qp->req.went_back = true;
	requester_try_other_icrc(&qp->req);
	requester_step_back(qp);
}

void requester_lost(struct qp *qp)
{
	if (qp->req.went_back || qp->req.rnr_wait)
		return;
	if (qp->req.retry_left >= qp->attr.retry_cnt)
		requester_retry(qp, FLOW_LOSS);
	else
		requester_go_back(qp);
}

/* Was something sent behind the packet that is missing, since it was sent last? */
static bool requester_sent_behind(const struct requester *req)
{
	return pos_after(req->snd_pos, req->una_pos + 1);
}

void requester_missed(struct qp *qp)
{
	struct requester *req = &qp->req;

	/* A peer that keeps what is behind it says so if it got lost again. */
	if (requester_sent_behind(req))
		req->went_back = false;
	/* It does not keep what was skipped. */
	if (req->una_pos - req->skip_pos <= REQ_AGAIN)
		req->peer_keeps = false;
	requester_lost(qp);
	req->hole = req->went_back;
}

/* ------------------------------------------------------------------------- */
/* Round trips                                                               */
/* ------------------------------------------------------------------------- */

void requester_measure_from(struct qp *qp, uint32_t pos)
{
	struct requester *req = &qp->req;

	if (pos_after(req->timed_pos, req->una_pos) || req->snd_pos != req->max_pos)
		return;
	req->timed_pos = pos;
	req->timed_at = loop_now(qp->ctx->loop);
}

void requester_measured(struct qp *qp, uint32_t una_pos)
{
	struct requester *req = &qp->req;
	uint64_t trip;

	if (!pos_after(req->timed_pos, req->una_pos) || pos_after(req->timed_pos, una_pos))
		return;
	trip = loop_now(qp->ctx->loop) - req->timed_at;
	req->trip = trip > req->trip ? trip : req->trip - req->trip / 8 + trip / 8;
}

/* How long to wait until it is asked what has become of an answer, or 0: not at all. */
static uint64_t requester_probe_ns(const struct qp *qp)
{
	const struct requester *req = &qp->req;
	uint64_t ns = REQ_PROBE_TRIPS * req->trip;

	if (!qp->flow.on_wire || !req->trip || !qp->attr.timeout || req->probes >= REQ_PROBES)
		return 0;
	if (ns < REQ_PROBE_MIN_NS)
		ns = REQ_PROBE_MIN_NS;
	return ns << req->probes;
}

/* ------------------------------------------------------------------------- */
/* Timers                                                                    */
/* ------------------------------------------------------------------------- */

/*
 * The timeout as a power of two.  IBA allows four times what was asked for, and a virtual
 * machine may stand still for longer than eight times 67 ms, which is what most programs ask
 * for.  So the first retries without progress double a short timeout.  A long one stays as it
 * is: it is time enough, and a peer that is gone is to be noticed.
 */
static unsigned int requester_timeout_shift(const struct qp *qp)
{
	const int retries = qp->attr.retry_cnt - qp->req.retry_left;
	unsigned int shift = qp->attr.timeout;

	if (retries <= 0 || shift >= REQ_TIMEOUT_LONG)
		return shift;
	shift += retries < REQ_TIMEOUT_DOUBLES ? retries : REQ_TIMEOUT_DOUBLES;
	return shift < REQ_TIMEOUT_LONG ? shift : REQ_TIMEOUT_LONG;
}

void requester_timer_start(struct qp *qp)
{
	struct requester *req = &qp->req;
	struct loop *loop = qp->ctx->loop;
	uint64_t left, probe = requester_probe_ns(qp);

	if (!qp->attr.timeout)
		return;
	if (!req->gone_at)
		req->gone_at = loop_now(loop) +
			       ((uint64_t)REQ_TIMEOUT_NS << requester_timeout_shift(qp));
	left = req->gone_at > loop_now(loop) ? req->gone_at - loop_now(loop) : 0;
	if (probe && left >= 2 * probe)
		loop_timer_set(loop, &req->timer, probe);
	else
		loop_timer_at_least(loop, &req->timer, left);
}

/* Nothing has come for long.  Did the peer send the part that it was asked for, and stop? */
static void requester_count_part(struct requester *req)
{
	if (req->parted && requester_part_came(req) && req->parts_failed < REQ_PARTS_FAILED)
		req->parts_failed++;
}

static void requester_timeout(struct qp *qp)
{
	requester_count_part(&qp->req);
	qp_count(qp, VIRTIO_RDMA_CNT_TIMEOUT);
	requester_retry(qp, FLOW_TIMEOUT);
}

/*
 * An answer takes far longer than others did: the last packet got lost, or the only one that
 * would have said what got lost.  It is not a retry, because the peer may just be slow.  The
 * next probe waits twice as long.
 */
static void requester_probe(struct qp *qp)
{
	struct requester *req = &qp->req;

	req->probes++;
	req->peer_keeps = false;
	requester_count_part(req);
	requester_go_back(qp);
}

void requester_timer(void *arg)
{
	struct qp *qp = arg;
	struct requester *req = &qp->req;

	/* Timeouts do not count for a QP that stands still. */
	if (req->rnr_wait) {
		req->rnr_wait = false;
	} else if (!qp_usable(qp)) {
		req->gone_at = 0;
		requester_timer_start(qp);
	} else if (loop_now(qp->ctx->loop) < req->gone_at) {
		requester_probe(qp);
	} else {
		requester_timeout(qp);
	}
	qp_activate(qp);
}

/* ------------------------------------------------------------------------- */
/* READs                                                                     */
/* ------------------------------------------------------------------------- */

/*
 * Going back once for what got lost is enough: what was under way behind it still comes.  But
 * what is before this answer got lost again if it comes for the second time, because it was
 * asked for again then; or if it was asked for later than a part that has not come.
 */
void requester_see(struct requester *req, uint32_t pos)
{
	bool fresh = !pos_after(req->seen_pos, req->una_pos) || pos_after(pos, req->seen_pos);
	bool part_lost = req->parted && !requester_part_came(req) &&
			 !pos_after(req->part_max, pos);

	/* The peer goes on behind the part that it was asked for. */
	if (fresh && req->parted && requester_part_came(req)) {
		req->parted = false;
		req->parts_failed = 0;
	}
	if (req->went_back && pos_after(pos, req->una_pos) && (!fresh || part_lost))
		req->went_back = false;
	else if (!fresh)
		return;
	req->seen_pos = pos;
}

/* May the peer be asked for a part?  To ask for all counts until it is tried again. */
static bool requester_parts(struct requester *req)
{
	if (req->parts_failed < REQ_PARTS_FAILED)
		return true;
	if (++req->parts_failed == REQ_PARTS_FAILED + REQ_PARTS_NOT)
		req->parts_failed = REQ_PARTS_FAILED - 1;
	return false;
}

uint32_t requester_part(struct qp *qp, uint32_t left)
{
	struct requester *req = &qp->req;
	uint32_t gap;

	if (!req->early || !req->went_back || req->snd_pos != req->una_pos ||
	    !requester_probe_ns(qp))
		return 0;
	gap = early_gap(req->early, req->una_pos & PSN_MASK);
	if (!gap || !requester_parts(req))
		return 0;
	req->parts = true;
	req->parted = true;
	req->part_max = req->max_pos;
	req->gap_end = req->una_pos + gap;
	return left / qp->mtu > gap ? (gap + 1) * qp->mtu : left;
}

/* ------------------------------------------------------------------------- */
/* What the peer has kept                                                    */
/* ------------------------------------------------------------------------- */

/* If the last packet got lost as well, only a probe notices. */
static bool requester_may_skip(const struct qp *qp)
{
	const struct requester *req = &qp->req;

	return req->peer_keeps && pos_after(req->max_pos, req->snd_pos) &&
	       req->snd_pos - req->una_pos >= REQ_AGAIN && requester_probe_ns(qp);
}

/* Go on behind what was sent, or where the peer has missed something. */
static void requester_skip_sent(struct requester *req)
{
	uint32_t i, to = req->max_pos;
	struct wqe *wqe;

	if (req->missed && pos_after(req->missed_pos, req->snd_pos) &&
	    pos_after(to, req->missed_pos))
		to = req->missed_pos;
	for (; req->cur != req->prod; req->cur++) {
		wqe = requester_wqe(req, req->cur);
		if (!wqe->begun ||
		    (!requester_is_local(wqe) && pos_after(requester_end(wqe), to)))
			break;
		if (pkt_is_answered(wqe->kind) && !wqe->reading) {
			wqe->reading = true;
			req->reads++;
		}
	}
	/* Those behind it are sent once more. */
	for (i = req->cur; i != req->prod; i++)
		requester_not_reading(req, requester_wqe(req, i));
	req->snd_pos = to;
	/* The last packet was asked about when it was sent first.  It may have got lost. */
	req->ask_pos = to;
	req->skipped = true;
}

void requester_skip(struct qp *qp)
{
	if (!requester_may_skip(qp))
		return;
	qp->req.skip_pos = qp->req.una_pos;
	requester_skip_sent(&qp->req);
}

void requester_skip_reads(struct qp *qp)
{
	struct requester *req = &qp->req;

	if (req->peer_same && pos_after(req->max_pos, req->snd_pos))
		requester_skip_sent(req);
}

void requester_note_missed(struct requester *req, uint32_t pos)
{
	/* The first one counts, unless it was acknowledged meanwhile. */
	if (req->missed && !pos_after(req->una_pos, req->missed_pos) &&
	    !pos_after(req->missed_pos, pos))
		return;
	req->missed = true;
	req->missed_pos = pos;
}

void requester_missed_later(struct qp *qp, uint32_t pos)
{
	struct requester *req = &qp->req;

	requester_note_missed(req, pos);
	if (!req->skipped)
		return;
	req->cur = req->una;
	req->snd_pos = req->una_pos;
	requester_skip_sent(req);
}

void requester_reach_missed(struct qp *qp)
{
	struct requester *req = &qp->req;

	if (!req->missed || pos_after(req->missed_pos, req->una_pos))
		return;
	req->missed = false;
	if (req->missed_pos == req->una_pos)
		requester_lost(qp);
}
