// The ports of a server that operators can test a connection at: those of all its port schemes;
// pure.
import type { ResponseOf } from '../api/api.ts';
import { type TestPort, testPorts } from '../servers/test_ports.ts';

type OfApi = ResponseOf<'admin_get_server'>;
type Server = Pick<OfApi, 'services' | 'port_schemes'> & {
  exit_ips: ReadonlyArray<Pick<OfApi['exit_ips'][number], 'ip' | 'port_base'>>;
};
type Scheme = Pick<ResponseOf<'admin_list_port_schemes'>[number], 'name' | 'bases'>;

/** Added to a port for custom DNS. */
const overrideOffset = 500;

export function portsOfSchemes(server: Server, schemes: readonly Scheme[]): TestPort[] {
  const { services, port_schemes, exit_ips } = server;
  const bases = schemes
    .filter(({ name }) => port_schemes.includes(name))
    .flatMap((scheme) => scheme.bases);
  const ips = exit_ips.map(({ ip, port_base }) => ({
    ip,
    ports: bases.map(({ base, service }) => ({
      service,
      port: base + port_base,
      override_port: base + port_base + overrideOffset,
    })),
  }));
  const ports = new Map(testPorts({ services, ips }).map((port) => [port.port, port]));
  return [...ports.values()];
}
