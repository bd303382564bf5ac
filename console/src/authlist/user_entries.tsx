// The listed addresses of a user, those that end first.
import { Link } from 'wouter-preact';
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { addressOf } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import { Card, Empty, Loaded, Table } from '../ui/ui.ts';

const maxEntries = 5;

interface UserEntriesProps {
  user: string;
  note: string;
}

export function UserEntries({ user, note }: UserEntriesProps) {
  const { base, paths } = useScope();
  // The entries that end first matter most.
  const query = { sort: 'expiry', user } as const;
  const { rows, found: matchCount } = usePages('console_list_authlist', {
    ...{ query, limit: maxEntries, base },
  });
  const others = matchCount - (rows.data?.length ?? matchCount);
  const list = addressOf(paths.authlist, { user });
  return (
    <Card title="Addresses" note={note} actions={<Link href={list}>IP authlist</Link>}>
      <Loaded reading={rows} name="the addresses">
        {(shown) =>
          shown.length === 0 ? (
            <Empty title="No addresses on the authlist" />
          ) : (
            <Table
              caption="Addresses on the authlist"
              rows={shown}
              keyOf={({ id }) => id}
              columns={[
                {
                  heading: 'Address',
                  cell: ({ ip }) => <span class="mono">{ip}</span>,
                  names: true,
                },
                {
                  heading: 'Expires',
                  numeric: true,
                  cell: ({ expiry }) => <Until at={expiry} />,
                },
              ]}
            />
          )
        }
      </Loaded>
      {others > 0 && (
        <p>
          <Link href={list}>{`${others.toLocaleString('en')} more on the IP authlist`}</Link>
        </p>
      )}
    </Card>
  );
}
