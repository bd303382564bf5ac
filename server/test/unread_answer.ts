// An answer over a real socket whose other side reads when the test says so.
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** An answer of which the other side reads nothing until the test says so. */
export async function unreadAnswer() {
  let give = (_response: ServerResponse) => {};
  const answered = new Promise<ServerResponse>((resolve) => {
    give = resolve;
  });
  const server = createServer((_request, response) => give(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  let text = '';
  let isOver = false;
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('close', () => {
    isOver = true;
  });
  // Of HTTP/1.0 the answer comes as it is written, not in chunks.
  socket.write('GET / HTTP/1.0\r\n\r\n');
  return {
    response: await answered,
    read: () => socket.resume(),
    pause: () => socket.pause(),
    isOver: () => isOver,
    text: () => text,
    stop: () => {
      socket.destroy();
      server.close();
    },
  };
}
