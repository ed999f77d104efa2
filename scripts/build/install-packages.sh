#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Installs the packages of packages.list that this machine lacks.

. "$(dirname "$0")/../lib.sh"

missing=()
for package in $(sed -e 's/#.*//' "$top/scripts/build/packages.list"); do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
	echo "All packages of scripts/build/packages.list are installed." >&2
	exit 0
fi

step "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Another installation on a machine that has just started ends by itself.
install=(apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "${missing[@]}")
# The package index may be absent or too old to find every file it names; only
# then is it worth a download.
"${install[@]}" >&2 || {
	apt-get update -q >&2
	"${install[@]}" >&2
}
