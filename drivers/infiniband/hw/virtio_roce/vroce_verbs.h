/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device, port, GIDs.
 */
#ifndef _VROCE_VERBS_H
#define _VROCE_VERBS_H

#include "vroce_types.h"

bool vroce_port_is_active(const struct vroce_dev *dev);
void vroce_port_update(struct vroce_dev *dev);
int vroce_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
int vroce_modify_device(struct ib_device *ibdev, int mask,
			struct ib_device_modify *modify);
int vroce_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr);
int vroce_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
enum rdma_link_layer vroce_get_link_layer(struct ib_device *ibdev, u32 port);
void vroce_get_dev_fw_str(struct ib_device *ibdev, char *str);
int vroce_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vroce_add_gid(const struct ib_gid_attr *attr, void **context);
int vroce_del_gid(const struct ib_gid_attr *attr, void **context);

#endif /* _VROCE_VERBS_H */
