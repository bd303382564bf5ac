// A new proxy access token: how long it lives, then the token itself, once, ready to be used.
import { useState } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { dateTime } from '../format.ts';
import { duration, lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { portsOf } from '../servers/exits.tsx';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { ShownOnce } from '../ui/shown_once.tsx';

type ProxyToken = Answer<'console_create_proxy_token'>;

export function ProxyTokenDialog({ user, onClose }: { user: string; onClose: () => void }) {
  const [token, setToken] = useState<ProxyToken>();
  const [lifetime, setLifetime] = useState('');
  const contract = useRead('console_get_contract', {}).data;
  const create = async (fields: FormData) => {
    const chosen = textOf(fields, 'lifetime_seconds');
    setToken(
      await change('console_create_proxy_token', {
        body: { user, ...(chosen ? { lifetime_seconds: Number(chosen) } : {}) },
      }),
    );
  };
  const { hour, day, week, month, quarter, year } = lifetimes;
  const usual = contract ? ` (${duration(contract.token_lifetime_seconds)})` : '';
  return (
    <Dialog title={`New proxy access token for ${user}`} onClose={onClose}>
      {token ? (
        <NewToken token={token} onDone={onClose} />
      ) : (
        <Form verb="Make the token" explain={explain} onSubmit={create} onCancel={onClose}>
          <p>
            It is the password of <strong>{user}</strong> at the proxies, for programs and browsers.
            A user may have many: one for each program makes them easy to replace.
          </p>
          <SelectField
            label="Lifetime"
            name="lifetime_seconds"
            value={lifetime}
            onInput={setLifetime}
            options={[
              { value: '', text: `As the contract says${usual}` },
              ...lifetimeOptions(hour, day, week, month, quarter, year),
            ]}
          />
        </Form>
      )}
    </Dialog>
  );
}

function NewToken({ token, onDone }: { token: ProxyToken; onDone: () => void }) {
  const servers = useRead('console_list_servers', {}).data ?? [];
  const places = servers.flatMap((server) =>
    server.ips.flatMap((exit) => portsOf(server, exit).map((port) => ({ server, ...port }))),
  );
  const plain = places.filter(({ service }) => service === 'proxy');
  const { server, port } = plain.find((one) => one.server.nodes.live > 0) ?? plain[0] ?? {};
  const pair = `${token.user}:${token.token}`;
  // The token stands above in full: here its beginning is enough to see how the parts go together.
  const shownPair = `${token.user}:${token.token.slice(0, 12)}…`;
  const curlWith = (credentials: string) =>
    `curl -x ${server?.hostname}:${port} -U ${credentials} https://example.com/`;
  return (
    <ShownOnce
      what="the token"
      text={token.token}
      lead={`Works until ${dateTime(token.expiry)}. It is not shown again: copy it now.`}
      onDone={onDone}
    >
      <div class="stack-tight">
        <h3>As user and password in one</h3>
        <Copy text={pair} shown={shownPair} what="user and token" />
      </div>
      <div class="stack-tight">
        <h3>With curl{server && port ? `, through ${server.title}` : ''}</h3>
        {server && port ? (
          <Copy text={curlWith(pair)} shown={curlWith(shownPair)} what="the curl line" />
        ) : (
          <p class="note">There is no server on the contract yet that it could be tried with.</p>
        )}
      </div>
    </ShownOnce>
  );
}
