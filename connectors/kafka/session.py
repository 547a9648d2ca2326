"""What the partitions of one source share in one process: a reader, a watch, a table."""

from collections.abc import Callable
from threading import Lock

from connectors.kafka.progress import Progress
from connectors.kafka.ranges import topic_of
from connectors.kafka.reader import Reader
from connectors.kafka.watch import Watch

__all__ = ["Session", "SessionHolder"]


class Session:
    """Lasts from the first partition that joins until the last one leaves.

    Parameters
    ----------
    reader : reads the partitions
    watch : watches their topics
    progress : where it is noted how it goes
    """

    def __init__(self, reader: Reader, watch: Watch, progress: Progress) -> None:
        self.reader, self.progress = reader, progress
        self._watch = watch
        self._watching = False
        self._members: set[str] = set()
        self._over = False
        self._lock = Lock()

    def join(self, name: str) -> bool:
        """Take a partition in; False when all have left before."""
        with self._lock:
            if not self._over:
                self._members.add(name)
            return not self._over

    @property
    def partitions(self) -> int:
        """How many have joined and not left."""
        return len(self._members)

    def read(self, name: str, offset: int, until: int | None) -> None:
        """Begin to read a partition that has joined."""
        with self._lock:
            self.reader.add(*topic_of(name), offset, until)
            if not self._watching:
                self._watching = True
                self._watch.start()

    def leave(self, name: str) -> None:
        """Let a partition go."""
        with self._lock:
            self._members.discard(name)
            if self._members or self._over:
                return
            self._over = True
        self._watch.stop()
        self.reader.close()


class SessionHolder:
    """Gives a source's partitions the same session while it lasts, then another."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._lock = Lock()

    def join(self, name: str, make: Callable[[], Session]) -> Session:
        """Give the session that a partition has joined."""
        with self._lock:
            if self._session is None or not self._session.join(name):
                self._session = make()
                self._session.join(name)
            return self._session
