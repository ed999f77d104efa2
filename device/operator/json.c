// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Answers of the daemon as JSON.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "operator/json.h"

void json_string(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || (unsigned char)*text < 32)
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

/* Lines of name, kind, counter and value, those of a port together. */
void json_stats(FILE *answer, FILE *out)
{
	char *field[4], *line = NULL, *last = NULL, *rest;
	size_t size = 0;
	unsigned int i;

	fprintf(out, "{");
	while (getline(&line, &size, answer) > 0) {
		rest = line;
		for (i = 0; i < 4; i++)
			field[i] = strsep(&rest, "\t\n");
		if (!field[3])
			break;
		if (!last || strcmp(last, field[0])) {
			fprintf(out, last ? "\n  },\n  " : "\n  ");
			json_string(field[0], out);
			fprintf(out, ": {\n    \"kind\": ");
			json_string(field[1], out);
			free(last);
			last = strdup(field[0]);
		}
		fprintf(out, ",\n    ");
		json_string(field[2], out);
		fprintf(out, ": %s", field[3]);
	}
	fprintf(out, last ? "\n  }\n}\n" : "}\n");
	free(last);
	free(line);
}

/* A guest may be called by a number. */
static bool json_is_number(const char *name, const char *text)
{
	return strcmp(name, "guest") && strcmp(name, "peer") && strcmp(name, "name") &&
	       *text && strspn(text, "0123456789") == strlen(text);
}

void json_value(const char *name, const char *text, FILE *out)
{
	if (json_is_number(name, text))
		fprintf(out, "%s", text);
	else
		json_string(text, out);
}

static void json_row(const char *names, char *values, FILE *out)
{
	const char *separator = "", *name;
	char *columns = strdup(names), *rest = columns, *value;

	fprintf(out, "{");
	while (columns && (name = strsep(&rest, "\t\n")) && *name &&
	       (value = strsep(&values, "\t\n"))) {
		fprintf(out, "%s", separator);
		json_string(name, out);
		fprintf(out, ": ");
		json_value(name, value, out);
		separator = ", ";
	}
	fprintf(out, "}");
	free(columns);
}

void json_table(FILE *answer, FILE *out)
{
	char *line = NULL, *names = NULL;
	const char *separator = "\n  ";
	size_t size = 0, names_size = 0;

	fprintf(out, "[");
	if (getline(&names, &names_size, answer) > 0)
		while (getline(&line, &size, answer) > 0) {
			fprintf(out, "%s", separator);
			json_row(names, line, out);
			separator = ",\n  ";
		}
	fprintf(out, "\n]\n");
	free(line);
	free(names);
}
