// The lines of Squid's access log: squid.conf asks for them, the agent's meter reads them.
import type { ConnectionLogSettings } from '../../config.ts';

/**
 * The log format for Squid. Each field is one word; `-` means nothing. `origin:` is followed by the
 * port from which the origin was reached, or by 0 if it refused the connection.
 */
export const meterFormat =
  '%ts.%03tu %>a %>p %>lp %note{account_} %note{user_} %>st %<st origin:%<lp %>Hs %Ss %rm';

/** With further fields for the connection log: the duration, and the exit address. */
export function meterFormatOf({ mode }: Pick<ConnectionLogSettings, 'mode'>): string {
  const more = mode === 'off' ? [] : ['%tr', '%<la'];
  // The address that was dialled, and the host and port that the client asked for.
  const destination = mode === 'destinations' ? ['%<a', '%>rd', '%>rP'] : [];
  return [meterFormat, ...more, ...destination].join(' ');
}
