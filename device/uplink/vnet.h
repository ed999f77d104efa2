/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The common part of tap and packet uplinks: a descriptor of which each read and
 * each write is a frame behind a struct virtio_net_hdr.
 */
#ifndef DEVICE_UPLINK_VNET_H
#define DEVICE_UPLINK_VNET_H

#include <net/if.h>

#include "base/log.h"
#include "ether/offload.h"
#include "uplink/uplink.h"

#define VNET_HDR_LEN	sizeof(struct virtio_net_hdr)
#define VNET_BUF_SIZE	(VNET_HDR_LEN + OFFLOAD_FRAME_MAX + 1)

/**
 * struct vnet - an uplink of this sort
 * @uplink:	what all kinds have
 * @lfd:	descriptor
 * @port:	port of the switch
 * @name:	of the interface
 * @recv:	read a frame with its header into @rx.  Returns its bytes or
 *		-errno
 * @limit:	of messages
 * @rx:		frame that was read, aligned for its header
 * @tx:		frame that is to be written
 */
struct vnet {
	struct uplink uplink;
	struct loop_fd lfd;
	struct switch_port port;
	char name[IFNAMSIZ];
	ssize_t (*recv)(struct vnet *vnet);
	struct log_limit limit;
	uint8_t rx[VNET_BUF_SIZE] __attribute__((aligned(8)));
	uint8_t tx[VNET_BUF_SIZE] __attribute__((aligned(8)));
};

/**
 * vnet_new() - make an uplink
 * @env:	copied
 * @name:	of the interface
 * @fd:		descriptor, taken over; if it fails, closed
 *
 * Return: the uplink, for vnet_start(); or NULL with errno set after an error was
 *	   printed.
 */
struct vnet *vnet_new(const struct uplink_env *env, const char *name, int fd);

/**
 * vnet_start() - connect to the switch
 * @vnet:	with @recv filled in
 *
 * Return: the uplink; or NULL with errno set after an error was printed, and
 *	   @vnet is freed.
 */
struct uplink *vnet_start(struct vnet *vnet);

/** vnet_free() - end an uplink that was started */
void vnet_free(struct uplink *uplink);

#endif /* DEVICE_UPLINK_VNET_H */
