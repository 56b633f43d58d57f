"""Settings: which source wins, what is refused and how, and what follows from host, port and domain."""

from pathlib import Path

import pytest

from troupe.actors.configuration import Settings, ascii_domain
from troupe.supervision.settings.sources import ConfigurationError, read_settings, unknown_variables


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without a troupe.toml of its own."""
    monkeypatch.chdir(tmp_path)


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "troupe.toml").write_text('port = 1\ntitle = "file"\ndescription = "file"\n')
    settings = read_settings({"port": "3", "title": None}, {"TROUPE_PORT": "2", "TROUPE_TITLE": "environment"})
    assert (settings.port, settings.title, settings.description) == (3, "environment", "file")


def test_a_named_file_is_read_instead_of_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "troupe.toml").write_text("port = 1\n")
    (tmp_path / "mine.toml").write_text("port = 2\n")
    (tmp_path / "other.toml").write_text("port = 3\n")
    assert read_settings({}, {"TROUPE_CONFIG": str(tmp_path / "mine.toml")}).port == 2
    assert read_settings({}, {"TROUPE_CONFIG": str(tmp_path / "mine.toml")}, tmp_path / "other.toml").port == 3


@pytest.mark.parametrize(
    ("variable", "value", "right"),
    [
        ("TROUPE_PORT", "99999", "a number from 1 to 65535"),
        ("TROUPE_PORT", "http", "a number from 1 to 65535"),
        ("TROUPE_RATE_LIMITS", "maybe", "true or false"),
        ("TROUPE_NODE", "", "1 to 16 of the characters"),
        ("TROUPE_NODE", "n" * 17, "1 to 16 of the characters"),
        ("TROUPE_NODE", "../other", "1 to 16 of the characters"),
        ("TROUPE_NODE", "Main", "1 to 16 of the characters"),
        ("TROUPE_NODE", "main\n", "1 to 16 of the characters"),
        ("TROUPE_REGISTRATIONS", "ajar", "open, approval or closed"),
        ("TROUPE_DOMAIN", "https://example.org/", "a domain name without scheme or path"),
        ("TROUPE_TRUSTED_PROXIES", "10.0.0.0/8, nearby", "addresses or networks"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_its_source_and_what_is_right(
    variable: str, value: str, right: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings({}, {variable: value})
    text = str(refused.value)
    assert text.startswith(f"{variable.removeprefix('TROUPE_').lower()} = ")
    assert "(from the environment)" in text
    assert f"Right is: {right}" in text
    assert "\n" not in text


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"port": "0"}, {"TROUPE_LOG_FORMAT": "xml"})
    assert "port = '0' (from the command line)" in str(refused.value)
    assert "log_format = 'xml' (from the environment)" in str(refused.value)


def test_a_wrong_database_url_is_refused_without_showing_its_password() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings({}, {"TROUPE_DATABASE_URL": "mysql://ada:hunter2@db/troupe"})
    assert "database_url (from the environment)" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_an_unknown_name_in_the_file_is_refused_with_the_nearest_that_is_right(tmp_path: Path) -> None:
    (tmp_path / "troupe.toml").write_text("rate_limit = false\n")
    with pytest.raises(ConfigurationError, match=r"from the file troupe\.toml.*did you mean rate_limits\?"):
        read_settings({}, {})


def test_a_file_that_is_not_there_or_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read"):
        read_settings({}, {}, tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("port: 3000\n")
    with pytest.raises(ConfigurationError, match="not TOML"):
        read_settings({}, {}, tmp_path / "bad.toml")


def test_an_unknown_variable_is_told_with_the_nearest_that_is_right() -> None:
    told = unknown_variables({"TROUPE_RATE_LIMIT": "0", "TROUPE_SIM_SEEDS": "9", "TROUPE_CONFIG": "x", "HOME": "/"})
    assert told == ["TROUPE_RATE_LIMIT names no setting; did you mean rate_limits?"]


def test_addresses_of_services_are_no_ports() -> None:
    environ = {
        "TROUPE_PORT": "tcp://10.0.0.1:3000", "TROUPE_SERVICE_HOST": "10.0.0.1", "TROUPE_SERVICE_PORT_HTTP": "3000",
        "TROUPE_PORT_3000_TCP": "tcp://10.0.0.1:3000", "TROUPE_PORT_3000_TCP_ADDR": "10.0.0.1",
        "TROUPE_SMTP_PORT": "tcp://10.0.0.2:25", "TROUPE_SMTP_SERVICE_PORT": "25",
    }  # fmt: skip
    settings = read_settings({}, environ)
    assert (settings.port, settings.smtp_port) == (3000, 587)
    assert [line.partition(",")[0] for line in unknown_variables(environ)] == [
        f"{name} is the address of a service of Kubernetes" for name in ("TROUPE_PORT", "TROUPE_SMTP_PORT")
    ]
    with pytest.raises(ConfigurationError, match="domain"):
        read_settings({}, environ | {"TROUPE_DOMAIN": "tcp://10.0.0.1:3000"})


def test_a_url_with_a_password_is_not_in_the_settings_portrait() -> None:
    settings = read_settings({}, {"TROUPE_DATABASE_URL": "postgresql://ada:hunter2@db/troupe"})
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_on_a_loopback_address_the_server_is_its_own_domain_on_both_of_them(host: str) -> None:
    settings = Settings(host=host, port=4000)
    assert settings.local_domain == "localhost:4000"
    assert settings.base_url == "http://localhost:4000"
    assert settings.streaming_url == "ws://localhost:4000"
    assert settings.listens == (("127.0.0.1", 4000), ("::1", 4000))


def test_behind_a_proxy_it_names_https_and_wss() -> None:
    settings = Settings(port=4000, domain="Social.Example.org")
    assert settings.local_domain == "social.example.org"
    assert settings.base_url == "https://social.example.org"
    assert settings.streaming_url == "wss://social.example.org"


def test_a_loopback_domain_is_plain_http_on_any_address() -> None:
    settings = Settings(host="0.0.0.0", domain="localhost:3000")
    assert settings.base_url == "http://localhost:3000"
    assert settings.listens == (("0.0.0.0", 3000),)


def test_on_an_outer_address_a_domain_is_needed() -> None:
    with pytest.raises(ConfigurationError, match=r"domain is not set, and host = '0\.0\.0\.0'"):
        read_settings({"host": "0.0.0.0"}, {})


def test_mails_come_from_the_domain_unless_the_operator_says_otherwise() -> None:
    assert read_settings({}, {"TROUPE_DOMAIN": "t.example:8443"}).mail_sender == "noreply@t.example"
    assert read_settings({}, {}).mail_sender == "noreply@localhost"
    assert read_settings({}, {"TROUPE_MAIL_FROM": "us@t.example"}).mail_sender == "us@t.example"
    for wrong in ("us", "us@t.example, them@t.example", "Us <us@t.example>", "us@t.example\nBcc: all@t.example"):
        with pytest.raises(ConfigurationError, match="Right is: an e-mail address"):
            read_settings({}, {"TROUPE_MAIL_FROM": wrong})


def test_addresses_of_the_server_are_ones_that_mail_servers_and_push_services_take() -> None:
    settings = read_settings(
        {}, {"TROUPE_CONTACT_EMAIL": " ops@Bücher.example", "TROUPE_MAIL_FROM": "us@bücher.example"}
    )
    assert (settings.contact_email, settings.mail_sender) == ("ops@xn--bcher-kva.example", "us@xn--bcher-kva.example")
    assert settings.push_contact == "mailto:ops@xn--bcher-kva.example"
    assert read_settings({}, {"TROUPE_CONTACT_EMAIL": ""}).contact_email == ""
    for wrong in ("nobody", "mailto:ops@t.example", "Ops <ops@t.example>"):
        with pytest.raises(ConfigurationError, match=r"contact_email = .* Right is: an e-mail address"):
            read_settings({}, {"TROUPE_CONTACT_EMAIL": wrong})


def test_an_empty_data_folder_is_not_the_working_directory() -> None:
    with pytest.raises(ConfigurationError, match=r"data = '' \(from the environment\) can't be taken"):
        read_settings({}, {"TROUPE_DATA": ""})
    assert read_settings({}, {"TROUPE_DATA": "."}).data == Path.cwd()


def test_a_password_for_the_mail_server_is_shown_nowhere() -> None:
    settings = read_settings({}, {"TROUPE_SMTP_PASSWORD": "hunter2"})
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("domain", ["", "troupe.test", "t.localhost:3000", "a.example", "b.invalid"])
def test_hosts_with_private_addresses_are_named_on_a_server_of_tests(domain: str) -> None:
    settings = read_settings({}, {"TROUPE_TEST_HOSTS": "Push.test, bücher.test:8080", "TROUPE_DOMAIN": domain})
    assert settings.test_hosts == ("push.test", "xn--bcher-kva.test")


@pytest.mark.parametrize("domain", ["social.example.org", "test.org", "localhost.org:3000", "contest"])
def test_hosts_with_private_addresses_are_refused_on_every_other_server(domain: str) -> None:
    with pytest.raises(ConfigurationError, match="the server's own domain is none of tests"):
        read_settings({}, {"TROUPE_TEST_HOSTS": "push.test", "TROUPE_DOMAIN": domain})
    assert read_settings({}, {"TROUPE_DOMAIN": domain}).test_hosts == ()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:5000", "http://[::1]:5000/", "https://10.0.0.1/api", "http://lt:5000"]
)
def test_the_translation_service_may_have_a_private_address(url: str) -> None:
    settings = read_settings({}, {"TROUPE_TRANSLATION_URL": url, "TROUPE_TRANSLATION_KEY": "hunter2"})
    assert (settings.translation_url or "").rstrip("/") == url.rstrip("/")
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    "url", ["lt:5000", "ftp://a.example/", "http://u:p@a.example/", "http://a.example/?key=1", "http://"]
)
def test_a_translation_service_without_a_web_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="translation_url"):
        read_settings({}, {"TROUPE_TRANSLATION_URL": url})


@pytest.mark.parametrize("host", ["mail.example.org", "mail_server", "bücher.example", "192.0.2.25", "2001:db8::25"])
def test_the_mail_server_is_a_name_or_an_address(host: str) -> None:
    assert read_settings({}, {"TROUPE_SMTP_HOST": host}).smtp_host == host


@pytest.mark.parametrize(
    "host", ["mail.example:587", "smtp://mail.example", "mail.example/", "eve@mail.example", "[::1]", "two words"]
)
def test_a_mail_server_with_more_than_its_name_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="smtp_host"):
        read_settings({}, {"TROUPE_SMTP_HOST": host})


@pytest.mark.parametrize(
    ("written", "host"), [("[::1]", "::1"), ("[::]", "::"), ("::", "::"), ("0.0.0.0", "0.0.0.0"), ("box_1", "box_1")]
)
def test_the_server_listens_on_a_name_or_an_address(written: str, host: str) -> None:
    assert read_settings({}, {"TROUPE_HOST": written, "TROUPE_DOMAIN": "a.example"}).host == host


@pytest.mark.parametrize("host", ["0.0.0.0:3000", "[::]:3000", "http://0.0.0.0", "10.0.0.0/8", "[::1"])
def test_an_address_with_a_port_or_a_scheme_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"host = .* Right is: a name or an IP address"):
        read_settings({}, {"TROUPE_HOST": host, "TROUPE_DOMAIN": "a.example"})


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ('"hunter2"', "hunter2"),
        ("'hunter2'", "hunter2"),
        ('"hunter2"\r', "hunter2"),
        ("hunter2\r", "hunter2"),
        ("hunter2 ", "hunter2 "),
        ('hun"ter2"', 'hun"ter2"'),
        ("\"hunter2'", "\"hunter2'"),
        ('"', '"'),
        ("\"'hunter2'\"", "'hunter2'"),
    ],
)
def test_quotation_marks_and_line_ends_of_environment_files_are_no_part_of_a_value(written: str, password: str) -> None:
    read = read_settings({}, {"TROUPE_SMTP_PASSWORD": written}).smtp_password
    assert read is not None
    assert read.get_secret_value() == password


@pytest.mark.parametrize("name", ["PORT", "TAKEOVER", "SMTP_TLS", "TLS_REDIRECT_PORT", "REGISTRATIONS"])
def test_an_empty_number_or_choice_was_not_chosen(tmp_path: Path, name: str) -> None:
    file = tmp_path / "troupe.toml"
    file.write_text("port = 3001\n")
    read = read_settings({}, {f"TROUPE_{name}": ""}, file)
    assert read == read_settings({}, {}, file)
    assert read.port == 3001


def test_networks_of_proxies_are_read_as_those_that_staff_block() -> None:
    read = read_settings({}, {"TROUPE_TRUSTED_PROXIES": "172.19.0.1/16, 10.0.0.7, 2001:db8::1/64"})
    assert list(map(str, read.trusted_proxies)) == ["172.19.0.0/16", "10.0.0.7/32", "2001:db8::/64"]


@pytest.mark.parametrize(("written", "tls"), [("STARTTLS", "starttls"), ("Tls", "tls"), (" none", "none")])
def test_the_encryption_of_mails_may_be_written_in_capitals(written: str, tls: str) -> None:
    assert read_settings({}, {"TROUPE_SMTP_TLS": written}).smtp_tls == tls


@pytest.mark.parametrize(
    "endpoint", ["https://a.example", "http://127.0.0.1:9000/", "https://x.supabase.example/storage/v1/s3"]
)
def test_a_store_may_be_below_a_path(endpoint: str) -> None:
    assert read_settings({}, {"TROUPE_S3_ENDPOINT": endpoint}).s3_endpoint == endpoint.rstrip("/")
    with pytest.raises(ConfigurationError, match="s3_endpoint"):
        read_settings({}, {"TROUPE_S3_ENDPOINT": f"{endpoint}?region=x"})


def test_files_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    settings, secret = tmp_path / "troupe.toml", tmp_path / "secret"
    settings.write_bytes(b'\xef\xbb\xbfdomain = "a.example"\r\nport = 3001\r\n')
    secret.write_bytes(b"\xef\xbb\xbfhunter2\r\n")
    read = read_settings({}, {"TROUPE_SMTP_PASSWORD_FILE": str(secret)}, settings)
    assert (read.domain, read.port) == ("a.example", 3001)
    assert read.smtp_password is not None
    assert read.smtp_password.get_secret_value() == "hunter2"


def test_an_empty_domain_is_none() -> None:
    assert read_settings({}, {"TROUPE_DOMAIN": ""}).domain is None


def test_the_data_folder_is_absolute(tmp_path: Path) -> None:
    assert Settings().data == tmp_path / "data"


@pytest.mark.parametrize(
    ("domain", "ascii_form"), [("bücher.example", "xn--bcher-kva.example"), ("A.example:8443", "a.example:8443")]
)
def test_domains_are_kept_in_ascii(domain: str, ascii_form: str) -> None:
    assert ascii_domain(domain) == ascii_form


@pytest.mark.parametrize("domain", ["", "a..b", "-a.b", "a b", "a/b", "user@a.b", "a.b:0", "a.b:x", "[::1]:3000"])
def test_what_is_no_domain_is_refused(domain: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        ascii_domain(domain)


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("127.0.0.1:9100", ("127.0.0.1", 9100)),
        ("[::1]:9100", ("::1", 9100)),
        ("/run/troupe/metrics.sock", Path("/run/troupe/metrics.sock")),
        ("", None),
    ],
)
def test_metrics_are_at_an_address_or_a_path(written: str, place: object) -> None:
    assert read_settings({}, {"TROUPE_METRICS": written}).metrics == place
    assert Settings().metrics is None


@pytest.mark.parametrize("written", ["9100", "127.0.0.1", "127.0.0.1:0", "metrics.sock", "example.org:9100"])
def test_metrics_at_no_place_are_refused(written: str) -> None:
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:9100"):
        read_settings({}, {"TROUPE_METRICS": written})
