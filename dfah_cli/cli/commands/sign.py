"""`dfah sign`"""

from __future__ import annotations

import click

from dfah_cli.cli.options import COMMON, option, stacked
from dfah_cli.cli.screen import Screen


@click.command(name="sign")
@click.argument("run", metavar="RUN")
@stacked(
    option("--key", metavar="FILE", required=True, help="Ed25519 private key (PEM); see dfah keygen."),
    option(
        "-o", "--output", metavar="FILE", default=None, help="The envelope; by default attestation.dsse.json in RUN."
    ),
    COMMON,
)
def command(run: str, key: str, output: str | None, as_json: bool) -> int:
    """Sign what a finished, gated run states: an in-toto test result in a DSSE envelope.

    Signing again with another key adds its signature. Needs the extra: python -m pip install 'dfah-cli[sign]'.

    \b
    dfah keygen release
    dfah gate .dfah/runs/first strict
    dfah sign .dfah/runs/first --key release
    dfah verify .dfah/runs/first --key release.pub
    """
    from dfah_cli.workflow.signing import sign_run

    signed = sign_run(run, key, out=output)
    told = {"signed": str(signed.path), "result": signed.result, "key": signed.key_id, "signatures": signed.signatures}
    screen = Screen(as_json=as_json)
    screen.document({"format": "dfah-sign-1", **told}) if screen.json else screen.fact(**told)
    screen.flush()
    return 0
