// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/need.h"
#include "tests/lib/pipe_mem.h"

static int mem_put(void *arg, const void *data, size_t n)
{
	struct pipe_mem *mem = arg;

	if (mem->puts && !--mem->puts)
		return -EPIPE;
	if (mem->room - mem->size < n) {
		mem->room = 2 * (mem->room + n);
		mem->data = realloc(mem->data, mem->room);
		need(mem->data);
	}
	memcpy(mem->data + mem->size, data, n);
	mem->size += n;
	return 0;
}

static int mem_get(void *arg, void *data, size_t n)
{
	struct pipe_mem *mem = arg;

	if (mem->size - mem->at < n)
		return -ECONNRESET;
	memcpy(data, mem->data + mem->at, n);
	mem->at += n;
	return 0;
}

void pipe_mem_init(struct pipe_mem *mem, size_t part)
{
	*mem = (struct pipe_mem) {
		.pipe = { .put = mem_put, .get = mem_get, .arg = mem, .part = part },
	};
}

void pipe_mem_free(struct pipe_mem *mem)
{
	free(mem->data);
	mem->data = NULL;
}
