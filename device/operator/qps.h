/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command "qps".
 */
#ifndef DEVICE_OPERATOR_QPS_H
#define DEVICE_OPERATOR_QPS_H

#include "operator/commands.h"

/**
 * operator_qps() - all QPs of all guests
 * @op:		the ports that there are
 * @out:	where they go: the names of the columns, then a line for each
 *
 * A later version may have more columns behind those of this one.
 */
void operator_qps(const struct operator *op, FILE *out);

#endif /* DEVICE_OPERATOR_QPS_H */
