// An account's contract: its terms, its status, and whether it is suspended.

import { change } from '../api/reading.ts';
import { bytes, count, dateTime, periodText } from '../format.ts';
import { FormDialog, useDialog } from '../forms/form_dialog.tsx';
import { duration } from '../forms/lifetimes.ts';
import { Until } from '../relative_time.tsx';
import { Button, Card, DescriptionList, type Fact } from '../ui/ui.ts';
import { UsageMeter } from './accounts.tsx';
import { ChangeContractDialog, onLimitTexts } from './forms/account_form.tsx';
import type { Account } from './states.ts';

export function ContractPart({ account }: { account: Account }) {
  const { name, period, suspended } = account;
  // A link opens the dialog only if it fits the current state.
  const suspension = suspended ? 'resume' : 'suspend';
  const { dialog, openLinked } = useDialog({
    change: (close) => <ChangeContractDialog account={account} onClose={close} />,
    [suspension]: (close) => <SuspendDialog account={account} onClose={close} />,
  });
  return (
    <Card
      title="Contract"
      actions={
        <>
          <Button onClick={() => openLinked(suspension)}>
            {suspended ? 'Resume …' : 'Suspend …'}
          </Button>
          <Button icon="edit" kind="primary" onClick={() => openLinked('change')}>
            Change
          </Button>
        </>
      }
    >
      {suspended && (
        <p class="banner fault">
          The contract is suspended: nodes refuse every connection, and the account can’t change
          anything.
        </p>
      )}
      <div class="stack-tight">
        <h3>Billing period, UTC: {periodText(period)}</h3>
        <UsageMeter name={name} usage={period.usage} limit={account.limit_bytes} />
      </div>
      <div class="columns">
        {Object.entries(factsOf(account)).map(([group, facts]) => (
          <section key={group} class="stack-tight">
            <h3>{group}</h3>
            <DescriptionList facts={facts} />
          </section>
        ))}
      </div>
      {dialog}
    </Card>
  );
}

const factsOf = (account: Account): Record<string, Fact[]> => ({
  Terms: [
    ['Plan', account.plan],
    ['Began', dateTime(account.start)],
    [
      'Ends',
      <>
        {dateTime(account.expiry)} (<Until at={account.expiry} />)
      </>,
    ],
    ['Account created', dateTime(account.created_at)],
  ],
  Limits: [
    [
      'Limit',
      <span title={count(account.limit_bytes, 'byte')}>{bytes(account.limit_bytes)} a period</span>,
    ],
    ['Over the limit', onLimitTexts[account.on_limit]],
    ['Proxy access token lifetime', duration(account.token_lifetime_seconds)],
  ],
  Technical: [
    ['Port scheme', account.port_scheme],
    ['Detailed server billing', account.detailed_billing ? 'yes' : 'no'],
  ],
});

function SuspendDialog({ account, onClose }: { account: Account; onClose: () => void }) {
  const { name, suspended } = account;
  const submit = async () => {
    await change('admin_change_account', {
      path: { account: name },
      body: { suspended: !suspended },
    });
    return suspended ? `${name} is in service again.` : `${name} is suspended.`;
  };
  const verb = `${suspended ? 'Resume' : 'Suspend'} ${name}`;
  return (
    <FormDialog
      title={`${verb}?`}
      verb={verb}
      kind={suspended ? 'primary' : 'danger'}
      onSubmit={submit}
      onClose={onClose}
    >
      {suspended ? (
        <p>
          Nodes accept connections from users of {name} again, within the contract, and the account
          can change its records.
        </p>
      ) : (
        <p>
          <strong>Every node refuses every connection of {name}, within seconds</strong>, and open
          ones end. The account can read its records but not change them. Nothing is removed; Resume
          restores service.
        </p>
      )}
    </FormDialog>
  );
}
