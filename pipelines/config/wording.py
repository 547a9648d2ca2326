"""What a key may hold, as a person would say it: for messages and for `describe`."""

from typing import Any

from msgspec import inspect as shapes

from pipelines.config.durations import Duration

__all__ = ["allowed", "field_types", "show"]

_PLAIN: dict[type, str] = {
    shapes.StrType: "text",
    shapes.BoolType: "true or false",
    shapes.NoneType: "none",
    shapes.AnyType: "anything",
}


def field_types(section: type) -> dict[str, shapes.Type]:
    """Give the declared type of every key of a section."""
    shape = shapes.type_info(section)
    assert isinstance(shape, shapes.StructType)
    return {field.name: field.type for field in shape.fields}


def allowed(shape: shapes.Type) -> str:
    """Say what a type allows.

    >>> from typing import Literal
    >>> allowed(shapes.type_info(Literal["a", "b"] | None))
    'one of a, b, or none'
    """
    if isinstance(shape, shapes.Metadata):
        return allowed(shape.type)
    if isinstance(shape, shapes.UnionType):
        parts = [allowed(part) for part in sorted(shape.types, key=_none_last)]
        return ", or ".join(parts)
    if isinstance(shape, shapes.LiteralType):
        return _choices([str(value) for value in shape.values])
    if isinstance(shape, shapes.IntType | shapes.FloatType):
        return _number(shape)
    if isinstance(shape, shapes.VarTupleType | shapes.ListType):
        return f"a list of {_plural(shape.item_type)}"
    if isinstance(shape, shapes.CustomType) and shape.cls is Duration:
        return 'a duration such as "500ms", "10s" or "2m"'
    if isinstance(shape, shapes.StrType) and shape.pattern:
        return _choices(shape.pattern.strip("^$()").replace(".+", "NAME").split("|"))
    return _PLAIN.get(type(shape), "a table")


def _choices(values: list[str]) -> str:
    return values[0] if len(values) == 1 else f"one of {', '.join(values)}"


def _plural(shape: shapes.Type) -> str:
    text = allowed(shape)
    return "texts" if text == "text" else text.removeprefix("one of ")


def _none_last(shape: shapes.Type) -> bool:
    return isinstance(shape, shapes.NoneType)


def _number(shape: shapes.IntType | shapes.FloatType) -> str:
    kind = "a whole number" if isinstance(shape, shapes.IntType) else "a number"
    bounds = [
        f"{word} {bound}"
        for word, bound in (("above", shape.gt), ("at least", shape.ge), ("at most", shape.le))
        if bound is not None
    ]
    return f"{kind} {' and '.join(bounds)}" if bounds else kind


def show(value: Any) -> str:
    """Show a value the way it is written in a job file.

    >>> show(("a", "b")), show(True), show(None), show("x"), show(4.0)
    ('["a", "b"]', 'true', 'none', '"x"', '4')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | Duration):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(show(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
