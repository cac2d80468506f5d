"""Tests of one group are run by one worker: a session of Spark and what is compiled are dear to make."""

import pytest


@pytest.mark.xdist_group("views")
def test_a_test_is_known_by_its_group(request):
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@views")


@pytest.mark.xdist_group("spark")
def test_a_module_on_spark_is_a_group(request):
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@tests/test_groups.py")
