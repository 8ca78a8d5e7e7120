"""The project's own images, built as a release builds them."""

from collections.abc import Mapping

import yaml

from metatide.config.paths import cache_dir
from tests.containers.base_images import make_all
from tests.containers.deployment import COMPOSE
from tests.containers.engine import Engine, running_engine


def build_all(engine: Engine) -> Mapping[str, str]:
    """Builds what the engine's cache lacks of them. Returns their names by their roles."""
    file = COMPOSE / "images.yaml"
    engine.docker("compose", "--file", file, "build", environment={"DOCKER_BUILDKIT": "1"})
    services = yaml.safe_load(engine.docker("compose", "--file", file, "config"))["services"]
    return {role: service["image"] for role, service in services.items()}


if __name__ == "__main__":
    # Ahead of the tests, whose builds are then found in the engine's cache.
    with running_engine(cache_dir() / "containers") as own_engine:
        make_all(own_engine)
        build_all(own_engine)
