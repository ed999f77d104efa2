/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that came too early, because one before them got lost: requests, or answers to READs.
 * And answers to READs that were sent, in case that one gets lost.
 */
#ifndef DEVICE_RDMA_QP_EARLY_H
#define DEVICE_RDMA_QP_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/pkt.h"
#include "rdma/object/ctx.h"
#include "rdma/object/sg.h"

/**
 * EARLY_MAX - packets so many PSNs ahead of what is expected, or more, are not kept
 *
 * As many are under way at most, if they have 4096 bytes (FLOW_WINDOW_MAX).
 */
#define EARLY_MAX	512u

/**
 * struct early_packet - one that came too early
 * @pkt:	the packet, as far as a responder or a requester looks at it
 * @sg:		cursor for its payload
 * @payload:	its payload
 */
struct early_packet {
	struct pkt pkt;
	struct sg sg;
	uint8_t payload[];
};

/**
 * struct early - the packets of a QP that came too early
 * @n:		how many there are
 * @at:		by PSN, or NULL
 */
struct early {
	uint32_t n;
	struct early_packet *at[EARLY_MAX];
};

/**
 * early_keep() - keep a packet for later
 * @early:	packets of its QP, NULL while there are none
 * @ctx:	NIC, whose share of memory it is
 * @pkt:	packet of one PSN, whose payload is consumed
 *
 * The packet is lost if there is no room for it: then it is sent again.
 *
 * Return: false if it was there before.
 */
bool early_keep(struct early **early, struct rnic_ctx *ctx, const struct pkt *pkt);

/**
 * early_take() - take the packet of a PSN out
 * @early:	packets of a QP
 * @ctx:	NIC
 * @psn:	its PSN
 *
 * Return: the packet, which the caller frees, or NULL.
 */
struct early_packet *early_take(struct early **early, struct rnic_ctx *ctx, uint32_t psn);

/**
 * early_gap() - how many packets are missing from a PSN on
 * @early:	packets of a QP
 * @psn:	first PSN that is missing
 *
 * Return: how many PSNs are before the first one that is there; 0 if none is.
 */
uint32_t early_gap(const struct early *early, uint32_t psn);

/** early_find() - the packet of a PSN, or NULL */
static inline struct early_packet *early_find(const struct early *early, uint32_t psn)
{
	struct early_packet *packet = early ? early->at[psn % EARLY_MAX] : NULL;

	return packet && packet->pkt.psn == psn ? packet : NULL;
}

/** early_make_way() - forget the packet, of whatever PSN, in whose place that of @psn goes */
void early_make_way(struct early **early, struct rnic_ctx *ctx, uint32_t psn);

/** early_drop_from() - forget the packets of a PSN and of those behind it */
void early_drop_from(struct early **early, struct rnic_ctx *ctx, uint32_t psn);

/** early_drop() - forget the packets before a PSN, or all with %EARLY_ALL */
void early_drop(struct early **early, struct rnic_ctx *ctx, uint32_t psn);

/** EARLY_ALL - no PSN */
#define EARLY_ALL	UINT32_MAX

#endif /* DEVICE_RDMA_QP_EARLY_H */
