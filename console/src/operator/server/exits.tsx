// The exit IPs of a server: port base, health, and the country by geo-IP providers.

import type { ResponseOf } from '../../api/api.ts';
import { change } from '../../api/reading.ts';
import { country, dateTime } from '../../format.ts';
import { FormDialog, OfRecord, useDialog } from '../../forms/form_dialog.tsx';
import { Since } from '../../relative_time.tsx';
import { GeoBadge } from '../../servers/geo_badge.tsx';
import { VpnServices } from '../../servers/vpn.tsx';
import { Button, Card, type Column, Empty, Status, Table, TextField, textOf } from '../../ui/ui.ts';

type Server = ResponseOf<'admin_get_server'>;
type Exit = Server['exit_ips'][number];
type Geo = Exit['geostatus'][number];

export function Exits({ server }: { server: Server }) {
  const { name, exit_ips } = server;
  const { dialog, open, openLinked } = useDialog({
    'add-exit': (close) => <AddExit server={server} onClose={close} />,
    exit: (close, ip) => (
      <OfRecord list={exit_ips} is={(exitIp) => exitIp.ip === ip} name={ip} onClose={close}>
        {(exit) => <ChangeExit server={name} exit={exit} onClose={close} />}
      </OfRecord>
    ),
  });
  const hasVpn = exit_ips.some(({ vpn }) => vpn.length > 0);
  const add = (
    <Button icon="plus" onClick={() => openLinked('add-exit')}>
      Add an exit IP
    </Button>
  );
  return (
    <Card
      title="Exit IPs"
      note="The port of an exit IP is a base of the port scheme plus its port base."
      actions={exit_ips.length > 0 && add}
    >
      {exit_ips.length === 0 ? (
        <Empty title={`No exit IPs yet`} action={add}>
          Clients need one to use this server.
        </Empty>
      ) : (
        <Table
          caption={`Exit IPs of ${name}`}
          columns={hasVpn ? columns : columns.filter(({ heading }) => heading !== 'VPN')}
          rows={exit_ips}
          keyOf={({ ip }) => ip}
          actions={(exit) => [
            {
              text: 'Port base',
              label: `Port base of ${exit.ip}`,
              icon: 'edit',
              onSelect: () => openLinked('exit', exit.ip),
            },
            {
              text: 'Remove',
              icon: 'remove',
              onSelect: () =>
                open((close) => <RemoveExit server={name} exit={exit} onClose={close} />),
            },
          ]}
        />
      )}
      {dialog}
    </Card>
  );
}

const columns: Column<Exit>[] = [
  {
    heading: 'Exit IP',
    names: true,
    cell: ({ ip, confined }) => (
      <span class="two-lines">
        <span class="mono">{ip}</span>
        {confined !== null && <span class="note">{confined}</span>}
      </span>
    ),
  },
  { heading: 'Port base', numeric: true, cell: ({ port_base }) => port_base },
  {
    heading: 'Health',
    cell: ({ status, status_time }) => (
      <span class="two-lines">
        <span>
          <Status status={status} />
        </span>
        <span class="note">
          <Since at={status_time} never="never checked" />
        </span>
      </span>
    ),
  },
  { heading: 'VPN', cell: ({ vpn }) => <VpnServices services={vpn} isServed /> },
  {
    heading: 'Geo-IP providers',
    cell: ({ geostatus }) =>
      geostatus.length === 0 ? (
        <span class="note">nothing known</span>
      ) : (
        <ul class="bare-list">
          {geostatus.map((geo) => (
            <li key={geo.provider} title={`Computed ${dateTime(geo.status_time)}`}>
              <GeoBadge status={geo.status} /> {geo.provider}: {geoInWords(geo)}
            </li>
          ))}
        </ul>
      ),
  },
];

function geoInWords({ country: code, distance_km }: Geo): string {
  const where = code === null ? 'unknown country' : country(code);
  if (distance_km === null) return where;
  return `${where}, ${Math.round(distance_km).toLocaleString('en')} km off`;
}

function PortBaseField({ value }: { value: number }) {
  return (
    <TextField
      label="Port base"
      name="port_base"
      type="number"
      min={0}
      max={499}
      required
      defaultValue={String(value)}
      hint="0 to 499, unique on this server."
    />
  );
}

async function setExit(server: string, ip: string, fields: FormData): Promise<Exit | undefined> {
  const port_base = portBaseOf(fields);
  const { exit_ips } = await change('admin_set_server_exit', {
    path: { server, ip },
    body: { port_base },
  });
  return exit_ips.find((exit) => exit.port_base === port_base);
}

const portBaseOf = (fields: FormData) => Number(textOf(fields, 'port_base'));

function AddExit({ server, onClose }: { server: Server; onClose: () => void }) {
  const usedPortBases = new Set(server.exit_ips.map(({ port_base }) => port_base));
  let free = 1;
  while (usedPortBases.has(free)) free += 1;
  return (
    <FormDialog
      title={`Add an exit IP to ${server.name}`}
      verb="Add the exit IP"
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        const ip = textOf(fields, 'ip');
        const added = await setExit(server.name, ip, fields);
        return `${ip} is an exit IP of ${server.name}. ${added?.confined ?? ''}`.trim();
      }}
    >
      <TextField
        label="Address"
        name="ip"
        required
        maxLength={64}
        hint="IPv4 or IPv6; the node’s machine must have it."
      />
      <PortBaseField value={free} />
    </FormDialog>
  );
}

interface OfExit {
  server: string;
  exit: Exit;
  onClose: () => void;
}

function ChangeExit({ server, exit: { ip, port_base }, onClose }: OfExit) {
  return (
    <FormDialog
      title={`Port base of ${ip}`}
      verb="Save"
      kind="primary"
      onClose={onClose}
      onSubmit={async (fields) => {
        if (portBaseOf(fields) === port_base) return 'Nothing was changed.';
        await setExit(server, ip, fields);
        return `Saved the port base of ${ip}.`;
      }}
    >
      <p>All ports of {ip} change. Clients that use the old ones need new settings.</p>
      <PortBaseField value={port_base} />
    </FormDialog>
  );
}

function RemoveExit({ server, exit: { ip, port_base }, onClose }: OfExit) {
  return (
    <FormDialog
      title={`Remove ${ip} from ${server}?`}
      verb={`Remove ${ip}`}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_remove_server_exit', { path: { server, ip } });
        return `${ip} is no longer an exit IP of ${server}.`;
      }}
    >
      <p>
        <strong>Clients can no longer use {ip}</strong>; the ports of port base {port_base} close on
        every node of {server}. Its health and geo-IP statuses are removed, too.
      </p>
    </FormDialog>
  );
}
