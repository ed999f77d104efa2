/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A target of NVMe over Fabrics at a node.
 */
#ifndef DEVICE_NODE_TARGET_H
#define DEVICE_NODE_TARGET_H

#include "node/node.h"
#include "nvmf/nvmf.h"

/* Port of all targets. */
#define NODE_TARGET_PORT	4420

struct node_target;

/**
 * node_target_new() - make a node, and a target at each of its addresses
 * @loop:	event loop
 * @sw:		switch to connect to
 * @fabric:	fabric of its NIC
 * @nvmf:	all targets; its staging memory is @shared of @node
 * @node:	the node; @service, @ops and @arg are not looked at
 * @target:	the target; @traddr and @trsvcid are not looked at
 *
 * Return: it, or NULL with errno set.
 */
struct node_target *node_target_new(struct loop *loop, struct l2_switch *sw,
				    struct fabric *fabric, struct nvmf *nvmf,
				    const struct node_config *node,
				    const struct nvmf_target_config *target);

/** node_target_stop() - end all connections, and tell the initiators; let nobody connect */
void node_target_stop(struct node_target *target);

/** node_target_resume() - after node_target_stop(): let initiators connect again */
void node_target_resume(struct node_target *target);

/** node_target_free() - the same, and end the node */
void node_target_free(struct node_target *target);

/** node_target_rnic() - NIC of its node */
struct rnic *node_target_rnic(const struct node_target *target);

/** node_target_conns() - connections that it has */
unsigned int node_target_conns(const struct node_target *target);

/** node_target_counters() - what the target at address @i has counted; NULL if there is none */
const struct nvmf_counters *node_target_counters(const struct node_target *target,
						 unsigned int i);

#endif /* DEVICE_NODE_TARGET_H */
