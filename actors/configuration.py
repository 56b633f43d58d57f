"""Settings: one schema for all the ways in which an operator can set them.

`supervision/settings/` reads them from the command line, the environment and a file. They are in groups, so that the
type of a parameter names the group that a function depends on. A group that needs the name of the server or its folder
is a subclass of `ServerSettings`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import idna
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from .. import __version__
from ..storage.engine.node import NODE_NAME
from ..storage.media_stores import StoreName
from .outgoing.addresses import named_hosts
from .outgoing.messages import ForbiddenTarget
from .outgoing.targets import named_target
from .rules.languages import language_code
from .rules.live_settings import Value
from .rules.mailboxes import is_mailbox, spelled
from .rules.usernames import RESERVED

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Top-level domains that lead nowhere (RFC 2606). Only servers below them may send requests to private addresses.
TEST_DOMAINS = {"test", "localhost", "example", "invalid"}
# For each of these hosts a server listens on both loopback addresses: clients resolve `localhost` to either address.
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
HOST = re.compile(r"[^\s/:@\[\]]+")
# As in other programs, `::` means all addresses of IPv4 and IPv6.
ANY = {"::": ("0.0.0.0", "::")}  # noqa: S104  # the operator has chosen it


# `Any`, as pydantic's own Field returns: the field takes the type of its annotation.
def setting(default: object, meaning: str, right: str, **bounds: Any) -> Any:
    """Return a field with its meaning and, for errors, an example of a right value."""
    return Field(default=default, description=meaning, json_schema_extra={"right": right}, **bounds)


def _from_commas(value: object) -> object:
    """Return the list of `a, b`, the form in the environment and on the command line."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _nothing_if_empty(value: object) -> object:
    """Return None for an empty value: `TROUPE_DOMAIN=` in an environment file means that nothing was chosen."""
    return None if value == "" else value


def _not_empty(value: object) -> object:
    """Refuse an empty path: it would be the working directory."""
    if value == "":
        raise ValueError("the path is empty")
    return value


def _name_server(value: object) -> object:
    """Return address and port of `192.0.2.53`, `192.0.2.53:5353` or `[2001:db8::53]:5353`."""
    if not isinstance(value, str):
        return value
    bare = value.count(":") > 1 and not value.startswith("[")  # an IPv6 address without a port
    host, port = (value, "") if bare else (_without_port(value), _port(value))
    if port and not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError("the port is not a number from 1 to 65535")
    return str(ipaddress.ip_address(host)), int(port or 53)


def _network(value: object) -> object:
    """Return an address or a network. `172.19.0.1/16` is the network of this address, as for blocks of staff."""
    return ipaddress.ip_network(value, strict=False) if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


MetricsPlace = Path | tuple[str, int] | None


def _metrics_place(value: object) -> object:
    """Return the path, or the address and port, of `127.0.0.1:9100`, `[::1]:9100` or `/run/troupe/metrics.sock`."""
    if not isinstance(value, str) or not value:
        return value or None
    if value.startswith("/"):
        return Path(value)
    host, port = _without_port(value), _port(value)
    if not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError("there is no port from 1 to 65535")
    return str(ipaddress.ip_address(host)), int(port)


NameServers = Annotated[
    tuple[Annotated[tuple[str, int], BeforeValidator(_name_server)], ...], BeforeValidator(_from_commas)
]
Names = Annotated[tuple[str, ...], BeforeValidator(_from_commas)]
Networks = Annotated[tuple[Annotated[Network, BeforeValidator(_network)], ...], BeforeValidator(_from_commas)]
MaybePath = Annotated[Path | None, BeforeValidator(_nothing_if_empty)]
Text = Annotated[str | None, BeforeValidator(_nothing_if_empty)]
Secret = Annotated[SecretStr | None, BeforeValidator(_nothing_if_empty)]


class SettingsGroup(BaseModel):
    """A group of settings. They can't be changed, so that all parts of the program see the same values.

    Only `Settings`, which has all groups, is instantiated, so pydantic builds no validators for the groups.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, defer_build=True)


class ServerSettings(SettingsGroup):
    """The addresses to listen on, the folder for data, and the name of the server."""

    host: str = setting(
        "localhost",
        "The address to listen on. `localhost`, `127.0.0.1` and `::1` each mean both loopback addresses, and `::` all"
        " addresses of IPv4 and IPv6.",
        "a name or an IP address of this machine, such as localhost or 0.0.0.0",
        min_length=1,
    )
    port: int = setting(3000, "The TCP port to listen on.", "a number from 1 to 65535", ge=1, le=65535)
    socket: MaybePath = setting(
        None,
        "The path of a Unix socket to listen on, in place of `host` and `port`. Its user and its group may connect.",
        "a path in a folder that this user may write, such as /run/troupe/http.sock",
    )
    tls_certificate: MaybePath = setting(
        None,
        "The certificate of this server, with its chain, where no proxy is in front. With it the server speaks TLS and"
        " HTTP/2 on `port`. The file is read again when it changes.",
        "the path of a PEM file, such as /etc/letsencrypt/live/social.example.org/fullchain.pem",
    )
    tls_key: MaybePath = setting(
        None,
        "The private key of this certificate, without a password.",
        "the path of a PEM file, such as /etc/letsencrypt/live/social.example.org/privkey.pem",
    )
    tls_redirect_port: int | None = setting(
        None,
        "With `tls_certificate`: a TCP port without TLS that redirects browsers to the encrypted port.",
        "a number from 1 to 65535, such as 80",
        ge=1,
        le=65535,
    )
    data: Annotated[Path, BeforeValidator(_not_empty)] = setting(
        Path("data"),
        "The folder that holds everything the server keeps: the embedded database and media.",
        "a path to a folder that this user may write",
    )
    node: str = setting(
        "main",
        "The name of this server process, unique among the servers on one database, and the same at each start: it"
        " processes the videos that it has received itself.",
        "1 to 16 of the characters a-z, 0-9 and -",
        pattern=NODE_NAME.pattern,
    )
    processes: Annotated[int, Field(ge=1, le=62)] | Literal["auto"] = setting(
        1,
        "How many processes serve on this machine, each on a core of its own. `auto`: one for each core that the server"
        " may use, less one for PostgreSQL.",
        "auto, or a number from 1 to 62",
    )
    domain: Text = setting(
        None,
        "The server's name in handles and links. Without a domain a server on a loopback address is `localhost:PORT`.",
        "a domain name without scheme or path, such as social.example.org or localhost:3000",
    )

    @field_validator("host")
    @classmethod
    def _to_listen_on(cls, value: str) -> str:
        host = (
            value[1:-1] if value.startswith("[") and value.endswith("]") else value
        )  # an IPv6 address as URLs have it
        if not is_host(host):
            raise ValueError("it is no name and no IP address")
        return host

    @field_validator("data", "tls_certificate", "tls_key")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return value.expanduser().absolute() if value else None

    @field_validator("domain")
    @classmethod
    def _ascii_domain(cls, value: str | None) -> str | None:
        return ascii_domain(value) if value else None

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.domain is None and not is_loopback(self.host):
            raise ValueError(f"domain is not set, and host = {self.host!r} is not a loopback address to use instead")
        return self

    @model_validator(mode="after")
    def _encrypts_or_not(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key belong together, and one of them is not set")
        if self.tls_certificate is None and self.tls_redirect_port is not None:
            raise ValueError("tls_redirect_port is set without tls_certificate")
        if self.tls_certificate is not None and self.socket is not None:
            raise ValueError("socket is for a proxy in front, and tls_certificate for a server without one")
        if self.tls_redirect_port == self.port:
            raise ValueError("tls_redirect_port is port, which speaks TLS")
        return self

    @property
    def control_socket(self) -> Path:
        """The path of this node's control socket."""
        return self.data / f"control-{self.node}.sock"

    @property
    def local_domain(self) -> str:
        """The server's name in handles: the domain, or `localhost:PORT` on a loopback address."""
        if self.domain:
            return self.domain
        name = "localhost" if self.host in LOOPBACK else self.host
        return f"[{name}]:{self.port}" if ":" in name else f"{name}:{self.port}"

    @property
    def secure(self) -> bool:
        """True if clients reach this server by https: always, except on loopback addresses without a certificate."""
        return self.tls_certificate is not None or _is_secure(self.local_domain)

    @property
    def base_url(self) -> str:
        """The start of every link to this server, without a slash at the end."""
        return _base_url(self.local_domain, self.tls_certificate is not None)

    @property
    def streaming_url(self) -> str:
        """The start of every WebSocket link to this server."""
        return f"{'wss' if self.secure else 'ws'}://{self.local_domain}"

    @property
    def user_agent(self) -> str:
        """The name of the server in requests to others."""
        return f"Troupe/{__version__} (+{self.base_url}/)"

    @property
    def listens(self) -> tuple[tuple[str, int], ...]:
        """The addresses to bind: both loopback addresses for each of their names; for `::` also IPv4."""
        hosts = ("127.0.0.1", "::1") if self.host in LOOPBACK else ANY.get(self.host, (self.host,))
        ports = (self.port,) if self.tls_redirect_port is None else (self.port, self.tls_redirect_port)
        return tuple((host, port) for port in ports for host in hosts)

    @property
    def listening(self) -> str:
        """The addresses to bind, for people."""
        if self.socket is not None:
            return str(self.socket)
        return " and ".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.listens)


class StorageSettings(ServerSettings):
    """The database, and the store of media files."""

    database_url: Secret = setting(
        None,
        "An external PostgreSQL to use instead of the embedded one.",
        "a URL such as postgresql://user:password@host:5432/name",
    )
    database_connections: int = setting(
        8, "Connections to PostgreSQL that the server holds open.", "a number from 1 to 200", ge=1, le=200
    )
    media_store: StoreName = setting(
        "local",
        "Where media files are kept: `local` in the data folder, or `s3` in a bucket. `troupe media move` moves them.",
        "local or s3",
    )
    s3_endpoint: Text = setting(
        None,
        "The address of the store that speaks S3. Without it, Amazon's is used.",
        "a URL such as https://objects.example.org or http://127.0.0.1:9000",
        pattern=r"^https?://[^/?#\s]+(/[^?#\s]*)?$",
    )
    s3_bucket: Text = setting(None, "The bucket for media files.", "the name of a bucket")
    s3_region: str = setting("us-east-1", "The region of the bucket.", "a name such as eu-central-1", min_length=1)
    s3_access_key: Text = setting(None, "The id of the key that may read and write the bucket.", "the id of a key")
    s3_secret_key: Secret = setting(None, "The secret of that key.", "the secret of a key")
    media_url: Text = setting(
        None,
        "Where people get media files: below this address are the files `media/…` of the bucket. Without it this"
        " server passes them on.",
        "a URL such as https://media.example.org",
        pattern=r"^https?://[^?#\s]+$",
    )
    bus_url: Secret = setting(
        None,
        "The NATS servers through which this server and others on the same database talk, as nodes of a cluster. Each"
        " needs a `node` of its own, and the same `database_url`. Without it this server is the only one.",
        "addresses with commas between, such as nats://user:password@10.0.0.1:4222,10.0.0.2:4222",
    )
    takeover: bool = setting(
        False,
        "Start although another server holds this database. The other server is fenced and stops.",
        "true or false",
    )

    @field_validator("bus_url")
    @classmethod
    def _nats(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not value.get_secret_value().startswith(("nats://", "tls://")):
            raise ValueError("the scheme is neither nats:// nor tls://")
        return value

    @field_validator("database_url")
    @classmethod
    def _postgresql(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("the scheme is not postgresql://")
        return value

    @field_validator("media_url", "s3_endpoint")
    @classmethod
    def _without_slash(cls, value: str | None) -> str | None:
        return value.rstrip("/") if value else None

    @model_validator(mode="after")
    def _can_be_node(self) -> Self:
        if self.bus_url and self.takeover:
            raise ValueError(
                "takeover is for a server that is alone: a node takes the place of the last one of its name"
            )
        return self

    @model_validator(mode="after")
    def _has_bucket(self) -> Self:
        if self.media_store == "s3" and not (self.s3_bucket and self.s3_access_key and self.s3_secret_key):
            raise ValueError("media_store = 's3' needs s3_bucket, s3_access_key and s3_secret_key")
        return self


class AboutSettings(SettingsGroup):
    """The server as it presents itself to people."""

    title: str = setting("Troupe", "The server's name for people.", "1 to 200 characters", min_length=1, max_length=200)
    description: str = setting(
        "", "One paragraph about the server, in plain text.", "at most 2000 characters", max_length=2000
    )
    languages: Names = setting(
        ("en",),
        "The languages of the server and of the people who run it.",
        "codes of ISO 639 with commas between, such as en, pt-BR",
        min_length=1,
        max_length=20,
    )
    contact_email: str = setting(
        "", "The address to reach the operator at.", "an e-mail address such as ada@example.org", max_length=320
    )
    contact_account: Text = setting(
        None, "The account at which people reach the operator.", "the name of a local account, without @"
    )

    @field_validator("languages")
    @classmethod
    def _known_languages(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        codes = [language_code(written) for written in value]
        if None in codes:
            raise ValueError(f"{value[codes.index(None)]!r} is not a known language")
        return tuple(code for code in codes if code)


class SignUpSettings(SettingsGroup):
    """The rule for sign-ups, and the names and addresses that they may have."""

    registrations: Literal["open", "approval", "closed"] = setting(
        "closed",
        "Sign-ups: `open`, `closed`, or by `approval` of a moderator. `troupe settings set` comes before it."
        " Without `smtp_host` they are closed.",
        "open, approval or closed",
    )
    require_reason: bool = setting(
        False,
        "With `approval`: whether people must say why they want to join. Without it they may.",
        "true or false",
    )
    reserved_usernames: Names = setting(
        tuple(sorted(RESERVED)),
        "Names that are refused at sign-up, also with underscores, or when digits stand for their letters.",
        "names with commas between, such as admin, support",
    )
    check_email_domains: bool = setting(
        True,
        "Whether sign-ups and changed addresses need a domain that takes mails. A server whose own name is known only"
        " inside of its network asks for none.",
        "true or false",
    )
    dns_servers: NameServers = setting(
        (),
        "The DNS servers that are asked for this. Without them, the DNS servers that the machine uses.",
        "addresses with commas between, each with a port or not, such as 192.0.2.53, 127.0.0.1:5353",
        max_length=5,
    )
    disposable_emails: Literal["refused", "accepted"] = setting(
        "refused",
        "Whether the providers of throw-away addresses are refused, by the list of the package"
        " `disposable-email-domains`.",
        "refused or accepted",
    )


class MailSettings(ServerSettings):
    """The server that takes mails."""

    smtp_host: Text = setting(
        None,
        "The server that takes mails. Without it no mail is sent.",
        "a name or an IP address, without scheme and port, such as mail.example.org",
    )
    smtp_port: int = setting(587, "The TCP port of that server.", "a number from 1 to 65535", ge=1, le=65535)
    smtp_tls: Annotated[Literal["none", "starttls", "tls"], BeforeValidator(_lower)] = setting(
        "starttls",
        "Encryption of the connection to it: none, by STARTTLS after a greeting in clear, or TLS from the start.",
        "none, starttls or tls",
    )
    smtp_user: Text = setting(None, "The name to log in with there.", "a name")
    smtp_password: Secret = setting(None, "The password to log in with there.", "a password")
    mail_from: Text = setting(
        None,
        "The address that mails come from. Without it, mails come from `noreply` at the domain.",
        "an e-mail address such as troupe@example.org",
    )

    @field_validator("smtp_host")
    @classmethod
    def _host_alone(cls, value: str | None) -> str | None:
        if value and not is_host(value):
            raise ValueError("it is no name and no IP address")
        return value

    @property
    def sends_mail(self) -> bool:
        """True if there is a server that takes mails."""
        return self.smtp_host is not None

    @property
    def mail_sender(self) -> str:
        """The address that mails come from."""
        return self.mail_from or f"noreply@{_without_port(self.local_domain)}"


class AccessSettings(SettingsGroup):
    """Access to the server, of apps and of people who are not signed in."""

    password_grant: bool = setting(
        False,
        "Whether apps may exchange a user's name and password for a token, which old clients and scripts need.",
        "true or false",
    )
    public_preview: bool = setting(
        True,
        "Whether people who are not signed in may read the public timelines, trending posts and the profile directory.",
        "true or false",
    )
    limited_federation: bool = setting(
        False,
        "Whether the server deals with allowed domains alone (`troupe domains allow`), and shows nothing but its"
        " description to people who are not signed in.",
        "true or false",
    )

    @property
    def shows_previews(self) -> bool:
        """True if people who are not signed in may read public timelines and the like."""
        return self.public_preview and not self.limited_federation


class FederationSettings(SettingsGroup):
    """Requests from and to other servers."""

    federation_first_retry: float = setting(
        15.0,
        "Seconds after which a delivery to another server that failed is tried again. Each further try waits thrice as"
        " long, up to six hours, for two days in all.",
        "a number from 0.1 to 3600",
        ge=0.1,
        le=3600,
    )
    federation_tally_delay: float = setting(
        180.0,
        "Seconds for which votes are gathered before they are sent to other servers.",
        "a number from 0 to 86400",
        ge=0,
        le=86400,
    )
    authorized_fetch: bool = setting(
        False,
        "Whether other servers must sign their requests to read profiles and posts of this server, so that blocked"
        " servers can't. Pages for browsers stay open.",
        "true or false",
    )


class ContentSettings(ServerSettings):
    """The contents of answers."""

    link_previews: bool = setting(
        True, "Whether the pages that statuses link to are fetched and shown as cards.", "true or false"
    )
    translation_url: Text = setting(
        None,
        "The address of a LibreTranslate server that translates posts, also at a private address, and with plain http."
        " Without it no post is translated.",
        "a URL such as http://127.0.0.1:5000 or https://translate.example.org",
    )
    translation_key: Secret = setting(None, "The key that this server asks for, if it does.", "a key")
    domain_blocks_shown: Literal["public", "users", "nobody"] = setting(
        "nobody",
        "The readers of the list of domains that the server blocks. All others are refused, with 404 for `nobody` and"
        " with 401 for `users`.",
        "public, users or nobody",
    )
    domain_blocks_comments: Literal["public", "users", "nobody"] = setting(
        "public", "The readers of this list who see the public comments too.", "public, users or nobody"
    )
    search_results: int = setting(
        40, "The most results of one kind that a search answers with.", "a number from 1 to 200", ge=1, le=200
    )
    trends_review: bool = setting(
        True,
        "Whether hashtags, links and posts trend only after staff has allowed them, with `troupe tags allow`,"
        " `troupe links allow` and `troupe posts allow`. Forbidden hashtags, links and posts never trend.",
        "true or false",
    )

    @field_validator("translation_url")
    @classmethod
    def _named_server(cls, value: str | None) -> str | None:
        try:
            target = named_target(value) if value else None
        except ForbiddenTarget as error:
            raise ValueError(str(error)) from None
        if target is not None and "?" in target.path:
            raise ValueError("the URL has a query")
        return target.url if target else None


class RequestSettings(ServerSettings):
    """Limits on requests, and how they are answered."""

    rate_limits: bool = setting(
        True, "Whether requests are counted and throttled; `false` is for load tests.", "true or false"
    )
    trusted_proxies: Networks = setting(
        tuple(ipaddress.ip_network(address) for address in ("127.0.0.1", "::1")),
        "The proxies whose `X-Forwarded-For` is trusted.",
        "addresses or networks with commas between, such as 127.0.0.1, 10.0.0.0/8",
    )
    proxy_protocol: bool = setting(
        False,
        "Whether connections of `trusted_proxies` begin with a header of the PROXY protocol, which names the client.",
        "true or false",
    )
    connections_per_address: int = setting(
        512,
        "The most connections of one IP address, or of one /64 of IPv6. `trusted_proxies` may have any number.",
        "a number from 1 to 100000",
        ge=1,
        le=100_000,
    )
    fast_path: Literal["on", "off"] = setting(
        "on",
        "Whether plain requests of the API are answered without hypercorn, at a fraction of the cost; `off` is to find"
        " out whether an error is in this way of answering.",
        "on or off",
    )
    push_id_as_number: bool = setting(
        False,
        "Whether the id of a push subscription is a number in answers. A few apps can read nothing else.",
        "true or false",
    )
    test_hosts: Names = setting(
        (),
        "For tests alone: other servers that may have private addresses, plain http and ports of their own. For a"
        " server that no name server knows, `peer.test=127.0.0.1:8443` gives its address. Refused unless the domain of"
        " this server is under `.test`, `.localhost`, `.example` or `.invalid`.",
        "names with commas between, such as gts.test, push.test, on a server whose own domain is for tests too",
    )

    @field_validator("test_hosts")
    @classmethod
    def _ascii_hosts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        named_hosts(value)  # refuses wrong places
        written = (host.partition("=") for host in value)
        return tuple(_without_port(ascii_domain(name)) + equals + place for name, equals, place in written)

    @model_validator(mode="after")
    def _only_in_tests(self) -> Self:
        if self.test_hosts and _without_port(self.local_domain).rpartition(".")[2] not in TEST_DOMAINS:
            raise ValueError("test_hosts is set, and the server's own domain is none of tests")
        return self


class OperationSettings(SettingsGroup):
    """The running process: its memory, what is watched, and its end."""

    stream_queue: int = setting(
        256,
        "Events that may wait for a streaming connection whose client has stopped reading before it is closed.",
        "a number from 16 to 65536",
        ge=16,
        le=65536,
    )
    timeline_memory: int = setting(
        256,
        "MiB that all awake timelines may hold together, about. Beyond it, the least recently read timelines are put to"
        " sleep, and read from the database when they are needed.",
        "a number from 16 to 65536",
        ge=16,
        le=65536,
    )
    loop_stall_warning: float = setting(
        0.2,
        "Seconds for which one function may keep the event loop, while all clients wait, before the log names it;"
        " 0: it is not watched.",
        "a number from 0.05 to 60, or 0",
        ge=0,
        le=60,
    )
    metrics: Annotated[MetricsPlace, BeforeValidator(_metrics_place)] = setting(
        None,
        "Where metrics and health are read, apart from the public address: an IP address with a port, or the path of a"
        " Unix socket. Without it there are no metrics. They are shown to every program that can connect there.",
        "an IP address of this machine with a port, such as 127.0.0.1:9100, or a path such as /run/troupe/metrics.sock",
    )
    shutdown_grace: float = setting(
        10.0, "Seconds that running requests get to finish when it stops.", "a number from 0 to 300", ge=0, le=300
    )

    @field_validator("loop_stall_warning")
    @classmethod
    def _not_too_short(cls, value: float) -> float:
        if 0 < value < 0.05:
            raise ValueError("it is shorter than 0.05 seconds")
        return value


class LogSettings(ServerSettings):
    """The log: where it goes, and its form."""

    log_to: Literal["auto", "stdout", "journal", "file"] = setting(
        "auto",
        "Where the log goes: standard output, the journal of systemd with each fact as a field, or a `file`. `auto`:"
        " the journal if systemd has connected standard output to it, else standard output.",
        "auto, stdout, journal or file",
    )
    log_file: MaybePath = setting(
        None,
        "With `file`: the path. By default it is `troupe.log` in the data folder.",
        "a path in a folder that this user may write, such as /var/log/troupe/troupe.log",
    )
    log_file_size: int = setting(
        50,
        "MiB after which a new log file begins. The older files are `troupe.log.1`, `troupe.log.2` and so on.",
        "a number from 1 to 65536",
        ge=1,
        le=65536,
    )
    log_files: int = setting(10, "How many older log files are kept.", "a number from 0 to 1000", ge=0, le=1000)
    log_format: Literal["auto", "console", "json"] = setting(
        "auto",
        "How the log is written; `auto`: for people on a terminal, JSON elsewhere. The journal has a form of its own.",
        "auto, console or json",
    )
    log_level: Literal["info", "warning", "error"] = setting(
        "info",
        "The lowest level of records that are written. `troupe settings set` comes before it.",
        "info, warning or error",
    )

    @property
    def log_path(self) -> Path:
        """The path of the log file, for a log that goes to a file."""
        return self.log_file or self.data / "troupe.log"


# The order of the handbook is the order of the fields: pydantic puts the fields of the last base first.
class Settings(
    LogSettings, OperationSettings, RequestSettings, ContentSettings, FederationSettings, AccessSettings, MailSettings,
    SignUpSettings, AboutSettings, StorageSettings, ServerSettings,
):  # fmt: skip
    """All settings, checked."""

    model_config = ConfigDict(defer_build=False)

    @field_validator("mail_from", "contact_email")
    @classmethod
    def _mailbox(cls, value: str | None) -> str | None:
        """Return an address with its domain in ASCII: mail servers and push services take no other."""
        address = spelled(value) if value else value
        if address and not is_mailbox(address):
            raise ValueError("it is not an e-mail address")
        return address

    @property
    def push_contact(self) -> str:
        """The address at which a push service can reach the operator."""
        return f"mailto:{self.contact_email or self.mail_sender}"

    def changed(self, values: Mapping[str, Value]) -> Settings:
        """Return the settings with other values for some, which were checked (`actors/rules/live_settings.py`)."""
        return self.model_copy(update=dict(values)) if values else self


# Cached, because each answer needs both, mostly of the same domain.
@lru_cache(maxsize=64)
def _base_url(local_domain: str, encrypts: bool) -> str:
    return f"{'https' if encrypts or _is_secure(local_domain) else 'http'}://{local_domain}"


@lru_cache(maxsize=64)
def _is_secure(local_domain: str) -> bool:
    return not is_loopback(_without_port(local_domain))


def is_loopback(host: str) -> bool:
    """True if a name or an address can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_host(written: str) -> bool:
    """True for an IP address, and for a name without a port. Names inside a network may have underscores."""
    try:
        ipaddress.ip_address(written)
    except ValueError:
        return HOST.fullmatch(written) is not None
    return True


def ascii_domain(domain: str) -> str:
    """Return a domain, with its port if it has one, in lower-case ASCII. Raises ValueError for other texts."""
    host, port = _without_port(domain.strip()), _port(domain.strip())
    if port and not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError("the port is not a number from 1 to 65535")
    if host.startswith("["):
        raise ValueError("an IPv6 address can't be a domain")
    encoded = idna.encode(host.lower(), uts46=True).decode() if not host.isascii() else host.lower()
    if not encoded or len(encoded) > 253 or not all(map(_is_label, encoded.split("."))):
        raise ValueError("it has characters that no domain has")
    return f"{encoded}:{port}" if port else encoded


def _is_label(label: str) -> bool:
    return len(label) < 64 and label.replace("-", "").isalnum() and not (label[0] == "-" or label[-1] == "-")


def _without_port(domain: str) -> str:
    if domain.startswith("["):
        return domain[1 : domain.find("]")]
    return domain.partition(":")[0]


def _port(domain: str) -> str:
    return domain.rpartition("]")[2].partition(":")[2]
