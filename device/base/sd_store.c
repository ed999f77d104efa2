// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A descriptor that a service manager keeps while the daemon is restarted: sd_notify(3),
 * sd_listen_fds(3).
 *
 * A manager keeps as many descriptors as its unit says.  So it gets one only, a socket in
 * whose queue all others are.  Nobody can send to that socket any more, which a manager
 * takes for its end unless it is told to ignore that (FDPOLL=0).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sd_store.h"

#define STORE_NAME	"guests"

/* The first descriptor that a service manager passes. */
#define STORE_FD	3

/* A service manager takes it within that. */
#define STORE_PATIENCE_S	5

static const struct sd_store store_none = { .barrier = { -1, -1 }, .queue = { -1, -1 } };

void sd_store_open(struct sd_store *store)
{
	const char *max = getenv("FDSTORE");

	*store = store_none;
	if (!max || atoi(max) < 1)
		return;
	if (!pipe2(store->barrier, O_CLOEXEC) &&
	    !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, store->queue)) {
		store->ready = true;
		return;
	}
	log_warn("FDSTORE: %s", strerror(errno));
	sd_store_close(store);
}

void sd_store_close(struct sd_store *store)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (store->barrier[i] >= 0)
			close(store->barrier[i]);
		if (store->queue[i] >= 0)
			close(store->queue[i]);
	}
	*store = store_none;
}

static int store_tell(int notify, const char *text, int fd)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { .iov_base = (char *)text, .iov_len = strlen(text) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.cmsg.cmsg_level = SOL_SOCKET;
		control.cmsg.cmsg_type = SCM_RIGHTS;
		control.cmsg.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.cmsg), &fd, sizeof(fd));
	}
	return sendmsg(notify, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The pipe ends when nobody has its other end any more. */
static int store_wait(int fd)
{
	const struct timespec patience = { .tv_sec = STORE_PATIENCE_S };
	struct pollfd end = { .fd = fd };

	return ppoll(&end, 1, &patience, NULL) > 0 ? 0 : -ETIMEDOUT;
}

int sd_store_put(struct sd_store *store, int notify)
{
	int err;

	err = store_tell(notify, "FDSTORE=1\nFDNAME=" STORE_NAME "\nFDPOLL=0",
			 store->queue[1]);
	if (!err)
		err = store_tell(notify, "BARRIER=1", store->barrier[1]);
	if (!err) {
		close(store->barrier[1]);
		store->barrier[1] = -1;
		err = store_wait(store->barrier[0]);
	}
	sd_store_close(store);
	return err;
}

int sd_store_get(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	const char *names = getenv("LISTEN_FDNAMES");

	if (!pid || atoi(pid) != getpid() || !fds || atoi(fds) != 1 || !names ||
	    strcmp(names, STORE_NAME))
		return -1;
	unsetenv("LISTEN_FDS");
	if (fcntl(STORE_FD, F_SETFD, FD_CLOEXEC))
		return -1;
	return STORE_FD;
}

void sd_store_forget(int notify)
{
	if (notify >= 0)
		store_tell(notify, "FDSTOREREMOVE=1\nFDNAME=" STORE_NAME, -1);
}
