/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Output of targets and namespaces for an operator: lines, and metrics.
 */
#ifndef DEVICE_TARGETS_PRINT_H
#define DEVICE_TARGETS_PRINT_H

#include <stdio.h>

/** targets_print() - a line for each address, after one that names the columns */
void targets_print(const void *targets, FILE *out);

/** targets_metrics() - OpenMetrics text of targets, namespaces and the storage process */
void targets_metrics(const void *targets, FILE *out);

#endif /* DEVICE_TARGETS_PRINT_H */
