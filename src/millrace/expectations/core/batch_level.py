"""The expectations on many rows together: only the batch job can judge them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictStr

from millrace.base.model import Frozen
from millrace.expectations.core import values
from millrace.expectations.core.arguments import (
    Arguments,
    Columns,
    Count,
    Number,
    OneColumn,
    Share,
    UnfitArgumentError,
    ValueRange,
)
from millrace.lake.core.columns import TYPES


class BatchLevel(Arguments):
    pass


class RowCount(BatchLevel):
    value: Count


class RowCountBetween(BatchLevel, ValueRange):
    min_value: Count | None = None
    max_value: Count | None = None

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.check_ends(self.min_value, self.max_value)


class Exists(OneColumn, BatchLevel):
    pass


class Unique(OneColumn, BatchLevel):
    mostly: Share = 1


class CompoundUnique(BatchLevel):
    column_list: Annotated[list[StrictStr], Field(min_length=2)]
    ignore_row_if: Literal["all_values_are_missing", "any_value_is_missing", "never"] = (
        "all_values_are_missing"
    )
    mostly: Share = 1


class StatisticBetween(OneColumn, BatchLevel, ValueRange):
    """Minimum, mean and so on of a column of numbers."""

    min_value: Number | None = None
    max_value: Number | None = None

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.kind(columns, *values.NUMBERS)
        self.check_ends(self.min_value, self.max_value)


class ShareBetween(OneColumn, BatchLevel, ValueRange):
    min_value: Share | None = None
    max_value: Share | None = None

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.check_ends(self.min_value, self.max_value)


class DistinctCountBetween(OneColumn, BatchLevel, ValueRange):
    min_value: Count | None = None
    max_value: Count | None = None

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.check_ends(self.min_value, self.max_value)


class DistinctValues(OneColumn, BatchLevel):
    value_set: Annotated[list[Any], Field(min_length=1)]

    def check(self, columns: Columns) -> None:
        super().check(columns)
        # Great Expectations compares the column's own values with what the file says.
        kind = self.kind(columns, *(kind for kind in TYPES if kind not in ("timestamp", "date")))
        for value in self.value_set:
            try:
                values.member(value, kind)
            except ValueError as error:
                raise UnfitArgumentError("value_set", str(error)) from None


class QuantileRanges(Frozen):
    quantiles: Annotated[list[Share], Field(min_length=1)]
    value_ranges: Annotated[list[tuple[Number | None, Number | None]], Field(min_length=1)]


class Quantiles(OneColumn, BatchLevel):
    quantile_ranges: QuantileRanges
    allow_relative_error: StrictBool = False

    def check(self, columns: Columns) -> None:
        super().check(columns)
        self.kind(columns, *values.NUMBERS)
        ranges = self.quantile_ranges
        if len(ranges.quantiles) != len(ranges.value_ranges):
            raise UnfitArgumentError(
                "quantile_ranges", "write one range in value_ranges for each quantile"
            )


BATCH_LEVEL: dict[str, type[BatchLevel]] = {
    "expect_table_row_count_to_equal": RowCount,
    "expect_table_row_count_to_be_between": RowCountBetween,
    "expect_column_to_exist": Exists,
    "expect_column_values_to_be_unique": Unique,
    "expect_compound_columns_to_be_unique": CompoundUnique,
    "expect_column_min_to_be_between": StatisticBetween,
    "expect_column_max_to_be_between": StatisticBetween,
    "expect_column_mean_to_be_between": StatisticBetween,
    "expect_column_median_to_be_between": StatisticBetween,
    "expect_column_stdev_to_be_between": StatisticBetween,
    "expect_column_sum_to_be_between": StatisticBetween,
    "expect_column_quantile_values_to_be_between": Quantiles,
    "expect_column_proportion_of_unique_values_to_be_between": ShareBetween,
    "expect_column_proportion_of_non_null_values_to_be_between": ShareBetween,
    "expect_column_unique_value_count_to_be_between": DistinctCountBetween,
    "expect_column_distinct_values_to_be_in_set": DistinctValues,
    "expect_column_distinct_values_to_contain_set": DistinctValues,
    "expect_column_distinct_values_to_equal_set": DistinctValues,
}
