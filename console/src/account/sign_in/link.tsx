// A one-time link that signs in by itself, as `npm start` prints one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { ApiError, call } from '../../api/api.ts';
import { explain } from '../../api/sentences.ts';
import { session, startSession } from '../../api/session.ts';
import { paths } from '../../paths.ts';
import { Button, Loading, SingleCard } from '../../ui/ui.ts';
import { DeadLink } from './invite.tsx';

export function EnterPage({ code }: { code: string }) {
  // Any page can hold such a link: a user who is signed in is asked before that session ends.
  const before = useRef(session.value).current;
  const [agreed, setAgreed] = useState(!before);
  if (agreed || !before) return <Entering code={code} />;
  return (
    <SingleCard title="Sign in by this link?">
      <p>
        You are signed in as <strong>{before.user.name}</strong> of{' '}
        <strong>{before.account}</strong>. The link may be somebody else's; using it ends your
        session in this browser.
      </p>
      <div class="actions">
        <Button kind="primary" onClick={() => setAgreed(true)}>
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
        <Loading>Using the link …</Loading>
      )}
    </SingleCard>
  );
}
