"""Weights of exported networks (`make test-peers`): no signal dies away, whatever the layers."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.signals import emptiness, enliven


@pytest.mark.promise("outputs that say something")
def test_every_layer_of_a_deep_network_gives_values_of_about_one(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Gated(nn.Module):  # what EfficientNet is made of: each layer halves the signal
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.gate = (
                nn.Conv2d(4, 4, 3, bias=False),
                nn.BatchNorm2d(4, eps=1e-3),
                nn.Linear(4, 4),
            )
            self.scale = nn.Parameter(torch.full((4, 1, 1), 1e-6))
            nn.init.normal_(self.conv.weight, std=0.02)

        def forward(self, x: Any) -> Any:
            x = self.norm(self.conv(x)) * self.scale
            return x * self.gate(x.mean((2, 3)))[:, :, None, None].sigmoid()

    torch.manual_seed(0)
    net = nn.Sequential(*(Gated() for _ in range(8)), nn.Flatten(), nn.Linear(256, 10)).eval()
    x = torch.randn(1, 4, 24, 24)
    with torch.no_grad():
        assert emptiness(net[:-1](x).numpy())
        enliven(net, lambda: net(x))
        sizes = []
        for layer in (m for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)):
            layer.register_forward_hook(lambda layer, inputs, y: sizes.append(float(y.square().mean())))
        assert not emptiness(net(x).numpy())
    assert len(sizes) == 17 and all(abs(s - 1) < 1e-3 for s in sizes)
