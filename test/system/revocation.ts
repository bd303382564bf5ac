// A right that ends while a connection that rests on it is open: the connection ends, and no other
// one begins.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { effort } from '../effort.ts';
import type { ControlPlaneProcess, Customer } from './control_plane.ts';
import { openTunnel, type ProxyConnection, type Through } from './traffic.ts';
import { type Node, through, type World } from './world.ts';

const closingSeconds = 3;
/** Usage is polled each second and reported each three. */
const limitSeconds = 8;
const smallLimitBytes = 2_000_000;

interface Scene {
  control: ControlPlaneProcess;
  customer: Customer;
  /** Of the client's authlist entry. */
  entry: number;
  open: ProxyConnection;
}

interface Revocation {
  what: string;
  /** The decision about the next connection. */
  refusal: string;
  by: 'address' | 'token';
  /** Of the account. */
  more?: () => object;
  revoke(scene: Scene): Promise<unknown>;
  /** How long it may take to act; closingSeconds unless said. */
  seconds?: number;
}

const account = ({ name }: Customer) => `/accounts/${name}`;

const revocations: Revocation[] = [
  {
    what: 'the address is taken from the authlist',
    refusal: '407 unknown_address',
    by: 'address',
    revoke: ({ customer, entry }) => customer.api.delete(`/contract/ip-authlist/${entry}`),
  },
  {
    what: 'the user is made inactive',
    refusal: '403 inactive_user',
    by: 'address',
    revoke: ({ control, customer }) =>
      control.do('PATCH', `${account(customer)}/users/alice`, { active: false }),
  },
  {
    what: 'the token version is raised',
    refusal: '407 old_token_version',
    by: 'token',
    revoke: ({ control, customer }) =>
      control.command('user', 'raise-token-version', customer.name, 'alice', '--yes'),
  },
  {
    what: 'the contract is suspended',
    refusal: '403 contract_suspended',
    by: 'token',
    revoke: ({ control, customer }) => control.do('PATCH', account(customer), { suspended: true }),
  },
  {
    what: 'the contract expires',
    refusal: '403 contract_expired',
    by: 'address',
    revoke: async ({ control, customer }) => {
      const expiry = Math.ceil(Date.now() / 1000) + 2;
      await control.do('PATCH', account(customer), { expiry });
      await sleep(expiry * 1000 - Date.now());
    },
  },
  {
    what: 'the limit is used up by the tunnel itself',
    refusal: '403 over_limit',
    by: 'address',
    more: () => ({ limit_bytes: smallLimitBytes }),
    revoke: ({ open }) => open.transfer(smallLimitBytes / 2, smallLimitBytes / 2),
    seconds: limitSeconds,
  },
];

export function revocationTests(world: () => World): void {
  describe('a tunnel that is open', () => {
    let node: Node;

    beforeAll(async () => {
      node = await world().node();
      await node.agent.follow();
    });
    afterAll(() => node?.agent.remove());

    /** A customer with a tunnel, as the revocation wants it. */
    async function scene({ by, more }: Revocation): Promise<Scene & { client: Through }> {
      const customer = await world().customer(node.server, more?.());
      const { ip, id } = await customer.list();
      const credentials = by === 'token' ? await customer.credentials() : undefined;
      const client = through(node.place, ip, credentials === undefined ? {} : { credentials });
      await until(async () => (await world().decisionFor(client)) === '200');
      const open = await openTunnel(client, world().tunnel);
      await open.transfer(10, 10);
      return { control: world().control, customer, entry: id, open, client };
    }

    test.concurrent.each(revocations)('is ended when $what', async (revocation) => {
      const made = await scene(revocation);
      await revocation.revoke(made);
      expect(await made.open.endsWithin(revocation.seconds ?? closingSeconds)).toBe(true);
      expect(await world().decisionFor(made.client)).toBe(revocation.refusal);
    });

    test('of another account stays', async () => {
      const [first] = revocations as [Revocation];
      const [near, other] = [await scene(first), await scene(first)];
      await first.revoke(near);
      expect(await near.open.endsWithin(closingSeconds)).toBe(true);
      await other.open.transfer(10, 10);
      expect(await world().decisionFor(other.client)).toBe('200');
      other.open.socket.destroy();
    });

    // A second proof: the embedded engine's own tests have it, too.
    if (effort === 'deep') {
      describe('on a node that leaves open what is revoked', () => {
        beforeAll(async () => {
          await node.agent.end();
          await node.agent.start({ EXITWARD_AGENT_ON_REVOKE: 'leave' });
        });

        test.concurrent.each(revocations)(
          'stays when $what, and is the last',
          async (revocation) => {
            const made = await scene(revocation);
            await revocation.revoke(made);
            await until(
              async () => (await world().decisionFor(made.client)) === revocation.refusal,
              revocation.seconds ?? closingSeconds,
            );
            await sleep(1200);
            await made.open.transfer(10, 10);
            made.open.socket.destroy();
          },
        );
      });
    }
  });
}
