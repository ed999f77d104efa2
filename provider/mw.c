// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows.
 */
#include <stdlib.h>

#include "virtio_roce.h"

struct ibv_mw *virtio_roce_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	if (ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp, sizeof(resp))) {
		free(mw);
		return NULL;
	}

	return mw;
}

int virtio_roce_dealloc_mw(struct ibv_mw *mw)
{
	int err;

	err = ibv_cmd_dealloc_mw(mw);
	if (err)
		return err;

	free(mw);
	return 0;
}

/* Of type 1: the key changes here, and the request is an ordinary one. */
int virtio_roce_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
			struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	struct ibv_send_wr *bad_wr;
	int err;

	err = virtio_roce_post_send(qp, &wr, &bad_wr);
	if (err)
		return err;

	mw->rkey = wr.bind_mw.rkey;
	return 0;
}
