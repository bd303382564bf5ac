// The way of a tunnel's bytes from its destination to the client. They are read into memory that is
// used again (decision 0096): a stream would take 64 KiB for each read, and after some 40 MB of
// that V8 searches its whole heap, the policy included.
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';

/** At once, as a stream reads; and what waits for a client that is slower than its destination. */
const pieceBytes = 65_536;
/** Kept for the next slow clients. */
const maxSpares = 64;

/** The bytes of every tunnel arrive here, and are copied before anything else is read. */
const landing = Buffer.allocUnsafeSlow(pieceBytes);
const spares: Buffer[] = [];

/**
 * Connects to a destination. It is read once it is resumed, and all that it sends is written to the
 * client: piece by piece, each when the client's side has taken the one before. Its end is not
 * passed on.
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
