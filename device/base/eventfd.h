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

/**
 * eventfd_tick_begin() - from now on a system call that blocks is interrupted
 *
 * It fails with EINTR then, within two ticks of 20 ms.  For descriptors whose open file the
 * other side has, too.
 */
void eventfd_tick_begin(void);

/** eventfd_tick_end() - system calls may block again */
void eventfd_tick_end(void);

#endif /* DEVICE_EVENTFD_H */
