/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A process that keeps the descriptors of the daemon, and starts another one if it dies.
 */
#ifndef DEVICE_KEEPER_H
#define DEVICE_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * struct keeper - what a daemon and its keeper have in common
 * @memory:	shared memory: what a daemon left there is found by the next one
 * @died:	daemons before this one, each of which was killed by a signal
 */
struct keeper {
	void *memory;
	unsigned int died;
};

/**
 * keeper_start() - become two processes, a daemon and its keeper
 * @keeper:	set, in the daemon
 * @size:	bytes of shared memory, which is zero at first
 *
 * Call it before anything else is opened.  It returns in each daemon, and never in the
 * keeper, which ends as the last daemon does.  Both have the same table of descriptors: what a
 * daemon opens the keeper has, and what it closes is closed.
 *
 * Return: 0, or -errno after an error was printed.
 */
int keeper_start(struct keeper *keeper, size_t size);

/**
 * keeper_sweep() - close what a daemon that died has left
 * @fd:		descriptors to leave open, beside standard input, output and error; sorted
 * @n:		number of them
 *
 * Return: how many of these there are.  Those that are not open, or are there twice, are taken
 *	   out.
 */
size_t keeper_sweep(int *fd, size_t n);

/** keeper_bool() - a flag that another daemon has written: any byte but 0 is true */
static inline bool keeper_bool(const bool *flag)
{
	uint8_t byte;

	memcpy(&byte, flag, sizeof(byte));
	return byte;
}

#endif /* DEVICE_KEEPER_H */
