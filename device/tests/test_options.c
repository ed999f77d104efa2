// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * options_parse() of many command lines.  test_main.c has its error messages.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "options.h"

#define ARGS_MAX	16

/* Filled with garbage first: options_parse() must set every member. */
static struct options options;

static int parse(const char *const *args)
{
	char *argv[ARGS_MAX + 2] = { (char *)"vhost-user-roce" };
	int argc;

	memset(&options, 0xa5, sizeof(options));
	for (argc = 1; args[argc - 1]; argc++) {
		assert_true(argc <= ARGS_MAX);
		argv[argc] = (char *)args[argc - 1];
	}
	return options_parse(&options, argc, argv);
}

#define PARSE(...)	parse((const char *const []){ __VA_ARGS__, NULL })

static void test_defaults(void **state)
{
	assert_int_equal(PARSE("--socket", "a"), 0);
	assert_int_equal(options.action, OPTIONS_RUN);
	assert_int_equal(options.guests, 1);
	assert_string_equal(options.guest[0].text, "a");
	assert_null(options.guest[0].pcap);
	assert_int_equal(options.uplinks, 0);
	assert_null(options.all.pcap);
	assert_false(fault_any(&options.all.fault));
	assert_int_equal(options.limits.qps, 4);
	assert_int_equal(options.limits.cqs, 4);
	assert_int_equal(options.limits.queue_size, 1024);
	assert_int_equal(options.limits.cqe, 262144);
	assert_int_equal(options.limits.mrs, 16384);
	assert_int_equal(options.limits.pds, 1024);
	assert_int_equal(options.limits.ahs, 4096);
	assert_int_equal(options.poll_us, 50);
	assert_int_equal(options.mtu, 0);
	assert_int_equal(options.speed, 100);
	assert_int_equal(options.mac_base, 0x52540000ce01);
	assert_false(options.packets);
	assert_false(options.verbose);
	assert_null(options.control);
}

static void test_values(void **state)
{
	assert_int_equal(PARSE("--socket", "a", "--qps", "2", "--cqs=1",
			       "--mtu", "65535", "--poll-us", "0",
			       "--mac-base", "02:00:00:00:FF:10", "--packets",
			       "--control", "c", "--verbose"), 0);
	assert_int_equal(options.limits.qps, 2);
	assert_int_equal(options.limits.cqs, 1);
	assert_int_equal(options.mtu, 65535);
	assert_int_equal(options.poll_us, 0);
	assert_int_equal(options.mac_base, 0x02000000ff10);
	assert_true(options.packets);
	assert_true(options.verbose);
	assert_string_equal(options.control, "c");
}

/* By a control socket guests can come later. */
static void test_control_alone(void **state)
{
	struct port_options port = { 0 };
	char path[PORT_NAME_MAX + 8];

	assert_int_equal(PARSE("--control", "c"), 0);
	assert_int_equal(options.guests + options.uplinks, 0);
	assert_int_equal(PARSE("--verbose"), -EINVAL);
	assert_int_equal(options_guest(&port, "/a b,mac=02:00:00:00:00:07", "guest"), 0);
	assert_string_equal(port.text, "/a b");
	assert_int_equal(options_port_mac(&options, &port, 9), 0x020000000007);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = 0;
	assert_int_equal(options_guest(&port, path, "guest"), -EINVAL);
	port = (struct port_options){ 0 };
	assert_int_equal(options_guest(&port, "/a", "guest"), 0);
	assert_int_equal(options_port_mac(&options, &port, 9), options.mac_base + 9);
}

/* Direct rings need doorbells and events, and the RFC has none of them. */
static void test_event_queues(void **state)
{
	const struct rnic_limits *limits = &options.limits;

	assert_int_equal(PARSE("--socket", "a"), 0);
	assert_int_equal(limits->event_vqs, 4);
	assert_int_equal(limits->doorbell_vqs, 1);
	assert_int_equal(PARSE("--socket", "a", "--event-queues", "64",
			       "--doorbell-queues", "16"), 0);
	assert_int_equal(limits->event_vqs, 64);
	assert_int_equal(limits->doorbell_vqs, 16);
	assert_int_equal(limits->direct_qps, 16384 - 4);
	assert_int_equal(limits->direct_cqs, 16384 - 4);
	assert_int_equal(PARSE("--socket", "a", "--direct-qps", "100",
			       "--direct-cqs", "10"), 0);
	assert_int_equal(limits->direct_qps, 100);
	assert_int_equal(limits->direct_cqs, 10);
	assert_int_equal(PARSE("--socket", "a", "--direct-qps", "0"), 0);
	assert_int_equal(limits->doorbell_vqs, 0);
	assert_int_equal(limits->direct_cqs, 0);
	assert_int_equal(limits->qps, 32);
	assert_int_equal(limits->cqs, 64);
	assert_int_equal(PARSE("--socket", "a", "--event-queues", "0"), 0);
	assert_int_equal(limits->doorbell_vqs, 0);
	assert_int_equal(PARSE("--socket", "a", "--rfc"), 0);
	assert_int_equal(limits->event_vqs, 0);
	assert_int_equal(limits->doorbell_vqs, 0);
	assert_int_equal(limits->qps, 32);
	assert_int_equal(PARSE("--socket", "a", "--rfc", "--qps", "5", "--cqs", "6"), 0);
	assert_int_equal(limits->qps, 5);
	assert_int_equal(limits->cqs, 6);
	assert_int_equal(PARSE("--socket", "a", "--event-queues", "65"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--doorbell-queues", "17"),
			 -EINVAL);
}

/* Pins may follow the path of a socket. */
static void test_pins(void **state)
{
	static const uint8_t mac[] = { 2, 0, 0, 0, 0xff, 0x10 };
	static const uint8_t v4[GID_SIZE] = {
		[10] = 0xff, 0xff, 192, 0, 2, 1,
	};
	static const uint8_t v6[GID_SIZE] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 7 };
	const struct pin *pin = &options.guest[0].pin;

	assert_int_equal(PARSE("--socket",
			       "a,mac=02:00:00:00:ff:10,gid=192.0.2.1,gid=2001:db8::7",
			       "--socket", "b,gid=192.0.2.1,elsewhere", "--socket", "c,copy"), 0);
	assert_string_equal(options.guest[0].text, "a");
	assert_true(pin->has_mac);
	assert_memory_equal(pin->mac, mac, sizeof(mac));
	assert_int_equal(pin->gids, 2);
	assert_memory_equal(pin->gid[0], v4, GID_SIZE);
	assert_memory_equal(pin->gid[1], v6, GID_SIZE);
	assert_string_equal(options.guest[1].text, "b");
	assert_false(options.guest[1].pin.has_mac);
	assert_int_equal(options.guest[1].pin.gids, 1);
	assert_true(options.guest[1].pin.elsewhere && !pin->elsewhere);
	assert_false(pin_any(&options.guest[2].pin));
	assert_true(options.guest[2].pin.copy && !pin->copy);
	assert_true(options_mac(&options, 0) == 0x02000000ff10);
	assert_true(options_mac(&options, 1) == options.mac_base + 1);

	assert_int_equal(PARSE("--socket", "a,macc=02:00:00:00:ff:10"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,mac=03:00:00:00:ff:10"), -EINVAL);
	assert_int_equal(PARSE("--socket",
			       "a,mac=02:00:00:00:ff:10,mac=02:00:00:00:ff:11"),
			 -EINVAL);
	assert_int_equal(PARSE("--socket", "a,gid=192.0.2"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,elsewhere=1"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,gid=224.0.0.1"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,gid=ff02::1"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,mac=02:00:00:00:ff:10",
			       "--socket", "b,mac=02:00:00:00:FF:10"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a,mac=52:54:00:00:ce:02",
			       "--socket", "b"), -EINVAL);
}

/* Faults named before the first port apply to all, later ones to their port. */
static void test_faults_of_ports(void **state)
{
	assert_int_equal(PARSE("--loss", "50%", "--pcap", "all",
			       "--socket", "a", "--dup", "1",
			       "--uplink", "tap:b", "--loss", "0",
			       "--pcap", "one"), 0);
	assert_int_equal(options.guest[0].fault.loss, FAULT_ALWAYS / 2);
	assert_int_equal(options.guest[0].fault.dup, FAULT_ALWAYS);
	assert_null(options.guest[0].pcap);
	assert_int_equal(options.uplinks, 1);
	assert_string_equal(options.uplink[0].text, "tap:b");
	assert_false(fault_any(&options.uplink[0].fault));
	assert_string_equal(options.uplink[0].pcap, "one");
	assert_int_equal(options.all.fault.loss, FAULT_ALWAYS / 2);
	assert_int_equal(options.all.fault.dup, 0);
	assert_string_equal(options.all.pcap, "all");
}

/* Each fault has its own place. */
static void test_kinds_of_faults(void **state)
{
	const struct fault_config *fault = &options.guest[0].fault;

	assert_int_equal(PARSE("--socket", "a", "--loss", "1", "--seed", "9"),
			 0);
	assert_true(fault->loss && !fault->dup && !fault->reorder &&
		    !fault->corrupt);
	assert_int_equal(fault->seed, 9);
	assert_int_equal(PARSE("--socket", "a", "--reorder", "1"), 0);
	assert_true(!fault->loss && !fault->dup && fault->reorder &&
		    !fault->corrupt);
	assert_int_equal(PARSE("--socket", "a", "--corrupt", "1"), 0);
	assert_true(!fault->loss && !fault->dup && !fault->reorder &&
		    fault->corrupt);
}

static void test_help_and_version(void **state)
{
	/* These need no port, and options after them are not read. */
	assert_int_equal(PARSE("--help", "--bogus"), 0);
	assert_int_equal(options.action, OPTIONS_HELP);
	assert_int_equal(PARSE("--version"), 0);
	assert_int_equal(options.action, OPTIONS_VERSION);
	assert_int_equal(PARSE("--bogus", "--help"), -EINVAL);
}

static void test_bad_names(void **state)
{
	assert_int_equal(PARSE("--socket", "a\tb"), -EINVAL);
	assert_int_equal(PARSE("--uplink", "tap:a\nb"), -EINVAL);
}

/* Options that are valid one by one contradict each other. */
static void test_contradictions(void **state)
{
	assert_int_equal(PARSE("--verbose"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--queue-size", "512",
			       "--cqe", "511"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--queue-size", "512",
			       "--cqe", "512"), 0);
	assert_int_equal(PARSE("--socket", "a", "--cqs", "996", "--qps", "10"),
			 0);
	/* Two virtqueues for each further pair. */
	assert_int_equal(PARSE("--socket", "a", "--cqs", "994", "--qps", "10",
			       "--queue-pairs", "2"), 0);
	assert_int_equal(PARSE("--socket", "a", "--cqs", "995", "--qps", "10",
			       "--queue-pairs", "2"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--queue-pairs", "64"), 0);
	assert_int_equal(PARSE("--socket", "a", "--queue-pairs", "65"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--queue-pairs", "0"), -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--cqs", "997", "--qps", "10"),
			 -EINVAL);
	assert_int_equal(PARSE("--socket", "a", "--cqs", "1001", "--qps", "10",
			       "--event-queues", "0"), 0);
	assert_int_equal(PARSE("--socket", "a", "--cqs", "1001", "--qps", "10",
			       "--rfc"), 0);
}

static void test_too_many_ports(void **state)
{
	char *argv[1 + 2 * (GUESTS_MAX + 1)] = { (char *)"vhost-user-roce" };
	int i;

	for (i = 0; i <= GUESTS_MAX; i++) {
		argv[1 + 2 * i] = (char *)"--socket";
		argv[2 + 2 * i] = (char *)"a";
	}
	assert_int_equal(options_parse(&options, 1 + 2 * GUESTS_MAX, argv), 0);
	assert_int_equal(options.guests, GUESTS_MAX);
	assert_int_equal(options_parse(&options, 3 + 2 * GUESTS_MAX, argv),
			 -EINVAL);
}

#define TARGET	"nqn=nqn.2026-11.org.example:disk,address=192.0.2.9,namespace=disk"

#define OTHER	"namespace=one,readonly=two,host=h1,host=h2,guest=a.sock,address=2001:db8::1," \
		"address=192.0.2.10,nqn=other"

static void test_targets(void **state)
{
	static const uint8_t gid[] = { [10] = 0xff, 0xff, 192, 0, 2, 9 };
	const struct target_options *target = options.target;

	assert_int_equal(PARSE("--socket", "a", "--namespace", "disk=null:1M",
			       "--nvmf-target", TARGET, "--nvmf-target", OTHER), 0);
	assert_int_equal(options.namespaces, 1);
	assert_string_equal(options.namespace[0], "disk=null:1M");
	assert_int_equal(options.targets, 2);
	assert_string_equal(target->nqn, "nqn.2026-11.org.example:disk");
	assert_int_equal(target->gids, 1);
	assert_memory_equal(target->gid[0], gid, sizeof(gid));
	assert_int_equal(target->spaces, 1);
	assert_string_equal(target->space[0], "disk");
	assert_int_equal(target->hosts + target->guests, 0);
	target++;
	assert_string_equal(target->nqn, "other");
	assert_int_equal(target->gids, 2);
	assert_int_equal(target->spaces, 2);
	assert_string_equal(target->space[1], "two");
	assert_false(target->ro[0]);
	assert_true(target->ro[1]);
	assert_int_equal(target->hosts, 2);
	assert_string_equal(target->host[1], "h2");
	assert_int_equal(target->guests, 1);
	assert_string_equal(target->guest[0], "a.sock");
}

static void test_bad_targets(void **state)
{
	static const char *const bad[] = {
		"", ",", "nqn=a\tb,address=192.0.2.9,namespace=c", "nqn=", "nqn=a",
		"nqn=a,address=192.0.2.9", "nqn=a,namespace=b",
		"address=192.0.2.9,namespace=b", TARGET ",", TARGET ",nqn=b",
		TARGET ",address=x", TARGET ",address=224.0.0.1", TARGET ",address=192.0.2",
		TARGET ",address=ff02::1", TARGET ",address=::", TARGET ",readonly=",
		TARGET ",namespaces=x", TARGET ",guest", TARGET ",address=192.0.2.9",
	};
	char text[TARGET_TEXT_MAX + 1] = TARGET ",host=";
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(PARSE("--socket", "a", "--nvmf-target", bad[i]), -EINVAL);
	/* Too much of each, and a name that is too long. */
	memset(text + strlen(text), 'h', NVMF_NQN_MAX);
	assert_int_equal(PARSE("--socket", "a", "--nvmf-target", text), 0);
	text[strlen(text)] = 'h';
	assert_int_equal(PARSE("--socket", "a", "--nvmf-target", text), -EINVAL);
	strcpy(text, TARGET);
	for (i = 0; i < NVMF_NAMESPACES_MAX; i++)
		strcat(text, ",namespace=n");
	assert_int_equal(PARSE("--socket", "a", "--nvmf-target", text), -EINVAL);
	memset(text, 'n', sizeof(text) - 1);
	assert_int_equal(PARSE("--socket", "a", "--nvmf-target", text), -EINVAL);
	/* The address of another target. */
	assert_int_equal(PARSE("--socket", "a", "--nvmf-target", TARGET, "--nvmf-target",
			       "nqn=b,namespace=c,address=192.0.2.8,address=192.0.2.9"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_control_alone),
		cmocka_unit_test(test_event_queues),
		cmocka_unit_test(test_pins),
		cmocka_unit_test(test_faults_of_ports),
		cmocka_unit_test(test_kinds_of_faults),
		cmocka_unit_test(test_help_and_version),
		cmocka_unit_test(test_bad_names),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_too_many_ports),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bad_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
