// Custom DNS: hostnames that resolve to addresses of the account's choice, and their status.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { useScope } from '../api/scope.ts';
import { ExportMenu } from '../forms/export.tsx';
import { FilteredList, useFilteredList } from '../forms/filtered_list.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { ManyBar } from '../forms/many.tsx';
import { OfEntry } from '../forms/of_entry.tsx';
import { Removals } from '../forms/remove_all.tsx';
import { useServerChoices } from '../forms/server_choices.ts';
import { ServerField } from '../forms/server_field.tsx';
import { AddButton, Empty, Page } from '../ui/ui.ts';
import { type DnsEntry, newsOf } from './entries.ts';
import { DnsForm } from './form.tsx';
import { EntryNodes } from './nodes.tsx';
import { csvColumns, DnsTable } from './table.tsx';

const sorts = ['hostname', 'ip', 'server', 'expiry', 'id'] as const;
const states = {
  current: 'Not expired',
  pending: 'Pending',
  active: 'Active',
  expiring: 'Expiring',
  expired: 'Expired',
};

export function DnsPage() {
  const { account, isOperator, readOnlyReason, base } = useScope();
  const [server, setServer] = useAddressState('server');
  const list = useFilteredList('console_list_overrides', {
    ...{ key: 'id', sorts, sort: 'hostname', states, ownFilters: { server }, base },
  });
  const { pages, rows, table, selection, selected } = list;
  const { dialog, open, openLinked } = useDialog({
    add: (close) => <DnsForm onClose={close} changeOther={changeOther} />,
    change: (close, id) => (
      <OfEntry read="get_override" {...{ rows, id }} onClose={close}>
        {(entry) => <DnsForm entry={entry} onClose={close} changeOther={changeOther} />}
      </OfEntry>
    ),
    nodes: (close, id) => isOperator && <EntryNodes id={Number(id)} onClose={close} />,
  });
  function changeOther(id: number) {
    openLinked('change', String(id));
  }
  const add = (
    <AddButton disabledReason={readOnlyReason} onClick={() => openLinked('add')}>
      Add an entry
    </AddButton>
  );
  return (
    <Page
      note="Point a hostname at an IP address of your choice. It applies on override ports only."
      actions={pages.total > 0 && add}
    >
      <FilteredList
        name="the custom DNS entries"
        empty={
          <Empty title="No hostnames overridden" action={add}>
            Use an entry to check a site before you move it: you see the new server, and everyone
            else still sees the old one.
          </Empty>
        }
        lead={<News entries={rows} />}
        placeholder="Hostname, address or note"
        fields={
          <ServerField
            name="on_server"
            value={server}
            onInput={setServer}
            none="All servers"
            useChoices={useServerChoices}
          />
        }
        bar={<ManyBar list="overrides" {...{ selected, selection, open }} />}
        {...{ list }}
      >
        <DnsTable
          {...table}
          {...{ open, openLinked }}
          buttons={<ExportMenu name="custom-dns" pages={pages} {...csvColumns} />}
        />
      </FilteredList>
      <Removals list="overrides" entries={pages.total} open={open}>
        On every server, the hostnames overridden by {account} will resolve as they do for everyone
        else. Expired entries are removed, too.
      </Removals>
      {dialog}
    </Page>
  );
}

/** Announces to screen readers which entries have become active. */
function News({ entries }: { entries: readonly DnsEntry[] }) {
  const before = useRef<Map<number, string>>();
  const [news, setNews] = useState('');
  useEffect(() => {
    // A new row comes from another page or filter.
    const earlierEntries = entries.filter(({ id }) => before.current?.has(id));
    const text = before.current && newsOf(before.current, earlierEntries);
    before.current = new Map(entries.map(({ id, status }) => [id, status]));
    if (text) setNews(`${text}.`);
  }, [entries]);
  return (
    <p class="visually-hidden" role="status">
      {news}
    </p>
  );
}
