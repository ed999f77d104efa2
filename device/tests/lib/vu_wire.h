/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * QEMU's side of a vhost-user socket, for tests: bytes with descriptors.
 */
#ifndef DEVICE_TESTS_VU_WIRE_H
#define DEVICE_TESTS_VU_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#define VU_WIRE_FDS_MAX	64

/**
 * vu_wire_send() - send bytes, descriptors with the first of them
 * @sock:	socket
 * @data:	bytes
 * @len:	their number
 * @fd:		descriptors
 * @fds:	their number, up to VU_WIRE_FDS_MAX
 * @flags:	of sendmsg()
 *
 * Return: true if all of it was sent.
 */
bool vu_wire_send(int sock, const void *data, size_t len, const int *fd,
		  unsigned int fds, int flags);

#endif /* DEVICE_TESTS_VU_WIRE_H */
