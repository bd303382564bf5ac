// Asks whether a server would accept a connection, and why not: one of its nodes decides, and sends
// a request through the exit.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { type AccountGiven, changeIn, useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { SuggestUser } from '../forms/suggest_user.tsx';
import { Badge, Card, Choice, Form, SelectField, TextField, textOf } from '../ui/ui.ts';
import { type Decision, readDecision, requestFor } from './decision.ts';
import { type OwnServer, portsOf } from './rows.ts';

type Body = AccountGiven<'explain_connection'>['body'];

export function AskServer({ server }: { server: OwnServer }) {
  const scope = useScope();
  const ownAddress = useReadIn(scope, 'get_address', {}).data?.ip;
  const [by, setBy] = useState<'address' | 'token'>('address');
  const [decision, setDecision] = useState<Decision>();
  const ports = server.ips.flatMap((exit) =>
    portsOf(server, exit).flatMap(({ port, override_port, service }) => [
      { value: String(port), text: `${port}: ${service}, exit ${exit.ip}` },
      { value: String(override_port), text: `${override_port}: the same with custom DNS` },
    ]),
  );
  const ask = async (fields: FormData) => {
    setDecision(undefined);
    const text = (name: string) => textOf(fields, name).trim();
    // An invalid address is sent as it is: the server explains what is wrong.
    const page = requestFor(text('host')) ?? { host: text('host') };
    const [from, user, token] = [text('from'), text('user'), text('token')];
    const body: Body = {
      ...page,
      port: Number(text('port')),
      check_exit: true,
      ...(from && { from }),
      ...(by === 'token' && { user, ...(token && { token }) }),
    };
    setDecision(
      await changeIn(scope, 'explain_connection', { path: { server: server.server }, body }),
    );
  };
  return (
    <Card
      title="Test a connection"
      note="See how this server would handle a connection, and why. A node also sends a test request through the exit. Nothing is billed."
    >
      <Form verb="Ask the server" kind="plain" onSubmit={ask}>
        <div class="fields">
          <SelectField label="Port" name="port" initial={ports[0]?.value ?? ''} options={ports} />
          <TextField
            label="Page"
            name="host"
            defaultValue="https://www.example.com/"
            spellcheck={false}
            required
          />
          <TextField
            label="Connection from"
            name="from"
            placeholder={ownAddress ?? ''}
            spellcheck={false}
            hint={
              ownAddress
                ? `Leave empty for your own address, ${ownAddress}.`
                : 'Leave empty for your own address.'
            }
          />
        </div>
        <Choice
          label="Sign in"
          shown
          value={by}
          onChoose={setBy}
          options={[
            { value: 'address', text: 'By its address' },
            { value: 'token', text: 'As a user' },
          ]}
        />
        {by === 'token' && <AsUser />}
      </Form>
      <div role="status">{decision && <Outcome of={decision} />}</div>
    </Card>
  );
}

function AsUser() {
  const { flags, user: ownName = '' } = useScope();
  const [user, setUser] = useState(ownName);
  return (
    <div class="fields">
      {flags.admin ? (
        <SuggestUser label="As user" value={user} onInput={setUser} required />
      ) : (
        <TextField label="As user" name="user" value={ownName} readOnly />
      )}
      <TextField
        label="Token"
        name="token"
        type="password"
        autocomplete="off"
        hint="Leave empty to test with a valid token of the user."
      />
    </div>
  );
}

function Outcome({ of }: { of: Decision }) {
  const { tone, title, sentences, remedy } = readDecision(of);
  return (
    <div class="stack-tight">
      <p>
        <Badge tone={tone}>{title}</Badge>
      </p>
      <p>
        {sentences.join(' ')} {remedy && <Link href={remedy.path}>{remedy.text}</Link>}
      </p>
    </div>
  );
}
