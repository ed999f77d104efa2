// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * links: how many RoCE packets a second an uplink writes to an interface.
 *
 * The interface is in a network namespace of the program's own, and nobody reads what is
 * written.  Prints JSON.  It needs root and /dev/net/tun.
 */
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "packet/roce.h"
#include "tests/bench/bare.h"
#include "uplink/vnet.h"

#define FRAMES	256u
#define ROUNDS	400u
#define RUNS	5u

/**
 * struct made - a frame that was made
 * @len:	its bytes
 * @data:	its bytes
 */
struct made {
	size_t len;
	uint8_t data[ROCE_FRAME_MAX];
};

static struct made made[FRAMES];

static bool make(struct made *m, uint32_t psn, uint32_t len)
{
	static const uint8_t gid[2][GID_SIZE] = {
		{ [10] = 0xff, 0xff, 10, 9, 8, 1 }, { [10] = 0xff, 0xff, 10, 9, 8, 2 },
	};
	static const uint8_t smac[] = { 2, 0, 0, 0, 0, 1 };
	static const struct pkt_av av = { .dmac = { 2, 0, 0, 0, 0, 2 } };
	const struct pkt pkt = {
		.opcode = PKT_OPCODE(PKT_RC, 1),
		.psn = psn,
		.npsn = 1,
		.dest_qpn = 17,
		.src_qpn = 18,
		.sgid = gid[0],
		.dgid = gid[1],
		.av = &av,
		.len = len,
	};
	struct roce_path path;
	uint8_t *payload;

	roce_path_init(&path, &pkt, smac);
	payload = roce_build(m->data, &path, &pkt);
	if (!payload)
		return false;
	memset(payload, psn, len);
	m->len = roce_finish(m->data, payload, &pkt);
	return true;
}

static bool link_up(const char *name)
{
	struct ifreq ifr = { .ifr_mtu = 4500 };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good;

	strcpy(ifr.ifr_name, name);
	good = !ioctl(s, SIOCSIFMTU, &ifr);
	ifr.ifr_flags = IFF_UP;
	good = good && !ioctl(s, SIOCSIFFLAGS, &ifr);
	close(s);
	return good;
}

/* Frames a second through the switch, flushed once for @burst of them. */
static double link_run(struct l2_switch *sw, struct switch_port *from, unsigned int burst)
{
	struct iovec iov;
	struct frame frame;
	unsigned int i, k;
	double begin = bench_now();

	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < FRAMES; i++) {
			iov = (struct iovec){ made[i].data, made[i].len };
			frame_init(&frame, &iov, 1, 0, made[i].len);
			switch_send(from, &frame);
			if (i % burst == burst - 1)
				switch_flush(sw);
		}
	}
	return ROUNDS * FRAMES / (bench_now() - begin);
}

static void nothing(void *arg __always_unused)
{
}

static void ignore(void *arg __always_unused, const struct frame *frame __always_unused)
{
}

/*
 * Rates of an uplink with packets of @len bytes: with one call for each frame, which is what
 * the interface can do without us, and with 64 frames between two flushes of the switch.
 */
static bool link_rates(const char *text, uint32_t len, double *alone, double *many)
{
	struct switch_port from = { .deliver = ignore, .flush = nothing };
	struct uplink_env env = { .loop = loop_new(0) };
	struct uplink *uplink;
	unsigned int i;
	double rate;

	*alone = *many = 0;
	env.sw = switch_new(env.loop);
	for (i = 0; i < FRAMES; i++)
		if (!make(&made[i], i, len))
			return false;
	uplink = uplink_open(&env, text);
	if (!uplink || !link_up(strchr(text, ':') + 1))
		return false;
	switch_port_add(env.sw, &from);
	for (i = 0; i < RUNS; i++) {
		rate = link_run(env.sw, &from, 1);
		*alone = rate > *alone ? rate : *alone;
		rate = link_run(env.sw, &from, FRAMES / 4);
		*many = rate > *many ? rate : *many;
	}
	switch_port_del(env.sw, &from);
	uplink_free(uplink);
	switch_free(env.sw);
	loop_free(env.loop);
	return true;
}

int main(void)
{
	static const char *const uplink[][2] = { { "packet", "lo" }, { "tap", "bench0" } };
	static const uint32_t sizes[] = { 64, 4096 };
	double alone, many;
	unsigned int i, k;
	char text[32];

	if (unshare(CLONE_NEWNET)) {
		perror("links: a network namespace of its own");
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(uplink); i++) {
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			snprintf(text, sizeof(text), "%s:%s", uplink[i][0], uplink[i][1]);
			if (!link_rates(text, sizes[k], &alone, &many)) {
				fprintf(stderr, "links: %s does not work\n", text);
				return 2;
			}
			printf("%s\n  \"bare_%s_%u\": %.0f,\n  \"rate_%s_%u\": %.0f",
			       i || k ? "," : "{", uplink[i][0], sizes[k], alone,
			       uplink[i][0], sizes[k], many);
		}
	}
	printf("\n}\n");
	return 0;
}
