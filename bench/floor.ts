// The floor: a bare node:http server that answers ready bytes. Run as a process of its own.
//   node bench/floor.ts ready   answers every request with the bytes of BENCH_ANSWER
//   node bench/floor.ts commit  the same, after one durable SQLite commit per POST
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

interface Ready {
  status: number;
  headers: string[];
  body: string;
}

const ready = JSON.parse(process.env.BENCH_ANSWER ?? '{}') as Ready;
const body = Buffer.from(ready.body);
const unchanged = ready.headers.filter(
  (_, at) => !/^content-(type|length)$/.test(ready.headers[at - (at % 2)] ?? ''),
);
const commit = process.argv[2] === 'commit' ? committer() : () => {};

/** A commit per request: what a server does that does not group. */
function committer(): (text: string) => void {
  const db = new DatabaseSync(join(mkdtempSync(join(tmpdir(), 'exitward-bench-')), 'floor.db'));
  db.exec('pragma journal_mode = wal; pragma synchronous = full');
  db.exec('create table entries (id integer primary key, ip text unique, entry text)');
  const insert = db.prepare('insert into entries (ip, entry) values (?, ?) on conflict do nothing');
  return (text) => {
    const { ip } = JSON.parse(text) as { ip: string };
    db.exec('begin immediate');
    insert.run(ip, text);
    db.exec('commit');
  };
}

const server = createServer((request, response) => {
  const answer = () => {
    if (request.headers['if-none-match']) response.writeHead(304, unchanged).end();
    else response.writeHead(ready.status, ready.headers).end(body.length > 0 ? body : undefined);
  };
  if (request.method !== 'POST') return answer();
  let text = '';
  request.on('data', (chunk) => {
    text += chunk;
  });
  request.on('end', () => {
    commit(text);
    answer();
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
