// One account: its contract and all that belongs to it, each part at an address of its own.
import type { FunctionComponent } from 'preact';
import { Link } from 'wouter-preact';
import { ActivityPage } from '../activity/page.tsx';
import { useRead } from '../api/reading.ts';
import { operatorScope, ScopeContext } from '../api/scope.ts';
import { AuthlistPage } from '../authlist/page.tsx';
import { DnsPage } from '../dns/page.tsx';
import { NotFoundPage } from '../not_found.tsx';
import { paths } from '../paths.ts';
import { ServersPage } from '../servers/page.tsx';
import { TokensPage } from '../tokens/page.tsx';
import { IsPart, Loaded, Page } from '../ui/ui.ts';
import { UsagePage } from '../usage/page.tsx';
import { UsersPage } from '../users/page.tsx';
import { AccountState } from './accounts.tsx';
import { ContractPart } from './contract.tsx';
import type { Account } from './states.ts';

interface AccountPart {
  part: string;
  name: string;
  Part: FunctionComponent<{ account: Account }>;
}

/** In the order of the menu. */
const accountParts: AccountPart[] = [
  { part: '', name: 'Contract', Part: ContractPart },
  { part: 'servers', name: 'Servers', Part: ServersPage },
  { part: 'users', name: 'Users', Part: UsersPage },
  { part: 'tokens', name: 'API tokens', Part: TokensPage },
  { part: 'authlist', name: 'IP authlist', Part: AuthlistPage },
  { part: 'dns', name: 'Custom DNS', Part: DnsPage },
  { part: 'usage', name: 'Usage', Part: UsagePage },
  { part: 'audit', name: 'Audit log', Part: ActivityPage },
];

export function AccountPage({ name, part }: { name: string; part: string }) {
  const account = useRead('admin_get_account', { path: { account: name } });
  const shown = accountParts.find((one) => one.part === part);
  if (!shown) return <NotFoundPage />;
  const { Part } = shown;
  return (
    <Page
      wide
      title={name}
      note={<Link href={paths.operator.accounts}>All accounts</Link>}
      actions={account.data && <AccountState of={account.data} />}
    >
      <nav class="parts" aria-label={`Parts of ${name}`}>
        <ul>
          {accountParts.map((one) => (
            <li key={one.part}>
              <Link
                href={paths.operator.account(name, one.part)}
                aria-current={one.part === part ? 'page' : undefined}
              >
                {one.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Loaded of={account} what="the account">
        {(known) => (
          <ScopeContext.Provider value={operatorScope(name)}>
            <IsPart.Provider value>
              <Part account={known} />
            </IsPart.Provider>
          </ScopeContext.Provider>
        )}
      </Loaded>
    </Page>
  );
}
