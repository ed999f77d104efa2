// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports of the daemon's switch, saved and loaded.
 *
 * A port of the command line must be in the options of the process that loads it, where its
 * capture and faults are taken from.  One that an operator added has all in the state.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ether/pcap.h"
#include "function/function_image.h"
#include "ports_image.h"
#include "vhost_user/vhost_user_image.h"

/* Least bytes of an uplink and of a guest: with text, counters and what there is else. */
#define UPLINK_SIZE	(4u + UPLINK_STATE_SIZE)
#define GUEST_SIZE	(8u + VHOST_USER_STATE_SIZE)

/**
 * struct port_image - the part that all ports have
 * @text:	socket, or uplink
 * @configured:	it is in the options
 * @pcap:	descriptor of its capture, or -1
 * @cut:	it is cut off
 * @stats:	counters
 */
struct port_image {
	char text[PORT_NAME_MAX];
	bool configured;
	int pcap;
	bool cut;
	struct port_stats stats;
};

static const struct port_options *options_find(const struct port_options *option,
					       unsigned int n, const char *text)
{
	for (; n; n--, option++)
		if (!strcmp(option->text, text))
			return option;
	return NULL;
}

static void stats_io(struct state *st, struct port_stats *stats)
{
	state_u64(st, "in", &stats->in, UINT64_MAX);
	state_u64(st, "in_bytes", &stats->in_bytes, UINT64_MAX);
	state_u64(st, "out", &stats->out, UINT64_MAX);
	state_u64(st, "out_bytes", &stats->out_bytes, UINT64_MAX);
	state_u64(st, "cut", &stats->cut, UINT64_MAX);
	state_u64(st, "spoofed", &stats->spoofed, UINT64_MAX);
	state_u64(st, "unfinished", &stats->unfinished, UINT64_MAX);
}

static void port_io(struct state *st, struct port_image *port)
{
	state_text(st, "name", port->text, sizeof(port->text));
	state_bool(st, "configured", &port->configured);
	state_fd(st, "capture", &port->pcap);
	state_bool(st, "cut", &port->cut);
	stats_io(st, &port->stats);
}

static struct port_image port_of(const struct port_options *options,
				 const struct port_group *group, bool configured)
{
	struct port_image port = {
		.configured = configured,
		.pcap = pcap_fd(group->pcap),
		.cut = group->cut,
		.stats = group->stats,
	};

	memcpy(port.text, options->text, strlen(options->text));
	return port;
}

/* Finds the options of a port; false, and it is refused, if there must be some. */
static bool port_options_of(struct state *st, const struct ports *ports,
			    const struct port_image *port, const struct port_options *in_options,
			    struct port_options *options)
{
	if (st->failed)
		return false;
	if (!in_options && port->configured)
		state_refuse(st, "name", "port %s is not in the options", port->text);
	else if (!port->text[0] || ports_have(ports, port->text))
		state_refuse(st, "name", "port %s is there twice, or has no name", port->text);
	*options = (struct port_options) { .fault = ports->options->all.fault };
	if (in_options)
		*options = *in_options;
	memcpy(options->path, port->text, sizeof(options->path));
	options->text = options->path;
	return !st->failed;
}

/* The capture goes on if it is wanted. */
static int port_pcap(struct port_image *port, const struct port_options *options)
{
	int fd = port->pcap;

	port->pcap = -1;
	if (fd < 0 || options->pcap)
		return fd;
	close(fd);
	return -1;
}

static void port_close(struct port_image *port)
{
	if (port->pcap >= 0)
		close(port->pcap);
}

/* ------------------------------------------------------------------------- */
/* Uplinks                                                                   */
/* ------------------------------------------------------------------------- */

static void uplink_io_save(struct state *st, struct ports *ports, struct uplink_port *at)
{
	struct port_image port = port_of(&at->options, &at->group,
		options_find(ports->options->uplink, ports->options->uplinks,
			     at->options.text));

	port_io(st, &port);
	uplink_save(at->uplink, st);
}

static void uplink_io_load(struct state *st, struct ports *ports, unsigned int number)
{
	const struct options *all = ports->options;
	struct uplink_port *at = &ports->uplink[number];
	const struct uplink_env env = {
		.loop = ports->loop,
		.sw = ports->sw,
		.group = &at->group,
	};
	struct port_image port = { .pcap = -1 };
	struct port_options options;
	int pcap;

	port_io(st, &port);
	if (!port_options_of(st, ports, &port,
			     options_find(all->uplink, all->uplinks, port.text), &options)) {
		port_close(&port);
		return;
	}
	at->options = options;
	at->options.text = at->options.path;
	pcap = port_pcap(&port, &options);
	if (group_start(&at->group, port.text, &options, GUESTS_MAX + number, pcap)) {
		state_refuse(st, "capture", "port %s: cannot be had", port.text);
		return;
	}
	at->uplink = uplink_load(&env, at->options.text, st);
	if (!at->uplink) {
		group_stop(&at->group);
		return;
	}
	at->group.cut = port.cut;
	at->group.stats = port.stats;
	ports_list(ports);
}

void ports_uplinks_io(struct state *st, struct ports *ports)
{
	uint32_t i, n = 0;

	for (i = 0; i < UPLINKS_MAX; i++)
		n += !!ports->uplink[i].uplink;
	state_count(st, "uplinks", &n, UPLINKS_MAX, UPLINK_SIZE);
	if (st->loading) {
		for (i = 0; i < n && !st->failed; i++)
			uplink_io_load(st, ports, i);
		return;
	}
	for (i = 0; i < UPLINKS_MAX; i++)
		if (ports->uplink[i].uplink)
			uplink_io_save(st, ports, &ports->uplink[i]);
}

/* ------------------------------------------------------------------------- */
/* Guests                                                                    */
/* ------------------------------------------------------------------------- */

static void pin_io(struct state *st, struct pin *pin)
{
	uint32_t i, gids = pin->gids;

	state_bool(st, "has_mac", &pin->has_mac);
	state_bytes(st, "mac", pin->mac, sizeof(pin->mac));
	state_need(st, !(pin->mac[0] & 1), "mac", "not the address of a station");
	state_count(st, "gids", &gids, PIN_GIDS_MAX, GID_SIZE);
	for (i = 0; i < gids; i++)
		state_bytes(st, "gid", pin->gid[i], GID_SIZE);
	pin->gids = gids;
}

static bool pin_is(const struct pin *a, const struct pin *b)
{
	return a->has_mac == b->has_mac && !memcmp(a->mac, b->mac, sizeof(a->mac)) &&
	       a->gids == b->gids && !memcmp(a->gid, b->gid, a->gids * GID_SIZE);
}

static void guest_io_save(struct state *st, struct ports *ports, uint32_t number)
{
	struct guest *guest = &ports->guest[number];
	struct port_image port = port_of(&guest->options, &guest->group,
		options_find(ports->options->guest, ports->options->guests,
			     guest->options.text));

	state_u32(st, "number", &number, GUESTS_MAX - 1);
	port_io(st, &port);
	pin_io(st, &guest->options.pin);
	state_u64(st, "address", &guest->mac, UINT64_MAX);
	vhost_user_io(st, guest->vu, guest->options.text);
}

/* Its place and addresses are as they were. */
static bool guest_agrees(struct state *st, const struct ports *ports, uint32_t number,
			 const struct port_options *options, const struct pin *pin,
			 uint64_t mac)
{
	if (ports->guest[number].fn)
		state_refuse(st, "number", "%u is there twice", number);
	else if (!pin_is(&options->pin, pin))
		state_refuse(st, "mac",
			     "port %s has other mac= or gid= in the options", options->text);
	else if (options_port_mac(ports->options, options, number) != mac)
		state_refuse(st, "address", "port %s has another MAC address in the options",
			     options->text);
	return !st->failed;
}

static void guest_io_load(struct state *st, struct ports *ports)
{
	const struct options *all = ports->options;
	const struct port_options *in_options;
	struct port_image port = { .pcap = -1 };
	struct port_options options;
	struct pin pin = {};
	struct guest *guest;
	uint32_t number = 0;
	uint64_t mac = 0;

	state_u32(st, "number", &number, GUESTS_MAX - 1);
	port_io(st, &port);
	pin_io(st, &pin);
	state_u64(st, "address", &mac, UINT64_MAX);
	in_options = options_find(all->guest, all->guests, port.text);
	if (!port_options_of(st, ports, &port, in_options, &options)) {
		port_close(&port);
		return;
	}
	if (!in_options)
		options.pin = pin;
	if (!guest_agrees(st, ports, number, &options, &pin, mac)) {
		port_close(&port);
		return;
	}
	guest = &ports->guest[number];
	if (guest_make(ports, number, &options, port_pcap(&port, &options))) {
		state_refuse(st, "name", "port %s: cannot be made", port.text);
		return;
	}
	vhost_user_io(st, guest->vu, guest->options.text);
	guest->group.cut = port.cut;
	guest->group.stats = port.stats;
}

void ports_guests_io(struct state *st, struct ports *ports)
{
	uint32_t i, n = 0;

	for (i = 0; i < GUESTS_MAX; i++)
		n += !!ports->guest[i].fn;
	state_count(st, "guests", &n, GUESTS_MAX, GUEST_SIZE);
	if (st->loading) {
		for (i = 0; i < n && !st->failed; i++)
			guest_io_load(st, ports);
		return;
	}
	for (i = 0; i < GUESTS_MAX; i++)
		if (ports->guest[i].fn)
			guest_io_save(st, ports, i);
}

/* ------------------------------------------------------------------------- */
/* Functions                                                                 */
/* ------------------------------------------------------------------------- */

/* Into a file, or into a pipe if there is one. */
static int function_put(struct guest *guest, int fd, const struct state_pipe *pipe)
{
	struct state st;
	int err = -EINVAL;

	state_write(&st);
	if (pipe)
		state_pipe_write(&st, pipe);
	if (function_save(guest->fn, &st))
		err = pipe ? 0 : state_put(&st, fd);
	if (err)
		log_error("%s: its state: %s", guest->options.text,
			  st.failed ? st.why : strerror(-err));
	state_free(&st);
	return err;
}

static int functions_put(struct ports *ports, int fd, const struct state_pipe *pipe)
{
	struct guest *guest = ports->guest;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < GUESTS_MAX; i++, guest++)
		if (guest->fn)
			err = function_put(guest, fd, pipe);
	return err;
}

int ports_save_functions(struct ports *ports, int fd)
{
	return functions_put(ports, fd, NULL);
}

int ports_send_functions(struct ports *ports, const struct state_pipe *pipe)
{
	return functions_put(ports, -1, pipe);
}

/* @ok: it has begun to be read. */
static bool function_is_loaded(struct guest *guest, struct state *st, bool ok)
{
	st->handed_over = true;
	ok = ok && function_load(guest->fn, st);
	if (!ok)
		log_error("%s: its state: %s", guest->options.text, st->why);
	return ok;
}

int ports_load_functions(struct ports *ports, const uint8_t *data, size_t size, bool lenient)
{
	struct guest *guest = ports->guest;
	struct state st;
	unsigned int i;
	size_t n;

	for (i = 0; i < GUESTS_MAX; i++, guest++) {
		if (!guest->fn)
			continue;
		n = state_extent(data, size);
		if (!function_is_loaded(guest, &st, state_read(&st, data, n ? n : size))) {
			if (!n || !lenient)
				return -EINVAL;
			vhost_user_drop(guest->vu);
		}
		data += n;
		size -= n;
	}
	if (!size)
		return 0;
	log_error("state: %zu bytes too many", size);
	return -EINVAL;
}

int ports_receive_functions(struct ports *ports, const struct state_pipe *pipe)
{
	struct guest *guest = ports->guest;
	struct state st;
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < GUESTS_MAX; i++, guest++) {
		if (!guest->fn)
			continue;
		ok = function_is_loaded(guest, &st, state_pipe_read(&st, pipe));
		state_free(&st);
	}
	return ok ? 0 : -EINVAL;
}

/* ------------------------------------------------------------------------- */
/* Those that were not there                                                 */
/* ------------------------------------------------------------------------- */

static int rest_uplink(struct ports *ports, const struct port_options *options)
{
	unsigned int i;

	for (i = 0; i < UPLINKS_MAX; i++)
		if (!ports->uplink[i].uplink)
			return uplink_start(ports, i, options, -1);
	log_error("there are %u uplinks, and there can be no more", UPLINKS_MAX);
	return -ENOSPC;
}

/* The place that it would have without a state, if that is free. */
static int rest_guest(struct ports *ports, unsigned int number)
{
	const struct port_options *options = &ports->options->guest[number];

	if (ports->guest[number].fn)
		number = ports_guest_place(ports, options);
	return number < GUESTS_MAX ? guest_start(ports, number, options, -1) : -ENOSPC;
}

int ports_start_rest(struct ports *ports)
{
	const struct options *options = ports->options;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < options->uplinks; i++)
		if (!ports_have(ports, options->uplink[i].text))
			err = rest_uplink(ports, &options->uplink[i]);
	for (i = 0; !err && i < options->guests; i++)
		if (!ports_have(ports, options->guest[i].text))
			err = rest_guest(ports, i);
	return err;
}
