// Signing in to a proxy by token: whose, and one made on the spot, which the settings hold while the page stands.
import { useState } from 'preact/hooks';
import type { Answer } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { flags, refusal, session } from '../api/session.ts';
import { dateTime } from '../format.ts';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { Copy } from '../ui/copy.tsx';
import { SelectField } from '../ui/field.tsx';
import { Form, textOf } from '../ui/form.tsx';
import { tokenPlace } from './settings.ts';

type ProxyToken = Answer<'console_create_proxy_token'>;

interface Token {
  /** Who can have one: admins see all proxy users, everybody else themselves. Undefined until known. */
  users: string[] | undefined;
  user: string;
  choose: (user: string) => void;
  /** The one that was made for this user. */
  made: ProxyToken | undefined;
  keep: (token: ProxyToken) => void;
  credentials: { user: string; token: string };
}

/** `wanted`: nothing is read before it matters. */
export function useToken(wanted: boolean): Token {
  const own = session.value?.user;
  const isAdmin = flags.value.admin;
  const read = useRead('console_list_users', {}, { enabled: wanted && isAdmin }).data;
  const [chosen, choose] = useState('');
  const [tokens, setTokens] = useState<Record<string, ProxyToken>>({});
  const proxyUsers = read?.filter((one) => one.active && one.flags.proxy).map(({ name }) => name);
  const users = isAdmin ? proxyUsers : own ? [own.name] : [];
  const usual = users?.find((name) => name === own?.name) ?? users?.[0] ?? '';
  const user = chosen || usual;
  const made = tokens[user];
  return {
    users,
    user,
    choose,
    made,
    keep: (token) => setTokens({ ...tokens, [token.user]: token }),
    credentials: { user: user || 'USER', token: made?.token ?? tokenPlace },
  };
}

const { hour, day, week, month, year } = lifetimes;

export function TokenFields({ of: { users, user, choose, made, keep } }: { of: Token }) {
  const [lifetime, setLifetime] = useState(String(day));
  if (users?.length === 0) {
    return <p class="note">No active user of the account has the proxy flag.</p>;
  }
  const make = async (fields: FormData) => {
    const body = { user, lifetime_seconds: Number(textOf(fields, 'lifetime_seconds')) };
    keep(await change('console_create_proxy_token', { body }));
  };
  return (
    <>
      <Form
        verb={made ? 'Make another token' : 'Make a token'}
        kind="plain"
        refused={refusal.value}
        explain={explain}
        onSubmit={make}
      >
        <div class="fields">
          <SelectField
            label="User"
            name="user"
            value={user}
            onInput={choose}
            options={(users ?? []).map((name) => ({ value: name, text: name }))}
          />
          <SelectField
            label="Lifetime of a new token"
            name="lifetime_seconds"
            value={lifetime}
            onInput={setLifetime}
            options={lifetimeOptions(hour, day, week, month, year)}
          />
        </div>
      </Form>
      <p class="note" role="status">
        {made
          ? `The token for ${made.user} works until ${dateTime(made.expiry)}. Copy what you need before you leave this page: it is not shown again.`
          : `Put a proxy access token of ${user || 'the user'} in place of ${tokenPlace}, or make one here.`}
      </p>
      {made && <Copy text={made.token} what="the token" />}
    </>
  );
}
