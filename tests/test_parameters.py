from fractions import Fraction

import numpy as np
import pytest

from spectrawalk.errors import ParameterError
from spectrawalk.parameters import (
    check_choice,
    check_integer,
    check_number,
    check_seed,
    check_truth,
    is_auto,
    shown,
)

NOT_INTEGERS = [True, np.True_, 2.0, np.float64(2), "2", None, [2], np.array([2, 3]), np.array(2.0)]
NOT_NUMBERS = [True, np.True_, "1", None, 1j, [1.0], np.array([1.0, 2.0]), float("nan"), 10**400]


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(1), 10**5000], ids=shown)
def test_integers_of_any_kind(value):
    assert check_integer("radius", value, 1) == int(value)
    assert type(check_integer("radius", value, 1)) is int


@pytest.mark.parametrize("value", [*NOT_INTEGERS, 0, -(10**5000)], ids=shown)
def test_not_integers(value):
    with pytest.raises(ParameterError, match=r"^radius=.*an integer of at least 1\.$"):
        check_integer("radius", value, 1)


@pytest.mark.parametrize("value", [1, 0.5, np.float16(0.5), Fraction(1, 2), np.longdouble(2)])
def test_numbers_of_any_kind(value):
    assert check_number("sigma", value) == value
    assert type(check_number("sigma", value)) is float


@pytest.mark.parametrize("value", [*NOT_NUMBERS, np.inf, -1, 0, -(10**5000)], ids=shown)
def test_not_numbers(value):
    with pytest.raises(ParameterError, match=r"^sigma=.*give a finite number above 0\.$"):
        check_number("sigma", value)


def test_zero_where_it_makes_sense():
    assert check_number("jitter", 0, positive=False) == 0


@pytest.mark.parametrize("value", ["c", 1, True, ["a"], np.array(["a", "b"]), {"a": 1}], ids=shown)
def test_not_a_choice(value):
    with pytest.raises(ParameterError, match=r"choose one of 'a', 'b' or None\.$"):
        check_choice("normalize", value, ("a", "b", None))


def test_choices():
    check_choice("normalize", None, ("a", None))
    check_choice("normalize", np.str_("a"), ("a", None))


def test_truth_and_automatic_choice():
    check_truth("own_vote", np.True_)
    for value in (1, "yes", None, np.array([True])):
        with pytest.raises(ParameterError, match="True or False"):
            check_truth("own_vote", value)
    assert is_auto("auto")
    assert not any(map(is_auto, ("all", None, 3, np.array(["auto", "auto"]))))


def test_seeds():
    assert check_seed("random_state", None) == 0
    assert check_seed("random_state", 10**60) == 10**60
    with pytest.raises(ParameterError, match=r"random_state=-1 .* or None"):
        check_seed("random_state", -1)


def test_messages_stay_on_one_short_line():
    assert len(shown(np.zeros((100, 100)))) == 60
    assert "\n" not in shown(np.zeros((100, 100)))
    assert shown(10**5000) == "(a number of thousands of digits)"
