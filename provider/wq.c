// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Work queues and indirection tables, by which a QP spreads frames.
 *
 * A work queue is the receive queue of a direct QP without the rest of it: the same ring,
 * completions by the same number.  An RX-hash QP has no queues.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>
#include <ccan/container_of.h>

#include "cmd.h"
#include "virtio_roce.h"

/**
 * struct virtio_roce_wq - a work queue
 * @wq: of libibverbs
 * @rq: its ring
 * @max_sge: scatter/gather elements of a request
 */
struct virtio_roce_wq {
	struct ibv_wq wq;
	struct virtio_roce_vq rq;
	uint32_t max_sge;
};

static struct virtio_roce_wq *to_vwq(struct ibv_wq *ibwq)
{
	return container_of(ibwq, struct virtio_roce_wq, wq);
}

/** virtio_roce_has_rss() - are there work queues, tables and RX-hash QPs? */
bool virtio_roce_has_rss(const struct virtio_roce_context *ctx)
{
	return ctx->features & VIRTIO_ROCE_FEATURE_DIRECT &&
	       ctx->device_caps & VIRTIO_IB_DEVICE_RSS;
}

/* ----- posting ----- */

/*
 * A device asks for doorbells of a receive ring only while it flushes.  Where none is mapped,
 * what is posted then is flushed with the next change of state.
 */
static void wq_end(struct virtio_roce_wq *wq)
{
	bool wanted = virtio_roce_vq_publish(&wq->rq);

	vq_unlock(&wq->rq);
	if (wanted)
		virtio_roce_vq_ring_doorbell(&wq->rq);
}

static int wq_post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct virtio_roce_wq *wq = to_vwq(ibwq);
	int err = 0;

	if (vq_is_parents(&wq->rq)) {
		*bad_wr = wr;
		return EFAULT;
	}
	vq_lock(&wq->rq);
	for (; wr; wr = wr->next) {
		err = virtio_roce_put_recv(&wq->rq, wq->max_sge, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	wq_end(wq);
	return err;
}

/* ----- work queues ----- */

/* The CQ cannot be destroyed before the work queue, nor two threads change the lists of it. */
static void wq_link(struct virtio_roce_context *ctx, struct virtio_roce_wq *wq)
{
	struct virtio_roce_cq *cq = to_vcq(wq->wq.cq);

	pthread_mutex_lock(&ctx->qp_mutex);
	virtio_roce_cq_replace(cq, wq->wq.wq_num);
	virtio_roce_cq_link(cq, &wq->rq, wq->wq.wq_num, true);
	pthread_mutex_unlock(&ctx->qp_mutex);
}

static void wq_count(struct virtio_roce_context *ctx, struct ibv_cq *cq, int by)
{
	pthread_mutex_lock(&ctx->qp_mutex);
	to_vcq(cq)->users += by;
	pthread_mutex_unlock(&ctx->qp_mutex);
}

static int wq_map(struct virtio_roce_context *ctx, struct virtio_roce_wq *wq,
		  const struct virtio_roce_create_qp_resp *resp)
{
	int err;

	pthread_mutex_lock(&ctx->qp_mutex);
	err = virtio_roce_wq_map(&wq->rq, &ctx->vctx.context, wq->max_sge, resp);
	pthread_mutex_unlock(&ctx->qp_mutex);
	return err;
}

static struct virtio_roce_wq *wq_alloc(void)
{
	uint64_t process = virtio_roce_process();
	struct virtio_roce_wq *wq = process ? calloc(1, sizeof(*wq)) : NULL;

	if (wq)
		wq->rq.process = process;
	return wq;
}

static bool wq_has_flags(const struct virtio_roce_context *ctx,
			 const struct ibv_wq_init_attr *attr)
{
	uint32_t flags = attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS ? attr->create_flags : 0;

	return !flags || (flags == IBV_WQ_FLAGS_CVLAN_STRIPPING &&
			  ctx->device_caps & VIRTIO_IB_DEVICE_RAW_VLAN);
}

struct ibv_wq *virtio_roce_create_wq(struct ibv_context *context,
				     struct ibv_wq_init_attr *attr)
{
	struct virtio_roce_context *ctx = to_vctx(context);
	struct uvirtio_roce_create_wq_resp resp = {};
	struct uvirtio_roce_create_wq cmd = {};
	struct virtio_roce_wq *wq;
	int err;

	if (!virtio_roce_has_rss(ctx) || attr->wq_type != IBV_WQT_RQ ||
	    attr->comp_mask & ~(uint32_t)IBV_WQ_INIT_ATTR_FLAGS ||
	    !wq_has_flags(ctx, attr)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	wq = wq_alloc();
	if (!wq)
		return NULL;

	wq_count(ctx, attr->cq, 1);
	err = ibv_cmd_create_wq(context, attr, &wq->wq, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	wq->max_sge = attr->max_sge;
	err = wq_map(ctx, wq, &resp.drv_payload);
	if (err)
		goto err_destroy;
	attr->max_wr = wq->rq.ring.depth;
	wq->rq.unlocked = virtio_roce_single_threaded(attr->pd);
	wq->wq.post_recv = wq_post_recv;
	wq_link(ctx, wq);
	return &wq->wq;

err_destroy:
	ibv_cmd_destroy_wq(&wq->wq);
err_free:
	wq_count(ctx, attr->cq, -1);
	free(wq);
	errno = err;
	return NULL;
}

int virtio_roce_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct virtio_roce_wq *wq = to_vwq(ibwq);
	struct ibv_modify_wq cmd = {};
	int err;

	if (vq_is_parents(&wq->rq))
		return EFAULT;
	/* The kernel would keep a reference, and complain about it when the file is closed. */
	if ((attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state > IBV_WQS_ERR) ||
	    (attr->attr_mask & IBV_WQ_ATTR_CURR_STATE && attr->curr_wq_state > IBV_WQS_ERR))
		return EINVAL;
	err = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (err)
		return err;
	/* As a QP that goes to RESET: the device has dropped all, and begins at 0. */
	if (attr->attr_mask & IBV_WQ_ATTR_STATE && attr->wq_state == IBV_WQS_RESET) {
		virtio_roce_cq_drop_qp(to_vcq(ibwq->cq), ibwq->wq_num, NULL);
		virtio_roce_vq_rewind(&wq->rq, to_vcq(ibwq->cq));
	}
	return 0;
}

/*
 * As for a QP, what is mapped goes first.  But the kernel refuses while a table names the work
 * queue, which goes on then, so it is asked before that.
 */
int virtio_roce_destroy_wq(struct ibv_wq *ibwq)
{
	struct virtio_roce_context *ctx = to_vctx(ibwq->context);
	struct virtio_roce_wq *wq = to_vwq(ibwq);
	int err;

	if (vq_is_parents(&wq->rq))
		return EFAULT;
	err = ibv_cmd_destroy_wq(ibwq);
	if (err)
		return err;
	pthread_mutex_lock(&ctx->qp_mutex);
	virtio_roce_cq_unlink(to_vcq(ibwq->cq), &wq->rq);
	to_vcq(ibwq->cq)->users--;
	pthread_mutex_unlock(&ctx->qp_mutex);
	virtio_roce_vq_free(&wq->rq);
	free(wq);
	return 0;
}

/* ----- indirection tables ----- */

struct ibv_rwq_ind_table *
virtio_roce_create_rwq_ind_table(struct ibv_context *context,
				 struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int err;

	if (!virtio_roce_has_rss(to_vctx(context)) ||
	    attr->log_ind_tbl_size > VIRTIO_RDMA_WQ_TABLE_LOG_MAX) {
		errno = EINVAL;
		return NULL;
	}
	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	err = ibv_cmd_create_rwq_ind_table(context, attr, table, &resp, sizeof(resp));
	if (err) {
		free(table);
		errno = err;
		return NULL;
	}
	return table;
}

int virtio_roce_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int err = ibv_cmd_destroy_rwq_ind_table(table);

	if (!err)
		free(table);
	return err;
}

/* ----- RX-hash QPs ----- */

static const struct {
	uint64_t field;
	uint32_t wire;
} rx_hash_fields[] = {
	{ IBV_RX_HASH_SRC_IPV4, VIRTIO_RDMA_RX_HASH_SRC_IPV4 },
	{ IBV_RX_HASH_DST_IPV4, VIRTIO_RDMA_RX_HASH_DST_IPV4 },
	{ IBV_RX_HASH_SRC_IPV6, VIRTIO_RDMA_RX_HASH_SRC_IPV6 },
	{ IBV_RX_HASH_DST_IPV6, VIRTIO_RDMA_RX_HASH_DST_IPV6 },
	{ IBV_RX_HASH_SRC_PORT_TCP, VIRTIO_RDMA_RX_HASH_SRC_PORT_TCP },
	{ IBV_RX_HASH_DST_PORT_TCP, VIRTIO_RDMA_RX_HASH_DST_PORT_TCP },
	{ IBV_RX_HASH_SRC_PORT_UDP, VIRTIO_RDMA_RX_HASH_SRC_PORT_UDP },
	{ IBV_RX_HASH_DST_PORT_UDP, VIRTIO_RDMA_RX_HASH_DST_PORT_UDP },
};

/* libibverbs has no name for it; that of the first proposal was IBV_EX_RX_HASH_FUNC_XOR. */
#define RX_HASH_FUNC_XOR	(1 << 1)

/** virtio_roce_query_rss() - what RX-hash QPs can hash; the rest is the kernel's */
void virtio_roce_query_rss(const struct virtio_roce_context *ctx,
			   struct ibv_rss_caps *caps)
{
	size_t i;

	if (!virtio_roce_has_rss(ctx))
		return;
	caps->rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ | RX_HASH_FUNC_XOR;
	for (i = 0; i < ARRAY_SIZE(rx_hash_fields); i++)
		caps->rx_hash_fields_mask |= rx_hash_fields[i].field;
}

/* IPv4 excludes IPv6, and TCP excludes UDP: the device refuses fields of both. */
static int rx_hash_to_wire(const struct ibv_rx_hash_conf *conf,
			   struct virtio_roce_create_qp_req *req)
{
	uint64_t left = conf->rx_hash_fields_mask;
	size_t i;

	switch (conf->rx_hash_function) {
	case IBV_RX_HASH_FUNC_TOEPLITZ:
		if (conf->rx_hash_key_len != sizeof(req->key) || !conf->rx_hash_key)
			return EINVAL;
		req->rx_hash_function = VIRTIO_RDMA_RX_HASH_TOEPLITZ;
		memcpy(req->key, conf->rx_hash_key, sizeof(req->key));
		break;
	case RX_HASH_FUNC_XOR:
		req->rx_hash_function = VIRTIO_RDMA_RX_HASH_XOR;
		break;
	default:
		return EOPNOTSUPP;
	}
	for (i = 0; i < ARRAY_SIZE(rx_hash_fields); i++) {
		if (!(left & rx_hash_fields[i].field))
			continue;
		req->rx_hash_fields |= rx_hash_fields[i].wire;
		left &= ~rx_hash_fields[i].field;
	}
	return left ? EOPNOTSUPP : 0;
}

/**
 * virtio_roce_rx_hash_attr() - is a QP to be made with an indirection table, and how?
 * @ctx: device
 * @attr: what is asked for
 * @req: filled in
 *
 * Returns 0, or an errno value; or -1 if it is to have queues.
 */
int virtio_roce_rx_hash_attr(const struct virtio_roce_context *ctx,
			     const struct ibv_qp_init_attr_ex *attr,
			     struct virtio_roce_create_qp_req *req)
{
	const uint32_t both = IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE;

	if (!(attr->comp_mask & both))
		return -1;
	if (!virtio_roce_has_rss(ctx) || attr->qp_type != IBV_QPT_RAW_PACKET)
		return EOPNOTSUPP;
	if ((attr->comp_mask & both) != both || attr->cap.max_send_wr)
		return EINVAL;
	return rx_hash_to_wire(&attr->rx_hash_conf, req);
}
