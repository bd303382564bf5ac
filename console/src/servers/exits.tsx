// The exit IPs of a server: their health, the ports that lead to them, and the country in which
// geo-IP providers place them.
import { dateTime } from '../format.ts';
import { Since } from '../relative_time.tsx';
import { health } from '../ui/health.ts';
import { Badge, Card, type Column, CopyButton, Status, Table } from '../ui/ui.ts';
import { placeOf } from './curl.ts';
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
    { heading: 'Health', cell: (exit) => <Health of={exit} isServed={isServed} /> },
    ...(hasPorts
      ? [{ heading: 'Ports', cell: (exit: ExitIp) => <Ports server={server} exit={exit} /> }]
      : []),
    ...(hasVpn
      ? [
          {
            heading: 'VPN',
            cell: ({ vpn }: ExitIp) => <VpnServices of={vpn} isServed={isServed} />,
          },
        ]
      : []),
    ...(hasGeo ? [{ heading: 'Geo-IP', cell: (exit: ExitIp) => <Geo of={exit} /> }] : []),
  ];
  return (
    <Card
      title="Exit IPs"
      note="Websites see the exit IP. Clients connect to the server's hostname: the port chooses the exit."
    >
      <Table caption="Exit IPs" columns={columns} rows={server.ips} keyOf={({ ip }) => ip} />
      <div class="stack-tight note">
        {hasPorts && (
          <p>
            On the <strong>override port</strong> your custom DNS entries count; on the normal port
            they don’t.
          </p>
        )}
        {hasGeo && (
          <p>
            <strong>Geo-IP</strong> is where the providers that websites ask believe the address to
            be. Correct means in the country of the server and at most 250 km away.
          </p>
        )}
      </div>
    </Card>
  );
}

/** An offline server's status is old, so it has no colour. */
function Health({ of, isServed }: { of: ExitIp; isServed: boolean }) {
  const { status, status_time } = of;
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

function Ports({ server, exit }: { server: OwnServer; exit: ExitIp }) {
  return (
    <ul class="exit-ports">
      {portsOf(server, exit).map(({ port, override_port, service }) => {
        const place = placeOf({ host: server.hostname, port, service });
        return (
          <li key={port}>
            <span class="mono">{place}</span>
            <CopyButton text={place} what={place} />
            <span class="note">
              {service}, override <span class="mono">{override_port}</span>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function Geo({ of: { geostatus = {} } }: { of: ExitIp }) {
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
