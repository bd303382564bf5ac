// The account's console: the pages that the permissions of its user open.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Route, Switch, useLocation } from 'wouter-preact';
import { ApiError, call } from '../api/api.ts';
import { follow } from '../api/live.ts';
import { whoIs } from '../api/reading.ts';
import { personScope, ScopeContext } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import {
  handleAuthError,
  readSessionAgain,
  readSessionIfChanged,
  type Session,
  session,
  setSession,
} from '../api/session.ts';
import { Frame } from '../frame.tsx';
import { routesOf } from '../menu.tsx';
import { NotFoundPage } from '../not_found.tsx';
import { paths } from '../paths.ts';
import { notify, notifyError, PageNotice, toasts } from '../ui/ui.ts';
import { pages } from './pages.tsx';

const loadPalette = () => import('./palette.tsx').then((module) => module.AccountPalette);

/** If another person signs in in another tab, this one shows their console, from its first page. */
export function AccountConsole() {
  const [, navigate] = useLocation();
  const { user, account } = session.value as Session;
  const who = whoIs(session.value);
  const before = useRef(who);
  useLayoutEffect(() => {
    if (before.current === who) return;
    before.current = who;
    navigate(paths.overview);
    notify(`You are now signed in as ${user.name} of ${account}.`);
  }, [who, navigate, user, account]);
  return <OwnConsole key={who} />;
}

function OwnConsole() {
  const [, navigate] = useLocation();
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    void follow('/console/events', signal, readSessionIfChanged);
    const look = () => document.visibilityState === 'visible' && readSessionAgain();
    document.addEventListener('visibilitychange', look, { signal });
    return () => {
      stop.abort();
      // The next person may be of another account, where none of this can be undone.
      toasts.value = [];
    };
  }, []);
  const { user, account } = session.value as Session;
  const scope = personScope();
  const open = pages.filter(({ may }) => may.length === 0 || may.some((flag) => user.flags[flag]));
  const leave = async () => {
    try {
      await call('console_sign_out', {});
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) {
        handleAuthError(error);
        notifyError(`You’re still signed in: ${explain(error).sentence}`);
        return;
      }
    }
    setSession(null);
    navigate(paths.overview);
  };
  return (
    <Frame
      places={open}
      who={
        <>
          <strong>{user.display_name}</strong>
          <br />
          {user.name} of {account}
        </>
      }
      onLeave={() => void leave()}
      loadPalette={loadPalette}
    >
      <ScopeContext.Provider value={scope}>
        <PageNotice.Provider value={scope.readOnlyReason}>
          <Switch>
            {routesOf(open)}
            <Route component={NotFoundPage} />
          </Switch>
        </PageNotice.Provider>
      </ScopeContext.Provider>
    </Frame>
  );
}
