// The servers of the contract and of the network, on a map and in a list; each has its own page.
import { useRef } from 'preact/hooks';
import { useRoute } from 'wouter-preact';
import { useAddressSearch } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { addressOf, nameIn, paths } from '../paths.ts';
import { Button, Page, Unread } from '../ui/ui.ts';
import { useServerFilters } from './filters.ts';
import { ServerList } from './list.tsx';
import { ServerMap } from './map.tsx';
import { OneServer } from './one.tsx';
import { countsOf } from './places.ts';
import { ProxyList } from './proxy_list.tsx';
import '../style/map.css';
import '../style/servers.css';

export function ServersPage() {
  const [, params] = useRoute(`${paths.servers}/:server/:tab?`);
  const search = useAddressSearch();
  // The address of the list, for the way back from a server.
  const list = useRef<string>(paths.servers);
  if (!params) list.current = addressOf(paths.servers, search);
  if (!params) return <ListPage />;
  const server = nameIn(params.server);
  return <OneServer key={server} name={server} tab={params.tab ?? ''} list={list.current} />;
}

function ListPage() {
  const scope = useScope();
  const filters = useServerFilters();
  const places = useReadIn(scope, 'list_network_places', {});
  const { dialog, openLinked } = useDialog({
    list: (close) => <ProxyList places={places.data ?? []} onClose={close} />,
  });
  const contract = useReadIn(scope, 'get_contract', {}, { enabled: scope.isOperator });
  return (
    <Page
      note={
        scope.isOperator
          ? contract.data && onOwnLimits(contract.data.detailed_billing)
          : 'Open a server to see its exit IPs and ports, and settings to copy.'
      }
      actions={
        !scope.isOperator &&
        places.data &&
        countsOf(places.data).contract > 0 && (
          <Button icon="copy" onClick={() => openLinked('list')}>
            Proxy list
          </Button>
        )
      }
    >
      <Unread reading={contract} name="the contract" />
      <Unread reading={places} name="the places of the servers" />
      {(places.data || !places.error) && <ServerMap places={places.data} filters={filters} />}
      <ServerList places={places.data} filters={filters} />
      {dialog}
    </Page>
  );
}

const onOwnLimits = (areCounted: boolean) =>
  areCounted
    ? 'Own limits apply: the contract has detailed server billing.'
    : 'Own limits don’t apply: the contract has no detailed server billing.';
