"""What the tests of containers share: an engine, stand-ins, our images, a running deployment."""

import subprocess
from collections.abc import Iterator, Mapping

import pytest

from metatide.config.paths import cache_dir
from tests.containers import base_images, own_images
from tests.containers.deployment import COMPOSE, Deployment
from tests.containers.engine import Engine, running_engine


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """An engine that has the stand-ins of all images that ours are based on."""
    with running_engine(cache_dir() / "containers") as engine:
        base_images.make_all(engine)
        yield engine
        engine.forget_old_images()


@pytest.fixture(scope="session")
def images(engine: Engine) -> Mapping[str, str]:
    """The images of ours by their roles."""
    return own_images.build_all(engine)


@pytest.fixture(scope="session")
def deployment(
    engine: Engine, images: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """The deployment without monitoring: built, started and healthy."""
    secrets = tmp_path_factory.mktemp("deployment") / "secrets"
    subprocess.run([COMPOSE / "make-secrets", secrets], check=True)
    deployment = Deployment(engine, secrets)
    deployment.compose("build")
    deployment.up()
    yield deployment
    deployment.compose("--profile", "monitoring", "down", "--volumes")
    assert engine.docker("ps", "--all", "--quiet") == ""
