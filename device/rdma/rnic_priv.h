/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One guest's RDMA function: what it is made of.
 *
 * Theory of operation
 * ===================
 *
 * rnic.c composes a NIC of its parts.  Each part owns its table and knows only
 * those below it, besides the context that all share (object/ctx.h):
 *
 *	rnic.c, command.c	composition, delivery, polling; RoCE commands
 *	eth_port.c		the port to the switch
 *	steer.c			frames for RAW_PACKET QPs and work queues
 *	qp/qp_run.c		a QP polls, flushes, receives
 *	qp/qp_state.c, qp_life.c	MODIFY_QP; creation, reset, destruction
 *	qp/requester.c, responder.c, ud.c, raw.c	the halves of a QP
 *	nvmf/			the offload of NVMe over Fabrics
 *	qp/offload.c		how a QP is shared with an offload
 *	qp/rss.c		indirection tables; which work queue gets a frame
 *	qp/qp_queues.c		take, complete, route, fail
 *	qp/qp.c, wqe.c, flow.c	the table of QPs; work requests; how much to send
 *	qp/qp_sides.c, wq.c	the memory of the halves; a queue in one of its two forms
 *	object/			what commands create: PDs, AHs, MRs, CQs, SRQs, groups, GIDs,
 *				flow rules; events, doorbell pages, the memory of rings
 *
 * command.c decodes control commands by a table and calls the part that owns the
 * object.
 *
 * A QP has a requester, which turns its send queue into packets, and a responder,
 * which carries out what arrives.  They exchange only packets (packet/pkt.h).  A
 * peer is named by GID and QPN, looked up for each packet and never kept by
 * pointer, so that any object can go at any time.
 *
 * Packets leave a NIC by a transport, which the fabric chooses by GID
 * (object/fabric.c), and come to it in one place, rnic_deliver():
 *
 *  - Between NICs of this process a packet carries its payload by reference and
 *    is delivered at once, in a nested call of the peer's @deliver:
 *
 *	requester_run(A) -> responder_rx(B) -> requester_rx(A)
 *
 *    It is never deeper than that: responder_rx() and requester_rx() send no
 *    request, and requester_rx() sends nothing at all.  Nor does ud_rx(), so that
 *    a datagram to a group may be delivered to any number of QPs of the sender's
 *    NIC, the sender included.  (A packet that a network has marked is answered
 *    by a CNP, but packets by reference are never marked.)  Code that sends a
 *    packet updates its state before and reads it again after, because the answer
 *    may have changed it.
 *
 *  - All other packets leave as frames.  Frames that come wait in a ring until
 *    rnic_poll() pulls them, so that nothing is nested there.
 *
 * Context: all of the engine runs in the event loop's thread.
 */
#ifndef DEVICE_RDMA_RNIC_PRIV_H
#define DEVICE_RDMA_RNIC_PRIV_H

#include "rdma/eth_port.h"
#include "rdma/nvmf/subsys.h"
#include "rdma/object/ah.h"
#include "rdma/object/cq.h"
#include "rdma/object/ctx.h"
#include "rdma/object/fabric.h"
#include "rdma/object/gid_table.h"
#include "rdma/object/mcast.h"
#include "rdma/object/mr.h"
#include "rdma/object/pd.h"
#include "rdma/object/rule.h"
#include "rdma/object/srq.h"
#include "rdma/object/xrcd.h"
#include "rdma/qp/qp.h"
#include "rdma/qp/rss.h"
#include "rdma/rnic.h"

/**
 * struct rnic_create - a command with a ring of which the pages are being read
 * @cq:		request, fixed part
 * @resize:	likewise
 * @qp:		likewise
 * @direct:	what follows @qp
 * @srq:	request, fixed part; of CREATE_SRQ only the first part of it
 * @resize_srq:	likewise
 * @pages:	those read so far
 */
struct rnic_create {
	union {
		struct virtio_rdma_cmd_create_cq_long cq;
		struct virtio_rdma_cmd_resize_cq resize;
		struct virtio_rdma_cmd_create_xrc_srq srq;
		struct virtio_rdma_cmd_resize_srq resize_srq;
		struct {
			struct virtio_rdma_cmd_create_qp qp;
			struct virtio_rdma_qp_direct direct;
		};
	};
	struct pages pages;
};

/**
 * struct rnic - the RDMA side of one guest's function
 * @ctx:	what all parts share
 * @end:	the NIC as the fabric sees it
 * @pds:	protection domains
 * @mrs:	memory regions
 * @ahs:	address handles
 * @cqs:	completion queues
 * @srqs:	shared receive queues
 * @xrcds:	XRC domains
 * @gids:	GID table
 * @mcast:	multicast groups
 * @rules:	flow rules
 * @tables:	indirection tables
 * @qps:	queue pairs
 * @port:	packets from and to the Ethernet port
 * @events:	event virtqueues
 * @doorbells:	doorbell pages
 * @subs:	subsystems of NVMe over Fabrics
 * @page_list:	what is still to be read of a command with a list of pages
 * @command:	that command
 * @create:	it, if it makes a ring
 * @again:	a command that is to be carried out from its beginning in the next round
 * @rsp_size:	room for its response
 * @mem:	memory map of the guest, also while it is cleared
 * @chore:	frees the objects that were there at the last reset
 * @stage:	table that this is at
 * @portion:	and how far in it
 * @gone:	it ends when that is done
 */
struct rnic {
	struct rnic_ctx ctx;
	struct fabric_end end;
	struct pd_table pds;
	struct mr_table mrs;
	struct ah_table ahs;
	struct cq_table cqs;
	struct srq_table srqs;
	struct xrcd_table xrcds;
	struct gid_table gids;
	struct mcast mcast;
	struct rule_table rules;
	struct wq_tables tables;
	struct qp_table qps;
	struct eth_port port;
	struct event_table events;
	struct doorbell_table doorbells;
	struct subsys_table subs;
	struct rnic_request page_list;
	uint8_t command;
	struct rnic_create create;
	bool again;
	size_t rsp_size;
	const struct guest_mem *mem;
	struct chore chore;
	unsigned int stage;
	struct portion portion;
	bool gone;
};

#endif /* DEVICE_RDMA_RNIC_PRIV_H */
