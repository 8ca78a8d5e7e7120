"""Groups of commands that help with what was mistyped."""

from difflib import get_close_matches

import click


class Group(click.Group):
    """A group that suggests commands for a name that it doesn't know."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            similar = " or ".join(map(repr, get_close_matches(name, names)))
            ctx.fail(
                f"No such command {name!r}." + (f" Did you mean {similar}?" if similar else "")
            )
        return super().resolve_command(ctx, args)
