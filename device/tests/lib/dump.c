// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writes what an engine's guests say and hear, for tests/spec/decode.py.
 *
 * With EG_DUMP=FILE in the environment each command, slot, completion and event becomes a
 * line: guest, kind, number, and hexadecimal words.
 */
#include "tests/lib/engine_guest.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *dump_file;

static void dump_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t i;

	fputs(len ? " " : " -", dump_file);
	for (i = 0; i < len; i++)
		fprintf(dump_file, "%02x", p[i]);
}

static void dump(const struct eg_guest *guest, const char *kind, uint32_t number,
		 const void *data, size_t len, const void *more, size_t more_len)
{
	fprintf(dump_file, "%u %s %u", guest->number, kind, number);
	dump_bytes(data, len);
	dump_bytes(more, more_len);
	fputc('\n', dump_file);
}

__attribute__((constructor))
static void dump_begin(void)
{
	const char *path = getenv("EG_DUMP");

	if (!path)
		return;
	dump_file = fopen(path, "a");
	if (!dump_file)
		abort();
	/* A test that fails in between leaves whole lines. */
	setlinebuf(dump_file);
	eg_dump = dump;
}
