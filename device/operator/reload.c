// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * "reload": the daemon's guests become those of its options as they are now.
 *
 * Theory of operation
 *
 * A guest is known by the path of its socket.  Those that the daemon lacks are added, those
 * that the options lack are removed, and who is in both stays as he is, whatever is behind
 * the path now.  But a virtual machine that is connected keeps its network until it is gone:
 * it could not come back without being unplugged.
 *
 * Relative paths are the daemon's own, so we have to run in its directory, as systemd has it.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "operator/control_client.h"
#include "operator/open_port.h"
#include "operator/reload.h"

#define SOCKET		"--socket"

/* Returns the word behind the next --socket; @words goes on behind that.  NULL: no more. */
static const char *reload_next(char ***words)
{
	const size_t len = strlen(SOCKET);
	const char *word;

	while ((word = **words)) {
		++*words;
		if (strncmp(word, SOCKET, len))
			continue;
		if (word[len] == '=')
			return word + len + 1;
		if (!word[len] && **words)
			return *(*words)++;
	}
	return NULL;
}

/* The socket's path in the first @len bytes is made absolute. */
static bool reload_path(char *path, const char *text, size_t len)
{
	size_t used = 0;

	if (*text != '/') {
		if (!getcwd(path, PATH_MAX))
			return false;
		used = strlen(path);
		path[used++] = '/';
	}
	if (len >= PATH_MAX - used)
		return false;
	memcpy(path + used, text, len);
	path[used + len] = 0;
	return true;
}

static bool reload_same(const char *one, size_t one_len, const char *two, size_t two_len)
{
	char path[2][PATH_MAX];

	return reload_path(path[0], one, one_len) && reload_path(path[1], two, two_len) &&
	       !strcmp(path[0], path[1]);
}

/* Is the guest at @path one of the options? */
static bool reload_wanted(char **words, const char *path)
{
	const char *text;

	while ((text = reload_next(&words)))
		if (reload_same(text, strcspn(text, ","), path, strlen(path)))
			return true;
	return false;
}

/**
 * struct reload_guest - a guest that the daemon has
 * @path:	of its socket, as the daemon has it
 * @absent:	nobody is connected
 */
struct reload_guest {
	char path[PATH_MAX];
	bool absent;
};

/* A line of "guest list": name, path, MAC address, state. */
static bool reload_parse(char *line, struct reload_guest *guest)
{
	char *path = strchr(line, '\t'), *end = path ? strchr(path + 1, '\t') : NULL;

	if (!end || end - path > PATH_MAX)
		return false;
	*end++ = 0;
	strcpy(guest->path, path + 1);
	end = strchr(end, '\t');
	guest->absent = end && !strcmp(end, "\tabsent\n");
	return true;
}

/* The daemon's guests, @count of them; NULL if it does not tell, which was told. */
static struct reload_guest *reload_guests(const char *control, unsigned int *count)
{
	FILE *answer = ask(control, "guest list\n", -1);
	struct reload_guest *guests = NULL, *more;
	char *line = NULL;
	size_t size = 0;

	*count = 0;
	while (answer && getline(&line, &size, answer) > 0) {
		more = realloc(guests, (*count + 1) * sizeof(*guests));
		if (!more)
			break;
		guests = more;
		*count += reload_parse(line, &guests[*count]);
	}
	free(line);
	if (answer)
		fclose(answer);
	else
		return NULL;
	return guests ? guests : calloc(1, sizeof(*guests));
}

/* First, so that there is room for those that come. */
static int reload_remove(const char *control, char **words,
			 const struct reload_guest *guests, unsigned int count)
{
	int status = EXIT_SUCCESS;
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (reload_wanted(words, guests[i].path))
			continue;
		if (!guests[i].absent)
			fprintf(stderr,
				"vhost-user-roce-ctl: %s: not removed: its QEMU is connected\n",
				guests[i].path);
		else if (hand_remove_guest(control, guests[i].path))
			status = EXIT_FAILURE;
	}
	return status;
}

static int reload_add(const char *control, char **words,
		      const struct reload_guest *guests, unsigned int count)
{
	int status = EXIT_SUCCESS;
	const char *text;
	unsigned int i;

	while ((text = reload_next(&words))) {
		for (i = 0; i < count; i++)
			if (reload_same(text, strcspn(text, ","), guests[i].path,
					strlen(guests[i].path)))
				break;
		if (i == count && hand_guest(control, text))
			status = EXIT_FAILURE;
	}
	return status;
}

int reload(const char *control, char **words)
{
	struct reload_guest *guests;
	unsigned int count;
	int status;

	guests = reload_guests(control, &count);
	if (!guests)
		return EXIT_FAILURE;
	status = reload_remove(control, words, guests, count);
	if (reload_add(control, words, guests, count))
		status = EXIT_FAILURE;
	free(guests);
	return status;
}
