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
	/* A part of a message is of no use to anybody. */
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

void vu_msg_copy(struct vu_msg *to, const struct vu_msg *from)
{
	to->got = from->got;
	to->hdr = from->hdr;
	memcpy(&to->u, &from->u, from->hdr.size);
	to->reply_len = 0;
	to->fd_n = from->fd_n;
	to->fd_lost = from->fd_lost;
	memcpy(to->fd, from->fd, sizeof(to->fd));
}

/* ------------------------------------------------------------------------- */
/* Boxes                                                                     */
/* ------------------------------------------------------------------------- */

void vu_box_init(struct vu_box *box)
{
	box->stage = 0;
	box->out.msg_len = 0;
	box->has_reply = 0;
	vu_box_forget(box);
}

void vu_box_forget(struct vu_box *box)
{
	box->tries = 0;
	box->in.msg_len = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	box->msg.fd_n = 0;
	box->msg.fd_lost = false;
	box->msg.got = 0;
}

void vu_box_answer(struct vu_box *box, const struct vu_msg *msg)
{
	box->out.msg_len = 0;
	box->has_reply = !!msg;
	if (!msg)
		return;
	box->hdr = (struct vu_header) {
		.request = msg->hdr.request,
		.flags = VU_FLAGS_VERSION | VU_FLAGS_REPLY,
		.size = msg->reply_len,
	};
	memcpy(box->reply, &msg->u, msg->reply_len);
}

int vu_box_send(int fd, struct vu_box *box)
{
	struct iovec iov[] = {
		{ .iov_base = &box->hdr, .iov_len = sizeof(box->hdr) },
		{ .iov_base = box->reply, .iov_len = box->hdr.size },
	};
	int err = 0;

	if (box->has_reply && !box->out.msg_len) {
		box->out.msg_hdr = (struct msghdr) { .msg_iov = iov, .msg_iovlen = 2 };
		if (sendmmsg(fd, &box->out, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			err = -errno;
		/* A peer whose socket is full does not read replies, so fail. */
		else if (box->out.msg_len != sizeof(box->hdr) + box->hdr.size)
			err = -EPIPE;
	}
	vu_box_stage(box, 0);
	return err;
}

/* Number and place of the descriptors in a header of control data. */
static unsigned int cmsg_fds(const struct cmsghdr *cmsg)
{
	size_t n = 0;

	if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len > CMSG_LEN(0))
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	return n < VU_FDS_MAX ? n : VU_FDS_MAX;
}

static int cmsg_fd(struct cmsghdr *cmsg, unsigned int i)
{
	int fd;

	memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
	return fd;
}

/* The control data that came, wherever the process was that received it. */
static struct msghdr vu_box_control(struct vu_box *box)
{
	size_t len = box->in.msg_hdr.msg_controllen;

	return (struct msghdr) {
		.msg_control = &box->control,
		.msg_controllen = len < sizeof(box->control) ? len : sizeof(box->control),
	};
}

/*
 * Add what the last call brought to the message.  All of it is computed from what was there
 * before that, so that it can be done again if this is interrupted: the last store ends it.
 * With @spare descriptors that have no room are closed.
 */
static void vu_box_take(struct vu_box *box, bool spare)
{
	struct msghdr mh = vu_box_control(box);
	struct vu_msg *msg = &box->msg;
	unsigned int i, n = box->fd_at < VU_FDS_MAX ? box->fd_at : VU_FDS_MAX;
	struct cmsghdr *cmsg;

	if (!box->in.msg_len || box->at != msg->got)
		return;
	if (box->in.msg_hdr.msg_flags & MSG_CTRUNC)
		msg->fd_lost = true;
	for (cmsg = CMSG_FIRSTHDR(&mh); cmsg; cmsg = CMSG_NXTHDR(&mh, cmsg))
		for (i = 0; i < cmsg_fds(cmsg); i++) {
			if (n < VU_FDS_MAX) {
				msg->fd[n++] = cmsg_fd(cmsg, i);
				continue;
			}
			msg->fd_lost = true;
			if (spare)
				close(cmsg_fd(cmsg, i));
		}
	msg->fd_n = n;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	msg->got = box->at + box->in.msg_len;
}

void vu_box_settle(struct vu_box *box)
{
	if (!(box->stage & VU_BOX_DONE)) {
		/* The next process closes all that it does not know. */
		vu_box_take(box, false);
		return;
	}
	vu_box_forget(box);
	if (!box->has_reply || box->out.msg_len)
		vu_box_stage(box, 0);
}

bool vu_header_is_good(const struct vu_header *hdr)
{
	return (hdr->flags & VU_FLAGS_VERSION_MASK) == VU_FLAGS_VERSION &&
	       hdr->size <= VU_PAYLOAD_MAX;
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

/* Returns what recvmsg() would, or -errno. */
static ssize_t vu_box_call(int fd, struct vu_box *box, struct iovec *iov)
{
	int n;

	box->in.msg_len = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	box->at = box->msg.got;
	box->fd_at = box->msg.fd_n;
	do {
		box->in.msg_hdr = (struct msghdr) {
			.msg_iov = iov,
			.msg_iovlen = 1,
			.msg_control = &box->control,
			.msg_controllen = sizeof(box->control),
		};
		n = recvmmsg(fd, &box->in, 1, MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (ssize_t)box->in.msg_len;
}

/* Nothing behind the message, whose descriptors come with its own bytes. */
int vu_receive(int fd, struct vu_box *box)
{
	struct vu_msg *msg = &box->msg;
	struct iovec iov;
	ssize_t n;

	for (;;) {
		iov = vu_msg_room(msg);
		if (!iov.iov_len)
			return 1;
		n = vu_box_call(fd, box, &iov);
		if (n < 0)
			return n == -EAGAIN ? 0 : n;
		vu_box_take(box, true);
		/* There is room for more, but this process may have no more. */
		if (box->in.msg_hdr.msg_flags & MSG_CTRUNC && msg->fd_n < VU_FDS_MAX)
			return -EMFILE;
		if (!n)
			return -ECONNRESET;
		if (msg->got == sizeof(msg->hdr) && !vu_header_is_good(&msg->hdr))
			return -EPROTO;
	}
}
