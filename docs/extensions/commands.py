"""The directive ``commands``: the help of every command, as the program prints it."""

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from spectrawalk.cli import main

_CODE = re.compile(r"`([^`]+)`|((?<!\S)--[a-z][a-z-]+)")
"""What is shown as code: what is between backquotes, and names of options."""


def in_line(text: str) -> list[nodes.Node]:
    """Give the words of a paragraph, with `code` as such."""
    pieces = _CODE.split(" ".join(text.split()))
    return [
        nodes.literal(piece, piece) if place % 3 else nodes.Text(piece)
        for place, piece in enumerate(pieces)
        if piece
    ]


def paragraphs(text: str) -> list[nodes.Node]:
    """Give the paragraphs of a help text; those that click must not wrap stay as they are."""
    found: list[nodes.Node] = []
    for piece in re.split(r"\n\s*\n", text.strip("\n")):
        if not piece.lstrip().startswith("\b"):
            found.append(nodes.paragraph("", "", *in_line(piece)))
            continue
        title, *lines = piece.strip("\b\n").splitlines()
        found.append(nodes.paragraph(title, title))
        code = "\n".join(line.strip() if line.startswith("  s") else line for line in lines)
        found.append(nodes.literal_block(code, code, language="text"))
    return found


def options(command: click.Command, context: click.Context, name: str) -> nodes.Node:
    """Give a list of the options of a command, each of which can be linked to."""
    found = nodes.definition_list()
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    for words, explanation in filter(None, records):
        if not explanation:  # an argument, which the usage line has
            continue
        term = nodes.term("", "", nodes.literal(words, words))
        longest = max(re.findall(r"--?([\w-]+)", words), key=len)
        term["ids"] = [nodes.make_id(f"{name} {longest}")]
        said = nodes.definition("", nodes.paragraph("", "", *in_line(explanation)))
        found += nodes.definition_list_item("", term, said)
    return found


class Commands(SphinxDirective):
    """Sections for all commands, in the order of the program's own list."""

    def run(self) -> list[nodes.Node]:
        """Give the sections."""
        self.env.note_reread()  # the commands may have changed, and this page has not
        top = click.Context(main, info_name="spectrawalk", **main.context_settings)
        return [self.section(each, context) for each, context in self.below(main, top)]

    def below(
        self, group: click.Command, context: click.Context
    ) -> list[tuple[click.Command, click.Context]]:
        """Give the commands of a group, each with the context that knows its name."""
        if not isinstance(group, click.Group):
            return []
        return [
            (each, click.Context(each, info_name=name, parent=context, **each.context_settings))
            for name, each in group.commands.items()
        ]

    def section(self, command: click.Command, context: click.Context) -> nodes.section:
        """Give the section of a command, and of those below it."""
        name = context.command_path.removeprefix("spectrawalk ")
        found = nodes.section(ids=[nodes.make_id(name)], names=[name])
        found += nodes.title(name, name)
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        found += nodes.literal_block(usage, usage, language="text")
        found += paragraphs(command.help or "")
        found += options(command, context, name)
        found += paragraphs(command.epilog or "")
        found += [self.section(*each) for each in self.below(command, context)]
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
