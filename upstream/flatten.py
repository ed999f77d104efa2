# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Takes the layer that is for other versions out of sources, as upstream has one version.

The compat headers say what the newest kernel, or the newest rdma-core, needs instead of
what the sources write.  Nothing of these headers is stored here a second time:

  macros and functions of one statement    are put where they are used
  longer functions                         move into the file that uses them
  #ifdef of what a version has             the newest version has it
"""

import dataclasses
import re


class FlattenError(Exception):
    """The sources are not what this expects."""


# ----- conditionals -----

DIRECTIVE = re.compile(r"#\s*(ifdef|ifndef|if|elif|else|endif)\b(.*)")


def conditional(word, rest, defined):
    """The value of a condition: True, False, or None if it is about something else."""
    rest = rest.split("/*")[0].strip()
    if rest == "IS_ENABLED(CONFIG_KUNIT)":
        return False
    if word in ("ifdef", "ifndef"):
        answer = defined(rest)
        return answer if answer is None or word == "ifdef" else not answer
    match = re.fullmatch(r"defined\((\w+)\)", rest)
    return defined(match[1]) if match else None


def unifdef(text, defined):
    """Decides conditionals by "defined", which returns None for names to be left alone."""
    out = []
    # For each open conditional: is it ours, has a branch been taken, is this one taken?
    stack = []
    for line in text.splitlines(keepends=True):
        match = DIRECTIVE.match(line)
        alive = all(taken for _, _, taken in stack)
        if not match:
            if alive:
                out.append(line)
            continue
        word, rest = match.groups()
        if word.startswith("if"):
            answer = conditional(word, rest, defined)
            stack.append((answer is not None, bool(answer), answer is not False))
        elif not stack:
            raise FlattenError(f"#{word} without #if")
        else:
            ours, done, _ = stack[-1]
            if word == "endif":
                stack.pop()
            elif ours:
                taken = not done if word == "else" else \
                    not done and bool(conditional("if", rest, defined))
                stack[-1] = (True, done or taken, taken)
            if ours:
                continue
        if word.startswith("if") and stack[-1][0]:
            continue
        if all(taken for _, _, taken in stack):
            out.append(line)
    return re.sub(r"\n{3,}", "\n\n", "".join(out))


# ----- text -----

def arguments(text, start):
    """The arguments of a call whose "(" is at start, and where it ends."""
    depth, begin, found = 0, start + 1, []
    for i in range(start, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if (text[i] == "," and depth == 1) or depth == 0:
            found.append(" ".join(text[begin:i].split()))
            begin = i + 1
        if depth == 0:
            return found, i + 1
    raise FlattenError("a call does not end")


def width(text):
    """Columns of a line with tabs."""
    return len(text.expandtabs(8))


def fold(before, call, after, limit=80):
    """A call with its arguments aligned, as the kernel has them."""
    match = re.match(r"([\w.>&*-]+)\(", call)
    if not match or width(before + call + after) <= limit:
        return before + call + after
    args, end = arguments(call, match.end() - 1)
    column = width(before + match[0])
    indent = "\t" * (column // 8) + " " * (column % 8)
    lines = [before + match[0]]
    for i, arg in enumerate(args):
        piece = arg + ("," if i + 1 < len(args) else ")" + call[end:] + after)
        space = "" if lines[-1].endswith("(") else " "
        if width(lines[-1] + space + piece.split("\n")[0]) > limit and not lines[-1].endswith("("):
            lines.append(indent + piece)
        else:
            lines[-1] += space + piece
    return "\n".join(lines)


# ----- the compat header -----

@dataclasses.dataclass
class Compat:
    """The contents of a compat header, once its conditionals are decided."""

    macros: dict        # name: what it stands for
    inline: dict        # name: (parameters, expression)
    functions: dict     # name: text

    FUNCTION = re.compile(
        r"^(/\*(?:(?!\*/).)*?\*/\n)?"
        r"static inline ([^;{]*?)\b(\w+)\(([^)]*)\)\n\{\n(.*?)^\}\n", re.M | re.S)

    @staticmethod
    def not_inline(text):
        """The text of a function that is static only, its parameters aligned again."""
        comment = re.match(r"/\*(?:.|\n)*?\*/\n", text)
        comment = comment[0] if comment else ""
        head, body = text.removeprefix(comment).split("\n{\n", 1)
        one_line = "(" in re.search(r"^static inline .*$", head, re.M)[0]
        out = []
        for line in head.split("\n"):
            indent = line[:len(line) - len(line.lstrip())]
            if one_line and indent:
                column = width(indent) - len("inline ")
                line = "\t" * (column // 8) + " " * (column % 8) + line.lstrip()
            out.append(re.sub(r"^static inline", "static", line))
        return comment + "\n".join(out) + "\n{\n" + body

    @classmethod
    def read(cls, text, defined):
        text = unifdef(text, defined)
        macros = {}
        for match in re.finditer(r"^#define (\w+)[ \t]+((?:.*\\\n)*.*)\n", text, re.M):
            macros[match[1]] = match[2].strip()
        inline, functions = {}, {}
        for match in cls.FUNCTION.finditer(text):
            _, _, name, declared, body = match.groups()
            body = " ".join(body.split())
            one = re.fullmatch(r"(?:return )?([^;]*);", body)
            parameters = [re.search(r"(\w+)(?:\[\])?$", p.strip())[1]
                          for p in declared.split(",")]
            if one:
                inline[name] = (parameters, one[1])
            else:
                functions[name] = cls.not_inline(match[0])
        return cls(macros, inline, functions)

    def names(self):
        """All that must not be left."""
        return set(self.macros) | set(self.inline)

    def put_inline(self, text):
        """Puts macros and short functions where they are used."""
        for name, value in self.macros.items():
            text = re.sub(rf"\b{name}\b(?!\()", lambda _, v=value: v, text)
        for name, (parameters, expression) in self.inline.items():
            while match := re.search(rf"^(.*?)\b{name}\(", text, re.M):
                args, end = arguments(text, match.end() - 1)
                values = dict(zip(parameters, args, strict=True))
                call = re.sub(r"\w+", lambda m, v=values: v.get(m[0], m[0]), expression)
                stop = text.find("\n", end)
                line = fold(match[1], call, text[end:stop])
                text = text[:match.start()] + line + text[stop:]
        return text

    def move_functions(self, text):
        """Moves longer functions before the first top-level text that uses them."""
        for name, function in self.functions.items():
            match = re.search(rf"\b{name}\b", text)
            if not match or function in text:
                continue
            starts = [m.end() for m in re.finditer(r"\n\n(?=\S)", text[:match.start()])]
            place = starts[-1]
            text = text[:place] + function + "\n" + text[place:]
        return text


ASCII = {"…": "...", "µ": "u", "×": "x", "→": "->", "–": "-"}


def ascii_only(text):
    """Upstream has ASCII in sources."""
    # Columns behind it stay where they were.
    text = re.sub(r"…([^\n]*?)  (?= )", r"...\1", text)
    for sign, plain in ASCII.items():
        text = text.replace(sign, plain)
    if not text.isascii():
        raise FlattenError("not ASCII: " + ", ".join(sorted({c for c in text if c > "~"})))
    return text


def without_kunit(text):
    """Leaves out what is there for the KUnit suites."""
    text = re.sub(r"^EXPORT_SYMBOL_IF_KUNIT\(\w+\);\n", "", text, flags=re.M)
    text = re.sub(r"^\s*KUNIT_STATIC_STUB_REDIRECT\([^;]*\);\n", "", text, flags=re.M)
    return re.sub(r"\bVISIBLE_IF_KUNIT\b", "static", text)


def edit(text, edits, where):
    """Replaces what is there exactly once."""
    for old, new in edits:
        if text.count(old) != 1:
            raise FlattenError(f"{where}: {text.count(old)} times: {old!r}")
        text = text.replace(old, new)
    return text


def flatten(text, compat, defined, where):
    """One source file as upstream has it."""
    text = unifdef(without_kunit(text), defined)
    text = re.sub(r'^#include "\w*compat\.h"\n', "", text, flags=re.M)
    text = compat.move_functions(compat.put_inline(text))
    text = ascii_only(text)
    left = [name for name in compat.names() if re.search(rf"\b{name}\b", text)]
    left += re.findall(r"\b(?:VNR_HAVE_\w+|HAVE_[A-Z_]+|\w*KUNIT\w*|LINUX_VERSION_CODE|\w*compat\w*\.h)\b",
                       text)
    if left:
        raise FlattenError(f"{where}: left: {', '.join(left)}")
    # An empty line in front of the closing brace, or two at the end, may be left.
    return text.rstrip("\n") + "\n"
