// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast groups: which QPs of a NIC want the datagrams sent to one.
 *
 * A NIC knows only its own QPs.  A datagram to a group always leaves by the
 * Ethernet port, and the switch brings it to all other NICs, of this process or
 * not, once each.  No switch would bring it back to the sender's own NIC: QPs
 * there get it in memory.
 */
#include <string.h>

#include "rdma/object/mcast.h"
#include "uapi/virtio_net_roce.h"

static struct mcast_group *mcast_group(const struct mcast *mcast,
				       const uint8_t *gid)
{
	uint32_t i;

	for (i = 0; i < mcast->n; i++)
		if (gid_equal(mcast->group[i].gid, gid))
			return (struct mcast_group *)&mcast->group[i];
	return NULL;
}

static struct mcast_group *mcast_group_new(struct mcast *mcast,
					   const uint8_t *gid)
{
	struct mcast_group *group;

	if (mcast->n == MCAST_GROUPS)
		return NULL;
	group = &mcast->group[mcast->n++];
	memcpy(group->gid, gid, GID_SIZE);
	group->n = 0;
	return group;
}

/* Place of a QP in a group, or @n of the group. */
static uint32_t mcast_place(const struct mcast_group *group, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < group->n && group->qpn[i] != qpn; i++)
		;
	return i;
}

/* The last QP or group takes the place of the one that is removed. */
static void mcast_remove(struct mcast *mcast, struct mcast_group *group,
			 uint32_t place)
{
	group->qpn[place] = group->qpn[--group->n];
	if (!group->n)
		*group = mcast->group[--mcast->n];
}

const char *mcast_attach(struct mcast *mcast, uint32_t qpn, const uint8_t *gid)
{
	struct mcast_group *group;

	if (!gid_is_multicast(gid))
		return "not a multicast GID";
	group = mcast_group(mcast, gid);
	if (!group)
		group = mcast_group_new(mcast, gid);
	if (!group)
		return "no free multicast group";
	if (mcast_place(group, qpn) < group->n)
		return NULL;
	if (group->n == MCAST_QPS)
		return "multicast group is full";
	group->qpn[group->n++] = qpn;
	return NULL;
}

const char *mcast_detach(struct mcast *mcast, uint32_t qpn, const uint8_t *gid)
{
	struct mcast_group *group = mcast_group(mcast, gid);
	uint32_t place;

	if (!group)
		return "no QP is attached to this GID";
	place = mcast_place(group, qpn);
	if (place == group->n)
		return "QP not attached to this GID";
	mcast_remove(mcast, group, place);
	return NULL;
}

void mcast_detach_all(struct mcast *mcast, uint32_t qpn)
{
	struct mcast_group *group;
	uint32_t i, place;

	/* Backwards, so that the group that takes the place was already checked. */
	for (i = mcast->n; i-- > 0;) {
		group = &mcast->group[i];
		place = mcast_place(group, qpn);
		if (place < group->n)
			mcast_remove(mcast, group, place);
	}
}

const struct mcast_group *mcast_find(const struct mcast *mcast,
				     uint32_t dest_qpn, const uint8_t *dgid)
{
	if (dest_qpn != VIRTIO_RDMA_MCAST_QPN)
		return NULL;
	return mcast_group(mcast, dgid);
}
