"""How workers prove to each other that they belong together: by a secret that they share.

The consumer group tells who owns a shard, and whoever may join the group can claim one.
"""

import hmac
import secrets
from collections.abc import Iterable
from pathlib import Path
from struct import pack
from time import monotonic, time
from typing import Final

import structlog
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter

from hive.errors import InputError
from query_api.elapsed import elapsed_s
from query_api.watched_file import WatchedFile

SECRET_CHARS_MIN: Final = 32
SECRET_CHARS_MAX: Final = 4096
CLOCKS_DIFFER_S_MAX: Final = 300
"""Proofs of questions that are older are refused."""
DISTRUSTED_S: Final = 30.0
"""A peer that has proved nothing isn't asked for this long."""
DISTRUSTED_MAX: Final = 1024
NONCE_BYTES: Final = 16
NONCES_MAX: Final = 1 << 15
"""So many questions of operators are remembered until their proofs are too old."""
_PROTOCOLS: Final = ("http", "thrift")

log = structlog.get_logger(__name__)


class SecretFile:
    """The secret, which is read again when its file has changed."""

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, _read)

    @property
    def key(self) -> bytes:
        return self._file.content()


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        text = stream.read(SECRET_CHARS_MAX + 1).strip()
    if not SECRET_CHARS_MIN <= len(text) <= SECRET_CHARS_MAX:
        raise InputError(
            f"{path}: write a secret of {SECRET_CHARS_MIN} to {SECRET_CHARS_MAX} characters, as "
            "`openssl rand -hex 32` prints one"
        )
    # What is signed for workers is thereby signed for nothing else.
    return hmac.digest(text, b"metatide workers 1", "sha256")


class Question(Struct, frozen=True):
    """The proof of a question."""

    time_s: int
    nonce: bytes
    proof: bytes


class Metrics:
    """The metrics of what other workers answer."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.unproved = Counter(
            "metatide_unproved_answers",
            "Answers of other workers that didn't prove the workers' secret, by protocol",
            ("protocol",),
            registry=self.registry,
        )
        for protocol in _PROTOCOLS:
            # In a new series Prometheus sees no increase, and maybe one answer is all that comes.
            self.unproved.labels(protocol)


class Peers:
    """The other workers, as far as they can be trusted.

    1. The worker that asks proves its question for one peer, by the peer's address.
    2. The worker that answers proves its answer to this question.
    3. A peer whose answer proves nothing isn't asked again for a while.
    4. Operators who have the secret ask as peers do, and each of their questions counts once.
    """

    def __init__(
        self,
        secret: SecretFile | None = None,
        address: str = "",
        *,
        needs_secret: bool = False,
    ) -> None:
        """`address` is the HOST:PORT by which peers ask this worker over HTTP. If
        `needs_secret`, nobody is asked without one.
        """
        self.address = address
        self.metrics = Metrics()
        self._secret = secret
        self._needs_secret = needs_secret
        self._distrusted: dict[str, float] = {}
        # What was asked before isn't remembered here.
        self._began_s = elapsed_s()
        self._nonces: dict[bytes, int] = {}

    @property
    def have_secret(self) -> bool:
        return self._secret is not None

    def may_ask(self, address: str) -> bool:
        """Whether a peer may be asked now."""
        if self._secret is None:
            return not self._needs_secret
        until = self._distrusted.get(address)
        if until is None:
            return True
        if monotonic() < until:
            return False
        del self._distrusted[address]
        return True

    def distrust(self, address: str, protocol: str) -> None:
        """Asks a peer nothing for a while, because its answer proved nothing."""
        self.metrics.unproved.labels(protocol).inc()
        log.warning(
            "a shard's owner doesn't prove that it has the workers' secret (worker.secret_file): "
            "it isn't asked for a while",
            address=address,
            protocol=protocol,
            pause_s=DISTRUSTED_S,
        )
        if len(self._distrusted) >= DISTRUSTED_MAX:
            self._distrusted.clear()
        self._distrusted[address] = monotonic() + DISTRUSTED_S

    def question(self, address: str, parts: Iterable[bytes]) -> Question | None:
        """The proof of a question to a peer; None without a secret."""
        if self._secret is None:
            return None
        nonce, now_s = secrets.token_bytes(NONCE_BYTES), int(time())
        return Question(now_s, nonce, self._of_question(address, now_s, nonce, parts))

    def is_asked(self, question: Question, address: str, parts: Iterable[bytes]) -> bool:
        """Whether a question to this worker, at this address, comes from a peer."""
        if self._secret is None or len(question.nonce) != NONCE_BYTES:
            return False
        if abs(time() - question.time_s) > CLOCKS_DIFFER_S_MAX:
            return False
        proof = self._of_question(address, question.time_s, question.nonce, parts)
        return hmac.compare_digest(proof, question.proof)

    def is_first(self, question: Question) -> bool:
        """Whether a question that was proved comes for the first time. If too many are remembered
        to tell, it doesn't.
        """
        # By the clock as it is now: it may have been set since.
        remembers_from_s = int(time() - (elapsed_s() - self._began_s))
        if question.time_s < remembers_from_s or question.nonce in self._nonces:
            return False
        if len(self._nonces) >= NONCES_MAX:
            oldest_s = time() - CLOCKS_DIFFER_S_MAX
            self._nonces = {
                nonce: time_s for nonce, time_s in self._nonces.items() if time_s >= oldest_s
            }
            if len(self._nonces) >= NONCES_MAX:
                return False
        self._nonces[question.nonce] = question.time_s
        return True

    def answer(self, nonce: bytes, parts: Iterable[bytes | memoryview]) -> bytes:
        """The proof of a part of the answer to the question with this nonce."""
        return self._of(b"answer", nonce, *parts)

    def _of_question(
        self, address: str, time_s: int, nonce: bytes, parts: Iterable[bytes]
    ) -> bytes:
        return self._of(b"question", address.encode(), str(time_s).encode(), nonce, *parts)

    def _of(self, *parts: bytes | memoryview) -> bytes:
        assert self._secret is not None
        # The lengths tell where each part ends, so that no bytes can move from one to another.
        lengths = pack(f"!{1 + len(parts)}Q", len(parts), *map(len, parts))
        return hmac.digest(self._secret.key, b"".join((lengths, *parts)), "sha256")
