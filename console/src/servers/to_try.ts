// A port of the contract to test a connection: on an online server, if possible a working exit IP.
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { type OwnServer, portsOf } from './rows.ts';

export interface ToTry {
  server: OwnServer;
  exit: string;
  port: number;
  service: string;
  isLive: boolean;
}

/**
 * `toTry` is undefined until it is read, and null if no server of the contract offers the service.
 */
export function useServerToTry(service: 'proxy' | 'proxy-https', { enabled = true } = {}) {
  // The servers in the best state come first.
  const query = { sort: 'state', service } as const;
  const { rows } = usePages('console_list_servers', {
    query,
    limit: 3,
    base: useScope().base,
    enabled,
  });
  const places = (rows.data ?? []).flatMap((server) =>
    server.ips.flatMap((exit) =>
      portsOf(server, exit)
        .filter((port) => port.service === service)
        .map(({ port }) => ({
          ...{ server, exit: exit.ip, port, service, isOk: exit.status === 'ok' },
          isLive: server.nodes.live > 0,
        })),
    ),
  );
  const best: ToTry | null = places.find(({ isLive, isOk }) => isLive && isOk) ?? places[0] ?? null;
  return { toTry: rows.data && best, reading: rows };
}
