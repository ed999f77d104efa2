/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A check for tests without cmocka, and a count of the descriptors of this process.
 */
#ifndef DEVICE_TESTS_NEED_H
#define DEVICE_TESTS_NEED_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void need_at(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

/** need() - end the process, with a message, if @ok is false */
#define need(ok)	need_at(ok, #ok)

/** count_fds() - number of open descriptors, and three more: two entries and the folder's */
static inline unsigned int count_fds(void)
{
	unsigned int n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

#endif /* DEVICE_TESTS_NEED_H */
