/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Controllers whose queues are in the guest's memory.
 */
#ifndef DEVICE_RDMA_NVMF_RINGS_H
#define DEVICE_RDMA_NVMF_RINGS_H

#include "rdma/nvmf/subsys.h"

/** rings_new() - the queues of @backend; NULL without memory */
struct rings *rings_new(struct backend *backend);

/** rings_free() - end all that it has under way, and free it */
void rings_free(struct rings *rings);

/** rings_ns() - namespace @map of the controller, until rings_ns_free() */
struct ns *rings_ns(struct rings *rings, const struct virtio_rdma_cmd_map_nsid *map);

/** rings_drop_ns() - free namespaces of controllers that are gone, all of them if @all */
void rings_drop_ns(struct subsys *sub, bool all);

/** rings_poll() - look for completions; true if there was any */
bool rings_poll(struct subsys_table *table);

/** rings_io() - save or load what became of it */
void rings_io(struct state *st, struct rings *rings);

/** rings_loaded() - all is good: report a controller that failed by being moved */
void rings_loaded(struct rings *rings);

#endif /* DEVICE_RDMA_NVMF_RINGS_H */
