/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages from guest A to guest B, all the time, while something happens to the daemon.
 *
 * Each message has its number in its first and last bytes.  So a message that is lost,
 * doubled or overtaken shows, and one whose second half never came shows as well.
 */
#ifndef DEVICE_TESTS_STREAM_H
#define DEVICE_TESTS_STREAM_H

#include "tests/lib/pingpong.h"

/**
 * struct stream - messages from A to B
 * @qp:		ends
 * @at:		memory of the messages of each end
 * @key:	key of that
 * @sent:	send requests so far
 * @done:	of which have completed
 * @posted:	receive requests so far
 * @got:	of which have completed
 * @last:	when something completed last
 * @gap:	longest time without, since stream_again()
 * @control:	control socket of the daemon, or NULL
 * @also:	what the test's guests do besides, in each step; or NULL
 * @looked:	CPU time of this thread when it began to look for the next one, or 0
 */
struct stream {
	struct front_qp qp[2];
	uint64_t at[2];
	uint32_t key[2];
	uint64_t sent;
	uint64_t done;
	uint64_t posted;
	uint64_t got;
	uint64_t last;
	uint64_t gap;
	const char *control;
	void (*also)(void);
	uint64_t looked;
};

extern struct stream stream;

/** stream_open() - connect A and B, the first guests of &pp */
void stream_open(void);

/** stream_again() - the test did other things; messages stand still from now on only */
void stream_again(void);

/** stream_some() - until some more messages have come */
void stream_some(void);

/** stream_until_end() - until a process has ended; returns its exit status */
int stream_until_end(pid_t pid);

/**
 * stream_take_over() - another daemon takes over from that of @control, meanwhile
 * @program:	its path
 *
 * It is tried again if that took so long that the daemon has gone on itself.
 */
void stream_take_over(const char *program);

/** stream_print_daemon() - its process, and its first QPs as it knows them */
void stream_print_daemon(void);

/** stream_frame() - a frame goes from A to B */
void stream_frame(void);

#endif /* DEVICE_TESTS_STREAM_H */
