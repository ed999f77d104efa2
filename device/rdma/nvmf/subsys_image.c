// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Subsystems, saved and loaded.
 *
 * The requests of the guest's commands are saved, and carried out
 * again when they are loaded, so that the same code checks them.  Regions may be
 * gone meanwhile; they are looked up when they are used.
 *
 * Commands under way are not saved: their data is in memory of this process.  A QP that has
 * some is in ERR when it is loaded, and its host connects again.
 */
#include <endian.h>
#include <stdlib.h>

#include "rdma/nvmf/conn.h"
#include "rdma/nvmf/rings.h"
#include "rdma/nvmf/subsys_image.h"
#include "rdma/qp/qp_queues.h"

/* Bytes of the smallest ones in a state. */
#define CONN_STATE_SIZE		21u
#define BACKEND_STATE_SIZE	116u

static void request_io(struct state *st, struct wqe *wqe)
{
	bool posted = wqe->posted;

	state_bool(st, "posted", &posted);
	wqe->posted = posted;
	if (st->loading)
		wqe->post = NULL;
}

/* Which of the requests of a QP were the device's. */
static void requests_io(struct state *st, struct qp *qp)
{
	struct requester *req = &qp->req;
	uint32_t i, n = req->prod - req->una;

	state_count(st, "requests", &n, REQUESTER_MAX, 1);
	if (!state_need(st, n == req->prod - req->una, "requests", "not those of the QP"))
		return;
	for (i = 0; i < n && !st->failed; i++)
		request_io(st, requester_wqe(req, req->una + i));
}

static void conn_io(struct state *st, struct subsys_table *table, const struct conn *conn)
{
	struct virtio_rdma_cmd_set_qp_nvmf req = {};
	bool cut = conn && conn_saved(conn, &req);
	struct qp *qp;

	state_bytes(st, "qp", &req, sizeof(req));
	state_bool(st, "cut", &cut);
	qp = qp_get(table->qps, le32toh(req.qpn));
	if (!state_need(st, qp && (!st->loading || !qp->offload), "qp", "not a QP without it"))
		return;
	requests_io(st, qp);
	if (!st->loading || st->failed)
		return;
	qp->cut = cut;
	if (!cut)
		state_need(st, !subsys_set_qp(table, &req), "qp", "not possible");
}

static void conns_io(struct state *st, struct subsys_table *table, struct subsys *sub)
{
	const struct conn *conn;
	uint32_t i, n = 0;

	for (conn = conn_first(sub); conn; conn = conn_next(conn))
		n++;
	state_count(st, "qps", &n, SUBSYS_CONNS_MAX, CONN_STATE_SIZE);
	conn = st->loading ? NULL : conn_first(sub);
	for (i = 0; i < n && !st->failed; i++) {
		conn_io(st, table, conn);
		conn = conn ? conn_next(conn) : NULL;
	}
}

static void maps_io(struct state *st, struct subsys_table *table, struct subsys *sub)
{
	struct virtio_rdma_cmd_map_nsid req;
	uint32_t i, at = 0, n = sub->maps;

	state_count(st, "namespaces", &n, NVMF_NAMESPACES_MAX, sizeof(req));
	for (i = 0; i < n && !st->failed; i++) {
		while (!st->loading && !sub->map[at].backend)
			at++;
		if (!st->loading)
			req = sub->map[at++].req;
		state_bytes(st, "namespace", &req, sizeof(req));
		if (st->loading && !st->failed)
			state_need(st, !subsys_map_nsid(table, &req), "namespace",
				   "not possible");
	}
}

static void sub_io(struct state *st, struct subsys_table *table, struct subsys *sub)
{
	struct virtio_rdma_cmd_set_srq_nvmf req = {};

	if (sub)
		req = sub->req;
	state_bytes(st, "srq", &req, sizeof(req));
	if (!sub && !st->failed)
		state_need(st, !subsys_load_srq(table, &req), "srq", "not possible");
}

static void backends_io(struct state *st, struct subsys_table *table)
{
	struct virtio_rdma_cmd_create_nvme_ctrl req;
	uint32_t i, at = 0, n = table->backends.used, handle = 0;
	const struct backend *backend;

	obj_table_io(st, &table->backends);
	state_count(st, "controllers", &n, SUBSYS_BACKENDS_MAX, BACKEND_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++) {
		if (!st->loading) {
			backend = obj_next(&table->backends, &at);
			req = backend->req;
			handle = backend->handle;
		}
		state_u32(st, "handle", &handle, UINT32_MAX);
		state_bytes(st, "controller", &req, sizeof(req));
		if (st->loading && !st->failed)
			state_need(st, !subsys_load_ctrl(table, &req, handle), "controller",
				   "not possible");
		backend = st->failed ? NULL : obj_get(&table->backends, handle);
		if (backend && backend->rings)
			rings_io(st, backend->rings);
	}
	obj_table_io_end(st, &table->backends);
}

void subsys_loaded(struct subsys_table *table)
{
	const struct backend *backend;
	struct qp *qp;
	uint32_t i, at;

	for (i = 0; table->used && i < table->qps->size; i++) {
		qp = qp_get(table->qps, i);
		if (!qp || !qp->cut)
			continue;
		qp->cut = false;
		qp_fail(qp);
		qp_report(qp, VIRTIO_RDMA_EVENT_QP_FATAL);
	}
	at = 0;
	while ((backend = obj_next(&table->backends, &at)))
		if (backend->rings)
			rings_loaded(backend->rings);
}

/* In the order of the list; what is loaded is put before all others. */
static struct subsys *sub_last(const struct subsys_table *table)
{
	struct subsys *sub, *last = NULL;

	LIST_FOREACH(sub, &table->subs, entry)
		last = sub;
	return last;
}

static struct subsys *sub_before(const struct subsys_table *table, const struct subsys *of)
{
	struct subsys *sub;

	LIST_FOREACH(sub, &table->subs, entry)
		if (LIST_NEXT(sub, entry) == of)
			return sub;
	return NULL;
}

void subsys_io(struct state *st, struct subsys_table *table)
{
	uint32_t i, n = table->used;
	struct subsys *sub;

	if (!st->loading && !n)
		return;
	if (!state_need(st, table->host, "srqs", "there is no offload here"))
		return;
	state_count(st, "srqs", &n, SUBSYS_MAX, sizeof(sub->req));
	sub = st->loading ? NULL : sub_last(table);
	for (i = 0; i < n && !st->failed; i++) {
		sub_io(st, table, sub);
		sub = sub ? sub_before(table, sub) : NULL;
	}
	backends_io(st, table);
	for (sub = sub_last(table); sub && !st->failed; sub = sub_before(table, sub)) {
		maps_io(st, table, sub);
		conns_io(st, table, sub);
	}
}
