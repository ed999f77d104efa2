# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The commands in the literal blocks of the documents, and what tests/documents.txt says."""

import fnmatch
import re
import shutil

from . import paths

LIST = paths.TOP / "tests" / "documents.txt"
FILES = ("*.md", "Documentation/*.rst")

# A line of a recipe that tells where it is typed, and the prompt of a shell.
_PROMPT = re.compile(r"^(?:\w+# |\$ )")

# Programs that this machine may not have.
_OTHERS = re.compile(r"(vhost-user-roce|qemu-system|ibv?_|fi_|mpirun|ucx_|build/|scripts/|"
                     r"(apt|adduser|reboot|mapfile|export|cd|rdma|modprobe|depmod|perf|qperf|systemctl|"
                     r"update-initramfs|rpc\.nfsd|nc\.traditional|git)$)")


def _markdown(lines):
    """The fenced blocks."""
    block = None
    for line in lines:
        if line.startswith("```"):
            if block is not None:
                yield block
            block = [] if block is None else None
        elif block is not None:
            block.append(line)


def _restructured(lines):
    """The blocks that are indented after a paragraph that ends with two colons."""
    block, margin = None, 0
    for line in [*lines, "end"]:
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= margin:
            yield block
            block = None
        if block is not None:
            block.append(line.strip())
        elif line.rstrip().endswith("::") and not line.startswith(".. "):
            # A block of an item of a list is indented from its text on.
            block, margin = [], indent


def _commands(block):
    """The commands of a block, continued lines joined, without prompts and comments."""
    joined = re.sub(r"(?:\\|(?<=\|)|(?<=&&))\n\s*", " ", "\n".join(block))
    lines = [line for line in joined.splitlines() if line.strip()]
    if any(_PROMPT.match(line) for line in lines):
        lines = [line for line in lines if _PROMPT.match(line)]
    lines = [re.sub(r"\s+(#\s.*|&)$", "", _PROMPT.sub("", line)).strip() for line in lines]
    return [re.sub(r"\s+", " ", line) for line in lines]


def _is_command(line):
    word = line.split()[0] if line.split() else ""
    return bool(re.match(r"[A-Za-z]\w*=\S", line) or _OTHERS.match(word)
                or re.match(r"[a-z][\w.+/-]*$", word) and shutil.which(word))


def blocks():
    """Yields, for each block of commands, its file and the commands."""
    for path in sorted(path for pattern in FILES for path in paths.TOP.glob(pattern)):
        lines = path.read_text(encoding="utf-8").splitlines()
        for block in (_markdown if path.suffix == ".md" else _restructured)(lines):
            commands = _commands(block)
            if commands and _is_command(commands[0]):
                yield path.name, [line for line in commands if _is_command(line)]


def rows():
    """The rows of the list: where, pattern, why."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [[field.strip() for field in line.split("|")] for line in lines
            if line.strip() and not line.startswith("#")]


def where(command):
    """Where a command is run, or None if no row names it."""
    for place, pattern, _ in rows():
        if fnmatch.fnmatchcase(command, pattern.replace("[", "[[]")):
            return place
    return None
