"""Digits that say no more than a spread allows, and none that was not there."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.evidence import decimals

numbers = st.floats(1e-6, 1e6)


@given(numbers, st.floats(1e-6, 1e3))
def test_what_is_shown_is_within_half_a_digit_of_the_spread(mean, sd):
    """The last digit shown is at most the spread, as rounded, and the mean shown is off by half of it."""
    shown, spread = (part.strip() for part in decimals.spread(mean, sd).split("±"))
    places = len(shown.partition(".")[2])
    digit = 10.0**-places
    assert len(spread.partition(".")[2]) == places and (digit <= 1.06 * sd or places == 0)
    assert abs(float(shown) - mean) <= 0.5001 * digit + 1e-9 * mean
    assert places == 0 or 30 * digit > sd                                 # one digit, or two after 1 or 2


@pytest.mark.parametrize("sd", [0.0, math.nan, math.inf])
def test_without_a_spread_four_digits_stay(sd):
    assert decimals.spread(0.123456, sd) == "0.1235" and decimals.between(0.123456, 0.1, 0.1) == "0.1235 (0.1 to 0.1)"
