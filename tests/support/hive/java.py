"""Hive's own classes, run in a Java process and called from Python."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path

from metatide.stack import jars
from metatide.stack.java import find_java
from metatide.stack.metastore import java_21
from query_api.thrift.java.gateway import OPTIONS
from tests.support.hive.releases import NEWEST, RELEASES


@contextmanager
def hive_java(
    options: Sequence[str] = OPTIONS,
    more: Sequence[Path] = (),
    *,
    release: str = NEWEST,
    folder: Path | None = None,
) -> Iterator[JavaGateway]:
    """Runs Java, in `folder` if it writes where it runs; the gateway's `jvm` has all packages of
    Hive and of the `more` jars.

    Hive's newest release needs the Java of the environment, which lacks Kerberos for SASL; older
    ones run on the system's.
    """
    is_newest = release == NEWEST
    hive = jars.fetch("hive") / "*" if is_newest else RELEASES[release].class_path()
    server = ("py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0")
    classpath = ":".join(map(str, (find_jar_path(), hive, *more)))
    command = [str(java_21() if is_newest else find_java()), *options, "-cp", classpath, *server]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    ) as process:
        assert process.stdout is not None
        port, token = int(process.stdout.readline()), process.stdout.readline().decode().strip()
        # With memory management, the gateway would still release objects when the process is gone.
        parameters = GatewayParameters(
            port=port, auth_token=token, auto_convert=True, enable_memory_management=False
        )
        gateway = JavaGateway(gateway_parameters=parameters)
        try:
            yield gateway
        finally:
            gateway.shutdown()
            process.kill()


class Serialized:
    """Expressions as Hive's compiler builds them, and as its client sends them."""

    def __init__(self, gateway: JavaGateway) -> None:
        hive = gateway.jvm.org.apache.hadoop.hive
        self._types = hive.serde2.typeinfo.TypeInfoFactory
        self._plan = hive.ql.plan
        self._functions = hive.ql.udf.generic
        self._utilities = hive.ql.exec.SerializationUtilities
        self._hive = hive

    def column(self, name: str, type_: str) -> Any:
        return self._plan.ExprNodeColumnDesc(
            self._types.getPrimitiveTypeInfo(type_), name, "t", True
        )

    def constant(self, value: Any, type_: str) -> Any:
        if type_ == "date":
            value = self._hive.common.type.Date.valueOf(value)
        return self._plan.ExprNodeConstantDesc(self._types.getPrimitiveTypeInfo(type_), value)

    def call(self, function: str, *children: Any) -> Any:
        """A call of a function; `function` is its class's name without the prefix GenericUDF."""
        if function == "Like":
            bridge = self._functions.GenericUDFBridge
            function_object = bridge("like", True, "org.apache.hadoop.hive.ql.udf.UDFLike")
        else:
            function_object = getattr(self._functions, f"GenericUDF{function}")()
        return self._plan.ExprNodeGenericFuncDesc.newInstance(function_object, list(children))

    def bytes_of(self, expression: Any) -> bytes:
        found: bytes = self._utilities.serializeObjectWithTypeInformation(expression)
        return found
