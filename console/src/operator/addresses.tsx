// The page of an address or network: the accounts that list it, the custom DNS entries that point
// to it, and the servers that have it as an exit.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { operatorScope } from '../api/scope.ts';
import { ConnectedCard } from '../connections/card.tsx';
import { CutText } from '../forms/columns.tsx';
import { useTypedState } from '../forms/list_state.ts';
import { addressOf, paths } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import { isAddress } from '../typed.ts';
import { Card, type Column, Empty, Loaded, Page, SearchField, Table } from '../ui/ui.ts';

type Uses = ResponseOf<'admin_find_address'>;

const isNetwork = (text: string) => isAddress(text.replace(/\/\d{1,3}$/, ''));

/** The most rows of each list that are shown. */
const maxRows = 200;

export function AddressesPage() {
  const [text, setText, settled] = useTypedState('ip');
  const ip = settled.trim();
  return (
    <Page note="In each port scheme, an address can be listed once in the whole network. Custom DNS entries that point to it and servers that exit from it are shown, too.">
      <Card>
        <div class="filters">
          <SearchField
            label="Address or network"
            name="ip"
            hint="IPv4 or IPv6, in any spelling; a network such as 203.0.113.0/24, at least /8 of IPv4 and /16 of IPv6."
            value={text}
            onInput={setText}
          />
        </div>
        {ip !== '' && !isNetwork(ip) && (
          <Empty title="This isn’t a complete address or network.">
            Examples: 203.0.113.7, 2001:db8::7 or 203.0.113.0/24.
          </Empty>
        )}
      </Card>
      {isNetwork(ip) && <Found ip={ip} />}
      {isAddress(ip) && <ConnectedCard key={ip} target={{ address: ip }} />}
    </Page>
  );
}

function Found({ ip }: { ip: string }) {
  const holders = useRead('admin_find_address', { query: { ip, limit: maxRows } });
  return (
    <Loaded reading={holders} name="who lists it">
      {({ network, authlist, overrides, exits, more }) => (
        <>
          <List title="On authlists" hasMore={more.includes('authlist')}>
            {authlist.length === 0 ? (
              <Empty
                title={`No account lists ${network}.`}
                action={isAddress(ip) && <TestFrom ip={ip} />}
              >
                {isAddress(ip) &&
                  'Servers refuse connections from it without a proxy access token. To add it, open the account’s IP authlist.'}
              </Empty>
            ) : (
              <Table
                compact
                caption={`Who lists ${network}`}
                columns={claimColumns}
                rows={authlist}
                keyOf={({ port_scheme, ip }) => `${port_scheme} ${ip}`}
              />
            )}
          </List>
          {overrides.length > 0 && (
            <List title="In custom DNS" hasMore={more.includes('overrides')}>
              <Table
                compact
                caption={`Custom DNS entries that point to ${network}`}
                columns={overrideColumns}
                rows={overrides}
                keyOf={({ account, id }) => `${account} ${id}`}
              />
            </List>
          )}
          {exits.length > 0 && (
            <List title="Exit IPs" hasMore={more.includes('exits')}>
              <Table
                compact
                caption={`Exit IPs of ${network}`}
                columns={exitColumns}
                rows={exits}
                keyOf={({ ip }) => ip}
              />
            </List>
          )}
        </>
      )}
    </Loaded>
  );
}

/** The connection test, from the address. */
function TestFrom({ ip }: { ip: string }) {
  return (
    <Link class="button" href={addressOf(paths.operator.test, { from: ip })}>
      Test a connection from {ip}
    </Link>
  );
}

interface ListProps {
  title: string;
  hasMore: boolean;
  children: ComponentChildren;
}

function List({ title, hasMore, children }: ListProps) {
  return (
    <Card title={title}>
      {children}
      {hasMore && (
        <p class="note" role="status">
          The first {maxRows} are shown. Search a smaller network to see the rest.
        </p>
      )}
    </Card>
  );
}

interface OfAccount {
  account: string;
  ip: string;
}

/** A list of the account, with only this row. */
const rowIn = (part: 'authlist' | 'dns', { account, ip }: OfAccount) =>
  addressOf(paths.operator.account(account, part), { search: ip });
const ipColumn = { heading: 'Address', cell: ({ ip }: { ip: string }) => <code>{ip}</code> };
const expiryColumn = {
  heading: 'Expires',
  word: 'expires',
  cell: ({ expiry }: { expiry: number }) => <Until at={expiry} />,
};

const claimColumns: Column<Uses['authlist'][number]>[] = [
  {
    heading: 'Account',
    names: true,
    cell: (claim) => <Link href={rowIn('authlist', claim)}>{claim.account}</Link>,
  },
  ipColumn,
  {
    heading: 'User',
    cell: ({ account, user }) => <Link href={operatorScope(account).paths.user(user)}>{user}</Link>,
  },
  { heading: 'Port scheme', cell: ({ port_scheme }) => port_scheme },
  expiryColumn,
];
const overrideColumns: Column<Uses['overrides'][number]>[] = [
  {
    heading: 'Account',
    names: true,
    cell: (entry) => <Link href={rowIn('dns', entry)}>{entry.account}</Link>,
  },
  ipColumn,
  { heading: 'Hostname', cut: true, cell: ({ hostname }) => <CutText text={hostname} /> },
  {
    heading: 'On server',
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  expiryColumn,
];
const exitColumns: Column<Uses['exits'][number]>[] = [
  {
    heading: 'Server',
    names: true,
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  ipColumn,
  { heading: 'Port base', numeric: true, cell: ({ port_base }) => port_base },
];
