// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ports of the daemon's switch.
 *
 * Theory of operation
 *
 * A guest or an uplink has one of a fixed number of places.  Those of the command line
 * take the first ones, in its order.  One that an operator adds takes the first that is
 * free, and what it works with, a listening socket or the descriptor of an interface, is
 * made by vhost-user-roce-ctl and passed to us: in the sandbox there are no rights to
 * make any.  An error in that is for the operator, who gets it as the answer (log_catch()).
 *
 * When a guest is removed its connection is ended first, which is the same as when its
 * QEMU ends: its QPs are destroyed and its GIDs lead nowhere, so that those who send to
 * it retry, and give up.  Then its function goes, and others forget what waits of it.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "ether/pcap.h"
#include "ports.h"
#include "ports_keep.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ------------------------------------------------------------------------- */
/* What an operator sees                                                     */
/* ------------------------------------------------------------------------- */

/* Those that there are now, guests first and stations last. */
void ports_list(struct ports *ports)
{
	struct operator_port *port = ports->port;
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++)
		if (ports->guest[i].fn)
			*port++ = (struct operator_port){
				.text = ports->guest[i].options.text,
				.group = &ports->guest[i].group,
				.fn = ports->guest[i].fn,
			};
	for (i = 0; i < UPLINKS_MAX; i++)
		if (ports->uplink[i].uplink)
			*port++ = (struct operator_port){
				.text = ports->uplink[i].options.text,
				.group = &ports->uplink[i].group,
				.uplink = ports->uplink[i].uplink,
			};
	for (i = 0; i < ports->stations; i++)
		*port++ = ports->station[i];
	ports->op.port = ports->port;
	ports->op.ports = port - ports->port;
}

/* ------------------------------------------------------------------------- */
/* Groups                                                                    */
/* ------------------------------------------------------------------------- */

int port_pcap_start(struct pcap **pcap, const char *path)
{
	*pcap = path ? pcap_open(path) : NULL;
	if (*pcap || !path)
		return 0;
	log_error("--pcap: %s: %s", path, strerror(errno));
	return -EINVAL;
}

/* Ports with the same seed still get different random numbers. */
int group_start(struct port_group *group, const char *name,
		const struct port_options *options, unsigned int number, int pcap)
{
	*group = (struct port_group){ .fault = options->fault };
	group->fault.seed += (uint64_t)number << 32;
	snprintf(group->name, sizeof(group->name), "%s", name);
	if (pcap < 0)
		return port_pcap_start(&group->pcap, options->pcap);
	group->pcap = pcap_take(pcap);
	return group->pcap ? 0 : -ENOMEM;
}

void group_stop(struct port_group *group)
{
	if (group->pcap)
		pcap_close(group->pcap);
}

/* ------------------------------------------------------------------------- */
/* Guests                                                                    */
/* ------------------------------------------------------------------------- */

/* Listens where the options say, or at a socket that others made, which is taken over. */
static int guest_listen(struct guest *guest, int fd)
{
	const char *path = guest->options.text;
	int err = fd < 0 ? vhost_user_listen(guest->vu, path) :
			   vhost_user_take(guest->vu, path, fd);

	if (err)
		log_error("cannot listen on %s: %s", path, strerror(-err));
	return err;
}

static int guest_front_end(struct ports *ports, struct guest *guest)
{
	const struct options *options = ports->options;
	const uint32_t queues = function_num_queues(options->queue_pairs, &options->limits);

	guest->vu = vhost_user_new(ports->loop, guest->group.name, &function_device_ops,
				   guest->fn, queues);
	if (!guest->vu)
		return -ENOMEM;
	function_set_frontend(guest->fn, &vhost_user_fe_ops, guest->vu);
	return 0;
}

static struct function *guest_function(struct ports *ports, struct guest *guest)
{
	const struct options *options = ports->options;
	struct function_config config = {
		.name = guest->group.name,
		.mtu = options->mtu ? options->mtu : FUNCTION_MTU_MAX,
		.offer_mtu = options->mtu,
		.speed = options->speed * 1000,
		.pairs = options->queue_pairs,
		.limits = options->limits,
		.group = &guest->group,
		.pin = guest->options.pin,
		.nvmf = ports->targets ? targets_host(ports->targets, guest->group.name) :
					 NULL,
	};
	unsigned int i;

	for (i = 0; i < ETH_ALEN; i++)
		config.mac[i] = guest->mac >> (8 * (ETH_ALEN - 1 - i));
	return function_new(ports->loop, ports->sw, ports->fabric, &config);
}

int guest_make(struct ports *ports, unsigned int number, const struct port_options *options,
	       int pcap)
{
	struct guest *guest = &ports->guest[number];
	int err;

	guest->options = *options;
	guest->options.text = guest->options.path;
	guest->mac = options_port_mac(ports->options, options, number);
	err = group_start(&guest->group, base_name(options->text), options, number, pcap);
	if (err)
		return err;
	err = -ENOMEM;
	guest->fn = guest_function(ports, guest);
	if (!guest->fn)
		goto err_group;
	err = guest_front_end(ports, guest);
	if (err)
		goto err_function;
	ports_list(ports);
	return 0;

err_function:
	function_free(guest->fn);
	guest->fn = NULL;
err_group:
	log_error("%s: %s", options->text, strerror(ENOMEM));
	group_stop(&guest->group);
	return err;
}

void guest_unmake(struct ports *ports, struct guest *guest)
{
	ports_keep_not(ports, guest);
	vhost_user_free(guest->vu);
	function_free(guest->fn);
	guest->fn = NULL;
	group_stop(&guest->group);
	ports_list(ports);
}

int guest_start(struct ports *ports, unsigned int number, const struct port_options *options,
		int fd)
{
	struct guest *guest = &ports->guest[number];
	int err = guest_make(ports, number, options, -1);

	if (err)
		return err;
	err = guest_listen(guest, fd);
	if (err)
		guest_unmake(ports, guest);
	else
		ports_keep_guest(ports, guest);
	return err;
}

/* ------------------------------------------------------------------------- */
/* Uplinks                                                                   */
/* ------------------------------------------------------------------------- */

/* With a descriptor that others made, which is taken over, or with -1. */
int uplink_start(struct ports *ports, unsigned int number, const struct port_options *options,
		 int fd)
{
	struct uplink_port *port = &ports->uplink[number];
	const struct uplink_env env = {
		.loop = ports->loop,
		.sw = ports->sw,
		.group = &port->group,
	};
	int err;

	port->options = *options;
	if (options->text == options->path)
		port->options.text = port->options.path;
	err = group_start(&port->group, options->text, options, GUESTS_MAX + number,
			  -1);
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	port->uplink = fd < 0 ? uplink_open(&env, port->options.text) :
				uplink_take(&env, port->options.text, fd);
	if (port->uplink) {
		ports_list(ports);
		return 0;
	}
	group_stop(&port->group);
	return -EINVAL;
}

static void uplink_stop(struct ports *ports, struct uplink_port *port)
{
	uplink_free(port->uplink);
	port->uplink = NULL;
	group_stop(&port->group);
	ports_list(ports);
}

/* ------------------------------------------------------------------------- */
/* An operator's changes                                                     */
/* ------------------------------------------------------------------------- */

/* Of a name, which becomes a field of a line in answers. */
static int ports_refuse(const char *why, const char *name)
{
	log_error("%s: %s", name, why);
	return -EINVAL;
}

bool ports_have(const struct ports *ports, const char *text)
{
	unsigned int i;

	for (i = 0; i < ports->op.ports; i++)
		if (!strcmp(ports->port[i].text, text))
			return true;
	return false;
}

/* A guest whose MAC address nobody else may have, because it is pinned to one of both. */
static const struct guest *ports_mac_taken(const struct ports *ports,
					   const struct port_options *options, uint64_t mac)
{
	const struct guest *guest = ports->guest;
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++, guest++)
		if (guest->fn && guest->mac == mac &&
		    (options->pin.has_mac || guest->options.pin.has_mac))
			return guest;
	return NULL;
}

/* The first free place whose MAC address is free, too, or GUESTS_MAX. */
unsigned int ports_guest_place(const struct ports *ports, const struct port_options *options)
{
	const struct guest *other = NULL;
	unsigned int i;
	uint64_t mac;

	for (i = 0; i < GUESTS_MAX; i++) {
		if (ports->guest[i].fn)
			continue;
		mac = options_port_mac(ports->options, options, i);
		other = ports_mac_taken(ports, options, mac);
		if (!other)
			return i;
	}
	if (other)
		log_error("%s and %s have the same MAC address", other->options.text,
			  options->text);
	else
		log_error("there are %u guests, and there can be no more", GUESTS_MAX);
	return GUESTS_MAX;
}

static int ports_guest_new(struct ports *ports, const char *text, int fd)
{
	struct port_options options = { .fault = ports->options->all.fault };
	unsigned int number;

	if (options_guest(&options, text, "guest"))
		return -EINVAL;
	if (*options.text != '/' || strpbrk(options.text, "\t\n"))
		return ports_refuse("no path of a socket", options.text);
	if (ports_have(ports, options.text))
		return ports_refuse("there is such a guest already", options.text);
	number = ports_guest_place(ports, &options);
	if (number == GUESTS_MAX)
		return -ENOSPC;
	return guest_start(ports, number, &options, fd);
}

static int ports_guest_add(void *arg, const char *text, int fd)
{
	int err = ports_guest_new(arg, text, fd);

	if (err)
		close(fd);
	return err;
}

/* A place for an uplink, or -errno. */
static int ports_uplink_place(const struct ports *ports, const char *text)
{
	unsigned int i;

	if (strlen(text) >= PORT_NAME_MAX || strpbrk(text, "\t\n"))
		return ports_refuse("no uplink", text);
	if (ports_have(ports, text))
		return ports_refuse("there is such an uplink already", text);
	for (i = 0; i < UPLINKS_MAX; i++)
		if (!ports->uplink[i].uplink)
			return i;
	log_error("there are %u uplinks, and there can be no more", UPLINKS_MAX);
	return -ENOSPC;
}

static int ports_uplink_add(void *arg, const char *text, int fd)
{
	struct ports *ports = arg;
	struct port_options options = { .fault = ports->options->all.fault };
	int place = ports_uplink_place(ports, text);

	if (place < 0) {
		close(fd);
		return place;
	}
	snprintf(options.path, sizeof(options.path), "%s", text);
	options.text = options.path;
	return uplink_start(ports, place, &options, fd);
}

static void ports_remove(void *arg, const struct operator_port *port)
{
	struct ports *ports = arg;
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++)
		if (port->fn && ports->guest[i].fn == port->fn) {
			guest_unmake(ports, &ports->guest[i]);
			return;
		}
	for (i = 0; i < UPLINKS_MAX; i++)
		if (port->uplink && ports->uplink[i].uplink == port->uplink) {
			uplink_stop(ports, &ports->uplink[i]);
			return;
		}
}

/* The loop ends its round first: nothing is under way then. */
static void ports_takeover(void *arg, int fd, bool piped)
{
	struct ports *ports = arg;

	if (ports->taker >= 0) {
		close(fd);
		return;
	}
	ports->taker = fd;
	ports->taker_piped = piped;
	loop_stop(ports->loop);
}

static const struct operator_changes ports_changes = {
	.guest_add = ports_guest_add,
	.uplink_add = ports_uplink_add,
	.remove = ports_remove,
	.takeover = ports_takeover,
};

/* ------------------------------------------------------------------------- */
/* All                                                                       */
/* ------------------------------------------------------------------------- */

void ports_leave_nvmf(struct ports *ports)
{
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++)
		if (ports->guest[i].fn)
			function_leave_nvmf(ports->guest[i].fn);
}

void ports_stop(struct ports *ports)
{
	unsigned int i;

	for (i = GUESTS_MAX; i; i--)
		if (ports->guest[i - 1].fn)
			guest_unmake(ports, &ports->guest[i - 1]);
	for (i = UPLINKS_MAX; i; i--)
		if (ports->uplink[i - 1].uplink)
			uplink_stop(ports, &ports->uplink[i - 1]);
}

void ports_init(struct ports *ports)
{
	ports->op = (struct operator){
		.queue_pairs = ports->options->queue_pairs,
		.limits = &ports->options->limits,
		.changes = &ports_changes,
		.arg = ports,
	};
	ports->taker = -1;
	ports_list(ports);
}

int ports_start(struct ports *ports)
{
	const struct options *options = ports->options;
	unsigned int i;
	int err = 0;

	ports_init(ports);
	for (i = 0; !err && i < options->uplinks; i++)
		err = uplink_start(ports, i, &options->uplink[i], -1);
	for (i = 0; !err && i < options->guests; i++)
		err = guest_start(ports, i, &options->guest[i], -1);
	if (err)
		ports_stop(ports);
	return err;
}
