// A new proxy access token: its lifetime, then the token itself, shown once and ready to use.
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { MakerDialog } from '../forms/form_dialog.tsx';
import { duration, lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { useServerToTry } from '../servers/to_try.ts';
import { Copy, Loaded, SelectField, ShownOnce, textOf, Unread } from '../ui/ui.ts';
import type { User } from './user.ts';

type ProxyToken = AccountResponse<'create_proxy_token'>;

export function ProxyTokenDialog({ user: { name }, onClose }: { user: User; onClose: () => void }) {
  const scope = useScope();
  const contract = useReadIn(scope, 'get_contract', {});
  const make = (fields: FormData) => {
    const lifetime = textOf(fields, 'lifetime_seconds');
    const body = { user: name, ...(lifetime ? { lifetime_seconds: Number(lifetime) } : {}) };
    return changeIn(scope, 'create_proxy_token', { body });
  };
  const { hour, day, week, month, quarter, year } = lifetimes;
  const lifetimeText = contract.data ? ` (${duration(contract.data.token_lifetime_seconds)})` : '';
  return (
    <MakerDialog
      title={`New proxy access token for ${name}`}
      verb="Create token"
      make={make}
      shown={(token) => <NewToken token={token} onDone={onClose} />}
      onClose={onClose}
    >
      <p>
        Programs and browsers use it as the password of <strong>{name}</strong> at the proxies.
        Create one for each program, so that each is easy to replace.
      </p>
      <SelectField
        label="Lifetime"
        name="lifetime_seconds"
        options={[
          { value: '', text: `Default of the contract${lifetimeText}` },
          ...lifetimeOptions(hour, day, week, month, quarter, year),
        ]}
      />
      <Unread reading={contract} name="the default lifetime" />
    </MakerDialog>
  );
}

function NewToken({ token, onDone }: { token: ProxyToken; onDone: () => void }) {
  const { toTry, reading } = useServerToTry('proxy');
  const { server, port } = toTry ?? {};
  const pair = `${token.user}:${token.token}`;
  // The full token is above: here its beginning is enough to show the format.
  const shownPair = `${token.user}:${token.token.slice(0, 12)}…`;
  const curlWith = (credentials: string) =>
    `curl -x ${server?.hostname}:${port} -U ${credentials} https://example.com/`;
  return (
    <ShownOnce
      name="the token"
      text={token.token}
      lead={`Works until ${dateTime(token.expiry)}. Copy it now; it won’t be shown again.`}
      onDone={onDone}
    >
      <div class="stack-tight">
        <h3>User and password together</h3>
        <Copy text={pair} shown={shownPair} name="user and token" />
      </div>
      <div class="stack-tight">
        <h3>With curl{server && port ? `, through ${server.title}` : ''}</h3>
        {server && port ? (
          <Copy text={curlWith(pair)} shown={curlWith(shownPair)} name="the curl line" />
        ) : (
          <Loaded reading={reading} name="the servers">
            {() => <p class="note">There is no server on the contract yet to try it with.</p>}
          </Loaded>
        )}
      </div>
    </ShownOnce>
  );
}
