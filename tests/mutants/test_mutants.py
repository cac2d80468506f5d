"""The tests of the half that runs have teeth: each of these mutants is caught by a law, a spec or an example near it.

A few of each kind run with every test, all of them in ``make soak``. A mutant that survives is a law that is missing.
"""

import pytest

from tests.engines.spark.session import missing
from tests.mutants import database, lake, local, lowering, spark, viewlet
from tests.mutants.mutant import Mutant, NoMutant, catch, example

#: What is broken of an engine is the embedded one's.
pytestmark = pytest.mark.in_python

TABLES = {
    "lowering": lowering.MUTANTS,
    "viewlet": viewlet.MUTANTS,
    "local": local.MUTANTS,
    "database": database.MUTANTS,
    "lake": lake.MUTANTS,
    "spark": spark.MUTANTS,
}
ON_SPARK = (
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(bool(missing()), reason=missing() or "there is Spark"),
)
MUTANTS = [
    pytest.param(mutant, id=mutant.broken, marks=ON_SPARK if name == "spark" else ())
    for name, table in TABLES.items()
    for mutant in table
]
QUICK = [param for param in MUTANTS if param.values[0].quick]  # type: ignore[union-attr]


@pytest.mark.parametrize("mutant", QUICK)
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    catch(mutant)


@pytest.mark.soak
@pytest.mark.parametrize("mutant", MUTANTS)
def test_every_mutant_is_caught(mutant: Mutant) -> None:
    catch(mutant)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_fits_its_function(mutant: Mutant) -> None:
    """its text stands there once, and the code that comes of it is another"""
    assert (
        mutant.code.co_code != mutant.target.__code__.co_code
        or mutant.code.co_consts != mutant.target.__code__.co_consts
    )


def test_a_mutant_that_changes_nothing_is_not_caught() -> None:
    harmless = Mutant(
        "nothing",
        "transform/viewlet/deltas",
        "subsets",
        "len(items) + 1",
        "1 + len(items)",
        lowering.SUMMANDS,
    )
    with pytest.raises(pytest.fail.Exception, match="holds though nothing"):
        catch(harmless)


@pytest.mark.parametrize(("function", "text"), [("nowhere", "size"), ("subsets", "nothing")])
def test_a_mutant_whose_text_is_gone_says_so(function: str, text: str) -> None:
    gone = Mutant("a mutant", "transform/viewlet/deltas", function, text, "", lowering.SUMMANDS)
    with pytest.raises(NoMutant, match=r"a mutant: .*(has no nowhere|0 times, not once)"):
        catch(gone)


def test_a_check_that_fails_anyway_catches_nothing() -> None:
    always = Mutant("two", "transform/viewlet/deltas", "subsets", "range(1,", "range(2,", example(wrong))
    with pytest.raises(AssertionError, match="always"):
        catch(always)


def wrong() -> None:
    raise AssertionError("always")


def test_there_are_enough_of_them() -> None:
    names = [param.values[0].broken for param in MUTANTS]  # type: ignore[union-attr]

    assert len(set(names)) == len(names) >= 105
    assert all(any(mutant.quick for mutant in table) for table in TABLES.values())
