// The web of the small internet: https://www.example.com/, and the directory of an ACME authority
// at the address of a real one.
//
//   node sites.ts FOLDER ADDRESS     FOLDER holds sites.pem, sites.key and ca.pem
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { request as ask, createServer } from 'node:https';
import { join } from 'node:path';
import { argv } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , folder = '', address = ''] = argv;
const read = (name: string) => readFileSync(join(folder, name));
const ca = read('ca.pem');

createServer({ cert: read('sites.pem'), key: read('sites.key') }, (request, response) => {
  if (request.headers.host === 'www.example.com' && request.url === '/slow') {
    sendSlowly(response);
    return;
  }
  if (request.headers.host === 'www.example.com') {
    response.end(`Example Domain, seen from ${request.socket.remoteAddress}\n`);
    return;
  }
  // The authority has its directory at another path than the one that it stands for.
  const path = request.url === '/directory' ? '/dir' : request.url;
  const { method, headers } = request;
  const target = {
    host: '127.0.0.1',
    port: 14_000,
    servername: 'localhost',
    ca,
    path,
    method,
    headers,
  };
  const passed = ask(target, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.writeHead(502).end());
  request.pipe(passed);
}).listen(443, address);

/** 1,000,000 bytes in 20 s. */
async function sendSlowly(response: ServerResponse): Promise<void> {
  for (let part = 0; part < 100; part += 1) {
    response.write('x'.repeat(10_000));
    await sleep(200);
  }
  response.end();
}
