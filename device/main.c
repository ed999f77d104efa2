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
#include <sys/stat.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/keeper.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/sd_notify.h"
#include "base/sd_store.h"
#include "base/util.h"
#include "ether/pcap.h"
#include "ether/switch.h"
#include "function/function.h"
#include "handover.h"
#include "operator/socket.h"
#include "options.h"
#include "ports.h"
#include "ports_keep.h"
#include "rdma/rnic.h"
#include "sandbox.h"
#include "targets.h"
#include "targets_print.h"
#include "virtio/guard.h"

/* The makefile defines it, from the file of that name. */
#ifndef VERSION
#define VERSION		"unknown"
#endif

/* Timers wake the loop some 30 us apart.  The kernel's own slack would be as much again. */
#define TIMER_SLACK_NS		1000

/**
 * struct daemon - all there is
 * @loop:	event loop
 * @signals:	signals that end us
 * @pcap:	capture file, or NULL
 * @sw:		Ethernet between the guests
 * @fabric:	RDMA between the guests
 * @ports:	the guests, and uplinks
 * @targets:	storage of the host for them
 * @cwd:	directory that it was started in
 * @control:	socket that they come by, or NULL
 * @notify:	socket of a service manager, or -1
 * @store:	for what it keeps while it restarts the daemon
 * @keeper:	what the daemon before this one has left
 * @left:	all of that is another process's
 */
struct daemon {
	struct loop *loop;
	struct loop_fd signals;
	struct pcap *pcap;
	struct l2_switch *sw;
	struct fabric *fabric;
	struct ports ports;
	struct targets targets;
	char cwd[PATH_MAX];
	struct operator_socket *control;
	int notify;
	struct sd_store store;
	struct keeper keeper;
	bool left;
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

/* At socket @fd, or at one of its own. */
static int daemon_control_start(struct daemon *d, const struct options *options, int fd)
{
	if (!options->control)
		return 0;
	if (!getcwd(d->cwd, sizeof(d->cwd))) {
		log_error("working directory: %s", strerror(errno));
		return -EINVAL;
	}
	d->ports.op.cwd = d->cwd;
	d->ports.op.targets = targets_print;
	d->ports.op.metrics = targets_metrics;
	d->ports.op.look = targets_look;
	d->ports.op.targets_arg = &d->targets;
	d->ports.op.umask = umask(0);
	umask(d->ports.op.umask);
	d->control = fd < 0 ?
		     operator_socket_new(d->loop, options->control, &d->ports.op) :
		     operator_socket_take(d->loop, options->control, fd, &d->ports.op);
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

/* A step that fails prints the reason itself, unless it is a lack of memory. */
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
		err = eventfd_init();
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
	/* Its chores free QPs, which tell the fabric. */
	loop_free(d->loop);
	fabric_free(d->fabric);
	switch_free(d->sw);
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
	for (i = 0; i < options->uplinks; i++) {
		uplink = uplink_needs(options->uplink[i].text);
		if (uplink & UPLINK_SOCKET)
			sandbox_need_socket(&needs, strchr(options->uplink[i].text,
							   ':') + 1);
		needs.connects |= uplink & UPLINK_CONNECTS;
		needs.network |= uplink & UPLINK_NETWORK;
	}
	if (options->control) {
		sandbox_need_socket(&needs, options->control);
		needs.handed = true;
	}
	needs.handed |= d->store.ready;
	return sandbox_enter(&needs);
}

static void daemon_ready(const struct daemon *d, const struct options *options)
{
	char text[80];

	snprintf(text, sizeof(text), "%u guest(s), %u virtqueues each (num_vqs)",
		 options->guests, function_num_queues(options->queue_pairs, &options->limits));
	log_info("%s", text);
	sd_notify_tell(d->notify, text);
}

/* ------------------------------------------------------------------------- */
/* To begin, to serve, to end                                                */
/* ------------------------------------------------------------------------- */

static int daemon_capture(struct daemon *d, const struct options *options, int fd)
{
	int err = 0;

	if (fd < 0)
		err = port_pcap_start(&d->pcap, options->all.pcap);
	else if (options->all.pcap)
		d->pcap = pcap_take(fd);
	else
		close(fd);
	switch_capture(d->sw, d->pcap);
	return err;
}

static int daemon_start(struct daemon *d, const struct options *options)
{
	int err = daemon_capture(d, options, -1);

	if (err)
		return err;
	err = ports_start(&d->ports);
	if (err)
		return err;
	err = daemon_control_start(d, options, -1);
	if (err)
		ports_stop(&d->ports);
	return err;
}

static void daemon_stop(struct daemon *d)
{
	daemon_control_stop(d);
	ports_stop(&d->ports);
}

/* With what was loaded, or has to be made, and then in the sandbox. */
static int daemon_go_on(struct daemon *d, const struct options *options,
			const struct handover *hand)
{
	int err = daemon_capture(d, options, hand->pcap_fd);

	if (!err)
		err = daemon_control_start(d, options, hand->control_fd);
	return err ? err : daemon_sandbox(d, options);
}

static struct handover daemon_nothing(struct daemon *d, const struct options *options)
{
	ports_init(&d->ports);
	return (struct handover) {
		.ports = &d->ports,
		.control = options->control,
		.control_fd = -1,
		.pcap_fd = -1,
	};
}

/* If it fails, all that there is belongs to another process. */
static int daemon_take_over(struct daemon *d, const struct options *options)
{
	struct handover hand = daemon_nothing(d, options);
	const int sock = handover_ask(options->takeover);
	int err;

	if (sock < 0)
		return sock;
	d->left = true;
	err = handover_take(&hand, sock);
	if (!err)
		err = daemon_go_on(d, options, &hand);
	if (!err)
		err = handover_serve(sock);
	if (!err)
		handover_go_on(&hand);
	d->left = err;
	return err;
}

/*
 * Of the process before this one, which a service manager has restarted; -ENODATA if there is
 * nothing.  If it fails this process ends, and the next one begins anew.
 */
static int daemon_restore(struct daemon *d, const struct options *options)
{
	struct handover hand = daemon_nothing(d, options);
	const int sock = sd_store_get();
	int err = sock < 0 ? -ENODATA : handover_restore(&hand, sock);

	if (!err)
		err = daemon_go_on(d, options, &hand);
	if (!err)
		handover_go_on(&hand);
	d->left = err && err != -ENODATA;
	if (sock >= 0)
		sd_store_forget(d->notify);
	return err;
}

/* The daemon before this one was killed, and its keeper has the connections of all guests. */
static int daemon_recover(struct daemon *d, const struct options *options)
{
	const struct handover hand = daemon_nothing(d, options);
	int err = ports_recover(&d->ports);

	if (!err)
		err = daemon_go_on(d, options, &hand);
	if (!err)
		ports_recovered(&d->ports);
	return err;
}

static struct handover daemon_all(struct daemon *d, const struct options *options)
{
	return (struct handover) {
		.ports = &d->ports,
		.control = options->control,
		.control_fd = d->control ? operator_socket_fd(d->control) : -1,
		.pcap_fd = pcap_fd(d->pcap),
	};
}

/* To the process that has asked for it; true if that one serves now. */
static bool daemon_hand_over(struct daemon *d, const struct options *options)
{
	struct handover hand = daemon_all(d, options);
	const int sock = d->ports.taker;
	bool left;

	d->ports.taker = -1;
	targets_stop(&d->targets);
	left = handover_give(&hand, sock, d->ports.taker_piped);
	if (!left)
		targets_resume(&d->targets);
	return left;
}

/* To the service manager, for the process that it starts next; true if it has it. */
static bool daemon_store(struct daemon *d, const struct options *options)
{
	struct handover hand = daemon_all(d, options);
	int err;

	if (!d->store.ready || d->notify < 0)
		return false;
	targets_stop(&d->targets);
	if (handover_store(&hand, d->store.queue[0]))
		return false;
	err = sd_store_put(&d->store, d->notify);
	if (!err) {
		log_info("left all to the service manager");
		return true;
	}
	log_warn("FDSTORE: %s", strerror(-err));
	/* It may have it all the same: nobody is to go on with what ends here. */
	sd_store_forget(d->notify);
	return false;
}

/* Returns 0 or -errno when it is to end; @left is set if another process serves then. */
static int daemon_serve(struct daemon *d, const struct options *options)
{
	int err;

	do {
		err = loop_run(d->loop);
		if (err) {
			log_error("event loop: %s", strerror(-err));
			return err;
		}
		if (d->ports.taker < 0) {
			d->left = daemon_store(d, options);
			return 0;
		}
		/* A signal that came at the same time is still there. */
		d->left = daemon_hand_over(d, options);
	} while (!d->left);
	return 0;
}

static int daemon_begin(struct daemon *d, const struct options *options)
{
	int err;

	if (d->keeper.died)
		return daemon_recover(d, options);
	err = options->takeover ? daemon_take_over(d, options) : daemon_restore(d, options);
	if (!err && d->ports.keep)
		ports_keep_all(&d->ports);
	if (options->takeover || err != -ENODATA)
		return err;
	err = daemon_start(d, options);
	if (err)
		return err;
	err = daemon_sandbox(d, options);
	if (err)
		daemon_stop(d);
	return err;
}

static int daemon_run(struct daemon *d, const struct options *options)
{
	int err;

	d->notify = sd_notify_open();
	sd_store_open(&d->store);
	d->ports.loop = d->loop;
	d->ports.sw = d->sw;
	d->ports.fabric = d->fabric;
	d->ports.options = options;
	d->ports.targets = &d->targets;
	err = targets_open(&d->targets, options, d->loop, d->sw, d->fabric,
			   options->takeover || d->keeper.died);
	if (err)
		return err;
	err = daemon_begin(d, options);
	if (!err)
		err = targets_attach(&d->targets, d->loop);
	if (err) {
		ports_leave_nvmf(&d->ports);
		targets_close(&d->targets);
		return err;
	}
	d->ports.stations = targets_ports(&d->targets, d->ports.station);
	ports_list(&d->ports);
	daemon_ready(d, options);
	err = daemon_serve(d, options);
	if (d->left)
		return err;
	ports_leave_nvmf(&d->ports);
	targets_close(&d->targets);
	daemon_stop(d);
	return err;
}

static int print(const char *text)
{
	fputs(text, stdout);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* From here on this is the daemon, or a later one; its keeper stays behind. */
static int daemon_kept(struct daemon *d)
{
	int err = keeper_start(&d->keeper, PORTS_KEEP_SIZE);

	if (err)
		return err;
	d->ports.keep = d->keeper.memory;
	if (d->keeper.died)
		ports_keep_sweep(&d->ports);
	return 0;
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
	if (options.keeper && daemon_kept(&d))
		return EXIT_FAILURE;
	daemon_fd_limit();
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (daemon_init(&d, &options))
		return EXIT_FAILURE;
	err = daemon_run(&d, &options);
	/* Nothing of what is another process's is touched, and no name is removed. */
	if (!d.left)
		daemon_fini(&d);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
