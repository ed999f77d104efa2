// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets of other implementations, from files.
 */
#include "tests/lib/golden.h"

#include <stdio.h>
#include <stdlib.h>

struct golden *golden_load(const char *path, unsigned int *n)
{
	struct golden *golden = calloc(GOLDEN_MAX, sizeof(*golden));
	FILE *file = fopen(path, "r");
	unsigned int byte, digit = 0;
	struct golden *g;
	int c;

	assert_non_null(golden);
	assert_non_null(file);
	*n = 0;
	g = golden;
	while ((c = getc(file)) != EOF) {
		if (c == '\n') {
			assert_int_equal(digit, 0);
			(*n)++;
			assert_true(*n < GOLDEN_MAX);
			g = &golden[*n];
			continue;
		}
		ungetc(c, file);
		assert_int_equal(fscanf(file, "%2x", &byte), 1);
		assert_true(g->len < sizeof(g->frame));
		g->frame[g->len++] = byte;
	}
	fclose(file);
	return golden;
}
