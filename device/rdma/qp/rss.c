// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames spread over work queues: indirection tables, and how RX_HASH QPs choose.
 *
 * rdma/object/rx_hash.c has the hash.  All frames of a connection have the same one, so they
 * go to the same work queue, in their order.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "rdma/object/rx_hash.h"
#include "rdma/qp/rss.h"

/* Bytes of the smallest table, and of what a QP is made of, in a state. */
#define WQ_TABLE_STATE_SIZE	9u
#define RSS_STATE_SIZE		(4u + sizeof(struct virtio_rdma_cmd_create_rx_hash_qp))

void wq_tables_init(struct wq_tables *tables, struct qp_table *qps)
{
	tables->qps = qps;
}

/* Most guests have no tables. */
static bool wq_tables_ready(struct wq_tables *tables)
{
	return tables->objs.max || !obj_table_init(&tables->objs, RNIC_WQ_TABLES_MAX);
}

void wq_tables_fini(struct wq_tables *tables)
{
	obj_table_fini(&tables->objs);
}

/* ------------------------------------------------------------------------- */
/* Tables                                                                    */
/* ------------------------------------------------------------------------- */

static struct qp *wq_get(const struct wq_tables *tables, uint32_t wqn)
{
	struct qp *wq = qp_get(tables->qps, wqn);

	return wq && wq->type == VIRTIO_IB_QPT_WQ ? wq : NULL;
}

/* A reset destroys work queues first. */
static void wq_table_free(struct wq_tables *tables, struct wq_table *table)
{
	struct qp *wq;
	uint32_t i;

	for (i = 0; i < table->n; i++) {
		wq = wq_get(tables, table->wqn[i]);
		if (wq)
			wq->tables--;
	}
	obj_del(&tables->objs, table->handle);
	free(table);
}

bool wq_tables_reset(struct wq_tables *tables, struct portion *portion)
{
	struct wq_table *table;

	while (tables->objs.used && portion_next(portion, tables->objs.max)) {
		table = obj_at(&tables->objs, portion->at++);
		if (!table)
			continue;
		wq_table_free(tables, table);
		portion->left -= PORTION_OBJECT;
	}
	return !tables->objs.used;
}

/* A table that nothing refers to yet; NULL, and why. */
static struct wq_table *wq_table_alloc(const struct wq_tables *tables, uint8_t log_size,
				       const __le32 *wqn, const char **why)
{
	const uint32_t n = 1u << log_size;
	struct wq_table *table;
	uint32_t i;

	*why = "unknown work queue";
	for (i = 0; i < n; i++)
		if (!wq_get(tables, le32toh(wqn[i])))
			return NULL;
	table = malloc(sizeof(*table) + n * sizeof(*table->wqn));
	*why = "out of memory";
	if (!table)
		return NULL;
	*table = (struct wq_table) { .n = n };
	for (i = 0; i < n; i++)
		table->wqn[i] = le32toh(wqn[i]);
	return table;
}

static void wq_table_hold(const struct wq_tables *tables, const struct wq_table *table)
{
	uint32_t i;

	for (i = 0; i < table->n; i++)
		wq_get(tables, table->wqn[i])->tables++;
}

const char *wq_table_create(struct wq_tables *tables, uint8_t log_size,
			    const __le32 *wqn, uint32_t *handle)
{
	const char *why;
	struct wq_table *table;

	if (!wq_tables_ready(tables))
		return "out of memory";
	table = wq_table_alloc(tables, log_size, wqn, &why);
	if (!table)
		return why;
	if (obj_add(&tables->objs, table, &table->handle)) {
		free(table);
		return rnic_why(tables->qps->ctx, "all %u indirection tables are in use",
				RNIC_WQ_TABLES_MAX);
	}
	wq_table_hold(tables, table);
	*handle = table->handle;
	return NULL;
}

const char *wq_table_destroy(struct wq_tables *tables, uint32_t handle)
{
	struct wq_table *table = obj_get(&tables->objs, handle);

	if (!table)
		return "unknown indirection table";
	if (table->refs)
		return "indirection table in use";
	wq_table_free(tables, table);
	return NULL;
}

/* ------------------------------------------------------------------------- */
/* RX_HASH QPs                                                               */
/* ------------------------------------------------------------------------- */

static const char *rss_check(uint8_t function, uint32_t fields)
{
	if (function != VIRTIO_RDMA_RX_HASH_TOEPLITZ && function != VIRTIO_RDMA_RX_HASH_XOR)
		return "unknown hash function";
	if (fields & ~VIRTIO_RDMA_RX_HASH_FIELDS)
		return "unknown fields to hash";
	if (fields & RX_HASH_IPV4 && fields & RX_HASH_IPV6)
		return "fields of both IPv4 and IPv6";
	if (fields & RX_HASH_TCP && fields & RX_HASH_UDP)
		return "fields of both TCP and UDP";
	return NULL;
}

const char *rss_new(struct wq_tables *tables,
		    const struct virtio_rdma_cmd_create_rx_hash_qp *req, struct rss **rss)
{
	struct wq_table *table = obj_get(&tables->objs, le32toh(req->table));
	const char *why = rss_check(req->function, le32toh(req->fields));

	if (why)
		return why;
	if (!table)
		return "unknown indirection table";
	*rss = malloc(sizeof(**rss));
	if (!*rss)
		return "out of memory";
	**rss = (struct rss) {
		.table = table,
		.fields = le32toh(req->fields),
		.function = req->function,
	};
	memcpy((*rss)->key, req->key, sizeof(req->key));
	table->refs++;
	return NULL;
}

void rss_free(struct rss *rss)
{
	if (rss)
		rss->table->refs--;
	free(rss);
}

/* ------------------------------------------------------------------------- */
/* Hash                                                                      */
/* ------------------------------------------------------------------------- */

uint32_t rss_hash(const struct rss *rss, const union rule_key *key)
{
	if (rss->function == VIRTIO_RDMA_RX_HASH_XOR)
		return rx_hash_xor(rss->fields, key);
	return rx_hash_toeplitz(rss->key, rss->fields, key);
}

struct qp *rss_choose(struct qp *qp, const union rule_key *key)
{
	const struct rss *rss = qp->rss;

	if (!rss)
		return qp;
	return qp_get(qp->table, rss->table->wqn[rss_hash(rss, key) & (rss->table->n - 1)]);
}

/* ------------------------------------------------------------------------- */
/* Saving and loading                                                        */
/* ------------------------------------------------------------------------- */

static void wq_table_load(struct state *st, struct wq_tables *tables, uint32_t handle,
			  uint8_t log_size, const __le32 *wqn)
{
	const char *why;
	struct wq_table *table = wq_table_alloc(tables, log_size, wqn, &why);

	if (!state_need(st, table, "wqn", why))
		return;
	table->handle = handle;
	if (!obj_put(&tables->objs, handle, table)) {
		free(table);
		state_refuse(st, "handle", "it is free, or another one's");
		return;
	}
	wq_table_hold(tables, table);
}

static void wq_table_io(struct state *st, struct wq_tables *tables,
			const struct wq_table *table)
{
	uint32_t i, handle = table ? table->handle : 0;
	uint8_t log_size = table ? __builtin_ctz(table->n) : 0;
	__le32 wqn[RSS_TABLE_MAX];

	state_u32(st, "handle", &handle, UINT32_MAX);
	state_u8(st, "log_size", &log_size, VIRTIO_RDMA_WQ_TABLE_LOG_MAX);
	for (i = 0; table && i < table->n; i++)
		wqn[i] = htole32(table->wqn[i]);
	state_bytes(st, "wqn", wqn, sizeof(*wqn) << log_size);
	if (st->loading && !st->failed)
		wq_table_load(st, tables, handle, log_size, wqn);
}

static void rss_qp_io(struct state *st, struct wq_tables *tables, const struct qp *qp)
{
	struct virtio_rdma_cmd_create_rx_hash_qp req = {};
	uint32_t qpn = qp ? qp->qpn : 0;
	const char *why;
	struct qp *to;

	if (qp) {
		req.table = htole32(qp->rss->table->handle);
		req.fields = htole32(qp->rss->fields);
		req.function = qp->rss->function;
		memcpy(req.key, qp->rss->key, sizeof(req.key));
	}
	state_u32(st, "qpn", &qpn, UINT32_MAX);
	state_bytes(st, "rx_hash", &req, sizeof(req));
	if (!st->loading || st->failed)
		return;
	to = qp_get(tables->qps, qpn);
	if (!state_need(st, to && to->type == VIRTIO_IB_QPT_RX_HASH && !to->rss, "qpn",
			"no such RX_HASH QP, or twice"))
		return;
	why = rss_new(tables, &req, &to->rss);
	state_need(st, !why, "rx_hash", why);
}

/* The next RX_HASH QP from number *@qpn on, or NULL. */
static const struct qp *rss_next_qp(const struct qp_table *qps, uint32_t *qpn)
{
	const struct qp *qp;

	while (*qpn < qps->size) {
		qp = qps->qp[(*qpn)++];
		if (qp && qp->type == VIRTIO_IB_QPT_RX_HASH)
			return qp;
	}
	return NULL;
}

static void rss_qps_io(struct state *st, struct wq_tables *tables)
{
	const struct rnic_limits *limits = &tables->qps->ctx->limits;
	uint32_t i, n = 0, qpn = 0;

	while (!st->loading && rss_next_qp(tables->qps, &qpn))
		n++;
	qpn = 0;
	state_count(st, "qps", &n, limits->qps + limits->direct_qps, RSS_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++)
		rss_qp_io(st, tables, st->loading ? NULL : rss_next_qp(tables->qps, &qpn));
}

void rss_io(struct state *st, struct wq_tables *tables)
{
	uint32_t i, at = 0, n = tables->objs.used;

	if (!st->loading && !tables->objs.max)
		return;
	if (!state_need(st, !st->loading || wq_tables_ready(tables), "tables",
			"out of memory"))
		return;
	obj_table_io(st, &tables->objs);
	state_count(st, "tables", &n, tables->objs.max, WQ_TABLE_STATE_SIZE);
	for (i = 0; i < n && !st->failed; i++)
		wq_table_io(st, tables, st->loading ? NULL : obj_next(&tables->objs, &at));
	obj_table_io_end(st, &tables->objs);
	rss_qps_io(st, tables);
}

bool rss_loaded(const struct qp_table *qps)
{
	const struct qp *qp;
	uint32_t qpn = 0;

	while ((qp = rss_next_qp(qps, &qpn)))
		if (!qp->rss)
			return false;
	return true;
}
