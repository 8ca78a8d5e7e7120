"""Client certificates reach a real broker through each of the three libraries."""

from collections.abc import Iterator

import pytest

from metatide.stack.machine import LOOPBACK
from tests.support.kafka.certified import Site, site_at

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(4, of="logins")]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    yield from site_at(LOOPBACK)


@pytest.fixture(scope="module")
def misnamed() -> Iterator[Site]:
    yield from site_at("another.example")


def test_each_library_shows_the_certificate(site: Site) -> None:
    assert site.faults(site.broker.login(site.client)) == [None, None, None]


def test_none_gets_in_without_or_by_another_authority(site: Site) -> None:
    assert all(site.faults(site.broker.login(None)))
    assert all(site.faults(site.broker.login(site.stranger)))


def test_a_broker_of_another_name_is_trusted_only_if_names_dont_count(misnamed: Site) -> None:
    login = misnamed.broker.login(misnamed.client)
    assert all(misnamed.faults(login))
    anyhow = {**login, "METATIDE_KAFKA_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": "none"}
    assert misnamed.faults(anyhow) == [None, None, None]
