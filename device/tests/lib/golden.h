/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of other implementations, from files with a frame in hexadecimal a line.
 */
#ifndef DEVICE_TESTS_GOLDEN_H
#define DEVICE_TESTS_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "packet/roce.h"

#define GOLDEN_MAX	512
#define GOLDEN_RXE	"tests/golden/rxe.hex"

/**
 * struct golden - a packet
 * @len:	bytes of its frame
 * @frame:	the frame
 */
struct golden {
	size_t len;
	uint8_t frame[ROCE_FRAME_MAX];
};

/** golden_load() - read a file; @n is set to the number of packets */
struct golden *golden_load(const char *path, unsigned int *n);

#endif /* DEVICE_TESTS_GOLDEN_H */
