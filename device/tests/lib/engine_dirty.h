/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Does the log name each page that the engine writes?  Asked if EG_DIRTY is in the
 * environment.
 */
#ifndef DEVICE_TESTS_ENGINE_DIRTY_H
#define DEVICE_TESTS_ENGINE_DIRTY_H

#include "tests/lib/engine_guest.h"

/** eg_dirty_up() - a guest has its memory */
void eg_dirty_up(const struct eg_guest *guest);

/** eg_dirty_down() - its memory is about to go */
void eg_dirty_down(const struct eg_guest *guest);

/** eg_dirty_begin() - from now on only the engine writes to memory of guests */
void eg_dirty_begin(void);

/** eg_dirty_end() - now the test may again; fails if the log lacks a page */
void eg_dirty_end(void);

/** eg_dirty_pages - how many pages were written and logged, a page of each look once */
extern unsigned long eg_dirty_pages;

#endif /* DEVICE_TESTS_ENGINE_DIRTY_H */
