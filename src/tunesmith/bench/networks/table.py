"""A comparison of a network as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunesmith.bench.networks.peers import network_peers


def comparison_table(found: Mapping[str, Any]) -> str:
    """What a call takes with each runtime; ``found`` is a ``Comparison`` as JSON."""
    lines = ["runtime            ms a call   ours is faster by   memory  how"]
    peak = _megabytes(found["peak_bytes"])
    lines.append(f"{'Tunesmith':18} {found['milliseconds']:9.3f}   {'':17}  {peak}")
    fastest = sorted(found["peers"], key=lambda name: float(found["peers"][name]["ratio"]))
    for name in fastest:
        peer = found["peers"][name]
        ratio = f"{peer['ratio']:.2f} ({peer['low']:.2f}–{peer['high']:.2f})"
        mark = " !" if peer["disturbed"] else ""
        lines.append(
            f"{network_peers()[name].title:18} {peer['milliseconds']:9.3f}   {ratio:17}  "
            f"{_megabytes(peer['peak_bytes'])}  {peer['way'] or ''}{mark}".rstrip()
        )
    for name, peer in found["timed_once"].items():
        title = network_peers()[name].title
        lines.append(f"{title:18} {peer['milliseconds']:9.3f}   {peer['ratio']:.1f}, timed once")
    for name, why in found["missing"].items():
        lines.append(f"{network_peers()[name].title}: not compared: {why}")
    if any(each["disturbed"] for each in (found, *found["peers"].values())):
        lines.append("! disturbed: much faster or slower in turn than alone; compare again")
    return "\n".join(lines)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:5.0f}MB"
