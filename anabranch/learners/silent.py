"""Learners that send nothing and hear nobody."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from anabranch.errors import MessageError
from anabranch.protocol import Message, NodeId

__all__ = ["Silent"]


class Silent:
    """The part of a learner that has to do with messages, for one that has none."""

    kind: ClassVar[str]

    def acts(self, round: int) -> bool:
        """Tell that it sends nothing."""
        return False

    def messages(self, round: int) -> Sequence[Message]:
        """Give no message."""
        return ()

    def check_message(self, message: Message) -> None:
        """Refuse any message.

        Raises
        ------
        MessageError
            Always.
        """
        raise MessageError(f"not for {self.kind}: {sorted(message.arrays)}; allowed: no message")

    def combine(
        self, round: int, inbox: Mapping[NodeId, Message], weights: Mapping[NodeId, float]
    ) -> None:
        """Take no message in.

        Raises
        ------
        MessageError
            There is one.
        """
        if inbox:
            raise MessageError(f"not for {self.kind}: messages of {sorted(inbox)}; allowed: none")
