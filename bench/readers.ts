// The attackers of fair.ts, a process of their own, so that their work on the bytes does not
// delay the process that measures.
//   node bench/readers.ts URL CONNECTIONS SECONDS PATH…
//       with READERS_AUTHORIZATION; a path with # is another one each time
import { Agent, request } from 'node:http';
import { setPriority } from 'node:os';

/** The line that it prints. */
export interface Read {
  answers: number;
  megabytes: number;
  /** Of its own processor time. */
  cpu_seconds: number;
  /** Answers that were not 200, by status. */
  refused: Record<number, number>;
}

const [url = '', connections = '1', seconds = '1', ...paths] = process.argv.slice(2);
const headers = { authorization: process.env.READERS_AUTHORIZATION ?? '' };
const agent = new Agent({ keepAlive: true });
const read: Read = { answers: 0, megabytes: 0, cpu_seconds: 0, refused: {} };
let requests = 0;

function readOnce(): Promise<void> {
  const path = (paths[requests % paths.length] ?? '/').replace('#', String(requests));
  requests += 1;
  return new Promise<void>((resolve) => {
    const sent = request(url + path, { agent, headers }, (response) => {
      const { statusCode = 0 } = response;
      if (statusCode !== 200) read.refused[statusCode] = (read.refused[statusCode] ?? 0) + 1;
      response.on('data', (piece: Buffer) => {
        read.megabytes += piece.length / 1e6;
      });
      response.on('close', () => resolve());
    });
    sent.on('error', () => resolve());
    sent.on('close', () => resolve());
    sent.end();
  }).then(() => {
    read.answers += 1;
  });
}

// The attacked side has the processor first.
setPriority(19);
const until = performance.now() + Number(seconds) * 1000;
await Promise.all(
  Array.from({ length: Number(connections) }, async () => {
    while (performance.now() < until) await readOnce();
  }),
);
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ ...read, cpu_seconds: (user + system) / 1e6 }));
process.exit(0);
