// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The socket that an operator's commands come by.
 *
 * Theory of operation
 *
 * A client sends one command, which is a line, and gets one answer.  A descriptor may come
 * with the line, which a command that adds a port wants.  Then the connection is closed.
 * The answer is made at once and written as fast as the client reads it.  There is room for
 * CONTROL_CLIENTS connections, and each one is closed after CONTROL_PATIENCE_NS.  So clients
 * that do nothing can keep the others out for that long at most.
 *
 * The commands "takeover" and "takeover piped" are another daemon's, of the same user or of root:
 * from now on the connection is its own affair.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/uds.h"
#include "base/util.h"
#include "operator/line.h"
#include "operator/socket.h"

#define CONTROL_CLIENTS		8
#define CONTROL_PATIENCE_NS	(5 * 1000000000ULL)

/**
 * struct client - a connection
 * @control:	socket that it came by
 * @lfd:	its own; fd -1 if there is none
 * @patience:	ends it
 * @len:	bytes in @line
 * @line:	command, as far as it has come
 * @fd:		descriptor that came with it, or -1
 * @answer:	answer, or NULL as long as there is none
 * @size:	bytes of it
 * @done:	bytes of it that were written
 */
struct client {
	struct operator_socket *control;
	struct loop_fd lfd;
	struct loop_timer patience;
	size_t len;
	char line[OPERATOR_LINE_MAX];
	int fd;
	char *answer;
	size_t size;
	size_t done;
};

/**
 * struct operator_socket - the socket
 * @loop:	event loop
 * @op:		what the commands are about
 * @lfd:	listening socket
 * @path:	its name
 * @uid:	user that the daemon was started by
 * @client:	connections
 */
struct operator_socket {
	struct loop *loop;
	const struct operator *op;
	struct loop_fd lfd;
	char *path;
	uid_t uid;
	struct client client[CONTROL_CLIENTS];
};

/* Closes a descriptor that no command has taken over. */
static void client_drop(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static void client_end(void *arg)
{
	struct client *client = arg;
	struct loop *loop = client->control->loop;

	loop_timer_cancel(loop, &client->patience);
	loop_fd_del(loop, &client->lfd);
	close(client->lfd.fd);
	client->lfd.fd = -1;
	client_drop(client);
	free(client->answer);
	client->answer = NULL;
}

/* Returns true when there is nothing more to be written. */
static bool client_write(struct client *client)
{
	ssize_t n = send(client->lfd.fd, client->answer + client->done,
			 client->size - client->done,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno != EAGAIN && errno != EINTR;
	client->done += n;
	return client->done == client->size;
}

static bool client_answer(struct client *client)
{
	FILE *out = open_memstream(&client->answer, &client->size);

	if (!out)
		return true;
	operator_command(client->control->op, client->line, &client->fd, out);
	client_drop(client);
	if (fclose(out))
		return true;
	client->done = 0;
	loop_fd_set(client->control->loop, &client->lfd, EPOLLOUT);
	return client_write(client);
}

/* Keeps the first descriptor that came, and closes others. */
static void client_take(struct client *client, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	int fd;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
		if (client->fd < 0)
			client->fd = fd;
		else
			close(fd);
	}
}

/* There is room for one descriptor: the kernel closes those that come with it. */
static ssize_t client_receive(struct client *client)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_LEN(sizeof(int))];
	} control;
	struct iovec iov = {
		.iov_base = client->line + client->len,
		.iov_len = sizeof(client->line) - client->len,
	};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t n = recvmsg(client->lfd.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0)
		client_take(client, &msg);
	return n;
}

static bool client_may_take_over(const struct client *client)
{
	socklen_t len = sizeof(struct ucred);
	struct ucred cred;

	return !getsockopt(client->lfd.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	       (!cred.uid || cred.uid == client->control->uid);
}

/* Gives the connection away, if that is what the client wants. */
static bool client_takes_over(struct client *client)
{
	const struct operator *op = client->control->op;
	struct loop *loop = client->control->loop;
	const int fd = client->lfd.fd;
	const bool piped = !strcmp(client->line, "takeover piped");

	if (!piped && strcmp(client->line, "takeover"))
		return false;
	if (!op->changes || !op->changes->takeover || !client_may_take_over(client))
		return false;
	loop_timer_cancel(loop, &client->patience);
	loop_fd_del(loop, &client->lfd);
	client->lfd.fd = -1;
	client_drop(client);
	op->changes->takeover(op->arg, fd, piped);
	return true;
}

/* Returns true when the connection is to be ended. */
static bool client_read(struct client *client)
{
	char *end;
	ssize_t n = client_receive(client);

	if (n <= 0)
		return !n || (errno != EAGAIN && errno != EINTR);
	client->len += n;
	end = memchr(client->line, '\n', client->len);
	if (!end)
		return client->len == sizeof(client->line);
	*end = 0;
	return !client_takes_over(client) && client_answer(client);
}

static void client_event(void *arg, uint32_t events __always_unused)
{
	struct client *client = arg;

	if (client->answer ? client_write(client) : client_read(client))
		client_end(client);
}

static struct client *client_unused(struct operator_socket *control)
{
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (control->client[i].lfd.fd < 0)
			return &control->client[i];
	return NULL;
}

static void operator_socket_accept(void *arg, uint32_t events __always_unused)
{
	struct operator_socket *control = arg;
	struct client *client;
	int fd = uds_accept(control->loop, &control->lfd);

	if (fd < 0)
		return;
	client = client_unused(control);
	if (!client) {
		close(fd);
		return;
	}
	client->len = 0;
	client->lfd.fd = fd;
	if (loop_fd_add(control->loop, &client->lfd, EPOLLIN)) {
		close(fd);
		client->lfd.fd = -1;
		return;
	}
	loop_timer_set(control->loop, &client->patience, CONTROL_PATIENCE_NS);
}

static void client_init(struct client *client, struct operator_socket *control)
{
	client->control = control;
	client->fd = -1;
	client->lfd.fd = -1;
	client->lfd.fn = client_event;
	client->lfd.arg = client;
	client->patience.fn = client_end;
	client->patience.arg = client;
}

struct operator_socket *operator_socket_take(struct loop *loop, const char *path, int fd,
					     const struct operator *op)
{
	struct operator_socket *control = calloc(1, sizeof(*control));
	unsigned int i;
	int err;

	if (!control)
		return NULL;
	control->loop = loop;
	control->op = op;
	control->uid = geteuid();
	for (i = 0; i < CONTROL_CLIENTS; i++)
		client_init(&control->client[i], control);
	err = ENOMEM;
	control->path = strdup(path);
	if (!control->path)
		goto err_free;
	control->lfd.fd = fd;
	control->lfd.fn = operator_socket_accept;
	control->lfd.arg = control;
	err = -loop_fd_add(loop, &control->lfd, EPOLLIN);
	if (!err)
		return control;

	free(control->path);
err_free:
	free(control);
	errno = err;
	return NULL;
}

struct operator_socket *operator_socket_new(struct loop *loop, const char *path,
					    const struct operator *op)
{
	struct operator_socket *control;
	/* Only the owner may connect, even before a chmod(). */
	const mode_t mask = umask(0177);
	const int fd = uds_listen(path, CONTROL_CLIENTS);
	int err;

	umask(mask);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	control = operator_socket_take(loop, path, fd, op);
	if (control)
		return control;
	err = errno;
	unlink(path);
	close(fd);
	errno = err;
	return NULL;
}

int operator_socket_fd(const struct operator_socket *control)
{
	return control->lfd.fd;
}

void operator_socket_free(struct operator_socket *control)
{
	unsigned int i;

	for (i = 0; i < CONTROL_CLIENTS; i++)
		if (control->client[i].lfd.fd >= 0)
			client_end(&control->client[i]);
	loop_fd_del(control->loop, &control->lfd);
	close(control->lfd.fd);
	unlink(control->path);
	free(control->path);
	free(control);
}
