/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control commands, one function for each.  Parameters and results are in the
 * processor's byte order.  The layers above do not see the wire format of a command.
 */
#ifndef _VROCE_CMD_H
#define _VROCE_CMD_H

#include <rdma/ib_verbs.h>

#include "virtio_net_roce.h"
#include "virtio_net_roce_aux.h"

/**
 * struct vroce_device_attr - what QUERY_DEVICE says
 *
 * The members are those of &struct virtio_rdma_ack_query_device.
 */
struct vroce_device_attr {
	u64 device_cap_flags;
	u64 max_mr_size;
	u64 page_size_cap;
	u32 hw_ver;
	u32 max_qp_wr;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_sge_rd;
	u32 max_cqe;
	u32 max_mr;
	u32 max_pd;
	u32 max_qp_rd_atom;
	u32 max_qp_init_rd_atom;
	u32 max_ah;
	u8 local_ca_ack_delay;
	u32 max_fast_reg_pages;
	u32 max_mcast_grp;
	u32 max_mcast_qp_attach;
	u32 max_direct_qp;
	u32 max_direct_cq;
	u32 max_direct_wr;
	u32 max_direct_cqe;
	u32 max_doorbells;
	u32 max_srq;
	u32 max_xrcd;
	u32 max_flow;
	u32 max_wq_tables;
	u32 max_wq_table_size;
};

/**
 * struct vroce_flow_counts - what QUERY_FLOW says
 * @packets: frames
 * @bytes: of them
 */
struct vroce_flow_counts {
	u64 packets;
	u64 bytes;
};

/**
 * struct vroce_port_attr - what QUERY_PORT says
 * @gid_tbl_len: number of entries of the GID table
 * @max_msg_sz: largest message, bytes
 */
struct vroce_port_attr {
	u32 gid_tbl_len;
	u32 max_msg_sz;
};

/**
 * struct vroce_create_cq_params - for CREATE_CQ, long form
 * @cqe: number of completions that it can hold
 * @direct: it is a ring, not a virtqueue
 * @timed: its completions have their time
 * @cqe_shift: of a ring: log2 of the bytes of a completion
 * @event_vq: number of its event virtqueue
 * @control: device address of its control block
 * @npages: of a ring: number of pages
 * @pages: their device addresses
 * @first: least number that it may have
 * @end: number that it must be below
 */
struct vroce_create_cq_params {
	u32 cqe;
	bool direct;
	bool timed;
	u8 cqe_shift;
	u16 event_vq;
	dma_addr_t control;
	u32 npages;
	const __le64 *pages;
	u32 first;
	u32 end;
};

/**
 * struct vroce_resize_cq_params - for RESIZE_CQ
 * @cqn: number of a direct CQ
 * @cqe: number of completions that it shall hold
 * @most: number of completions that it holds now
 * @control: device address of its new control block
 * @npages: number of pages of its new ring
 * @pages: their device addresses
 */
struct vroce_resize_cq_params {
	u32 cqn;
	u32 cqe;
	u32 most;
	dma_addr_t control;
	u32 npages;
	const __le64 *pages;
};

/**
 * struct vroce_direct_params - for CREATE_QP of a QP in direct form
 * @send_shift: log2 of the stride of the send ring
 * @recv_shift: log2 of the stride of the receive ring
 * @send_depth: slots of the send ring
 * @recv_depth: slots of the receive ring
 * @doorbell: handle of the doorbell page
 * @bit: its bit there
 * @send_pages: number of pages of the send ring
 * @recv_pages: number of pages of the receive ring
 * @control: device address of the control block
 * @pages: device addresses of all pages
 * @first: least number that it may have
 * @end: number that it must be below
 * @shared: it has an SRQ, not a receive ring
 * @srq: handle of the SRQ
 * @xrcd: XRC domain of an XRC_TGT QP, which has only this, @first and @end
 */
struct vroce_direct_params {
	u8 send_shift;
	u8 recv_shift;
	u32 send_depth;
	u32 recv_depth;
	u32 doorbell;
	u32 bit;
	u32 send_pages;
	u32 recv_pages;
	dma_addr_t control;
	const __le64 *pages;
	u32 first;
	u32 end;
	bool shared;
	u32 srq;
	u32 xrcd;
};

/**
 * struct vroce_create_qp_params - for CREATE_QP
 * @pdn: protection domain
 * @type: type
 * @sq_sig_all: every send request leaves a completion
 * @fast_reg: send requests may register and invalidate memory regions
 * @strip: tags go from frames to completions
 * @send_cqn: CQ of the send queue
 * @recv_cqn: CQ of the receive queue
 * @cap: capabilities
 * @direct: its direct form, NULL for that of the RFC
 */
struct vroce_create_qp_params {
	u32 pdn;
	enum ib_qp_type type;
	bool sq_sig_all;
	bool fast_reg;
	bool strip;
	u32 send_cqn;
	u32 recv_cqn;
	struct ib_qp_cap cap;
	const struct vroce_direct_params *direct;
};

/**
 * vroce_may_have_memory() - may the device use the memory that a failed command named?
 * @err: error of a command that settles
 *
 * It may if it gave an answer that makes no sense, or no answer, after which its reset
 * was not confirmed in time.  Such memory is given up, not freed.
 *
 * Return: true if so.
 */
static inline bool vroce_may_have_memory(int err)
{
	return err == -EPROTO || err == -ETIMEDOUT;
}

int vroce_cmd_run(struct virtio_net_roce_aux *aux, struct virtio_net_roce_cmd *cmd);
int vroce_cmd_run_unless_busy(struct virtio_net_roce_aux *aux,
			      struct virtio_net_roce_cmd *cmd);
int vroce_cmd_exec(struct virtio_net_roce_aux *aux, u8 command,
		   void *req, size_t req_len, void *rsp, size_t rsp_len);
int vroce_cmd_exec_pages(struct virtio_net_roce_aux *aux, u8 command,
			 void *req, size_t req_len, const __le64 *pages,
			 u32 npages, void *rsp, size_t rsp_len);
int vroce_cmd_bad_answer(struct virtio_net_roce_aux *aux, u8 command, u32 handle);

int vroce_cmd_query_device(struct virtio_net_roce_aux *aux,
			   struct vroce_device_attr *attr);
int vroce_cmd_query_port(struct virtio_net_roce_aux *aux,
			 struct vroce_port_attr *attr);
int vroce_cmd_query_counters(struct virtio_net_roce_aux *aux,
			     u64 values[VIRTIO_RDMA_CNT_NUM]);
int vroce_cmd_query_qp_counters(struct virtio_net_roce_aux *aux, u32 qpn,
				u64 values[VIRTIO_RDMA_CNT_NUM]);
int vroce_cmd_query_clock(struct virtio_net_roce_aux *aux, u64 *time);
int vroce_cmd_create_cq(struct virtio_net_roce_aux *aux, u32 cqe, u32 *cqn);
int vroce_cmd_create_cq_long(struct virtio_net_roce_aux *aux,
			     const struct vroce_create_cq_params *params,
			     u32 *cqn);
int vroce_cmd_modify_cq(struct virtio_net_roce_aux *aux, u32 cqn, u16 count, u16 period);
int vroce_cmd_resize_cq(struct virtio_net_roce_aux *aux,
			const struct vroce_resize_cq_params *params,
			u32 *stored, u32 *unread);
int vroce_cmd_alloc_doorbell(struct virtio_net_roce_aux *aux, dma_addr_t page,
			     u16 vq, u32 *handle);
int vroce_cmd_free_doorbell(struct virtio_net_roce_aux *aux, u32 handle);
int vroce_cmd_destroy_cq(struct virtio_net_roce_aux *aux, u32 cqn);
int vroce_cmd_create_pd(struct virtio_net_roce_aux *aux, u32 *pdn);
int vroce_cmd_destroy_pd(struct virtio_net_roce_aux *aux, u32 pdn);
int vroce_cmd_create_qp(struct virtio_net_roce_aux *aux,
			const struct vroce_create_qp_params *params, u32 *qpn);
int vroce_cmd_modify_qp(struct virtio_net_roce_aux *aux, u32 qpn,
			const struct ib_qp_attr *attr, int mask, u32 max_burst);
int vroce_cmd_query_qp(struct virtio_net_roce_aux *aux, u32 qpn, int mask,
		       struct ib_qp_attr *attr);
int vroce_cmd_destroy_qp(struct virtio_net_roce_aux *aux, u32 qpn);
int vroce_cmd_create_ah(struct virtio_net_roce_aux *aux, bool atomic, u32 pdn,
			const struct rdma_ah_attr *attr, u32 *ahn);
int vroce_cmd_destroy_ah(struct virtio_net_roce_aux *aux, u32 pdn, u32 ahn);
int vroce_cmd_add_gid(struct virtio_net_roce_aux *aux, u16 index,
		      const union ib_gid *gid, u16 vlan);
int vroce_cmd_del_gid(struct virtio_net_roce_aux *aux, u16 index);
int vroce_cmd_req_notify_cq(struct virtio_net_roce_aux *aux, u32 cqn,
			    bool solicited_only);
int vroce_cmd_attach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid);
int vroce_cmd_detach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid);
int vroce_cmd_create_flow(struct virtio_net_roce_aux *aux,
			  struct virtio_rdma_cmd_create_flow *req, u32 *handle);
int vroce_cmd_create_flow_long(struct virtio_net_roce_aux *aux,
			       struct virtio_rdma_cmd_create_flow_long *req, u32 *handle);
int vroce_cmd_query_flow(struct virtio_net_roce_aux *aux, u32 handle,
			 struct vroce_flow_counts *counts);
int vroce_cmd_destroy_flow(struct virtio_net_roce_aux *aux, u32 handle);

#endif /* _VROCE_CMD_H */
