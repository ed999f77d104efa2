// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Targets of the command line: they come, and leave nothing behind.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/util.h"
#include "targets.h"
#include "targets_print.h"
#include "tests/lib/idle.h"
#include "tests/lib/need.h"

#define TARGET	"nqn=nqn.2026-11.org.example:disk,address=192.0.2.9,namespace=disk"

static struct options options;
static struct targets targets;
static struct loop *loop;
static struct l2_switch *sw;
static struct fabric *fabric;

static int setup(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	memset(&targets, 0, sizeof(targets));
	loop = loop_new(0);
	sw = switch_new(loop);
	fabric = fabric_new();
	return 0;
}

static int teardown(void **state)
{
	targets_close(&targets);
	/* The rest of NICs is a chore of the loop's. */
	loop_free(loop);
	fabric_free(fabric);
	switch_free(sw);
	return 0;
}

static void flushed(struct ns_io *io, int err)
{
	assert_int_equal(err, 0);
}

static int open_with(const char *space, const char *one, const char *two)
{
	char *argv[] = {
		(char *)"", (char *)"--socket", (char *)"a", (char *)"--no-sandbox",
		(char *)"--namespace", (char *)space, (char *)"--nvmf-target", (char *)one,
		(char *)"--nvmf-target", (char *)two,
	};

	assert_int_equal(options_parse(&options, two ? 10 : 8, argv), 0);
	return targets_open(&targets, &options, loop, sw, fabric, false);
}

/* A namespace and a target have a line in each metric, and each target has a port. */
static void check_metrics(void)
{
	struct operator_port port[TARGETS_MAX];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct ns_io io = { .op = NS_FLUSH, .done = flushed };

	ns_submit(storage_find(targets.storage, "disk"), &io);
	targets_metrics(&targets, out);
	fclose(out);
	assert_non_null(strstr(text, "# TYPE vhost_user_roce_target_controllers gauge\n"
			       "vhost_user_roce_target_controllers{"
			       "nqn=\"nqn.2026-11.org.example:disk\",address=\"192.0.2.9\"} 0\n"
			       "vhost_user_roce_target_controllers{nqn=\"b\",address=\"fd00::9\"} 0\n"
			       "# TYPE "));
	assert_non_null(strstr(text, "# TYPE vhost_user_roce_namespace_other counter\n"
			       "vhost_user_roce_namespace_other_total{namespace=\"disk\"} 1\n"));
	assert_non_null(strstr(text,
			       "vhost_user_roce_namespace_read_total{namespace=\"disk\"} 0\n"));
	assert_non_null(strstr(text, "# TYPE vhost_user_roce_storage_deaths counter\n"
			       "vhost_user_roce_storage_deaths_total 0\n"));
	free(text);
	assert_int_equal(targets_ports(&targets, port), 2);
	assert_string_equal(port[1].text, "nvmf-target1");
	assert_string_equal(operator_port_kind(&port[1]), "target");
}

/* Two of them; a RoCE packet finds the way to their addresses. */
static void test_two(void **state)
{
	static const uint8_t gid[][GID_SIZE] = {
		{ [10] = 0xff, 0xff, 192, 0, 2, 9 }, { 0xfd, [15] = 9 },
	};
	const unsigned int fds = count_fds();
	char text[1024] = "";
	unsigned int i;
	FILE *out;

	assert_int_equal(open_with("disk=null:1M", TARGET,
				   "nqn=b,address=fd00::9,readonly=disk,host=nqn.a"), 0);
	assert_int_equal(targets.n, 2);
	for (i = 0; i < 2; i++) {
		const struct gid *owner = fabric_find(fabric, gid[i], 0);

		assert_non_null(owner);
		assert_string_equal(owner->end->ctx->name, i ? "nvmf-target1" : "nvmf-target0");
	}
	assert_int_equal(targets_attach(&targets, loop), 0);
	run_idle(loop);
	out = fmemopen(text, sizeof(text), "w");
	targets_print(&targets, out);
	fclose(out);
	assert_non_null(strstr(text, "nqn\taddress\tconnections\tcontrollers\t"));
	assert_non_null(strstr(text, "\nnqn.2026-11.org.example:disk\t192.0.2.9\t0\t0\t"));
	assert_non_null(strstr(text, "\nb\tfd00::9\t0\t0\t"));
	check_metrics();
	targets_stop(&targets);
	targets_resume(&targets);
	run_idle(loop);
	targets_close(&targets);
	assert_int_equal(targets.n, 0);
	assert_null(fabric_find(fabric, gid[0], 0));
	assert_int_equal(count_fds(), fds);
}

static void test_refused(void **state)
{
	const unsigned int fds = count_fds();
	char text[256];

	log_catch(text, sizeof(text));
	assert_int_equal(open_with("other=null:1M", TARGET, NULL), -EINVAL);
	assert_string_equal(text, "--nvmf-target: there is no --namespace disk");
	*text = 0;
	assert_int_not_equal(open_with("disk=none:1M", TARGET, NULL), 0);
	assert_non_null(strstr(text, "--namespace"));
	*text = 0;
	assert_int_not_equal(open_with("disk=file:/nonexistent", TARGET, NULL), 0);
	assert_non_null(strstr(text, "/nonexistent"));
	log_catch(NULL, 0);
	assert_null(targets.storage);
	assert_int_equal(count_fds(), fds);
}

/* Two daemons would destroy a file, but the one that goes may have it for a moment. */
static void test_successor(void **state)
{
	char path[] = "/tmp/test_targets.XXXXXX", space[64], text[256];
	const int fd = mkstemp(path);
	struct targets next = {};

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	snprintf(space, sizeof(space), "disk=file:%s", path);
	assert_int_equal(open_with(space, TARGET, NULL), 0);
	*text = 0;
	log_catch(text, sizeof(text));
	assert_int_not_equal(targets_open(&next, &options, loop, sw, fabric, false), 0);
	log_catch(NULL, 0);
	assert_non_null(strstr(text, "in use by another daemon"));
	assert_int_equal(targets_open(&next, &options, loop, sw, fabric, true), 0);
	targets_close(&next);
	close(fd);
	unlink(path);
}

/* Without these options there is nothing of it. */
static void test_none(void **state)
{
	char *argv[] = { (char *)"", (char *)"--socket", (char *)"a" };

	assert_int_equal(options_parse(&options, 3, argv), 0);
	assert_int_equal(targets_open(&targets, &options, loop, sw, fabric, false), 0);
	assert_int_equal(targets_attach(&targets, loop), 0);
	assert_null(targets.staging);
	targets_stop(&targets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_successor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
