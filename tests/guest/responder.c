// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * responder DEVICE IP MAC [THREADS [NETWORK/BITS=MAC...]]
 *
 * Answers ARP and pings for an IPv4 address that no interface has, and is a router for networks
 * behind it, from user space: an example of raw packets, flow rules and work queues.  A packet to
 * one of the networks goes to the MAC address behind the longest one that fits; one without a
 * network, or whose time to live is over, is dropped.
 *
 * Each thread has a work queue, a CQ and a RAW_PACKET QP to send by, and shares nothing with the
 * others.  A QP with an RX hash spreads the frames over the work queues by their
 * addresses.  Two rules give frames to it: all to MAC, and a copy of each ARP broadcast, which
 * the interface gets as well.
 *
 * It prints "ready", and at SIGTERM how many frames each thread has answered or forwarded.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open.h"

#define THREADS		8
#define DEPTH		64
#define SIZE		2048
#define ROUTES		16

/* wr_id of a send request: that of the buffer and this. */
#define SENT		0x100

/**
 * struct worker - a thread
 * @thread:	the thread
 * @cq:		of both of the following
 * @wq:		frames come here
 * @qp:		and are sent by this
 * @mr:		@memory
 * @answered:	frames, or forwarded
 * @memory:	a buffer for each request
 */
struct worker {
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_wq *wq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	unsigned long answered;
	char memory[DEPTH][SIZE];
};

/**
 * struct route - a network that is not here
 * @network:	its addresses begin so
 * @mask:	with so many bits
 * @mac:	who is nearer to it
 */
struct route {
	in_addr_t network;
	in_addr_t mask;
	uint8_t mac[ETH_ALEN];
};

static struct worker workers[THREADS];
static struct route routes[ROUTES];
static unsigned int routes_n;
static in_addr_t own_ip;
static uint8_t own_mac[ETH_ALEN];
static int ended;

/* ------------------------------------------------------------------------- */
/* Answers                                                                   */
/* ------------------------------------------------------------------------- */

static int answer_arp(struct ether_arp *arp, size_t len)
{
	if (len < sizeof(*arp) || arp->ea_hdr.ar_op != htons(ARPOP_REQUEST) ||
	    memcmp(arp->arp_tpa, &own_ip, sizeof(own_ip)))
		return 0;
	arp->ea_hdr.ar_op = htons(ARPOP_REPLY);
	memcpy(arp->arp_tha, arp->arp_sha, ETH_ALEN);
	memcpy(arp->arp_tpa, arp->arp_spa, sizeof(own_ip));
	memcpy(arp->arp_sha, own_mac, ETH_ALEN);
	memcpy(arp->arp_spa, &own_ip, sizeof(own_ip));
	return 1;
}

/* The sum of IP does not change when its addresses change places. */
static int answer_ping(struct iphdr *ip, size_t len)
{
	struct icmphdr *icmp = (struct icmphdr *)((char *)ip + ip->ihl * 4u);
	uint32_t sum;

	if (len < sizeof(*ip) || len < ip->ihl * 4u + sizeof(*icmp) || ip->daddr != own_ip ||
	    ip->protocol != IPPROTO_ICMP || icmp->type != ICMP_ECHO)
		return 0;
	ip->daddr = ip->saddr;
	ip->saddr = own_ip;
	icmp->type = ICMP_ECHOREPLY;
	sum = icmp->checksum + htons(ICMP_ECHO << 8);
	icmp->checksum = sum + (sum >> 16);
	return 1;
}

static const struct route *route_to(in_addr_t ip)
{
	const struct route *found = NULL;
	unsigned int i;

	for (i = 0; i < routes_n; i++)
		if ((ip & routes[i].mask) == routes[i].network &&
		    (!found || ntohl(routes[i].mask) > ntohl(found->mask)))
			found = &routes[i];
	return found;
}

/* The sum of IP grows by what the time to live loses (RFC 1624). */
static const struct route *forward(struct iphdr *ip, size_t len)
{
	const struct route *route = NULL;
	uint32_t sum;

	if (len >= sizeof(*ip) && ip->version == 4 && ip->ttl > 1)
		route = route_to(ip->daddr);
	if (!route)
		return NULL;
	ip->ttl--;
	sum = ip->check + htons(1 << 8);
	ip->check = sum + (sum >> 16);
	return route;
}

/* A frame to here becomes what is to be sent; 0 if that is nothing. */
static int answer(char *frame, size_t len)
{
	struct ether_header *eth = (struct ether_header *)frame;
	const struct route *route = NULL;
	struct iphdr *ip = (struct iphdr *)(eth + 1);
	int is;

	if (len < sizeof(*eth))
		return 0;
	len -= sizeof(*eth);
	if (eth->ether_type == htons(ETHERTYPE_ARP))
		is = answer_arp((struct ether_arp *)(eth + 1), len);
	else
		is = eth->ether_type == htons(ETHERTYPE_IP) && answer_ping(ip, len);
	if (!is && eth->ether_type == htons(ETHERTYPE_IP))
		route = forward(ip, len);
	is |= !!route;
	memcpy(eth->ether_dhost, route ? route->mac : eth->ether_shost, ETH_ALEN);
	memcpy(eth->ether_shost, own_mac, ETH_ALEN);
	return is;
}

/* ------------------------------------------------------------------------- */
/* Threads                                                                   */
/* ------------------------------------------------------------------------- */

static void receive(struct worker *w, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)w->memory[i], SIZE, w->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!ibv_post_wq_recv(w->wq, &wr, &bad), "receive");
}

static void transmit(struct worker *w, uint64_t i, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)w->memory[i], len, w->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i | SENT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	require(!ibv_post_send(w->qp, &wr, &bad), "send");
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct ibv_wc wc;

	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
		if (!ibv_poll_cq(w->cq, 1, &wc)) {
			usleep(100);
			continue;
		}
		require(wc.status == IBV_WC_SUCCESS, "completion");
		if (wc.wr_id & SENT) {
			w->answered++;
			receive(w, wc.wr_id & ~(uint64_t)SENT);
		} else if (answer(w->memory[wc.wr_id], wc.byte_len)) {
			transmit(w, wc.wr_id, wc.byte_len);
		} else {
			receive(w, wc.wr_id);
		}
	}
	return NULL;
}

static void open_worker(struct worker *w, struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_wq_init_attr wq = {
		.wq_type = IBV_WQT_RQ, .max_wr = DEPTH, .max_sge = 1, .pd = pd,
	};
	struct ibv_wq_attr ready = {
		.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY,
	};
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	uint64_t i;

	w->cq = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0);
	w->mr = ibv_reg_mr(pd, w->memory, sizeof(w->memory), IBV_ACCESS_LOCAL_WRITE);
	require(w->cq && w->mr, "CQ");
	wq.cq = w->cq;
	w->wq = ibv_create_wq(ctx, &wq);
	require(w->wq && !ibv_modify_wq(w->wq, &ready), "WQ");
	qp.send_cq = w->cq;
	qp.recv_cq = w->cq;
	w->qp = ibv_create_qp(pd, &qp);
	require(w->qp && !ibv_modify_qp(w->qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "QP");
	attr.qp_state = IBV_QPS_RTR;
	require(!ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	require(!ibv_modify_qp(w->qp, &attr, IBV_QP_STATE), "RTS");
	for (i = 0; i < DEPTH; i++)
		receive(w, i);
}

/* ------------------------------------------------------------------------- */
/* Frames to them                                                            */
/* ------------------------------------------------------------------------- */

static struct ibv_qp *spread(struct ibv_context *ctx, struct ibv_pd *pd, unsigned int log_size)
{
	struct ibv_wq *wqs[THREADS];
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = log_size,
						     .ind_tbl = wqs };
	uint8_t key[40];
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = pd,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(key),
			.rx_hash_key = key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4,
		},
	};
	struct ibv_qp *qp;
	unsigned int i;

	for (i = 0; i < sizeof(key); i++)
		key[i] = 7 * i + 3;
	for (i = 0; i < 1u << log_size; i++)
		wqs[i] = workers[i].wq;
	attr.rwq_ind_tbl = ibv_create_rwq_ind_table(ctx, &table);
	require(!!attr.rwq_ind_tbl, "indirection table");
	qp = ibv_create_qp_ex(ctx, &attr);
	require(!!qp, "QP with an RX hash");
	return qp;
}

static void add_rule(struct ibv_qp *qp, const uint8_t *mac, uint16_t type, uint32_t flags)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 1,
			  .port = 1, .flags = flags },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
	};

	memcpy(rule.eth.val.dst_mac, mac, ETH_ALEN);
	memset(rule.eth.mask.dst_mac, 0xff, ETH_ALEN);
	rule.eth.val.ether_type = htons(type);
	rule.eth.mask.ether_type = type ? 0xffff : 0;
	require(!!ibv_create_flow(qp, &rule.attr), "rule");
}

static int parse_mac(const char *text, uint8_t *mac)
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == ETH_ALEN;
}

static void add_route(const char *text)
{
	struct route *route = &routes[routes_n++];
	char network[INET_ADDRSTRLEN];
	unsigned int bits;
	int at;

	require(routes_n <= ROUTES && sscanf(text, "%15[0-9.]/%u=%n", network, &bits, &at) == 2 &&
		bits <= 32 && inet_pton(AF_INET, network, &route->network) == 1 &&
		parse_mac(text + at, route->mac), text);
	route->mask = htonl(bits ? ~0u << (32 - bits) : 0);
	route->network &= route->mask;
}

int main(int argc, char **argv)
{
	static const uint8_t broadcast[ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };
	unsigned int i, log_size, threads = argc > 4 ? atoi(argv[4]) : 1;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	sigset_t set;
	int sig;

	for (log_size = 0; 1u << log_size < threads; log_size++)
		;
	require(argc > 3 && threads && threads <= THREADS && threads == 1u << log_size &&
		inet_pton(AF_INET, argv[2], &own_ip) == 1 && parse_mac(argv[3], own_mac),
		"arguments");
	for (i = 5; i < (unsigned int)argc; i++)
		add_route(argv[i]);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ctx = open_device(argv[1]);
	require(!!ctx, "device");
	pd = ibv_alloc_pd(ctx);
	require(!!pd, "PD");
	for (i = 0; i < threads; i++)
		open_worker(&workers[i], ctx, pd);
	qp = spread(ctx, pd, log_size);
	for (i = 0; i < threads; i++)
		require(!pthread_create(&workers[i].thread, NULL, work, &workers[i]), "thread");
	add_rule(qp, own_mac, 0, 0);
	add_rule(qp, broadcast, ETHERTYPE_ARP, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	printf("ready\n");
	fflush(stdout);
	sigwait(&set, &sig);
	__atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("%lu\n", workers[i].answered);
	}
	return 0;
}
