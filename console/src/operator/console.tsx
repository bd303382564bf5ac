// The operator's console: its pages, for anyone with an operator token.
import { useEffect, useState } from 'preact/hooks';
import { Link, Route, Switch, useLocation } from 'wouter-preact';
import { call } from '../api/api.ts';
import { follow } from '../api/live.ts';
import { forgetOperatorToken } from '../api/operator_token.ts';
import { queries } from '../api/reading.ts';
import { facts } from '../api/session.ts';
import { Frame } from '../frame.tsx';
import { redirectsOf, routesOf } from '../menu.tsx';
import { NotFoundPage } from '../not_found.tsx';
import { moved, nameIn, paths } from '../paths.ts';
import '../style/operator.css';
import { lazy } from '../ui/ui.ts';
import { pages, placesFor } from './pages.tsx';

const { operator } = paths;

const loadPalette = () => import('./palette.tsx').then((module) => module.OperatorPalette);

const AccountPage = lazy(() => import('./account.tsx').then((page) => page.AccountPage));
const ServerPage = lazy(() => import('./server.tsx').then((page) => page.ServerPage));
const NodePage = lazy(() => import('./node.tsx').then((page) => page.NodePage));

export function OperatorConsole() {
  const [location, navigate] = useLocation();
  useEffect(() => {
    const stop = new AbortController();
    void follow('/admin/events', stop.signal);
    return () => stop.abort();
  }, []);
  const [own, setOwn] = useState({ operator: '', may_find_connections: false });
  useEffect(() => {
    const stop = new AbortController();
    call('admin_get_status', {}, { signal: stop.signal }).then(
      setOwn,
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
      places={placesFor(own.may_find_connections)}
      who={
        <>
          <strong>{own.operator || 'Operator'}</strong>
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
        {routesOf(pages)}
        {redirectsOf(moved)}
        <Route path={`${operator.accounts}/:name/:part?/*?`}>
          {({ name, part }: { name: string; part?: string }) => (
            <AccountPage key={name} name={nameIn(name)} part={part ?? ''} />
          )}
        </Route>
        <Route path={`${operator.servers}/:name`}>
          {({ name }: { name: string }) => <ServerPage key={name} name={nameIn(name)} />}
        </Route>
        <Route path={`${operator.nodes}/:id`}>
          {({ id }: { id: string }) => <NodePage key={id} id={Number(id)} />}
        </Route>
        <Route>{location === '/' ? null : <NotFoundPage />}</Route>
      </Switch>
    </Frame>
  );
}
