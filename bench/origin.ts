// The origin that proxies are measured with: answers ready bytes to requests, and as many bytes as
// requested in tunnels.
//   node bench/origin.ts HOST…
//       prints the ports, the same on all of them: {"http": …, "tunnel": …}
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export interface Origin {
  /** Answers a GET with the address that it came to, padded to a KiB. */
  http: number;
  /** Answers a line with a number by that many bytes. */
  tunnel: number;
}

const piece = Buffer.alloc(1 << 20, 'x');

function answerRequests(socket: Socket): void {
  const body = (socket.localAddress ?? '').padEnd(1024);
  const answer = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n`;
  const keptAlive = Buffer.from(`${answer}\r\n${body}`, 'latin1');
  const last = Buffer.from(`${answer}Connection: close\r\n\r\n${body}`, 'latin1');
  let rest = '';
  socket.on('data', (chunk: Buffer) => {
    const heads = (rest + chunk.toString('latin1')).split('\r\n\r\n');
    rest = heads.pop() ?? '';
    for (const head of heads) {
      if (/\r\nConnection: close/i.test(head)) socket.end(last);
      else socket.write(keptAlive);
    }
  });
}

function answerTunnel(socket: Socket): void {
  let line = '';
  let bytes = 0;
  const send = () => {
    while (bytes > 0) {
      const now = Math.min(bytes, piece.length);
      bytes -= now;
      if (!socket.write(now === piece.length ? piece : piece.subarray(0, now))) return;
    }
  };
  socket.on('drain', send);
  socket.on('data', (chunk: Buffer) => {
    const lines = (line + chunk.toString('latin1')).split('\n');
    line = lines.pop() ?? '';
    for (const line of lines) bytes += Number(line);
    send();
  });
}

/** One port on all hosts. */
async function listen(hosts: string[], answer: (socket: Socket) => void): Promise<number> {
  let port = 0;
  for (const host of hosts) {
    const server: Server = createServer({ noDelay: true }, (socket) => {
      socket.on('error', () => {});
      answer(socket);
    });
    await once(server.listen({ host, port, backlog: 4096 }), 'listening');
    port = (server.address() as AddressInfo).port;
  }
  return port;
}

const hosts = process.argv.slice(2);
const origin: Origin = {
  http: await listen(hosts, answerRequests),
  tunnel: await listen(hosts, answerTunnel),
};
console.log(JSON.stringify(origin));
process.on('SIGTERM', () => process.exit(0));
