/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Definitions that the daemon and vhost-user-roce-ctl agree on.
 */
#ifndef DEVICE_OPERATOR_LINE_H
#define DEVICE_OPERATOR_LINE_H

/* Longest command, with the line feed that ends it. */
#define OPERATOR_LINE_MAX	4096

#endif /* DEVICE_OPERATOR_LINE_H */
