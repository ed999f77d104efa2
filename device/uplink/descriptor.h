/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The descriptors that uplinks work with.
 *
 * To make one takes rights that a daemon in its sandbox has not.  So the daemon
 * makes those of its command line before it enters the sandbox, and
 * vhost-user-roce-ctl those that come later.
 */
#ifndef DEVICE_UPLINK_DESCRIPTOR_H
#define DEVICE_UPLINK_DESCRIPTOR_H

#include <stdbool.h>

/**
 * uplink_descriptor() - make the descriptor of an uplink
 * @text:	SCHEME:ARGUMENT, as on the command line
 * @what:	set to what could not be done, if there is an error
 *
 * Return: a descriptor that does not block, or -errno.  If it is a listening socket, the
 *	   caller removes its path if the descriptor finds no use.
 */
int uplink_descriptor(const char *text, const char **what);

/** uplink_descriptor_fits() - can @fd, which others made, be that of uplink @text? */
bool uplink_descriptor_fits(const char *text, int fd);

#endif /* DEVICE_UPLINK_DESCRIPTOR_H */
