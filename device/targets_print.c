// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Output of targets and namespaces for an operator: lines, and metrics.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stddef.h>

#include "base/util.h"
#include "operator/counters.h"
#include "operator/metrics.h"
#include "targets.h"
#include "targets_print.h"

#define COUNTER(what, name)	{ #name, offsetof(struct what, name), false }
#define GAUGE(what, name)	{ #name, offsetof(struct what, name), true }

static const struct counter target_counters[] = {
	GAUGE(nvmf_counters, controllers),
	GAUGE(nvmf_counters, queues),
	COUNTER(nvmf_counters, connects),
	COUNTER(nvmf_counters, refused),
	COUNTER(nvmf_counters, read),
	COUNTER(nvmf_counters, written),
	COUNTER(nvmf_counters, other),
	COUNTER(nvmf_counters, read_bytes),
	COUNTER(nvmf_counters, written_bytes),
	COUNTER(nvmf_counters, errors),
	COUNTER(nvmf_counters, waits),
	COUNTER(nvmf_counters, expired),
};

static const struct counter ns_counters[] = {
	COUNTER(ns_counters, read),
	COUNTER(ns_counters, written),
	COUNTER(ns_counters, other),
	COUNTER(ns_counters, read_bytes),
	COUNTER(ns_counters, written_bytes),
	COUNTER(ns_counters, errors),
};

static const struct counter process_counters[] = {
	COUNTER(storage_counters, requests),
	COUNTER(storage_counters, errors),
	COUNTER(storage_counters, wakes),
	COUNTER(storage_counters, deaths),
};

static void address_print(const struct targets *targets, unsigned int n, unsigned int i,
			  FILE *out)
{
	const uint8_t *gid = targets->options->target[n].gid[i];
	char addr[INET6_ADDRSTRLEN];

	if (gid_is_ipv4(gid))
		inet_ntop(AF_INET, gid + GID_IPV4, addr, sizeof(addr));
	else
		inet_ntop(AF_INET6, gid, addr, sizeof(addr));
	fputs(addr, out);
}

/* ------------------------------------------------------------------------- */
/* Lines                                                                     */
/* ------------------------------------------------------------------------- */

static void line_print(const struct targets *targets, unsigned int n, unsigned int i,
		       FILE *out)
{
	const struct nvmf_counters *values = node_target_counters(targets->target[n], i);
	unsigned int j;

	fprintf(out, "%s\t", targets->options->target[n].nqn);
	address_print(targets, n, i, out);
	fprintf(out, "\t%u", node_target_conns(targets->target[n]));
	for (j = 0; j < ARRAY_SIZE(target_counters); j++)
		fprintf(out, "\t%" PRIu64, counter_value(&target_counters[j], values));
	fprintf(out, "\n");
}

void targets_print(const void *arg, FILE *out)
{
	const struct targets *targets = arg;
	unsigned int i, n;

	fprintf(out, "nqn\taddress\tconnections");
	for (i = 0; i < ARRAY_SIZE(target_counters); i++)
		fprintf(out, "\t%s", target_counters[i].name);
	fprintf(out, "\n");
	for (n = 0; n < targets->n; n++)
		for (i = 0; i < targets->options->target[n].gids; i++)
			line_print(targets, n, i, out);
}

/* ------------------------------------------------------------------------- */
/* Metrics                                                                   */
/* ------------------------------------------------------------------------- */

/* The name of a counter that belongs to such an object, in @name. */
static const char *full_name(char *name, size_t size, const char *of,
			     const struct counter *counter)
{
	snprintf(name, size, "%s_%s", of, counter->name);
	return name;
}

static void target_metric(const struct targets *targets, const struct counter *counter,
			  FILE *out)
{
	char text[64];
	const char *name = full_name(text, sizeof(text), "target", counter);
	unsigned int i, n;

	metric_type(out, name, counter->gauge);
	for (n = 0; n < targets->n; n++)
		for (i = 0; i < targets->options->target[n].gids; i++) {
			metric_name(out, name, counter->gauge);
			fprintf(out, "{nqn=\"");
			metric_label(out, targets->options->target[n].nqn);
			fprintf(out, "\",address=\"");
			address_print(targets, n, i, out);
			fprintf(out, "\"} %" PRIu64 "\n",
				counter_value(counter,
					      node_target_counters(targets->target[n], i)));
		}
}

static void ns_metric(const struct storage *storage, const struct counter *counter, FILE *out)
{
	char text[64];
	const char *name = full_name(text, sizeof(text), "namespace", counter);
	const struct ns *ns;
	unsigned int i;

	metric_type(out, name, false);
	for (i = 0; (ns = storage_ns(storage, i)); i++) {
		metric_name(out, name, false);
		fprintf(out, "{namespace=\"");
		metric_label(out, ns->name);
		fprintf(out, "\"} %" PRIu64 "\n", counter_value(counter, &ns->count));
	}
}

static void process_metric(const struct storage *storage, const struct counter *counter,
			   FILE *out)
{
	char text[64];
	const char *name = full_name(text, sizeof(text), "storage", counter);

	metric_type(out, name, false);
	metric_name(out, name, false);
	fprintf(out, " %" PRIu64 "\n", counter_value(counter, storage_counters(storage)));
}

void targets_metrics(const void *arg, FILE *out)
{
	const struct targets *targets = arg;
	unsigned int i;

	if (!targets->storage)
		return;
	for (i = 0; i < ARRAY_SIZE(target_counters); i++)
		target_metric(targets, &target_counters[i], out);
	for (i = 0; i < ARRAY_SIZE(ns_counters); i++)
		ns_metric(targets->storage, &ns_counters[i], out);
	for (i = 0; i < ARRAY_SIZE(process_counters); i++)
		process_metric(targets->storage, &process_counters[i], out);
}
