// Settings to copy for one server: select the exit IP, the sign-in and the program.
import { useState } from 'preact/hooks';
import { useAddressStates } from '../address.ts';
import { OwnAddress } from '../authlist/own_address.tsx';
import { serviceName } from '../services.ts';
import { health } from '../ui/health.ts';
import { Card, CheckField, Choice, Copy, isOneOf, SelectField, TextField } from '../ui/ui.ts';
import type { Through } from './curl.ts';
import { type OwnServer, portsOf, type State, unserved } from './rows.ts';
import { type Program, programs } from './settings.ts';
import { SignInChoice, TokenFields, useToken } from './token.tsx';

const unservedSentences: Partial<Record<State, string>> = {
  no_node: 'This server has no node yet: these settings don’t work yet.',
  not_connected:
    'The nodes of this server are offline: these settings may not work, and changes don’t reach them.',
};

/** The defaults of the options in the address; the page to open is not part of it. */
const noChoice = { ip: '', port: '', dns: '', by: 'address', program: 'curl' };

export function ReadySettings({ server }: { server: OwnServer }) {
  const missing = unserved(server.nodes);
  const [{ ip, port, dns, by: signInWay, program: requested }, change] = useAddressStates(noChoice);
  const override = dns !== '';
  const by = signInWay === 'token' ? 'token' : 'address';
  const program = isOneOf(programs, requested) ? requested : 'curl';
  const token = useToken(by === 'token');
  const [page, setPage] = useState('https://www.example.com/');

  const usable = server.ips.filter((exit) => portsOf(server, exit).length > 0);
  const exit = usable.find((candidate) => candidate.ip === ip) ?? usable[0];
  if (!exit) return null;
  const ports = portsOf(server, exit);
  const offset = (portNumber: number) => String(portNumber - exit.port_base);
  // The port is stored as an offset, so that it stays selected for another exit IP.
  const selected = ports.find((candidate) => offset(candidate.port) === port) ?? ports[0];
  if (!selected) return null;
  const way: Through = {
    host: server.hostname,
    port: override ? selected.override_port : selected.port,
    service: selected.service,
    ...(by === 'token' ? { credentials: token.credentials } : {}),
  };
  const { name, write } = programs[program];
  const { text, note } = write(way, page.trim() || 'https://www.example.com/');
  return (
    <Card title="Settings to copy" note="For programs and browsers that use this server.">
      {missing && <p class="banner notice">{unservedSentences[missing]}</p>}
      <div class="fields">
        <SelectField
          label="Exit IP"
          name="exit_ip"
          value={exit.ip}
          onInput={(ip) => change({ ip })}
          options={usable.map((usableExit) => ({
            value: usableExit.ip,
            text: missing ? usableExit.ip : `${usableExit.ip} (${health[usableExit.status]})`,
          }))}
        />
        <SelectField
          label="Proxy"
          name="port"
          value={offset(selected.port)}
          onInput={(port) => change({ port })}
          options={ports.map((portOption) => ({
            value: offset(portOption.port),
            text: `${serviceName(portOption.service)}, port ${portOption.port}`,
          }))}
        />
        <TextField
          label="Page to open"
          name="page"
          type="url"
          value={page}
          onInput={(event) => setPage(event.currentTarget.value)}
          hint="If a proxy refuses an https page, programs show only its status, such as 407. For an http page they also show the reason."
        />
      </div>
      <CheckField
        label="Use my custom DNS entries"
        name="override"
        checked={override}
        onChange={(event) => change({ dns: event.currentTarget.checked ? 'own' : '' })}
        hint={`Connects to the override port, ${selected.override_port}.`}
      />
      <div class="stack">
        <SignInChoice value={by} onSelect={(by) => change({ by })} />
        {by === 'address' ? <OwnAddress /> : <TokenFields token={token} />}
      </div>
      <div class="stack-tight">
        <Choice
          label="Program"
          shown
          value={program}
          onSelect={(program) => change({ program })}
          options={Object.entries(programs).map(([value, { name }]) => ({
            value: value as Program,
            text: name,
          }))}
        />
        <Copy text={text} name={`the settings for ${name}`} />
        {note && <p class="note">{note}</p>}
      </div>
    </Card>
  );
}
