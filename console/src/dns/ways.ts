// The ports of a server through which a custom DNS entry can be tried; pure.

import type { OwnServer } from '../servers/rows.ts';
import { portsOf } from '../servers/rows.ts';

export interface Way {
  /** The exit and its port, for people. */
  text: string;
  host: string;
  port: number;
  override_port: number;
  service: string;
}

/** Every port that leads to an exit of the server, for each service that it offers. */
export function waysThrough(server: OwnServer): Way[] {
  return server.ips.flatMap((exit) =>
    portsOf(server, exit).map((way) => ({
      ...way,
      text: `${exit.ip}, port ${way.override_port}${way.service === 'proxy-https' ? ' over TLS' : ''}`,
      host: server.hostname,
    })),
  );
}
