// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unix stream sockets.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uds.h"

/* How long a connection waits for a descriptor. */
#define UDS_REST_NS	(100 * 1000000ULL)

static int uds_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int uds_addr(struct sockaddr_un *addr, const char *path)
{
	if (!*path)
		return -EINVAL;
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(addr->sun_path, path);
	return 0;
}

static int uds_connect_addr(const struct sockaddr_un *addr)
{
	int fd = uds_socket();
	int err;

	if (fd < 0)
		return fd;
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int uds_unlink_stale(const char *path)
{
	struct sockaddr_un addr;
	struct stat st;
	int fd = uds_addr(&addr, path);

	if (fd)
		return fd;
	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;

	fd = uds_connect_addr(&addr);
	/* A socket whose queue is full has an owner, too. */
	if (fd >= 0 || fd == -EAGAIN) {
		if (fd >= 0)
			close(fd);
		return -EADDRINUSE;
	}
	if (fd != -ECONNREFUSED)
		return fd;
	return unlink(path) ? -errno : 0;
}

void uds_unlink(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
}

static int uds_option(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) ? -1 : value;
}

static bool uds_is_stream(int fd)
{
	return uds_option(fd, SO_DOMAIN) == AF_UNIX &&
	       uds_option(fd, SO_TYPE) == SOCK_STREAM;
}

bool uds_is_listening(int fd)
{
	return uds_is_stream(fd) && uds_option(fd, SO_ACCEPTCONN) == 1;
}

bool uds_is_connected(int fd)
{
	return uds_is_stream(fd) && !uds_option(fd, SO_ACCEPTCONN);
}

int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int uds_listen(const char *path, int backlog)
{
	struct sockaddr_un addr;
	int fd, err;

	err = uds_addr(&addr, path);
	if (!err)
		err = uds_unlink_stale(path);
	if (err)
		return err;
	fd = uds_socket();
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		goto err_close;
	}
	if (listen(fd, backlog)) {
		err = -errno;
		goto err_unlink;
	}
	return fd;

err_unlink:
	unlink(path);
err_close:
	close(fd);
	return err;
}

int uds_accept(struct loop *loop, struct loop_fd *listener)
{
	static struct log_limit limit;
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err = errno;

	if (fd >= 0)
		return fd;
	/* The connection is still there: epoll would report it without end. */
	if (err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM) {
		loop_fd_rest(loop, listener, UDS_REST_NS);
		if (log_limit_ok(&limit))
			log_warn("a connection has to wait: %s", strerror(err));
	}
	return -err;
}

int uds_connect(const char *path)
{
	struct sockaddr_un addr;
	int err = uds_addr(&addr, path);

	return err ? err : uds_connect_addr(&addr);
}
