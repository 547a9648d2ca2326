"""The sections [kafka] and [sites]: brokers, how to be let in, and who hosts which node."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from anabranch.protocol import NodeId
from pipelines.config.durations import Duration

__all__ = ["Connection", "Kafka", "Sites"]


class Connection(Struct, frozen=True, forbid_unknown_fields=True):
    """Where brokers are, and how they are spoken to. No secret stands in a job file."""

    brokers: Annotated[
        tuple[str, ...],
        Meta(description="Brokers to ask first, each host:port."),
    ] = ()
    security: Annotated[
        Literal["plaintext", "tls", "sasl_plaintext", "sasl_tls"],
        Meta(description="Whether the line is encrypted (tls) and a name is asked for (sasl)."),
    ] = "plaintext"
    mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None,
        Meta(description="How name and password are proved, under sasl."),
    ] = None
    username: Annotated[str | None, Meta(description="Name to log in with, under sasl.")] = None
    password_env: Annotated[
        str | None, Meta(description="Environment variable that holds the password.")
    ] = None
    password_file: Annotated[
        str | None, Meta(description="File that holds the password, instead.")
    ] = None
    ca_file: Annotated[
        str | None,
        Meta(description="Certificates (PEM) that brokers are trusted by; none: the system's."),
    ] = None
    cert_file: Annotated[
        str | None, Meta(description="This client's certificate (PEM), where brokers demand one.")
    ] = None
    key_file: Annotated[str | None, Meta(description="Key (PEM) of kafka.cert_file.")] = None
    key_password_env: Annotated[
        str | None, Meta(description="Environment variable with the password of the key.")
    ] = None
    timeout: Annotated[
        Duration, Meta(description="How long brokers may take to answer when a job starts.")
    ] = Duration(10)


class Kafka(Connection, frozen=True, forbid_unknown_fields=True):
    """The brokers of a job's own topics: samples, predictions, dead letters."""


class Sites(Connection, frozen=True, forbid_unknown_fields=True):
    """Several jobs, each hosting some nodes, that exchange parameters over a topic.

    Every key of [kafka] is here too, for brokers that the sites share; without sites.brokers
    the parameters travel over the brokers of [kafka].
    """

    here: Annotated[str | None, Meta(description="Name of this job's site.")] = None
    nodes: Annotated[
        dict[str, tuple[NodeId, ...]],
        Meta(description="The nodes each site hosts, every node of the network once."),
    ] = {}
    topic: Annotated[
        str | None, Meta(description="Topic of the parameters; made if it is not there.")
    ] = None
    run: Annotated[
        str | None,
        Meta(description="Name all jobs of one network share; messages of another are refused."),
    ] = None
    partitions: Annotated[
        Annotated[int, Meta(ge=1)], Meta(description="Partitions of the topic when it is made.")
    ] = 1
    retention: Annotated[
        Duration,
        Meta(
            description="How long the topic, when it is made, keeps messages: longer than a site "
            "may be away and still come back."
        ),
    ] = Duration(7 * 24 * 3600)
