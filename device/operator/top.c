// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The view of what is going on: two answers of the daemon, one some time after the other, as rates.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "operator/json.h"
#include "operator/top.h"

/* ------------------------------------------------------------------------- */
/* Tables                                                                    */
/* ------------------------------------------------------------------------- */

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static size_t table_column(const struct table *table, const char *name)
{
	size_t i;

	for (i = 0; i < table->width; i++)
		if (!strcmp(table->columns[i], name))
			break;
	return i;
}

const char *table_get(const struct table *table, size_t row, const char *column)
{
	size_t i = table_column(table, column);

	return i < table->width && table->rows[row][i] ? table->rows[row][i] : "";
}

static void table_add_column(struct table *table, const char *name)
{
	size_t i;

	table->columns = must(reallocarray(table->columns, table->width + 1,
					   sizeof(*table->columns)));
	table->columns[table->width] = must(strdup(name));
	for (i = 0; i < table->n; i++) {
		table->rows[i] = must(reallocarray(table->rows[i], table->width + 1,
						   sizeof(**table->rows)));
		table->rows[i][table->width] = NULL;
	}
	table->width++;
}

static char **table_add_row(struct table *table)
{
	table->rows = must(reallocarray(table->rows, table->n + 1,
					sizeof(*table->rows)));
	table->rows[table->n] = must(calloc(table->width + 1, sizeof(**table->rows)));
	return table->rows[table->n++];
}

struct table *table_read(FILE *answer)
{
	struct table *table = must(calloc(1, sizeof(*table)));
	char *line = NULL, *rest, *text, **row;
	size_t size = 0, i;

	if (getline(&line, &size, answer) > 0)
		for (rest = line; (text = strsep(&rest, "\t\n")) && *text;)
			table_add_column(table, text);
	while (table->width && getline(&line, &size, answer) > 0) {
		row = table_add_row(table);
		rest = line;
		for (i = 0; i < table->width; i++) {
			text = strsep(&rest, "\t\n");
			row[i] = text ? must(strdup(text)) : NULL;
		}
	}
	free(line);
	return table;
}

static void table_set(struct table *table, size_t row, const char *column,
		      const char *text)
{
	size_t i = table_column(table, column);

	if (i == table->width)
		table_add_column(table, column);
	free(table->rows[row][i]);
	table->rows[row][i] = must(strdup(text));
}

struct table *table_read_stats(FILE *answer)
{
	struct table *table = must(calloc(1, sizeof(*table)));
	char *line = NULL, *rest, *name, *kind, *counter, *value;
	size_t size = 0;

	table_add_column(table, "name");
	while (getline(&line, &size, answer) > 0) {
		rest = line;
		name = strsep(&rest, "\t\n");
		kind = strsep(&rest, "\t\n");
		counter = strsep(&rest, "\t\n");
		value = strsep(&rest, "\t\n");
		if (!value)
			break;
		/* Those of a port stand together. */
		if (!table->n || strcmp(table_get(table, table->n - 1, "name"), name)) {
			table_add_row(table);
			table_set(table, table->n - 1, "name", name);
			table_set(table, table->n - 1, "kind", kind);
		}
		table_set(table, table->n - 1, counter, value);
	}
	free(line);
	return table;
}

void table_free(struct table *table)
{
	size_t i, j;

	if (!table)
		return;
	for (i = 0; i < table->n; i++) {
		for (j = 0; j < table->width; j++)
			free(table->rows[i][j]);
		free(table->rows[i]);
	}
	for (j = 0; j < table->width; j++)
		free(table->columns[j]);
	free(table->rows);
	free(table->columns);
	free(table);
}

/* ------------------------------------------------------------------------- */
/* Rates                                                                     */
/* ------------------------------------------------------------------------- */

/**
 * struct measure - what is shown of counters
 * @title:	for people
 * @name:	for programs
 * @counters:	they are added up; to the one that is NULL
 * @rate:	per second; else what was added meanwhile
 */
struct measure {
	const char *title;
	const char *name;
	const char *counters[10];
	bool rate;
};

static const struct measure port_measures[] = {
	{ "IN B/s", "in_bytes_per_second", { "port_in_bytes" }, true },
	{ "OUT B/s", "out_bytes_per_second", { "port_out_bytes" }, true },
	{ "RDMA SENT", "sent_bytes_per_second", { "sent_bytes" }, true },
	{ "RDMA RCVD", "rcvd_bytes_per_second", { "rcvd_bytes" }, true },
	{ "OPS/s", "operations_per_second",
	  { "rdma_sends", "rdma_writes", "rdma_reads", "rdma_recvs" }, true },
	{ "RETRIES", "retries", { "completer_retry_err" }, false },
	{ "DROPS", "drops",
	  { "port_cut", "port_spoofed", "port_unfinished", "eth_tx_dropped",
	    "eth_rx_dropped", "tx_dropped", "rx_dropped", "rcvd_dropped",
	    "sent_dropped" }, false },
};

static const struct measure qp_measures[] = {
	{ "SENT B/s", "sent_bytes_per_second", { "sent_bytes" }, true },
	{ "RCVD B/s", "rcvd_bytes_per_second", { "rcvd_bytes" }, true },
	{ "OPS/s", "operations_per_second",
	  { "rdma_sends", "rdma_writes", "rdma_reads", "rdma_recvs" }, true },
	{ "RETRIES", "retries", { "completer_retry_err" }, false },
	{ "NOT READY", "not_ready", { "rcvd_rnr_err" }, false },
	{ "DROPS", "drops", { "sent_dropped" }, false },
};

#define MEASURES	8

_Static_assert(ARRAY_SIZE(port_measures) <= MEASURES &&
	       ARRAY_SIZE(qp_measures) <= MEASURES, "no room for a measure");

/**
 * struct shown - a row and what was measured
 * @row:	of the table after
 * @value:	of each measure
 * @activity:	what rows are ordered by
 */
struct shown {
	size_t row;
	double value[MEASURES];
	double activity;
};

static double table_number(const struct table *table, size_t row, const char *column)
{
	return strtod(table_get(table, row, column), NULL);
}

/* The count from before something was made, or the daemon started again, is 0. */
static double measure(const struct measure *m, const struct table *now, size_t row,
		      const struct table *old, size_t old_row, double seconds)
{
	double sum = 0, a, b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(m->counters) && m->counters[i]; i++) {
		a = table_number(now, row, m->counters[i]);
		b = old_row < old->n ? table_number(old, old_row, m->counters[i]) : 0;
		sum += a < b ? a : a - b;
	}
	return m->rate ? sum / seconds : sum;
}

/* Names first, numbers as such: what tells a row from all others. */
static int key_compare(const struct table *a, size_t i, const struct table *b, size_t j)
{
	double x = table_number(a, i, "qpn"), y = table_number(b, j, "qpn");
	const char *key = table_column(a, "guest") < a->width ? "guest" : "name";
	int ret = strcmp(table_get(a, i, key), table_get(b, j, key));

	return ret ? ret : (x > y) - (x < y);
}

static int row_compare(const void *a, const void *b, void *arg)
{
	const struct table *table = arg;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;

	return key_compare(table, i, table, j);
}

static void table_sort(struct table *table)
{
	size_t *order = must(calloc(table->n + 1, sizeof(*order))), i;
	char ***rows = must(calloc(table->n + 1, sizeof(*rows)));

	for (i = 0; i < table->n; i++)
		order[i] = i;
	qsort_r(order, table->n, sizeof(*order), row_compare, table);
	for (i = 0; i < table->n; i++)
		rows[i] = table->rows[order[i]];
	free(table->rows);
	free(order);
	table->rows = rows;
}

static int activity_compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->activity != y->activity)
		return x->activity < y->activity ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The rows of @pair[1] as they are to be shown; to be freed. */
static struct shown *measure_all(struct table **pair, const struct measure *measures,
				 size_t n, double seconds)
{
	struct table *old = pair[0], *now = pair[1];
	struct shown *shown = must(calloc(now->n + 1, sizeof(*shown)));
	size_t i, j = 0, k, match;

	table_sort(old);
	table_sort(now);
	for (i = 0; i < now->n; i++) {
		while (j < old->n && key_compare(old, j, now, i) < 0)
			j++;
		match = j < old->n && !key_compare(old, j, now, i) ? j : old->n;
		shown[i].row = i;
		for (k = 0; k < n; k++) {
			shown[i].value[k] = measure(&measures[k], now, i, old, match,
						    seconds);
			shown[i].activity += shown[i].value[k];
		}
		/* Of those that do nothing, those that wait come first. */
		if (*table_get(now, i, "waits") && strcmp(table_get(now, i, "waits"), "-"))
			shown[i].activity += 0.5;
	}
	return shown;
}

/* ------------------------------------------------------------------------- */
/* For people                                                                */
/* ------------------------------------------------------------------------- */

static void number_print(double value, FILE *out)
{
	static const char units[] = " kMGT";
	unsigned int i = 0;

	while (value >= 9999.5 && i < 4) {
		value /= 1000;
		i++;
	}
	if (i)
		fprintf(out, " %8.1f%c", value, units[i]);
	else
		fprintf(out, " %9.0f", value);
}

static void titles_print(const struct measure *m, size_t n, FILE *out)
{
	for (; n--; m++)
		fprintf(out, " %9s", m->title);
}

static void values_print(const struct shown *shown, size_t n, FILE *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		number_print(shown->value[i], out);
}

static void qp_name(const struct table *qps, size_t row, bool peer, char *name, size_t size)
{
	const char *guest = table_get(qps, row, peer ? "peer" : "guest");

	if (peer && !strcmp(guest, "-"))
		guest = table_get(qps, row, "peer_gid");
	if (strcmp(guest, "-"))
		snprintf(name, size, "%s:%s", guest,
			 table_get(qps, row, peer ? "peer_qpn" : "qpn"));
	else
		snprintf(name, size, "-");
}

static void qp_print(const struct table *qps, const struct shown *shown, FILE *out)
{
	char name[64], peer[64];
	size_t row = shown->row;

	qp_name(qps, row, false, name, sizeof(name));
	qp_name(qps, row, true, peer, sizeof(peer));
	fprintf(out, "%-18s %-4s %-5s %-18s %5s", name, table_get(qps, row, "type"),
		table_get(qps, row, "state"), peer, table_get(qps, row, "requests"));
	values_print(shown, ARRAY_SIZE(qp_measures), out);
	fprintf(out, "  %s\n", table_get(qps, row, "waits"));
}

void top_print(struct top *top, unsigned int lines, FILE *out)
{
	const struct table *ports = top->ports[1], *qps = top->qps[1];
	struct shown *port, *qp;
	size_t i;

	port = measure_all(top->ports, port_measures, ARRAY_SIZE(port_measures),
			   top->seconds);
	qp = measure_all(top->qps, qp_measures, ARRAY_SIZE(qp_measures), top->seconds);
	qsort(qp, qps->n, sizeof(*qp), activity_compare);
	fprintf(out, "%-18s %-6s", "PORT", "KIND");
	titles_print(port_measures, ARRAY_SIZE(port_measures), out);
	fprintf(out, "\n");
	for (i = 0; i < ports->n; i++) {
		fprintf(out, "%-18s %-6s", table_get(ports, i, "name"),
			table_get(ports, i, "kind"));
		values_print(&port[i], ARRAY_SIZE(port_measures), out);
		fprintf(out, "\n");
	}
	fprintf(out, "\n%-18s %-4s %-5s %-18s %5s", "QP", "TYPE", "STATE", "PEER", "REQS");
	titles_print(qp_measures, ARRAY_SIZE(qp_measures), out);
	fprintf(out, "  WAITS FOR\n");
	for (i = 0; i < qps->n && (!lines || ports->n + 4 + i < lines); i++)
		qp_print(qps, &qp[i], out);
	free(port);
	free(qp);
}

/* ------------------------------------------------------------------------- */
/* For programs                                                              */
/* ------------------------------------------------------------------------- */

static void rows_json(const struct table *table, const char *const *columns,
		      const struct shown *shown, const struct measure *m, size_t n,
		      FILE *out)
{
	const char *const *column;
	size_t i, k;

	fprintf(out, "[");
	for (i = 0; i < table->n; i++) {
		fprintf(out, "%s\n    {", i ? "," : "");
		for (column = columns; *column; column++) {
			fprintf(out, "%s\"%s\": ", column == columns ? "" : ", ", *column);
			json_value(*column, table_get(table, i, *column), out);
		}
		for (k = 0; k < n; k++)
			fprintf(out, ", \"%s\": %.*f", m[k].name, m[k].rate ? 1 : 0,
				shown[i].value[k]);
		fprintf(out, "}");
	}
	fprintf(out, "\n  ]");
}

void top_json(struct top *top, FILE *out)
{
	static const char *const port_columns[] = { "name", "kind", NULL };
	static const char *const qp_columns[] = {
		"guest", "qpn", "type", "state", "waits", "peer", "peer_gid",
		"peer_qpn", "requests", NULL
	};
	struct shown *port, *qp;

	port = measure_all(top->ports, port_measures, ARRAY_SIZE(port_measures),
			   top->seconds);
	qp = measure_all(top->qps, qp_measures, ARRAY_SIZE(qp_measures), top->seconds);
	fprintf(out, "{\n  \"seconds\": %.3f,\n  \"ports\": ", top->seconds);
	rows_json(top->ports[1], port_columns, port, port_measures,
		  ARRAY_SIZE(port_measures), out);
	fprintf(out, ",\n  \"qps\": ");
	rows_json(top->qps[1], qp_columns, qp, qp_measures, ARRAY_SIZE(qp_measures), out);
	fprintf(out, "\n}\n");
	free(port);
	free(qp);
}
