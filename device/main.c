// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vhost-user-roce: the life of the daemon.
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/notify.h"
#include "base/ready.h"
#include "base/util.h"
#include "ether/pcap.h"
#include "ether/switch.h"
#include "function/function.h"
#include "operator/commands.h"
#include "operator/socket.h"
#include "options.h"
#include "rdma/rnic.h"
#include "sandbox.h"
#include "uplink/uplink.h"
#include "vhost_user/vhost_user.h"
#include "virtio/guard.h"

/* The makefile defines it, from the file of that name. */
#ifndef VERSION
#define VERSION		"unknown"
#endif

/* Timers wake the loop some 30 us apart.  The kernel's own slack would be as much again. */
#define TIMER_SLACK_NS		1000

/**
 * struct uplink_port - an uplink
 * @uplink:	itself
 * @group:	its port, or ports
 */
struct uplink_port {
	struct uplink *uplink;
	struct port_group group;
};

/**
 * struct guest - a guest, connected or not
 * @fn:	its function
 * @vu:		front-end of that
 * @group:	its port
 */
struct guest {
	struct function *fn;
	struct vhost_user *vu;
	struct port_group group;
};

/**
 * struct daemon - all there is
 * @loop:	event loop
 * @signals:	signals that end us
 * @pcap:	capture file, or NULL
 * @sw:		Ethernet between the guests
 * @fabric:	RDMA between the guests
 * @guest:	the guests
 * @guests:	number of them
 * @uplink:	the uplinks
 * @uplinks:	number of them
 * @port:	all of these, for @op
 * @op:		what commands are about
 * @cwd:	directory that it was started in
 * @control:	socket that they come by, or NULL
 */
struct daemon {
	struct loop *loop;
	struct loop_fd signals;
	struct pcap *pcap;
	struct l2_switch *sw;
	struct fabric *fabric;
	struct guest guest[GUESTS_MAX];
	unsigned int guests;
	struct uplink_port uplink[UPLINKS_MAX];
	unsigned int uplinks;
	struct operator_port port[GUESTS_MAX + UPLINKS_MAX];
	struct operator op;
	char cwd[PATH_MAX];
	struct operator_socket *control;
};

static void daemon_signalled(void *arg, uint32_t events __always_unused)
{
	struct daemon *d = arg;

	loop_stop(d->loop);
}

/* SIGTERM and SIGINT come as events; a reader that went away is an error only. */
static int daemon_signals(struct daemon *d)
{
	sigset_t set;
	int err;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);

	d->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signals.fd < 0)
		return -errno;
	d->signals.fn = daemon_signalled;
	d->signals.arg = d;
	err = loop_fd_add(d->loop, &d->signals, EPOLLIN);
	if (err)
		close(d->signals.fd);
	return err;
}

/* Each virtqueue has up to three descriptors. */
static void daemon_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int pcap_start(struct pcap **pcap, const char *path)
{
	*pcap = path ? pcap_open(path) : NULL;
	if (*pcap || !path)
		return 0;
	log_error("--pcap: %s: %s", path, strerror(errno));
	return -EINVAL;
}

/* Ports with the same seed still get different random numbers. */
static int group_start(struct port_group *group, const char *name,
		       const struct port_options *options, unsigned int number)
{
	*group = (struct port_group){ .fault = options->fault };
	group->fault.seed += (uint64_t)number << 32;
	snprintf(group->name, sizeof(group->name), "%s", name);
	return pcap_start(&group->pcap, options->pcap);
}

static void group_stop(struct port_group *group)
{
	if (group->pcap)
		pcap_close(group->pcap);
}

static int guest_start(struct daemon *d, const struct options *options,
		       unsigned int i)
{
	struct guest *guest = &d->guest[i];
	const char *path = options->guest[i].text;
	uint64_t mac = options_mac(options, i);
	struct function_config config = {
		.name = base_name(path),
		.mtu = options->mtu ? options->mtu : FUNCTION_MTU_MAX,
		.offer_mtu = options->mtu,
		.speed = options->speed * 1000,
		.limits = options->limits,
		.group = &guest->group,
		.pin = options->guest[i].pin,
	};
	unsigned int j;
	int err;

	err = group_start(&guest->group, config.name, &options->guest[i], i);
	if (err)
		return err;

	for (j = 0; j < ETH_ALEN; j++)
		config.mac[j] = mac >> (8 * (ETH_ALEN - 1 - j));

	guest->fn = function_new(d->loop, d->sw, d->fabric, &config);
	if (!guest->fn) {
		log_error("%s: %s", path, strerror(errno));
		err = -ENOMEM;
		goto err_group;
	}
	guest->vu = vhost_user_new(d->loop, config.name, &function_device_ops,
				   guest->fn, function_num_queues(&config.limits));
	if (!guest->vu) {
		err = -errno;
		log_error("%s: %s", path, strerror(errno));
		goto err_net;
	}
	err = vhost_user_listen(guest->vu, path);
	if (err) {
		log_error("cannot listen on %s: %s", path, strerror(-err));
		goto err_vu;
	}
	function_set_frontend(guest->fn, &vhost_user_fe_ops, guest->vu);
	return 0;

err_vu:
	vhost_user_free(guest->vu);
err_net:
	function_free(guest->fn);
err_group:
	group_stop(&guest->group);
	return err;
}

static void daemon_guests_stop(struct daemon *d)
{
	while (d->guests) {
		d->guests--;
		vhost_user_free(d->guest[d->guests].vu);
		function_free(d->guest[d->guests].fn);
		group_stop(&d->guest[d->guests].group);
	}
}

static int daemon_guests_start(struct daemon *d, const struct options *options)
{
	int err;

	for (; d->guests < options->guests; d->guests++) {
		err = guest_start(d, options, d->guests);
		if (err) {
			daemon_guests_stop(d);
			return err;
		}
	}
	return 0;
}

static int uplink_start(struct daemon *d, const struct port_options *options)
{
	struct uplink_port *port = &d->uplink[d->uplinks];
	const struct uplink_env env = {
		.loop = d->loop,
		.sw = d->sw,
		.group = &port->group,
	};
	int err;

	err = group_start(&port->group, options->text, options,
			  GUESTS_MAX + d->uplinks);
	if (err)
		return err;
	port->uplink = uplink_open(&env, options->text);
	if (port->uplink)
		return 0;
	group_stop(&port->group);
	return -EINVAL;
}

static void daemon_uplinks_stop(struct daemon *d)
{
	while (d->uplinks) {
		d->uplinks--;
		uplink_free(d->uplink[d->uplinks].uplink);
		group_stop(&d->uplink[d->uplinks].group);
	}
}

static int daemon_uplinks_start(struct daemon *d, const struct options *options)
{
	int err;

	for (; d->uplinks < options->uplinks; d->uplinks++) {
		err = uplink_start(d, &options->uplink[d->uplinks]);
		if (err) {
			daemon_uplinks_stop(d);
			return err;
		}
	}
	return 0;
}

static int daemon_control_start(struct daemon *d, const struct options *options)
{
	struct operator_port *port = d->port;
	unsigned int i;

	for (i = 0; i < d->guests; i++)
		*port++ = (struct operator_port){
			.text = options->guest[i].text,
			.group = &d->guest[i].group,
			.fn = d->guest[i].fn,
		};
	for (i = 0; i < d->uplinks; i++)
		*port++ = (struct operator_port){
			.text = options->uplink[i].text,
			.group = &d->uplink[i].group,
			.uplink = d->uplink[i].uplink,
		};
	if (!options->control)
		return 0;
	if (!getcwd(d->cwd, sizeof(d->cwd))) {
		log_error("working directory: %s", strerror(errno));
		return -EINVAL;
	}
	d->op = (struct operator){
		.port = d->port,
		.ports = d->guests + d->uplinks,
		.limits = &options->limits,
		.cwd = d->cwd,
	};
	d->control = operator_socket_new(d->loop, options->control, &d->op);
	if (d->control)
		return 0;
	log_error("--control: %s: %s", options->control, strerror(errno));
	return -EINVAL;
}

static void daemon_control_stop(struct daemon *d)
{
	if (d->control)
		operator_socket_free(d->control);
}

/* What fails here prints the reason itself, unless it is a lack of memory. */
static int daemon_init(struct daemon *d, const struct options *options)
{
	int err = -ENOMEM;

	d->loop = loop_new(options->poll_us);
	if (!d->loop)
		goto err_report;
	d->sw = switch_new(d->loop);
	if (!d->sw)
		goto err_loop;
	d->fabric = fabric_new();
	if (!d->fabric)
		goto err_switch;
	if (options->packets)
		fabric_use_packets(d->fabric);
	err = mem_guard_init();
	if (!err)
		err = notify_init();
	if (!err)
		err = daemon_signals(d);
	if (err)
		goto err_fabric;
	return 0;

err_fabric:
	fabric_free(d->fabric);
err_switch:
	switch_free(d->sw);
err_loop:
	loop_free(d->loop);
err_report:
	log_error("cannot start: %s", strerror(-err));
	return err;
}

static void daemon_fini(struct daemon *d)
{
	if (d->pcap)
		pcap_close(d->pcap);
	loop_fd_del(d->loop, &d->signals);
	close(d->signals.fd);
	fabric_free(d->fabric);
	switch_free(d->sw);
	loop_free(d->loop);
}

/* A sanitizer reads files, starts programs and traces itself to tell what it found. */
#ifdef __SANITIZE_ADDRESS__
#define SANDBOX		false
#else
#define SANDBOX		true
#endif

_Static_assert(GUESTS_MAX + UPLINKS_MAX + 1 <= SANDBOX_SOCKETS_MAX,
	       "the sandbox has no room for all sockets");

static void sandbox_need_socket(struct sandbox_needs *needs, const char *path)
{
	needs->socket[needs->sockets++] = path;
}

static int daemon_sandbox(const struct daemon *d, const struct options *options)
{
	struct sandbox_needs needs = { 0 };
	unsigned int i, uplink;

	if (options->no_sandbox || !SANDBOX) {
		log_info("sandbox: none (%s)", options->no_sandbox ?
			 "--no-sandbox" : "built with a sanitizer");
		return 0;
	}
	for (i = 0; i < options->guests; i++)
		sandbox_need_socket(&needs, options->guest[i].text);
	for (i = 0; i < d->uplinks; i++) {
		uplink = d->uplink[i].uplink->ops->needs;
		if (uplink & UPLINK_SOCKET)
			sandbox_need_socket(&needs, strchr(options->uplink[i].text,
							   ':') + 1);
		needs.connects |= uplink & UPLINK_CONNECTS;
		needs.network |= uplink & UPLINK_NETWORK;
	}
	if (options->control)
		sandbox_need_socket(&needs, options->control);
	return sandbox_enter(&needs);
}

static void daemon_ready(const struct daemon *d, const struct options *options,
			 int ready)
{
	char text[80];

	snprintf(text, sizeof(text), "%u guest(s), %u virtqueues each (num_vqs)",
		 d->guests, function_num_queues(&options->limits));
	log_info("%s", text);
	ready_tell(ready, text);
}

static int daemon_run(struct daemon *d, const struct options *options)
{
	int ready = ready_open();
	int err;

	err = daemon_uplinks_start(d, options);
	if (err)
		return err;
	err = daemon_guests_start(d, options);
	if (err)
		goto err_uplinks;
	err = daemon_control_start(d, options);
	if (err)
		goto err_guests;
	err = daemon_sandbox(d, options);
	if (err)
		goto err_control;
	daemon_ready(d, options, ready);
	err = loop_run(d->loop);
	if (err)
		log_error("event loop: %s", strerror(-err));
err_control:
	daemon_control_stop(d);
err_guests:
	daemon_guests_stop(d);
err_uplinks:
	daemon_uplinks_stop(d);
	return err;
}

static int print(const char *text)
{
	fputs(text, stdout);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct options options;
	static struct daemon d;
	int err;

	log_init();
	if (options_parse(&options, argc, argv))
		return EXIT_FAILURE;
	if (options.action == OPTIONS_HELP)
		return print(options_usage);
	if (options.action == OPTIONS_VERSION)
		return print("vhost-user-roce " VERSION "\n");
	if (options.verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	daemon_fd_limit();
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (daemon_init(&d, &options))
		return EXIT_FAILURE;
	err = pcap_start(&d.pcap, options.all.pcap);
	switch_capture(d.sw, d.pcap);
	if (!err)
		err = daemon_run(&d, &options);
	daemon_fini(&d);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
