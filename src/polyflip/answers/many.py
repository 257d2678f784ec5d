"""Many rows: the same question asked of each, on threads, answered in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Event, Thread

from polyflip.answers.counterfactual import Counterfactual, counterfactual
from polyflip.answers.progress import Incumbent
from polyflip.answers.question import Question
from polyflip.solvers import Guided, Solver

__all__ = ["answered"]

_Task = tuple[Future[Counterfactual], int]

AHEAD = 4  # rows per thread that are begun before the first of them is asked for


def answered(
    question: Callable[[int], Question], rows: int, solver: Solver, time_limit: float | None, threads: int
) -> Iterator[Counterfactual]:
    """The answers in the order of the rows, each as soon as it and all before it are there.

    On Ctrl-C, or when the iterator is dropped, no more rows are begun, and those that are searched are
    stopped (a solver that cannot be watched ends its rows first).
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
    tasks: SimpleQueue[_Task | None] = SimpleQueue()
    # a program that ends does not wait for daemons; an executor's threads it would wait for
    pool = [Thread(target=_work, args=(tasks, one), name="polyflip", daemon=True) for _ in range(threads)]
    for thread in pool:
        thread.start()
    try:
        for i in range(rows):
            waiting.append(Future())
            tasks.put((waiting[-1], i))
            if len(waiting) >= AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        halt.set()
        for future in waiting:
            future.cancel()
        for _ in pool:
            tasks.put(None)
        for thread in pool:
            thread.join()


def _work(tasks: SimpleQueue[_Task | None], one: Callable[[int], Counterfactual]) -> None:
    """Answer row after row until there are no more."""
    while (task := tasks.get()) is not None:
        future, i = task
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(one(i))
        except BaseException as error:  # it is raised where the answer is asked for
            future.set_exception(error)


def _one_by_one(
    question: Callable[[int], Question], rows: int, solver: Solver, time_limit: float | None
) -> Iterator[Counterfactual]:
    for i in range(rows):
        answer = counterfactual(question(i), solver, time_limit)
        yield answer
        if answer.stopped:  # Ctrl-C ends the search with what it has, and then the loop
            raise KeyboardInterrupt
