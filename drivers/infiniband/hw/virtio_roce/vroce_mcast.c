// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: a UD QP also receives datagrams sent to its groups.
 */
#include "vroce_mcast.h"

/**
 * vroce_attach_mcast() - join a multicast group
 * @ibqp: QP; the core has checked that it is of type UD
 * @gid: group; the core has checked that it is a multicast address
 * @lid: not used by RoCE
 *
 * The device takes datagrams for the group before the receive filter of the network
 * device.  So the filter needs no address for the group.
 *
 * Return: 0 or -errno.
 */
int vroce_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	int err = vroce_cmd_attach_mcast(to_vdev(ibqp->device)->aux, ibqp->qp_num, gid);

	if (!err)
		atomic_inc(&to_vqp(ibqp)->groups);
	return err;
}

/**
 * vroce_detach_mcast() - leave a multicast group
 * @ibqp: UD QP
 * @gid: group
 * @lid: not used by RoCE
 *
 * The core would not destroy the QP after a failure.  If the device refuses, the QP is in
 * the group until it is destroyed.
 *
 * Return: 0, or -EINVAL if the QP is not attached to any group.
 */
int vroce_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	if (atomic_dec_if_positive(&to_vqp(ibqp)->groups) < 0)
		return -EINVAL;
	vroce_cmd_detach_mcast(to_vdev(ibqp->device)->aux, ibqp->qp_num, gid);
	return 0;
}
