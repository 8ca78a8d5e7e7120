"""Checks whether workers can prove to each other that they belong together."""

from hive.errors import InputError
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from query_api.peers import SecretFile

_GIVE_SECRET = "set worker.secret_file to the same secret for all workers (openssl rand -hex 32)"


def secret(target: Target) -> Finding:
    if target.workers_secret is not None:
        try:
            SecretFile(target.workers_secret)
        except (OSError, InputError) as error:
            return failed(f"it can't be read: {error}", _GIVE_SECRET)
        return ok("workers prove to each other that they belong together")
    if target.needs_workers_secret:
        return failed(
            "there is none, and reads are guarded (by tokens, logins, thrift.relay_reads or "
            "thrift.authorization), so workers don't ask each other: "
            "the database answers for what others hold",
            _GIVE_SECRET,
        )
    return unchecked(
        "there is none: whoever may join the consumer group can answer for others", _GIVE_SECRET
    )
