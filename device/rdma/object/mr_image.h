/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions and windows, saved and loaded.
 */
#ifndef DEVICE_RDMA_OBJECT_MR_IMAGE_H
#define DEVICE_RDMA_OBJECT_MR_IMAGE_H

#include "rdma/object/mr.h"
#include "state/state.h"

/** mr_table_io() - save or load the table, after protection domains */
void mr_table_io(struct state *st, struct mr_table *mrs);

#endif /* DEVICE_RDMA_OBJECT_MR_IMAGE_H */
