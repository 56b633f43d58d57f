"""The sources of settings: the command line, the environment and a TOML file, in this order.

A setting named `rate_limits` is `TROUPE_RATE_LIMITS` in the environment, `rate_limits` in a TOML file and, for commands
that have it, `--rate-limits` on the command line. `--config` or `TROUPE_CONFIG` name the file, else it is
`troupe.toml` in the working directory, if that exists.

A secret can also be the content of a file that the environment names: `TROUPE_SMTP_PASSWORD_FILE` for `smtp_password`.
So it is in no unit file, and in no list of processes.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeGuard, get_args, get_origin

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ...actors.configuration import Settings
from ...storage.engine.json_values import is_object

PREFIX = "TROUPE_"
OF_FILE = "_FILE"  # the end of a variable that names the file of a secret
DEFAULT_FILE = Path("troupe.toml")
MASK = "********"
# Set for a process that another `troupe serve` has started (`../processes`): it says once what concerns all.
PARENT = "TROUPE_PARENT"
# Environment variables with the prefix that are not settings: the path of the file, the mark of a process that was
# started, and the simulator's seeds.
NO_SETTING = re.compile(r"TROUPE_(CONFIG$|PARENT$|SIM_)")
# Kubernetes tells each container where the services of its namespace are, as Docker did of linked containers: a service
# named `troupe` is TROUPE_PORT=tcp://10.0.0.1:3000, and one named `troupe-smtp` TROUPE_SMTP_PORT.
SERVICE_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://\S+:[0-9]+")
OF_SERVICE = re.compile(
    r"TROUPE_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_PROTO|_PORT|_ADDR)?)"
)


class ConfigurationError(Exception):
    """Raised for a wrong setting. The text has its name, its source and an example of a right value."""


Kind = Literal["default", "file", "environment", "secret file", "option", "changed"]


@dataclass(frozen=True, slots=True)
class Source:
    """A place that sets a setting: its kind, a text by which operators find it, and the value as it is written there.

    `path` is the file of the place, if it is a file.
    """

    kind: Kind
    place: str
    value: object
    path: Path | None = None

    def __str__(self) -> str:
        """Return the source in the words of an error."""
        words = {"option": "the command line", "environment": "the environment"}
        return words.get(self.kind, self.place)


@dataclass(frozen=True, slots=True)
class SettingsSources:
    """The settings with the sources of each; the last source counts. A setting without a source has its default."""

    settings: Settings
    sources: Mapping[str, Sequence[Source]]

    def of(self, name: str) -> Sequence[Source]:
        return self.sources.get(name, ())


def read_settings(chosen: Mapping[str, object], environ: Mapping[str, str], config: Path | None = None) -> Settings:
    """Return the settings: `chosen` on the command line, then the environment, the file and the defaults."""
    return read_sources(chosen, environ, config).settings


def read_sources(
    chosen: Mapping[str, object], environ: Mapping[str, str], config: Path | None = None
) -> SettingsSources:
    """Return the settings with their sources. Raises ConfigurationError if a setting is wrong."""
    found: dict[str, list[Source]] = {}
    layers = (_from_file(config or _named_file(environ)), _from_environment(environ), _from_options(chosen))
    for layer in layers:
        for name, source in layer.items():
            found.setdefault(name, []).append(source)
    values = {name: sources[-1].value for name, sources in found.items()}
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError("\n".join(_complaints(error, found))) from None
    if settings.bus_url:
        _check_bus(settings.bus_url.get_secret_value(), found["bus_url"][-1])
    return SettingsSources(settings, found)


def _check_bus(urls: str, source: Source) -> None:
    # Late: the client of NATS, which a server that is alone does not need.
    from ...actors.cluster.nats.servers import BadBusUrl, parse

    try:
        parse(urls)
    except BadBusUrl as error:
        raise ConfigurationError(f"bus_url (from {source}) can't be taken: {error}.") from None


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return variables with the prefix that name no setting, each with the nearest setting.

    They are reported, not refused: a container platform may add some of its own. Those of its services are known.
    """
    known = {variable(name) for name in _fields()} | {variable(name) + OF_FILE for name in SECRETS}
    names = [name for name in environ if name.startswith(PREFIX) and not NO_SETTING.match(name)]
    unknown = [name for name in names if name not in known and not OF_SERVICE.fullmatch(name)]
    return [
        *(f"{name} names no setting{nearest(_field(name))}" for name in unknown),
        *(
            f"{name} is the address of a service of Kubernetes, and no port. Name the service otherwise, or set"
            " enableServiceLinks to false."
            for name in names
            if name in known and _is_of_service(name, environ[name])
        ),
    ]


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def meaning(name: str) -> str:
    """Return the meaning of a setting, in one sentence."""
    return _fields()[name].description or ""


def example_of(name: str) -> str:
    """Return an example of a right value."""
    facts = _fields()[name].json_schema_extra  # a dict: `setting` makes all settings
    return str(facts["right"]) if is_object(facts) else ""


def default(name: str) -> str:
    """Return the default of a setting, as an operator would write it."""
    return written(_fields()[name].default)


def written(value: object) -> str:
    """Return a value of a setting as an operator would write it. A secret is masked."""
    if isinstance(value, SecretStr):
        return MASK
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if _is_sequence(value):
        is_pair = len(value) == 2 and isinstance(value[1], int)
        return _one_value(value) if is_pair else ", ".join(map(_one_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def nearest(name: str) -> str:
    """Return the end of an error about a name that is no setting: the most similar setting, if any."""
    near = difflib.get_close_matches(name, _fields(), n=1)
    return f"; did you mean {near[0]}?" if near else "."


def _is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """True for the value of a setting that has several parts."""
    return isinstance(value, tuple | list)


def _one_value(value: object) -> str:
    """Return a single value, also of a list. A pair is an address and its port."""
    match value:
        case (str(address), int(port)):
            return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        case _:
            return str(value)


def _fields() -> Mapping[str, FieldInfo]:
    return Settings.model_fields


# The settings whose values no command and no error shows.
SECRETS = tuple(name for name, field in Settings.model_fields.items() if SecretStr.__name__ in str(field.annotation))


def _field(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _named_file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("TROUPE_CONFIG"):
        return Path(named)
    return DEFAULT_FILE if DEFAULT_FILE.exists() else None


def _from_options(chosen: Mapping[str, object]) -> dict[str, Source]:
    return {
        name: Source("option", f"--{name.replace('_', '-')}", value)
        for name, value in chosen.items()
        if value is not None
    }


def _from_file(path: Path | None) -> dict[str, Source]:
    if path is None:
        return {}
    try:
        text = path.read_text("utf-8-sig")  # editors of Windows put a byte order mark before it
        values: dict[str, object] = tomllib.loads(text)
        return {name: Source("file", _place(path, text, name), value, path) for name, value in values.items()}
    except OSError as error:
        raise ConfigurationError(f"The settings file {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The settings file {path} is not TOML: {error}") from None


def _place(path: Path, text: str, name: str) -> str:
    """Return the file and the line in which a setting stands there."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.\]]|\s*\[\s*{re.escape(name)}", line) and _complete(
            lines[:number]
        ):
            return f"the file {path}, line {number + 1}"
    return f"the file {path}"


def _complete(lines: Sequence[str]) -> bool:
    """True if the next line is not inside of a text or a list that began before it."""
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _from_environment(environ: Mapping[str, str]) -> dict[str, Source]:
    found = {
        name: Source("environment", variable(name), _written_in(environ[variable(name)]))
        for name, field in _fields().items()
        if variable(name) in environ
        and (environ[variable(name)] or _may_be_empty(field))
        and not _is_of_service(variable(name), environ[variable(name)])
    }
    named = {name: path for name in SECRETS if (path := environ.get(variable(name) + OF_FILE))}
    for name, path in named.items():
        if name in found and found[name].value:
            raise ConfigurationError(
                f"{variable(name)} and {variable(name)}{OF_FILE} are both set: remove one of the two."
            )
        place = f"the file {path} ({variable(name)}{OF_FILE})"
        found[name] = Source("secret file", place, _secret_in(name, path), Path(path))
    return found


def _may_be_empty(field: FieldInfo) -> bool:
    """False for a number, a choice or a yes-or-no. Compose makes empty variables of what was not chosen."""
    kinds = {field.annotation, *get_args(field.annotation)}
    return get_origin(field.annotation) is not Literal and kinds.isdisjoint({int, float, bool})


def _written_in(value: str) -> str:
    """Return the value of a variable as an operator has meant it.

    Docker's `--env-file` hands on the quotation marks around a value, and lines of Windows end in a carriage return.
    """
    value = value.removesuffix("\r")
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _is_of_service(variable: str, value: str) -> bool:
    """True for the address of a service in the variable of a port."""
    return variable.endswith("PORT") and SERVICE_ADDRESS.fullmatch(value) is not None


def _secret_in(name: str, path: str) -> str:
    """Return the content of a file, without the line break that editors add."""
    try:
        secret = Path(path).read_text("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise ConfigurationError(f"{variable(name)}{OF_FILE}: {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{variable(name)}{OF_FILE}: {path} is not text in UTF-8") from None
    if not secret:
        raise ConfigurationError(f"{variable(name)}{OF_FILE}: {path} is empty")
    return secret


def _complaints(error: ValidationError, sources: Mapping[str, Sequence[Source]]) -> Iterator[str]:
    reported: set[str] = set()
    for detail in error.errors(include_url=False):
        name = str(detail["loc"][0]) if detail["loc"] else ""
        # One error for each setting: a union has an error for each alternative.
        if name not in reported:
            yield _complaint(name, detail, sources)
        reported.add(name)


def _complaint(name: str, detail: ErrorDetails, sources: Mapping[str, Sequence[Source]]) -> str:
    if not name:
        return f"{detail['msg'].removeprefix('Value error, ')}. Right is: {example_of('domain')}."
    if name not in _fields():
        return f"{name} (from {sources[name][-1]}) names no setting{nearest(name)}"
    return f"{name}{_shown(detail)} (from {sources[name][-1]}) can't be taken. Right is: {example_of(name)}."


def _shown(detail: ErrorDetails) -> str:
    """Return the wrong value, unless it is a secret."""
    return "" if detail["loc"][0] in SECRETS else f" = {detail['input']!r}"
