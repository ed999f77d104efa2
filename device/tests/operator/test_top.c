// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vhost-user-roce-ctl top: how it shows the daemon's answers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "operator/json.h"
#include "operator/top.h"

static char *text;
static size_t text_len;

static FILE *answer(const char *lines)
{
	FILE *file = fmemopen((void *)lines, strlen(lines), "r");

	assert_non_null(file);
	return file;
}

static struct table *table(const char *lines)
{
	FILE *file = answer(lines);
	struct table *t = table_read(file);

	fclose(file);
	return t;
}

static struct table *stats(const char *lines)
{
	FILE *file = answer(lines);
	struct table *t = table_read_stats(file);

	fclose(file);
	return t;
}

static FILE *out_open(void)
{
	FILE *out = open_memstream(&text, &text_len);

	assert_non_null(out);
	return out;
}

static void text_has(const char *what)
{
	if (!strstr(text, what))
		fail_msg("no \"%s\" in\n%s", what, text);
}

/* The line with @key has @what, too. */
static void line_has(const char *key, const char *what)
{
	const char *line = strstr(text, key), *end;

	if (!line)
		fail_msg("no \"%s\" in\n%s", key, text);
	end = strchr(line, '\n');
	if (!memmem(line, end - line, what, strlen(what)))
		fail_msg("no \"%s\" in the line of \"%s\" in\n%s", what, key, text);
}

static void test_tables(void **state)
{
	struct table *t = table("guest\tqpn\tnew\na\t1\tx\nb\t2\n");
	struct table *s = stats("a\tguest\tport_in\t5\na\tguest\teth_tx\t6\n"
				"u\tuplink\tpeers\t7\n");

	assert_int_equal(t->n, 2);
	assert_string_equal(table_get(t, 0, "new"), "x");
	/* Of a line that is too short, and of a column that is not there. */
	assert_string_equal(table_get(t, 1, "new"), "");
	assert_string_equal(table_get(t, 1, "other"), "");
	assert_int_equal(s->n, 2);
	assert_string_equal(table_get(s, 0, "eth_tx"), "6");
	assert_string_equal(table_get(s, 0, "peers"), "");
	assert_string_equal(table_get(s, 1, "kind"), "uplink");
	assert_string_equal(table_get(s, 1, "peers"), "7");
	table_free(t);
	table_free(s);
	table_free(NULL);
	t = table("\n");
	assert_int_equal(t->n, 0);
	table_free(t);
}

static void test_json_table(void **state)
{
	FILE *in = answer("guest\tqpn\twaits\n1\t17\tpeer's \"x\"\nb\t\t\n"), *out = out_open();

	json_table(in, out);
	fclose(in);
	fclose(out);
	line_has("  {\"guest\": \"1\", \"qpn\": 17,", "\"waits\": \"peer's \\u0022x\\u0022\"},");
	line_has("  {\"guest\": \"b\", \"qpn\": \"\",", "\"waits\": \"\"}");
	assert_string_equal(text + text_len - 4, "}\n]\n");
	free(text);
}

#define QPS "guest\tqpn\ttype\tstate\twaits\tpeer\tpeer_gid\tpeer_qpn\trequests\t" \
	    "sent_bytes\tcompleter_retry_err\trdma_sends\n"

/* Two seconds: QP 9 of a is busy, 10 waits, 2 is new, b:9 is another one than a:9. */
static struct top top_make(void)
{
	return (struct top) {
		.ports = {
			stats("a\tguest\tport_in_bytes\t1000\na\tguest\trcvd_dropped\t3\n"
			      "u\tuplink\tport_in_bytes\t500\n"),
			stats("a\tguest\tport_in_bytes\t5000\na\tguest\trcvd_dropped\t5\n"
			      "u\tuplink\tport_in_bytes\t100\n"),
		},
		.qps = {
			table(QPS "a\t9\tRC\tRTS\t-\tb\tfe80::2\t9\t0\t1000\t1\t10\n"
			      "a\t10\tRC\tRTS\t-\tb\tfe80::2\t9\t0\t70\t0\t0\n"
			      "b\t9\tRC\tRTS\t-\ta\tfe80::1\t9\t0\t5\t0\t0\n"),
			table(QPS "a\t2\tRC\tRTS\t-\t-\tfe80::7\t5\t0\t40\t0\t0\n"
			      "a\t9\tRC\tRTS\t-\tb\tfe80::2\t9\t1\t50001000\t4\t20\n"
			      "a\t10\tRC\tRTS\tpeer's receive\tb\tfe80::2\t9\t4\t70\t0\t0\n"
			      "b\t9\tRC\tRTS\t-\ta\tfe80::1\t9\t0\t5\t0\t0\n"),
		},
		.seconds = 2,
	};
}

static void top_end(struct top *top)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		table_free(top->ports[i]);
		table_free(top->qps[i]);
	}
	free(text);
}

static void test_top_json(void **state)
{
	struct top top = top_make();
	FILE *out = out_open();

	top_json(&top, out);
	fclose(out);
	text_has("\"name\": \"a\", \"kind\": \"guest\", \"in_bytes_per_second\": 2000.0,");
	text_has("\"drops\": 2}");
	/* The daemon has started again: its counters began anew. */
	text_has("\"name\": \"u\", \"kind\": \"uplink\", \"in_bytes_per_second\": 50.0,");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"type\": \"RC\", \"state\": \"RTS\"");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"peer\": \"b\", \"peer_gid\": \"fe80::2\"");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"peer_qpn\": 9, \"requests\": 1,");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"sent_bytes_per_second\": 25000000.0,");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"operations_per_second\": 5.0,");
	line_has("\"guest\": \"a\", \"qpn\": 9,", "\"retries\": 3,");
	line_has("\"guest\": \"a\", \"qpn\": 10,", "\"waits\": \"peer's receive\"");
	line_has("\"guest\": \"a\", \"qpn\": 2,", "\"sent_bytes_per_second\": 20.0,");
	line_has("\"guest\": \"b\", \"qpn\": 9,", "\"sent_bytes_per_second\": 0.0,");
	top_end(&top);
}

static void test_top_print(void **state)
{
	struct top top = top_make();
	FILE *out = out_open();

	top_print(&top, 0, out);
	fclose(out);
	text_has("a                  guest       2000 ");
	/* The busiest first, then who waits, then the others. */
	assert_true(strstr(text, "\na:9 ") < strstr(text, "\na:2 "));
	assert_true(strstr(text, "\na:2 ") < strstr(text, "\na:10 "));
	assert_true(strstr(text, "\na:10 ") < strstr(text, "\nb:9 "));
	text_has("\na:9                RC   RTS   b:9                    1     25.0M");
	text_has("  peer's receive\n");
	text_has(" fe80::7:5 ");
	top_end(&top);
}

/* A terminal of nine lines has room for three QPs. */
static void test_top_lines(void **state)
{
	struct top top = top_make();
	FILE *out = out_open();
	unsigned int lines = 0;
	const char *c;

	top_print(&top, 9, out);
	fclose(out);
	for (c = text; (c = strchr(c, '\n')); c++)
		lines++;
	assert_int_equal(lines, 8);
	assert_null(strstr(text, "\nb:9 "));
	top_end(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_json_table),
		cmocka_unit_test(test_top_json),
		cmocka_unit_test(test_top_print),
		cmocka_unit_test(test_top_lines),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
