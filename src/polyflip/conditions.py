"""The user's words ("lsat > 25 and race == 'white'") become a domain.

A small language, read by hand: comparisons (``20 < age <= 30``, ``race == 'white'``), lists
(``race in ('white', 'asian')``), wishes (``sex unchanged``, ``age increases``), joined by ``and``.
``increases`` means that a feature may only grow.  Names that are not plain words stand in
backticks.  The same can be said as a mapping.  Every error points at the word: a clause that no value
can meet is an error as well, while conditions that only clash with each other, or with what was
declared, are a question whose answer is that there is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from polyflip.core import Domain, Point, Space
from polyflip.errors import ConditionError
from polyflip.features import Feature
from polyflip.frames import plain

__all__ = ["Condition", "Where", "clashing", "domain_of", "parse", "restrict"]

Where = str | Sequence[str] | Mapping[str, Any] | None
WISHES = ("unchanged", "increases", "decreases")
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
COMPARED = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
OPENING = {"(": ")", "[": "]", "{": "}"}
MISSING = float("nan")
LARGEST = float(np.finfo(np.float32).max)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w))"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<op><=|>=|==|!=|<|>|=)"
    r"|(?P<mark>[(),\[\]{}])"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<word>[^\W\d][\w.]*))"
)

_Span = tuple[int, int]


@dataclass(frozen=True)
class Condition:
    """One thing that a counterfactual must obey: a feature, an operator and its values.

    ``op`` is a comparison, ``in``, ``not in`` or a wish; ``text`` is what the user wrote, from
    ``start`` to ``stop`` of ``source``.  ``words`` says where in it the operator stands, and then
    each of the values.
    """

    feature: int
    op: str
    values: tuple[object, ...]
    text: str
    source: str = ""
    start: int = 0
    stop: int = 0
    words: tuple[_Span, ...] = ()

    def error(self, message: str, word: int | None = None) -> ConditionError:
        """An error that points at this condition, or at one of its words: 0 is the operator."""
        span = (self.start, self.stop) if word is None or not self.words else self.words[word]
        return ConditionError(message, self.source, *span)


@dataclass(frozen=True)
class _Token:
    kind: str
    value: Any
    start: int
    stop: int

    @property
    def span(self) -> _Span:
        """Where it stands in the text."""
        return self.start, self.stop


def parse(where: Where, features: Sequence[Feature]) -> tuple[Condition, ...]:
    """Conditions from the user's words or from a mapping.

    >>> from polyflip import Feature
    >>> age = Feature("age", "integer", columns=("age",))
    >>> [(c.op, c.values) for c in parse("20 < age <= 30", [age])]
    [('>', (20,)), ('<=', (30,))]
    """
    if where is None:
        return ()
    if isinstance(where, str):
        return tuple(_Parser(where, features).conditions()) if where.strip() else ()
    if isinstance(where, Mapping):
        return tuple(c for name, value in where.items() for c in _from_mapping(str(name), value, features))
    if isinstance(where, Sequence) and all(isinstance(each, str) for each in where):
        return tuple(c for each in where for c in parse(each, features))
    raise ConditionError(
        f'where: give words such as "age > 20 and sex unchanged", a list of them, or a mapping, '
        f"not {type(where).__name__}"
    )


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str, features: Sequence[Feature]) -> None:
        self.text = text
        self.features = features
        self.names = _names(features)
        self.tokens = self._tokens()
        self.position = 0

    def conditions(self) -> list[Condition]:
        found = self._met()
        while self._peek() is not None:
            token = self._next("'and'")
            if token.kind == "word" and str(token.value).lower() == "or":
                raise self._wrong(token, "'or' is not part of the language: ask twice, or use 'in (...)'")
            if token.kind != "word" or str(token.value).lower() != "and":
                raise self._wrong(token, "expected 'and' or the end")
            found += self._met()
        return found

    def _met(self) -> list[Condition]:
        """The next clause, refused where no value can meet it."""
        clause = self._clause()
        _refuse_unmeetable(clause, self.features)
        return clause

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        position = 0
        plain_names = sorted(self.names, key=len, reverse=True)
        while position < len(self.text.rstrip()):
            if self.text[position].isspace():
                position += 1
                continue
            name = next((n for n in plain_names if self._stands_at(n, position)), None)
            match = _TOKEN.match(self.text, position)
            if name is not None:
                tokens.append(_Token("name", name, position, position + len(name)))
                position += len(name)
            elif match is None or match.lastgroup is None:
                raise ConditionError("this cannot be read", self.text, position, position + 1)
            else:
                tokens.append(_token(match))
                position = match.end()
        return tokens

    def _stands_at(self, name: str, position: int) -> bool:
        stop = position + len(name)
        ends = stop >= len(self.text) or not (self.text[stop].isalnum() or self.text[stop] in "_.")
        return ends and self.text.startswith(name, position)

    def _peek(self) -> _Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _next(self, expected: str) -> _Token:
        token = self._peek()
        if token is None:
            raise ConditionError(
                f"expected {expected} after the end", self.text, len(self.text), len(self.text) + 1
            )
        self.position += 1
        return token

    def _wrong(self, token: _Token, message: str) -> ConditionError:
        return ConditionError(message, self.text, token.start, token.stop)

    def _clause(self) -> list[Condition]:
        first = self._next("a condition")
        if first.kind in ("word", "quoted") and self._follows_as_value():
            return self._comparison(first)
        if first.kind in ("name", "quoted", "word"):
            following = self._peek()
            word = str(following.value).lower() if following is not None and following.kind == "word" else ""
            if word in WISHES:
                self.position += 1
                wish = self.tokens[self.position - 1]
                return [self._condition(first, word, (), (first, wish), (wish.span,))]
            if word in ("in", "not"):
                return [self._membership(first)]
        return self._comparison(first)

    def _follows_as_value(self) -> bool:
        """Whether the clause is ``word op name``: a bare word is then a value."""
        rest = self.tokens[self.position : self.position + 2]
        return len(rest) == 2 and rest[0].kind == "op" and rest[1].kind == "name"

    def _membership(self, name: _Token) -> Condition:
        stated = self._next("'in'")
        op, span = str(stated.value).lower(), stated.span
        if op == "not":
            token = self._next("'in'")
            if str(token.value).lower() != "in":
                raise self._wrong(token, "expected 'in' after 'not'")
            op, span = "not in", (stated.start, token.stop)
        opening = self._next("a list in parentheses")
        if opening.value not in OPENING:
            raise self._wrong(opening, "expected a list in parentheses, as in ('white', 'asian')")
        closing = OPENING[opening.value]
        values: list[object] = []
        words = [span]
        while True:
            token = self._next("a value")
            if token.value == closing and token.kind == "mark":
                break
            values.append(self._value(token))
            words.append(token.span)
            token = self._next(f"',' or '{closing}'")
            if token.value == closing:
                break
            if token.value != ",":
                raise self._wrong(token, f"expected ',' or '{closing}'")
        last = self.tokens[self.position - 1]
        if not values:
            raise self._wrong(opening, "the list is empty")
        return self._condition(name, op, tuple(values), (name, last), tuple(words))

    def _comparison(self, first: _Token) -> list[Condition]:
        operands = [first]
        operators: list[_Token] = []
        while (token := self._peek()) is not None and token.kind == "op" and len(operators) < 2:
            self.position += 1
            operators.append(token)
            operands.append(self._next("a name or a value"))
        if not operators:
            following = self._peek()
            if first.kind not in ("name", "quoted"):
                self._feature(first)  # an unknown name is the likelier mistake
            raise self._wrong(
                following or first, "expected a comparison, 'in (...)' or one of " + ", ".join(WISHES)
            )
        names = [i for i, token in enumerate(operands) if token.kind in ("name", "quoted")]
        if not names:
            names = [i for i, token in enumerate(operands) if token.kind == "word"]
        if not names:
            raise ConditionError("no feature is named here", self.text, operands[0].start, operands[-1].stop)
        if len(names) > 1:
            raise self._wrong(operands[names[1]], "features are compared with values, not with each other")
        if len(operands) == 3 and names[0] != 1:
            raise self._wrong(
                operands[names[0]], "in a chain the feature stands in the middle: 20 < age <= 30"
            )
        name = operands[names[0]]
        found = []
        for i, token in enumerate(operators):
            op = "==" if token.value == "=" else str(token.value)
            at_left = i == names[0]
            value = operands[i + 1] if at_left else operands[i]
            stated = op if at_left else MIRROR[op]
            words = (token.span, value.span)
            whole = (operands[0], operands[-1])
            found.append(self._condition(name, stated, (self._value(value),), whole, words))
        return found

    def _value(self, token: _Token) -> object:
        if token.kind in ("number", "text"):
            return token.value
        if token.kind == "word":
            word = str(token.value)
            if word.lower() in ("true", "false", "missing"):
                return {"true": True, "false": False, "missing": MISSING}[word.lower()]
            raise self._wrong(token, f"put text in quotes: '{word}'")
        raise self._wrong(token, "expected a number or a text in quotes")

    def _feature(self, token: _Token) -> tuple[int, object | None]:
        return _resolve(str(token.value), self.features, self.text, token.start, token.stop)

    def _condition(
        self,
        name: _Token,
        op: str,
        values: tuple[object, ...],
        whole: tuple[_Token, _Token],
        words: tuple[_Span, ...],
    ) -> Condition:
        feature, label = self._feature(name)
        start, stop = whole[0].start, whole[1].stop
        condition = Condition(feature, op, values, self.text[start:stop], self.text, start, stop, words)
        return condition if label is None else _of_group(condition, self.features[feature], label)


def _token(match: re.Match[str]) -> _Token:
    kind = str(match.lastgroup)
    raw = match.group(kind)
    value: Any = raw
    if kind == "number":
        value = int(raw) if re.fullmatch(r"[-+]?\d{1,300}", raw) else float(raw)
    elif kind == "text":
        value = re.sub(r"\\(.)", r"\1", raw[1:-1])
    quotes = int(kind == "quoted")
    return _Token(kind, value, match.start(kind) - quotes, match.end(kind) + quotes)


def _names(features: Sequence[Feature]) -> list[str]:
    return [f.name for f in features] + [c for f in features if f.kind == "one-hot" for c in f.columns]


def _resolve(
    name: str, features: Sequence[Feature], source: str = "", start: int = 0, stop: int = 0
) -> tuple[int, object | None]:
    """The feature of a name; for a column of a one-hot group also the category it stands for."""
    for j, feature in enumerate(features):
        if feature.name == name:
            return j, None
    for j, feature in enumerate(features):
        if feature.kind == "one-hot" and name in feature.columns:
            return j, feature.labels[feature.columns.index(name)]
    names = _names(features)
    close = get_close_matches(name, names, 1)
    hint = (
        f"; did you mean {close[0]!r}?"
        if close
        else f"; the features are {', '.join(f.name for f in features)}"
    )
    raise ConditionError(f"{name!r} is no feature{hint}", source or name, start, stop or len(name))


def _of_group(condition: Condition, feature: Feature, label: object) -> Condition:
    """A condition on a 0/1 column of a one-hot group, said of the group."""
    compared = condition.op in ("==", "!=")
    if compared and condition.values[0] in (0, 1):
        same = (condition.op == "==") == (condition.values[0] == 1)
        return replace(condition, op="==" if same else "!=", values=(label,))
    raise condition.error(
        f"this is a column of the one-hot group {feature.name!r}: compare it with 0 or 1, "
        f"or say {feature.name} == {label!r}",
        int(compared),
    )


def _from_mapping(name: str, value: Any, features: Sequence[Feature]) -> list[Condition]:
    """``{"age": {">": 20}}``, ``{"race": ["white", "asian"]}``, ``{"sex": "unchanged"}``, ``{"sex": 1}``."""
    feature, label = _resolve(name, features)
    conditions = []
    for op, given in _comparisons(name, value, features[feature].labels):
        values = tuple(plain(each) for each in given)
        if op in ("in", "not in") and not values:
            raise ConditionError("the list is empty", name, 0, len(name))
        text, words = _written(name, op, values)
        condition = Condition(feature, op, values, text, text, 0, len(text), words)
        conditions.append(condition if label is None else _of_group(condition, features[feature], label))
    _refuse_unmeetable(conditions, features)
    return conditions


def _comparisons(name: str, value: Any, labels: Sequence[object]) -> list[tuple[str, tuple[object, ...]]]:
    """What a mapping says of one name: operators, each with its values."""
    if isinstance(value, Mapping):
        if not value:
            raise ConditionError("no comparison is given", name, 0, len(name))
        return [_stated(name, op, operand) for op, operand in value.items()]
    if isinstance(value, str) and value in WISHES and value not in labels:
        return [(value, ())]
    if isinstance(value, (set, frozenset)):
        return [("in", tuple(sorted(value, key=str)))]
    if isinstance(value, (list, tuple, np.ndarray)):
        return [("in", tuple(value))]
    return [("==", (value,))]


def _stated(name: str, op: object, operand: Any) -> tuple[str, tuple[object, ...]]:
    stated = "==" if op == "=" else str(op)
    if stated in ("in", "not in"):
        if isinstance(operand, str) or not isinstance(operand, Iterable):
            raise ConditionError(f"'{stated}' takes a list, not {operand!r}", name, 0, len(name))
        return stated, tuple(operand)
    if stated in MIRROR:
        return stated, (operand,)
    raise ConditionError(
        f"{op!r} is no comparison; choose from {', '.join(MIRROR)}, in, not in", name, 0, len(name)
    )


def _written(name: str, op: str, values: tuple[object, ...]) -> tuple[str, tuple[_Span, ...]]:
    """A condition of a mapping as one would write it, and where its operator and values then stand."""
    text = f"{name} {op}"
    words = [(len(name) + 1, len(text))]
    several = op in ("in", "not in")
    for number, value in enumerate(values):
        text += (", " if number else " (") if several else " "
        words.append((len(text), len(text) + len(repr(value))))
        text += repr(value)
    return text + ")" * several, tuple(words)


def _refuse_unmeetable(clause: Sequence[Condition], features: Sequence[Feature]) -> None:
    """Refuse a clause that no value can meet, whatever else is asked or declared: it cannot be meant.

    A clause is what is said of one feature at once: a comparison, a chain, a list.
    """
    last, feature = clause[-1], features[clause[0].feature]
    if not _leaves_nothing(clause, feature):
        return
    if feature.discrete:
        left = f"this leaves none of the categories of {feature.name!r}, which are {list(feature.labels)}"
        raise last.error(left, 0 if last.op == "not in" else 1)
    raise last.error(_nothing(feature, clause), 1)


def _leaves_nothing(conditions: Sequence[Condition], feature: Feature) -> bool:
    """Whether conditions on one feature leave it no value, whatever was declared of its bounds.

    A wish depends on the row, and missing on the model: where one takes part this does not say.
    """
    if any(map(_hangs_on_the_row, conditions)):
        return False
    if feature.discrete:
        kept = [_labels_kept(feature, bool(feature.missing), condition) for condition in conditions]
        return not np.logical_and.reduce(kept).any()
    low, high, listed = -np.inf, np.inf, []
    for condition in conditions:
        numbers = _numbers(feature, condition)
        if condition.op == "in":
            listed.append(numbers)
        elif condition.op in MIRROR and condition.op != "!=":  # numbers have no "!=": refused later
            least, most = _interval(condition.op, numbers[0])
            low, high = max(low, least), min(high, most)
    if feature.kind == "integer":
        low, high = np.ceil(low), np.floor(high)
    if not listed:
        return bool(low > high)
    common = set(listed[0]).intersection(*listed[1:])
    whole = feature.kind == "integer"
    return not any(low <= number <= high and (number.is_integer() or not whole) for number in common)


def _nothing(feature: Feature, clause: Sequence[Condition]) -> str:
    """Why no number meets a clause."""
    what = "whole number" if feature.kind == "integer" else "number"
    if len(clause) == 1:
        return f"{feature.name!r} takes whole numbers only"
    said = [f"{each.op} {each.values[0] if each.op in MIRROR else list(each.values)}" for each in clause]
    return f"no {what} is " + " and ".join(said)


def _hangs_on_the_row(condition: Condition) -> bool:
    return condition.op in WISHES or any(map(_is_missing, condition.values))


def _is_missing(value: object) -> bool:
    return isinstance(value, float) and np.isnan(value)


def domain_of(space: Space, features: Sequence[Feature], point: Point | None = None) -> Domain:
    """What the declarations of the features leave; from a point also how each may change."""
    domain = space.everything()
    for j, feature in enumerate(features):
        axis = space.axes[j]
        if feature.values is not None:
            if feature.discrete:
                domain = domain.keep(
                    j, np.array([label in feature.values for label in axis.labels] + [True] * axis.missing)
                )
            else:
                domain = domain.only(j, axis, [float(v) for v in feature.values])  # type: ignore[arg-type]
        if feature.discrete and feature.ordered and (feature.lower > -np.inf or feature.upper < np.inf):
            inside = [feature.lower <= feature.order(label) <= feature.upper for label in feature.labels]
            domain = domain.keep(j, np.array(inside + [True] * axis.missing))
        if point is None:
            continue
        wish = {"never": "unchanged", "up": "increases", "down": "decreases"}.get(feature.changes)
        if wish is not None:
            text = f"{feature.name} {wish} (as declared)"
            domain = restrict(
                domain, space, features, point, Condition(j, wish, (), text, text, 0, len(text))
            )
    return domain


def restrict(
    domain: Domain, space: Space, features: Sequence[Feature], point: Point, condition: Condition
) -> Domain:
    """The domain that one more condition leaves."""
    j, op = condition.feature, condition.op
    axis, feature = space.axes[j], features[j]
    here, value = int(point.cells[j]), float(point.values[j])
    if op == "unchanged":
        return domain.pin(j, axis, here, value)
    if op in ("increases", "decreases"):
        return _one_way(domain, space, feature, point, condition)
    gone = next((i for i, value in enumerate(condition.values, 1) if _is_missing(value)), None)
    if gone is not None:
        if op not in ("==", "!=") or not axis.missing:
            never = f"{feature.name!r} is never missing here"
            raise condition.error("missing has no order" if axis.missing else never, gone)
        last = np.arange(axis.size) == axis.size - 1
        return domain.keep(j, last if op == "==" else ~last)
    if feature.discrete:
        return domain.keep(j, _labels_kept(feature, axis.missing, condition))
    numbers = _numbers(feature, condition)
    if op == "in":
        return domain.only(j, axis, numbers)
    if op in ("!=", "not in"):
        raise condition.error(f"{feature.name!r} is a number: say on which side, with < or >", 0)
    low, high = _interval(op, numbers[0])
    return domain.clip(j, axis, low, high)


def _one_way(domain: Domain, space: Space, feature: Feature, point: Point, condition: Condition) -> Domain:
    j, up = condition.feature, condition.op == "increases"
    axis, here = space.axes[j], int(point.cells[j])
    if not feature.ordered:
        raise condition.error(f"the categories of {feature.name!r} have no order: {list(feature.labels)}", 0)
    if np.isnan(point.values[j]):
        return domain.pin(j, axis, here)
    if feature.discrete:
        codes = [feature.order(label) for label in feature.labels]
        kept = [(code >= codes[here]) if up else (code <= codes[here]) for code in codes]
        return domain.keep(j, np.array(kept + [False] * axis.missing))
    value = float(point.values[j])
    return domain.clip(j, axis, value, np.inf) if up else domain.clip(j, axis, -np.inf, value)


def _labels_kept(
    feature: Feature, missing: bool, condition: Condition
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    op, labels = condition.op, feature.labels
    if op in ("<", "<=", ">", ">="):
        bound = condition.values[0]
        if not feature.ordered:
            raise condition.error(f"the categories of {feature.name!r} have no order: {list(labels)}", 0)
        limit = feature.order(bound) if bound in labels else _numbers(feature, condition)[0]
        kept = COMPARED[op](np.array([feature.order(label) for label in labels]), limit)
        return np.append(kept, [False] * missing).astype(np.bool_)
    wanted = [_label(value, feature, condition, i) for i, value in enumerate(condition.values, 1)]
    inside = op in ("==", "in")
    return np.array(
        [(label in wanted) == inside for label in labels] + [not inside] * missing, dtype=np.bool_
    )


def _label(value: object, feature: Feature, condition: Condition, word: int) -> object:
    if value in feature.labels:
        return feature.labels[feature.labels.index(value)]
    if feature.codes and isinstance(value, (int, float)) and value in feature.codes:
        return feature.labels[feature.codes.index(value)]
    close = get_close_matches(str(value), [str(label) for label in feature.labels], 1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; they are {list(feature.labels)}"
    raise condition.error(f"{value!r} is none of the categories of {feature.name!r}{hint}", word)


def _numbers(feature: Feature, condition: Condition) -> list[float]:
    return [_number(value, feature, condition, i) for i, value in enumerate(condition.values, 1)]


def _number(value: object, feature: Feature, condition: Condition, word: int) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float, np.number)):
        raise condition.error(f"{feature.name!r} is a number, and {value!r} is not", word)
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if abs(number) > LARGEST:
        raise condition.error(f"{value if number < np.inf else 'this'} is larger than models take", word)
    return number


def _interval(op: str, bound: float) -> tuple[float, float]:
    if op == "==":
        return bound, bound
    if op in (">", ">="):
        return (float(np.nextafter(bound, np.inf)) if op == ">" else bound), np.inf
    return -np.inf, (float(np.nextafter(bound, -np.inf)) if op == "<" else bound)


def clashing(
    space: Space, features: Sequence[Feature], point: Point, conditions: Sequence[Condition]
) -> list[str]:
    """Conditions that by themselves leave a feature no value: the words of each that is needed for it."""
    base = domain_of(space, features, point)
    for j in range(len(features)):
        own = [condition for condition in conditions if condition.feature == j]
        kept = list(own)
        if not _empties(base, space, features, point, kept, j):
            continue
        for condition in own:  # leave out what is not needed for the clash
            fewer = [each for each in kept if each is not condition]
            if _empties(base, space, features, point, fewer, j):
                kept = fewer
        words = [condition.text for condition in kept]
        declared = features[j].changes != "freely" or features[j].bounded
        free = domain_of(space, features)
        if any(map(_hangs_on_the_row, kept)):
            alone = _empties(free, space, features, point, kept, j)
        else:  # declared bounds are in the space itself, so the words are asked without it
            alone = _leaves_nothing(kept, features[j])
        if declared and not alone:
            words.append(f"{features[j].name} as declared")
        return list(dict.fromkeys(words))
    return []


def _empties(
    domain: Domain,
    space: Space,
    features: Sequence[Feature],
    point: Point,
    conditions: Sequence[Condition],
    j: int,
) -> bool:
    for condition in conditions:
        domain = restrict(domain, space, features, point, condition)
    return not domain.allowed[j].any()
