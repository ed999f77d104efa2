#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Makes RPM packages of packaging/rpm with the rpmbuild of Debian 13, and looks whether what
# is in them is what it should be and runs.  They are in build/rpms/ then, and fit no
# distribution: the daemon needs Debian's libraries, the provider is for Debian's rdma-core.

. "$(dirname "$0")/../lib.sh"

tree=$("$top/scripts/images/trees.sh" rpm)
version=$(cat "$top/VERSION")
out=$build/rpms
passed=0
failed=0

# expect TEXT COMMAND...
expect()
{
	local text=$1

	shift
	if "$@" >> "$out/test.log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $text"
	fi
}

exclusive rpms
rm -rf "$out"
mkdir -p "$out/SOURCES"
step "RPM packages"
name=virtio-net-roce-$version
git -C "$top" ls-files -z --cached --others --exclude-standard -- VERSION Makefile Kbuild \
	dkms.conf.in drivers include uapi provider device nvmft Documentation/*.[18] LICENSES packaging \
	':!device/tests' scripts/build/provider-in-rdma-core |
	tar -C "$top" -cz --null -T - --transform "s,^,$name/," -f "$out/SOURCES/$name.tar.gz"
# The required packages have other names here; debug information is not asked for.
# shellcheck disable=SC2016
expect "rpmbuild makes the packages" "$top/scripts/images/in-tree" "$tree" sh -ec '
	source=$(echo /usr/src/rdma-core-*)
	tar -C /usr/src -czf "$2/SOURCES/${source##*/}.tar.gz" "${source##*/}"
	rpmbuild -bb --nodeps -D "_topdir $2" -D "debug_package %{nil}" \
		-D "rdma_core ${source##*-}" "$1/packaging/rpm/virtio-net-roce.spec"
	# Where these would be installed.
	rpm --root "$2/root" --initdb
	rpm --root "$2/root" -i --nodeps --noscripts "$2"/RPMS/*/*.rpm
' sh "$top" "$out"
for file in usr/sbin/vhost-user-roce usr/lib/systemd/system/vhost-user-roce@.service \
	usr/share/doc/vhost-user-roce/examples/lan.conf "usr/src/$name/dkms.conf" \
	usr/bin/virtio-roce-nvmft usr/include/infiniband/virtio_rocedv.h \
	usr/lib/dracut/dracut.conf.d/50-virtio-net-roce.conf etc/libibverbs.d/virtio_roce.driver; do
	expect "$file is installed" test -s "$out/root/$file"
done
# shellcheck disable=SC2016
expect "the daemon tells its version" "$top/scripts/images/in-tree" "$tree" sh -c \
	'[ "$("$1" --version)" = "vhost-user-roce $2" ]' sh "$out/root/usr/sbin/vhost-user-roce" \
	"$version"
expect "there is one provider" test -s "$(echo "$out"/root/usr/lib*/libibverbs/libvirtio_roce-*.so)"
# shellcheck disable=SC2016
expect "the scripts are such" "$top/scripts/images/in-tree" "$tree" sh -ec '
	for package in "$1"/RPMS/*/*.rpm; do
		for script in prein preun postin postun; do
			text=$(rpm -qp --qf "%{$script}" "$package")
			[ "$text" = "(none)" ] || echo "$text" | tee /dev/stderr | sh -n
		done
	done
' sh "$out"
[ "$failed" -eq 0 ] || tail -n 30 "$out/test.log"
record rpm "$passed" "$failed"
