"""What a source of sets of labels may be asked for: each mistake has its sentence."""

from typing import Any

import pytest

from anabranch.errors import ConfigurationError
from connectors.records import REASONS, RecordFormat

COLUMNS: dict[str, Any] = {"task": "multilabel", "labels": ("calm", "sad")}
LISTS: dict[str, Any] = {"task": "multilabel", "label_list": True, "new_labels": "grow"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "classes"}, "source.task is 'classes': allowed are .* 'multilabel'"),
        ({"task": "multilabel"}, "source.labels is empty: name the labels"),
        ({"task": "multilabel", "label_list": True}, "source.labels is empty"),
        ({**LISTS, "new_labels": "ignore"}, "source.labels is empty"),
        ({**COLUMNS, "ranks": 3}, "source.ranks is 3 .* allowed is none"),
        ({**COLUMNS, "new_labels": "grow"}, "columns hold no new labels"),
        ({**LISTS, "new_labels": "take"}, "source.new_labels is 'take': allowed are 'grow'"),
        ({**COLUMNS, "labels": ("a", "a")}, "labels names 'a'"),
        ({**COLUMNS, "labels": ("a", "")}, "labels names ''"),
        ({**COLUMNS, "features": ("calm",)}, "source.labels.* name 'calm' more than once"),
        ({**COLUMNS, "node_field": "sad"}, "source.labels.* name 'sad' more than once"),
        ({**LISTS, "features": ("y",)}, "source.label, .* name 'y' more than once"),
        ({"task": "regression", "labels": ("a",)}, "source.labels is set, .*'regression'"),
        ({"label_list": True}, "source.label_list is set, but a learner of task 'ordinal'"),
        ({**LISTS, "label_separator": ""}, "source.label_separator is ''"),
        ({**LISTS, "max_labels": 0}, "source.max_labels is 0"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        RecordFormat(**options)


def test_label_columns_are_special_in_their_order() -> None:
    form = RecordFormat(**COLUMNS, node_field="n", id_from="field:i")
    assert form.special == ("calm", "sad", "n", "i")
    assert form.place_columns == ("n", "i")
    assert RecordFormat(**LISTS, label="moods").special == ("moods",)
    assert not RecordFormat(**COLUMNS).grows
    assert RecordFormat(**LISTS).grows
    assert "unknown_label" in REASONS
