"""Which functions of a plan are which functions of SQL.

What is not listed is refused by its name. What is listed and not known to the front end of SQL is refused there, with
its advice: the two lists need not agree.
"""

from __future__ import annotations

#: Functions of their children, by class.
FUNCTIONS = {
    "Abs": "abs", "AddMonths": "add_months", "ArrayContains": "array_contains", "ArrayDistinct": "array_distinct",
    "ArrayJoin": "array_join", "ArrayMax": "array_max", "ArrayMin": "array_min", "ArrayPosition": "array_position",
    "ArraySize": "size", "ArraysZip": "arrays_zip",
    "Ceil": "ceil", "Coalesce": "coalesce", "Concat": "concat", "ConcatWs": "concat_ws",
    "Contains": "contains", "CreateArray": "array", "DateAdd": "date_add", "DateDiff": "datediff",
    "DateSub": "date_sub", "DayOfMonth": "day", "DayOfWeek": "dayofweek", "DayOfYear": "dayofyear",
    "ElementAt": "element_at", "EndsWith": "endswith", "Exp": "exp", "Flatten": "flatten", "Floor": "floor",
    "Greatest": "greatest", "Hour": "hour", "InitCap": "initcap", "IsNaN": "isnan", "LastDay": "last_day",
    "Least": "least", "Left": "left", "Length": "length", "Log": "ln", "Lower": "lower", "Minute": "minute",
    "Mod": "mod", "Month": "month", "Pmod": "pmod", "Pow": "power", "Quarter": "quarter", "Reverse": "reverse",
    "RegExpReplace": "regexp_replace", "Right": "right", "Round": "round", "Second": "second", "Signum": "sign",
    "Size": "size", "SortArray": "sort_array", "Sqrt": "sqrt", "StartsWith": "startswith", "StringInstr": "instr",
    "StringLPad": "lpad", "StringRPad": "rpad", "StringRepeat": "repeat", "StringReplace": "replace",
    "StringSplit": "split", "Substring": "substring", "TruncDate": "trunc",
    "TruncTimestamp": "date_trunc", "Upper": "upper", "WeekDay": "weekday", "WeekOfYear": "weekofyear", "Year": "year",
}  # fmt: skip

#: Operators between their two children.
BINARY = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "IntegralDivide": "DIV", "Remainder": "%",
    "EqualTo": "=", "EqualNullSafe": "<=>", "LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">",
    "GreaterThanOrEqual": ">=", "And": "AND", "Or": "OR", "SubtractDates": "-", "SubtractTimestamps": "-",
    "DateAddYMInterval": "+", "DateAddInterval": "+", "TimestampAddInterval": "+", "TimestampAddYMInterval": "+",
}  # fmt: skip

COMPARISONS = (
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual",
)  # fmt: skip

AGGREGATES = {
    "AnyValue": "any_value", "Average": "avg", "BoolAnd": "bool_and", "BoolOr": "bool_or",
    "CollectList": "collect_list", "CollectSet": "collect_set", "Count": "count", "CountIf": "count_if",
    "First": "first", "Last": "last", "Max": "max", "Median": "median", "Min": "min", "Mode": "mode",
    "StddevPop": "stddev_pop", "StddevSamp": "stddev_samp", "Sum": "sum", "VariancePop": "var_pop",
    "VarianceSamp": "var_samp",
}  # fmt: skip

WINDOW_FUNCTIONS = {
    "Rank": "rank", "DenseRank": "dense_rank", "RowNumber": "row_number", "PercentRank": "percent_rank",
    "CumeDist": "cume_dist", "NTile": "ntile", "Lag": "lag", "Lead": "lead", "NthValue": "nth_value",
}  # fmt: skip

#: What stands for another expression, its only child.
REPLACED = ("Between", "Decode", "Extract", "NullIf", "Nvl", "Nvl2", "StringTrimBoth")

#: What to write instead of a class that is not known.
ADVICE = {
    "PythonUDF": "write it with functions of pyspark.sql.functions: a view is derived from what they mean",
    "ScalaUDF": "write it with functions of pyspark.sql.functions: a view is derived from what they mean",
    "CurrentDate": "a view is computed from its tables alone: keep the value in a table",
    "CurrentTimestamp": "a view is computed from its tables alone: keep the value in a table",
    "Rand": "a view is computed from its tables alone: keep the value in a table",
    "MonotonicallyIncreasingID": "a view has no order: number the rows in a table",
    "Sample": "a sample would change with every reading",
    "Tail": "a view has no order: take the first of the other order",
    "PivotFirst": "write one aggregate for each column: F.sum(F.when(…))",
    "MapInPandas": "write it with functions of pyspark.sql.functions",
    "FlatMapGroupsInPandas": "write it with functions of pyspark.sql.functions",
    "TypedFilter": "write it with columns",
    "Deduplicate": "any of the rows would be kept: group by these columns and aggregate the others",
    "AsOfJoin": "join by an inequality and take the greatest",
    "Offset": "take the first rows: orderBy(…).limit(k)",
}
