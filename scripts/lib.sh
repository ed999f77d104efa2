# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What every script here shares: progress lines, and the cache of things that
# take long to make.
#
# A cache entry is a directory of the user's cache, named after what it is and
# a hash of everything it was made from; build/ holds only symbolic links to
# entries.  An entry is never changed after it got its name, so several
# checkouts and several runs may share it, and both build/ and the cache may be
# deleted at any time.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=$top/build
cache=${XDG_CACHE_HOME:-$HOME/.cache}/virtio-net-roce

# Progress goes to the standard error that the script began with, because some
# scripts answer on standard output, and the makers of cache entries write both
# into a log.
exec {progress}>&2

step_text=
step_start=

# step_end: how long the step now running took.
step_end()
{
	[ -z "$step_text" ] || printf '    %s: %d s\n' "$step_text" \
		$((SECONDS - step_start)) >&"$progress"
	step_text=
}

# step TEXT: says what is done from here on, and how long the last step took.
step()
{
	step_end
	step_text=$1
	step_start=$SECONDS
	printf '==> %s\n' "$1" >&"$progress"
}

cached_tmp=
cached_log=

at_exit()
{
	if [ -n "$cached_tmp" ]; then
		rm -rf --one-file-system "$cached_tmp"
		printf '%s: failed, and ended with\n' "$cached_log" >&"$progress"
		tail -n 40 "$cached_log" >&"$progress"
	fi
	step_end
}
trap at_exit EXIT

# forget_old NAME: removes entries of a name that nobody has asked for in a week, but for
# the four that were asked for last.
forget_old()
{
	local key='[0-9a-f][0-9a-f][0-9a-f][0-9a-f]' old

	key=$key$key$key$key
	# shellcheck disable=SC2086,SC2012
	for old in $(ls -td "$cache/$1"-$key | tail -n +5); do
		[ -z "$(find "$old" -maxdepth 0 -mtime +7)" ] || rm -rf --one-file-system "$old"
	done
}

# forget_half_made: removes what runs that were killed have begun to make.  The process that
# makes an entry has its lock, as has every process that it started.
forget_half_made()
{
	local half name lock

	for half in "$cache"/.new-*; do
		[ -d "$half" ] || continue
		name=${half#"$cache/.new-"}
		exec {lock}>"$cache/.lock-${name%.*}"
		! flock -n "$lock" || rm -rf --one-file-system "$half"
		exec {lock}>&-
	done
}

# priority POLICY NICE: of this script and what it starts; NICE is that of its session,
# between which the kernel may share the processors.
priority()
{
	chrt "$1" --pid 0 $$
	echo "$2" > /proc/self/autogroup || true
} 2> /dev/null

# before_making: a script may replace it by what its builders need, and what takes long to
# find out.
before_making()
{
	:
}

# cached NAME INPUT... -- BUILDER ARG...
#
# Makes a cache entry unless it exists, and stores its path in $entry, and a link to it
# in build/NAME.  The hash covers the text of the function BUILDER, ARG... and
# each INPUT: the content where it is a file, else the string itself.
# BUILDER is called with ARG... and an empty directory to fill, which becomes
# the entry if BUILDER succeeds.  Its output goes to a log in the cache.
# With LAB_GENTLY in the environment the script has the lowest priority, but not
# BUILDER, because others wait for the entry.
cached()
{
	local name=$1 builder lock input key
	local -a inputs=()

	shift
	while [ "$1" != -- ]; do
		inputs+=("$1")
		shift
	done
	shift
	builder=$1
	shift

	key=$({
		declare -f "$builder"
		printf '%s\n' "$@"
		for input in "${inputs[@]}"; do
			if [ -f "$input" ]; then
				cat "$input"
			else
				printf '%s\n' "$input"
			fi
		done
	} | sha256sum | cut -c1-16)
	entry=$cache/$name-$key

	if [ ! -d "$entry" ]; then
		mkdir -p "$cache"
		exec {lock}>"$cache/.lock-$name"
		flock "$lock"
		# Somebody else may have made it while we waited.
		if [ ! -d "$entry" ]; then
			# Left behind by a run that was killed.
			rm -rf --one-file-system "$cache/.new-$name".*
			cached_tmp=$(mktemp -d "$cache/.new-$name.XXXXXX")
			chmod 755 "$cached_tmp"
			cached_log=$cache/$name.log
			[ -z "${LAB_GENTLY-}" ] || priority --other 0
			before_making
			"$builder" "$@" "$cached_tmp" > "$cached_log" 2>&1
			[ -z "${LAB_GENTLY-}" ] || priority --idle 19
			mv -T "$cached_tmp" "$entry"
			cached_tmp=
			forget_old "$name"
		fi
		exec {lock}>&-
	fi

	touch "$entry"
	mkdir -p "$build"
	if [ "$(readlink "$build/$name" || true)" != "$entry" ]; then
		[ -L "$build/$name" ] || rm -rf "${build:?}/$name"
		ln -s "$entry" "$build/.$name.$$"
		mv -T "$build/.$name.$$" "$build/$name"
	fi
}

# aside COMMAND...: runs a command in the background, in a session of its own, whose leader
# is the last of the array "aside".  All its processes end with end_aside, and also when
# this script is killed: a process of the session waits for the end of a pipe that only
# this script holds open for writing.  Programs in the foreground end in the same way: the
# script should do nothing else than wait.
aside=()
aside()
{
	if [ -z "${alive-}" ]; then
		local fifo

		fifo=$(mktemp -u)
		mkfifo "$fifo"
		exec {alive}<>"$fifo" {ended}<"$fifo"
		rm "$fifo"
	fi
	# shellcheck disable=SC2016
	setsid bash -c '{ read -r _ <&"$0" || kill -KILL -- "-$$"; } & exec "$@"' "$ended" "$@" \
		{alive}>&- &
	aside+=($!)
}

# end_aside: ends what aside has started.
end_aside()
{
	local session

	[ ${#aside[@]} -gt 0 ] || return 0
	for session in "${aside[@]}"; do
		kill -- "-$session" 2> /dev/null || true
	done
	# Some make on, though they were told to end.
	sleep 1
	for session in "${aside[@]}"; do
		kill -KILL -- "-$session" 2> /dev/null || true
	done
}

# exclusive NAME: from here to the end of the script no other run of this
# checkout is in a part of the same name.
exclusive()
{
	local lock

	mkdir -p "$build"
	exec {lock}>"$build/.lock-$1"
	flock "$lock"
}

# record SUITE PASSED FAILED [SKIPPED [SECONDS]]: stores the counts and the time, which is
# the script's if it is not given, for scripts/suites/check.sh.  A suite of which nothing passed
# counts as a failure, since it tested nothing.  It fails if there are failures, so it
# must be the last command of a script.
record()
{
	local failed=$3 skipped=${4:-0} seconds=${5:-$SECONDS}

	[ "$2" -gt 0 ] || [ "$failed" -gt 0 ] || failed=1
	mkdir -p "$build/results"
	echo "$2 $failed $skipped $seconds" > "$build/results/$1"
	step_end
	echo "$1: $2 passed, $failed failed, $skipped skipped, $seconds s" >&2
	[ "$failed" -eq 0 ]
}

# count_unexpected SUITE LOG SKIPPED: how many of the skipped tests count as failures:
# those that tests/skips.txt does not expect, and those that the log does not name.  Lines
# that begin with FAIL, at the end of the log, say which; the names of all skipped tests
# are kept for scripts/suites/check.sh.
count_unexpected()
{
	local suite=$1 log=$2 skipped=$3 named unexpected

	mkdir -p "$build/results"
	named=$(sed -n 's/^\([0-9]*| \)\?SKIP //p' "$log" | sort -u |
		tee "$build/results/.$suite.skips" | wc -l)
	unexpected=$(/usr/bin/python3 "$top/scripts/suites/skips.py" "$suite" "$log")
	[ "$named" -ge "$skipped" ] || unexpected+=${unexpected:+$'\n'}"FAIL $suite: $skipped tests skipped, $named named"
	[ -n "$unexpected" ] || { echo 0; return; }
	echo "$unexpected" | tee -a "$log" >&2
	wc -l <<< "$unexpected"
}

# run_counted SUITE COMMAND...: records the counts of the command's last line of the form
# "N passed, N failed, N skipped".  A command that fails without such a line counts as one
# failure, as does one of which nothing passed, and each unexpected skip.
run_counted()
{
	local suite=$1 log=$build/$1.log rc=0 passed=0 failed=0 skipped=0

	shift
	mkdir -p "$build"
	PYTHONUNBUFFERED=1 "$@" 2>&1 | tee "$log" || rc=$?
	read -r passed failed skipped < <(sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" |
		tail -n 1) || true
	[ "$rc" -eq 0 ] || [ "${failed:-0}" -gt 0 ] || failed=1
	failed=$((${failed:-1} + $(count_unexpected "$suite" "$log" "${skipped:-0}")))
	record "$suite" "${passed:-0}" "$failed" "${skipped:-0}"
}

# provider_flags COPY: compiler flags for what virtio_roce_check() of
# provider/CMakeLists.txt has found in a copy of rdma-core.
provider_flags()
{
	local name

	grep -o 'HAVE_[A-Z_]*' "$top/provider/CMakeLists.txt" | sort -u | while read -r name; do
		! grep -qx "$name:INTERNAL=1" "$1/build/CMakeCache.txt" || printf -- '-D%s ' "$name"
	done
}

# Wishes of checkpatch.pl for kernel code only, which are not asked of programs and the
# provider: kernel types, macros and functions; errno, which verbs return positive;
# fields that macros of sys/queue.h declare; macros that are rows of a table.
kernel_only=PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,STRCPY
kernel_only+=,CAMELCASE,ENOSYS,USE_NEGATIVE_ERRNO,LINE_SPACING,NEW_TYPEDEFS
kernel_only+=,MACRO_ARG_REUSE,EMBEDDED_FUNCTION_NAME,BRACKET_SPACE

# The address of the Debian archive that this machine uses.  It is asked for
# at run time, because the choice of the mirror belongs to the machine.
debian_mirror()
{
	local codename

	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	# Before the first "apt-get update" the label is not known and stays
	# as it was asked for.
	apt-get indextargets --format '$(SITE) $(RELEASE) $(LABEL)' \
		'Created-By: Packages' |
	awk -v code="$codename" '
		($2 == code || $2 == "stable") && $3 ~ /^(Debian|\$.*)$/ && !seen++ {
			print $1
		}'
}
