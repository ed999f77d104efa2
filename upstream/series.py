# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A patch series: a git repository with the files that it touches, and what comes out."""

import dataclasses
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent


def git(*arguments, cwd=TOP, env=None):
    """Runs git, and returns what it prints."""
    return subprocess.run(["git", *arguments], cwd=cwd, env=env, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def head(path):
    """A file as HEAD has it."""
    return git("show", f"HEAD:{path}")


def head_files(directory, pattern):
    """The files of a directory at HEAD, without subdirectories."""
    names = git("ls-tree", "--name-only", f"HEAD:{directory}").split()
    return [name for name in names if re.fullmatch(pattern, name)]


def piece(*parts):
    """A file of this directory."""
    return HERE.joinpath(*parts).read_text()


def identity():
    """Name and address of whoever runs this: it is they who send the patches and sign off."""
    match = re.match(r"(.*) <(.*)> ", git("var", "GIT_COMMITTER_IDENT"))
    return match[1], match[2]


class SeriesError(Exception):
    """The tree to be patched is not what this expects."""


# The patch with the files that no other one has: a new file needs no entry.
REST = ("the rest",)


def distribute(files, parts):
    """The names of each part's files."""
    named = {name for _, names in parts if names is not REST for name in names}
    if missing := named - set(files):
        raise SeriesError(f"not there: {', '.join(sorted(missing))}")
    for part, names in parts:
        yield part, sorted(set(files) - named) if names is REST else names


@dataclasses.dataclass
class Series:
    """Commits on top of a tree's files."""

    name: str           # directory of the result, below out
    tree: pathlib.Path  # the tree that is patched
    out: pathlib.Path
    prefix: str         # "RFC PATCH rdma-next", say

    def __post_init__(self):
        self.repo = self.out / f".{self.name}"
        shutil.rmtree(self.repo, ignore_errors=True)
        self.repo.mkdir(parents=True)
        self.identity = identity()
        self.date = git("log", "-1", "--format=%ad", "--date=raw").strip()
        self.git("init", "-q", "-b", "base")

    def git(self, *arguments):
        """Runs git in the repository, with HEAD's date for its commits."""
        name, email = self.identity
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.repo)}
        for role in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email,
                            f"GIT_{role}_DATE": self.date}
        return git(*arguments, cwd=self.repo, env=environment)

    def fill(self, text):
        """Fills in what a stored text does not know."""
        name, email = self.identity
        return text.replace("@IDENTITY@", f"{name} <{email}>").replace(
            "@HEAD@", git("describe", "--always", "HEAD").strip())

    def base(self, *paths):
        """Which files of the tree will be changed.  To be called before the first commit."""
        for path in paths:
            target = self.repo / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.tree / path, target)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "base")
        self.git("checkout", "-q", "-b", "series")

    def add(self, path, text):
        """A new file."""
        target = self.repo / path
        if target.exists() or (self.tree / path).exists():
            raise SeriesError(f"{path} exists already")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def change(self, path, function, *arguments):
        """Changes a file by a function of its text."""
        target = self.repo / path
        old = target.read_text()
        new = function(old, *arguments)
        if new == old:
            raise SeriesError(f"{path} is as before")
        target.write_text(new)

    def patch(self, name):
        """Applies a patch of this directory, wherever its lines have moved to."""
        subprocess.run(["patch", "-s", "-p1", "--no-backup-if-mismatch", "-i",
                        str(HERE / name)], cwd=self.repo, check=True)

    def commit(self, message):
        """Makes one patch of all changes."""
        self.git("add", "-A")
        self.git("commit", "-q", "-s", "-m", message.strip())

    def write(self, cover):
        """Writes the series, with a cover letter: a line of subject, an empty one, the rest."""
        target = self.out / self.name
        shutil.rmtree(target, ignore_errors=True)
        self.git("format-patch", "-q", "-o", str(target), "--cover-letter", "--zero-commit",
                 "--no-signature", f"--subject-prefix={self.prefix}", "base..series")
        letter = next(target.glob("0000-*.patch"))
        subject, _, blurb = cover.partition("\n\n")
        text = letter.read_text().replace("*** SUBJECT HERE ***", subject)
        letter.write_text(text.replace("*** BLURB HERE ***", blurb.strip()))
        return target


def insert(text, after, new):
    """Puts lines behind the first line that matches."""
    match = re.search(rf"^{after}\n", text, re.M)
    if not match:
        raise SeriesError(f"no line {after!r}")
    return text[:match.end()] + new + text[match.end():]


def insert_sorted(text, pattern, new):
    """Puts a line among those that match, in their order."""
    lines = text.splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if re.match(pattern, line)]
    if not places:
        raise SeriesError(f"no line {pattern!r}")
    place = next((i for i in places if lines[i] > new), places[-1] + 1)
    return "".join(lines[:place] + [new] + lines[place:])


def insert_block(text, title, new):
    """Puts a block of MAINTAINERS behind the one with this title."""
    match = re.search(rf"^{re.escape(title)}\n(?:.+\n)*\n", text, re.M)
    if not match:
        raise SeriesError(f"no block {title!r}")
    return text[:match.end()] + new.rstrip("\n") + "\n\n" + text[match.end():]
