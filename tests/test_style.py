"""That names, lengths and places are as docs/style.md asks."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parents[1]
VAGUE = {"one", "found", "known", "told", "given", "asked", "kept", "held", "seen", "came"}
SAYING = {"told", "telling", "heed"}
"""Words that make every name vague that they are part of."""
SMALL = {
    *("a", "after", "all", "at", "by", "for", "from", "in", "max", "of", "on", "once", "out", "s"),
    *("to", "until", "with"),
}
"""Words with which a vague name stays vague."""
LINES_MAX = 5
"""Of a block in which a vague name is close enough to what it stands for."""
PACKAGES = (
    "hive",
    "state",
    "connectors",
    "processors",
    "query_api",
    "metatide",
    "tests",
    "benchmarks",
)
SOURCES = tuple(package for package in PACKAGES if package not in ("tests", "benchmarks"))
FILE_LINES_MAX = 500
ERRORS = ("hive/errors.py", "metatide/client/errors.py")
VERBS = (
    "answers|asks|awaits|begins|belongs|calls|comes|does|doesn't|goes|has|hasn't|holds|is|isn't|joins|"
    "knows|leads|leaves|logs|looks|misses|needs|owns|proves|reads|runs|still|takes|tells|trusts|uses|"
    "waits|wants|watches|writes"
)
WHO = re.compile(rf"\bWho\s+(?:{VERBS})\b[^.!?]*(?:[.!]|$)|\b(?:for|from|in|to)\s+who\b")
"""`Who` in place of `whoever` or of `a client that`; it begins questions alone."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_vague(name: str) -> bool:
    words = {*re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")} - {""}
    return bool(words & SAYING) or bool(words & VAGUE and words <= VAGUE | SMALL)


def lines(first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> int:
    return (last.end_lineno or last.lineno) - first.lineno + 1


def names(node: ast.AST, block: int) -> Iterator[tuple[str, int, int]]:
    """The names that are bound in a function: the name, its line, the lines of its block."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id, child.lineno, block
        if isinstance(child, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from names(child, lines(child, child))
        else:
            yield from names(child, block)


def is_own_attribute(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether a value is stored in an attribute of `self`."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def vague_attributes(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if is_own_attribute(node) and is_vague(node.attr):
            yield f"`self.{node.attr}` in line {node.lineno}"


def vague_names(source: str) -> Iterator[str]:
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, Function | ast.ClassDef):
            is_long = lines(function.body[0], function.body[-1]) > LINES_MAX
            is_sentence = function.name.startswith("test_")
            if is_long and not is_sentence and is_vague(function.name):
                yield f"`{function.name}` in line {function.lineno}"
        if not isinstance(function, Function):
            continue
        block = lines(function.body[0], function.body[-1])
        of_all = function.args
        arguments = [*of_all.posonlyargs, *of_all.args, *of_all.kwonlyargs]
        arguments += [argument for argument in (of_all.vararg, of_all.kwarg) if argument]
        bound = [(argument.arg, argument.lineno, block) for argument in arguments]
        for statement in function.body:
            bound += names(ast.Module([statement], []), block)
        for name, line, block_lines in bound:
            if is_vague(name) and block_lines > LINES_MAX:
                yield f"{function.name}: `{name}` in line {line}"


@pytest.mark.parametrize("package", PACKAGES)
def test_in_long_blocks_no_name_is_vague(package: str) -> None:
    vague = []
    for path in sorted((ROOT / package).rglob("*.py")):
        name, source = path.relative_to(ROOT).as_posix(), path.read_text()
        places = [*vague_names(source), *vague_attributes(source)]
        vague += [f"{name}: {place}" for place in places]
    assert not vague, "\n".join(vague)


def test_what_is_vague() -> None:
    long = "\n".join(f"    x{number} = 1" for number in range(LINES_MAX))
    for line in ("found = 1", "for one in a:\n        pass", "b = [\n c\n\n\n\n\n for one in a]"):
        assert [*vague_names(f"def f():\n{long}\n    {line}\n")]
    assert [*vague_names(f"def f(*, given):\n{long}\n    return 1\n")]
    for head in ("def _found():", "class Told:", "def told_figures():", "class FiguresTold:"):
        assert [*vague_names(f"{head}\n{long}\n    x = 1\n")]
        assert not [*vague_names(f"{head}\n{long}\n")]
    assert not [*vague_names(f"def test_it_is_told():\n{long}\n    x = 1\n")], "a sentence"
    assert not [*vague_names("def f(asked):\n    found = asked\n    return found\n")]
    assert not [*vague_names(f"def f():\n{long}\n    b = [one for one in a]\n")]
    for statement in (
        "self._kept = a",
        "self.seen: int = 0",
        "self._asked += 1",
        "x, self.came = a",
        "self.asked_at = a",
    ):
        assert [*vague_attributes(f"class A:\n    def f(self, a):\n        {statement}\n")]
    assert not [*vague_attributes("def f(self, other):\n    other.seen = self._kept\n")]
    assert not [*vague_attributes("def f(self):\n    self.is_known = self.held_bytes = 1\n")]


@pytest.mark.parametrize("package", PACKAGES)
def test_files_are_short(package: str) -> None:
    counts = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for suffix in ("py", "js", "css", "html", "java")
        for path in (ROOT / package).rglob(f"*.{suffix}")
    }
    assert {name: count for name, count in counts.items() if count > FILE_LINES_MAX} == {}


def texts(source: str) -> Iterator[str]:
    """The comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def prose(page: str) -> str:
    """A page without blocks of code and headings."""
    without_code = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^#.*$", "", without_code, flags=re.MULTILINE)


def test_no_sentence_has_who_for_whoever() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    by_name = {path.relative_to(ROOT).as_posix(): prose(path.read_text()) for path in pages}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            if re.search(r"\b[Ww]ho\b", source := path.read_text()):
                by_name[path.relative_to(ROOT).as_posix()] = "\n\n".join(texts(source))
    wrong = [(name, match[0]) for name, text in by_name.items() for match in WHO.finditer(text)]
    assert not wrong, "\n".join(f"{name}: {words}" for name, words in wrong)


def test_what_who_may_stand_for() -> None:
    for words in ("Who waits asks again.", "So it is. Who\nasks is told", "left to who needs it"):
        assert WHO.search(words)
    for words in ("Who waits?", "Whoever waits asks again.", "Who may read.", "those who wait"):
        assert not WHO.search(words)
    source = '"""Who asks\n"""\nx = "Who is it"  # Who waits\n'
    assert [*texts(source)] == ["# Who waits", "Who asks\n"]
    assert prose("# Who answers\n\na\n\n```\nWho asks\n```\n").split() == ["a"]


def errors_of(source: str) -> Iterator[str]:
    """The classes of errors that it defines."""
    names = {"Exception"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            if any(base in names or base.endswith("Error") for base in bases):
                names.add(node.name)
                yield node.name


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Packages, and the names that are imported from them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module.partition(".")[0], alias.name) for alias in node.names)


def test_errors_that_leave_their_package_are_defined_in_one_place() -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for package in SOURCES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    inner = {
        (name.partition("/")[0], error)
        for name, source in sources.items()
        if name not in ERRORS
        for error in errors_of(source)
    }
    assert inner, "there are such"
    assert [
        f"{name} imports {error} from {package}"
        for name, source in sources.items()
        for package, error in imported(source)
        if (package, error) in inner and package != name.partition("/")[0]
    ] == []


def test_tests_are_where_their_packages_are() -> None:
    tests = ROOT / "tests"
    packages = {
        path.parent.relative_to(ROOT)
        for package in SOURCES
        for path in (ROOT / package).rglob("__init__.py")
    }
    folders = {
        path.parent.relative_to(tests)
        for package in SOURCES
        for path in (tests / package).rglob("test_*.py")
    }
    assert folders - packages == set()
    untested = packages - folders
    assert {
        name for name in untested if not (tests / name.parent / f"test_{name.name}.py").exists()
    } == set()
