// Changes the limits of a user, or removes all of them.
import { useId, useState } from 'preact/hooks';
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { cutOffBy } from '../contract/cut_off.ts';
import { LimitField, limitIn, limitOf } from '../contract/limit_field.tsx';
import { differing } from '../forms/differing.ts';
import { expiryFrom, localText, zoneAt } from '../forms/expiry.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import { now } from '../now.ts';
import { serviceOfUser } from '../services.ts';
import { CheckField, DateField, SelectField, TextField, textOf } from '../ui/ui.ts';
import type { User } from './form.tsx';

type Limits = User['limits'];

interface LimitsDialogProps {
  user: User;
  onClose: () => void;
}

const services = ['proxy', 'vpn-ikev2', 'vpn-ikev1', 'vpn-l2tp'] as const;
const windows = [60, 120, 300, 600];

export function LimitsDialog({ user, onClose }: LimitsDialogProps) {
  const scope = useScope();
  const { name, limits, period } = user;
  const save = async (fields: FormData) => {
    const wanted = { ...limitsIn(fields, limits), limit_bytes: limitOf(fields) };
    const changes = differing<Limits>(limits, wanted);
    if (Object.keys(changes).length === 0) return 'Nothing was changed.';
    const body = { limits: changes };
    await changeIn(scope, 'change_user', { path: { user: name }, body });
    return `Saved the limits of ${name}.`;
  };
  const warningOf = (fields: FormData) => {
    const limit_bytes = limitIn(fields);
    if (limit_bytes === undefined) return undefined;
    const after = termsOf({ ...limitsIn(fields, limits), limit_bytes });
    return cutOffBy(termsOf(limits), after, { usage: period.usage, now: now.value });
  };
  return (
    <FormDialog
      title={`Limits of ${name}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
      warningOf={warningOf}
    >
      <p class="note">They apply next to those of the contract. An empty field is no limit.</p>
      <LimitField
        label="Bytes in a billing period"
        value={limits.limit_bytes ?? undefined}
        none="No limit of their own."
      />
      <SelectField
        label="When these are used up"
        name="limits.on_limit"
        initial={limits.on_limit}
        options={[
          { value: 'refuse', text: 'Refuse the user until the next billing period' },
          { value: 'notify', text: 'Only show it' },
        ]}
      />
      <AmountField
        label="Connections at once"
        name="limits.max_connections"
        max={1_000_000}
        value={limits.max_connections}
        hint="In the whole network."
      />
      <AmountField
        label="Source addresses at once"
        name="limits.max_addresses"
        max={1000}
        value={limits.max_addresses}
        hint="An IPv6 address counts as its /64."
      />
      <SelectField
        label="An address counts for"
        name="limits.address_seconds"
        initial={String(limits.address_seconds)}
        options={[...new Set([...windows, limits.address_seconds])].map((seconds) => ({
          value: String(seconds),
          text: `${seconds / 60} min after its last connection`,
        }))}
        hint="A phone that changes networks needs two addresses for this long."
      />
      <EndField at={limits.active_until} />
      <ServiceFields of={limits.services} />
      <TextField
        label="Servers"
        name="limits.servers"
        defaultValue={limits.servers?.join(', ') ?? ''}
        hint="Short names, such as fra1, ams1. Empty: all servers of the contract."
      />
    </FormDialog>
  );
}

interface AmountFieldProps {
  label: string;
  name: string;
  hint: string;
  max: number;
  value: number | null;
}

function AmountField({ value, ...given }: AmountFieldProps) {
  return <TextField type="number" min={1} step={1} defaultValue={value ?? ''} {...given} />;
}

function EndField({ at }: { at: number | null }) {
  const [text, setText] = useState(at === null ? '' : localText(at));
  return (
    <DateField
      label="Access ends"
      name="limits.active_until"
      withTime
      value={text}
      onInput={setText}
      hint={`In your time zone, ${zoneAt(now.value)}. Empty: never.`}
    />
  );
}

function ServiceFields({ of: limited }: { of: Limits['services'] }) {
  const id = useId();
  return (
    <fieldset aria-describedby={id}>
      <legend>Services</legend>
      {services.map((service) => (
        <CheckField
          key={service}
          label={serviceOfUser(service)}
          name="limits.services"
          value={service}
          defaultChecked={limited?.includes(service)}
        />
      ))}
      <p class="hint" id={id}>
        None selected: all services.
      </p>
    </fieldset>
  );
}

/** The limits in the form except the bytes; `before` keeps the seconds of a time. */
function limitsIn(fields: FormData, { active_until }: Limits): Omit<Limits, 'limit_bytes'> {
  const text = (name: keyof Limits) => textOf(fields, `limits.${name}`);
  const amount = (name: keyof Limits) => (text(name) === '' ? null : Number(text(name)));
  const selected = services.filter((service) => fields.getAll('limits.services').includes(service));
  const servers = text('servers')
    .split(/[\s,]+/)
    .filter(Boolean);
  return {
    on_limit: text('on_limit') as Limits['on_limit'],
    max_connections: amount('max_connections'),
    max_addresses: amount('max_addresses'),
    address_seconds: Number(text('address_seconds')),
    active_until: expiryFrom(text('active_until'), now.value, active_until ?? undefined) ?? null,
    services: selected.length > 0 ? selected : null,
    servers: servers.length > 0 ? servers : null,
  };
}

const termsOf = ({ on_limit, limit_bytes, active_until }: Limits) => ({
  ...{ limit_bytes, on_limit: on_limit === 'refuse' ? ('refuse' as const) : ('allow' as const) },
  ...(active_until === null ? {} : { expiry: active_until }),
});

export function NoLimitsDialog({ user: { name }, onClose }: LimitsDialogProps) {
  const scope = useScope();
  return (
    <FormDialog
      title={`Remove all limits of ${name}`}
      verb="Remove all limits"
      onClose={onClose}
      onSubmit={async () => {
        await changeIn(scope, 'change_user', { path: { user: name }, body: { limits: null } });
        return `${name} has no limits of their own any more.`;
      }}
    >
      <p>Only the limits of the contract apply to {name} then, at once and on all servers.</p>
    </FormDialog>
  );
}
