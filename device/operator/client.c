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
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "operator/line.h"

static const char usage[] =
"Usage: vhost-user-roce-ctl SOCKET COMMAND\n"
"\n"
"SOCKET is that of the daemon's --control.  Commands:\n"
"  ports               the ports of its switch: name, kind, state\n"
"  stats [--json]      counters of all ports\n"
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

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || (unsigned char)*text < 32)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

/* Lines of name, kind, counter and value, those of a port together. */
static void json_print(FILE *answer)
{
	char *field[4], *line = NULL, *last = NULL, *rest;
	size_t size = 0;
	unsigned int i;

	printf("{");
	while (getline(&line, &size, answer) > 0) {
		rest = line;
		for (i = 0; i < 4; i++)
			field[i] = strsep(&rest, "\t\n");
		if (!field[3])
			break;
		if (!last || strcmp(last, field[0])) {
			printf(last ? "\n  },\n  " : "\n  ");
			json_string(field[0]);
			printf(": {\n    \"kind\": ");
			json_string(field[1]);
			free(last);
			last = strdup(field[0]);
		}
		printf(",\n    ");
		json_string(field[2]);
		printf(": %s", field[3]);
	}
	printf(last ? "\n  }\n}\n" : "}\n");
	free(last);
	free(line);
}

static void text_print(FILE *answer)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, answer) > 0)
		fputs(line, stdout);
	free(line);
}

static int client_answer(int fd, bool json)
{
	FILE *answer = fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;
	int status = EXIT_FAILURE;

	if (!answer)
		return fail("socket");
	if (getline(&line, &size, answer) <= 0) {
		fprintf(stderr, "vhost-user-roce-ctl: no answer\n");
	} else if (strcmp(line, "ok\n")) {
		fprintf(stderr, "vhost-user-roce-ctl: %s",
			strncmp(line, "error ", 6) ? line : line + 6);
	} else {
		if (json)
			json_print(answer);
		else
			text_print(answer);
		status = fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	free(line);
	fclose(answer);
	return status;
}

int main(int argc, char **argv)
{
	char line[OPERATOR_LINE_MAX + 1];
	bool json;
	int fd;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	json = argc == 4 && !strcmp(argv[2], "stats") &&
	       !strcmp(argv[3], "--json");
	if (json)
		argv[3] = NULL;
	if (argc < 3 || !client_line(line, argv + 2)) {
		fputs(usage, stderr);
		return EXIT_FAILURE;
	}
	fd = client_connect(argv[1]);
	if (fd < 0)
		return fail(argv[1]);
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		return fail(argv[1]);
	return client_answer(fd, json);
}
