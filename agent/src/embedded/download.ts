// Carries a tunnel's bytes from its destination to the client. They are read into reused memory
// (decision 0096): a stream would allocate 64 KiB for each read, and after some 40 MB of that V8
// collects its whole heap, the policy included.
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';

/** The size of one read, and of the buffer for a client that is slower than its destination. */
const pieceBytes = 65_536;
/** Most buffers kept for the next slow clients. */
const maxSpares = 64;

/** Every tunnel reads into this buffer, and copies the bytes before the next read. */
const landing = Buffer.allocUnsafeSlow(pieceBytes);
const spares: Buffer[] = [];

/**
 * Connects to a destination, and once resumed writes all that it sends to the client: piece by
 * piece, each when the client's socket has accepted the one before. The end is not passed on.
 */
export function connectFor(client: Socket, own: Own, options: NetConnectOpts): Socket {
  const passOn = own((length: number) => {
    const piece = spares.pop() ?? Buffer.allocUnsafeSlow(pieceBytes);
    landing.copy(piece, 0, 0, length);
    const written = own(() => {
      if (spares.length < maxSpares) spares.push(piece);
      if (client.writableLength === 0) destination.resume();
    });
    client.write(piece.subarray(0, length), written);
  });
  const onread = {
    buffer: landing,
    callback: (length: number) => {
      passOn(length);
      return client.writableLength === 0;
    },
  };
  const destination = connect({ ...options, onread });
  return destination.pause();
}
