// Asks a node how it would handle a connection, and shows its decision in words.
import { useState } from 'preact/hooks';
import { call, type Given, type ResponseOf } from '../../api/api.ts';
import {
  Badge,
  Card,
  DescriptionList,
  Form,
  optionsOf,
  SelectField,
  TextField,
  textOf,
} from '../../ui/ui.ts';

type Decision = ResponseOf<'admin_explain'>;
type Connection = Given<'admin_explain'>['body'];

const methods = optionsOf(['CONNECT', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE']);

export function Explain({ server, hasNode }: { server: string; hasNode: boolean }) {
  const [answer, setAnswer] = useState<{ of: Connection; decision: Decision }>();
  const ask = async (fields: FormData) => {
    setAnswer(undefined);
    const [user, token] = [textOf(fields, 'user'), textOf(fields, 'token')];
    const of = {
      from: textOf(fields, 'from'),
      port: Number(textOf(fields, 'port')),
      host: textOf(fields, 'host'),
      method: textOf(fields, 'method'),
      ...(user && { user }),
      ...(token && { token }),
    };
    setAnswer({ of, decision: await call('admin_explain', { path: { server }, body: of }) });
  };
  return (
    <Card
      title="Explain a connection"
      note="See how this server would handle a connection. A node decides as it would on a real one. Nothing is dialed or billed."
    >
      {hasNode ? (
        <Form verb="Ask a node" onSubmit={ask}>
          <div class="fields">
            <TextField label="From address" name="from" required placeholder="192.0.2.10" />
            <TextField
              label="To proxy port"
              name="port"
              type="number"
              min={1}
              max={65_535}
              required
              placeholder="10001"
            />
          </div>
          <div class="fields">
            <TextField label="Asks for host" name="host" required placeholder="www.example.com" />
            <SelectField label="By method" name="method" options={methods} />
          </div>
          <div class="fields">
            <TextField
              label="User (optional)"
              name="user"
              autocapitalize="off"
              hint="Needed with a token."
            />
            <TextField
              label="Proxy access token"
              name="token"
              type="password"
              hint="Never stored."
            />
          </div>
        </Form>
      ) : (
        <p class="note">No live node of {server} is there to be asked.</p>
      )}
      <div role="status">{answer && <Said {...answer} />}</div>
    </Card>
  );
}

const decisions = {
  allow: { tone: 'good', text: 'allowed' },
  challenge: { tone: 'warn', text: 'asked to sign in' },
  deny: { tone: 'bad', text: 'denied' },
} as const;

function Said({ of, decision }: { of: Connection; decision: Decision }) {
  const { tone, text } = decisions[decision.verdict];
  const facts: Array<[string, string | undefined]> = [
    ['HTTP status', String(decision.status)],
    ['Reason', decision.reason],
    ['Decided by', decision.rule],
    ['Account', decision.account],
    ['User', decision.user],
    ['Leaves from', decision.exit_ip],
    ['Connects to', decision.dial],
    ['Answered by', `${decision.node}, at revision ${decision.revision}`],
  ];
  return (
    <div class="said-decision">
      <h3>
        <Badge tone={tone}>{decision.verdict}</Badge>{' '}
        {`${of.method} ${of.host} from ${of.from} at port ${of.port} would be ${text}.`}
      </h3>
      {decision.message && <p>The client would see: “{decision.message}”</p>}
      <DescriptionList of={facts.filter(([, value]) => value)} />
    </div>
  );
}
