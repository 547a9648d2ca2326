"""What to do when the next record of a partition is not there any more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kafka import OffsetSpec

from connectors.kafka.clients import open_admin
from connectors.kafka.feed import Feed
from connectors.kafka.ranges import offsets
from connectors.kafka.settings import KafkaSettings
from connectors.records import SourceError

__all__ = ["ADVICE", "Expired", "OnExpired"]

OnExpired = Literal["stop", "earliest", "latest"]

ADVICE = (
    "set source.on_expired to 'earliest' or 'latest' and resume the job to go on without them, or"
    " start anew"
)


@dataclass(frozen=True, slots=True)
class Expired:
    """The rule of a source for offsets that retention has passed.

    Attributes
    ----------
    settings : how to reach the brokers
    rule : "stop", or go on with the "earliest" or the "latest" record there is
    say : takes a sentence when records are skipped
    advice : what to do when the rule is to stop
    """

    settings: KafkaSettings
    rule: OnExpired
    say: Callable[[str], None]
    advice: str = ADVICE

    def handle(self, feed: Feed) -> None:
        """Move a feed whose next offset is not there, or end it.

        Raises
        ------
        KafkaError
            The brokers do not say what is there.
        """
        admin = open_admin(self.settings)
        try:
            begin = offsets(admin, [feed.place], OffsetSpec.EARLIEST)[feed.place]
            end = offsets(admin, [feed.place], OffsetSpec.LATEST)[feed.place]
        finally:
            admin.close()
        if feed.fetched > end:
            feed.fail(_beyond(feed, end))
        elif feed.fetched < begin:
            self._skip(feed, begin, end)

    def _skip(self, feed: Feed, begin: int, end: int) -> None:
        if self.rule == "stop":
            feed.fail(_expired(feed, begin, self.advice))
            return
        target = begin if self.rule == "earliest" else end
        self.say(
            f"partition {feed.name} was deleted up to offset {begin}: the job goes on there at the"
            f" {self.rule} offset {target}, {target - feed.fetched} records were skipped"
        )
        feed.skip(target)


def _expired(feed: Feed, begin: int, advice: str) -> SourceError:
    return SourceError(
        f"partition {feed.name} has no offset {feed.fetched} any more: its records before offset"
        f" {begin} were deleted, by retention or by hand; {advice}"
    )


def _beyond(feed: Feed, end: int) -> SourceError:
    return SourceError(
        f"partition {feed.name} ends at offset {end}, before offset {feed.fetched} that comes next:"
        " the topic was made anew, or brokers lost records; start anew in another run directory"
    )
