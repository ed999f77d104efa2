// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Namespaces: what is common to all, and the one that keeps nothing.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "storage/ns.h"

static int ns_check(const struct ns *ns, const struct ns_io *io)
{
	const uint64_t mask = ns->block - 1;

	if (io->op == NS_FLUSH)
		return 0;
	if ((io->offset | io->len) & mask || !io->len)
		return -EINVAL;
	if (io->offset > ns->size || io->len > ns->size - io->offset)
		return -EINVAL;
	return ns->ro && io->op != NS_READ ? -EROFS : 0;
}

static void ns_count(struct ns *ns, const struct ns_io *io, int err)
{
	struct ns_counters *count = &ns->count;

	if (err) {
		count->errors++;
	} else if (io->op == NS_READ) {
		count->read++;
		count->read_bytes += io->len;
	} else if (io->op == NS_WRITE) {
		count->written++;
		count->written_bytes += io->len;
	} else {
		count->other++;
	}
}

void ns_done(struct ns_io *io, int err)
{
	ns_count(io->ns, io, err);
	io->done(io, err);
}

void ns_submit(struct ns *ns, struct ns_io *io)
{
	int err = ns_check(ns, io);

	io->ns = ns;
	if (err)
		ns_done(io, err);
	else
		ns->submit(ns->arg, io);
}

static void ns_null_submit(void *arg __always_unused, struct ns_io *io)
{
	if (io->op == NS_READ)
		memset(io->buf, 0, io->len);
	ns_done(io, 0);
}

void ns_null(struct ns *ns, const char *name, uint64_t size, bool ro)
{
	memset(ns, 0, sizeof(*ns));
	snprintf(ns->name, sizeof(ns->name), "%s", name);
	ns->block = NS_NULL_BLOCK;
	ns->size = size;
	ns->ro = ro;
	ns->submit = ns_null_submit;
}
