"""The effective configuration: defaults, overridden by the file, the environment and options,
in this order.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from hive.errors import InputError
from hive.urls import masked
from metatide.config.keys import FILE_SUFFIX, KEYS, PREFIX, Key, build, nearest
from metatide.config.properties import Properties
from metatide.config.schema import Config
from metatide.config.values import Url, resolved

FILE_NAME = "metatide.toml"
FILE_VARIABLE = "METATIDE_CONFIG"
_DEFAULT = "default"
_SECRET_CHARS_MAX = 64 * 1024
_FOREIGN = re.compile(
    # Kubernetes sets these for a Service called metatide, and tests have switches of their own.
    rf"{PREFIX}(TEST_.*|(.*_)?SERVICE_(HOST|PORT.*)|(.*_)?PORT_\d+_.*)"
)
_OF_SERVICE = re.compile(r"(tcp|udp|sctp)://\S+")
"""What it sets METATIDE_PORT to, which isn't the name of a key either."""
# A password, or a parameter with a space, after which masking ends.
_MAY_HIDE = re.compile(r"@|\?.*\s", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """The effective value of a key, and its source."""

    key: Key
    value: object
    origin: str

    @property
    def default(self) -> bool:
        return self.origin == _DEFAULT

    @property
    def shown(self) -> object:
        """The value for printing, in JSON's types."""
        masked = getattr(self.value, "masked", self.value)
        return str(masked) if isinstance(masked, Path) else masked


@dataclass(frozen=True)
class Effective:
    """A configuration that knows the source of each value."""

    config: Config
    settings: tuple[Setting, ...]
    file: Path | None


def load(
    options: Mapping[str, str] | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Effective:
    """Reads the configuration. `options` has values of keys; `file`, if set, must exist."""
    path = _find(file, environ)
    by_name: dict[str, Setting] = {}
    if path is not None:
        by_name |= {setting.key.name: setting for setting in _from_file(path)}
    by_name |= {setting.key.name: setting for setting in _from_environment(environ)}
    by_name |= {setting.key.name: setting for setting in _from_options(options or {})}
    settings = tuple(
        _from_secret_file(key, by_name)
        or by_name.get(name)
        or Setting(key, key.default(), _DEFAULT)
        for name, key in KEYS.items()
    )
    return Effective(
        build({setting.key.name: setting.value for setting in settings}), settings, path
    )


def forget_secrets(environ: MutableMapping[str, str] = os.environ) -> None:
    """Removes secrets from the environment, which the programs that this one starts inherit."""
    for key in KEYS.values():
        text = environ.get(key.variable, "")
        if key.secret or masked(text) != text:
            environ.pop(key.variable, None)


def _find(file: Path | None, environ: Mapping[str, str]) -> Path | None:
    folder, named = _working_folder(), file or environ.get(FILE_VARIABLE)
    if not named:
        path = folder / FILE_NAME
        return path if path.exists() else None
    try:
        return resolved(str(named), folder)
    except ValueError as error:
        raise InputError(f"{named} cannot be read: {error}") from error


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise InputError(
            f"the working directory can't be told: {error.strerror}; change to another"
        ) from error


def _from_file(path: Path) -> Iterator[Setting]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    for name, value in _leaves(content):
        key = KEYS.get(name)
        if key is None:
            raise _unknown(path, name)
        if key.secret:
            raise InputError(f"{path}: {name} is a secret, which {_instead(key)}")
        yield _setting(key, value, f"{path}: {name}", path.name, base=path.parent, text=False)


def _leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for part, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{part}.")
        else:
            yield prefix + part, value


def _unknown(path: Path, name: str) -> InputError:
    if any(key.startswith(f"{name}.") for key in KEYS):
        return InputError(f"{path}: {name} is a table, written [{name}], not a value")
    return InputError(f"{path}: there is no key {name}; the nearest is {nearest(name, KEYS)}")


def _from_environment(environ: Mapping[str, str]) -> Iterator[Setting]:
    by_variable = {key.variable: key for key in KEYS.values()}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX) or variable == FILE_VARIABLE or not text:
            continue
        if variable in by_variable:
            yield _setting(by_variable[variable], text, variable, variable)
        elif not (
            _FOREIGN.fullmatch(variable)
            or (variable.endswith("_PORT") and _OF_SERVICE.fullmatch(text))
        ):
            raise InputError(
                f"the environment variable {variable} is not a key; "
                f"the nearest is {nearest(variable, by_variable)}"
            )


def _from_options(options: Mapping[str, str]) -> Iterator[Setting]:
    for name, text in options.items():
        option = KEYS[name].option
        assert option is not None, f"{name} has no option"
        yield _setting(KEYS[name], text, option, option)


def _setting(
    key: Key, value: object, where: str, origin: str, *, base: Path | None = None, text: bool = True
) -> Setting:
    try:
        converted = key.convert(value, base or _working_folder(), text=text)
    except ValueError as error:
        # A property that is refused may be a secret.
        hidden = key.secret or key.plain_type is Properties or _MAY_HIDE.search(str(value))
        shown = "" if hidden else f" {masked(repr(value))}"
        raise InputError(f"{where}: the value{shown} is wrong: {error}") from error
    if isinstance(converted, Url) and converted.has_secret and not origin.startswith(PREFIX):
        raise InputError(f"{where}: the URL has a {_instead_of_url(key)}")
    return Setting(key, converted, origin)


def _instead(key: Key) -> str:
    return (
        f"belongs in the environment variable {key.variable} or in a file that "
        f"{key.name}{FILE_SUFFIX} names"
    )


def _instead_of_url(key: Key) -> str:
    password = KEYS.get(key.name.rpartition(".")[0] + ".password")
    if password is None:
        return f"secret: such a URL belongs in the environment variable {key.variable}"
    return (
        f"password, a secret, which {_instead(password)}; "
        f"a URL with other secrets belongs in {key.variable}"
    )


def _from_secret_file(key: Key, by_name: Mapping[str, Setting]) -> Setting | None:
    """A secret from the file that a key names. A secret in the environment itself takes
    precedence.
    """
    named = by_name.get(key.name + FILE_SUFFIX)
    if not key.secret or named is None or key.name in by_name:
        return None
    path = named.value
    assert isinstance(path, Path)
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(_SECRET_CHARS_MAX).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{named.origin}: {named.key.name} names {path}, which cannot be read: {error}"
        ) from error
    if not text:
        raise InputError(f"{named.origin}: {named.key.name} names {path}, which is empty")
    return _setting(key, text, named.key.name, str(path))
