#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks device/layers and the layers of the RDMA driver and of nvmft: includes go downwards only, and
each function is declared in the header of the file that defines it.

layers.py [--self-test] [TOP]

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

# Folders that are layers from top to bottom, as their file "layers" says.
LAYERED = ("drivers/infiniband/hw/virtio_roce", "nvmft")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# Both begin in the first column, where nothing inside of a body does.
PROTOTYPE = re.compile(r"^(?!static|typedef|extern|#|_)[a-z][^;{}()=]*?\b(\w+)"
                       r"\([^;{}]*\)[^;{}()]*;", re.M)
DEFINITION = re.compile(r"^(?!static|typedef|#|_)[a-z][^;{}()=]*?\b(\w+)"
                        r"\([^;{}]*\)\s*^\{", re.M)


class Layers:
    """The contents of device/layers."""

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


class Order(Layers):
    """The "layers" of a flat folder; headers are named without a folder."""

    def __init__(self, path):
        self.uses = {".": []}
        self.shared = set()
        with open(path, encoding="utf-8") as file:
            text = "".join(line.split("#")[0] for line in file)
        tiers = text.split("order:")[1].split(">")
        self.order = {".": [[tier.split() for tier in tiers]]}

    def names(self):
        """All files that are in a layer."""
        return {name for tier in self.order["."][0] for name in tier}


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


def check_layers(folder):
    """Includes of a layered folder that do not go downwards, and files in no layer."""
    order = Order(os.path.join(folder, "layers"))
    files = read_tree(folder)
    known = {os.path.splitext(name)[0] for name in files}
    for name in sorted(known ^ order.names()):
        yield f"{name}: " + ("is in no layer" if name in known else "does not exist")
    for source in sorted(files):
        for target in INCLUDE.findall(files[source]):
            if target in files:
                why = order.why_not(source, target)
                if why:
                    yield f"{source}: includes {target}: {why}"
    yield from check_declarations(order, files)


def check(top):
    """All violations, a line each."""
    device = os.path.join(top, "device")
    layers = Layers(os.path.join(device, "layers"))
    files = read_tree(device)
    found = [*check_includes(layers, files), *check_declarations(layers, files)]
    for folder in LAYERED:
        found += [f"{folder}/{line}" for line in check_layers(os.path.join(top, folder))]
    return found


DRIVER = LAYERED[0] + "/"

# A line that the check must find, and the file that it is added to.
BAD_LINES = (
    ("device/base/loop.c", '#include "rdma/rnic.h"\n', "may not use layer rdma"),
    ("device/packet/pkt.h", '#include "uapi/virtio_net_roce.h"\n',
     "may not use layer uapi"),
    ("device/rdma/object/cq.c", '#include "rdma/qp/qp.h"\n',
     "may not use layer rdma/qp"),
    ("device/rdma/qp/flow.c", '#include "rdma/qp/qp.h"\n', "flow is not above qp"),
    ("device/rdma/qp/ud.h", '#include "rdma/qp/requester.h"\n',
     "ud is not above requester"),
    ("device/ether/switch.c", '#include "vhost_user/vhost_user.h"\n',
     "may not use layer vhost_user"),
    ("device/base/log.h", "int loop_run(struct loop *loop, int *stop);\n",
     "loop_run() is defined in base/loop.c"),
    (DRIVER + "vroce_mem.c", '#include "vroce_cq.h"\n',
     "vroce_mem is not above vroce_cq"),
    (DRIVER + "vroce_obj.c", '#include "vroce_kept.h"\n',
     "vroce_obj is not above vroce_kept"),
    ("nvmft/rnic.c", '#include "link.h"\n', "rnic is not above link"),
    (DRIVER + "vroce_cq.h", "void vroce_cmd_run(int n);\n",
     "vroce_cmd_run() is defined in vroce_cmd.c"),
)


def self_test(top):
    """Each bad line makes the check fail, for the right reason."""
    failed = []
    with tempfile.TemporaryDirectory() as copy:
        for folder in ("device", *LAYERED):
            shutil.copytree(os.path.join(top, folder), os.path.join(copy, folder))
        for path, line, why in BAD_LINES:
            name = os.path.join(copy, path)
            with open(name, encoding="utf-8") as file:
                text = file.read()
            with open(name, "w", encoding="utf-8") as file:
                file.write(text + line)
            found = check(copy)
            if not any(path.endswith(entry.split(":")[0].removeprefix("device/"))
                       and why in entry for entry in found):
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
    found = run(args[0] if args else TOP)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
