"""How to reach the brokers: addresses, encryption, and who asks."""

import os
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from anabranch.errors import ConfigurationError, nearest
from connectors.kafka.secret import Secret, guard_logs

__all__ = ["KafkaSettings", "Mechanism", "Security"]

Security = Literal["plaintext", "tls", "sasl_plaintext", "sasl_tls"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

_PROTOCOLS = {
    "plaintext": "PLAINTEXT",
    "tls": "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_tls": "SASL_SSL",
}
_MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOR_LOGIN = ("mechanism", "username", "password_env", "password_file")
_FOR_TLS = ("ca_file", "cert_file", "key_file", "key_password_env")


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """Where the brokers are and how to talk to them.

    Holds no secret: the password is read from the environment or a file whenever a client is
    made, so that it is in no job file, no run directory and no message.

    Attributes
    ----------
    brokers : "host:port" of one or more brokers to begin with
    security : "plaintext", "tls", "sasl_plaintext" or "sasl_tls"
    mechanism : "PLAIN", "SCRAM-SHA-256" or "SCRAM-SHA-512", with the sasl kinds of security
    username : who logs in, with the sasl kinds of security
    password_env : the environment variable that holds the password
    password_file : a file that holds it, in place of `password_env`; line ends are cut off
    ca_file : PEM file of the authorities to trust with TLS; None trusts those of the system
    cert_file, key_file : PEM files of this client's own certificate, where brokers demand one;
        without `key_file` the key is in `cert_file`
    key_password_env : the environment variable that holds the key's password
    timeout : seconds to wait for an answer of a broker

    Raises
    ------
    ConfigurationError
        A value is not allowed, one is missing, or two exclude each other.

    >>> KafkaSettings(("localhost:9092",), security="tsl")
    Traceback (most recent call last):
    anabranch.errors.ConfigurationError: kafka.security is 'tsl'; did you mean 'tls'? \
(allowed: plaintext, sasl_plaintext, sasl_tls, tls)
    """

    brokers: tuple[str, ...]
    security: Security = "plaintext"
    mechanism: Mechanism | None = None
    username: str | None = None
    password_env: str | None = None
    password_file: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password_env: str | None = None
    timeout: float = 10.0

    def __post_init__(self) -> None:
        _check_brokers(self.brokers)
        if self.security not in _PROTOCOLS:
            hint = nearest(self.security, list(_PROTOCOLS))
            raise ConfigurationError(f"kafka.security is {self.security!r}{hint}")
        if not 0 < self.timeout <= 300:
            raise ConfigurationError(
                f"kafka.timeout is {self.timeout}: allowed are more than 0 to 300 seconds"
            )
        self._check_login()
        self._check_tls()

    @property
    def logs_in(self) -> bool:
        """Whether a user name and a password go to the brokers."""
        return self.security.startswith("sasl")

    @property
    def encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return self.security.endswith("tls")

    @property
    def addresses(self) -> str:
        """The brokers' addresses, for a sentence."""
        return ", ".join(self.brokers)

    def _check_login(self) -> None:
        if not self.logs_in:
            self._refuse(_FOR_LOGIN, "'sasl_plaintext' and 'sasl_tls'")
            return
        if self.mechanism not in _MECHANISMS:
            raise ConfigurationError(
                f"kafka.mechanism is {self.mechanism!r}: with kafka.security ="
                f" {self.security!r} allowed are {', '.join(map(repr, _MECHANISMS))}"
            )
        if not self.username:
            raise ConfigurationError(
                f"kafka.username is {self.username!r}: kafka.security = {self.security!r}"
                " needs the name to log in with"
            )
        if (self.password_env is None) == (self.password_file is None):
            state = "not given" if self.password_env is None else "given together"
            raise ConfigurationError(
                f"kafka.password_env and kafka.password_file are {state}: kafka.security ="
                f" {self.security!r} needs one of them"
            )

    def _check_tls(self) -> None:
        if not self.encrypted:
            self._refuse(_FOR_TLS, "'tls' and 'sasl_tls'")
        for key in ("key_file", "key_password_env"):
            if getattr(self, key) is not None and self.cert_file is None:
                raise ConfigurationError(
                    f"kafka.{key} is {getattr(self, key)!r}, but kafka.cert_file is not given:"
                    " a key is allowed only with its certificate"
                )

    def _refuse(self, keys: tuple[str, ...], allowed: str) -> None:
        for key in keys:
            value = getattr(self, key)
            if value is not None:
                raise ConfigurationError(
                    f"kafka.{key} is {value!r}, but kafka.security is {self.security!r}:"
                    f" it is allowed with {allowed}"
                )

    def client(self) -> dict[str, Any]:
        """Give the arguments that every client of kafka-python takes, secrets included.

        Raises
        ------
        ConfigurationError
            A password is not where it should be, or a certificate cannot be used.

        >>> KafkaSettings(("localhost:9092",)).client()["security_protocol"]
        'PLAINTEXT'
        """
        options: dict[str, Any] = {
            "bootstrap_servers": list(self.brokers),
            "client_id": "anabranch",
            "security_protocol": _PROTOCOLS[self.security],
            "bootstrap_timeout_ms": int(self.timeout * 1000),
            "reconnect_backoff_max_ms": 2000,
        }
        if self.logs_in:
            guard_logs()
            options["sasl_mechanism"] = self.mechanism
            options["sasl_plain_username"] = self.username
            options["sasl_plain_password"] = self._password()
        if self.encrypted:
            options["ssl_context"] = self._context()
        return options

    def _password(self) -> Secret:
        if self.password_env is not None:
            return _from_environment("password_env", self.password_env)
        path = str(self.password_file)
        try:
            password = Path(path).read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ConfigurationError(
                f"kafka.password_file is {path!r}, which cannot be read: {why}"
            ) from None
        if not password:
            raise ConfigurationError(
                f"kafka.password_file is {path!r}, which is empty: it must hold the password"
            )
        return Secret(password)

    def _context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise _unusable("ca_file", self.ca_file, error) from None
        if self.cert_file is None:
            return context
        variable = self.key_password_env
        password = "" if variable is None else _from_environment("key_password_env", variable)
        try:
            context.load_cert_chain(self.cert_file, self.key_file, lambda: password)
        except OSError as error:
            raise _unusable("cert_file", self.cert_file, error) from None
        return context


def _check_brokers(brokers: tuple[str, ...]) -> None:
    if not brokers:
        raise ConfigurationError("kafka.brokers is empty: name at least one, as 'host:port'")
    for broker in brokers:
        host, _, port = broker.rpartition(":")
        if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ConfigurationError(
                f"kafka.brokers names {broker!r}: allowed is 'host:port', such as 'localhost:9092'"
            )


def _from_environment(key: str, variable: str) -> Secret:
    if not _VARIABLE.fullmatch(variable):
        # Not shown: it may well be the password itself.
        raise ConfigurationError(
            f"kafka.{key} does not name an environment variable: allowed are letters, digits and"
            " underscores"
        )
    value = os.environ.get(variable)
    if not value:
        state = "not set" if value is None else "empty"
        raise ConfigurationError(
            f"kafka.{key} is {variable!r}, but the environment variable {variable} is {state}"
        )
    return Secret(value)


def _unusable(key: str, path: str | None, error: OSError) -> ConfigurationError:
    if isinstance(error, ssl.SSLError):
        why = f"cannot be used: {error.reason or 'it is no PEM file, or locked'}"
    else:
        why = f"cannot be read: {error.strerror or error}"
    return ConfigurationError(f"kafka.{key} is {path!r}, which {why}")
