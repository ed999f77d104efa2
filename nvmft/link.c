// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: the wire between hosts and queues of the target.
 *
 * Theory of operation
 *
 * A connection is a QP with a CQ of its own; all QPs take receive buffers from one SRQ.  A
 * buffer is posted, or the connection's whose capsule it has, until the target releases it.
 *
 * A connection ends by link_end(), which may be called from within functions of the target,
 * and so leaves all to a timer.  The QP is in the error state before its CQ is polled for
 * the last time, so that no buffer is lost; it is destroyed before the queue is freed, so
 * that no device touches staging memory after that.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/util.h"
#include "link.h"
#include "rnic.h"

/* Completions that are polled at once. */
#define LINK_BATCH	16

/* Commands are aligned: the lowest bits of a wr_id say what a send request does. */
enum link_kind {
	LINK_PULL,
	LINK_PUSH,
	LINK_ANSWER,
	LINK_KINDS = 3,
};

/**
 * struct link - a connection
 * @entry:	of all
 * @links:	all
 * @id:		of the connection manager
 * @cq:		completions
 * @queue:	queue of the target
 * @io:		it is an I/O queue
 * @offloaded:	the device has it
 * @ending:	it is about to end
 * @timer:	which is set to end it
 */
struct link {
	LIST_ENTRY(link) entry;
	struct links *links;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct nvmf_queue *queue;
	bool io;
	bool offloaded;
	bool ending;
	struct loop_timer timer;
};

/* ------------------------------------------------------------------------- */
/* What the target asks of its wire                                          */
/* ------------------------------------------------------------------------- */

static void link_end(void *conn)
{
	struct link *link = conn;

	if (link->ending)
		return;
	link->ending = true;
	loop_timer_set(link->links->loop, &link->timer, 0);
}

static void link_post(struct link *link, struct nvmf_cmd *cmd, enum link_kind kind,
		      struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (link->ending)
		return;
	wr->wr_id = (uintptr_t)cmd | kind;
	if (ibv_post_send(link->id->qp, wr, &bad))
		link_end(link);
}

static void link_move(struct link *link, struct nvmf_cmd *cmd, enum link_kind kind,
		      const void *buf, uint32_t len, uint64_t addr, uint32_t key)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buf,
		.length = len,
		.lkey = link->links->rnic->staging_mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = kind == LINK_PULL ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.send_flags = kind == LINK_PULL ? IBV_SEND_SIGNALED : 0,
		.wr.rdma.remote_addr = addr,
		.wr.rdma.rkey = key,
	};

	link_post(link, cmd, kind, &wr);
}

static void link_pull(void *conn, struct nvmf_cmd *cmd, void *buf, uint32_t len, uint64_t addr,
		      uint32_t key)
{
	link_move(conn, cmd, LINK_PULL, buf, len, addr, key);
}

static void link_push(void *conn, struct nvmf_cmd *cmd, const void *buf, uint32_t len,
		      uint64_t addr, uint32_t key)
{
	link_move(conn, cmd, LINK_PUSH, buf, len, addr, key);
}

/*
 * The answer to Connect of an I/O queue is the first one.  The host sends nothing more
 * before it has it, so that the device sees each command that follows.
 */
static void link_hand_over(struct link *link)
{
	struct links *links = link->links;
	uint16_t size, head;

	if (!links->hand_over || !link->io || link->offloaded ||
	    !nvmf_queue_flow(link->queue, &size, &head))
		return;
	if (links->hand_over(link->id->qp, size, head)) {
		link_end(link);
		return;
	}
	link->offloaded = true;
	links->count.offloaded++;
}

static void link_answer(void *conn, struct nvmf_cmd *cmd, const void *cqe, bool inv,
			uint32_t key)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)cqe,
		.length = NVMF_CQE_SIZE,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = inv ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.invalidate_rkey = inv ? key : 0,
	};

	link_hand_over(conn);
	link_post(conn, cmd, LINK_ANSWER, &wr);
}

static void link_release(void *conn, void *cookie)
{
	struct link *link = conn;

	if (rnic_recv(link->links->rnic, (uintptr_t)cookie))
		link_end(link);
}

static const struct nvmf_wire_ops link_ops = {
	.pull = link_pull,
	.push = link_push,
	.answer = link_answer,
	.release = link_release,
	.end = link_end,
};

/* ------------------------------------------------------------------------- */
/* Completions                                                               */
/* ------------------------------------------------------------------------- */

static void link_received(struct link *link, const struct ibv_wc *wc)
{
	struct links *links = link->links;

	if (wc->status || link->ending) {
		rnic_recv(links->rnic, wc->wr_id);
		return;
	}
	links->count.io_capsules += link->io;
	links->rnic->owner[wc->wr_id] = link;
	nvmf_capsule(link->queue, rnic_buf(links->rnic, wc->wr_id), wc->byte_len,
		     (void *)(uintptr_t)wc->wr_id);
}

static void link_sent(struct link *link, const struct ibv_wc *wc)
{
	struct nvmf_cmd *cmd = (struct nvmf_cmd *)(uintptr_t)(wc->wr_id & ~(uint64_t)LINK_KINDS);
	const int err = wc->status ? -EIO : 0;

	if (err)
		link_end(link);
	if (link->ending)
		return;
	if ((wc->wr_id & LINK_KINDS) == LINK_PULL)
		nvmf_moved(cmd, err);
	else if ((wc->wr_id & LINK_KINDS) == LINK_ANSWER)
		nvmf_sent(cmd, err);
}

/* Of a completion with an error only wr_id and status say something. */
static bool link_wc_is_recv(const struct link *link, const struct ibv_wc *wc)
{
	if (!wc->status)
		return wc->opcode & IBV_WC_RECV;
	return wc->wr_id < link->links->rnic->recvs;
}

static void link_poll(struct link *link)
{
	struct ibv_wc wc[LINK_BATCH];
	int i, n;

	while ((n = ibv_poll_cq(link->cq, LINK_BATCH, wc)) > 0) {
		if (link->io)
			link->links->count.io_completions += n;
		for (i = 0; i < n; i++) {
			if (link_wc_is_recv(link, &wc[i]))
				link_received(link, &wc[i]);
			else
				link_sent(link, &wc[i]);
		}
	}
	if (n < 0)
		link_end(link);
}

static void links_completed(void *arg, uint32_t events __always_unused)
{
	struct links *links = arg;
	struct ibv_cq *cq;
	struct link *link;
	void *context;

	while (!ibv_get_cq_event(links->rnic->channel, &cq, &context)) {
		link = context;
		links->count.io_wakeups += link->io;
		ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(cq, 0))
			link_end(link);
		link_poll(link);
	}
}

/* ------------------------------------------------------------------------- */
/* The end                                                                   */
/* ------------------------------------------------------------------------- */

static void link_finish(void *arg)
{
	struct link *link = arg;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	rdma_disconnect(link->id);
	ibv_modify_qp(link->id->qp, &attr, IBV_QP_STATE);
	link_poll(link);
	rdma_destroy_qp(link->id);
	ibv_destroy_cq(link->cq);
	nvmf_queue_free(link->queue);
	rnic_recv_all_of(link->links->rnic, link);
	rdma_destroy_id(link->id);
	LIST_REMOVE(link, entry);
	free(link);
}

/* ------------------------------------------------------------------------- */
/* The beginning                                                             */
/* ------------------------------------------------------------------------- */

static int link_make_qp(struct link *link, unsigned int sends, unsigned int recvs)
{
	struct rnic *rnic = link->links->rnic;
	struct ibv_qp_init_attr attr = {
		.srq = rnic->srq,
		.cap = {
			.max_send_wr = 2 * sends,
			.max_send_sge = 1,
			.max_inline_data = NVMF_CQE_SIZE,
		},
		.qp_type = IBV_QPT_RC,
	};

	link->cq = ibv_create_cq(rnic->context, 2 * sends + recvs, link, rnic->channel, 0);
	if (!link->cq)
		return -errno;
	attr.send_cq = link->cq;
	attr.recv_cq = link->cq;
	if (!ibv_req_notify_cq(link->cq, 0) && !rdma_create_qp(link->id, rnic->pd, &attr))
		return 0;
	ibv_destroy_cq(link->cq);
	return -EIO;
}

static uint8_t link_least(uint8_t wanted, int max)
{
	return wanted < max ? wanted : max;
}

static int link_accept(struct link *link, const struct rdma_conn_param *asked,
		       const struct nvmf_cm_answer *answer)
{
	const struct ibv_device_attr *attr = &link->links->rnic->attr;
	struct rdma_conn_param param = {
		.private_data = answer->data,
		.private_data_len = answer->len,
		.responder_resources = link_least(asked->responder_resources,
						  attr->max_qp_rd_atom),
		.initiator_depth = link_least(asked->initiator_depth,
					      attr->max_qp_init_rd_atom),
		.rnr_retry_count = 7,
		.srq = 1,
	};

	return rdma_accept(link->id, &param);
}

/* Whose share of staging memory a connection takes part in: its host's, by the address. */
static const char *link_host(struct rdma_cm_id *id, char *text, size_t size)
{
	const struct sockaddr *addr = rdma_get_peer_addr(id);

	if (addr->sa_family == AF_INET)
		return inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, text,
				 size);
	return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, text, size);
}

static struct link *link_new(struct links *links, const struct rdma_cm_event *event,
			     struct nvmf_cm_answer *answer)
{
	const struct nvmf_cm_req *req = event->param.conn.private_data;
	char host[INET6_ADDRSTRLEN];
	const struct nvmf_peer peer = {
		.req = req,
		.len = event->param.conn.private_data_len,
		.guest = link_host(event->id, host, sizeof(host)),
	};
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->links = links;
	link->id = event->id;
	link->timer.fn = link_finish;
	link->timer.arg = link;
	link->queue = nvmf_queue_new(event->listen_id->context, &link_ops, link, &peer, answer);
	if (!link->queue) {
		free(link);
		return NULL;
	}
	link->io = nvmf_queue_is_io(link->queue);
	event->id->context = link;
	return link;
}

/* Returns whether the connection has taken the identifier. */
static bool links_asked(struct links *links, const struct rdma_cm_event *event)
{
	struct nvmf_cm_answer answer = { 0 };
	struct link *link = NULL;

	/* Another device of this machine may have the same network. */
	if (event->id->verbs == links->rnic->context)
		link = link_new(links, event, &answer);
	if (!link) {
		rdma_reject(event->id, answer.data, answer.len);
		return false;
	}
	if (link_make_qp(link, answer.sends, answer.recvs)) {
		nvmf_queue_free(link->queue);
		free(link);
		rdma_reject(event->id, NULL, 0);
		return false;
	}
	LIST_INSERT_HEAD(&links->list, link, entry);
	if (link_accept(link, &event->param.conn, &answer))
		link_end(link);
	return true;
}

static void links_event(struct links *links, struct rdma_cm_event *event)
{
	struct rdma_cm_id *refused = NULL;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (!links_asked(links, event))
			refused = event->id;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		links->broken = true;
		loop_stop(links->loop);
		break;
	default:
		/* Events of a listener have no connection. */
		if (event->id->qp)
			link_end(event->id->context);
		break;
	}
	rdma_ack_cm_event(event);
	if (refused)
		rdma_destroy_id(refused);
}

static void links_events(void *arg, uint32_t events __always_unused)
{
	struct rdma_cm_event *event;
	struct links *links = arg;

	while (!rdma_get_cm_event(links->channel, &event))
		links_event(links, event);
}

/* ------------------------------------------------------------------------- */
/* Events of the device                                                      */
/* ------------------------------------------------------------------------- */

static void links_qp_failed(struct links *links, const struct ibv_qp *qp)
{
	struct link *link;

	LIST_FOREACH(link, &links->list, entry)
		if (link->id->qp == qp)
			link_end(link);
}

/*
 * Of a queue that the device has, nothing else tells of an error: the program has no requests
 * there that could fail.
 */
static void links_async(void *arg, uint32_t events __always_unused)
{
	struct ibv_async_event event;
	struct links *links = arg;

	while (!ibv_get_async_event(links->rnic->context, &event)) {
		switch (event.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			links_qp_failed(links, event.element.qp);
			break;
		case IBV_EVENT_DEVICE_FATAL:
			links->broken = true;
			loop_stop(links->loop);
			break;
		default:
			break;
		}
		ibv_ack_async_event(&event);
	}
}

static int links_async_start(struct links *links)
{
	links->async = (struct loop_fd) {
		.fd = links->rnic->context->async_fd,
		.fn = links_async,
		.arg = links,
	};
	if (fcntl(links->async.fd, F_SETFL, O_NONBLOCK))
		return -errno;
	return loop_fd_add(links->loop, &links->async, EPOLLIN);
}

/* ------------------------------------------------------------------------- */

int links_start(struct links *links)
{
	int err;

	LIST_INIT(&links->list);
	links->fd = (struct loop_fd) {
		.fd = links->channel->fd,
		.fn = links_events,
		.arg = links,
	};
	links->completions = (struct loop_fd) {
		.fd = links->rnic->channel->fd,
		.fn = links_completed,
		.arg = links,
	};
	if (fcntl(links->channel->fd, F_SETFL, O_NONBLOCK))
		return -errno;
	err = loop_fd_add(links->loop, &links->fd, EPOLLIN);
	if (err)
		return err;
	err = loop_fd_add(links->loop, &links->completions, EPOLLIN);
	if (err)
		goto err_fd;
	err = links_async_start(links);
	if (err)
		goto err_completions;
	return 0;

err_completions:
	loop_fd_del(links->loop, &links->completions);
err_fd:
	loop_fd_del(links->loop, &links->fd);
	return err;
}

void links_stop(struct links *links)
{
	struct link *link;

	loop_fd_del(links->loop, &links->async);
	loop_fd_del(links->loop, &links->completions);
	loop_fd_del(links->loop, &links->fd);
	while ((link = LIST_FIRST(&links->list))) {
		/* The end of an administration queue ends others of the list. */
		link->ending = true;
		loop_timer_cancel(links->loop, &link->timer);
		link_finish(link);
	}
}
