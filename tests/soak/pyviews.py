"""Random comprehensions: nested, with sums, quantifiers, extremes, sets, dicts, sorted parts and nulls looked at first.

Each text is Python; Python itself says what it means.
"""

from dataclasses import dataclass
from random import Random

from tests.soak.schema import Column

ZERO = {
    "int": "0",
    "float": "0.0",
    "wild": "0.0",
    "nan": "0.0",
    "dec": "Decimal(0)",
    "long": "Decimal(0)",
    "str": "'none'",
}
WRITTEN = {
    "int": ("0", "1", "2"),
    "str": ("'a'", "'ab'", "''"),
    "float": ("0.5", "0.0"),
    "wild": ("1.0",),
    "dec": ("Decimal('1.25')", "0"),
    "long": ("Decimal('-7.5')", "0"),
    "date": ("date(2024, 1, 1)", "date(2024, 2, 29)"),
}


@dataclass(frozen=True)
class Name:
    """What can be written here: a column, a bag, an element of a bag of scalars."""

    text: str
    column: Column


Scope = list[Name]


class PyWriter:
    """Writes one comprehension over the relations it is given."""

    def __init__(self, rng: Random, relations: dict[str, tuple[Column, ...]]) -> None:
        self.rng, self.relations, self.names = rng, relations, 0

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def some(self, scope: Scope, *kinds: str) -> Name | None:
        fits = [name for name in scope if name.column.kind in kinds]
        return self.rng.choice(fits) if fits else None

    # -- loops

    def loop(self, scope: Scope, deep: bool = True) -> tuple[str, Scope]:
        """``for x in …`` over a relation or over a bag that is in scope, and what it brings."""
        self.names += 1
        x = f"x{self.names}"
        bag = self.some(scope, "bag") if deep and self.chance(0.5) else None
        if bag is not None:
            return f"for {x} in {bag.text}", brought(x, bag.column.parts)
        table = self.pick(*self.relations)
        return f"for {x} in {table}", brought(x, self.relations[table])

    def inner(self, scope: Scope, depth: int) -> tuple[str, Scope]:
        """The loops of an inner comprehension with a condition that ties it to what is around it."""
        text, new = self.loop(scope)
        both = [*scope, *new]
        test = self.tie(scope, new) if self.chance(0.6) else self.test(both, depth - 1)
        if self.chance(0.3):
            test = f"{test} and {self.test(both, 0)}"
        return f"{text} if {test}" if self.chance(0.85) else text, both

    def tie(self, scope: Scope, new: Scope) -> str:
        one = self.some(new, "int", "str", "date")
        two = self.some(scope, one.column.kind) if one else None
        if one is None or two is None:
            return self.test([*scope, *new], 0)
        if one.column.null or two.column.null or one.column.kind != "int":
            return f"{one.text} {self.pick('==', '==', '!=')} {two.text}"
        return f"{one.text} {self.pick('==', '==', '==', '<', '>=', '!=')} {two.text}"

    # -- values

    def number(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 12 if depth > 0 else 3)
        name = self.some(scope, "int")
        if kind <= 2 and name is not None:
            return known(name)
        if kind <= 3:
            return str(self.rng.randint(0, 3))
        match kind:
            case 4 | 5:
                return f"({self.number(scope, depth - 1)} {self.pick('+', '-', '*')} {self.number(scope, depth - 1)})"
            case 6:
                one, two = self.number(scope, depth - 1), self.number(scope, depth - 1)
                return f"({one} if {self.test(scope, depth - 1)} else {two})"
            case 7 | 8:
                loops, both = self.inner(scope, depth)
                return f"sum({self.number(both, 0)} {loops})"
            case 9:
                loops, both = self.inner(scope, depth)
                return f"len([1 {loops}])"
            case 10:
                loops, both = self.inner(scope, depth)
                return f"{self.pick('min', 'max')}(({self.number(both, 0)} {loops}), default={self.pick('0', '-1')})"
            case 11:
                loops, both = self.inner(scope, depth)
                return f"len({{{self.number(both, 0)} {loops}}})"
        text = self.some(scope, "str")
        return f"len({known(text)})" if text else f"abs({self.number(scope, depth - 1)})"

    def value(self, scope: Scope, depth: int) -> tuple[str, str, bool]:
        """A scalar, its kind, and whether it may be ``None``."""
        name = self.rng.choice(scope)
        if name.column.kind == "bag" or self.chance(0.4):
            return self.number(scope, depth), "int", False
        kind = name.column.kind
        if kind in ("wild", "nan", "long", "dec", "float") and depth and self.chance(0.5):
            text, kind = self.total(scope, depth) or (known(name), kind)
            return text, kind, False
        if self.chance(0.5):
            return name.text, kind, name.column.null
        return known(name) if kind in ZERO else name.text, kind, kind not in ZERO and name.column.null

    def total(self, scope: Scope, depth: int) -> tuple[str, str] | None:
        """A sum of numbers that are not whole, and their kind."""
        for _ in range(4):
            loops, both = self.inner(scope, depth)
            name = self.some(both[len(scope) :], "wild", "nan", "long", "dec", "float")
            if name is not None:
                kind = name.column.kind
                return f"sum({known(name)} {loops})", "nan" if kind == "float" else kind
        return None

    def bag(self, scope: Scope, depth: int) -> str:
        """A bag inside a row."""
        loops, both = self.inner(scope, depth)
        kind = self.rng.randint(0, 9)
        if kind <= 3:
            return f"[{self.value(both, 0)[0]} {loops}]"
        if kind == 4:
            return f"[({self.value(both, 0)[0]}, {self.number(both, depth - 1)}) {loops}]"
        if kind == 5 and depth > 0:
            return f"[({self.number(both, 0)}, {self.bag(both, depth - 1)}) {loops}]"
        if kind == 6:
            return f"{{{self.number(both, 0)} {loops}}}"
        if kind == 7:
            more, wider = self.inner(scope, depth)
            return f"[{self.number(both, 0)} {loops}] + [{self.number(wider, 0)} {more}]"
        if kind == 8:
            return f"sorted([{self.number(both, 0)} {loops}]{self.pick('', ', reverse=True')})[:{self.pick('1', '2')}]"
        name = self.some(scope, "bag")
        return name.text if name else f"[{self.number(both, 0)} {loops}]"

    # -- conditions

    def test(self, scope: Scope, depth: int) -> str:
        kind = self.rng.randint(0, 12 if depth > 0 else 4)
        match kind:
            case 0 | 1:
                one = self.some(scope, "int")
                left = known(one) if one else self.number(scope, 0)
                return f"{left} {self.pick('==', '==', '!=', '<', '<=', '>', '>=')} {self.number(scope, max(0, depth))}"
            case 2:
                name = self.some(scope, "int", "str", "date", "dec", "bool")
                return f"{name.text} is {self.pick('', 'not ')}None" if name else "1 == 1"
            case 3 | 4:
                return self.typed(scope)
            case 5 | 6:
                return f"({self.test(scope, depth - 1)} {self.pick('and', 'and', 'or')} {self.test(scope, depth - 1)})"
            case 7:
                return f"not ({self.test(scope, depth - 1)})"
            case 8 | 9:
                loops, both = self.inner(scope, depth)
                return f"{self.pick('any', 'all', 'not any')}({self.test(both, 0)} {loops})"
            case 10 | 11:
                loops, both = self.inner(scope, depth)
                inside = self.pick("[{}]", "{{{}}}").format(f"{self.number(both, 0)} {loops}")
                return f"{self.number(scope, 0)} {self.pick('in', 'not in')} {inside}"
        return f"{self.number(scope, 0)} < {self.number(scope, 0)} <= {self.number(scope, depth - 1)}"

    def typed(self, scope: Scope) -> str:
        name = self.rng.choice(scope)
        column, text = name.column, name.text
        if column.kind == "nan":
            return "2 > 1"
        if column.kind == "bag":
            return self.pick(text, f"not {text}", f"len({text}) > 1")
        if column.kind == "bool":
            return f"{text} is True" if column.null and self.chance(0.3) else f"{text} == True"
        right = self.pick(*WRITTEN[column.kind])
        if column.null:
            return self.pick(
                f"({text} is not None and {text} >= {right})", f"{text} == {right}", f"{text} != {right}"
            )
        return f"{text} {self.pick('==', '!=', '<', '>=')} {right}"

    # -- views

    def view(self) -> tuple[str, tuple[Column, ...]]:
        """A comprehension, and its columns if another view may read it: then they have names."""
        loops, scope = self.outer()
        kind = self.rng.randint(0, 9)
        if kind <= 2:
            made = [self.value(scope, 2) for _ in range(self.rng.randint(1, 3))]
            inside = ", ".join(f"'c{i}': {text}" for i, (text, _, _) in enumerate(made))
            columns = tuple(Column(f"c{i}", k, null) for i, (_, k, null) in enumerate(made))
            return f"[{{{inside}}} {loops}]", columns
        if kind <= 6:
            parts = [self.value(scope, 2)[0] for _ in range(self.rng.randint(1, 2))]
            parts += [self.bag(scope, 1) for _ in range(self.rng.choice([0, 1, 1, 2]))]
            return f"[({', '.join(parts)},) {loops}]", ()
        if kind == 7:
            other, kind_of, _ = self.value(scope, 0)
            pair = f"({self.number(scope, 0)}, {'0' if kind_of == 'nan' else other})"
            return f"{{{self.pick(self.number(scope, 1), pair)} {loops}}}", ()
        if kind == 8:
            return self.dictionary(), ()
        return f"[{self.number(scope, 2)} {loops}] + [{self.number(scope, 0)} {loops}]", ()

    def outer(self) -> tuple[str, Scope]:
        text, scope = self.loop([], deep=False)
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2])):
            more, new = self.loop(scope)
            tie = f" if {self.tie(scope, new)}" if self.chance(0.8) else ""
            text, scope = f"{text} {more}{tie}", [*scope, *new]
        return (f"{text} if {self.test(scope, 2)}" if self.chance(0.6) else text), scope

    def dictionary(self) -> str:
        """A dict by a column: what it holds is the same for all rows that agree on it."""
        loops, scope = self.loop([], deep=False)
        name = self.some(scope, "int", "str")
        table = loops.split()[-1]
        if name is None:
            return f"[1 {loops}]"
        column, x = name.column.name, loops.split()[1]
        inner = [Name(n.text.replace(f"{x}.", "y."), n.column) for n in scope]
        what = self.pick(f"sum({self.number(inner, 0)} for y in {table} if y.{column} == {name.text})",
                         f"[{self.number(inner, 0)} for y in {table} if y.{column} == {name.text}]")  # fmt: skip
        return f"{{{name.text}: {what} {loops}}}"


def brought(x: str, columns: tuple[Column, ...]) -> Scope:
    """What a loop variable gives access to."""
    return [Name(f"{x}.{column.name}" if column.name else x, column) for column in columns]


def known(name: Name) -> str:
    """The value of a column, and another where it is ``None``."""
    if not name.column.null:
        return name.text
    return f"({name.text} if {name.text} is not None else {ZERO[name.column.kind]})"
