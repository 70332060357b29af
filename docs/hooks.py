"""Hooks of mkdocs.yml: pages may link to files of the repository outside docs/.

GitHub resolves such links by itself. The site gets a copy of each linked file below `repository/`,
also of the files that a copied page links to. Links to folders and hidden files become plain text.
Pages that the navigation does not name are appended to their section.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parents[1]
_COPIES = "repository/"
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s:#]+)(#[^()\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Append the pages that a section of the navigation does not name."""
    docs = Path(config.docs_dir)
    for section in (part for part in config.nav or [] if isinstance(part, dict)):
        for pages in (part for part in section.values() if isinstance(part, list)):
            named = [name if isinstance(name, str) else next(iter(name.values())) for name in pages]
            folder = docs / Path(named[0]).parent
            present = sorted(path.relative_to(docs).as_posix() for path in folder.glob("*.md"))
            pages += [name for name in present if name not in named]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the linked files outside docs/."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        uri = waiting.pop()
        for _, link, _ in _LINK.findall((REPOSITORY / _path(uri)).read_text()):
            copy = _uri(_target(uri, link))
            path = REPOSITORY / _path(copy)
            if copy.startswith(_COPIES) and path.is_file() and not files.get_file_from_path(copy):
                files.append(File.generated(config, copy, abs_src_path=str(path)))
                if path.suffix == ".md":
                    waiting.append(copy)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the copies; separate tables from comments before and after them."""
    uri = page.file.src_uri

    def relinked(match: re.Match[str]) -> str:
        text, link, anchor = match[1], match[2], match[3] or ""
        target = _target(uri, link)
        if (REPOSITORY / target).is_dir() or target.startswith("."):
            return text
        return f"[{text}]({posixpath.relpath(_uri(target), posixpath.dirname(uri))}{anchor})"

    markdown = re.sub(r"^(<!--.*-->)\n(?=\|)", r"\1\n\n", markdown, flags=re.MULTILINE)
    markdown = re.sub(r"(?<=\|)\n(?=<!--)", "\n\n", markdown)
    parts = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(relinked, part) for part in parts)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Unescape `|` in code in tables, as GitHub does."""
    return re.sub(r"<code>[^<]*</code>", lambda match: match[0].replace("\\|", "|"), html)


def _path(uri: str) -> str:
    """Return the path in the repository of a file of the site."""
    return uri.removeprefix(_COPIES) if uri.startswith(_COPIES) else f"docs/{uri}"


def _uri(path: str) -> str:
    """Return the place in the site of a file of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else _COPIES + path


def _target(uri: str, link: str) -> str:
    """Return the path in the repository that a link of a page leads to."""
    return os.path.normpath(os.path.join(os.path.dirname(_path(uri)), link))
