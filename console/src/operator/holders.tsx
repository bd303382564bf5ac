// The page of an address: the accounts and users that hold it, in the whole network, until when.
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { useTypedState } from '../forms/list_state.ts';
import { addressOf, paths } from '../paths.ts';
import { Until } from '../relative_time.tsx';
import { Card, type Column, Empty, Loaded, Page, SearchField, Table } from '../ui/ui.ts';

type Claim = ResponseOf<'admin_list_authlist'>[number];

/** Looks like a whole address; the server says whether it is one. */
export const isAddress = (text: string) =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || (/^[\da-f:.]+$/i.test(text) && /:.*:/.test(text));

export function HoldersPage() {
  const [text, setText, settled] = useTypedState('ip');
  const ip = settled.trim();
  return (
    <Page
      title="Who lists an address"
      note="An address is listed once at most for each port scheme, in the whole network."
    >
      <Card>
        <div class="filters">
          <SearchField
            label="Address"
            name="ip"
            hint="One whole address, IPv4 or IPv6, in any spelling."
            value={text}
            onInput={setText}
          />
        </div>
        {isAddress(ip) && <Holders ip={ip} />}
        {ip !== '' && !isAddress(ip) && (
          <Empty title="This is no whole address.">
            Expected such as 203.0.113.7 or 2001:db8::7.
          </Empty>
        )}
      </Card>
    </Page>
  );
}

function Holders({ ip }: { ip: string }) {
  const found = useRead('admin_list_authlist', { query: { ip } });
  return (
    <Loaded of={found} what="who lists it">
      {(claims) =>
        claims.length === 0 ? (
          <Empty title={`No account lists ${ip}.`} />
        ) : (
          <Table
            caption={`Who lists ${ip}`}
            columns={columns}
            rows={claims}
            keyOf={({ account, id }) => `${account} ${id}`}
          />
        )
      }
    </Loaded>
  );
}

/** The authlist of the account, with this row alone. */
const rowOf = ({ account, ip }: Claim) =>
  addressOf(paths.operator.account(account, 'authlist'), { search: ip });

const columns: Column<Claim>[] = [
  {
    heading: 'Account',
    names: true,
    cell: (claim) => <Link href={rowOf(claim)}>{claim.account}</Link>,
  },
  { heading: 'Address', cell: ({ ip }) => <code>{ip}</code> },
  { heading: 'User', cell: ({ user }) => user },
  { heading: 'Port scheme', cell: ({ port_scheme }) => port_scheme },
  { heading: 'Expires', cell: ({ expiry }) => <Until at={expiry} /> },
];
