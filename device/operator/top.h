/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The view of what is going on: two answers of the daemon, one some time after the other, as rates.
 */
#ifndef DEVICE_OPERATOR_TOP_H
#define DEVICE_OPERATOR_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/**
 * struct table - a table of texts
 * @columns:	their names
 * @width:	number of columns
 * @rows:	each has @width texts, NULL where there is none
 * @n:		number of rows
 */
struct table {
	char **columns;
	size_t width;
	char ***rows;
	size_t n;
};

/** table_read() - a table whose first line has the names of its columns */
struct table *table_read(FILE *answer);

/** table_read_stats() - the answer to "stats": a row for each port, "name" its first */
struct table *table_read_stats(FILE *answer);

/** table_free() - free a table, or nothing */
void table_free(struct table *table);

/** table_get() - a text, "" if there is none */
const char *table_get(const struct table *table, size_t row, const char *column);

/**
 * struct top - two answers
 * @ports:	"stats", before and after
 * @qps:	"qps", likewise
 * @seconds:	between them
 */
struct top {
	struct table *ports[2];
	struct table *qps[2];
	double seconds;
};

/**
 * top_print() - for people: the ports, then the QPs, the busiest first
 * @top:	what was seen; its tables are sorted
 * @lines:	how many lines there is room for; 0 if it does not matter
 * @out:	where it goes
 */
void top_print(struct top *top, unsigned int lines, FILE *out);

/** top_json() - the same for programs, all of it */
void top_json(struct top *top, FILE *out);

#endif /* DEVICE_OPERATOR_TOP_H */
