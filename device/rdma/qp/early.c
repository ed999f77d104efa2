// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that came too early.
 *
 * A responder takes requests in the order of their PSNs.  When a packet gets lost, it keeps
 * those behind it, and needs only that one again.  The peer does not know: it goes back, and
 * the first ACK after that says how much has come.  A requester does the same with answers to
 * READs, and knows what to ask for.
 *
 * All of it is like the network's queues: what does not fit is dropped, and everything is
 * when the QP is reset, fails, or is saved.  Then the peer sends it again.
 */
#include <stdlib.h>

#include "rdma/qp/early.h"

static size_t early_size(const struct pkt *pkt)
{
	return sizeof(struct early_packet) + pkt->len;
}

static struct early_packet **early_at(struct early *early, uint32_t psn)
{
	return &early->at[psn % EARLY_MAX];
}

static void early_free_if_empty(struct early **early)
{
	if ((*early)->n)
		return;
	free(*early);
	*early = NULL;
}

static struct early_packet *early_out(struct early **early, struct rnic_ctx *ctx,
				      struct early_packet **at)
{
	struct early_packet *packet = *at;

	*at = NULL;
	ctx->early -= early_size(&packet->pkt);
	if (!--(*early)->n)
		ctx->early -= sizeof(**early);
	early_free_if_empty(early);
	return packet;
}

/* Is there room for so many bytes more? */
static bool early_fits(const struct rnic_ctx *ctx, size_t bytes)
{
	return ctx->early + bytes <= RNIC_EARLY_MAX;
}

static struct early_packet *early_copy(const struct pkt *pkt)
{
	struct early_packet *packet = malloc(early_size(pkt));
	struct sg dst;

	if (!packet)
		return NULL;
	packet->pkt = *pkt;
	packet->pkt.sgid = NULL;
	packet->pkt.dgid = NULL;
	packet->pkt.av = NULL;
	packet->pkt.head = NULL;
	packet->pkt.grh = NULL;
	packet->pkt.from = NULL;
	packet->pkt.payload = pkt->len ? &packet->sg : NULL;
	if (pkt->len) {
		sg_init_flat(&dst, packet->payload);
		sg_copy(&dst, pkt->payload, pkt->len);
		sg_init_flat(&packet->sg, packet->payload);
	}
	return packet;
}

bool early_keep(struct early **early, struct rnic_ctx *ctx, const struct pkt *pkt)
{
	const size_t table = *early ? 0 : sizeof(**early);
	struct early_packet **at, *packet;

	if (*early) {
		at = early_at(*early, pkt->psn);
		if (*at && (*at)->pkt.psn == pkt->psn)
			return false;
		if (*at)
			return true;
	}
	if (!early_fits(ctx, table + early_size(pkt)))
		return true;
	if (!*early)
		*early = calloc(1, sizeof(**early));
	if (!*early)
		return true;
	packet = early_copy(pkt);
	if (!packet) {
		early_free_if_empty(early);
		return true;
	}
	*early_at(*early, pkt->psn) = packet;
	(*early)->n++;
	ctx->early += table + early_size(pkt);
	return true;
}

struct early_packet *early_take(struct early **early, struct rnic_ctx *ctx, uint32_t psn)
{
	return early_find(*early, psn) ? early_out(early, ctx, early_at(*early, psn)) : NULL;
}

uint32_t early_gap(const struct early *early, uint32_t psn)
{
	const struct early_packet *packet;
	uint32_t gap;

	for (gap = 1; gap < EARLY_MAX; gap++) {
		packet = early->at[(psn + gap) % EARLY_MAX];
		if (packet && packet->pkt.psn == ((psn + gap) & PSN_MASK))
			return gap;
	}
	return 0;
}

/* Forget the packets before a PSN, or those from there on. */
static void early_drop_some(struct early **early, struct rnic_ctx *ctx, uint32_t psn, bool before)
{
	struct early_packet **at;
	uint32_t i;

	for (i = 0; *early && i < EARLY_MAX; i++) {
		at = &(*early)->at[i];
		if (*at && (psn == EARLY_ALL || (psn_diff((*at)->pkt.psn, psn) < 0) == before))
			free(early_out(early, ctx, at));
	}
}

void early_drop(struct early **early, struct rnic_ctx *ctx, uint32_t psn)
{
	early_drop_some(early, ctx, psn, true);
}

void early_drop_from(struct early **early, struct rnic_ctx *ctx, uint32_t psn)
{
	early_drop_some(early, ctx, psn, false);
}

void early_make_way(struct early **early, struct rnic_ctx *ctx, uint32_t psn)
{
	struct early_packet **at;

	if (!*early)
		return;
	at = early_at(*early, psn);
	if (*at)
		free(early_out(early, ctx, at));
}
