"""The networks that ``tunesmith bench networks`` compares: the zoo, some with a batch of 8."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tunesmith.errors import unknown_name

_BATCH = 8


@dataclass(frozen=True)
class NetworkWorkload:
    """A network of the zoo with a batch."""

    network: str
    batch: int = 1

    @property
    def name(self) -> str:
        return self.network if self.batch == 1 else f"{self.network}.b{self.batch}"


_WORKLOADS = (
    *(NetworkWorkload(name) for name in ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2")),
    *(NetworkWorkload(name) for name in ("alexnet", "vgg16", "squeezenet", "inception_v3")),
    *(NetworkWorkload(name) for name in ("efficientnet_b0", "lstm_lm", "dqn", "dcgan")),
    *(NetworkWorkload(name) for name in ("bert_base", "vit_b_16")),
    *(NetworkWorkload(name, _BATCH) for name in ("resnet18", "mobilenet_v2", "dqn", "dcgan")),
)


def network_workloads(patterns: Sequence[str] = ()) -> dict[str, NetworkWorkload]:
    """Those whose names fit one of the patterns; all if there is none.

    Raises ``UsageError`` for a pattern that fits none.
    """
    known = {workload.name: workload for workload in _WORKLOADS}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise unknown_name("network", pattern, known)
    return {
        name: workload
        for name, workload in known.items()
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    }
