// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The offload of NVMe over Fabrics: control commands and their objects.
 *
 * All objects of a guest are few (SUBSYS_MAX and the like), so that lists are searched, and a
 * reset of the function frees them at once.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/nvmf/conn.h"
#include "rdma/nvmf/rings.h"
#include "rdma/nvmf/subsys.h"

#define SUBSYS_OPS	(VIRTIO_RDMA_NVMF_WRITE | VIRTIO_RDMA_NVMF_READ)
#define SUBSYS_OPS_ALL	(SUBSYS_OPS | VIRTIO_RDMA_NVMF_FLUSH)

/* Bytes of a capsule in units of 16. */
#define SUBSYS_CAPSULE_MIN	(64 / 16)
#define SUBSYS_CAPSULE_MAX	(NVMF_CAPSULE_MAX / 16)

/* Opcodes of NVMe. */
#define SUBSYS_FLUSH	0
#define SUBSYS_WRITE	1
#define SUBSYS_READ	2

#define NSID_ALL	0xffffffffu

/* Not a handle: there are too few of them. */
#define HANDLE_NEW	UINT32_MAX

static const char subsys_unknown[] = "unknown command";

int subsys_table_init(struct subsys_table *table)
{
	LIST_INIT(&table->subs);
	return obj_table_init(&table->backends, SUBSYS_BACKENDS_MAX);
}

void subsys_table_fini(struct subsys_table *table)
{
	obj_table_fini(&table->backends);
}

static struct subsys *subsys_find(const struct subsys_table *table, const struct srq *srq)
{
	struct subsys *sub;

	LIST_FOREACH(sub, &table->subs, entry)
		if (sub->srq == srq)
			return sub;
	return NULL;
}

static struct backend *backend_get(const struct subsys_table *table, uint32_t handle)
{
	return obj_get(&table->backends, handle);
}

/* ------------------------------------------------------------------------- */
/* Ends                                                                      */
/* ------------------------------------------------------------------------- */

static void backend_free(struct backend *backend)
{
	struct subsys *sub = backend->sub;

	if (backend->rings)
		rings_free(backend->rings);
	sub->backends--;
	sub->srq->refs--;
	obj_del(&sub->table->backends, backend->handle);
	free(backend);
}

static void subsys_unmap(struct subsys *sub, struct subsys_map *map)
{
	nvmf_offload_unmap(sub->target, le32toh(map->req.nsid));
	map->backend->maps--;
	map->backend = NULL;
	sub->maps--;
}

static void subsys_free(struct subsys *sub)
{
	LIST_REMOVE(sub, entry);
	sub->table->used--;
	nvmf_offload_free(sub->target);
	rings_drop_ns(sub, true);
	free(sub->slot);
	free(sub);
}

void subsys_table_reset(struct subsys_table *table)
{
	struct backend *backend;
	struct subsys *sub;
	uint32_t at = 0;
	unsigned int i;

	LIST_FOREACH(sub, &table->subs, entry) {
		conn_drop_all(sub);
		for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
			if (sub->map[i].backend)
				subsys_unmap(sub, &sub->map[i]);
	}
	while ((backend = obj_next(&table->backends, &at)))
		backend_free(backend);
	while ((sub = LIST_FIRST(&table->subs)))
		subsys_free(sub);
}

/* Controllers and QPs are users of the SRQ. */
void subsys_srq_gone(struct subsys_table *table, uint32_t handle)
{
	const struct srq *srq = srq_get(table->qps->srqs, handle);
	struct subsys *sub = srq && !srq->refs ? subsys_find(table, srq) : NULL;

	if (sub)
		subsys_free(sub);
}

/* ------------------------------------------------------------------------- */
/* Queries                                                                   */
/* ------------------------------------------------------------------------- */

const char *subsys_query(const struct subsys_table *table,
			 struct virtio_rdma_ack_query_nvmf *ack)
{
	if (!table->host)
		return subsys_unknown;
	*ack = (struct virtio_rdma_ack_query_nvmf) {
		.offload = htole32(VIRTIO_RDMA_NVMF_OFFLOAD_WRITE |
				   VIRTIO_RDMA_NVMF_OFFLOAD_READ |
				   VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE |
				   VIRTIO_RDMA_NVMF_OFFLOAD_READ_WRITE_FLUSH),
		.backends = htole32(1 << VIRTIO_RDMA_NVME_QUEUES |
				    1 << VIRTIO_RDMA_NVME_NAMESPACE),
		.flags = htole32(VIRTIO_RDMA_NVMF_DOORBELL_MEMORY),
		.lba_sizes = htole32(SUBSYS_LBA_SIZES),
		.max_ctrls = htole32(SUBSYS_BACKENDS_MAX),
		.max_srq_ctrls = htole32(SUBSYS_BACKENDS),
		.max_srq_namespaces = htole32(NVMF_NAMESPACES_MAX),
		.min_staging_size = htole32(SUBSYS_STAGING_MIN),
		.max_io_size = htole32(NVMF_DATA_MAX),
		.max_capsule = htole32(SUBSYS_CAPSULE_MAX),
		.min_capsule = htole32(SUBSYS_CAPSULE_MIN),
		.max_queue_depth = htole16(SUBSYS_QUEUE_MAX),
		.min_queue_depth = htole16(SUBSYS_QUEUE_MIN),
		.max_data_offset = htole16(SUBSYS_DATA_OFFSET_MAX),
		.max_qp_commands = htole16(2 * SUBSYS_DEPTH),
		.max_srqs = htole32(SUBSYS_MAX),
	};
	return NULL;
}

/* A name of the request's, if this guest may use the namespace. */
static struct ns *subsys_ns(const struct subsys_table *table, const uint8_t *name)
{
	const struct nvmf_host *host = table->host;
	char text[VIRTIO_RDMA_NAMESPACE_NAME];
	size_t len, i;

	memcpy(text, name, sizeof(text));
	len = strnlen(text, sizeof(text));
	for (i = len; i < sizeof(text); i++)
		if (text[i])
			return NULL;
	return len && len < sizeof(text) ? host->find(host->arg, text, table->ctx->name) : NULL;
}

const char *subsys_query_ns(const struct subsys_table *table,
			    const struct virtio_rdma_cmd_query_namespace *req,
			    struct virtio_rdma_ack_query_namespace *ack)
{
	const struct ns *ns;

	if (!table->host)
		return subsys_unknown;
	ns = subsys_ns(table, req->name);
	if (!ns)
		return "unknown namespace";
	*ack = (struct virtio_rdma_ack_query_namespace) {
		.size = htole64(ns->size),
		.lba_size = htole32(ns->block),
		.flags = htole32((ns->ro ? VIRTIO_RDMA_NAMESPACE_RO : 0) |
				 (ns->cache ? VIRTIO_RDMA_NAMESPACE_CACHE : 0)),
	};
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Subsystems                                                                */
/* ------------------------------------------------------------------------- */

static bool subsys_region_ok(const struct subsys_table *table, const struct srq *srq,
			     const struct virtio_rdma_region *region)
{
	const uint64_t len = le64toh(region->length);

	return len && mr_get(table->qps->mrs, srq->pd, le32toh(region->lkey),
			     le64toh(region->addr), len, VIRTIO_IB_ACCESS_LOCAL_WRITE);
}

static const char *subsys_check_staging(const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	const uint64_t addr = le64toh(req->staging.addr), len = le64toh(req->staging.length);

	if (addr % RNIC_PAGE_SIZE || len % RNIC_PAGE_SIZE || len < SUBSYS_STAGING_MIN ||
	    len < le32toh(req->max_io_size) + RNIC_PAGE_SIZE || len > SUBSYS_STAGING_MAX)
		return "staging memory of a wrong size";
	return NULL;
}

static const char *subsys_check(const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	const uint32_t ops = le32toh(req->ops), io = le32toh(req->max_io_size);
	const uint64_t capsule = le32toh(req->capsule), spaces = le32toh(req->max_namespaces);
	const uint16_t offset = le16toh(req->data_offset), depth = le16toh(req->queue_depth);

	if (!ops || ops & ~SUBSYS_OPS_ALL || (ops & VIRTIO_RDMA_NVMF_FLUSH &&
					      ops != SUBSYS_OPS_ALL))
		return "unknown commands";
	if (!spaces || spaces > NVMF_NAMESPACES_MAX)
		return "too many namespaces";
	if (!io || io % RNIC_PAGE_SIZE || io > NVMF_DATA_MAX)
		return "commands of a wrong size";
	if (capsule < SUBSYS_CAPSULE_MIN + (uint64_t)offset || capsule > SUBSYS_CAPSULE_MAX ||
	    offset > SUBSYS_DATA_OFFSET_MAX)
		return "capsules of a wrong size";
	if (depth < SUBSYS_QUEUE_MIN || depth > SUBSYS_QUEUE_MAX || depth & (depth - 1) ||
	    req->page_shift != 12)
		return "queues of a wrong size";
	return NULL;
}

static struct nvmf_target *subsys_target(const struct subsys_table *table,
					 const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	const uint32_t ops = le32toh(req->ops);
	const struct nvmf_offload_config config = {
		.ops = (ops & VIRTIO_RDMA_NVMF_WRITE ? 1 << SUBSYS_WRITE : 0) |
		       (ops & VIRTIO_RDMA_NVMF_READ ? 1 << SUBSYS_READ : 0) |
		       (ops & VIRTIO_RDMA_NVMF_FLUSH ? 1 << SUBSYS_FLUSH : 0),
		.max_io = le32toh(req->max_io_size),
		.capsule = le32toh(req->capsule) * 16,
		.data_off = le16toh(req->data_offset) * 16,
	};

	return nvmf_offload_new(table->host->nvmf, &config);
}

/* A piece has room for the data of a command and a list of its pages. */
static bool subsys_make_slots(struct subsys *sub)
{
	const uint64_t size = le32toh(sub->req.max_io_size) + RNIC_PAGE_SIZE;
	uint64_t i, n = le64toh(sub->req.staging.length) / size;

	if (n > SUBSYS_SLOTS_MAX)
		n = SUBSYS_SLOTS_MAX;
	sub->slot = calloc(n, sizeof(*sub->slot));
	for (i = 0; sub->slot && i < n; i++)
		sub->slot[sub->slots++] = n - 1 - i;
	return sub->slot;
}

static const char *subsys_add(struct subsys_table *table, struct srq *srq,
			      const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	struct subsys *sub = calloc(1, sizeof(*sub));

	if (!sub)
		return "out of memory";
	sub->table = table;
	sub->srq = srq;
	sub->req = *req;
	LIST_INIT(&sub->conns);
	LIST_INIT(&sub->spaces);
	sub->target = subsys_target(table, req);
	if (!sub->target || !subsys_make_slots(sub)) {
		if (sub->target)
			nvmf_offload_free(sub->target);
		free(sub);
		return "out of memory";
	}
	LIST_INSERT_HEAD(&table->subs, sub, entry);
	table->used++;
	return NULL;
}

const char *subsys_load_srq(struct subsys_table *table,
			    const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	struct srq *srq = srq_get(table->qps->srqs, le32toh(req->srq));
	const char *why;

	if (!table->host)
		return subsys_unknown;
	if (!srq || srq->xrcd || srq->dying)
		return "unknown SRQ";
	if (subsys_find(table, srq))
		return "the SRQ has attributes";
	if (table->used == SUBSYS_MAX)
		return rnic_why(table->ctx, "all %u SRQs with attributes are in use",
				SUBSYS_MAX);
	why = subsys_check(req);
	if (!why)
		why = subsys_check_staging(req);
	return why ? why : subsys_add(table, srq, req);
}

const char *subsys_set_srq(struct subsys_table *table,
			   const struct virtio_rdma_cmd_set_srq_nvmf *req)
{
	const struct srq *srq = srq_get(table->qps->srqs, le32toh(req->srq));

	if (table->host && srq && !subsys_region_ok(table, srq, &req->staging))
		return "staging memory is not accessible";
	return subsys_load_srq(table, req);
}

/* ------------------------------------------------------------------------- */
/* Controllers                                                               */
/* ------------------------------------------------------------------------- */

static const char *backend_check_ns(const struct subsys_table *table,
				    const struct virtio_rdma_cmd_create_nvme_ctrl *req,
				    struct ns **ns)
{
	const size_t named = sizeof(req->name), rest = sizeof(req->queues) - named;
	uint8_t behind[sizeof(req->queues) - sizeof(req->name)];
	size_t i;

	if (req->flags)
		return "unknown flags";
	memcpy(behind, (const uint8_t *)&req->queues + named, rest);
	for (i = 0; i < rest; i++)
		if (behind[i])
			return "bytes behind a name";
	*ns = subsys_ns(table, req->name);
	return *ns ? NULL : "unknown namespace";
}

static bool backend_region_is(const struct virtio_rdma_region *region, uint64_t len,
			      uint64_t align)
{
	return le64toh(region->length) == len && le64toh(region->addr) % align == 0;
}

static const char *backend_check_queues(const struct subsys *sub,
					const struct virtio_rdma_cmd_create_nvme_ctrl *req)
{
	const uint16_t depth = le16toh(sub->req.queue_depth);

	if (req->flags & ~VIRTIO_RDMA_NVME_REGION_ADDR)
		return "unknown flags";
	if (le16toh(req->sq_initial) >= depth || le16toh(req->cq_initial) >= depth ||
	    !backend_region_is(&req->queues.sq, 64ull * depth, 64) ||
	    !backend_region_is(&req->queues.cq, 16ull * depth, 16) ||
	    !backend_region_is(&req->queues.sq_doorbell, 4, 4) ||
	    !backend_region_is(&req->queues.cq_doorbell, 4, 4))
		return "queues of a wrong size";
	return NULL;
}

static const char *backend_check(const struct subsys *sub,
				 const struct virtio_rdma_cmd_create_nvme_ctrl *req,
				 struct ns **ns)
{
	switch (req->backend) {
	case VIRTIO_RDMA_NVME_NAMESPACE:
		return backend_check_ns(sub->table, req, ns);
	case VIRTIO_RDMA_NVME_QUEUES:
		return backend_check_queues(sub, req);
	}
	return "unknown kind of controller";
}

static bool backend_regions_ok(const struct subsys_table *table, const struct srq *srq,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req)
{
	return req->backend != VIRTIO_RDMA_NVME_QUEUES ||
	       (subsys_region_ok(table, srq, &req->queues.sq) &&
		subsys_region_ok(table, srq, &req->queues.cq) &&
		subsys_region_ok(table, srq, &req->queues.sq_doorbell) &&
		subsys_region_ok(table, srq, &req->queues.cq_doorbell));
}

static const char *backend_add(struct subsys *sub,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			       struct ns *ns, uint32_t *handle)
{
	struct subsys_table *table = sub->table;
	struct backend *backend = calloc(1, sizeof(*backend));

	if (!backend)
		return "out of memory";
	backend->sub = sub;
	backend->req = *req;
	backend->ns = ns;
	if (*handle == HANDLE_NEW ? obj_add(&table->backends, backend, &backend->handle) :
				    !obj_put(&table->backends, *handle, backend)) {
		free(backend);
		return rnic_why(table->ctx, "all %u NVMe controllers are in use",
				SUBSYS_BACKENDS_MAX);
	}
	if (*handle != HANDLE_NEW)
		backend->handle = *handle;
	backend->rings = ns ? NULL : rings_new(backend);
	if (!ns && !backend->rings) {
		obj_del(&table->backends, backend->handle);
		free(backend);
		return "out of memory";
	}
	sub->backends++;
	sub->srq->refs++;
	*handle = backend->handle;
	return NULL;
}

static const char *subsys_make_ctrl(struct subsys_table *table,
				    const struct virtio_rdma_cmd_create_nvme_ctrl *req,
				    uint32_t *handle)
{
	const struct srq *srq = srq_get(table->qps->srqs, le32toh(req->srq));
	struct subsys *sub = srq ? subsys_find(table, srq) : NULL;
	struct ns *ns = NULL;
	const char *why;

	if (!table->host)
		return subsys_unknown;
	if (!sub)
		return "unknown SRQ, or one without attributes";
	if (sub->backends == SUBSYS_BACKENDS)
		return rnic_why(table->ctx, "all %u NVMe controllers of the SRQ are in use",
				SUBSYS_BACKENDS);
	why = backend_check(sub, req, &ns);
	return why ? why : backend_add(sub, req, ns, handle);
}

const char *subsys_create_ctrl(struct subsys_table *table,
			       const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			       uint32_t *handle)
{
	const struct srq *srq = srq_get(table->qps->srqs, le32toh(req->srq));

	*handle = HANDLE_NEW;
	if (table->host && srq && !backend_regions_ok(table, srq, req))
		return "the queues are not accessible";
	return subsys_make_ctrl(table, req, handle);
}

const char *subsys_load_ctrl(struct subsys_table *table,
			     const struct virtio_rdma_cmd_create_nvme_ctrl *req,
			     uint32_t handle)
{
	return handle == HANDLE_NEW ? "not a handle" : subsys_make_ctrl(table, req, &handle);
}

const char *subsys_destroy_ctrl(struct subsys_table *table, uint32_t handle)
{
	struct backend *backend = backend_get(table, handle);

	if (!backend)
		return "unknown NVMe controller";
	if (backend->maps)
		return "NVMe controller in use";
	backend_free(backend);
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* Namespaces                                                                */
/* ------------------------------------------------------------------------- */

/* Number @nsid, or the first free entry for 0; NULL if there is none. */
static struct subsys_map *subsys_find_map(struct subsys *sub, uint32_t nsid)
{
	unsigned int i;

	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		if (nsid ? sub->map[i].backend && le32toh(sub->map[i].req.nsid) == nsid :
			   !sub->map[i].backend)
			return &sub->map[i];
	return NULL;
}

static const char *subsys_check_map(struct backend *backend,
				    const struct virtio_rdma_cmd_map_nsid *req)
{
	const uint32_t nsid = le32toh(req->nsid), lba = le32toh(req->lba_size);
	const uint32_t of = le32toh(req->ctrl_nsid);
	struct subsys *sub = backend->sub;

	if (!nsid || nsid == NSID_ALL)
		return "namespace of a wrong number";
	if (!of || of == NSID_ALL || (backend->ns && of != 1))
		return "unknown namespace of the controller";
	if (lba >= 1u << 31 || lba & (lba - 1) || !(lba & SUBSYS_LBA_SIZES) ||
	    (backend->ns && lba != backend->ns->block))
		return "blocks of a wrong size";
	if (subsys_find_map(sub, nsid))
		return "the namespace is mapped";
	return sub->maps < le32toh(sub->req.max_namespaces) ? NULL : "too many namespaces";
}

const char *subsys_map_nsid(struct subsys_table *table,
			    const struct virtio_rdma_cmd_map_nsid *req)
{
	struct backend *backend = backend_get(table, le32toh(req->ctrl));
	struct subsys_map *map;
	struct ns *ns;
	const char *why;

	if (!backend)
		return "unknown NVMe controller";
	why = subsys_check_map(backend, req);
	if (why)
		return why;
	map = subsys_find_map(backend->sub, 0);
	ns = backend->ns ? backend->ns : rings_ns(backend->rings, req);
	if (!map || !ns || !nvmf_offload_map(backend->sub->target, le32toh(req->nsid), ns))
		return "too many namespaces";
	map->req = *req;
	map->backend = backend;
	backend->maps++;
	backend->sub->maps++;
	return NULL;
}

const char *subsys_unmap_nsid(struct subsys_table *table,
			      const struct virtio_rdma_cmd_unmap_nsid *req)
{
	struct backend *backend = backend_get(table, le32toh(req->ctrl));
	struct subsys_map *map;

	if (!backend)
		return "unknown NVMe controller";
	map = req->nsid ? subsys_find_map(backend->sub, le32toh(req->nsid)) : NULL;
	if (!map || map->backend != backend)
		return "the namespace is not mapped";
	subsys_unmap(backend->sub, map);
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* QPs                                                                       */
/* ------------------------------------------------------------------------- */

const char *subsys_set_qp(struct subsys_table *table,
			  const struct virtio_rdma_cmd_set_qp_nvmf *req)
{
	const uint16_t size = le16toh(req->sq_size), head = le16toh(req->sq_head);
	const uint32_t flags = le32toh(req->flags);
	struct qp *qp = qp_get(table->qps, le32toh(req->qpn));
	struct subsys *sub;

	if (!table->host)
		return subsys_unknown;
	if (!qp || qp->type != VIRTIO_IB_QPT_RC || !qp->rq.srq)
		return "not an RC QP with an SRQ";
	sub = subsys_find(table, qp->rq.srq);
	if (!sub)
		return "the SRQ has no attributes";
	if (flags & ~VIRTIO_RDMA_QP_NVMF_ENABLE)
		return "unknown flags";
	if (size ? head >= size : head)
		return "head beyond the queue";
	if (!flags && qp->offload)
		conn_stop(qp);
	else if (flags && qp->offload)
		conn_set_flow(qp, size, head);
	else if (flags)
		return conn_start(sub, qp, size, head);
	return NULL;
}
