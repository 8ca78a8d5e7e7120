"""Lets the site show pages of the repository beside those of docs/, with links that lead to them.

mkdocs calls these functions. Pages of the repository are found below project/.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "project"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "CHANGELOG.md",
    "compose/README.md",
)
_LINK = re.compile(r"\[([^]]+)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
_IMAGE = re.compile(r'(?<=src=")[^":]+|(?<=srcset=")[^":]+')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the repository."""
    for name in PAGES:
        text = (ROOT / name).read_text()
        files.append(File.generated(config, f"{PROJECT}/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links and images to their places in the site. A link to a file that isn't in it becomes
    text.
    """
    here = page.file.src_uri

    def link(match: re.Match[str]) -> str:
        text, target, chapter = match.groups(default="")
        place = moved(here, target)
        return text if place is None else f"[{text}]({place}{chapter})"

    markdown = _LINK.sub(link, markdown)
    return _IMAGE.sub(lambda match: moved(here, match[0]) or match[0], markdown)


def moved(here: str, target: str) -> str | None:
    """Where something is that a page of the site names as in the repository."""
    inside = here.removeprefix(f"{PROJECT}/")
    folder = posixpath.dirname(inside if inside != here else f"docs/{here}")
    path = posixpath.normpath(posixpath.join(folder, target))
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif path in PAGES:
        path = f"{PROJECT}/{path}"
    else:
        return None
    return posixpath.relpath(path, posixpath.dirname(here) or ".")
