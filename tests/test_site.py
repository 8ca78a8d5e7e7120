"""That the site of docs/ is built without a warning, and that code in its pages is code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|json)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(match[1], match[2], id=f"{path.stem}-{number}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    for number, match in enumerate(BLOCK.finditer(path.read_text()))
]


def test_it_is_built_with_all_pages_and_their_links(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "project" / "index.html").read_text()
    assert 'href="../operate.html"' in page
    assert 'src="../images/page-health-light.png"' in page
    assert 'class="mermaid"' in (tmp_path / "index.html").read_text()
    pages = [*tmp_path.rglob("*.html")]
    fonts = "fonts.googleapis"
    assert [path for path in pages if fonts in path.read_text()] == []


@pytest.mark.parametrize(("language", "text"), BLOCKS)
def test_code_in_pages_is_code(language: str, text: str) -> None:
    if language == "python":
        compile(text, "page", "exec")
    else:
        json.loads(text)
