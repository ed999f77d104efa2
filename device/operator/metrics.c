// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command "metrics".
 */

#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "operator/counters.h"
#include "operator/metrics.h"
#include "rdma/view.h"

#define PREFIX	"vhost_user_roce_"

/* As many as there are states, and one that is not known. */
#define STATES	8

void metric_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

void metric_type(FILE *out, const char *name, bool gauge)
{
	fprintf(out, "# TYPE " PREFIX "%s %s\n", name, gauge ? "gauge" : "counter");
}

void metric_name(FILE *out, const char *name, bool gauge)
{
	fprintf(out, PREFIX "%s%s", name, gauge ? "" : "_total");
}

/* The beginning of a sample, up to its last label. */
static void sample_print(const struct operator *op, const struct operator_port *port,
			 const char *name, bool gauge, FILE *out)
{
	metric_name(out, name, gauge);
	fprintf(out, "{port=\"");
	metric_label(out, operator_port_name(op, port));
	fprintf(out, "\",kind=\"%s\"", operator_port_kind(port));
}

static void counter_print(const struct operator *op, const struct counter_set *set,
			  const struct counter *counter, FILE *out)
{
	const struct operator_port *port = op->port;
	const void *values;
	unsigned int i;

	metric_type(out, counter->name, counter->gauge);
	for (i = 0; i < op->ports; i++, port++) {
		values = set->of(port);
		if (!values)
			continue;
		sample_print(op, port, counter->name, counter->gauge, out);
		fprintf(out, "} %" PRIu64 "\n", counter_value(counter, values));
	}
}

static bool guest_is_up(const struct function *fn)
{
	return function_connected(fn) && function_link(fn);
}

static void guests_print(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	unsigned int i;

	metric_type(out, "guest_up", true);
	for (i = 0; i < op->ports; i++, port++) {
		if (!port->fn)
			continue;
		sample_print(op, port, "guest_up", true, out);
		fprintf(out, "} %d\n", guest_is_up(port->fn));
	}
}

/* Counts the QPs of a guest by state, of which there are few. */
static void qps_print(const struct operator *op, const struct operator_port *port,
		      FILE *out)
{
	const char *state[STATES] = { NULL };
	uint64_t count[STATES] = { 0 };
	struct qp_view qp;
	unsigned int i;
	uint32_t qpn;

	for (qpn = 0; rnic_view_next(function_rnic(port->fn), qpn, &qp);
	     qpn = qp.qpn + 1) {
		for (i = 0; i < STATES - 1; i++)
			if (!state[i] || !strcmp(state[i], qp.state))
				break;
		state[i] = qp.state;
		count[i]++;
	}
	for (i = 0; i < STATES && state[i]; i++) {
		sample_print(op, port, "qps", true, out);
		fprintf(out, ",state=\"%s\"} %" PRIu64 "\n", state[i], count[i]);
	}
}

void operator_metrics(const struct operator *op, FILE *out)
{
	const struct counter_set *set;
	const struct counter *counter;
	unsigned int i;

	fprintf(out, "ok\n");
	for (set = counter_sets; set->counter; set++)
		for (counter = set->counter; counter->name; counter++)
			counter_print(op, set, counter, out);
	guests_print(op, out);
	metric_type(out, "qps", true);
	for (i = 0; i < op->ports; i++)
		if (op->port[i].fn)
			qps_print(op, &op->port[i], out);
	if (op->metrics)
		op->metrics(op->targets_arg, out);
	fprintf(out, "# EOF\n");
}
