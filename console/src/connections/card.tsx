// The users who are connected now, on the page of one, of a server, a node or an address.
import { useContext } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ScopeContext } from '../api/scope.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { addressOf, paths } from '../paths.ts';
import { Card, Empty, Loaded } from '../ui/ui.ts';
import { EndButton } from './end.tsx';
import type { ConnectionQuery } from './groups.ts';
import { stateOf, useConnections } from './read.ts';
import { GroupsTable } from './table.tsx';
import { missingText, totalText } from './words.ts';

const maxGroups = 5;

interface ConnectedCardProps {
  target: Pick<ConnectionQuery, 'user' | 'server' | 'address' | 'node'>;
}

export function ConnectedCard({ target }: ConnectedCardProps) {
  const scope = useContext(ScopeContext);
  const reading = useConnections({ ...target, limit: maxGroups });
  const page = (scope?.paths ?? paths.operator).connections;
  const { dialog, open } = useDialog();
  const isOpen = (reading.data?.total.connections ?? 0) > 0;
  const without = target.user ? 'User' : target.address ? 'Address' : 'Server';
  return (
    <Card
      title="Connected now"
      actions={
        <>
          {isOpen && <EndButton {...{ target, scope, open }} />}
          <Link href={addressOf(page, stateOf({ ...target }))}>All connections</Link>
        </>
      }
    >
      <Loaded reading={reading} name="who is connected">
        {({ connections, rest, total, missing }) => (
          <>
            {connections.length === 0 ? (
              <Empty title={target.user ? 'Not connected.' : 'No one is connected.'} />
            ) : (
              <>
                <p class="note">{totalText(total)}</p>
                <GroupsTable rows={connections} {...{ scope, without, open }} />
                {rest.groups > 0 && <p class="note">Only the largest groups are shown.</p>}
              </>
            )}
            {missing.length > 0 && <p class="note">{missingText(missing)}</p>}
          </>
        )}
      </Loaded>
      {dialog}
    </Card>
  );
}
