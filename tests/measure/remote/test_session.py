"""What the host says of a device that its session breaks with."""

from __future__ import annotations

import pytest
import tvm.rpc

from tunesmith.measure.remote.session import DeviceSession, LostDeviceError
from tunesmith.measure.remote.tracker import Address


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            "Check failed: (code == RPCCode::kReturn) is false: code=kShutdown",
            "it has closed the connection",
        ),
        ("Socket SockChannel::Send Error:Broken pipe", "the connection broke: broken pipe"),
        (
            "Socket SockChannel::Recv Error:Connection reset by peer",
            "the connection broke: connection reset by peer",
        ),
        ("Mismatched key", "RuntimeError: Mismatched key"),
    ],
)
def test_why_a_device_is_lost(error: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise RuntimeError(error)

    monkeypatch.setattr(tvm.rpc, "connect", connect)
    with pytest.raises(LostDeviceError) as caught:
        DeviceSession(Address("10.0.0.7", 9000), "local:1")
    assert str(caught.value) == f"the device at 10.0.0.7:9000 is lost ({reason})"
