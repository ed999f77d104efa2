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

#include "operator/socket.h"
#include "base/log.h"
#include "base/loop.h"
#include "function/function.h"
#include "rdma/rnic.h"
#include "ether/pcap.h"
#include "operator/commands.h"
#include "ether/switch.h"
#include "uapi/virtio_net_roce.h"
#include "uplink/uplink.h"
#include "vhost_user/vhost_user.h"

#define VERSION		"0.1"
#define GUESTS_MAX	64
#define UPLINKS_MAX	16
#define CQE_MAX		(1 << 20)
/* The configuration space has 31 bits for it, of Mbit/s. */
#define SPEED_MAX	2147483

/**
 * struct port_options - what the command line says of one port of the switch
 * @text:	its socket, or its uplink
 * @pcap:	capture file of its frames, or NULL
 * @fault:	faults
 */
struct port_options {
	const char *text;
	const char *pcap;
	struct fault_config fault;
};

/**
 * struct options - what the command line says
 * @guest:	of each guest
 * @guests:	number of them
 * @uplink:	of each uplink
 * @uplinks:	number of them
 * @all:	of all ports: faults that they begin with, and capture file
 * @port:	port that was named last, or @all
 * @limits:	of each guest's RDMA side
 * @poll_us:	poll window
 * @mtu:	of the Ethernet, 0 if the guests decide
 * @speed:	of the Ethernet, in Gbit/s, 0 if none is told
 * @mac_base:	address of the first guest; the others count on from there
 * @packets:	RDMA between the guests goes by packets, too
 * @control:	socket for commands, or NULL
 */
struct options {
	struct port_options guest[GUESTS_MAX];
	unsigned int guests;
	struct port_options uplink[UPLINKS_MAX];
	unsigned int uplinks;
	struct port_options all;
	struct port_options *port;
	struct rnic_limits limits;
	uint32_t poll_us;
	uint32_t mtu;
	uint32_t speed;
	uint64_t mac_base;
	bool packets;
	const char *control;
};

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
 * @port:	all of these, for @report
 * @report:	what commands are about
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
	struct operator_socket *control;
};

static const char usage[] =
"Usage: vhost-user-roce [--socket PATH]... [--uplink UPLINK]... [OPTION]...\n"
"\n"
"A virtio-net device with RoCE for each guest that connects to one of the\n"
"sockets, and a switch between them.\n"
"\n"
"  --socket PATH     unix socket to serve one guest on; repeat for more guests\n"
"  --uplink UPLINK   connect the switch to something else as well; repeat for more:\n"
"                      unix:PATH     listen; each connection, as of QEMU's\n"
"                                    -netdev stream,addr.type=unix,addr.path=PATH,\n"
"                                    is a port of the switch\n"
"                      connect:PATH  connect to such a socket, as of another daemon\n"
"                      tap:NAME      a tap interface, made if there is none\n"
"                      packet:NAME   share an interface of the host\n"
"  --qps N           queue pairs of each guest (default 32)\n"
"  --cqs N           completion queues of each guest (default 64)\n"
"  --cqe N           completions that each of them holds (default 131072)\n"
"  --mrs N           memory regions of each guest (default 4096)\n"
"  --pds N           protection domains of each guest (default 1024)\n"
"  --ahs N           address handles of each guest (default 4096)\n"
"  --rfc             offer what the RFC of RoCE for virtio-net has, without extensions:\n"
"                    a CQ holds as many completions as a virtqueue\n"
"  --queue-size N    largest virtqueue, QEMU's vq_size (default 1024)\n"
"  --mtu N           MTU that the interface gets in the guest, and that it cannot\n"
"                    exceed; without it the guest decides\n"
"  --speed GBITS     speed of the link that the guest is told, 0 for none\n"
"                    (default 100)\n"
"  --mac-base MAC    address of the first guest; the next ones count on from\n"
"                    there (default 52:54:00:00:ce:01)\n"
"  --poll-us N       look for work so long before sleeping, at most, in\n"
"                    microseconds (default 50)\n"
"  --packets         RDMA between guests of this daemon as packets, too, not in\n"
"                    memory\n"
"  --pcap FILE       write all frames to a capture file; behind a port, its frames\n"
"\n"
"For tests, behind a --socket or --uplink for that port, before all of them for\n"
"each; both for frames from the port and for frames to it:\n"
"  --loss P          lose frames with probability P, such as 0.01 or 1%\n"
"  --dup P           double them\n"
"  --reorder P       have them overtaken by the next three\n"
"  --corrupt P       change a bit of them\n"
"  --seed N          of the random numbers (default 0)\n"
"\n"
"  --control PATH    unix socket for vhost-user-roce-ctl\n"
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
	OPT_UPLINK,
	OPT_QPS,
	OPT_CQS,
	OPT_CQE,
	OPT_MRS,
	OPT_PDS,
	OPT_AHS,
	OPT_QUEUE_SIZE,
	OPT_RFC,
	OPT_MTU,
	OPT_SPEED,
	OPT_MAC_BASE,
	OPT_POLL_US,
	OPT_PACKETS,
	OPT_PCAP,
	OPT_CONTROL,
	OPT_LOSS,
	OPT_DUP,
	OPT_REORDER,
	OPT_CORRUPT,
	OPT_SEED,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "uplink", required_argument, NULL, OPT_UPLINK },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "cqs", required_argument, NULL, OPT_CQS },
	{ "cqe", required_argument, NULL, OPT_CQE },
	{ "mrs", required_argument, NULL, OPT_MRS },
	{ "pds", required_argument, NULL, OPT_PDS },
	{ "ahs", required_argument, NULL, OPT_AHS },
	{ "queue-size", required_argument, NULL, OPT_QUEUE_SIZE },
	{ "rfc", no_argument, NULL, OPT_RFC },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "speed", required_argument, NULL, OPT_SPEED },
	{ "mac-base", required_argument, NULL, OPT_MAC_BASE },
	{ "poll-us", required_argument, NULL, OPT_POLL_US },
	{ "packets", no_argument, NULL, OPT_PACKETS },
	{ "pcap", required_argument, NULL, OPT_PCAP },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "loss", required_argument, NULL, OPT_LOSS },
	{ "dup", required_argument, NULL, OPT_DUP },
	{ "reorder", required_argument, NULL, OPT_REORDER },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "seed", required_argument, NULL, OPT_SEED },
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
	{ OPT_CQE, offsetof(struct options, limits.cqe), 2, CQE_MAX },
	{ OPT_MRS, offsetof(struct options, limits.mrs), 1, 1 << 20 },
	{ OPT_PDS, offsetof(struct options, limits.pds), 1, 1 << 20 },
	{ OPT_AHS, offsetof(struct options, limits.ahs), 1, 1 << 20 },
	{ OPT_QUEUE_SIZE, offsetof(struct options, limits.queue_size), 2,
	  VIRTQ_SIZE_MAX },
	{ OPT_MTU, offsetof(struct options, mtu), FUNCTION_MTU_MIN, FUNCTION_MTU_MAX },
	{ OPT_SPEED, offsetof(struct options, speed), 0, SPEED_MAX },
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

/* A port, with what all of them are to have. */
static int parse_port(struct options *options, struct port_options *ports,
		      unsigned int *n, unsigned int max, const char *what)
{
	if (*n == max) {
		log_error("--%s: more than %u", what, max);
		return -EINVAL;
	}
	/* It stands in lines and fields of what --control tells. */
	if (strpbrk(optarg, "\t\n")) {
		log_error("--%s: a name with a tab or a line feed", what);
		return -EINVAL;
	}
	options->port = &ports[(*n)++];
	options->port->text = optarg;
	options->port->fault = options->all.fault;
	return 0;
}

static int parse_fault(struct fault_config *fault, int opt, const char *name)
{
	uint64_t *target = opt == OPT_LOSS ? &fault->loss :
			   opt == OPT_DUP ? &fault->dup :
			   opt == OPT_REORDER ? &fault->reorder :
			   &fault->corrupt;

	if (!fault_parse(optarg, target))
		return 0;
	log_error("--%s: \"%s\" is no probability", name, optarg);
	return -EINVAL;
}

static int parse_seed(struct fault_config *fault, const char *text)
{
	char *end;

	errno = 0;
	fault->seed = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		return 0;
	log_error("--seed: \"%s\" is not a number", text);
	return -EINVAL;
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
		return parse_port(options, options->guest, &options->guests,
				  GUESTS_MAX, name);
	case OPT_UPLINK:
		return parse_port(options, options->uplink, &options->uplinks,
				  UPLINKS_MAX, name);
	case OPT_LOSS:
	case OPT_DUP:
	case OPT_REORDER:
	case OPT_CORRUPT:
		return parse_fault(&options->port->fault, opt, name);
	case OPT_SEED:
		return parse_seed(&options->port->fault, optarg);
	case OPT_MAC_BASE:
		return parse_mac(optarg, &options->mac_base);
	case OPT_RFC:
		options->limits.rfc = true;
		return 0;
	case OPT_PACKETS:
		options->packets = true;
		return 0;
	case OPT_PCAP:
		options->port->pcap = optarg;
		return 0;
	case OPT_CONTROL:
		options->control = optarg;
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
	const struct rnic_limits *limits = &options->limits;
	uint32_t queues = function_num_queues(limits);

	if (!options->guests && !options->uplinks) {
		log_error("neither --socket nor --uplink given; --help tells more");
		return -EINVAL;
	}
	if (limits->queue_size & (limits->queue_size - 1)) {
		log_error("--queue-size: %" PRIu32 " is not a power of two",
			  limits->queue_size);
		return -EINVAL;
	}
	if (limits->cqe < limits->queue_size) {
		log_error("--cqe: %" PRIu32 " is less than a virtqueue holds",
			  limits->cqe);
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
	if (options->limits.rfc)
		options->limits.cqe = options->limits.queue_size;
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

static int pcap_start(struct pcap **pcap, const char *path)
{
	*pcap = path ? pcap_open(path) : NULL;
	if (*pcap || !path)
		return 0;
	log_error("--pcap: %s: %s", path, strerror(errno));
	return -EINVAL;
}

/* Ports with the same seed meet different random numbers all the same. */
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
	uint64_t mac = options->mac_base + i;
	struct function_config config = {
		.name = base_name(path),
		.mtu = options->mtu ? options->mtu : FUNCTION_MTU_MAX,
		.offer_mtu = options->mtu,
		.speed = options->speed * 1000,
		.limits = options->limits,
		.group = &guest->group,
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
			.vu = d->guest[i].vu,
		};
	for (i = 0; i < d->uplinks; i++)
		*port++ = (struct operator_port){
			.text = options->uplink[i].text,
			.group = &d->uplink[i].group,
			.uplink = d->uplink[i].uplink,
		};
	d->op = (struct operator){ d->port, d->guests + d->uplinks };
	if (!options->control)
		return 0;
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
	if (options->packets)
		fabric_use_packets(d->fabric);
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

	err = daemon_uplinks_start(d, options);
	if (err)
		return err;
	err = daemon_guests_start(d, options);
	if (err)
		goto err_uplinks;
	err = daemon_control_start(d, options);
	if (err)
		goto err_guests;
	log_info("%u guest(s), %u virtqueues each (num_vqs)", d->guests,
		 function_num_queues(&options->limits));
	err = loop_run(d->loop);
	if (err)
		log_error("event loop: %s", strerror(-err));
	daemon_control_stop(d);
err_guests:
	daemon_guests_stop(d);
err_uplinks:
	daemon_uplinks_stop(d);
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
			.cqe = 131072,
			.mrs = 4096,
			.pds = 1024,
			.ahs = 4096,
		},
		.poll_us = 50,
		.speed = 100,
		.mac_base = 0x52540000ce01,
	};

	int err;

	options.port = &options.all;
	if (parse_options(&options, argc, argv))
		return EXIT_FAILURE;
	daemon_fd_limit();
	if (daemon_init(&d, &options))
		return EXIT_FAILURE;
	err = pcap_start(&d.pcap, options.all.pcap);
	switch_capture(d.sw, d.pcap);
	if (!err)
		err = daemon_run(&d, &options);
	daemon_fini(&d);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
