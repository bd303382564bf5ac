// Signing in to a proxy by token: whose, and one made on the spot, which the settings hold while the page stands.
import { useState } from 'preact/hooks';
import { type AccountResponse, changeIn, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { Copy, Form, optionsOf, SelectField, textOf } from '../ui/ui.ts';
import { tokenPlace } from './settings.ts';

type ProxyToken = AccountResponse<'create_proxy_token'>;

type Token = ReturnType<typeof useToken>;

/** Unless `wanted`, nothing is read. */
export function useToken(wanted: boolean) {
  const scope = useScope();
  const { flags, user: own } = scope;
  const read = useReadIn(scope, 'list_users', {}, { enabled: wanted && flags.admin }).data;
  const [chosen, choose] = useState('');
  const [tokens, setTokens] = useState<Record<string, ProxyToken>>({});
  const proxyUsers = read?.filter((one) => one.active && one.flags.proxy).map(({ name }) => name);
  const users = flags.admin ? proxyUsers : own ? [own] : [];
  const usual = users?.find((name) => name === own) ?? users?.[0] ?? '';
  const user = chosen || usual;
  const made = tokens[user];
  return {
    /** The users who can have one: admins see all proxy users, other people themselves. Undefined until known. */
    users,
    user,
    choose,
    /** The one that was made for this user. */
    made,
    keep: (token: ProxyToken) => setTokens({ ...tokens, [token.user]: token }),
    credentials: { user: user || 'USER', token: made?.token ?? tokenPlace },
  };
}

const { hour, day, week, month, year } = lifetimes;

export function TokenFields({ of: { users, user, choose, made, keep } }: { of: Token }) {
  const scope = useScope();
  if (users?.length === 0) {
    return <p class="note">No active user of the account has the proxy flag.</p>;
  }
  const make = async (fields: FormData) => {
    const body = { user, lifetime_seconds: Number(textOf(fields, 'lifetime_seconds')) };
    keep(await changeIn(scope, 'create_proxy_token', { body }));
  };
  return (
    <>
      <Form
        verb={made ? 'Make another token' : 'Make a token'}
        kind="plain"
        disabledReason={scope.readOnlyReason}
        onSubmit={make}
      >
        <div class="fields">
          <SelectField
            label="User"
            name="user"
            value={user}
            onInput={choose}
            options={optionsOf(users ?? [])}
          />
          <SelectField
            label="Lifetime of a new token"
            name="lifetime_seconds"
            initial={String(day)}
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
