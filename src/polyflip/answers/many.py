"""Many rows: the same question asked of each, on threads, answered in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from polyflip.answers.counterfactual import Counterfactual, counterfactual
from polyflip.answers.progress import Incumbent
from polyflip.answers.question import Question
from polyflip.solvers import Guided, Solver

__all__ = ["answered"]

AHEAD = 4  # rows per thread that are begun before the first of them is asked for


def answered(
    question: Callable[[int], Question], rows: int, solver: Solver, time_limit: float | None, threads: int
) -> Iterator[Counterfactual]:
    """The answers in the order of the rows, each as soon as it and all before it are there.

    On Ctrl-C, or when the iterator is dropped, the searches that run are stopped and no more are begun.
    """
    if threads == 1:
        yield from _one_by_one(question, rows, solver, time_limit)
        return
    halt = Event()

    def halted(*_: Incumbent | float | None) -> bool:
        return halt.is_set()

    callback = halted if isinstance(solver, Guided) else None

    def one(i: int) -> Counterfactual:
        return counterfactual(question(i), solver, time_limit, callback)

    waiting: deque[Future[Counterfactual]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="polyflip")
    try:
        for i in range(rows):
            waiting.append(pool.submit(one, i))
            if len(waiting) >= AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        halt.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _one_by_one(
    question: Callable[[int], Question], rows: int, solver: Solver, time_limit: float | None
) -> Iterator[Counterfactual]:
    for i in range(rows):
        answer = counterfactual(question(i), solver, time_limit)
        yield answer
        if answer.stopped:  # Ctrl-C ends the search with what it has, and then the loop
            raise KeyboardInterrupt
