from hypothesis import given, strategies as st
from nestling.database.database import Database
from tests.engines.worlds import KEYED
from tests.database.moves import move
from tests.strategies import queries
def database():
    db=Database()
    for name,d in KEYED.definitions.items(): db.table(name, d.record, d.key)
    return db
@given(data=st.data())
def test_law10(data):
    db=database()
    q=data.draw(queries("full", KEYED.schema.nested, fuel=3, schema=KEYED.schema))
    v=db.view("v", q); heard=[]
    v.subscribe(heard.append)
    for _ in range(4):
        before=v.bag(); heard.clear()
        with db.transaction() as t:
            for _ in range(data.draw(st.integers(1,3))): move(data.draw, db, t)
        after=v.bag()
        assert after==db.state.evaluate("v")
        assert bool(heard)==(before!=after) or heard
        if heard: assert heard[0].before(after)==before, (before, after, heard)
        else: assert before==after
