/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Guests and uplinks that are added and removed.  Part of vhost-user-roce-ctl, which tells
 * what is wrong on standard error.
 */
#ifndef DEVICE_OPERATOR_OPEN_PORT_H
#define DEVICE_OPERATOR_OPEN_PORT_H

/**
 * hand_guest() - make a socket for a guest and hand it to the daemon
 * @control:	control socket
 * @text:	PATH[,mac=MAC][,gid=ADDRESS]...
 *
 * Return: exit status.
 */
int hand_guest(const char *control, const char *text);

/** hand_uplink() - the same of an uplink, SCHEME:ARGUMENT */
int hand_uplink(const char *control, const char *text);

/** hand_remove_guest() - have the daemon remove a guest, and remove its socket's name */
int hand_remove_guest(const char *control, const char *name);

/** hand_remove_uplink() - the same of an uplink */
int hand_remove_uplink(const char *control, const char *name);

#endif /* DEVICE_OPERATOR_OPEN_PORT_H */
