"""The error tree. Every error says where, what was found, what was expected and what to do about it.

ShortlistError
|-- InputError      a file, row or field of the user's data is wrong            exit code 3
|-- ConfigError     a setting, flag or build.toml entry is wrong                exit code 2
|-- BundleError     a bundle is absent, incomplete, corrupt or of another age   exit code 4
`-- MissingExtraError   an optional dependency is not installed                 exit code 5
"""


class ShortlistError(Exception):
    """Base of all errors that are meant for a person; `str(error)` is a complete sentence with the remedy.

    Args:
        where: file, row, field or artifact the error is about.
        found: what was there.
        expected: what should have been there.
        remedy: what the reader can do now.
    """

    exit_code = 1

    def __init__(self, where: str, *, found: str, expected: str, remedy: str) -> None:
        self.where, self.found, self.expected, self.remedy = where, found, expected, remedy
        super().__init__(f"{where}: found {found}; expected {expected}. {remedy}")


class InputError(ShortlistError):
    """The user's data is wrong in a way that no stated rule covers."""

    exit_code = 3


class ConfigError(ShortlistError):
    """A setting, a flag or an entry of build.toml is wrong."""

    exit_code = 2


class BundleError(ShortlistError):
    """A bundle cannot be opened, verified or published."""

    exit_code = 4


class MissingArtifactError(BundleError):
    """A sound bundle does not hold what a retriever needs."""


class MissingExtraError(ShortlistError):
    """A feature needs a package that is not installed."""

    exit_code = 5
