// The control plane: its version and database, its geo-IP databases, and maintenance.
import type { ResponseOf } from '../api/api.ts';
import { change, useRead } from '../api/reading.ts';
import { dateTime } from '../format.ts';
import { FormDialog, useDialog } from '../forms/form_dialog.tsx';
import { Badge, Button, Card, Empty, Loaded, Page, Stat } from '../ui/ui.ts';

type Status = ResponseOf<'admin_get_status'>;

export function ControlPlanePage() {
  const status = useRead('admin_get_status', {});
  return (
    <Page note="The server that holds the records of the network and serves this console.">
      <Loaded reading={status} name="the status">
        {(facts) => (
          <>
            <Facts status={facts} />
            <Maintenance isOn={facts.maintenance} />
            <GeoIpDatabases databases={facts.geoip} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

function Facts({ status: { version, database } }: { status: Status }) {
  return (
    <Card>
      <dl class="stats">
        <Stat name="Version">{version}</Stat>
        <Stat name="Database" note={`schema ${database.schema}`}>
          {engines[database.engine]}
        </Stat>
        <Stat name="Revision" note="number of the latest change">
          {database.revision.toLocaleString('en')}
        </Stat>
      </dl>
    </Card>
  );
}

function Maintenance({ isOn }: { isOn: boolean }) {
  const { dialog, openLinked } = useDialog({
    start: (close) => !isOn && <MaintenanceDialog on onClose={close} />,
    end: (close) => isOn && <MaintenanceDialog on={false} onClose={close} />,
  });
  return (
    <Card
      title="Maintenance"
      actions={
        <Button
          kind={isOn ? 'primary' : 'plain'}
          onClick={() => openLinked(isOn ? 'end' : 'start')}
        >
          {isOn ? 'End maintenance …' : 'Start maintenance …'}
        </Button>
      }
    >
      <p class="row">
        <Badge tone={isOn ? 'bad' : 'good'}>{isOn ? 'On' : 'Off'}</Badge>
        {isOn
          ? 'The account API returns 503 for every request. Proxies, this console and operators aren’t affected.'
          : 'The account API is in service.'}
      </p>
      {dialog}
    </Card>
  );
}

function GeoIpDatabases({ databases }: { databases: Status['geoip'] }) {
  return (
    <Card title="Geo-IP databases">
      {databases.length > 0 ? (
        <ul class="bare-list">
          {databases.map(({ provider, type, built_at, file, fault }) => (
            <li key={provider} class="row wrap-anywhere">
              <strong>{provider}</strong>
              <Badge tone={fault === null ? 'good' : 'bad'}>
                {fault === null ? 'Loaded' : 'Problem'}
              </Badge>
              <span>
                {type}, built {dateTime(built_at)}
              </span>
              <span class="note">{file}</span>
              {fault !== null && <span class="fault">{fault}</span>}
            </li>
          ))}
        </ul>
      ) : (
        <Empty title="No geo-IP databases">
          Exit IPs aren’t looked up. To look them up, set <code>EXITWARD_GEOIP</code>.
        </Empty>
      )}
    </Card>
  );
}

function MaintenanceDialog({ on, onClose }: { on: boolean; onClose: () => void }) {
  return (
    <FormDialog
      title={on ? 'Start maintenance?' : 'End maintenance?'}
      verb={on ? 'Start maintenance' : 'End maintenance'}
      kind={on ? 'danger' : 'primary'}
      onClose={onClose}
      onSubmit={async () => {
        await change('admin_set_maintenance', { body: { on } });
        return on ? 'Maintenance started.' : 'Maintenance ended.';
      }}
    >
      {on ? (
        <p>
          All <code>/v0</code> requests return 503 with Retry-After until you end maintenance. The
          proxies, this console and operators aren’t affected.
        </p>
      ) : (
        <p>
          Accounts can use <code>/v0</code> again immediately.
        </p>
      )}
    </FormDialog>
  );
}
