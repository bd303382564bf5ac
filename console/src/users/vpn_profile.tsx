// A VPN profile of a user: servers and lifetime, then files for devices, and the values to type.
import { useState } from 'preact/hooks';
import { usePages } from '../api/paging.ts';
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { type Scope, useScope } from '../api/scope.ts';
import { download } from '../csv.ts';
import { dateTime } from '../format.ts';
import { MakerDialog } from '../forms/form_dialog.tsx';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { useVpnServerChoices } from '../forms/server_choices.ts';
import { ServerField } from '../forms/server_field.tsx';
import { Button, Copy, SelectField, ShownOnce, textOf, Unread } from '../ui/ui.ts';
import type { User } from './user.ts';

type VpnProfile = AccountResponse<'create_vpn_profile'>;
type ProfileFile = VpnProfile['files'][number];

/** The devices of each file, and how to install it. */
const formats: Record<ProfileFile['format'], { name: string; how: string; type: string }> = {
  apple: {
    name: 'iPhone, iPad and Mac',
    how: 'Open it on the device, and allow the profile in the settings.',
    type: 'application/x-apple-aspen-config',
  },
  windows: {
    name: 'Windows 10 and 11',
    how: 'Run it with PowerShell. Windows asks for the login and password below.',
    type: 'text/plain',
  },
  android: {
    name: 'Android',
    how: 'Open it with the app “strongSwan VPN Client”.',
    type: 'application/vnd.strongswan.profile',
  },
  networkmanager: {
    name: 'Linux with NetworkManager',
    how: 'Run it with sh. NetworkManager asks for the password below.',
    type: 'text/plain',
  },
  strongswan: {
    name: 'Linux with strongSwan',
    how: 'Put it into /etc/swanctl/conf.d, and run swanctl --load-all.',
    type: 'text/plain',
  },
};

/** Whether a server of the contract has a VPN. */
export function useHasVpn({ base }: Scope) {
  const query = { service: 'vpn' } as const;
  const { rows, found: matchCount } = usePages('console_list_servers', { query, limit: 1, base });
  return { hasVpn: matchCount > 0, reading: rows };
}

export function VpnProfileDialog({ user: { name }, onClose }: { user: User; onClose: () => void }) {
  const scope = useScope();
  const [selected, setSelected] = useState('');
  const path = { server: selected };
  const server = useReadIn(scope, 'get_server', { path }, { enabled: selected !== '' });
  // The VPN has no IPv6 exits.
  const exits = (selected !== '' ? (server.data?.ips ?? []) : [])
    .map(({ ip }) => ip)
    .filter((ip) => !ip.includes(':'));
  const make = (fields: FormData) => {
    const [server, exit_ip, lifetime] = ['server', 'exit_ip', 'lifetime_seconds'].map((field) =>
      textOf(fields, field),
    );
    const body = {
      ...(server ? { server } : {}),
      ...(exit_ip ? { exit_ip } : {}),
      ...(lifetime ? { lifetime_seconds: Number(lifetime) } : {}),
    };
    return changeIn(scope, 'create_vpn_profile', { path: { user: name }, body });
  };
  const { hour, day, week, month, quarter, year } = lifetimes;
  return (
    <MakerDialog
      title={`VPN profile for ${name}`}
      verb="Create profile"
      make={make}
      shown={(profile) => <Made profile={profile} onDone={onClose} />}
      onClose={onClose}
    >
      <p>
        It has everything that devices of <strong>{name}</strong> need for the VPN. Passwords are
        derived, not stored: each server has its own, and it stays the same.
      </p>
      <ServerField
        value={selected}
        onInput={setSelected}
        none="All servers with a VPN"
        useChoices={useVpnServerChoices}
      />
      <Unread reading={server} name="the exits of the server" />
      {exits.length > 1 && (
        <SelectField
          key={selected}
          label="Exit"
          name="exit_ip"
          options={exits.map((ip) => ({ value: ip, text: ip }))}
        />
      )}
      <SelectField
        label="Lifetime"
        name="lifetime_seconds"
        options={[
          { value: '', text: 'Until all tokens are invalidated' },
          ...lifetimeOptions(hour, day, week, month, quarter, year),
        ]}
      />
    </MakerDialog>
  );
}

function Made({ profile, onDone }: { profile: VpnProfile; onDone: () => void }) {
  const { login, expiry, servers, files } = profile;
  const [shown, setShown] = useState(servers[0]?.server ?? '');
  const values = servers.find(({ server }) => server === shown);
  return (
    <ShownOnce
      lead={
        <>
          {expiry === null
            ? 'The passwords work until all tokens of the user are invalidated.'
            : `The passwords work until ${dateTime(expiry)}.`}{' '}
          Most files contain one. Store them as you would a password.
        </>
      }
      onDone={onDone}
    >
      {(Object.keys(formats) as Array<ProfileFile['format']>).map((format) => (
        <Files
          key={format}
          format={format}
          files={files.filter((file) => file.format === format)}
        />
      ))}
      <div class="stack-tight">
        <h3>Manual setup</h3>
        {servers.length > 1 && (
          <SelectField
            label="Server"
            name="shown"
            value={shown}
            onInput={setShown}
            options={servers.map(({ server }) => ({ value: server, text: server }))}
          />
        )}
        {values && (
          <>
            <Value name="Address" text={values.exit_ip} />
            <Value name="Server name (remote ID)" text={values.hostname} />
            <Value name="Login (user name)" text={login} />
            <Value name="Password" text={values.password} />
            {values.shared_key && <Value name="Shared key (PSK)" text={values.shared_key} />}
          </>
        )}
      </div>
    </ShownOnce>
  );
}

/** The files of a format: one for each server, if a file can hold only one. */
function Files({ format, files }: { format: ProfileFile['format']; files: ProfileFile[] }) {
  const { name, how } = formats[format];
  if (files.length === 0) return null;
  const buttons = files.map((file) => (
    <Button
      key={file.name}
      icon="download"
      aria-label={`Save ${file.name}`}
      onClick={() => save(file)}
    >
      {file.name}
    </Button>
  ));
  return (
    <div class="stack-tight">
      <h3>{name}</h3>
      <p class="note">{how}</p>
      {files.length === 1 ? (
        <div class="row">{buttons}</div>
      ) : (
        <details>
          <summary>One file per server</summary>
          <div class="row">{buttons}</div>
        </details>
      )}
    </div>
  );
}

function save({ format, name, encoding, content }: ProfileFile) {
  const isText = encoding === 'utf-8';
  const bytes = isText
    ? content
    : Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  download(name, bytes, formats[format].type);
}

function Value({ name, text }: { name: string; text: string }) {
  return (
    <>
      <span class="note">{name}</span>
      <Copy text={text} name={name.toLowerCase()} />
    </>
  );
}
