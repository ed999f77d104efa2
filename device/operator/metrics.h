/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The command "metrics".
 */
#ifndef DEVICE_OPERATOR_METRICS_H
#define DEVICE_OPERATOR_METRICS_H

#include "operator/commands.h"

/** metric_type() - begin with a metric: its name, which is of the daemon, and its kind */
void metric_type(FILE *out, const char *name, bool gauge);

/** metric_name() - begin with a sample of it */
void metric_name(FILE *out, const char *name, bool gauge);

/** metric_label() - write the value of a label */
void metric_label(FILE *out, const char *text);

/**
 * operator_metrics() - counters, states, and QPs by state, as OpenMetrics text
 * @op:		the ports that there are
 * @out:	where it goes, behind the line "ok"
 *
 * There is nothing about each single QP, because a guest could make as many time series
 * as it likes.
 */
void operator_metrics(const struct operator *op, FILE *out);

#endif /* DEVICE_OPERATOR_METRICS_H */
