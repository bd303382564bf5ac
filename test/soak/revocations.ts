// The ways in which a customer's rights end and come again, and what then is to be decided.
import { until } from '../../server/test/waiting.ts';
import { inAnHour } from '../system/control_plane.ts';
import { decisionOf, type Player, patienceSeconds, type Scene } from './scene.ts';

interface Revocation {
  end(scene: Scene, player: Player): Promise<unknown>;
  undo(scene: Scene, player: Player): Promise<unknown>;
  /** The connections that it concerns. */
  by: 'byAddress' | 'byToken';
}

const account = ({ customer }: Player) => `/accounts/${customer.name}`;
const patch = (path: string, ended: object, undone: object): Omit<Revocation, 'by'> => ({
  end: ({ world }, player) => world.control.do('PATCH', account(player) + path, ended),
  undo: ({ world }, player) => world.control.do('PATCH', account(player) + path, undone),
});

export const revocations: Record<string, Revocation> = {
  address: {
    by: 'byAddress',
    end: async (_, { customer }) => {
      const { body } = await customer.api.get('/contract/ip-authlist');
      for (const { id } of body) await customer.api.delete(`/contract/ip-authlist/${id}`);
    },
    undo: (_, { customer, ip }) =>
      customer.api.post('/contract/ip-authlist', { user: 'alice', ip, expiry: inAnHour() }),
  },
  user: { by: 'byAddress', ...patch('/users/alice', { active: false }, { active: true }) },
  flag: {
    by: 'byToken',
    ...patch('/users/alice', { flags: { proxy: false } }, { flags: { proxy: true } }),
  },
  suspension: { by: 'byToken', ...patch('', { suspended: true }, { suspended: false }) },
  limit: { by: 'byAddress', ...patch('', { limit_bytes: 1 }, { limit_bytes: 10 ** 12 }) },
  token: {
    by: 'byToken',
    end: ({ world }, { customer }) =>
      world.control.command('user', 'raise-token-version', customer.name, 'alice', '--yes'),
    undo: async (_, player) => {
      player.byToken.credentials = await player.customer.credentials();
    },
  },
  contract: {
    by: 'byToken',
    end: ({ world, node }, player) =>
      world.control.do('DELETE', `${account(player)}/servers/${node.server}`),
    undo: ({ world, node }, player) =>
      world.control.do('PUT', `${account(player)}/servers/${node.server}`, {}),
  },
};

/** Ends a right, and gives it back. Errors: when that does not come into force. */
export async function revoke(scene: Scene, name: string): Promise<void> {
  const revocation = revocations[name] as Revocation;
  const { world, revoked } = scene;
  const decided = async (isAllowed: boolean) => {
    const decision = await decisionOf(world, revoked[revocation.by], revoked.tally);
    return decision !== '' && (decision === '200') === isAllowed;
  };
  await revocation.end(scene, revoked);
  await until(
    () => decided(false),
    patienceSeconds,
    () => `${name}: still let in`,
  );
  await revocation.undo(scene, revoked);
  await until(
    () => decided(true),
    patienceSeconds,
    () => `${name}: not let in again`,
  );
}
