// How to sign in to a proxy: by address, or by a user's token. A token can be made here, and is in
// the settings while the page is open.
import { useState } from 'preact/hooks';
import { type AccountResponse, changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { lifetimeOptions, lifetimes } from '../forms/lifetimes.ts';
import { ProxyUserField, useProxyUser } from '../forms/suggest_user.tsx';
import { Choice, Copy, Form, SelectField, textOf } from '../ui/ui.ts';
import { tokenPlace } from './settings.ts';

type ProxyToken = AccountResponse<'create_proxy_token'>;

type Token = ReturnType<typeof useToken>;

/** Unless `wanted`, nothing is read. */
export function useToken(wanted: boolean) {
  const { user: defaultUser, hasNone } = useProxyUser(wanted);
  const [selected, select] = useState('');
  const [tokens, setTokens] = useState<Record<string, ProxyToken>>({});
  const user = selected || defaultUser;
  const made = tokens[user];
  return {
    hasNone,
    user,
    select,
    /** The token that was made for this user. */
    made,
    keep: (token: ProxyToken) => setTokens({ ...tokens, [token.user]: token }),
    credentials: { user: user || 'USER', token: made?.token ?? tokenPlace },
  };
}

export type SignInWay = 'address' | 'token';

interface SignInChoiceProps {
  value: SignInWay;
  onSelect: (way: SignInWay) => void;
}

export function SignInChoice(props: SignInChoiceProps) {
  return (
    <Choice
      label="Sign in to the proxy"
      shown
      options={[
        { value: 'address', text: 'By address' },
        { value: 'token', text: 'By token' },
      ]}
      {...props}
    />
  );
}

const { hour, day, week, month, year } = lifetimes;

export function TokenFields({ token: { hasNone, user, select, made, keep } }: { token: Token }) {
  const scope = useScope();
  if (hasNone) {
    return <p class="note">The account has no active user with the proxy permission.</p>;
  }
  const make = async (fields: FormData) => {
    const body = { user, lifetime_seconds: Number(textOf(fields, 'lifetime_seconds')) };
    keep(await changeIn(scope, 'create_proxy_token', { body }));
  };
  return (
    <>
      <Form
        verb={made ? 'Create another token' : 'Create a token'}
        kind="plain"
        disabledReason={scope.readOnlyReason}
        onSubmit={make}
      >
        <div class="fields">
          <ProxyUserField user={user} onInput={select} />
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
          ? `The token for ${made.user} works until ${dateTime(made.expiry)}. Copy what you need before you leave this page. It won’t be shown again.`
          : `Replace ${tokenPlace} with a proxy access token of ${user || 'the user'}, or create one here.`}
      </p>
      {made && <Copy text={made.token} name="the token" />}
    </>
  );
}
