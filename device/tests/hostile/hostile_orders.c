// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How often what happens, and how often it has happened.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/hostile/hostile.h"

#define PAGE	4096

#define QUEUE_NAMES(who)							\
	[who ## _WR_ID] = #who "_WR_ID",	[who ## _BITS] = #who "_BITS",	\
	[who ## _VALUE] = #who "_VALUE",	[who ## _REPEAT] = #who "_REPEAT", \
	[who ## _FORGED] = #who "_FORGED",	[who ## _ID] = #who "_ID",	\
	[who ## _LENGTH] = #who "_LENGTH",	[who ## _INDEX] = #who "_INDEX", \
	[who ## _FLAGS] = #who "_FLAGS"

static const char *const hostile_names[REFUSE] = {
	[ANSWER_BITS] = "ANSWER_BITS",
	[ANSWER_VALUE] = "ANSWER_VALUE",
	[ANSWER_ACK] = "ANSWER_ACK",
	[ANSWER_LENGTH] = "ANSWER_LENGTH",
	[ANSWER_LATE] = "ANSWER_LATE",
	[ANSWER_LOST] = "ANSWER_LOST",
	[ANSWER_ID] = "ANSWER_ID",
	[ETH_ACK] = "ETH_ACK",
	QUEUE_NAMES(USER),
	QUEUE_NAMES(KERNEL),
	QUEUE_NAMES(GSI),
	[CALL_SPURIOUS] = "CALL_SPURIOUS",
	[CALL_LOST] = "CALL_LOST",
	[EVENT_FORGED] = "EVENT_FORGED",
	[CONFIG_BITS] = "CONFIG_BITS",
	[CONFIG_CHANGE] = "CONFIG_CHANGE",
};

#define COMMAND(name)	\
	[VIRTIO_NET_CTRL_ROCE_ ## name] = #name

/* Commands that a driver sends without being asked by somebody, or for a process. */
static const char *const command_names[VIRTIO_NET_CTRL_ROCE_NUM] = {
	COMMAND(QUERY_DEVICE), COMMAND(QUERY_PORT), COMMAND(CREATE_CQ), COMMAND(DESTROY_CQ),
	COMMAND(CREATE_PD), COMMAND(DESTROY_PD), COMMAND(GET_DMA_MR), COMMAND(REG_USER_MR),
	COMMAND(DEREG_MR), COMMAND(CREATE_QP), COMMAND(MODIFY_QP), COMMAND(QUERY_QP),
	COMMAND(DESTROY_QP), COMMAND(CREATE_AH), COMMAND(DESTROY_AH), COMMAND(ADD_GID),
	COMMAND(DEL_GID), COMMAND(REQ_NOTIFY_CQ), COMMAND(ATTACH_MCAST), COMMAND(DETACH_MCAST),
	COMMAND(ALLOC_DOORBELL), COMMAND(FREE_DOORBELL), COMMAND(CREATE_SRQ),
	COMMAND(DESTROY_SRQ), COMMAND(ALLOC_MW), COMMAND(CREATE_FLOW), COMMAND(DESTROY_FLOW),
	COMMAND(QUERY_FLOW), COMMAND(CREATE_FLOW_LONG), COMMAND(CREATE_WQ_TABLE),
	COMMAND(DESTROY_WQ_TABLE), COMMAND(CREATE_RX_HASH_QP), COMMAND(MODIFY_CQ),
	COMMAND(QUERY_NVMF), COMMAND(QUERY_NAMESPACE), COMMAND(SET_SRQ_NVMF),
	COMMAND(CREATE_NVME_CTRL), COMMAND(DESTROY_NVME_CTRL), COMMAND(MAP_NSID),
	COMMAND(UNMAP_NSID), COMMAND(SET_QP_NVMF),
	COMMAND(QUERY_QP_COUNTERS), COMMAND(QUERY_CLOCK),
};

/* The name of a kind; @buf is for one that is made of two words. */
static const char *kind_name(unsigned int kind, char *buf, size_t size)
{
	const char *command;

	if (kind < REFUSE)
		return hostile_names[kind];
	command = command_names[(kind - REFUSE) % VIRTIO_NET_CTRL_ROCE_NUM];
	snprintf(buf, size, "%s_%s", kind < SILENT ? "REFUSE" : "SILENT",
		 command ? command : "");
	return buf;
}

/**
 * struct orders - orders and counts
 * @page:	the file, which stays mapped so that a sandbox is not in the way
 * @serial:	of the last orders read
 * @rate:	by kind, times of a thousand
 * @count:	by kind
 * @changed:	a count has changed
 * @state:	of the dice
 */
static struct orders {
	char *page;
	unsigned long serial;
	unsigned int rate[HOSTILE_KINDS];
	uint64_t count[HOSTILE_KINDS];
	bool changed;
	uint64_t state;
} orders = { .state = 1 };

/* ------------------------------------------------------------------------- */
/* Dice                                                                      */
/* ------------------------------------------------------------------------- */

/* xorshift64*, whose state is never 0. */
uint32_t hostile_random(void)
{
	orders.state ^= orders.state >> 12;
	orders.state ^= orders.state << 25;
	orders.state ^= orders.state >> 27;
	return orders.state * 0x2545f4914f6cdd1dULL >> 32;
}

bool hostile_roll(enum hostile_kind kind)
{
	if (!orders.rate[kind] || hostile_random() % 1000 >= orders.rate[kind])
		return false;
	orders.count[kind]++;
	orders.changed = true;
	return true;
}

uint32_t hostile_number(uint32_t old)
{
	switch (hostile_random() % 8) {
	case 0:
		return 0;
	case 1:
		return UINT32_MAX;
	case 2:
		return old + 1;
	case 3:
		return old - 1;
	case 4:
		return 1u << hostile_random() % 32;
	case 5:
		return hostile_random() % 16;
	case 6:
		return hostile_random() % 1024;
	default:
		return hostile_random();
	}
}

void hostile_flip(void *p, size_t len)
{
	unsigned int i, n = 1 + hostile_random() % 8;
	uint8_t *bytes = p;

	for (i = 0; i < n && len; i++)
		bytes[hostile_random() % len] ^= 1 << hostile_random() % 8;
}

/* ------------------------------------------------------------------------- */
/* Orders                                                                    */
/* ------------------------------------------------------------------------- */

static void orders_set(const char *word)
{
	size_t len = strcspn(word, "=");
	const char *name;
	unsigned int kind;
	char buf[64];

	for (kind = 0; kind < HOSTILE_KINDS; kind++) {
		name = kind_name(kind, buf, sizeof(buf));
		if (strlen(name) == len && !strncmp(word, name, len))
			break;
	}
	if (kind == HOSTILE_KINDS || word[len] != '=')
		log_error("no such order: %s", word);
	else
		orders.rate[kind] = strtoul(word + len + 1, NULL, 10);
}

/* "end" at the end tells that the text is whole. */
static void orders_read(void)
{
	char text[PAGE], *word, *save;
	unsigned long serial;

	memcpy(text, orders.page, PAGE - 1);
	text[PAGE - 1] = 0;
	serial = strtoul(text, NULL, 10);
	if (serial == orders.serial || !strstr(text, " end"))
		return;
	orders.serial = serial;
	memset(orders.rate, 0, sizeof(orders.rate));
	strtok_r(text, " ", &save);
	while ((word = strtok_r(NULL, " ", &save)) && strcmp(word, "end"))
		orders_set(word);
	orders.changed = true;
}

static void orders_report(char *text, size_t size)
{
	size_t at = snprintf(text, size, "%lu", orders.serial);
	unsigned int kind;
	char buf[64];

	for (kind = 0; kind < HOSTILE_KINDS; kind++)
		if (orders.count[kind] && at < size)
			at += snprintf(text + at, size - at, " %s=%llu",
				       kind_name(kind, buf, sizeof(buf)),
				       (unsigned long long)orders.count[kind]);
	if (at < size)
		snprintf(text + at, size - at, " end");
}

void hostile_orders(void)
{
	char text[PAGE] = "";

	if (!orders.page)
		return;
	orders_read();
	if (!orders.changed)
		return;
	orders.changed = false;
	orders_report(text, sizeof(text));
	memcpy(orders.page + PAGE, text, sizeof(text));
}

static void orders_print(void)
{
	char text[PAGE] = "";

	orders_report(text, sizeof(text));
	fprintf(stderr, "hostile: %s\n", text);
}

static int orders_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -1;
	orders.page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (orders.page != MAP_FAILED)
		return 0;
	orders.page = NULL;
	return -1;
}

int hostile_options(int *argc, char **argv)
{
	int from, to = 1;

	for (from = 1; from < *argc; from++) {
		if (from + 1 < *argc && !strcmp(argv[from], "--seed")) {
			orders.state = strtoull(argv[++from], NULL, 10) + 1;
			continue;
		}
		if (from + 1 < *argc && !strcmp(argv[from], "--orders")) {
			if (orders_open(argv[++from])) {
				log_error("--orders: cannot map %s", argv[from]);
				return -1;
			}
			continue;
		}
		argv[to++] = argv[from];
	}
	*argc = to;
	argv[to] = NULL;
	fprintf(stderr, "hostile: seed %llu\n", (unsigned long long)orders.state - 1);
	atexit(orders_print);
	return 0;
}
