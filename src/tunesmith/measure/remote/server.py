"""The measuring server for devices elsewhere: see ``tunesmith.measure.local.server``.

``python -m tunesmith.measure.remote.server DESCRIPTOR FOLDER DEVICES LINKER``, the last two in
JSON: it builds programs and has them run on devices.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

from tunesmith.measure.devices.cross_device import CrossDevice
from tunesmith.measure.local.pool_scheduler import PoolScheduler
from tunesmith.measure.local.server import Server, main
from tunesmith.measure.processes.channel import Channel
from tunesmith.measure.remote.pool import RemotePool, RemoteTrial
from tunesmith.measure.remote.tracker import Address
from tunesmith.measure.remote.worker import Devices
from tunesmith.measure.trial.prepared import Prepared


class _Scheduler(PoolScheduler[RemoteTrial]):
    """Gives the devices back where there is nothing to do: others may wait for them."""

    def __init__(self, *, pool: RemotePool, **settings: Any) -> None:
        super().__init__(pool=pool, **settings)
        self._devices = pool

    def advance(self) -> None:
        super().advance()
        self._devices.keep(bool(self.live or self._queue))


class RemoteServer(Server):
    """A ``Server`` whose trials run on devices."""

    def __init__(
        self, devices: Devices, prepared: Prepared, client: Channel, client_pid: int
    ) -> None:
        self._devices = devices
        super().__init__(prepared, client, client_pid)

    def make_pool(self) -> RemotePool:
        return RemotePool(
            self._prepared, self._devices, self._watch, self._selector.unregister, self._tell
        )

    def make_scheduler(self, **settings: Any) -> PoolScheduler[RemoteTrial]:
        start = partial(self._start_trial, RemoteTrial)
        return _Scheduler(pool=self._pool, start=start, **settings)


if __name__ == "__main__":
    described = json.loads(sys.argv[3])
    devices = Devices(**described | {"tracker": Address(**described["tracker"])})
    make = partial(RemoteServer, devices)
    sys.exit(main(int(sys.argv[1]), sys.argv[2], make, CrossDevice(json.loads(sys.argv[4]))))
