// The limits of a user, in addition to those of the contract, and the usage so far.
import type { ComponentChildren } from 'preact';
import { useScope } from '../api/scope.ts';
import { bytes, count, dateTime } from '../format.ts';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { Until } from '../relative_time.tsx';
import { serviceOfUser } from '../services.ts';
import { Badge, Button, Card, DescriptionList, Meter } from '../ui/ui.ts';
import { LimitsDialog, NoLimitsDialog } from './limits_form.tsx';
import type { User } from './user.ts';

export function hasLimits({ limits }: User): boolean {
  const { limit_bytes, max_connections, max_addresses, active_until, services, servers } = limits;
  const all = [limit_bytes, max_connections, max_addresses, active_until, services, servers];
  return all.some((limit) => limit !== null);
}

/** The limits that a user has passed. */
export function PassedLimits({ user: { limits, over_limit } }: { user: User }) {
  const { active_until, on_limit } = limits;
  return (
    <>
      {over_limit && (
        <Badge tone={on_limit === 'refuse' ? 'bad' : 'warn'}>
          {on_limit === 'refuse' ? 'limit reached' : 'over the limit'}
        </Badge>
      )}
      {active_until !== null && active_until <= now.value && <Badge tone="bad">access ended</Badge>}
    </>
  );
}

export function LimitsCard({ user, open }: { user: User; open: OpenDialog }) {
  const { flags } = useScope();
  const { name } = user;
  const isLimited = hasLimits(user);
  const show = (Shown: typeof LimitsDialog) => () =>
    open((close) => <Shown user={user} onClose={close} />);
  return (
    <Card
      title="Limits"
      note={isLimited ? undefined : `None for ${name}. Those of the contract apply.`}
      actions={
        flags.admin && (
          <>
            {isLimited && <Button onClick={show(NoLimitsDialog)}>Remove all limits</Button>}
            <Button icon="edit" onClick={show(LimitsDialog)}>
              {isLimited ? 'Change limits' : 'Set limits'}
            </Button>
          </>
        )
      }
    >
      <DescriptionList facts={factsOf(user)} />
    </Card>
  );
}

/** The usage, then the limits that there are. */
function factsOf(user: User): Array<[string, ComponentChildren]> {
  const { max_connections, max_addresses, address_seconds, ...limits } = user.limits;
  const { active_until, services, servers } = limits;
  const facts: Array<[string, ComponentChildren]> = [
    ['Usage in this period', <Usage user={user} />],
  ];
  if (max_connections !== null) {
    facts.push(['Connections', `${max_connections.toLocaleString('en')} at once`]);
  }
  if (max_addresses !== null) {
    const addresses = count(max_addresses, 'address', 'addresses');
    facts.push(['Source addresses', `${addresses} within ${minutes(address_seconds)}`]);
  }
  if (active_until !== null) {
    const isOver = active_until <= now.value;
    facts.push([
      isOver ? 'Access ended' : 'Access ends',
      <>
        {dateTime(active_until)}, <Until at={active_until} />
      </>,
    ]);
  }
  if (services !== null) facts.push(['Services', services.map(serviceOfUser).join(', ')]);
  if (servers !== null) facts.push(['Servers', servers.join(', ') || 'None']);
  return facts;
}

function Usage({ user: { name, period, limits } }: { user: User }) {
  const { limit_bytes, on_limit } = limits;
  if (limit_bytes === null) return <>{bytes(period.usage)}</>;
  const text = `${bytes(period.usage)} of ${bytes(limit_bytes)}`;
  return (
    <span class="with-meter">
      <span>
        {text}, resets <Until at={period.end} />
        {on_limit === 'notify' && ' (not enforced)'}
      </span>
      <Meter label={`Usage of ${name}`} value={period.usage} max={limit_bytes} text={text} />
    </span>
  );
}

/** "5 minutes", "90 seconds". */
const minutes = (seconds: number) =>
  seconds % 60 === 0 ? count(seconds / 60, 'minute') : count(seconds, 'second');
