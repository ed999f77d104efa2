/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Counts the instructions of a piece of a program, see stepper.c. */
#ifndef VIRTIO_ROCE_STEPPER_H
#define VIRTIO_ROCE_STEPPER_H

#include <stdbool.h>

void stepper_nothing(void);
void stepper_count(void (*run)(void));
/**
 * struct stepper_case - one row of stepper_print()
 * @name: in the output
 * @ready: makes all ready; called before each run
 * @run: what is counted, but for the call itself; says in stepper_failed if it did not work
 * @elements: requests or completions of a run
 */
struct stepper_case {
	const char *name;
	void (*ready)(void);
	void (*run)(void);
	unsigned int elements;
};

extern int stepper_failed;

void stepper_print(const struct stepper_case *cases, unsigned int num);
unsigned int stepper_run(const char *name, int (*child_does)(const void *arg, void (*run)(void)),
			 const void *arg, void (*run)(void), bool addresses);

#endif /* VIRTIO_ROCE_STEPPER_H */
