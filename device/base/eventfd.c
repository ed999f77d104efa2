// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Theory of operation
 *
 * A write to an eventfd that blocks cannot be told not to: preadv2() takes RWF_NOWAIT
 * for an eventfd, pwritev2() does not.  So a timer interrupts the write.  The timer runs
 * as long as there are writes, and stops itself when it finds none.  So it costs a
 * system call now and then, not one for each write.
 */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/util.h"

/* A write that blocks takes this long, at most. */
#define NOTIFY_TICK_NS	20000000L

/* Its handler runs in the only thread. */
static struct {
	timer_t id;
	atomic_bool ready;
	atomic_bool runs;
	atomic_bool writing;
	atomic_bool written;
} notify;

static void notify_timer(long ns)
{
	const struct itimerspec spec = {
		.it_interval.tv_nsec = ns,
		.it_value.tv_nsec = ns,
	};

	notify.runs = ns > 0;
	timer_settime(notify.id, 0, &spec, NULL);
}

/* A write that is about to block now is interrupted by the next tick. */
static void notify_tick(int number __always_unused)
{
	int err = errno;

	if (!notify.writing && !notify.written)
		notify_timer(0);
	notify.written = false;
	errno = err;
}

int eventfd_init(void)
{
	/* Without SA_RESTART, or the write would go on. */
	const struct sigaction action = { .sa_handler = notify_tick };
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGRTMIN,
	};

	if (sigaction(SIGRTMIN, &action, NULL) ||
	    timer_create(CLOCK_MONOTONIC, &event, &notify.id))
		return -errno;
	notify.ready = true;
	return 0;
}

void eventfd_tick_begin(void)
{
	notify.writing = true;
	if (notify.ready && !notify.runs)
		notify_timer(NOTIFY_TICK_NS);
}

void eventfd_tick_end(void)
{
	notify.written = true;
	notify.writing = false;
}

int eventfd_send(int fd)
{
	const uint64_t one = 1;
	ssize_t n;

	eventfd_tick_begin();
	n = write(fd, &one, sizeof(one));
	if (n < 0)
		n = -errno;
	eventfd_tick_end();
	return n < 0 ? n : 0;
}
