"""The pods of a rendered chart as containers: their commands, environments, users and volumes."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.containers.engine import Engine
from tests.deploy.helm import NAMESPACE, Object

PATIENCE_S: Final = 180.0
_OWNERS: Final = ("Deployment", "StatefulSet")
_POLL_S: Final = 0.2


@dataclass(frozen=True)
class Pod:
    """A running container with the specification of its pod."""

    name: str
    spec: Mapping[str, Any]
    address: str
    engine: Engine

    @property
    def container(self) -> Mapping[str, Any]:
        container: Mapping[str, Any]
        [container] = self.spec["containers"]
        return container

    def get(self, path: str) -> tuple[int, str]:
        """The status of the answer, and its head and body; 0 if there is none."""
        url = f"http://{self.address}:{self.container['ports'][0]['containerPort']}{path}"
        done = subprocess.run(
            ["curl", "--silent", "--include", "--noproxy", "*", "--max-time", "20", url],
            capture_output=True,
            text=True,
            check=False,
        )
        status = re.match(r"HTTP/\S+ (\d+)", done.stdout)
        return (int(status[1]) if status else 0), done.stdout

    def passes(self, probe: str) -> bool:
        return self.get(self.container[probe]["httpGet"]["path"])[0] == 200

    def until_passes(self, probe: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self.passes(probe):
            assert time.monotonic() < deadline, f"{probe}: {self.log}"
            time.sleep(_POLL_S)

    @property
    def log(self) -> str:
        done = self.engine.attempt("logs", self.name)
        return (done.stdout + done.stderr)[-5_000:]

    def execute(self, *command: str) -> str:
        return self.engine.docker("exec", self.name, *command)

    def drain(self) -> int:
        """Ends it as Kubernetes does; returns its exit status."""
        if "lifecycle" in self.container:
            self.execute(*self.container["lifecycle"]["preStop"]["exec"]["command"])
        grace_s = self.spec.get("terminationGracePeriodSeconds", 30)
        self.engine.docker("stop", "--time", str(grace_s), self.name)
        [shown] = self.engine.inspect(self.name)
        status: int = shown["State"]["ExitCode"]
        return status


class Cluster:
    """A network in which pods run."""

    def __init__(
        self, engine: Engine, network: str, folder: Path, secrets: Mapping[str, str]
    ) -> None:
        self._engine = engine
        self._network = network
        self._folder = folder
        self._secrets = secrets
        """What the Secrets hold, by `NAME/KEY`."""

    def pods(self, objects: Sequence[Object]) -> Iterator[Pod]:
        """Starts all replicas of Deployments and StatefulSets."""
        for owner in objects:
            if owner["kind"] in _OWNERS:
                for number in range(owner["spec"]["replicas"]):
                    yield self._start(objects, owner, f"{owner['metadata']['name']}-{number}")

    def replace(self, pod: Pod, objects: Sequence[Object]) -> Pod:
        """Starts a pod that has ended anew, as these objects say, with the volume of its claim."""
        self._engine.docker("rm", pod.name)
        for volume in pod.spec["volumes"]:
            shutil.rmtree(self._folder / pod.name / volume["name"])
        name = pod.name.rpartition("-")[0]
        [owner] = (
            each for each in objects if each["kind"] in _OWNERS and each["metadata"]["name"] == name
        )
        return self._start(objects, owner, pod.name)

    def job(self, objects: Sequence[Object]) -> Pod:
        """Runs the pod of the CronJob to its end."""
        [owner] = (each for each in objects if each["kind"] == "CronJob")
        pod = self._start(objects, owner["spec"]["jobTemplate"], owner["metadata"]["name"])
        assert self._engine.docker("wait", pod.name).strip() == "0", pod.log
        return pod

    def _start(self, objects: Sequence[Object], owner: Object, name: str) -> Pod:
        config_maps = [each for each in objects if each["kind"] == "ConfigMap"]
        configs = {each["metadata"]["name"]: each["data"] for each in config_maps}
        spec = owner["spec"]["template"]["spec"]
        [container] = spec["containers"]
        security = spec["securityContext"]
        options = [f"--user={security['runAsUser']}:{security['runAsGroup']}"]
        options += ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
        options += [f"--network={self._network}", f"--name={name}"]
        if "serviceName" in owner["spec"]:
            host = f"{name}.{owner['spec']['serviceName']}.{NAMESPACE}.svc.cluster.local"
            options.append(f"--network-alias={host}")
        for variable in container["env"]:
            value = variable.get("value", name).replace("$(METATIDE_WORKER_NAME)", name)
            options.append(f"--env={variable['name']}={value}")
        folders = self._volumes(name, spec, configs)
        for mount in container["volumeMounts"]:
            access = "ro" if mount.get("readOnly") else "rw"
            options.append(f"--volume={folders[mount['name']]}:{mount['mountPath']}:{access}")
        self._engine.docker("run", "--detach", *options, container["image"], *container["args"])
        [shown] = self._engine.inspect(name)
        address = shown["NetworkSettings"]["Networks"][self._network]["IPAddress"]
        return Pod(name, spec, address, self._engine)

    def _volumes(
        self, name: str, spec: Mapping[str, Any], configs: Mapping[str, Mapping[str, str]]
    ) -> Mapping[str, Path]:
        """The folders of a pod's volumes, of root and of the group that `fsGroup` names."""
        group = spec["securityContext"]["fsGroup"]
        folders = {"data": self._folder / name / "data"}
        files: dict[Path, str] = {}
        for volume in spec["volumes"]:
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            folder = self._folder / (claim or f"{name}/{volume['name']}")
            folders[volume["name"]] = folder
            for key, text in configs.get(volume.get("configMap", {}).get("name"), {}).items():
                files[folder / key] = text
            for source in volume.get("projected", {}).get("sources", []):
                secret = source["secret"]
                for item in secret["items"]:
                    files[folder / item["path"]] = self._secrets[f"{secret['name']}/{item['key']}"]
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, 0, group)
            folder.chmod(0o2775)
        for path, text in files.items():
            path.write_text(text)
            os.chown(path, 0, group)
            path.chmod(0o440)
        return folders
