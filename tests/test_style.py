"""That names say what they stand for, as docs/style.md asks."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VAGUE = {"one", "found", "known", "told", "given", "asked"}
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
Function = ast.FunctionDef | ast.AsyncFunctionDef


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


def vague_names(source: str) -> Iterator[str]:
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, Function | ast.ClassDef):
            is_long = lines(function.body[0], function.body[-1]) > LINES_MAX
            if is_long and function.name.strip("_").lower() in VAGUE:
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
            if name in VAGUE and block_lines > LINES_MAX:
                yield f"{function.name}: `{name}` in line {line}"


@pytest.mark.parametrize("package", PACKAGES)
def test_in_long_blocks_no_name_is_vague(package: str) -> None:
    vague = [
        f"{path.relative_to(ROOT)}: {place}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for place in vague_names(path.read_text())
    ]
    assert not vague, "\n".join(vague)


def test_what_is_vague() -> None:
    long = "\n".join(f"    x{number} = 1" for number in range(LINES_MAX))
    for line in ("found = 1", "for one in a:\n        pass", "b = [\n c\n\n\n\n\n for one in a]"):
        assert [*vague_names(f"def f():\n{long}\n    {line}\n")]
    assert [*vague_names(f"def f(*, given):\n{long}\n    return 1\n")]
    for head in ("def _found():", "class Told:"):
        assert [*vague_names(f"{head}\n{long}\n    x = 1\n")]
        assert not [*vague_names(f"{head}\n{long}\n")]
    assert not [*vague_names("def f(asked):\n    found = asked\n    return found\n")]
    assert not [*vague_names(f"def f():\n{long}\n    b = [one for one in a]\n")]
