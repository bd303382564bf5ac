// Creating an account, and changing its contract.
import { useState } from 'preact/hooks';
import type { Given, ResponseOf } from '../../api/api.ts';
import { change, useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { daySeconds } from '../../charts/days.ts';
import { cutOffBy, type Terms } from '../../contract/cut_off.ts';
import { LimitField, limitIn, limitOf } from '../../contract/limit_field.tsx';
import { count } from '../../format.ts';
import { differing } from '../../forms/differing.ts';
import { ExactExpiryField, expiryOf } from '../../forms/expiry_field.tsx';
import { FormDialog } from '../../forms/form_dialog.tsx';
import { NameField } from '../../forms/name_field.tsx';
import { inParts } from '../../forms/parts.ts';
import { ServerChecks } from '../../forms/server_checks.tsx';
import { now } from '../../now.ts';
import {
  Button,
  CheckField,
  Dialog,
  Form,
  optionsIn,
  optionsOf,
  SelectField,
  ShownOnce,
  TextField,
  textOf,
  Unread,
} from '../../ui/ui.ts';
import { useFoundServers } from '../server_choices.ts';
import type { Account } from '../states.ts';

/** A second, and ten years: the limits of the server. */
const minLifetimeDays = 0.00001;
const maxLifetimeDays = 3652.5;

interface NewAccountDialogProps {
  onClose: () => void;
  /** Called when the token was seen. */
  onDone: (name: string) => void;
}

export function NewAccountDialog({ onClose, onDone }: NewAccountDialogProps) {
  const [created, setCreated] = useState<ResponseOf<'admin_create_account'>>();
  const [servers, setServers] = useState<string[]>([]);
  /** The reason why the new account has none of its servers yet. */
  const [failure, setFailure] = useState<string>();
  const addServers = async (account: string) => {
    setFailure(undefined);
    try {
      await inParts(servers, (part) =>
        change('admin_add_account_servers', { path: { account }, body: { servers: part } }),
      );
    } catch (error) {
      setFailure(explain(error).sentence);
    }
  };
  const create = async (fields: FormData) => {
    const response = await change('admin_create_account', {
      body: { name: textOf(fields, 'name'), ...contractOf(fields) },
    });
    if (servers.length > 0) await addServers(response.account.name);
    setCreated(response);
  };
  if (created) {
    const { name } = created.account;
    const done = () => onDone(name);
    return (
      <Dialog title={`${name} was created`} onClose={done}>
        <ShownOnce
          name="the API token"
          text={created.api_token}
          lead="This is the account’s first API token. Send it to the account’s holder over a private channel."
          onDone={done}
        >
          {failure !== undefined && (
            <div class="fault banner" role="alert">
              <p>{`The account has no servers yet: they couldn’t be added. ${failure}`}</p>
              <Button onClick={() => void addServers(name)}>Try again</Button>
            </div>
          )}
          <p class="note">
            {servers.length > 0 && failure === undefined
              ? `${count(servers.length, 'server')} on the contract. Next, on the account’s page: `
              : 'Next, on the account’s page: add servers, then '}
            add a user with the admin permission and send an invitation to the console.
          </p>
        </ShownOnce>
      </Dialog>
    );
  }
  return (
    <Dialog title="Create an account" onClose={onClose}>
      <Form verb="Create the account" onSubmit={create} onCancel={onClose}>
        <NameField hint="Users sign in with it. It can’t be changed later." />
        <ContractFields />
        <ServerChecks
          selected={servers}
          onSelect={setServers}
          useServers={useFoundServers}
          none="The network has none yet."
          hint="You can add and remove servers later."
        />
      </Form>
    </Dialog>
  );
}

export function ChangeContractDialog({
  account,
  onClose,
}: {
  account: Account;
  onClose: () => void;
}) {
  const warningOf = (fields: FormData) =>
    cutOffBy(account, termsIn(fields, account), { usage: account.period.usage, now: now.value });
  const save = async (fields: FormData) => {
    const body = differing<Contract>(account, contractOf(fields, account.expiry));
    if (Object.keys(body).length === 0) return 'Nothing was changed.';
    await change('admin_change_account', { path: { account: account.name }, body });
    return `Saved the contract of ${account.name}.`;
  };
  return (
    <FormDialog
      title={`Contract of ${account.name}`}
      verb="Save"
      kind="primary"
      warningOf={warningOf}
      onSubmit={save}
      onClose={onClose}
    >
      <ContractFields account={account} />
    </FormDialog>
  );
}

/** The actions of nodes over the limit, in words. */
export const onLimitTexts = {
  refuse: 'Refuse connections',
  allow: 'Allow connections and bill them',
};

function ContractFields({ account }: { account?: Account }) {
  const schemes = useRead('admin_list_port_schemes', {});
  const scheme = account?.port_scheme ?? 'default';
  const names = [...new Set([scheme, ...(schemes.data ?? []).map(({ name }) => name)])];
  return (
    <>
      <TextField
        label="Plan"
        name="plan"
        required
        maxLength={64}
        defaultValue={account?.plan ?? ''}
      />
      <LimitField label="Limit in a billing period" value={account?.limit_bytes} />
      <SelectField
        label="Over the limit"
        name="on_limit"
        initial={account?.on_limit ?? 'refuse'}
        options={optionsIn(onLimitTexts)}
      />
      <ExactExpiryField
        label="Contract ends"
        at={account?.expiry ?? now.value + 365 * daySeconds}
      />
      <SelectField
        label="Port scheme"
        name="port_scheme"
        initial={scheme}
        options={optionsOf(names)}
        hint={account && 'Changing it changes every port that the account uses.'}
      />
      <Unread reading={schemes} name="the port schemes" />
      <TextField
        label="Lifetime of proxy access tokens, in days"
        name="token_lifetime_seconds"
        type="number"
        step="any"
        min={minLifetimeDays}
        max={maxLifetimeDays}
        required
        defaultValue={String((account?.token_lifetime_seconds ?? 365 * daySeconds) / daySeconds)}
        hint="The default when a token is created. At most 3652 days (ten years)."
      />
      <CheckField
        label="Detailed server billing"
        name="detailed_billing"
        defaultChecked={account?.detailed_billing ?? false}
        hint="Lets the account set limits per server."
      />
    </>
  );
}

type Contract = Omit<Given<'admin_create_account'>['body'], 'name'>;

const onLimitIn = (fields: FormData): Terms['on_limit'] =>
  textOf(fields, 'on_limit') === 'allow' ? 'allow' : 'refuse';

/** The terms in a form that may be half typed: an invalid text stands for the present value. */
const termsIn = (fields: FormData, account: Account): Terms => ({
  on_limit: onLimitIn(fields),
  limit_bytes: limitIn(fields) ?? account.limit_bytes,
  expiry: expiryOf(fields, account.expiry) ?? account.expiry,
});

function contractOf(fields: FormData, expiry?: number): Contract {
  return {
    plan: textOf(fields, 'plan'),
    limit_bytes: limitOf(fields) ?? 0,
    on_limit: onLimitIn(fields),
    expiry: expiryOf(fields, expiry) ?? 0,
    port_scheme: textOf(fields, 'port_scheme'),
    token_lifetime_seconds: Math.round(
      Number(textOf(fields, 'token_lifetime_seconds')) * daySeconds,
    ),
    detailed_billing: fields.has('detailed_billing'),
  };
}
