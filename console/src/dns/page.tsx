// Custom DNS: which hostnames resolve to an address of the account's choice, where, and whether they do already.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { type OpenDialog, useDialog } from '../forms/form_dialog.tsx';
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
} from '../ui/ui.ts';
import { type DnsEntry, filtered, newsOf } from './entries.ts';
import { openDnsForm } from './form.tsx';
import { DnsTable } from './table.tsx';

export function DnsPage() {
  const scope = useScope();
  const entries = useReadIn(scope, 'list_overrides', {});
  const { dialog, open } = useDialog();
  const { account, readOnlyReason } = scope;
  const total = entries.data?.length ?? 0;
  const add = (
    <Button
      kind="primary"
      icon="plus"
      disabledReason={readOnlyReason}
      onClick={() => openDnsForm(open)}
    >
      Add an entry
    </Button>
  );
  const removeAll = () =>
    open((close) => (
      <RemoveAll list="overrides" entries={total} onClose={close}>
        On every server, the hostnames that account {account} overrides resolve as they do for
        everybody else; expired entries go, too.
      </RemoveAll>
    ));
  return (
    <Page
      title="Custom DNS"
      note="On its override port, a server resolves a hostname to an address of your choice."
      actions={
        total > 0 && (
          <>
            <Button icon="remove" disabledReason={readOnlyReason} onClick={removeAll}>
              Remove all …
            </Button>
            {add}
          </>
        )
      }
    >
      <Card>
        <Loaded of={entries} what="the custom DNS entries">
          {(all) => (
            <>
              <News entries={all} />
              {all.length > 0 ? (
                <Entries all={all} open={open} />
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
      <LastRemovals list="overrides" />
      {dialog}
    </Page>
  );
}

/** Tells those who do not see the table which entries have become active. */
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

const states = optionsIn({
  '': 'All states',
  current: 'All but expired',
  pending: 'Pending',
  active: 'Active',
  expiring: 'Expiring',
  expired: 'Expired',
});

const noFilters = { search: '', server: '', state: '' };

function Entries({ all, open }: { all: readonly DnsEntry[]; open: OpenDialog }) {
  const [{ search: text, server, state }, set] = useAddressStates(noFilters);
  const filter = { text, server, state };
  const servers = [...new Set([...all.map(({ server }) => server), filter.server])].filter(Boolean);
  return (
    <>
      <div class="filters">
        <SearchField
          label="Hostname or address"
          name="text"
          value={filter.text}
          onInput={(search) => set({ search })}
        />
        <SelectField
          label="Server"
          name="of"
          value={filter.server}
          onInput={(server) => set({ server })}
          options={optionsOf(servers.sort(), 'All servers')}
        />
        <SelectField
          label="State"
          name="state"
          value={filter.state}
          onInput={(state) => set({ state })}
          options={states}
        />
      </div>
      <DnsTable
        rows={filtered(all, filter)}
        all={all.length}
        filter={Object.values(filter).join(' ')}
        open={open}
      />
    </>
  );
}
