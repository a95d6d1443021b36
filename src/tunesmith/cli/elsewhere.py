"""Where a search measures, if not on this machine: on devices, or on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, TypeVar

from typer import Option

from tunesmith.cli import options as opt
from tunesmith.cli.output import remark
from tunesmith.errors import UsageError

if TYPE_CHECKING:
    from tunesmith.measure.cluster.measurers import RayMeasurers
    from tunesmith.measure.remote.measurers import RpcMeasurers

C = TypeVar("C", bound=opt.TargetChoice)


@dataclass(frozen=True, kw_only=True)
class ElsewhereOptions:
    """Devices or a cluster to measure on."""

    rpc: Annotated[
        str | None, Option("--rpc", help="HOST:PORT of a tracker: measure on its devices.")
    ] = None
    device_key: Annotated[str | None, Option(help="Which of the tracker's devices.")] = None
    cluster: Annotated[
        str | None, Option(help="Measure on a Ray cluster, HOST:PORT or 'local'.")
    ] = None

    def devices(self) -> RpcMeasurers | None:
        """The measurers of the devices; None without any.

        Raises ``UsageError``, also where a cluster is named as well.
        """
        if self.rpc is None and self.device_key is None:
            return None
        if self.rpc is None or self.device_key is None:
            raise UsageError("devices elsewhere need both --rpc and --device-key")
        if self.cluster is not None:
            raise UsageError("--rpc measures on devices alone: leave out --cluster, or it")
        from tunesmith.measure.remote.measurers import RpcMeasurers

        return RpcMeasurers(self.rpc, self.device_key, tell=remark)

    def nodes(self) -> RayMeasurers | None:
        """The measurers of the cluster; None without one."""
        if self.cluster is None:
            return None
        from tunesmith.measure.cluster.measurers import RayMeasurers

        return RayMeasurers(self.cluster, remark=remark)


def on_devices(choice: C, measurers: RpcMeasurers) -> C:
    """The same choice for the devices' processor and cores, where others are not chosen."""
    if choice.target != "cpu" or choice.triple is not None:
        raise UsageError("--rpc measures on CPUs, for their platform: leave out --target, --triple")
    target = measurers.target(mcpu=choice.mcpu, cores=choice.cores)
    return replace(choice, mcpu=target.mcpu, cores=target.cores, triple=target.triple)
