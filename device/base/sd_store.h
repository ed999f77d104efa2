/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A descriptor that a service manager keeps while the daemon is restarted.
 */
#ifndef DEVICE_SD_STORE_H
#define DEVICE_SD_STORE_H

#include <stdbool.h>

/**
 * struct sd_store - what it takes to store a descriptor
 * @barrier:	pipe; its end tells when the service manager has the descriptor
 * @queue:	pair of sockets: what is sent to the first can be received from the second,
 *		which is what is stored
 * @ready:	there are these
 *
 * All of them are made before the sandbox is entered, which allows to make none.
 */
struct sd_store {
	int barrier[2];
	int queue[2];
	bool ready;
};

/**
 * sd_store_open() - get ready to store
 * @store:	set
 *
 * It is ready if $FDSTORE is a number of descriptors that the service manager keeps.
 */
void sd_store_open(struct sd_store *store);

/**
 * sd_store_put() - have the second socket of the queue stored
 * @store:	which is ready, and is closed
 * @notify:	result of sd_notify_open()
 *
 * Return: 0 once the service manager has it, or -errno.
 */
int sd_store_put(struct sd_store *store, int notify);

/** sd_store_get() - the socket that was stored before the restart, or -1 */
int sd_store_get(void);

/** sd_store_forget() - have the service manager close what it has; @notify may be -1 */
void sd_store_forget(int notify);

/** sd_store_close() - close what there is */
void sd_store_close(struct sd_store *store);

#endif /* DEVICE_SD_STORE_H */
