/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The process that starts the storage process, again if it dies.
 */
#ifndef DEVICE_STORAGE_KEEP_H
#define DEVICE_STORAGE_KEEP_H

#include "storage/worker.h"

/**
 * storage_keep() - be the process that starts the storage process, again if it dies
 * @worker:	what it has
 *
 * It does not return.  A byte comes out of @life when requests can be made.
 */
void storage_keep(const struct storage_worker *worker) __attribute__((noreturn));

#endif /* DEVICE_STORAGE_KEEP_H */
