// Who is there decides what is shown: the account's console, the operator's, or a way to sign in.
import { Route, Switch, useLocation } from 'wouter-preact';
import { AccountConsole } from './account_console.tsx';
import { operatorToken } from './operator_token.ts';
import { EnterPage } from './pages/enter.tsx';
import { InvitePage } from './pages/invite.tsx';
import { SignInPage } from './pages/sign_in.tsx';
import { paths } from './paths.ts';
import { explain } from './sentences.ts';
import { facts, session, start, startFault } from './session.ts';
import { Button } from './ui/button.tsx';
import { lazy } from './ui/lazy.tsx';
import { Lone } from './ui/lone.tsx';

const OperatorConsole = lazy(() =>
  import('./operator/console.tsx').then((module) => module.OperatorConsole),
);
const OperatorSignIn = lazy(() =>
  import('./operator/sign_in.tsx').then((module) => module.OperatorSignIn),
);

export function App() {
  const [location] = useLocation();
  if (startFault.value) {
    return (
      <Lone title="Exitward does not answer">
        <p role="alert">{explain(startFault.value).sentence}</p>
        <Button onClick={() => void start()}>Try again</Button>
      </Lone>
    );
  }
  const known = facts.value;
  if (!known || session.value === undefined) return <Waiting />;
  const isOperators = location === '/operator' || location.startsWith('/operator/');
  if (isOperators || !known.audiences.account) {
    if (known.audiences.operator) {
      return operatorToken.value ? <OperatorConsole /> : <OperatorSignIn />;
    }
  }
  return (
    <Switch>
      <Route path={paths.invite(':code')}>
        {({ code }: { code: string }) => <InvitePage code={code} />}
      </Route>
      <Route path={paths.enter(':code')}>
        {({ code }: { code: string }) => <EnterPage code={code} />}
      </Route>
      <Route>{session.value ? <AccountConsole /> : <SignInPage />}</Route>
    </Switch>
  );
}

function Waiting() {
  return (
    <main class="lone">
      <p class="loading" role="status">
        <span class="spinner" aria-hidden="true" /> Opening the console …
      </p>
    </main>
  );
}
