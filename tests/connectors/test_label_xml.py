"""Mulan's XML of labels: what it names, and what is never followed."""

import gzip
from pathlib import Path

import pytest

from anabranch.errors import ConfigurationError
from connectors import read_label_xml

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def test_labels_inside_others_come_after_them(tmp_path: Path) -> None:
    text = HEAD + (
        '<labels xmlns="http://mulan.sourceforge.net/labels"><!-- moods -->\n'
        '<label name="a &amp; b"><label name="é"><label name="c"/></label></label>\n'
        '<label name=" d "></label></labels>\n'
    )
    path = tmp_path / "a.xml"
    path.write_text(text, "utf-8")
    assert read_label_xml(path) == ("a & b", "é", "c", " d ")
    packed = tmp_path / "a.xml.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_label_xml(str(packed)) == read_label_xml(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no element found"),
        ("<labels>", "no element found"),
        ("<labels></labels>", "names no label"),
        ("<labels><label/></labels>", "labels names ''"),
        ('<labels><label name="a"/><label name="a"/></labels>', "labels names 'a'"),
        ('<labels><tag name="a"/></labels>', "an element <tag>; allowed is <label> there"),
        ('<label name="a"/>', "an element <label>; allowed is <labels> there"),
        ('<!DOCTYPE labels><labels><label name="a"/></labels>', "has a document type"),
        ('<!DOCTYPE l [<!ENTITY a "b">]><labels><label name="&a;"/></labels>', "a document type"),
        ('<!DOCTYPE l SYSTEM "file:///etc/passwd"><labels/>', "has a document type"),
        ('<labels><label name="&a;"/></labels>', "undefined entity"),
        ("<" + "labels><" * 2000, "cannot be read"),
        ("\x00\x01", "cannot be read"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=words):
        read_label_xml(path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_label_xml(tmp_path / "none.xml")
    (tmp_path / "bad.xml.gz").write_bytes(b"<labels/>")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_label_xml(tmp_path / "bad.xml.gz")
