"""A broker that demands to know who is there, and lets each do only what it may."""

from pathlib import Path

from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)

from tests.brokers.apache import Apache
from tests.brokers.certificates import Certificates, make_certificates
from tests.brokers.client import Kafka

__all__ = ["PASSWORDS", "SecureKafka", "secure_broker"]

PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret"}
"""Users: alice may do everything, bob what `SecureKafka.grant` lets him."""

_LISTENERS = {
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SSL": "SSL",
    "MUTUAL": "SSL",
}
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def secure_broker(folder: Path) -> tuple[Apache, Certificates]:
    """Prepare the broker and its certificates; neither is started.

    Raises
    ------
    ApacheMissingError, FileNotFoundError
        Java, Maven or openssl is absent.
    """
    certificates = make_certificates(folder / "certificates")
    settings = _sasl() | _tls(certificates) | _rules()
    users = [
        f"{mechanism}=[name={user},password={password}]"
        for user, password in PASSWORDS.items()
        for mechanism in _MECHANISMS[1:]
    ]
    broker = Apache(folder / "kafka", settings=settings, listeners=_LISTENERS, users=users)
    return broker, certificates


def _sasl() -> dict[str, str]:
    plain = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())
    package = "org.apache.kafka.common.security"
    modules = {
        "plain": f"{package}.plain.PlainLoginModule required {plain};",
        "scram-sha-256": f"{package}.scram.ScramLoginModule required;",
        "scram-sha-512": f"{package}.scram.ScramLoginModule required;",
    }
    told = {"sasl.enabled.mechanisms": ",".join(_MECHANISMS)}
    for listener in ("sasl_plaintext", "sasl_ssl"):
        for name, module in modules.items():
            told[f"listener.name.{listener}.{name}.sasl.jaas.config"] = module
    return told


def _tls(certificates: Certificates) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.broker_file),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca_file),
        "listener.name.mutual.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/",
    }


def _rules() -> dict[str, str]:
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The tests' own hand comes through the plain listener, where nobody has a name.
        "super.users": "User:ANONYMOUS;User:alice",
    }


class SecureKafka(Kafka):
    """A broker with guarded listeners.

    What `Kafka` has goes through the plain listener, where everything is allowed.

    Attributes
    ----------
    sasl, sasl_tls, tls, mutual_tls : addresses, host:port, of the listeners that demand a
        password (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512), one over TLS, TLS, a client certificate
    certificates : the files for TLS
    passwords : by user; alice may do everything, bob what `grant` lets him
    """

    def __init__(self, broker: Apache, certificates: Certificates) -> None:
        super().__init__(broker)
        self.certificates = certificates
        self.passwords = dict(PASSWORDS)
        self.sasl = broker.addresses("SASL_PLAINTEXT")
        self.sasl_tls = broker.addresses("SASL_SSL")
        self.tls = broker.addresses("SSL")
        self.mutual_tls = broker.addresses("MUTUAL")

    def grant(self, user: str, topic: str, *operations: str) -> None:
        """Let a user do things with a topic: "READ", "WRITE", "DESCRIBE", "CREATE", "ALL"..."""
        with self.admin() as admin:
            done = admin.create_acls([_rule(user, topic, name) for name in operations])
        if done["failed"]:
            raise AssertionError(f"the broker took no rule: {done['failed']}")

    def revoke(self, user: str, topic: str) -> None:
        """Take all that back."""
        wanted = ACLFilter(
            principal=f"User:{user}",
            host=None,
            operation=ACLOperation.ANY,
            permission_type=ACLPermissionType.ANY,
            resource_pattern=ResourcePattern(ResourceType.TOPIC, topic),
        )
        with self.admin() as admin:
            admin.delete_acls([wanted])


def _rule(user: str, topic: str, operation: str) -> ACL:
    return ACL(
        principal=f"User:{user}",
        host="*",
        operation=ACLOperation[operation],
        permission_type=ACLPermissionType.ALLOW,
        resource_pattern=ResourcePattern(ResourceType.TOPIC, topic),
    )
