// Custom DNS: which hostnames resolve to an address of the account's choice, where, and whether they do already.
import { useEffect, useRef, useState } from 'preact/hooks';
import { change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { refusal, session } from '../api/session.ts';
import { dateTime, fromNow } from '../format.ts';
import { LastRemoval, RemoveAll } from '../forms/remove_all.tsx';
import { undoBy } from '../forms/undo.ts';
import { now } from '../now.ts';
import { awaited, type DnsEntry, filtered, isOver, newsOf } from './entries.ts';
import { DnsForm, keysOf } from './form.tsx';
import { TryDns } from './try.tsx';
import '../style/lists.css';
import { Status } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { LongList } from '../ui/long_list.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { notify } from '../ui/toast.tsx';

type Shown =
  | { dialog: 'add' | 'remove all' }
  | { dialog: 'change' | 'remove' | 'try'; entry: DnsEntry };

export function DnsPage() {
  const entries = useRead('console_list_overrides', {});
  const [shown, setShown] = useState<Shown>();
  const close = () => setShown(undefined);
  const all = entries.data ?? [];
  const total = all.length;
  const changeOther = (id: number) => {
    const entry = all.find((one) => one.id === id);
    if (entry) setShown({ dialog: 'change', entry });
  };
  const add = (
    <Button
      kind="primary"
      icon="plus"
      refused={refusal.value}
      onClick={() => setShown({ dialog: 'add' })}
    >
      Add an entry
    </Button>
  );
  return (
    <Page
      title="Custom DNS"
      note="On its override port, a server resolves a hostname to an address of your choice."
      actions={
        total > 0 && (
          <>
            <Button
              icon="remove"
              refused={refusal.value}
              onClick={() => setShown({ dialog: 'remove all' })}
            >
              Remove all …
            </Button>
            {add}
          </>
        )
      }
    >
      <Card>
        <Loaded of={entries} what="the custom DNS entries" explain={explain}>
          {(all) => (
            <>
              <News entries={all} />
              {all.length > 0 ? (
                <Entries all={all} show={setShown} />
              ) : (
                <Empty title="No hostname is overridden." action={add}>
                  With an entry you see a page as it will be after a move: the name leads to the new
                  server for you, while everybody else still gets the old one.
                </Empty>
              )}
            </>
          )}
        </Loaded>
      </Card>
      <LastRemoval list="overrides" />
      {shown?.dialog === 'add' && <DnsForm onClose={close} onChangeOther={changeOther} />}
      {shown?.dialog === 'change' && (
        <DnsForm
          key={shown.entry.id}
          entry={shown.entry}
          onClose={close}
          onChangeOther={changeOther}
        />
      )}
      {shown?.dialog === 'try' && (
        // As it is now: it may come into force while the dialog is open.
        <TryDns
          entry={all.find(({ id }) => id === shown.entry.id) ?? shown.entry}
          onClose={close}
        />
      )}
      {shown?.dialog === 'remove' && <RemoveEntry entry={shown.entry} onClose={close} />}
      {shown?.dialog === 'remove all' && (
        <RemoveAll list="overrides" entries={total} onClose={close}>
          On every server, the hostnames that account {session.value?.account} overrides resolve as
          they do for everybody else; expired entries go, too.
        </RemoveAll>
      )}
    </Page>
  );
}

/** Tells those who do not see the table what has become active. */
function News({ entries }: { entries: readonly DnsEntry[] }) {
  const before = useRef<Map<number, string>>();
  const [news, setNews] = useState('');
  useEffect(() => {
    const text = before.current && newsOf(before.current, entries);
    before.current = new Map(entries.map(({ id, status }) => [id, status]));
    if (text) setNews(`${text}.`);
  }, [entries]);
  return (
    <p class="visually-hidden" role="status">
      {news}
    </p>
  );
}

const states = [
  { value: '', text: 'All states' },
  { value: 'current', text: 'All but expired' },
  { value: 'pending', text: 'Pending' },
  { value: 'active', text: 'Active' },
  { value: 'expiring', text: 'Expiring' },
  { value: 'expired', text: 'Expired' },
];

interface EntriesProps {
  all: readonly DnsEntry[];
  show: (shown: Shown) => void;
}

function Entries({ all, show }: EntriesProps) {
  const [filter, setFilter] = useState({ text: '', server: '', state: '' });
  const set = (part: Partial<typeof filter>) => setFilter({ ...filter, ...part });
  const servers = [...new Set([...all.map(({ server }) => server), filter.server])].filter(Boolean);
  return (
    <>
      <div class="filters">
        <TextField
          label="Hostname or address"
          name="text"
          type="search"
          value={filter.text}
          onInput={(event) => set({ text: event.currentTarget.value })}
        />
        <SelectField
          label="Server"
          name="of"
          value={filter.server}
          onInput={(server) => set({ server })}
          options={[
            { value: '', text: 'All servers' },
            ...servers.sort().map((name) => ({ value: name, text: name })),
          ]}
        />
        <SelectField
          label="State"
          name="state"
          value={filter.state}
          onInput={(state) => set({ state })}
          options={states}
        />
      </div>
      <LongList
        rows={filtered(all, filter)}
        all={all.length}
        filter={Object.values(filter).join(' ')}
      >
        {(shown) =>
          shown.length > 0 ? (
            <Table
              caption="Custom DNS entries, by hostname"
              columns={columns}
              rows={shown}
              keyOf={({ id }) => id}
              isFaint={({ status }) => status === 'expired'}
              actions={(entry) => <Actions entry={entry} show={show} />}
            />
          ) : (
            <Empty title="No entry matches." />
          )
        }
      </LongList>
    </>
  );
}

const columns: Column<DnsEntry>[] = [
  {
    heading: 'Hostname',
    names: true,
    cell: ({ hostname }) => <span class="hostname">{hostname}</span>,
  },
  { heading: 'Resolves to', cell: ({ ip }) => <span class="mono address">{ip}</span> },
  { heading: 'On server', cell: ({ server }) => server },
  {
    heading: 'Expires',
    cell: ({ expiry }) => (
      <span class="two-lines">
        <Time at={expiry} relative={fromNow(expiry, now.value)} full={dateTime(expiry)} />
        <span class="note">{dateTime(expiry)}</span>
      </span>
    ),
  },
  {
    heading: 'State',
    cell: (entry) => (
      <span class="two-lines">
        <Status status={entry.status} />
        <span class="note">{awaited(entry)}</span>
      </span>
    ),
  },
];

function Actions({ entry, show }: { entry: DnsEntry; show: (shown: Shown) => void }) {
  const name = `${entry.hostname} on ${entry.server}`;
  return (
    <>
      {isOver(entry) ? (
        <Button
          kind="quiet"
          aria-label={`Revive ${name}`}
          refused={refusal.value}
          onClick={() => show({ dialog: 'change', entry })}
        >
          Revive
        </Button>
      ) : (
        <>
          <Button
            kind="quiet"
            aria-label={`Try it: ${name}`}
            onClick={() => show({ dialog: 'try', entry })}
          >
            Try it
          </Button>
          <IconButton
            icon="edit"
            label={`Change ${name}`}
            refused={refusal.value}
            onClick={() => show({ dialog: 'change', entry })}
          />
        </>
      )}
      <IconButton
        icon="remove"
        label={`Remove ${name}`}
        refused={refusal.value}
        onClick={() => show({ dialog: 'remove', entry })}
      />
    </>
  );
}

function RemoveEntry({ entry, onClose }: { entry: DnsEntry; onClose: () => void }) {
  const { id, server, hostname, ip, expiry } = entry;
  const remove = async () => {
    await change('console_remove_override', { path: { id } });
    onClose();
    const back = async () => {
      await change('console_create_override', { body: { server, hostname, ip, expiry } });
      return `${hostname} on ${server} is back.`;
    };
    // An entry that has expired can be revived while it is there; it cannot be made again.
    const about = keysOf(entry);
    const undo = isOver(entry) ? { about } : undoBy(back, { about, until: expiry });
    notify(`${hostname} on ${server} is removed.`, undo);
  };
  return (
    <Dialog title={`Remove ${hostname} on ${server}?`} onClose={onClose}>
      <p>
        {isOver(entry)
          ? 'It has expired; once removed, it can no longer be revived.'
          : `On the override ports of ${server}, ${hostname} resolves as it does for everybody else, no longer to ${ip}.`}
      </p>
      <Form
        verb="Remove the entry"
        kind="danger"
        onSubmit={remove}
        explain={explain}
        onCancel={onClose}
      />
    </Dialog>
  );
}
