/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Subsystems, saved and loaded.
 */
#ifndef DEVICE_RDMA_NVMF_SUBSYS_IMAGE_H
#define DEVICE_RDMA_NVMF_SUBSYS_IMAGE_H

#include "rdma/nvmf/subsys.h"

/** subsys_io() - save or load the table, behind QPs; without subsystems there is nothing */
void subsys_io(struct state *st, struct subsys_table *table);

/** subsys_loaded() - all is good: QPs whose commands were under way go to ERR */
void subsys_loaded(struct subsys_table *table);

#endif /* DEVICE_RDMA_NVMF_SUBSYS_IMAGE_H */
