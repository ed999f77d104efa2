// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Namespaces that the program serves by itself: files, block devices and memory.
 *
 * One read or write after the other: this is an example, and the form with which the
 * offload is compared.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "file.h"

#define FILE_BLOCK	512

static const uint8_t file_zeroes[1 << 16];

/* All of it, by as many calls as it takes; 0 or -errno. */
static int file_move(const struct file *file, enum ns_op op, void *buf, uint64_t len,
		     uint64_t offset)
{
	uint8_t *at = buf;
	ssize_t n;

	for (; len; len -= n, at += n, offset += n) {
		n = op == NS_READ ? pread(file->fd, at, len, offset) :
				    pwrite(file->fd, at, len, offset);
		if (n < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (n < 0)
			return -errno;
		/* Somebody has made the file shorter. */
		if (!n)
			return -EIO;
	}
	return 0;
}

static int file_write_zeroes(const struct file *file, uint64_t len, uint64_t offset)
{
	uint64_t part;
	int err = 0;

	for (; len && !err; len -= part, offset += part) {
		part = len < sizeof(file_zeroes) ? len : sizeof(file_zeroes);
		err = file_move(file, NS_WRITE, (void *)file_zeroes, part, offset);
	}
	return err;
}

static int file_zero(const struct file *file, const struct ns_io *io)
{
	const int mode = FALLOC_FL_KEEP_SIZE |
			 (io->keep ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE);

	if (!fallocate(file->fd, mode, io->offset, io->len))
		return 0;
	return errno == EOPNOTSUPP ? file_write_zeroes(file, io->len, io->offset) : -errno;
}

/* A file that cannot forget keeps what it has. */
static int file_discard(const struct file *file, const struct ns_io *io)
{
	if (!fallocate(file->fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, io->offset, io->len))
		return 0;
	return errno == EOPNOTSUPP ? 0 : -errno;
}

static int file_do(const struct file *file, const struct ns_io *io)
{
	switch (io->op) {
	case NS_READ:
	case NS_WRITE:
		return file_move(file, io->op, io->buf, io->len, io->offset);
	case NS_FLUSH:
		return fdatasync(file->fd) ? -errno : 0;
	case NS_ZERO:
		return file_zero(file, io);
	case NS_DISCARD:
		return file_discard(file, io);
	default:
		return -EINVAL;
	}
}

static void file_submit(void *arg, struct ns_io *io)
{
	const struct file *file = arg;
	int err = file_do(file, io);

	if (!err && io->lasting && (io->op == NS_WRITE || io->op == NS_ZERO))
		err = fdatasync(file->fd) ? -errno : 0;
	io->done(io, err);
}

/* Size of a file or block device, and bytes of its blocks. */
static int file_measure(struct file *file)
{
	struct stat st;
	int block;

	if (fstat(file->fd, &st))
		return -errno;
	file->ns.block = FILE_BLOCK;
	if (!S_ISBLK(st.st_mode)) {
		file->ns.size = st.st_size & ~(uint64_t)(FILE_BLOCK - 1);
		return 0;
	}
	if (ioctl(file->fd, BLKGETSIZE64, &file->ns.size) || ioctl(file->fd, BLKSSZGET, &block))
		return -errno;
	file->ns.block = block;
	return 0;
}

static int file_fd(const struct space *space)
{
	int fd;

	if (space->kind == SPACE_FILE)
		return open(space->name, (space->ro ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	fd = memfd_create("namespace", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, space->size)) {
		close(fd);
		return -1;
	}
	return fd;
}

int file_open(struct file *file, const struct space *space, unsigned int nsid)
{
	int err;

	memset(file, 0, sizeof(*file));
	snprintf(file->ns.name, sizeof(file->ns.name), "%u", nsid);
	file->ns.ro = space->ro;
	file->ns.cache = space->kind == SPACE_FILE;
	file->ns.submit = file_submit;
	file->ns.arg = file;
	file->fd = file_fd(space);
	err = file->fd < 0 ? -errno : file_measure(file);
	if (!err && !file->ns.size)
		err = -ENODATA;
	if (!err)
		return 0;
	log_error("namespace %s: %s", space->name, strerror(-err));
	file_close(file);
	return err;
}

void file_close(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
