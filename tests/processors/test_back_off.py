import asyncio

import pytest

from processors.back_off import BackOff


async def test_waits_double_up_to_a_limit_until_a_try_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits_s = []

    async def sleep(wait_s: float) -> None:
        waits_s.append(wait_s)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    back_off = BackOff(max_s=1.5, proven_s=30)
    for lasted_s in (0, 1, 30, 2, 31, 0):
        await back_off.wait(lasted_s)
    assert waits_s == [0.25, 0.5, 1.0, 1.5, 0.25, 0.5]
