"""Whatever happens to a database, its views say what their queries say, and a refused change has changed nothing."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nestling.database.change import Change
from nestling.errors import ChangeError, ConstraintError
from nestling.values.bag import EMPTY, ZBag
from nestling.values.label import Label
from tests.database.orders import (
    HEARD,
    ROWS,
    START,
    VIEWS,
    Model,
    Refused,
    Step,
    added,
    breaks_a_constraint,
    has_no_value,
    rows_of,
    shop,
    steps,
    tables,
    value,
)
from tests.engines.worlds import agrees_with_its_indexes, contents


class Abandoned(Exception):
    """The user thinks better of it."""


class Shop(RuleBasedStateMachine):
    """Two tables, ten views, a constraint, two subscriptions; a plain bag per table says what should be there."""

    def __init__(self) -> None:
        super().__init__()
        self.db = shop()
        self.model: Model = dict.fromkeys(ROWS, EMPTY)
        self.told: dict[str, list[Change]] = {name: [] for name in HEARD}
        self.known: dict[str, ZBag] = {}

    @initialize(customers=START["customers"], parts=START["parts"])
    def start(self, customers: list[Any], parts: list[Any]) -> None:
        for table, rows in (("customers", customers), ("parts", parts)):
            self.db.insert(table, rows)
            self.model[table] = ZBag((value(table, row), 1) for row in rows)
        for name, changes in self.told.items():
            self.db.views[name].subscribe(changes.append)
            self.known[name] = self.db.views[name].bag()

    # -- what happens

    @rule(step=steps)
    def one_change(self, step: Step) -> None:
        self.attempt([step], lambda: self.transact([step]))

    @rule(several=st.lists(steps, min_size=1, max_size=4), peek=st.booleans())
    def transaction(self, several: list[Step], peek: bool) -> None:
        self.attempt(several, lambda: self.transact(several, peek))

    @rule(several=st.lists(steps, max_size=3))
    def abandoned_transaction(self, several: list[Step]) -> None:
        before = self.everything()
        try:
            with self.db.transaction() as change:
                for step in several:
                    step.run(change)
                raise Abandoned
        except (Abandoned, ChangeError):
            pass
        assert self.everything() == before

    @rule(several=st.lists(steps, max_size=4))
    def refusals_inside_a_transaction(self, several: list[Step]) -> None:
        """A change that is refused has done nothing, and the rest of the transaction goes on without it."""
        model, accepted = self.model, []
        for step in several:
            try:
                model = step.expected(model)
            except Refused:
                continue
            accepted.append(step)

        def run() -> None:
            with self.db.transaction() as change:
                for step in several:
                    try:
                        step.run(change)
                    except ChangeError:
                        assert step not in accepted

        self.attempt(accepted, run)

    @rule(data=st.data(), table=tables)
    def delete_a_row(self, data: Any, table: str) -> None:
        if self.model[table]:
            row = data.draw(st.sampled_from(sorted(self.model[table], key=repr)))
            self.db.delete(table, [row])
            self.model = self.model | {table: self.model[table] - ZBag.of(row)}

    @rule(data=st.data())
    def delete_an_order(self, data: Any) -> None:
        customers = [row for row in sorted(self.model["customers"], key=repr) if row[2]]
        if customers:
            row = data.draw(st.sampled_from(customers))
            order = data.draw(st.sampled_from(sorted(row[2], key=repr)))
            self.db.table("customers").at(row[0]).orders.delete([order])
            new = (row[0], row[1], row[2] - ZBag.of(order))
            self.model = self.model | {"customers": self.model["customers"] - ZBag.of(row) + ZBag.of(new)}

    @rule(data=st.data(), table=tables)
    def sync(self, data: Any, table: str) -> None:
        """The new state, handed over whole."""
        kept = [row for row in sorted(self.model[table], key=repr) if data.draw(st.booleans())]
        new = [*kept, *data.draw(rows_of(table))]
        wanted = ZBag((value(table, row), 1) for row in new)
        step = Step(f"sync {table}", lambda change: None, lambda model: replaced(model, table, wanted))
        self.attempt([step], lambda: self.db.sync(table, new))

    @rule(pairs=st.lists(st.tuples(ROWS["parts"], st.sampled_from(["insert", "delete"])), max_size=3))
    def change_feed(self, pairs: list[tuple[Any, str]]) -> None:
        names = ("pid", "price", "tags")
        feed = [dict(zip(names, row, strict=True)) | {"_change_type": kind} for row, kind in pairs]
        change = ZBag((value("parts", row), 1 if kind == "insert" else -1) for row, kind in pairs)
        step = Step("feed", lambda t: None, lambda m: replaced(m, "parts", m["parts"] + change))
        self.attempt([step], lambda: self.db.apply({"parts": feed}))

    @rule()
    def read_later(self) -> None:
        """A lazy view is as late as its last reading, and never when it is read."""
        assert self.db._read("later") == self.db._state.evaluate("later")

    # -- what should come of it

    def transact(self, several: list[Step], peek: bool = False) -> None:
        with self.db.transaction() as change:
            for step in several:
                step.run(change)
                if peek:
                    self.read_later()

    def attempt(self, several: list[Step], run: Any) -> None:
        """Run a change that is accepted exactly if every step is, and no constraint is broken."""
        before, version = self.everything(), self.db.version
        model, expected = self.outcome(several)
        try:
            run()
        except ChangeError as error:
            assert expected is not None and isinstance(error, expected), several
            assert self.everything() == before
            assert self.db.version == version
            return
        assert expected is None, several
        assert self.db.version == version + bool(self.db._last_refresh.events)
        self.model = model

    def outcome(self, several: list[Step]) -> tuple[Model, type[ChangeError] | None]:
        """The tables after some steps, and the error that refuses them."""
        model = self.model
        try:
            for step in several:
                model = step.expected(model)
        except Refused:
            return self.model, ChangeError
        if has_no_value(model):
            return self.model, ChangeError
        return model, ConstraintError if breaks_a_constraint(model) else None

    def everything(self) -> Any:
        """Every dictionary of the engine; a lazy view is looked at when it is read."""
        return contents(self.db._state.engine)

    # -- what always holds

    @invariant()
    def tables_hold_what_came_and_did_not_go(self) -> None:
        assert self.db._state.nested_tables() == self.model

    @invariant()
    def views_say_what_their_queries_say(self) -> None:
        for name in (*(view.__name__ for view in VIEWS), "modest"):
            assert self.db._read(name) == self.db._state.evaluate(name), name

    @invariant()
    def changes_lead_from_answer_to_answer(self) -> None:
        for name, changes in self.told.items():
            if name not in self.known:
                continue
            now = self.db._read(name)
            assert (changes.pop().before(now) if changes else now) == self.known[name]
            assert not changes
            self.known[name] = now

    @invariant()
    def indexes_hold_what_they_index(self) -> None:
        agrees_with_its_indexes(self.db._state.engine)

    @invariant()
    def no_inner_row_is_left_behind(self) -> None:
        engine = self.db._state.engine
        used = {
            value
            for name in engine.program.tables
            for row in engine.table(name)
            for value in row[name.count(".") > 0 :]
            if isinstance(value, Label)
        }
        stored = {row[0] for name in engine.program.tables if "." in name for row in engine.table(name)}
        assert stored <= used

    def teardown(self) -> None:
        self.db.verify()


def replaced(model: Model, table: str, wanted: ZBag) -> Model:
    """The model with other rows in one table, if they can be accepted."""
    return added(model, table, wanted - model[table])


TestShop = Shop.TestCase
TestShop.settings = settings(stateful_step_count=14)
