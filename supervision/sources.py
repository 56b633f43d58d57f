"""The sources of settings: the command line, the environment and a TOML file, in this order.

A setting named `rate_limits` is `TROUPE_RATE_LIMITS` in the environment, `rate_limits` in a TOML file and, for commands
that have it, `--rate-limits` on the command line. The file is the one that `--config` or `TROUPE_CONFIG` names, else
`troupe.toml` in the working directory if there is one.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from .configuration import Settings

PREFIX = "TROUPE_"
DEFAULT_FILE = Path("troupe.toml")
# Environment variables with the prefix that are not settings: the path of the file, and the simulator's seeds.
NO_SETTING = re.compile(r"TROUPE_(CONFIG$|SIM_)")


class ConfigurationError(Exception):
    """Raised for a wrong setting. The text says which one, where it came from and an example of a right value."""


def read_settings(chosen: Mapping[str, object], environ: Mapping[str, str], config: Path | None = None) -> Settings:
    """Return the settings: `chosen` on the command line, then the environment, the file and the defaults."""
    path = config or _named_file(environ)
    layers = {
        f"the file {path}": _from_file(path),
        "the environment": _from_environment(environ),
        "the command line": {name: value for name, value in chosen.items() if value is not None},
    }
    values = {name: value for layer in layers.values() for name, value in layer.items()}
    origins = {name: origin for origin, layer in layers.items() for name in layer}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError("\n".join(_complaints(error, origins))) from None


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return variables with the prefix that name no setting, each with the nearest setting.

    They are reported, not refused: a container platform may add some of its own.
    """
    names = [name for name in environ if name.startswith(PREFIX) and not NO_SETTING.match(name)]
    return [f"{name} names no setting{_nearest(_field(name))}" for name in names if _field(name) not in _fields()]


def meaning(name: str) -> str:
    """Return the meaning of a setting, in one sentence."""
    return _fields()[name].description or ""


def default(name: str) -> str:
    """Return the default of a setting, as an operator would write it."""
    value: object = _fields()[name].default
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        # isinstance does not tell the types of its contents.
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _fields() -> Mapping[str, FieldInfo]:
    return Settings.model_fields


def _field(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _named_file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("TROUPE_CONFIG"):
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.exists() else None


def _from_file(path: Path | None) -> dict[str, object]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(f"The settings file {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The settings file {path} is no TOML: {error}") from None


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    return {name: environ[PREFIX + name.upper()] for name in _fields() if PREFIX + name.upper() in environ}


def _complaints(error: ValidationError, origins: Mapping[str, str]) -> Iterator[str]:
    told: set[str] = set()
    for detail in error.errors(include_url=False):
        name = str(detail["loc"][0]) if detail["loc"] else ""
        # One error for each setting: a union reports one for each alternative.
        if name not in told:
            yield _complaint(name, detail, origins)
        told.add(name)


def _complaint(name: str, detail: ErrorDetails, origins: Mapping[str, str]) -> str:
    if not name:
        return f"{detail['msg'].removeprefix('Value error, ')}. Right is: {_right('domain')}."
    if name not in _fields():
        return f"{name} (from {origins[name]}) names no setting{_nearest(name)}"
    return f"{name}{_shown(detail)} (from {origins[name]}) can't be taken. Right is: {_right(name)}."


def _shown(detail: ErrorDetails) -> str:
    """Return the wrong value, unless it is a secret."""
    field = _fields()[str(detail["loc"][0])]
    return "" if SecretStr.__name__ in str(field.annotation) else f" = {detail['input']!r}"


def _right(name: str) -> str:
    # Each setting is made by `setting`, which gives it a dict.
    return str(cast("Mapping[str, object]", _fields()[name].json_schema_extra)["right"])


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, _fields(), n=1)
    return f"; did you mean {near[0]}?" if near else "."
