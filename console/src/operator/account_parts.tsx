// The parts of an account's page, in the order of its menu.
import type { FunctionComponent } from 'preact';
import { ActivityPage } from '../activity/page.tsx';
import { AuthlistPage } from '../authlist/page.tsx';
import { DnsPage } from '../dns/page.tsx';
import { ServersPage } from '../servers/page.tsx';
import { TokensPage } from '../tokens/page.tsx';
import { UsagePage } from '../usage/page.tsx';
import { UsersPage } from '../users/page.tsx';
import { ContractPart } from './contract.tsx';
import type { Account } from './states.ts';

interface AccountPart {
  part: string;
  name: string;
  Part: FunctionComponent<{ account: Account }>;
}

export const accountParts: AccountPart[] = [
  { part: '', name: 'Contract', Part: ContractPart },
  { part: 'servers', name: 'Servers', Part: ServersPage },
  { part: 'users', name: 'Users', Part: UsersPage },
  { part: 'tokens', name: 'API tokens', Part: TokensPage },
  { part: 'authlist', name: 'IP authlist', Part: AuthlistPage },
  { part: 'dns', name: 'Custom DNS', Part: DnsPage },
  { part: 'usage', name: 'Usage', Part: UsagePage },
  { part: 'audit', name: 'Audit log', Part: ActivityPage },
];
