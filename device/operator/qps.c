// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command "qps".
 */

#include <arpa/inet.h>
#include <inttypes.h>

#include "operator/counters.h"
#include "operator/qps.h"
#include "rdma/view.h"

static void qp_print(const char *guest, const struct qp_view *qp, FILE *out)
{
	char gid[INET6_ADDRSTRLEN] = "-";
	unsigned int i;

	if (qp->peer_gid)
		inet_ntop(AF_INET6, qp->peer_gid, gid, sizeof(gid));
	fprintf(out, "%s\t%" PRIu32 "\t%s\t%s\t%s\t%s\t%s\t%" PRIu32 "\t%" PRIu32,
		guest, qp->qpn, qp->type, qp->state, qp->waits, qp->peer, gid,
		qp->peer_qpn, qp->requests);
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		fprintf(out, "\t%" PRIu64, qp->counter[i]);
	fprintf(out, "\n");
}

void operator_qps(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	struct qp_view qp;
	unsigned int i;
	uint32_t qpn;

	fprintf(out, "ok\nguest\tqpn\ttype\tstate\twaits\tpeer\tpeer_gid\tpeer_qpn\trequests");
	for (i = 0; i < VIRTIO_RDMA_CNT_NUM; i++)
		fprintf(out, "\t%s", counter_rdma_name(i));
	fprintf(out, "\n");
	for (i = 0; i < op->ports; i++, port++) {
		if (!port->fn)
			continue;
		for (qpn = 0; rnic_view_next(function_rnic(port->fn), qpn, &qp);
		     qpn = qp.qpn + 1)
			qp_print(operator_port_name(op, port), &qp, out);
	}
}
