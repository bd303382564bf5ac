// One end of many connections, held until the process is killed. Started by sockets.ts.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** The message that it gets; it answers when it listens, or when all are open. */
export interface Holding {
  end: 'server' | 'client';
  host: string;
  port: number;
  connections: number;
}

const held: Socket[] = [];
function hold(socket: Socket): void {
  socket.on('error', () => {});
  held.push(socket);
}

process.once('message', async ({ end, host, port, connections }: Holding) => {
  if (end === 'server') {
    const server = createServer(hold).listen(port, host, 4096);
    await once(server, 'listening');
  } else {
    for (let count = 0; count < connections; count += 1) {
      const localAddress = `127.83.${1 + (count >> 8)}.${count & 255}`;
      const socket = connect({ host, port, localAddress });
      hold(socket);
      await once(socket, 'connect');
    }
  }
  process.send?.('ready');
});
