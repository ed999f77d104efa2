// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vhost-user-roce: options, and the life of the daemon.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"
#include "loop.h"
#include "net.h"
#include "nic.h"
#include "pcap.h"
#include "switch.h"
#include "uapi/virtio_net_roce.h"
#include "vhost_user.h"

#define VERSION		"0.1"
#define GUESTS_MAX	64

/**
 * struct options - what the command line says
 * @socket:	socket of each guest
 * @guests:	number of them
 * @limits:	of each guest's RDMA side
 * @poll_us:	poll window
 * @mtu:	of the Ethernet
 * @mac_base:	address of the first guest; the others count on from there
 * @pcap:	capture file, or NULL
 */
struct options {
	const char *socket[GUESTS_MAX];
	unsigned int guests;
	struct nic_limits limits;
	uint32_t poll_us;
	uint32_t mtu;
	uint64_t mac_base;
	const char *pcap;
};

/**
 * struct guest - a guest, connected or not
 * @net:	its function
 * @vu:		front-end of that
 */
struct guest {
	struct net *net;
	struct vhost_user *vu;
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
 */
struct daemon {
	struct loop *loop;
	struct loop_fd signals;
	struct pcap *pcap;
	struct l2_switch *sw;
	struct fabric *fabric;
	struct guest guest[GUESTS_MAX];
	unsigned int guests;
};

static const char usage[] =
"Usage: vhost-user-roce --socket PATH [--socket PATH]... [OPTION]...\n"
"\n"
"A virtio-net device with RoCE for each guest that connects to one of the\n"
"sockets, and a switch between them.\n"
"\n"
"  --socket PATH     unix socket to serve one guest on; repeat for more guests\n"
"  --qps N           queue pairs of each guest (default 32)\n"
"  --cqs N           completion queues of each guest (default 64)\n"
"  --mrs N           memory regions of each guest (default 4096)\n"
"  --pds N           protection domains of each guest (default 1024)\n"
"  --ahs N           address handles of each guest (default 4096)\n"
"  --queue-size N    largest virtqueue, QEMU's vq_size (default 1024)\n"
"  --mtu N           MTU of the Ethernet (default 1500)\n"
"  --mac-base MAC    address of the first guest; the next ones count on from\n"
"                    there (default 52:54:00:00:ce:01)\n"
"  --poll-us N       look for work so long before sleeping, at most, in\n"
"                    microseconds (default 50)\n"
"  --pcap FILE       write all frames to a capture file\n"
"  --verbose         tell more\n"
"  --help            print this and exit\n"
"  --version         print the version and exit\n"
"\n"
"QEMU (11.1 or later) needs shared guest memory and, for the default limits:\n"
"  -object memory-backend-memfd,id=mem,share=on,size=SIZE -machine memory-backend=mem\n"
"  -chardev socket,id=roce,path=PATH\n"
"  -device vhost-user-test-device-pci,chardev=roce,virtio-id=1,num_vqs=131,\\\n"
"          vq_size=1024,config_size=32,page-per-vq=on\n"
"where num_vqs is 3 + CQs + 2 * QPs.\n";

/* ------------------------------------------------------------------------- */
/* Options                                                                   */
/* ------------------------------------------------------------------------- */

enum {
	OPT_SOCKET = 256,
	OPT_QPS,
	OPT_CQS,
	OPT_MRS,
	OPT_PDS,
	OPT_AHS,
	OPT_QUEUE_SIZE,
	OPT_MTU,
	OPT_MAC_BASE,
	OPT_POLL_US,
	OPT_PCAP,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "cqs", required_argument, NULL, OPT_CQS },
	{ "mrs", required_argument, NULL, OPT_MRS },
	{ "pds", required_argument, NULL, OPT_PDS },
	{ "ahs", required_argument, NULL, OPT_AHS },
	{ "queue-size", required_argument, NULL, OPT_QUEUE_SIZE },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "mac-base", required_argument, NULL, OPT_MAC_BASE },
	{ "poll-us", required_argument, NULL, OPT_POLL_US },
	{ "pcap", required_argument, NULL, OPT_PCAP },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 },
};

/**
 * struct number_option - an option whose value is a number
 * @opt:	OPT_…
 * @offset:	of the uint32_t in struct options
 * @min:	smallest value
 * @max:	largest value
 */
struct number_option {
	int opt;
	size_t offset;
	uint32_t min;
	uint32_t max;
};

static const struct number_option number_options[] = {
	{ OPT_QPS, offsetof(struct options, limits.qps), 2,
	  VIRTIO_NET_ROCE_MAX_OBJECTS },
	{ OPT_CQS, offsetof(struct options, limits.cqs), 1,
	  VIRTIO_NET_ROCE_MAX_OBJECTS },
	{ OPT_MRS, offsetof(struct options, limits.mrs), 1, 1 << 20 },
	{ OPT_PDS, offsetof(struct options, limits.pds), 1, 1 << 20 },
	{ OPT_AHS, offsetof(struct options, limits.ahs), 1, 1 << 20 },
	{ OPT_QUEUE_SIZE, offsetof(struct options, limits.queue_size), 2,
	  VIRTQ_SIZE_MAX },
	{ OPT_MTU, offsetof(struct options, mtu), NET_MTU_MIN, NET_MTU_MAX },
	{ OPT_POLL_US, offsetof(struct options, poll_us), 0, 1000000 },
};

static int parse_number(struct options *options, const char *name, int opt,
			const char *text)
{
	const struct number_option *row = number_options;
	uint32_t *target;
	unsigned long value;
	char *end;

	while (row->opt != opt)
		row++;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < row->min ||
	    value > row->max) {
		log_error("--%s: \"%s\" is not a number from %" PRIu32 " to %"
			  PRIu32, name, text, row->min, row->max);
		return -EINVAL;
	}
	target = (uint32_t *)((char *)options + row->offset);
	*target = value;
	return 0;
}

static int parse_mac(const char *text, uint64_t *mac)
{
	unsigned int b[ETH_ALEN], i;
	int n = 0;

	if (strlen(text) != 17 ||
	    sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2],
		   &b[3], &b[4], &b[5], &n) != ETH_ALEN || n != 17 ||
	    (b[0] & 1)) {
		log_error("--mac-base: \"%s\" is not the address of a station",
			  text);
		return -EINVAL;
	}
	for (*mac = 0, i = 0; i < ETH_ALEN; i++)
		*mac = *mac << 8 | b[i];
	return 0;
}

static int parse_socket(struct options *options, const char *path)
{
	if (options->guests == GUESTS_MAX) {
		log_error("--socket: more than %u guests", GUESTS_MAX);
		return -EINVAL;
	}
	options->socket[options->guests++] = path;
	return 0;
}

static void print_and_exit(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int parse_option(struct options *options, int opt, const char *name)
{
	switch (opt) {
	case OPT_SOCKET:
		return parse_socket(options, optarg);
	case OPT_MAC_BASE:
		return parse_mac(optarg, &options->mac_base);
	case OPT_PCAP:
		options->pcap = optarg;
		return 0;
	case OPT_VERBOSE:
		log_set_level(LOG_LEVEL_DEBUG);
		return 0;
	case OPT_HELP:
		print_and_exit(usage);
		return 0;
	case OPT_VERSION:
		print_and_exit("vhost-user-roce " VERSION "\n");
		return 0;
	default:
		return parse_number(options, name, opt, optarg);
	}
}

/* What the options say together. */
static int check_options(const struct options *options)
{
	const struct nic_limits *limits = &options->limits;
	uint32_t queues = net_num_queues(limits);

	if (!options->guests) {
		log_error("no --socket given; --help tells more");
		return -EINVAL;
	}
	if (limits->queue_size & (limits->queue_size - 1)) {
		log_error("--queue-size: %" PRIu32 " is not a power of two",
			  limits->queue_size);
		return -EINVAL;
	}
	if (queues > VHOST_USER_QUEUES_MAX) {
		log_error("%" PRIu32 " QPs and %" PRIu32 " CQs need %" PRIu32
			  " virtqueues, but a device of QEMU's has %u at most",
			  limits->qps, limits->cqs, queues,
			  VHOST_USER_QUEUES_MAX);
		return -EINVAL;
	}
	return 0;
}

static int parse_options(struct options *options, int argc, char **argv)
{
	int opt, index, err;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", long_options,
				  &index)) != -1) {
		if (opt == ':') {
			log_error("%s: value missing", argv[optind - 1]);
			return -EINVAL;
		}
		if (opt == '?') {
			log_error("unknown option %s; --help tells more",
				  argv[optind - 1]);
			return -EINVAL;
		}
		err = parse_option(options, opt, long_options[index].name);
		if (err)
			return err;
	}
	if (optind < argc) {
		log_error("unexpected argument \"%s\"", argv[optind]);
		return -EINVAL;
	}
	return check_options(options);
}

/* ------------------------------------------------------------------------- */
/* The daemon                                                                */
/* ------------------------------------------------------------------------- */

static void daemon_signalled(void *arg, uint32_t events)
{
	struct daemon *d = arg;

	(void)events;
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

static int guest_start(struct daemon *d, const struct options *options,
		       unsigned int i)
{
	struct guest *guest = &d->guest[i];
	const char *path = options->socket[i];
	uint64_t mac = options->mac_base + i;
	struct net_config config = {
		.name = base_name(path),
		.mtu = options->mtu,
		.limits = options->limits,
	};
	unsigned int j;
	int err;

	for (j = 0; j < ETH_ALEN; j++)
		config.mac[j] = mac >> (8 * (ETH_ALEN - 1 - j));

	guest->net = net_new(d->loop, d->sw, d->fabric, &config);
	if (!guest->net) {
		log_error("%s: %s", path, strerror(errno));
		return -ENOMEM;
	}
	guest->vu = vhost_user_new(d->loop, config.name, &net_device_ops,
				   guest->net, net_num_queues(&config.limits));
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
	net_set_frontend(guest->net, &vhost_user_fe_ops, guest->vu);
	return 0;

err_vu:
	vhost_user_free(guest->vu);
err_net:
	net_free(guest->net);
	return err;
}

static void daemon_guests_stop(struct daemon *d)
{
	while (d->guests) {
		d->guests--;
		vhost_user_free(d->guest[d->guests].vu);
		net_free(d->guest[d->guests].net);
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

static int daemon_pcap(struct daemon *d, const char *path)
{
	int err;

	if (!path)
		return 0;
	d->pcap = pcap_open(path);
	if (!d->pcap) {
		err = -errno;
		log_error("--pcap: %s: %s", path, strerror(errno));
		return err;
	}
	switch_capture(d->sw, d->pcap);
	return 0;
}

/* Whoever fails says why; what has no words of its own fails for memory. */
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

static int daemon_run(struct daemon *d, const struct options *options)
{
	int err;

	err = daemon_guests_start(d, options);
	if (err)
		return err;
	log_info("%u guest(s), %u virtqueues each (num_vqs)", d->guests,
		 net_num_queues(&options->limits));
	err = loop_run(d->loop);
	if (err)
		log_error("event loop: %s", strerror(-err));
	daemon_guests_stop(d);
	return err;
}

int main(int argc, char **argv)
{
	static struct daemon d;
	struct options options = {
		.limits = {
			.qps = 32,
			.cqs = 64,
			.queue_size = VIRTQ_SIZE_MAX,
			.mrs = 4096,
			.pds = 1024,
			.ahs = 4096,
		},
		.poll_us = 50,
		.mtu = 1500,
		.mac_base = 0x52540000ce01,
	};

	int err;

	if (parse_options(&options, argc, argv))
		return EXIT_FAILURE;
	daemon_fd_limit();
	if (daemon_init(&d, &options))
		return EXIT_FAILURE;
	err = daemon_pcap(&d, options.pcap);
	if (!err)
		err = daemon_run(&d, &options);
	daemon_fini(&d);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
