"""The paper's case studies, computed by the package next to what the paper prints.

Why this room exists: the package claims to be the paper, made exact.  Here every table of it is
computed again, cell by cell, with a mark where both agree and the reason where they cannot.
"""

from polyflip.paper.compare import Comparison, Study, compare_table

__all__ = ["Comparison", "Study", "compare_table"]
