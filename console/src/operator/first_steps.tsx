// The first steps of a new network, each with its form, ticked off until there is traffic.
import { useRef } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { addressOf, paths } from '../paths.ts';
import { Card, Step, Steps, Unread } from '../ui/ui.ts';

const { operator } = paths;

interface FirstStepsProps {
  status: Pick<
    ResponseOf<'admin_get_status'>,
    'servers' | 'nodes' | 'accounts' | 'has_users' | 'has_usage'
  >;
}

export function FirstSteps({ status }: FirstStepsProps) {
  const { servers, nodes, accounts, has_users, has_usage } = status;
  // The card stays until its last tick was seen.
  const isNew = useRef(false);
  isNew.current ||= !has_usage;
  const first = useRead('admin_list_accounts', { query: { limit: 1 } }, { enabled: isNew.current });
  const account = first.data?.[0]?.name;
  if (!isNew.current) return null;
  const add = { dialog: 'add' };
  const ofAccount = (part: string, state: Record<string, string>) =>
    addressOf(operator.account(account ?? '', part), state);
  const steps = [
    {
      title: 'Add a server',
      isDone: servers > 0,
      note: 'A location of the network, with its exit IPs. To add many from a file, use “Import an inventory” on the same page.',
      verb: 'Add a server',
      to: addressOf(operator.servers, add),
    },
    {
      title: 'Add a node',
      isDone: nodes.all > 0,
      note: 'Run one line on a machine to make it a node of the server.',
      verb: servers > 0 && 'Invite a node',
      to: addressOf(operator.nodes, { dialog: 'invite' }),
    },
    {
      title: 'Create an account',
      isDone: accounts > 0,
      note: 'A customer: a contract with its limit, users, and the servers they can use.',
      verb: 'Create an account',
      to: addressOf(operator.accounts, { dialog: 'create' }),
    },
    {
      title: 'Add a user, and invite them',
      isDone: has_users,
      note: 'Users with the admin permission manage the account in their own console.',
      verb: account && `Add a user to ${account}`,
      to: ofAccount('users', add),
    },
    {
      title: 'See the first connection',
      isDone: has_usage,
      note: 'Add a server to the account’s contract. Its users then see on their overview how to connect. The first bytes are counted within a minute.',
      verb: account && servers > 0 && `Servers for ${account}`,
      to: ofAccount('servers', { view: 'others' }),
    },
  ];
  const next = steps.find(({ isDone }) => !isDone);
  return (
    <Card
      title="First steps"
      note={
        next
          ? 'From an empty network to the first connection; each step is checked off automatically.'
          : 'All done: the network carries traffic.'
      }
    >
      <Unread reading={first} name="the first account" />
      <Steps>
        {steps.map(({ title, isDone, note, verb, to }) => (
          <Step key={title} title={title} isDone={isDone} note={!isDone && note}>
            {!isDone && verb && (
              <div class="actions">
                <Link class={title === next?.title ? 'button primary' : 'button'} href={to}>
                  {verb}
                </Link>
              </div>
            )}
          </Step>
        ))}
      </Steps>
    </Card>
  );
}
