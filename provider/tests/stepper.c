// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counts the instructions of a piece of a program.
 *
 * A child runs it, and this process single-steps the child.  So the counts are exact, and the
 * same in each run.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepper.h"

/* Here counting begins and ends.  Not to be inlined: their addresses are looked for. */
static volatile int marks;

static __attribute__((noinline)) void count_begin(void)
{
	marks++;
}

static __attribute__((noinline)) void count_end(void)
{
	marks--;
}

/** stepper_nothing() - to be counted for what counting itself takes */
void stepper_nothing(void)
{
}

/**
 * stepper_count() - what is counted
 * @run: the child calls this once, which may have been called before, to be bound and warm
 */
void stepper_count(void (*run)(void))
{
	count_begin();
	run();
	count_end();
}

static unsigned long long step(pid_t child)
{
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) ||
	    waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, child, NULL, &regs)) {
		fprintf(stderr, "count: the child ended too early\n");
		exit(1);
	}
	return regs.rip;
}

/* Let the child run to a function, and put back what is there. */
static void run_to(pid_t child, void (*function)(void))
{
	long old = ptrace(PTRACE_PEEKTEXT, child, function, NULL);
	struct user_regs_struct regs;
	int status;

	ptrace(PTRACE_POKETEXT, child, function, (old & ~0xffL) | 0xcc);
	ptrace(PTRACE_CONT, child, NULL, NULL);
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP) {
		fprintf(stderr, "count: the child did not come to its case\n");
		exit(1);
	}
	ptrace(PTRACE_POKETEXT, child, function, old);
	ptrace(PTRACE_GETREGS, child, NULL, &regs);
	regs.rip = (uintptr_t)function;
	ptrace(PTRACE_SETREGS, child, NULL, &regs);
}

/**
 * stepper_run() - count a case
 * @name: of the case, for messages
 * @child_does: makes all ready and calls stepper_count(); returns 0 if @run did its work
 * @arg: for @child_does
 * @run: for @child_does
 * @addresses: print the address of each instruction
 *
 * Returns the number of instructions.  Ends the process if the child fails.
 */
unsigned int stepper_run(const char *name, int (*child_does)(const void *arg, void (*run)(void)),
			 const void *arg, void (*run)(void), bool addresses)
{
	unsigned long long at;
	unsigned int n = 0;
	pid_t child;
	int status;

	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(child_does(arg, run) ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("count");
		exit(1);
	}
	run_to(child, count_begin);
	for (at = 0; at != (uintptr_t)count_end; n++) {
		at = step(child);
		if (addresses)
			printf("%#llx\n", at);
	}
	ptrace(PTRACE_CONT, child, NULL, NULL);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		fprintf(stderr, "count: %s failed\n", name);
		exit(1);
	}
	return n;
}

/* Not zero if the last run of a case did not do its work. */
int stepper_failed;

static int case_run(const void *arg, void (*run)(void))
{
	const struct stepper_case *c = arg;

	c->ready();
	run();
	c->ready();
	stepper_count(run);
	return stepper_failed;
}

/** stepper_print() - count cases and print JSON: instructions for one element of each */
void stepper_print(const struct stepper_case *cases, unsigned int num)
{
	unsigned int i, n;

	for (i = 0; i < num; i++) {
		n = stepper_run(cases[i].name, case_run, &cases[i], cases[i].run, false) -
		    stepper_run(cases[i].name, case_run, &cases[i], stepper_nothing, false);
		printf("%s\t\"%s\": %u", i ? ",\n" : "{\n", cases[i].name,
		       n / cases[i].elements);
	}
	printf("\n}\n");
}
