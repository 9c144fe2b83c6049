"""The `perch` command. Heavy imports happen inside the commands, so that --help is quick."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="perchtree", prog_name="perch")
def main() -> None:
    """Online hierarchical clustering for very many points and very many clusters."""


@main.command()
@click.option("--seed", default=0, show_default=True, help="Seed of the order of arrival.")
def demo(seed: int) -> None:
    """Cluster scikit-learn's handwritten digits online, and show how it went."""
    from .demo import run_demo

    run_demo(seed)
