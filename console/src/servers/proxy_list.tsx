// The proxy list: all proxies of the contract, or those of a country, to be copied or downloaded in the format that a program takes.
import { useState } from 'preact/hooks';
import { useScope } from '../api/scope.ts';
import { download } from '../csv.ts';
import { count, country as countryName } from '../format.ts';
import { Button, CheckField, Choice, Copy, Dialog, optionsIn, SelectField } from '../ui/ui.ts';
import { type Format, formats, listOfProxies, proxiesOf } from './proxies.ts';
import type { OwnServer } from './rows.ts';
import { TokenFields, useToken } from './token.tsx';

const services = optionsIn({ proxy: 'HTTP proxy', 'proxy-https': 'HTTPS proxy (over TLS)' });
/** Longer lists are downloaded: a page of thousands of lines helps nobody. */
const shown_lines = 12;

interface ProxyListProps {
  servers: readonly OwnServer[];
  onClose: () => void;
}

export function ProxyList({ servers, onClose }: ProxyListProps) {
  const { account } = useScope();
  const [country, setCountry] = useState('');
  const [service, setService] = useState('proxy');
  const [override, setOverride] = useState(false);
  const [all, setAll] = useState(false);
  const [by, setBy] = useState<'address' | 'token'>('address');
  const [format, setFormat] = useState<Format>('place');
  const token = useToken(by === 'token');
  const credentials = by === 'token' ? token.credentials : undefined;
  const proxies = proxiesOf(servers, { country, service, override, all, credentials });
  const text = listOfProxies(proxies, format);
  const lines = text.split('\n');
  const shown = lines.length > shown_lines ? [...lines.slice(0, shown_lines), '…'] : lines;
  const codes = [...new Set(servers.map(({ location }) => location?.country ?? ''))].filter(
    Boolean,
  );
  const lands = codes
    .map((code) => ({ value: code, text: countryName(code) }))
    .sort((one, other) => one.text.localeCompare(other.text));
  const file = `${account}-proxies${country && `-${country.toLowerCase()}`}.${format === 'csv' ? 'csv' : 'txt'}`;
  return (
    <Dialog title="Proxy list" onClose={onClose} look="wide">
      <div class="fields">
        <SelectField
          label="Country"
          name="country"
          value={country}
          onInput={setCountry}
          options={[{ value: '', text: 'All countries' }, ...lands]}
        />
        <SelectField
          label="Service"
          name="service"
          value={service}
          onInput={setService}
          options={services}
        />
      </div>
      <CheckField
        label="Use my custom DNS entries"
        name="override"
        checked={override}
        onChange={(event) => setOverride(event.currentTarget.checked)}
      />
      <CheckField
        label="Also those that do not work now"
        name="all"
        checked={all}
        onChange={(event) => setAll(event.currentTarget.checked)}
      />
      <Choice
        label="Sign in to the proxy"
        shown
        value={by}
        onChoose={setBy}
        options={[
          { value: 'address', text: 'By address' },
          { value: 'token', text: 'By token' },
        ]}
      />
      {by === 'token' && <TokenFields of={token} />}
      <Choice
        label="Format"
        shown
        value={format}
        onChoose={setFormat}
        options={optionsIn(formats) as Array<{ value: Format; text: string }>}
      />
      <p class="note" role="status">
        {proxies.length > 0 ? `${count(proxies.length, 'proxy', 'proxies')}.` : 'No proxy fits.'}
      </p>
      {proxies.length > 0 && <Copy text={text} shown={shown.join('\n')} what="the proxy list" />}
      <div class="actions">
        <Button
          kind="primary"
          icon="download"
          disabled={proxies.length === 0}
          onClick={() => download(file, text, format === 'csv' ? undefined : 'text/plain')}
        >
          Download
        </Button>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
