// CONNECT: a tunnel of bytes between client and destination, until both are done.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { ignore, type Own } from '../../../kit/src/owner.ts';
import { admit, type Context } from './admit.ts';
import { readDestination } from './destination.ts';
import { rejectRaw } from './rejections.ts';

/** `head`: bytes that the client sent right after its request, without waiting. */
export async function tunnel(
  ctx: Context,
  request: IncomingMessage,
  client: Socket,
  head: Buffer,
): Promise<void> {
  // The HTTP server no longer handles this socket.
  client.on('error', ignore);
  const connection = ctx.connections.of(client);
  const exchange = await connection.begin();
  if (client.destroyed) return;
  // The server's timeout for idle connections must not end a tunnel.
  client.setTimeout(0);
  const destination = readDestination('CONNECT', request.url ?? '');
  const target = destination
    ? await admit(ctx, connection, exchange, request, destination)
    : 'bad_target';
  if (typeof target === 'string') {
    rejectRaw(client, target);
    return;
  }
  if (client.destroyed) {
    target.destroy();
    return;
  }
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) client.unshift(head);
  // This socket carries all bytes of the tunnel, in both directions.
  const end = connection.own(() => client.destroy());
  client.setTimeout(ctx.idle_seconds * 1000, end);
  breakWith(connection.own, client, target);
  breakWith(connection.own, target, client);
  // An end is passed on, and leaves the other direction open.
  client.pipe(target);
  target.once(
    'end',
    connection.own(() => client.end()),
  );
  target.resume();
}

/** A broken connection breaks the other one. */
function breakWith(own: Own, from: Socket, to: Socket): void {
  from.on('error', ignore);
  from.once(
    'close',
    own(() => {
      if (from.readableEnded && from.writableFinished) return;
      // A plain end would mean that everything has arrived. TLS can distinguish the two.
      if (to instanceof TLSSocket) to.destroy();
      else to.resetAndDestroy();
    }),
  );
}
