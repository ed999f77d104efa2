// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults of a wire, for testing.
 *
 * Theory of operation
 *
 * The same count of random numbers is drawn for each frame, whatever happens to
 * it.  So with the same seed the same thing happens to the n-th frame.
 *
 * At most one frame is held back at a time, in a copy.  It is sent on after
 * FAULT_OVERTAKE others, or after FAULT_HOLD_NS if fewer follow.  If there is no
 * memory for a copy, the frame passes unchanged.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/fault.h"
#include "ether/frame.h"
#include "virtio/mem.h"

#define FAULT_OVERTAKE	3
#define FAULT_HOLD_NS	2000000ULL

int fault_parse(const char *text, uint64_t *probability)
{
	double value, max = 1;
	char *end;

	/* Refuse other formats that strtod() accepts. */
	if (text[strspn(text, "0123456789.%")] || !isdigit(*text))
		return -EINVAL;
	value = strtod(text, &end);
	if (*end == '%') {
		end++;
		max = 100;
	}
	if (*end || value > max)
		return -EINVAL;
	*probability = value / max * FAULT_ALWAYS;
	return 0;
}

bool fault_any(const struct fault_config *config)
{
	return config->loss || config->dup || config->reorder ||
	       config->corrupt;
}

/* splitmix64 */
static uint64_t fault_random(struct fault *fault)
{
	uint64_t z = fault->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static bool fault_hits(struct fault *fault, uint64_t probability)
{
	return (fault_random(fault) >> 32) < probability;
}

static uint8_t *fault_copy(const struct frame *frame)
{
	uint8_t *copy = malloc(frame->len);

	if (copy)
		iov_to_buf(frame->iov, frame->iov_n, frame->off, copy,
			   frame->len);
	return copy;
}

static void fault_emit_copy(struct fault *fault, uint8_t *copy, size_t len,
			    const void *origin)
{
	const struct iovec iov = { .iov_base = copy, .iov_len = len };
	struct frame frame;

	if (frame_init(&frame, &iov, 1, 0, len))
		return;
	frame.origin = origin;
	fault->ops->emit(fault->arg, &frame);
}

static void fault_release(struct fault *fault)
{
	uint8_t *held = fault->held;

	loop_timer_cancel(fault->loop, &fault->timer);
	fault->held = NULL;
	fault_emit_copy(fault, held, fault->held_len, fault->held_origin);
	free(held);
}

static void fault_expired(void *arg)
{
	struct fault *fault = arg;

	fault_release(fault);
	fault->ops->flush(fault->arg);
}

static bool fault_hold(struct fault *fault, const struct frame *frame)
{
	if (fault->held)
		return false;
	fault->held = fault_copy(frame);
	if (!fault->held)
		return false;
	fault->held_len = frame->len;
	fault->held_origin = frame->origin;
	fault->passed = 0;
	fault->stats->reordered++;
	loop_timer_set(fault->loop, &fault->timer, FAULT_HOLD_NS);
	return true;
}

/* Not in the Ethernet header, because that would only lose the frame. */
static bool fault_corrupt(struct fault *fault, const struct frame *frame,
			  uint64_t random)
{
	const size_t room = frame->len - ETH_HLEN;
	uint8_t *copy = room ? fault_copy(frame) : NULL;

	if (!copy)
		return false;
	random %= 8 * room;
	copy[ETH_HLEN + random / 8] ^= 1 << random % 8;
	fault->stats->corrupted++;
	fault_emit_copy(fault, copy, frame->len, frame->origin);
	free(copy);
	return true;
}

void fault_init(struct fault *fault, unsigned int stream)
{
	fault->timer.fn = fault_expired;
	fault->timer.arg = fault;
	fault->random = fault->config->seed;
	fault->random = fault_random(fault) + stream;
	fault->random = fault_random(fault);
}

void fault_fini(struct fault *fault)
{
	if (!fault->held)
		return;
	loop_timer_cancel(fault->loop, &fault->timer);
	free(fault->held);
	fault->held = NULL;
}

void fault_forget(struct fault *fault, const void *origin)
{
	if (fault->held_origin == origin)
		fault_fini(fault);
}

void fault_frame(struct fault *fault, const struct frame *frame)
{
	const struct fault_config *config = fault->config;
	const bool lost = fault_hits(fault, config->loss);
	const bool dup = fault_hits(fault, config->dup);
	const bool late = fault_hits(fault, config->reorder);
	const bool corrupt = fault_hits(fault, config->corrupt);
	const uint64_t random = fault_random(fault);

	if (lost) {
		fault->stats->lost++;
		return;
	}
	if (late && fault_hold(fault, frame))
		return;
	if (!corrupt || !fault_corrupt(fault, frame, random))
		fault->ops->emit(fault->arg, frame);
	if (dup) {
		fault->stats->duplicated++;
		fault->ops->emit(fault->arg, frame);
	}
	if (fault->held && ++fault->passed >= FAULT_OVERTAKE)
		fault_release(fault);
}
