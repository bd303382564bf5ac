# The library requests of Python: URL PROXY AUTHORITIES FILE [UPLOAD]
import sys

import requests

url, proxy, authorities, got = sys.argv[1:5]
session = requests.Session()
session.trust_env = False
session.verify = authorities
session.proxies = {"http": proxy, "https": proxy}
if len(sys.argv) > 5:
    response = session.put(url, data=open(sys.argv[5], "rb"), timeout=60)
else:
    response = session.get(url, timeout=60)
response.raise_for_status()
with open(got, "wb") as file:
    file.write(response.content)
