"""Files of other programs, wherever Spark reaches."""

from __future__ import annotations

from typing import Any


def rows_at(spark: Any, words: str, address: str) -> Any:
    """The rows of a folder in a format; nothing where there is no folder, or an empty one."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.format(words).load(address)
    except AnalysisException as error:
        if error.getCondition() in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            return None
        raise
