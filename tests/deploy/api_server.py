"""Kubernetes' API server with its etcd: built from Go modules once, and run for the tests.

Nothing else of a cluster runs: objects are checked, admitted and stored as in any cluster, but no
controller acts on them.
"""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from tests.deploy.helm import KUBERNETES, MODULES, Object
from tests.support.go_programs import OwnModule, go_program, module_files
from tests.support.logins.openssl import openssl
from tests.support.processes import open_folder, running

_ETCD: Final = "3.5.14"
_TOKEN: Final = "of-the-tests"
_MANAGER: Final = "tests"


def etcd_program() -> Path:
    package = "go.etcd.io/etcd/server/v3"
    module = OwnModule(_go_mod())
    return go_program(MODULES / f"etcd-{_ETCD}", package, f"v{_ETCD}", module=module)


def api_server_program() -> Path:
    package = "k8s.io/kubernetes/cmd/kube-apiserver"
    path = MODULES / f"kube-apiserver-{KUBERNETES}"
    major, minor, _ = KUBERNETES.split(".")
    numbers = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    variables = {f"k8s.io/component-base/version.{name}": text for name, text in numbers.items()}
    module = OwnModule(_go_mod(), variables)
    return go_program(path, package, f"v{KUBERNETES}", module=module)


def _go_mod() -> str:
    """A module that needs both. Kubernetes' own names its libraries by folders of its repository;
    they are published as modules, too, numbered as it is, but for the first part.
    """
    folder = module_files(
        MODULES / f"kubernetes-{KUBERNETES}-go-mod",
        "k8s.io/kubernetes",
        f"v{KUBERNETES}",
        ["go.mod"],
    )
    text = (folder / "go.mod").read_text()
    libraries = re.findall(r"^\t(k8s\.io/[\w-]+) => \./staging/", text, re.MULTILINE)
    release = f"v0.{KUBERNETES.partition('.')[2]}"
    return "\n".join(
        (
            "module cluster",
            re.findall(r"^go .*$", text, re.MULTILINE)[0],
            f"require k8s.io/kubernetes v{KUBERNETES}",
            f"require go.etcd.io/etcd/server/v3 v{_ETCD}",
            *(f"replace {library} => {library} {release}" for library in libraries),
            "",
        )
    )


class Etcd(Service):
    """Where the API server keeps objects."""

    name = "etcd"

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._folder = folder / "etcd"
        self._urls = [f"http://{LOOPBACK}:{ports.take(name)}" for name in ("clients", "members")]

    @property
    def address(self) -> str:
        return self._urls[0]

    def prepare(self) -> Launch:
        clients, members = self._urls
        return Launch(
            (
                str(etcd_program()),
                f"--data-dir={self._folder}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={members}",
                f"--initial-advertise-peer-urls={members}",
                f"--initial-cluster=default={members}",
                "--unsafe-no-fsync",
            )
        )

    def answers(self) -> bool:
        return _is_ready(f"{self.address}/health")


class ApiServer(Service):
    """The API server, to which whoever shows the token is an administrator."""

    name = "kube-apiserver"

    def __init__(self, folder: Path, ports: Ports, etcd: str) -> None:
        self._folder = folder / "api-server"
        self._port = ports.take("api")
        self._etcd = etcd
        self.certificate = self._folder / "apiserver.crt"

    @property
    def address(self) -> str:
        return f"https://{LOOPBACK}:{self._port}"

    def prepare(self) -> Launch:
        self._folder.mkdir()
        key = self._folder / "accounts.key"
        openssl("genrsa", "-out", key, "2048")
        tokens = self._folder / "tokens.csv"
        tokens.write_text(f"{_TOKEN},admin,admin,system:masters\n")
        return Launch(
            (
                str(api_server_program()),
                f"--etcd-servers={self._etcd}",
                f"--bind-address={LOOPBACK}",
                f"--secure-port={self._port}",
                f"--cert-dir={self._folder}",
                # Nobody asks this address, which may not be a loopback one.
                "--advertise-address=192.0.2.1",
                "--endpoint-reconciler-type=none",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-signing-key-file={key}",
                f"--service-account-key-file={key}",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
            )
        )

    def answers(self) -> bool:
        return self.certificate.exists() and _is_ready(f"{self.address}/readyz")


def _is_ready(url: str) -> bool:
    try:
        headers = {"Authorization": f"Bearer {_TOKEN}"}
        return httpx.get(url, headers=headers, verify=False, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


class Api:
    """An administrator's client."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.kubeconfig: Final = folder / "kubeconfig"
        self.kubeconfig.touch(0o600)
        self.kubeconfig.write_text(_kubeconfig(server))
        self._client = httpx.Client(
            base_url=server.address,
            headers={"Authorization": f"Bearer {_TOKEN}"},
            verify=ssl.create_default_context(cafile=str(server.certificate)),
            trust_env=False,
            timeout=60,
        )
        self._resources: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        self._client.close()

    def apply(self, value: Object, *, dry_run: bool = False) -> httpx.Response:
        """Server-side apply, which refuses fields that Kubernetes doesn't know."""
        options = {"fieldManager": _MANAGER, "fieldValidation": "Strict", "force": "true"}
        return self._client.patch(
            self._path(value),
            params=options | ({"dryRun": "All"} if dry_run else {}),
            content=yaml.safe_dump(dict(value)),
            headers={"Content-Type": "application/apply-patch+yaml"},
        )

    def get(self, value: Object) -> dict[str, Any]:
        answer = self._client.get(self._path(value))
        assert answer.status_code == 200, answer.text
        stored: dict[str, Any] = answer.json()
        return stored

    def delete(self, value: Object) -> None:
        answer = self._client.delete(self._path(value))
        assert answer.status_code == 200, answer.text

    def _path(self, value: Object) -> str:
        version = value["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            listed = self._client.get(root).json()["resources"]
            plain = (each for each in listed if "/" not in each["name"])
            self._resources[version] = {each["kind"]: each for each in plain}
        resource = self._resources[version][value["kind"]]
        metadata = value["metadata"]
        where = f"/namespaces/{metadata['namespace']}" if resource["namespaced"] else ""
        return f"{root}{where}/{resource['name']}/{metadata['name']}"


def _kubeconfig(server: ApiServer) -> str:
    def named(kind: str, value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [{"name": "tests", kind: value}]

    authority = {"server": server.address, "certificate-authority": str(server.certificate)}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": named("cluster", authority),
            "users": named("user", {"token": _TOKEN}),
            "contexts": named("context", {"cluster": "tests", "user": "tests"}),
            "current-context": "tests",
        }
    )


@contextmanager
def api_server() -> Iterator[Api]:
    """An empty cluster; it ends with the block."""
    with open_folder() as folder:
        ports = Ports(folder / "ports.json")
        etcd = Etcd(folder, ports)
        with running(etcd, folder / "etcd.log"):
            server = ApiServer(folder, ports, etcd.address)
            with running(server, folder / "api-server.log"):
                api = Api(server, folder)
                yield api
                api.close()


if __name__ == "__main__":
    print(etcd_program(), api_server_program())
