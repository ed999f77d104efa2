/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Control commands with lists of pages: memory regions, and what has a ring.
 */
#ifndef DEVICE_RDMA_COMMAND_PAGES_H
#define DEVICE_RDMA_COMMAND_PAGES_H

#include <stddef.h>

#include "rdma/command_priv.h"

/* Returned by a handler whose command goes on with pages of its list. */
extern const char *const command_goes_on;

command_fn command_create_cq;
command_fn command_resize_cq;
command_fn command_get_dma_mr;
command_fn command_reg_user_mr;
command_fn command_rereg_mr;
command_fn command_rereg_mr_long;
command_fn command_dereg_mr;
command_fn command_create_qp;
command_fn command_create_srq;
command_fn command_create_xrc_srq;
command_fn command_resize_srq;
command_fn command_alloc_mr;
command_fn command_alloc_mw;

/* They go on with the list of rnic->page_list: of a ring, of a memory region. */
command_fn command_create_pages;
command_fn command_reg_pages;

/** command_check_surplus() - fields of @req behind its first @len bytes are 0; or why not */
const char *command_check_surplus(const struct rnic_request *req, size_t len);

#endif /* DEVICE_RDMA_COMMAND_PAGES_H */
