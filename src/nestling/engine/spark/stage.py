"""The statements of one stage: what they add to each target is computed by the driver where it can be, and of all other
targets by one Spark query.

A sink means that the change is large: each target is then a query of its own, whose result goes to files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nestling.engine.spark.jobs import WORK, described_jobs
from nestling.engine.spark.relations import at_most, difference
from nestling.engine.spark.session import python_errors
from nestling.engine.spark.state import LakeState
from nestling.engine.spark.statements import StatementWriter
from nestling.engine.spark.totals import adds_apart, is_small, totals
from nestling.program.statements import Statement
from nestling.quoting import sql_text


@dataclass(frozen=True)
class Sink:
    """Where results of a large change go: to files, of about so many ``rows`` each.

    ``broadcast``: the change is still small enough to be sent to where the state is.
    """

    write: Callable[[str, str, int], Any]
    rows: int
    broadcast: bool

    def __call__(self, name: str, text: str) -> Any:
        """Write the rows of a query, which are added to ``name``."""
        return self.write(name, text, self.rows)


#: What statements add, by target.
Added = dict[str, Any]


@dataclass(frozen=True)
class _Target:
    """What one run of statements adds to one map."""

    run: int
    name: str
    texts: list[str]
    large: bool
    apart: bool  #: whether sums make no fewer rows of it


class Stage:
    """A query being built. A run is a group of statements over one state, with results of its own."""

    def __init__(self, moment: LakeState, sink: Sink | None = None) -> None:
        self.moment, self.sink = moment, sink
        self.ctes: dict[str, str] = {}
        self.targets: list[_Target] = []
        self.here: dict[int, Added] = {}  # what the driver has found
        self.runs = 0

    def run(self, statements: Sequence[Statement], moment: LakeState | None = None) -> None:
        """Run ``statements`` over ``moment`` as it is now, or write them as queries."""
        moment = moment or self.moment
        self.runs += 1
        here = moment.driver.added(statements, moment) if self.sink is None else {}
        self.here[self.runs - 1] = here
        self.write([statement for statement in statements if statement.target not in here], moment)

    def write(self, statements: Sequence[Statement], moment: LakeState) -> None:
        writer = StatementWriter(
            moment, self.sink is None or self.sink.broadcast, self.ctes, self.sink is None
        )
        layouts = self.moment.layouts
        texts: dict[str, list[str]] = {}
        large, summed = set[str](), set[str]()
        for statement in statements:
            if not writer.finds_nothing(statement):
                text = writer.statement(statement, layouts[statement.target])
                texts.setdefault(statement.target, []).append(text)
                if not is_small(statement, layouts):
                    large.add(statement.target)
                if not adds_apart(statement, layouts):
                    summed.add(statement.target)
        self.targets += [
            _Target(self.runs - 1, name, found, name in large, name not in summed)
            for name, found in texts.items()
        ]

    def found(self) -> list[Added]:
        """What every run adds, by target, summed by key."""
        found: list[Added] = [dict(self.here.get(run, {})) for run in range(self.runs)]
        if self.sink is None and self.targets:
            names = ", ".join(target.name for target in self.targets)
            with described_jobs(self.moment.session, f"nestling: what changes in {names}"):
                table = arrow(
                    self.moment, self._text(" UNION ALL ".join(map(self._tagged, range(len(self.targets)))))
                )
            for tag, target in enumerate(self.targets):
                rows = untagged(table, tag)
                layout = self.moment.layouts[target.name]
                found[target.run][target.name] = rows if target.large else totals(rows, layout)
        elif self.sink is not None:
            for target in self.targets:
                layout = self.moment.layouts[target.name]
                text = self._text(difference(" UNION ALL ".join(target.texts), layout))
                found[target.run][target.name] = self.sink(target.name, text)
        return found

    def _text(self, body: str) -> str:
        return StatementWriter(self.moment, ctes=self.ctes).text(body)

    def _tagged(self, tag: int) -> str:
        """Rows of one target beside those of others: a struct per target, and which it is."""
        layouts = [self.moment.layouts[target.name] for target in self.targets]
        columns = []
        for i, layout in enumerate(layouts):
            if i == tag:
                fields = ", ".join(f"{sql_text(name)}, {name}" for name in layout.names)
                columns.append(f"named_struct({fields}) AS s{i}")
            else:
                fields = ", ".join(f"{name}: {type_}" for name, type_ in layout.sql)
                columns.append(f"CAST(NULL AS STRUCT<{fields}>) AS s{i}")
        target = self.targets[tag]
        rows = " UNION ALL ".join(target.texts)
        if target.large:
            most = self.moment.most
            if target.apart and most is not None:
                # Too many before they are summed are too many after it: nothing is shuffled for a query that stops.
                rows = at_most(most // 4, rows)
            rows = at_most(most, difference(rows, layouts[tag]))
        return f"SELECT {tag} AS t, {', '.join(columns)} FROM ({rows})"


def arrow(moment: LakeState, text: str) -> Any:
    """The rows of a query, on the driver."""
    with python_errors():
        WORK.queries += 1
        return moment.session.sql(text).toArrow()


def untagged(table: Any, tag: int) -> Any:
    """The rows of one target."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mine = table.filter(pc.equal(table["t"], tag)).column(f"s{tag}").combine_chunks()
    if isinstance(mine, pa.ChunkedArray):
        mine = pa.concat_arrays(mine.chunks) if mine.num_chunks else pa.array([], mine.type)
    return pa.Table.from_arrays(mine.flatten(), names=[field.name for field in mine.type])
