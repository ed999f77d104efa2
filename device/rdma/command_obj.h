/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Control commands for objects, as long as they have no list of pages.
 */
#ifndef DEVICE_RDMA_COMMAND_OBJ_H
#define DEVICE_RDMA_COMMAND_OBJ_H

#include "rdma/command_priv.h"

/* Returned by a handler whose command is to be carried out again: there is more to do. */
extern const char *const command_again;

command_fn command_query_nvmf;
command_fn command_query_namespace;
command_fn command_set_srq_nvmf;
command_fn command_create_nvme_ctrl;
command_fn command_destroy_nvme_ctrl;
command_fn command_map_nsid;
command_fn command_unmap_nsid;
command_fn command_set_qp_nvmf;
command_fn command_destroy_cq;
command_fn command_modify_cq;
command_fn command_create_pd;
command_fn command_destroy_pd;
command_fn command_create_xrcd;
command_fn command_destroy_xrcd;
command_fn command_modify_srq;
command_fn command_query_srq;
command_fn command_destroy_srq;
command_fn command_modify_qp;
command_fn command_query_qp;
command_fn command_destroy_qp;
command_fn command_create_ah;
command_fn command_destroy_ah;
command_fn command_add_gid;
command_fn command_del_gid;
command_fn command_req_notify;
command_fn command_alloc_doorbell;
command_fn command_free_doorbell;
command_fn command_attach_mcast;
command_fn command_detach_mcast;
command_fn command_create_flow_long;
command_fn command_create_flow;
command_fn command_query_flow;
command_fn command_destroy_flow;
command_fn command_create_wq_table;
command_fn command_destroy_wq_table;
command_fn command_create_rx_hash_qp;

#endif /* DEVICE_RDMA_COMMAND_OBJ_H */
