// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tells a service manager that the daemon serves: sd_notify(3).
 *
 * libsystemd would do this, too, but it opens the socket when it sends, which is too late
 * in a sandbox.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sd_notify.h"

int sd_notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len)
		return -1;
	if (len >= sizeof(addr.sun_path)) {
		log_warn("NOTIFY_SOCKET: %s", strerror(ENAMETOOLONG));
		return -1;
	}
	memcpy(addr.sun_path, path, len);
	/* A socket without a file. */
	if (*path == '@')
		addr.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&addr,
				offsetof(struct sockaddr_un, sun_path) + len))
		return fd;
	log_warn("NOTIFY_SOCKET: %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

void sd_notify_tell(int fd, const char *status)
{
	if (fd < 0)
		return;
	if (dprintf(fd, "READY=1\nSTATUS=%s", status) < 0)
		log_warn("NOTIFY_SOCKET: %s", strerror(errno));
}
