// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * No chance in a fuzzer: an input that has found something finds it again.
 */

#include <stdlib.h>
#include <string.h>

/* Takes the place of the C library's. */
void arc4random_buf(void *buf, size_t size)
{
	memset(buf, 0, size);
}
