// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guests and uplinks that are added and removed.
 *
 * Theory of operation
 *
 * The daemon is in a sandbox: it sees some directories only, and cannot make sockets or
 * open devices.  So we make what a new guest or uplink needs, and pass its descriptor
 * with the command.  A socket that has a name in a file system is made as the daemon itself would
 * have made it, that is by its user and group, and with its umask: whoever may connect to
 * its other sockets may connect to this one, and nothing is made or removed where the
 * daemon's user could not.  An interface is opened with our own rights.
 *
 * The name of a socket is removed by us, too, because its directory may be out of the
 * daemon's sight.
 */

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/uds.h"
#include "operator/control_client.h"
#include "operator/open_port.h"
#include "operator/line.h"
#include "uplink/descriptor.h"

#define LISTENS		"unix:"
#define CONNECTS	"connect:"

static int hand_fail(const char *name, const char *what, int err)
{
	fprintf(stderr, "vhost-user-roce-ctl: %s: %s: %s\n", name, what, strerror(err));
	return EXIT_FAILURE;
}

/* ------------------------------------------------------------------------- */
/* As the daemon                                                             */
/* ------------------------------------------------------------------------- */

static bool hand_become(const struct ucred *daemon)
{
	if (geteuid() || (!daemon->uid && daemon->gid == getegid()))
		return true;
	return !setgroups(1, &daemon->gid) &&
	       !setresgid(daemon->gid, daemon->gid, daemon->gid) &&
	       !setresuid(daemon->uid, daemon->uid, daemon->uid);
}

/* From now on we have the daemon's umask and, if we are root, its user and group. */
static bool hand_as_daemon(const char *control)
{
	FILE *answer = ask(control, "umask\n", -1);
	struct ucred daemon;
	socklen_t len = sizeof(daemon);
	unsigned int mask = 0;
	bool ok;

	if (!answer)
		return false;
	ok = fscanf(answer, "%o", &mask) == 1 && mask <= 0777 &&
	     !getsockopt(fileno(answer), SOL_SOCKET, SO_PEERCRED, &daemon, &len) &&
	     hand_become(&daemon);
	if (ok)
		umask(mask);
	else
		hand_fail(control, "cannot act as the daemon's user", errno);
	fclose(answer);
	return ok;
}

/* ------------------------------------------------------------------------- */
/* Commands                                                                  */
/* ------------------------------------------------------------------------- */

static FILE *hand_ask(const char *control, const char *verb, const char *text, int fd)
{
	char line[OPERATOR_LINE_MAX + 1];

	if (strchr(text, '\n') ||
	    snprintf(line, sizeof(line), "%s %s\n", verb, text) >= (int)sizeof(line)) {
		hand_fail(text, "name", EINVAL);
		return NULL;
	}
	return ask(control, line, fd);
}

/* Makes an absolute path of the one that @text begins with, behind @scheme. */
static char *hand_absolute(const char *scheme, const char *text)
{
	char cwd[PATH_MAX], *absolute;
	int n;

	if (*text == '/')
		n = asprintf(&absolute, "%s%s", scheme, text);
	else if (getcwd(cwd, sizeof(cwd)))
		n = asprintf(&absolute, "%s%s/%s", scheme, cwd, text);
	else
		n = -1;
	if (n >= 0)
		return absolute;
	ask_fail("path");
	return NULL;
}

/* Hands over a socket that listens; its name is removed if the daemon does not take it. */
static int hand_listener(const char *control, const char *verb, const char *text,
			 const char *path, int fd)
{
	FILE *answer = hand_ask(control, verb, text, fd);

	close(fd);
	if (!answer) {
		uds_unlink_stale(path);
		return EXIT_FAILURE;
	}
	fclose(answer);
	return EXIT_SUCCESS;
}

static int hand_guest_at(const char *control, const char *text)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%.*s", (int)strcspn(text, ","), text) >=
	    (int)sizeof(path))
		return hand_fail(text, "path", ENAMETOOLONG);
	fd = uds_listen(path, 1);
	if (fd < 0)
		return hand_fail(path, "cannot listen", -fd);
	return hand_listener(control, "guest add", text, path, fd);
}

int hand_guest(const char *control, const char *text)
{
	char *absolute = hand_absolute("", text);
	int status = EXIT_FAILURE;

	if (absolute && hand_as_daemon(control))
		status = hand_guest_at(control, absolute);
	free(absolute);
	return status;
}

static int hand_uplink_by(const char *control, const char *text, bool listens)
{
	const char *what;
	FILE *answer;
	int fd;

	if (listens && !hand_as_daemon(control))
		return EXIT_FAILURE;
	fd = uplink_descriptor(text, &what);
	if (fd < 0)
		return hand_fail(text, what, -fd);
	if (listens)
		return hand_listener(control, "uplink add", text, text + strlen(LISTENS),
				     fd);
	answer = hand_ask(control, "uplink add", text, fd);
	close(fd);
	if (!answer)
		return EXIT_FAILURE;
	fclose(answer);
	return EXIT_SUCCESS;
}

int hand_uplink(const char *control, const char *text)
{
	const bool listens = !strncmp(text, LISTENS, strlen(LISTENS));
	const char *scheme = listens ? LISTENS : CONNECTS;
	char *absolute;
	int status;

	if (!listens && strncmp(text, CONNECTS, strlen(CONNECTS)))
		return hand_uplink_by(control, text, false);
	absolute = hand_absolute(scheme, text + strlen(scheme));
	if (!absolute)
		return EXIT_FAILURE;
	status = hand_uplink_by(control, absolute, listens);
	free(absolute);
	return status;
}

/* The answer has the path, if there is one. */
static int hand_remove(const char *control, const char *verb, const char *name)
{
	char path[PATH_MAX];
	FILE *answer;
	int err = 0;

	if (!hand_as_daemon(control))
		return EXIT_FAILURE;
	answer = hand_ask(control, verb, name, -1);
	if (!answer)
		return EXIT_FAILURE;
	if (fgets(path, sizeof(path), answer)) {
		path[strcspn(path, "\n")] = 0;
		err = -uds_unlink_stale(path);
	}
	fclose(answer);
	/* Somebody else may listen there already. */
	if (!err || err == EADDRINUSE)
		return EXIT_SUCCESS;
	return hand_fail(path, "removed, but not its name", err);
}

int hand_remove_guest(const char *control, const char *name)
{
	return hand_remove(control, "guest remove", name);
}

int hand_remove_uplink(const char *control, const char *name)
{
	return hand_remove(control, "uplink remove", name);
}
