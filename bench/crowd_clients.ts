// Clients that each hold an idle tunnel through a proxy, from many addresses. Started by crowd.ts.
import { connect, type Socket } from 'node:net';
import type { Through } from './clients.ts';

/** The message that it gets; each message that it sends is how many tunnels are open. */
export interface Crowd {
  proxy: Through;
  to: Through;
  addresses: string[];
  tunnels: number;
}

const openingAtOnce = 50;
let open = 0;

function hold({ proxy, to }: Crowd, localAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { host, port } = proxy;
    const socket = connect({ host, port, localAddress });
    const name = `${to.host}:${to.port}`;
    socket.write(`CONNECT ${name} HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
    socket.once('data', (head) => {
      if (!/^HTTP\/1\.[01] 200/.test(head.toString('latin1'))) return reject(new Error(`${head}`));
      open += 1;
      resolve(socket);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      open -= 1;
    });
  });
}

process.once('message', async (crowd: Crowd) => {
  for (let at = 0; at < crowd.tunnels; at += openingAtOnce) {
    const together = Array.from({ length: Math.min(openingAtOnce, crowd.tunnels - at) }, (_, of) =>
      hold(crowd, crowd.addresses[(at + of) % crowd.addresses.length] as string),
    );
    await Promise.all(together);
  }
});
setInterval(() => process.connected && process.send?.(open), 20);
