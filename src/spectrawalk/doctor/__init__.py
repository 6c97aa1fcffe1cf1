"""What a bug report needs to know of a computer, and whether spectrawalk works on it."""

from spectrawalk.doctor.checkup import SELF_TEST, TITLES, examine
from spectrawalk.doctor.facts import Fact, State

__all__ = ["SELF_TEST", "TITLES", "Fact", "State", "examine"]
