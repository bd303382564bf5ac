// The users of an exit around a time, as an abuse report names them: for operators with that right.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useAddressStates } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { callWithAuthHandling, useRead } from '../api/reading.ts';
import { missingText } from '../connections/words.ts';
import { count, dateTime } from '../format.ts';
import { CutText } from '../forms/columns.tsx';
import { expiryFrom, zoneAt } from '../forms/expiry.ts';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { paths } from '../paths.ts';
import { serviceName } from '../services.ts';
import {
  Card,
  type Column,
  DateField,
  Empty,
  Form,
  Loaded,
  Page,
  SelectField,
  Table,
  TextField,
  textOf,
} from '../ui/ui.ts';

type Answer = ResponseOf<'admin_find_exit_uses'>;
type Use = Answer['uses'][number];

const noQuestion = { exit_ip: '', at: '', margin_seconds: '60', port: '', destination: '' };
const margins = [
  { value: '10', text: '10 seconds' },
  { value: '60', text: '1 minute' },
  { value: '300', text: '5 minutes' },
  { value: '900', text: '15 minutes' },
  { value: '3600', text: '1 hour' },
];

export function ExitUsesPage() {
  const status = useRead('admin_get_status', {});
  return (
    <Page note="Search the nodes that keep a connection log (EXITWARD_AGENT_CONNECTION_LOG). Each search is recorded in the audit log with its reason. Results aren’t stored.">
      <Card>
        <Loaded reading={status} name="your permissions">
          {({ may_find_connections, now }) =>
            may_find_connections ? (
              <Question now={now} />
            ) : (
              <Empty
                title="Your operator token doesn’t have this permission"
                action={
                  <Link class="button" href={paths.operator.tokens}>
                    Operator tokens
                  </Link>
                }
              >
                Create one with permission to find out who used an exit.
              </Empty>
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

function Question({ now }: { now: number }) {
  const [question, change] = useAddressStates(noQuestion);
  const [answer, setAnswer] = useState<Answer>();
  const at = expiryFrom(question.at, now);
  const field = (name: keyof typeof noQuestion) => ({
    name,
    value: question[name],
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      change({ [name]: currentTarget.value }),
  });
  const ask = async (fields: FormData) => {
    setAnswer(undefined);
    const text = (name: string) => textOf(fields, name).trim();
    const [port, destination] = [text('port'), text('destination')];
    const body = {
      exit_ip: text('exit_ip'),
      at: expiryFrom(text('at'), now) ?? 0,
      margin_seconds: Number(text('margin_seconds')),
      ...(port && { port: Number(port) }),
      ...(destination && { destination }),
      reason: text('reason'),
    };
    setAnswer(await callWithAuthHandling('admin_find_exit_uses', { body }));
  };
  return (
    <>
      {/* A change makes the answer obsolete. */}
      <div onInput={() => setAnswer(undefined)}>
        <Form verb="Ask the nodes" onSubmit={ask}>
          <div class="fields">
            <TextField
              {...field('exit_ip')}
              label="Exit IP"
              placeholder="198.51.100.7"
              maxLength={64}
              required
            />
            <DateField
              label="Time"
              name="at"
              withTime
              required
              value={question.at}
              onInput={(at) => change({ at })}
              hint={`In your time zone: ${zoneAt(at ?? now)}.`}
            />
            <SelectField
              label="Margin"
              name="margin_seconds"
              hint="Before and after that time."
              value={question.margin_seconds}
              onInput={(margin_seconds) => change({ margin_seconds })}
              options={margins}
            />
            <TextField
              {...field('port')}
              label="Port at the exit (optional)"
              type="number"
              min={1}
              max={65_535}
              placeholder="40211"
              hint="The source port in the report."
            />
            <TextField
              {...field('destination')}
              label="Destination (optional)"
              placeholder="www.example.com:443"
              maxLength={300}
            />
            <TextField
              label="Reason"
              name="reason"
              placeholder="Report 4711"
              hint="For the audit log."
              maxLength={500}
              required
            />
          </div>
          <p class="note">Nodes get 15 seconds to answer.</p>
        </Form>
      </div>
      <div role="status">{answer && <Shown answer={answer} />}</div>
    </>
  );
}

function Shown({ answer: { server, uses, more, missing } }: { answer: Answer }) {
  const [columns, setColumns] = useState('');
  const rows = uses.map((use, at) => ({ ...use, at }));
  const readToSave = async () => ({
    ...{ rows: uses, as_of: undefined, next: undefined },
    ...{ total: uses.length, found: uses.length },
  });
  return (
    <div class="paged-table">
      <div class="row">
        <p class="note">
          {(uses.length > 0 || missing.length === 0) && `${count(uses.length, 'use')} found.`}
          {more > 0 &&
            ` ${count(more, 'more use')} not listed: enter the port, the destination or a smaller margin.`}
        </p>
        {uses.length > 0 && (
          <span class="actions row-end">
            <ExportMenu<Use> name="exit-uses" pages={{ readToSave }} {...{ header, cells }} />
          </span>
        )}
      </div>
      {server === null && <p class="note">No server of this network has this exit IP now.</p>}
      {missing.length > 0 && <p class="note">{missingText(missing, 'No data from')}</p>}
      {uses.length === 0 ? (
        <Empty title={missing.length > 0 ? 'Not known' : 'No use found'}>
          {missing.length > 0
            ? 'The nodes named above have no data. No other node has a use of this exit around that time.'
            : 'No node has a use of this exit around that time.'}
        </Empty>
      ) : (
        <Table
          compact
          caption="Uses of the exit"
          one="use"
          rows={rows}
          columns={useColumns}
          choice={{ text: columns, set: setColumns }}
          keyOf={({ at }) => at}
          nameOf={({ user, address }) => `${user} from ${address}`}
        />
      )}
    </div>
  );
}

const portsText = ({ exit_ports }: Use) =>
  exit_ports === undefined
    ? ''
    : exit_ports.first === exit_ports.last
      ? String(exit_ports.first)
      : `${exit_ports.first}–${exit_ports.last}`;
const unknownText = ({ unknown }: Use) => unknown.join(', ');

const useColumns: Column<Use & { at: number }>[] = [
  {
    heading: 'User',
    names: true,
    cut: true,
    cell: ({ account, user }) => (
      <Link
        title={user}
        href={paths.operator.account(account, `users/${encodeURIComponent(user)}`)}
      >
        {user}
      </Link>
    ),
  },
  {
    heading: 'Account',
    cut: true,
    cell: ({ account }) => (
      <Link title={account} href={paths.operator.account(account)}>
        {account}
      </Link>
    ),
  },
  { heading: 'Address', cell: ({ address }) => <span class="mono">{address}</span> },
  { heading: 'Its port', numeric: true, rank: 4, cell: ({ source_port }) => source_port ?? '' },
  { heading: 'From', word: 'from', cell: ({ since }) => dateTime(since) },
  {
    heading: 'Until',
    word: 'until',
    rank: 1,
    cell: ({ until }) => (until === null ? 'now' : dateTime(until)),
  },
  { heading: 'Exit port', numeric: true, rank: 2, cell: portsText },
  {
    heading: 'Not known',
    rank: 3,
    fills: ({ unknown }) => unknown.length > 0,
    cell: unknownText,
  },
  {
    heading: 'Destination',
    cut: true,
    rank: 5,
    fills: ({ destination }) => destination !== undefined,
    cell: ({ destination = '', dialled }) => (
      <CutText text={dialled ? `${destination} (${dialled})` : destination} />
    ),
  },
  {
    heading: 'Service',
    cut: true,
    rank: 6,
    cell: ({ service }) => <CutText text={serviceName(service)} />,
  },
  { heading: 'Node', cut: true, rank: 7, cell: ({ node }) => <CutText text={node} /> },
];

const header = [
  ...['account', 'user', 'address', 'source_port', 'from', 'until', 'exit_ports', 'destination'],
  ...['dialled', 'not_known', 'service', 'server', 'node'],
];
const cells = (use: Use) => [
  ...[use.account, use.user, use.address, use.source_port ?? '', timeText(use.since)],
  ...[timeText(use.until), portsText(use), use.destination ?? '', use.dialled ?? ''],
  ...[unknownText(use), use.service, use.server, use.node],
];
