# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# "make demo" shows two guests talking RDMA; "make check" tests everything.
# Both work on a fresh Debian 12 as root, and need nothing before them.
# All that is made here lies in build/ and in a cache of the user, either of
# which may be deleted at any time (scripts/lib.sh tells more).

O := $(CURDIR)/build
VERSION := $(shell cat VERSION)

# Where "make install" puts things, below DESTDIR.
prefix ?= /usr/local
bindir ?= $(prefix)/bin
sbindir ?= $(prefix)/sbin
includedir ?= $(prefix)/include
libdir ?= $(prefix)/lib
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/vhost-user-roce
sysconfdir ?= /etc
# Below it are the places of systemd, udev and dracut.
sharedlibdir ?= $(prefix)/lib
# DKMS looks nowhere else.
dkmsdir ?= /usr/src/virtio-net-roce-$(VERSION)
# Hooks of an administrator's own; a package has them in /usr/share.
hooksdir ?= /etc/initramfs-tools/hooks
INSTALL ?= install

.PHONY: all dependencies packages rpms modules provider device nvmft device-variants device-tests lint unit counts fused-long bench fuzz fuzz-short \
	kunit kunit-debug guest-tests guest-fast guest-debug check-debug conformance conformance-bookworm conformance-forky \
	interop apps apps-short fabtests fresh-build-test demo figures upstream upstream-check \
	qemu-migration \
	install install-modules install-guest install-provider install-dev install-nvmft \
	install-device install-test provider-versions \
	shell check check-fast soak container-test release-check clean distclean help

# Targets that use the same files must not run side by side; what can run in
# parallel does so inside the scripts.
.NOTPARALLEL:

all: modules provider device nvmft

help:
	@echo 'make             modules, provider and device daemon, into build/'
	@echo 'make demo        two guests, a ping-pong over RDMA, figures'
	@echo 'make install     what was built, and the sources of the modules for DKMS;'
	@echo '                 DESTDIR, prefix, and install-modules, -guest, -provider, -device;'
	@echo '                 install-dev and -nvmft: direct verbs, and a program that uses them'
	@echo 'make packages    Debian packages, into build/packages/; RELEASE=bookworm (or'
	@echo '                 forky): for that one, into build/packages-bookworm/'
	@echo 'make rpms        RPM packages, into build/rpms/, to see that the spec file works'
	@echo 'make provider RDMA_CORE=VERSION  for another version of rdma-core'
	@echo 'make upstream    patch series for Linux and rdma-core, into build/upstream/;'
	@echo '                 upstream-check: and applies and compiles them'
	@echo 'make shell       the same guests, with a console to each'
	@echo 'make check       installs packages, builds, runs all tests:'
	@echo '                 unit guest-tests conformance check-debug'
	@echo '                 apps-short fresh-build-test lint counts fuzz-short; 40 minutes'
	@echo 'make check-fast  lint unit kunit-debug and the first guest tests; 5 minutes'
	@echo 'make soak        guest tests in full volume, fifty million fuzzed inputs; hours'
	@echo 'make container-test   the demo in a container, by podman'
	@echo 'make release-check    whether this commit can be released; an hour and a half'
	@echo 'make check-debug KUnit and guests on a kernel that watches for mistakes'
	@echo 'make interop     with Soft-RoCE and over lossy links, the long form'
	@echo 'make apps        programs as Debian has them, between two guests'
	@echo "make fabtests    libfabric's own tests, between two guests"
	@echo 'make conformance rdma-core'\''s own tests on our device'
	@echo 'make fuzz        ten million inputs for each of the daemon'\''s fuzzers'
	@echo 'make counts      instructions of the daemon for each kind of message'
	@echo 'make bench       rates, latencies and memory of the daemon, as JSON and SVG'
	@echo 'make figures     measures for README.md, and writes its table and plot'
	@echo 'make clean       deletes build/; distclean: the cache too'

dependencies:
	@scripts/build/install-packages.sh

# RELEASE=bookworm or forky makes them for another release of Debian than 13, into
# build/packages-RELEASE.
packages: dependencies
	@scripts/build/packages.sh $(RELEASE)

rpms:
	@scripts/build/rpms.sh

modules:
	@scripts/build/modules.sh guest

# RDMA_CORE=VERSION builds it for another version than the guests', into
# build/provider-VERSION.
provider:
	@scripts/build/provider.sh

# A target of NVMe over Fabrics for guests.
nvmft:
	@scripts/build/nvmft.sh

# Documentation/upstreaming.rst tells more.
upstream: dependencies
	@scripts/build/upstream.sh

# QEMU with the patches that let it move a guest, into the cache.
qemu-migration:
	@scripts/build/qemu-migration.sh

upstream-check:
	@scripts/build/upstream.sh --check

# The other versions that Debian has.
provider-versions:
	@scripts/build/provider.sh --versions

device:
	@echo '==> device daemon'
	@$(MAKE) -s -j"$$(nproc)" --no-print-directory -C device O=$(O)/device

# Some guest tests want a daemon that reports the least misstep of its own, or of a driver.
# "count" has objects in common with the bench: lanes of "make check" must not make them at a
# time.
device-variants: device
	@$(MAKE) -s -j"$$(nproc)" --no-print-directory -C device O=$(O)/device \
		$(O)/device/asan/vhost-user-roce $(O)/device/vhost-user-roce-strict \
		$(O)/device/vhost-user-roce-hostile \
		$(O)/device/vhost-user-roce-next $(O)/device/service_guests $(O)/device/count

# The daemon's unit tests, not run.
device-tests:
	@$(MAKE) -s -j"$$(nproc)" --no-print-directory -C device O=$(O)/device check-programs

lint:
	@scripts/lint/lint.sh

unit:
	@scripts/suites/unit.sh

# Instructions of the engine for each message, against those stored in the tree.
counts:
	@$(MAKE) -s -j"$$(nproc)" --no-print-directory -C device O=$(O)/device count
	@scripts/suites/counts.sh

# Random schedules by the short way of a message and by the long one; some hours.
fused-long: device-tests
	@scripts/suites/fused.sh 200000

# Needs two processors that have nothing else to do, so it is not in "make check".
bench:
	@scripts/suites/bench.sh

# Ten million inputs for each fuzzer take hours; "make check" has two minutes of it.
fuzz:
	@scripts/suites/fuzz.sh -runs=10000000

fuzz-short:
	@scripts/suites/fuzz.sh

kunit:
	@scripts/suites/kunit.sh plain

guest-tests: all device-variants
	@scripts/suites/guest-tests.sh

guest-fast: all device-variants
	@scripts/suites/guest-tests.sh --suite guest-fast tests/test_skeleton.py

guest-debug: all device-variants
	@scripts/suites/guest-tests.sh --debug

kunit-debug:
	@scripts/suites/kunit.sh debug

# Both, whatever becomes of the first.
check-debug: all device-variants
	@rc=0; scripts/suites/kunit.sh debug || rc=1; \
	scripts/suites/guest-tests.sh --debug || rc=1; exit $$rc

interop: all device-variants
	@LAB_LONG=1 scripts/suites/guest-tests.sh tests/test_interop.py tests/test_lossy.py

# "make check" has the short form.
apps: all
	@LAB_LONG=1 scripts/suites/apps.sh

apps-short: all
	@scripts/suites/apps.sh

fabtests: all
	@scripts/suites/fabtests.sh

conformance: all
	@scripts/suites/conformance.sh

# On the kernels of Debian 12 and the next one; the latter has its own rdma-core.
conformance-bookworm conformance-forky: device
	@scripts/images/system-image.sh $(@:conformance-%=%) > /dev/null
	@scripts/suites/conformance.sh --release $(@:conformance-%=%)

fresh-build-test:
	@scripts/suites/fresh-build-test.sh

# Who wants to write programs for the direct verbs adds install-dev, and install-nvmft the
# example of one.
install: install-modules install-guest install-provider install-device

# The sources, without the KUnit suites, as DKMS wants them.
install-modules:
	set -e; find Kbuild drivers include uapi -type f | while read -r file; do \
		$(INSTALL) -D -m 644 "$$file" "$(DESTDIR)$(dkmsdir)/$$file"; \
	done
	sed 's/@VERSION@/$(VERSION)/' dkms.conf.in > '$(DESTDIR)$(dkmsdir)/dkms.conf'

# What makes a guest load the modules early and lets its users register memory.
install-guest:
	set -e; put() { $(INSTALL) -D -m "$$1" "packaging/guest/$$2" "$(DESTDIR)$$3"; }; \
	put 644 udev.rules '$(sharedlibdir)/udev/rules.d/75-virtio-net-roce.rules'; \
	put 644 dracut.conf '$(sharedlibdir)/dracut/dracut.conf.d/50-virtio-net-roce.conf'; \
	put 644 sysusers.conf '$(sharedlibdir)/sysusers.d/virtio-net-roce.conf'; \
	put 644 limits.conf '$(sysconfdir)/security/limits.d/50-virtio-net-roce.conf'; \
	put 755 initramfs-hook '$(hooksdir)/virtio-net-roce'

install-provider:
	$(INSTALL) -d '$(DESTDIR)$(libdir)/libibverbs' '$(DESTDIR)$(sysconfdir)/libibverbs.d'
	$(INSTALL) -m 644 $(O)/provider/libvirtio_roce-rdmav*.so '$(DESTDIR)$(libdir)/libibverbs'
	$(INSTALL) -m 644 $(O)/provider/virtio_roce.driver '$(DESTDIR)$(sysconfdir)/libibverbs.d'
	ln -sf libibverbs/$$(basename $(O)/provider/libvirtio_roce-rdmav*.so) \
		'$(DESTDIR)$(libdir)/libvirtio_roce.so.1'

# For programs that use the direct verbs.
install-dev:
	$(INSTALL) -d '$(DESTDIR)$(includedir)/infiniband' '$(DESTDIR)$(libdir)/pkgconfig' \
		'$(DESTDIR)$(mandir)/man3' '$(DESTDIR)$(mandir)/man7'
	$(INSTALL) -m 644 provider/virtio_rocedv.h '$(DESTDIR)$(includedir)/infiniband'
	sed 's,@prefix@,$(prefix),; s,@libdir@,$(libdir),; s,@includedir@,$(includedir),' \
		packaging/guest/libvirtio_roce.pc.in > \
		'$(DESTDIR)$(libdir)/pkgconfig/libvirtio_roce.pc'
	sed -i 's,@VERSION@,$(VERSION),' '$(DESTDIR)$(libdir)/pkgconfig/libvirtio_roce.pc'
	ln -sf libvirtio_roce.so.1 '$(DESTDIR)$(libdir)/libvirtio_roce.so'
	$(INSTALL) -m 644 provider/man/*.3 '$(DESTDIR)$(mandir)/man3'
	$(INSTALL) -m 644 provider/man/*.7 '$(DESTDIR)$(mandir)/man7'

install-nvmft:
	$(INSTALL) -D -m 755 $(O)/nvmft/virtio-roce-nvmft '$(DESTDIR)$(bindir)/virtio-roce-nvmft'
	$(INSTALL) -D -m 644 Documentation/virtio-roce-nvmft.1 \
		'$(DESTDIR)$(mandir)/man1/virtio-roce-nvmft.1'

install-device:
	$(INSTALL) -d '$(DESTDIR)$(sbindir)' '$(DESTDIR)$(mandir)/man8'
	$(INSTALL) -m 755 $(O)/device/vhost-user-roce $(O)/device/vhost-user-roce-ctl '$(DESTDIR)$(sbindir)'
	$(INSTALL) -m 644 Documentation/*.8 '$(DESTDIR)$(mandir)/man8'
	$(INSTALL) -d '$(DESTDIR)$(sharedlibdir)/systemd/system' '$(DESTDIR)$(sharedlibdir)/sysusers.d'
	sed 's,@sbindir@,$(sbindir),' packaging/host/vhost-user-roce@.service.in > \
		'$(DESTDIR)$(sharedlibdir)/systemd/system/vhost-user-roce@.service'
	$(INSTALL) -m 644 packaging/host/sysusers.conf \
		'$(DESTDIR)$(sharedlibdir)/sysusers.d/vhost-user-roce.conf'
	$(INSTALL) -D -m 644 packaging/host/example.conf '$(DESTDIR)$(docdir)/examples/lan.conf'
	$(INSTALL) -D -m 644 packaging/host/libvirt.xml '$(DESTDIR)$(docdir)/examples/libvirt.xml'

install-test: provider device nvmft
	@scripts/suites/install-test.sh

demo: dependencies all
	@/usr/bin/python3 scripts/suites/demo.py

# The figures of README.md.  Needs a machine that has nothing else to do.
figures: dependencies all
	@/usr/bin/python3 scripts/suites/demo.py --sizes
	@scripts/suites/bench.sh > /dev/null
	@scripts/suites/figures.py

shell: dependencies all
	@/usr/bin/python3 scripts/suites/demo.py --shell

check:
	@scripts/suites/check.sh

check-fast:
	@scripts/suites/check.sh fast

# "make demo" in a container, from the Containerfile.
container-test:
	@scripts/suites/container-test.sh

# What a release needs besides "make check"; an hour and a half.
release-check: dependencies
	@scripts/suites/release-check.sh

soak:
	@scripts/suites/check.sh soak

clean:
	rm -rf build

distclean: clean
	rm -rf "$${XDG_CACHE_HOME:-$$HOME/.cache}/virtio-net-roce"
