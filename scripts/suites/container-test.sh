#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# container-test.sh
#
# Builds the image of the Containerfile with podman and runs it: "make demo" in a container.
# The base image is a Debian 12 that debootstrap makes, so nothing is fetched but packages.

. "$(dirname "$0")/../lib.sh"

image=localhost/virtio-net-roce-test
base=localhost/virtio-net-roce-test-base
# Images and volumes of the user are not touched: this test has a store of its own.  Where it
# runs in a container itself, only runc accepts its control groups, and limits cannot be
# raised.
store=$build/containers
pod=(podman --root "$store/root" --runroot "$store/run" --cgroup-manager cgroupfs --runtime runc)
limits=(--ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=10000:10000)

{ command -v podman && command -v runc; } > /dev/null ||
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends podman runc >&2

remove_store()
{
	"${pod[@]}" rmi -af >/dev/null 2>&1 || true
	rm -rf --one-file-system "$store" "$build/container-source"
}
trap 'remove_store; at_exit' EXIT
remove_store
mkdir -p "$store"

step "container: base image"
tree=$("$top/scripts/images/trees.sh" bookworm)
tar -C "$tree" -c . | "${pod[@]}" import --quiet - "$base" >&2

step "container: podman build"
copy=$build/container-source
mkdir -p "$copy"
rsync -a --exclude /build --exclude /.git "$top/" "$copy"
log=$build/container-test.log
if ! "${pod[@]}" build --quiet --isolation chroot --network host --build-arg "BASE=$base" -t "$image" "$copy" \
	> "$log" 2>&1; then
	tail -n 40 "$log" >&2
	record container 0 1
	exit
fi

step "container: podman run, which makes the demo"
# The cache of the machine in the place of the volume: its entries are the same.
if "${pod[@]}" run --rm --privileged "${limits[@]}" --network host \
	-v "$cache:/root/.cache/virtio-net-roce" "$image" >> "$log" 2>&1 &&
   grep -q '^ping-pong of 4 KiB.*x$' "$log"; then
	grep -A 3 'virtio-net RoCE     Soft-RoCE' "$log" >&2
	record container 1 0
else
	tail -n 60 "$log" >&2
	record container 0 1
fi
