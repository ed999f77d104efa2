/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups: which QPs of a NIC want the datagrams sent to one.
 */
#ifndef DEVICE_RDMA_OBJECT_MCAST_H
#define DEVICE_RDMA_OBJECT_MCAST_H

#include <stdint.h>

#include "packet/gid.h"

/* Bounds the memory for them to 36 KiB for each guest. */
#define MCAST_GROUPS	128
#define MCAST_QPS	64

/**
 * struct mcast_group - a group that a QP is attached to
 * @gid:	the group
 * @n:		number of QPs, never 0
 * @qpn:	them, each a UD QP that there is
 */
struct mcast_group {
	uint8_t gid[GID_SIZE];
	uint32_t n;
	uint32_t qpn[MCAST_QPS];
};

/**
 * struct mcast - the groups of a NIC
 * @n:		number of them
 * @group:	them
 */
struct mcast {
	uint32_t n;
	struct mcast_group group[MCAST_GROUPS];
};

/**
 * mcast_attach() - attach a QP to a group
 * @mcast:	the NIC's groups
 * @qpn:	UD QP that there is; may be attached already
 * @gid:	group
 *
 * Return: NULL, or why not.
 */
const char *mcast_attach(struct mcast *mcast, uint32_t qpn, const uint8_t *gid);

/**
 * mcast_detach() - detach a QP from a group
 * @mcast:	the NIC's groups
 * @qpn:	QP
 * @gid:	group
 *
 * Return: NULL, or why not.
 */
const char *mcast_detach(struct mcast *mcast, uint32_t qpn, const uint8_t *gid);

/** mcast_detach_all() - detach a QP from all its groups */
void mcast_detach_all(struct mcast *mcast, uint32_t qpn);

/**
 * mcast_find() - the group that a packet is for
 * @mcast:	groups of the NIC that it came to
 * @dest_qpn:	QPN that it is for
 * @dgid:	GID that it is for
 *
 * Return: a group, or NULL if it is not for one that a QP is attached to.
 */
const struct mcast_group *mcast_find(const struct mcast *mcast,
				     uint32_t dest_qpn, const uint8_t *dgid);

#endif /* DEVICE_RDMA_OBJECT_MCAST_H */
