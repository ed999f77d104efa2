#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Builds everything, and the unit tests, which are not run here, inside a minimal Debian 12
# that has the packages of packages.list and nothing else, so that a package missing
# from the list cannot hide behind what this machine happens to have.  The other
# trees come from the cache.

. "$(dirname "$0")/../lib.sh"

tree=$("$top/scripts/images/trees.sh" fresh)
exclusive fresh

step "fresh build: a copy of the sources"
copy=$build/fresh
rm -rf "$copy"
mkdir -p "$copy"
rsync -a --exclude /build --exclude /.git --exclude __pycache__ "$top/" "$copy"

step "fresh build: make all device-tests, in a minimal Debian 12"
if "$top/scripts/images/in-tree" "$tree" make -C "$copy" all device-tests \
	> "$build/fresh-build.log" 2>&1; then
	record fresh-build 1 0
else
	tail -n 60 "$build/fresh-build.log" >&2
	record fresh-build 0 1
fi
