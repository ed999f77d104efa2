/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Answers of the daemon as JSON.
 */
#ifndef DEVICE_OPERATOR_JSON_H
#define DEVICE_OPERATOR_JSON_H

#include <stdio.h>

/** json_string() - a text in quotes */
void json_string(const char *text, FILE *out);

/** json_value() - a field of column @name: a number if it is one, and no name */
void json_value(const char *name, const char *text, FILE *out);

/** json_stats() - the answer to "stats", as an object with an object for each port */
void json_stats(FILE *answer, FILE *out);

/**
 * json_table() - a table whose first line has the names of its columns
 * @answer:	the table, with tabs between its fields
 * @out:	gets an array with an object for each line; what is a number is one
 */
void json_table(FILE *answer, FILE *out);

#endif /* DEVICE_OPERATOR_JSON_H */
