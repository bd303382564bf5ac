// Geo-IP: the countries in which providers place the exit IPs, compared with the actual ones, and
// the geofeed for providers.

import { Link } from 'wouter-preact';
import { useAddressField } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { usePages } from '../api/paging.ts';
import { callWithAuthHandling, change, useRead } from '../api/reading.ts';
import { explain } from '../api/sentences.ts';
import { download } from '../csv.ts';
import { country } from '../format.ts';
import { paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { GeoBadge, geoWords } from '../servers/geo_badge.tsx';
import {
  Button,
  Card,
  type Column,
  Copy,
  Empty,
  Loaded,
  notify,
  notifyError,
  optionsIn,
  Page,
  SelectField,
  Table,
} from '../ui/ui.ts';

type GeoStatus = ResponseOf<'admin_list_geo_statuses'>[number];
type Status = ResponseOf<'admin_get_status'>;

const states = { ...geoWords, '': 'all' };
type State = keyof typeof states;

export function GeofeedPage() {
  const status = useRead('admin_get_status', {});
  return (
    <Page
      note="Websites ask geo-IP providers where an address is. The geofeed gives providers the right answer."
      actions={
        <Button icon="download" onClick={save}>
          Download the geofeed
        </Button>
      }
    >
      <Loaded reading={status} name="how the feed is published">
        {(feedStatus) => <Feed status={feedStatus} />}
      </Loaded>
      <Seen hasProviders={(status.data?.geoip.length ?? 0) > 0} />
    </Page>
  );
}

async function save(): Promise<void> {
  try {
    download('geofeed.csv', await callWithAuthHandling('admin_get_geofeed', {}));
  } catch (error) {
    notifyError(explain(error).sentence);
  }
}

function Feed({ status: { geofeed } }: { status: Status }) {
  return (
    <Card title="Geofeed" note="Each exit IP with its country and city (RFC 8805).">
      {geofeed === null ? (
        <p>
          It isn’t published. With <code>EXITWARD_GEOFEED=public</code> anyone can fetch it at{' '}
          <code>/geofeed.csv</code> of the account API, which is the address to give to providers.
        </p>
      ) : (
        <>
          <p>Give providers this address:</p>
          <Copy text={geofeed} name="the address of the geofeed" />
        </>
      )}
    </Card>
  );
}

function Seen({ hasProviders }: { hasProviders: boolean }) {
  const statusField = useAddressField('status', 'crit');
  const status = (statusField.value in states ? statusField.value : 'crit') as State;
  const query = status === '' ? {} : { status };
  const pages = usePages('admin_list_geo_statuses', { query });
  const check = async () => {
    try {
      const { exit_ips, written } = await change('admin_check_geo', {});
      notify(`${exit_ips} exit IPs looked up; ${written} statuses changed.`);
    } catch (error) {
      notifyError(explain(error).sentence);
    }
  };
  return (
    <Card
      title="Locations by provider"
      actions={hasProviders && <Button onClick={check}>Look up now</Button>}
    >
      <div class="filters">
        <SelectField label="Seen" {...statusField} value={status} options={optionsIn(states)} />
      </div>
      <Loaded reading={pages.rows} name="where providers see the exit IPs">
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No exit IP matches.">
              {hasProviders
                ? status === ''
                  ? 'Look up the exit IPs now to see them here.'
                  : 'Select another state to see the other exit IPs.'
                : 'Set EXITWARD_GEOIP to the databases of geo-IP providers: exit IPs are looked up there.'}
            </Empty>
          ) : (
            <Table
              compact
              caption="Exit IPs, by provider"
              columns={columns}
              rows={rows}
              keyOf={({ ip, provider }) => `${ip} ${provider}`}
            />
          )
        }
      </Loaded>
      {pages.hasMore && (
        <Button busy={pages.isReading} onClick={pages.readMore}>
          Show more
        </Button>
      )}
    </Card>
  );
}

const columns: Column<GeoStatus>[] = [
  { heading: 'Exit IP', names: true, cell: ({ ip }) => <code>{ip}</code> },
  {
    heading: 'Server',
    cell: ({ server }) => <Link href={paths.operator.server(server)}>{server}</Link>,
  },
  { heading: 'Provider', cell: ({ provider }) => provider },
  {
    heading: 'Seen',
    cell: ({ status }) => <GeoBadge status={status} />,
  },
  {
    heading: 'In',
    cell: (row) =>
      row.country === null ? <span class="note">no country</span> : country(row.country),
  },
  {
    heading: 'Distance',
    numeric: true,
    cell: ({ distance_km }) =>
      distance_km === null ? '' : `${Math.round(distance_km).toLocaleString('en')} km`,
  },
  {
    heading: 'Looked up',
    word: 'looked up',
    cell: ({ status_time }) => <Since at={status_time} />,
  },
];
