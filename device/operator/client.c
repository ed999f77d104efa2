// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vhost-user-roce-ctl: sends a command to a running vhost-user-roce and prints
 * the answer.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "operator/json.h"
#include "operator/line.h"
#include "operator/top.h"

static const char usage[] =
"Usage: vhost-user-roce-ctl SOCKET COMMAND\n"
"\n"
"SOCKET is that of the daemon's --control.  Commands:\n"
"  ports               the ports of its switch: name, kind, state\n"
"  qemu-args GUEST     what QEMU must be told, one argument a line\n"
"  stats [--json]      counters of all ports\n"
"  qps [--json]        QPs of all guests, with counters\n"
"  metrics             counters and states as OpenMetrics text\n"
"  top [--json|--once] [SECONDS]\n"
"                      ports and QPs with rates, again and again or once\n"
"  link GUEST up|down  plug a guest's cable in, or pull it out\n"
"  cut PORT on|off     drop all frames of a port, or no longer\n";

static int fail(const char *what)
{
	fprintf(stderr, "vhost-user-roce-ctl: %s: %s\n", what, strerror(errno));
	return EXIT_FAILURE;
}

static int client_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

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

/* The answer to a command, behind its first line; NULL if it failed, which was said. */
static FILE *client_ask(const char *path, const char *command)
{
	int fd = client_connect(path);
	FILE *answer;
	char *line = NULL;
	size_t size = 0;
	bool ok = false;

	if (fd < 0 || send(fd, command, strlen(command), MSG_NOSIGNAL) < 0) {
		fail(path);
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	answer = fdopen(fd, "r");
	if (!answer) {
		fail("socket");
		close(fd);
		return NULL;
	}
	if (getline(&line, &size, answer) <= 0)
		fprintf(stderr, "vhost-user-roce-ctl: no answer\n");
	else if (strcmp(line, "ok\n"))
		fprintf(stderr, "vhost-user-roce-ctl: %s",
			strncmp(line, "error ", 6) ? line : line + 6);
	else
		ok = true;
	free(line);
	if (ok)
		return answer;
	fclose(answer);
	return NULL;
}

static int client_command(const char *path, const char *command,
			  void (*print)(FILE *answer, FILE *out))
{
	FILE *answer = client_ask(path, command);

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
	FILE *answer = client_ask(path, command);
	struct table *table;

	if (!answer)
		exit(EXIT_FAILURE);
	table = read(answer);
	fclose(answer);
	return table;
}

/* What was now is before. */
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
	if (!strcmp(words[0], "qps")) {
		words[1] = NULL;
		return json_table;
	}
	return text_print;
}

int main(int argc, char **argv)
{
	void (*print)(FILE *answer, FILE *out);
	char line[OPERATOR_LINE_MAX + 1];

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	if (argc >= 3 && !strcmp(argv[2], "top"))
		return top_main(argv[1], argv + 3);
	print = argc >= 3 ? client_printer(argv + 2) : NULL;
	if (!print || !client_line(line, argv + 2)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	return client_command(argv[1], line, print);
}
