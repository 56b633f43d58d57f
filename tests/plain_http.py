"""httpx for servers of the tests, which speak HTTP without TLS, and without what the environment says of proxies.

httpx reads the certificates of all authorities for each client, and so for each `httpx.get`. That takes 20 ms of CPU.
"""

import ssl
from functools import partial

import httpx

NO_AUTHORITY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

get = partial(httpx.get, verify=NO_AUTHORITY, trust_env=False)
post = partial(httpx.post, verify=NO_AUTHORITY, trust_env=False)
request = partial(httpx.request, verify=NO_AUTHORITY, trust_env=False)
stream = partial(httpx.stream, verify=NO_AUTHORITY, trust_env=False)
client = partial(httpx.Client, verify=NO_AUTHORITY, trust_env=False)
async_client = partial(httpx.AsyncClient, verify=NO_AUTHORITY, trust_env=False)
