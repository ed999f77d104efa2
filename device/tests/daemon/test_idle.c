// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A daemon whose guests have nothing for it to do does nothing.  $SANDBOXED is the path of
 * the daemon, as shipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>

#include "base/util.h"
#include "tests/lib/pingpong.h"

#define GUESTS		64
#define MEM		(16u << 20)

/* How long the daemon may look for work, at most, after the last of it. */
#define SETTLE_S	2

#define FEATURES	(BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_RING_F_INDIRECT_DESC) | \
			 BIT(VIRTIO_NET_F_CTRL_VQ) | BIT(VIRTIO_NET_F_ROCE))

static struct front idle[GUESTS - 2];
static char paths[GUESTS - PP_GUESTS][96];

/* How often the daemon has gone to sleep, or lost its CPU. */
static unsigned long switches(void)
{
	unsigned long n = 0;
	char line[256];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", pp.pid);
	f = fopen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "voluntary_ctxt_switches:", 24))
			n = strtoul(line + 24, NULL, 10);
	fclose(f);
	return n;
}

static void test_idle(void **state)
{
	unsigned long before, after;
	uint64_t took;
	unsigned int i;

	for (i = 0; i < 100; i++)
		pp_ping(&took);
	sleep(SETTLE_S);
	before = switches();
	sleep(1);
	after = switches();
	print_message("%lu wake-ups in a second, of %u guests\n", after - before, GUESTS);
	assert_int_equal(after, before);
	/* It is what was counted: it sleeps again after some work. */
	pp_ping(&took);
	sleep(SETTLE_S);
	assert_true(switches() > after);
}

static int setup(void **state)
{
	char *options[2 * (GUESTS - PP_GUESTS) + 1];
	unsigned int i, n = 0;

	for (i = 0; i < GUESTS - PP_GUESTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/idle.%d.%u", getpid(), i);
		options[n++] = (char *)"--socket";
		options[n++] = paths[i];
	}
	options[n] = NULL;
	pp_start(options, FEATURES);
	for (i = 0; i < GUESTS - 2; i++)
		front_open_mem(&idle[i], i ? paths[i - 1] : pp.path[2], i + 3, FEATURES, MEM);
	return 0;
}

static int teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < GUESTS - 2; i++)
		front_close(&idle[i]);
	pp_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
