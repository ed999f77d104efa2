/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The storage process: io_uring, and nothing else.
 */
#ifndef DEVICE_STORAGE_WORKER_H
#define DEVICE_STORAGE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/ring.h"

/**
 * struct storage_worker - what the process has
 * @shared:	rings
 * @staging:	staging memory
 * @staging_size: bytes of it
 * @file:	descriptors of the files
 * @files:	number of them
 * @wake:	eventfd: there are requests
 * @tell:	eventfd: there are replies
 * @life:	pipe of the daemon, which sees its end
 * @confine:	give up all rights that are not needed: @worker, or what starts it; NULL if they
 *		are kept.  Returns 0, or -errno after an error was printed
 */
struct storage_worker {
	struct storage_shared *shared;
	uint8_t *staging;
	uint64_t staging_size;
	const int *file;
	unsigned int files;
	int wake;
	int tell;
	int life;
	int (*confine)(bool worker);
};

/** storage_work() - be the storage process number @epoch; returns a status for exit() */
int storage_work(const struct storage_worker *worker, uint32_t epoch);

#endif /* DEVICE_STORAGE_WORKER_H */
