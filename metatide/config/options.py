"""Command-line options for configuration keys."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hive.names import set_default_catalog
from metatide.config.keys import KEYS, Key
from metatide.config.load import FILE_NAME, FILE_VARIABLE, Effective, forget_secrets, load

_METAVARS = {int: "N", Path: "PATH"}


def configured(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command `--config` and the options of these keys.

    The command gets the effective configuration as `effective`.
    """
    keys = {name.replace(".", "_"): KEYS[name] for name in names}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(config_file: Path | None, **rest: Any) -> None:
            values = {key.name: rest.pop(name) for name, key in keys.items()}
            options = {name: str(value) for name, value in values.items() if value is not None}
            effective: Effective = load(options, file=config_file)
            forget_secrets()
            set_default_catalog(effective.config.database.default_catalog)
            function(effective=effective, **rest)

        wrapped: Callable[..., None] = command
        for name, key in reversed(keys.items()):
            wrapped = _option(name, key)(wrapped)
        return click.option(
            "--config",
            "config_file",
            type=click.Path(path_type=Path),
            help=f"The file of settings.  [{FILE_VARIABLE}; default: {FILE_NAME} here]",
        )(wrapped)

    return decorate


def _option(name: str, key: Key) -> Callable[[Callable[..., None]], Callable[..., None]]:
    assert key.option is not None, f"{key.name} has no option"
    text = f"{key.doc.replace('`', '')}  [{key.variable}]"
    if key.plain_type is bool:
        return click.option(key.option, name, is_flag=True, default=None, help=text)
    metavar = _METAVARS.get(key.plain_type) or getattr(key.plain_type, "metavar", "TEXT")
    return click.option(key.option, name, metavar=metavar, help=text)
