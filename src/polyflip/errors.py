"""What can go wrong, in the user's words: every error that polyflip raises on purpose."""

from __future__ import annotations

__all__ = [
    "CertificateError",
    "ConditionError",
    "FeatureError",
    "InputError",
    "MissingDependencyError",
    "ModelError",
    "PolyflipError",
    "SolverError",
    "TooLargeError",
]


class PolyflipError(Exception):
    """The common ancestor: ``except PolyflipError`` catches all of them."""


class InputError(PolyflipError, ValueError):
    """A row, a table or an argument that does not fit the model."""


class ModelError(PolyflipError, TypeError):
    """A model that is not supported, not fitted, or inconsistent with its data."""


class FeatureError(PolyflipError, ValueError):
    """A declaration of a feature that contradicts itself, the model or the data."""


class ConditionError(PolyflipError, ValueError):
    """A condition that cannot be read or cannot be meant."""

    def __init__(self, message: str, text: str = "", start: int = 0, stop: int = 0) -> None:
        if text:
            mark = " " * start + "^" * max(1, stop - start)
            message = f"{message}\n  {text}\n  {mark}"
        super().__init__(message)


class SolverError(PolyflipError, RuntimeError):
    """A solver that stopped without an answer of which it can say what it is."""


class CertificateError(PolyflipError, ValueError):
    """A certificate that cannot be read, or that does not prove what it claims; the message says why."""


class TooLargeError(PolyflipError, ValueError):
    """A question whose enumeration would not end; the message names the size and the way out."""


class MissingDependencyError(PolyflipError, ImportError):
    """An optional package that is needed here; the message names the extra to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'polyflip[{extra}]'")
