// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Opening the file that an operator names for a namespace.
 *
 * A file or a block device is locked, so that no other daemon, and no other namespace, has
 * it as well, unless all of them only read.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "storage/open.h"

#define NS_BLOCK_MIN		512u
#define NS_BLOCK_MAX		4096u
#define NS_LOCK_TRIES		500

/**
 * struct ns_text - the text of a namespace
 * @name:	name
 * @kind:	file, block or null
 * @value:	what follows
 * @ro:		it cannot be written to
 * @guests:	as struct ns has them
 */
struct ns_text {
	char name[NS_NAME_MAX];
	char kind[8];
	char value[4096];
	bool ro;
	char guests[NS_GUESTS_MAX];
};

static int ns_wrong(const char *text, const char *why)
{
	log_error("--namespace: \"%s\": %s", text, why);
	return -EINVAL;
}

/* Copies the part of @text before @until, and returns what is behind that, or NULL. */
static const char *ns_part(char *to, size_t size, const char *text, char until)
{
	const char *end = strchr(text, until);

	if (!end || end == text || (size_t)(end - text) >= size)
		return NULL;
	memcpy(to, text, end - text);
	to[end - text] = 0;
	return end + 1;
}

/* A field that stands behind the value, with its comma; false if it is part of a path. */
static bool ns_field(struct ns_text *parts, const char *field)
{
	static const char guest[] = ",guest=";
	const size_t used = strlen(parts->guests), len = strlen(field);

	if (!strcmp(field, ",ro")) {
		parts->ro = true;
		return true;
	}
	if (strncmp(field, guest, sizeof(guest) - 1) || len == sizeof(guest) - 1 ||
	    used + len >= sizeof(parts->guests))
		return false;
	parts->guests[used] = ',';
	strcpy(parts->guests + used + 1, field + sizeof(guest) - 1);
	return true;
}

static int ns_parse(struct ns_text *parts, const char *text)
{
	const char *p = ns_part(parts->name, sizeof(parts->name), text, '=');
	char *field;

	parts->ro = false;
	parts->guests[0] = 0;
	if (!p || strpbrk(parts->name, ", \t\n\"\\"))
		return ns_wrong(text, "not NAME=file:PATH, NAME=block:PATH or NAME=null:SIZE");
	p = ns_part(parts->kind, sizeof(parts->kind), p, ':');
	if (!p || !*p || strlen(p) >= sizeof(parts->value))
		return ns_wrong(text, "not NAME=file:PATH, NAME=block:PATH or NAME=null:SIZE");
	strcpy(parts->value, p);
	while ((field = strrchr(parts->value, ',')) && field != parts->value &&
	       ns_field(parts, field))
		*field = 0;
	return 0;
}

/* A number of bytes, whole blocks, at most a PiB; 0 if it is none. */
static uint64_t ns_size(const char *text)
{
	static const char units[] = "KMGT";
	unsigned long long value;
	const char *unit;
	char *end;
	unsigned int shift = 0;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		end++;
	}
	if (errno || *end || value > (1ULL << 50) >> shift)
		return 0;
	value <<= shift;
	return value % NS_NULL_BLOCK ? 0 : value;
}

static int ns_block_size(int fd, uint64_t *size, uint32_t *block)
{
	int sector;

	if (ioctl(fd, BLKGETSIZE64, size) || ioctl(fd, BLKSSZGET, &sector))
		return -errno;
	*block = sector;
	return 0;
}

/* The alignment that direct I/O of a file needs; 0 if there is no direct I/O. */
static uint32_t ns_alignment(int fd)
{
	uint32_t align = 0;
#ifdef STATX_DIOALIGN
	struct statx st;

	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) &&
	    st.stx_mask & STATX_DIOALIGN && st.stx_dio_mem_align <= 4096)
		align = st.stx_dio_offset_align;
#else
	/* Tried out by whoever has such a C library: a read of one block. */
	void *page = aligned_alloc(4096, 4096);

	if (page && pread(fd, page, NS_BLOCK_MIN, 0) >= 0)
		align = NS_BLOCK_MIN;
	else if (page && pread(fd, page, NS_BLOCK_MAX, 0) >= 0)
		align = NS_BLOCK_MAX;
	free(page);
#endif
	return align;
}

/* Blocks of a file are as large as direct I/O wants them, if the file has whole ones. */
static void ns_file_block(int fd, struct ns *ns, bool *direct)
{
	const uint32_t align = *direct ? ns_alignment(fd) : 0;

	*direct = align && align <= NS_BLOCK_MAX && !(align & (align - 1)) &&
		  !(ns->size % align);
	ns->block = *direct && align > NS_BLOCK_MIN ? align : NS_BLOCK_MIN;
}

static int ns_look(int fd, struct ns *ns, bool is_block, bool *direct)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (is_block ? !S_ISBLK(st.st_mode) : !S_ISREG(st.st_mode))
		return is_block ? -ENOTBLK : -EISDIR;
	if (is_block) {
		err = ns_block_size(fd, &ns->size, &ns->block);
		if (err)
			return err;
	} else {
		ns->size = st.st_size;
		ns_file_block(fd, ns, direct);
	}
	if (ns->block < NS_BLOCK_MIN || ns->block > NS_BLOCK_MAX)
		return -EINVAL;
	return ns->size && !(ns->size % ns->block) ? 0 : -EFBIG;
}

/*
 * The storage process of a daemon that was killed lets go a moment later, when the kernel is
 * done with all that it was asked for.
 */
static int ns_lock(int fd, bool ro)
{
	const struct timespec ms10 = { .tv_nsec = 10000000 };
	unsigned int i;

	for (i = 0; i < NS_LOCK_TRIES; i++) {
		if (!flock(fd, (ro ? LOCK_SH : LOCK_EX) | LOCK_NB))
			return 0;
		nanosleep(&ms10, NULL);
	}
	return -EBUSY;
}

static int ns_open_path(const char *path, bool ro, bool shared, bool *direct)
{
	const int flags = (ro ? O_RDONLY : O_RDWR) | O_CLOEXEC;
	int fd = open(path, flags | O_DIRECT | O_NONBLOCK);

	*direct = fd >= 0;
	if (fd < 0 && errno == EINVAL)
		fd = open(path, flags | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!shared && ns_lock(fd, ro)) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

static int ns_clear_flag(int fd, int flag)
{
	const int flags = fcntl(fd, F_GETFL);

	return fcntl(fd, F_SETFL, flags & ~flag) ? -errno : 0;
}

static int ns_open_file(struct ns *ns, const struct ns_text *parts, bool is_block, bool shared)
{
	bool direct;
	int fd = ns_open_path(parts->value, parts->ro, shared, &direct);
	int err;

	if (fd < 0)
		return fd;
	err = ns_look(fd, ns, is_block, &direct);
	if (!err)
		/* io_uring would fail at once where it had to wait. */
		err = ns_clear_flag(fd, O_NONBLOCK | (direct ? 0 : O_DIRECT));
	if (err) {
		close(fd);
		return err;
	}
	ns->ro = parts->ro;
	ns->cache = true;
	return fd;
}

static const char *ns_why(int err)
{
	switch (err) {
	case -EBUSY:
		return "in use by another daemon or namespace";
	case -ENOTBLK:
		return "not a block device";
	case -EISDIR:
		return "not a regular file";
	case -EFBIG:
		return "its size is not that of whole blocks";
	default:
		return strerror(-err);
	}
}

int ns_open(struct ns *ns, const char *text, bool shared)
{
	struct ns_text parts;
	uint64_t size;
	int fd;

	fd = ns_parse(&parts, text);
	if (fd)
		return fd;
	memset(ns, 0, sizeof(*ns));
	strcpy(ns->name, parts.name);
	if (!strcmp(parts.kind, "null")) {
		size = ns_size(parts.value);
		if (!size)
			return ns_wrong(text, "its size is not that of whole blocks");
		ns_null(ns, parts.name, size, parts.ro);
		strcpy(ns->guests, parts.guests);
		return -ENODATA;
	}
	if (strcmp(parts.kind, "file") && strcmp(parts.kind, "block"))
		return ns_wrong(text, "not NAME=file:PATH, NAME=block:PATH or NAME=null:SIZE");
	fd = ns_open_file(ns, &parts, parts.kind[0] == 'b', shared);
	if (fd < 0)
		log_error("--namespace: %s: %s", parts.value, ns_why(fd));
	strcpy(ns->guests, parts.guests);
	return fd;
}
