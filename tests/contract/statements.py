"""The page of the specification as single statements: sentences, and lines of code."""

from __future__ import annotations

import re

_CODE = re.compile(r"^\s+\S|^(import|from|@|def |async def |dfah |python -m|\w+ = |\w+\()")
_SENTENCE_END = re.compile(r"(?<=[.?])\s+(?=[A-Za-z_])")


def blocks(page: str) -> list[tuple[bool, list[str]]]:
    """Whether a block is code, and its lines."""
    found = []
    for block in page.split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip()]
        if lines:
            found.append((any(map(_CODE.match, lines)), lines))
    return found


def statements(page: str) -> list[str]:
    """Every sentence and every line of code, in order."""
    found: list[str] = []
    for is_code, lines in blocks(page):
        for line in lines:
            found += [line.strip()] if is_code else [one.strip() for one in _SENTENCE_END.split(line)]
    return found


def program(page: str) -> str:
    """The adapter of the page: from its first import to the run."""
    code = "\n\n".join("\n".join(lines) for is_code, lines in blocks(page) if is_code)
    start, end = code.index("import hashlib"), code.index(".run(my_agent)")
    return code[start:end] + ".run(my_agent)\n"


def commands(page: str) -> list[list[str]]:
    """The command lines of the page that begin with `dfah`."""
    code = next("\n".join(lines) for is_code, lines in blocks(page) if is_code and lines[0].startswith("dfah "))
    return [line.split() for line in code.replace("\\\n", " ").split("\n")]
