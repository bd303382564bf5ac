// The form that describes a connection to test, for account holders and operators. Everything
// except the token is in the address of the page, so that links fill it in.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAddressStates } from '../address.ts';
import { Choice, Form, TextField, textOf } from '../ui/ui.ts';
import { type Decision, requestFor } from './decision.ts';

/**
 * A connection as the address of the page has it: `to` is the port, `page` a URL or hostname. With
 * `dns`, and without a port, it comes in on one with custom DNS.
 */
const noConnection = {
  to: '',
  dns: '',
  page: 'https://www.example.com/',
  from: '',
  by: 'address',
  user: '',
};

export const testNote =
  'See how a server would handle a connection, and why. A node also sends a request through the exit. Nothing is billed.';

export const useConnection = () => useAddressStates(noConnection);

export interface Connection {
  port: number;
  host: string;
  method?: string;
  destination_port?: number;
  from?: string;
  user?: string;
  token?: string;
}

interface TestFormProps<D> {
  /** The fields of server and port. */
  lead: ComponentChildren;
  from: { placeholder?: string; hint?: string; required?: boolean };
  /** The fields of the user, to sign in by token. */
  asUser: ComponentChildren;
  disabledReason?: string | undefined;
  ask: (connection: Connection) => Promise<D>;
  shown: (decision: D) => ComponentChildren;
}

export function TestForm<D extends Decision>(props: TestFormProps<D>) {
  const { lead, from, asUser, disabledReason, ask, shown } = props;
  const [described, change] = useConnection();
  const [decision, setDecision] = useState<D>();
  const test = async (fields: FormData) => {
    setDecision(undefined);
    const text = (name: string) => textOf(fields, name).trim();
    // An invalid URL is sent as it is: the server explains what is wrong.
    const page = requestFor(text('host')) ?? { host: text('host') };
    const [from, user, token] = [text('from'), text('user'), text('token')];
    const connection = {
      ...page,
      port: Number(text('port')),
      ...(from && { from }),
      ...(described.by === 'token' && { user, ...(token && { token }) }),
    };
    setDecision(await ask(connection));
  };
  return (
    <>
      {/* A change makes the decision obsolete. */}
      <div onInput={() => setDecision(undefined)}>
        <Form verb="Test" disabledReason={disabledReason} onSubmit={test}>
          <div class="fields">
            {lead}
            <TextField
              label="Page"
              name="host"
              value={described.page}
              onInput={({ currentTarget }) => change({ page: currentTarget.value })}
              required
            />
            <TextField
              label="Connection from"
              name="from"
              value={described.from}
              onInput={({ currentTarget }) => change({ from: currentTarget.value })}
              {...from}
            />
          </div>
          <Choice
            label="Sign in"
            shown
            value={described.by === 'token' ? 'token' : 'address'}
            onSelect={(by) => change({ by })}
            options={[
              { value: 'address', text: 'By address' },
              { value: 'token', text: 'By token' },
            ]}
          />
          {described.by === 'token' && <div class="fields">{asUser}</div>}
        </Form>
      </div>
      <div role="status">{decision && shown(decision)}</div>
    </>
  );
}
