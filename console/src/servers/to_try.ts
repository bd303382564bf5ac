// A port of the contract to try a connection with: at a server that is there, and an exit IP that works, if there is such.
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

/** Undefined while it is read; null where no server of the contract offers the service. */
export function useServerToTry(
  service: 'proxy' | 'proxy-https',
  { enabled = true } = {},
): ToTry | null | undefined {
  // The servers that stand best come first.
  const query = { sort: 'state', service } as const;
  const { rows } = usePages('console_list_servers', {
    query,
    limit: 3,
    base: useScope().base,
    enabled,
  });
  if (!rows.data) return undefined;
  const places = rows.data.flatMap((server) =>
    server.ips.flatMap((exit) =>
      portsOf(server, exit)
        .filter((port) => port.service === service)
        .map(({ port }) => ({
          ...{ server, exit: exit.ip, port, service, isOk: exit.status === 'ok' },
          isLive: server.nodes.live > 0,
        })),
    ),
  );
  return places.find(({ isLive, isOk }) => isLive && isOk) ?? places[0] ?? null;
}
