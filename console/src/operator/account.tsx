// One account: its contract and all that belongs to it, each part at an address of its own.
import type { FunctionComponent } from 'preact';
import { Link } from 'wouter-preact';
import { useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { NotFoundPage } from '../not_found.tsx';
import { paths } from '../paths.ts';
import { Loaded } from '../ui/loaded.tsx';
import { Page } from '../ui/page.tsx';
import { AuditPart } from './account/audit.tsx';
import { AuthlistPart } from './account/authlist.tsx';
import { ContractPart } from './account/contract.tsx';
import { DnsPart } from './account/dns.tsx';
import { ServersPart } from './account/servers.tsx';
import { TokensPart } from './account/tokens.tsx';
import { UsagePart } from './account/usage.tsx';
import { UsersPart } from './account/users.tsx';
import { AccountState } from './accounts.tsx';
import type { Account } from './states.ts';

const parts: Array<{ part: string; name: string; Part: FunctionComponent<{ account: Account }> }> =
  [
    { part: '', name: 'Contract', Part: ContractPart },
    { part: 'servers', name: 'Servers', Part: ServersPart },
    { part: 'users', name: 'Users', Part: UsersPart },
    { part: 'tokens', name: 'API tokens', Part: TokensPart },
    { part: 'authlist', name: 'IP authlist', Part: AuthlistPart },
    { part: 'dns', name: 'Custom DNS', Part: DnsPart },
    { part: 'usage', name: 'Usage', Part: UsagePart },
    { part: 'audit', name: 'Audit log', Part: AuditPart },
  ];

export function AccountPage({ name, part }: { name: string; part: string }) {
  const account = useRead('admin_get_account', { path: { account: name } });
  const shown = parts.find((one) => one.part === part);
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
          {parts.map((one) => (
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
      <Loaded of={account} what="the account" explain={explain}>
        {(known) => <Part account={known} />}
      </Loaded>
    </Page>
  );
}
