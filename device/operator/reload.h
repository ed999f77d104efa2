/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command "reload" of vhost-user-roce-ctl, which tells what is wrong on standard error.
 */
#ifndef DEVICE_OPERATOR_RELOAD_H
#define DEVICE_OPERATOR_RELOAD_H

/**
 * reload() - have the daemon serve the guests of its options
 * @control:	control socket
 * @words:	the daemon's options, ended by NULL; of others than --socket nothing is taken
 *
 * Return: exit status.
 */
int reload(const char *control, char **words);

#endif /* DEVICE_OPERATOR_RELOAD_H */
