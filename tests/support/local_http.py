"""Requests over HTTP to this machine's servers. Each request of httpx loads all certificates, which
takes longer than the request.
"""

from functools import partial
from typing import Final

import httpx

get: Final = partial(httpx.get, verify=False, trust_env=False)
post: Final = partial(httpx.post, verify=False, trust_env=False)
request: Final = partial(httpx.request, verify=False, trust_env=False)
