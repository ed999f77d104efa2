/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A pipe for a state that is memory: what was put in is taken out later, by the same process.
 */
#ifndef DEVICE_TESTS_PIPE_MEM_H
#define DEVICE_TESTS_PIPE_MEM_H

#include "state/state_pipe.h"

/**
 * struct pipe_mem - a pipe
 * @pipe:	for state_pipe_write() and state_pipe_read()
 * @data:	all that was put in; may be changed
 * @size:	bytes of it
 * @room:	how many there is room for
 * @at:		bytes that were taken out
 * @puts:	put() fails after so many calls, or 0 for never
 */
struct pipe_mem {
	struct state_pipe pipe;
	uint8_t *data;
	size_t size;
	size_t room;
	size_t at;
	unsigned int puts;
};

/** pipe_mem_init() - an empty pipe of parts of @part bytes; it does not move */
void pipe_mem_init(struct pipe_mem *mem, size_t part);

/** pipe_mem_free() - free what is in it */
void pipe_mem_free(struct pipe_mem *mem);

#endif /* DEVICE_TESTS_PIPE_MEM_H */
