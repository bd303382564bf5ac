// Settings to copy for one server: choose the exit IP, how to sign in and the program, take the text.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { AuthlistForm } from '../authlist/form.tsx';
import { dateTime } from '../format.ts';
import { paths } from '../paths.ts';
import {
  Button,
  Card,
  CheckField,
  Choice,
  Copy,
  isOneOf,
  SelectField,
  TextField,
  Unread,
} from '../ui/ui.ts';
import type { Through } from './curl.ts';
import { type OwnServer, portsOf, type State, unserved } from './rows.ts';
import { type Program, programs } from './settings.ts';
import { SignInChoice, TokenFields, useToken } from './token.tsx';

const proxyNames: Record<string, string> = {
  proxy: 'HTTP proxy',
  'proxy-https': 'HTTPS proxy (over TLS)',
};

const unservedSentences: Partial<Record<State, string>> = {
  no_node: 'No machine serves this server yet: these settings do not work.',
  not_connected:
    'The machines of this server are not connected: these settings may not work, and changes do not reach them.',
};

/** The choice as the address has it; the page to open is nobody else's. */
const noChoice = { ip: '', port: '', dns: '', by: 'address', program: 'curl' };

export function ReadySettings({ server }: { server: OwnServer }) {
  const missing = unserved(server.nodes);
  const [{ ip, port, dns, by: way_in, program: asked }, change] = useAddressStates(noChoice);
  const override = dns !== '';
  const by = way_in === 'token' ? 'token' : 'address';
  const program = isOneOf(programs, asked) ? asked : 'curl';
  const token = useToken(by === 'token');
  const [page, setPage] = useState('https://www.example.com/');

  const usable = server.ips.filter((exit) => portsOf(server, exit).length > 0);
  const exit = usable.find((one) => one.ip === ip) ?? usable[0];
  if (!exit) return null;
  const ports = portsOf(server, exit);
  const offset = (one: number) => String(one - exit.port_base);
  // Kept by its base: another exit IP has the same choice at another port.
  const chosen = ports.find((one) => offset(one.port) === port) ?? ports[0];
  if (!chosen) return null;
  const way: Through = {
    host: server.hostname,
    port: override ? chosen.override_port : chosen.port,
    service: chosen.service,
    ...(by === 'token' ? { credentials: token.credentials } : {}),
  };
  const { name, write } = programs[program];
  const { text, note } = write(way, page.trim() || 'https://www.example.com/');
  return (
    <Card title="Settings to copy" note="For programs and browsers that are to use this server.">
      {missing && <p class="banner notice">{unservedSentences[missing]}</p>}
      <div class="fields">
        <SelectField
          label="Exit IP"
          name="exit_ip"
          value={exit.ip}
          onInput={(ip) => change({ ip })}
          options={usable.map((one) => ({
            value: one.ip,
            text: missing ? one.ip : `${one.ip} (${one.status})`,
          }))}
        />
        <SelectField
          label="Proxy"
          name="port"
          value={offset(chosen.port)}
          onInput={(port) => change({ port })}
          options={ports.map((one) => ({
            value: offset(one.port),
            text: `${proxyNames[one.service] ?? one.service}, port ${one.port}`,
          }))}
        />
        <TextField
          label="Page to open"
          name="page"
          type="url"
          value={page}
          onInput={(event) => setPage(event.currentTarget.value)}
          hint="Where a proxy refuses an https page, a program shows its status alone, such as 407; for an http page, its sentence too."
        />
      </div>
      <CheckField
        label="Use my custom DNS entries"
        name="override"
        checked={override}
        onChange={(event) => change({ dns: event.currentTarget.checked ? 'own' : '' })}
        hint={`Connects to the override port, ${chosen.override_port}.`}
      />
      <div class="stack">
        <SignInChoice value={by} onChoose={(by) => change({ by })} />
        {by === 'address' ? <OwnAddress /> : <TokenFields of={token} />}
      </div>
      <div class="stack-tight">
        <Choice
          label="Program"
          shown
          value={program}
          onChoose={(program) => change({ program })}
          options={Object.entries(programs).map(([value, { name }]) => ({
            value: value as Program,
            text: name,
          }))}
        />
        <Copy text={text} what={`the settings for ${name}`} />
        {note && <p class="note">{note}</p>}
      </div>
    </Card>
  );
}

/** Whether the address of whoever looks is on the authlist, and a way to put it there. */
function OwnAddress() {
  const [isAdding, setAdding] = useState(false);
  const scope = useScope();
  const own = useReadIn(scope, 'get_address', {});
  if (!own.data) {
    return (
      <>
        <p class="note">No password: the address must be on the IP authlist.</p>
        <Unread of={own} what="your address" />
      </>
    );
  }
  const { ip, entry } = own.data;
  return (
    <div class="row">
      <p class="note" role="status">
        {entry
          ? `Your address, ${ip}, is on the IP authlist for ${entry.user} until ${dateTime(entry.expiry)}: no password is needed.`
          : `Your address, ${ip}, is not on the IP authlist${scope.flags.admin ? '' : ' for you'}.`}
      </p>
      {entry ? (
        <Link href={paths.authlist}>IP authlist</Link>
      ) : (
        <Button icon="plus" disabledReason={scope.readOnlyReason} onClick={() => setAdding(true)}>
          Add an address
        </Button>
      )}
      {isAdding && <AuthlistForm ip={ip} onClose={() => setAdding(false)} />}
    </div>
  );
}
