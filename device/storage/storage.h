/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The namespaces of a daemon, and its end of the rings to the storage process.
 *
 * In this order: storage_new(), storage_add() for each namespace, storage_start(), the
 * daemon's sandbox, storage_attach().
 */
#ifndef DEVICE_STORAGE_STORAGE_H
#define DEVICE_STORAGE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/ns.h"

#define STORAGE_NAMESPACES_MAX	32

struct loop;
struct staging;
struct storage;

/**
 * struct storage_counters - what the daemon has given to the storage process
 * @requests:	requests
 * @errors:	those with an error
 * @wakes:	system calls to wake the process
 * @deaths:	processes that died
 */
struct storage_counters {
	uint64_t requests;
	uint64_t errors;
	uint64_t wakes;
	uint64_t deaths;
};

/** storage_new() - no namespaces yet, whose buffers are of @staging; NULL with errno set */
struct storage *storage_new(struct staging *staging);

/**
 * storage_share() - another daemon, whose place this one takes, has the same files
 * @storage:	all
 *
 * Requests wait until that has let go.  Without it a file that another daemon has is refused.
 */
void storage_share(struct storage *storage);

/**
 * storage_add() - open a namespace
 * @storage:	all
 * @text:	NAME=file:PATH, NAME=block:PATH or NAME=null:SIZE, where SIZE may end with K, M, G
 *		or T; behind that ",ro" and ",guest=GUEST" for each guest that may use it by name
 *
 * Return: 0, or -errno after an error was printed.
 */
int storage_add(struct storage *storage, const char *text);

/** storage_find() - a namespace by its name, or NULL */
struct ns *storage_find(struct storage *storage, const char *name);

/**
 * storage_watch() - be told of namespaces whose size has changed
 * @storage:	all
 * @changed:	called for each one, whose @size is the new one
 * @arg:	for @changed
 */
void storage_watch(struct storage *storage, void (*changed)(void *arg, struct ns *ns),
		   void *arg);

/** storage_look() - begin to look how large all files and block devices are */
void storage_look(struct storage *storage);

/** storage_ns() - namespace @i, from 0 on, or NULL */
const struct ns *storage_ns(const struct storage *storage, unsigned int i);

/** storage_find_for() - the same of those that @guest may use; without @name any of them */
struct ns *storage_find_for(struct storage *storage, const char *name, const char *guest);

/**
 * storage_start() - start the storage process, if a namespace needs it
 * @storage:	all
 * @confine:	as of struct storage_worker
 *
 * The process has no descriptor but those that it needs.
 *
 * Return: 0, or -errno after an error was printed.
 */
int storage_start(struct storage *storage, int (*confine)(bool worker));

/** storage_attach() - from now on requests are possible; 0 or -errno */
int storage_attach(struct storage *storage, struct loop *loop);

/** storage_counters() - what it has counted */
const struct storage_counters *storage_counters(const struct storage *storage);

/** storage_free() - end the process; requests under way end with an error */
void storage_free(struct storage *storage);

#endif /* DEVICE_STORAGE_STORAGE_H */
