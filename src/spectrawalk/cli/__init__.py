"""The command line: one command per file, each thin: parse, call, print.

Nothing heavy is imported here or at the top of a command's file, so that help comes at once.
"""

from __future__ import annotations

import click

from spectrawalk import __version__
from spectrawalk.cli.benchmark import benchmark
from spectrawalk.cli.cluster import cluster
from spectrawalk.cli.compare import compare
from spectrawalk.cli.console import OneLineErrors
from spectrawalk.cli.convert import convert
from spectrawalk.cli.cut import cut
from spectrawalk.cli.demo import demo
from spectrawalk.cli.doctor import doctor
from spectrawalk.cli.explore import explore
from spectrawalk.cli.inspect import inspect
from spectrawalk.cli.name import name
from spectrawalk.cli.predict import predict
from spectrawalk.cli.reproduce import reproduce
from spectrawalk.cli.score import score


@click.group(
    cls=OneLineErrors,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `spectrawalk demo`, which takes about a minute.",
)
@click.version_option(__version__, prog_name="spectrawalk")
@click.pass_context
def main(context: click.Context) -> None:
    """Cluster hyperspectral images without labels.

    SpectraWalk combines many runs into one tree of clusters. Most of them are runs of spatially
    regularised diffusion learning (SRDL; Murphy and Maggioni, 2019).
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main.add_command(demo)
main.add_command(inspect)
main.add_command(cluster)
main.add_command(cut)
main.add_command(name)
main.add_command(explore)
main.add_command(predict)
main.add_command(compare)
main.add_command(score)
main.add_command(convert)
main.add_command(reproduce)
main.add_command(benchmark)
main.add_command(doctor)
