// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The process that starts the storage process, again if it dies.
 *
 * The daemon itself cannot: its sandbox has no fork().  This one reads nothing that comes
 * from a guest; it waits for its child.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "storage/keep.h"

/* So many processes that live shorter than that, one after the other, are enough. */
#define KEEP_TRIES	5u
#define KEEP_SHORT_S	10

static time_t keep_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* This process and its children end with the one that has started them. */
static void keep_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_SUCCESS);
}

/* Runs one; returns its status, as of waitpid(). */
static int keep_run(const struct storage_worker *worker, uint32_t epoch)
{
	const pid_t self = getpid();
	const pid_t pid = fork();
	int status;

	if (pid < 0) {
		log_error("storage: no process: %s", strerror(errno));
		_exit(EXIT_FAILURE);
	}
	if (!pid) {
		keep_end_with(self);
		_exit(storage_work(worker, epoch));
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	return status;
}

/* Was that one death too many?  Others may kill it as often as they like. */
static bool keep_gives_up(int status, time_t lived, unsigned int *in_a_row)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return false;
	*in_a_row = lived < KEEP_SHORT_S ? *in_a_row + 1 : 1;
	return *in_a_row == KEEP_TRIES;
}

void storage_keep(const struct storage_worker *worker)
{
	struct storage_shared *shared = worker->shared;
	const uint64_t one = 1;
	unsigned int in_a_row = 0;
	uint32_t epoch;
	time_t started;
	int status;

	if (worker->confine && worker->confine(false))
		_exit(EXIT_FAILURE);
	for (epoch = 1;; epoch++) {
		started = keep_now();
		storage_set(&shared->epoch, epoch);
		if (epoch > 1 && write(worker->tell, &one, sizeof(one)) < 0 && errno != EAGAIN)
			_exit(EXIT_FAILURE);
		status = keep_run(worker, epoch);
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			_exit(EXIT_SUCCESS);
		/* The first one has to work. */
		if (storage_get(&shared->stop) || (epoch == 1 && WIFEXITED(status)) ||
		    keep_gives_up(status, keep_now() - started, &in_a_row))
			_exit(EXIT_FAILURE);
	}
}
