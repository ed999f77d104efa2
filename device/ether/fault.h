/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults of a wire, for testing: frames lost, doubled, out of order, damaged.
 */
#ifndef DEVICE_FAULT_H
#define DEVICE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct frame;

/* The probability of an event that always happens. */
#define FAULT_ALWAYS	(1ULL << 32)

/**
 * struct fault_config - what happens to frames, and how often
 * @loss:	probability that one is lost, of %FAULT_ALWAYS
 * @dup:	that it comes twice
 * @reorder:	that it comes later than those after it
 * @corrupt:	that one of its bits is changed
 * @seed:	of the random numbers
 */
struct fault_config {
	uint64_t loss;
	uint64_t dup;
	uint64_t reorder;
	uint64_t corrupt;
	uint64_t seed;
};

/**
 * struct fault_stats - frames that something happened to
 * @lost:	were lost
 * @duplicated:	came twice
 * @reordered:	came later
 * @corrupted:	had a bit changed
 */
struct fault_stats {
	uint64_t lost;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t corrupted;
};

/**
 * struct fault_ops - where frames go
 * @emit:	here is a frame, or the same once more
 * @flush:	those that came late were the last for now
 */
struct fault_ops {
	void (*emit)(void *arg, const struct frame *frame);
	void (*flush)(void *arg);
};

/**
 * struct fault - one direction of a wire
 * @config:	what happens
 * @stats:	counters
 * @loop:	event loop
 * @ops:	where frames go
 * @arg:	for @ops
 * @timer:	brings the frame that is held back if no others follow
 * @random:	state of the random numbers
 * @held:	frame that is held back, or NULL
 * @held_len:	its bytes
 * @held_origin: its origin
 * @passed:	frames that overtook it
 */
struct fault {
	const struct fault_config *config;
	struct fault_stats *stats;
	struct loop *loop;
	const struct fault_ops *ops;
	void *arg;
	struct loop_timer timer;
	uint64_t random;
	uint8_t *held;
	size_t held_len;
	const void *held_origin;
	unsigned int passed;
};

/**
 * fault_parse() - read a probability
 * @text:	a number up to 1, or up to 100 with a % behind it
 * @probability: of %FAULT_ALWAYS
 *
 * Return: 0, or -EINVAL if it is not a probability.
 */
int fault_parse(const char *text, uint64_t *probability);

/** fault_any() - does @config let anything happen at all? */
bool fault_any(const struct fault_config *config);

/**
 * fault_init() - begin a sequence of random numbers
 * @fault:	with @config, @stats, @loop, @ops and @arg filled in, zeroes else
 * @stream:	tells those of the same seed apart
 */
void fault_init(struct fault *fault, unsigned int stream);

/** fault_forget() - drop a frame that is held back if it is of @origin, which goes */
void fault_forget(struct fault *fault, const void *origin);

/** fault_fini() - forget a frame that is held back */
void fault_fini(struct fault *fault);

/**
 * fault_frame() - put a frame on the wire
 * @fault:	wire
 * @frame:	frame with nothing left to be done to it
 *
 * Calls @emit none, one or several times, with this frame or an earlier one.
 */
void fault_frame(struct fault *fault, const struct frame *frame);

#endif /* DEVICE_FAULT_H */
