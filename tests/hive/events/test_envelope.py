"""How much memory a message may take."""

import subprocess
import sys

_OPENS_A_BOMB = """
import gzip, zlib
from base64 import b64encode
from hive.errors import ThriftError
from hive.events.envelope import GZIP, open_message

def peak_mib() -> int:
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) >> 10

stream = zlib.compressobj(wbits=31)
packed = b"".join(stream.compress(bytes(1 << 20)) for _ in range(200)) + stream.flush()
message = b64encode(packed).decode()
before = peak_mib()
try:
    open_message(message, GZIP)
except ThriftError as error:
    print(peak_mib() - before, error)
"""


def test_a_small_message_that_grows_is_refused_before_it_has_grown() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OPENS_A_BOMB], capture_output=True, text=True, check=True
    )
    grown_mib, _, why = done.stdout.partition(" ")
    assert int(grown_mib) < 150
    assert why == "its message has more than 67108864 bytes\n"
