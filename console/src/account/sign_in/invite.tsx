// An invitation: its link leads here, where the new user sets a password.
import { useQuery } from '@tanstack/preact-query';
import { Link, useLocation } from 'wouter-preact';
import { ApiError, call, type ResponseOf } from '../../api/api.ts';
import { explain } from '../../api/sentences.ts';
import { session, startSession } from '../../api/session.ts';
import { dateTime } from '../../format.ts';
import { NewPasswordField, UsernameForManagers } from '../../forms/password.tsx';
import { paths } from '../../paths.ts';
import { Form, Loaded, SingleCard, StartingFocus } from '../../ui/ui.ts';
import { codeOf, SecondFactorField } from './second_factor_field.tsx';

export function InvitePage({ code }: { code: string }) {
  const invite = useQuery({
    queryKey: ['invite', code],
    queryFn: ({ signal }) => call('console_look_at_invite', { body: { code } }, { signal }),
    // Reading again would remove the text being typed. Accepting reports an ended invitation.
    refetchInterval: false,
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (invite.error instanceof ApiError && invite.error.status === 401) {
    return <DeadLink sentence={explain(invite.error).sentence} />;
  }
  return (
    <SingleCard title="Set your password">
      <Loaded reading={invite} name="the invitation">
        {(invitation) => <Acceptance code={code} {...invitation} />}
      </Loaded>
    </SingleCard>
  );
}

/** A one-time link that was used or replaced, or has expired. */
export function DeadLink({ sentence }: { sentence: string }) {
  return (
    <SingleCard title="This link doesn’t work">
      <p role="alert">{sentence}</p>
      <p class="note">An admin of your account can send you a new one.</p>
      <p>
        <Link href={paths.overview} class="button primary" replace>
          {session.value ? 'Go to the overview' : 'Sign in with a password'}
        </Link>
      </p>
    </SingleCard>
  );
}

type AcceptanceProps = ResponseOf<'console_look_at_invite'> & { code: string };

function Acceptance({ code, account, user, display_name, expiry, second_factor }: AcceptanceProps) {
  const [, navigate] = useLocation();
  const accept = async (fields: FormData) => {
    const second_factor_code = codeOf(fields, 'second_factor_code');
    const entered = await call('console_accept_invite', {
      body: {
        code,
        password: String(fields.get('password')),
        ...(second_factor_code ? { second_factor_code } : {}),
      },
    });
    startSession(entered);
    navigate(paths.overview, { replace: true });
  };
  const present = session.value;
  return (
    <StartingFocus>
      <p>
        Welcome, {display_name}. You’ll sign in as <strong>{user}</strong> (account{' '}
        <strong>{account}</strong>). This link works once, until {dateTime(expiry)}.
      </p>
      {present && (
        <p class="banner notice">
          You are signed in as {present.user.name} of {present.account}; that session ends.
        </p>
      )}
      <Form verb="Set password and sign in" onSubmit={accept}>
        <UsernameForManagers user={user} />
        <NewPasswordField />
        {second_factor && <SecondFactorField name="second_factor_code" />}
      </Form>
    </StartingFocus>
  );
}
