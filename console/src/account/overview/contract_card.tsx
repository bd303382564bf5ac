// The contract in a few figures, and its servers with the most traffic.
import { Link } from 'wouter-preact';
import { usePages } from '../../api/paging.ts';
import { Share } from '../../charts/share.tsx';
import { cityName, count, date } from '../../format.ts';
import { now } from '../../now.ts';
import { addressOf, paths } from '../../paths.ts';
import { Until } from '../../relative_time.tsx';
import { Badge, Card, Loaded, Stat, Table } from '../../ui/ui.ts';
import { contractState } from './contract_state.ts';
import type { Overview } from './use_overview.ts';

export function ContractCard({ contract }: { contract: NonNullable<Overview['contract']> }) {
  const { name, plan, start, expiry } = contract;
  const isOver = expiry <= now.value;
  const { tone, text } = contractState(contract, now.value);
  return (
    <Card title="Contract" actions={<Badge tone={tone}>{text}</Badge>}>
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

const shownServers = 5;

/** The servers of the contract with the most traffic in this period. */
export function TopServers({ linksToServers }: { linksToServers: boolean }) {
  const query = { view: 'contract', sort: 'current', order: 'desc' } as const;
  const { rows, total } = usePages('console_list_network', { query, limit: shownServers });
  const top = (rows.data ?? [])
    .map(({ server, location, own: entry }) => ({ server, location, bytes: entry?.current ?? 0 }))
    .filter(({ bytes }) => bytes > 0);
  const maxBytes = top[0]?.bytes ?? 0;
  return (
    <Card
      title="Top servers"
      note={rows.data && `By usage in this period; ${count(total, 'server')} on the contract.`}
      actions={linksToServers && <Link href={paths.servers}>All servers</Link>}
    >
      <Loaded reading={rows} name="the top servers">
        {() =>
          top.length === 0 ? (
            <p>No traffic yet in this period.</p>
          ) : (
            <Table
              caption="Servers by usage in this period"
              rows={top}
              keyOf={({ server }) => server}
              columns={[
                {
                  heading: 'Server',
                  names: true,
                  cell: ({ server }) =>
                    linksToServers ? <Link href={paths.server(server)}>{server}</Link> : server,
                },
                { heading: 'City', cell: ({ location }) => cityName(location) },
                {
                  heading: 'Usage',
                  word: '',
                  numeric: true,
                  cell: ({ server, bytes }) => (
                    <Link href={addressOf(paths.usage, { server })}>
                      <Share value={bytes} max={maxBytes} />
                    </Link>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
