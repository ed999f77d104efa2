// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * watchnet: asks virtio_net for what it knows, by ways that do not pass its netdev_ops, or
 * keeps an XDP program on its interface.
 *
 *   watchnet read INTERFACE    as nobody: sysfs attributes of the receive queues, and the
 *                              statistics of all queues by netlink
 *   watchnet attach INTERFACE  attaches and detaches an XDP program by a link
 *   watchnet count INTERFACE   attaches one that counts packets, and prints the count
 *                              when it has changed
 *
 * They go on until SIGTERM.  The first two then print how often they were successful.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/bpf.h>
#include <linux/genetlink.h>
#include <linux/netdev.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdp.h"

#define NOBODY	65534

/* ----- netlink ----- */

struct message {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	char attributes[64];
};

static void add_attribute(struct message *m, uint16_t type, const void *data,
			  uint16_t len)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->nl.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, data, len);
	m->nl.nlmsg_len = NLMSG_ALIGN(m->nl.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void begin(struct message *m, uint16_t family, uint8_t command,
		  uint16_t flags)
{
	memset(m, 0, sizeof(*m));
	m->nl.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	m->nl.nlmsg_type = family;
	m->nl.nlmsg_flags = NLM_F_REQUEST | flags;
	m->genl.cmd = command;
	m->genl.version = 1;
}

static void transmit(int fd, const struct message *m)
{
	if (send(fd, m, m->nl.nlmsg_len, 0) != (ssize_t)m->nl.nlmsg_len)
		fail("send");
}

/* Number of the family "netdev", 0 if the kernel has none. */
static uint16_t find_family(int fd)
{
	union {
		struct nlmsghdr nl;
		char bytes[8192];
	} answer;
	struct message m;
	struct nlattr *a;
	ssize_t len;
	char *p;

	begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	add_attribute(&m, CTRL_ATTR_FAMILY_NAME, NETDEV_FAMILY_NAME,
		      sizeof(NETDEV_FAMILY_NAME));
	transmit(fd, &m);
	len = recv(fd, &answer, sizeof(answer), 0);
	if (len < (ssize_t)NLMSG_HDRLEN)
		fail("recv");
	if (answer.nl.nlmsg_type == NLMSG_ERROR)
		return 0;
	for (p = answer.bytes + NLMSG_LENGTH(GENL_HDRLEN);
	     p + NLA_HDRLEN <= answer.bytes + len; p += NLA_ALIGN(a->nla_len)) {
		a = (void *)p;
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)(a + 1);
	}
	return 0;
}

/* Statistics of all queues, of all interfaces.  Returns false if there were none. */
static bool dump_statistics(int fd, uint16_t family)
{
	union {
		struct nlmsghdr nl;
		char bytes[32768];
	} answer;
	uint64_t scope = NETDEV_QSTATS_SCOPE_QUEUE;
	struct message m;
	bool any = false;
	struct nlmsghdr *nl;
	ssize_t len;

	begin(&m, family, NETDEV_CMD_QSTATS_GET, NLM_F_DUMP);
	add_attribute(&m, NETDEV_A_QSTATS_SCOPE, &scope, sizeof(scope));
	transmit(fd, &m);
	for (;;) {
		len = recv(fd, &answer, sizeof(answer), 0);
		if (len < (ssize_t)NLMSG_HDRLEN)
			fail("recv");
		/* The end may come together with the last answers. */
		for (nl = &answer.nl; NLMSG_OK(nl, len); nl = NLMSG_NEXT(nl, len)) {
			if (nl->nlmsg_type == NLMSG_DONE ||
			    nl->nlmsg_type == NLMSG_ERROR)
				return any;
			any = true;
		}
	}
}

static unsigned int read_attributes(const char *pattern)
{
	unsigned int i, n = 0;
	char text[64];
	glob_t found;
	int fd;

	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++) {
		fd = open(found.gl_pathv[i], O_RDONLY);
		if (fd < 0)
			continue;
		if (read(fd, text, sizeof(text)) > 0)
			n++;
		close(fd);
	}
	globfree(&found);
	return n;
}

static void watch(const char *interface)
{
	unsigned long attributes = 0, dumps = 0;
	char pattern[256];
	uint16_t family;
	int fd;

	if (setgid(NOBODY) || setuid(NOBODY))
		fail("nobody");
	snprintf(pattern, sizeof(pattern),
		 "/sys/class/net/%s/queues/rx-*/virtio_net/*", interface);
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	if (fd < 0)
		fail("socket");
	family = find_family(fd);
	while (!stopped) {
		attributes += read_attributes(pattern);
		if (family)
			dumps += dump_statistics(fd, family);
	}
	printf("%lu attributes %lu dumps\n", attributes, dumps);
}

/* ----- XDP ----- */

/* A program that counts in entry 0 of an array, and lets the packet pass. */
static int load_program(int map)
{
	const struct bpf_insn code[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_PASS),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return load_xdp(code, sizeof(code) / sizeof(code[0]));
}

static int create_counter(void)
{
	return create_map(BPF_MAP_TYPE_ARRAY, sizeof(uint64_t));
}

static void attach_and_detach(unsigned int index)
{
	int program = load_program(create_counter()), link;
	unsigned long n = 0, refused = 0;

	while (!stopped) {
		link = attach(program, index);
		if (link < 0) {
			refused++;
			continue;
		}
		/* The last reference: the kernel detaches it. */
		close(link);
		n++;
	}
	printf("%lu attached %lu refused\n", n, refused);
}

static void count(unsigned int index)
{
	int map = create_counter(), key = 0;
	union bpf_attr attr = { .map_fd = map };
	uint64_t value = 0, last = -1;

	if (attach(load_program(map), index) < 0)
		fail("BPF_LINK_CREATE");
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	while (!stopped) {
		if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
			fail("BPF_MAP_LOOKUP_ELEM");
		if (value != last) {
			printf("%llu\n", (unsigned long long)value);
			fflush(stdout);
		}
		last = value;
		usleep(100000);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	unsigned int index;

	if (argc != 3)
		return 2;
	index = if_nametoindex(argv[2]);
	if (!index)
		fail(argv[2]);
	sigaction(SIGTERM, &action, NULL);
	if (!strcmp(argv[1], "read"))
		watch(argv[2]);
	else if (!strcmp(argv[1], "attach"))
		attach_and_detach(index);
	else if (!strcmp(argv[1], "count"))
		count(index);
	else
		return 2;
	return 0;
}
