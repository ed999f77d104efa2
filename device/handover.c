// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handing over to another process.
 *
 * Theory of operation
 *
 * The new process connects to the control socket of the old one, and sends the command
 * "takeover piped".  The old one ends the round of its loop, stops serving, and answers with a
 * head, with descriptors, the first of which is a file with the state of the process, and
 * then with the states of the functions in a pipe (state_pipe.h), which the new one loads while
 * they come:
 *
 *	new			old
 *	takeover piped\n
 *				head, descriptors, functions
 *	READY
 *				GO
 *
 * Version 0.1.0 knows only "takeover".  Then the states of the functions are in the file, too, as
 * they are for a service manager.
 *
 * The new one says READY when it has loaded all and is in its sandbox: from then on nothing
 * can fail.  With GO the old one ends.  Whatever happens before that, an end of the connection
 * or the time limit, the old one goes on: all that it has is as before, except whether guests
 * are asked for doorbells, and it asks for them again itself.
 *
 * The new one has not seen the doorbells that the old one took last, so it looks at all
 * rings once, but not before GO: the old one may go on until then.
 *
 * A service manager is no such process: it keeps a socket in whose queue head and descriptors
 * are, and gives it to the daemon that it starts next.  There is no way back then.
 *
 * The state of the process is a state of three sections, and those of the functions follow
 * it, one for each guest in the order of their numbers.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/uds.h"
#include "base/util.h"
#include "function/function_image.h"
#include "handover.h"
#include "handover_wire.h"
#include "ports_image.h"

/* Of a conversation with all in a file, and of one with a pipe. */
#define HAND_MAGIC	"VNRHAND1"
#define HAND_PIPED	"VNRHAND2"
#define HAND_READY	'R'
#define HAND_GO		'G'

/* Guests stand still for so long at most, if the new process is in trouble. */
#define HAND_LIMIT_NS	(5 * CLOCK_NS_PER_S)

/* No state is larger: what 64 guests can have is less. */
#define HAND_STATE_MAX	(4ull << 30)

/* Objects and their state take about so many times the room of the state alone. */
#define HAND_HEAP	6u

/* Of a unix socket's name, and more. */
#define HAND_PATH_ROOM	256u

/* Bytes that are worth a system call and a process that wakes up. */
#define HAND_PART	(64u << 10)

/**
 * struct hand_head - what the old process answers
 * @magic:	%HAND_MAGIC, %HAND_PIPED
 * @fds:	descriptors that come
 * @zero:	0
 * @stopped:	when it stopped serving, monotonic time of this host in ns
 */
struct hand_head {
	char magic[8];
	uint32_t fds;
	uint32_t zero;
	uint64_t stopped;
};

_Static_assert(sizeof(struct hand_head) == 24, "a head has another size");

/* ------------------------------------------------------------------------- */
/* The state                                                                 */
/* ------------------------------------------------------------------------- */

static void process_section(struct state *st, void *arg)
{
	struct handover *hand = arg;
	char control[HAND_PATH_ROOM] = "";

	if (!st->loading && hand->control)
		memcpy(control, hand->control, strnlen(hand->control, sizeof(control) - 1));
	state_text(st, "control", control, sizeof(control));
	if (st->loading && !st->failed && *control &&
	    (!hand->control || strcmp(control, hand->control)))
		state_refuse(st, "control", "%s is not the --control of the options", control);
	state_fd(st, "control", &hand->control_fd);
	state_need(st, hand->control_fd < 0 || uds_is_listening(hand->control_fd), "control",
		   "not a socket that listens");
	state_fd(st, "capture", &hand->pcap_fd);
}

static void uplinks_section(struct state *st, void *arg)
{
	ports_uplinks_io(st, ((struct handover *)arg)->ports);
}

static void guests_section(struct state *st, void *arg)
{
	ports_guests_io(st, ((struct handover *)arg)->ports);
}

static const struct state_section hand_sections[] = {
	{ "process", 1, 0, process_section },
	{ "uplinks", 1, 0, uplinks_section },
	{ "guests", 1, 0, guests_section },
};

static bool hand_sections_io(struct state *st, struct handover *hand, struct state_fds *fds)
{
	st->fds = fds;
	st->lenient = hand->lenient;
	return state_sections(st, hand_sections, ARRAY_SIZE(hand_sections), hand);
}

static int hand_write(struct handover *hand, struct state_fds *fds, int file, bool functions)
{
	struct state st;
	int err = -EINVAL;

	state_write(&st);
	if (hand_sections_io(&st, hand, fds) && state_written(&st))
		err = state_put(&st, file);
	if (err)
		log_error("state: %s", st.failed ? st.why : strerror(-err));
	state_free(&st);
	return err || !functions ? err : ports_save_functions(hand->ports, file);
}

int handover_save(struct handover *hand, struct state_fds *fds, bool functions)
{
	const int file = memfd_create("state", MFD_CLOEXEC);
	int err = file < 0 ? -errno : 0;

	if (err)
		log_error("state: %s", strerror(-err));
	else
		err = hand_write(hand, fds, file, functions);
	if (!err)
		return file;
	if (file >= 0)
		close(file);
	return err;
}

static int hand_read(struct handover *hand, const uint8_t *data, size_t size,
		     struct state_fds *fds, const struct state_pipe *pipe)
{
	/* All of the file, if functions come by a pipe. */
	const size_t n = pipe ? 0 : state_extent(data, size);
	struct state st;

	if (!state_read(&st, data, n ? n : size) || !hand_sections_io(&st, hand, fds) ||
	    !state_read_end(&st)) {
		log_error("state: %s", st.why);
		return -EINVAL;
	}
	return pipe ? ports_receive_functions(hand->ports, pipe) :
		      ports_load_functions(hand->ports, data + n, size - n, hand->lenient);
}

/* Reads the whole file; NULL with errno set. */
static uint8_t *hand_file(int file, size_t *size)
{
	size_t done = 0;
	uint8_t *data;
	struct stat st;
	ssize_t n;

	if (fstat(file, &st))
		return NULL;
	errno = EINVAL;
	if (st.st_size <= 0 || (uint64_t)st.st_size > HAND_STATE_MAX)
		return NULL;
	*size = st.st_size;
	heap_expect(HAND_HEAP * *size);
	data = malloc(*size);
	while (data && done < *size) {
		n = pread(file, data + done, *size - done, done);
		if (n > 0) {
			done += n;
			continue;
		}
		free(data);
		errno = n ? errno : EINVAL;
		return NULL;
	}
	return data;
}

static void hand_look_at_all(struct ports *ports)
{
	unsigned int i;

	for (i = 0; i < GUESTS_MAX; i++)
		if (ports->guest[i].fn)
			function_look_at_all(ports->guest[i].fn);
	loop_rouse(ports->loop);
}

int handover_load(struct handover *hand, int file, struct state_fds *fds,
		  const struct state_pipe *pipe)
{
	size_t size = 0;
	uint8_t *data = hand_file(file, &size);
	int err;

	if (!data) {
		err = -errno;
		log_error("state: %s", strerror(errno));
		return err;
	}
	err = hand_read(hand, data, size, fds, pipe);
	free(data);
	return err ? err : ports_start_rest(hand->ports);
}

void handover_go_on(struct handover *hand)
{
	loop_resume(hand->ports->loop);
	hand_look_at_all(hand->ports);
	heap_settle();
}

/* ------------------------------------------------------------------------- */
/* The old process                                                           */
/* ------------------------------------------------------------------------- */

static int hand_send_all(const struct hand *hand, int file, const struct state_fds *fds,
			 const char *magic)
{
	struct hand_head head = { .fds = 1 + fds->n, .stopped = hand->begin };
	uint32_t i, n;
	int err;

	memcpy(head.magic, magic, sizeof(head.magic));
	err = hand_send(hand, &head, sizeof(head), NULL, 0);
	if (!err)
		err = hand_send(hand, "", 1, &file, 1);
	for (i = 0; !err && i < fds->n; i += n) {
		n = fds->n - i < HAND_BATCH ? fds->n - i : HAND_BATCH;
		err = hand_send(hand, "", 1, fds->fd + i, n);
	}
	return err;
}

static int hand_answer(const struct hand *hand, char word)
{
	char got = 0;
	int err = hand_receive(hand, &got, 1, NULL);

	return err ? err : got == word ? 0 : -EPROTO;
}

static int hand_put(void *arg, const void *data, size_t n)
{
	struct hand *hand = arg;

	hand->err = hand_send(hand, data, n, NULL, 0);
	return hand->err;
}

static int hand_give_state(struct handover *all, struct hand *hand, bool piped)
{
	const struct state_pipe pipe = { .put = hand_put, .arg = hand, .part = HAND_PART };
	struct state_fds fds = {};
	const int file = handover_save(all, &fds, !piped);
	int err = file;

	if (file >= 0) {
		err = hand_send_all(hand, file, &fds, piped ? HAND_PIPED : HAND_MAGIC);
		close(file);
	}
	state_fds_free(&fds);
	if (!err && piped)
		err = ports_send_functions(all->ports, &pipe);
	return hand->err ? hand->err : err;
}

static int hand_give_all(struct handover *all, struct hand *hand, bool piped)
{
	const char go = HAND_GO;
	int err = hand_give_state(all, hand, piped);

	if (!err)
		err = hand_answer(hand, HAND_READY);
	/* It is in a buffer of the other process then, or that process has ended. */
	return err ? err : hand_send(hand, &go, 1, NULL, 0);
}

bool handover_give(struct handover *all, int sock, bool piped)
{
	struct hand hand = hand_new(sock, HAND_LIMIT_NS);
	const int err = hand_give_all(all, &hand, piped);

	close(sock);
	if (err) {
		log_warn("handing over failed: %s; this process goes on", strerror(-err));
		hand_look_at_all(all->ports);
		return false;
	}
	log_info("handed over to another process");
	return true;
}

int handover_store(struct handover *all, int sock)
{
	/* Nobody empties the queue: there is no use in waiting for room. */
	const struct hand hand = hand_new(sock, 0);
	struct state_fds fds = {};
	const int file = handover_save(all, &fds, true);
	int err = file;

	if (file >= 0) {
		err = hand_send_all(&hand, file, &fds, HAND_MAGIC);
		if (err)
			log_error("state: %s", strerror(-err));
		close(file);
	}
	state_fds_free(&fds);
	return err;
}

/* ------------------------------------------------------------------------- */
/* The new process                                                           */
/* ------------------------------------------------------------------------- */

static int hand_fail(const char *what, int err)
{
	log_error("--takeover: %s: %s", what, strerror(-err));
	return err;
}

/**
 * struct hand_answer - what a daemon says before it is asked for all
 * @heap:	memory that it needs, in bytes
 * @piped:	it can send states in a pipe
 */
struct hand_answer {
	size_t heap;
	bool piped;
};

/* An older daemon does not know the question. */
static struct hand_answer hand_ask_heap(const char *control)
{
	static const char command[] = "heap\n";
	struct hand hand = hand_new(uds_connect(control), HAND_LIMIT_NS);
	struct hand_answer answer = {};
	char text[64] = "", word[8] = "";

	if (hand.sock < 0)
		return answer;
	if (!hand_send(&hand, command, sizeof(command) - 1, NULL, 0) && !hand_wait(&hand, POLLIN) &&
	    recv(hand.sock, text, sizeof(text) - 1, MSG_DONTWAIT) > 0 &&
	    sscanf(text, "ok %zu %7s", &answer.heap, word) == 2)
		answer.piped = !strcmp(word, "piped");
	close(hand.sock);
	return answer;
}

int handover_ask(const char *control)
{
	const struct hand_answer answer = hand_ask_heap(control);
	const char *command = answer.piped ? "takeover piped\n" : "takeover\n";
	struct hand hand;
	int err;

	/* This process will need as much memory as that one: better now than while guests wait. */
	heap_expect(answer.heap);
	hand = hand_new(uds_connect(control), HAND_LIMIT_NS);
	if (hand.sock < 0)
		return hand_fail(control, hand.sock);
	err = hand_send(&hand, command, strlen(command), NULL, 0);
	if (!err)
		return hand.sock;
	close(hand.sock);
	return hand_fail(control, err);
}

static bool hand_is(const struct hand_head *head, const char *magic)
{
	return !memcmp(head->magic, magic, sizeof(head->magic));
}

static int hand_receive_all(const struct hand *hand, struct hand_head *head,
			    struct state_fds *fds)
{
	char byte;
	int err;

	err = hand_receive(hand, head, sizeof(*head), NULL);
	if (err)
		return err;
	if (!hand_is(head, HAND_MAGIC) && !hand_is(head, HAND_PIPED))
		return -EOPNOTSUPP;
	if (!head->fds || head->fds > STATE_FDS_MAX)
		return -EPROTO;
	while (!err && fds->n < head->fds)
		err = hand_receive(hand, &byte, 1, fds);
	return err ? err : fds->n == head->fds ? 0 : -EPROTO;
}

/* However much comes, it ends. */
static int hand_get(void *arg, void *data, size_t n)
{
	const struct hand *hand = arg;

	return clock_ns() >= hand->end ? -ETIMEDOUT : hand_receive(hand, data, n, NULL);
}

/* The first descriptor is the state. */
static int hand_take_all(struct handover *all, struct hand *hand, bool piped,
			 struct state_fds *fds)
{
	const struct state_pipe pipe = { .get = hand_get, .arg = hand };
	struct state_fds rest = { .fd = fds->fd + 1, .n = fds->n - 1 };

	return handover_load(all, fds->fd[0], &rest, piped ? &pipe : NULL);
}

static int hand_take(struct handover *all, struct hand *hand)
{
	struct state_fds fds = {};
	struct hand_head head;
	int err = hand_receive_all(hand, &head, &fds);

	if (err)
		hand_fail("the daemon does not hand over", err);
	else
		err = hand_take_all(all, hand, hand_is(&head, HAND_PIPED), &fds);
	state_fds_close(&fds);
	if (!err)
		log_info("loaded the state of %u port(s) %.1f ms after the other process stopped",
			 all->ports->op.ports,
			 clock_ms_since(head.stopped));
	return err;
}

int handover_take(struct handover *all, int sock)
{
	struct hand hand = hand_new(sock, 2 * HAND_LIMIT_NS);
	const int err = hand_take(all, &hand);

	if (err)
		close(sock);
	return err;
}

int handover_restore(struct handover *all, int sock)
{
	struct hand hand = hand_new(sock, 0);
	char byte;
	int err;

	/* There is no process any more that could go on: each guest that can be had is. */
	all->lenient = true;
	/* A process before this one may have emptied the queue, and ended. */
	err = recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 ? hand_take(all, &hand) :
								   -ENODATA;
	close(sock);
	return err;
}

int handover_serve(int sock)
{
	const struct hand hand = { .sock = sock };
	const char ready = HAND_READY;
	int err = hand_send(&hand, &ready, 1, NULL, 0);

	/* However long it takes: one of both processes serves. */
	if (!err)
		err = hand_answer(&hand, HAND_GO);
	close(sock);
	return err ? hand_fail("the daemon goes on itself", err) : 0;
}
