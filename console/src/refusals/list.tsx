// Connections that were refused lately, of an account or of the whole network: those that match,
// newest first.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { localDay } from '../activity/days.ts';
import { LookBack } from '../activity/look_back.tsx';
import { useAddressStates, usePath } from '../address.ts';
import { usePages } from '../api/paging.ts';
import type { Scope } from '../api/scope.ts';
import { ExportMenu } from '../forms/export.tsx';
import { ServerField } from '../forms/server_field.tsx';
import type { Choices } from '../forms/suggest_field.tsx';
import { Views } from '../forms/views.tsx';
import { addressOf } from '../paths.ts';
import { isAddress, useTyped } from '../typed.ts';
import { Card, DateField, FilterBar, SearchField, SelectField } from '../ui/ui.ts';
import { csvColumns, RefusalTable } from './table.tsx';
import type { Refusal } from './to_test.ts';
import { reasonOptions } from './words.ts';
import '../style/activity.css';

const noFilters = {
  ...{ address: '', account: '', user: '', server: '', node: '', reason: '', from: '', to: '' },
};
/** Nodes report every ten seconds; no event says so. */
const renewMs = 10_000;

interface RefusalListProps {
  /** Of the account; undefined: of the network. */
  scope?: Scope | undefined;
  useServers: (search: string) => Choices;
  /** Filters that only this list has, and those of them that are seldom needed. */
  children?: ComponentChildren;
  rareFields?: ComponentChildren;
}

export function RefusalList({ scope, useServers, children, rareFields }: RefusalListProps) {
  const [values, change] = useAddressStates(noFilters);
  const { address, account, user, server, node, reason, from, to } = values;
  const [typed, setTyped] = useTyped(address, (address) => change({ address }));
  const [path, navigate] = usePath();
  const [since, until] = [localDay(from), localDay(to, 1)];
  const text = address.trim();
  const query = {
    ...(isAddress(text) && { address: text }),
    ...(account && { account }),
    ...(user && (scope || account) && { user }),
    ...(server && { server }),
    ...(node && !scope && { node }),
    ...(reason && { reason: reason as 'other' }),
    ...(since !== undefined && { since: String(since) }),
    ...(until !== undefined && { until: String(until) }),
  };
  const operation = scope ? 'console_list_refusals' : 'admin_list_refusals';
  const pages = usePages(operation, { query, limit: 100, base: scope?.base });
  const { refetch } = pages.rows;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refetch();
    }, renewMs);
    return () => clearInterval(timer);
  }, [refetch]);
  const isFiltering = Object.values(values).some(Boolean);
  const { address: _, ...folded } = values;
  const field = (name: keyof typeof noFilters) => ({
    name,
    value: values[name],
    onInput: (value: string) => change({ [name]: value }),
  });
  return (
    <Card>
      <Views />
      <div class="list-head">
        <FilterBar
          look="audit-filters"
          values={Object.values(folded)}
          rareValues={[...(scope ? [] : [user, node]), from, to]}
          rareFields={
            <>
              {rareFields}
              <DateField label="From" {...field('from')} max={to || undefined} />
              <DateField label="To" {...field('to')} min={from || undefined} />
            </>
          }
          first={
            <SearchField
              label="Address"
              name="address"
              placeholder="203.0.113.7"
              maxLength={64}
              value={typed}
              onInput={setTyped}
            />
          }
        >
          {children}
          <ServerField {...field('server')} none="All servers" useChoices={useServers} />
          <SelectField
            {...field('reason')}
            label="Reason"
            options={[{ value: '', text: 'Any reason' }, ...reasonOptions]}
          />
        </FilterBar>
      </div>
      <LookBack
        {...{ pages, isFiltering }}
        search={JSON.stringify(query)}
        name="the refused connections"
        noun="row"
        onClear={() => navigate(addressOf(path, {}), { replace: true })}
        exporter={<ExportMenu<Refusal> name="refused" pages={pages} {...csvColumns} />}
        empty={{
          title: 'Nothing refused lately',
          text: 'Refused connections appear here within seconds.',
          noMatch: 'No refused connection matches.',
        }}
      >
        <RefusalTable rows={pages.rows.data ?? []} scope={scope} />
      </LookBack>
    </Card>
  );
}
