"""An authority of the tests that signs certificates."""

import ssl
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from metatide.stack.machine import LOOPBACK
from metatide.stack.metastore import java_21
from tests.support.logins.openssl import openssl

STORE_PASSWORD: Final = "trusting"
_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
# From 3.13 on, Python refuses an authority that doesn't say what its key is for.
_SIGNS: Final = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")


class Certificate(NamedTuple):
    """The files of a certificate and of its key."""

    certificate: Path
    key: Path


class Authority:
    """An authority with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._own = Certificate(folder / "ca.pem", folder / "ca.key")
        subject = ("-subj", "/CN=authority of the tests", "-days", "2")
        files = ("-keyout", self._own.key, "-out", self._own.certificate)
        openssl("req", "-x509", *_KEY, *_SIGNS, *subject, *files)

    @property
    def certificate(self) -> Path:
        return self._own.certificate

    @property
    def trusted(self) -> ssl.SSLContext:
        """What a client trusts that trusts the authority alone."""
        return ssl.create_default_context(cafile=self.certificate)

    def java_trust(self) -> Path:
        """A file by which Java trusts the authority; its password is `STORE_PASSWORD`."""
        store = self._folder / "trust.p12"
        keytool = java_21().with_name("keytool")
        options = ("-storetype", "PKCS12", "-keystore", store, "-storepass", STORE_PASSWORD)
        subprocess.run(
            [keytool, "-importcert", "-noprompt", "-file", self.certificate, *options],
            check=True,
            capture_output=True,
        )
        return store

    def java_key(self, server: Certificate) -> Path:
        """A file by which Java shows a certificate; its password is `STORE_PASSWORD`."""
        store = server.key.with_suffix(".p12")
        files = ("-in", server.certificate, "-inkey", server.key, "-out", store)
        openssl("pkcs12", "-export", *files, "-passout", f"pass:{STORE_PASSWORD}")
        return store

    def sign(self, name: str, address: str = LOOPBACK) -> Certificate:
        """A certificate of a server at an address or of a name, or of a client."""
        made = Certificate(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        kind = "IP" if address == LOOPBACK else "DNS"
        names = f"subjectAltName={kind}:{address}"
        is_none = ("-addext", "basicConstraints=critical,CA:FALSE")
        subject = ("-subj", f"/CN={name}", *is_none, "-addext", names, "-days", "2")
        signed_by = ("-CA", self._own.certificate, "-CAkey", self._own.key)
        files = ("-keyout", made.key, "-out", made.certificate)
        openssl("req", "-x509", *_KEY, *subject, *signed_by, *files)
        return made
