// The proxy list: the proxies of the contract or of a country, to copy or download.
import { useEffect, useState } from 'preact/hooks';
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { download } from '../csv.ts';
import { count } from '../format.ts';
import { serviceNames } from '../services.ts';
import {
  Button,
  CheckField,
  Choice,
  Copy,
  Dialog,
  optionsIn,
  SelectField,
  Unread,
} from '../ui/ui.ts';
import { CountryField } from './country_field.tsx';
import type { ServerPlace } from './places.ts';
import { type Format, formats, listOfProxies, proxiesOf } from './proxies.ts';
import { SignInChoice, type SignInWay, TokenFields, useToken } from './token.tsx';

const { proxy, 'proxy-https': overTls } = serviceNames;
const services = optionsIn({ proxy, 'proxy-https': overTls });
/** Longer lists are downloaded, not shown in full. */
const shownLines = 12;
const serversOfPage = 100;

interface ProxyListProps {
  places: readonly ServerPlace[];
  onClose: () => void;
}

export function ProxyList({ places, onClose }: ProxyListProps) {
  const { account, base } = useScope();
  const [country, setCountry] = useState('');
  const [service, setService] = useState('proxy');
  const [override, setOverride] = useState(false);
  const [all, setAll] = useState(false);
  const [by, setBy] = useState<SignInWay>('address');
  const [format, setFormat] = useState<Format>('place');
  // The first page is enough for a preview; all are read on request.
  const [wanted, setWanted] = useState<'first' | 'all' | 'file'>('first');
  const token = useToken(by === 'token');
  const credentials = by === 'token' ? token.credentials : undefined;
  const pages = usePages('console_list_servers', {
    query: { sort: 'name', country, service: service as 'proxy' },
    limit: serversOfPage,
    upTo: wanted === 'first' ? 0 : Number.POSITIVE_INFINITY,
    base,
  });
  const servers = pages.rows.data ?? [];
  const isWhole = pages.rows.data !== undefined && !pages.hasMore && !pages.isOld;
  const proxies = proxiesOf(servers, { country, service, override, all, credentials });
  const text = listOfProxies(proxies, format);
  const lines = text.split('\n');
  const isLong = lines.length > shownLines || !isWhole;
  const shown = (isLong ? [...lines.slice(0, shownLines), '…'] : lines).join('\n');
  const file = `${account}-proxies${country && `-${country.toLowerCase()}`}.${format === 'csv' ? 'csv' : 'txt'}`;
  const save = () => download(file, text, format === 'csv' ? undefined : 'text/plain');
  useEffect(() => {
    if (wanted !== 'file' || !isWhole) return;
    setWanted('all');
    save();
  }, [wanted, isWhole]);
  const isReading = wanted !== 'first' && !isWhole;
  const isNone = isWhole && proxies.length === 0;
  const serverCount = count(pages.found, 'server');
  return (
    <Dialog title="Proxy list" onClose={onClose} look="wide">
      <div class="fields">
        <CountryField
          codes={places.filter(isOfContract).map((place) => place.country)}
          all="All countries"
          value={country}
          onInput={setCountry}
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
        label="Include proxies that don’t work right now"
        name="all"
        checked={all}
        onChange={(event) => setAll(event.currentTarget.checked)}
      />
      <SignInChoice value={by} onSelect={setBy} />
      {by === 'token' && <TokenFields token={token} />}
      <Choice
        label="Format"
        shown
        value={format}
        onSelect={setFormat}
        options={optionsIn(formats) as Array<{ value: Format; text: string }>}
      />
      <Unread reading={pages.rows} name="the servers" />
      <p class="note" role="status">
        {isNone
          ? 'No proxy matches'
          : isWhole
            ? `${count(proxies.length, 'proxy', 'proxies')}.`
            : isReading
              ? `${servers.length.toLocaleString('en')} of ${serverCount} read …`
              : `The first of ${serverCount}.`}
      </p>
      {isWhole
        ? proxies.length > 0 && <Copy text={text} shown={shown} name="the proxy list" />
        : proxies.length > 0 && (
            <div class="copy">
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the focus */}
              <pre tabIndex={0}>
                <code>{shown}</code>
              </pre>
            </div>
          )}
      <div class="actions">
        <Button
          kind="primary"
          icon="download"
          busy={wanted === 'file'}
          disabled={isNone}
          onClick={() => (isWhole ? save() : setWanted('file'))}
        >
          Download
        </Button>
        {!isWhole && (
          <Button busy={wanted === 'all'} onClick={() => setWanted('all')}>
            Load all to copy
          </Button>
        )}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

const isOfContract = ({ servers, states }: ServerPlace) => servers > states.others;
