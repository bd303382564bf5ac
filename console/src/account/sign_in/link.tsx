// A one-time link that signs in, as `npm start` prints one. Programs open links, too (scanners of
// mail, previews): the code is sent when a button is pressed.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { ApiError, call } from '../../api/api.ts';
import { explain } from '../../api/sentences.ts';
import { session, startSession } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { Button, Loading, SingleCard } from '../../ui/ui.ts';
import { DeadLink } from './invite.tsx';

export function EnterPage({ code }: { code: string }) {
  const before = useRef(session.value).current;
  const [isPressed, setPressed] = useState(false);
  if (isPressed) return <Entering code={code} />;
  const press = () => setPressed(true);
  if (!before) {
    return (
      <SingleCard title="Sign in">
        <p>This link signs you in. It works once.</p>
        <div class="actions">
          <Button kind="primary" onClick={press}>
            Sign in
          </Button>
        </div>
      </SingleCard>
    );
  }
  return (
    <SingleCard title="Sign in with this link?">
      <p>
        You are signed in as <strong>{before.user.name}</strong> of{' '}
        <strong>{before.account}</strong>. The link may be somebody else's; using it ends your
        session in this browser.
      </p>
      <div class="actions">
        <Button kind="primary" onClick={press}>
          Use the link
        </Button>
        <Link href={paths.overview} class="button" replace>
          Stay signed in
        </Link>
      </div>
    </SingleCard>
  );
}

function Entering({ code }: { code: string }) {
  const [, navigate] = useLocation();
  const [fault, setFault] = useState<unknown>();
  const [tries, setTries] = useState(1);
  const sent = useRef('');
  useEffect(() => {
    // The code works once, so drawing the page again must not send it again.
    const attempt = `${tries} ${code}`;
    if (sent.current === attempt) return;
    sent.current = attempt;
    setFault(undefined);
    call('console_enter_by_link', { body: { code } }).then((entered) => {
      startSession(entered);
      navigate(paths.overview, { replace: true });
    }, setFault);
  }, [code, tries, navigate]);

  if (fault instanceof ApiError && fault.status === 401) {
    return <DeadLink sentence={explain(fault).sentence} />;
  }
  return (
    <SingleCard title="Signing in">
      {fault ? (
        <>
          <p role="alert">{explain(fault).sentence}</p>
          <p>
            <Button onClick={() => setTries(tries + 1)}>Try again</Button>
          </p>
        </>
      ) : (
        <Loading>Signing in …</Loading>
      )}
    </SingleCard>
  );
}
