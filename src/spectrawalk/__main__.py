"""``python -m spectrawalk`` is the command line."""

from spectrawalk.cli import main

if __name__ == "__main__":
    main(prog_name="spectrawalk")
