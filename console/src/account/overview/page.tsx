// The first page of a user: the status of the account, and what to do next.
import '../../style/overview.css';
import { useRef } from 'preact/hooks';
import { flags, type Session, session } from '../../api/session.ts';
import { AttentionCard } from '../../attention/card.tsx';
import { UserEntries } from '../../authlist/user_entries.tsx';
import { Card, Page } from '../../ui/ui.ts';
import { ConnectCard, ConnectHint } from './connect_card.tsx';
import { ContractCard, TopServers } from './contract_card.tsx';
import { PeriodCard } from './period_card.tsx';
import { useOverview } from './use_overview.ts';

const ownNote = 'Connections from these addresses need no password and count as you.';

export function OverviewPage() {
  const overview = useOverview();
  const { user, account } = session.value as Session;
  const { admin, billing, proxy } = flags.value;
  const { contract, servers, toTry, isConnected, listed, items, isReading, faults } = overview;
  // The card stays until its last tick was seen.
  const isNew = useRef(false);
  isNew.current ||= contract !== undefined && !isReading && !isConnected;
  return (
    <Page>
      {!(admin || billing || proxy) && <NoPermissions account={account} user={user.name} />}
      {servers !== undefined && listed !== undefined && isNew.current && (
        <ConnectCard {...{ servers, toTry, listed, isConnected }} />
      )}
      <AttentionCard
        items={items}
        isReading={isReading}
        faults={faults}
        nothingYet={servers === 0 ? 'There are no servers on the contract yet.' : undefined}
      />
      {toTry !== undefined && !isNew.current && <ConnectHint place={toTry} />}
      {contract && (admin || billing) && (
        <div class="overview-columns">
          <div class="overview-column">
            <PeriodCard contract={contract} forecast={overview.forecast} month={overview.month} />
            {proxy && !admin && <UserEntries user={user.name} note={ownNote} />}
          </div>
          <div class="overview-column">
            <ContractCard contract={contract} />
            <TopServers linksToServers={admin || proxy} />
          </div>
        </div>
      )}
      {proxy && !admin && !billing && <UserEntries user={user.name} note={ownNote} />}
    </Page>
  );
}

function NoPermissions({ account, user }: { account: string; user: string }) {
  return (
    <Card title="You have no permissions yet">
      <p>
        {`You’re signed in as ${user} of ${account}. An admin of ${account} can give you permissions:`}
      </p>
      <ul class="permissions">
        <li>
          <strong>proxy</strong>: use the proxies, and list your own addresses
        </li>
        <li>
          <strong>billing</strong>: see the contract and its usage
        </li>
        <li>
          <strong>admin</strong>: run the account: users, lists, tokens
        </li>
      </ul>
    </Card>
  );
}
