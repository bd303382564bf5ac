// Sets the limits of a user, removes all of them, or sets one for several users.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { changeIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { cutOffBy } from '../contract/cut_off.ts';
import { LimitField, limitIn, limitOf } from '../contract/limit_field.tsx';
import { differing } from '../forms/differing.ts';
import { expiryFrom, localText, zoneAt } from '../forms/expiry.ts';
import { FormDialog } from '../forms/form_dialog.tsx';
import { ServerChecks } from '../forms/server_checks.tsx';
import { useFoundServers } from '../forms/server_choices.ts';
import { now } from '../now.ts';
import { serviceOfUser } from '../services.ts';
import { CheckField, DateField, isOneOf, SelectField, TextField, textOf } from '../ui/ui.ts';
import { type Limits, noLimits, type User } from './user.ts';

interface LimitsDialogProps {
  user: User;
  onClose: () => void;
}

const services = ['proxy', 'vpn-ikev2', 'vpn-ikev1', 'vpn-l2tp'] as const;
const windows = [60, 120, 300, 600];

/** A limit in a form: its fields, and what they say. */
interface LimitOfForm {
  text: string;
  Fields: (given: { limits: Limits }) => ComponentChildren;
  /** `before` keeps the seconds of a time. Errors: ApiError 400. */
  read: (fields: FormData, before: Limits) => Partial<Limits>;
}

const field = (name: keyof Limits) => `limits.${name}`;
const amountIn = (fields: FormData, name: keyof Limits) => {
  const text = textOf(fields, field(name));
  return text === '' ? null : Number(text);
};
const someOf = <T,>(list: readonly T[]) => (list.length > 0 ? [...list] : null);

const limitsOfForm = {
  limit_bytes: {
    text: 'Bytes in a billing period',
    Fields: ({ limits }) => (
      <>
        <LimitField
          label="Bytes in a billing period"
          value={limits.limit_bytes ?? undefined}
          none="No limit of their own."
        />
        <SelectField
          label="When the bytes are used up"
          name={field('on_limit')}
          initial={limits.on_limit}
          options={[
            { value: 'refuse', text: 'Refuse the user until the next billing period' },
            { value: 'notify', text: 'Only show it' },
          ]}
        />
      </>
    ),
    read: (fields) => ({
      limit_bytes: limitOf(fields),
      on_limit: textOf(fields, field('on_limit')) as Limits['on_limit'],
    }),
  },
  max_connections: {
    text: 'Connections at once',
    Fields: ({ limits }) => (
      <AmountField
        label="Connections at once"
        name={field('max_connections')}
        max={1_000_000}
        value={limits.max_connections}
        hint="In the whole network."
      />
    ),
    read: (fields) => ({ max_connections: amountIn(fields, 'max_connections') }),
  },
  max_addresses: {
    text: 'Source addresses at once',
    Fields: ({ limits }) => (
      <>
        <AmountField
          label="Source addresses at once"
          name={field('max_addresses')}
          max={256}
          value={limits.max_addresses}
          hint="An IPv6 address counts as its /64."
        />
        <SelectField
          label="An address counts for"
          name={field('address_seconds')}
          initial={String(limits.address_seconds)}
          options={[...new Set([...windows, limits.address_seconds])].map((seconds) => ({
            value: String(seconds),
            text: `${seconds / 60} min after its last connection`,
          }))}
          hint="A phone that changes networks needs two addresses for this long."
        />
      </>
    ),
    read: (fields) => ({
      max_addresses: amountIn(fields, 'max_addresses'),
      address_seconds: Number(textOf(fields, field('address_seconds'))),
    }),
  },
  active_until: {
    text: 'End of access',
    Fields: ({ limits }) => <EndField at={limits.active_until} />,
    read: (fields, { active_until }) => {
      const text = textOf(fields, field('active_until'));
      return { active_until: expiryFrom(text, now.value, active_until ?? undefined) ?? null };
    },
  },
  services: {
    text: 'Services',
    Fields: ({ limits }) => <ServiceFields services={limits.services} />,
    read: (fields) => {
      const selected = fields.getAll(field('services'));
      return { services: someOf(services.filter((service) => selected.includes(service))) };
    },
  },
  servers: {
    text: 'Servers',
    Fields: ({ limits }) => <ServerFields servers={limits.servers} />,
    read: (fields, { servers }) => {
      const selected = fields.getAll(field('servers')).map(String);
      // The servers of the limit were removed: saving another limit does not end this one.
      const none = servers?.length === 0 ? servers : null;
      return { servers: someOf(selected) ?? none };
    },
  },
} satisfies Record<string, LimitOfForm>;

const parts: LimitOfForm[] = Object.values(limitsOfForm);

/** The fields of all limits. */
export function LimitFields({ limits = noLimits }: { limits?: Limits }) {
  return (
    <>
      <p class="note">
        They apply in addition to those of the contract. An empty field means no limit.
      </p>
      {parts.map(({ text, Fields }) => (
        <Fields key={text} limits={limits} />
      ))}
    </>
  );
}

/** The limits in these fields that differ from `before`. Errors: ApiError 400. */
export function changedLimits(fields: FormData, before = noLimits): Partial<Limits> {
  const wanted = parts.map(({ read }) => read(fields, before));
  return differing<Limits>(before, Object.assign({}, ...wanted));
}

export function LimitsDialog({ user, onClose }: LimitsDialogProps) {
  const scope = useScope();
  const { name, limits } = user;
  const save = async (fields: FormData) => {
    const changes = changedLimits(fields, limits);
    if (Object.keys(changes).length === 0) return 'Nothing was changed.';
    const body = { limits: changes };
    await changeIn(scope, 'change_user', { path: { user: name }, body });
    return `Saved the limits of ${name}.`;
  };
  return (
    <FormDialog
      title={`Limits of ${name}`}
      verb="Save"
      kind="primary"
      onSubmit={save}
      onClose={onClose}
      warningOf={(fields) =>
        limitIn(fields) === undefined ? undefined : cutOffOf(user, changedLimits(fields, limits))
      }
    >
      <LimitFields limits={limits} />
    </FormDialog>
  );
}

/** A warning, if nodes serve the user now and refuse under these limits. */
function cutOffOf({ limits, period }: User, changes: Partial<Limits>): string | undefined {
  const used = { usage: period.usage, now: now.value };
  return cutOffBy(termsOf(limits), termsOf({ ...limits, ...changes }), used);
}

const termsOf = ({ on_limit, limit_bytes, active_until }: Limits) => ({
  ...{ limit_bytes, on_limit: on_limit === 'refuse' ? ('refuse' as const) : ('allow' as const) },
  ...(active_until === null ? {} : { expiry: active_until }),
});

interface ManyLimitsDialogProps {
  users: readonly User[];
  /** "3 users". */
  countText: string;
  /** Null: all limits are removed. */
  onSubmit: (limits: Partial<Limits> | null) => Promise<unknown>;
  onClose: () => void;
}

/** One limit for several users; their other limits stay. */
export function ManyLimitsDialog({ users, countText, onSubmit, onClose }: ManyLimitsDialogProps) {
  const [shown, setShown] = useState<string>('limit_bytes');
  const part: LimitOfForm | undefined = isOneOf(limitsOfForm, shown)
    ? limitsOfForm[shown]
    : undefined;
  const warningOf = (fields: FormData) => {
    const isUnreadable = shown === 'limit_bytes' && limitIn(fields) === undefined;
    if (!part || isUnreadable) return undefined;
    const changes = part.read(fields, noLimits);
    const refused = users.filter((user) => cutOffOf(user, changes)).map(({ name }) => name);
    const [first, ...rest] = refused;
    if (first === undefined) return undefined;
    const whom = rest.length === 0 ? first : `${refused.length} of ${countText}`;
    return `Once you save, nodes refuse every connection of ${whom}.`;
  };
  return (
    <FormDialog
      title={`Limits of ${countText}`}
      verb={`${part ? 'Change' : 'Remove all limits of'} ${countText}`}
      kind={part ? 'primary' : 'danger'}
      onClose={onClose}
      onSubmit={(fields) => onSubmit(part ? part.read(fields, noLimits) : null)}
      warningOf={warningOf}
    >
      <SelectField
        label="Limit"
        name="limit"
        value={shown}
        onInput={setShown}
        options={[
          ...Object.entries(limitsOfForm).map(([value, { text }]) => ({ value, text })),
          { value: 'none', text: 'Remove all limits' },
        ]}
      />
      {part ? (
        <>
          <part.Fields key={shown} limits={noLimits} />
          <p class="note">Other limits stay as they are. An empty field means no limit.</p>
        </>
      ) : (
        <p>Then only the limits of the contract apply, at once and on all servers.</p>
      )}
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
      name={field('active_until')}
      withTime
      value={text}
      onInput={setText}
      hint={`In your time zone, ${zoneAt(now.value)}. Empty: never.`}
    />
  );
}

function ServiceFields({ services: limited }: { services: Limits['services'] }) {
  const id = useId();
  return (
    <fieldset aria-describedby={id}>
      <legend>Services</legend>
      {services.map((service) => (
        <CheckField
          key={service}
          label={serviceOfUser(service)}
          name={field('services')}
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

function ServerFields({ servers: limited }: { servers: Limits['servers'] }) {
  const [selected, setSelected] = useState(limited ?? []);
  return (
    <ServerChecks
      name={field('servers')}
      selected={selected}
      onSelect={setSelected}
      useServers={useFoundServers}
      none="The contract has none yet."
      hint={
        limited?.length === 0
          ? 'None selected: no server, because the selected ones were removed. To allow all, remove all limits.'
          : 'None selected: all servers of the contract.'
      }
    />
  );
}

export function NoLimitsDialog({ user: { name }, onClose }: LimitsDialogProps) {
  const scope = useScope();
  return (
    <FormDialog
      title={`Remove all limits of ${name}`}
      verb="Remove all limits"
      onClose={onClose}
      onSubmit={async () => {
        await changeIn(scope, 'change_user', { path: { user: name }, body: { limits: null } });
        return `${name} now has no limits of their own.`;
      }}
    >
      <p>Only the limits of the contract apply to {name} then, at once and on all servers.</p>
    </FormDialog>
  );
}
