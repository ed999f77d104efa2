// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The kinds of uplinks.
 */

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "uplink/uplink.h"

static const struct uplink_ops *const uplink_kinds[] = {
	&uplink_listen_ops,
	&uplink_connect_ops,
	&uplink_tap_ops,
	&uplink_packet_ops,
};

struct uplink *uplink_open(const struct uplink_env *env, const char *text)
{
	const struct uplink_ops *ops;
	struct uplink *uplink;
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(uplink_kinds); i++) {
		ops = uplink_kinds[i];
		len = strlen(ops->scheme);
		if (strncmp(text, ops->scheme, len) || text[len] != ':')
			continue;
		uplink = ops->open(env, text + len + 1);
		if (!uplink)
			return NULL;
		uplink->ops = ops;
		return uplink;
	}
	log_error("--uplink: \"%s\" is of no known kind", text);
	errno = EINVAL;
	return NULL;
}

void uplink_free(struct uplink *uplink)
{
	uplink->ops->free(uplink);
}
