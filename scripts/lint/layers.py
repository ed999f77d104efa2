#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks device/layers: includes go downwards only, and each function is declared
in the header of the file that defines it.

layers.py [--self-test] [DEVICE]

Prints a line for each violation; the exit status is 1 if there is one.
"""

import os
import re
import shutil
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Folders beside device/.
OUTSIDE = ("uapi/", "provider/")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# Both begin in the first column, where nothing inside of a body does.
PROTOTYPE = re.compile(r"^(?!static|typedef|extern|#|_)[a-z][^;{}()=]*?\b(\w+)"
                       r"\([^;{}]*\)[^;{}()]*;", re.M)
DEFINITION = re.compile(r"^(?!static|typedef|#|_)[a-z][^;{}()=]*?\b(\w+)"
                        r"\([^;{}]*\)\s*^\{", re.M)


class Layers:
    """What device/layers says."""

    def __init__(self, path):
        self.uses = {}
        self.order = {}
        self.shared = set()
        with open(path, encoding="utf-8") as file:
            for line in file:
                line = line.split("#")[0].strip()
                if line:
                    self._line(line)

    def _line(self, line):
        key, value = (part.strip() for part in line.split(":", 1))
        if key == "shared":
            self.shared |= set(value.split())
        elif key.endswith(" order"):
            self.order[key[:-len(" order")].strip()] = [
                [tier.split() for tier in chain.split(">")]
                for chain in value.split(";")]
        else:
            self.uses[key] = value.split()

    def layer_of(self, path):
        """The layer of a file named from device/; None if it is in none."""
        folder = os.path.dirname(path) or "."
        while folder not in self.uses:
            if not folder or folder == ".":
                return None
            folder = os.path.dirname(folder)
        return folder

    def why_not(self, source, target):
        """Why a file may not include another one, or None."""
        layer = self.layer_of(source)
        if layer is None:
            return "is in no layer"
        if target.startswith(OUTSIDE):
            other = target.split("/")[0]
        else:
            other = self.layer_of(target)
        if layer == other:
            return self._order(layer, source, target)
        if self.uses[layer] == ["*"] or other in self.uses[layer]:
            return None
        return f"layer {layer} may not use layer {other}"

    def _order(self, layer, source, target):
        names = [os.path.splitext(os.path.basename(path))[0]
                 for path in (source, target)]
        if names[0] == names[1]:
            return None
        for chain in self.order.get(layer, []):
            place = {name: at for at, tier in enumerate(chain)
                     for name in tier}
            if all(name in place for name in names) and \
                    place[names[0]] >= place[names[1]]:
                return f"{names[0]} is not above {names[1]} in layer {layer}"
        return None


def read_tree(device):
    """All sources and headers by name from device/."""
    files = {}
    for folder, _, names in os.walk(device):
        for name in names:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, device)] = file.read()
    return files


def check_includes(layers, files):
    """Includes that do not go downwards."""
    for source in sorted(files):
        for target in INCLUDE.findall(files[source]):
            if target not in files and not target.startswith(OUTSIDE):
                yield f"{source}: {target} is not named from device/"
                continue
            why = layers.why_not(source, target)
            if why:
                yield f"{source}: includes {target}: {why}"


def check_declarations(layers, files):
    """Functions that are not declared where they are defined."""
    code = {path: COMMENT.sub("", text) for path, text in files.items()
            if not path.startswith("tests/")}
    defined = {}
    for path, text in code.items():
        if path.endswith(".c"):
            for name in DEFINITION.findall(text):
                defined.setdefault(name, path)
    for path in sorted(code):
        if not path.endswith(".h") or layers.layer_of(path) in layers.shared:
            continue
        for name in PROTOTYPE.findall(code[path]):
            if name not in defined:
                yield f"{path}: {name}() is defined nowhere"
            elif defined[name] != path[:-1] + "c":
                yield f"{path}: {name}() is defined in {defined[name]}"


def check(device):
    """All violations, a line each."""
    layers = Layers(os.path.join(device, "layers"))
    files = read_tree(device)
    return [*check_includes(layers, files), *check_declarations(layers, files)]


# A line that the check must find, and the file that it is added to.
BAD_LINES = (
    ("base/loop.c", '#include "rdma/rnic.h"\n', "may not use layer rdma"),
    ("packet/pkt.h", '#include "uapi/virtio_net_roce.h"\n',
     "may not use layer uapi"),
    ("rdma/object/cq.c", '#include "rdma/qp/qp.h"\n',
     "may not use layer rdma/qp"),
    ("rdma/qp/flow.c", '#include "rdma/qp/qp.h"\n', "flow is not above qp"),
    ("rdma/qp/ud.h", '#include "rdma/qp/requester.h"\n',
     "ud is not above requester"),
    ("ether/switch.c", '#include "vhost_user/vhost_user.h"\n',
     "may not use layer vhost_user"),
    ("base/log.h", "int loop_run(struct loop *loop, int *stop);\n",
     "loop_run() is defined in base/loop.c"),
)


def self_test(device):
    """Each bad line makes the check fail, for the right reason."""
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, "device")
        shutil.copytree(device, copy)
        for path, line, why in BAD_LINES:
            name = os.path.join(copy, path)
            with open(name, encoding="utf-8") as file:
                text = file.read()
            with open(name, "w", encoding="utf-8") as file:
                file.write(text + line)
            found = check(copy)
            if not any(entry.startswith(path) and why in entry
                       for entry in found):
                failed.append(f"{path}: not found: {line.strip()}")
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
    return failed


def main():
    """Returns the exit status."""
    args = sys.argv[1:]
    run = check
    if args[:1] == ["--self-test"]:
        run = self_test
        args = args[1:]
    found = run(args[0] if args else os.path.join(TOP, "device"))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
