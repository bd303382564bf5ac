// Finds peers that are gone: idle tunnels would stay open otherwise.
import type { Socket } from 'node:net';
import type { Own } from '../../../kit/src/owner.ts';

const silenceMs = 60_000;

/**
 * Has the kernel ask the peer after each minute of silence, once the connection has lasted for a
 * minute: it takes five system calls, and most connections are over before.
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
