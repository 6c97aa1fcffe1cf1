"""Shell completion, as docs/completion.md sets it up."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from command_line import environment

PAGE = Path(__file__).parent.parent / "docs" / "completion.md"


def complete(*words):
    """Lines with which the command answers a shell: the kind of each completion and its text."""
    variables = {
        "_SPECTRAWALK_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["spectrawalk", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts"), "spectrawalk")],
        env=environment(watched=False) | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_commands_options_values_and_files():
    assert complete("doc") == ["plain,doctor"]
    assert "plain,--radius" in complete("cluster", "--ra")
    assert complete("cluster", "--method", "sr") == ["plain,srdl"]
    for words in [("cluster", "fie"), ("score", "fie"), ("cluster", "-o", "fie")]:
        assert complete(*words) == ["file,fie"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_line_of_the_page_works_in_bash():
    [line] = re.findall(r"^```bash\n(.*)\n```", PAGE.read_text("utf-8"), re.MULTILINE)
    script = f"""
        {line}
        complete -p spectrawalk
        COMP_WORDS=(spectrawalk doc) COMP_CWORD=1
        _spectrawalk_completion spectrawalk
        echo "${{COMPREPLY[@]}}"
    """
    variables = environment(watched=False)
    variables["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), variables["PATH"]])
    command = ["bash", "--norc", "-e", "-c", script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.stdout == ("complete -o nosort -F _spectrawalk_completion spectrawalk\ndoctor\n"), (
        done.stderr
    )
