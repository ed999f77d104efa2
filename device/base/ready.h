/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tells a service manager that the daemon serves: sd_notify(3).
 */
#ifndef DEVICE_READY_H
#define DEVICE_READY_H

/**
 * ready_open() - connects to the service manager that waits, by $NOTIFY_SOCKET
 *
 * Call this before the sandbox is entered, because its socket cannot be reached from there.
 *
 * Return: what ready_tell() takes, or -1 if nobody waits.
 */
int ready_open(void);

/**
 * ready_tell() - tells that the daemon serves
 * @fd:		result of ready_open(), which is closed
 * @status:	one line, shown to the operator
 */
void ready_tell(int fd, const char *status);

#endif /* DEVICE_READY_H */
