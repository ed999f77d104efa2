// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vhost-user-roce-ctl: sends a command to a running vhost-user-roce and prints
 * the answer.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "operator/control_client.h"
#include "operator/open_port.h"
#include "operator/json.h"
#include "operator/line.h"
#include "operator/reload.h"
#include "operator/top.h"

static const char usage[] =
"Usage: vhost-user-roce-ctl SOCKET COMMAND\n"
"\n"
"SOCKET is that of the daemon's --control.  Commands:\n"
"  ports               the ports of its switch: name, kind, state\n"
"  qemu-args GUEST     what QEMU must be told, one argument a line\n"
"  stats [--json]      counters of all ports\n"
"  qps [--json]        QPs of all guests, with counters\n"
"  look                look whether files of namespaces have another size now\n"
"  targets [--json]    targets of NVMe over Fabrics, with counters\n"
"  metrics             counters and states as OpenMetrics text\n"
"  top [--json|--once] [SECONDS]\n"
"                      ports and QPs with rates, again and again or once\n"
"  link GUEST up|down  plug a guest's cable in, or pull it out\n"
"  cut PORT on|off     drop all frames of a port, or no longer\n"
"  guest list          the guests: name, path, MAC address, state\n"
"  guest add PATH[,mac=MAC][,gid=ADDRESS]...\n"
"                      serve one more guest, as with --socket of the daemon\n"
"  guest remove GUEST  end its connection and remove it\n"
"  guest needs GUEST   what the place must have that it is moved to\n"
"  guest check-move GUEST NEED...\n"
"                      could a guest with these needs be moved here?\n"
"  uplink add UPLINK   connect the switch to something else as well, as with\n"
"                      --uplink of the daemon\n"
"  uplink remove UPLINK\n"
"  reload OPTION...    serve the guests of these options of the daemon; one that is\n"
"                      connected is not removed\n";

/* Makes the line that goes to the daemon; false if it gets too long. */
static bool client_line(char *line, char **words)
{
	size_t len = 0, n;

	for (; *words; words++) {
		n = strlen(*words);
		if (n + 1 > OPERATOR_LINE_MAX - len || strchr(*words, '\n'))
			return false;
		memcpy(line + len, *words, n);
		len += n;
		line[len++] = words[1] ? ' ' : '\n';
	}
	line[len] = 0;
	return true;
}

static void text_print(FILE *answer, FILE *out)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, answer) > 0)
		fputs(line, out);
	free(line);
}

static int client_command(const char *path, const char *command,
			  void (*print)(FILE *answer, FILE *out))
{
	FILE *answer = ask(path, command, -1);

	if (!answer)
		return EXIT_FAILURE;
	print(answer, stdout);
	fclose(answer);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ------------------------------------------------------------------------- */
/* top                                                                       */
/* ------------------------------------------------------------------------- */

static struct table *top_ask(const char *path, const char *command,
			     struct table *(*read)(FILE *answer))
{
	FILE *answer = ask(path, command, -1);
	struct table *table;

	if (!answer)
		exit(EXIT_FAILURE);
	table = read(answer);
	fclose(answer);
	return table;
}

/* The latest answer becomes the one before, and a new one is fetched. */
static void top_look(struct top *top, const char *path)
{
	table_free(top->ports[0]);
	table_free(top->qps[0]);
	top->ports[0] = top->ports[1];
	top->qps[0] = top->qps[1];
	top->ports[1] = top_ask(path, "stats\n", table_read_stats);
	top->qps[1] = top_ask(path, "qps\n", table_read);
}

static double top_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static unsigned int top_lines(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

static int top_run(const char *path, double seconds, bool json, bool once)
{
	struct top top = { .seconds = seconds };
	double before, now = top_time();

	top_look(&top, path);
	do {
		usleep(seconds * 1e6);
		before = now;
		now = top_time();
		top_look(&top, path);
		top.seconds = now - before;
		if (json) {
			top_json(&top, stdout);
		} else {
			if (!once && isatty(STDOUT_FILENO))
				printf("\033[H\033[2J");
			top_print(&top, once ? 0 : top_lines(), stdout);
		}
		if (fflush(stdout))
			return EXIT_FAILURE;
	} while (!json && !once);
	table_free(top.ports[0]);
	table_free(top.qps[0]);
	table_free(top.ports[1]);
	table_free(top.qps[1]);
	return EXIT_SUCCESS;
}

/* @words is what follows "top". */
static int top_main(const char *path, char **words)
{
	bool json = false, once = false;
	double seconds = 1;
	char *end;

	for (; *words; words++) {
		if (!strcmp(*words, "--json")) {
			json = true;
		} else if (!strcmp(*words, "--once")) {
			once = true;
		} else {
			seconds = strtod(*words, &end);
			if (*end || !(seconds >= 0.1 && seconds <= 3600)) {
				fputs(usage, stderr);
				return EXIT_FAILURE;
			}
		}
	}
	return top_run(path, seconds, json, once);
}

/* How an answer is printed; @words is the command, which loses its option. */
static void (*client_printer(char **words))(FILE *answer, FILE *out)
{
	if (!words[1] || strcmp(words[1], "--json") || words[2])
		return text_print;
	if (!strcmp(words[0], "stats")) {
		words[1] = NULL;
		return json_stats;
	}
	if (!strcmp(words[0], "qps") || !strcmp(words[0], "targets")) {
		words[1] = NULL;
		return json_table;
	}
	return text_print;
}

/**
 * struct hand_command - a command that adds or removes something
 * @kind:	first word
 * @verb:	second word
 * @fn:		carries it out, by the third word
 */
struct hand_command {
	const char *kind;
	const char *verb;
	int (*fn)(const char *path, const char *name);
};

static const struct hand_command hand_commands[] = {
	{ "guest", "add", hand_guest },
	{ "guest", "remove", hand_remove_guest },
	{ "uplink", "add", hand_uplink },
	{ "uplink", "remove", hand_remove_uplink },
};

/* The one of three words, or NULL. */
static const struct hand_command *hand_find(char **words)
{
	const struct hand_command *command = hand_commands;
	unsigned int i;

	if (!words[0] || !words[1] || !words[2] || words[3])
		return NULL;
	for (i = 0; i < ARRAY_SIZE(hand_commands); i++, command++)
		if (!strcmp(words[0], command->kind) &&
		    !strcmp(words[1], command->verb))
			return command;
	return NULL;
}

int main(int argc, char **argv)
{
	const struct hand_command *hand = argc == 5 ? hand_find(argv + 2) : NULL;
	void (*print)(FILE *answer, FILE *out);
	char line[OPERATOR_LINE_MAX + 1];

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	if (argc >= 3 && !strcmp(argv[2], "top"))
		return top_main(argv[1], argv + 3);
	if (argc >= 3 && !strcmp(argv[2], "reload"))
		return reload(argv[1], argv + 3);
	if (hand)
		return hand->fn(argv[1], argv[4]);
	print = argc >= 3 ? client_printer(argv + 2) : NULL;
	if (!print || !client_line(line, argv + 2)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	return client_command(argv[1], line, print);
}
