"""Measuring on devices elsewhere, as a choice among others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tunesmith.compiler.sve import NEON_BYTES, vector_bytes
from tunesmith.errors import UsageError, unknown_name
from tunesmith.machine import this_machine
from tunesmith.measure.remote.measurer import RemoteMeasurer
from tunesmith.measure.remote.session import check_about
from tunesmith.measure.remote.tracker import Address, KnownDevice, Tracker
from tunesmith.measure.remote.worker import Devices
from tunesmith.measure.trial.job import Job
from tunesmith.target import Target


class RpcMeasurers:
    """``Measurers`` of the devices that have a ``key`` at the TVM tracker ``HOST:PORT``.

    ``tunesmith device`` starts a device's server. Programs are built on this machine, for the
    devices' processor: ``Task(operator, measurers.target())``. All devices of a key have to be of
    one kind, and those that are free measure at the same time. A run holds the devices that it gets
    while there is work for them. It goes on while one is left, and waits ``patience`` seconds for
    another one if none is. A device that is silent for so long where it should answer is lost.
    ``tell`` is called with lines for the user: that all are in use, that one was lost.

    Raises ``UsageError`` if the address is none; its methods do if no device has the key or they
    are of several kinds, and ``TunesmithError`` if no tracker answers.
    """

    def __init__(
        self,
        tracker: str,
        key: str,
        *,
        patience: float = 30.0,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._address = Address.of(tracker, "the tracker")
        self._key = key
        self._patience = patience
        self._tell = tell

    def target(self, *, mcpu: str | None = None, cores: int | None = None) -> Target:
        """The target of the devices: their processor and all of its cores unless others are given.

        Raises ``UsageError`` for more cores than they have.
        """
        about = self._devices()[0].about
        machine, most = about["machine"], int(about["cores"])
        if cores is not None and cores > most:
            raise UsageError(f"the devices of '{self._key}' have {most} cores, not {cores}")
        same = machine["architecture"] == this_machine()["architecture"]
        triple = None if same else f"{machine['architecture']}-linux-gnu"
        return Target("cpu", mcpu or about["processor"], cores or most, triple=triple)

    def machine(self, target: Target) -> Mapping[str, Any]:
        """The devices' machine. Raises ``UsageError`` also if they do not run the target's code."""
        about = self._devices()[0].about
        self._check_target(target, about)
        machine: Mapping[str, Any] = about["machine"]
        return machine

    def measurer(self, job: Job) -> RemoteMeasurer:
        """A measurer for a job. Raises ``UsageError`` also if they do not run its target's code."""
        devices = self._devices()
        about = devices[0].about
        self._check_target(job.target, about)
        with _tracker_at(self._address) as tracker:
            free = tracker.free(self._key)
        if free == 0:
            self._tell(f"all devices of '{self._key}' are in use ({len(devices)}): waiting for one")
        machine = about["machine"]
        fingerprint = str(machine["fingerprint"])
        chosen = Devices(self._address, self._key, fingerprint, self._patience)
        return RemoteMeasurer(job, chosen, machine, len(devices), self._tell)

    def _devices(self) -> list[KnownDevice]:
        """The devices, at least one, all of one kind."""
        with _tracker_at(self._address) as tracker:
            known = tracker.all_devices()
        if self._key not in known:
            if known:
                raise unknown_name("device key", self._key, known)
            raise UsageError(
                f"the tracker at {self._address} has no device: start 'tunesmith device' on one"
            )
        devices = known[self._key]
        first = devices[0].about
        for device in devices:
            fingerprint = first.get("machine", {}).get("fingerprint", "")
            check_about(device.address, device.about, fingerprint, self._key)
        return devices

    def _check_target(self, target: Target, about: Mapping[str, Any]) -> None:
        machine = about["machine"]
        if target.kind != "cpu":
            raise UsageError(f"devices run programs for CPUs, not {target.kind}: take --target cpu")
        if target.architecture != machine["architecture"]:
            raise UsageError(
                f"the devices of '{self._key}' are {machine['architecture']} and the target is "
                f"{target.architecture}: take the target() of the measurers"
            )
        self._check_vectors(target, int(machine.get("sve_bytes", 0)))
        here = machine["fingerprint"] == this_machine()["fingerprint"]
        if not here and target.triple is None and None in (target.mcpu, target.cores):
            raise UsageError(
                f"the target {target.key} is this machine, and the devices of '{self._key}' are "
                "others: take the target() of the measurers"
            )

    def _check_vectors(self, target: Target, device_bytes: int) -> None:
        """Shorter vectors would not hold what a program puts into them, and nothing would tell."""
        needed = vector_bytes(target.instructions)
        if NEON_BYTES < needed > device_bytes:
            raise UsageError(
                f"programs for {target.processor} have vectors of {needed} bytes, and those of the "
                f"devices of '{self._key}' are {device_bytes or NEON_BYTES}: name another "
                "processor with --mcpu"
            )


def _tracker_at(address: Address) -> Tracker:
    """A connection to the tracker, with TVM imported as ``load_compiler`` does."""
    from tunesmith.compiler.importing import load_compiler

    load_compiler()
    return Tracker(address)
