/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The offload of NVMe over Fabrics: SRQs that are subsystems, their controllers and
 * namespaces, and the QPs whose commands are carried out here.
 *
 * device/nvmf/ knows the commands, device/storage/ the namespaces of the host.  Here is what
 * a guest makes of them by its control commands.  conn.c is the wire between a QP and a queue
 * of device/nvmf/.
 */
#ifndef DEVICE_RDMA_NVMF_SUBSYS_H
#define DEVICE_RDMA_NVMF_SUBSYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nvmf/nvmf.h"
#include "rdma/object/mr.h"
#include "rdma/object/srq.h"
#include "rdma/qp/qp.h"
#include "storage/ns.h"

/* Limits for each guest.  A QP with the offload has 220 KiB, so that all have 28 MiB. */
#define SUBSYS_MAX		64u
#define SUBSYS_BACKENDS_MAX	256u
#define SUBSYS_BACKENDS		16u
#define SUBSYS_CONNS_MAX	128u

/* Half of the commands of a QP. */
#define SUBSYS_DEPTH		64u
#define SUBSYS_QUEUE_MIN	16u
#define SUBSYS_QUEUE_MAX	1024u
#define SUBSYS_STAGING_MIN	(64u << 10)
#define SUBSYS_STAGING_MAX	(1ull << 30)
#define SUBSYS_DATA_OFFSET_MAX	16u
#define SUBSYS_LBA_SIZES	(1u << 9 | 1u << 12)

/* Pieces of the staging memory of an SRQ that are used. */
#define SUBSYS_SLOTS_MAX	1024u

struct conn;
struct rings;
struct rings_ns;

/**
 * struct nvmf_host - what the host has for guests
 * @nvmf:	staging buffers and shares
 * @find:	namespace @name, if guest @guest may use it, or NULL
 * @arg:	for @find
 */
struct nvmf_host {
	struct nvmf *nvmf;
	struct ns *(*find)(const void *arg, const char *name, const char *guest);
	const void *arg;
};

/**
 * struct backend - a controller
 * @handle:	of it
 * @sub:	subsystem that it is of
 * @req:	as it was asked for
 * @ns:		its namespace, of the host, or NULL
 * @rings:	its queues in memory, or NULL
 * @maps:	namespaces that are mapped to it
 */
struct backend {
	uint32_t handle;
	struct subsys *sub;
	struct virtio_rdma_cmd_create_nvme_ctrl req;
	struct ns *ns;
	struct rings *rings;
	unsigned int maps;
};

/**
 * struct subsys_map - a namespace of a subsystem
 * @req:	as it was asked for
 * @backend:	controller, or NULL if there is none here
 */
struct subsys_map {
	struct virtio_rdma_cmd_map_nsid req;
	struct backend *backend;
};

/**
 * struct subsys - an SRQ with attributes
 * @entry:	of the table
 * @table:	that it is in
 * @srq:	SRQ
 * @req:	attributes, as they were given
 * @target:	as commands see it
 * @backends:	its controllers
 * @maps:	number of namespaces in @map
 * @map:	namespaces
 * @conns:	QPs with the offload
 * @spaces:	namespaces of controllers with queues in memory, and of such that are gone
 * @slot:	pieces of staging memory that are free
 * @slots:	number of them
 */
struct subsys {
	LIST_ENTRY(subsys) entry;
	struct subsys_table *table;
	struct srq *srq;
	struct virtio_rdma_cmd_set_srq_nvmf req;
	struct nvmf_target *target;
	unsigned int backends;
	unsigned int maps;
	struct subsys_map map[NVMF_NAMESPACES_MAX];
	LIST_HEAD(, conn) conns;
	LIST_HEAD(, rings_ns) spaces;
	uint16_t *slot;
	unsigned int slots;
};

/**
 * struct subsys_table - all of a NIC
 * @ctx:	the NIC's context
 * @qps:	its QPs, and what those refer to
 * @host:	what the host has, or NULL: then there is no offload
 * @subs:	subsystems
 * @used:	number of them
 * @backends:	controllers by handle
 * @conns:	QPs with the offload
 * @rings:	controllers with queues in memory
 * @at:		place of the one that is looked at next
 */
struct subsys_table {
	struct rnic_ctx *ctx;
	struct qp_table *qps;
	const struct nvmf_host *host;
	LIST_HEAD(, subsys) subs;
	unsigned int used;
	struct obj_table backends;
	unsigned int conns;
	unsigned int rings;
	uint32_t at;
};

/** subsys_table_init() - an empty table, @ctx and @qps filled in; 0 or an error */
int subsys_table_init(struct subsys_table *table);

/** subsys_table_reset() - free all, which no QP uses from then on */
void subsys_table_reset(struct subsys_table *table);

/** subsys_table_fini() - free an empty table, or one that is all zeroes */
void subsys_table_fini(struct subsys_table *table);

/** subsys_srq_gone() - an SRQ is about to be destroyed; nothing if it cannot be */
void subsys_srq_gone(struct subsys_table *table, uint32_t srq);

/* The commands: each returns NULL, or why not. */
const char *subsys_query(const struct subsys_table *table,
			 struct virtio_rdma_ack_query_nvmf *ack);
const char *subsys_query_ns(const struct subsys_table *table,
			    const struct virtio_rdma_cmd_query_namespace *req,
			    struct virtio_rdma_ack_query_namespace *ack);
const char *subsys_set_srq(struct subsys_table *table,
			   const struct virtio_rdma_cmd_set_srq_nvmf *req);
const char *subsys_create_ctrl(struct subsys_table *table,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			       uint32_t *handle);
const char *subsys_destroy_ctrl(struct subsys_table *table, uint32_t handle);
const char *subsys_map_nsid(struct subsys_table *table,
			    const struct virtio_rdma_cmd_map_nsid *req);
const char *subsys_unmap_nsid(struct subsys_table *table,
			      const struct virtio_rdma_cmd_unmap_nsid *req);
const char *subsys_set_qp(struct subsys_table *table,
			  const struct virtio_rdma_cmd_set_qp_nvmf *req);

/** subsys_load_srq() - as subsys_set_srq(), whether or not its staging memory is there */
const char *subsys_load_srq(struct subsys_table *table,
			    const struct virtio_rdma_cmd_set_srq_nvmf *req);

/** subsys_load_ctrl() - as subsys_create_ctrl(), with this handle */
const char *subsys_load_ctrl(struct subsys_table *table,
			     const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			     uint32_t handle);

#endif /* DEVICE_RDMA_NVMF_SUBSYS_H */
