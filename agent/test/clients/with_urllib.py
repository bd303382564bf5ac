# urllib of Python's own library: URL PROXY AUTHORITIES FILE [UPLOAD]
import ssl
import sys
import urllib.request

url, proxy, authorities, got = sys.argv[1:5]
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({"http": proxy, "https": proxy}),
    urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authorities)),
)
request = urllib.request.Request(url)
if len(sys.argv) > 5:
    # A file of which it is not told the length: it is sent in chunks.
    request = urllib.request.Request(url, data=open(sys.argv[5], "rb"), method="PUT")
with opener.open(request, timeout=60) as response, open(got, "wb") as file:
    file.write(response.read())
