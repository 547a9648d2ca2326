"""The names of labels, from the XML file that Mulan keeps beside each ARFF file."""

import zlib
from pathlib import Path
from xml.parsers import expat

from anabranch.errors import ConfigurationError
from anabranch.labels import named
from connectors.reader import open_text

__all__ = ["read_label_xml"]


def read_label_xml(path: str | Path) -> tuple[str, ...]:
    """Read the names of labels, those inside others after these.

    Parameters
    ----------
    path : `<labels>` with elements `<label name="...">`, plain or (by the suffix .gz) packed

    Raises
    ------
    ConfigurationError
        The file cannot be read, is no such XML, or has a document type or entities, which are
        never followed; there is no label, or one without a name or there twice.

    >>> from tempfile import TemporaryDirectory
    >>> text = '<labels><label name="mood"><label name="calm"/></label><label name="b"/></labels>'
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.xml").write_text(text)
    ...     read_label_xml(Path(folder, "a.xml"))
    ('mood', 'calm', 'b')
    """
    try:
        with open_text(str(path)) as file:
            data = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(f"the labels {str(path)!r} cannot be read: {error}") from None
    reader = _Reader()
    try:
        reader.parser.Parse(data, True)
        names = named(reader.names)
    except (expat.ExpatError, ConfigurationError) as error:
        raise ConfigurationError(f"the labels {str(path)!r} cannot be read: {error}") from None
    if not names:
        raise ConfigurationError(f"{str(path)!r} names no label: at least one is needed")
    return names


class _Reader:
    """Collects the names, as the parser goes over the elements."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse
        self._root = True

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        found, wanted = tag.rpartition(" ")[2], "labels" if self._root else "label"
        if found != wanted:
            raise ConfigurationError(f"it has an element <{found}>; allowed is <{wanted}> there")
        if not self._root:
            self.names.append(attributes.get("name", ""))
        self._root = False

    def _refuse(self, *declared: object) -> None:
        raise ConfigurationError("it has a document type; allowed are elements only")
