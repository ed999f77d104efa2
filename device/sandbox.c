// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The sandbox of the daemon.
 *
 * Theory of operation
 *
 * The daemon reads what guests write, so one day it may do what a guest wants.
 * Before the loop starts it gives up what it does not need any more, in this
 * order, because each step needs what the next one takes away:
 *
 * 1. Namespaces of its own: mount, IPC, UTS, and network unless the host's side
 *    of a tap or packet uplink is to be found by its process.  Files that are
 *    open stay open.  Without the right to do so it gets the right in a user
 *    namespace of its own; where that is forbidden, too, it goes on without.
 *    The new root is an empty file system, read-only, in which only the
 *    directories of its sockets are: those are removed at the end, and
 *    reconnected to.
 * 2. no_new_privs, so that no program gives it rights back.
 * 3. All capabilities, the bounding set included.
 * 4. An allow-list of system calls.  Others fail with EPERM; a new program ends
 *    the process.
 *
 * There is no PID namespace.  Only a child would be in it, and the child would need a
 * parent that acts for it.  Instead the list has no system call that takes the number
 * of another process.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <seccomp.h>

#include "base/log.h"
#include "base/util.h"
#include "sandbox.h"

/* A directory that each system has.  The new root is put together there. */
#define SANDBOX_ROOT	"/tmp"

static int sandbox_fail(const char *what, int err)
{
	log_error("sandbox: %s: %s; --no-sandbox does without", what,
		  strerror(err));
	return -err;
}

/* ------------------------------------------------------------------------- */
/* The new root                                                              */
/* ------------------------------------------------------------------------- */

/* The directory of @socket as an absolute path in @dir, of PATH_MAX bytes. */
static int sandbox_directory(const char *socket, const char *cwd, char *dir)
{
	const char *slash = strrchr(socket, '/');
	int len = slash ? slash - socket : 0;
	int n;

	if (*socket == '/')
		n = snprintf(dir, PATH_MAX, "%.*s/", len, socket);
	else
		n = snprintf(dir, PATH_MAX, "%s/%.*s", cwd, len, socket);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* mkdir -p, below SANDBOX_ROOT. */
static int sandbox_mkdir(char *path)
{
	char *slash = path + strlen(SANDBOX_ROOT);

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0755) && errno != EEXIST ? -errno : 0;
}

/* Makes the copy of a tree that @fd stands for appear at @dir of the new root. */
static int sandbox_bind(int fd, const char *dir)
{
	char path[PATH_MAX + sizeof(SANDBOX_ROOT)];
	int err;

	snprintf(path, sizeof(path), "%s%s", SANDBOX_ROOT, dir);
	err = sandbox_mkdir(path);
	if (err)
		return err;
	return move_mount(fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) ?
	       -errno : 0;
}

/**
 * struct sandbox_dirs - directories that the new root has
 * @path:	where they are, without doubles
 * @fd:		a copy of each of them, not mounted yet
 * @n:		number of them
 * @cwd:	the working directory, or an empty string
 */
struct sandbox_dirs {
	char path[SANDBOX_SOCKETS_MAX][PATH_MAX];
	int fd[SANDBOX_SOCKETS_MAX];
	unsigned int n;
	char cwd[PATH_MAX];
};

static void sandbox_dirs_free(struct sandbox_dirs *dirs)
{
	while (dirs->n)
		close(dirs->fd[--dirs->n]);
	free(dirs);
}

/*
 * A copy of the tree at @path.  The socket that an uplink connects to may have
 * no directory yet: then @path becomes the next one above that exists, but not the
 * whole root.
 */
static int sandbox_tree(char *path)
{
	char *slash;
	int fd;

	for (;;) {
		fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
			       OPEN_TREE_CLOEXEC | AT_RECURSIVE);
		slash = strrchr(path, '/');
		if (fd >= 0 || errno != ENOENT || slash == path)
			return fd < 0 ? -errno : fd;
		*slash = 0;
	}
}

static int sandbox_dirs_add(struct sandbox_dirs *dirs, const char *socket)
{
	char *path = dirs->path[dirs->n];
	unsigned int i;
	int fd, err;

	err = sandbox_directory(socket, dirs->cwd, path);
	if (err)
		return err;
	for (i = 0; i < dirs->n; i++)
		if (!strcmp(dirs->path[i], path))
			return 0;
	fd = sandbox_tree(path);
	if (fd == -ENOENT) {
		log_warn("sandbox: %s cannot be reached later: make its directory first",
			 socket);
		return 0;
	}
	if (fd < 0)
		return fd;
	dirs->fd[dirs->n++] = fd;
	return 0;
}

/*
 * Done in the new namespace, because mounts cannot come from another one, and before
 * the new root covers the directories from which it is assembled.
 */
static struct sandbox_dirs *sandbox_dirs_new(const struct sandbox_needs *needs)
{
	struct sandbox_dirs *dirs = calloc(1, sizeof(*dirs));
	unsigned int i;
	int err = 0;

	if (!dirs)
		return NULL;
	if (!getcwd(dirs->cwd, sizeof(dirs->cwd)))
		*dirs->cwd = 0;
	for (i = 0; !err && i < needs->sockets; i++)
		err = sandbox_dirs_add(dirs, needs->socket[i]);
	if (!err)
		return dirs;
	sandbox_dirs_free(dirs);
	errno = -err;
	return NULL;
}

/* This cannot be undone, because it covers /tmp. */
static int sandbox_root(const struct sandbox_dirs *dirs)
{
	unsigned int i;
	int err;

	if (mount("none", SANDBOX_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0755,size=1m"))
		return -errno;
	for (i = 0; i < dirs->n; i++) {
		err = sandbox_bind(dirs->fd[i], dirs->path[i]);
		if (err)
			return err;
	}
	/* The old root lands on top of the new one, and is taken off. */
	if (chdir(SANDBOX_ROOT) || syscall(SYS_pivot_root, ".", ".") ||
	    umount2(".", MNT_DETACH))
		return -errno;
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID |
		  MS_NODEV | MS_NOEXEC, NULL))
		return -errno;
	/* Relative names lead where they led, or nowhere. */
	if (!*dirs->cwd || chdir(dirs->cwd))
		return chdir("/") ? -errno : 0;
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Namespaces                                                                */
/* ------------------------------------------------------------------------- */

static int sandbox_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -EIO : 0;
}

/* A user namespace in which we are who we were before, with all capabilities. */
static int sandbox_user(int flags)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char uids[64], gids[64];
	int err;

	snprintf(uids, sizeof(uids), "%u %u 1", uid, uid);
	snprintf(gids, sizeof(gids), "%u %u 1", gid, gid);
	if (unshare(CLONE_NEWUSER | flags))
		return -errno;
	err = sandbox_write("/proc/self/setgroups", "deny");
	if (!err)
		err = sandbox_write("/proc/self/uid_map", uids);
	if (!err)
		err = sandbox_write("/proc/self/gid_map", gids);
	return err;
}

static int sandbox_unshare(const struct sandbox_needs *needs)
{
	const int flags = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
			  (needs->network ? 0 : CLONE_NEWNET);

	if (unshare(flags)) {
		int err = sandbox_user(flags);

		if (err)
			return err;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ? -errno : 0;
}

/* @text names what could not be obtained.  Returns an error if we cannot continue. */
static int sandbox_namespaces(const struct sandbox_needs *needs, char *text,
			      size_t size)
{
	struct sandbox_dirs *dirs;
	int err = sandbox_unshare(needs);

	if (err) {
		snprintf(text, size, "no file system of its own (%s)",
			 strerror(-err));
		return 0;
	}
	dirs = sandbox_dirs_new(needs);
	if (!dirs)
		return sandbox_fail("directories of the sockets", errno);
	err = sandbox_root(dirs);
	sandbox_dirs_free(dirs);
	if (err)
		return sandbox_fail("new root", -err);
	snprintf(text, size, "own mount, %sIPC and UTS namespaces",
		 needs->network ? "" : "network, ");
	return 0;
}

/* ------------------------------------------------------------------------- */
/* Capabilities                                                              */
/* ------------------------------------------------------------------------- */

static int sandbox_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int cap;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return sandbox_fail("no_new_privs", errno);
	/* Fails at the first number that the kernel does not know, or at once. */
	for (cap = 0; !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none))
		return sandbox_fail("capabilities", errno);
	return 0;
}

/* ------------------------------------------------------------------------- */
/* System calls                                                              */
/* ------------------------------------------------------------------------- */

static const int sandbox_calls[] = {
	/* the loop */
	SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_ctl), SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
	/* descriptors: doorbells, sockets, taps, capture files, messages */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev),
	SCMP_SYS(preadv2),
	SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg),
	SCMP_SYS(accept4), SCMP_SYS(shutdown),
	SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
	SCMP_SYS(lseek),
	/* the daemon's sockets, when it ends */
	SCMP_SYS(unlink), SCMP_SYS(unlinkat),
	/* memory, the guests' and its own; mmap() and mprotect() see below */
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
	SCMP_SYS(futex), SCMP_SYS(getrandom),
	/* signals, and its end; tgkill() see below */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(timer_settime),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* Those of which only one way to call them is allowed. */
static int sandbox_conditions(scmp_filter_ctx ctx,
			      const struct sandbox_needs *needs)
{
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ,
						    PROT_EXEC, 0);
	const struct scmp_arg_cmp self = SCMP_A0(SCMP_CMP_EQ, getpid(), 0);
	const struct scmp_arg_cmp local = SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0);
	const struct scmp_arg_cmp kind = SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET, 0);
	int err;

	err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				       no_code);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
				       self);
	if (!err && needs->handed)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(getsockopt), 1,
				       kind);
	/* To hand over: a file for the state, and to wait for the other process. */
	if (!err && needs->handed)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(memfd_create), 0);
	if (!err && needs->handed)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(ppoll), 0);
	if (err || !needs->connects)
		return err;
	err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, local);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
	return err;
}

static int sandbox_rules(scmp_filter_ctx ctx, const struct sandbox_needs *needs)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(sandbox_calls); i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, sandbox_calls[i], 0);
	/* The daemon never starts a program, so this cannot be a mistake. */
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS,
				       SCMP_SYS(execve), 0);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS,
				       SCMP_SYS(execveat), 0);
	return err ? err : sandbox_conditions(ctx, needs);
}

static int sandbox_seccomp(const struct sandbox_needs *needs)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!ctx)
		return sandbox_fail("seccomp", ENOMEM);
	err = sandbox_rules(ctx, needs);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err ? sandbox_fail("seccomp", -err) : 0;
}

int sandbox_enter(const struct sandbox_needs *needs)
{
	char namespaces[128];
	int err;

	err = sandbox_namespaces(needs, namespaces, sizeof(namespaces));
	if (!err)
		err = sandbox_capabilities();
	if (!err)
		err = sandbox_seccomp(needs);
	if (!err)
		log_info("sandbox: seccomp, no_new_privs, no capabilities, %s",
			 namespaces);
	return err;
}

/* ------------------------------------------------------------------------- */
/* The storage process                                                       */
/* ------------------------------------------------------------------------- */

/* All that it does: io_uring_enter(), eventfds, locks, sizes; sigaltstack() is of a sanitizer. */
static const int sandbox_worker_calls[] = {
	SCMP_SYS(io_uring_enter), SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(flock),
	SCMP_SYS(lseek), SCMP_SYS(futex), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* To start it, and to let it set up its ring and its own filter. */
static const int sandbox_starter_calls[] = {
	SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
	SCMP_SYS(wait4), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid),
	SCMP_SYS(clock_gettime), SCMP_SYS(prctl), SCMP_SYS(seccomp), SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_register), SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(munmap),
	SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(getrandom), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(uname), SCMP_SYS(prlimit64),
};

static int sandbox_allow(scmp_filter_ctx ctx, const int *calls, unsigned int n)
{
	int err = 0;

	while (!err && n--)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[n], 0);
	return err;
}

static int sandbox_storage_rules(scmp_filter_ctx ctx, bool worker)
{
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int err = sandbox_allow(ctx, sandbox_worker_calls, ARRAY_SIZE(sandbox_worker_calls));

	if (err || worker)
		return err;
	err = sandbox_allow(ctx, sandbox_starter_calls, ARRAY_SIZE(sandbox_starter_calls));
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_code);
	if (!err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_code);
	return err;
}

static int sandbox_storage_seccomp(bool worker)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err;

	if (!ctx)
		return sandbox_fail("seccomp", ENOMEM);
	err = sandbox_storage_rules(ctx, worker);
	if (!err)
		err = seccomp_load(ctx);
	seccomp_release(ctx);
	return err ? sandbox_fail("seccomp", -err) : 0;
}

int sandbox_storage(bool worker)
{
	const struct sandbox_needs none = { 0 };
	char namespaces[128];
	int err = 0;

	if (!worker) {
		err = sandbox_namespaces(&none, namespaces, sizeof(namespaces));
		if (!err)
			err = sandbox_capabilities();
	}
	return err ? err : sandbox_storage_seccomp(worker);
}
