/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The data path of kernel consumers.
 */
#ifndef _VROCE_POST_H
#define _VROCE_POST_H

#include "vroce_types.h"

int vroce_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int vroce_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int vroce_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
void vroce_backlog_drop(struct vroce_qp *qp);

#endif /* _VROCE_POST_H */
