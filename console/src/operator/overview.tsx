// The status of the whole network: its size, what needs attention, and where its servers are.
import { useLocation } from 'wouter-preact';
import type { Given } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { AttentionCard } from '../attention/card.tsx';
import { maxNamed } from '../attention/items.ts';
import { noticesEveryMs } from '../attention/notices.ts';
import { now } from '../now.ts';
import { addressOf, paths } from '../paths.ts';
import '../style/overview.css';
import { foundIn, usePages } from '../api/paging.ts';
import { Card, Loaded, Page, Stat } from '../ui/ui.ts';
import { attention, type Network } from './attention.ts';
import { Figure } from './figure.tsx';
import { FirstSteps } from './first_steps.tsx';
import { HistoryCard } from './history.tsx';
import { NetworkMap } from './network_map.tsx';
import { lagText, nodeGroups } from './states.ts';

export function OverviewPage() {
  const [, navigate] = useLocation();
  const status = useRead('admin_get_status', {});
  const nodes = useRead('admin_list_nodes', {});
  const geo = useRead('admin_list_geo_statuses', { query: { status: 'crit', limit: 1000 } });
  const notices = useRead('admin_network_notices', {}, { everyMs: noticesEveryMs });
  const accounts = useAccounts();
  const readings = Object.values(accounts).map(({ rows }) => rows);
  const exits = status.data?.exits;
  const servers = {
    dark: useFirst({ nodes: 'bad' }),
    bare: useFirst({ nodes: 'neutral' }),
    crit: useFirst({ exits: 'crit' }, exits && exits.crit > 0),
    warn: useFirst({ exits: 'warn' }, exits && exits.warn > 0),
  };
  const { dark, bare, crit, warn } = servers;
  const firsts = [dark, bare, crit, warn];
  const all = {
    data:
      status.data &&
      dark.data &&
      bare.data &&
      crit.data &&
      warn.data &&
      nodes.data &&
      geo.data &&
      notices.data &&
      readings.every(({ data }) => data)
        ? {
            now: now.value,
            status: status.data,
            servers: { dark: dark.data, bare: bare.data, crit: crit.data, warn: warn.data },
            nodes: nodes.data,
            misplaced: geo.data,
            notices: notices.data,
            accounts: {
              over: foundIn(accounts.over),
              ended: foundIn(accounts.ended),
              ending: foundIn(accounts.ending),
              suspended: foundIn(accounts.suspended),
            },
          }
        : undefined,
    error: [status, ...firsts, nodes, geo, notices, ...readings].find(({ error }) => error)?.error,
    refetch: () => {
      for (const reading of [status, ...firsts, nodes, geo, notices, ...readings])
        void reading.refetch();
    },
  };
  return (
    <Page>
      <Loaded reading={all} name="the state of the network">
        {(network) => (
          <>
            <Figures network={network} />
            <FirstSteps status={network.status} />
            <AttentionCard
              items={attention(network)}
              isReading={false}
              faults={[]}
              nothingYet={nothingYet(network)}
            />
            {network.nodes.length > 0 && <HistoryCard isOnline={network.status.nodes.live > 0} />}
            {network.status.servers > 0 && (
              <NetworkMap
                onSelect={(places) => navigate(addressOf(paths.operator.servers, { places }))}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The first accounts that may need attention, by the filters of the page that counts them. */
function useAccounts() {
  const limit = maxNamed;
  return {
    over: usePages('admin_list_accounts', { query: { state: 'over' }, limit }),
    ended: usePages('admin_list_accounts', { query: { state: 'ended' }, limit }),
    ending: usePages('admin_list_accounts', { query: { state: 'ending', sort: 'expiry' }, limit }),
    suspended: usePages('admin_list_accounts', { query: { state: 'suspended' }, limit }),
  };
}

/** The first servers that match a filter, and the number of matches; not read if there are none. */
function useFirst(filter: NonNullable<Given<'admin_list_servers'>['query']>, isAny = true) {
  const { rows, found: matchCount } = usePages('admin_list_servers', {
    query: { ...filter, sort: 'name' },
    limit: maxNamed,
    enabled: isAny,
  });
  const { data, error, refetch } = rows;
  const none = { first: [], found: 0 };
  return { data: isAny ? data && { first: data, found: matchCount } : none, error, refetch };
}

function nothingYet({ status }: Pick<Network, 'status'>) {
  if (status.servers === 0) return 'There are no servers yet.';
  if (status.accounts === 0) return 'There are no accounts yet.';
  return undefined;
}

function Figures({ network: { status, nodes: all } }: { network: Network }) {
  const { accounts, servers, nodes } = status;
  const lost = nodes.all - nodes.live;
  const { faulty } = nodeGroups;
  const live = all.filter((node) => node.live);
  const open = live.reduce((sum, { connections }) => sum + (connections ?? 0), 0);
  const maxLag = Math.max(0, ...all.map(({ lag }) => lag));
  const faults = all.filter(faulty.has).flatMap((node) => node.faults);
  return (
    <Card>
      <dl class="stats">
        <Stat name="Accounts">
          <Figure value={accounts} path={paths.operator.accounts} />
        </Stat>
        <Stat name="Servers">
          <Figure value={servers} path={paths.operator.servers} />
        </Stat>
        <Stat
          name="Nodes"
          note={nodes.all === 0 ? 'none yet' : lost === 0 ? 'all online' : `${lost} offline`}
        >
          <Figure value={nodes.all} path={paths.operator.nodes} />
        </Stat>
        <Stat name="Open connections" note="last reported">
          {open.toLocaleString('en')}
        </Stat>
        <Stat
          name="Lagging nodes"
          note={maxLag > 0 ? lagText(maxLag) : nodes.all > 0 && 'all are up to date'}
        >
          <Figure
            value={nodes.lagging}
            path={addressOf(paths.operator.nodes, { state: 'lagging' })}
          />
        </Stat>
        <Stat name="Problems" note="reported by online nodes">
          <Figure
            value={faults.length}
            path={addressOf(paths.operator.nodes, { state: 'faulty' })}
          />
        </Stat>
      </dl>
    </Card>
  );
}
