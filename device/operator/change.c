// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands "guest" and "uplink".
 */

#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "function/needs.h"
#include "operator/change.h"
#include "operator/line.h"

/* Room for what is wrong with a command. */
#define CHANGE_ERROR	256

#define LISTENS		"unix:"

static void path_print(const struct operator *op, const char *path, FILE *out)
{
	if (*path != '/')
		fprintf(out, "%s/", op->cwd);
	fprintf(out, "%s\n", path);
}

static void guest_list(const struct operator *op, FILE *out)
{
	const struct operator_port *port = op->port;
	const uint8_t *mac;
	unsigned int i;

	fprintf(out, "ok\n");
	for (i = 0; i < op->ports; i++, port++) {
		if (!port->fn)
			continue;
		mac = function_mac(port->fn);
		fprintf(out, "%s\t%s\t%02x:%02x:%02x:%02x:%02x:%02x\t%s\n",
			operator_port_name(op, port), port->text, mac[0], mac[1],
			mac[2], mac[3], mac[4], mac[5], operator_guest_state(port));
	}
}

static void change_add(int (*add)(void *arg, const char *text, int fd),
		       const struct operator *op, const char *text, int *fd, FILE *out)
{
	char error[CHANGE_ERROR];
	int taken = *fd, err;

	if (taken < 0) {
		fprintf(out, "error no descriptor came with it\n");
		return;
	}
	*fd = -1;
	log_catch(error, sizeof(error));
	err = add(op->arg, text, taken);
	log_catch(NULL, 0);
	if (err) {
		fprintf(out, "error %s\n", *error ? error : strerror(-err));
		return;
	}
	log_info("%s: added", text);
	fprintf(out, "ok\n");
}

static void guest_add(const struct operator *op, const char *text, int *fd, FILE *out)
{
	change_add(op->changes->guest_add, op, text, fd, out);
}

static void uplink_add(const struct operator *op, const char *text, int *fd, FILE *out)
{
	change_add(op->changes->uplink_add, op, text, fd, out);
}

/* Several ports may have a name, each of which is known by its whole one then. */
static const struct operator_port *change_find(const struct operator *op, bool guest,
					       const char *name, FILE *out)
{
	const char *kind = guest ? "guest" : "uplink";
	const struct operator_port *port = operator_port_find(op, name);
	unsigned int i;

	if (port && (guest ? !!port->fn : !!port->uplink))
		return port;
	for (i = 0; !port && i < op->ports; i++)
		if (!strcmp(op->port[i].group->name, name))
			break;
	if (!port && i < op->ports)
		fprintf(out, "error more than one has the name %s; say its whole path\n",
			name);
	else if (port)
		fprintf(out, "error %s is not %s %s\n", name,
			*kind == 'u' ? "an" : "a", kind);
	else
		fprintf(out, "error no such %s: %s\n", kind, name);
	return NULL;
}

static void change_remove(const struct operator *op, bool guest, const char *name,
			  FILE *out)
{
	const struct operator_port *port = change_find(op, guest, name, out);

	if (!port)
		return;
	fprintf(out, "ok\n");
	if (port->fn)
		path_print(op, port->text, out);
	else if (!strncmp(port->text, LISTENS, strlen(LISTENS)))
		path_print(op, port->text + strlen(LISTENS), out);
	log_info("%s: removed", port->text);
	op->changes->remove(op->arg, port);
}

static void guest_remove(const struct operator *op, const char *name,
			 int *fd __always_unused, FILE *out)
{
	change_remove(op, true, name, out);
}

static void uplink_remove(const struct operator *op, const char *name,
			  int *fd __always_unused, FILE *out)
{
	change_remove(op, false, name, out);
}

static void guest_needs(const struct operator *op, const char *name,
			int *fd __always_unused, FILE *out)
{
	const struct operator_port *port = change_find(op, true, name, out);

	if (!port)
		return;
	fprintf(out, "ok\n");
	needs_print(port->fn, out);
}

/* The needs stand behind the name, which may have spaces. */
static void guest_check_move(const struct operator *op, const char *text,
			     int *fd __always_unused, FILE *out)
{
	const char *needs = strstr(text, " " NEEDS_FIRST);
	char copy[OPERATOR_LINE_MAX], why[NEEDS_WHY];
	const struct operator_port *port;

	if (!needs || strlen(text) >= sizeof(copy)) {
		fprintf(out, "error check-move wants a guest, and the needs of another one\n");
		return;
	}
	strcpy(copy, text);
	copy[needs - text] = 0;
	port = change_find(op, true, copy, out);
	if (!port)
		return;
	if (needs_check(port->fn, copy + (needs - text) + 1, why))
		fprintf(out, "ok\n");
	else
		fprintf(out, "error %s\n", why);
}

/**
 * struct change - a command with a name behind it, spaces included
 * @verb:	its words
 * @fn:		carries it out
 */
struct change {
	const char *verb;
	void (*fn)(const struct operator *op, const char *name, int *fd, FILE *out);
};

static const struct change changes[] = {
	{ "guest add ", guest_add },
	{ "guest remove ", guest_remove },
	{ "guest needs ", guest_needs },
	{ "guest check-move ", guest_check_move },
	{ "uplink add ", uplink_add },
	{ "uplink remove ", uplink_remove },
};

bool operator_change(const struct operator *op, const char *line, int *fd, FILE *out)
{
	const struct change *change = changes;
	unsigned int i;
	size_t len;

	if (!strcmp(line, "guest list")) {
		guest_list(op, out);
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(changes); i++, change++) {
		len = strlen(change->verb);
		if (strncmp(line, change->verb, len))
			continue;
		change->fn(op, line + len, fd, out);
		return true;
	}
	return false;
}
