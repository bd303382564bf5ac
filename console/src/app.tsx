// The root of the page: shows the account's console, the operator's, or a way to sign in.
import { Route, Switch, useLocation } from 'wouter-preact';
import { AccountConsole } from './account/console.tsx';
import { InvitePage } from './account/sign_in/invite.tsx';
import { EnterPage } from './account/sign_in/link.tsx';
import { SignInPage } from './account/sign_in/page.tsx';
import { operatorToken } from './api/operator_token.ts';
import { explain } from './api/sentences.ts';
import { facts, session, start, startFault } from './api/session.ts';
import { paths } from './paths.ts';
import { Button, Loading, lazy, SingleCard } from './ui/ui.ts';

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
      <SingleCard title="Exitward isn’t responding">
        <p role="alert">{explain(startFault.value).sentence}</p>
        <Button onClick={() => void start()}>Try again</Button>
      </SingleCard>
    );
  }
  const serverFacts = facts.value;
  if (!serverFacts || session.value === undefined) return <Waiting />;
  const isOperators = location === '/operator' || location.startsWith('/operator/');
  if (serverFacts.audiences.operator && (isOperators || !serverFacts.audiences.account)) {
    return operatorToken.value ? <OperatorConsole /> : <OperatorSignIn />;
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
    <main class="single-card">
      <Loading>Opening the console …</Loading>
    </main>
  );
}
