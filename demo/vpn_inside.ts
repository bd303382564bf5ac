// The programs that the demo of the VPN runs inside of its namespaces: the origin, and its
// visitors. Each prints what it saw.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , role, ...words] = process.argv;

if (role === 'origin') {
  const [host = ''] = words;
  const server = createServer((request, response) => {
    if (request.url === '/bytes') return response.end('x'.repeat(1_000_000));
    if (request.url === '/') return response.end(request.socket.remoteAddress);
    // All else has no end: a few bytes each 5 milliseconds.
    const timer = setInterval(() => response.write('tick\n'), 5);
    response.on('close', () => clearInterval(timer));
  });
  server.listen(80, host, () => console.log('ready'));
}

// When the answer came, and its text, or the beginning of a long one.
if (role === 'ask') {
  const [url = '', method = 'GET', authorization] = words;
  const response = await fetch(url, {
    method,
    ...(authorization ? { headers: { authorization } } : {}),
  });
  const at = Date.now();
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  console.log(JSON.stringify({ at, size: text.length, text: text.slice(0, 4000) }));
}

// Follows a page without an end until nothing came for a second, and prints when its last byte
// came. It gives up after 20 seconds.
if (role === 'watch') {
  const [url = ''] = words;
  const began = Date.now();
  const { body } = await fetch(url);
  let last = Date.now();
  const follow = async () => {
    for await (const _ of body ?? []) last = Date.now();
  };
  // The tunnel's end may break the connection, or leave it silent.
  follow().catch(() => {});
  console.log('it flows');
  while (Date.now() - last < 1000) {
    if (Date.now() - began > 20_000) throw new Error('It flows on.');
    await sleep(50);
  }
  console.log(last);
  process.exit();
}
