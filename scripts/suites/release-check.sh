#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# release-check.sh [--tag]
#
# Says whether what is committed here can be released as the version that the file VERSION
# names: the tree is clean, CHANGELOG.rst has the version with a date, no file has another
# version or denies that this one is released, the figures of README.md are of this version's
# sources, "make check" passes, the packages of all
# releases of Debian and those for RPM can be made, the patches of "make upstream" apply and
# compile, and the demo runs in a container.  With --tag, and if all of it passed, makes
# the tag vVERSION.  An hour and a half.  It goes on after a failure, so that one run names all
# of them.

. "$(dirname "$0")/../lib.sh"

version=$(cat "$top/VERSION")
good=()
bad=()

# expect WHAT COMMAND...: counts, and goes on.
expect()
{
	local what=$1

	shift
	if "$@"; then
		good+=("$what")
	else
		bad+=("$what")
		printf 'FAIL release: %s\n' "$what" >&2
	fi
}

# target NAME [VARIABLE...]: a target of the makefile, with its output in a log.
target()
{
	local name=$* log

	log=$build/release-${name//[ =]/-}.log
	step "release: make $*"
	make -C "$top" "$@" > "$log" 2>&1 || {
		tail -n 40 "$log" >&2
		return 1
	}
}

clean_tree()
{
	[ -z "$(git -C "$top" status --porcelain)" ]
}

dated()
{
	grep -qxE "${version//./\\.} \\(20[0-9]{2}-[0-9]{2}-[0-9]{2}\\)" "$top/CHANGELOG.rst"
}

# The figures are older than the version, but nothing that they measure changed much: they
# are of one of the last two hundred commits.
figures_are_recent()
{
	local commit

	commit=$(sed -n '/"commit": /{s/.*"commit": "\([^"]*\)".*/\1/p; q}' \
		"$top/Documentation/figures/figures.json")
	git -C "$top" merge-base --is-ancestor "$commit" HEAD &&
		[ "$(git -C "$top" rev-list --count "$commit..HEAD")" -lt 200 ]
}

# Files that have the version by hand; the others take it from VERSION.
same_version()
{
	local wrong=0

	[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$top/packaging/debian/changelog")" = "$version" ] ||
		{ echo "packaging/debian/changelog has another version" >&2; wrong=1; }
	[ "$(sed -n 's/^Version:[[:space:]]*//p' "$top"/packaging/rpm/*.spec)" = "$version" ] ||
		{ echo "packaging/rpm has another version" >&2; wrong=1; }
	grep -qF "virtio-net-roce-$version" "$top/Documentation/guest.rst" ||
		{ echo "Documentation/guest.rst has another version" >&2; wrong=1; }
	return $wrong
}

# Documents say of a version that it is not released, until it is.
no_document_denies_it()
{
	! grep -rnE "\\b${version//./\\.}\\b.*not released" "$top"/*.md "$top/CHANGELOG.rst" \
		"$top"/Documentation/*.rst >&2
}

mkdir -p "$build"
expect "the tree has no changes that are not committed" clean_tree
expect "CHANGELOG.rst has \"$version (DATE)\"" dated
expect "files with a version of their own have $version" same_version
expect "no document says that $version is not released" no_document_denies_it
expect "the figures of README.md are of one of the last 200 commits" figures_are_recent
expect "README.md has the figures of figures.json" "$top/scripts/suites/figures.py" --check
expect "make check" target check
expect "make packages" target packages
expect "make packages RELEASE=bookworm" target packages RELEASE=bookworm
expect "make packages RELEASE=forky" target packages RELEASE=forky
expect "make rpms" target rpms
expect "make upstream-check" target upstream-check
expect "make container-test" target container-test
expect "nothing of this changed a file of the tree" clean_tree

record release ${#good[@]} ${#bad[@]} || exit 1
if [ "${1-}" = --tag ]; then
	git -C "$top" tag -a -m "virtio-net RoCE $version" "v$version"
	echo "tagged v$version" >&2
else
	echo "$version can be tagged: scripts/suites/release-check.sh --tag" >&2
fi
