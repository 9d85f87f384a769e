"""`dfah schema`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import TRACEBACK
from dfah_cli.cli.screen import Screen


@click.command(name="schema")
@click.argument("name", metavar="[FORMAT]", required=False)
@TRACEBACK
def command(name: str | None) -> int:
    """Print the JSON Schema of a document that --json prints; without FORMAT, list the formats.

    \b
    dfah schema
    dfah schema dfah-report-1 > dfah-report-1.schema.json
    """
    from dfah_cli.loading.documents import document_formats, document_schema

    if name is not None:
        screen = Screen(as_json=True)
        screen.document(document_schema(name))
    else:
        screen = Screen()
        screen.table(("format", "title"), [(one, document_schema(one)["title"]) for one in document_formats()])
    screen.flush()
    return 0
