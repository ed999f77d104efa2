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

static void label_print(const char *text, FILE *out)
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

/* The beginning of a sample, up to its last label. */
static void sample_print(const struct operator *op, const struct operator_port *port,
			 const char *name, const char *suffix, FILE *out)
{
	fprintf(out, PREFIX "%s%s{port=\"", name, suffix);
	label_print(operator_port_name(op, port), out);
	fprintf(out, "\",kind=\"%s\"", operator_port_kind(port));
}

static void counter_print(const struct operator *op, const struct counter_set *set,
			  const struct counter *counter, FILE *out)
{
	const struct operator_port *port = op->port;
	const void *values;
	unsigned int i;

	fprintf(out, "# TYPE " PREFIX "%s %s\n", counter->name,
		counter->gauge ? "gauge" : "counter");
	for (i = 0; i < op->ports; i++, port++) {
		values = set->of(port);
		if (!values)
			continue;
		sample_print(op, port, counter->name,
			     counter->gauge ? "" : "_total", out);
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

	fprintf(out, "# TYPE " PREFIX "guest_up gauge\n");
	for (i = 0; i < op->ports; i++, port++) {
		if (!port->fn)
			continue;
		sample_print(op, port, "guest_up", "", out);
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
		sample_print(op, port, "qps", "", out);
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
	fprintf(out, "# TYPE " PREFIX "qps gauge\n");
	for (i = 0; i < op->ports; i++)
		if (op->port[i].fn)
			qps_print(op, &op->port[i], out);
	fprintf(out, "# EOF\n");
}
