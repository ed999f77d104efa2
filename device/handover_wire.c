// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages between two processes, of which one takes the place of the other.
 *
 * Nothing blocks for longer than the conversation has time, so the other process may do what it
 * likes.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "handover_wire.h"

#define NS_PER_MS	1000000u

struct hand hand_new(int sock, uint64_t ns)
{
	const uint64_t now = clock_ns();

	return (struct hand) { .sock = sock, .begin = now, .end = now + ns };
}

int hand_wait(const struct hand *hand, short events)
{
	struct pollfd fd = { .fd = hand->sock, .events = events };
	const uint64_t now = clock_ns();
	struct timespec left = {};
	int n;

	if (hand->end && now >= hand->end)
		return -ETIMEDOUT;
	left.tv_sec = (hand->end - now) / CLOCK_NS_PER_S;
	left.tv_nsec = (hand->end - now) % CLOCK_NS_PER_S;
	n = ppoll(&fd, 1, hand->end ? &left : NULL, NULL);
	if (n < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* So many descriptors may be on their way in the system: the others wait a little. */
static int hand_rest(const struct hand *hand)
{
	const struct timespec rest = { .tv_nsec = NS_PER_MS };

	ppoll(NULL, 0, &rest, NULL);
	return clock_ns() >= hand->end ? -ETIMEDOUT : 0;
}

/* Descriptors go with the first byte. */
static int hand_send_msg(const struct hand *hand, struct msghdr *msg)
{
	struct iovec *iov = msg->msg_iov;
	int err = 0;
	ssize_t n;

	while (!err && iov->iov_len) {
		n = sendmsg(hand->sock, msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			iov->iov_base = (uint8_t *)iov->iov_base + n;
			iov->iov_len -= n;
			msg->msg_control = NULL;
			msg->msg_controllen = 0;
		} else if (errno == EAGAIN) {
			err = hand_wait(hand, POLLOUT);
		} else if (errno == ETOOMANYREFS) {
			err = hand_rest(hand);
		} else if (errno != EINTR) {
			err = -errno;
		}
	}
	return err;
}

int hand_send(const struct hand *hand, const void *data, size_t len, const int *fd, uint32_t fds)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(HAND_BATCH * sizeof(int))];
	} control = {};
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		control.cmsg.cmsg_level = SOL_SOCKET;
		control.cmsg.cmsg_type = SCM_RIGHTS;
		control.cmsg.cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(&control.cmsg), fd, fds * sizeof(int));
	}
	return hand_send_msg(hand, &msg);
}

/* Adds the descriptors of a message to a list. */
static int hand_take_fds(struct msghdr *msg, struct state_fds *fds)
{
	struct cmsghdr *cmsg;
	unsigned int i, n;
	int fd, err = 0;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			if (state_fds_add(fds, fd))
				continue;
			close(fd);
			err = -ENOMEM;
		}
	}
	return msg->msg_flags & MSG_CTRUNC ? -EMFILE : err;
}

/* All of @len bytes, and the descriptors that come with them. */
int hand_receive(const struct hand *hand, void *data, size_t len, struct state_fds *fds)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(HAND_BATCH * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg;
	ssize_t n;
	int err;

	while (iov.iov_len) {
		msg = (struct msghdr) {
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = fds ? sizeof(control) : 0,
		};
		n = recvmsg(hand->sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (!n)
			return -ECONNRESET;
		if (n < 0) {
			err = errno == EAGAIN ? hand_wait(hand, POLLIN) :
			      errno == EINTR ? 0 : -errno;
			if (err)
				return err;
			continue;
		}
		err = fds ? hand_take_fds(&msg, fds) : 0;
		if (err)
			return err;
		iov.iov_base = (uint8_t *)iov.iov_base + n;
		iov.iov_len -= n;
	}
	return 0;
}
