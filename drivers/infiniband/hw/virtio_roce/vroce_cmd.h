/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control commands: what all of them share, and those that no vroce_cmd_*.h has.  Parameters
 * and results are in the processor's byte order.  Flow rules, RX_HASH QPs and the offload of
 * NVMe are exceptions: their callers fill in the wire structure.
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
 * struct vroce_port_attr - what QUERY_PORT says
 * @gid_tbl_len: number of entries of the GID table
 * @max_msg_sz: largest message, bytes
 */
struct vroce_port_attr {
	u32 gid_tbl_len;
	u32 max_msg_sz;
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
int vroce_cmd_run_destroy(struct virtio_net_roce_aux *aux, struct virtio_net_roce_cmd *cmd,
			  int refused);
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
int vroce_cmd_alloc_doorbell(struct virtio_net_roce_aux *aux, dma_addr_t page,
			     u16 vq, u32 *handle);
int vroce_cmd_free_doorbell(struct virtio_net_roce_aux *aux, u32 handle);
int vroce_cmd_create_pd(struct virtio_net_roce_aux *aux, u32 *pdn);
int vroce_cmd_destroy_pd(struct virtio_net_roce_aux *aux, u32 pdn);
int vroce_cmd_create_ah(struct virtio_net_roce_aux *aux, bool atomic, u32 pdn,
			const struct rdma_ah_attr *attr, u32 *ahn);
int vroce_cmd_destroy_ah(struct virtio_net_roce_aux *aux, u32 pdn, u32 ahn);
int vroce_cmd_add_gid(struct virtio_net_roce_aux *aux, u16 index,
		      const union ib_gid *gid, u16 vlan);
int vroce_cmd_del_gid(struct virtio_net_roce_aux *aux, u16 index);
int vroce_cmd_attach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid);
int vroce_cmd_detach_mcast(struct virtio_net_roce_aux *aux, u32 qpn,
			   const union ib_gid *gid);

#endif /* _VROCE_CMD_H */
