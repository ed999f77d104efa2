// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The client's side of the control socket.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "operator/control_client.h"

int ask_fail(const char *what)
{
	fprintf(stderr, "vhost-user-roce-ctl: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static int ask_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

static bool ask_send(int sock, const char *command, int fd)
{
	union {
		struct cmsghdr cmsg;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = {
		.iov_base = (char *)command,
		.iov_len = strlen(command),
	};
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.cmsg.cmsg_level = SOL_SOCKET;
		control.cmsg.cmsg_type = SCM_RIGHTS;
		control.cmsg.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.cmsg), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)iov.iov_len;
}

/* Reads the first line, and tells what is wrong unless it is "ok". */
static bool ask_is_ok(FILE *answer)
{
	char *line = NULL;
	size_t size = 0;
	bool ok = false;

	if (getline(&line, &size, answer) <= 0)
		fprintf(stderr, "vhost-user-roce-ctl: no answer\n");
	else if (strcmp(line, "ok\n"))
		fprintf(stderr, "vhost-user-roce-ctl: %s",
			strncmp(line, "error ", 6) ? line : line + 6);
	else
		ok = true;
	free(line);
	return ok;
}

FILE *ask(const char *path, const char *command, int fd)
{
	int sock = ask_connect(path);
	FILE *answer;

	if (sock < 0 || !ask_send(sock, command, fd)) {
		ask_fail(path);
		if (sock >= 0)
			close(sock);
		return NULL;
	}
	answer = fdopen(sock, "r");
	if (!answer) {
		ask_fail("socket");
		close(sock);
		return NULL;
	}
	if (ask_is_ok(answer))
		return answer;
	fclose(answer);
	return NULL;
}
