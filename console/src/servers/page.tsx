// The servers of the contract and of the network, on a map and in a list; each server has a page of its own.
import { useMemo, useRef } from 'preact/hooks';
import { useRoute } from 'wouter-preact';
import { useAddressSearch, useAddressStates } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { addressOf, nameIn, paths } from '../paths.ts';
import { Button, Loaded, Page } from '../ui/ui.ts';
import { ServerList } from './list.tsx';
import { ServerMap } from './map.tsx';
import { OneServer } from './one.tsx';
import { ProxyList } from './proxy_list.tsx';
import { type Filters, noFilters, rowsOf, sortings, views } from './rows.ts';
import '../style/map.css';
import '../style/servers.css';

const none: never[] = [];

export function ServersPage() {
  const scope = useScope();
  const [, one] = useRoute(`${paths.servers}/:server`);
  const [filters, filter] = useFilters();
  const search = useAddressSearch();
  // The list as it was, while a server is looked at.
  const list = useRef<string>(paths.servers);
  if (!one) list.current = addressOf(paths.servers, search);
  const own = useReadIn(scope, 'list_servers', {});
  const network = useReadIn(scope, 'list_network', {});
  const { dialog, openLinked } = useDialog({
    list: (close) => own.data && <ProxyList servers={own.data} onClose={close} />,
  });
  const contract = useReadIn(scope, 'get_contract', {}, { enabled: scope.isOperator }).data;
  const rows = useMemo(
    () => rowsOf(network.data ?? none, own.data ?? none),
    [network.data, own.data],
  );
  const reading = own.data ? network : own;
  if (one) {
    const server = nameIn(one.server);
    const row = rows.find(({ name }) => name === server);
    return <OneServer key={server} name={server} row={row} reading={reading} list={list.current} />;
  }
  return (
    <Page
      title="Servers"
      note={
        scope.isOperator
          ? contract && onOwnLimits(contract.detailed_billing)
          : 'Open a server for its exit IPs and ports, and for settings to copy.'
      }
      actions={
        !scope.isOperator &&
        own.data?.some(({ services }) => services.some((one) => one.startsWith('proxy'))) && (
          <Button icon="copy" onClick={() => openLinked('list')}>
            Proxy list
          </Button>
        )
      }
    >
      <Loaded of={{ ...reading, data: own.data && network.data }} what="the servers">
        {() => (
          <>
            <ServerMap rows={rows} filters={filters} onFilter={filter} />
            <ServerList rows={rows} filters={filters} onFilter={filter} />
          </>
        )}
      </Loaded>
      {dialog}
    </Page>
  );
}

/** The filters as the address has them. Names hold no space. */
function useFilters(): [Filters, (changes: Partial<Filters>) => void] {
  const [{ view, sort, chosen, rows: _, ...texts }, change] = useAddressStates({
    ...noFilters,
    chosen: '',
    rows: '',
  } as Record<keyof Filters | 'rows', string>);
  const filters: Filters = {
    ...texts,
    view: views.find((one) => one === view) ?? noFilters.view,
    sort: sortings.find((one) => one === sort) ?? noFilters.sort,
    chosen: chosen.split(' ').filter(Boolean),
  };
  return [
    filters,
    ({ chosen, ...changes }) =>
      change({ rows: '', ...changes, ...(chosen && { chosen: chosen.join(' ') }) }),
  ];
}

const onOwnLimits = (areCounted: boolean) =>
  areCounted
    ? 'Own limits count: the contract has detailed server billing.'
    : 'Own limits do not count: the contract has no detailed server billing.';
