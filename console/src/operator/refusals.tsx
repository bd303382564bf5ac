// Refused connections in the whole network.
import { useAddressState } from '../address.ts';
import { RefusalList } from '../refusals/list.tsx';
import { Page } from '../ui/ui.ts';
import { useServerChoices } from './server_choices.ts';
import { SuggestAccount } from './suggest_account.tsx';

export function RefusalsPage() {
  const [account, setAccount] = useAddressState('account');
  return (
    <Page note="Connections that nodes refused lately, by the minute. Destinations aren’t stored.">
      <RefusalList useServers={useServerChoices}>
        <SuggestAccount value={account} onInput={setAccount} />
      </RefusalList>
    </Page>
  );
}
