// The account's console: its pages, by what the permissions of whoever is signed in open.
import { useEffect } from 'preact/hooks';
import { Route, Switch, useLocation } from 'wouter-preact';
import { call } from './api.ts';
import { Frame, type Place } from './frame.tsx';
import { follow } from './live.ts';
import { NotFoundPage } from './pages/not_found.tsx';
import { paths } from './paths.ts';
import { queries } from './reading.ts';
import { pages } from './routes.tsx';
import { type Session, session, setSession } from './session.ts';

export function AccountConsole() {
  const [, navigate] = useLocation();
  useEffect(() => {
    const stop = new AbortController();
    void follow('/console/events', stop.signal);
    return () => stop.abort();
  }, []);
  const { user, account } = session.value as Session;
  const open = pages.filter(({ may }) => may.length === 0 || may.some((flag) => user.flags[flag]));
  const places: Place[] = open.map(({ path, name, icon }) => ({ path, name, icon }));
  const leave = async () => {
    await call('console_sign_out', {}).catch(() => undefined);
    queries.clear();
    setSession(null);
    navigate(paths.overview);
  };
  return (
    <Frame
      places={places}
      who={
        <>
          <strong>{user.display_name}</strong>
          <br />
          {user.name} of {account}
        </>
      }
      onLeave={() => void leave()}
    >
      <Switch>
        {open.map(({ path, hasBelow, Page }) => (
          <Route key={path} path={hasBelow ? `${path}/*?` : path}>
            <Page />
          </Route>
        ))}
        <Route>
          <NotFoundPage />
        </Route>
      </Switch>
    </Frame>
  );
}
