// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The examples of Documentation/spec.rst.  A line has the name, an offset and bytes.
 */
#include "tests/lib/example.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SPEC		"../Documentation/spec.rst"

size_t example(const char *name, void *to, size_t size)
{
	char line[256], what[16], *text;
	unsigned int at, byte, end = 0;
	uint8_t *p = to;
	FILE *file = fopen(SPEC, "r");
	int n;

	assert_non_null(file);
	memset(to, 0, size);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "  %15[a-z_] %4x  %n", what, &at, &n) != 2 ||
		    strcmp(what, name))
			continue;
		for (text = line + n; sscanf(text, " %2x%n", &byte, &n) == 1; text += n) {
			assert_in_range(at, 0, size - 1);
			p[at++] = byte;
		}
		end = at;
	}
	fclose(file);
	if (!end)
		fail_msg("spec.rst has no bytes of \"%s\"", name);
	return end;
}
