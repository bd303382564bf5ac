// The listed addresses of a user without the admin permission.
import { Link } from 'wouter-preact';
import { usePages } from '../../api/paging.ts';
import { paths } from '../../paths.ts';
import { Until } from '../../relative_time.tsx';
import { Card, Empty, Loaded, Table } from '../../ui/ui.ts';

const maxEntries = 5;

export function OwnEntries() {
  // The entries that end first matter most.
  const query = { sort: 'expiry' } as const;
  const { rows, total } = usePages('console_list_authlist', { query, limit: maxEntries });
  const more = total - (rows.data?.length ?? total);
  return (
    <Card
      title="Your addresses"
      note="Connections from these addresses need no password and count as you."
      actions={<Link href={paths.authlist}>IP authlist</Link>}
    >
      <Loaded of={rows} what="your addresses">
        {(shown) =>
          total === 0 ? (
            <Empty title="None of your addresses is on the authlist." />
          ) : (
            <Table
              caption="Your addresses on the authlist"
              rows={shown}
              keyOf={({ id }) => id}
              columns={[
                {
                  heading: 'Address',
                  cell: ({ ip }) => <span class="mono">{ip}</span>,
                  names: true,
                },
                {
                  heading: 'Ends',
                  numeric: true,
                  cell: ({ expiry }) => <Until at={expiry} />,
                },
              ]}
            />
          )
        }
      </Loaded>
      {more > 0 && (
        <p>
          <Link
            href={paths.authlist}
          >{`${more.toLocaleString('en')} more on the IP authlist`}</Link>
        </p>
      )}
    </Card>
  );
}
