// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of the daemon: one line each, on standard error.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define LOG_LIMIT_WINDOW_S	10
#define LOG_LIMIT_COUNT		10

static enum log_level log_max = LOG_LEVEL_INFO;
static const char *log_name = "vhost-user-roce";
static bool log_journal;
static char *log_caught;
static size_t log_room;

void log_init(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	/* Standard error may have been redirected since systemd said so. */
	log_journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
		      !fstat(STDERR_FILENO, &st) && st.st_dev == dev &&
		      st.st_ino == ino;
}

void log_set_name(const char *name)
{
	log_name = name;
}

void log_set_level(enum log_level level)
{
	log_max = level;
}

/* One write per line, so that lines of several processes do not mix. */
static void log_line(enum log_level level, const char *prefix, const char *fmt,
		     va_list args)
{
	static const int priority[] = {
		[LOG_LEVEL_ERROR] = LOG_ERR,
		[LOG_LEVEL_WARN] = LOG_WARNING,
		[LOG_LEVEL_INFO] = LOG_INFO,
		[LOG_LEVEL_DEBUG] = LOG_DEBUG,
	};
	char text[512];

	if (level > log_max)
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	if (log_journal) {
		fprintf(stderr, "<%d>%s\n", priority[level], text);
		return;
	}
	fprintf(stderr, "%s: %s%s\n", log_name, prefix, text);
}

void log_catch(char *text, size_t size)
{
	log_caught = text;
	log_room = size;
	if (text)
		*text = 0;
}

void log_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!log_caught)
		log_line(LOG_LEVEL_ERROR, "", fmt, args);
	else if (!*log_caught)
		vsnprintf(log_caught, log_room, fmt, args);
	va_end(args);
}

void log_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line(LOG_LEVEL_WARN, "warning: ", fmt, args);
	va_end(args);
}

void log_info(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line(LOG_LEVEL_INFO, "", fmt, args);
	va_end(args);
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	log_line(LOG_LEVEL_DEBUG, "debug: ", fmt, args);
	va_end(args);
}

bool log_limit_ok(struct log_limit *limit)
{
	struct timespec now;
	uint64_t window;

	clock_gettime(CLOCK_MONOTONIC, &now);
	window = now.tv_sec / LOG_LIMIT_WINDOW_S + 1;
	if (window != limit->window) {
		limit->window = window;
		limit->count = 0;
	}
	if (limit->count >= LOG_LIMIT_COUNT)
		return false;
	limit->count++;
	return true;
}
