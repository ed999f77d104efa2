/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Messages of the daemon: one line each, on standard error.  The journal of systemd is
 * given the priority of each, and knows itself who writes.
 */
#ifndef DEVICE_LOG_H
#define DEVICE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/** log_init() - find out whether standard error is the journal, which takes priorities */
void log_init(void);

/** log_set_name() - whose messages these are: "vhost-user-roce" unless told */
void log_set_name(const char *name);

/** log_set_level() - print messages up to @level; LOG_LEVEL_INFO at start */
void log_set_level(enum log_level level);

/**
 * log_catch() - from now on errors are not printed
 * @text:	gets the first one, or NULL to print them again; empty at first
 * @size:	room there
 *
 * For a command of an operator, who is told what is wrong with it.
 */
void log_catch(char *text, size_t size);

/** log_error() - something does not work */
void log_error(const char *fmt, ...) LOG_PRINTF(1, 2);

/** log_warn() - something is wrong, but work continues */
void log_warn(const char *fmt, ...) LOG_PRINTF(1, 2);

/** log_info() - what an operator wants to know */
void log_info(const char *fmt, ...) LOG_PRINTF(1, 2);

/** log_debug() - what a developer wants to know */
void log_debug(const char *fmt, ...) LOG_PRINTF(1, 2);

/**
 * struct log_limit - a rate limit, so that a guest cannot fill the disk with messages
 * @window:	second in which the current window began
 * @count:	messages in it so far
 *
 * Zeroes at start.  Belongs to the object that the messages are about.
 */
struct log_limit {
	uint64_t window;
	unsigned int count;
};

/**
 * log_limit_ok() - may one more message be printed?
 * @limit:	limit
 *
 * Return: true for the first few calls in each window of time.
 */
bool log_limit_ok(struct log_limit *limit);

#endif /* DEVICE_LOG_H */
