// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The command line of vhost-user-roce.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "options.h"
#include "uapi/virtio_net_roce.h"
#include "vhost_user/vhost_user.h"

#define CQE_MAX		(1 << 20)
/* The configuration space has 31 bits for it, of Mbit/s. */
#define SPEED_MAX	2147483

/* QPs and CQs with virtqueues, without direct rings and beside them. */
#define OPTIONS_QPS	32
#define OPTIONS_CQS	64
#define OPTIONS_QPS_FEW	4
#define OPTIONS_CQS_FEW	4

const char options_usage[] =
"Usage: vhost-user-roce [--socket PATH]... [--uplink UPLINK]... [OPTION]...\n"
"\n"
"A virtio-net device with RoCE for each guest that connects to one of the\n"
"sockets, and a switch between them.\n"
"\n"
"  --socket PATH[,mac=MAC][,gid=ADDRESS]...[,elsewhere][,copy]\n"
"                    unix socket to serve one guest on; repeat for more guests.\n"
"                    With mac= the guest has this MAC address and can use no\n"
"                    other, and no other port can; with gid= it can use only these\n"
"                    as GIDs, in ARP and neighbor discovery, and as the source of\n"
"                    RoCE packets; with elsewhere it is on another host until it is\n"
"                    moved here; with copy it comes from a snapshot, and its\n"
"                    connections end\n"
"  --uplink UPLINK   connect the switch to something else as well; repeat for more:\n"
"                      unix:PATH     listen; each connection, as of QEMU's\n"
"                                    -netdev stream,addr.type=unix,addr.path=PATH,\n"
"                                    is a port of the switch\n"
"                      connect:PATH  connect to such a socket, as of another daemon\n"
"                      tap:NAME      a tap interface, made if there is none\n"
"                      packet:NAME   share an interface of the host\n"
"  --namespace NAME=STORAGE[,ro][,guest=GUEST]...\n"
"                    storage of the host for targets, and for programs in a guest,\n"
"                    by the last part of the path of its socket; repeat for more:\n"
"                      file:PATH     a file\n"
"                      block:PATH    a block device\n"
"                      null:SIZE     reads as zeroes and keeps nothing; K, M, G, T\n"
"  --nvmf-target nqn=NQN,address=ADDRESS,namespace=NAME[,FIELD]...\n"
"                    a target of NVMe over Fabrics (RDMA) for all that reach the switch,\n"
"                    at an IP address of its own, port 4420; repeat for more.  Further\n"
"                    fields, each as often as needed: address=, namespace=,\n"
"                    readonly=NAME, a namespace that hosts must not write to;\n"
"                    host=NQN, these hosts alone may connect; guest=NAME, these\n"
"                    guests alone may, by the last part of the paths of their sockets\n"
"  --qps N           queue pairs with virtqueues of each guest (default 4; 32 where\n"
"                    there are no direct rings)\n"
"  --cqs N           completion queues with virtqueues of each guest (default 4,\n"
"                    or 64)\n"
"  --cqe N           completions that each of them holds (default 262144)\n"
"  --mrs N           RDMA memory regions of each guest (default 16384)\n"
"  --pds N           protection domains of each guest (default 1024)\n"
"  --ahs N           address handles of each guest (default 4096)\n"
"  --event-queues N  virtqueues that tell of completions (default 4); 0: a guest's\n"
"                    driver arms and scans CQs as the RFC has it\n"
"  --doorbell-queues N  virtqueues that announce work in direct rings (default 1)\n"
"  --direct-qps N    queue pairs in direct rings, beside --qps (default 16384 in all);\n"
"                    one that does nothing takes less than 8 KiB\n"
"  --direct-cqs N    completion queues in direct rings, likewise\n"
"  --rfc             offer what the RFC of RoCE for virtio-net has, without extensions:\n"
"                    a CQ holds as many completions as a virtqueue\n"
"  --queue-pairs N   pairs of Ethernet queues of each guest (default 1); with more, a guest\n"
"                    spreads what it receives over its processors\n"
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
"  --control PATH    unix socket for vhost-user-roce-ctl, which also adds guests and\n"
"                    uplinks and removes them\n"
"  --takeover PATH   take over from the daemon whose --control this is: its guests,\n"
"                    uplinks and sockets, which must be in the options, too; it ends\n"
"                    when this one serves, and goes on if this one cannot\n"
"  --keeper          be two processes: if the daemon is killed, by a bug or by others,\n"
"                    the other one starts it again.  Guests keep their device; RDMA\n"
"                    starts anew in them\n"
"  --verbose         tell more\n"
"  --no-sandbox      keep all rights, for debugging\n"
"  --help            print this and exit\n"
"  --version         print the version and exit\n"
"\n"
"QEMU (11.1 or later) needs shared guest memory and, for the default limits:\n"
"  -object memory-backend-memfd,id=mem,share=on,size=SIZE -machine memory-backend=mem\n"
"  -chardev socket,id=roce,path=PATH\n"
"  -device vhost-user-test-device-pci,chardev=roce,virtio-id=1,num_vqs=20,\\\n"
"          vq_size=1024,config_size=36,page-per-vq=on\n"
"where num_vqs is 1 + 2 * queue pairs + CQs + 2 * QPs + event queues + doorbell\n"
"queues.  A guest whose QEMU was told config_size=32, and a num_vqs without the\n"
"last two, has neither.\n";

enum {
	OPT_SOCKET = 256,
	OPT_UPLINK,
	OPT_NAMESPACE,
	OPT_NVMF_TARGET,
	OPT_QPS,
	OPT_CQS,
	OPT_CQE,
	OPT_MRS,
	OPT_PDS,
	OPT_AHS,
	OPT_EVENT_QUEUES,
	OPT_DOORBELL_QUEUES,
	OPT_DIRECT_QPS,
	OPT_DIRECT_CQS,
	OPT_QUEUE_PAIRS,
	OPT_QUEUE_SIZE,
	OPT_RFC,
	OPT_MTU,
	OPT_SPEED,
	OPT_MAC_BASE,
	OPT_POLL_US,
	OPT_PACKETS,
	OPT_PCAP,
	OPT_CONTROL,
	OPT_TAKEOVER,
	OPT_LOSS,
	OPT_DUP,
	OPT_REORDER,
	OPT_CORRUPT,
	OPT_SEED,
	OPT_VERBOSE,
	OPT_NO_SANDBOX,
	OPT_KEEPER,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "uplink", required_argument, NULL, OPT_UPLINK },
	{ "namespace", required_argument, NULL, OPT_NAMESPACE },
	{ "nvmf-target", required_argument, NULL, OPT_NVMF_TARGET },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "cqs", required_argument, NULL, OPT_CQS },
	{ "cqe", required_argument, NULL, OPT_CQE },
	{ "mrs", required_argument, NULL, OPT_MRS },
	{ "pds", required_argument, NULL, OPT_PDS },
	{ "ahs", required_argument, NULL, OPT_AHS },
	{ "event-queues", required_argument, NULL, OPT_EVENT_QUEUES },
	{ "doorbell-queues", required_argument, NULL, OPT_DOORBELL_QUEUES },
	{ "direct-qps", required_argument, NULL, OPT_DIRECT_QPS },
	{ "direct-cqs", required_argument, NULL, OPT_DIRECT_CQS },
	{ "queue-pairs", required_argument, NULL, OPT_QUEUE_PAIRS },
	{ "queue-size", required_argument, NULL, OPT_QUEUE_SIZE },
	{ "rfc", no_argument, NULL, OPT_RFC },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "speed", required_argument, NULL, OPT_SPEED },
	{ "mac-base", required_argument, NULL, OPT_MAC_BASE },
	{ "poll-us", required_argument, NULL, OPT_POLL_US },
	{ "packets", no_argument, NULL, OPT_PACKETS },
	{ "pcap", required_argument, NULL, OPT_PCAP },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "takeover", required_argument, NULL, OPT_TAKEOVER },
	{ "loss", required_argument, NULL, OPT_LOSS },
	{ "dup", required_argument, NULL, OPT_DUP },
	{ "reorder", required_argument, NULL, OPT_REORDER },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "no-sandbox", no_argument, NULL, OPT_NO_SANDBOX },
	{ "keeper", no_argument, NULL, OPT_KEEPER },
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
	{ OPT_EVENT_QUEUES, offsetof(struct options, limits.event_vqs), 0,
	  RNIC_EVENT_VQS_MAX },
	{ OPT_DOORBELL_QUEUES, offsetof(struct options, limits.doorbell_vqs), 0,
	  RNIC_DOORBELL_VQS_MAX },
	{ OPT_DIRECT_QPS, offsetof(struct options, limits.direct_qps), 0,
	  VIRTIO_NET_ROCE_MAX_OBJECTS },
	{ OPT_DIRECT_CQS, offsetof(struct options, limits.direct_cqs), 0,
	  VIRTIO_NET_ROCE_MAX_OBJECTS },
	{ OPT_QUEUE_PAIRS, offsetof(struct options, queue_pairs), 1, FUNCTION_PAIRS_MAX },
	{ OPT_QUEUE_SIZE, offsetof(struct options, limits.queue_size), 2,
	  VIRTQ_SIZE_MAX },
	{ OPT_MTU, offsetof(struct options, mtu), FUNCTION_MTU_MIN, FUNCTION_MTU_MAX },
	{ OPT_SPEED, offsetof(struct options, speed), 0, SPEED_MAX },
	{ OPT_POLL_US, offsetof(struct options, poll_us), 0, 1000000 },
};

/**
 * struct parser - the command line while it is being read
 * @options:	what it has said so far
 * @port:	the port named last, or @options->all before the first one
 */
struct parser {
	struct options *options;
	struct port_options *port;
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
	    (b[0] & 1))
		return -EINVAL;
	for (*mac = 0, i = 0; i < ETH_ALEN; i++)
		*mac = *mac << 8 | b[i];
	return 0;
}

/* A port begins with the faults that were named before all ports. */
static int parse_port(struct parser *parser, struct port_options *ports,
		      unsigned int *n, unsigned int max, const char *name)
{
	if (*n == max) {
		log_error("--%s: more than %u", name, max);
		return -EINVAL;
	}
	/* The name becomes a field of a line in the answers of --control. */
	if (strpbrk(optarg, "\t\n")) {
		log_error("--%s: a name with a tab or a line feed", name);
		return -EINVAL;
	}
	parser->port = &ports[(*n)++];
	parser->port->text = optarg;
	parser->port->fault = parser->options->all.fault;
	return 0;
}

uint64_t options_port_mac(const struct options *options,
			  const struct port_options *port, unsigned int number)
{
	const struct pin *pin = &port->pin;
	uint64_t mac = 0;
	unsigned int i;

	if (!pin->has_mac)
		return options->mac_base + number;
	for (i = 0; i < ETH_ALEN; i++)
		mac = mac << 8 | pin->mac[i];
	return mac;
}

uint64_t options_mac(const struct options *options, unsigned int guest)
{
	return options_port_mac(options, &options->guest[guest], guest);
}

static int parse_pin_mac(struct pin *pin, const char *text, const char *who)
{
	uint64_t mac;
	unsigned int i;

	if (pin->has_mac) {
		log_error("%s: more than one mac=", who);
		return -EINVAL;
	}
	if (parse_mac(text, &mac)) {
		log_error("%s: mac: \"%s\" is not the address of a station", who,
			  text);
		return -EINVAL;
	}
	for (i = 0; i < ETH_ALEN; i++)
		pin->mac[i] = mac >> (8 * (ETH_ALEN - 1 - i));
	pin->has_mac = true;
	return 0;
}

static int parse_pin_gid(struct pin *pin, const char *text, const char *who)
{
	uint8_t addr[GID_SIZE], *gid;

	if (pin->gids == PIN_GIDS_MAX) {
		log_error("%s: more than %u gid=", who, PIN_GIDS_MAX);
		return -EINVAL;
	}
	gid = pin->gid[pin->gids];
	if (inet_pton(AF_INET, text, addr) == 1)
		gid_from_ipv4(gid, addr);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		gid = NULL;
	if (!gid || !gid_is_unicast(gid)) {
		log_error("%s: gid: \"%s\" is not the address of a station", who,
			  text);
		return -EINVAL;
	}
	pin->gids++;
	return 0;
}

static int parse_pin_unknown(const char *text, const char *who)
{
	log_error("%s: \"%s\" is neither mac= nor gid= nor elsewhere nor copy", who, text);
	return -EINVAL;
}

/* The part behind the path: ",mac=…", ",gid=…", ",elsewhere" and ",copy". */
static int parse_pin(struct pin *pin, const char *text, const char *who)
{
	char item[64];
	size_t len;
	int err = 0;

	while (!err && *text == ',') {
		text++;
		len = strcspn(text, ",");
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		text += len;
		if (len < sizeof(item) && !strncmp(item, "mac=", 4))
			err = parse_pin_mac(pin, item + 4, who);
		else if (len < sizeof(item) && !strncmp(item, "gid=", 4))
			err = parse_pin_gid(pin, item + 4, who);
		else if (!strcmp(item, "elsewhere"))
			pin->elsewhere = true;
		else if (!strcmp(item, "copy"))
			pin->copy = true;
		else
			err = parse_pin_unknown(item, who);
	}
	return err;
}

int options_guest(struct port_options *port, const char *text, const char *who)
{
	size_t len = strcspn(text, ",");

	if (len >= sizeof(port->path)) {
		log_error("%s: \"%s\" is too long", who, text);
		return -EINVAL;
	}
	memcpy(port->path, text, len);
	port->path[len] = 0;
	port->text = port->path;
	return parse_pin(&port->pin, text + len, who);
}

static int parse_guest(struct parser *parser, const char *name)
{
	struct options *options = parser->options;
	int err = parse_port(parser, options->guest, &options->guests, GUESTS_MAX,
			     name);

	return err ? err : options_guest(parser->port, optarg, "--socket");
}

static int parse_fault(struct fault_config *fault, int opt, const char *name)
{
	uint64_t *target = opt == OPT_LOSS ? &fault->loss :
			   opt == OPT_DUP ? &fault->dup :
			   opt == OPT_REORDER ? &fault->reorder :
			   &fault->corrupt;

	if (!fault_parse(optarg, target))
		return 0;
	log_error("--%s: \"%s\" is not a probability", name, optarg);
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

static int parse_mac_base(struct options *options, const char *name)
{
	if (!parse_mac(optarg, &options->mac_base))
		return 0;
	log_error("--%s: \"%s\" is not the address of a station", name, optarg);
	return -EINVAL;
}

static int parse_namespace(struct options *options)
{
	if (options->namespaces == STORAGE_NAMESPACES_MAX) {
		log_error("--namespace: more than %u", STORAGE_NAMESPACES_MAX);
		return -EINVAL;
	}
	options->namespace[options->namespaces++] = optarg;
	return 0;
}

static int parse_target(struct options *options)
{
	if (options->targets == TARGETS_MAX) {
		log_error("--nvmf-target: more than %u", TARGETS_MAX);
		return -EINVAL;
	}
	return target_options_parse(&options->target[options->targets++], optarg);
}

static int parse_option(struct parser *parser, int opt, const char *name)
{
	struct options *options = parser->options;

	switch (opt) {
	case OPT_SOCKET:
		return parse_guest(parser, name);
	case OPT_UPLINK:
		return parse_port(parser, options->uplink, &options->uplinks,
				  UPLINKS_MAX, name);
	case OPT_NAMESPACE:
		return parse_namespace(options);
	case OPT_NVMF_TARGET:
		return parse_target(options);
	case OPT_LOSS:
	case OPT_DUP:
	case OPT_REORDER:
	case OPT_CORRUPT:
		return parse_fault(&parser->port->fault, opt, name);
	case OPT_SEED:
		return parse_seed(&parser->port->fault, optarg);
	case OPT_MAC_BASE:
		return parse_mac_base(options, name);
	case OPT_RFC:
		options->limits.rfc = true;
		return 0;
	case OPT_PACKETS:
		options->packets = true;
		return 0;
	case OPT_PCAP:
		parser->port->pcap = optarg;
		return 0;
	case OPT_CONTROL:
		options->control = optarg;
		return 0;
	case OPT_TAKEOVER:
		options->takeover = optarg;
		return 0;
	case OPT_VERBOSE:
		options->verbose = true;
		return 0;
	case OPT_NO_SANDBOX:
		options->no_sandbox = true;
		return 0;
	case OPT_KEEPER:
		options->keeper = true;
		return 0;
	case OPT_HELP:
		options->action = OPTIONS_HELP;
		return 0;
	case OPT_VERSION:
		options->action = OPTIONS_VERSION;
		return 0;
	default:
		return parse_number(options, name, opt, optarg);
	}
}

/* A MAC address that is pinned to one guest is no other one's. */
static int check_pins(const struct options *options)
{
	unsigned int i, j;

	for (i = 0; i < options->guests; i++)
		for (j = 0; j < i; j++) {
			if (!options->guest[i].pin.has_mac &&
			    !options->guest[j].pin.has_mac)
				continue;
			if (options_mac(options, i) != options_mac(options, j))
				continue;
			log_error("--socket: %s and %s have the same MAC address",
				  options->guest[j].text, options->guest[i].text);
			return -EINVAL;
		}
	return 0;
}

/* An address is that of one target. */
static int check_targets(const struct options *options)
{
	const struct target_options *a, *b;
	unsigned int i, j;

	for (a = options->target; a < options->target + options->targets; a++)
		for (i = 0; i < a->gids; i++)
			for (b = options->target; b <= a; b++)
				for (j = 0; j < (a == b ? i : b->gids); j++) {
					if (!gid_equal(a->gid[i], b->gid[j]))
						continue;
					log_error("--nvmf-target: %s: an address occurs twice",
						  a->nqn);
					return -EINVAL;
				}
	return 0;
}

/* Checks what the options say together. */
static int check_options(const struct options *options)
{
	const struct rnic_limits *limits = &options->limits;
	uint32_t queues = function_num_queues(options->queue_pairs, limits);

	if (!options->guests && !options->uplinks && !options->control) {
		log_error("neither --socket nor --uplink given, nor --control to add one; "
			  "--help tells more");
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
	if (check_targets(options))
		return -EINVAL;
	return check_pins(options);
}

static void options_init(struct options *options)
{
	*options = (struct options){
		.limits = {
			.queue_size = VIRTQ_SIZE_MAX,
			.cqe = 262144,
			.mrs = 16384,
			.pds = 1024,
			.ahs = 4096,
			.event_vqs = 4,
			.doorbell_vqs = 1,
			.direct_qps = VIRTIO_NET_ROCE_MAX_OBJECTS,
			.direct_cqs = VIRTIO_NET_ROCE_MAX_OBJECTS,
		},
		.queue_pairs = 1,
		.poll_us = 50,
		.speed = 100,
		.mac_base = 0x52540000ce01,
	};
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * Limits that follow from others.
 *
 * Where there are direct rings, only the GSI and drivers that do not know them use QPs and
 * CQs with virtqueues, so there are few unless the options say how many.
 */
static void options_settle(struct rnic_limits *limits)
{
	if (limits->rfc) {
		limits->cqe = limits->queue_size;
		limits->event_vqs = 0;
	}
	/* Direct rings complete by events. */
	if (!limits->event_vqs || !limits->direct_qps || !limits->direct_cqs)
		limits->doorbell_vqs = 0;
	if (!limits->qps)
		limits->qps = limits->doorbell_vqs ? OPTIONS_QPS_FEW : OPTIONS_QPS;
	if (!limits->cqs)
		limits->cqs = limits->doorbell_vqs ? OPTIONS_CQS_FEW : OPTIONS_CQS;
	limits->direct_qps = limits->doorbell_vqs ?
		min_u32(limits->direct_qps, VIRTIO_NET_ROCE_MAX_OBJECTS - limits->qps) :
		0;
	limits->direct_cqs = limits->doorbell_vqs ?
		min_u32(limits->direct_cqs, VIRTIO_NET_ROCE_MAX_OBJECTS - limits->cqs) :
		0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	struct parser parser = { options, &options->all };
	int opt, index, err;

	options_init(options);
	opterr = 0;
	/* 0 makes getopt start over, in case it was used before. */
	optind = 0;
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
		err = parse_option(&parser, opt, long_options[index].name);
		if (err || options->action != OPTIONS_RUN)
			return err;
	}
	if (optind < argc) {
		log_error("unexpected argument \"%s\"", argv[optind]);
		return -EINVAL;
	}
	options_settle(&options->limits);
	return check_options(options);
}
