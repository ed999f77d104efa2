// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guests in memory that outlives the process.
 *
 * Only guests are kept.  Uplinks, the control socket and captures are made anew, as the options
 * say: nobody at their other ends waits for this very descriptor.  An uplink that an operator
 * added is gone then; a guest that was added stays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/keeper.h"
#include "base/log.h"
#include "function/function_image.h"
#include "ports_image.h"
#include "ports_keep.h"

static struct guest_keep *keep_of(struct ports *ports, const struct guest *guest)
{
	return ports->keep ? &ports->keep[guest - ports->guest] : NULL;
}

void ports_keep_guest(struct ports *ports, struct guest *guest)
{
	struct guest_keep *keep = keep_of(ports, guest);

	if (!keep)
		return;
	if (strncmp(keep->text, guest->options.text, sizeof(keep->text))) {
		memset(keep->text, 0, sizeof(keep->text));
		memcpy(keep->text, guest->options.text, strlen(guest->options.text));
	}
	keep->pin = guest->options.pin;
	function_set_keep(guest->fn, &keep->fn);
	vhost_user_set_keep(guest->vu, &keep->vu);
	keep->used = true;
}

void ports_keep_not(struct ports *ports, const struct guest *guest)
{
	struct guest_keep *keep = keep_of(ports, guest);

	if (keep)
		keep->used = false;
}

void ports_keep_all(struct ports *ports)
{
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++)
		if (ports->guest[i].fn)
			ports_keep_guest(ports, &ports->guest[i]);
}

void ports_keep_sweep(struct ports *ports)
{
	int *fd = calloc(GUESTS_MAX * VU_KEEP_FDS, sizeof(*fd));
	unsigned int i;
	size_t n = 0;

	/* Without memory for it they stay open. */
	for (i = 0; fd && i < GUESTS_MAX; i++)
		if (ports->keep[i].used)
			n += vhost_user_kept_fds(&ports->keep[i].vu, fd + n);
	if (fd)
		n = keeper_sweep(fd, n);
	ports->kept_fd = fd;
	ports->kept_fds = n;
}

/* When this process keeps its guests itself, with descriptors of its own. */
static void ports_keep_close(struct ports *ports)
{
	while (ports->kept_fds)
		close(ports->kept_fd[--ports->kept_fds]);
	free(ports->kept_fd);
	ports->kept_fd = NULL;
}

/* ------------------------------------------------------------------------- */
/* After a process that was killed                                           */
/* ------------------------------------------------------------------------- */

static const struct port_options *recover_find(const struct ports *ports, const char *text)
{
	const struct options *all = ports->options;
	unsigned int i;

	for (i = 0; i < all->guests; i++)
		if (!strcmp(all->guest[i].text, text))
			return &all->guest[i];
	return NULL;
}

static int recover_options(const struct ports *ports, const struct guest_keep *keep,
			   struct port_options *options)
{
	const struct port_options *in_options;

	if (!keep->text[0] || !memchr(keep->text, 0, sizeof(keep->text)) ||
	    ports_have(ports, keep->text) || keep->pin.gids > PIN_GIDS_MAX)
		return -EINVAL;
	in_options = recover_find(ports, keep->text);
	*options = (struct port_options) { .fault = ports->options->all.fault };
	if (in_options)
		*options = *in_options;
	else
		options->pin = keep->pin;
	options->pin.has_mac = keeper_bool(&options->pin.has_mac);
	memcpy(options->path, keep->text, sizeof(options->path));
	options->text = options->path;
	return 0;
}

static int recover_guest(struct ports *ports, unsigned int number)
{
	struct guest_keep *keep = &ports->keep[number];
	struct guest *guest = &ports->guest[number];
	struct port_options options;
	int err;

	err = recover_options(ports, keep, &options);
	if (!err)
		err = guest_make(ports, number, &options, -1);
	if (!err)
		err = vhost_user_recover(guest->vu, &keep->vu, guest->options.text);
	if (!err && vhost_user_connected(guest->vu))
		err = function_recover(guest->fn, &keep->fn);
	return err;
}

int ports_recover(struct ports *ports)
{
	struct guest *guest = ports->guest;
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++, guest++)
		if (ports->keep[i].used && recover_guest(ports, i) && guest->fn)
			guest_unmake(ports, guest);
	ports_keep_all(ports);
	ports_keep_close(ports);
	return ports_start_rest(ports);
}

void ports_recovered(struct ports *ports)
{
	struct guest *guest = ports->guest;
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++, guest++) {
		if (!guest->fn)
			continue;
		vhost_user_look_again(guest->vu);
		/* Its driver asks then whether RDMA still works. */
		vhost_user_fe_ops.config_changed(guest->vu);
	}
	loop_rouse(ports->loop);
}
