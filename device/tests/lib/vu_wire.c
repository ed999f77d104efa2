// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include <string.h>
#include <sys/socket.h>

#include "tests/lib/vu_wire.h"

bool vu_wire_send(int sock, const void *data, size_t len, const int *fd,
		  unsigned int fds, int flags)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(VU_WIRE_FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fds) {
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fd, fds * sizeof(int));
	}
	return sendmsg(sock, &mh, flags | MSG_NOSIGNAL) == (ssize_t)len;
}
