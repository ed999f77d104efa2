/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Control commands that ask what the device can, and what it has counted.
 */
#ifndef DEVICE_RDMA_COMMAND_QUERY_H
#define DEVICE_RDMA_COMMAND_QUERY_H

#include "rdma/command_priv.h"

command_fn command_query_clock;
command_fn command_query_device;
command_fn command_query_port;
command_fn command_query_counters;
command_fn command_query_qp_counters;

#endif /* DEVICE_RDMA_COMMAND_QUERY_H */
