"""``tunesmith dashboard``: pages in the browser about a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.network.choice import NetworkChoice
from tunesmith.cli.output import counted_steps, print_text
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.networks import Network


def dashboard(
    choice: NetworkChoice,
    *,
    store: opt.StoreLocation = None,
    host: Annotated[
        str, Option(help="The address to listen on; all but this machine's own need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port; 0 is any free one.")] = 8050,
    token: Annotated[
        str | None,
        Option(help="What visitors must know; default: made and printed, on this machine none."),
    ] = None,
) -> None:
    """Serve pages about a store's runs, which follow those that go on; Ctrl-C ends it.

    Of a network that is named, a page shows the layers.
    """
    from tunesmith.dashboard.serving import Place, check_installed, serve, token_for
    from tunesmith.store import open_overview

    check_installed()
    place = Place(host, port, token_for(host, token))
    network = _network(choice)

    def ready(address: str) -> None:
        print_text(f"dashboard: {address}")

    with counted_steps("reading records") as counted, open_overview(store) as opened:
        serve(opened, place, ready, counted, network)


def _network(choice: NetworkChoice) -> tuple[str, Network] | None:
    """The network that is named, with its name for people; None if there is none."""
    if choice.library is not None:
        raise UsageError(f"{choice.library} is built, and the layers are the model's: name that")
    if choice.model is None and choice.zoo is None:
        return None
    choice.check_one_batch()
    return choice.title, choice.network()
