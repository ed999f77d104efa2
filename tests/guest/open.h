/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a program for the guests opens its device, and ends with a message if something fails.
 */
#ifndef TESTS_GUEST_OPEN_H
#define TESTS_GUEST_OPEN_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

/** require() - end the program, with @what and errno as text, unless @ok */
static inline void require(int ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/** open_device() - open the device of that name; there is one, or the program ends */
static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	unsigned int i;

	require(!!list, "devices");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	require(!!list[i], name);
	return ibv_open_device(list[i]);
}

#endif /* TESTS_GUEST_OPEN_H */
