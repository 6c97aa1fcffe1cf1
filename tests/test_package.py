"""What a user sees of the package before using it."""

import spectrawalk


def test_public_names_load():
    for name in spectrawalk.__all__:
        assert getattr(spectrawalk, name) is not None
    assert set(spectrawalk.__all__) <= set(dir(spectrawalk))
