/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How much work the code under test does: calls and bytes, not time.
 */
#ifndef DEVICE_TESTS_WORK_H
#define DEVICE_TESTS_WORK_H

#include <stddef.h>

/**
 * struct work - what was done since the test cleared it
 * @lookups:	guest addresses looked up
 * @copied:	bytes copied out of guest memory by iov_to_buf()
 */
struct work {
	size_t lookups;
	size_t copied;
};

extern struct work work;

#endif /* DEVICE_TESTS_WORK_H */
