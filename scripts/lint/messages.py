#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Messages and what Documentation/troubleshooting.rst says about them agree.

Each message of the modules, of the daemon and of nvmft that is more than a detail is quoted there,
and what is quoted there is in the sources.  Each reason that a function returns as a text,
for a message such as "%s: %s", is quoted as well.  N, NAME, PATH and ERROR stand for anything.

With --list it prints the messages.  With --self-test it sees that it finds what is wrong.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = TOP / "Documentation" / "troubleshooting.rst"
# Folders that print messages, and those whose words may be quoted besides.
PRINTING = ("drivers", "device", "nvmft")
QUOTED = ("drivers", "device", "nvmft", "provider")

# Functions here return texts that are printed: why a command, a queue or an uplink failed.
REASONING = ("device/rdma", "device/virtio", "device/uplink")

# Quotations there with a blank in them that are of others, or not a message.
OTHERS = {
    "Address already in use",
    "'vhost-user-test-device-pci' is not a valid device model name",
    "Failed to connect",
    "No such file or directory",
    "Permission denied",
    "Key was rejected by service",
    "dkms status",
    "dkms autoinstall",
    "modinfo virtio_net_roce",
    "linux-headers-$(uname -r)",
    "File exists",
    "Operation not permitted",
    "rdma link",
    "ibv_devinfo -v",
    "systemctl reload",
    "dmesg | grep -i roce",
    "libibverbs: Warning: no userspace device-specific driver found for ...",
    "fio: cq completion status 13(RNR retry counter exceeded)",
    "libibverbs: Warning: couldn't load driver 'libvirtio_roce-rdmav34.so'",
}
# Texts that two messages make together, or a message and an error of the C library.
COMPOSED = {
    "GSI refused; for a connection manager load ib_core with a smaller send_queue_size",
    "cannot listen: Address already in use",
    "cannot listen: Permission denied",
    "cannot listen: Read-only file system",
}

PRINTERS = re.compile(
    r"\b(?:(?:pr|dev|pci|netdev|ibdev)_(?:err|warn|notice|info)(?:_ratelimited|_once)?|"
    r"log_error|log_warn|rnic_warn)\s*\(")
STRING = r'"((?:[^"\\]|\\.)*)"'
# Strings beside each other, with macros for conversions between them, are one.
LITERAL = re.compile(rf"{STRING}(?:\s*(?:PRI\w+\s*)?{STRING})*")
# Places of a text that says why: in a function that returns one, or where one is kept.
FUNCTION = re.compile(r"^(?:static )?(?:inline )?const char \*\w+\([^;{]*\)[^;{]*\n\{\n(.*?)^\}",
                      re.MULTILINE | re.DOTALL)
RETURN = re.compile(r"\breturn\b([^;]*);")
KEPT = re.compile(rf"\*?\bwhy = ({STRING})|static const char \w+\[\] =\s*({STRING});|"
                  rf"^\t(?:RANGE|FLAGS)\(.*?({STRING})\)", re.MULTILINE | re.DOTALL)
CONVERSION = re.compile(r"%[-+ #0]*\d*(?:hh|h|ll|l|z|j)?(?:[diuxXsc]|pe)|%(?=[^a-z]|$)")
ANYTHING = re.compile(r"\b(?:N|NAME|PATH|ERROR)\b")


def formats(text, printers):
    """Format strings in a source: all, or those of calls of printers."""
    if printers:
        # An argument before the string has none, nor the end of a statement.
        literals = (LITERAL.match(text, re.compile(r'[^";{]*').match(text, call.end()).end())
                    for call in printers.finditer(text))
    else:
        literals = LITERAL.finditer(text)
    for literal in literals:
        if literal:
            fmt = "".join(re.findall(STRING, literal[0]))
            yield re.sub(r"\\(.)", r"\1", fmt.removesuffix("\\n"))


def sources(folders, printers=None):
    """Format strings in the sources of folders, and where they are."""
    found = {}
    for folder in folders:
        for path in sorted((TOP / folder).rglob("*.[ch]")):
            if "tests" in path.relative_to(TOP).parts:
                continue
            for fmt in formats(path.read_text(), printers):
                found.setdefault(fmt, path.relative_to(TOP))
    return found


def reasons(text):
    """Texts of more than a word that functions of a source return or keep."""
    found = [literal for function in FUNCTION.findall(text)
             for returned in RETURN.findall(function)
             for literal in LITERAL.finditer(returned)]
    found += KEPT.finditer(text)
    for literal in found:
        fmt = "".join(re.findall(STRING, literal[0]))
        if " " in fmt:
            yield re.sub(r"\\(.)", r"\1", fmt)


def all_reasons():
    """The same of all sources, and where they are."""
    found = {}
    for folder in REASONING:
        for path in sorted((TOP / folder).rglob("*.[ch]")):
            for fmt in reasons(path.read_text()):
                found.setdefault(fmt, path.relative_to(TOP))
    return found


def letters(text):
    """How much of a text is words."""
    return len(re.findall("[A-Za-z]", text))


def quotes(text, fmt):
    """Is a text a message of this format?  The caller's prefix may be left out."""
    fmt = re.sub(r"^(?:vhost-user-roce-ctl: )?%s: ", "", fmt)
    parts = [re.escape(part) for part in CONVERSION.split(fmt)]
    return re.fullmatch(rf"(?:(?:{ANYTHING.pattern}|[A-Z_]+): )?{'.*'.join(parts)}", text)


def mostly(text, fmt):
    """Are most words of a text those of the format?"""
    return 2 * letters(CONVERSION.sub("", fmt)) >= letters(ANYTHING.sub("", text))


def quotations(text):
    """The quotations, each in one line."""
    return {" ".join(quoted.split()) for quoted in re.findall(r"``([^`]+)``", text)}


def problems(printed, known, quoted):
    """Texts that are not in the document, and texts that are there and nowhere else."""
    for fmt, path in printed.items():
        # A format of arguments alone says nothing by itself.
        if letters(CONVERSION.sub("", fmt)) and not any(quotes(text, fmt) for text in quoted):
            yield f"{path}: error: message is not in {DOCUMENT.name}: {fmt}"
    for text in sorted(quoted - OTHERS - COMPOSED):
        if " " in text and not any(mostly(text, fmt) and quotes(text, fmt)
                                    for fmt in known):
            yield f"{DOCUMENT.name}: error: nobody says: {text}"


def self_test():
    """Finds one that is missing and one that is wrong, and nothing else."""
    printed = {"%s: queue %u is broken: %s": "a.c", "it is lost": "a.c", "%s: %s": "a.c"}
    assert not list(problems(printed, printed, {"queue N is broken: ERROR", "it is lost", "word"}))
    assert len(list(problems(printed, printed, {"queue N is broken: ERROR"}))) == 1
    assert len(list(problems(printed, printed, {"queue N is broken: ERROR", "it is lost",
                                                "it was lost"}))) == 1
    call = 'x = "no"; dev_err(dev,\n "a %u " PRIu64\n"b\\n", y); s = "no";'
    assert list(formats(call, PRINTERS)) == ["a %u b"], list(formats(call, PRINTERS))
    code = ('static const char kept[] = "is kept";\n\tRANGE(A, a, 0, 31,\n\t      "out of range"),\n'
            'static const char *f(int a,\n\t\t      int b)\n{\n\tif (a)\n\t\treturn "too "\n'
            '\t\t       "long";\n\t*why = "for a reason";\n\treturn b ? NULL : "no";\n}\n'
            'static int g(void)\n{\n\treturn log("a text");\n}\n')
    assert set(reasons(code)) == {"is kept", "out of range", "too long", "for a reason"}


def main():
    """Runs what the command line says."""
    if "--self-test" in sys.argv:
        self_test()
        return 0
    printed = {**sources(PRINTING, PRINTERS), **all_reasons()}
    if "--list" in sys.argv:
        for fmt, path in printed.items():
            print(f"{path}: {fmt}")
        return 0
    assert len(printed) > 250, "the sources look different than this program thinks"
    found = list(problems(printed, sources(QUOTED), quotations(DOCUMENT.read_text())))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
