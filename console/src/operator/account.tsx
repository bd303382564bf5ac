// One account: its contract and records, each part at its own address.
import type { FunctionComponent } from 'preact';
import { Link } from 'wouter-preact';
import { ActivityPage } from '../activity/page.tsx';
import { useRead } from '../api/reading.ts';
import { operatorScope, ScopeContext } from '../api/scope.ts';
import { AuthlistPage } from '../authlist/page.tsx';
import { ConnectedPage } from '../connections/page.tsx';
import { DnsPage } from '../dns/page.tsx';
import { Tabs } from '../menu.tsx';
import { NotFoundPage } from '../not_found.tsx';
import { paths } from '../paths.ts';
import { RefusalsPage } from '../refusals/page.tsx';
import { ServersPage } from '../servers/page.tsx';
import { TokensPage } from '../tokens/page.tsx';
import { IsPart, Loaded, Page, PageName } from '../ui/ui.ts';
import { UsagePage } from '../usage/page.tsx';
import { UsersPage } from '../users/page.tsx';
import { AccountState } from './accounts.tsx';
import { ContractPart } from './contract.tsx';
import { accountParts } from './parts.ts';
import type { Account } from './states.ts';

type Part = (typeof accountParts)[number]['part'];

const pages: Record<Part, FunctionComponent<{ account: Account }>> = {
  '': ContractPart,
  servers: ServersPage,
  users: UsersPage,
  tokens: TokensPage,
  authlist: AuthlistPage,
  dns: DnsPage,
  connections: ConnectedPage,
  refusals: RefusalsPage,
  usage: UsagePage,
  audit: ActivityPage,
};

export function AccountPage({ name, part }: { name: string; part: string }) {
  const account = useRead('admin_get_account', { path: { account: name } });
  const shown = accountParts.find((candidate) => candidate.part === part);
  if (!shown) return <NotFoundPage />;
  const PartPage = pages[shown.part];
  return (
    <Page
      title={name}
      note={<Link href={paths.operator.accounts}>All accounts</Link>}
      actions={account.data && <AccountState account={account.data} />}
    >
      <Tabs
        label={`Parts of ${name}`}
        tabs={accountParts.map((entry) => ({
          path: paths.operator.account(name, entry.part),
          name: entry.name,
        }))}
        current={paths.operator.account(name, part)}
      />
      <Loaded reading={account} name="the account">
        {(accountRecord) => (
          <ScopeContext.Provider value={operatorScope(name)}>
            <IsPart.Provider value>
              <PageName.Provider value={shown.name}>
                <PartPage account={accountRecord} />
              </PageName.Provider>
            </IsPart.Provider>
          </ScopeContext.Provider>
        )}
      </Loaded>
    </Page>
  );
}
