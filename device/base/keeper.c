// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that keeps the descriptors of the daemon, and starts another one if it dies.
 *
 * Theory of operation
 *
 * The keeper is the parent of the daemon, and both share one table of descriptors
 * (CLONE_FILES).  So the keeper has each descriptor from the moment that it exists, and
 * nothing has to be passed.  If the daemon is killed, by a bug of its own or by others, the
 * table stays, and with it the connections of all guests.  The next daemon is another copy of
 * the keeper.  It reads in shared memory which descriptor is which.
 *
 * The keeper itself waits for its child and for signals.  It uses no descriptor, and reads
 * nothing that a daemon has written, so that one that does what a guest wants gains nothing by
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/keeper.h"

/* So many daemons that live shorter than that, one after the other, are enough. */
#define KEEPER_TRIES	5u
#define KEEPER_SHORT_S	10

/* The first descriptor behind standard error. */
#define KEEPER_FD	3

/* As fork(), with the same descriptors. */
static pid_t keeper_fork(void)
{
	return syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
}

static time_t keeper_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Passes signals on until the daemon has ended; returns its status, as of waitpid(). */
static int keeper_watch(pid_t pid, const sigset_t *set, bool *asked)
{
	int sig, status;

	for (;;) {
		if (sigwait(set, &sig))
			continue;
		if (sig != SIGCHLD) {
			*asked = true;
			kill(pid, sig);
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
	}
}

/* A service manager passes descriptors to the first daemon only. */
static void keeper_environment(pid_t keeper, unsigned int died)
{
	const char *pid = getenv("LISTEN_PID");
	char text[16];

	if (!pid || atoi(pid) != keeper)
		return;
	snprintf(text, sizeof(text), "%d", getpid());
	if (died)
		unsetenv("LISTEN_FDS");
	else
		setenv("LISTEN_PID", text, 1);
}

/* A daemon whose keeper is to end with its parent ends with its keeper. */
static void keeper_end_together(int sig)
{
	if (sig)
		prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);
}

/* Was that one death too many? */
static bool keeper_gives_up(int sig, time_t lived, unsigned int *in_a_row)
{
	/* Others have killed it. */
	if (sig == SIGKILL)
		return false;
	*in_a_row = lived < KEEPER_SHORT_S ? *in_a_row + 1 : 1;
	if (*in_a_row < KEEPER_TRIES)
		return false;
	log_error("the daemon died %u times, each time within %d seconds: no other one is started",
		  *in_a_row, KEEPER_SHORT_S);
	return true;
}

int keeper_start(struct keeper *keeper, size_t size)
{
	const pid_t self = getpid();
	unsigned int in_a_row = 0;
	bool asked = false;
	sigset_t set, old;
	int status, sig, with_parent = 0;
	time_t started;
	pid_t pid;

	keeper->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (keeper->memory == MAP_FAILED) {
		log_error("--keeper: %s", strerror(errno));
		return -ENOMEM;
	}
	prctl(PR_GET_PDEATHSIG, &with_parent, 0, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (keeper->died = 0;; keeper->died++) {
		started = keeper_now();
		pid = keeper_fork();
		if (pid < 0) {
			log_error("--keeper: %s", strerror(errno));
			exit(EXIT_FAILURE);
		}
		if (!pid) {
			keeper_environment(self, keeper->died);
			keeper_end_together(with_parent);
			sigprocmask(SIG_SETMASK, &old, NULL);
			return 0;
		}
		status = keeper_watch(pid, &set, &asked);
		if (WIFEXITED(status))
			exit(WEXITSTATUS(status));
		sig = WTERMSIG(status);
		if (asked || keeper_gives_up(sig, keeper_now() - started, &in_a_row))
			exit(EXIT_FAILURE);
		log_error("killed by signal %d (%s); the next daemon goes on with the guests",
			  sig, strsignal(sig));
	}
}

static int keeper_compare(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

size_t keeper_sweep(int *fd, size_t n)
{
	size_t i, there = 0;
	int next = KEEPER_FD;

	qsort(fd, n, sizeof(*fd), keeper_compare);
	for (i = 0; i < n; i++) {
		if (fd[i] < next || fcntl(fd[i], F_GETFD) < 0)
			continue;
		if (fd[i] > next)
			close_range(next, fd[i] - 1, 0);
		next = fd[i] + 1;
		fd[there++] = fd[i];
	}
	close_range(next, ~0U, 0);
	return there;
}
