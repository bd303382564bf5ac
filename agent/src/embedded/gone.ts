// Detects peers that are gone, since idle tunnels would stay open otherwise.
import type { Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';

const silenceMs = 60_000;

/**
 * Makes the kernel probe the peer after each minute of silence. It is set after the first minute:
 * it takes five system calls, and most connections are shorter.
 */
export function noticeGone(socket: Socket, own: Own): void {
  const timer = setTimeout(
    own(() => socket.setKeepAlive(true, silenceMs)),
    silenceMs,
  );
  timer.unref();
  socket.once(
    'close',
    own(() => clearTimeout(timer)),
  );
}
