"""One percent-encoded part of a path: an id may hold `/` and `%`, sent as %2F and %25."""

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor


class SegmentConvertor(Convertor[str]):
    """Matches up to the next `/` and decodes; the edge leaves paths encoded for it."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The decoded part."""
        return unquote(value)

    def to_string(self, value: str) -> str:
        """The part as it is."""
        return value


NAME = "segment"
register_url_convertor(NAME, SegmentConvertor())
