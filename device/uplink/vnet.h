/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The common part of tap and packet uplinks: a descriptor of which each read and
 * each write is a frame behind a struct virtio_net_hdr, or several RoCE packets in one.
 */
#ifndef DEVICE_UPLINK_VNET_H
#define DEVICE_UPLINK_VNET_H

#include <net/if.h>

#include "base/log.h"
#include "ether/offload.h"
#include "uplink/batch.h"
#include "uplink/uplink.h"

#define VNET_HDR_LEN	sizeof(struct virtio_net_hdr)

/* A frame with its header, one byte to see that it was longer; a multiple of 8. */
#define VNET_BUF_SIZE	((VNET_HDR_LEN + OFFLOAD_FRAME_MAX + 8) & ~(size_t)7)

/* Frames that one call reads, where the descriptor has such a call. */
#define VNET_RECV_MAX	16

/**
 * struct vnet_buf - a frame that was read
 * @data:	with its header, for which it is aligned
 */
struct vnet_buf {
	uint8_t data[VNET_BUF_SIZE] __attribute__((aligned(8)));
};

struct vnet;

/**
 * struct vnet_ops - how a kind of descriptor is read and written
 * @recv:	read up to %VNET_RECV_MAX frames with their headers into @rx, their bytes
 *		into @rx_len; 0 for one that is to be dropped.  Returns their number or
 *		-errno
 * @send:	write messages of @tx from message @first on, in order.  Returns how many
 *		the kernel took, 1 at least, or -errno of message @first
 */
struct vnet_ops {
	int (*recv)(struct vnet *vnet);
	int (*send)(struct vnet *vnet, unsigned int first);
};

/**
 * struct vnet - an uplink of this sort
 * @uplink:	what all kinds have
 * @lfd:	descriptor
 * @port:	port of the switch
 * @name:	of the interface
 * @ops:	of its kind
 * @limit:	of messages
 * @rx:		frames that were read
 * @rx_len:	bytes of each
 * @tx:		frames that are to be written
 * @alone:	a frame that is written alone, as the kernel does not take its message
 */
struct vnet {
	struct uplink uplink;
	struct loop_fd lfd;
	struct switch_port port;
	char name[IFNAMSIZ];
	const struct vnet_ops *ops;
	struct log_limit limit;
	struct vnet_buf rx[VNET_RECV_MAX];
	size_t rx_len[VNET_RECV_MAX];
	struct batch tx;
	struct vnet_buf alone;
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

/** vnet_write() - write @len bytes of @data; 0 or -errno */
int vnet_write(const struct vnet *vnet, const void *data, size_t len);

/**
 * vnet_start() - connect to the switch
 * @vnet:	with @ops filled in
 *
 * Return: the uplink; or NULL with errno set after an error was printed, and
 *	   @vnet is freed.
 */
struct uplink *vnet_start(struct vnet *vnet);

/** vnet_free() - end an uplink that was started */
void vnet_free(struct uplink *uplink);

#endif /* DEVICE_UPLINK_VNET_H */
