// The ports of a server that a connection can be tested at; pure.

import { serviceName } from '../services.ts';
import { type OwnServer, portsOf } from './rows.ts';

export interface TestPort {
  port: number;
  service: string;
  text: string;
  /** The port without custom DNS, of one with it. */
  plain?: number;
}

interface ServerPorts {
  services: OwnServer['services'];
  ips: ReadonlyArray<Pick<OwnServer['ips'][number], 'ip' | 'ports'>>;
}

/** Each port that leads to an exit of the server by a service that it offers. */
export const testPorts = (server: ServerPorts): TestPort[] =>
  server.ips.flatMap((exit) =>
    portsOf(server, exit).flatMap(({ port, override_port, service }) => [
      { port, service, text: `${port}: ${serviceName(service)}, exit ${exit.ip}` },
      {
        ...{ port: override_port, service, plain: port },
        text: `${override_port}: the same with custom DNS`,
      },
    ]),
  );
