// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains.
 *
 * An XRC_RECV QP has no queues: it takes requests from the XRC SRQs of its domain, and is
 * shared with all processes that open it.  So there is nothing to map of it, and its
 * completions are those of the SRQs.  XRC SRQs are in srq.c.
 */
#include <errno.h>
#include <stdlib.h>

#include <ccan/container_of.h>

#include "virtio_roce.h"

/** virtio_roce_has_xrc() - are there XRC domains, SRQs and QPs? */
bool virtio_roce_has_xrc(const struct virtio_roce_context *ctx)
{
	return ctx->features & VIRTIO_ROCE_FEATURE_DIRECT &&
	       ctx->device_caps & VIRTIO_IB_DEVICE_XRC;
}

struct ibv_xrcd *virtio_roce_open_xrcd(struct ibv_context *context,
				       struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp;
	struct ibv_open_xrcd cmd;
	struct verbs_xrcd *xrcd;
	int err;

	if (!virtio_roce_has_xrc(to_vctx(context))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;

	err = ibv_cmd_open_xrcd(context, xrcd, sizeof(*xrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(xrcd);
		errno = err;
		return NULL;
	}

	return &xrcd->xrcd;
}

int virtio_roce_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = container_of(ibxrcd, struct verbs_xrcd, xrcd);
	int err;

	err = ibv_cmd_close_xrcd(xrcd);
	if (err)
		return err;

	free(xrcd);
	return 0;
}
