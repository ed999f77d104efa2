/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Opening the file that an operator names for a namespace.
 */
#ifndef DEVICE_STORAGE_OPEN_H
#define DEVICE_STORAGE_OPEN_H

#include "storage/ns.h"

/**
 * ns_open() - open a namespace
 * @ns:		set, but for what does its work
 * @text:	as of storage_add()
 * @shared:	another daemon may have it
 *
 * Return: its descriptor, -ENODATA if it has none and is done, or another negative error
 * after an error was printed.
 */
int ns_open(struct ns *ns, const char *text, bool shared);

#endif /* DEVICE_STORAGE_OPEN_H */
