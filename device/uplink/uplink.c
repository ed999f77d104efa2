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

unsigned int uplink_needs(const char *text)
{
	const struct uplink_ops *ops = uplink_kind(text);

	return ops ? ops->needs : 0;
}

static struct uplink *uplink_new(const struct uplink_env *env,
				 const struct uplink_ops *ops, const char *text, int fd)
{
	struct uplink *uplink = ops->open(env, text + strlen(ops->scheme) + 1, fd);

	if (!uplink)
		return NULL;
	uplink->ops = ops;
	uplink->fd = ops->needs & UPLINK_CONNECTS ? -1 : fd;
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

static void stats_io(struct state *st, struct uplink_stats *stats)
{
	state_u64(st, "tx_dropped", &stats->tx_dropped, UINT64_MAX);
	state_u64(st, "rx_dropped", &stats->rx_dropped, UINT64_MAX);
}

void uplink_save(struct uplink *uplink, struct state *st)
{
	state_fd(st, "descriptor", &uplink->fd);
	stats_io(st, &uplink->stats);
	if (uplink->ops->save)
		uplink->ops->save(uplink, st);
}

/* An uplink that connects has no descriptor of its own. */
static bool descriptor_fits(const struct uplink_ops *ops, const char *text, int fd)
{
	if (!ops)
		return false;
	if (ops->needs & UPLINK_CONNECTS)
		return fd < 0;
	return fd >= 0 && uplink_descriptor_fits(text, fd);
}

struct uplink *uplink_load(const struct uplink_env *env, const char *text, struct state *st)
{
	const struct uplink_ops *ops = uplink_kind(text);
	struct uplink_stats stats = {};
	struct uplink *uplink = NULL;
	const char *arg;
	int fd = -1;

	state_fd(st, "descriptor", &fd);
	stats_io(st, &stats);
	state_need(st, descriptor_fits(ops, text, fd), "descriptor", "of another kind");
	if (st->failed) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	arg = text + strlen(ops->scheme) + 1;
	uplink = ops->load ? ops->load(env, arg, fd, st) : ops->open(env, arg, fd);
	if (!uplink) {
		state_refuse(st, "descriptor", "%s", strerror(errno));
		return NULL;
	}
	uplink->ops = ops;
	uplink->fd = fd;
	uplink->stats.tx_dropped = stats.tx_dropped;
	uplink->stats.rx_dropped = stats.rx_dropped;
	return uplink;
}

void uplink_free(struct uplink *uplink)
{
	uplink->ops->free(uplink);
}
