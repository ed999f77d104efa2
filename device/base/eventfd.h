/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Signals by eventfd to a process that may want to stop this one.
 */
#ifndef DEVICE_EVENTFD_H
#define DEVICE_EVENTFD_H

/** eventfd_init() - before the first eventfd_send(); returns 0 or a negative error */
int eventfd_init(void);

/**
 * eventfd_send() - add 1 to an eventfd, or to what QEMU uses for one
 * @fd: its descriptor
 *
 * The other side has the same open file.  It can fill the counter and make the write
 * block, also in the moment before it, so O_NONBLOCK is not enough.
 *
 * Return: 0, -EINTR if the write was interrupted because it blocked, or another
 * negative error.
 */
int eventfd_send(int fd);

#endif /* DEVICE_EVENTFD_H */
