#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Comments, messages and documents are plain English: some patterns are not.

usage: voice.py [--self-test] [FILE-OR-FOLDER...]

Prints a line for each place; the exit status is 1 if there is one.  PATTERNS says what is
looked for, and what to write in its place.  Looked at are comments and strings of C, Python
and shell, and all of documents but for literals and headings.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

# Without arguments it looks here.
FOLDERS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.rst", "packaging",
           "Documentation", "upstream", "provider", "drivers", "kunit", "scripts",
           "tests", "device"]

# A sentence begins at the beginning of a text, or behind the end of another one.
BEGIN = r"(?:(?<=^)|(?<=[.:!?] ))"
# Behind "is no" these words are not nouns.
NOT_A_NOUN = "longer|more|less|other|later|earlier|better|worse|different|such|one|need"

PATTERNS = [
    (rf"{BEGIN}(?:Who|Whoever) (?![^.]*\?)", 'a sentence that begins with "Who": name the subject'),
    (rf"{BEGIN}What (?![^.]*\?)(?=[^.]*\.)", 'a sentence with a relative "What": name the subject'),
    (r"\bbelongs? into\b", '"belongs into": say "goes into", or "must be in"'),
    (r"\bfor want of\b", '"for want of": say "because there is no"'),
    (r"(?:(?<=[.;,:] )|(?<=^)|(?<=and ))[Ss]o (?:does|do|is|are|did|was|were) (?!not\b)",
     '"so is it": say what it does, with "also" or "as well"'),
    (rf"(?<!here )\b(?:is|are|was|were|be) no (?!(?:{NOT_A_NOUN})\b)[a-z]+",
     '"is no X": say "is not a X", or "is an invalid X"'),
    (r"\blest\b", '"lest": say "so that ... not"'),
]


def c_texts(text):
    """Comments and strings of C."""
    for found in re.finditer(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"", text, re.DOTALL):
        yield found.start(), found[0]


def script_texts(text):
    """Comments and strings of Python and shell."""
    pattern = r'"""(?:.|\n)*?"""|(?:^[ \t]*#[^\n]*\n)+|(?<=\s)#[^\n]*|"(?:[^"\\\n]|\\.)*"'
    for found in re.finditer(pattern, text, re.MULTILINE):
        yield found.start(), found[0]


def blank(found):
    """Nothing in the place of a text, with its lines."""
    return re.sub(r"[^\n]", " ", found[0])


def document_texts(text):
    """Paragraphs of a document: no literals, headings and comments."""
    text = re.sub(r"^```.*?^```|``[^`]*``|`[^`]*`|<!--.*?-->", blank, text,
                  flags=re.DOTALL | re.MULTILINE)
    # A literal block is indented behind "::".
    text = re.sub(r"::\n\n(?:(?:[ \t]+[^\n]*)?\n)+", blank, text)
    text = re.sub(r"^(?:#+ .*|[^\n]+\n(?:={3,}|-{3,}|~{3,})$|\.S[Hhs] .*)", blank, text,
                  flags=re.MULTILINE)
    for found in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", text):
        yield found.start(), found[0]


TEXTS = {".c": c_texts, ".h": c_texts, ".py": script_texts, ".sh": script_texts,
         ".rst": document_texts, ".md": document_texts, ".8": document_texts}


def words(text):
    """A text of the same length without the marks of comments."""
    text = re.sub(r'^([ \t]*)(?:/\*+|\*/|\*|//|#+|""")', blank, text, flags=re.MULTILINE)
    return re.sub(r'^(\s*)"', r"\1 ", text)


def problems(name, text, texts):
    """A line for each place in a file."""
    for offset, part in texts(text):
        joined, places = [], []
        for place, char in enumerate(re.sub(r"\s", " ", words(part))):
            if char != " " or (joined and joined[-1] != " "):
                joined.append(char)
                places.append(offset + place)
        sentence = "".join(joined)
        for pattern, advice in PATTERNS:
            for found in re.finditer(pattern, sentence):
                line = text.count("\n", 0, places[found.start()]) + 1
                shown = sentence[max(0, found.start() - 12):found.end() + 30]
                yield f"{name}:{line}: error: {advice}: ...{shown}..."


def files(arguments):
    """Those to look at."""
    for argument in arguments:
        path = TOP / argument
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in found
                    if file.suffix in TEXTS and file.name != pathlib.Path(__file__).name)


def self_test():
    """Finds each pattern, and nothing in sentences that are good."""
    wrong = {
        "a.c": ['/* Who reads this is told. */', '/* Fine.  What comes is lost. */',
                '/*\n * It belongs\n * into that. */', 'warn("the index is no number");',
                '/* The first, so is the second. */'],
        "a.py": ['# Whoever calls it waits.\n', '"""What it finds is printed."""'],
        "a.rst": ["It fails for want\nof room.\n", "Ends. Who comes is told.\n"],
    }
    right = {
        "a.c": ['/* There is no number. */', '/* Who are you? */', 'int who; /* what it is */',
                '/* It is no longer used, so it is freed. */'],
        "a.py": ['# How it is done.\nx = 1  # what it is\n'],
        "a.rst": ["What works\n==========\n\nIt does.\n", "::\n\n  Who is it.\n\nYes.\n"],
    }
    for expected, texts in ((1, wrong), (0, right)):
        for name, parts in texts.items():
            for part in parts:
                found = list(problems(name, part, TEXTS[pathlib.Path(name).suffix]))
                assert len(found) == expected, (part, found)


def main():
    """Runs what the command line says."""
    if "--self-test" in sys.argv:
        self_test()
        return 0
    found = []
    for path in files(sys.argv[1:] or FOLDERS):
        name = path.relative_to(TOP) if path.is_relative_to(TOP) else path
        found += problems(name, path.read_text(encoding="utf-8"), TEXTS[path.suffix])
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
