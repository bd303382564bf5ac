// The page of refused connections of the account: first those from the viewer's own address.
import { useAddressState } from '../address.ts';
import { usePages } from '../api/paging.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { OwnAddress } from '../authlist/own_address.tsx';
import { useServerChoices } from '../forms/server_choices.ts';
import { UserFilter } from '../forms/suggest_user.tsx';
import { Card, Empty, Loaded, Page } from '../ui/ui.ts';
import { RefusalList } from './list.tsx';
import { RefusalTable } from './table.tsx';

export function RefusalsPage() {
  const scope = useScope();
  const [user, setUser] = useAddressState('user');
  return (
    <Page
      note={
        scope.isOperator
          ? 'Connections that name a user of the account, or come from an address of its IP authlist. Destinations aren’t stored.'
          : scope.flags.admin
            ? 'Connections that name one of your users, or come from an address of the IP authlist. Destinations aren’t stored.'
            : 'Connections that name you. Destinations aren’t stored.'
      }
    >
      {!scope.isOperator && <WhyRefused />}
      <RefusalList scope={scope} useServers={useServerChoices}>
        {scope.flags.admin && <UserFilter value={user} onInput={setUser} />}
      </RefusalList>
    </Page>
  );
}

const maxRows = 5;

/** The last refusals from the viewer's own address. */
function WhyRefused() {
  const scope = useScope();
  const ownAddress = useReadIn(scope, 'get_address', {});
  const query = { own_address: 'true' } as const;
  const { rows } = usePages('console_list_refusals', { query, limit: maxRows, base: scope.base });
  const { ip } = ownAddress.data ?? {};
  return (
    <Card title="Why was I refused?">
      <OwnAddress />
      <Loaded reading={rows} name="the refusals of your address">
        {(shown) =>
          shown.length === 0 ? (
            <Empty title={`No connection from ${ip ?? 'your address'} was refused lately`} />
          ) : (
            <RefusalTable rows={shown} scope={scope} />
          )
        }
      </Loaded>
    </Card>
  );
}
