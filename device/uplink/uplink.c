// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kinds of uplinks.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "uplink/descriptor.h"
#include "uplink/uplink.h"

static const struct uplink_ops *const uplink_kinds[] = {
	&uplink_listen_ops,
	&uplink_connect_ops,
	&uplink_tap_ops,
	&uplink_packet_ops,
};

static const struct uplink_ops *uplink_kind(const char *text)
{
	const struct uplink_ops *ops;
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(uplink_kinds); i++) {
		ops = uplink_kinds[i];
		len = strlen(ops->scheme);
		if (!strncmp(text, ops->scheme, len) && text[len] == ':')
			return ops;
	}
	return NULL;
}

static struct uplink *uplink_new(const struct uplink_env *env,
				 const struct uplink_ops *ops, const char *text, int fd)
{
	struct uplink *uplink = ops->open(env, text + strlen(ops->scheme) + 1, fd);

	if (uplink)
		uplink->ops = ops;
	return uplink;
}

struct uplink *uplink_open(const struct uplink_env *env, const char *text)
{
	const struct uplink_ops *ops = uplink_kind(text);
	const char *what;
	int fd;

	/* The other end of a connection may come later. */
	if (ops && (ops->needs & UPLINK_CONNECTS))
		return uplink_new(env, ops, text, -1);
	fd = uplink_descriptor(text, &what);
	if (ops && fd >= 0)
		return uplink_new(env, ops, text, fd);
	log_error("--uplink: \"%s\": %s: %s", text, what, strerror(-fd));
	errno = -fd;
	return NULL;
}

struct uplink *uplink_take(const struct uplink_env *env, const char *text, int fd)
{
	const struct uplink_ops *ops = uplink_kind(text);

	if (ops && uplink_descriptor_fits(text, fd) && !set_nonblocking(fd))
		return uplink_new(env, ops, text, fd);
	log_error("%s: the descriptor that came with it is of another kind", text);
	close(fd);
	errno = EINVAL;
	return NULL;
}

void uplink_free(struct uplink *uplink)
{
	uplink->ops->free(uplink);
}
