// The sign-in with an operator token, which is tried before anything is shown.
import { Link } from 'wouter-preact';
import { ApiError, call, invalidField } from '../api/api.ts';
import { operatorTokenEnded, setOperatorToken } from '../api/operator_token.ts';
import { queries } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { facts } from '../api/session.ts';
import { paths } from '../paths.ts';
import { CheckField, Form, SingleCard, TextField, textOf } from '../ui/ui.ts';

export function OperatorSignIn() {
  const signIn = async (fields: FormData) => {
    const token = textOf(fields, 'token');
    await tryToken(token);
    // A new token may have fewer permissions than the last one.
    queries.clear();
    setOperatorToken(token, fields.has('keep'));
  };
  return (
    <SingleCard
      title="Run the network"
      foot={
        facts.value?.audiences.account && (
          <Link href={paths.overview}>Sign in to an account instead</Link>
        )
      }
    >
      {operatorTokenEnded.value && (
        <p class="banner notice" role="status">
          This operator token is no longer valid; sign in with another one.
        </p>
      )}
      <Form verb="Sign in" explain={explainToken} onSubmit={signIn}>
        <TextField
          label="Operator token"
          name="token"
          type="password"
          required
          hint={
            <>
              It begins with <code>ewo_</code>. The first one is on the server, in the file set by{' '}
              <code>EXITWARD_ADMIN_TOKEN_FILE</code> (by default <code>admin-token</code> in the
              data folder).
            </>
          }
        />
        <CheckField
          label="Stay signed in until this tab is closed"
          name="keep"
          hint="Otherwise you sign in again after a reload."
        />
      </Form>
    </SingleCard>
  );
}

/** Errors: ApiError, like any request. */
async function tryToken(token: string): Promise<void> {
  // Other characters could not be sent in a header.
  if (!/^ewo_[\w-]+$/.test(token)) throw unknownToken();
  await call('admin_get_status', {}, { token });
}

const unknownToken = () =>
  invalidField(
    'token',
    'the server doesn’t recognize this operator token. It may have been revoked.',
  );

const explainToken = (error: unknown) =>
  explain(error instanceof ApiError && error.status === 401 ? unknownToken() : error);
