// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Preloaded into a test: random bytes are all $SAME_RANDOM (check-same in ../Makefile).
 */
#include <stdlib.h>
#include <string.h>

void arc4random_buf(void *buf, size_t len)
{
	memset(buf, atoi(getenv("SAME_RANDOM")), len);
}
