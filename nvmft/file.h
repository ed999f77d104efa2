/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Namespaces that the program serves by itself.
 */
#ifndef NVMFT_FILE_H
#define NVMFT_FILE_H

#include "options.h"
#include "storage/ns.h"

/**
 * struct file - the blocks of a namespace
 * @ns:	the namespace
 * @fd:	where they are
 */
struct file {
	struct ns ns;
	int fd;
};

/**
 * file_open() - open what the command line names
 * @file:	result
 * @space:	of kind %SPACE_FILE or %SPACE_MEMORY
 * @nsid:	number of the namespace
 *
 * Return: 0 or -errno, with a message printed.
 */
int file_open(struct file *file, const struct space *space, unsigned int nsid);

/** file_close() - close it */
void file_close(struct file *file);

#endif /* NVMFT_FILE_H */
