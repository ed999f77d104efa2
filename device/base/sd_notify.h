/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tells a service manager that the daemon serves: sd_notify(3).
 */
#ifndef DEVICE_SD_NOTIFY_H
#define DEVICE_SD_NOTIFY_H

/**
 * sd_notify_open() - connects to the service manager that waits, by $NOTIFY_SOCKET
 *
 * Call this before the sandbox is entered, because its socket cannot be reached from there.
 *
 * Return: a socket for sd_notify_tell(), or -1 if nobody waits.
 */
int sd_notify_open(void);

/**
 * sd_notify_tell() - tells that the daemon serves
 * @fd:		result of sd_notify_open(), which stays open
 * @status:	one line, shown to the operator
 */
void sd_notify_tell(int fd, const char *status);

#endif /* DEVICE_SD_NOTIFY_H */
