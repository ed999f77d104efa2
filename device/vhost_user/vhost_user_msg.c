// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of vhost-user: how they are received and sent.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vhost_user/vhost_user_msg.h"

int vu_msg_fd(struct vu_msg *msg, unsigned int i)
{
	int fd = msg->fd[i];

	msg->fd[i] = -1;
	return fd;
}

void vu_msg_reply_u64(struct vu_msg *msg, uint64_t value)
{
	msg->u.u64 = value;
	msg->reply_len = sizeof(msg->u.u64);
}

int vu_send(int fd, const struct vu_header *hdr, const void *payload)
{
	struct iovec iov[] = {
		{ .iov_base = (void *)hdr, .iov_len = sizeof(*hdr) },
		{ .iov_base = (void *)payload, .iov_len = hdr->size },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	n = sendmsg(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return -errno;
	/* A peer whose socket is full does not read replies, so fail. */
	return (size_t)n == sizeof(*hdr) + hdr->size ? 0 : -EPIPE;
}

void vu_msg_done(struct vu_msg *msg)
{
	int fd;

	while (msg->fd_n) {
		fd = msg->fd[--msg->fd_n];
		if (fd >= 0)
			close(fd);
	}
	msg->fd_lost = false;
	msg->reply_len = 0;
	msg->got = 0;
}

static void vu_msg_take_fds(struct vu_msg *msg, struct msghdr *mh)
{
	struct cmsghdr *cmsg;
	unsigned int i, n;
	int fd;

	if (mh->msg_flags & MSG_CTRUNC)
		msg->fd_lost = true;
	for (cmsg = CMSG_FIRSTHDR(mh); cmsg; cmsg = CMSG_NXTHDR(mh, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(fd);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd),
			       sizeof(fd));
			if (msg->fd_n < VU_FDS_MAX) {
				msg->fd[msg->fd_n++] = fd;
			} else {
				msg->fd_lost = true;
				close(fd);
			}
		}
	}
}

/* Where the next bytes of the message go; 0 bytes if it is complete. */
static struct iovec vu_msg_room(struct vu_msg *msg)
{
	size_t done;

	if (msg->got < sizeof(msg->hdr))
		return (struct iovec){
			.iov_base = (uint8_t *)&msg->hdr + msg->got,
			.iov_len = sizeof(msg->hdr) - msg->got,
		};
	done = msg->got - sizeof(msg->hdr);
	return (struct iovec){
		.iov_base = msg->u.bytes + done,
		.iov_len = msg->hdr.size - done,
	};
}

/* Nothing behind the message, whose descriptors come with its own bytes. */
int vu_receive(int fd, struct vu_msg *msg)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(VU_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr mh;
	struct iovec iov;
	ssize_t n;

	for (;;) {
		iov = vu_msg_room(msg);
		if (!iov.iov_len)
			return 1;
		mh = (struct msghdr){
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		n = recvmsg(fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		vu_msg_take_fds(msg, &mh);
		/* There is room for more, but this process may have no more. */
		if (mh.msg_flags & MSG_CTRUNC && msg->fd_n < VU_FDS_MAX)
			return -EMFILE;
		if (!n)
			return -ECONNRESET;
		msg->got += n;
		if (msg->got == sizeof(msg->hdr) &&
		    ((msg->hdr.flags & VU_FLAGS_VERSION_MASK) !=
		     VU_FLAGS_VERSION || msg->hdr.size > sizeof(msg->u)))
			return -EPROTO;
	}
}
