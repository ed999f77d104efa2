// SPDX-License-Identifier: GPL-2.0
/*
 * The wire format, number by number.
 *
 * The RFC prints the layout of each structure.  Here are the length of each structure
 * and the offset of each field again, as static assertions: no test has to run.  sparse
 * checks that fields are little-endian.
 */
#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "virtio_net_roce.h"
#include "virtio_roce-abi.h"

#define SIZE(type, size)	static_assert(sizeof(struct type) == (size))
#define NUMBER(name, value)	static_assert((name) == (value))
#define AT(type, member, offset) \
	static_assert(offsetof(struct type, member) == (offset))

SIZE(virtio_net_roce_config, 8);
AT(virtio_net_roce_config, max_rdma_qps, 0);
AT(virtio_net_roce_config, max_rdma_cqs, 4);

SIZE(virtio_rdma_ack_query_device, 128);
AT(virtio_rdma_ack_query_device, device_cap_flags, 0);
AT(virtio_rdma_ack_query_device, max_mr_size, 8);
AT(virtio_rdma_ack_query_device, page_size_cap, 16);
AT(virtio_rdma_ack_query_device, hw_ver, 24);
AT(virtio_rdma_ack_query_device, max_qp_wr, 28);
AT(virtio_rdma_ack_query_device, max_send_sge, 32);
AT(virtio_rdma_ack_query_device, max_recv_sge, 36);
AT(virtio_rdma_ack_query_device, max_sge_rd, 40);
AT(virtio_rdma_ack_query_device, max_cqe, 44);
AT(virtio_rdma_ack_query_device, max_mr, 48);
AT(virtio_rdma_ack_query_device, max_pd, 52);
AT(virtio_rdma_ack_query_device, max_qp_rd_atom, 56);
AT(virtio_rdma_ack_query_device, max_qp_init_rd_atom, 60);
AT(virtio_rdma_ack_query_device, max_ah, 64);
AT(virtio_rdma_ack_query_device, local_ca_ack_delay, 68);
AT(virtio_rdma_ack_query_device, max_fast_reg_pages, 72);
AT(virtio_rdma_ack_query_device, max_mcast_grp, 76);
AT(virtio_rdma_ack_query_device, max_mcast_qp_attach, 80);
AT(virtio_rdma_ack_query_device, max_wq_tables, 120);
AT(virtio_rdma_ack_query_device, max_wq_table_size, 124);

SIZE(virtio_rdma_ack_query_port, 32);
AT(virtio_rdma_ack_query_port, gid_tbl_len, 0);
AT(virtio_rdma_ack_query_port, max_msg_sz, 4);

SIZE(virtio_rdma_cmd_create_cq, 4);
AT(virtio_rdma_cmd_create_cq, cqe, 0);

SIZE(virtio_rdma_ack_create_cq, 4);
AT(virtio_rdma_ack_create_cq, cqn, 0);

SIZE(virtio_rdma_cmd_destroy_cq, 4);
AT(virtio_rdma_cmd_destroy_cq, cqn, 0);

SIZE(virtio_rdma_ack_create_pd, 4);
AT(virtio_rdma_ack_create_pd, pdn, 0);

SIZE(virtio_rdma_cmd_destroy_pd, 4);
AT(virtio_rdma_cmd_destroy_pd, pdn, 0);

SIZE(virtio_rdma_cmd_get_dma_mr, 8);
AT(virtio_rdma_cmd_get_dma_mr, pdn, 0);
AT(virtio_rdma_cmd_get_dma_mr, access_flags, 4);

SIZE(virtio_rdma_ack_mr, 12);
AT(virtio_rdma_ack_mr, mrn, 0);
AT(virtio_rdma_ack_mr, lkey, 4);
AT(virtio_rdma_ack_mr, rkey, 8);

SIZE(virtio_rdma_cmd_reg_user_mr, 32);
AT(virtio_rdma_cmd_reg_user_mr, pdn, 0);
AT(virtio_rdma_cmd_reg_user_mr, access_flags, 4);
AT(virtio_rdma_cmd_reg_user_mr, virt_addr, 8);
AT(virtio_rdma_cmd_reg_user_mr, length, 16);
AT(virtio_rdma_cmd_reg_user_mr, npages, 24);
AT(virtio_rdma_cmd_reg_user_mr, page_shift, 28);
AT(virtio_rdma_cmd_reg_user_mr, levels, 29);
AT(virtio_rdma_cmd_reg_user_mr, pages, 32);

SIZE(virtio_rdma_cmd_alloc_mw, 8);
AT(virtio_rdma_cmd_alloc_mw, pdn, 0);
AT(virtio_rdma_cmd_alloc_mw, type, 4);

SIZE(virtio_rdma_cmd_rereg_mr, 32);
AT(virtio_rdma_cmd_rereg_mr, pdn, 0);
AT(virtio_rdma_cmd_rereg_mr, access_flags, 4);
AT(virtio_rdma_cmd_rereg_mr, virt_addr, 8);
AT(virtio_rdma_cmd_rereg_mr, length, 16);
AT(virtio_rdma_cmd_rereg_mr, npages, 24);
AT(virtio_rdma_cmd_rereg_mr, mrn, 28);
AT(virtio_rdma_cmd_rereg_mr, pages, 32);

SIZE(virtio_rdma_cmd_rereg_mr_long, 40);
AT(virtio_rdma_cmd_rereg_mr_long, pdn, 0);
AT(virtio_rdma_cmd_rereg_mr_long, access_flags, 4);
AT(virtio_rdma_cmd_rereg_mr_long, virt_addr, 8);
AT(virtio_rdma_cmd_rereg_mr_long, length, 16);
AT(virtio_rdma_cmd_rereg_mr_long, npages, 24);
AT(virtio_rdma_cmd_rereg_mr_long, mrn, 28);
AT(virtio_rdma_cmd_rereg_mr_long, page_shift, 32);
AT(virtio_rdma_cmd_rereg_mr_long, levels, 33);
AT(virtio_rdma_cmd_rereg_mr_long, pages, 40);

SIZE(virtio_rdma_cmd_dereg_mr, 4);
AT(virtio_rdma_cmd_dereg_mr, mrn, 0);

SIZE(virtio_rdma_cmd_alloc_mr, 8);
AT(virtio_rdma_cmd_alloc_mr, pdn, 0);
AT(virtio_rdma_cmd_alloc_mr, max_pages, 4);

SIZE(virtio_rdma_qp_cap, 24);
AT(virtio_rdma_qp_cap, max_send_wr, 0);
AT(virtio_rdma_qp_cap, max_recv_wr, 4);
AT(virtio_rdma_qp_cap, max_send_sge, 8);
AT(virtio_rdma_qp_cap, max_recv_sge, 12);
AT(virtio_rdma_qp_cap, max_inline_data, 16);

SIZE(virtio_rdma_cmd_create_qp, 56);
AT(virtio_rdma_cmd_create_qp, pdn, 0);
AT(virtio_rdma_cmd_create_qp, qp_type, 4);
AT(virtio_rdma_cmd_create_qp, sq_sig_all, 5);
AT(virtio_rdma_cmd_create_qp, flags, 6);
AT(virtio_rdma_cmd_create_qp, send_cqn, 8);
AT(virtio_rdma_cmd_create_qp, recv_cqn, 12);
AT(virtio_rdma_cmd_create_qp, cap, 16);

SIZE(virtio_rdma_ack_create_qp, 4);
AT(virtio_rdma_ack_create_qp, qpn, 0);

SIZE(virtio_rdma_global_route, 24);
AT(virtio_rdma_global_route, dgid, 0);
AT(virtio_rdma_global_route, flow_label, 16);
AT(virtio_rdma_global_route, sgid_index, 20);
AT(virtio_rdma_global_route, hop_limit, 21);
AT(virtio_rdma_global_route, traffic_class, 22);

SIZE(virtio_rdma_ah_attr, 40);
AT(virtio_rdma_ah_attr, grh, 0);
AT(virtio_rdma_ah_attr, dmac, 24);
AT(virtio_rdma_ah_attr, sl, 30);

SIZE(virtio_rdma_cmd_modify_qp, 128);
AT(virtio_rdma_cmd_modify_qp, qpn, 0);
AT(virtio_rdma_cmd_modify_qp, attr_mask, 4);
AT(virtio_rdma_cmd_modify_qp, qp_state, 8);
AT(virtio_rdma_cmd_modify_qp, cur_qp_state, 9);
AT(virtio_rdma_cmd_modify_qp, path_mtu, 10);
AT(virtio_rdma_cmd_modify_qp, max_rd_atomic, 11);
AT(virtio_rdma_cmd_modify_qp, max_dest_rd_atomic, 12);
AT(virtio_rdma_cmd_modify_qp, min_rnr_timer, 13);
AT(virtio_rdma_cmd_modify_qp, timeout, 14);
AT(virtio_rdma_cmd_modify_qp, retry_cnt, 15);
AT(virtio_rdma_cmd_modify_qp, rnr_retry, 16);
AT(virtio_rdma_cmd_modify_qp, qkey, 24);
AT(virtio_rdma_cmd_modify_qp, rq_psn, 28);
AT(virtio_rdma_cmd_modify_qp, sq_psn, 32);
AT(virtio_rdma_cmd_modify_qp, dest_qp_num, 36);
AT(virtio_rdma_cmd_modify_qp, qp_access_flags, 40);
AT(virtio_rdma_cmd_modify_qp, rate_limit, 44);
AT(virtio_rdma_cmd_modify_qp, cap, 48);
AT(virtio_rdma_cmd_modify_qp, ah_attr, 72);
AT(virtio_rdma_cmd_modify_qp, max_burst, 112);

SIZE(virtio_rdma_cmd_query_qp, 8);
AT(virtio_rdma_cmd_query_qp, qpn, 0);
AT(virtio_rdma_cmd_query_qp, attr_mask, 4);

SIZE(virtio_rdma_ack_query_qp, 120);
AT(virtio_rdma_ack_query_qp, qp_state, 0);
AT(virtio_rdma_ack_query_qp, path_mtu, 1);
AT(virtio_rdma_ack_query_qp, sq_draining, 2);
AT(virtio_rdma_ack_query_qp, max_rd_atomic, 3);
AT(virtio_rdma_ack_query_qp, max_dest_rd_atomic, 4);
AT(virtio_rdma_ack_query_qp, min_rnr_timer, 5);
AT(virtio_rdma_ack_query_qp, timeout, 6);
AT(virtio_rdma_ack_query_qp, retry_cnt, 7);
AT(virtio_rdma_ack_query_qp, rnr_retry, 8);
AT(virtio_rdma_ack_query_qp, qkey, 16);
AT(virtio_rdma_ack_query_qp, rq_psn, 20);
AT(virtio_rdma_ack_query_qp, sq_psn, 24);
AT(virtio_rdma_ack_query_qp, dest_qp_num, 28);
AT(virtio_rdma_ack_query_qp, qp_access_flags, 32);
AT(virtio_rdma_ack_query_qp, rate_limit, 36);
AT(virtio_rdma_ack_query_qp, cap, 40);
AT(virtio_rdma_ack_query_qp, ah_attr, 64);
AT(virtio_rdma_ack_query_qp, max_burst, 104);

SIZE(virtio_rdma_cmd_destroy_qp, 4);
AT(virtio_rdma_cmd_destroy_qp, qpn, 0);

SIZE(virtio_rdma_cmd_create_ah, 48);
AT(virtio_rdma_cmd_create_ah, pdn, 0);
AT(virtio_rdma_cmd_create_ah, ah_attr, 8);

SIZE(virtio_rdma_ack_create_ah, 4);
AT(virtio_rdma_ack_create_ah, ah, 0);

SIZE(virtio_rdma_cmd_destroy_ah, 8);
AT(virtio_rdma_cmd_destroy_ah, pdn, 0);
AT(virtio_rdma_cmd_destroy_ah, ah, 4);

SIZE(virtio_rdma_cmd_add_gid, 24);
AT(virtio_rdma_cmd_add_gid, index, 0);
AT(virtio_rdma_cmd_add_gid, vlan, 2);
AT(virtio_rdma_cmd_add_gid, gid, 8);

SIZE(virtio_rdma_cmd_del_gid, 2);
AT(virtio_rdma_cmd_del_gid, index, 0);

SIZE(virtio_rdma_cmd_req_notify, 8);
AT(virtio_rdma_cmd_req_notify, cqn, 0);
AT(virtio_rdma_cmd_req_notify, flags, 4);

SIZE(virtio_rdma_ack_query_counters, 256);
AT(virtio_rdma_ack_query_counters, value, 0);

SIZE(virtio_rdma_ack_query_clock, 8);
AT(virtio_rdma_ack_query_clock, time, 0);

SIZE(virtio_rdma_cqe_timed, 64);
AT(virtio_rdma_cqe_timed, time, 32);

SIZE(virtio_rdma_cmd_query_qp_counters, 4);
AT(virtio_rdma_cmd_query_qp_counters, qpn, 0);

SIZE(virtio_rdma_cmd_mcast, 24);
AT(virtio_rdma_cmd_mcast, qpn, 0);
AT(virtio_rdma_cmd_mcast, gid, 8);

SIZE(virtio_rdma_sge, 16);
AT(virtio_rdma_sge, addr, 0);
AT(virtio_rdma_sge, length, 8);
AT(virtio_rdma_sge, lkey, 12);

SIZE(virtio_rdma_sq_req, 576);
AT(virtio_rdma_sq_req, wr_id, 0);
AT(virtio_rdma_sq_req, opcode, 8);
AT(virtio_rdma_sq_req, send_flags, 9);
AT(virtio_rdma_sq_req, imm_data, 12);
AT(virtio_rdma_sq_req, invalidate_rkey, 12);
AT(virtio_rdma_sq_req, rdma.remote_addr, 16);
AT(virtio_rdma_sq_req, rdma.rkey, 24);
AT(virtio_rdma_sq_req, ud.remote_qpn, 16);
AT(virtio_rdma_sq_req, ud.remote_qkey, 20);
AT(virtio_rdma_sq_req, ud.ah, 24);
AT(virtio_rdma_sq_req, reg.pages, 16);
AT(virtio_rdma_sq_req, reg.iova, 24);
AT(virtio_rdma_sq_req, reg.length, 32);
AT(virtio_rdma_sq_req, reg.key, 36);
AT(virtio_rdma_sq_req, reg.access, 40);
AT(virtio_rdma_sq_req, reg.npages, 44);
AT(virtio_rdma_sq_req, inline_data, 48);
AT(virtio_rdma_sq_req, num_sge, 560);
AT(virtio_rdma_sq_req, inline_len, 560);
AT(virtio_rdma_sq_req, sg_list, 576);

SIZE(virtio_rdma_rq_req, 24);
AT(virtio_rdma_rq_req, wr_id, 0);
AT(virtio_rdma_rq_req, num_sge, 8);
AT(virtio_rdma_rq_req, sg_list, 24);

SIZE(virtio_rdma_cq_req, 48);
AT(virtio_rdma_cq_req, wr_id, 0);
AT(virtio_rdma_cq_req, status, 8);
AT(virtio_rdma_cq_req, opcode, 9);
AT(virtio_rdma_cq_req, vlan, 10);
AT(virtio_rdma_cq_req, vendor_err, 12);
AT(virtio_rdma_cq_req, byte_len, 16);
AT(virtio_rdma_cq_req, imm_data, 20);
AT(virtio_rdma_cq_req, invalidate_rkey, 20);
AT(virtio_rdma_cq_req, qp_num, 24);
AT(virtio_rdma_cq_req, src_qp, 28);
AT(virtio_rdma_cq_req, wc_flags, 32);

/* ----- numbers ----- */

NUMBER(VIRTIO_NET_F_ROCE, 55);
NUMBER(VIRTIO_NET_ROCE_CONFIG_OFFSET, 24);
NUMBER(VIRTIO_NET_CTRL_ROCE, 6);

NUMBER(VIRTIO_NET_CTRL_ROCE_QUERY_DEVICE, 0);
NUMBER(VIRTIO_NET_CTRL_ROCE_QUERY_PORT, 1);
NUMBER(VIRTIO_NET_CTRL_ROCE_CREATE_CQ, 2);
NUMBER(VIRTIO_NET_CTRL_ROCE_DESTROY_CQ, 3);
NUMBER(VIRTIO_NET_CTRL_ROCE_CREATE_PD, 4);
NUMBER(VIRTIO_NET_CTRL_ROCE_DESTROY_PD, 5);
NUMBER(VIRTIO_NET_CTRL_ROCE_GET_DMA_MR, 6);
NUMBER(VIRTIO_NET_CTRL_ROCE_REG_USER_MR, 7);
NUMBER(VIRTIO_NET_CTRL_ROCE_DEREG_MR, 8);
NUMBER(VIRTIO_NET_CTRL_ROCE_CREATE_QP, 9);
NUMBER(VIRTIO_NET_CTRL_ROCE_MODIFY_QP, 10);
NUMBER(VIRTIO_NET_CTRL_ROCE_QUERY_QP, 11);
NUMBER(VIRTIO_NET_CTRL_ROCE_DESTROY_QP, 12);
NUMBER(VIRTIO_NET_CTRL_ROCE_CREATE_AH, 13);
NUMBER(VIRTIO_NET_CTRL_ROCE_DESTROY_AH, 14);
NUMBER(VIRTIO_NET_CTRL_ROCE_ADD_GID, 15);
NUMBER(VIRTIO_NET_CTRL_ROCE_DEL_GID, 16);
NUMBER(VIRTIO_NET_CTRL_ROCE_REQ_NOTIFY_CQ, 17);
NUMBER(VIRTIO_NET_CTRL_ROCE_ALLOC_MR, 32);
static_assert(VIRTIO_NET_CTRL_ROCE_NUM > VIRTIO_NET_CTRL_ROCE_ALLOC_MR);

NUMBER(VIRTIO_IB_DEVICE_RC_RNR_NAK_GEN, 1);
NUMBER(VIRTIO_IB_DEVICE_MEM_MGT_EXTENSIONS, 2);
NUMBER(VIRTIO_IB_DEVICE_RAW_PACKET, 0x400000);
NUMBER(VIRTIO_IB_DEVICE_RSS, 0x1000000);
NUMBER(VIRTIO_IB_DEVICE_CQ_MODERATE, 0x2000000);
NUMBER(VIRTIO_IB_DEVICE_RAW_CSUM, 0x8000000);
NUMBER(VIRTIO_IB_DEVICE_RAW_VLAN, 0x10000000);
NUMBER(VIRTIO_IB_DEVICE_RAW_TSO, 0x20000000);
NUMBER(VIRTIO_IB_DEVICE_FLOW_COUNT, 0x40000000);
NUMBER(VIRTIO_IB_DEVICE_QP_COUNTERS, 0x80000000);
NUMBER(VIRTIO_IB_DEVICE_CQ_TIMESTAMP, 0x100000000);
NUMBER(VIRTIO_IB_DEVICE_RATE_BURST, 0x200000000);
NUMBER(VIRTIO_RDMA_CQ_TIMESTAMP, 4);
NUMBER(VIRTIO_IB_QP_FAST_REG, 1);
NUMBER(VIRTIO_IB_QP_CVLAN_STRIP, 2);
NUMBER(VIRTIO_RDMA_KEY_TAG_BITS, 8);
NUMBER(VIRTIO_IB_ACCESS_LOCAL_WRITE, 1);
NUMBER(VIRTIO_IB_ACCESS_REMOTE_WRITE, 2);
NUMBER(VIRTIO_IB_ACCESS_REMOTE_READ, 4);
NUMBER(VIRTIO_IB_QPT_SMI, 0);
NUMBER(VIRTIO_IB_QPT_GSI, 1);
NUMBER(VIRTIO_IB_QPT_RC, 2);
NUMBER(VIRTIO_IB_QPT_UC, 3);
NUMBER(VIRTIO_IB_QPT_UD, 4);
NUMBER(VIRTIO_IB_QPT_RAW_PACKET, 8);
NUMBER(VIRTIO_IB_QPT_WQ, 11);
NUMBER(VIRTIO_IB_QPT_RX_HASH, 12);
NUMBER(VIRTIO_IB_QPS_INIT, 1);
NUMBER(VIRTIO_IB_QPS_RTR, 2);
NUMBER(VIRTIO_IB_QPS_RTS, 3);
NUMBER(VIRTIO_IB_MTU_1024, 3);
NUMBER(VIRTIO_IB_MTU_4096, 5);
NUMBER(VIRTIO_IB_QP_STATE, 1);
NUMBER(VIRTIO_IB_QP_DEST_QPN, 0x8000);
NUMBER(VIRTIO_IB_NOTIFY_SOLICITED, 1);
NUMBER(VIRTIO_IB_NOTIFY_NEXT_COMPLETION, 2);

NUMBER(VIRTIO_IB_WR_RDMA_WRITE, 0);
NUMBER(VIRTIO_IB_WR_RDMA_WRITE_WITH_IMM, 1);
NUMBER(VIRTIO_IB_WR_SEND, 2);
NUMBER(VIRTIO_IB_WR_SEND_WITH_IMM, 3);
NUMBER(VIRTIO_IB_WR_RDMA_READ, 4);
NUMBER(VIRTIO_IB_WR_CMP_SWAP, 5);
NUMBER(VIRTIO_IB_WR_FETCH_ADD, 6);
NUMBER(VIRTIO_IB_WR_LOCAL_INV, 7);
NUMBER(VIRTIO_IB_WR_SEND_WITH_INV, 8);
NUMBER(VIRTIO_IB_WR_REG_MR, 9);
NUMBER(VIRTIO_IB_WR_TSO, 13);
NUMBER(VIRTIO_IB_SEND_FENCE, 1);
NUMBER(VIRTIO_IB_SEND_SIGNALED, 2);
NUMBER(VIRTIO_IB_SEND_SOLICITED, 4);
NUMBER(VIRTIO_IB_SEND_INLINE, 8);
NUMBER(VIRTIO_IB_SEND_IP_CSUM, 16);

NUMBER(VIRTIO_IB_WC_SUCCESS, 0);
NUMBER(VIRTIO_IB_WC_LOC_LEN_ERR, 1);
NUMBER(VIRTIO_IB_WC_LOC_QP_OP_ERR, 2);
NUMBER(VIRTIO_IB_WC_LOC_PROT_ERR, 3);
NUMBER(VIRTIO_IB_WC_WR_FLUSH_ERR, 4);
NUMBER(VIRTIO_IB_WC_BAD_RESP_ERR, 5);
NUMBER(VIRTIO_IB_WC_LOC_ACCESS_ERR, 6);
NUMBER(VIRTIO_IB_WC_REM_INV_REQ_ERR, 7);
NUMBER(VIRTIO_IB_WC_REM_ACCESS_ERR, 8);
NUMBER(VIRTIO_IB_WC_REM_OP_ERR, 9);
NUMBER(VIRTIO_IB_WC_RETRY_EXC_ERR, 10);
NUMBER(VIRTIO_IB_WC_RNR_RETRY_EXC_ERR, 11);
NUMBER(VIRTIO_IB_WC_REM_ABORT_ERR, 12);
NUMBER(VIRTIO_IB_WC_FATAL_ERR, 13);
NUMBER(VIRTIO_IB_WC_RESP_TIMEOUT_ERR, 14);
NUMBER(VIRTIO_IB_WC_GENERAL_ERR, 15);
NUMBER(VIRTIO_IB_WC_MEM_MGT_ERR, 16);
NUMBER(VIRTIO_IB_WC_RECV, 3);
NUMBER(VIRTIO_IB_WC_RECV_RDMA_WITH_IMM, 4);
NUMBER(VIRTIO_IB_WC_CMP_SWAP, 5);
NUMBER(VIRTIO_IB_WC_FETCH_ADD, 6);
NUMBER(VIRTIO_IB_WC_LOCAL_INV, 7);
NUMBER(VIRTIO_IB_WC_REG_MR, 8);
NUMBER(VIRTIO_IB_WC_TSO, 12);
NUMBER(VIRTIO_IB_WC_GRH, 1);
NUMBER(VIRTIO_IB_WC_WITH_IMM, 2);
NUMBER(VIRTIO_IB_WC_WITH_INVALIDATE, 4);
NUMBER(VIRTIO_IB_WC_IP_CSUM_OK, 64);

/*
 * Structures that kernel driver and provider share.  These are the bases, which do not change with
 * this version of the ABI; the structures may be longer one day.
 */
NUMBER(VIRTIO_ROCE_ABI_VERSION, 2);

SIZE(virtio_roce_queue, 128);
AT(virtio_roce_queue, slots_offset, 0);
AT(virtio_roce_queue, avail_offset, 8);
AT(virtio_roce_queue, used_offset, 16);
AT(virtio_roce_queue, doorbell_offset, 24);
AT(virtio_roce_queue, slots_len, 32);
AT(virtio_roce_queue, avail_len, 36);
AT(virtio_roce_queue, used_len, 40);
AT(virtio_roce_queue, doorbell_len, 44);
AT(virtio_roce_queue, doorbell_pos, 48);
AT(virtio_roce_queue, doorbell_value, 52);
AT(virtio_roce_queue, num, 56);
AT(virtio_roce_queue, depth, 60);
AT(virtio_roce_queue, stride, 64);
AT(virtio_roce_queue, flags, 68);
NUMBER(VIRTIO_ROCE_QUEUE_DOORBELL, 1);
NUMBER(VIRTIO_ROCE_QUEUE_EVENT_IDX, 2);
NUMBER(VIRTIO_ROCE_QUEUE_ALIVE, 4);

AT(virtio_roce_alloc_ucontext_req, features, 0);

SIZE(virtio_roce_modify_qp_req, 8);
AT(virtio_roce_modify_qp_req, max_burst, 0);
AT(virtio_roce_alloc_ucontext_resp, features, 0);
AT(virtio_roce_alloc_ucontext_resp, device_caps, 8);
AT(virtio_roce_alloc_ucontext_resp, max_inline_data, 16);
AT(virtio_roce_alloc_ucontext_resp, reserved, 20);
AT(virtio_roce_create_cq_resp, cq, 0);
AT(virtio_roce_create_qp_resp, sq, 0);
AT(virtio_roce_create_qp_resp, rq, 128);
AT(virtio_roce_create_ah_resp, ah, 0);
AT(virtio_roce_create_srq_resp, srq, 0);
