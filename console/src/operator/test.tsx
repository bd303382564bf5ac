// The operators' tester: asks a node of a server how it would handle a connection.
import { Link } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import { call, type ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { ServerField } from '../forms/server_field.tsx';
import { addressOf, paths } from '../paths.ts';
import { Outcome } from '../servers/outcome.tsx';
import { TestForm, testNote, useConnection } from '../servers/test_form.tsx';
import { Card, DescriptionList, Empty, Page, SelectField, TextField, Unread } from '../ui/ui.ts';
import { useServerChoices } from './server_choices.ts';
import { portsOfSchemes } from './test_ports.ts';

type Verdict = ResponseOf<'admin_explain'>;

export function TestPage() {
  const [server, setServer] = useAddressState('server');
  const [{ to, from, user }, change] = useConnection();
  const reading = useRead('admin_get_server', { path: { server } }, { enabled: server !== '' });
  const { options, isWhole } = useServerChoices('');
  const schemes = useRead('admin_list_port_schemes', {});
  const ports =
    reading.data && schemes.data
      ? portsOfSchemes(reading.data, schemes.data).map(({ port, text }) => ({
          ...{ value: String(port), text },
        }))
      : [];
  const port = (ports.find(({ value }) => value === to) ?? ports[0])?.value ?? '';
  const isWithoutPorts = reading.data && schemes.data;
  const noServer = server === '' ? 'Select a server first' : 'Reading the ports …';
  const noPorts = isWithoutPorts ? 'This server has no proxy ports' : noServer;
  const hasNode = !reading.data || reading.data.nodes.live > 0;
  if (isWhole && options?.length === 0) {
    return (
      <Page note={testNote}>
        <Card>
          <Empty
            title="No servers yet"
            action={
              <Link class="button" href={paths.operator.servers}>
                Servers
              </Link>
            }
          >
            A test needs a server with a node. Add a server first.
          </Empty>
        </Card>
      </Page>
    );
  }
  return (
    <Page note={testNote}>
      <Card>
        <Unread reading={reading} name={server} />
        <Unread reading={schemes} name="the ports" />
        <TestForm
          lead={
            <>
              <ServerField
                required
                value={server}
                onInput={setServer}
                none="Select a server"
                useChoices={useServerChoices}
              />
              <SelectField
                label="Port"
                name="port"
                required
                value={port}
                onInput={(to) => change({ to })}
                options={ports.length > 0 ? ports : [{ value: '', text: noPorts }]}
              />
            </>
          }
          from={{ required: true, placeholder: '192.0.2.10' }}
          asUser={
            <>
              <TextField
                label="User"
                name="user"
                required
                value={user}
                onInput={({ currentTarget }) => change({ user: currentTarget.value })}
              />
              <TextField
                label="Token"
                name="token"
                type="password"
                required
                hint="A proxy access token. Never stored."
              />
            </>
          }
          disabledReason={
            hasNode ? undefined : `No node is online for ${server}, so the test can’t run.`
          }
          ask={({ from = '', ...connection }) =>
            call('admin_explain', {
              path: { server },
              body: { ...connection, from, check_exit: true },
            })
          }
          shown={(decision) => <Answer verdict={decision} ip={from.trim()} />}
        />
      </Card>
    </Page>
  );
}

function Answer({ verdict, ip }: { verdict: Verdict; ip: string }) {
  const { status, reason, rule, account, user, node, revision } = verdict;
  const facts: Array<[string, preact.ComponentChildren]> = [
    ['HTTP status', String(status)],
    ['Reason', reason],
    ['Decided by', rule],
    ['Account', account && <Link href={paths.operator.account(account)}>{account}</Link>],
    ['User', user],
    ['Node', `${node}, at revision ${revision}`],
  ];
  return (
    <div class="stack">
      <Outcome
        decision={verdict}
        remedy={<Link href={addressOf(paths.operator.addresses, { ip })}>Who lists {ip}</Link>}
      />
      <DescriptionList facts={facts.filter(([, value]) => value)} />
    </div>
  );
}
