// The exit IPs of a server: their health, the ports that lead to them, and the country in which
// geo-IP providers place them.
import { dateTime } from '../format.ts';
import { Since } from '../relative_time.tsx';
import { health } from '../ui/health.ts';
import { Badge, Card, type Column, CopyButton, Status, Table } from '../ui/ui.ts';
import { placeOf, type Through } from './curl.ts';
import { GeoBadge } from './geo_badge.tsx';
import { type ExitIp, type OwnServer, portsOf, unserved } from './rows.ts';
import { VpnServices } from './vpn.tsx';

export function ExitIps({ server }: { server: OwnServer }) {
  const hasPorts = server.ips.some((exit) => portsOf(server, exit).length > 0);
  const hasVpn = server.ips.some(({ vpn }) => vpn.length > 0);
  const isServed = !unserved(server.nodes);
  const hasGeo = server.ips.some(({ geostatus = {} }) => Object.keys(geostatus).length > 0);
  const columns: Array<Column<ExitIp>> = [
    { heading: 'Exit IP', names: true, cell: ({ ip }) => <span class="mono">{ip}</span> },
    { heading: 'Health', cell: (exit) => <Health exit={exit} isServed={isServed} /> },
    ...proxyServices.flatMap((service) => portColumns(server, service)),
    ...(hasVpn
      ? [
          {
            heading: 'VPN',
            cell: ({ vpn }: ExitIp) => <VpnServices services={vpn} isServed={isServed} />,
          },
        ]
      : []),
    ...(hasGeo ? [{ heading: 'Geo-IP', cell: (exit: ExitIp) => <Geo exit={exit} /> }] : []),
  ];
  return (
    <Card
      title="Exit IPs"
      note={
        <>
          Websites see the exit IP. Clients connect to <span class="mono">{server.hostname}</span>:
          the port selects the exit.
        </>
      }
    >
      <Table caption="Exit IPs" columns={columns} rows={server.ips} keyOf={({ ip }) => ip} />
      <div class="stack-tight note">
        {hasPorts && (
          <p>
            On the ports <strong>with custom DNS</strong> your entries apply; on the other ports
            they don’t.
          </p>
        )}
        {hasGeo && (
          <p>
            <strong>Geo-IP</strong> is the location that providers report to websites. “Correct”
            means in the country of the server, and at most 250 km away.
          </p>
        )}
      </div>
    </Card>
  );
}

/** An offline server's status is old, so it has no colour. */
function Health({ exit, isServed }: { exit: ExitIp; isServed: boolean }) {
  const { status, status_time } = exit;
  return (
    <span class="row exit-health">
      {isServed ? (
        <Status status={status} />
      ) : (
        <Badge tone="neutral">{`was ${health[status]}`}</Badge>
      )}
      <span class="note">
        <Since at={status_time} never="not checked yet" />
      </span>
    </span>
  );
}

const proxyServices = ['proxy', 'proxy-https'] as const;

/** The port of a service at each exit IP, and the one with custom DNS; none without such a port. */
function portColumns(server: OwnServer, service: (typeof proxyServices)[number]) {
  const portAt = (exit: ExitIp) => portsOf(server, exit).find((port) => port.service === service);
  if (!server.ips.some(portAt)) return [];
  const name = service === 'proxy' ? 'HTTP' : 'HTTPS';
  const column = (
    heading: string,
    field: 'port' | 'override_port',
    word = heading,
  ): Column<ExitIp> => ({
    ...{ heading, word },
    numeric: true,
    cell: (exit) => {
      const port = portAt(exit)?.[field];
      return port && <Port through={{ host: server.hostname, port, service }} />;
    },
  });
  return [column(name, 'port'), column(`${name} + custom DNS`, 'override_port', 'custom DNS')];
}

function Port({ through }: { through: Through }) {
  return (
    <span class="exit-port">
      {through.port}
      <CopyButton text={placeOf(through)} name={placeOf(through)} />
    </span>
  );
}

function Geo({ exit: { geostatus = {} } }: { exit: ExitIp }) {
  const providers = Object.entries(geostatus);
  if (providers.length === 0) return <span class="note">not known</span>;
  return (
    <ul class="exit-geo">
      {providers.map(([provider, { status, status_time }]) => (
        <li key={provider} title={`Looked up ${dateTime(status_time)}`}>
          <GeoBadge status={status} /> {provider}
        </li>
      ))}
    </ul>
  );
}
