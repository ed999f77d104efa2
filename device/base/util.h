/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Macros that every layer uses.
 */
#ifndef DEVICE_UTIL_H
#define DEVICE_UTIL_H

/** ARRAY_SIZE() - number of elements of an array */
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/** BIT() - bit @n of a 64-bit word */
#define BIT(n)			(1ULL << (n))

/** __always_unused - a parameter that a callback's type has and it does not use */
#define __always_unused		__attribute__((unused))

#endif /* DEVICE_UTIL_H */
