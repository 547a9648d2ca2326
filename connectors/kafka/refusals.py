"""What a producer's failure means, in a sentence that says what to do."""

from kafka.errors import (
    AuthorizationError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)

from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["LOGIN_REFUSED", "SinkError", "refusal"]

LOGIN_REFUSED = (SaslAuthenticationFailedError, UnsupportedSaslMechanismError)
"""What the client raises when the brokers do not let it in."""


class SinkError(SourceError):
    """A topic does not take what a job sends it, for good."""


def refusal(error: Exception, settings: KafkaSettings, topic: str, size: int) -> SinkError:
    """Say why a record of `size` bytes cannot be sent to a topic.

    >>> print(refusal(MessageSizeTooLargeError(), KafkaSettings(("b:9092",)), "scores", 70))
    topic 'scores' refuses a record of 70 bytes as too large: raise its max.message.bytes
    """
    if isinstance(error, MessageSizeTooLargeError | RecordListTooLargeError):
        return SinkError(
            f"topic {topic!r} refuses a record of {size} bytes as too large: raise its"
            " max.message.bytes"
        )
    if isinstance(error, AuthorizationError):
        return SinkError(
            f"topic {topic!r} may not be written by {settings.username or 'this client'!r}:"
            f" the brokers at {settings.addresses} must allow it the operation Write"
        )
    if isinstance(error, LOGIN_REFUSED):
        return SinkError(
            f"the brokers at {settings.addresses} refuse the login of {settings.username!r}:"
            " check kafka.mechanism, kafka.username and the password"
        )
    if isinstance(error, KafkaTimeoutError):
        return SinkError(
            f"topic {topic!r} took no record in all the time allowed: the brokers at"
            f" {settings.addresses} do not acknowledge them; resume the job when they do"
        )
    what = error.description if isinstance(error, KafkaError) and error.description else error
    return SinkError(f"topic {topic!r} refuses a record of {size} bytes: {what}")
