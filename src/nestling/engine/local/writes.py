"""Code that adds to a table or map and to its indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nestling.calculus.types import Scalar
from nestling.engine.local.loops import key_of
from nestling.engine.local.storage import Positions, Store
from nestling.engine.python.source import SourceWriter
from nestling.engine.python.terms import tuple_of
from nestling.program.statements import MapDecl


def write_row(out: SourceWriter, store: Store, columns: Sequence[str]) -> None:
    """Add the row at hand to its table, ``times`` times."""
    if store.key:
        _write_keyed(out, store, columns)
        return
    name = store.python
    out.line(f"total = {name}.get(row, 0) + times")
    with out.block("if total:"):
        out.line(f"{name}[row] = total")
        for known in _indexes(out, store):
            out.line(f"{store.index(known)}[{_known(known, columns)}][row] = total")
    with out.block("else:"):
        out.line(f"del {name}[row]")
        for known in _indexes(out, store):
            _forget(out, store, known, _known(known, columns), "row")


def _write_keyed(out: SourceWriter, store: Store, columns: Sequence[str], row: str = "row") -> None:
    with out.block("if times > 0:"):
        _put_keyed(out, store, columns, row)
    with out.block("else:"):
        _drop_keyed(out, store, columns)


def _put_keyed(out: SourceWriter, store: Store, columns: Sequence[str], row: str) -> None:
    key, row = key_of([columns[i] for i in store.key]), _made_once(out, store, row)
    out.line(f"{store.python}[{key}] = {row}")
    for known in _indexes(out, store):
        out.line(f"{store.index(known)}[{_known(known, columns)}][{key}] = {row}")


def _drop_keyed(out: SourceWriter, store: Store, columns: Sequence[str]) -> None:
    key = key_of([columns[i] for i in store.key])
    out.line(f"del {store.python}[{key}]")
    for known in _indexes(out, store):
        _forget(out, store, known, _known(known, columns), key)


def _made_once(out: SourceWriter, store: Store, row: str) -> str:
    """``row``, which several dictionaries share."""
    if row.isidentifier() or not (store.patterns or store.on_demand):
        return row
    out.line(f"cell = {row}")
    return "cell"


def write_entry(out: SourceWriter, store: Store, columns: Sequence[str], amount: str) -> None:
    """Add a row to a map in which a key determines it, or take it away."""
    row = entry_of(store, columns)
    if amount == "times":
        _write_keyed(out, store, columns, row)
    elif amount == "1":
        _put_keyed(out, store, columns, row)
    else:
        _drop_keyed(out, store, columns)


def entry_of(store: Store, columns: Sequence[str]) -> str:
    """What is stored under the key of a row of a map."""
    return tuple_of(columns) if store.value is None else columns[store.value]


def rewrite_row(
    out: SourceWriter, store: Store, columns: Sequence[str], old: Sequence[str], row: str = "row"
) -> None:
    """Put the row at hand in the place of the one that had its key."""
    key, row = key_of([columns[i] for i in store.key]), _made_once(out, store, row)
    out.line(f"{store.python}[{key}] = {row}")
    for known in _indexes(out, store):
        index, part, before = store.index(known), _known(known, columns), _known(known, old)
        if part == before:
            out.line(f"{index}[{part}][{key}] = {row}")
            continue
        moves = " or ".join(f"{columns[i]} != {old[i]}" for i in known if columns[i] != old[i])
        with out.block(f"if {moves}:"):
            _forget(out, store, known, before, key)
            out.line(f"{index}[{part}][{key}] = {row}")
        with out.block("else:"):
            out.line(f"{index}[{part}][{key}] = {row}")


def _indexes(out: SourceWriter, store: Store) -> Iterator[Positions]:
    """The indexes of a source; what follows for one that is made on demand, runs where there is one."""
    yield from sorted(store.patterns)
    for known in sorted(store.on_demand):
        with out.block(f"if {store.index(known)} is not None:"):
            yield known


def _known(known: Positions, columns: Sequence[str]) -> str:
    return key_of([columns[i] for i in known])


def _forget(out: SourceWriter, store: Store, known: Positions, bound: str, key: str) -> None:
    out.line(f"part = {store.index(known)}[{bound}]")
    out.line(f"del part[{key}]")
    with out.block("if not part:"):
        out.line(f"del {store.index(known)}[{bound}]")


def add_to(
    out: SourceWriter, store: Store, key: Sequence[str], amounts: Sequence[str], new: Sequence[str] = ()
) -> None:
    """``store[key] += amounts``; an entry that becomes zero is removed. ``new`` names the sums, where known."""
    parts = list(key)
    if store.is_cell:
        _add_in_place(out, store, amounts)
        return
    if store.slices:
        (_add_number_in_slice if store.width == 1 else _add_cell_in_slice)(out, store, parts, amounts)
        return
    if len(parts) > 1:
        out.line(f"key = {key_of(parts)}")
    whole = parts[0] if len(parts) == 1 else "key"
    if store.width > 1:
        _add_cell(out, store, parts, whole, amounts)
        return
    if not new:
        out.line(f"total = {store.python}.get({whole}, 0) + {amounts[0]}")
    _put_number(out, store, parts, whole, new[0] if new else "total")


def _add_in_place(out: SourceWriter, store: Store, amounts: Sequence[str]) -> None:
    for i, amount in enumerate(amounts):
        out.line(f"{store.python}[{i}] += {amount}")


def _put_number(out: SourceWriter, store: Store, parts: list[str], key: str, total: str) -> None:
    name = store.python
    with out.block(f"if {total}:"):
        if store.sorted:
            with out.block(f"if {key} not in {name}:"):
                _enter(out, store, parts)
        out.line(f"{name}[{key}] = {total}")
        for known in sorted(store.patterns):
            bound, free = _split(store, known, parts)
            out.line(f"{store.index(known)}[{bound}][{free}] = {total}")
    # An amount of zero for a key that is not there leaves nothing to delete.
    with out.block(f"elif {key} in {name}:"):
        out.line(f"del {name}[{key}]")
        _leave(out, store, parts)
        for known in sorted(store.patterns):
            bound, free = _split(store, known, parts)
            _forget(out, store, known, bound, free)


def _add_number_in_slice(out: SourceWriter, store: Store, parts: list[str], amounts: Sequence[str]) -> None:
    (known,), amount = store.patterns, amounts[0]
    bound, free = _split(store, known, parts)
    if len(store.free(known)) > 1:
        out.line(f"key = {free}")
        free = "key"
    out.line(f"part = {store.slices}[{bound}]")
    out.line(f"total = part.get({free}, 0) + {amount}")
    with out.block("if total:"):
        if store.sorted:
            with out.block(f"if {free} not in part:"):
                _enter(out, store, parts)
        out.line(f"part[{free}] = total")
    with out.block(f"elif {free} in part:"):
        _leave_slice(out, store, parts, bound, free)
    if not _is_never_zero(amount):
        _leave_nothing(out, store, bound)


def _add_cell_in_slice(out: SourceWriter, store: Store, parts: list[str], amounts: Sequence[str]) -> None:
    (known,) = store.patterns
    bound, free = _split(store, known, parts)
    if len(store.free(known)) > 1:
        out.line(f"key = {free}")
        free = "key"
    new = f"[{', '.join(amounts)}]"
    out.line(f"part = {store.slices}[{bound}]")
    out.line(f"cell = part.get({free})")
    with out.block("if cell is None:"):
        depth = _if_any(out, amounts)
        out.line(f"part[{free}] = {new}")
        _enter(out, store, parts)
        if out.depth > depth:
            out.close_to(depth)
            _leave_nothing(out, store, bound)
    with out.block("else:"):
        depth = _add_up(out, store, amounts)
        if out.depth > depth:
            _leave_slice(out, store, parts, bound, free)
            out.close_to(depth)


def _leave_nothing(out: SourceWriter, store: Store, bound: str) -> None:
    """Where nothing was added, do not leave a part behind that has no entry."""
    with out.block("elif not part:"):
        out.line(f"del {store.slices}[{bound}]")


def _leave_slice(out: SourceWriter, store: Store, parts: list[str], bound: str, free: str) -> None:
    out.line(f"del part[{free}]")
    _leave(out, store, parts)
    with out.block("if not part:"):
        out.line(f"del {store.slices}[{bound}]")


def _enter(out: SourceWriter, store: Store, parts: list[str]) -> None:
    """Put a new entry where its place in the order is."""
    for known in sorted(store.sorted):
        bound, free = _split(store, known, parts)
        depth = _where_ordered(out, store, known, free)
        out.line(f"insort({store.order(known)}.setdefault({bound}, []), {free})")
        out.close_to(depth)


def _leave(out: SourceWriter, store: Store, parts: list[str]) -> None:
    for known in sorted(store.sorted):
        bound, free = _split(store, known, parts)
        depth = _where_ordered(out, store, known, free)
        out.line(f"keys = {store.order(known)}[{bound}]")
        out.line(f"del keys[bisect_left(keys, {free})]")
        with out.block("if not keys:"):
            out.line(f"del {store.order(known)}[{bound}]")
        out.close_to(depth)


def _where_ordered(out: SourceWriter, store: Store, known: Positions, free: str) -> int:
    """Go on where the column has a place in an order: NaN is between no bounds. Returns the depth before."""
    depth = out.depth
    (position,) = store.free(known)
    type_ = store.decl.columns[position].type
    if isinstance(type_, Scalar) and type_.name == "float":
        out.open(f"if {free} == {free}:")
    return depth


def _add_cell(out: SourceWriter, store: Store, parts: list[str], key: str, amounts: Sequence[str]) -> None:
    name = store.python
    out.line(f"cell = {name}.get({key})")
    with out.block("if cell is None:"):
        depth = _if_any(out, amounts)
        out.line(f"{name}[{key}] = cell = [{', '.join(amounts)}]")
        _enter(out, store, parts)
        for known in sorted(store.patterns):
            bound, free = _split(store, known, parts)
            out.line(f"{store.index(known)}[{bound}][{free}] = cell")
        out.close_to(depth)
    with out.block("else:"):
        depth = _add_up(out, store, amounts)
        if out.depth > depth:
            out.line(f"del {name}[{key}]")
            _leave(out, store, parts)
            for known in sorted(store.patterns):
                bound, free = _split(store, known, parts)
                _forget(out, store, known, bound, free)
            out.close_to(depth)


def _if_any(out: SourceWriter, amounts: Sequence[str]) -> int:
    """Go on where something is added. Returns the depth before."""
    depth = out.depth
    if not any(map(_is_never_zero, amounts)):
        out.open(f"if {' or '.join(amount for amount in amounts if amount != '0')}:")
    return depth


def _add_up(out: SourceWriter, store: Store, amounts: Sequence[str]) -> int:
    """Add to the entry at hand, and where it may be gone by that, go on where it is. Returns the depth before."""
    depth, is_positive = out.depth, isinstance(store.decl, MapDecl) and store.decl.positive
    adds = {i: amount for i, amount in enumerate(amounts) if amount != "0"}
    if is_positive and 0 not in adds:  # its count decides, and stays as it is
        for i, amount in adds.items():
            out.line(f"cell[{i}] += {amount}")
        return depth
    sums = measures(store)
    out.line(f"{', '.join(sums)} = cell")
    decisive = adds.keys() & {0} if is_positive else adds.keys()
    for i in decisive:
        out.line(f"{sums[i]} += {adds[i]}")
    with out.block(f"if {' or '.join(sums[: 1 if is_positive else None])}:"):
        for i, amount in adds.items():
            out.line(f"cell[{i}] = {sums[i]}{'' if i in decisive else f' + {amount}'}")
    out.open("else:")
    return depth


def measures(store: Store) -> list[str]:
    """What the numbers of an entry are called while they are added to."""
    return [f"measure{i}" for i in range(store.width)]


def _is_never_zero(amount: str) -> bool:
    """Whether an amount is how often a row comes or goes."""
    return amount in ("times", "1", "(-1)")


def _split(store: Store, known: Positions, parts: list[str]) -> tuple[str, str]:
    return key_of([parts[i] for i in known]), key_of([parts[i] for i in store.free(known)])


def collect(out: SourceWriter, store: Store, key: Sequence[str], amounts: Sequence[str]) -> None:
    """Collect ``amounts``: one row may add to a key more than once, and must cause one change."""
    name = f"change_{store.python}"
    parts = [key_of(key[:-1]), key[-1]] if store.is_ordered else list(key)
    whole = parts[0] if len(parts) == 1 else "key"
    if len(parts) != 1:
        out.line(f"key = {key_of(parts)}")
    if store.width == 1:
        out.line(f"{name}[{whole}] = {name}.get({whole}, 0) + {amounts[0]}")
        return
    out.line(f"cell = {name}.get({whole})")
    with out.block("if cell is None:"):
        out.line(f"{name}[{whole}] = [{', '.join(amounts)}]")
    with out.block("else:"):
        for i, amount in enumerate(amounts):
            out.line(f"cell[{i}] += {amount}")


def add_to_ordered(out: SourceWriter, store: Store, group: str, value: str, amounts: Sequence[str]) -> None:
    """Add to the measures of one group, kept in order of its last key."""
    name = store.python
    out.line(f"ordered = {name}.get({group})")
    with out.block("if ordered is None:"):
        out.line(f"{name}[{group}] = ordered = OrderedMap({store.width - 1 or ''})")
    out.line(f"ordered.add({value}, {', '.join(amounts)})")
    with out.block("if not ordered:"):
        out.line(f"del {name}[{group}]")
