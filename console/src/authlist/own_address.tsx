// The user's own address: whether it is on the IP authlist, and a button to add it.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { dateTime } from '../format.ts';
import { paths } from '../paths.ts';
import { Button, Unread } from '../ui/ui.ts';
import { AuthlistForm } from './form.tsx';

/** `onList`: on the page of the authlist, which needs no link to itself. */
export function OwnAddress({ onList = false }: { onList?: boolean }) {
  const [isAdding, setAdding] = useState(false);
  const scope = useScope();
  const ownAddress = useReadIn(scope, 'get_address', {});
  if (!ownAddress.data) {
    if (onList) return <Unread reading={ownAddress} name="your address" />;
    return (
      <>
        <p class="note">No password. The address must be on the IP authlist.</p>
        <Unread reading={ownAddress} name="your address" />
      </>
    );
  }
  const { ip, entry } = ownAddress.data;
  return (
    <div class="row">
      <p class="note" role="status">
        {entry
          ? `Your address, ${ip}, is on the IP authlist for ${entry.user} until ${dateTime(entry.expiry)}: no password is needed.`
          : `Your address, ${ip}, is not on the IP authlist${scope.flags.admin ? '' : ' for you'}.`}
      </p>
      {entry && !onList && <Link href={paths.authlist}>IP authlist</Link>}
      {!entry && (
        <Button icon="plus" disabledReason={scope.readOnlyReason} onClick={() => setAdding(true)}>
          Add {ip}
        </Button>
      )}
      <Unread reading={ownAddress} name="your address" />
      {isAdding && <AuthlistForm ip={ip} onClose={() => setAdding(false)} />}
    </div>
  );
}
