// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzer: what a process hands over, changed, to the one that takes over.
 *
 * The states of a process and of its guests' functions are saved once (tests/lib/handed.h).  An
 * input is
 *
 *	how	1 byte: bit 0, as from a service manager, when nobody goes on if this fails;
 *		bit 1, states of functions come in parts, of which the heads are changed, too
 *
 * and a list of changes:
 *
 *	offset	2 bytes
 *	length	1 byte; 254 puts a descriptor in the place of another one, their numbers behind
 *		it; 255 cuts the states off there
 *	bytes	so many
 *
 * What is loaded serves for a moment.  Then nothing of it is left, as of what is refused.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/lib/handed.h"

#define LENIENT		1u
#define PIPED		2u

#define SWAP		254u
#define CUT		255u

/* Descriptors are looked for among the first ones. */
#define FDS_WATCHED	256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int open_fds(void)
{
	struct pollfd fd[FDS_WATCHED];
	unsigned int i, n = 0;

	for (i = 0; i < FDS_WATCHED; i++)
		fd[i] = (struct pollfd){ .fd = i };
	poll(fd, FDS_WATCHED, 0);
	for (i = 0; i < FDS_WATCHED; i++)
		n += fd[i].revents != POLLNVAL;
	return n;
}

static size_t change(struct fuzz_input *in, uint8_t *data, const size_t all, int *fd)
{
	size_t size = all, at, n, i;
	unsigned int to;

	while (in->size > 2) {
		at = fuzz_u16(in) % all;
		n = fuzz_u8(in);
		if (n == CUT) {
			size = at;
		} else if (n == SWAP) {
			to = fuzz_u8(in) % handed.fds;
			fd[to] = handed.fd[fuzz_u8(in) % handed.fds];
		}
		for (i = 0; n < SWAP && i < n && in->size && at + i < all; i++)
			data[at + i] = fuzz_u8(in);
	}
	return size;
}

/* The sections of the process end where it was cut off. */
static void cut(uint8_t *data, size_t size)
{
	const uint64_t length = htole64(size - sizeof(struct state_header));

	if (size >= sizeof(struct state_header) && size < handed.process)
		memcpy(data + offsetof(struct state_header, length), &length, sizeof(length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int was[HANDED_FDS], fd[HANDED_FDS];
	struct fuzz_input in = { data, size };
	static char why[300];
	static bool begun;
	unsigned int fds;
	uint8_t *copy, how;
	size_t all;
	int err;

	if (!begun) {
		begun = true;
		log_set_level(LOG_LEVEL_ERROR);
		handed_begin();
		atexit(handed_end);
		memcpy(was, handed.fd, sizeof(was));
	}
	/* libFuzzer opens some now and then. */
	fds = open_fds();
	how = fuzz_u8(&in);
	all = how & PIPED ? handed.piped_size : handed.size;
	/* In a block of its size, so that reading past it is caught. */
	copy = malloc(all);
	memcpy(copy, how & PIPED ? handed.piped : handed.data, all);
	memcpy(fd, was, sizeof(fd));
	size = change(&in, copy, all, fd);
	cut(copy, size);
	memcpy(handed.fd, fd, sizeof(fd));
	log_catch(why, sizeof(why));
	err = how & PIPED ? handed_load_piped(copy, size) :
			    handed_load(copy, size, how & LENIENT);
	if (!err)
		handed_go_on();
	handed_stop();
	log_catch(NULL, 0);
	memcpy(handed.fd, was, sizeof(was));
	free(copy);
	if (open_fds() == fds)
		return 0;
	fprintf(stderr, "%u descriptors were open, and there are %u\n", fds, open_fds());
	abort();
}
