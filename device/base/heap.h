/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that malloc() has before it is needed.
 *
 * A process that takes the place of another one makes thousands of objects while guests
 * wait.  Most of that time the kernel gave it pages, one after the other.
 */
#ifndef DEVICE_HEAP_H
#define DEVICE_HEAP_H

#include <stddef.h>

/**
 * heap_expect() - have pages for what malloc() will soon be asked for
 * @bytes:	how much in all, from the start of the process; less than before does nothing
 *
 * If there is not so much memory, malloc() gets its pages later, as always.
 */
void heap_expect(size_t bytes);

/** heap_settle() - give back what was expected and is not used */
void heap_settle(void);

/** heap_used() - bytes that malloc() has given out and that were not freed */
size_t heap_used(void);

#endif /* DEVICE_HEAP_H */
