// The sign-in with account, user and password, and the second factor if it is required.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { call } from '../../api/api.ts';
import { facts, sessionEnded, startSession } from '../../api/session.ts';
import { UsernameForManagers } from '../../forms/password.tsx';
import { paths } from '../../paths.ts';
import { inBrowser } from '../../stored.ts';
import { Form, SingleCard, StartingFocus, TextField, textOf } from '../../ui/ui.ts';
import { codeOf, SecondFactorField } from './second_factor_field.tsx';

interface Credentials {
  account: string;
  user: string;
  password: string;
}

/** The browser stores the names; its password manager stores passwords. */
const accountKey = 'exitward-account';

export function SignInPage() {
  // The server asks for the code only after a correct password; then both are sent together.
  const [waiting, setWaiting] = useState<Credentials>();

  const signIn = async (given: Credentials, code?: string) => {
    const response = await call('console_sign_in', {
      body: { ...given, ...(code ? { code } : {}) },
    });
    if (!('session_id' in response)) {
      setWaiting(given);
      return;
    }
    inBrowser.set(accountKey, given.account);
    startSession(response);
  };

  return (
    <SingleCard
      title="Sign in"
      foot={
        facts.value?.audiences.operator && (
          <Link href={paths.operator.overview}>I run this network</Link>
        )
      }
    >
      {sessionEnded.value && (
        <p class="banner notice" role="status">
          Your session has ended; sign in again.
        </p>
      )}
      {waiting ? (
        <StartingFocus key="code">
          <p>
            <strong>{waiting.user}</strong> of <strong>{waiting.account}</strong> has a second
            factor.
          </p>
          <Form
            verb="Sign in"
            onSubmit={(fields) => signIn(waiting, codeOf(fields, 'code'))}
            onCancel={() => setWaiting(undefined)}
          >
            <UsernameForManagers user={waiting.user} />
            <SecondFactorField name="code" />
          </Form>
        </StartingFocus>
      ) : (
        <StartingFocus key="password">
          <Form
            verb="Sign in"
            onSubmit={(fields) =>
              signIn({
                account: textOf(fields, 'account'),
                user: textOf(fields, 'user'),
                password: String(fields.get('password')),
              })
            }
          >
            <TextField
              label="Account"
              name="account"
              required
              maxLength={63}
              autocomplete="organization"
              autocapitalize="off"
              defaultValue={inBrowser.get(accountKey) ?? ''}
            />
            <TextField
              label="User"
              name="user"
              required
              maxLength={63}
              autocomplete="username"
              autocapitalize="off"
            />
            <TextField
              label="Password"
              name="password"
              type="password"
              required
              autocomplete="current-password"
            />
          </Form>
        </StartingFocus>
      )}
      <p class="note">
        {waiting
          ? 'Lost your phone and recovery codes? An admin of your account can reset your sign-in.'
          : 'No password, or forgot it? An admin of your account can send you a link to set one.'}
      </p>
    </SingleCard>
  );
}
