/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames that flow rules give to QPs.
 */
#ifndef DEVICE_RDMA_STEER_H
#define DEVICE_RDMA_STEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "rdma/object/rule.h"

struct rnic;

/**
 * rnic_steer() - ask a NIC's flow rules who gets a frame
 * @rnic:	NIC
 * @what:	which frame it is
 * @iov:	pieces that it lies in
 * @iov_n:	number of them
 * @off:	where in them it begins
 * @len:	its bytes; of one that is still to be segmented, all of them
 * @hits:	filled in, for rnic_give()
 *
 * Return: false if there is nobody.
 */
bool rnic_steer(struct rnic *rnic, enum rule_for what, const struct iovec *iov,
		unsigned int iov_n, size_t off, size_t len, struct rule_hits *hits);

/**
 * rnic_give() - give a frame to those who get it
 * @rnic:	NIC
 * @hits:	of rnic_steer(), since which there was no command
 * @iov:	pieces that all of it lies in
 * @off:	where in them it begins
 * @len:	its bytes, of which nothing is left to be done
 */
void rnic_give(struct rnic *rnic, const struct rule_hits *hits, const struct iovec *iov,
	       size_t off, size_t len);

#endif /* DEVICE_RDMA_STEER_H */
