"""Which source wins, and what is said of a value that is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import make_url

from hive.errors import InputError
from hive.urls import masked
from metatide.config import KEYS, Effective, load
from metatide.config.load import forget_secrets

PASSWORD = "tide & pool/#1"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    path = Path.cwd() / "metatide.toml"
    path.write_text(text)
    return path


def origins(effective: Effective) -> Mapping[str, str]:
    return {one.key.name: one.origin for one in effective.settings}


def refusal(
    environ: Mapping[str, str] | None = None, options: Mapping[str, str] | None = None
) -> str:
    with pytest.raises(InputError) as caught:
        load(options, environ=environ or {})
    return str(caught.value)


@pytest.mark.parametrize(("user", "is_within"), [(0, False), (1000, True)])
def test_a_user_who_is_not_root_has_a_data_folder_at_home(
    monkeypatch: pytest.MonkeyPatch, user: int, is_within: bool
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert load(environ={}).config.data_dir.is_relative_to(Path.home()) == is_within


def test_without_any_source_all_are_defaults() -> None:
    effective = load(environ={})
    assert effective.file is None
    assert set(origins(effective).values()) == {"default"}
    assert [one.key for one in effective.settings] == list(KEYS.values())


def test_options_stand_above_the_environment_and_that_above_the_file() -> None:
    write('workers = 2\n[kafka]\ntopic = "of-the-file"\npartitions = 3\n[http]\nport = 1\n')
    effective = load(
        {"http.port": "4"},
        environ={"METATIDE_HTTP_PORT": "3", "METATIDE_KAFKA_PARTITIONS": "7", "HOME": "/x"},
    )
    config = effective.config
    assert (config.workers, config.kafka.topic) == (2, "of-the-file")
    assert (config.kafka.partitions, config.http.port) == (7, 4)
    where = origins(effective)
    assert where["workers"] == where["kafka.topic"] == "metatide.toml"
    assert where["kafka.partitions"] == "METATIDE_KAFKA_PARTITIONS"
    assert where["http.port"] == "--http-port"
    assert where["thrift.port"] == "default"


def test_an_empty_variable_sets_nothing() -> None:
    assert load(environ={"METATIDE_WORKERS": ""}).config.workers == 1


def test_workers_of_two_topics_are_in_two_groups() -> None:
    assert load(environ={}).config.worker_group == "metatide"
    environ = {"METATIDE_KAFKA_TOPIC": "sales"}
    assert load(environ=environ).config.worker_group == "sales"
    assert load(environ=environ | {"METATIDE_WORKER_GROUP": "b"}).config.worker_group == "b"


def test_the_file_can_be_elsewhere_and_must_be_there_then() -> None:
    elsewhere = Path.cwd() / "other.toml"
    elsewhere.write_text("workers = 5")
    write("workers = 2")
    assert load(environ={"METATIDE_CONFIG": "other.toml"}).config.workers == 5
    assert load(file=elsewhere, environ={}).config.workers == 5
    missing = refusal({"METATIDE_CONFIG": "missing.toml"})
    assert f"{Path.cwd()}/missing.toml cannot be read: No such file or directory" in missing


def test_paths_in_the_file_are_relative_to_it() -> None:
    folder = Path.cwd() / "etc"
    folder.mkdir()
    (folder / "metatide.toml").write_text('data_dir = "data"')
    assert load(file=folder / "metatide.toml", environ={}).config.data_dir == folder / "data"
    assert load({"data_dir": "data"}, environ={}).config.data_dir == Path.cwd() / "data"


def test_a_home_that_does_not_exist_is_named() -> None:
    why = "there is no home folder ~nobody-here: write the whole path"
    assert refusal({"METATIDE_DATA_DIR": "~nobody-here/x"}).endswith(f"is wrong: {why}")
    assert refusal(options={"images.url": "~nobody-here/x"}).endswith(f"is wrong: {why}")
    assert refusal({"METATIDE_CONFIG": "~nobody-here/x"}).endswith(f"cannot be read: {why}")


def test_a_working_directory_that_is_gone_is_said_in_one_line() -> None:
    Path.cwd().rmdir()
    assert "the working directory can't be told: No such file or directory; change" in refusal()


def test_paths_among_urls_and_jars_are_relative_to_the_file_too() -> None:
    folder = Path.cwd() / "etc"
    folder.mkdir()
    (folder / "metatide.toml").write_text(
        '[images]\nurl = "images"\n[thrift]\nhive_classpath = "lib/*:/opt/a.jar::~/b.jar"\n'
        'jwt_keys = "keys.json"\nport = 9083\nhttp_port = 9084\n'
        'tls_certificate = "c"\ntls_key = "k"\n'
    )
    config = load(file=folder / "metatide.toml", environ={}).config
    assert config.images.url == str(folder / "images")
    assert config.thrift.jwt_keys == str(folder / "keys.json")
    home = Path("~").expanduser()
    assert config.thrift.hive_classpath == f"{folder}/lib/*:/opt/a.jar::{home}/b.jar"


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("images", "{cwd}/images"),
        ("s3://bucket/images", "s3://bucket/images"),
        ("file:/srv/images", "file:/srv/images"),
        ("simplecache::s3://b/i", "simplecache::s3://b/i"),
    ],
)
def test_a_place_of_images_is_a_url_or_a_path(url: str, location: str) -> None:
    images = load({"images.url": url}, environ={}).config.images
    assert images.url == location.format(cwd=Path.cwd())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[kafka]\ntopik = "x"', "there is no key kafka.topik; the nearest is kafka.topic"),
        ("workrs = 1", "there is no key workrs; the nearest is workers"),
        ("[databse]\nurl = 'x'", "there is no key databse.url; the nearest is database.url"),
        ("kafka = 1", "kafka is a table, written [kafka], not a value"),
        ("workers = 0", "workers: the value 0 is wrong: expected a whole number of at least 1"),
        (
            "workers = '2'",
            "'2' is wrong: expected a whole number of at least 1 and at most 64 without quotes",
        ),
        ("metastore = 'true'", "'true' is wrong: expected true or false without quotes"),
        ("[kafka]\ntopic = 3", "kafka.topic: the value 3 is wrong: expected a text"),
        ("[kafka]\nbootstrap_servers = 'kafka'", "expected HOST:PORT"),
        ("[kafka]\nbootstrap_servers = '::1:9092'", "expected HOST:PORT"),
        ("[kafka]\nbootstrap_servers = '[::1]'", "expected HOST:PORT"),
        ("[kafka]\nbootstrap_servers = 7", "expected a text, got 7"),
        ("[thrift]\njwt_keys = 'https://[::1'", "expected https://HOST:PORT/PATH or the path of"),
        ("[thrift]\njwt_keys = 'http://issuer'", "expected https://HOST:PORT/PATH or the path of"),
        ("[reads]\nhosts = 'a.b:80'", "expected names of hosts without ports, with commas in"),
        ("[upstream]\nurl = 'http://h:1'", "expected thrift://HOST:PORT"),
        ("[upstream]\nurl = 'thrift://h'", "expected thrift://HOST:PORT"),
        ("[database]\nurl = 'oracle://h/x'", "expected postgresql://USER@HOST:PORT/NAME or mysql"),
        ("workers = ", "is not TOML: Invalid value"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name_and_key(text: str, message: str) -> None:
    path = write(text)
    refused = refusal()
    assert refused.startswith(str(path))
    assert message in refused


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("METATIDE_KAFKA_TOPC", "x", "is not a key; the nearest is METATIDE_KAFKA_TOPIC"),
        ("METATIDE_WORKERS", "two", "METATIDE_WORKERS: the value 'two' is wrong: expected a whole"),
        ("METATIDE_METASTORE", "yes", "the value 'yes' is wrong: expected true or false"),
        ("METATIDE_THRIFT_PORT", "abc", "a whole number of at least 0 and at most 65535"),
        ("METATIDE_LOG_LEVEL", "DEBUG", "is wrong: expected debug, info, warning or error"),
        ("METATIDE_LOG_FORMAT", "xml", "the value 'xml' is wrong: expected console or json"),
        (
            "METATIDE_HTTP_PORT",
            "65536",
            "a whole number of at least 0 and at most 65535",
        ),
    ],
)
def test_a_wrong_environment_is_refused(variable: str, text: str, message: str) -> None:
    assert message in refusal({variable: text})


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"SASL_MECHANISM": "FOO"}, "the value 'FOO' is wrong: expected PLAIN, SCRAM-SHA-256, "),
        ({"SASL_MECHANISM": "PLAIN"}, "set kafka.security_protocol to sasl_ssl"),
        ({"SECURITY_PROTOCOL": "sasl_ssl"}, "is sasl_ssl: set kafka.sasl_mechanism"),
        ({"SASL_USERNAME": "me"}, "kafka.sasl_username has no use without kafka.sasl_mechanism"),
        (
            {"SASL_MECHANISM": "PLAIN", "SASL_USERNAME": "me", "SECURITY_PROTOCOL": "sasl_ssl"},
            "kafka.sasl_mechanism is PLAIN: set kafka.sasl_password",
        ),
        (
            {"SASL_MECHANISM": "OAUTHBEARER", "SECURITY_PROTOCOL": "sasl_ssl"},
            "is OAUTHBEARER: set kafka.sasl_oauthbearer_token_endpoint_url, "
            "kafka.sasl_oauthbearer_client_id, kafka.sasl_oauthbearer_client_secret",
        ),
        (
            {"SASL_MECHANISM": "GSSAPI", "SECURITY_PROTOCOL": "sasl_plaintext"},
            "set kafka.sasl_kerberos_principal, kafka.sasl_kerberos_keytab",
        ),
        ({"SASL_KERBEROS_PRINCIPAL": "a/b/c@D"}, "expected NAME@REALM or NAME/_HOST@REALM"),
        (
            {"SASL_MECHANISM": "AWS_MSK_IAM", "SECURITY_PROTOCOL": "sasl_ssl"},
            "kafka.sasl_mechanism is AWS_MSK_IAM: set kafka.sasl_aws_region",
        ),
        ({"SASL_OAUTHBEARER_EXTENSIONS": "no value"}, "expected NAME=VALUE"),
        ({"SSL_KEY_LOCATION": "/key.pem"}, "set both kafka.ssl_certificate_location and"),
    ],
)
def test_a_login_that_can_not_work_is_refused(environ: dict[str, str], message: str) -> None:
    assert message in refusal({f"METATIDE_KAFKA_{name}": text for name, text in environ.items()})


def test_a_login_by_token_is_told_in_the_words_of_the_library() -> None:
    environ = {
        "SECURITY_PROTOCOL": "sasl_ssl",
        "SASL_MECHANISM": "OAUTHBEARER",
        "SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": "https://id/token",
        "SASL_OAUTHBEARER_CLIENT_ID": "worker",
        "SASL_OAUTHBEARER_CLIENT_SECRET": "hush",
        "HTTPS_CA_LOCATION": "/ca.pem",
    }
    loaded = load(environ={f"METATIDE_KAFKA_{name}": text for name, text in environ.items()})
    assert loaded.config.kafka.security == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        "sasl.oauthbearer.client.id": "worker",
        "sasl.oauthbearer.client.secret": "hush",
        "https.ca.location": "/ca.pem",
    }


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"LDAP_URL": "ldap://directory"}, "expected ldaps://HOST or ldaps://HOST:PORT"),
        ({"LDAP_URL": "ldaps://directory/dc=example"}, "expected ldaps://HOST"),
        ({"KERBEROS_PRINCIPAL": "hive@EXAMPLE.COM"}, "expected SERVICE/_HOST@REALM"),
        ({"KERBEROS_KEYTAB": "k"}, "set both thrift.kerberos_principal and thrift.kerberos_keytab"),
        ({"DELEGATION_TOKENS": "true"}, "has no use without thrift.kerberos_principal"),
        ({"LDAP_USER_DN": "uid=ann"}, "expected a name with {user} in it, once"),
        ({"LDAP_URL": "ldaps://a"}, "set both thrift.ldap_url and thrift.ldap_user_dn"),
        ({"LDAP_URL": "ldaps://a", "LDAP_USER_DN": "{user}@a"}, "set thrift.tls_certificate"),
        ({"PASSWORD_CHECK": "site:check"}, "thrift.password_check has clients send passwords"),
        ({"PASSWORD_CHECK": "site.check"}, "expected MODULE:FUNCTION"),
        ({"PASSWORD_CHECK": "site:check()"}, "expected MODULE:FUNCTION"),
        (
            {"PASSWORD_CHECK": "a:b", "LDAP_URL": "ldaps://a", "LDAP_USER_DN": "{user}@a"},
            "set one of thrift.ldap_url and thrift.password_check",
        ),
    ],
)
def test_a_login_of_clients_that_can_not_work_is_refused(
    environ: dict[str, str], message: str
) -> None:
    assert message in refusal({f"METATIDE_THRIFT_{name}": text for name, text in environ.items()})


def test_a_principal_is_that_of_a_host() -> None:
    environ = {
        "METATIDE_THRIFT_KERBEROS_PRINCIPAL": "hive/_HOST@EXAMPLE.COM",
        "METATIDE_THRIFT_KERBEROS_KEYTAB": "hive.keytab",
    }
    principal = load(environ=environ).config.thrift.kerberos_principal
    assert principal is not None
    assert principal.at("Worker-1.example.com") == "hive/worker-1.example.com@EXAMPLE.COM"


def test_directories_have_a_usual_port() -> None:
    environ = {
        "METATIDE_THRIFT_LDAP_URL": "ldaps://a, ldaps://b:1636/",
        "METATIDE_THRIFT_LDAP_USER_DN": "{user}@a",
        "METATIDE_THRIFT_TLS_CERTIFICATE": "c",
    }
    thrift = load(environ=environ).config.thrift
    assert thrift.ldap_url is not None
    assert thrift.ldap_url.addresses == (("a", 636), ("b", 1636))


def test_variables_of_kubernetes_services_are_not_ours() -> None:
    environ = {
        "METATIDE_SERVICE_HOST": "10.0.0.1",
        "METATIDE_SERVICE_PORT_HTTP": "80",
        "METATIDE_PORT": "tcp://10.0.0.1:80",
        "METATIDE_PORT_80_TCP": "tcp://10.0.0.1:80",
        "METATIDE_PORT_80_TCP_ADDR": "10.0.0.1",
        "METATIDE_TEST_SWITCH": "1",
    }
    assert set(origins(load(environ=environ)).values()) == {"default"}


@pytest.mark.parametrize("name", ["a b", "", "..", "a/b", "ä", "a" * 238])
def test_a_name_that_no_topic_can_have_is_refused(name: str) -> None:
    write(f"[kafka]\ntopic = '{name}'")
    assert "kafka.topic is" in refusal()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "/a"])
def test_a_worker_is_called_as_a_folder_can_be(name: str) -> None:
    write(f"[worker]\nname = '{name}'")
    assert "worker.name is" in refusal()


def test_a_port_of_no_section_is_no_key() -> None:
    with pytest.raises(InputError, match="METATIDE_PORT is not a key"):
        load(environ={"METATIDE_PORT": "8080"})


@pytest.mark.parametrize(
    "text",
    [
        f"[database]\npassword = '{PASSWORD}'",
        "[database]\nurl = 'postgresql://hive:tide@db/metastore'",
    ],
)
def test_a_secret_in_the_file_is_refused_without_showing_it(text: str) -> None:
    write(text)
    refused = refusal()
    assert (
        "a secret, which belongs in the environment variable METATIDE_DATABASE_PASSWORD" in refused
    )
    assert "a file that database.password_file names" in refused
    assert "tide" not in refused.partition(": ")[2].replace("METATIDE", "")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://hive:tide@db/metastore",
        "postgresql://hive@db/metastore?sslmode=require&password=tide",
        "postgresql://hive@db/metastore?sslpassword=tide",
    ],
)
def test_a_secret_in_an_option_is_refused(url: str) -> None:
    refused = refusal(options={"database.url": url})
    assert refused.startswith("--database: the URL has a password, a secret")
    assert "METATIDE_DATABASE_PASSWORD or in a file" in refused
    assert "a URL with other secrets belongs in METATIDE_DATABASE_URL" in refused
    assert "tide" not in refused.lower().replace("metatide", "")


def test_keys_of_an_object_store_in_an_option_or_a_file_are_refused() -> None:
    url = "s3://AKID:tide/1@bucket/images"
    write(f'[images]\nurl = "{url}"')
    for refused in (refusal(), refusal(options={"images.url": url})):
        assert (
            "a secret: such a URL belongs in the environment variable METATIDE_IMAGES_" in refused
        )
        assert "tide/1" not in refused
    Path("metatide.toml").unlink()
    assert load({"images.url": "s3://bucket/images"}, environ={}).config.images.url is not None


def test_a_password_for_the_issuer_of_tokens_is_refused_in_a_file() -> None:
    write("[kafka]\nsasl_oauthbearer_token_endpoint_url = 'https://me:tide@issuer/token'")
    refused = refusal()
    assert "belongs in the environment variable METATIDE_KAFKA_SASL_OAUTHBEARER_TOKEN" in refused
    assert "tide@" not in refused


def test_a_wrong_url_is_shown_without_its_secrets() -> None:
    refused = refusal({"METATIDE_DATABASE_URL": "oracle://db/x?sslmode=on&password=tide"})
    assert "oracle://db/x?sslmode=on&password=***" in refused


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://hive:ti de@db/metastore",
        "postgresql://hive@db/metastore?password=ti de",
        "oracle://db/metastore?password=ti de",
    ],
)
def test_a_url_with_a_space_after_which_nothing_is_masked_is_refused(url: str) -> None:
    refused = refusal({"METATIDE_DATABASE_URL": url})
    assert refused.startswith("METATIDE_DATABASE_URL: the value is wrong: ")
    assert "a space within a URL is written %20" in refused or "expected postgresql" in refused
    assert " de" not in refused


def test_secrets_leave_the_environment_that_children_inherit() -> None:
    environ = {
        "METATIDE_DATABASE_PASSWORD": "tide",
        "METATIDE_DATABASE_URL": "postgresql://db/metastore?sslpassword=tide",
        "METATIDE_IMAGES_URL": "s3://AKID:tide@bucket/images",
        "METATIDE_CLIENT_SERVER": "http://127.0.0.1:8080",
        "PATH": "/bin",
    }
    forget_secrets(environ)
    assert environ == {"METATIDE_CLIENT_SERVER": "http://127.0.0.1:8080", "PATH": "/bin"}


@pytest.mark.parametrize(
    "variable", ["METATIDE_DATABASE_PASSWORD", "METATIDE_DATABASE_PASSWORD_FILE"]
)
def test_a_password_comes_from_the_environment_or_a_file(variable: str) -> None:
    Path("secret").write_text(PASSWORD + "\n")
    environ = {variable: "secret" if variable.endswith("FILE") else PASSWORD}
    effective = load({"database.url": "postgresql://hive@db:5432/metastore"}, environ=environ)
    assert effective.config.database.password == PASSWORD
    full = "postgresql://hive:tide%20%26%20pool%2F%231@db:5432/metastore"
    assert effective.config.database.full_url == full
    assert PASSWORD not in repr(effective)
    assert {one.key.name: one.shown for one in effective.settings}["database.password"] == "***"


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"password": "a", "password_command": "b"}, "either database.password or database.pass"),
        ({"tls_ca": "a", "tls_key": "b"}, "both database.tls_certificate and database.tls_key"),
        ({"tls_certificate": "a", "tls_key": "b"}, "no use without database.tls_ca"),
    ],
)
def test_a_login_at_the_database_that_contradicts_itself_is_refused(
    keys: Mapping[str, str], message: str
) -> None:
    environ = {f"METATIDE_DATABASE_{name.upper()}": value for name, value in keys.items()}
    with pytest.raises(InputError, match=message):
        load(environ=environ)


def test_what_a_login_at_the_database_needs_is_in_its_url() -> None:
    environ = {
        "METATIDE_DATABASE_URL": "postgresql://hive@db/metastore?application_name=a",
        "METATIDE_DATABASE_PASSWORD_COMMAND": "cat 'a b'",
        "METATIDE_DATABASE_TLS_CA": "/ca.pem",
    }
    url = load(environ=environ).config.database.full_url
    wanted = "application_name=a&password_command=cat+%27a+b%27&tls_ca=%2Fca.pem"
    assert url == f"postgresql://hive@db/metastore?{wanted}"
    assert masked(url) == url


def test_a_secret_in_the_environment_stands_above_one_in_a_file() -> None:
    Path("secret").write_text("of the file")
    write('[database]\npassword_file = "secret"')
    assert load(environ={}).config.database.password == "of the file"
    environ = {"METATIDE_DATABASE_PASSWORD": PASSWORD}
    assert load(environ=environ).config.database.password == PASSWORD


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), ("\n", "is empty")])
def test_a_file_without_its_secret_is_refused(content: str | None, message: str) -> None:
    if content is not None:
        Path("secret").write_text(content)
    write('[database]\npassword_file = "secret"')
    assert message in refusal()


def test_a_password_in_the_url_of_the_environment_is_taken_but_not_shown() -> None:
    environ = {"METATIDE_DATABASE_URL": "mysql://hive:tide@db/metastore"}
    effective = load(environ=environ)
    assert effective.config.database.full_url == "mysql://hive:tide@db/metastore"
    shown = {one.key.name: one.shown for one in effective.settings}["database.url"]
    assert shown == "mysql://hive:***@db/metastore"
    assert "tide@" not in repr(effective)


@given(st.text(min_size=1).filter(lambda text: "\0" not in text))
def test_every_password_reaches_the_driver_as_it_is(password: str) -> None:
    environ = {
        "METATIDE_DATABASE_URL": "postgresql://hive@db:5432/metastore",
        "METATIDE_DATABASE_PASSWORD": password,
    }
    full = load(environ=environ).config.database.full_url
    assert full is not None
    url = make_url(full)
    assert (url.username, url.password, url.host, url.port) == ("hive", password, "db", 5432)
