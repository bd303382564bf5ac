// The contract in a few figures, and which of its servers carry the most.
import { Link } from 'wouter-preact';
import { Share } from '../../charts/share.tsx';
import { count, date } from '../../format.ts';
import { now } from '../../now.ts';
import { paths } from '../../paths.ts';
import { Until } from '../../relative_time.tsx';
import { Badge, Card, Stat, Table } from '../../ui/ui.ts';
import type { Overview } from './use_overview.ts';

export function ContractCard({ contract }: { contract: NonNullable<Overview['contract']> }) {
  const { name, plan, start, expiry, suspended } = contract;
  const isOver = expiry <= now.value;
  const state = suspended ? 'suspended' : isOver ? 'ended' : 'active';
  return (
    <Card
      title="Contract"
      actions={<Badge tone={state === 'active' ? 'good' : 'bad'}>{state}</Badge>}
    >
      <dl class="stats">
        <Stat name="Account">{name}</Stat>
        <Stat name="Plan">{plan}</Stat>
        <Stat name="Since">{date(start)}</Stat>
        <Stat name={isOver ? 'Ended' : 'Until'} note={<Until at={expiry} />}>
          {date(expiry)}
        </Stat>
      </dl>
    </Card>
  );
}

const shown_servers = 5;

/** The servers of the contract that carry the most in this period. */
export function TopServers({
  servers,
  linksToServers,
}: {
  servers: NonNullable<Overview['servers']>;
  linksToServers: boolean;
}) {
  const used = servers
    .filter(({ usage }) => usage.current > 0)
    .sort((one, other) => other.usage.current - one.usage.current);
  const top = used.slice(0, shown_servers);
  const most = top[0]?.usage.current ?? 0;
  return (
    <Card
      title="Top servers"
      note={`By usage in this period; ${count(servers.length, 'server')} on the contract.`}
      actions={linksToServers && <Link href={paths.servers}>All servers</Link>}
    >
      {top.length === 0 ? (
        <p>No traffic yet in this period.</p>
      ) : (
        <Table
          caption="Servers by usage in this period"
          rows={top}
          keyOf={({ server }) => server}
          columns={[
            { heading: 'Server', cell: ({ server }) => server, names: true },
            { heading: 'Place', cell: ({ title }) => title },
            {
              heading: 'Usage',
              numeric: true,
              cell: ({ usage }) => <Share value={usage.current} most={most} />,
            },
          ]}
        />
      )}
    </Card>
  );
}
