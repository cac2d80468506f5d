"""A plan as a Python program, to be read and pasted."""

from tests.soak.plan import Plan, View
from tests.soak.steps import written


def program(plan: Plan) -> str:
    """The calls that a plan makes."""
    memory = f", memory={plan.memory!r}" if plan.memory else ""
    lines = ["import nestling as nl", f"db = nl.Database({'path' if plan.durable else None}{memory})"]
    for table in plan.tables:
        key = f", key={list(table.key)!r}" if table.key else ""
        refers = f", references={dict(table.references)!r}" if table.references else ""
        lines.append(f"db.table({table.name!r}, {table.ddl!r}{key}{refers})")
    lines += [defined(view) for view in plan.views]
    lines += [
        f"db.constraint({one.name!r}, {one.text!r}, language={one.language!r})" for one in plan.constraints
    ]
    lines += [line for step in plan.steps for line in written(step)]
    lines += [f"print(db.views[{view.name!r}].rows())" for view in plan.views]
    return "\n".join([*lines, "db.verify(maps=True)"])


def defined(view: View) -> str:
    knobs = "".join(
        f", {name}={value!r}"
        for name, value, usual in (
            ("language", view.language, "sql"), ("store", view.store, "auto"), ("refresh", view.refresh, "eager"),
        )
        if value != usual
    )  # fmt: skip
    watch = ".subscribe(lambda change: change.inner)" if view.watched else ""
    return f"db.view({view.name!r}, {view.text!r}{knobs}, strict=False){watch}"
