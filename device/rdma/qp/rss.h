/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames spread over work queues: indirection tables, and how RX_HASH QPs choose.
 *
 * A work queue is a QP that has a receive ring and nothing else.  A table names some of
 * them by number; they, and the table of an RX_HASH QP, cannot go before those that name
 * them.
 */
#ifndef DEVICE_RDMA_QP_RSS_H
#define DEVICE_RDMA_QP_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/object/obj.h"
#include "rdma/object/rule_key.h"
#include "rdma/qp/qp.h"

#define RSS_TABLE_MAX	(1u << VIRTIO_RDMA_WQ_TABLE_LOG_MAX)

/**
 * struct wq_table - an indirection table
 * @handle:	its handle
 * @refs:	RX_HASH QPs that have it
 * @n:		number of entries, a power of two
 * @wqn:	a work queue each
 */
struct wq_table {
	uint32_t handle;
	uint32_t refs;
	uint32_t n;
	uint32_t wqn[];
};

/**
 * struct wq_tables - the indirection tables of a NIC
 * @qps:	its QPs, work queues among them
 * @objs:	&struct wq_table by handle; without entries until there is a table
 */
struct wq_tables {
	struct qp_table *qps;
	struct obj_table objs;
};

/**
 * struct rss - how an RX_HASH QP chooses a work queue
 * @table:	its table
 * @fields:	&enum virtio_rdma_rx_hash_fields
 * @function:	&enum virtio_rdma_rx_hash_function
 * @key:	of the Toeplitz function
 */
struct rss {
	struct wq_table *table;
	uint32_t fields;
	uint8_t function;
	uint8_t key[VIRTIO_RDMA_RX_HASH_KEY_SIZE];
};

/** wq_tables_init() - there are none */
void wq_tables_init(struct wq_tables *tables, struct qp_table *qps);

/** wq_tables_fini() - free that, without tables */
void wq_tables_fini(struct wq_tables *tables);

/** wq_tables_reset() - destroy tables, after all QPs; true if none is left */
bool wq_tables_reset(struct wq_tables *tables, struct portion *portion);

/**
 * wq_table_create() - make a table
 * @tables:	tables of the NIC
 * @log_size:	log2 of its entries, up to %VIRTIO_RDMA_WQ_TABLE_LOG_MAX
 * @wqn:	a number for each of them, from anywhere
 * @handle:	set to its handle
 *
 * Return: NULL, or why not.
 */
const char *wq_table_create(struct wq_tables *tables, uint8_t log_size,
			    const __le32 *wqn, uint32_t *handle);

/** wq_table_destroy() - destroy one that no QP has; returns NULL, or why not */
const char *wq_table_destroy(struct wq_tables *tables, uint32_t handle);

/**
 * rss_new() - what an RX_HASH QP is made of
 * @tables:	tables of the NIC
 * @req:	request
 * @rss:	set to it, which rss_free() frees
 *
 * Return: NULL, or why not.
 */
const char *rss_new(struct wq_tables *tables,
		    const struct virtio_rdma_cmd_create_rx_hash_qp *req, struct rss **rss);

/** rss_free() - an RX_HASH QP goes; harmless for NULL */
void rss_free(struct rss *rss);

/** rss_hash() - hash the fields of a frame */
uint32_t rss_hash(const struct rss *rss, const union rule_key *key);

/** rss_choose() - the QP that gets a frame for @qp: itself, or a work queue */
struct qp *rss_choose(struct qp *qp, const union rule_key *key);

/** rss_io() - save or load tables, and what RX_HASH QPs are made of; after all QPs */
void rss_io(struct state *st, struct wq_tables *tables);

/** rss_loaded() - has each RX_HASH QP that was loaded what it is made of? */
bool rss_loaded(const struct qp_table *qps);

#endif /* DEVICE_RDMA_QP_RSS_H */
