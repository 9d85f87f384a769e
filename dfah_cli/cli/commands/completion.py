"""`dfah completion`"""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell.

    \b
    eval "$(dfah completion bash)"
    dfah completion fish > ~/.config/fish/completions/dfah.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click.Choice has let only known shells through
    click.echo(kind(context.find_root().command, {}, "dfah", "_DFAH_COMPLETE").source())
    return 0
