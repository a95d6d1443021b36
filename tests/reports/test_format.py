from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunesmith.measurement import Outcome
from tunesmith.reports import format as fmt

_SIZES = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0123, "0.0123"),
        (1.2, "1.20"),
        (9.996, "10.0"),
        (99.96, "100"),
        (115.4, "115"),
        (999.6, "1,000"),
        (12345.6, "12,346"),
        (-3.14159, "-3.14"),
        (math.inf, "–"),
        (math.nan, "–"),
    ],
)
def test_number_has_three_significant_digits(value: float, text: str) -> None:
    assert fmt.number(value) == text


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_number_is_within_half_a_unit_of_its_last_digit(value: float) -> None:
    assert float(fmt.number(value).replace(",", "")) == pytest.approx(value, rel=5.001e-3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.234e-9, "1.23 ns"),
        (3e-12, "0.00300 ns"),
        (321e-6, "321 µs"),
        (999.7e-6, "1.00 ms"),
        (0.0123, "12.3 ms"),
        (2.5, "2.50 s"),
        (1234.0, "1,234 s"),
        (0.0, "0 s"),
        (None, "–"),
        (math.inf, "–"),
    ],
)
def test_seconds_of_a_call(value: float | None, text: str) -> None:
    assert fmt.seconds(value) == text


@given(st.floats(min_value=1e-9, max_value=999))
def test_seconds_picks_the_unit_that_leaves_one_to_three_whole_digits(value: float) -> None:
    text, unit = fmt.seconds(value).split(" ")
    assert 1 <= float(text) < 1000
    assert float(text) * _SIZES[unit] == pytest.approx(value, rel=5.001e-3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (0.01, "<0.1 s"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3599.7, "1 h 00 min"),
        (3720, "1 h 02 min"),
        (86399, "1 d 00 h"),
        (100_000, "1 d 04 h"),
        (math.inf, "–"),
    ],
)
def test_duration(value: float, text: str) -> None:
    assert fmt.duration(value) == text


@given(st.floats(min_value=0, max_value=1e8))
def test_duration_never_shows_sixty_seconds_or_minutes_or_a_day_of_hours(value: float) -> None:
    assert not re.search(r"\b60 (s|min)|\b24 h", fmt.duration(value))


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 10, "0 %"),
        (1, 1000, "<1 %"),
        (3, 10, "30 %"),
        (999, 1000, ">99 %"),
        (10, 10, "100 %"),
        (0, 0, "–"),
    ],
)
def test_share(part: float, whole: float, text: str) -> None:
    assert fmt.share(part, whole) == text


@pytest.mark.parametrize(
    ("baseline", "value", "text"),
    [(5.74, 2.0, "2.87×"), (1.0, 2.0, "0.500×"), (None, 1.0, "–"), (1.0, None, "–")],
)
def test_gain(baseline: float | None, value: float | None, text: str) -> None:
    assert fmt.gain(baseline, value) == text


@pytest.mark.parametrize(
    ("baseline", "value", "text"),
    [
        (5.74, 2.0, "2.87× faster than it"),
        (1.0, 2.0, "2.00× slower than it"),
        (1.001, 1.0, "as fast as it"),
    ],
)
def test_faster_than(baseline: float, value: float, text: str) -> None:
    assert fmt.faster_than(baseline, value, "it") == text


@pytest.mark.parametrize(
    ("seconds", "flops", "text"),
    [
        (1e-3, 115e6, "115 GFLOP/s"),
        (1e-3, 1.2e9, "1.20 TFLOP/s"),
        (1.0, 5e3, "5.00 kFLOP/s"),
        (1.0, 0.5, "0.500 FLOP/s"),
        (1e-3, None, "1,000 calls/s"),
        (4.0, None, "0.250 calls/s"),
        (None, 1e9, "–"),
        (math.inf, 1e9, "–"),
    ],
)
def test_speed(seconds: float | None, flops: float | None, text: str) -> None:
    assert fmt.speed(seconds, flops) == text


def test_a_column_of_speeds_has_the_unit_of_its_fastest() -> None:
    unit = fmt.SpeedUnit.suiting(1e9, [1e-4, 0.5, None])
    assert unit.name == "TFLOP/s"
    assert [unit.amount(time) for time in (1e-4, 0.5, None)] == ["10.0", "0.00200", "–"]


@pytest.mark.parametrize(("flops", "name"), [(1e9, "GFLOP/s"), (None, "calls/s")])
def test_a_column_without_speeds_has_the_usual_unit(flops: float | None, name: str) -> None:
    assert fmt.SpeedUnit.suiting(flops, [None]).name == name


def test_columns_have_as_many_decimals_as_asked_for() -> None:
    assert fmt.percent(0.12345) == "12.3 %"
    assert fmt.percent(1.0, 0) == "100 %"
    assert fmt.percent(None) == fmt.decimal(None) == fmt.NOTHING
    assert fmt.decimal(1234.5) == "1,234.50"
    assert fmt.decimal(0.4, 0) == "0"


def test_a_number_with_its_error() -> None:
    assert fmt.decimal_with_error(1234.5, 0.125) == "1,234.50 ± 0.12"
    assert fmt.decimal_with_error(None, None) == fmt.NOTHING


def test_count_separates_thousands() -> None:
    assert fmt.count(1234567) == "1,234,567"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 trials"), (1, "1 trial"), (2000, "2,000 trials")]
)
def test_counted(value: int, text: str) -> None:
    assert fmt.counted(value, "trial") == text


def test_outcome_names_are_distinct_words() -> None:
    names = [fmt.outcome_name(outcome) for outcome in Outcome]
    assert names[:2] == ["valid", "instantiation error"]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [((4, 1, 16), "(4, 1, 16)"), (("co", "h"), "(co, h)"), (True, "true"), (64, "64")],
)
def test_config_value(value: object, text: str) -> None:
    assert fmt.config_value(value) == text
