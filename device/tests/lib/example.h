/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The examples of Documentation/spec.rst: named bytes.
 */
#ifndef DEVICE_TESTS_EXAMPLE_H
#define DEVICE_TESTS_EXAMPLE_H

#include <stddef.h>

/**
 * example() - read an example
 * @name:	its name, which begins each of its lines
 * @to:		where the bytes go
 * @size:	bytes there; what the example does not show is 0
 *
 * Return: where the example ends.  A name that is not there fails the test.
 */
size_t example(const char *name, void *to, size_t size);

#endif /* DEVICE_TESTS_EXAMPLE_H */
