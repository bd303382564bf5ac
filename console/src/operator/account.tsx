// One account: its contract and all that belongs to it, each part at an address of its own.
import { Link } from 'wouter-preact';
import { useRead } from '../api/reading.ts';
import { operatorScope, ScopeContext } from '../api/scope.ts';
import { NotFoundPage } from '../not_found.tsx';
import { paths } from '../paths.ts';
import { IsPart, Loaded, Page } from '../ui/ui.ts';
import { accountParts } from './account_parts.tsx';
import { AccountState } from './accounts.tsx';

export function AccountPage({ name, part }: { name: string; part: string }) {
  const account = useRead('admin_get_account', { path: { account: name } });
  const shown = accountParts.find((one) => one.part === part);
  if (!shown) return <NotFoundPage />;
  const { Part } = shown;
  return (
    <Page
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
