// Custom DNS: which hostnames resolve to an address of the account's choice, where, and whether they do already.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { readPage, usePages } from '../api/paging.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { ExportButtons } from '../forms/export.tsx';
import {
  endingOptions,
  useDialogName,
  useEndsBefore,
  useSorting,
  useTypedState,
} from '../forms/list_state.ts';
import { ManyBar, ManyDialog } from '../forms/many.tsx';
import { adderOf } from '../forms/note.tsx';
import { LastRemovals, RemoveAll } from '../forms/remove_all.tsx';
import {
  Button,
  Card,
  Empty,
  Loaded,
  optionsIn,
  optionsOf,
  Page,
  SearchField,
  SelectField,
  useSelection,
} from '../ui/ui.ts';
import { type DnsEntry, newsOf } from './entries.ts';
import { DnsForm } from './form.tsx';
import { EntryNodes } from './nodes.tsx';
import { DnsTable, RemoveEntry } from './table.tsx';
import { TryDns } from './try.tsx';

const rowsOfPage = 100;
const sorts = ['hostname', 'ip', 'server', 'expiry', 'id'] as const;
const states = ['current', 'pending', 'active', 'expiring', 'expired'] as const;
const stateOptions = optionsIn({
  '': 'All states',
  current: 'All but expired',
  pending: 'Pending',
  active: 'Active',
  expiring: 'Expiring',
  expired: 'Expired',
});

export function DnsPage() {
  const scope = useScope();
  const { readOnlyReason, base } = scope;
  const [text, setText, search] = useTypedState('search');
  const [server, setServer] = useAddressState('server');
  const [stateText, setState] = useAddressState('state');
  const [ends, setEnds] = useAddressState('ends');
  const { sorting, query: order } = useSorting(sorts, 'hostname');
  const state = states.find((one) => one === stateText);
  const query = {
    ...order,
    ...{ search: search.trim(), server, ends_before: useEndsBefore(ends) },
    ...(state ? { state } : {}),
  };
  const pages = usePages('console_list_overrides', { query, limit: rowsOfPage, base });
  const rows = pages.rows.data ?? [];
  const selection = useSelection(rows.map(({ id }) => id));
  const { name: dialog, verb, id, open, close } = useDialogName();
  const isFiltered = Boolean(search || server || state || ends);
  const isEmpty = pages.rows.data !== undefined && pages.total === 0;
  const add = (
    <Button kind="primary" icon="plus" disabledReason={readOnlyReason} onClick={() => open('add')}>
      Add an entry
    </Button>
  );
  return (
    <Page
      wide
      title="Custom DNS"
      note="On its override port, a server resolves a hostname to an address of your choice."
      actions={
        pages.total > 0 && (
          <>
            <Button
              icon="remove"
              disabledReason={readOnlyReason}
              onClick={() => open('remove-all')}
            >
              Remove all …
            </Button>
            {add}
          </>
        )
      }
    >
      <Card>
        <News entries={rows} />
        <Loaded of={pages.rows} what="the custom DNS entries">
          {() =>
            isEmpty && !isFiltered ? (
              <Empty title="No hostname is overridden." action={add}>
                With an entry you see a page as it will be after a move: the name leads to the new
                server for you, while everybody else still gets the old one.
              </Empty>
            ) : (
              <>
                <div class="list-head">
                  <div class="filters">
                    <SearchField
                      label="Search"
                      name="search"
                      placeholder="Hostname, address or note"
                      value={text}
                      onInput={setText}
                    />
                    <ServerFilter server={server} onInput={setServer} />
                    <SelectField
                      label="State"
                      name="state"
                      value={state ?? ''}
                      onInput={setState}
                      options={stateOptions}
                    />
                    <SelectField
                      label="Ends"
                      name="ends"
                      value={ends}
                      onInput={setEnds}
                      options={endingOptions}
                    />
                  </div>
                  <ManyBar selection={selection} open={open} />
                </div>
                <DnsTable
                  pages={pages}
                  rows={rows}
                  sorting={sorting}
                  selection={selection}
                  open={open}
                  beside={
                    <ExportButtons
                      name="custom-dns"
                      read={(next) =>
                        readPage('console_list_overrides', { ...query, limit: 1000 }, next, base)
                      }
                      header={exported}
                      cells={cellsOf}
                    />
                  }
                />
              </>
            )
          }
        </Loaded>
      </Card>
      <LastRemovals list="overrides" />
      <Dialogs
        rows={rows}
        dialog={dialog}
        verb={verb}
        id={id}
        total={pages.total}
        open={open}
        onClose={close}
      />
      <ManyDialog
        name={dialog}
        list="overrides"
        chosen={rows.filter((row) => selection.keys.has(row.id))}
        selection={selection}
        onClose={close}
      />
    </Page>
  );
}

const exported = [
  ...['hostname', 'resolves_to', 'server', 'state', 'expires', 'note', 'added_by', 'added_at'],
];
const timeText = (at: number | null) => (at === null ? '' : new Date(at * 1000).toISOString());
const cellsOf = (entry: DnsEntry) => [
  ...[entry.hostname, entry.ip, entry.server, entry.status, timeText(entry.expiry), entry.note],
  ...[adderOf(entry), timeText(entry.added_at)],
];

interface DialogsProps {
  rows: readonly DnsEntry[];
  dialog: string;
  verb: string;
  id: number;
  total: number;
  open: (name: string) => void;
  onClose: () => void;
}

const ofEntries = ['change', 'remove', 'nodes', 'try'];

function Dialogs({ rows, dialog, verb, id, total, open, onClose }: DialogsProps) {
  const scope = useScope();
  const row = rows.find((one) => one.id === id);
  // A link may name an entry that is on no page that was read.
  const isWanted = ofEntries.includes(verb) && !row;
  const found = useReadIn(scope, 'get_override', { path: { id } }, { enabled: isWanted }).data;
  const entry = row ?? (isWanted && found?.id === id ? found : undefined);
  if (dialog === 'add') return <DnsForm onClose={onClose} open={open} />;
  if (dialog === 'remove-all' && total > 0) {
    return (
      <RemoveAll list="overrides" entries={total} onClose={onClose}>
        On every server, the hostnames that account {scope.account} overrides resolve as they do for
        everybody else; expired entries go, too.
      </RemoveAll>
    );
  }
  if (!entry) return null;
  if (verb === 'change') {
    return <DnsForm key={id} entry={entry} onClose={onClose} open={open} />;
  }
  if (verb === 'remove') return <RemoveEntry entry={entry} onClose={onClose} />;
  if (verb === 'nodes' && scope.isOperator) return <EntryNodes id={id} onClose={onClose} />;
  return verb === 'try' ? <TryDns entry={entry} onClose={onClose} /> : null;
}

function ServerFilter({ server, onInput }: { server: string; onInput: (server: string) => void }) {
  const servers = useReadIn(useScope(), 'list_servers', {}).data ?? [];
  const names = new Set([...servers.map((one) => one.server), ...(server ? [server] : [])]);
  return (
    <SelectField
      label="Server"
      name="of"
      value={server}
      onInput={onInput}
      options={optionsOf([...names].sort(), 'All servers')}
    />
  );
}

/** Tells those who do not see the table which entries have become active. */
function News({ entries }: { entries: readonly DnsEntry[] }) {
  const before = useRef<Map<number, string>>();
  const [news, setNews] = useState('');
  useEffect(() => {
    // An entry that was not there before has come by another page or filter.
    const known = entries.filter(({ id }) => before.current?.has(id));
    const text = before.current && newsOf(before.current, known);
    before.current = new Map(entries.map(({ id, status }) => [id, status]));
    if (text) setNews(`${text}.`);
  }, [entries]);
  return (
    <p class="visually-hidden" role="status">
      {news}
    </p>
  );
}
