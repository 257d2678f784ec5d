"""Certify: confirm an answer without the engine that found it.

Why this room exists: whoever must stand behind an answer need not trust the search.  ``checker`` bounds
boxes in whole numbers and knows nothing of polyflip; ``check`` puts the question together again from
the model and asks the model's own predict.
"""

from polyflip.certify.check import Confirmation, check

__all__ = ["Confirmation", "check"]
