/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * NVMe controllers of software: queues and doorbells in memory, and a thread behind them.
 */
#ifndef NVMFT_CTRL_H
#define NVMFT_CTRL_H

#include <stdint.h>

#include <infiniband/virtio_rocedv.h>

struct ns;

/**
 * struct ctrl_staging - memory that commands may name
 * @buf:	its beginning
 * @size:	bytes of it
 */
struct ctrl_staging {
	const void *buf;
	uint64_t size;
};

struct ctrl;

/**
 * ctrl_new() - make a controller for a namespace, and start its thread
 * @pd:		protection domain of the SRQ
 * @ns:		namespace, whose number is 1 at the controller; the thread alone submits to it
 * @staging:	where data is
 * @depth:	entries of each queue
 *
 * Return: the controller, or NULL with errno set.
 */
struct ctrl *ctrl_new(struct ibv_pd *pd, struct ns *ns, struct ctrl_staging staging,
		      uint16_t depth);

/** ctrl_attrs() - what virtio_rocedv_srq_create_nvme_ctrl() wants to know of it */
struct virtio_rocedv_nvme_ctrl_attrs ctrl_attrs(const struct ctrl *ctrl);

/** ctrl_commands() - how many commands it has carried out; any thread may ask */
uint64_t ctrl_commands(const struct ctrl *ctrl);

/** ctrl_free() - end the thread, and free it, once the device has let go of it */
void ctrl_free(struct ctrl *ctrl);

#endif /* NVMFT_CTRL_H */
