// The operator's console: its pages, for anyone with an operator token.
import { useEffect, useState } from 'preact/hooks';
import { Link, Route, Switch, useLocation } from 'wouter-preact';
import { call } from '../api/api.ts';
import { follow } from '../api/live.ts';
import { forgetOperatorToken } from '../api/operator_token.ts';
import { queries } from '../api/reading.ts';
import { facts } from '../api/session.ts';
import { Frame } from '../frame.tsx';
import { NotFoundPage } from '../not_found.tsx';
import type { Place } from '../palette/finder.tsx';
import { nameIn, paths } from '../paths.ts';
import '../style/operator.css';
import { lazy } from '../ui/ui.ts';
import { OverviewPage } from './overview.tsx';

const { operator } = paths;

const loadPalette = () => import('./palette.tsx').then((module) => module.OperatorPalette);

const places: Place[] = [
  { path: operator.overview, name: 'Overview', icon: 'overview' },
  { path: operator.accounts, name: 'Accounts', icon: 'accounts' },
  { path: operator.servers, name: 'Servers', icon: 'servers' },
  { path: operator.nodes, name: 'Nodes', icon: 'nodes' },
  { path: operator.port_schemes, name: 'Port schemes', icon: 'link' },
  { path: operator.holders, name: 'Who lists an address', icon: 'authlist' },
  { path: operator.geofeed, name: 'Geo-IP', icon: 'servers' },
  { path: operator.usage, name: 'Usage', icon: 'usage' },
  { path: operator.audit, name: 'Audit log', icon: 'activity' },
  { path: operator.tokens, name: 'Operator tokens', icon: 'tokens' },
];

const AccountsPage = lazy(() => import('./accounts.tsx').then((page) => page.AccountsPage));
const AccountPage = lazy(() => import('./account.tsx').then((page) => page.AccountPage));
const ServersPage = lazy(() => import('./servers.tsx').then((page) => page.ServersPage));
const ServerPage = lazy(() => import('./server.tsx').then((page) => page.ServerPage));
const NodesPage = lazy(() => import('./nodes.tsx').then((page) => page.NodesPage));
const NodePage = lazy(() => import('./node.tsx').then((page) => page.NodePage));
const PortSchemesPage = lazy(() =>
  import('./port_schemes.tsx').then((page) => page.PortSchemesPage),
);
const HoldersPage = lazy(() => import('./holders.tsx').then((page) => page.HoldersPage));
const GeofeedPage = lazy(() => import('./geofeed.tsx').then((page) => page.GeofeedPage));
const UsagePage = lazy(() => import('./usage.tsx').then((page) => page.UsagePage));
const AuditPage = lazy(() => import('./audit.tsx').then((page) => page.AuditPage));
const TokensPage = lazy(() => import('./tokens.tsx').then((page) => page.TokensPage));

export function OperatorConsole() {
  const [location, navigate] = useLocation();
  useEffect(() => {
    const stop = new AbortController();
    void follow('/admin/events', stop.signal);
    return () => stop.abort();
  }, []);
  const [operator_name, setName] = useState('');
  useEffect(() => {
    const stop = new AbortController();
    call('admin_get_status', {}, { signal: stop.signal }).then(
      ({ operator }) => setName(operator),
      // The pages show the error.
      () => undefined,
    );
    return () => stop.abort();
  }, []);
  // A listener for operators only has its first page at "/".
  useEffect(() => {
    if (location === '/') navigate(operator.overview, { replace: true });
  }, [location, navigate]);
  const leave = () => {
    forgetOperatorToken();
    queries.clear();
    navigate(operator.overview);
  };
  return (
    <Frame
      isOfOperator
      places={places}
      who={
        <>
          <strong>{operator_name || 'Operator'}</strong>
          <br />
          Operator of the network
          {facts.value?.audiences.account && (
            <>
              <br />
              <Link href={paths.overview}>Sign in to an account</Link>
            </>
          )}
        </>
      }
      onLeave={leave}
      loadPalette={loadPalette}
    >
      <Switch>
        <Route path={operator.overview} component={OverviewPage} />
        <Route path={operator.accounts} component={AccountsPage} />
        <Route path={`${operator.accounts}/:name/:part?`}>
          {({ name, part }: { name: string; part?: string }) => (
            <AccountPage key={name} name={nameIn(name)} part={part ?? ''} />
          )}
        </Route>
        <Route path={operator.servers} component={ServersPage} />
        <Route path={`${operator.servers}/:name`}>
          {({ name }: { name: string }) => <ServerPage key={name} name={nameIn(name)} />}
        </Route>
        <Route path={operator.nodes} component={NodesPage} />
        <Route path={`${operator.nodes}/:id`}>
          {({ id }: { id: string }) => <NodePage key={id} id={Number(id)} />}
        </Route>
        <Route path={operator.port_schemes} component={PortSchemesPage} />
        <Route path={operator.holders} component={HoldersPage} />
        <Route path={operator.geofeed} component={GeofeedPage} />
        <Route path={operator.usage} component={UsagePage} />
        <Route path={operator.audit} component={AuditPage} />
        <Route path={operator.tokens} component={TokensPage} />
        <Route>{location === '/' ? null : <NotFoundPage />}</Route>
      </Switch>
    </Frame>
  );
}
